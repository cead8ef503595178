//! Pipelines whose function is asynchronous: as those with closures, and no stack for what waits.

use crate::common::{PLANNED, wait_until};
use crate::each_runtime;
use myriad::channel::{bounded, bounded_drop_oldest, rendezvous, unbounded};
use myriad::flow::ops::{Pipeline, Why};
use myriad::flow::{pipe, pipeline_async};
use myriad::sync::{Event, Semaphore};
use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::Poll;

/// Lets others go first, so many times.
async fn turns(n: u64) {
    let mut left = n;
    std::future::poll_fn(|cx| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn the_order_is_kept() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(4), bounded(4));
        let source = pipe(0..3000_u64, tx);
        let work = pipeline_async(5, rx, out_tx, async |n| {
            turns(n % 4).await;
            n * 2
        });
        assert!(out.iter().eq((0..3000).map(|n| n * 2)));
        let ended = work.join();
        assert!(ended.is_complete() && source.join().is_complete());
        assert_eq!((ended.taken, ended.given, ended.left.len()), (3000, 3000, 0));
    });
}

/// So many wait at a time as there are tasks, more than there could be threads; and no more are
/// taken than the window has.
#[test]
fn many_wait_at_a_time() {
    each_runtime(|| {
        let (tx, rx) = unbounded();
        (0..30_000_u32).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        let (begun, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Event::new()));
        let (counts, waits) = (begun.clone(), go.clone());
        let (out_tx, out) = rendezvous();
        let work = pipeline_async(20_000, rx.clone(), out_tx, move |n: u32| {
            let (counts, waits) = (counts.clone(), waits.clone());
            async move {
                counts.fetch_add(1, SeqCst);
                waits.wait_async().await;
                n
            }
        });
        wait_until(|| begun.load(SeqCst) == 20_000);
        (0..100).for_each(|_| myriad::yield_now());
        assert_eq!((begun.load(SeqCst), rx.len()), (20_000, 10_000));
        go.set();
        assert!(out.into_iter().eq(0..30_000));
        assert_eq!(work.join().given, 30_000);
        // The first result is late: the others go on until the window is full.
        let ((tx, rx), (out_tx, out)) = (unbounded(), rendezvous());
        (0..100).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        let (begun, go) = (Arc::new(AtomicUsize::new(0)), Arc::new(Event::new()));
        let (counts, waits) = (begun.clone(), go.clone());
        let work = Pipeline::new(3).window(7).start_async(rx.clone(), out_tx, move |n: u32| {
            let (counts, waits) = (counts.clone(), waits.clone());
            async move {
                counts.fetch_add(1, SeqCst);
                if n == 0 {
                    waits.wait_async().await;
                }
                n
            }
        });
        wait_until(|| begun.load(SeqCst) == 7);
        (0..100).for_each(|_| myriad::yield_now());
        assert_eq!((begun.load(SeqCst), rx.len()), (7, 93));
        go.set();
        assert!(out.into_iter().eq(0..100));
        assert_eq!(work.join().given, 100);
    });
}

#[test]
fn without_order_results_come_when_they_are_ready() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(4), bounded(4));
        let source = pipe(0..100, tx);
        let go = Arc::new(Event::new());
        let waits = go.clone();
        let work = Pipeline::new(3).unordered().start_async(rx, out_tx, move |n| {
            let waits = waits.clone();
            async move {
                if n == 0 {
                    waits.wait_async().await;
                }
                n
            }
        });
        let mut got: Vec<i32> = out.iter().take(99).collect();
        assert!(!got.contains(&0));
        go.set();
        got.extend(out);
        assert_eq!((got.len(), got[99]), (100, 0));
        assert!(work.join().is_complete() && source.join().is_complete());
    });
}

/// A panic ends the pipeline: what was before is given. With a function for panics it goes on.
#[test]
fn panics() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (unbounded(), unbounded());
        (0..100).for_each(|n| tx.send(n).unwrap());
        let work = pipeline_async(3, rx.clone(), out_tx, async |n| {
            turns(2).await;
            assert!(n != 20, "{PLANNED}twenty");
            n
        });
        let ended = work.join();
        assert!(matches!(&ended.why, Why::Panicked(panic) if panic.message().ends_with("twenty")));
        let given: Vec<i32> = out.into_iter().collect();
        assert!(given.iter().copied().eq(0..20));
        let seen: HashSet<i32> = given.into_iter().chain(ended.left).chain(rx.try_iter()).collect();
        assert_eq!((seen.len(), ended.given), (99, 20));
        let ((tx, rx), (out_tx, out)) = (bounded(4), bounded(4));
        let source = pipe(0..100, tx);
        let gaps = |panic: myriad::flow::graph::Panic| panic.message().contains("ten").then_some(-1);
        // (Before the future, and in it.)
        let work = Pipeline::new(3).on_panic(gaps).start_async(rx, out_tx, |n| {
            assert!(n % 10 != 0, "{PLANNED}ten");
            async move {
                assert!(n % 10 != 5, "{PLANNED}five");
                n
            }
        });
        let want = (0..100).filter(|n| n % 10 != 5).map(|n| if n % 10 == 0 { -1 } else { n });
        assert!(out.into_iter().eq(want));
        let ended = work.join();
        assert!(ended.is_complete() && source.join().is_complete());
        assert_eq!((ended.taken, ended.given), (100, 90));
    });
}

