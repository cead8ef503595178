//! Julia's tasks, channels and conditions, row by row (J6 to J41 of `docs/dev/FEATURES.md`),
//! written anew from their behaviour: what no other test shows. Where Julia differs the test shows
//! what is here, or how it is written here.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select::Select;
use myriad::sync::{Arc, Condvar, Event, Mutex, ReentrantLock, Semaphore};
use myriad::task::ScopedValue;
use myriad::time::{now, sleep};
use myriad::{block_on, join, scope, select, spawn, spawn_async, task_local, yield_now};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// J6: `@sync` collects all failures of what stands in it; a `scope` whose handles are joined does.
#[test]
fn all_failures_of_a_scope() {
    each_runtime(|rt| {
        let failed = rt.run(|| {
            scope(|s| {
                let tasks: Vec<_> = (0..20usize)
                    .map(|n| s.spawn(move || if n % 3 == 0 { resume_unwind(Box::new(n)) } else { n }))
                    .collect();
                let failed: Vec<usize> = tasks
                    .into_iter()
                    .filter_map(|task| task.join().err().map(|error| *error.into_panic().downcast().unwrap()))
                    .collect();
                failed
            })
        });
        assert_eq!(failed, [0, 3, 6, 9, 12, 15, 18]);
    });
}

/// J8: a result that many fetch, and again: a promise. A failure as well.
#[test]
fn a_result_for_many() {
    each_runtime(|rt| {
        rt.run(|| {
            for fails in [false, true] {
                let (set, mut result) = promise::<Result<Vec<u32>, String>>();
                let task = spawn(move || {
                    let outcome = catch_unwind(|| if fails { resume_unwind(Box::new("no")) } else { vec![1, 2] });
                    set.send(outcome.map_err(|payload| payload.downcast_ref::<&str>().unwrap().to_string())).unwrap();
                });
                let others: Vec<_> = (0..10)
                    .map(|_| {
                        let mut result = result.clone();
                        spawn(move || result.recv().unwrap().is_err())
                    })
                    .collect();
                assert!(others.into_iter().all(|other| other.join().unwrap() == fails));
                let expected = if fails { Err("no".into()) } else { Ok(vec![1, 2]) };
                assert_eq!((&*result.recv().unwrap(), &*result.recv().unwrap()), (&expected, &expected));
                task.join().unwrap();
            }
        });
    });
}

/// J9: `waitany` of many tasks, again and again until none is left; each is told once, with what it
/// brought.
#[test]
fn waiting_for_any() {
    const N: usize = 100;
    each_runtime(|rt| {
        rt.run(|| {
            let (go, ready): (Vec<_>, Vec<_>) = (0..N).map(|_| bounded::<()>(1)).unzip();
            let mut tasks: Vec<_> =
                ready.into_iter().enumerate().map(|(n, rx)| spawn(move || (rx.recv(), n).1)).collect();
            let mut told = Vec::new();
            {
                let mut any = Select::new();
                for task in &mut tasks {
                    any.add(myriad::select::join(task), Result::unwrap);
                }
                assert_eq!(any.try_wait(), None);
                let mut random = Random::new(9);
                let mut order: Vec<_> = (0..N).collect();
                (1..N).for_each(|i| order.swap(i, random.below(i + 1)));
                for n in order {
                    go[n].send(()).unwrap();
                    assert_eq!(any.wait(), n, "only this one can have ended");
                    told.push(n);
                }
                assert_eq!(any.wait_timeout(MS), None, "nobody is told twice");
            }
            told.sort();
            assert!(told.into_iter().eq(0..N));
        });
    });
}

/// J10: states of a task, seen from outside.
#[test]
fn states() {
    each_runtime(|rt| {
        let (tx, rx) = bounded::<()>(1);
        let task = rt.spawn(move || rx.recv());
        let failing = rt.spawn(|| resume_unwind(Box::new("planned")));
        assert!(!task.is_finished());
        wait_until(|| failing.is_finished());
        tx.send(()).unwrap();
        wait_until(|| task.is_finished());
        assert!(task.join().unwrap().is_ok());
        let error = rt.run(move || failing.join().map(|(): ()| ())).unwrap_err();
        assert!(error.is_panic() && error.spawned_at().file().ends_with("julia_tasks.rs"));
    });
}

