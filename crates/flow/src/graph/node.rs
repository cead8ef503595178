//! A node of a graph, as a run reads it.

use myriad_base::sys::atomic::{AtomicU8, Ordering::Relaxed};

/// What a body says that fails.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// A body, which says which branch is next; that counts only in a choice.
pub(crate) type Body<'env> = Box<dyn Fn() -> Result<u32, Error> + Send + Sync + 'env>;

/// What a run needs to know of a node when its turn has come. (Two of them fill a cache line.)
#[repr(align(32))]
pub(super) struct Node<'env> {
    pub(super) body: Body<'env>,
    /// Where the row of its successors begins and ends; of a choice's, those in front of `branches`
    /// come after it, and the others are its branches.
    pub(super) row: u32,
    pub(super) end: u32,
    pub(super) marks: Marks,
}

const _: () = assert!(size_of::<Node<'_>>() == 32 || cfg!(loom));

/// What is said of few nodes, in one word: most have none of this.
pub(super) struct Marks(AtomicU8);

impl Marks {
    /// One in front of it has failed or was skipped. Written before its count is counted down.
    const DOOMED: u8 = 1;
    /// It is a choice, or has limits.
    const SPECIAL: u8 = 2;

    pub(super) fn new(special: bool) -> Self {
        Marks(AtomicU8::new(if special { Self::SPECIAL } else { 0 }))
    }

    /// Is anything said of it?
    #[inline(always)]
    pub(super) fn any(&self) -> bool {
        // Relaxed, here and below: the count that has made the node ready is the order.
        self.0.load(Relaxed) != 0
    }

    pub(super) fn is_special(&self) -> bool {
        self.0.load(Relaxed) & Self::SPECIAL != 0
    }

    pub(super) fn is_doomed(&self) -> bool {
        self.0.load(Relaxed) & Self::DOOMED != 0
    }

    pub(super) fn set_doomed(&self, doomed: bool) {
        if doomed {
            self.0.fetch_or(Self::DOOMED, Relaxed);
        } else {
            self.0.fetch_and(!Self::DOOMED, Relaxed);
        }
    }
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
