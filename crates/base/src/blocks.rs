//! Small blocks of memory that come and go by the million: a free list of each size for each
//! thread, in front of the program's allocator.
//!
//! What lives for a message or a call costs the allocator more than its work: 390 instructions for
//! a pair of `malloc` and `free` where 256 are alive, 15 here. A block is one of the allocator's,
//! so no memory is cut up, and what a list does not keep goes back: beyond `MOST_KEPT` bytes of
//! a size, and at the end of the thread.
//!
//! **Who may touch what.** A list is its thread's. A block that another thread frees goes to the
//! list of that thread: so where one thread only makes and another one only frees, the cost is
//! the allocator's.
//!
//! **Rejected.** Lists that threads exchange, as records of tasks have them: a lock and a table
//! for each size, which only that last case would use. Under address sanitizer, and in a model,
//! all goes to the allocator, which tells a use after the end.

use std::alloc::{Layout, alloc as allocate, dealloc, handle_alloc_error};
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// Bytes between sizes. Blocks are as large as glibc's, without a rest: 24, 40, 56 bytes.
const UNIT: usize = 16;
/// What is larger, or aligned to more than a unit, is the allocator's.
const CLASSES: usize = 32;
/// What is larger has no list.
pub const LARGEST: usize = size_of_class(CLASSES - 1);
/// A list keeps so many bytes.
const MOST_KEPT: usize = 64 << 10;

/// The free blocks of one size.
struct List {
    first: Cell<*mut Free>,
    /// How many more it takes.
    room: Cell<usize>,
}

struct Free(*mut Free);

struct Lists([List; CLASSES]);

thread_local! {
    static LISTS: Lists = const {
        let mut lists = [const { List { first: Cell::new(null_mut()), room: Cell::new(0) } }; CLASSES];
        let mut class = 0;
        while class < CLASSES {
            lists[class].room = Cell::new(MOST_KEPT / size_of_class(class));
            class += 1;
        }
        Lists(lists)
    };
}

const fn size_of_class(class: usize) -> usize {
    class * UNIT + UNIT + 8
}

/// The class for this layout; `None`: it is the allocator's.
#[inline(always)]
const fn class_of(layout: Layout) -> Option<usize> {
    let class = layout.size().saturating_sub(9) / UNIT;
    if class < CLASSES && layout.align() <= UNIT && !cfg!(myriad_asan) && !cfg!(loom) { Some(class) } else { None }
}

#[inline(always)]
fn layout_of(class: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and the size is small.
    unsafe { Layout::from_size_align_unchecked(size_of_class(class), UNIT) }
}

/// Memory for a value of this layout, which is not of size 0.
#[inline(always)]
pub fn alloc(layout: Layout) -> NonNull<u8> {
    let Some(class) = class_of(layout) else { return made(layout) };
    let taken = LISTS.try_with(|lists| {
        let list = &lists.0[class];
        let block = list.first.get();
        // SAFETY: what is in the list is free, is this thread's, and begins with the next one.
        unsafe { list.first.set(block.as_ref()?.0) };
        list.room.set(list.room.get() + 1);
        NonNull::new(block.cast())
    });
    // (At the very end of a thread there is no list any more.)
    taken.ok().flatten().unwrap_or_else(|| made(layout_of(class)))
}

#[cold]
#[inline(never)]
fn made(layout: Layout) -> NonNull<u8> {
    // SAFETY: the size is not 0 (who asks for memory has a value for it).
    NonNull::new(unsafe { allocate(layout) }).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Gives memory back.
///
/// # Safety
/// It is of [`alloc`] with this layout, and nobody uses it any more.
#[inline(always)]
pub unsafe fn free(block: NonNull<u8>, layout: Layout) {
    // SAFETY: made by `alloc`, with the layout that `alloc` has chosen (this function's contract).
    let Some(class) = class_of(layout) else { return unsafe { dealloc(block.as_ptr(), layout) } };
    let kept = LISTS.try_with(|lists| {
        let list = &lists.0[class];
        let room = list.room.get();
        if room == 0 {
            return false;
        }
        list.room.set(room - 1);
        let block: *mut Free = block.as_ptr().cast();
        // SAFETY: the block is free (this function's contract), and large enough.
        unsafe { block.write(Free(list.first.get())) };
        list.first.set(block);
        true
    });
    if kept != Ok(true) {
        // SAFETY: `free`'s contract: nobody uses it, and `alloc` has asked for the layout of its
        // class.
        unsafe { given_back(block, layout_of(class)) };
    }
}

/// # Safety
/// As for [`free`], with the layout that the allocator was asked for.
#[cold]
#[inline(never)]
unsafe fn given_back(block: NonNull<u8>, layout: Layout) {
    // SAFETY: this function's contract.
    unsafe { dealloc(block.as_ptr(), layout) };
}

impl Drop for Lists {
    fn drop(&mut self) {
        for (class, list) in self.0.iter().enumerate() {
            while let Some(block) = NonNull::new(list.first.get()) {
                // SAFETY: what is in the list is free, is this thread's, begins with the next one,
                // and was made with the layout of its class.
                unsafe {
                    list.first.set(block.as_ref().0);
                    dealloc(block.as_ptr().cast(), layout_of(class));
                }
            }
        }
    }
}

#[cfg(all(test, not(loom), not(myriad_asan)))]
mod test {
    use super::*;

    #[test]
    fn a_size_has_the_smallest_class_with_room_for_it() {
        for size in 1..=size_of_class(CLASSES - 1) {
            let class = class_of(Layout::from_size_align(size, 8).unwrap()).unwrap();
            assert!(size_of_class(class) >= size && (class == 0 || size_of_class(class - 1) < size), "{size}");
        }
        assert_eq!(class_of(Layout::from_size_align(size_of_class(CLASSES - 1) + 1, 8).unwrap()), None);
        assert_eq!(class_of(Layout::from_size_align(64, 2 * UNIT).unwrap()), None);
    }

    #[test]
    fn what_was_freed_last_comes_first_and_a_list_keeps_so_much() {
        let layout = Layout::new::<[u64; 13]>();
        let most = MOST_KEPT / size_of_class(class_of(layout).unwrap());
        let all: Vec<_> = (0..=most).map(|_| alloc(layout)).collect();
        // SAFETY: each is freed once, and was made with this layout.
        all.iter().for_each(|block| unsafe { free(*block, layout) });
        let again: Vec<_> = (0..most).map(|_| alloc(layout)).collect();
        assert!(again.iter().eq(all[..most].iter().rev()));
        // SAFETY: each is freed once, and was made with this layout.
        again.iter().for_each(|block| unsafe { free(*block, layout) });
    }
}
