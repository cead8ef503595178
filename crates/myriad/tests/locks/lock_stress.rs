//! A million waits that are given up, by a time limit or by dropping a future, lose nothing and
//! double nothing. (In an unoptimized build a fifth of them.)
//!
//! `MYRIAD_TEST_SEED` repeats the decisions of a run, though not its interleaving.

#![allow(clippy::await_holding_lock)] // it is what they are for

use crate::common::full_length;
use crate::lock_common::*;
use myriad::sync::{Arc, Condvar, Event, Mutex, RwLock, Semaphore};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::Duration;

/// Waits for each primitive: in each of two modes with one and with two workers.
fn waits() -> usize {
    if full_length() { 250_000 } else { 50_000 }
}
const TASKS: usize = 10;

/// Polls a future some times, and drops it if it is not ready by then.
async fn some_polls<F: Future>(polls: usize, future: F) -> Option<F::Output> {
    let mut future = pin!(future);
    let mut left = polls;
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(value) => Poll::Ready(Some(value)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            // By turns woken by whoever has it, or by itself.
            if left.is_multiple_of(2) {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        }
    })
    .await
}

fn limit(random: &mut Random) -> Duration {
    Duration::from_nanos(random.below(3000) as u64)
}

/// Runs tasks of all kinds that each make their share of the waits; `blocking` and `future` make
/// one.
fn all_at_once<F: Future<Output = ()> + Send + 'static>(
    rt: &myriad::Runtime,
    blocking: impl Fn(&mut Random) + Send + Clone + 'static,
    future: impl Fn(usize, usize) -> F + Send + Clone + 'static,
) {
    all_at_once_fed(rt, blocking, future, || ());
}

/// The same, with `feed` called again and again once all those with a time limit have ended: a
/// future between two of its polls waits without one, for what perhaps only they would have done.
fn all_at_once_fed<F: Future<Output = ()> + Send + 'static>(
    rt: &myriad::Runtime,
    blocking: impl Fn(&mut Random) + Send + Clone + 'static,
    future: impl Fn(usize, usize) -> F + Send + Clone + 'static,
    feed: impl Fn(),
) {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    // It takes longer than most tests.
    let _watch = watch_for(&format!("seed {seed}"), Duration::from_secs(300));
    let futures_left = Arc::new(AtomicUsize::new(0));
    let running: Vec<_> = (0..TASKS)
        .map(|i| {
            let (blocking, future) = (blocking.clone(), future.clone());
            let (mut r, mut r2) = (Random::new(seed + i as u64), Random::new(seed - i as u64));
            let kind = [Kind::Closure, Kind::Future, Kind::Closure, Kind::Future, Kind::Thread][i % 5];
            let left = futures_left.clone();
            left.fetch_add(usize::from(kind == Kind::Future), SeqCst);
            let task = start(
                rt,
                kind,
                move || {
                    for k in 0..waits() / TASKS {
                        blocking(&mut r);
                        if k % 64 == 0 {
                            myriad::yield_now();
                        }
                    }
                },
                async move {
                    for _ in 0..waits() / TASKS {
                        future(r2.below(4), r2.below(100)).await;
                    }
                    left.fetch_sub(1, SeqCst);
                },
            );
            (kind, task)
        })
        .collect();
    let (futures, timed): (Vec<_>, Vec<_>) = running.into_iter().partition(|(kind, _)| *kind == Kind::Future);
    timed.into_iter().for_each(|(_, task)| task.join());
    while futures_left.load(SeqCst) > 0 {
        feed();
        std::thread::yield_now();
    }
    futures.into_iter().for_each(|(_, task)| task.join());
}

fn each(f: impl Fn(&myriad::Runtime)) {
    for mode in modes() {
        for workers in [1, 2] {
            let rt = mode.builder().workers(workers).pin_workers(false).build().unwrap();
            f(&rt);
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        }
    }
}

