//! A cancellation in each wait of locks, selects and boards, and in blocking calls: it ends the wait, and what came at the same time
//! (a lock that is handed over, a permit, a notification, a message) goes to somebody else, or is kept.

mod common;

use common::{Drops, Mode, Rng, case, each, in_both_modes, wait_until};
use myriad::channel::{bounded, broadcast, promise, unbounded, watch};
use myriad::select::{self, Order, Won};
use myriad::sync::{
    Barrier, Condvar, Event, Latch, LazyLock, Mutex, Once, OnceLock, ReentrantLock, RwLock, Semaphore, WaitGroup,
};
use myriad::time::{sleep, timeout};
use myriad::{JoinHandle, blocking, cancel, join, scope, spawn, spawn_async, task_local, yield_now};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// Starts a task that says when it has begun.
fn begin<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let begun = Arc::new(AtomicBool::new(false));
    let says = begun.clone();
    let h = spawn(move || {
        says.store(true, SeqCst);
        f()
    });
    wait_until(|| begun.load(SeqCst));
    h
}

/// Starts `f`, which blocks for ever, lets it block, and cancels it.
#[track_caller]
fn cancel_in<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) {
    let drops = Drops::new();
    let held = drops.one();
    let h = begin(move || {
        let _held = held;
        f()
    });
    for _ in 0..3 {
        yield_now();
    }
    h.cancel();
    let error = h.join().err().expect("it was cancelled");
    assert!(error.is_cancelled(), "{error}");
    drops.assert_all(1);
}

// ------------------------------------------------------------------------------------------------------- each wait

#[test]
fn mutex() {
    in_both_modes(|rt| {
        rt.run(|| {
            let m = Arc::new(Mutex::new(0));
            let guard = m.lock().unwrap();
            let (a, b) = (m.clone(), m.clone());
            cancel_in(move || drop(a.lock()));
            cancel_in(move || drop(b.lock_timeout(LONG)));
            drop(guard);
            assert!(!m.is_poisoned(), "it was never held");
            *m.try_lock().expect("nobody is in the line") += 1;
        });
    });
}

/// A section that a cancellation interrupts is like one that a panic does.
#[test]
fn a_section_that_is_interrupted_poisons() {
    in_both_modes(|rt| {
        rt.run(|| {
            let m = Arc::new(Mutex::new(0));
            let a = m.clone();
            cancel_in(move || {
                let _guard = a.lock().unwrap();
                sleep(LONG);
            });
            assert!(m.is_poisoned());
            m.clear_poison();
            // A limit within the section is over before the section is.
            let guard = m.lock().unwrap();
            assert!(timeout(Duration::from_micros(10), || sleep(LONG)).is_err());
            drop(guard);
            assert!(!m.is_poisoned());
        });
    });
}

#[test]
fn rwlock() {
    in_both_modes(|rt| {
        rt.run(|| {
            let l = Arc::new(RwLock::new(0));
            let writer = l.write().unwrap();
            let (a, b, c) = (l.clone(), l.clone(), l.clone());
            cancel_in(move || drop(a.read()));
            cancel_in(move || drop(b.write()));
            cancel_in(move || drop(c.read_timeout(LONG)));
            drop(writer);
            let reader = l.read().unwrap();
            let a = l.clone();
            cancel_in(move || drop(a.write()));
            // A writer that waits keeps readers out; one that is gone does not.
            drop(l.try_read().expect("no writer waits"));
            drop(reader);
            drop(l.try_write().expect("nobody is in the line"));
        });
    });
}

#[test]
fn reentrant_lock() {
    in_both_modes(|rt| {
        rt.run(|| {
            let l = Arc::new(ReentrantLock::new(0));
            let guard = l.lock();
            let a = l.clone();
            cancel_in(move || drop(a.lock()));
            drop(guard);
            let a = l.clone();
            assert!(spawn(move || a.try_lock().is_some()).join().unwrap());
        });
    });
}

