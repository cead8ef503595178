//! An output without a body: a value that comes from another node.

use super::error::NodeError;
use super::handle::Handle;
use super::output::{Origin, Outcome, Output, Taker, pass_to};
use super::ready::Ready;
use super::settings::NodeName;
use crate::graph::Cause;
use myriad_core::engine::unwind;
use myriad_sync::answer::AnswerSender;
use std::sync::Arc;

/// Ends when it is given an outcome, or is cancelled.
pub(super) struct Promise<T: 'static> {
    output: Output<T>,
    name: NodeName,
}

impl<T: Send + 'static> Promise<T> {
    pub(super) fn new(name: NodeName) -> Arc<Self> {
        Arc::new(Promise { output: Output::new(), name })
    }
}

impl<T: Send + 'static> Origin<T> for Promise<T> {
    fn output(&self) -> &Output<T> {
        &self.output
    }
    fn output_mut(&mut self) -> &mut Output<T> {
        &mut self.output
    }
    fn name(&self) -> NodeName {
        self.name.clone()
    }
    fn cancel(&self) {
        self.end_unbegun(Cause::Cancelled);
    }
    fn end_unbegun(&self, cause: Cause) -> bool {
        let Some(claim) = self.output.claim() else { return false };
        let ended = self.output.end(claim, Err(NodeError::itself(self.name.clone(), cause)));
        Ready::elsewhere(|ready| ready.after(ended));
        true
    }
}

impl<T: Send + 'static> Taker<T> for Promise<T> {
    fn take(self: Arc<Self>, outcome: Outcome<T>, ready: &mut Ready) {
        let Some(claim) = self.output.claim() else { return unwind::drop_quietly(outcome) };
        let ended = self.output.end(claim, outcome);
        // Before whoever waits begins, who then has it alone.
        drop(self);
        ready.after(ended);
    }
}

/// For a caller who blocks until a value is theirs.
impl<T: Send> Taker<T> for AnswerSender<Outcome<T>> {
    fn take(self: Arc<Self>, outcome: Outcome<T>, _: &mut Ready) {
        if let Some(sender) = Arc::into_inner(self)
            && let Err(outcome) = sender.send(outcome)
        {
            unwind::drop_quietly(outcome);
        }
    }
}

/// Takes the handle that comes out of a node, and waits for what comes out of that.
pub(super) struct Flatten<T: 'static>(pub(super) Arc<Promise<T>>);

impl<T: Send + 'static> Taker<Handle<T>> for Flatten<T> {
    fn take(self: Arc<Self>, outcome: Outcome<Handle<T>>, ready: &mut Ready) {
        let promise = self.0.clone();
        match outcome {
            Ok(inner) => pass_to(inner.into_source(), promise),
            Err(error) => promise.take(Err(error), ready),
        }
    }
}