/// A future whose destructor panics, after it is ready: the others are cancelled.
#[test]
fn a_destructor_that_panics() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("{PLANNED}a destructor");
        }
    }
    each_runtime(|| {
        let ((tx, rx), (out_tx, _out)) = (unbounded(), unbounded());
        (0..100).for_each(|n| tx.send(n).unwrap());
        let work = pipeline_async(4, rx, out_tx, |n| {
            let bad = (n == 9).then_some(Bad);
            let mut is_done = n != 9;
            std::future::poll_fn(move |cx| {
                _ = &bad;
                if std::mem::replace(&mut is_done, true) {
                    return Poll::Ready(n);
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
        });
        assert!(matches!(&work.join().why, Why::Panicked(panic) if panic.message().ends_with("a destructor")));
    });
}

#[test]
fn a_closed_target() {
    each_runtime(|| {
        for settings in [Pipeline::new(3), Pipeline::new(3).unordered()] {
            let ((tx, rx), (out_tx, out)) = (unbounded(), bounded(2));
            (0..1000).for_each(|n| tx.send(n).unwrap());
            let work = settings.start_async(rx.clone(), out_tx, async |n: i32| n);
            let mut got: Vec<i32> = out.iter().take(10).collect();
            drop(out);
            let ended = work.join();
            assert!(matches!(ended.why, Why::TargetClosed), "{}", ended.why);
            assert!(ended.taken < 100, "{}", ended.taken);
            // (What stood in the channel is gone with it.)
            got.extend(ended.left);
            got.extend(rx.try_iter());
            let all: HashSet<i32> = got.iter().copied().collect();
            assert!(all.len() == got.len() && all.len() >= 1000 - 2, "{}", all.len());
        }
    });
}

/// Cancelled, it drops the calls that wait, and ends both neighbours.
#[test]
fn cancelled() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(2), bounded(2));
        let source = pipe(0.., tx);
        let (begun, dropped) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (says, counts) = (begun.clone(), dropped.clone());
        let work = pipeline_async(3, rx, out_tx, move |n: i32| {
            let (says, counts) = (says.clone(), counts.clone());
            async move {
                if n >= 10 {
                    let _dropped = Dropped(counts);
                    says.add_permits(1);
                    pending::<()>().await;
                }
                n
            }
        });
        let got = myriad::spawn(move || out.into_iter().collect::<Vec<_>>());
        drop(begun.acquire_many(3));
        work.cancel();
        let ended = work.join();
        assert!(matches!(ended.why, Why::Cancelled));
        assert_eq!((ended.taken, ended.given, dropped.load(SeqCst)), (13, 10, 3));
        assert_eq!(got.join().unwrap().len(), 10);
        assert!(matches!(source.join().why, Why::TargetClosed));
        // Without a wait, of a source that has always something.
        let ((tx, rx), (out_tx, out)) = (bounded_drop_oldest(100), bounded_drop_oldest(4));
        let source = pipe(std::iter::repeat(0), tx);
        let work = pipeline_async(1, rx, out_tx, async |n| n);
        wait_until(|| !out.is_empty());
        work.cancel();
        assert!(matches!(work.join().why, Why::Cancelled));
        assert!(matches!(source.join().why, Why::TargetClosed));
        // While it waits for an item, or for room; what was made comes back.
        let ((_keep, from), (to, _rx)) = (bounded::<i32>(1), bounded(1));
        let waits = pipeline_async(2, from, to, async |n| n);
        waits.cancel();
        assert!(matches!(waits.join().why, Why::Cancelled));
        let ((tx, rx), (out_tx, out)) = (unbounded(), bounded(1));
        (0..10).for_each(|n| tx.send(n).unwrap());
        let waits = Pipeline::new(3).start_async(rx.clone(), out_tx, async |n: i32| n);
        wait_until(|| out.is_full() && rx.len() == 10 - 1 - 6);
        waits.cancel();
        let ended = waits.join();
        assert!(matches!(ended.why, Why::Cancelled));
        let all: Vec<_> = out.try_iter().chain(ended.left).chain(rx.try_iter()).collect();
        assert_eq!(all, Vec::from_iter(0..10));
    });
}
