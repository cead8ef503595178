//! A node of a graph, as a run reads it.

use myriad_base::sys::atomic::{AtomicBool, AtomicU32};

/// What a body says that fails.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// A body, which says which branch is next; that counts only in a choice.
pub(crate) type Body<'env> = Box<dyn Fn() -> Result<u32, Error> + Send + Sync + 'env>;

/// All that a run needs to know of a node that ends well, in one place.
pub(super) struct Node<'env> {
    pub(super) body: Body<'env>,
    /// Where the row of its successors begins and ends; of a choice's, those in front of `branches`
    /// come after it, and the others are its branches.
    pub(super) row: u32,
    pub(super) end: u32,
    /// How many nodes it comes after.
    pub(super) predecessors: u32,
    /// How many of these have not ended in this run; all again, when the last has. Not counted
    /// where there is one. The start by a choice changes nothing in it.
    pub(super) pending: AtomicU32,
    /// One of these has failed or was skipped. Written before `pending` is counted down.
    pub(super) doomed: AtomicBool,
    /// It is a choice, or has limits.
    pub(super) special: bool,
}

/// What the body of a node returns: nothing, or a `Result`.
///
/// Example: [`RunError`](super::RunError).
#[diagnostic::on_unimplemented(
    message = "the body of a node returns `()` or a `Result<(), E>`, not `{Self}`",
    note = "`E` is an error that is `Send + Sync`, or a `Box<dyn Error + Send + Sync>`"
)]
pub trait NodeResult {
    /// As a result.
    #[doc(hidden)]
    fn into_result(self) -> Result<(), Error>;
}

impl NodeResult for () {
    #[inline]
    fn into_result(self) -> Result<(), Error> {
        Ok(())
    }
}

impl<E: Into<Error>> NodeResult for Result<(), E> {
    #[inline]
    fn into_result(self) -> Result<(), Error> {
        self.map_err(Into::into)
    }
}
