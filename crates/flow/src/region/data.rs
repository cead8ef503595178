//! What tasks use: a datum as a whole, or a slice by ranges.

use super::held::{Exclusive, Shared};
use super::{Access, history::Place};
use std::fmt;
use std::ops::{Bound, Range, RangeBounds};

/// A datum of a region, which tasks use as a whole: of [`Region::data`](super::Region::data).
///
/// It can be copied. Used in another region, it is refused with a panic.
pub struct Data<T: ?Sized> {
    pub(super) region: u64,
    pub(super) history: u32,
    pub(super) pointer: *mut T,
}

impl<T: ?Sized> Data<T> {
    fn place(self) -> Place {
        Place { region: self.region, history: self.history, range: 0..1 }
    }

    /// The task reads it: its body gets a `&T`.
    pub fn read(self) -> Access<Shared<T>>
    where
        T: Sync,
    {
        Access::read(self.place(), Shared(self.pointer))
    }

    /// The task writes it, and may read it: its body gets a `&mut T`.
    #[doc(alias = "inout")]
    #[doc(alias = "out")]
    pub fn write(self) -> Access<Exclusive<T>>
    where
        T: Send,
    {
        Access::write(self.place(), Exclusive(self.pointer))
    }
}

impl<T: ?Sized> Clone for Data<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Data<T> {}

impl<T: ?Sized> fmt::Debug for Data<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Data").field(&self.history).finish()
    }
}

/// A slice of a region, which tasks use by ranges: of [`Region::slice`](super::Region::slice).
///
/// Tasks conflict where their ranges overlap and one of them writes. An empty range conflicts with
/// none. Each access costs O(log n) for each *piece* into which earlier accesses have cut its
/// range; a write makes one piece of what it covers.
///
/// It can be copied. Used in another region, it is refused with a panic.
///
/// # Examples
/// ```
/// use myriad::flow;
/// let mut v = [1, 2, 3, 4, 5, 6];
/// flow::region(|r| {
///     let v = r.slice(&mut v);
///     let double = |part: &mut [i32]| part.iter_mut().for_each(|x| *x *= 2);
///     let middle = v.len() / 2;
///     r.task(double, (v.write(..middle),));
///     r.task(double, (v.write(middle..),)); // runs beside the first one
///     let copy = |from: &[i32], to: &mut [i32]| to.copy_from_slice(from);
///     r.task(copy, (v.read(2..4), v.write(4..))); // runs after both
/// })?;
/// assert_eq!(v, [2, 4, 6, 8, 6, 8]);
/// # Ok::<(), flow::graph::RunError>(())
/// ```
pub struct Slice<T> {
    pub(super) region: u64,
    pub(super) history: u32,
    pub(super) pointer: *mut [T],
}

impl<T> Slice<T> {
    /// Its length.
    pub fn len(self) -> usize {
        self.pointer.len()
    }

    /// Is its [length](Self::len) 0?
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The task reads this range: its body gets a `&[T]` of it.
    ///
    /// # Panics
    /// If the range is not within the slice.
    #[track_caller]
    pub fn read(self, range: impl RangeBounds<usize>) -> Access<Shared<[T]>>
    where
        T: Sync,
    {
        let (place, part) = self.part(range);
        Access::read(place, Shared(part))
    }

    /// The task writes this range, and may read it: its body gets a `&mut [T]` of it.
    ///
    /// # Panics
    /// If the range is not within the slice.
    #[doc(alias = "inout")]
    #[doc(alias = "out")]
    #[track_caller]
    pub fn write(self, range: impl RangeBounds<usize>) -> Access<Exclusive<[T]>>
    where
        T: Send,
    {
        let (place, part) = self.part(range);
        Access::write(place, Exclusive(part))
    }

    #[track_caller]
    fn part(self, range: impl RangeBounds<usize>) -> (Place, *mut [T]) {
        let range = within(&range, self.len());
        let begin = self.pointer.cast::<T>().wrapping_add(range.start);
        let part = std::ptr::slice_from_raw_parts_mut(begin, range.len());
        (Place { region: self.region, history: self.history, range }, part)
    }
}

/// The range, as of a slice of this length.
#[track_caller]
fn within(range: &impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    match start.zip(end) {
        Some((start, end)) if start <= end && end <= len => start..end,
        _ => panic!(
            "the range {:?} to {:?} is not within a slice of length {len}",
            range.start_bound(),
            range.end_bound()
        ),
    }
}

impl<T> Clone for Slice<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Slice<T> {}

impl<T> fmt::Debug for Slice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slice").field("number", &self.history).field("len", &self.len()).finish()
    }
}
