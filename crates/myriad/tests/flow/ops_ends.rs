//! Operations on channels: where they end.

use crate::common::{each, wait_until};
use crate::each_runtime;
use myriad::channel::{bounded, bounded_drop_oldest, rendezvous, unbounded};
use myriad::flow::ops::{Pipeline, Why};
use myriad::flow::{merge, mult, pipe, pipeline, publish, split};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

/// Whoever joins for so long at most has the handle afterwards, and what was left is not lost.
#[test]
fn a_join_with_a_limit_loses_nothing() {
    each_runtime(|| {
        let (tx, rx) = bounded(1);
        let mut source = pipe(0_u32..10, tx);
        wait_until(|| !rx.is_empty());
        for limit in [Duration::ZERO, Duration::from_millis(1)] {
            source = source.join_timeout(limit).unwrap_err();
        }
        source.cancel();
        let ended = source.join_timeout(Duration::from_secs(1000)).unwrap();
        assert!(matches!(ended.why, Why::Cancelled));
        assert_eq!((ended.given, ended.left), (1, vec![1]));
    });
}

/// One whose ends never make it wait is cancelled, too.
#[test]
fn cancelled_without_a_wait() {
    each(&[2, 4], |rt| {
        rt.run(|| {
            let (tx, endless) = bounded_drop_oldest(4);
            let source = pipe(0_u32.., tx);
            endless.recv().unwrap();
            source.cancel();
            let ended = source.join();
            assert!(matches!(ended.why, Why::Cancelled) && ended.given == ended.taken);
            // Each in turn, of a source that has always something.
            for kind in 0..4 {
                let ((tx, rx), (out_tx, out)) = (bounded_drop_oldest(100), bounded_drop_oldest(4));
                let source = pipe(std::iter::repeat(0), tx);
                match kind {
                    0 => {
                        let work = pipe(rx, out_tx);
                        wait_until(|| !out.is_empty());
                        work.cancel();
                        assert!(matches!(work.join().why, Why::Cancelled));
                    }
                    1 => {
                        let work = pipeline(1, rx, out_tx, |n| n);
                        wait_until(|| !out.is_empty());
                        work.cancel();
                        assert!(matches!(work.join().why, Why::Cancelled));
                    }
                    2 => {
                        let work = mult(rx);
                        work.tap(out_tx);
                        wait_until(|| !out.is_empty());
                        work.cancel();
                        assert!(matches!(work.join().why, Why::Cancelled));
                    }
                    _ => {
                        let work = publish(rx, |_| ());
                        work.subscribe((), out_tx);
                        wait_until(|| !out.is_empty());
                        work.cancel();
                        assert!(matches!(work.join().why, Why::Cancelled));
                    }
                }
                assert!(matches!(source.join().why, Why::TargetClosed));
            }
        })
    });
}

/// Its tasks have no more permits than a semaphore has.
#[test]
fn a_window_without_bound() {
    each_runtime(|| {
        for round in 0..20 {
            let ((tx, rx), (out_tx, out)) = (unbounded(), bounded(1));
            (0..100).for_each(|n| tx.send(n).unwrap());
            let work = Pipeline::new(8).window(usize::MAX).unordered().start(rx, out_tx, |n: i32| n);
            assert_eq!(out.iter().take(round).count(), round);
            drop(out);
            let why = work.join().why;
            assert!(matches!(why, Why::TargetClosed), "{why}");
        }
    });
}

/// A destructor that panics, of what waits in the source, takes nothing along.
#[test]
fn a_source_whose_items_panic_when_dropped() {
    #[derive(Clone)]
    struct Item(Arc<AtomicBool>);
    impl Drop for Item {
        fn drop(&mut self) {
            assert!(!self.0.swap(false, SeqCst), "destructor");
        }
    }
    each_runtime(|| {
        for kind in 0..4 {
            let panics = Arc::new(AtomicBool::new(false));
            let ((tx, rx), (out_tx, out)) = (bounded(8), rendezvous());
            let cancelled = |cancel: &dyn Fn()| {
                (0..8).for_each(|_| tx.send(Item(panics.clone())).ok().unwrap());
                wait_until(|| tx.len() < 8);
                panics.store(true, SeqCst);
                cancel();
            };
            let ended = match kind {
                0 => {
                    let work = pipe(rx, out_tx);
                    cancelled(&|| work.cancel());
                    work.join()
                }
                1 => {
                    let work = pipeline(1, rx, out_tx, |n| n);
                    cancelled(&|| work.cancel());
                    work.join()
                }
                2 => {
                    let work = mult(rx);
                    work.tap(out_tx);
                    cancelled(&|| work.cancel());
                    work.join()
                }
                _ => {
                    let work = publish(rx, |_| ());
                    work.subscribe((), out_tx);
                    cancelled(&|| work.cancel());
                    work.join()
                }
            };
            assert!(!panics.load(SeqCst), "one of them was dropped");
            assert!(ended.taken > 0 && ended.left.len() as u64 == ended.taken, "{kind}: {}", ended.why);
            drop(out);
        }
    });
}

/// Whoever has subscribed and gone leaves nothing behind.
#[test]
fn topics_go_with_their_subscribers() {
    each_runtime(|| {
        let (tx, rx) = bounded(1);
        let alive = Arc::new(());
        #[derive(Clone)]
        struct Key(u32, #[allow(dead_code)] Arc<()>);
        impl PartialEq for Key {
            fn eq(&self, o: &Key) -> bool {
                self.0 == o.0
            }
        }
        impl Eq for Key {}
        impl std::hash::Hash for Key {
            fn hash<H: std::hash::Hasher>(&self, h: &mut H) {
                self.0.hash(h)
            }
        }
        let key = alive.clone();
        let topics = publish(rx, move |n: &u32| Key(*n, key.clone()));
        for n in 0..2000 {
            let (stx, srx) = bounded(1);
            topics.subscribe(Key(n + 1, alive.clone()), stx);
            drop(srx);
            tx.send(0).unwrap();
        }
        let n = Arc::strong_count(&alive);
        assert!(n < 200, "{n}");
        drop(tx);
        topics.join();
    });
}

#[test]
fn nothing_is_lost_whenever_it_is_cancelled() {
    each(&[1, 2, 4], |rt| {
        rt.run(|| {
            for round in 0..60 {
                let ((tx, rx), (ot, o)) = (unbounded(), bounded(2));
                (0..200_u32).for_each(|n| tx.send(n).unwrap());
                drop(tx);
                let op = match round % 5 {
                    0 => pipe(rx.clone(), ot),
                    1 => pipeline(3, rx.clone(), ot, |n| n),
                    2 => merge([rx.clone()], ot),
                    3 => split(rx.clone(), |n| n % 2 == 0, ot.clone(), ot),
                    _ => Pipeline::new(3).unordered().start(rx.clone(), ot, |n| n),
                };
                let mut got: Vec<u32> = o.iter().take(round * 2).collect();
                op.cancel();
                let ended = op.join();
                got.extend(o.iter());
                assert_eq!(got.len() as u64, ended.given, "{}", ended.why);
                if round % 5 < 4 {
                    assert!(got.iter().copied().eq(0..got.len() as u32));
                }
                assert_eq!(ended.given + ended.left.len() as u64, ended.taken);
                got.extend(ended.left);
                got.extend(rx.try_iter());
                assert_eq!(got.len(), 200);
                assert_eq!(got.into_iter().collect::<HashSet<_>>().len(), 200);
            }
        })
    });
}
