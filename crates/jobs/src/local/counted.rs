//! A reference to a body: a pointer with a count.
//!
//! It is std's `Arc`, without weak references, and with three differences that each job feels: the
//! memory is a block of a slab (`blocks.rs`), the second reference costs no read-modify-write
//! ([`twin`](Counted::twin)), and neither does the end of the last one.
//!
//! **Invariant.** `count` is the number of references, so the block is there as long as one is; and
//! nobody else has a reference where the only one says 1.
//!
//! **Ordering.** A reference that ends does so with Release, and who frees the block has seen all
//! others end with Acquire: so the value is dropped after its last use.

use super::blocks::{self, Offset};
use super::cell::{Body, Slot};
use myriad_base::sys::prefetch::prefetch;
use std::alloc::Layout;
use std::marker::PhantomData;
use std::ops::Deref;
use std::process::abort;
use std::ptr::{NonNull, drop_in_place};
use std::sync::atomic::{AtomicU32, Ordering::*, fence};

/// See the module's header.
pub(crate) struct Counted<T: ?Sized> {
    block: NonNull<Block<T>>,
    _has: PhantomData<Block<T>>,
}

#[repr(C)]
struct Block<T: ?Sized> {
    count: AtomicU32,
    offset: Offset,
    value: T,
}

// SAFETY: a reference is one to the value, and the last one drops that: as `Arc`.
unsafe impl<T: ?Sized + Send + Sync> Send for Counted<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send + Sync> Sync for Counted<T> {}

impl<T: 'static> Counted<dyn Slot<T>> {
    #[inline]
    pub(crate) fn new<B: Slot<T> + 'static>(body: B) -> Counted<dyn Slot<T>> {
        let (memory, offset) = blocks::take(Layout::new::<Block<B>>());
        let block = memory.cast::<Block<B>>();
        // SAFETY: `take` gives memory for a value of this layout, which nobody else has.
        unsafe { block.write(Block { count: AtomicU32::new(1), offset, value: body }) };
        Counted { block, _has: PhantomData }
    }
}

impl<T> Counted<dyn Slot<T>> {
    /// The same body, without its type.
    #[inline]
    pub(crate) fn into_body(self) -> Counted<dyn Body> {
        let block = std::mem::ManuallyDrop::new(self).block;
        Counted { block, _has: PhantomData }
    }
}

impl<T: ?Sized> Counted<T> {
    /// Another reference, as `clone` makes. Of the only one it is cheaper.
    #[inline]
    pub(crate) fn twin(&mut self) -> Counted<T> {
        // (Nobody else counts: this is the only reference, and it is borrowed.)
        let count = &self.inside().count;
        if count.load(Relaxed) != 1 {
            return self.clone();
        }
        count.store(2, Relaxed);
        Counted { block: self.block, _has: PhantomData }
    }
    /// The value is to be looked at soon.
    #[inline]
    pub(crate) fn prefetch(&self) {
        prefetch(self.inside());
    }
    #[inline]
    fn inside(&self) -> &Block<T> {
        // SAFETY: the block is there as long as a reference is.
        unsafe { self.block.as_ref() }
    }
    /// The last reference ends.
    #[inline(never)]
    fn free(&mut self) {
        let block = self.block;
        let (layout, offset) = (Layout::for_value(self.inside()), self.inside().offset);
        // SAFETY: only the last reference comes here, once: nobody uses the value any more, and the
        // block was taken with this offset, for what has this layout.
        unsafe {
            drop_in_place(block.as_ptr());
            blocks::give(block.cast(), offset, layout);
        }
    }
}

impl<T: ?Sized> Deref for Counted<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        &self.inside().value
    }
}

impl<T: ?Sized> Clone for Counted<T> {
    #[inline]
    fn clone(&self) -> Counted<T> {
        // (References that are forgotten, again and again, would come to 0.)
        if self.inside().count.fetch_add(1, Relaxed) > u32::MAX / 2 {
            abort();
        }
        Counted { block: self.block, _has: PhantomData }
    }
}

impl<T: ?Sized> Drop for Counted<T> {
    #[inline]
    fn drop(&mut self) {
        let count = &self.inside().count;
        if count.load(Acquire) != 1 {
            if count.fetch_sub(1, Release) != 1 {
                return;
            }
            fence(Acquire);
        }
        self.free();
    }
}
