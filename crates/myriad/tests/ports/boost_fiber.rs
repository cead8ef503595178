//! Boost.Fiber, row by row (B1 to B22 of `docs/dev/FEATURES.md`), written anew from its behaviour:
//! fibers, channels, futures, and its recipes for the first and for all of several.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select::Select;
use myriad::sync::{Arc, Condvar, Mutex};
use myriad::time::{Instant, now, sleep, sleep_until, sleep_until_async};
use myriad::{JoinError, JoinHandle, block_on, spawn, spawn_async, task, yield_now};
use std::any::Any;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// B5: yielding lets others run and comes back; sleeping until a time that has passed is over at
/// once; an id is one task's, over all its waits, and is the handle's.
#[test]
fn this_fiber() {
    each_runtime(|rt| {
        rt.run(|| {
            let turns = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = (0..10)
                .map(|_| {
                    let turns = turns.clone();
                    spawn(move || {
                        let me = task::current().unwrap().id();
                        for _ in 0..20 {
                            turns.fetch_add(1, SeqCst);
                            yield_now();
                            assert_eq!(task::current().unwrap().id(), me);
                        }
                        sleep(MS / 10);
                        (me, task::current().unwrap().id())
                    })
                })
                .collect();
            let mut ids: Vec<_> = tasks
                .into_iter()
                .map(|task| {
                    let id = task.id();
                    assert_eq!(task.join().unwrap(), (id, id));
                    format!("{id:?}")
                })
                .collect();
            assert_eq!(turns.load(SeqCst), 200);
            ids.sort();
            ids.dedup();
            assert_eq!(ids.len(), 10);
            let begin = now();
            sleep_until(begin + 2 * MS);
            assert!(now() >= begin + 2 * MS);
            for past in [begin, Instant::from_nanos(0)] {
                sleep_until(past);
                block_on(sleep_until_async(past));
            }
        });
    });
}

/// B6: who waits without a loop around it is not woken for nothing, whatever else goes on.
#[test]
fn nobody_is_woken_for_nothing() {
    each_runtime(|rt| {
        for kind in KINDS {
            let shared = Arc::new((Mutex::new(0), Condvar::new()));
            let waiting: Vec<_> = (0..6)
                .map(|_| {
                    let (a, b) = (shared.clone(), shared.clone());
                    let blocking = move || *a.1.wait(a.0.lock().unwrap()).unwrap();
                    start(rt, kind, blocking, async move {
                        let guard = b.0.lock_async().await.unwrap();
                        *b.1.wait_async(guard).await.unwrap()
                    })
                })
                .collect();
            // Noise: the lock is taken, things are notified when they are not waited for, tasks
            // come and go.
            let noise = Arc::new(Condvar::new());
            for n in 1..=30 {
                *shared.0.lock().unwrap() = n;
                noise.notify_all();
                let (noise, shared) = (noise.clone(), shared.clone());
                rt.spawn(move || drop(noise.wait_timeout(shared.0.lock().unwrap(), MS / 20))).join().unwrap();
            }
            *shared.0.lock().unwrap() = 100;
            // Notified as soon as it waits. (Joined by this thread: a task that joins a thread
            // holds the only worker, and in fiber mode the notifier, which has begun, with it.)
            for waiting in waiting {
                let shared = shared.clone();
                let (tx, rx) = bounded::<()>(1);
                let notifier = rt.spawn(move || {
                    while rx.try_recv() == Err(TryRecvError::Empty) {
                        shared.1.notify_all();
                        sleep(MS / 20);
                    }
                });
                let seen = waiting.join();
                tx.send(()).unwrap();
                notifier.join().unwrap();
                assert_eq!(seen, 100, "{kind:?}: before anybody has notified it");
            }
        }
    });
}

