//! Programs that hang elsewhere because a task that blocks holds its worker, or runs on top of
//! another one.

use crate::common::{case, each, in_both_modes};
use myriad::channel::{bounded, rendezvous, unbounded};
use myriad::{block_on, join, scope, spawn, spawn_async};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Three stages over bounded channels on fewer workers than stages, spawned in every order. A pool
/// whose blocked tasks keep their workers stops for ever; or with two stages goes by the order of
/// its queues.
#[test]
fn a_pipeline_with_more_stages_than_workers() {
    in_both_modes(|rt| {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let sum = AtomicUsize::new(0);
            rt.run(|| {
                let (tx0, rx0) = bounded::<usize>(1);
                let (tx1, rx1) = bounded::<usize>(1);
                scope(|s| {
                    let (mut a, mut b, mut c) = (Some(tx0), Some((rx0, tx1)), Some(rx1));
                    for stage in order {
                        match stage {
                            0 => {
                                let tx0 = a.take().unwrap();
                                s.spawn(move || (0..100).for_each(|i| tx0.send(i).unwrap()));
                            }
                            1 => {
                                let (rx0, tx1) = b.take().unwrap();
                                s.spawn(move || rx0.iter().for_each(|i| tx1.send(i + 1).unwrap()));
                            }
                            _ => {
                                let rx1 = c.take().unwrap();
                                let sum = &sum;
                                s.spawn(move || sum.store(rx1.iter().sum(), SeqCst));
                            }
                        }
                    }
                });
            });
            assert_eq!(sum.load(SeqCst), 5050);
        }
    });
}

/// A thousand iterations that hold a lock over a `join`. Elsewhere the waiting worker takes another
/// iteration, which wants the lock that its own stack holds.
///
/// A channel with one place is the lock, in both modes: `send` takes it, `recv` leaves it. (`std`'s
/// mutex would hold the worker in fiber mode. The library's own mutex belongs here as soon as there
/// is one.)
#[test]
fn a_lock_held_over_a_join() {
    in_both_modes(|rt| {
        let n = AtomicUsize::new(0);
        rt.run(|| {
            let (lock, unlock) = bounded(1);
            scope(|s| {
                for _ in 0..500 {
                    s.spawn(|| {
                        lock.send(()).unwrap();
                        let before = n.load(Relaxed);
                        join(burn, burn);
                        n.store(before + 1, Relaxed);
                        unlock.recv().unwrap();
                    });
                }
            });
        });
        assert_eq!(n.load(Relaxed), 500);
    });
}

/// The same with `std`'s mutex, in threads mode: who blocks in `lock` keeps its worker, so spare
/// workers go on with what was that worker's, the lock's owner among it. (In fiber mode only the
/// stuck thread could: see `docs/SOUNDNESS.md`.)
#[test]
fn a_std_mutex_held_over_a_join() {
    for workers in [1, 2, 4] {
        case(
            crate::common::Mode::Threads,
            workers,
            |b| b,
            |rt| {
                let n = Mutex::new(0);
                rt.run(|| {
                    scope(|s| {
                        for _ in 0..1000 {
                            s.spawn(|| {
                                let mut n = n.lock().unwrap();
                                join(burn, burn);
                                *n += 1;
                            });
                        }
                    });
                });
                assert_eq!(*n.lock().unwrap(), 1000);
            },
        );
    }
}

fn burn() {
    for i in 0..200 {
        std::hint::black_box(i);
    }
}

/// Two tasks wait in a receive on as many workers, before the task that sends has started.
#[test]
fn waiting_receivers_on_all_workers() {
    in_both_modes(|rt| {
        let workers = rt.workers();
        let sum = rt.run(|| {
            let (tx, rx) = unbounded();
            let waiting: Vec<_> = (0..workers * 3)
                .map(|_| {
                    let rx = rx.clone();
                    spawn(move || rx.recv().unwrap())
                })
                .collect();
            let sender = spawn(move || (0..workers * 3).for_each(|i| tx.send(i).unwrap()));
            let sum = waiting.into_iter().map(|h| h.join().unwrap()).sum::<usize>();
            sender.join().unwrap();
            sum
        });
        assert_eq!(sum, (0..workers * 3).sum());
    });
}

/// What has a colour elsewhere: waiting for a future in a closure, in a comparison, in a poll;
/// recursion through futures without boxes; a guard over a wait; locals that are borrowed.
#[test]
fn functions_have_no_colour() {
    fn fib(n: u64) -> u64 {
        if n < 2 {
            return n;
        }
        let (a, b) = (spawn_async(async move { fib(n - 1) }), spawn(move || fib(n - 2)));
        block_on(a).unwrap() + b.join().unwrap()
    }
    async fn fetch(x: u32) -> u32 {
        let (tx, rx) = rendezvous();
        drop(spawn(move || tx.send(x * 2).unwrap()));
        rx.recv_async().await.unwrap()
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let v: Vec<u32> = (0..3).map(|x| block_on(fetch(x))).collect();
            assert_eq!(v, [0, 2, 4]);
            let mut w = vec![3, 1, 2];
            w.sort_by_key(|&x| block_on(fetch(x)));
            assert_eq!(w, [1, 2, 3]);
            assert_eq!(spawn_async(async { block_on(fetch(21)) }).join().unwrap(), 42);
            assert_eq!(fib(12), 144);
            // A task borrows, while the guard of a lock is held over its end.
            let counts = Mutex::new(vec![0; 4]);
            let mut guard = counts.lock().unwrap();
            scope(|s| guard.iter_mut().for_each(|n| drop(s.spawn(move || *n += block_on(fetch(1))))));
            assert_eq!(*guard, [2; 4]);
        });
    });
}

/// Several readers of one scope's data wait for each other over channels while the scope's owner
/// computes.
#[test]
fn an_owner_that_computes() {
    each(&[2], |rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<u64>(1);
            let mut sum = 0;
            scope(|s| {
                s.spawn(|| (0..200).for_each(|i| tx.send(i).unwrap()));
                let sums = s.spawn(|| rx.iter().take(200).sum::<u64>());
                while !sums.is_finished() {
                    burn();
                }
                sum = sums.join().unwrap();
            });
            assert_eq!(sum, 19_900);
        });
    });
}
