//! A closure that yields all the time and a future that wakes itself all the time, on one worker: a third task still runs.

mod common;

use common::each;
use myriad::{spawn, spawn_async, yield_now};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
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