/// B18: any capacity, and so many messages in it; limits in time on both sides, for a time and
/// until one.
#[test]
fn buffered_channels() {
    each_runtime(|rt| {
        rt.run(|| {
            for capacity in 1..=20 {
                let (tx, rx) = bounded(capacity);
                (0..capacity).for_each(|n| tx.try_send(n).unwrap());
                assert!(tx.is_full() && tx.try_send(0).is_err_and(|error| error.is_full()));
                let begin = now();
                let late = tx.send_timeout(7, MS / 10).unwrap_err();
                assert!(late.is_timeout() && late.into_inner() == 7 && now() >= begin + MS / 10);
                assert!(tx.send_deadline(7, begin).unwrap_err().is_timeout());
                assert!((0..capacity).all(|n| rx.recv_timeout(MS) == Ok(n)));
                let begin = now();
                assert_eq!(rx.recv_timeout(MS / 10), Err(RecvTimeoutError::Timeout));
                assert!(now() >= begin + MS / 10);
                assert_eq!(rx.recv_deadline(begin), Err(RecvTimeoutError::Timeout));
                // B19.
                tx.send(1).unwrap();
                tx.close();
                assert!(tx.send_timeout(7, MS).unwrap_err().is_closed());
                assert_eq!((rx.recv_timeout(MS), rx.recv_timeout(MS)), (Ok(1), Err(RecvTimeoutError::Closed)));
                assert_eq!(rx.into_iter().next(), None);
            }
        });
    });
}

/// B20: a push at a rendezvous is over when the value is taken, and not before.
#[test]
fn an_unbuffered_push_ends_when_it_is_taken() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (tx, rx) = rendezvous();
            let (pushed, pushed2) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let (a, b, n, n2) = (tx.clone(), tx.clone(), pushed.clone(), pushed2.clone());
            let pushing = start(
                rt,
                kind,
                move || {
                    for i in 0..50 {
                        a.send(i).unwrap();
                        n.fetch_add(1, SeqCst);
                    }
                },
                async move {
                    for i in 0..50 {
                        b.send_async(i).await.unwrap();
                        n2.fetch_add(1, SeqCst);
                    }
                },
            );
            for i in 0..50 {
                wait_until(|| rx.is_ready());
                assert_eq!(pushed.load(SeqCst) + pushed2.load(SeqCst), i, "{kind:?}");
                assert_eq!(rx.recv(), Ok(i));
            }
            pushing.join();
            assert_eq!(pushed.load(SeqCst) + pushed2.load(SeqCst), 50);
        }
    });
}

