//! What is done with a block: reduced, or scanned.
//!
//! **Invariant.** A range of elements is in the hands of one worker at a time: it is reduced and then scanned by whoever has claimed
//! its block. What was scanned is only read from then on.

use crate::raw::Parts;
use std::ops::Range;

/// A scan, over ranges of its elements.
pub(super) trait Kernel: Sync {
    type T: Send + Sync;

    /// The operator.
    fn combine(&self, a: &Self::T, b: &Self::T) -> Self::T;

    /// The combination of a range of at least two elements.
    ///
    /// # Safety
    /// The range is within the slices, has not been scanned, and is the caller's.
    unsafe fn reduce(&self, range: Range<usize>) -> Self::T;

    /// Scans a range that is not empty, where `before` is the combination of all before it. Returns that of all up to its end.
    /// Fetches what lies from element `ahead` on into the cache meanwhile.
    ///
    /// # Safety
    /// As for `reduce`.
    unsafe fn scan<'a>(&'a self, range: Range<usize>, before: Option<&Self::T>, ahead: usize) -> Prefix<'a, Self::T>;
}

/// The combination of all up to some place.
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

/// Where elements come from, and where results go.
pub(super) trait Place: Sync {
    type T: Send + Sync;
    /// # Safety
    /// `i` is within the slices; the caller has the element.
    unsafe fn read(&self, i: usize) -> &Self::T;
    /// Drops what was there.
    ///
    /// # Safety
    /// `i` is within the slices; the caller has the element, and no reference to it.
    unsafe fn write(&self, i: usize, value: Self::T);
    /// The result that was written.
    ///
    /// # Safety
    /// `i` is within the slices, and was written for the last time.
    unsafe fn written(&self, i: usize) -> &Self::T;
    /// The first result: the element itself.
    ///
    /// # Safety
    /// As for `write`.
    unsafe fn keep(&self, i: usize);
    /// Where element `i` is read from; for fetching.
    fn address(&self, i: usize) -> *const u8;
}

/// Results replace the elements.
pub(super) struct InPlace<'a, T>(pub(super) Parts<'a, T>);

impl<T: Send + Sync> Place for InPlace<'_, T> {
    type T = T;
    #[inline(always)]
    unsafe fn read(&self, i: usize) -> &T {
        // SAFETY: the caller.
        unsafe { &*self.0.at(i) }
    }
    #[inline(always)]
    unsafe fn write(&self, i: usize, value: T) {
        // SAFETY: the caller.
        unsafe { *self.0.at(i) = value };
    }
    #[inline(always)]
    unsafe fn written(&self, i: usize) -> &T {
        // SAFETY: the caller.
        unsafe { &*self.0.at(i) }
    }
    #[inline(always)]
    unsafe fn keep(&self, _: usize) {}
    #[inline(always)]
    fn address(&self, i: usize) -> *const u8 {
        self.0.at(i).cast_const().cast()
    }
}

/// Results go elsewhere.
pub(super) struct To<'a, T> {
    pub(super) from: &'a [T],
    pub(super) to: Parts<'a, T>,
}

impl<T: Clone + Send + Sync> Place for To<'_, T> {
    type T = T;
    #[inline(always)]
    unsafe fn read(&self, i: usize) -> &T {
        // SAFETY: the caller; both have the same length.
        unsafe { self.from.get_unchecked(i) }
    }
    #[inline(always)]
    unsafe fn write(&self, i: usize, value: T) {
        // SAFETY: the caller.
        unsafe { *self.to.at(i) = value };
    }
    #[inline(always)]
    unsafe fn written(&self, i: usize) -> &T {
        // SAFETY: the caller.
        unsafe { &*self.to.at(i) }
    }
    #[inline(always)]
    unsafe fn keep(&self, i: usize) {
        // SAFETY: the caller.
        unsafe { self.write(i, self.read(i).clone()) };
    }
    #[inline(always)]
    fn address(&self, i: usize) -> *const u8 {
        self.from.as_ptr().wrapping_add(i).cast()
    }
}

/// Each result has its own element in it.
pub(super) struct Inclusive<P, O> {
    pub(super) place: P,
    pub(super) op: O,
}

/// It has not, but begins with what is before.
pub(super) struct Exclusive<P, O> {
    pub(super) place: P,
    pub(super) op: O,
}

