//! A flag that can be waited for.

use super::error::TimeoutError;
use super::op::{self, Op, Waiting};
use super::wait_queue::{ALONE, WaitQueue, let_go, retarget};
use crate::entry::{DONE, Entry};
use crate::guarded::Guarded;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// A flag that tasks wait for until it is set.
///
/// [`Event::new`] makes one that stays set until it is [`reset`](Event::reset): setting it lets all
/// go on that wait, and all that come until then. [`Event::auto_reset`] makes one that lets *one*
/// go on each time that it is set: the one that has waited longest, or, if none waits, the next
/// that comes.
///
/// What was done before [`set`](Event::set) is visible to whoever it lets go on.
///
/// # Examples
/// ```
/// use myriad::sync::Event;
/// let ready = Event::new();
/// myriad::scope(|s| {
///     for _ in 0..3 {
///         s.spawn(|| ready.wait());
///     }
///     ready.set();
/// });
/// assert!(ready.is_set());
/// ```
#[doc(alias = "Notify")]
pub struct Event {
    inner: Guarded<EventState>,
}

struct EventState {
    wait_queue: WaitQueue,
    set: bool,
    auto: bool,
}

impl Event {
    const_fn! {
        /// An event that stays set until it is reset. It is not set.
        pub const fn new() -> Event {
            Event { inner: Guarded::new(EventState { wait_queue: WaitQueue::new(), set: false, auto: false }) }
        }
    }
    const_fn! {
        /// An event that lets one go on each time it is set. It is not set.
        pub const fn auto_reset() -> Event {
            Event { inner: Guarded::new(EventState { wait_queue: WaitQueue::new(), set: false, auto: true }) }
        }
    }

    /// Sets the flag: whoever waits goes on; of an event with automatic reset, one.
    ///
    /// Setting it again before anybody has waited has no effect. O(waiters).
    pub fn set(&self) {
        let caller = Caller::get();
        let (one, all) = self.inner.locked(caller, |state| {
            if !state.auto {
                state.set = true;
                return (None, (!state.wait_queue.is_empty()).then(|| state.wait_queue.all()));
            }
            let one = state.wait_queue.one();
            state.set = one.is_none();
            (one, None)
        });
        if let Some(waiter) = one {
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { caller.wake(waiter) };
        }
        if let Some(generation) = all {
            let_go(&self.inner, |state| &mut state.wait_queue, generation, DONE);
        }
    }

    /// Takes the flag back: who comes now waits. True: it was set.
    pub fn reset(&self) -> bool {
        self.inner.locked(Caller::get(), |state| std::mem::take(&mut state.set))
    }

    /// Is the flag set?
    pub fn is_set(&self) -> bool {
        self.inner.locked(Caller::get(), |state| state.set)
    }

    /// Waits until the flag is set; takes it back, if the event does so.
    ///
    /// # Blocking
    /// Until it is set. The calling task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    pub fn wait(&self) {
        Caller::get().spend();
        op::wait(&mut Set(self), None);
    }

    /// The same without waiting. True: it was set (and is taken back, if the event does so).
    pub fn try_wait(&self) -> bool {
        self.inner.locked(Caller::get(), EventState::pass)
    }

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<(), TimeoutError> {
        self.wait_deadline(time::now() + timeout)
    }

    /// Waits until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed.
    pub fn wait_deadline(&self, deadline: Instant) -> Result<(), TimeoutError> {
        Caller::get().spend();
        if op::wait(&mut Set(self), Some(deadline)) { Ok(()) } else { Err(TimeoutError) }
    }

    /// A future that is ready when the flag is set.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has changed nothing: was it let go by an event with automatic
    /// reset, another is.
    pub fn wait_async(&self) -> EventFuture<'_> {
        EventFuture(Waiting::new(Set(self)))
    }

    /// A future of [`wait_timeout`](Self::wait_timeout), whose limit is counted from this call.
    ///
    /// # Errors
    /// The time has passed. The event itself decides, not the poll: no setting is lost with it.
    ///
    /// # Cancellation
    /// As [`wait_async`](Self::wait_async).
    pub fn wait_timeout_async(&self, timeout: Duration) -> impl Future<Output = Result<(), TimeoutError>> {
        self.wait_deadline_async(time::now() + timeout)
    }

    /// The same until `deadline`.
    ///
    /// # Errors
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    ///
    /// # Cancellation
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    pub fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<(), TimeoutError>> {
        let waiting = Waiting::new(Set(self));
        async move { waiting.until(deadline).await.then_some(()).ok_or(TimeoutError) }
    }
}

impl EventState {
    fn pass(&mut self) -> bool {
        let set = self.set;
        self.set &= !self.auto;
        set
    }
}

struct Set<'a>(&'a Event);

// SAFETY: entries are linked and taken out under the lock.
unsafe impl Op for Set<'_> {
    type Slot = u64;
    const REASON: WaitReason = WaitReason::Event;

    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) -> bool {
        self.0.inner.locked(caller, |state| {
            if state.pass() {
                return true;
            }
            if let Some(waiter) = waiter.take() {
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe { state.wait_queue.join(entry, waiter) };
            }
            false
        })
    }

    unsafe fn retarget(&self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in this event's queue,
        // whose lock is held.
        self.0.inner.locked(caller, |_| unsafe { retarget(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<u64>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract), which joined this queue;
        // the lock is held.
        let (outcome, waiter) = self.0.inner.locked(caller, |state| unsafe { state.wait_queue.leave(entry) });
        drop(InHand::new(waiter));
        outcome
    }

    unsafe fn undo(&mut self, _: u8, slot: *mut u64) -> bool {
        // SAFETY: `slot` is that of an entry that `start` linked (this method's contract): `join`
        // has filled it.
        if unsafe { *slot } == ALONE {
            self.0.set();
        }
        false
    }
}

/// What [`Event::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct EventFuture<'a>(Waiting<Set<'a>>);

impl Future for EventFuture<'_> {
    type Output = ();
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the field is pinned as the whole is.
        unsafe { self.map_unchecked_mut(|this| &mut this.0) }.poll(cx)
    }
}

impls! {
    Default for Event: Event::new();
    Debug for Event: { set: is_set };
    Debug for EventFuture<'_>: opaque;
}