/// B21: a future is a receiver, or a handle; a shared one is a promise; a packaged task is a
/// closure with a sender.
#[test]
fn promises_and_futures() {
    each_runtime(|rt| {
        rt.run(|| {
            // Kept, broken, kept too late.
            let (set, future) = oneshot();
            assert_eq!(future.recv_timeout(MS / 10), Err(RecvTimeoutError::Timeout), "wait_for");
            spawn(move || set.send(1).unwrap());
            assert_eq!(future.recv(), Ok(1));
            let (set, future) = oneshot::<u32>();
            spawn(move || drop(set));
            assert_eq!(future.recv(), Err(RecvError), "broken_promise");
            let (set, future) = oneshot();
            drop(future);
            assert_eq!(set.send(1), Err(SendError(1)));
            // Shared: all get it, by reference.
            let (set, future) = promise::<String>();
            let readers: Vec<_> = (0..5)
                .map(|_| {
                    let mut future = future.clone();
                    spawn(move || future.recv().unwrap().len())
                })
                .collect();
            set.send("value".to_string()).unwrap();
            assert!(readers.into_iter().all(|reader| reader.join().unwrap() == 5));
            assert!(set.send("again".to_string()).is_err(), "promise_already_satisfied");
            // A packaged task: run where somebody wants to, its result or its failure elsewhere.
            let (package, result) = {
                let (tx, rx) = oneshot();
                (move |n: u32| _ = tx.send(n + 1), rx)
            };
            let runner = std::thread::spawn(move || package(41));
            assert_eq!(result.recv(), Ok(42));
            runner.join().unwrap();
            // `async`, as a closure and as a future; failures come to whoever asks.
            assert_eq!(spawn(|| 5).join().unwrap() + block_on(spawn_async(async { 6 })).unwrap(), 11);
            let failed = spawn(|| -> u32 { resume_unwind(Box::new("planned")) });
            assert_eq!(block_on(failed).unwrap_err().into_panic().downcast_ref(), Some(&"planned"));
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// B22, its recipes

/// The index of the first to end, and its outcome; the others go on.
fn first_outcome<T: Send>(tasks: &mut [JoinHandle<T>]) -> (usize, Result<T, JoinError>) {
    let mut select = Select::new();
    for (i, task) in tasks.iter_mut().enumerate() {
        select.add(myriad::select::join(task), move |outcome| (i, outcome));
    }
    select.wait()
}

/// The first that does not fail; or all failures.
fn first_success<T: Send>(mut tasks: Vec<JoinHandle<T>>) -> Result<T, Vec<JoinError>> {
    let mut failures = Vec::new();
    while !tasks.is_empty() {
        let (i, outcome) = first_outcome(&mut tasks);
        drop(tasks.swap_remove(i));
        match outcome {
            Ok(value) => return Ok(value),
            Err(error) => failures.push(error),
        }
    }
    Err(failures)
}

/// A task that ends when it is told to.
fn told<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> (Sender<()>, JoinHandle<T>) {
    let (tx, rx) = bounded(1);
    (tx, spawn(move || (rx.recv(), f()).1))
}

#[test]
fn when_any() {
    each_runtime(|rt| {
        rt.run(|| {
            // The first, whichever it is; the others can be asked later.
            let (go, mut tasks): (Vec<_>, Vec<_>) = (0..10).map(|n| told(move || n)).unzip();
            for n in [3, 9, 0] {
                go[n].send(()).unwrap();
                let (i, outcome) = first_outcome(&mut tasks);
                assert_eq!(outcome.unwrap(), n);
                drop(tasks.swap_remove(i));
            }
            drop(go);
            // The first success: failures before it do not count.
            let fails = |text: &'static str| move || -> u32 { resume_unwind(Box::new(text)) };
            let (a, first) = told(fails("a"));
            let (b, second) = told(|| 2);
            let (_c, third) = told(|| 3);
            a.send(()).unwrap();
            wait_until(|| first.is_finished());
            b.send(()).unwrap();
            assert_eq!(first_success(vec![first, second, third]).unwrap(), 2);
            let errors = first_success(vec![spawn(fails("x")), spawn(fails("y"))]).unwrap_err();
            let mut said: Vec<_> = errors.into_iter().map(|e| *e.into_panic().downcast::<&str>().unwrap()).collect();
            said.sort();
            assert_eq!(said, ["x", "y"], "all failures");
        });
    });
}

#[test]
fn when_all() {
    each_runtime(|rt| {
        rt.run(|| {
            // All values, in the order of the tasks.
            let tasks: Vec<_> = (0..50).map(|n| spawn(move || (0..n % 7).fold(n, |n, _| (yield_now(), n).1))).collect();
            let all: Result<Vec<_>, _> = tasks.into_iter().map(JoinHandle::join).collect();
            assert!(all.unwrap().into_iter().eq(0..50));
            // In the order in which they end: by a channel.
            let (tx, rx) = unbounded();
            for n in 0..50 {
                let tx = tx.clone();
                spawn(move || tx.send(n).unwrap());
            }
            drop(tx);
            let mut got: Vec<_> = rx.iter().collect();
            got.sort();
            assert!(got.into_iter().eq(0..50));
            // All, or the failures of all.
            let fails = |n: usize| move || if n.is_multiple_of(10) { resume_unwind(Box::new(n)) } else { n };
            let outcomes: Vec<Result<usize, Box<dyn Any + Send>>> = (0..50)
                .map(|n| spawn(fails(n)))
                .collect::<Vec<_>>()
                .into_iter()
                .map(|task| task.join().map_err(JoinError::into_panic))
                .collect();
            let failed: Vec<usize> =
                outcomes.iter().filter_map(|o| o.as_ref().err()?.downcast_ref().copied()).collect();
            assert_eq!(failed, [0, 10, 20, 30, 40]);
            // Of different types.
            let (a, b) = (spawn(|| "one".to_string()), spawn_async(async { 2.5 }));
            assert_eq!((a.join().unwrap(), b.join().unwrap()), ("one".to_string(), 2.5));
        });
    });
}
