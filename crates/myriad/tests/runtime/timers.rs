//! Sleeping: never too early, in order, by the thousand; and on a clock that stands still until it
//! is moved.

use crate::common::{Drops, MODES, case, each, in_both_modes, wait_until};
use myriad::channel::{RecvTimeoutError, bounded, unbounded};
use myriad::time::{Instant, now, sleep, sleep_async, sleep_until, sleep_until_async};
use myriad::{Runtime, block_on, spawn, spawn_async};
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

// -------------------------------------------------------------------------------------------------------
// the real clock

#[test]
fn never_too_early() {
    in_both_modes(|rt| {
        rt.run(|| {
            let handles: Vec<_> = (0..100)
                .map(|i| {
                    let duration = Duration::from_micros(i * 37 % 2000);
                    if i % 2 == 0 {
                        spawn(move || {
                            let began = std::time::Instant::now();
                            sleep(duration);
                            assert!(began.elapsed() >= duration);
                        })
                    } else {
                        spawn_async(async move {
                            let began = std::time::Instant::now();
                            sleep_async(duration).await;
                            assert!(began.elapsed() >= duration);
                        })
                    }
                })
                .collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}

/// Also on foreign threads, which have no worker to look at a clock for them.
#[test]
fn foreign_threads_sleep() {
    let _watch = crate::common::watch("foreign");
    for duration in [MS / 10, 2 * MS] {
        let began = std::time::Instant::now();
        sleep(duration);
        assert!(began.elapsed() >= duration);
        let began = std::time::Instant::now();
        sleep_until(now() + duration);
        assert!(began.elapsed() >= duration);
        let began = std::time::Instant::now();
        block_on(sleep_async(duration));
        assert!(began.elapsed() >= duration);
    }
    // What has passed is no wait.
    sleep_until(now());
    block_on(sleep_until_async(Instant::from_nanos(0)));
}

/// A sleeper is woken although all workers sleep, and although one of them computes.
#[test]
fn sleepers_beside_a_computing_task() {
    each(&[2], |rt| {
        let slept = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            for _ in 0..10 {
                let slept = slept.clone();
                drop(spawn_async(async move {
                    sleep_async(MS).await;
                    slept.fetch_add(1, SeqCst);
                }));
            }
            // Never comes to the runtime: the futures have to be run by the other worker.
            while slept.load(SeqCst) < 10 {
                std::hint::spin_loop();
            }
        });
    });
}

#[test]
fn a_hundred_thousand_sleepers() {
    for mode in MODES {
        // Where a thread is a stack, futures sleep.
        let (tasks, fibers) = (100_000, mode == crate::common::Mode::Fibers);
        case(
            mode,
            2,
            |b| b,
            |rt| {
                let woken = Arc::new(AtomicUsize::new(0));
                rt.run(|| {
                    let began = now();
                    let handles: Vec<_> = (0..tasks)
                        .map(|i| {
                            let woken = woken.clone();
                            let deadline = began + Duration::from_micros(i * 7919 % 100_000);
                            if fibers && i % 10 == 0 {
                                spawn(move || {
                                    sleep_until(deadline);
                                    assert!(now() >= deadline);
                                    woken.fetch_add(1, Relaxed);
                                })
                            } else {
                                spawn_async(async move {
                                    sleep_until_async(deadline).await;
                                    assert!(now() >= deadline);
                                    woken.fetch_add(1, Relaxed);
                                })
                            }
                        })
                        .collect();
                    handles.into_iter().for_each(|h| h.join().unwrap());
                });
                assert_eq!(woken.load(SeqCst), tasks as usize);
            },
        );
    }
}

/// A sleep that is dropped wakes nobody; the timer goes with it.
#[test]
fn a_sleep_that_is_given_up() {
    in_both_modes(|rt| {
        rt.run(|| {
            let handles: Vec<_> = (0..200)
                .map(|i| {
                    spawn_async(async move {
                        // A race that the shorter one wins; which is polled first changes.
                        let mut long = pin!(sleep_async(Duration::from_secs(1000)));
                        let mut short = pin!(sleep_async(Duration::from_micros(i * 10)));
                        poll_fn(|cx| {
                            if i % 2 == 0 && long.as_mut().poll(cx).is_ready() {
                                panic!("the long one was ready");
                            }
                            let ready = short.as_mut().poll(cx);
                            if i % 2 == 1 && long.as_mut().poll(cx).is_ready() {
                                panic!("the long one was ready");
                            }
                            ready
                        })
                        .await;
                    })
                })
                .collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}

/// The same, with a look at what its timer would do: its waker is gone with it, and its memory is
/// somebody else's.
#[test]
fn a_sleep_that_is_dropped_is_forgotten() {
    struct Count(AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let count = Arc::new(Count(AtomicUsize::new(0)));
            let waker = std::task::Waker::from(count.clone());
            let sleeps: Vec<_> = (0..100)
                .map(|i| {
                    let mut sleep = Box::pin(sleep_async(MS + Duration::from_micros(i)));
                    _ = sleep.as_mut().poll(&mut std::task::Context::from_waker(&waker));
                    sleep
                })
                .collect();
            drop(sleeps);
            let others: Vec<_> = (0..300).map(|_| vec![0xff_u8; size_of::<myriad::time::Sleep>()]).collect();
            sleep(2 * MS);
            drop((waker, others));
            // (A timer that was due before all were dropped may still be firing.)
            wait_until(|| Arc::strong_count(&count) == 1);
        });
    });
}

/// A sleep is polled by one task, handed to another, and awaited there: the last one is woken.
#[test]
fn a_sleep_changes_hands() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let first = spawn_async(async move {
                let mut sleep = Box::pin(sleep_async(2 * MS));
                // Pending, unless this thread was held up for so long.
                poll_fn(|cx| Poll::Ready(_ = sleep.as_mut().poll(cx))).await;
                tx.send_async(sleep).await.unwrap();
            });
            let second = spawn_async(async move {
                let mut sleep: Pin<Box<myriad::time::Sleep>> = rx.recv_async().await.unwrap();
                let deadline = sleep.deadline();
                sleep.as_mut().await;
                assert!(now() >= deadline);
            });
            first.join().unwrap();
            second.join().unwrap();
        });
    });
}

