//! Programs that stop elsewhere, or wait for long, because one task does not come back to its
//! worker: in a foreign lock or channel, in a system call, in a computation. Here what these tasks
//! wait for is done by others: each test ends, or hangs.

use crate::common::{MODES, Mode, case, each, wait_until};
use myriad::channel::{bounded, unbounded};
use myriad::time::{sleep, sleep_async};
use myriad::{JoinHandle, block_on, join, scope, spawn, spawn_async};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Tasks wait in `std`'s channel on all workers, and the task that sends has not begun.
#[test]
fn a_std_channel_on_all_workers() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (channels, receivers): (Vec<_>, Vec<_>) = (0..rt.workers()).map(|_| mpsc::channel()).unzip();
            let receiving: Vec<_> =
                receivers.into_iter().map(|rx: mpsc::Receiver<u32>| spawn(move || rx.recv().unwrap())).collect();
            // Behind them; a future as well as a closure.
            let senders: Vec<_> = channels
                .into_iter()
                .enumerate()
                .map(|(i, tx)| {
                    let send = move || tx.send(7).unwrap();
                    if i % 2 == 0 { spawn(send) } else { spawn_async(async move { send() }) }
                })
                .collect();
            assert!(receiving.into_iter().all(|task| task.join().unwrap() == 7));
            senders.into_iter().for_each(|task| task.join().unwrap());
        });
    });
}

/// All workers are in one task each, that goes on until the others have ended: by computing, or
/// asleep in the system.
fn hold_all_workers(
    rt: &myriad::Runtime,
    asleep: bool,
    ended: &Arc<AtomicUsize>,
    expected: usize,
) -> Vec<JoinHandle<()>> {
    let begun = Arc::new(AtomicUsize::new(0));
    let held: Vec<_> = (0..rt.workers())
        .map(|_| {
            let (begun, ended) = (begun.clone(), ended.clone());
            rt.spawn(move || {
                begun.fetch_add(1, SeqCst);
                while ended.load(SeqCst) < expected {
                    if asleep { std::thread::sleep(Duration::from_micros(500)) } else { std::hint::spin_loop() }
                }
            })
        })
        .collect();
    wait_until(|| begun.load(SeqCst) == rt.workers());
    held
}

/// Short sleeps, begun before the workers were taken and after, as futures and (where a thread of
/// their own goes on) as closures that have not begun.
#[test]
fn short_sleeps_beside_long_tasks() {
    for asleep in [false, true] {
        each(&[1, 2], |rt| {
            let ended = Arc::new(AtomicUsize::new(0));
            let (set, is_set) = bounded::<()>(4);
            let early: Vec<_> = (0..4)
                .map(|_| {
                    let (ended, set) = (ended.clone(), set.clone());
                    rt.spawn_async(async move {
                        set.send_async(()).await.unwrap();
                        sleep_async(Duration::from_millis(2)).await;
                        ended.fetch_add(1, SeqCst);
                    })
                })
                .collect();
            (0..4).for_each(|_| is_set.recv().unwrap());
            let held = hold_all_workers(rt, asleep, &ended, 12);
            let late: Vec<_> = (0..8)
                .map(|i| {
                    let ended = ended.clone();
                    if i % 2 == 0 {
                        return rt.spawn_async(async move {
                            sleep_async(Duration::from_millis(1)).await;
                            ended.fetch_add(1, SeqCst);
                        });
                    }
                    // It begins on a worker that is free, and stays there.
                    rt.spawn(move || {
                        sleep(Duration::from_millis(1));
                        ended.fetch_add(1, SeqCst);
                    })
                })
                .collect();
            early.into_iter().chain(late).chain(held).for_each(|task| task.join().unwrap());
        });
    }
}

/// A scope with nothing in it to speak of, from outside, behind coarse leaves; and a channel
/// between two tasks that were not there yet.
#[test]
fn a_trivial_scope_behind_coarse_leaves() {
    each(&[1, 2], |rt| {
        let ended = Arc::new(AtomicUsize::new(0));
        let held = hold_all_workers(rt, false, &ended, 1);
        let sum = rt.run(|| {
            let n = AtomicUsize::new(0);
            scope(|s| (0..4).for_each(|_| drop(s.spawn(|| n.fetch_add(1, SeqCst)))));
            let (tx, rx) = unbounded();
            let (a, b) = join(|| tx.send(1).is_ok(), || rx.recv().is_ok());
            n.into_inner() + usize::from(a && b)
        });
        assert_eq!(sum, 5);
        ended.store(1, SeqCst);
        held.into_iter().for_each(|task| task.join().unwrap());
    });
}

