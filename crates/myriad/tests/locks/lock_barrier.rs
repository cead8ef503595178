//! Barriers: nobody goes on before all have come, one leads, and it may be used again.

use crate::lock_common::*;
use myriad::sync::{Arc, Barrier, TimeoutError};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn nobody_goes_on_before_all_have_come() {
    each_runtime(|rt| {
        let barrier = Arc::new(Barrier::new(9));
        let (came, leaders) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (b, c, l) = (barrier.clone(), came.clone(), leaders.clone());
        let (b2, c2, l2) = (barrier.clone(), came.clone(), leaders.clone());
        all_kinds(
            rt,
            3,
            move || {
                for round in 1..=50 {
                    c.fetch_add(1, SeqCst);
                    l.fetch_add(usize::from(b.wait().is_leader()), SeqCst);
                    assert!(c.load(SeqCst) >= 9 * round);
                }
            },
            move || {
                let (b, c, l) = (b2.clone(), c2.clone(), l2.clone());
                async move {
                    for round in 1..=50 {
                        c.fetch_add(1, SeqCst);
                        l.fetch_add(usize::from(b.wait_async().await.is_leader()), SeqCst);
                        assert!(c.load(SeqCst) >= 9 * round);
                    }
                }
            },
        );
        assert_eq!((came.load(SeqCst), leaders.load(SeqCst), barrier.arrived()), (450, 50, 0));
    });
}

/// Blocking work in a fixed pool: where each that waits holds up a worker, this hangs.
#[test]
fn ten_thousand_tasks_on_one_worker() {
    for mode in modes() {
        // Threads mode: each waits with a thread of its own.
        let n = if mode == Mode::Fibers { 10_000 } else { 500 };
        let rt = mode.runtime(1);
        let barrier = Arc::new(Barrier::new(n));
        let tasks: Vec<_> = (0..n)
            .map(|_| {
                let barrier = barrier.clone();
                rt.spawn(move || (0..3).filter(|_| barrier.wait().is_leader()).count())
            })
            .collect();
        assert_eq!(tasks.into_iter().map(|t| t.join().unwrap()).sum::<usize>(), 3, "{mode}");
    }
}

/// They go on in the order in which they came.
#[test]
fn first_come_first_on() {
    let barrier = Barrier::new(4);
    let mut waiting: Vec<_> = (0..3).map(|_| (Box::pin(barrier.wait_async()), Wakes::new())).collect();
    for (future, (_, waker)) in &mut waiting {
        assert!(poll_with(future.as_mut(), waker).is_pending());
    }
    assert_eq!(barrier.arrived(), 3);
    assert!(barrier.wait().is_leader());
    for (future, (wakes, waker)) in &mut waiting {
        assert_eq!(wakes.count(), 1);
        assert!(!now(poll_with(future.as_mut(), waker)).is_leader());
    }
}

#[test]
fn who_gives_up_has_not_come() {
    each_runtime(|rt| {
        let barrier = Arc::new(Barrier::new(2));
        let mut waiting = Box::pin(barrier.wait_async());
        assert!(poll_once(waiting.as_mut()).is_pending());
        drop(waiting);
        let b = barrier.clone();
        rt.run(move || assert_eq!(b.wait_timeout(Duration::from_millis(1)).err(), Some(TimeoutError)));
        assert_eq!(barrier.arrived(), 0);
        let b = barrier.clone();
        let first = rt.spawn(move || b.wait_timeout(LONG).unwrap().is_leader());
        wait_until(|| barrier.arrived() == 1);
        assert!(barrier.wait().is_leader());
        assert!(!first.join().unwrap());
    });
}

/// Time limits run out while the barrier opens: each meeting has one leader, and as many others as
/// it should.
#[test]
fn impatient_ones() {
    each_runtime(|rt| {
        let barrier = Arc::new(Barrier::new(3));
        let (met, led) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tasks: Vec<_> = (0..7_u64)
            .map(|i| {
                let (barrier, met, led) = (barrier.clone(), met.clone(), led.clone());
                rt.spawn(move || {
                    for k in 0..300_u64 {
                        let limit = Duration::from_nanos((k * 7919 + i * 104_729) % 20_000);
                        if let Ok(result) = barrier.wait_timeout(limit) {
                            met.fetch_add(1, SeqCst);
                            led.fetch_add(usize::from(result.is_leader()), SeqCst);
                        }
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|t| t.join().unwrap());
        assert_eq!(met.load(SeqCst), 3 * led.load(SeqCst));
        assert_eq!(barrier.arrived(), 0);
    });
}

#[test]
fn a_barrier_for_none_is_refused() {
    let told = refusal(|| Barrier::new(0));
    assert!(told.contains("one party at least"), "{told}");
    assert!(Barrier::new(1).wait().is_leader());
}