#[test]
fn condvar() {
    in_both_modes(|rt| {
        rt.run(|| {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let (a, b, c) = (pair.clone(), pair.clone(), pair.clone());
            cancel_in(move || drop(a.1.wait(a.0.lock().unwrap())));
            cancel_in(move || drop(b.1.wait_timeout(b.0.lock().unwrap(), LONG)));
            assert!(!pair.0.is_poisoned(), "it was not held");
            // Nobody is in the line: a notification reaches who comes later.
            let h = begin(move || drop(c.1.wait_while(c.0.lock().unwrap(), |ready| !*ready).unwrap()));
            *pair.0.lock().unwrap() = true;
            pair.1.notify_one();
            h.join().unwrap();
        });
    });
}

#[test]
fn semaphore() {
    in_both_modes(|rt| {
        rt.run(|| {
            let s = Arc::new(Semaphore::new(2));
            let first = s.acquire();
            let (a, b) = (s.clone(), s.clone());
            // It wants much, and stands first in the line. When it goes, the one behind it can go on.
            let big = begin(move || drop(a.acquire_many(2)));
            wait_until(|| s.try_acquire().is_none());
            let small = begin(move || drop(b.acquire()));
            big.cancel();
            assert!(big.join().unwrap_err().is_cancelled());
            small.join().unwrap();
            drop(first);
            assert_eq!(s.available(), 2);
        });
    });
}

#[test]
fn what_is_waited_for_once() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (barrier, event, latch, group) = (
                Arc::new(Barrier::new(2)),
                Arc::new(Event::new()),
                Arc::new(Latch::new(1)),
                Arc::new(WaitGroup::new()),
            );
            group.add(1);
            let (a, b) = (barrier.clone(), barrier.clone());
            cancel_in(move || a.wait().is_leader());
            cancel_in(move || b.wait_timeout(LONG).is_ok());
            assert_eq!(barrier.arrived(), 0, "who has left does not count");
            let (a, b, c) = (event.clone(), latch.clone(), group.clone());
            cancel_in(move || a.wait());
            cancel_in(move || b.wait());
            cancel_in(move || c.wait());
            event.set();
            latch.count_down();
            group.done();
            event.wait();
            latch.wait();
            group.wait();
            let a = barrier.clone();
            let h = begin(move || a.wait().is_leader());
            assert!(barrier.wait().is_leader() ^ h.join().unwrap());
        });
    });
}

/// Who waits for an initialiser leaves it alone; an initialiser that is cancelled has panicked, as far as others see.
#[test]
fn once() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (o, go) = (Arc::new(Once::new()), Arc::new(Event::new()));
            let (a, b, begun) = (o.clone(), go.clone(), Arc::new(AtomicBool::new(false)));
            let says = begun.clone();
            let first = spawn(move || {
                a.call_once(|| {
                    says.store(true, SeqCst);
                    b.wait();
                });
            });
            wait_until(|| begun.load(SeqCst));
            let (a, b) = (o.clone(), o.clone());
            cancel_in(move || a.call_once(|| unreachable!("another one does it")));
            cancel_in(move || b.wait());
            go.set();
            first.join().unwrap();
            assert!(o.is_completed());

            let o = Arc::new(Once::new());
            let a = o.clone();
            cancel_in(move || a.call_once(|| sleep(LONG)));
            assert!(!o.is_completed());
            o.call_once_force(|state| assert!(state.is_poisoned()));

            let cell = Arc::new(OnceLock::new());
            let a = cell.clone();
            cancel_in(move || {
                a.get_or_init(|| {
                    sleep(LONG);
                    1
                });
            });
            assert_eq!(*cell.get_or_init(|| 2), 2);
            let cell = Arc::new(OnceLock::<u32>::new());
            let a = cell.clone();
            cancel_in(move || _ = a.wait());
            static LAZY: LazyLock<u32> = LazyLock::new(|| 42);
            assert_eq!(*LAZY, 42);
        });
    });
}

#[test]
fn boards() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, mut rx) = promise::<u32>();
            let mut again = rx.clone();
            cancel_in(move || rx.recv());
            tx.send(1).unwrap();
            assert_eq!(*again.recv().unwrap(), 1);
            let (tx, mut rx) = watch(0);
            let mut again = rx.clone();
            cancel_in(move || rx.recv());
            tx.send(1).unwrap();
            assert_eq!(*again.recv().unwrap(), 1);
            let (tx, mut rx) = broadcast::<u32>(4);
            let mut again = tx.subscribe();
            cancel_in(move || rx.recv_timeout(LONG).is_ok());
            tx.send(1).unwrap();
            assert_eq!(*again.recv().unwrap().message().unwrap(), 1);
        });
    });
}

