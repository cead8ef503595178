//! Whether a socket may be read from, or written to: what a reactor sets, and tasks wait for.

use super::awaited::{Attempt, Awaited, InQueue, Queued};
use super::op::{self, Waiting};
use crate::entry::DONE;
use crate::impls::impls;
use crate::limit::Stop;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, WaitReason};
use myriad_core::time::{self, Instant, Sleep};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

/// A flag that says "perhaps": whoever takes it tries a call that would block otherwise, and sets
/// the flag again if there may be more.
///
/// It lets one go on each time it is set, as an event with automatic reset does. One that is
/// [closed](Readiness::close) lets all go on for good. A wait that is given up, by a time limit, a
/// cancellation or the drop of its future, leaves the flag to the next one.
///
/// **Changes** of what is waited for, such as a deadline, are counted here: who looks at it says
/// which change it has seen, and does not wait if there was a later one. So a change is missed by
/// nobody who is between the look and the wait.
///
/// **Waits that are polled** ([`wait_polled`](Readiness::wait_polled)) may be forgotten by an owner
/// who still has them. So where there was one, a setting lets all go on and leaves the flag, and
/// one of those who are not forgotten takes it. (The flag would be lost for all others if it were
/// handed to one that is never polled again.)
///
/// For the crate that has the sockets; programs have [`Event`](super::Event).
pub struct Readiness {
    inner: Awaited<ReadyState>,
}

struct ReadyState {
    ready: bool,
    closed: bool,
    /// There was a wait that is polled, perhaps no more.
    polled: bool,
    /// There was a wait of a future, perhaps no more.
    by_future: bool,
    changes: u32,
}

impl Readiness {
    const_fn! {
        /// A flag that is set, or not.
        pub const fn new(ready: bool) -> Readiness {
            let state = ReadyState { ready, closed: false, polled: false, by_future: false, changes: 0 };
            Readiness { inner: Awaited::new(state) }
        }
    }

    /// Sets the flag: the one that has waited longest goes on with it, or the next that comes. (All
    /// that wait go on where one of them may have been forgotten.)
    pub fn set(&self) {
        self.inner.set_ready();
    }

    /// Sets the flag, as [`set`](Self::set), unless a future has ever waited here: its waker may be
    /// user code, and the caller is where no user code may run. False: the flag is as before.
    pub fn set_for_blocked(&self) -> bool {
        self.inner.set_ready_for_blocked()
    }

    /// From now on nobody waits here.
    pub fn close(&self) {
        let all = self.inner.locked(Caller::get(), |state| {
            state.closed = true;
            state.all()
        });
        self.inner.release_all(all, DONE);
    }

    /// What they wait for has changed: all that wait go on, and so does each that is about to wait
    /// and has not seen this change.
    pub fn change(&self) {
        let all = self.inner.locked(Caller::get(), |state| {
            state.changes = state.changes.wrapping_add(1);
            state.all()
        });
        self.inner.release_all(all, DONE);
    }

    /// As it was made, for the next one that has it; `false`: somebody waits.
    pub fn renew(&self, ready: bool) -> bool {
        self.inner.locked(Caller::get(), |state| {
            state.ready = ready;
            (state.closed, state.polled, state.by_future) = (false, false, false);
            !state.is_waited_for()
        })
    }

    /// Has it been closed?
    pub fn is_closed(&self) -> bool {
        self.inner.locked(Caller::get(), |state| state.closed)
    }

    /// Takes the flag, without waiting. True: it was set, or this is closed.
    #[inline]
    pub fn take(&self) -> bool {
        self.inner.locked(Caller::get(), |state| state.pass())
    }

    /// Takes the flag, or says how many [changes](Self::change) there have been.
    ///
    /// # Errors
    /// That number: the flag is not set.
    #[inline]
    pub fn take_or_changes(&self) -> Result<(), u32> {
        self.inner.locked(Caller::get(), |state| if state.pass() { Ok(()) } else { Err(state.changes) })
    }

