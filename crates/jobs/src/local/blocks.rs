//! Memory of bodies: blocks of a slab, one behind the other.
//!
//! A thread cuts its *slab* into the blocks of the bodies that it makes; whoever drops a body gives
//! the block back. A slab whose blocks are all back is used again, or freed. So a body costs a few
//! instructions where it is made, and one count where it ends, and bodies that were submitted in a
//! row lie in a row. The price: one body that is kept keeps a slab, as one job keeps a chunk of
//! records. (Rejected: the global allocator, which took a seventh of the time of a job, as what is
//! freed in the order of priorities is merged piece by piece. Lists of free blocks: after jobs of
//! several priorities these lie in no order, so each body is in another page.)
//!
//! **Invariant.** `back` of a slab counts the blocks that are back. The thread that cuts the slab
//! adds `MANY` less the number that it has cut when it leaves the slab, once. So the sum is `MANY`
//! exactly when the thread has left and all blocks are back; who makes it so has the slab alone.
//!
//! **Ordering.** AcqRel of each addition to `back`: what was done in a block comes before the slab
//! is freed, or used again.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicU32, Ordering::*};

const SLAB: u32 = 16 << 10;
/// What is larger has memory of its own.
const LARGEST: usize = 1 << 10;
/// Of slabs and blocks.
const ALIGN: usize = 16;
/// More blocks than a slab has.
const MANY: u32 = 1 << 30;
const OF_A_SLAB: Layout = match Layout::from_size_align(SLAB as usize, ALIGN) {
    Ok(layout) => layout,
    Err(_) => panic!("the alignment is a power of two"),
};

/// What a slab begins with.
#[repr(C, align(16))]
struct Slab {
    back: AtomicU32,
}

/// Where a block begins in its slab; 0: its memory is its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Offset(u32);

/// The slab that a thread cuts.
struct Cutting {
    /// Null before the first.
    slab: Cell<*mut Slab>,
    /// Where the next block begins.
    next: Cell<u32>,
    /// How many blocks were cut.
    cut: Cell<u32>,
}

thread_local! {
    static CUTTING: Cutting = const { Cutting { slab: Cell::new(null_mut()), next: Cell::new(SLAB), cut: Cell::new(0) } };
}

/// Memory for a value of this layout, to be given back by [`give`].
#[inline]
pub(super) fn take(layout: Layout) -> (NonNull<u8>, Offset) {
    // (Address sanitizer is to see each body by itself.)
    let fits = !cfg!(myriad_asan) && layout.size() <= LARGEST && layout.align() <= ALIGN;
    // (A thread that ends has no slab any more.)
    match fits.then(|| CUTTING.try_with(|own| own.cut(layout.size()))) {
        Some(Ok(block)) => block,
        _ => (allocate(layout), Offset(0)),
    }
}

/// The block is used no more.
///
/// # Safety
/// It was taken for this layout, with this offset, and is given back once.
#[inline]
pub(super) unsafe fn give(block: NonNull<u8>, offset: Offset, layout: Layout) {
    if offset.0 == 0 {
        // SAFETY: `take` has allocated it so, as its offset says; by the contract of this function.
        return unsafe { dealloc(block.as_ptr(), layout) };
    }
    // SAFETY: the block was cut from a slab at this offset, by the contract of this function; and
    // the slab is there until that block is back.
    unsafe { add(block.as_ptr().sub(offset.0 as usize).cast(), 1) }.into_iter().for_each(free);
}

impl Cutting {
    #[inline]
    fn cut(&self, size: usize) -> (NonNull<u8>, Offset) {
        let size = size.next_multiple_of(ALIGN) as u32;
        if self.next.get() + size > SLAB {
            self.open();
        }
        let at = self.next.get();
        self.next.set(at + size);
        self.cut.set(self.cut.get() + 1);
        // SAFETY: the slab is this thread's, and has room for `size` bytes at `at`.
        let block = unsafe { NonNull::new_unchecked(self.slab.get().cast::<u8>().add(at as usize)) };
        (block, Offset(at))
    }
    /// A slab with room: the one before, if all its blocks are back.
    #[cold]
    fn open(&self) {
        let slab = self.leave().unwrap_or_else(|| allocate(OF_A_SLAB).cast());
        // SAFETY: nobody else has this slab, and the memory of a slab has room for its header.
        unsafe { slab.write(Slab { back: AtomicU32::new(0) }) };
        self.slab.set(slab.as_ptr());
        self.next.set(size_of::<Slab>() as u32);
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
    // SAFETY: `add` returns a slab to its last user only, and slabs are allocated with this layout.
    unsafe { dealloc(slab.as_ptr().cast(), OF_A_SLAB) };
}

#[cold]
fn allocate(layout: Layout) -> NonNull<u8> {
    debug_assert!(layout.size() > 0, "a block has a header");
    // SAFETY: a slab, and a block with its header, have a size.
    NonNull::new(unsafe { alloc(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}