#[test]
fn select_of_two() {
    in_both_modes(|rt| {
        rt.run(|| {
            let ((tx, rx), (full, rest)) = (unbounded::<u32>(), bounded::<u32>(1));
            full.send(0).unwrap();
            for limit in [false, true] {
                let (rx, full) = (rx.clone(), full.clone());
                cancel_in(move || {
                    let arms = (rx.recv_arm(), full.send_arm(1));
                    match limit {
                        false => drop(select::wait(Order::Fair, arms)),
                        true => drop(select::wait_timeout(Order::Fair, LONG, arms)),
                    }
                });
            }
            tx.send(7).unwrap();
            assert_eq!(rx.try_recv(), Ok(7));
            assert_eq!(rest.try_recv(), Ok(0));
            assert!(rest.try_recv().is_err(), "nothing was sent");
            // With a future among the arms it is a future that is dropped.
            let r = rx.clone();
            cancel_in(move || {
                select::wait(Order::Fair, (r.recv_arm(), select::future(std::future::pending::<()>())));
            });
            tx.send(8).unwrap();
            assert_eq!(rx.try_recv(), Ok(8));
        });
    });
}

// ------------------------------------------------------------------------------------------------------- blocking calls

/// What borrows is waited for. The closure hears of it where it waits, and where it asks.
#[test]
fn a_blocking_call() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (drops, drops2) = (Drops::new(), Drops::new());
            let (_tx, rx) = unbounded::<u32>();
            let held = drops.one();
            cancel_in(move || {
                let mut local = 0;
                blocking(|| {
                    let _held = &held;
                    local += 1;
                    _ = rx.recv();
                    local += 1;
                });
            });
            drops.assert_all(1);
            let (seen, held) = (Arc::new(AtomicBool::new(false)), drops2.one());
            let says = seen.clone();
            let h = begin(move || {
                let value = blocking(move || {
                    let _held = held;
                    while !cancel::is_cancelled() {
                        std::thread::yield_now();
                    }
                    says.store(true, SeqCst);
                    42
                });
                // It was done in spite of it: so the cancellation arrives here.
                assert_eq!(value, 42);
                sleep(LONG);
            });
            yield_now();
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
            drops2.assert_all(1);
            // (If it never began it has seen nothing.)
            let _ = seen;
            // A limit ends it likewise; and the thread of the pool is as it was.
            for _ in 0..10 {
                assert!(timeout(Duration::from_micros(200), || blocking(|| sleep(LONG))).is_err());
                assert_eq!(blocking(|| (cancel::is_cancelled(), 1)), (false, 1));
            }
        });
    });
}

// ------------------------------------------------------------------------------------------------------- at the same time

/// Two wait in line, one thing is granted, and the first is cancelled at that moment. Whoever gets it, somebody does.
fn race(name: &str, wait: impl Fn() + Send + Sync + Clone + 'static, grant: impl Fn()) {
    let mut rng = Rng(name.len() as u64);
    for _ in 0..300 {
        let ended = Arc::new(AtomicUsize::new(0));
        let start = || {
            let (wait, ended) = (wait.clone(), ended.clone());
            begin(move || {
                wait();
                ended.fetch_add(1, SeqCst);
            })
        };
        let (first, second) = (start(), start());
        for _ in 0..rng.below(3) {
            yield_now();
        }
        scope(|s| {
            let (pause, first) = (rng.below(300), &first);
            s.spawn(move || {
                (0..pause).for_each(|_| std::hint::spin_loop());
                first.cancel();
            });
            (0..rng.below(300)).for_each(|_| std::hint::spin_loop());
            grant();
        });
        // If the first has it, the second gets another one.
        let cancelled = match first.join() {
            Ok(()) => false,
            Err(error) => {
                assert!(error.is_cancelled(), "{name}: {error}");
                true
            }
        };
        if !cancelled {
            grant();
        }
        second.join().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ended.load(SeqCst), 2 - usize::from(cancelled), "{name}");
    }
}