#[test]
fn mutexes() {
    each(|rt| {
        let lock = Arc::new(Mutex::new((0_usize, 0_usize)));
        let taken = Arc::new(AtomicUsize::new(0));
        let (l, t, l2, t2) = (lock.clone(), taken.clone(), lock.clone(), taken.clone());
        let take = |value: &mut (usize, usize), taken: &AtomicUsize| {
            value.0 += 1;
            taken.fetch_add(1, SeqCst);
            assert_eq!(value.0, value.1 + 1, "two at a time");
            value.1 += 1;
        };
        all_at_once(
            rt,
            move |random| {
                if random.below(10) == 0 {
                    take(&mut l.lock().unwrap(), &t);
                } else if let Ok(mut guard) = l.lock_timeout(limit(random)) {
                    take(&mut guard, &t);
                    if random.below(20) == 0 {
                        myriad::yield_now();
                    }
                }
            },
            move |polls, what| {
                let (l, t) = (l2.clone(), t2.clone());
                async move {
                    if let Some(guard) = some_polls(polls, l.lock_async()).await {
                        let mut guard = guard.unwrap();
                        take(&mut guard, &t);
                        if what == 0 {
                            myriad::time::sleep_async(Duration::from_nanos(100)).await;
                        }
                    }
                }
            },
        );
        assert_eq!(lock.try_lock().unwrap().0, taken.load(SeqCst));
    });
}

#[test]
fn semaphores() {
    each(|rt| {
        let semaphore = Arc::new(Semaphore::new(3));
        let used = Arc::new(AtomicUsize::new(0));
        let (s, u, s2, u2) = (semaphore.clone(), used.clone(), semaphore.clone(), used.clone());
        all_at_once(
            rt,
            move |random| {
                let n = 1 + random.below(3);
                if let Ok(permit) = s.acquire_many_timeout(n, limit(random)) {
                    assert!(u.fetch_add(n, SeqCst) + n <= 3);
                    if random.below(20) == 0 {
                        myriad::yield_now();
                    }
                    u.fetch_sub(permit.count(), SeqCst);
                }
            },
            move |polls, what| {
                let (s, u) = (s2.clone(), u2.clone());
                async move {
                    let n = 1 + what % 3;
                    if let Some(permit) = some_polls(polls, s.acquire_many_async(n)).await {
                        assert!(u.fetch_add(n, SeqCst) + n <= 3);
                        u.fetch_sub(permit.count(), SeqCst);
                    }
                }
            },
        );
        assert_eq!((semaphore.available(), used.load(SeqCst)), (3, 0));
    });
}

#[test]
fn read_write_locks() {
    each(|rt| {
        let lock = Arc::new(RwLock::new((0_u64, 0_u64)));
        let written = Arc::new(AtomicU64::new(0));
        let (l, w, l2, w2) = (lock.clone(), written.clone(), lock.clone(), written.clone());
        all_at_once(
            rt,
            move |random| {
                if random.below(3) == 0 {
                    if let Ok(mut guard) = l.write_timeout(limit(random)) {
                        guard.0 += 1;
                        if random.below(20) == 0 {
                            myriad::yield_now();
                        }
                        guard.1 += 1;
                        w.fetch_add(1, SeqCst);
                    }
                } else if let Ok(guard) = l.read_timeout(limit(random)) {
                    assert_eq!(guard.0, guard.1);
                    if random.below(20) == 0 {
                        myriad::yield_now();
                    }
                }
            },
            move |polls, what| {
                let (l, w) = (l2.clone(), w2.clone());
                async move {
                    if what % 3 == 0 {
                        if let Some(guard) = some_polls(polls, l.write_async()).await {
                            let mut guard = guard.unwrap();
                            guard.0 += 1;
                            guard.1 += 1;
                            w.fetch_add(1, SeqCst);
                        }
                    } else if let Some(guard) = some_polls(polls, l.read_async()).await {
                        let guard = guard.unwrap();
                        assert_eq!(guard.0, guard.1);
                    }
                }
            },
        );
        assert_eq!(lock.try_write().unwrap().1, written.load(SeqCst));
    });
}

