//! What may run on top of whom. Each of these programs hangs where a waiting task's stack is lent
//! to the wrong task: the lender goes on only when the borrower has ended, and the borrower waits
//! for what the lender does next.
//!
//! The rule: on top of a waiting frame runs only the very task that it waits for. All else runs on
//! an empty stack.

use crate::common::{each, in_both_modes, wait_until};
use myriad::channel::{bounded, rendezvous, unbounded};
use myriad::time::sleep;
use myriad::{block_on, join, scope, spawn, spawn_async};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

/// The parent waits for `a`, which is blocked; the newest task, `b`, waits for the parent.
#[test]
fn the_newest_task_waits_for_the_joiner() {
    in_both_modes(|rt| {
        let n = rt.run(|| {
            let (gate_tx, gate_rx) = bounded::<u64>(1);
            let (tx, rx) = bounded::<u64>(1);
            let (started_tx, started_rx) = bounded(1);
            let a = spawn(move || {
                started_tx.send(()).unwrap();
                gate_rx.recv().unwrap()
            });
            started_rx.recv().unwrap();
            let gate = spawn(move || gate_tx.send(41).unwrap());
            let b = spawn(move || rx.recv().unwrap());
            let x = a.join().unwrap();
            tx.send(x + 1).unwrap();
            gate.join().unwrap();
            b.join().unwrap()
        });
        assert_eq!(n, 42);
    });
}

/// A worker that waits for a stolen task could take one back from the thief. But that one needs
/// what the parent sends after the join.
#[test]
fn a_task_that_comes_back_from_the_thief() {
    for busy in [false, true] {
        let workers: &[usize] = if busy { &[2, 4] } else { &[1, 2, 4] };
        each(workers, |rt| {
            let n = rt.run(|| {
                let (tx, rx) = bounded::<u64>(1);
                let (started, back) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
                let (result_tx, result_rx) = bounded(1);
                let c = spawn({
                    let (started, back) = (started.clone(), back.clone());
                    move || {
                        started.store(true, SeqCst);
                        let inner = back.clone();
                        drop(spawn(move || {
                            inner.store(true, SeqCst);
                            result_tx.send(rx.recv().unwrap() + 1).unwrap();
                        }));
                        // With its worker kept busy, the task that it has spawned can run on the
                        // parent's only.
                        while busy && !back.load(SeqCst) {
                            std::hint::spin_loop();
                        }
                        wait_until(|| back.load(SeqCst));
                        41
                    }
                });
                while busy && !started.load(SeqCst) {
                    std::hint::spin_loop();
                }
                let x = c.join().unwrap();
                tx.send(x).unwrap();
                result_rx.recv().unwrap()
            });
            assert_eq!(n, 42);
        });
    }
}

/// The parent waits in every other way that there is; each time the newest task waits for the
/// parent.
#[test]
fn the_newest_task_waits_for_one_who_waits_for_something_else() {
    in_both_modes(|rt| {
        rt.run(|| {
            for kind in 0..9 {
                let (tx, rx) = rendezvous::<u64>();
                let (other_tx, other_rx) = bounded::<u64>(1);
                let newest = |rx: myriad::channel::Receiver<u64>| spawn(move || rx.recv().unwrap());
                let h = match kind {
                    0 => {
                        drop(spawn(move || other_tx.send(1).unwrap()));
                        let h = newest(rx);
                        other_rx.recv().unwrap();
                        h
                    }
                    1 => {
                        other_tx.send(1).unwrap();
                        drop(spawn(move || other_rx.recv().unwrap()));
                        let h = newest(rx);
                        // Full: waits.
                        other_tx.send(2).unwrap_or(());
                        h
                    }
                    2 => {
                        let h = newest(rx);
                        sleep(Duration::from_micros(300));
                        h
                    }
                    3 => {
                        let h = newest(rx);
                        (0..200).for_each(|_| myriad::yield_now());
                        h
                    }
                    4 => {
                        let h = newest(rx);
                        assert!(other_rx.recv_timeout(Duration::from_micros(300)).is_err());
                        h
                    }
                    5 => {
                        let other = spawn(move || other_rx.recv().unwrap());
                        drop(spawn(move || other_tx.send(1).unwrap()));
                        let h = newest(rx);
                        block_on(other).unwrap();
                        h
                    }
                    6 => {
                        let other = spawn_async(async move { other_rx.recv_async().await.unwrap() });
                        drop(spawn(move || other_tx.send(1).unwrap()));
                        let h = newest(rx);
                        other.join().unwrap();
                        h
                    }
                    7 => {
                        // The end of a scope: it runs its own tasks there, but not this one.
                        scope(|s| {
                            s.spawn(move || other_rx.recv().unwrap());
                            s.spawn(move || other_tx.send(1).unwrap());
                            newest(rx)
                        })
                    }
                    _ => {
                        // `b` is taken by others, or blocked; then `join` waits for it.
                        let (h, _) = join(
                            || {
                                let h = newest(rx);
                                other_tx.send(1).unwrap();
                                (0..100).for_each(|_| myriad::yield_now());
                                h
                            },
                            || other_rx.recv().unwrap(),
                        );
                        h
                    }
                };
                tx.send(kind).unwrap();
                assert_eq!(h.join().unwrap(), kind);
            }
        });
    });
}

