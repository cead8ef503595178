//! Small blocks of memory, cut one behind the other from pieces.
//!
//! A thread cuts its *slab*, a piece, into the blocks that it takes; whoever ends a block gives it
//! back, on any thread. A slab whose blocks are all back is used again, or is a free piece. So a
//! block costs a few instructions where it is made, and one count where it ends, and blocks that
//! were made in a row lie in a row. The price: one block that is kept keeps a slab.
//!
//! **Invariant.** `back` of a slab counts the blocks that are back. The thread that cuts the slab
//! adds `MANY` less the number that it has cut when it leaves the slab, once. So the sum is `MANY`
//! exactly when the thread has left and all blocks are back; who makes it so has the slab alone. A
//! slab begins where its piece does, which is aligned to its size: so a block's address tells.
//!
//! **Ordering.** AcqRel of each addition to `back`: what was done in a block comes before the slab
//! is freed, or used again.
//!
//! **Rejected.** The global allocator, which took a seventh of the time of a job: what is freed in
//! the order of priorities is merged piece by piece. Lists of free blocks, as in
//! [`blocks`](crate::blocks): after jobs of several priorities these lie in no order, so each is in
//! another page. Headers at another cache line in each slab: no difference.

use super::piece::{Piece, SIZE};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, drop_in_place, null_mut};
use std::sync::atomic::{AtomicU32, Ordering::*};

/// What is larger has memory of its own.
const LARGEST: usize = 1 << 10;
/// Of blocks.
const ALIGN: usize = 16;
/// More blocks than a slab has.
const MANY: u32 = 1 << 30;

/// What a slab begins with.
#[repr(C, align(16))]
struct Slab {
    back: AtomicU32,
}

/// The slab that a thread cuts.
struct Cutting {
    /// Null before the first.
    slab: Cell<*mut Slab>,
    /// Where the next block begins.
    next: Cell<usize>,
    /// How many blocks were cut.
    cut: Cell<u32>,
}

thread_local! {
    static CUTTING: Cutting = const { Cutting::new() };
}

/// Is such a block cut from a slab? (Address sanitizer is to see each by itself.)
#[inline(always)]
fn is_cut(layout: Layout) -> bool {
    !cfg!(myriad_asan) && layout.size() <= LARGEST && layout.align() <= ALIGN
}

/// Memory for a value of this layout, which is not of size 0; to be given back by [`give`].
#[inline]
pub fn take(layout: Layout) -> NonNull<u8> {
    if !is_cut(layout) {
        debug_assert!(layout.size() > 0);
        // SAFETY: the value has a size.
        return NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout));
    }
    // (A thread that ends has no slab any more: one for this block alone.)
    CUTTING.try_with(|own| own.cut(layout.size())).unwrap_or_else(|_| Cutting::new().cut(layout.size()))
}

/// The block is used no more.
///
/// # Safety
/// [`take`] has returned it for this layout, and it is given back once.
#[inline]
pub unsafe fn give(block: NonNull<u8>, layout: Layout) {
    if !is_cut(layout) {
        // SAFETY: `take` has allocated it so, as this is asked of the layout alone.
        return unsafe { dealloc(block.as_ptr(), layout) };
    }
    let slab = block.as_ptr().map_addr(|address| address & !(SIZE - 1));
    // SAFETY: the block was cut from the slab at the start of its piece, which is there until that
    // block is back; by the contract of this function it was not.
    unsafe { add(slab.cast(), 1) }.into_iter().for_each(free);
}

impl Cutting {
    const fn new() -> Cutting {
        Cutting { slab: Cell::new(null_mut()), next: Cell::new(SIZE), cut: Cell::new(0) }
    }
    #[inline]
    fn cut(&self, size: usize) -> NonNull<u8> {
        let size = size.next_multiple_of(ALIGN);
        if self.next.get() + size > SIZE {
            self.open();
        }
        let at = self.next.get();
        self.next.set(at + size);
        self.cut.set(self.cut.get() + 1);
        // SAFETY: the slab is this thread's, and has room for `size` bytes at `at`.
        unsafe { NonNull::new_unchecked(self.slab.get().cast::<u8>().add(at)) }
    }
    /// A slab with room: the one before, if all its blocks are back.
    #[cold]
    fn open(&self) {
        let slab = self.leave().unwrap_or_else(|| Piece::new().into_start().cast());
        // SAFETY: nobody else has this slab, and the memory of a slab has room for its header.
        unsafe { slab.write(Slab { back: AtomicU32::new(0) }) };
        self.slab.set(slab.as_ptr());
        self.next.set(size_of::<Slab>());
        self.cut.set(0);
    }
    /// Leaves the slab. Returns it if all its blocks are back.
    fn leave(&self) -> Option<NonNull<Slab>> {
        let slab = NonNull::new(self.slab.replace(null_mut()))?;
        // SAFETY: a slab is there until the thread that cuts it has left it, which this does.
        unsafe { add(slab.as_ptr(), MANY - self.cut.get()) }
    }
}

impl Drop for Cutting {
    fn drop(&mut self) {
        self.leave().into_iter().for_each(free);
    }
}

/// So many are back. Returns the slab if it has no other user now.
///
/// # Safety
/// The slab is there, and `more` is what the module's invariant says.
#[inline]
unsafe fn add(slab: *mut Slab, more: u32) -> Option<NonNull<Slab>> {
    // SAFETY: the slab is there, by the contract of this function.
    let before = unsafe { (*slab).back.fetch_add(more, AcqRel) };
    if before + more == MANY { NonNull::new(slab) } else { None }
}

#[cold]
fn free(slab: NonNull<Slab>) {
    // SAFETY: `add` returns a slab to its last user only, and slabs are pieces.
    drop(unsafe { Piece::at(slab.cast()) });
}

/// A value in a block, as a box has one.
///
/// **Invariant.** The block is this box's, and has the value.
pub struct Boxed<T>(NonNull<T>);

// SAFETY: the box owns its value, and a block may end on any thread.
unsafe impl<T: Send> Send for Boxed<T> {}
// SAFETY: a shared box gives out shared references to its value, and no more.
unsafe impl<T: Sync> Sync for Boxed<T> {}

impl<T> Boxed<T> {
    /// This value in a block of its own.
    pub fn new(value: T) -> Boxed<T> {
        const { assert!(size_of::<T>() > 0, "it has a size") };
        let block = take(Layout::new::<T>()).cast::<T>();
        // SAFETY: the block has room for such a value, and is nobody else's.
        unsafe { block.write(value) };
        Boxed(block)
    }
}

impl<T> Deref for Boxed<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the block is this box's, and has the value.
        unsafe { self.0.as_ref() }
    }
}

impl<T> DerefMut for Boxed<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the block is this box's, and has the value.
        unsafe { self.0.as_mut() }
    }
}

impl<T> Drop for Boxed<T> {
    fn drop(&mut self) {
        struct Give<T>(NonNull<T>);
        impl<T> Drop for Give<T> {
            fn drop(&mut self) {
                // SAFETY: the block of a box that ends, of this layout.
                unsafe { give(self.0.cast(), Layout::new::<T>()) };
            }
        }
        // (Also if the value's own end panics.)
        let _give = Give(self.0);
        // SAFETY: the value is this box's, and nobody uses it again.
        unsafe { drop_in_place(self.0.as_ptr()) };
    }
}

impl<T: Default> Default for Boxed<T> {
    fn default() -> Boxed<T> {
        Boxed::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Boxed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
