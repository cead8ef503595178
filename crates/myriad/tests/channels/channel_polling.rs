//! Attempts that fail, in closures: each 256th lets others go first. So who polls starves nobody,
//! although it never waits.

use crate::channel_common::*;
use crate::common;
use myriad::channel::*;
use myriad::select;
use myriad::select::Select;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

/// More than a budget, however it stands.
const MANY: usize = 600;

/// What fails, each time it is called.
type Attempt = Box<dyn FnMut() + Send>;

/// Each operation that only tries, at channels where it fails.
fn attempts() -> Vec<(&'static str, Attempt)> {
    let (tx, rx) = bounded::<u32>(1);
    let (full, full_rx) = bounded::<u32>(1);
    full.send(0).unwrap();
    let (closed, closed_rx) = bounded::<u32>(1);
    closed.close();
    let (other_tx, other) = rendezvous::<u32>();
    let (set, mut get) = promise::<u32>();
    let never = after(Duration::from_secs(10_000));
    let (rx1, rx2, rx3, rx4, full2) = (rx.clone(), rx.clone(), rx.clone(), rx.clone(), full.clone());
    let keep = Arc::new((tx, full_rx, other_tx, set));
    let kept = |f: Attempt| -> Attempt {
        let (keep, mut f) = (keep.clone(), f);
        Box::new(move || {
            _ = &keep;
            f();
        })
    };
    vec![
        ("try_recv", kept(Box::new(move || assert!(rx.try_recv().is_err())))),
        ("try_recv, closed", kept(Box::new(move || assert!(closed_rx.try_recv().is_err())))),
        ("try_iter", kept(Box::new(move || assert_eq!(rx1.try_iter().count(), 0)))),
        ("try_peek", kept(Box::new(move || assert!(rx2.try_peek().is_err())))),
        ("try_send", kept(Box::new(move || assert!(full.try_send(1).is_err())))),
        ("try_send, closed", kept(Box::new(move || assert!(closed.try_send(1).is_err())))),
        ("a promise", kept(Box::new(move || assert!(get.try_recv().is_err())))),
        ("a time", kept(Box::new(move || assert!(never.try_recv().is_err())))),
        ("default, one arm", kept(Box::new(move || select! { _ = rx3.recv() => panic!("empty"), default => {} }))),
        (
            "default, three arms",
            kept(Box::new(move || {
                select! {
                    _ = rx4.recv() => panic!("empty"),
                    _ = full2.send(1) => panic!("full"),
                    _ = other.recv() => panic!("nobody sends"),
                    default => {}
                }
            })),
        ),
    ]
}

/// Another task of the same worker, which has blocked and is ready again, goes on while this one
/// polls.
#[test]
fn who_polls_lets_others_go_first() {
    for mode in modes() {
        common::case(
            mode,
            1,
            // (A spare worker might go on with the other task.)
            |b| b.pin_workers(false).spare_workers(0),
            |rt| {
                for (what, mut attempt) in attempts() {
                    let turns = Arc::new(AtomicUsize::new(0));
                    let (done, turns2) = (Arc::new(AtomicBool::new(false)), turns.clone());
                    let done2 = done.clone();
                    rt.run(|| {
                        let other = myriad::spawn(move || {
                            while !done2.load(SeqCst) {
                                turns2.fetch_add(1, SeqCst);
                                myriad::yield_now();
                            }
                        });
                        wait_until(|| turns.load(SeqCst) > 0);
                        let before = turns.load(SeqCst);
                        (0..MANY).for_each(|_| attempt());
                        let after = turns.load(SeqCst);
                        done.store(true, SeqCst);
                        other.join().unwrap();
                        assert!(after > before, "{mode}: {what}");
                    });
                }
            },
        );
    }
}

