//! The select as a future.
//!
//! The arms stand in the future, and stay linked from poll to poll as long as none of them has to
//! be polled itself. Else (and when a time has come) the future ends its own wait first, and begins
//! anew: so that what it then finds ready it may take. It costs its channels' arms their place in
//! line.

use super::arm::{Arms, Link, earlier};
use super::order::{self, Order};
use myriad_base::sys::mutant::on;
use myriad_core::engine::user_code::StoredWaker;
use myriad_core::engine::wait::{Caller, PollWait, WaitReason};
use myriad_core::time::{self, Instant, Sleep};
use std::fmt;
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A future that is ready when one of the arms is done, and does no other. What `select_async!`
/// calls.
///
/// # Cancellation
/// Dropped before it is ready, it has received nothing; a message that it was to send may have been
/// taken since the last poll: see [`Sender::send_async`](crate::channel::Sender::send_async).
///
/// # Examples
/// ```
/// use myriad::{channel::unbounded, select::{self, Order, Won}};
/// let (tx, rx) = unbounded();
/// let (_tx2, rx2) = unbounded::<()>();
/// let receiver = myriad::spawn_async(async move {
///     match select::wait_async(Order::Fair, (rx.recv_arm(), rx2.recv_arm())).await {
///         Won::A0(message) => message.unwrap(),
///         Won::A1(_) => unreachable!("nobody sends there"),
///     }
/// });
/// tx.send(5).unwrap();
/// assert_eq!(receiver.join().unwrap(), 5);
/// ```
pub fn wait_async<A: Arms>(order: Order, arms: A) -> SelectFuture<A> {
    SelectFuture(Polled::new(arms, order, None))
}

/// What [`wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct SelectFuture<A: Arms>(Polled<A>);

impl<A: Arms> Future for SelectFuture<A> {
    type Output = A::Output;
    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<A::Output> {
        // SAFETY: the field is pinned as the whole.
        let polled = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        polled.poll(cx).map(|output| output.expect("there is no time limit"))
    }
}

impl<A: Arms> fmt::Debug for SelectFuture<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SelectFuture(..)")
    }
}

/// The same with a time limit; `None` when it has passed.
pub(super) struct Polled<A: Arms> {
    arms: A,
    wait: PollWait,
    /// Until the earliest deadline.
    sleep: Option<Sleep>,
    limit: Option<Instant>,
    order: Order,
    linked: bool,
    _pinned: PhantomPinned,
}

impl<A: Arms> Polled<A> {
    pub(super) fn new(arms: A, order: Order, limit: Option<Instant>) -> Polled<A> {
        Polled { arms, wait: PollWait::new(), sleep: None, limit, order, linked: false, _pinned: PhantomPinned }
    }

    /// It was linked. `Some`: it has won, or waits on; `None`: it is not linked any more, and may
    /// begin anew.
    fn poll_linked(&mut self, caller: Caller, waker: &Waker) -> Option<Poll<A::Output>> {
        let is_time = |deadline: &Sleep| time::now() >= deadline.deadline();
        if !self.arms.needs_polling() && !self.sleep.as_ref().is_some_and(is_time) {
            // Both wakers are user code, here in nobody's way.
            match self.wait.replace(StoredWaker::clone_of(waker)) {
                Ok(old) => {
                    old.into_iter().for_each(StoredWaker::discard);
                    if self.set_alarm(waker) {
                        caller.note_await(WaitReason::Select, std::ptr::null());
                        return Some(Poll::Pending);
                    }
                }
                Err(unused) => {
                    unused.discard();
                    return self.unlink(caller).map(Poll::Ready);
                }
            }
        }
        self.end(caller).map(Poll::Ready)
    }

    /// Ends the wait. What has won, if something has.
    fn end(&mut self, caller: Caller) -> Option<A::Output> {
        // SAFETY: the group is this future's, and alive. Whoever has claimed it before has left a
        // winner.
        let _ours = unsafe { self.wait.group().claim() };
        self.unlink(caller)
    }

    /// Waits no more. What has won, if something has.
    fn unlink(&mut self, caller: Caller) -> Option<A::Output> {
        self.linked = false;
        let won = self.arms.unlink(caller);
        self.close();
        won
    }

    /// The arms are in no list any more, and so is the wait.
    fn close(&mut self) {
        // SAFETY: `unlink` and `abandon` have taken the arms out of all lists, so the wait is in
        // none.
        unsafe { self.wait.close() }.into_iter().for_each(StoredWaker::discard);
    }

    /// Begins to wait, or goes on: at the earliest deadline the task is polled again. False: that
    /// time is over.
    ///
    /// (The poll goes on then. To wake its own task instead would run a waker, user code, in the
    /// middle of this poll.)
    fn set_alarm(&mut self, waker: &Waker) -> bool {
        let Some(sleep) = &mut self.sleep else { return true };
        // SAFETY: pinned as the whole; set anew only by dropping the old one in its place.
        let sleep = unsafe { Pin::new_unchecked(sleep) };
        sleep.poll(&mut Context::from_waker(waker)).is_pending()
    }

    fn begin(&mut self, caller: Caller, waker: &Waker) -> Poll<Option<A::Output>> {
        loop {
            // SAFETY: not linked; pinned, or behind a reference to what does not move.
            if let Some(output) = unsafe { self.arms.attempt_all(self.order, caller, Some(waker)) } {
                return Poll::Ready(Some(output));
            }
            if self.limit.is_some_and(|limit| time::now() >= limit) {
                // SAFETY: the arms are not linked; they are pinned, or behind a reference to what
                // does not move.
                return Poll::Ready(unsafe {
                    order::reattempt_all(&mut self.arms, self.order, caller, Some(waker), None)
                });
            }
            let deadline = earlier(self.arms.deadline(), self.limit);
            // SAFETY: the wait is over, and in no list; it has no waker, since it was closed.
            let _none = unsafe { self.wait.open(StoredWaker::clone_of(waker)) };
            self.linked = true;
            // SAFETY: not linked; the arms and the wait are pinned, and go only after they were
            // unlinked.
            let link = unsafe { self.arms.link_all(self.order, caller, self.wait.group()) };
            if link == Link::Linked {
                if self.sleep.as_ref().map(Sleep::deadline) != deadline {
                    self.sleep = deadline.map(time::sleep_until_async);
                }
                if self.set_alarm(waker) {
                    caller.note_await(WaitReason::Select, std::ptr::null());
                    return Poll::Pending;
                }
                if let Some(output) = self.end(caller) {
                    return Poll::Ready(Some(output));
                }
                continue;
            }
            if let Some(output) = self.unlink(caller) {
                return Poll::Ready(Some(output));
            }
        }
    }
}

impl<A: Arms> Future for Polled<A> {
    type Output = Option<A::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: nothing is moved out of `this`.
        let this = unsafe { self.get_unchecked_mut() };
        let caller = Caller::get();
        if this.linked && !on("select-polled-anew") {
            if let Some(polled) = this.poll_linked(caller, cx.waker()) {
                return polled.map(Some);
            }
        } else if !caller.poll_spend(cx.waker()) {
            return Poll::Pending;
        }
        this.begin(caller, cx.waker())
    }
}

impl<A: Arms> Drop for Polled<A> {
    fn drop(&mut self) {
        if self.linked {
            let caller = Caller::get();
            caller.forget_await();
            self.arms.abandon(caller);
            self.close();
        }
    }
}
