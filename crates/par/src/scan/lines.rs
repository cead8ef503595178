//! Elements by cache lines, and how these come into the cache.

use super::source::Source;
use std::ops::Range;

/// Bytes of a cache line.
const LINE: usize = 64;

/// How many elements have so many bytes.
pub(super) const fn elements_in<T>(bytes: usize) -> usize {
    match bytes.checked_div(size_of::<T>()) {
        Some(elements) => elements,
        None => 0,
    }
}

/// Elements of a cache line, about.
pub(super) const fn line<T>() -> usize {
    if size_of::<T>() == 0 { LINE } else { LINE.div_ceil(size_of::<T>()) }
}

/// Calls `f` for each index from `range.start + done` on, and `beside` for each [`line`] of the
/// range but the first. (A number of steps that is known when this is compiled: a loop with any
/// other number of them is half as fast.)
#[inline(always)]
pub(super) fn in_lines<T>(range: Range<usize>, done: usize, mut beside: impl FnMut(), mut f: impl FnMut(usize)) {
    // Where the range begins with a line, so do all the others.
    let mut at = range.end.min(range.start + const { line::<T>() }.max(done));
    (range.start + done..at).for_each(&mut f);
    while range.end - at >= const { line::<T>() } {
        beside();
        for i in 0..const { line::<T>() } {
            f(at + i);
        }
        at += const { line::<T>() };
    }
    (at..range.end).for_each(f);
}

/// Asks for a [`line`] of elements from `i` on to be brought into the first-level cache. Beyond the
/// end it asks for nothing useful.
#[inline(always)]
pub(super) fn fetch<S: Source>(source: &S, i: usize) {
    let mut offset = 0;
    while offset < const { size_of::<S::T>() * line::<S::T>() } {
        prefetch(source.address(i).wrapping_add(offset));
        offset += LINE;
    }
}

#[inline(always)]
fn prefetch(_address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(_address.cast()) };
    }
}
