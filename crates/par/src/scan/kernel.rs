//! What is done with a block: reduced, or scanned.
//!
//! **Invariant.** A range of elements is in the hands of one worker at a time: it is reduced and
//! then scanned by whoever has claimed its block. What was scanned is only read from then on.

use super::lines::{fetch, in_lines, line};
use super::reduction::{Reduction, reduce};
use super::source::Source;
use std::ops::Range;

/// A scan, over ranges of its elements.
pub(super) trait Kernel: Sync {
    type T: Send + Sync;
    type Source: Source<T = Self::T>;

    /// Where the elements are.
    fn source(&self) -> &Self::Source;

    /// The operator.
    fn combine(&self, a: &Self::T, b: &Self::T) -> Self::T;

    /// Scans a range that is not empty, where `before` is the combination of all before it, and
    /// calls `beside` for each line of elements. Returns the combination of all up to the range's
    /// end.
    ///
    /// # Safety
    /// The range is within the slices and not empty, has not been scanned, and is the caller's.
    unsafe fn scan_beside<'a>(
        &'a self,
        range: Range<usize>,
        before: Option<&Self::T>,
        beside: impl FnMut(),
    ) -> Prefix<'a, Self::T>;

    /// Where an element is read from.
    fn address(&self, i: usize) -> usize {
        self.source().address(i).addr()
    }

    /// The combination of a range of at least two elements.
    ///
    /// # Safety
    /// The range is within the slices, has two elements or more, has not been scanned, and is the
    /// caller's.
    unsafe fn reduce(&self, range: Range<usize>) -> Self::T {
        // SAFETY: the range is within the slices, has two elements or more, has not been scanned,
        // and is the caller's (this method's contract).
        unsafe { reduce(self.source(), &|a: &Self::T, b: &Self::T| self.combine(a, b), range) }
    }

    /// Scans as [`scan_beside`](Self::scan_beside), and fetches what lies from element `ahead` on
    /// into the cache meanwhile.
    ///
    /// # Safety
    /// The range is within the slices and not empty, has not been scanned, and is the caller's.
    unsafe fn scan<'a>(&'a self, range: Range<usize>, before: Option<&Self::T>, ahead: usize) -> Prefix<'a, Self::T> {
        let mut ahead = ahead;
        let beside = || {
            fetch(self.source(), ahead);
            ahead += const { line::<Self::T>() };
        };
        // SAFETY: the range is within the slices and not empty, has not been scanned, and is the
        // caller's (this method's contract).
        unsafe { self.scan_beside(range, before, beside) }
    }

    /// Scans a range as `scan`, and reduces another meanwhile, line by line: the first one comes
    /// from the cache and the second from memory, so the processor has something to do while it
    /// waits.
    ///
    /// # Safety
    /// `range` is not empty, and `next.range` has two elements or more. Both are within the slices,
    /// have not been scanned, do not overlap, and are the caller's.
    unsafe fn scan_and_reduce<'a>(
        &'a self,
        range: Range<usize>,
        before: Option<&Self::T>,
        next: NextBlock,
    ) -> (Prefix<'a, Self::T>, Self::T) {
        let op = |a: &Self::T, b: &Self::T| self.combine(a, b);
        // SAFETY: `next.range` is within the slices, has two elements or more, has not been
        // scanned, and is the caller's until the reduction ends, below (this method's contract).
        let mut reduction = unsafe { Reduction::new(self.source(), &op, next) };
        // SAFETY: `range` is within the slices and not empty, has not been scanned, and is the
        // caller's (this method's contract); nothing of `next.range` is written.
        let end = unsafe { self.scan_beside(range, before, || reduction.go_on()) };
        (end, reduction.end())
    }
}

/// A range of at least two elements to be reduced, and where the one begins that is likely to
/// follow.
pub(super) struct NextBlock {
    pub(super) range: Range<usize>,
    pub(super) then: usize,
}

/// The combination of all up to some element.
pub(super) enum Prefix<'a, T> {
    /// It stands in a slice, or with another block.
    There(&'a T),
    Own(T),
}

impl<T> Prefix<'_, T> {
    pub(super) fn into_own(self) -> Option<T> {
        match self {
            Prefix::There(_) => None,
            Prefix::Own(value) => Some(value),
        }
    }

    pub(super) fn get(&self) -> &T {
        match self {
            Prefix::There(value) => value,
            Prefix::Own(value) => value,
        }
    }
}

/// Each result has its own element in it.
pub(super) struct Inclusive<S, O> {
    pub(super) source: S,
    pub(super) op: O,
}

/// It has not, but begins with what is before.
pub(super) struct Exclusive<S, O> {
    pub(super) source: S,
    pub(super) op: O,
}

