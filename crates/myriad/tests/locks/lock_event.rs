//! Events, latches, wait groups: waiting until something was done.

use crate::lock_common::*;
use myriad::sync::{Arc, Event, Latch, TimeoutError, WaitGroup};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn an_event_lets_all_go_until_it_is_reset() {
    each_runtime(|rt| {
        let event = Arc::new(Event::new());
        let before = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (0..90)
            .map(|i| {
                let (e, b) = (event.clone(), before.clone());
                let (e2, b2) = (event.clone(), before.clone());
                start(
                    rt,
                    if i % 10 == 0 { Kind::Thread } else { KINDS[i % 2] },
                    move || {
                        e.wait();
                        assert_eq!(b.load(Relaxed), 1);
                    },
                    async move {
                        e2.wait_async().await;
                        assert_eq!(b2.load(Relaxed), 1);
                    },
                )
            })
            .collect();
        assert!(!event.is_set() && !event.try_wait());
        before.store(1, Relaxed);
        event.set();
        waiters.into_iter().for_each(Running::join);
        event.wait();
        assert!(event.is_set() && event.try_wait());
        assert!(event.reset() && !event.reset());
        assert_eq!(event.wait_timeout(Duration::from_millis(1)), Err(TimeoutError));
    });
}

/// Each setting of an event with automatic reset lets one go, whoever sets it when.
#[test]
fn an_event_lets_one_go() {
    each_runtime(|rt| {
        let event = Arc::new(Event::auto_reset());
        event.set();
        event.set();
        assert!(event.try_wait() && !event.try_wait(), "set twice is set");
        let passed = Arc::new(AtomicUsize::new(0));
        let waiters: Vec<_> = (0..30)
            .map(|i| {
                let (e, p) = (event.clone(), passed.clone());
                let (e2, p2) = (event.clone(), passed.clone());
                let counts = move || {
                    e.wait();
                    p.fetch_add(1, SeqCst);
                };
                start(rt, KINDS[i % 3], counts, async move {
                    e2.wait_async().await;
                    p2.fetch_add(1, SeqCst);
                })
            })
            .collect();
        for i in 1..=30 {
            event.set();
            wait_until(|| passed.load(SeqCst) == i);
        }
        waiters.into_iter().for_each(Running::join);
        assert!(!event.is_set());
    });
}

#[test]
fn an_event_let_go_and_dropped_lets_the_next_go() {
    let event = Event::auto_reset();
    let (mut first, mut second) = (Box::pin(event.wait_async()), Box::pin(event.wait_async()));
    assert!(poll_once(first.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
    event.set();
    drop(first);
    assert!(poll_once(second.as_mut()).is_ready());
    let mut third = Box::pin(event.wait_async());
    assert!(poll_once(third.as_mut()).is_pending());
    event.set();
    drop(third);
    assert!(event.try_wait(), "nobody else waits: it stays set");
}

/// Who comes after a reset waits, though the setting before may still be waking others.
#[test]
fn a_setting_does_not_let_go_who_comes_after_the_reset() {
    let event = Event::new();
    let mut many: Vec<_> = (0..100).map(|_| Box::pin(event.wait_async())).collect();
    many.iter_mut().for_each(|f| assert!(poll_once(f.as_mut()).is_pending()));
    struct ResetsAndWaits(&'static Event, AtomicUsize);
    event.set();
    event.reset();
    let mut late = Box::pin(event.wait_async());
    assert!(poll_once(late.as_mut()).is_pending());
    many.iter_mut().for_each(|f| assert!(poll_once(f.as_mut()).is_ready()));
    assert!(poll_once(late.as_mut()).is_pending());
    // The waker of the first resets and waits itself, while the others are being woken.
    impl std::task::Wake for ResetsAndWaits {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.reset();
            let mut waits = Box::pin(self.0.wait_async());
            self.1.fetch_add(1 + usize::from(poll_once(waits.as_mut()).is_ready()), SeqCst);
            std::mem::forget(waits);
        }
    }
    let event: &'static Event = Box::leak(Box::new(Event::new()));
    let resets = Arc::new(ResetsAndWaits(event, AtomicUsize::new(0)));
    let mut first = Box::pin(event.wait_async());
    assert!(poll_with(first.as_mut(), &resets.clone().into()).is_pending());
    let mut others: Vec<_> = (0..100).map(|_| Box::pin(event.wait_async())).collect();
    others.iter_mut().for_each(|f| assert!(poll_once(f.as_mut()).is_pending()));
    event.set();
    assert_eq!(resets.1.load(SeqCst), 1, "it waits");
    others.iter_mut().for_each(|f| assert!(poll_once(f.as_mut()).is_ready()));
}

#[test]
fn a_latch_opens_once() {
    each_runtime(|rt| {
        let latch = Arc::new(Latch::new(10));
        let waiters: Vec<_> = (0..9)
            .map(|i| {
                let (l, l2) = (latch.clone(), latch.clone());
                start(rt, KINDS[i % 3], move || l.wait(), async move { l2.wait_async().await })
            })
            .collect();
        for left in (1..10).rev() {
            latch.count_down();
            assert_eq!((latch.count(), latch.is_open()), (left, false));
        }
        assert_eq!(latch.wait_timeout(Duration::from_millis(1)), Err(TimeoutError));
        let l = latch.clone();
        rt.spawn(move || l.count_down()).join().unwrap();
        waiters.into_iter().for_each(Running::join);
        assert!(latch.is_open());
        latch.wait();
        let told = refusal(|| latch.count_down());
        assert!(told.contains("counts twice"), "{told}");
        assert!(refusal(|| Latch::new(3).count_down_by(4)).contains("by 4 when 3 is left"));
        Latch::new(0).wait();
    });
}

#[test]
fn a_wait_group_is_used_again() {
    each_runtime(|rt| {
        let group = Arc::new(WaitGroup::new());
        let done = Arc::new(AtomicUsize::new(0));
        for round in 1..=20 {
            for _ in 0..10 {
                group.add(1);
                let (group, done) = (group.clone(), done.clone());
                rt.spawn(move || {
                    let _done = group.done_on_drop();
                    myriad::yield_now();
                    done.fetch_add(1, SeqCst);
                });
            }
            match round % 3 {
                0 => group.wait(),
                1 => myriad::block_on(group.wait_async()),
                _ => group.wait_timeout(LONG).unwrap(),
            }
            assert_eq!(done.load(SeqCst), 10 * round);
        }
        group.wait();
    });
}

#[test]
fn a_wait_group_counts_a_task_that_panics() {
    each_runtime(|rt| {
        let group = Arc::new(WaitGroup::new());
        group.add(1);
        let g = group.clone();
        let panics = rt.spawn(move || {
            let _done = g.done_on_drop();
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        group.wait();
        assert!(panics.join().is_err());
    });
}

#[test]
fn misuse_of_a_wait_group_is_told() {
    let group = WaitGroup::new();
    let told = refusal(|| group.done());
    assert!(told.contains("more often than was added") && told.contains("add(1)"), "{told}");
    group.add(1);
    let told = refusal(|| group.add(usize::MAX));
    assert!(told.contains("counts up to"), "{told}");
    assert_eq!(group.count(), 1);
}