/// Each setting lets at most one go, and none is lost: after the last one somebody can still pass.
#[test]
fn events() {
    each(|rt| {
        let event = Arc::new(Event::auto_reset());
        let (e, e2) = (event.clone(), event.clone());
        // A token that goes round: whoever passes sets it again.
        event.set();
        let holders = Arc::new(AtomicUsize::new(0));
        let (h, h2) = (holders.clone(), holders.clone());
        all_at_once(
            rt,
            move |random| {
                if e.wait_timeout(limit(random)).is_ok() {
                    assert_eq!(h.fetch_add(1, SeqCst), 0, "two have passed");
                    if random.below(20) == 0 {
                        myriad::yield_now();
                    }
                    h.fetch_sub(1, SeqCst);
                    e.set();
                }
            },
            move |polls, _| {
                let (e, h) = (e2.clone(), h2.clone());
                async move {
                    if some_polls(polls, e.wait_async()).await.is_some() {
                        assert_eq!(h.fetch_add(1, SeqCst), 0, "two have passed");
                        h.fetch_sub(1, SeqCst);
                        e.set();
                    }
                }
            },
        );
        assert!(event.try_wait() && !event.try_wait(), "the token is lost, or there are two");
    });
}

/// A notification for one that gives up goes to another: of the tokens that are put in, each is
/// taken out.
#[test]
fn conditions() {
    each(|rt| {
        let shared = Arc::new((Mutex::new(0_usize), Condvar::new()));
        let (put, got) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (s, p, g) = (shared.clone(), put.clone(), got.clone());
        let (s2, p2, g2) = (shared.clone(), put.clone(), got.clone());
        // One that waits without a limit.
        let patient = {
            let (s, g) = (shared.clone(), got.clone());
            rt.spawn(move || {
                for _ in 0..waits() / 20 {
                    let mut tokens = s.1.wait_while(s.0.lock().unwrap(), |n| *n == 0).unwrap();
                    *tokens -= 1;
                    g.fetch_add(1, SeqCst);
                }
            })
        };
        // One token at a time: were its notification lost, it would lie there, and who waits
        // without a limit wait for ever.
        let feed = || {
            let mut tokens = shared.0.lock().unwrap();
            if *tokens == 0 {
                *tokens += 1;
                put.fetch_add(1, SeqCst);
                shared.1.notify_one();
            }
        };
        all_at_once_fed(
            rt,
            move |random| {
                let mut tokens = s.0.lock().unwrap();
                if random.below(3) == 0 {
                    *tokens += 1;
                    p.fetch_add(1, SeqCst);
                    s.1.notify_one();
                    return;
                }
                let (mut tokens, result) = s.1.wait_timeout_while(tokens, limit(random), |n| *n == 0).unwrap();
                if !result.timed_out() {
                    *tokens -= 1;
                    g.fetch_add(1, SeqCst);
                }
            },
            move |polls, what| {
                let (s, p, g) = (s2.clone(), p2.clone(), g2.clone());
                async move {
                    let mut tokens = s.0.lock_async().await.unwrap();
                    if what % 3 == 0 {
                        *tokens += 1;
                        p.fetch_add(1, SeqCst);
                        s.1.notify_one();
                    } else if *tokens > 0 {
                        *tokens -= 1;
                        g.fetch_add(1, SeqCst);
                    } else if let Some(tokens) = some_polls(polls, s.1.wait_async(tokens)).await {
                        let mut tokens = tokens.unwrap();
                        if *tokens > 0 {
                            *tokens -= 1;
                            g.fetch_add(1, SeqCst);
                        }
                    }
                }
            },
            feed,
        );
        while !patient.is_finished() {
            feed();
            myriad::yield_now();
        }
        patient.join().unwrap();
        assert_eq!(put.load(SeqCst) - got.load(SeqCst), *shared.0.lock().unwrap());
    });
}
