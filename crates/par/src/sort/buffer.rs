//! Memory for as many elements as are sorted, for the time of one sort.
//!
//! Large buffers are mapped, in huge pages where the system has them: a `Vec` of 160 MB would be
//! 40,000 page faults at its first use, one after the other. Here the workers that write it first
//! share the faults.
//!
//! The memory is reserved in earnest (no `MAP_NORESERVE`): where there is none, we hear it here and
//! sort without a buffer, and not later from the system's killer of processes.

use std::alloc::Layout;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// Room for elements, uninitialised. Dropping it drops no elements.
#[derive(Debug)]
pub(super) struct Buffer<T> {
    start: NonNull<T>,
    len: usize,
    mapped: bool,
}

// SAFETY: it owns its memory, and gives it out only by the usual rules of borrowing.
unsafe impl<T: Send> Send for Buffer<T> {}

impl<T> Buffer<T> {
    /// Room for so many; `None` if there is no memory, or the size is none that memory can have.
    pub(super) fn new(len: usize) -> Option<Self> {
        let layout = Layout::array::<T>(len).ok()?;
        if layout.size() == 0 {
            return Some(Buffer { start: NonNull::dangling(), len, mapped: false });
        }
        let mapped = map::suits(layout);
        let start = if mapped {
            map::new(layout)?
        } else {
            // SAFETY: the size is not 0.
            NonNull::new(unsafe { std::alloc::alloc(layout) })?
        };
        Some(Buffer { start: start.cast(), len, mapped })
    }

    /// The elements' slots.
    pub(super) fn slots(&mut self) -> &mut [MaybeUninit<T>] {
        // SAFETY: allocated for so many (or they have no size), ours, and nothing is said of what
        // stands in it.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.len) }
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        let layout = Layout::array::<T>(self.len).expect("it was allocated");
        if layout.size() == 0 {
            return;
        }
        if self.mapped {
            // SAFETY: mapped by `new` with this layout; nobody borrows from it any more.
            unsafe { map::free(self.start.cast(), layout) };
        } else {
            // SAFETY: allocated by `new` with this layout; nobody borrows from it any more.
            unsafe { std::alloc::dealloc(self.start.as_ptr().cast(), layout) };
        }
    }
}

#[cfg(all(unix, not(miri)))]
mod map {
    use super::*;
    use std::ptr::null_mut;

    /// From so many bytes on it is mapped.
    const MAPPED: usize = 4 << 20;

    /// Is it large enough? (And no more than aligned to a page, as mappings are.)
    pub(super) fn suits(layout: Layout) -> bool {
        layout.size() >= MAPPED && layout.align() <= 4096
    }

    /// `None`: the system refuses.
    pub(super) fn new(layout: Layout) -> Option<NonNull<u8>> {
        // SAFETY: a new private mapping somewhere.
        let start = unsafe {
            libc::mmap(
                null_mut(),
                layout.size(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        #[cfg(any(target_os = "linux", target_os = "android"))]
        // SAFETY: our new mapping. It is advice: if it is refused, the pages are small ones.
        unsafe {
            libc::madvise(start, layout.size(), libc::MADV_HUGEPAGE)
        };
        NonNull::new(start.cast())
    }

    /// # Safety
    /// `start` was mapped by `new` with this layout, and is used no more.
    pub(super) unsafe fn free(start: NonNull<u8>, layout: Layout) {
        // SAFETY: `start` was mapped by `new` with this layout, and is used no more (this
        // function's contract).
        unsafe { libc::munmap(start.as_ptr().cast(), layout.size()) };
    }
}

#[cfg(not(all(unix, not(miri))))]
mod map {
    use super::*;

    pub(super) fn suits(_: Layout) -> bool {
        false
    }

    pub(super) fn new(_: Layout) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    /// Never called: `new` makes none.
    pub(super) unsafe fn free(_: NonNull<u8>, _: Layout) {}
}

#[cfg(test)]
mod test {
    use super::Buffer;

    #[test]
    fn small_and_mapped_ones_can_be_written() {
        for len in [0, 1, 1000, 1 << 20] {
            let mut buffer = Buffer::<u64>::new(len).expect("there is memory");
            for (i, slot) in buffer.slots().iter_mut().enumerate() {
                slot.write(i as u64);
            }
            assert_eq!(buffer.slots().len(), len);
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(Buffer::<u64>::new(usize::MAX).is_none());
        assert!(Buffer::<u64>::new(usize::MAX / 16).is_none());
        // More than any address space has. (Std's allocator would be asked without maps.)
        #[cfg(all(unix, not(miri)))]
        assert!(Buffer::<u8>::new(1 << 60).is_none());
    }

    #[test]
    fn elements_without_a_size_take_no_memory() {
        assert_eq!(Buffer::<()>::new(usize::MAX).expect("nothing is asked for").slots().len(), usize::MAX);
    }

    #[test]
    fn alignments_are_kept() {
        #[repr(align(256))]
        struct Wide(#[allow(dead_code)] u8);
        for len in [1, 1 << 15] {
            let mut buffer = Buffer::<Wide>::new(len).expect("there is memory");
            assert!(buffer.slots().as_ptr().addr().is_multiple_of(256));
        }
    }
}