/// The time limit and the message come at the same moment, over and over: one of both, never
/// neither, never both.
#[test]
fn a_timeout_races_a_message() {
    in_both_modes(|rt| {
        let (got, late) = rt.run(|| {
            let (tx, rx) = unbounded::<u32>();
            let receiver = spawn(move || {
                let (mut got, mut late) = (0, 0);
                loop {
                    match rx.recv_timeout(Duration::from_micros(60)) {
                        Ok(_) => got += 1,
                        Err(RecvTimeoutError::Timeout) => late += 1,
                        Err(RecvTimeoutError::Closed) => return (got, late),
                    }
                }
            });
            for i in 0..150 {
                tx.send(i).unwrap();
                sleep(Duration::from_micros(u64::from(i % 120)));
            }
            drop(tx);
            receiver.join().unwrap()
        });
        assert_eq!(got, 150, "{late} timeouts");
    });
}

// -------------------------------------------------------------------------------------------------------
// the manual clock

/// Runs `body` with a clock of its own that stands at 0.
#[track_caller]
fn with_manual_clock(workers: &[usize], body: impl Fn(&Runtime)) {
    for mode in MODES {
        for &workers in workers {
            // No spares: what one worker does in order, a spare beside it (on a busy machine) would
            // not.
            case(mode, workers, |b| b.manual_clock().spare_workers(0), &body);
        }
    }
}

/// Waits until so many have said that they go to sleep. On one worker they sleep then: they say it
/// as their last act.
fn all_sleep(asleep: &AtomicUsize, tasks: usize) {
    wait_until(|| asleep.load(SeqCst) == tasks);
}

#[test]
fn a_day_passes_at_once() {
    with_manual_clock(&[1, 2, 4], |rt| {
        assert_eq!(rt.now(), Instant::from_nanos(0));
        let woken = Arc::new(AtomicUsize::new(0));
        let sleeps = |hours: u64| {
            let woken = woken.clone();
            rt.run(|| {
                let set = Arc::new(AtomicUsize::new(0));
                let inner = set.clone();
                let h = spawn(move || {
                    let deadline = now() + Duration::from_secs(hours * 3600);
                    inner.store(1, SeqCst);
                    sleep_until(deadline);
                    assert_eq!(now(), deadline, "exactly, for nobody else moves the clock");
                    woken.fetch_add(1, SeqCst);
                });
                wait_until(|| set.load(SeqCst) == 1);
                h
            })
        };
        let (day, hour) = (sleeps(24), sleeps(1));
        for (passed, expected) in [(0, 0), (1, 1), (22, 1), (1, 2)] {
            rt.advance(Duration::from_secs(passed * 3600));
            wait_until(|| woken.load(SeqCst) == expected);
        }
        day.join().unwrap();
        hour.join().unwrap();
        assert_eq!(rt.now(), Instant::from_nanos(24 * 3600 * 1_000_000_000));
    });
}