    /// Waits until the flag is set, and takes it, or until there is a change after those that the
    /// caller has `seen`; false: the deadline was earlier. `OUTPUT`: a dump says that the task
    /// waits to write, and not to read.
    ///
    /// # Cancellation
    /// A wait that is cancelled unwinds, and has not taken the flag.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    #[track_caller]
    pub fn wait<const OUTPUT: bool>(&self, seen: u32, deadline: Option<Instant>) -> bool {
        op::wait(&mut InQueue::new(&self.inner, Ready::<OUTPUT> { seen, polled: false, by_future: false }), deadline)
    }

    /// The same as a future.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has not taken the flag.
    pub fn wait_async<const OUTPUT: bool>(&self, seen: u32, deadline: Option<Instant>) -> ReadinessWait<'_, OUTPUT> {
        self.wait_as(Ready { seen, polled: false, by_future: true }, deadline)
    }

    /// The same for one that may stay when nobody polls it any more. It does *not* take the flag:
    /// true says that the flag was set, or that there was a change.
    pub fn wait_polled<const OUTPUT: bool>(&self, seen: u32, deadline: Option<Instant>) -> ReadinessWait<'_, OUTPUT> {
        self.wait_as(Ready { seen, polled: true, by_future: true }, deadline)
    }

    fn wait_as<const OUTPUT: bool>(
        &self,
        ready: Ready<OUTPUT>,
        deadline: Option<Instant>,
    ) -> ReadinessWait<'_, OUTPUT> {
        ReadinessWait {
            waiting: Waiting::new(InQueue::new(&self.inner, ready)),
            sleep: deadline.map(|deadline| Box::pin(time::sleep_until_async(deadline))),
        }
    }
}

/// The future of [`Readiness::wait_async`]. A time limit, which few waits have, is in a box: a
/// connection that is idle consists of this future for the most part.
#[must_use = "futures do nothing unless awaited"]
pub struct ReadinessWait<'a, const OUTPUT: bool> {
    waiting: Waiting<InQueue<'a, Ready<OUTPUT>>>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<const OUTPUT: bool> Future for ReadinessWait<'_, OUTPUT> {
    type Output = bool;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        // SAFETY: `waiting` is pinned with the whole, and `sleep` is a box, which may move.
        let (mut waiting, sleep) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.waiting), &mut this.sleep)
        };
        match (waiting.as_mut().poll(cx), sleep) {
            (Poll::Ready(()), _) => Poll::Ready(true),
            (Poll::Pending, Some(sleep)) => sleep.as_mut().poll(cx).map(|()| Pin::new(&mut waiting).stop()),
            (Poll::Pending, None) => Poll::Pending,
        }
    }
}

impl Awaited<ReadyState> {
    fn set_ready(&self) {
        let caller = Caller::get();
        let (one, others) = self.locked(caller, |state| {
            let one = state.one();
            state.ready |= one.is_none() || state.polled;
            (one, if state.polled { state.all() } else { None })
        });
        if let Some(waiter) = one {
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { caller.wake(waiter) };
        }
        self.release_all(others, DONE);
    }

    fn set_ready_for_blocked(&self) -> bool {
        let caller = Caller::get();
        let (set, one) = self.locked(caller, |state| {
            let one = if state.by_future { None } else { state.one() };
            state.ready |= !state.by_future && one.is_none();
            (!state.by_future, one)
        });
        if let Some(waiter) = one {
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { caller.wake(waiter) };
        }
        set
    }
}

impl ReadyState {
    fn pass(&mut self) -> bool {
        std::mem::take(&mut self.ready) || self.closed
    }
}

struct Ready<const OUTPUT: bool> {
    seen: u32,
    polled: bool,
    by_future: bool,
}

impl<const OUTPUT: bool> Attempt for Ready<OUTPUT> {
    type State = ReadyState;
    const REASON: WaitReason = if OUTPUT { WaitReason::Output } else { WaitReason::Input };

    fn attempt(&mut self, state: &mut Queued<ReadyState>) -> bool {
        let passes = if self.polled { state.ready || state.closed } else { state.pass() };
        passes || state.changes != self.seen
    }

