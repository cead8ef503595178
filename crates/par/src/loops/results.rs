//! Results of a loop whose grain is given.

use super::{Index, Loop, len};
use crate::{filter, map, reduce};
use std::ops::Range;

impl<I: Index> Loop<I> {
    /// Calls `f` for each number, and returns the results in their order:
    /// [`map_index`](crate::map_index) with a [grain](Self::grain).
    ///
    /// A leaf of the tree has as many numbers as the grain says, and is not cut. The default is by
    /// the range's length alone, a 512th of it, and 4096 at most. Schedule and tasks mean nothing
    /// here.
    ///
    /// # Blocking
    /// As [`map_index`](crate::map_index).
    ///
    /// # Panics
    /// As [`map_index`](crate::map_index).
    ///
    /// # Cancellation
    /// As [`map_index`](crate::map_index).
    ///
    /// # Examples
    /// ```
    /// let squares = myriad::par::Loop::new(0..100_u64).grain(25).map(|i| i * i);
    /// assert_eq!(squares[99], 9801);
    /// ```
    #[track_caller]
    pub fn map<R: Send>(self, f: impl Fn(I) -> R + Sync) -> Vec<R> {
        let (range, size) = self.leaves();
        map::by_leaves(range, size, f)
    }

    /// Calls `f` for each number, and returns the results that are not `None`, in their order:
    /// [`filter_map_index`](crate::filter_map_index) with a [grain](Self::grain), as
    /// [`map`](Self::map) has it.
    ///
    /// # Blocking
    /// As [`filter_map_index`](crate::filter_map_index).
    ///
    /// # Panics
    /// As [`filter_map_index`](crate::filter_map_index).
    ///
    /// # Cancellation
    /// As [`filter_map_index`](crate::filter_map_index).
    ///
    /// # Examples
    /// ```
    /// let even = myriad::par::Loop::new(0..10).grain(4).filter_map(|i| (i % 2 == 0).then_some(i));
    /// assert_eq!(even, [0, 2, 4, 6, 8]);
    /// ```
    #[track_caller]
    pub fn filter_map<R: Send>(self, f: impl Fn(I) -> Option<R> + Sync) -> Vec<R> {
        let (range, size) = self.leaves();
        filter::by_leaves(range, size, f)
    }

    /// Combines `f` of each number, in their order; `id` for an empty range:
    /// [`map_reduce_index`](crate::map_reduce_index) with a [grain](Self::grain), as
    /// [`map`](Self::map) has it.
    ///
    /// The grain is part of the tree's shape: with floats another grain may give other last bits,
    /// the same grain gives the same.
    ///
    /// # Blocking
    /// As [`map_reduce_index`](crate::map_reduce_index).
    ///
    /// # Panics
    /// As [`map_reduce_index`](crate::map_reduce_index).
    ///
    /// # Cancellation
    /// As [`map_reduce_index`](crate::map_reduce_index).
    ///
    /// # Examples
    /// ```
    /// let sum = myriad::par::Loop::new(1..100_u64).grain(10).map_reduce(|i| i, 0, |a, b| a + b);
    /// assert_eq!(sum, 4950);
    /// ```
    #[track_caller]
    pub fn map_reduce<T: Send>(self, f: impl Fn(I) -> T + Sync, id: T, op: impl Fn(T, T) -> T + Sync) -> T {
        let (range, size) = self.leaves();
        reduce::by_leaves(range, size, f, id, op)
    }

    /// The range, and how many of its numbers make a leaf.
    fn leaves(self) -> (Range<I>, usize) {
        let size = self.grain.unwrap_or_else(|| reduce::leaf_size(len(&self.range)));
        (self.range, size)
    }
}
