//! A cancellation in each kind of wait: it ends, without an effect, and the joiner is told.

use crate::cancel_common::*;
use myriad::cancel;
use myriad::channel::{bounded, rendezvous, unbounded};
use myriad::time::{Instant, sleep, sleep_until};
use myriad::{JoinHandle, block_on, join, scope, spawn, spawn_async, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn recv() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded::<u32>();
            let again = rx.clone();
            cancel_in(move || rx.recv());
            // The place in the line is free: the next message comes to the next receiver.
            tx.send(7).unwrap();
            assert_eq!(again.recv(), Ok(7));
        });
    });
}

#[test]
fn send_takes_nothing_along() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let (tx, rx) = bounded(1);
            tx.send(drops.one()).unwrap();
            let (full, second) = (tx.clone(), drops.one());
            cancel_in(move || full.send(second));
            assert_eq!(drops.dropped(), 1, "the message that was not sent");
            drop(rx.recv().unwrap());
            assert!(rx.try_recv().is_err());
            drops.assert_all(2);
        });
    });
}

#[test]
fn rendezvous_both_sides() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = rendezvous::<u32>();
            let (a, b) = (tx.clone(), rx.clone());
            cancel_in(move || a.send(1));
            assert!(rx.try_recv().is_err());
            cancel_in(move || b.recv());
            assert!(tx.try_send(2).is_err());
        });
    });
}

#[test]
fn waits_with_a_time_limit() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<u32>(1);
            let r = rx.clone();
            cancel_in(move || r.recv_timeout(LONG));
            tx.send(1).unwrap();
            let t = tx.clone();
            cancel_in(move || t.send_timeout(2, LONG));
            assert_eq!(rx.recv(), Ok(1));
            assert!(rx.try_recv().is_err());
        });
    });
}

#[test]
fn sleeps() {
    in_both_modes(|rt| {
        rt.run(|| {
            cancel_in(|| sleep(LONG));
            cancel_in(|| sleep_until(Instant::NEVER));
        });
    });
}

#[test]
fn yields() {
    in_both_modes(|rt| {
        rt.run(|| {
            cancel_in(|| -> () {
                loop {
                    yield_now();
                }
            });
        });
    });
}

/// A task that always finds a message never waits; but it lets others run now and then.
#[test]
fn a_loop_that_never_waits() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<u32>(1);
            cancel_in(move || -> () {
                loop {
                    tx.send(1).unwrap();
                    rx.recv().unwrap();
                }
            });
        });
    });
}

#[test]
fn block_on_drops_the_future() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let held = drops.one();
            cancel_in(move || {
                block_on(async move {
                    let _held = held;
                    std::future::pending::<()>().await;
                })
            });
            drops.assert_all(1);
        });
    });
}

#[test]
fn a_future_is_dropped() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let held = drops.one();
            let h = spawn_async(async move {
                let _held = held;
                std::future::pending::<()>().await;
            });
            yield_now();
            assert_cancelled(h);
            drops.assert_all(1);
            // Never polled.
            let (polled, held) = (Arc::new(AtomicBool::new(false)), drops.one());
            let says = polled.clone();
            let h = spawn_async(async move {
                let _held = held;
                says.store(true, SeqCst);
                std::future::pending::<()>().await;
            });
            assert_cancelled(h);
            drops.assert_all(2);
        });
    });
}

/// A future that blocks, as a closure does, is unwound where it stands.
#[test]
fn a_future_that_blocks() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let (held, begun) = (drops.one(), Arc::new(AtomicBool::new(false)));
            let says = begun.clone();
            let h = spawn_async(async move {
                let _held = held;
                says.store(true, SeqCst);
                sleep(LONG);
            });
            wait_until(|| begun.load(SeqCst));
            assert_cancelled(h);
            drops.assert_all(1);
        });
    });
}

/// The same in a poll that is not the first: the future waited as a future before.
#[test]
fn a_future_that_blocks_in_a_later_poll() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let (held, begun) = (drops.one(), Arc::new(AtomicUsize::new(0)));
            let says = begun.clone();
            let (tx, rx) = bounded::<u32>(1);
            let h = spawn_async(async move {
                let _held = held;
                says.store(1, SeqCst);
                rx.recv_async().await.unwrap();
                says.store(2, SeqCst);
                sleep(LONG);
            });
            wait_until(|| begun.load(SeqCst) == 1);
            tx.send(7).unwrap();
            wait_until(|| begun.load(SeqCst) == 2);
            assert_cancelled(h);
            drops.assert_all(1);
        });
    });
}

/// Many that were just woken, in queues or in a poll that blocks: each ends, once.
#[test]
fn futures_that_were_woken() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let (handles, senders): (Vec<_>, Vec<_>) = (0..50)
                .map(|_| {
                    let (tx, rx) = bounded::<u32>(1);
                    let held = drops.one();
                    let h = spawn_async(async move {
                        let _held = held;
                        rx.recv_async().await.unwrap();
                        sleep(LONG);
                    });
                    (h, tx)
                })
                .unzip();
            yield_now();
            senders.iter().for_each(|tx| tx.send(7).unwrap());
            handles.iter().for_each(JoinHandle::cancel);
            handles.into_iter().for_each(assert_cancelled);
            drops.assert_all(50);
        });
    });
}

