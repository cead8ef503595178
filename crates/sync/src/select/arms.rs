//! Arms that are no channels: times, futures, and what makes one arm of another.

use super::Arm;
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// An arm that is ready after `duration`, counted from when the select begins; it brings nothing.
/// (Of a [`Select`](super::Select), which may be waited for again: from its first wait that finds
/// nothing ready.)
///
/// It is an arm like the others. Where others are ready at the same time it wins as often as they
/// do: after `Duration::ZERO`, which is ready at once, as often as a message that is there.
/// (`recv_timeout` with no time takes a message that is there always.) Who wants what is there, and
/// else nothing, writes `default`; or `biased`, and the time last.
///
/// # Examples
/// ```
/// use myriad::select::{Order, Won, after, wait};
/// use std::time::Duration;
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// let won = wait(Order::Fair, (rx.recv_arm(), after(Duration::from_millis(1))));
/// assert!(matches!(won, Won::A1(())));
/// ```
pub fn after(duration: Duration) -> Time {
    Time { duration, deadline: if duration.is_zero() { Some(Instant::from_nanos(0)) } else { None } }
}

/// An arm that is ready at `deadline`; it brings nothing.
///
/// # Examples
/// ```
/// use myriad::select::{Order, Won, at, wait};
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// let soon = myriad::time::now() + std::time::Duration::from_millis(1);
/// assert!(matches!(wait(Order::Fair, (rx.recv_arm(), at(soon))), Won::A1(())));
/// ```
pub fn at(deadline: Instant) -> Time {
    Time { duration: Duration::ZERO, deadline: Some(deadline) }
}

/// What [`after`] and [`at`] return.
#[derive(Debug, Clone)]
#[must_use = "an arm does nothing outside of a select"]
pub struct Time {
    duration: Duration,
    /// Of [`after`]: since it was found that nothing is ready. (To ask for the time takes longer
    /// than all else.)
    deadline: Option<Instant>,
}

// SAFETY: this arm is never linked.
unsafe impl Arm for Time {
    type Output = ();
    unsafe fn attempt(&mut self, _: Caller, _: Option<&Waker>) -> Option<()> {
        self.deadline.is_some_and(|deadline| deadline.as_nanos() == 0 || time::now() >= deadline).then_some(())
    }
    fn deadline(&mut self) -> Option<Instant> {
        Some(*self.deadline.get_or_insert_with(|| time::now() + self.duration))
    }
}

/// An arm that is ready when a future is; it brings the future's output.
///
/// While another arm is ready the future may not be polled at all. If another wins it is dropped:
/// to keep it, give a reference to a pinned one.
///
/// # Examples
/// ```
/// use myriad::select::{Order, Won, future, wait};
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// let won = wait(Order::Fair, (rx.recv_arm(), future(async { "ready" })));
/// assert!(matches!(won, Won::A1("ready")));
/// ```
pub fn future<F: Future>(future: F) -> FutureArm<F> {
    FutureArm { future, done: false }
}

/// An arm that is ready when a task has ended, by its handle; `select!` writes it as
/// `handle.join()`.
///
/// It brings the result. If another arm wins, the handle is as it was.
///
/// # Examples
/// ```
/// use myriad::select::{Order, Won, join, wait};
/// let (_tx, rx) = myriad::channel::unbounded::<u32>();
/// let mut h = myriad::spawn(|| 42);
/// let won = wait(Order::Fair, (rx.recv_arm(), join(&mut h)));
/// assert!(matches!(won, Won::A1(Ok(42))));
/// ```
pub fn join<H: Future + Unpin>(handle: &mut H) -> FutureArm<&mut H> {
    future(handle)
}

/// What [`future`] and [`join`] return.
#[must_use = "an arm does nothing outside of a select"]
pub struct FutureArm<F> {
    future: F,
    /// It was ready, and is not polled any more.
    done: bool,
}

// SAFETY: this arm is never linked.
unsafe impl<F: Future> Arm for FutureArm<F> {
    type Output = F::Output;
    unsafe fn attempt(&mut self, _: Caller, waker: Option<&Waker>) -> Option<F::Output> {
        let waker = waker.filter(|_| !self.done)?;
        // SAFETY: with a waker the arm does not move any more until it is dropped (this method's
        // contract).
        let future = unsafe { Pin::new_unchecked(&mut self.future) };
        match future.poll(&mut Context::from_waker(waker)) {
            Poll::Ready(output) => {
                self.done = true;
                Some(output)
            }
            Poll::Pending => None,
        }
    }
    fn needs_polling(&self) -> bool {
        !self.done
    }
}

impl<F> fmt::Debug for FutureArm<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FutureArm").field("done", &self.done).finish_non_exhaustive()
    }
}
