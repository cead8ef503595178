//! What the tests of locks share: what the channels' have, and partners of all kinds at a time.

#![allow(dead_code, unused_imports)] // each test binary uses its part

pub(crate) use crate::channel_common::{
    KINDS, Kind, Mode, Random, Running, Wakes, each_runtime, modes, poll_once, poll_with, seed, start, wait_until,
    watch_for,
};

use myriad::Runtime;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;
use std::time::Duration;

/// Longer than any test.
pub(crate) const LONG: Duration = Duration::from_secs(1000);

/// Runs `n` partners of each kind at a time, and returns when all have ended.
pub(crate) fn all_kinds<F: Future<Output = ()> + Send + 'static>(
    rt: &Runtime,
    n: usize,
    blocking: impl Fn() + Send + Clone + 'static,
    future: impl Fn() -> F,
) {
    let running: Vec<_> = (0..3 * n)
        .map(|i| {
            start(
                rt,
                KINDS[i % 3],
                {
                    let b = blocking.clone();
                    move || b()
                },
                future(),
            )
        })
        .collect();
    running.into_iter().for_each(Running::join);
}

/// The value of a future that is ready.
#[track_caller]
pub(crate) fn now<T>(polled: Poll<T>) -> T {
    match polled {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("pending"),
    }
}

/// What a panic of `f` says. (Printed too: these are panics of the library.)
#[track_caller]
pub(crate) fn refusal<T>(f: impl FnOnce() -> T) -> String {
    let Err(payload) = catch_unwind(AssertUnwindSafe(f)) else { panic!("it is not refused") };
    payload.downcast_ref::<String>().cloned().unwrap_or_else(|| payload.downcast_ref::<&str>().unwrap().to_string())
}