/// A join passes the cancellation on, and waits for the other's end: wherever that runs.
#[test]
fn join_of_a_handle() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            // Claimed by the join, on top of it; and two deep.
            let held = drops.one();
            cancel_in(move || spawn(move || (sleep(LONG), held)).join());
            drops.assert_all(1);
            let held = drops.one();
            cancel_in(move || spawn(move || spawn(move || (sleep(LONG), held)).join()).join());
            drops.assert_all(2);
            // Begun before the join.
            let held = drops.one();
            cancel_in(move || {
                // (Left between here and the join, it would be detached.)
                let h = cancel::shield(|| {
                    let h = spawn(move || (sleep(LONG), held));
                    sleep(Duration::from_micros(100));
                    h
                });
                h.join()
            });
            drops.assert_all(3);
            // A future.
            let held = drops.one();
            cancel_in(move || {
                spawn_async(async move {
                    std::future::pending::<()>().await;
                    drop(held);
                })
                .join()
            });
            drops.assert_all(4);
        });
    });
}

#[test]
fn join_of_two() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            for _ in 0..20 {
                let (a, b) = (drops.one(), drops.one());
                cancel_in(move || join(move || (sleep(LONG), a), move || (sleep(LONG), b)));
            }
            drops.assert_all(40);
            // `b` alone blocks: on the caller's stack, or elsewhere.
            for _ in 0..20 {
                cancel_in(|| join(|| (), || sleep(LONG)));
            }
        });
    });
}

#[test]
fn the_end_of_a_scope() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let one = drops.clone();
            cancel_in(move || {
                scope(|s| {
                    for _ in 0..10 {
                        let held = one.one();
                        s.spawn(move || (sleep(LONG), held));
                    }
                })
            });
            drops.assert_all(10);
            // In its body.
            let one = drops.clone();
            cancel_in(move || {
                scope(|s| {
                    for _ in 0..10 {
                        let held = one.one();
                        s.spawn(move || (sleep(LONG), held));
                    }
                    sleep(LONG);
                })
            });
            drops.assert_all(20);
        });
    });
}

#[test]
fn tasks_that_a_scope_cancels() {
    in_both_modes(|rt| {
        let ended = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                for i in 0..1000 {
                    let ended = &ended;
                    s.spawn(move || {
                        struct Count<'a>(&'a AtomicUsize);
                        impl Drop for Count<'_> {
                            fn drop(&mut self) {
                                self.0.fetch_add(1, SeqCst);
                            }
                        }
                        let _count = Count(ended);
                        if i % 2 == 0 {
                            yield_now();
                        }
                        sleep(LONG);
                    });
                }
                yield_now();
                s.cancel();
                assert!(s.is_cancelled());
                // One that never begins.
                let late = s.spawn(|| unreachable!("its scope is cancelled"));
                assert!(late.join().unwrap_err().is_cancelled());
            });
        });
        assert!(ended.load(SeqCst) <= 1000);
    });
}

/// A computation hears of its scope's cancellation when it asks.
#[test]
fn a_computing_task_of_a_scope_asks() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let begun = AtomicBool::new(false);
            scope(|s| {
                s.spawn(|| {
                    begun.store(true, SeqCst);
                    while !cancel::is_cancelled() {
                        // (It may have begun on the worker of the one that cancels, and lets that
                        // run.)
                        cancel::shield(yield_now);
                    }
                });
                wait_until(|| begun.load(SeqCst));
                s.cancel();
            });
        });
    });
}

#[test]
fn from_a_foreign_thread() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        let hs: Vec<_> = (0..100)
            .map(|i| {
                let held = drops.one();
                rt.spawn(move || {
                    let _held = held;
                    if i % 3 == 0 {
                        yield_now();
                    }
                    sleep(LONG);
                })
            })
            .collect();
        for h in &hs {
            h.cancel();
        }
        for h in hs {
            assert!(h.join().unwrap_err().is_cancelled());
        }
        drops.assert_all(100);
    });
}

/// Its home is stuck in another task: in threads mode others go on with it.
#[test]
fn while_its_worker_is_stuck() {
    case(
        Mode::Threads,
        1,
        |b| b,
        |rt| {
            let (begun, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
            let says = begun.clone();
            let h = rt.spawn(move || {
                says.fetch_add(1, SeqCst);
                sleep(LONG);
            });
            wait_until(|| begun.load(SeqCst) == 1);
            let (says, waits) = (begun.clone(), go.clone());
            let stuck = rt.spawn(move || {
                says.fetch_add(1, SeqCst);
                while !waits.load(SeqCst) {
                    std::hint::spin_loop();
                }
            });
            wait_until(|| begun.load(SeqCst) == 2);
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
            go.store(true, SeqCst);
            stuck.join().unwrap();
        },
    );
}