/// The same where the parent waits for a lock that a third task has.
#[test]
fn the_newest_task_wants_the_same_lock() {
    in_both_modes(|rt| {
        rt.run(|| {
            // A channel with one place is a lock: `send` takes it, `recv` leaves it.
            let (lock, unlock) = bounded::<()>(1);
            let n = Arc::new(AtomicUsize::new(0));
            lock.send(()).unwrap();
            let holder = spawn({
                let unlock = unlock.clone();
                move || {
                    (0..100).for_each(|_| myriad::yield_now());
                    unlock.recv().unwrap();
                }
            });
            let newest: Vec<_> = (0..10)
                .map(|_| {
                    let (lock, unlock, n) = (lock.clone(), unlock.clone(), n.clone());
                    spawn(move || {
                        lock.send(()).unwrap();
                        myriad::yield_now();
                        n.fetch_add(1, Relaxed);
                        unlock.recv().unwrap();
                    })
                })
                .collect();
            lock.send(()).unwrap();
            (0..100).for_each(|_| myriad::yield_now());
            unlock.recv().unwrap();
            newest.into_iter().for_each(|h| h.join().unwrap());
            holder.join().unwrap();
            assert_eq!(n.load(Relaxed), 10);
        });
    });
}

/// `b` is not called after `a`: it is offered while `a` runs, for `a` may wait for it.
#[test]
fn the_sides_of_a_join_wait_for_each_other() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = rendezvous();
            assert_eq!(join(|| rx.recv(), || tx.send(1)), (Ok(1), Ok(())));
            assert_eq!(join(|| tx.send(2), || rx.recv()), (Ok(()), Ok(2)));
            // Both ways, many times, and with more joins inside.
            let (ping_tx, ping_rx) = bounded(1);
            let (pong_tx, pong_rx) = bounded(1);
            let (a, b) = join(
                || {
                    let mut sum = 0;
                    for i in 0..500u64 {
                        let ((), got) = join(|| ping_tx.send(i).unwrap(), || pong_rx.recv().unwrap());
                        sum += got;
                    }
                    sum
                },
                || {
                    for _ in 0..500 {
                        let n = ping_rx.recv().unwrap();
                        join(|| pong_tx.send(n * 2).unwrap(), || ());
                    }
                },
            );
            assert_eq!((a, b), (249_500, ()));
        });
    });
}

/// A tree of joins in which each left leaf waits for the right leaf at its side, in another branch.
#[test]
fn leaves_wait_across_the_tree() {
    type Ends = Vec<(myriad::channel::Sender<usize>, myriad::channel::Receiver<usize>)>;
    fn walk(from: usize, to: usize, ends: &Ends) -> usize {
        if to - from > 1 {
            let mid = (from + to) / 2;
            let (a, b) = join(|| walk(from, mid, ends), || walk(mid, to, ends));
            return a + b;
        }
        // Send to the next one, then wait for the one before: a circle through all leaves.
        let n = ends.len();
        if from == 0 {
            ends[1 % n].0.send(0).unwrap();
            return ends[0].1.recv().unwrap();
        }
        let got = ends[from].1.recv().unwrap();
        ends[(from + 1) % n].0.send(got + 1).unwrap();
        0
    }
    in_both_modes(|rt| {
        let ends: Ends = (0..200).map(|_| bounded(1)).collect();
        assert_eq!(rt.run(|| walk(0, 200, &ends)), 199);
    });
}

/// The tasks of a scope wait for each other in a circle, and for a message of the owner's.
#[test]
fn the_tasks_of_a_scope_wait_for_each_other() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (txs, rxs): (Vec<_>, Vec<_>) = (0..50).map(|_| unbounded::<u32>()).unzip();
            scope(|s| {
                for (i, rx) in rxs.iter().enumerate() {
                    let next = &txs[(i + 1) % txs.len()];
                    s.spawn(move || {
                        loop {
                            let n = rx.recv().unwrap();
                            next.send(n + 1).unwrap();
                            if n >= 500 {
                                break;
                            }
                        }
                    });
                }
                txs[0].send(0).unwrap();
            });
        });
    });
}
