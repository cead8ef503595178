//! The combination of a range, at once or by and by.

use super::kernel::NextBlock;
use super::lines::{elements_in, fetch, line};
use super::source::Source;
use crate::unwind::after;
use std::ops::Range;

/// A reduction that comes from memory fetches so far ahead. The processor's own prefetching goes
/// astray where a block ends, and takes its time where the next one begins: this has that beginning
/// in the cache by then. (16 KiB: a tenth slower.)
const REDUCED_AHEAD_BYTES: usize = 40 * 1024;

/// # Safety
/// The range is within the slices, has two elements or more, has not been scanned, and is the
/// caller's.
#[inline(always)]
pub(super) unsafe fn reduce<S: Source>(source: &S, op: &impl Fn(&S::T, &S::T) -> S::T, range: Range<usize>) -> S::T {
    // SAFETY: the range is the caller's, has not been scanned, and has at least two elements.
    let first = unsafe { op(source.read(range.start), source.read(range.start + 1)) };
    (range.start + 2..range.end).fold(first, |sum, i| {
        // SAFETY: within the range, which is the caller's and has not been scanned.
        let next = op(&sum, unsafe { source.read(i) });
        after(sum, next)
    })
}

/// A reduction that goes on by and by.
pub(super) struct Reduction<'a, S: Source, O> {
    source: &'a S,
    op: &'a O,
    next: NextBlock,
    sum: S::T,
}

impl<'a, S: Source, O: Fn(&S::T, &S::T) -> S::T> Reduction<'a, S, O> {
    /// # Safety
    /// `next.range` is within the slices, has two elements or more, has not been scanned, and is
    /// the caller's until the end of the reduction.
    #[inline(always)]
    pub(super) unsafe fn new(source: &'a S, op: &'a O, mut next: NextBlock) -> Self {
        let Range { start, end } = next.range;
        // A line, so that the others begin with one if this does; but two elements at least.
        next.range.start = end.min(start + const { line::<S::T>() }.max(2));
        // SAFETY: the beginning of a range that is the caller's, has not been scanned, and has at
        // least two elements.
        let sum = unsafe { reduce(source, op, start..next.range.start) };
        Reduction { source, op, next, sum }
    }

    /// A line of elements more, if there are so many.
    #[inline(always)]
    pub(super) fn go_on(&mut self) {
        let Range { start, end } = self.next.range;
        if end - start < const { line::<S::T>() } {
            return;
        }
        let ahead = start + const { elements_in::<S::T>(REDUCED_AHEAD_BYTES) };
        fetch(self.source, if ahead < end { ahead } else { self.next.then + (ahead - end) });
        for i in 0..const { line::<S::T>() } {
            // SAFETY: within what is left of the range, which whoever made this keeps until its end
            // (the contract of `new`).
            self.sum = (self.op)(&self.sum, unsafe { self.source.read(start + i) });
        }
        self.next.range.start += const { line::<S::T>() };
    }

    #[inline(always)]
    pub(super) fn end(self) -> S::T {
        self.next.range.fold(self.sum, |sum, i| {
            // SAFETY: the rest of the range, which whoever made this keeps until its end (the
            // contract of `new`).
            let next = (self.op)(&sum, unsafe { self.source.read(i) });
            after(sum, next)
        })
    }
}