/// Not in a future, whose stack would be set aside for it; nor while a panic unwinds, nor where the
/// thread is kept.
#[test]
fn where_nobody_goes_first() {
    struct Polls<F: FnMut()>(F);
    impl<F: FnMut()> Drop for Polls<F> {
        fn drop(&mut self) {
            (0..MANY).for_each(|_| (self.0)());
        }
    }
    for mode in modes() {
        common::case(
            mode,
            1,
            |b| b.pin_workers(false).spare_workers(0),
            |rt| {
                let turns = Arc::new(AtomicUsize::new(0));
                let (done, turns2) = (Arc::new(AtomicBool::new(false)), turns.clone());
                let done2 = done.clone();
                let other = rt.spawn(move || {
                    while !done2.load(SeqCst) {
                        turns2.fetch_add(1, SeqCst);
                        myriad::yield_now();
                    }
                });
                wait_until(|| turns.load(SeqCst) > 0);
                let unchanged = move |turns: &AtomicUsize, body: &mut dyn FnMut()| {
                    let before = turns.load(SeqCst);
                    body();
                    assert_eq!(turns.load(SeqCst), before, "{mode}");
                };
                let (_tx, rx) = bounded::<u32>(1);
                let (turns2, rx2) = (turns.clone(), rx.clone());
                rt.run(|| {
                    // Futures.
                    let polled = myriad::spawn_async(async move {
                        unchanged(&turns2, &mut || (0..MANY).for_each(|_| assert!(rx2.try_recv().is_err())));
                    });
                    polled.join().unwrap();
                    unchanged(&turns, &mut || {
                        myriad::task::keep_thread(|| (0..MANY).for_each(|_| assert!(rx.try_recv().is_err())));
                    });
                    // (The count is taken inside: to begin and end a panic is none of its
                    // business.)
                    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        let _polls = Polls({
                            let (turns, rx) = (turns.clone(), rx.clone());
                            let mut before = None;
                            move || {
                                let before = *before.get_or_insert_with(|| turns.load(SeqCst));
                                assert!(rx.try_recv().is_err());
                                if turns.load(SeqCst) != before {
                                    std::process::abort();
                                }
                            }
                        });
                        common::plan("unwinds");
                    }));
                    assert!(unwound.is_err());
                });
                done.store(true, SeqCst);
                other.join().unwrap();
            },
        );
    }
}

/// It is no cancellation point.
#[test]
fn who_polls_is_not_cancelled_by_that() {
    each_runtime(|rt| {
        let (_tx, rx) = bounded::<u32>(1);
        let (begun, cancelled) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (begun2, cancelled2) = (begun.clone(), cancelled.clone());
        let polls = rt.spawn(move || {
            begun2.store(true, SeqCst);
            while !cancelled2.load(SeqCst) {
                assert!(rx.try_recv().is_err());
            }
            (0..MANY).for_each(|_| assert!(rx.try_recv().is_err()));
            7
        });
        wait_until(|| begun.load(SeqCst));
        polls.cancel();
        cancelled.store(true, SeqCst);
        assert_eq!(polls.join().unwrap(), 7);
    });
}

/// crossbeam's `loop_try`: two poll for each other's end, one after the other, on the same workers.
#[test]
fn crossbeams_loop_try() {
    each_runtime(|rt| {
        for _ in 0..20 {
            let (s1, r1) = rendezvous::<i32>();
            let (s2, r2) = rendezvous::<i32>();
            let (s_end, r_end) = rendezvous::<()>();
            let r_end2 = r_end.clone();
            rt.run(|| {
                myriad::scope(|scope| {
                    scope.spawn(move || {
                        loop {
                            select! { sent = s1.send(1) => { _ = sent; break }, default => {} }
                            select! { _ = r_end.recv() => break, default => {} }
                        }
                    });
                    scope.spawn(move || {
                        loop {
                            if let Ok(x) = r2.try_recv() {
                                assert_eq!(x, 2);
                                break;
                            }
                            select! { _ = r_end2.recv() => break, default => {} }
                        }
                    });
                    scope.spawn(move || {
                        myriad::yield_now();
                        select! {
                            v = r1.recv() => assert_eq!(v, Ok(1)),
                            _ = s2.send(2) => {},
                        }
                        drop(s_end);
                    });
                });
            });
        }
    });
}

/// crossbeam's `zero::stress_iter`: one polls a rendezvous on which the other, which begun first,
/// waits.
#[test]
fn crossbeams_stress_iter() {
    const COUNT: usize = 1_000;
    each_runtime(|rt| {
        let (request_s, request_r) = rendezvous();
        let (response_s, response_r) = rendezvous();
        rt.run(|| {
            myriad::scope(|scope| {
                scope.spawn(move || {
                    let mut count = 0;
                    loop {
                        for x in response_r.try_iter() {
                            count += x;
                            if count == COUNT {
                                return;
                            }
                        }
                        _ = request_s.try_send(());
                    }
                });
                for _ in request_r.iter() {
                    if response_s.send(1).is_err() {
                        break;
                    }
                }
            });
        });
    });
}

/// The dynamic form, with one arm and with many.
#[test]
fn a_dynamic_select_polls_as_well() {
    each_runtime(|rt| {
        for arms in [1, 3] {
            let (tx, rx) = bounded::<u32>(1);
            let (begun, begun2) = {
                let b = Arc::new(AtomicBool::new(false));
                (b.clone(), b)
            };
            let sends = rt.spawn(move || {
                begun2.store(true, SeqCst);
                myriad::yield_now();
                tx.send(7).unwrap();
            });
            let got = rt.run(|| {
                let mut select = Select::new();
                (0..arms).for_each(|_| _ = select.recv(&rx, |got| got));
                loop {
                    if let Some(got) = select.try_wait() {
                        break got;
                    }
                }
            });
            assert_eq!(got, Ok(7));
            assert!(begun.load(SeqCst));
            sends.join().unwrap();
        }
    });
}
