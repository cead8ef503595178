//! A future that runs until something else is ready, and is dropped then: what
//! [`RunAsync`](super::token::RunAsync) and [`Timeout`](super::time::timeout::Timeout) are.
//!
//! They differ in what counts if both are ready. A cancellation counts before the result, so it is
//! polled first. A time limit counts after it: the future is polled first, and once more when the
//! time is over.
//!
//! Tests: at the end; `channel_limits.rs::one_look_more`;
//! `destructors.rs::an_output_that_panics_after_its_future_within_a_limit`.

use crate::sched::wait::note_timed_out;
use crate::sched::{unwind, user_code};
use std::fmt;
use std::future::Future;
use std::mem::needs_drop;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

pub(super) struct Until<F, S> {
    /// `None` once it has ended, or was stopped.
    future: Option<F>,
    stop: S,
}

impl<F, S: fmt::Debug> Until<F, S> {
    /// For `Debug` under this name, whatever the future is: few of them have it.
    pub(super) fn show(&self, name: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(name).field("ended", &self.future.is_none()).field("limit", &self.stop).finish_non_exhaustive()
    }
}

impl<F: Future, S: Future<Output = ()>> Until<F, S> {
    pub(super) fn new(future: F, stop: S) -> Until<F, S> {
        Until { future: Some(future), stop }
    }

    /// Polls `stop` first. `None`: it was stopped.
    pub(super) fn poll_stop_first(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let (mut future, stop) = self.parts();
        if stop.poll(cx).is_ready() {
            future.set(None);
            return Poll::Ready(None);
        }
        poll(future, cx).map(Some)
    }

    /// Polls the future first. `None`: it was stopped.
    pub(super) fn poll_future_first(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<F::Output>> {
        let (mut future, stop) = self.parts();
        if let Poll::Ready(value) = poll(future.as_mut(), cx) {
            return Poll::Ready(Some(value));
        }
        ready!(stop.poll(cx));
        // Once more: it may have been done since, or have only let others go first.
        let last = poll(future.as_mut(), cx);
        if last.is_pending() {
            note_timed_out();
        }
        future.set(None);
        match last {
            Poll::Ready(value) => Poll::Ready(Some(value)),
            Poll::Pending => Poll::Ready(None),
        }
    }

    fn parts(self: Pin<&mut Self>) -> (Pin<&mut Option<F>>, Pin<&mut S>) {
        assert!(self.future.is_some(), "a future that was ready is polled again");
        // SAFETY: both are pinned with the whole, and nobody gets them otherwise; the future is
        // dropped in place.
        unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), Pin::new_unchecked(&mut this.stop))
        }
    }
}

/// Polls a future that has not ended; drops it when it has.
///
/// Its destructor may panic while the output is in hand. That panic is who polls', after the output
/// has been dropped, whose destructor may panic too: one panic at a time.
fn poll<F: Future>(mut future: Pin<&mut Option<F>>, cx: &mut Context<'_>) -> Poll<F::Output> {
    let polled = future.as_mut().as_pin_mut().map_or(Poll::Pending, |running| running.poll(cx));
    let output = ready!(polled);
    if !(needs_drop::<F>() && needs_drop::<F::Output>()) {
        // There are no two destructors that could panic.
        future.set(None);
        return Poll::Ready(output);
    }
    // (Not through the door: it is the end of the caller's own code, as in a task.)
    match user_code::body(|| future.set(None)) {
        Ok(()) => Poll::Ready(output),
        Err(payload) => unwind::drop_and_resume(output, payload),
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::Until;
    use std::cell::RefCell;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    /// What is polled by two polls, and what they say: a future that is ready at its poll number
    /// `ends`, and a stopper that is at its number `stops`, from 1.
    fn polled(stop_first: bool, ends: usize, stops: usize) -> (String, Option<&'static str>) {
        let seen = RefCell::new(String::new());
        let part = |letter, from| {
            let (seen, mut n) = (&seen, 0);
            poll_fn(move |_| {
                seen.borrow_mut().push(letter);
                n += 1;
                if n >= from { Poll::Ready(()) } else { Poll::Pending }
            })
        };
        let mut until = pin!(Until::new(async { part('f', ends).await }, part('s', stops)));
        let cx = &mut Context::from_waker(Waker::noop());
        let mut poll = || match stop_first {
            true => until.as_mut().poll_stop_first(cx),
            false => until.as_mut().poll_future_first(cx),
        };
        let said = match poll() {
            Poll::Pending => poll(),
            ready => ready,
        };
        let said = match said {
            Poll::Ready(output) => Some(if output.is_some() { "done" } else { "stopped" }),
            Poll::Pending => None,
        };
        (seen.into_inner(), said)
    }

    #[test]
    fn what_stops_counts_before_the_result() {
        assert_eq!(polled(true, 9, 9), ("sfsf".into(), None));
        assert_eq!(polled(true, 2, 2), ("sfs".into(), Some("stopped")));
        assert_eq!(polled(true, 2, 9), ("sfsf".into(), Some("done")));
    }

    #[test]
    fn the_result_counts_before_what_stops() {
        assert_eq!(polled(false, 9, 9), ("fsfs".into(), None));
        assert_eq!(polled(false, 2, 2), ("fsf".into(), Some("done")));
        // Looked at once more.
        assert_eq!(polled(false, 3, 2), ("fsfsf".into(), Some("done")));
        assert_eq!(polled(false, 4, 2), ("fsfsf".into(), Some("stopped")));
    }

    #[test]
    #[should_panic(expected = "polled again")]
    fn one_that_has_ended_is_not_polled() {
        let mut until = pin!(Until::new(std::future::ready(()), std::future::ready(())));
        let cx = &mut Context::from_waker(Waker::noop());
        _ = until.as_mut().poll_stop_first(cx);
        _ = until.as_mut().poll_stop_first(cx);
    }
}