impl<S, O> Kernel for Inclusive<S, O>
where
    S: Source,
    O: Fn(&S::T, &S::T) -> S::T + Sync,
{
    type T = S::T;
    type Source = S;

    fn source(&self) -> &S {
        &self.source
    }

    #[inline(always)]
    fn combine(&self, a: &S::T, b: &S::T) -> S::T {
        (self.op)(a, b)
    }

    #[inline(always)]
    unsafe fn scan_beside<'a>(
        &'a self,
        range: Range<usize>,
        before: Option<&S::T>,
        beside: impl FnMut(),
    ) -> Prefix<'a, S::T> {
        let Range { start, end } = range;
        let source = &self.source;
        let mut done = 1;
        // The result for the element before the next one. It is written when the next one is known,
        // so that the operator need not read it back from memory, a third of the time in cache; and
        // it is moved, not copied, so any `T` may have this. If the operator panics it is dropped,
        // and its element is as it was.
        // SAFETY: the range is within the slices, not empty, and the caller's (this method's
        // contract); two elements are read only where it has more than one.
        let mut last = unsafe {
            match before {
                Some(before) => (self.op)(before, source.read(start)),
                None if start + 1 == end => {
                    source.keep(start);
                    return Prefix::There(source.written(start));
                }
                None => {
                    source.keep(start);
                    done = 2;
                    (self.op)(source.written(start), source.read(start + 1))
                }
            }
        };
        // SAFETY: the range is within the slices and the caller's (this method's contract); each
        // element is read, then written once.
        in_lines::<S::T>(start..end, done, beside, |i| unsafe {
            let next = (self.op)(&last, source.read(i));
            source.write(i - 1, std::mem::replace(&mut last, next));
        });
        // SAFETY: the range is the caller's by the contract of this function; its last element is
        // written for the last time.
        unsafe {
            source.write(end - 1, last);
            Prefix::There(source.written(end - 1))
        }
    }
}

impl<S, O> Kernel for Exclusive<S, O>
where
    S: Source<T: Clone>,
    O: Fn(&S::T, &S::T) -> S::T + Sync,
{
    type T = S::T;
    type Source = S;

    fn source(&self) -> &S {
        &self.source
    }

    #[inline(always)]
    fn combine(&self, a: &S::T, b: &S::T) -> S::T {
        (self.op)(a, b)
    }

    #[inline(always)]
    unsafe fn scan_beside<'a>(
        &'a self,
        range: Range<usize>,
        before: Option<&S::T>,
        beside: impl FnMut(),
    ) -> Prefix<'a, S::T> {
        let source = &self.source;
        let mut sum = before.expect("an exclusive scan has something before its first element").clone();
        // SAFETY: the range is within the slices and the caller's (this method's contract); each
        // element is read, then written once.
        in_lines::<S::T>(range, 0, beside, |i| unsafe {
            let next = (self.op)(&sum, source.read(i));
            source.write(i, std::mem::replace(&mut sum, next));
        });
        Prefix::Own(sum)
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::raw::Parts;
    use crate::scan::source::InPlace;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    /// It does not commute: from one number up to another.
    #[derive(Debug, PartialEq)]
    struct Span(usize, usize);

    fn join(a: &Span, b: &Span) -> Span {
        assert_eq!(a.1, b.0, "neighbours, in order");
        Span(a.0, b.1)
    }

    fn spans(n: usize) -> Vec<Span> {
        (0..n).map(|i| Span(i, i + 1)).collect()
    }

    /// Ranges of each length about some lines, the second one as long, shorter or longer; with
    /// something before and without.
    #[test]
    fn both_are_done_whatever_their_lengths() {
        for first in 1..40 {
            for second in 2..40 {
                let mut xs = spans(first + second);
                let kernel = Inclusive { source: InPlace(Parts::new(&mut xs)), op: join };
                let begin = first.min(1);
                let next = NextBlock { range: first..first + second, then: first };
                let whole = Span(0, begin);
                let (before, begin) = if first % 2 == 0 { (Some(&whole), begin) } else { (None, 0) };
                // SAFETY: both ranges are ours and not empty, and the second has two elements.
                let (_, sum) = unsafe { kernel.scan_and_reduce(begin..first, before, next) };
                assert_eq!(sum, Span(first, first + second));
                assert!((0..first).all(|i| xs[i] == Span(0, i + 1)), "{first}, {second}");
                assert!((first..first + second).all(|i| xs[i] == Span(i, i + 1)), "{first}, {second}");
            }
        }
    }

    /// Alive ones are counted.
    struct Own<'a>(usize, &'a AtomicUsize);

    impl<'a> Own<'a> {
        fn new(value: usize, alive: &'a AtomicUsize) -> Self {
            alive.fetch_add(1, Relaxed);
            Own(value, alive)
        }
    }

    impl Drop for Own<'_> {
        fn drop(&mut self) {
            self.1.fetch_sub(1, Relaxed);
        }
    }

    /// Whichever call of the operator panics: what is to be scanned is as it was or combined, what
    /// is reduced is as it was, and nothing is dropped twice or lost.
    #[test]
    fn a_panic_at_each_call() {
        const HALF: usize = 20;
        for bad in 0..2 * HALF - 2 {
            let alive = AtomicUsize::new(0);
            let mut xs: Vec<Own<'_>> = (0..2 * HALF).map(|_| Own::new(1, &alive)).collect();
            let calls = AtomicUsize::new(0);
            let op = |a: &Own<'_>, b: &Own<'_>| {
                assert!(calls.fetch_add(1, Relaxed) != bad, "planned");
                Own::new(a.0 + b.0, &alive)
            };
            let kernel = Inclusive { source: InPlace(Parts::new(&mut xs)), op };
            let next = NextBlock { range: HALF..2 * HALF, then: 0 };
            // SAFETY: both ranges are ours, and the second has two elements.
            let both = || unsafe { kernel.scan_and_reduce(0..HALF, None, next) };
            assert!(catch_unwind(AssertUnwindSafe(|| drop(both()))).is_err(), "{bad}");
            assert!((0..HALF).all(|i| xs[i].0 == 1 || xs[i].0 == i + 1), "{bad}");
            assert!((HALF..2 * HALF).all(|i| xs[i].0 == 1), "{bad}");
            assert_eq!(alive.load(Relaxed), 2 * HALF);
        }
    }
}