/// J12: `yield` puts the caller behind those that are ready; `wait()` without an object is an event
/// that somebody sets.
#[test]
fn yielding_and_waiting() {
    each_runtime(|rt| {
        rt.run(|| {
            let (turn, woken) = (Arc::new(AtomicUsize::new(0)), Arc::new(Event::auto_reset()));
            let waiting = spawn({
                let (turn, woken) = (turn.clone(), woken.clone());
                move || {
                    for n in 1..=50 {
                        woken.wait();
                        assert_eq!(turn.load(SeqCst), n);
                        turn.store(0, SeqCst);
                    }
                }
            });
            for n in 1..=50 {
                turn.store(n, SeqCst);
                woken.set();
                // Until the other has had its turn: without yielding it would not, on one worker.
                while turn.load(SeqCst) != 0 {
                    yield_now();
                }
            }
            waiting.join().unwrap();
        });
    });
}

task_local! {
    static NUMBER: std::cell::Cell<u32> = std::cell::Cell::new(1);
}
static USER: ScopedValue<u32> = ScopedValue::new(0);

/// J21: a thread that the runtime has never seen calls whatever it wants, from the first call on;
/// and ends.
#[test]
fn foreign_threads_need_no_adoption() {
    each_runtime(|rt| {
        let handle = rt.handle();
        let threads: Vec<_> = (0..4)
            .map(|n| {
                std::thread::spawn(move || {
                    let (tx, rx) = rendezvous();
                    let task = handle.spawn(move || rx.iter().sum::<u32>());
                    (0..10).for_each(|i| tx.send(i).unwrap());
                    drop(tx);
                    let sum = block_on(task).unwrap();
                    let lock = ReentrantLock::new(());
                    let (_guard, _again) = (lock.lock(), lock.lock());
                    let (a, b) = handle.run(move || join(|| scope(|s| s.spawn(move || n).join().unwrap()), || 1));
                    USER.with_value(n, || NUMBER.set(USER.get() + NUMBER.get()));
                    let time = after(MS / 10);
                    let (_keep, nothing) = unbounded::<()>();
                    select! { _ = nothing.recv() => unreachable!(), _ = time.recv() => {} }
                    sleep(MS / 10);
                    let semaphore = Semaphore::new(1);
                    let _permit = semaphore.acquire();
                    assert!(semaphore.acquire_timeout(MS / 10).is_err());
                    sum + a + b + NUMBER.get()
                })
            })
            .collect();
        for (n, thread) in (0..).zip(threads) {
            assert_eq!(thread.join().unwrap(), 45 + n + 1 + n + 1);
        }
    });
}

/// J23: at a rendezvous the message goes to who has waited longest, and to nobody who comes later.
#[test]
fn handed_to_the_first_who_waits() {
    each_runtime(|rt| {
        let (tx, rx) = rendezvous();
        let first = rt.spawn({
            let rx = rx.clone();
            move || rx.recv().unwrap()
        });
        wait_until(|| tx.is_ready());
        // Behind it, in this order.
        let mut line: Vec<_> = (0..4).map(|_| Box::pin(rx.recv_async())).collect();
        assert!(line.iter_mut().all(|receive| poll_once(receive.as_mut()).is_pending()));
        for n in 0..5 {
            tx.try_send(n).unwrap();
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "nobody barges in");
        }
        assert!(tx.try_send(5).is_err(), "nobody waits any more");
        assert_eq!(first.join().unwrap(), 0);
        assert!(line.iter_mut().map(|receive| ready(poll_once(receive.as_mut()))).eq(1..5));
    });
}

/// J25: what `bind` does: a task's end closes its channels, also by a panic; of several tasks the
/// last one's end does, or the first one's if it says so; a channel that is closed already stays as
/// it is.
#[test]
fn channels_that_close_with_their_tasks() {
    each_runtime(|rt| {
        rt.run(|| {
            for fails in [false, true] {
                let ((a, rx_a), (b, rx_b)) = (unbounded(), bounded(2));
                let task = spawn(move || {
                    a.send(1).unwrap();
                    b.send(2).unwrap();
                    if fails {
                        resume_unwind(Box::new("planned"));
                    }
                });
                assert_eq!(
                    [rx_a.recv(), rx_a.recv(), rx_b.recv(), rx_b.recv()],
                    [Ok(1), Err(RecvError), Ok(2), Err(RecvError)]
                );
                assert_eq!(task.join().is_err(), fails);
            }
            // The last of several.
            let (tx, rx) = unbounded();
            let (go, gate) = bounded::<()>(0);
            let ended = spawn({
                let tx = tx.clone();
                move || tx.send(1).unwrap()
            });
            let stays = spawn(move || (gate.recv(), tx.send(2)).1.unwrap());
            ended.join().unwrap();
            assert_eq!((rx.recv(), rx.is_closed()), (Ok(1), false));
            drop(go);
            assert_eq!((rx.recv(), rx.recv()), (Ok(2), Err(RecvError)));
            stays.join().unwrap();
            // The first of several, as in Julia: a guard that closes.
            struct Closes(Sender<u32>);
            impl Drop for Closes {
                fn drop(&mut self) {
                    self.0.close();
                }
            }
            let (tx, rx) = unbounded();
            let (bound, other) = (Closes(tx.clone()), tx);
            spawn(move || bound.0.send(1).unwrap()).join().unwrap();
            assert_eq!(other.send(2), Err(SendError(2)));
            assert_eq!((rx.recv(), rx.recv()), (Ok(1), Err(RecvError)));
        });
    });
}

