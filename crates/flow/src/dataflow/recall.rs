//! What may have the value of a node already.

use crate::graph::Cause;

/// What is asked for the value of a node before the body runs, and told it after: `()`, which has
/// none, a checkpoint, a place in a cache, or one of these and then the other.
///
/// Example: [`Checkpoints`](super::Checkpoints).
#[diagnostic::on_unimplemented(
    message = "this node cannot have the value `{T}`",
    note = "a value with a checkpoint is `flow::Stored`; a value in a `flow::Cache<V>` is a `V`, which is `Clone`, `Send` and `Sync`"
)]
pub trait Recall<T>: Send + 'static {
    /// The value that is known, or that of the body.
    #[doc(hidden)]
    fn call(self, body: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause>;
}

impl<T> Recall<T> for () {
    #[inline]
    fn call(self, body: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
        body()
    }
}

impl<T, A: Recall<T>, B: Recall<T>> Recall<T> for (A, B) {
    fn call(self, body: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
        let (first, second) = self;
        first.call(|| second.call(body))
    }
}
