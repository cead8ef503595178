//! What the tests of cancellation share: tasks that block for ever, and are cancelled there.

#![allow(dead_code, unused_imports)] // each test binary uses its part

pub(crate) use crate::common::*;

use myriad::{JoinHandle, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

/// For ever.
pub(crate) const LONG: Duration = Duration::from_secs(3600);

/// Starts a task, and returns when it has begun.
pub(crate) fn begin<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let begun = Arc::new(AtomicBool::new(false));
    let says = begun.clone();
    let h = spawn(move || {
        says.store(true, SeqCst);
        f()
    });
    wait_until(|| begun.load(SeqCst));
    h
}

/// Starts `f`, which blocks for ever, lets it block, and cancels it. Its destructors must have run.
#[track_caller]
pub(crate) fn cancel_in<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) {
    let drops = Drops::new();
    let held = drops.one();
    let h = begin(move || {
        let _held = held;
        f()
    });
    for _ in 0..3 {
        yield_now();
    }
    assert_cancelled(h);
    drops.assert_all(1);
}

/// Cancels a task that ends only so.
#[track_caller]
pub(crate) fn assert_cancelled<T>(h: JoinHandle<T>) {
    h.cancel();
    let error = h.join().err().expect("it was cancelled");
    assert!(error.is_cancelled(), "{error}");
    assert!(!error.is_panic());
}