/// On one worker all is determined: sleepers go on in the order of their deadlines, equal ones in
/// the order in which they went to sleep.
#[test]
fn sleepers_go_on_in_order() {
    with_manual_clock(&[1], |rt| {
        rt.run(|| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let asleep = Arc::new(AtomicUsize::new(0));
            let deadlines: Vec<u64> = (0..100).map(|i| i * 7919 % 50 + 1).collect();
            let handles: Vec<_> = deadlines
                .iter()
                .map(|&deadline| {
                    let (order, asleep) = (order.clone(), asleep.clone());
                    spawn(move || {
                        asleep.fetch_add(1, SeqCst);
                        sleep_until(Instant::from_nanos(deadline * 1_000_000));
                        order.lock().unwrap().push(deadline);
                    })
                })
                .collect();
            all_sleep(&asleep, 100);
            assert!(order.lock().unwrap().is_empty());
            for i in 1..=50 {
                rt.advance(MS);
                wait_until(|| order.lock().unwrap().len() >= 2 * i as usize);
                (0..100).for_each(|_| myriad::yield_now());
                assert_eq!(order.lock().unwrap().len(), 2 * i as usize);
            }
            handles.into_iter().for_each(|h| h.join().unwrap());
            assert!(order.lock().unwrap().is_sorted());
        });
    });
}

/// One big step: still in order.
#[test]
fn sleepers_go_on_in_order_after_one_step() {
    with_manual_clock(&[1], |rt| {
        rt.run(|| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let asleep = Arc::new(AtomicUsize::new(0));
            let handles: Vec<_> = (0..300u64)
                .map(|i| {
                    let (order, asleep, deadline) = (order.clone(), asleep.clone(), i * 7919 % 1000);
                    spawn(move || {
                        asleep.fetch_add(1, SeqCst);
                        sleep_until(Instant::from_nanos(deadline * 1_000_000 + 1));
                        order.lock().unwrap().push(deadline);
                    })
                })
                .collect();
            all_sleep(&asleep, 300);
            rt.advance(Duration::from_secs(2));
            handles.into_iter().for_each(|h| h.join().unwrap());
            assert!(order.lock().unwrap().is_sorted(), "{:?}", order.lock().unwrap());
        });
    });
}

#[test]
fn nothing_happens_before_its_time() {
    with_manual_clock(&[1, 2], |rt| {
        let done = Arc::new(AtomicUsize::new(0));
        let (tx, rx) = bounded::<()>(1);
        let h = rt.spawn({
            let done = done.clone();
            move || {
                // Not 5 s from now: on a busy machine it may begin when the clock has been moved.
                assert_eq!(rx.recv_deadline(Instant::from_nanos(5_000_000_000)), Err(RecvTimeoutError::Timeout));
                done.store(1, SeqCst);
                now()
            }
        });
        // Real time passes; this clock does not.
        std::thread::sleep(5 * MS);
        assert_eq!(done.load(SeqCst), 0);
        rt.advance(Duration::from_secs(5) - Duration::from_nanos(1));
        std::thread::sleep(2 * MS);
        assert_eq!(done.load(SeqCst), 0);
        rt.advance(Duration::from_nanos(1));
        assert!(h.join().unwrap() >= Instant::from_nanos(5_000_000_000));
        drop(tx);
    });
}

/// The clock is moved by a foreign thread just as the workers go to sleep: each step is seen.
#[test]
fn steps_are_not_missed() {
    with_manual_clock(&[1, 2], |rt| {
        let h = rt.spawn(|| {
            for _ in 0..2000 {
                sleep(MS);
            }
        });
        while !h.is_finished() {
            let before = rt.now();
            rt.advance(MS);
            assert_eq!(rt.now(), before + MS);
        }
        h.join().unwrap();
    });
}

/// One step for each sleep, and the next one only when the sleeper has answered: a step that is
/// missed is a hang. The steps come at all moments of a worker's way to sleep, which takes some 50
/// µs.
#[test]
fn every_single_step_is_seen() {
    with_manual_clock(&[1, 2], |rt| {
        let rounds = Arc::new(AtomicUsize::new(0));
        let h = rt.spawn({
            let rounds = rounds.clone();
            move || {
                for i in 1..=2000u64 {
                    sleep_until(Instant::from_nanos(i * 1_000_000));
                    rounds.fetch_add(1, SeqCst);
                }
            }
        });
        for i in 0..2000 {
            let pause = Duration::from_nanos(i as u64 * 7919 % 90_000);
            let began = std::time::Instant::now();
            while began.elapsed() < pause {
                std::hint::spin_loop();
            }
            rt.advance(MS);
            // (Not a loop that only spins: where there are no more processors than threads, it
            // would take the sleeper's.)
            while rounds.load(SeqCst) <= i {
                std::thread::yield_now();
            }
        }
        h.join().unwrap();
    });
}