    fn begin(&mut self, state: &mut ReadyState) {
        state.polled |= self.polled;
        state.by_future |= self.by_future;
    }

    fn undo(&mut self, readiness: &Awaited<ReadyState>, alone: bool) -> bool {
        // (One that is polled has not taken the flag.)
        if alone && !self.polled {
            readiness.set_ready();
        }
        false
    }
}

impls! {
    Debug for Readiness: { closed: is_closed };
    Debug for ReadinessWait<'_, OUTPUT> [const OUTPUT: bool]: opaque;
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    #[test]
    fn the_flag_is_taken_once() {
        let input = Readiness::new(true);
        assert!(input.take() && !input.take());
        input.set();
        input.set();
        assert!(input.wait::<false>(0, None) && !input.take(), "two settings are one");
    }

    #[test]
    fn what_is_closed_lets_all_go_on() {
        let output = Readiness::new(false);
        std::thread::scope(|s| {
            let waits = [(); 3].map(|()| s.spawn(|| output.wait::<true>(0, None)));
            output.close();
            waits.into_iter().for_each(|wait| assert!(wait.join().unwrap()));
        });
        assert!(output.take() && output.take() && output.is_closed());
    }

    #[test]
    fn a_change_is_missed_by_nobody() {
        let input = Readiness::new(false);
        let seen = input.take_or_changes().unwrap_err();
        input.change();
        assert!(input.wait::<false>(seen, None) && !input.take(), "it is no readiness");
        let seen = input.take_or_changes().unwrap_err();
        std::thread::scope(|s| {
            let waits = [(); 3].map(|()| s.spawn(|| input.wait::<false>(seen, None)));
            input.change();
            waits.into_iter().for_each(|wait| assert!(wait.join().unwrap()));
        });
        assert!(!input.wait::<false>(input.take_or_changes().unwrap_err(), Some(Instant::real_now())));
    }

    #[test]
    fn a_future_is_not_woken_where_only_who_blocks_may_be() {
        let input = Readiness::new(false);
        assert!(input.set_for_blocked() && input.take());
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut waits = Box::pin(input.wait_async::<false>(0, None));
        assert!(waits.as_mut().poll(&mut context).is_pending());
        assert!(!input.set_for_blocked() && waits.as_mut().poll(&mut context).is_pending());
        drop(waits);
        assert!(!input.set_for_blocked() && !input.take(), "there was a future");
        assert!(input.renew(false) && input.set_for_blocked() && input.take());
        std::thread::scope(|s| {
            let waits = s.spawn(|| input.wait::<false>(0, None));
            assert!(input.set_for_blocked());
            assert!(waits.join().unwrap() && !input.take());
        });
    }

    #[test]
    fn a_wait_that_is_given_up_leaves_the_flag() {
        let input = Readiness::new(false);
        assert!(!input.wait::<false>(0, Some(Instant::real_now())));
        {
            let mut waits = std::pin::pin!(input.wait_async::<false>(0, None));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(waits.as_mut().poll(&mut context).is_pending());
            input.set();
            assert!(!input.take(), "it is the future's");
        }
        assert!(input.take(), "it came back");
    }

    #[test]
    fn a_wait_that_is_forgotten_keeps_the_flag_from_nobody() {
        let input = Readiness::new(false);
        let mut context = Context::from_waker(std::task::Waker::noop());
        let mut forgotten = std::pin::pin!(input.wait_polled::<false>(0, None));
        assert!(forgotten.as_mut().poll(&mut context).is_pending());
        let mut behind = std::pin::pin!(input.wait_async::<false>(0, None));
        assert!(behind.as_mut().poll(&mut context).is_pending());
        input.set();
        assert!(behind.as_mut().poll(&mut context).is_ready(), "though it was not the first");
        assert!(forgotten.as_mut().poll(&mut context).is_ready());
        assert!(input.take() && !input.take(), "one flag for both");
    }
}