#[test]
fn a_grant_at_the_same_time() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let s = Arc::new(Semaphore::new(1));
            let _kept = s.acquire();
            let waits = s.clone();
            race("a permit", move || waits.acquire().forget(), || s.add_permits(1));
            assert_eq!(s.available(), 0);

            let (tx, rx) = unbounded::<u32>();
            let r = rx.clone();
            race("a message", move || assert_eq!(r.recv(), Ok(1)), || tx.send(1).unwrap());
            assert!(rx.is_empty());

            let ((tx, rx), (_tx2, rx2)) = (unbounded::<u32>(), unbounded::<u32>());
            let r = rx.clone();
            let selects = move || match select::wait(Order::Fair, (r.recv_arm(), rx2.recv_arm())) {
                Won::A0(message) => assert_eq!(message, Ok(1)),
                Won::A1(_) => unreachable!(),
            };
            race("a message for a select", selects, || tx.send(1).unwrap());
            assert!(rx.is_empty());
        });
    });
}

/// A notification may not be lost with the one that it was for. (It counts tickets: a notification for nobody is no ticket.)
#[test]
fn a_notification_at_the_same_time() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            for round in 0..300 {
                let pair = Arc::new((Mutex::new(0u32), Condvar::new()));
                let start = |pair: &Arc<(Mutex<u32>, Condvar)>| {
                    let pair = pair.clone();
                    begin(move || {
                        let mut waiting = pair.0.lock().unwrap();
                        *waiting += 1;
                        drop(pair.1.wait(waiting).unwrap());
                    })
                };
                let (first, second) = (start(&pair), start(&pair));
                // Both are in the line: they give the lock back only there.
                wait_until(|| *pair.0.lock().unwrap() == 2);
                scope(|s| {
                    let first = &first;
                    s.spawn(move || {
                        (0..round).for_each(|_| std::hint::spin_loop());
                        first.cancel();
                    });
                    // Held for a while, so that who is notified has to wait for it.
                    let guard = pair.0.lock().unwrap();
                    pair.1.notify_one();
                    (0..round % 7).for_each(|_| yield_now());
                    drop(guard);
                });
                if first.join().is_ok() {
                    pair.1.notify_one();
                }
                second.join().unwrap();
            }
        });
    });
}

/// A mutex that is handed over to one who is cancelled goes to the next.
#[test]
fn a_lock_at_the_same_time() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (m, l) = (Arc::new(Mutex::new(0u64)), Arc::new(RwLock::new(0u64)));
            let (done, mut rng) = (Arc::new(AtomicUsize::new(0)), Rng(3));
            for round in 0..300u64 {
                let guards = (m.lock().unwrap(), l.write().unwrap());
                let tasks: Vec<_> = (0..6)
                    .map(|i| {
                        let (m, l, done) = (m.clone(), l.clone(), done.clone());
                        spawn(move || {
                            match i % 3 {
                                0 => *m.lock().unwrap() += 1,
                                1 => *l.write().unwrap() += 1,
                                _ => assert!(*l.read().unwrap() <= 2 * (round + 1)),
                            }
                            done.fetch_add(1, SeqCst);
                        })
                    })
                    .collect();
                (0..rng.below(4)).for_each(|_| yield_now());
                scope(|s| {
                    let (pause, tasks) = (rng.below(400), &tasks);
                    s.spawn(move || {
                        (0..pause).for_each(|_| std::hint::spin_loop());
                        tasks[..4].iter().for_each(JoinHandle::cancel);
                    });
                    drop(guards);
                });
                let ended = tasks.into_iter().map(|task| task.join().is_ok()).collect::<Vec<_>>();
                assert!(ended[4] && ended[5], "{ended:?}");
            }
            let sections = *m.lock().unwrap() + *l.write().unwrap();
            assert!(sections as usize <= done.load(SeqCst));
            assert!(m.try_lock().is_ok() && l.try_write().is_ok(), "nobody holds them");
        });
    });
}

// ------------------------------------------------------------------------------------------------------- wherever it stands

task_local! {
    static LOCAL: Cell<u32> = Cell::new(0);
}