#[test]
fn a_future_of_the_manual_clock_is_given_up() {
    with_manual_clock(&[1, 2], |rt| {
        let drops = Drops::new();
        let token = drops.one();
        rt.run(|| {
            spawn_async(async move {
                let _token = token;
                let mut sleep = pin!(sleep_async(Duration::from_secs(10)));
                poll_fn(|cx| {
                    assert!(sleep.as_mut().poll(cx).is_pending());
                    Poll::Ready(())
                })
                .await;
            })
            .join()
            .unwrap();
        });
        drops.assert_all(1);
        rt.advance(Duration::from_secs(20));
        assert_eq!(rt.run(now), Instant::from_nanos(20_000_000_000));
    });
}

/// Many are due at the same time, and a waker, which is foreign code, drops others of them. Each
/// that is left is woken once, none that was dropped.
#[test]
fn wakers_drop_sleeps_that_are_due() {
    const SLEEPS: usize = 200;
    type Sleeps = Arc<Mutex<Vec<Option<Pin<Box<myriad::time::Sleep>>>>>>;
    struct DropsAnother {
        sleeps: Sleeps,
        me: usize,
        woken: Arc<Mutex<Vec<usize>>>,
    }
    impl std::task::Wake for DropsAnother {
        fn wake(self: Arc<Self>) {
            self.woken.lock().unwrap().push(self.me);
            // Some that come later, some that have been woken.
            let another = self.sleeps.lock().unwrap()[(self.me * 7 + 31) % SLEEPS].take();
            drop(another);
        }
    }
    let body = |rt: &Runtime, in_order: bool| {
        let sleeps: Sleeps = Arc::default();
        let woken = Arc::new(Mutex::new(Vec::new()));
        rt.run(|| {
            for me in 0..SLEEPS {
                let mut sleep = Box::pin(sleep_async(Duration::from_secs(1)));
                let waker = Arc::new(DropsAnother { sleeps: sleeps.clone(), me, woken: woken.clone() }).into();
                assert!(sleep.as_mut().poll(&mut std::task::Context::from_waker(&waker)).is_pending());
                sleeps.lock().unwrap().push(Some(sleep));
            }
        });
        rt.advance(Duration::from_secs(1));
        rt.run(|| sleep_until(Instant::from_nanos(1_000_000_000)));
        // Who was woken has fired; who has not been was dropped before.
        wait_until(|| {
            let (sleeps, woken) = (sleeps.lock().unwrap(), woken.lock().unwrap());
            (0..SLEEPS).all(|i| sleeps[i].is_none() || woken.contains(&i))
        });
        let mut woken = woken.lock().unwrap().clone();
        let n = woken.len();
        // Two workers may take turns in firing.
        assert!(!in_order || woken.is_sorted(), "not in order: {woken:?}");
        woken.sort_unstable();
        woken.dedup();
        assert_eq!(woken.len(), n);
        assert!((SLEEPS / 4..SLEEPS).contains(&n), "{n}");
        // The last waker may still be about to look for another to drop: the places stay.
        sleeps.lock().unwrap().iter_mut().for_each(|sleep| *sleep = None);
    };
    with_manual_clock(&[1], |rt| body(rt, true));
    with_manual_clock(&[2], |rt| body(rt, false));
}

#[test]
fn a_real_clock_cannot_be_moved() {
    each(&[1], |rt| {
        let payload = crate::common::catch(|| rt.advance(MS));
        assert!(crate::common::text(&*payload).contains("only a runtime built with `manual_clock()`"));
    });
}

/// The clock's end is never reached.
#[test]
fn to_the_end_of_time() {
    with_manual_clock(&[1], |rt| {
        // Not so long from now: on a busy machine it may begin when the clock has been moved.
        let h = rt.run(|| spawn(|| sleep_until(Instant::from_nanos(100 * 365 * 24 * 3600 * 1_000_000_000))));
        std::thread::sleep(MS);
        rt.advance(Duration::from_secs(200 * 365 * 24 * 3600));
        h.join().unwrap();
        rt.advance(Duration::MAX);
        rt.advance(Duration::MAX);
        assert!(rt.now() <= Instant::NEVER);
        rt.run(|| sleep_until(now()));
    });
}
