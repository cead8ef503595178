//! A flag that can be waited for; and the end of a node, which is one.

use super::awaited::{Attempt, Awaited, InQueue, Queued};
use super::error::TimeoutError;
use super::op::{self, Waiting};
use crate::entry::DONE;
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::engine::made;
use myriad_core::engine::wait::{Caller, WaitReason};
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::panic::Location;
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
#[doc(alias = "ManualResetEvent")]
#[doc(alias = "Notify")]
pub struct Event {
    inner: Awaited<EventState>,
}

struct EventState {
    set: bool,
    auto: bool,
}

impl Event {
    const_fn! {
        /// An event that stays set until it is reset. It is not set.
        pub const fn new() -> Event {
            Event { inner: Awaited::new(EventState { set: false, auto: false }) }
        }
    }
    const_fn! {
        /// An event that lets one go on each time it is set. It is not set.
        ///
        /// # Examples
        /// ```
        /// let turn = myriad::sync::Event::auto_reset();
        /// turn.set();
        /// turn.wait(); // takes the one that was kept
        /// assert!(!turn.try_wait(), "for one only");
        /// ```
        pub const fn auto_reset() -> Event {
            Event { inner: Awaited::new(EventState { set: false, auto: true }) }
        }
    }

    /// Sets the flag: whoever waits goes on; of an event with automatic reset, one.
    ///
    /// Setting it again before anybody has waited has no effect. O(waiters).
    #[doc(alias = "unpark")]
    pub fn set(&self) {
        self.inner.set();
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
    #[doc(alias = "park")]
    #[track_caller]
    pub fn wait(&self) {
        Caller::get().spend();
        op::wait(&mut self.waits::<false>(), None);
    }

    /// As [`wait`](Self::wait), without waiting. True: it was set (and is taken back, if the event
    /// does so).
    pub fn try_wait(&self) -> bool {
        self.inner.locked(Caller::get(), |state| state.pass())
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
        if op::wait(&mut self.waits::<false>(), Some(deadline)) { Ok(()) } else { Err(TimeoutError) }
    }

    /// A future that is ready when the flag is set.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has changed nothing: was it let go by an event with automatic
    /// reset, another is.
    pub fn wait_async(&self) -> EventFuture<'_> {
        EventFuture(Waiting::new(self.waits::<false>()))
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

    /// As [`wait_timeout_async`](Self::wait_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    ///
    /// # Cancellation
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    pub fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<(), TimeoutError>> {
        let waiting = Waiting::new(self.waits::<false>());
        async move { waiting.until(deadline).await.then_some(()).ok_or(TimeoutError) }
    }
}

impl Event {
    fn waits<const NODE: bool>(&self) -> InQueue<'_, Set<NODE>> {
        InQueue::new(&self.inner, Set)
    }
}

/// The end of a node of a dataflow: an event, whose waiters have a reason of their own.
#[derive(Debug, Default)]
pub struct NodeEnd(Event);

impl NodeEnd {
    /// The node has ended.
    pub fn set(&self) {
        self.0.set();
    }

    /// Waits for the end of the node, which was spawned at `place`.
    #[track_caller]
    pub fn wait(&self, place: impl FnOnce() -> &'static Location<'static>) {
        self.note(place);
        Caller::get().spend();
        op::wait(&mut self.0.waits::<true>(), None);
    }

    /// As [`wait`](Self::wait), as a future.
    pub async fn wait_async(&self, place: impl FnOnce() -> &'static Location<'static>) {
        self.note(place);
        Waiting::new(self.0.waits::<true>()).await;
    }

    /// For dumps.
    fn note(&self, place: impl FnOnce() -> &'static Location<'static>) {
        if made::is_on() {
            // SAFETY: nothing is called with the address.
            unsafe { made::note(self.address(), place(), None) };
        }
    }

    /// As dumps see it.
    fn address(&self) -> *const () {
        std::ptr::from_ref(&self.0.inner).cast()
    }
}

impl Drop for NodeEnd {
    fn drop(&mut self) {
        if made::is_on() {
            made::forget(self.address());
        }
    }
}

impl Awaited<EventState> {
    fn set(&self) {
        let caller = Caller::get();
        let (one, all) = self.locked(caller, |state| {
            if !state.auto {
                state.set = true;
                return (None, state.all());
            }
            let one = state.one();
            state.set = one.is_none();
            (one, None)
        });
        if let Some(waiter) = one {
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { caller.wake(waiter) };
        }
        self.release_all(all, DONE);
    }
}

impl EventState {
    fn pass(&mut self) -> bool {
        let set = self.set;
        self.set &= !self.auto;
        set
    }
}

struct Set<const NODE: bool>;

impl<const NODE: bool> Attempt for Set<NODE> {
    type State = EventState;
    const REASON: WaitReason = if NODE { WaitReason::Node } else { WaitReason::Event };

    fn attempt(&mut self, state: &mut Queued<EventState>) -> bool {
        state.pass()
    }

    fn undo(&mut self, event: &Awaited<EventState>, alone: bool) -> bool {
        if alone {
            event.set();
        }
        false
    }
}

/// What [`Event::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct EventFuture<'a>(Waiting<InQueue<'a, Set<false>>>);

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
