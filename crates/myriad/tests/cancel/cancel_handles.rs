//! Cancelling without the handle: `JoinHandle::canceller`.

use crate::common::{Drops, case, each_owned, in_both_modes, wait_until};
use myriad::channel::{oneshot, unbounded};
use myriad::task::Canceller;
use myriad::time::{sleep, sleep_async};
use myriad::{JoinHandle, spawn, spawn_async, task, yield_now};
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

/// A task of each kind that lasts until it is cancelled.
fn kinds() -> Vec<JoinHandle<()>> {
    vec![
        spawn(|| sleep(LONG)),
        spawn(|| {
            let (_tx, rx) = unbounded::<()>();
            _ = rx.recv();
        }),
        spawn(|| _ = spawn(|| sleep(LONG)).join()),
        spawn_async(sleep_async(LONG)),
        spawn_async(async { std::future::pending().await }),
        spawn_async(async { sleep(LONG) }),
        task::Builder::new().name("named").spawn(|| sleep(LONG)),
        spawn(|| {
            loop {
                yield_now();
            }
        }),
    ]
}

#[test]
fn each_kind_of_task_is_cancelled() {
    in_both_modes(|rt| {
        rt.run(|| {
            // (A fresh one may be cancelled before it begins; one that had its time is blocked.)
            for wait in [false, true] {
                let tasks = kinds();
                if wait {
                    sleep(Duration::from_millis(2));
                }
                let cancellers: Vec<Canceller> = tasks.iter().map(JoinHandle::canceller).collect();
                for (canceller, h) in cancellers.iter().zip(&tasks) {
                    assert!(!canceller.is_finished() && canceller.id() == h.id());
                    canceller.clone().cancel();
                    canceller.cancel();
                }
                for (i, h) in tasks.into_iter().enumerate() {
                    let error = h.join().unwrap_err();
                    assert!(error.is_cancelled(), "{i}: {error}");
                }
                assert!(cancellers.iter().all(Canceller::is_finished));
            }
        });
    });
}

/// From a thread, and of tasks whose handles are gone.
#[test]
fn a_detached_task_is_cancelled_from_a_thread() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        let cancellers: Vec<Canceller> = (0..20)
            .map(|i| {
                let held = drops.one();
                let h = match i % 2 {
                    0 => rt.spawn(move || {
                        let _held = held;
                        sleep(LONG);
                    }),
                    _ => rt.spawn_async(async move {
                        let _held = held;
                        sleep_async(LONG).await;
                    }),
                };
                h.canceller()
            })
            .collect();
        cancellers.iter().for_each(Canceller::cancel);
        drops.wait_all(20);
        wait_until(|| cancellers.iter().all(Canceller::is_finished));
    });
}

/// A record is another task's soon after its own has ended: that one is not cancelled.
#[test]
fn a_stale_canceller_does_nothing() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mut stale: Vec<Canceller> = Vec::new();
            for round in 0..200 {
                let h = spawn(move || round);
                stale.push(h.canceller());
                assert_eq!(h.join().unwrap(), round);
                // (The memory of the last one, most likely.)
                let (tx, rx) = oneshot();
                let h = if round % 2 == 0 {
                    spawn(move || rx.recv().unwrap())
                } else {
                    spawn_async(async move { rx.recv_async().await.unwrap() })
                };
                yield_now();
                stale.iter().for_each(Canceller::cancel);
                assert!(stale.iter().all(Canceller::is_finished) && !h.is_finished());
                tx.send(round).unwrap();
                assert_eq!(h.join().unwrap(), round);
            }
            assert_eq!(stale.iter().map(Canceller::id).collect::<HashSet<_>>().len(), 200);
        });
    });
}

/// Threads cancel while the tasks end, and others take their records: of these none is cancelled.
#[test]
fn a_canceller_meets_the_end() {
    for mode in crate::common::MODES {
        case(
            mode,
            2,
            |b| b,
            |rt| {
                let (meant, over) = (Mutex::new(Vec::<Canceller>::new()), AtomicBool::new(false));
                let cancelled = AtomicUsize::new(0);
                std::thread::scope(|threads| {
                    for _ in 0..2 {
                        threads.spawn(|| {
                            while !over.load(SeqCst) {
                                let all = meant.lock().unwrap().clone();
                                all.iter().for_each(Canceller::cancel);
                                std::thread::yield_now();
                            }
                        });
                    }
                    rt.run(|| {
                        for round in 0..if crate::common::full_length() { 20_000 } else { 2_000 } {
                            let ours = spawn(move || {
                                yield_now();
                                round
                            });
                            let mut meant = meant.lock().unwrap();
                            if meant.len() == 8 {
                                meant.clear();
                            }
                            meant.push(ours.canceller());
                            drop(meant);
                            let theirs = spawn_async(async move {
                                yield_once().await;
                                round
                            });
                            match ours.join() {
                                Ok(result) => assert_eq!(result, round),
                                Err(error) => {
                                    assert!(error.is_cancelled(), "{error}");
                                    cancelled.fetch_add(1, SeqCst);
                                }
                            }
                            assert_eq!(theirs.join().unwrap(), round);
                            assert_eq!(spawn(move || round).join().unwrap(), round);
                        }
                        over.store(true, SeqCst);
                    });
                });
            },
        );
    }
}

/// A thread cancels while the task is claimed by its joiner, and begins on top of that: the mark is
/// not lost. (If it were, the task would sleep for an hour.)
#[test]
fn a_canceller_meets_the_joiner() {
    for mode in crate::common::MODES {
        case(
            mode,
            1,
            |b| b,
            |rt| {
                let round = AtomicUsize::new(0);
                let meant = Mutex::new(None::<Canceller>);
                let rounds = if crate::common::full_length() { 100_000 } else { 2_000 };
                std::thread::scope(|threads| {
                    threads.spawn(|| {
                        for i in 1..=rounds {
                            let mut spins = 0;
                            while round.load(SeqCst) < i {
                                spins += 1;
                                if spins % 1000 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
                            }
                            let canceller = meant.lock().unwrap().take().unwrap();
                            // (Not always at the same moment.)
                            (0..i % 64).for_each(|_| std::hint::spin_loop());
                            canceller.cancel();
                        }
                    });
                    rt.run(|| {
                        for i in 1..=rounds {
                            let h = spawn(|| sleep(LONG));
                            *meant.lock().unwrap() = Some(h.canceller());
                            round.store(i, SeqCst);
                            assert!(h.join().unwrap_err().is_cancelled());
                        }
                    });
                });
            },
        );
    }
}

async fn yield_once() {
    let mut first = true;
    std::future::poll_fn(|cx| {
        cx.waker().wake_by_ref();
        if std::mem::take(&mut first) { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
    })
    .await;
}

/// Of a task that is left blocked when its runtime ends, and of one that never began.
#[test]
fn a_canceller_outlives_its_runtime() {
    each_owned(|mode, rt| {
        let gate = Arc::new(AtomicBool::new(false));
        let opened = gate.clone();
        let h = rt.spawn(move || {
            opened.store(true, SeqCst);
            let (_tx, rx) = unbounded::<()>();
            _ = rx.recv();
        });
        let canceller = h.canceller();
        wait_until(|| gate.load(SeqCst));
        drop(rt);
        wait_until(|| h.is_finished());
        assert!(canceller.is_finished());
        assert!(h.join().unwrap_err().is_shutdown());
        // Another runtime, which may have the first one's place.
        let rt = mode.runtime(1);
        canceller.cancel();
        assert_eq!(rt.run(|| spawn(|| sleep(Duration::from_millis(1))).join().map_err(|e| e.to_string())), Ok(()));
    });
}
