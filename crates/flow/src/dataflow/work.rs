//! What a node is to do, and what it keeps for that.
//!
//! What is kept stays in the node while the body runs: so it is found if the body is left for ever.
//!
//! **Invariant.** Both are there, or neither is; but from `begin` to `end` the body is gone. The
//! node is not dropped meanwhile, for whoever runs it has a reference. (A field that says whether
//! the body is there would be a word more in each node.)

use myriad_base::sys::cell::UnsafeCell;
use std::mem::ManuallyDrop;

pub(super) struct Work<W, K>(UnsafeCell<Option<Parts<W, K>>>);

struct Parts<W, K> {
    body: ManuallyDrop<W>,
    kept: ManuallyDrop<K>,
}

impl<W, K> Work<W, K> {
    #[inline]
    pub(super) fn new(body: W, kept: K) -> Self {
        Work(UnsafeCell::new(Some(Parts { body: ManuallyDrop::new(body), kept: ManuallyDrop::new(kept) })))
    }

    /// What is kept.
    ///
    /// # Safety
    /// Nobody else reaches this as long as the result is used, but who was given it by `begin` and
    /// never goes on.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the contract")]
    pub(super) unsafe fn kept(&self) -> Option<&mut K> {
        // SAFETY: this function's contract.
        self.0.with_mut(|parts| unsafe { (*parts).as_mut() }).map(|parts| &mut *parts.kept)
    }

    /// Takes both out.
    ///
    /// # Safety
    /// Nobody else reaches this meanwhile, and the body has not begun.
    #[inline]
    pub(super) unsafe fn take(&self) -> Option<(W, K)> {
        // SAFETY: nobody else reaches it, and both are there (this function's contract). What is
        // taken out is not dropped where it was.
        unsafe {
            let mut parts = ManuallyDrop::new(self.0.with_mut(|parts| (*parts).take())?);
            Some((ManuallyDrop::take(&mut parts.body), ManuallyDrop::take(&mut parts.kept)))
        }
    }

    /// The body, to be called with what is kept; `end` follows.
    ///
    /// # Safety
    /// Nobody else reaches this from here until `end`, or the caller never goes on. This is called
    /// once.
    #[inline]
    #[allow(clippy::mut_from_ref, reason = "the contract")]
    pub(super) unsafe fn begin(&self) -> Option<(W, &mut K)> {
        // SAFETY: nobody else reaches it (this function's contract), and the body is taken once.
        unsafe {
            let parts = self.0.with_mut(|parts| (*parts).as_mut())?;
            Some((ManuallyDrop::take(&mut parts.body), &mut *parts.kept))
        }
    }

    /// Takes out what was kept.
    ///
    /// # Safety
    /// `begin` was called, and its result is used no more.
    #[inline]
    pub(super) unsafe fn end(&self) -> Option<K> {
        // SAFETY: nobody else reaches it yet (contract of `begin`). The body is gone, and what is
        // kept is taken once.
        unsafe {
            let mut parts = ManuallyDrop::new(self.0.with_mut(|parts| (*parts).take())?);
            Some(ManuallyDrop::take(&mut parts.kept))
        }
    }
}

/// Of a node that was never claimed.
impl<W, K> Drop for Parts<W, K> {
    fn drop(&mut self) {
        struct Last<'a, K>(&'a mut ManuallyDrop<K>);
        impl<K> Drop for Last<'_, K> {
            fn drop(&mut self) {
                // SAFETY: it is there (the module's header), and dropped here once.
                unsafe { ManuallyDrop::drop(self.0) };
            }
        }
        // Also if the body's destructor panics.
        let _kept = Last(&mut self.kept);
        // SAFETY: the body is there (the module's header), and dropped here once.
        unsafe { ManuallyDrop::drop(&mut self.body) };
    }
}
