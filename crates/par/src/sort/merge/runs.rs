//! Merges sorted runs that lie side by side, two by two, to and fro between the slice and a buffer.
//!
//! # Invariants
//! - While no merge is under way, all elements are in the slice, or all in the buffer: [`Home`]
//!   knows where.
//! - While one is, each element is there, or what its segment still has to do; a finished segment
//!   has moved its elements to the other side. So whenever this frame ends, by a panic or a
//!   cancellation, finishing all segments and moving everything to the slice leaves each element in
//!   it exactly once. (`join` has seen to the end of all others by then.)

use super::cut::cut;
use super::segment::Segment;
use crate::sort::buffer::Buffer;
use crate::sort::fork::{self, Shared};
use std::cmp::Ordering;

/// Elements that are worth a segment of their own.
const SEGMENT: usize = 1 << 13;

/// Where the elements are.
struct Home<T> {
    slice: *mut T,
    buffer: *mut T,
    len: usize,
    in_buffer: bool,
    /// Of the merge that is under way.
    segments: Vec<Segment<T>>,
}

impl<T> Home<T> {
    /// The merges under way are done.
    fn finish(&mut self) {
        if !self.segments.is_empty() {
            self.segments.iter_mut().for_each(Segment::finish);
            self.segments.clear();
            self.in_buffer = !self.in_buffer;
        }
    }
}

impl<T> Drop for Home<T> {
    fn drop(&mut self) {
        self.finish();
        if self.in_buffer {
            // SAFETY: all elements are in the buffer; both have room for so many, and nobody
            // borrows from either any more.
            unsafe { self.buffer.copy_to_nonoverlapping(self.slice, self.len) };
        }
    }
}

/// Merges the runs that begin at these places, the first of which is 0. False: there is no memory
/// for it, and nothing has happened.
pub(in crate::sort) fn merge_runs<T, F>(v: &mut [T], mut starts: Vec<usize>, cmp: &F, workers: usize) -> bool
where
    T: Send,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    if starts.len() == 1 {
        return true;
    }
    let len = v.len();
    let Some(mut buffer) = Buffer::<T>::new(len) else { return false };
    let mut home = Home {
        slice: v.as_mut_ptr(),
        buffer: buffer.slots().as_mut_ptr().cast(),
        len,
        in_buffer: false,
        segments: Vec::new(),
    };
    let grain = fork::grain(len, workers, SEGMENT);
    while starts.len() > 1 {
        let (from, to) = if home.in_buffer { (home.buffer, home.slice) } else { (home.slice, home.buffer) };
        // SAFETY: all elements are there, and `segments` are theirs alone until they are finished.
        let from: &[T] = unsafe { std::slice::from_raw_parts(from, len) };
        let mut segments = Vec::new();
        for (i, pair) in starts.chunks(2).enumerate() {
            let end = starts.get(2 * i + 2).copied().unwrap_or(len);
            let mid = pair.get(1).copied().unwrap_or(end);
            // SAFETY: the runs are parts of `from`, whose elements are all there; the other side
            // has room, at the same place.
            unsafe { cut(&from[pair[0]..mid], &from[mid..end], to.add(pair[0]), grain, cmp, &mut segments) };
        }
        // From here on elements move. (The cuts have compared: they might have panicked.)
        home.segments = segments;
        fork::each(&mut home.segments, &|segment| segment.merge(cmp));
        home.finish();
        starts = starts.into_iter().step_by(2).collect();
    }
    if home.in_buffer {
        let (from, to) = (Shared::new(home.buffer), Shared::new(home.slice));
        fork::ranges(0..len, grain, &|part| {
            // SAFETY: as at the end of `Home`, part by part.
            unsafe { from.get().add(part.start).copy_to_nonoverlapping(to.get().add(part.start), part.len()) };
        });
        home.in_buffer = false;
    }
    drop(home);
    true
}
