//! What comes out of a node: its value or error, who waits for that, and who takes it.

use super::error::NodeError;
use super::ready::{Dependent, Ready};
use super::settings::NodeName;
use crate::graph::Cause;
use crate::protocol::{Claim, Edge, Ending, OnceBox, Waiting};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::running::call_nested;
use myriad_core::engine::unwind;
use myriad_sync::node_end::NodeEnd;
use std::panic::Location;
use std::sync::Arc;

pub(super) type Outcome<T> = Result<T, NodeError>;
pub(super) type OutputClaim<'a, T> = Claim<'a, Outcome<T>, dyn Dependent>;

/// What comes out of a node. The value lives until the last reference to the node goes; then it
/// goes to the taker, if there is one.
pub(super) struct Output<T: 'static> {
    ending: Ending<Outcome<T>, dyn Dependent>,
    /// What few outputs need.
    late: OnceBox<Late<T>>,
}

struct Late<T> {
    /// For callers who block until it has ended.
    has_ended: NodeEnd,
    /// Set by who had the handle, before that reference went.
    taker: Mutex<Option<Arc<dyn Taker<T>>>>,
}

impl<T> Late<T> {
    fn new() -> Self {
        Late { has_ended: NodeEnd::default(), taker: Mutex::new(None) }
    }
}

/// Something has ended.
#[must_use]
pub(super) struct JustEnded {
    pub(super) waiting: Waiting<dyn Dependent>,
    pub(super) with_error: bool,
}

/// Gets the outcome of a node for itself, when nobody else has a reference to that.
pub(super) trait Taker<T>: Send + Sync {
    fn take(self: Arc<Self>, outcome: Outcome<T>, ready: &mut Ready);
}

/// What has an output, as others see it.
pub(super) trait Origin<T: 'static>: Send + Sync {
    fn output(&self) -> &Output<T>;
    fn output_mut(&mut self) -> &mut Output<T>;
    fn name(&self) -> NodeName;
    /// Ends it before it begins, or cancels the task that runs it.
    fn cancel(&self);
    /// Ends it before it begins. False: it has begun, or ended.
    fn end_unbegun(&self, cause: Cause) -> bool;
}

/// What a node waits for, whatever its type.
pub trait Parent {
    /// # Safety
    /// As of [`Ending::add`].
    unsafe fn add(&self, edge: &Edge<dyn Dependent>, owner: Arc<dyn Dependent>) -> Result<(), Arc<dyn Dependent>>;
    /// Its error, if it has ended with one.
    fn error(&self) -> Option<NodeError>;
}

impl<T: Send + 'static> Output<T> {
    pub(super) fn new() -> Self {
        Output { ending: Ending::default(), late: OnceBox::default() }
    }

    /// The right to end it, for the first who asks.
    #[inline]
    pub(super) fn claim(&self) -> Option<OutputClaim<'_, T>> {
        self.ending.claim()
    }

    /// It ends so, and callers who block go on. Returns the nodes that wait, for
    /// [`Ready::after`].
    #[inline]
    pub(super) fn end(&self, claim: OutputClaim<'_, T>, outcome: Outcome<T>) -> JustEnded {
        let with_error = outcome.is_err();
        let waiting = claim.end(outcome);
        // SeqCst, as the exchange within `end`: who has made an event before that is seen here, and
        // who makes one after it sees the end.
        if let Some(late) = self.late.get() {
            late.has_ended.set();
        }
        JustEnded { waiting, with_error }
    }

    #[inline]
    pub(super) fn has_ended(&self) -> bool {
        self.ending.has_ended()
    }

    /// The value or the error, when it has ended.
    pub(super) fn outcome(&self) -> Option<&Outcome<T>>
    where
        T: Sync,
    {
        self.ending.outcome()
    }

    /// Blocks until it has ended. `place`: where the node was spawned, for dumps.
    #[track_caller]
    pub(super) fn wait(&self, place: impl FnOnce() -> &'static Location<'static>) {
        if let Some(event) = self.event() {
            event.wait(place);
        }
    }

    /// As `wait`, as a future.
    pub(super) async fn wait_async(&self, place: impl FnOnce() -> &'static Location<'static>) {
        if let Some(event) = self.event() {
            event.wait_async(place).await;
        }
    }

    /// What is set when it ends; `None`: it has ended.
    fn event(&self) -> Option<&NodeEnd> {
        if self.has_ended() {
            return None;
        }
        let event = &self.late.get_or_make(Late::new).has_ended;
        // As in `end`: the event comes before this look.
        (!self.ending.has_ended_by_now()).then_some(event)
    }

    /// Does somebody wait to have what comes out?
    pub(super) fn has_taker(&self) -> bool {
        self.late.get().is_some_and(|late| late.taker.lock().is_some())
    }

    /// The outcome, for who has it alone.
    pub(super) fn take(&mut self) -> Option<Outcome<T>> {
        self.ending.take()
    }

    /// The outcome goes to the taker, if there is one.
    pub(super) fn pass_on(&mut self, ready: &mut Ready) {
        if let Some(taker) = self.late.take().and_then(|late| late.taker.into_inner()) {
            let outcome = self.take().unwrap_or_else(|| Err(NodeError::lost()));
            taker.take(outcome, ready);
        }
    }
}

/// From now on `taker` waits for what comes out, instead of the one who has this reference.
pub(super) fn pass_to<T: Send + 'static>(source: Arc<dyn Origin<T>>, taker: Arc<dyn Taker<T>>) {
    *source.output().late.get_or_make(Late::new).taker.lock() = Some(taker);
}

impl<T: Send + 'static> Parent for Output<T> {
    #[inline]
    unsafe fn add(&self, edge: &Edge<dyn Dependent>, owner: Arc<dyn Dependent>) -> Result<(), Arc<dyn Dependent>> {
        // SAFETY: this function's contract.
        unsafe { self.ending.add(edge, owner) }
    }

    #[inline]
    fn error(&self) -> Option<NodeError> {
        self.ending.error().cloned()
    }
}

impl<T: 'static> Drop for Output<T> {
    /// What comes out goes on, or is dropped; so may further outputs be by that, along a chain of
    /// any length: of tasks that return the handles of others, or of values that hold handles.
    fn drop(&mut self) {
        let outcome = self.ending.take();
        if let Some(taker) = self.late.take().and_then(|late| late.taker.into_inner()) {
            let outcome = outcome.unwrap_or_else(|| Err(NodeError::lost()));
            return call_nested(move || Ready::elsewhere(|ready| taker.take(outcome, ready)));
        }
        // The destructors are the user's, and this may be anywhere.
        match outcome {
            Some(Ok(value)) if std::mem::needs_drop::<T>() => call_nested(move || unwind::drop_quietly(value)),
            Some(Err(error)) => unwind::drop_quietly(error),
            Some(Ok(_)) | None => {}
        }
    }
}