/// J28: looking without taking: nothing moves, and it is true for who is alone.
#[test]
fn probing() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(2);
            let state = |rx: &Receiver<u32>| (rx.is_ready(), rx.is_empty(), rx.is_closed(), rx.len());
            assert_eq!(state(&rx), (false, true, false, 0));
            tx.send(1).unwrap();
            assert_eq!([state(&rx), state(&rx)], [(true, false, false, 1); 2]);
            tx.close();
            assert_eq!(state(&rx), (true, false, true, 1), "what is buffered is still there");
            assert_eq!(rx.recv(), Ok(1));
            assert_eq!(state(&rx), (true, true, true, 0), "a receive would not wait: it would fail");
        });
    });
}

/// J30: notifications are edges: one that nobody waits for is lost; waiting gives a lock back that
/// was taken once, and takes it again.
#[test]
fn notifications_are_edges() {
    each_runtime(|rt| {
        rt.run(|| {
            let (lock, condition) = (Mutex::new(0), Condvar::new());
            condition.notify_one();
            condition.notify_all();
            let guard = lock.lock().unwrap();
            let (guard, result) = condition.wait_timeout(guard, MS).unwrap();
            assert!(result.timed_out(), "it was notified before it waited");
            drop(guard);
            scope(|s| {
                let mut guard = lock.lock().unwrap();
                s.spawn(|| {
                    // Possible only because the other one waits.
                    *lock.lock().unwrap() = 5;
                    condition.notify_one();
                });
                while *guard != 5 {
                    guard = condition.wait(guard).unwrap();
                }
                assert!(lock.try_lock().is_err(), "it has it again");
            });
        });
    });
}

/// J38: a timer with a callback is a task with a ticker and an end; `timedwait` is a condition that
/// is looked at until a deadline.
#[test]
fn timers() {
    each_runtime(|rt| {
        rt.run(|| {
            let calls = Arc::new(AtomicUsize::new(0));
            let (close, closed) = bounded::<()>(0);
            let begin = now();
            let timer = spawn({
                let calls = calls.clone();
                move || {
                    let ticks = tick(MS / 5);
                    loop {
                        select! { biased; _ = closed.recv() => return, _ = ticks.recv() => _ = calls.fetch_add(1, SeqCst) }
                    }
                }
            });
            while calls.load(SeqCst) < 5 {
                sleep(MS / 10);
            }
            assert!(now() - begin >= MS, "five periods");
            close.close();
            timer.join().unwrap();
            let after_close = calls.load(SeqCst);
            let timed_wait = |condition: &dyn Fn() -> bool, limit: Duration| {
                let deadline = now() + limit;
                loop {
                    match condition() {
                        true => return true,
                        false if now() >= deadline => return false,
                        false => sleep(MS / 10),
                    }
                }
            };
            assert!(!timed_wait(&|| calls.load(SeqCst) > after_close, 3 * MS), "a closed timer calls nobody");
            assert!(timed_wait(&|| calls.load(SeqCst) == after_close, MS));
        });
    });
}

/// J39, J40: task-locals are not inherited, scoped values are, each also by futures and in nested
/// scopes.
#[test]
fn what_children_inherit() {
    each_runtime(|rt| {
        rt.run(|| {
            NUMBER.set(7);
            let seen = USER.with_value(3, || {
                let closure = spawn(|| (NUMBER.get(), USER.get(), spawn(|| USER.get()).join().unwrap()));
                let future = spawn_async(async { (NUMBER.get(), USER.get(), 3) });
                let scoped = scope(|s| s.spawn(|| (NUMBER.get(), USER.get(), 3)).join().unwrap());
                [closure.join().unwrap(), future.join().unwrap(), scoped]
            });
            assert_eq!(seen, [(1, 3, 3); 3]);
            assert_eq!((NUMBER.get(), USER.get()), (7, 0));
            let caught = catch_unwind(AssertUnwindSafe(|| USER.with_value(9, || resume_unwind(Box::new("planned")))));
            assert!(caught.map(|(): ()| ()).is_err());
            assert_eq!(USER.get(), 0, "as before");
        });
    });
}
