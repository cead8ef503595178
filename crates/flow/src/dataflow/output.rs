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
    /// Nobody else ever gets it, but this error.
    fn refuses(&self) -> Option<&NodeError> {
        None
    }
}

/// In the place of a taker of what stays lent for ever, to a node that has ended with this error.
/// (A field for that would be one more in each node that somebody waits for.)
struct StaysLent(NodeError);

impl<T> Taker<T> for StaysLent {
    fn take(self: Arc<Self>, outcome: Outcome<T>, _: &mut Ready) {
        unwind::drop_quietly(outcome);
    }
    fn refuses(&self) -> Option<&NodeError> {
        Some(&self.0)
    }
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
    /// What comes out stays lent for ever, to a node that has ended with this error, or is that
    /// node's own: whoever waits to take it gets the error.
    fn stays_lent(&self, error: &NodeError, ready: &mut Ready);
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

    /// It ends so, if who has the claim has not ended it.
    ///
    /// # Safety
    /// As of [`Ending::claim_of_left`].
    pub(super) unsafe fn end_left(&self, error: &NodeError, ready: &mut Ready) {
        // SAFETY: this function's contract.
        if let Some(claim) = unsafe { self.ending.claim_of_left() } {
            ready.after(self.end(claim, Err(error.clone())));
        }
        self.stays_lent(error, ready);
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
    let mut place = source.output().late.get_or_make(Late::new).taker.lock();
    let refused = place.as_ref().and_then(|taker| taker.refuses().cloned());
    let Some(error) = refused else {
        *place = Some(taker);
        return;
    };
    drop(place);
    Ready::elsewhere(|ready| taker.take(Err(error), ready));
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

    #[cold]
    fn stays_lent(&self, error: &NodeError, ready: &mut Ready) {
        let stays = Arc::new(StaysLent(error.clone()));
        let before = self.late.get_or_make(Late::new).taker.lock().replace(stays);
        if let Some(taker) = before {
            taker.take(Err(error.clone()), ready);
        }
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