/// With a context, which a future leaves with its record between polls, and which says in what stack it waits.
#[test]
fn tasks_with_locals() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            cancel_in(|| {
                LOCAL.set(1);
                sleep(LONG);
            });
            // On top of another, and with an own context there.
            let held = drops.one();
            cancel_in(move || {
                LOCAL.set(1);
                spawn(move || {
                    LOCAL.set(2);
                    (sleep(LONG), held)
                })
                .join()
            });
            drops.assert_all(1);
            // The second closure of a join is a task of its own where contexts are in use.
            let (a, b) = (drops.one(), drops.one());
            cancel_in(move || {
                LOCAL.set(1);
                join(move || drop(a), move || (LOCAL.set(3), sleep(LONG), b))
            });
            drops.assert_all(3);
            // A future that has one, pending, and blocked in a poll.
            for blocks in [false, true] {
                let (held, begun) = (drops.one(), Arc::new(AtomicBool::new(false)));
                let says = begun.clone();
                let h = spawn_async(async move {
                    let _held = held;
                    LOCAL.set(4);
                    myriad::time::sleep_async(Duration::from_micros(10)).await;
                    assert_eq!(LOCAL.get(), 4);
                    sleep(Duration::from_micros(10));
                    assert_eq!(LOCAL.get(), 4);
                    says.store(true, SeqCst);
                    if blocks {
                        sleep(LONG);
                    }
                    std::future::pending::<()>().await;
                });
                wait_until(|| begun.load(SeqCst));
                yield_now();
                h.cancel();
                assert!(h.join().unwrap_err().is_cancelled());
            }
            drops.assert_all(5);
        });
    });
}

/// Deep recursions go on on fresh stacks, perhaps of other workers: as part of their task.
#[test]
fn deep_recursions() {
    fn down(depth: usize, begun: &AtomicBool, local: bool) -> usize {
        if depth == 0 {
            begun.store(true, SeqCst);
            sleep(LONG);
        }
        if local {
            LOCAL.set(depth as u32);
        }
        let room = std::hint::black_box([0u8; 512]);
        let (a, b) = join(|| down(depth - 1, begun, local), || room.len());
        a + b
    }
    fn spawned(depth: usize, begun: Arc<AtomicBool>) {
        if depth == 0 {
            begun.store(true, SeqCst);
            sleep(LONG);
        }
        _ = spawn(move || spawned(depth - 1, begun)).join().map_err(|e| assert!(e.is_cancelled()));
    }
    for mode in common::MODES {
        for workers in [1, 2] {
            case(
                mode,
                workers,
                |b| b,
                |rt| {
                    rt.run(|| {
                        for way in 0..3 {
                            let begun = Arc::new(AtomicBool::new(false));
                            let says = begun.clone();
                            let depth = if mode == Mode::Fibers { 3000 } else { 20_000 };
                            let h = spawn(move || match way {
                                0 => _ = down(depth, &says, false),
                                1 => _ = down(depth / 4, &says, true),
                                _ => spawned(depth, says),
                            });
                            wait_until(|| begun.load(SeqCst));
                            yield_now();
                            h.cancel();
                            assert!(h.join().unwrap_err().is_cancelled(), "way {way}");
                        }
                    });
                },
            );
        }
    }
}

/// What runs in another runtime is cancelled with who waits for it.
#[test]
fn in_another_runtime() {
    for mode in common::MODES {
        case(
            mode,
            1,
            |b| b,
            |rt| {
                let other = Mode::Threads.runtime(1);
                let handle = other.handle();
                rt.run(|| cancel_in(move || handle.run(|| sleep(LONG))));
                assert!(timeout(Duration::from_millis(1), || other.run(|| sleep(LONG))).is_err());
                assert_eq!(other.run(|| 42), 42);
                assert!(other.shutdown(common::PATIENCE).is_clean());
            },
        );
    }
}

/// Destructors of task-locals run when the task has ended: no cancellation arrives in them.
#[test]
fn destructors_of_locals_wait() {
    struct Waits(Option<Arc<AtomicBool>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            if let Some(done) = self.0.take() {
                sleep(Duration::from_micros(50));
                done.store(true, SeqCst);
            }
        }
    }
    task_local! {
        static WAITS: std::cell::RefCell<Waits> = std::cell::RefCell::new(Waits(None));
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let done = Arc::new(AtomicBool::new(false));
            let says = done.clone();
            cancel_in(move || {
                WAITS.with(|waits| waits.borrow_mut().0 = Some(says));
                sleep(LONG);
            });
            assert!(done.load(SeqCst));
        });
    });
}
