//! Semaphores: limits, weights, order, cancellation.

use crate::lock_common::*;
use myriad::sync::{Arc, Semaphore, TimeoutError};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn never_more_than_there_are() {
    each_runtime(|rt| {
        let semaphore = Arc::new(Semaphore::new(5));
        let (used, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let enter = {
            let (used, most) = (used.clone(), most.clone());
            move |n: usize| {
                most.fetch_max(used.fetch_add(n, SeqCst) + n, SeqCst);
                std::thread::yield_now();
            }
        };
        let (s, u, e) = (semaphore.clone(), used.clone(), enter.clone());
        let (s2, u2, e2) = (semaphore.clone(), used.clone(), enter);
        all_kinds(
            rt,
            4,
            move || {
                for i in 0..100 {
                    let permit = s.acquire_many(1 + i % 3);
                    e(permit.count());
                    if i % 10 == 0 {
                        myriad::yield_now();
                    }
                    u.fetch_sub(permit.count(), SeqCst);
                }
            },
            move || {
                let (s, u, e) = (s2.clone(), u2.clone(), e2.clone());
                async move {
                    for i in 0..100 {
                        let permit = s.acquire_many_async(1 + i % 3).await;
                        e(permit.count());
                        u.fetch_sub(permit.count(), SeqCst);
                    }
                }
            },
        );
        assert_eq!((semaphore.available(), used.load(SeqCst)), (5, 0));
        assert!(most.load(SeqCst) <= 5);
    });
}

/// Who wants much is not passed by those who want little.
#[test]
fn first_come_first_served() {
    let semaphore = Semaphore::new(3);
    let mut held = semaphore.acquire_many(3);
    let mut big = Box::pin(semaphore.acquire_many_async(3));
    let mut small = Box::pin(semaphore.acquire_async());
    assert!(poll_once(big.as_mut()).is_pending() && poll_once(small.as_mut()).is_pending());
    drop(held.split(2));
    assert_eq!(semaphore.available(), 2);
    assert!(poll_once(small.as_mut()).is_pending(), "the big one is first");
    assert!(semaphore.try_acquire().is_none(), "nor is it passed by who tries");
    drop(held);
    let permit = now(poll_once(big.as_mut()));
    assert!(poll_once(small.as_mut()).is_pending());
    drop(permit);
    assert_eq!(now(poll_once(small.as_mut())).count(), 1);
}

/// When the one that wants much gives up, those behind it go on; what it was given already goes
/// back.
#[test]
fn giving_up() {
    let semaphore = Semaphore::new(3);
    let held = semaphore.acquire_many(2);
    let mut big = Box::pin(semaphore.acquire_many_async(3));
    let mut small = Box::pin(semaphore.acquire_async());
    assert!(poll_once(big.as_mut()).is_pending() && poll_once(small.as_mut()).is_pending());
    drop(big);
    let one = now(poll_once(small.as_mut()));
    let mut next = Box::pin(semaphore.acquire_many_async(2));
    assert!(poll_once(next.as_mut()).is_pending());
    drop(held);
    assert_eq!(semaphore.available(), 0, "given to the next");
    drop(next);
    assert_eq!(semaphore.available(), 2);
    drop(one);
    assert_eq!(semaphore.available(), 3);
}

#[test]
fn time_limits() {
    each_runtime(|rt| {
        let semaphore = Arc::new(Semaphore::new(2));
        let held = semaphore.acquire();
        let s = semaphore.clone();
        rt.run(move || {
            let (began, limit) = (myriad::time::now(), Duration::from_millis(2));
            assert_eq!(s.acquire_many_timeout(2, limit).err(), Some(TimeoutError));
            assert!(myriad::time::now() - began >= limit);
            assert!(s.acquire_timeout(Duration::ZERO).is_ok(), "one is free");
        });
        assert_eq!(semaphore.available(), 1);
        // A small one waits behind a big one that gives up.
        for limit in (0..).map(|n| Duration::from_millis(20 << n)) {
            let (s, s2) = (semaphore.clone(), semaphore.clone());
            let big = rt.spawn(move || s.acquire_many_timeout(2, limit).is_err());
            wait_until(|| semaphore.try_acquire().is_none() || big.is_finished());
            // (It may have given up before it was seen to wait.)
            let waited = semaphore.try_acquire().is_none();
            let small = rt.spawn(move || drop(s2.acquire_timeout(LONG).unwrap()));
            small.join().unwrap();
            assert!(big.join().unwrap());
            if waited {
                break;
            }
        }
        drop(held);
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn permits_that_outlive_the_borrow() {
    each_runtime(|rt| {
        let semaphore = Arc::new(Semaphore::new(3));
        let running = Arc::new(AtomicUsize::new(0));
        let s = semaphore.clone();
        rt.run(move || {
            for _ in 0..100 {
                let permit = s.acquire().into_owned(&s);
                let running = running.clone();
                myriad::spawn(move || {
                    assert!(running.fetch_add(1, SeqCst) < 3);
                    myriad::yield_now();
                    running.fetch_sub(1, SeqCst);
                    drop(permit);
                });
            }
            drop(s.acquire_many(3));
        });
        assert_eq!(semaphore.available(), 3);
    });
}

#[test]
fn given_back_by_a_panic() {
    each_runtime(|rt| {
        let semaphore = Arc::new(Semaphore::new(1));
        let s = semaphore.clone();
        let panics = rt.spawn(move || {
            let _permit = s.acquire();
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(panics.join().is_err());
        drop(semaphore.acquire());
    });
}

#[test]
fn added_and_forgotten() {
    let semaphore = Semaphore::new(0);
    let mut waits;
    assert!(semaphore.try_acquire_many(0).is_some());
    semaphore.add_permits(2);
    let held = semaphore.acquire_many(2);
    waits = Box::pin(semaphore.acquire_async());
    assert!(poll_once(waits.as_mut()).is_pending());
    held.forget();
    assert_eq!((semaphore.total(), semaphore.available()), (0, 0));
    semaphore.add_permits(1);
    assert!(poll_once(waits.as_mut()).is_ready());
}

/// A task that asks for more permits than the semaphore has waits until some are added: the pattern
/// of a signal, in which the other side may come first or last.
#[test]
fn more_than_there_are_wait_for_those_that_are_added() {
    each_runtime(|rt| {
        let semaphore = Arc::new(Semaphore::new(0));
        assert!(semaphore.try_acquire().is_none());
        assert!(semaphore.acquire_timeout(Duration::from_millis(1)).is_err());
        let [one, two] = [1, 3].map(|n| {
            let semaphore = semaphore.clone();
            rt.spawn(move || semaphore.acquire_many(n).forget())
        });
        let asynchronous = semaphore.clone();
        let three = rt.spawn_async(async move { asynchronous.acquire_async().await.forget() });
        semaphore.add_permits(5);
        for handle in [one, two, three] {
            handle.join().unwrap();
        }
        assert_eq!((semaphore.total(), semaphore.available()), (0, 0));
    });
}

/// Permits are split and merged, borrowed or owned: none is lost, none given twice.
#[test]
fn split_and_merged() {
    let semaphore = Arc::new(Semaphore::new(5));
    let mut held = semaphore.acquire_many(3);
    let one = held.split(1);
    assert_eq!((held.count(), one.count(), semaphore.available()), (2, 1, 2));
    let mut owned = one.into_owned(&semaphore);
    owned.merge(semaphore.acquire_many(2).into_owned(&semaphore));
    assert_eq!((owned.count(), semaphore.available()), (3, 0));
    assert!(Arc::ptr_eq(owned.semaphore(), &semaphore));
    let part = owned.split(2);
    drop(owned);
    assert_eq!(semaphore.available(), 1);
    held.merge(semaphore.acquire());
    assert_eq!(held.count(), 3);
    part.forget();
    drop(held);
    assert_eq!((semaphore.available(), semaphore.total()), (3, 3));
    assert_eq!(Arc::strong_count(&semaphore), 1, "a permit that was forgotten has left the semaphore");
    let other = Semaphore::new(1);
    let told = refusal(|| semaphore.acquire().merge(other.acquire()));
    assert!(told.contains("another Semaphore"), "{told}");
    assert_eq!((semaphore.available(), other.available()), (3, 1));
}

#[test]
fn free_permits_are_forgotten() {
    let semaphore = Semaphore::new(5);
    let held = semaphore.acquire_many(2);
    assert_eq!(semaphore.forget_permits(1), 1);
    assert_eq!(semaphore.forget_permits(9), 2, "those that are held stay");
    assert_eq!((semaphore.available(), semaphore.total()), (0, 2));
    let mut waits = Box::pin(semaphore.acquire_async());
    assert!(poll_once(waits.as_mut()).is_pending());
    drop(held);
    assert!(poll_once(waits.as_mut()).is_ready());
    assert_eq!(semaphore.total(), 2);
}

#[test]
fn misuse_is_told() {
    let semaphore = Semaphore::new(3);
    let told = refusal(|| semaphore.add_permits(usize::MAX - 2));
    assert!(told.contains("at most"), "{told}");
    assert_eq!((semaphore.available(), semaphore.total()), (3, 3));
    assert!(refusal(|| semaphore.acquire().split(2).count()).contains("split"));
    let other = Arc::new(Semaphore::new(1));
    assert!(refusal(|| semaphore.acquire().into_owned(&other)).contains("another Semaphore"));
    assert_eq!(semaphore.available(), 3);
}

/// Random acquires, releases and drops beside a model: the same ones are ready at each step.
#[test]
fn as_the_model_says() {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    for _ in 0..200 {
        let semaphore = Semaphore::new(random.below(6) + 1);
        let (mut free, total) = (semaphore.total(), semaphore.total());
        // The model: who waits, in order, with what.
        let mut line: VecDeque<(usize, usize)> = VecDeque::new();
        let mut futures = Vec::new();
        let mut permits = Vec::new();
        for id in 0..100 {
            match random.below(4) {
                0 | 1 => {
                    let n = random.below(total + 1);
                    let mut future = Box::pin(semaphore.acquire_many_async(n));
                    if line.is_empty() && n <= free {
                        free -= n;
                        permits.push(now(poll_once(future.as_mut())));
                    } else {
                        assert!(poll_once(future.as_mut()).is_pending(), "seed {seed}");
                        line.push_back((id, n));
                        futures.push((id, n, future));
                    }
                }
                2 if !permits.is_empty() => {
                    let permit = permits.swap_remove(random.below(permits.len()));
                    free += permit.count();
                    drop(permit);
                }
                3 if !futures.is_empty() => {
                    let (id, n, future) = futures.swap_remove(random.below(futures.len()));
                    drop(future);
                    match line.iter().position(|w| w.0 == id) {
                        Some(at) => _ = line.remove(at),
                        // It had been given them.
                        None => free += n,
                    }
                }
                _ => {}
            }
            while line.front().is_some_and(|w| w.1 <= free) {
                free -= line.pop_front().unwrap().1;
            }
            assert_eq!(semaphore.available(), free, "seed {seed}");
            if random.below(3) == 0 {
                // Who is ready takes its permits; the others wait.
                let (waiting, ready): (Vec<_>, Vec<_>) =
                    futures.drain(..).partition(|(id, ..)| line.iter().any(|w| w.0 == *id));
                permits.extend(ready.into_iter().map(|(_, _, mut f)| now(poll_once(f.as_mut()))));
                futures = waiting;
                futures.iter_mut().for_each(|(_, _, f)| assert!(poll_once(f.as_mut()).is_pending(), "seed {seed}"));
            }
        }
        drop(futures);
        drop(permits);
        assert_eq!(semaphore.available(), total, "seed {seed}");
    }
}