/// Elsewhere who waits for its own tasks comes back late, because meanwhile it has begun a long one
/// of others. Here it comes back when they have ended: hardly any of the others have begun, and
/// none runs on top of it.
#[test]
fn a_waiter_comes_back_before_others_begin() {
    const OTHERS: usize = 2_000;
    for mode in MODES {
        // Without spare workers, which would begin the others if this machine has no time for us.
        let alone = |b: myriad::Builder| b.spare_workers(0);
        case(mode, 1, alone, |rt| {
            let begun = Arc::new(AtomicUsize::new(0));
            let (others, before) = rt.run({
                let begun = begun.clone();
                move || {
                    let others: Vec<_> = (0..OTHERS)
                        .map(|_| {
                            let begun = begun.clone();
                            spawn(move || begun.fetch_add(1, SeqCst))
                        })
                        .collect();
                    let (tx, rx) = bounded(0);
                    scope(|s| {
                        // They wait for each other, so the owner waits as well.
                        s.spawn(|| (0..10).for_each(|n| tx.send(n).unwrap()));
                        s.spawn(|| (0..10).for_each(|n| assert_eq!(rx.recv(), Ok(n))));
                    });
                    (others, begun.load(SeqCst))
                }
            });
            assert!(before < OTHERS / 4, "{before} of {OTHERS} others have begun before");
            others.into_iter().for_each(|task| _ = task.join().unwrap());
        });
    }
}

/// A future that waits for a closure that waits for a future, and so on, on one worker.
#[test]
fn layers_of_futures_and_closures() {
    fn layer(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        // A closure, in which a future is waited for, which waits for a closure.
        let future = spawn_async(async move { spawn(move || layer(depth - 1)).await.unwrap() + 1 });
        match depth % 3 {
            0 => block_on(future).unwrap(),
            1 => future.join().unwrap(),
            _ => block_on(async { future.await.unwrap() }),
        }
    }
    for mode in MODES {
        let depth = if mode == Mode::Fibers { 1_000 } else { 100 };
        case(
            mode,
            1,
            |b| b,
            |rt| {
                assert_eq!(rt.run(|| layer(depth)), depth);
                // From a thread that is no worker, too.
                let handle = rt.handle();
                assert_eq!(block_on(async { handle.spawn(|| layer(50)).await.unwrap() }), 50);
            },
        );
    }
}

/// When a shutdown has ended, the threads have: their thread-locals are dropped, also of those that
/// tasks have blocked on.
#[test]
fn thread_locals_are_dropped_before_a_shutdown_ends() {
    struct Local(Arc<AtomicUsize>);
    impl Drop for Local {
        fn drop(&mut self) {
            // Long enough that who does not wait for it is seen.
            std::thread::sleep(Duration::from_millis(2));
            self.0.fetch_add(1, SeqCst);
        }
    }
    thread_local! {
        static LOCAL: RefCell<Option<Local>> = const { RefCell::new(None) };
    }
    for mode in MODES {
        for workers in [1, 3] {
            let (made, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let _watch = crate::common::watch(&format!("{mode}, {workers} workers"));
            if mode == Mode::Fibers && !crate::common::fibers_supported() {
                continue;
            }
            let rt = mode.runtime(workers);
            rt.run(|| {
                let (tx, rx) = bounded::<()>(0);
                let tasks: Vec<_> = (0..20)
                    .map(|_| {
                        let (rx, made, dropped) = (rx.clone(), made.clone(), dropped.clone());
                        spawn(move || {
                            // One for each thread.
                            LOCAL.with_borrow_mut(|local| {
                                local.get_or_insert_with(|| {
                                    made.fetch_add(1, SeqCst);
                                    Local(dropped)
                                });
                            });
                            _ = rx.recv();
                        })
                    })
                    .collect();
                tx.close();
                tasks.into_iter().for_each(|task| task.join().unwrap());
            });
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
            assert_eq!(dropped.load(SeqCst), made.load(SeqCst), "{mode}, {workers} workers");
            assert!(made.load(SeqCst) > 0);
        }
    }
}
