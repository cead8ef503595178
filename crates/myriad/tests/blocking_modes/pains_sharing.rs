//! Programs that run one after the other elsewhere although a worker is idle: work that is not
//! shared, or not soon.

use crate::common::{each, wait_until};
use myriad::channel::bounded;
use myriad::{join, scope, spawn, spawn_async};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::thread::{self, ThreadId};

/// Computes, without ever coming to the runtime, until it has met the other side: only if both run
/// at the same time do they end.
fn meet(met: &AtomicUsize) -> ThreadId {
    met.fetch_add(1, SeqCst);
    while met.load(SeqCst) < 2 {
        std::hint::spin_loop();
    }
    thread::current().id()
}

/// Two coarse leaves, no smaller work in them: pools that share only now and then, at a further
/// `join`, run them one after the other.
#[test]
fn two_coarse_leaves_run_at_the_same_time() {
    each(&[2, 4], |rt| {
        for _ in 0..20 {
            let met = AtomicUsize::new(0);
            let (a, b) = rt.run(|| join(|| meet(&met), || meet(&met)));
            assert_ne!(a, b);
            let met = AtomicUsize::new(0);
            rt.run(|| scope(|s| (0..2).for_each(|_| drop(s.spawn(|| meet(&met))))));
            let met = Arc::new(AtomicUsize::new(0));
            rt.run(|| {
                let other = spawn({
                    let met = met.clone();
                    move || meet(&met)
                });
                assert_ne!(meet(&met), other.join().unwrap());
            });
        }
    });
}

/// As many coarse leaves as workers.
#[test]
fn four_coarse_leaves() {
    each(&[4], |rt| {
        let met = AtomicUsize::new(0);
        let leaf = || {
            met.fetch_add(1, SeqCst);
            while met.load(SeqCst) < 4 {
                thread::yield_now();
            }
        };
        rt.run(|| join(|| join(leaf, leaf), || join(leaf, leaf)));
    });
}

/// A future is woken by a task that computes on for long: elsewhere it sits in that worker's own
/// slot until the end. Here an idle worker takes it.
#[test]
fn a_woken_future_does_not_wait_for_its_waker() {
    each(&[2, 4], |rt| {
        for _ in 0..10 {
            let done = Arc::new(AtomicBool::new(false));
            let (tx, rx) = bounded::<()>(1);
            rt.run(|| {
                let waits = spawn_async({
                    let done = done.clone();
                    async move {
                        rx.recv_async().await.unwrap();
                        done.store(true, SeqCst);
                    }
                });
                // It waits by now, or will find the message.
                (0..200).for_each(|_| myriad::yield_now());
                let computes = spawn({
                    let done = done.clone();
                    move || {
                        tx.send(()).unwrap();
                        while !done.load(SeqCst) {
                            std::hint::spin_loop();
                        }
                    }
                });
                computes.join().unwrap();
                waits.join().unwrap();
            });
        }
    });
}

/// The same with the children of a task that computes on: they were not started, so they are taken
/// from it by force.
#[test]
fn the_children_of_a_task_that_computes() {
    each(&[2, 4], |rt| {
        for children in [1, 2, 50] {
            let ended = Arc::new(AtomicUsize::new(0));
            rt.run(|| {
                for i in 0..children {
                    let ended = ended.clone();
                    if i % 2 == 0 {
                        drop(spawn(move || ended.fetch_add(1, SeqCst)));
                    } else {
                        drop(spawn_async(async move { ended.fetch_add(1, SeqCst) }));
                    }
                }
                while ended.load(SeqCst) < children {
                    std::hint::spin_loop();
                }
            });
        }
    });
}

/// One worker computes and never comes to the runtime: all others' tasks, old and new, go on.
#[test]
fn a_task_that_never_yields() {
    each(&[2, 4], |rt| {
        let stop = Arc::new(AtomicBool::new(false));
        let (started_tx, started_rx) = bounded(1);
        let computes = rt.spawn({
            let stop = stop.clone();
            move || {
                started_tx.send(()).unwrap();
                while !stop.load(Relaxed) {
                    std::hint::spin_loop();
                }
            }
        });
        started_rx.recv().unwrap();
        for _ in 0..20 {
            let n = rt.run(|| {
                let (tx, rx) = bounded(2);
                let sender = spawn(move || (0..50).for_each(|i| tx.send(i).unwrap()));
                let handles: Vec<_> = (0..50).map(|i| spawn(move || i)).collect();
                let n: usize = rx.iter().sum();
                sender.join().unwrap();
                n + handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
            });
            assert_eq!(n, 2 * 1225);
        }
        stop.store(true, SeqCst);
        computes.join().unwrap();
    });
}

/// Idle workers that sleep are woken for a single task.
#[test]
fn a_lone_task_wakes_a_sleeper() {
    each(&[2, 4], |rt| {
        for _ in 0..10 {
            // Long enough for the others to go to sleep.
            thread::sleep(std::time::Duration::from_millis(2));
            let started = AtomicBool::new(false);
            rt.run(|| {
                join(
                    || {
                        while !started.load(SeqCst) {
                            std::hint::spin_loop();
                        }
                    },
                    || started.store(true, SeqCst),
                )
            });
        }
    });
}

/// A chain of tasks, each spawned by one that then computes until the chain has ended.
#[test]
fn spawners_that_compute_on() {
    each(&[4], |rt| {
        let ended = Arc::new(AtomicBool::new(false));
        fn chain(n: usize, ended: &Arc<AtomicBool>) {
            if n == 0 {
                return ended.store(true, SeqCst);
            }
            let inner = ended.clone();
            drop(spawn(move || chain(n - 1, &inner)));
            while !ended.load(SeqCst) {
                thread::yield_now();
            }
        }
        rt.run(|| chain(3, &ended));
        wait_until(|| ended.load(SeqCst));
    });
}
