//! Futures with a time limit that are exact: when the time is over the operation has been done, and
//! its result is known, or has had no effect, and will have none.
//!
//! `time::timeout_async` around any future cannot promise that: it drops what it has polled, and
//! what happened in between nobody hears of. Here the operation itself is asked to stop, under the
//! lock of its primitive, as in the forms that block.

use myriad_core::engine::wait::note_timed_out;
use myriad_core::time::{self, Instant, Sleep};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// An operation as a future that can be told to stop.
pub(crate) trait Stop: Future {
    /// What it brings with a time limit.
    type InTime;

    /// It is done.
    fn in_time(output: Self::Output) -> Self::InTime;

    /// The time is over: looks once more, and waits no longer. If it was done meanwhile this says
    /// so. A poll afterwards is one of an operation that has ended.
    fn stop(self: Pin<&mut Self>) -> Self::InTime;
}

/// An operation that is stopped at its deadline.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Limited<F> {
    operation: F,
    sleep: Sleep,
}

impl<F: Stop> Limited<F> {
    pub(crate) fn new(operation: F, deadline: Instant) -> Limited<F> {
        Limited { operation, sleep: time::sleep_until_async(deadline) }
    }
}

impl<F: Stop> Future for Limited<F> {
    type Output = F::InTime;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::InTime> {
        // SAFETY: both parts are pinned with the whole.
        let (mut operation, sleep) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.operation), Pin::new_unchecked(&mut this.sleep))
        };
        if let Poll::Ready(output) = operation.as_mut().poll(cx) {
            return Poll::Ready(F::in_time(output));
        }
        sleep.poll(cx).map(|()| {
            note_timed_out();
            operation.stop()
        })
    }
}
