//! Closures that yield, futures that wake themselves, tasks that spawn their successors, all the
//! time, on one worker: others still run.

use crate::common::each;
use myriad::{spawn, spawn_async, yield_now};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::task::Poll;

#[test]
fn a_yielding_closure_and_a_future_that_wakes_itself_starve_nobody() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let stop = Arc::new(AtomicBool::new(false));
            let yields = spawn({
                let stop = stop.clone();
                move || {
                    while !stop.load(SeqCst) {
                        yield_now();
                    }
                }
            });
            let wakes_itself = spawn_async({
                let stop = stop.clone();
                poll_fn(move |cx| {
                    if stop.load(SeqCst) {
                        return Poll::Ready(());
                    }
                    cx.waker().wake_by_ref();
                    Poll::Pending
                })
            });
            for _ in 0..1000 {
                yield_now();
            }
            let third = spawn_async(async move { stop.store(true, SeqCst) });
            yields.join().unwrap();
            wakes_itself.join().unwrap();
            third.join().unwrap();
        })
    });
}

/// Tasks that lie between two busy ends of the queue: a future that wakes itself is always the
/// oldest, a task that spawns its successor always the newest, and a closure that yields leaves the
/// worker no other turns.
#[test]
fn what_lies_between_busy_ends_of_the_queue_runs() {
    fn successor(stop: Arc<AtomicBool>) {
        if !stop.load(SeqCst) {
            drop(spawn(move || successor(stop)));
        }
    }
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (stop, begun) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let (one, two) = (stop.clone(), stop.clone());
            drop(spawn_async(poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                if one.load(SeqCst) { Poll::Ready(()) } else { Poll::Pending }
            })));
            for _ in 0..100 {
                let begun = begun.clone();
                drop(spawn(move || begun.fetch_add(1, SeqCst)));
            }
            drop(spawn(move || successor(two)));
            while begun.load(SeqCst) < 100 {
                yield_now();
            }
            stop.store(true, SeqCst);
        });
    });
}