/// # Safety
/// As for [`Kernel::reduce`].
#[inline(always)]
unsafe fn reduce<P: Place>(place: &P, op: &impl Fn(&P::T, &P::T) -> P::T, range: Range<usize>) -> P::T {
    // SAFETY: the caller; there are at least two.
    let first = unsafe { op(place.read(range.start), place.read(range.start + 1)) };
    // SAFETY: as above.
    (range.start + 2..range.end).fold(first, |sum, i| op(&sum, unsafe { place.read(i) }))
}

impl<P, O> Kernel for Inclusive<P, O>
where
    P: Place,
    O: Fn(&P::T, &P::T) -> P::T + Sync,
{
    type T = P::T;

    #[inline(always)]
    fn combine(&self, a: &P::T, b: &P::T) -> P::T {
        (self.op)(a, b)
    }

    unsafe fn reduce(&self, range: Range<usize>) -> P::T {
        // SAFETY: the caller.
        unsafe { reduce(&self.place, &self.op, range) }
    }

    unsafe fn scan<'a>(&'a self, range: Range<usize>, before: Option<&P::T>, ahead: usize) -> Prefix<'a, P::T> {
        let Range { start, end } = range;
        let place = &self.place;
        let mut from = start + 1;
        // The result for the element before the next one. It is written when the next one is known, so that the operator need not read
        // it back from memory, a third of the time in cache; and it is moved, not copied, so any `T` may have this. If the operator
        // panics it is dropped, and its element is as it was.
        // SAFETY: the caller has the range, which is not empty, and of two elements or more where two are read.
        let mut last = unsafe {
            match before {
                Some(before) => (self.op)(before, place.read(start)),
                None if from == end => {
                    place.keep(start);
                    return Prefix::There(place.written(start));
                }
                None => {
                    place.keep(start);
                    from += 1;
                    (self.op)(place.written(start), place.read(start + 1))
                }
            }
        };
        in_lines::<P::T>(from..end, |line| {
            fetch(place, ahead + (line.start - start), line.len());
            for i in line {
                // SAFETY: the caller has the range; each element is read, then written once.
                unsafe {
                    let next = (self.op)(&last, place.read(i));
                    place.write(i - 1, std::mem::replace(&mut last, next));
                }
            }
        });
        // SAFETY: as above; it is written for the last time.
        unsafe {
            place.write(end - 1, last);
            Prefix::There(place.written(end - 1))
        }
    }
}

impl<P, O> Kernel for Exclusive<P, O>
where
    P: Place<T: Clone>,
    O: Fn(&P::T, &P::T) -> P::T + Sync,
{
    type T = P::T;

    #[inline(always)]
    fn combine(&self, a: &P::T, b: &P::T) -> P::T {
        (self.op)(a, b)
    }

    unsafe fn reduce(&self, range: Range<usize>) -> P::T {
        // SAFETY: the caller.
        unsafe { reduce(&self.place, &self.op, range) }
    }

    unsafe fn scan<'a>(&'a self, range: Range<usize>, before: Option<&P::T>, ahead: usize) -> Prefix<'a, P::T> {
        let start = range.start;
        let place = &self.place;
        let mut sum = before.expect("an exclusive scan has something before its first element").clone();
        in_lines::<P::T>(range, |line| {
            fetch(place, ahead + (line.start - start), line.len());
            for i in line {
                // SAFETY: the caller has the range; each element is read, then written once.
                unsafe {
                    let next = (self.op)(&sum, place.read(i));
                    place.write(i, std::mem::replace(&mut sum, next));
                }
            }
        });
        Prefix::Own(sum)
    }
}

/// Bytes of a cache line.
const LINE: usize = 64;

/// Calls `f` for one piece of about a cache line after the other.
#[inline(always)]
fn in_lines<T>(range: Range<usize>, mut f: impl FnMut(Range<usize>)) {
    let step = const { if size_of::<T>() == 0 { LINE } else { LINE.div_ceil(size_of::<T>()) } };
    let mut at = range.start;
    while range.end - at >= step {
        f(at..at + step);
        at += step;
    }
    if at < range.end {
        f(at..range.end);
    }
}

/// Asks for so many elements from `i` on to be brought into the second-level cache. Beyond the end it asks for nothing useful.
#[inline(always)]
fn fetch<P: Place>(place: &P, i: usize, len: usize) {
    let mut offset = 0;
    while offset < size_of::<P::T>() * len {
        prefetch(place.address(i).wrapping_add(offset));
        offset += LINE;
    }
}

#[inline(always)]
fn prefetch(_address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint, for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T1>(_address.cast()) };
    }
}
