//! Stable sample sort, with std's stable sort for the buckets.
//!
//! ```text
//!  slice    | chunk 0 | chunk 1 | chunk 2 |       1. splitters from a sample; they stay where they are
//!  ids      | 2 0 1 0 | 1 1 0 2 | 0 2 1 0 |       2. each chunk: the bucket of each element, and how many of each
//!  buffer   | 0 0|0|0 0 | 1|1 1|1 | 2|2|2 |       3. by (bucket, chunk): each chunk's elements to their places
//!  slice    |  sorted   | sorted | sorted |       4. each bucket: sorted in the buffer, in cache, and moved back
//! ```
//! An element is moved twice beside std's own moves, and compared as often as in a serial sort; the
//! memory's bandwidth is no limit.
//!
//! # Invariants
//! - Until the end of 3 the slice has all elements, and the caller's comparator sees them there.
//! - In 4 the *buffer* has them, and the comparator sees them there; what a bucket moves back is
//!   never looked at again. So whenever this frame ends, moving the whole buffer to the slice
//!   leaves each element in it exactly once: [`Moved`] does that when a panic or a cancellation
//!   ends it. (`join` has seen to the end of all others by then.)
//! - No answer of the comparator is used as an index but through the tree, which is complete.
//!
//! **Rejected.** *Copies of splitters* side by side: what a comparator changes in a copy (through a
//! `Cell`) would be lost, and freed twice if it owns memory. The tree has pointers: see
//! docs/dev/DECISIONS.md, "How do the sorts work, and why these?". *Sorting buckets after they are
//! back in the slice*: then a panic leaves some elements here and some there, and each bucket needs
//! a guard.
//!
//! Source: super scalar sample sort (Sanders, Winkel 2004), with the buckets for equal elements of
//! IPS4o (Axtmann et al. 2017).

mod classify;
mod scatter;
mod splitters;

use super::buffer::Buffer;
use super::fork;
use classify::Chunk;
use myriad_core::join;
use scatter::Scatter;
use splitters::Splitters;
use std::cmp::Ordering;
use std::mem::MaybeUninit;

pub(super) use splitters::Id;

/// How the buckets are found.
pub(super) trait Classify<T>: Sync {
    /// How many there are.
    fn buckets(&self) -> usize;
    /// Are the elements of this bucket in order whatever their order is?
    fn is_sorted(&self, bucket: usize) -> bool;
    /// Writes each element's bucket, and adds to the buckets' counts.
    fn classify(&self, v: &[T], ids: &mut [MaybeUninit<Id>], counts: &mut [usize]);
}

/// Sorts by a comparator. False: there is no memory for it, and the slice is as it was.
pub(super) fn sort<T, F>(v: &mut [T], cmp: &F, workers: usize) -> bool
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let Some(room) = Room::new(v.len()) else { return false };
    let slice = v.as_mut_ptr();
    // SAFETY: the same elements again; `v` is not used while `splitters` and `elements` are.
    let elements: &[T] = unsafe { std::slice::from_raw_parts(slice, v.len()) };
    let splitters = Splitters::choose(elements, cmp);
    // SAFETY: the elements of the slice, which nobody else uses.
    unsafe { by_buckets(slice, elements.len(), room, &splitters, &|bucket: &mut [T]| bucket.sort_by(cmp), workers) };
    true
}

/// The memory that is needed.
pub(super) struct Room<T> {
    buffer: Buffer<T>,
    ids: Buffer<Id>,
}

impl<T> Room<T> {
    pub(super) fn new(len: usize) -> Option<Self> {
        Some(Room { buffer: Buffer::new(len)?, ids: Buffer::new(len)? })
    }
}

/// Steps 2 to 4.
///
/// # Safety
/// `slice` has so many elements, of which the caller has the only unique reference; `classes` may
/// read them until all are classified.
pub(super) unsafe fn by_buckets<T, C, L>(
    slice: *mut T,
    len: usize,
    mut room: Room<T>,
    classes: &C,
    leaf: &L,
    workers: usize,
) where
    T: Send + Sync,
    C: Classify<T>,
    L: Fn(&mut [T]) + Sync,
{
    // SAFETY: `slice` has `len` elements, of which nobody else has a unique reference (this
    // function's contract); they are only read until the buffer has them.
    let elements: &[T] = unsafe { std::slice::from_raw_parts(slice, len) };
    let grain = fork::grain(len, workers, 1 << 14);
    let buckets = classes.buckets();

    // 2. The caller's code runs, the slice is untouched.
    let mut counts = vec![0; buckets * len.div_ceil(grain)];
    let mut chunks: Vec<Chunk<'_, T>> = elements
        .chunks(grain)
        .zip(room.ids.slots().chunks_mut(grain))
        .zip(counts.chunks_mut(buckets))
        .map(|((elements, ids), counts)| Chunk { elements, ids, counts })
        .collect();
    fork::each(&mut chunks, &|chunk| classes.classify(chunk.elements, chunk.ids, chunk.counts));

    // 3. None of the caller's code runs.
    let buffer = room.buffer.slots().as_mut_ptr().cast::<T>();
    let scatter = Scatter::new(chunks, buckets, buffer);
    let bounds = scatter.bounds();
    scatter.run();

    // 4. The elements are in the buffer.
    let moved = Moved { from: buffer, to: slice, len };
    let in_order: Vec<bool> = (0..buckets).map(|bucket| classes.is_sorted(bucket)).collect();
    // SAFETY: `scatter` has written each slot of the buffer.
    let sorted: &mut [T] = unsafe { std::slice::from_raw_parts_mut(buffer, len) };
    // SAFETY: `slice` has `len` slots, to which nobody else has a reference any more, now that all
    // are classified (this function's contract); its elements have moved.
    let back: &mut [MaybeUninit<T>] = unsafe { std::slice::from_raw_parts_mut(slice.cast(), len) };
    leaves(SamplePart { bounds: &bounds, in_order: &in_order, sorted, back, leaf });
    std::mem::forget(moved);
}

/// The elements have moved from the slice to the buffer. Moves them back, in whatever order they
/// are.
pub(super) struct Moved<T> {
    pub(super) from: *const T,
    pub(super) to: *mut T,
    pub(super) len: usize,
}

impl<T> Drop for Moved<T> {
    fn drop(&mut self) {
        // SAFETY: both have room for so many and do not overlap. All elements are in `from`, and
        // nobody borrows from either any more: the frame that owns this ends.
        unsafe { self.from.copy_to_nonoverlapping(self.to, self.len) };
    }
}

/// Buckets that are neighbours.
struct SamplePart<'a, T, L> {
    /// Where each begins, and the end of the last.
    bounds: &'a [usize],
    /// Of each: must it not be sorted?
    in_order: &'a [bool],
    sorted: &'a mut [T],
    back: &'a mut [MaybeUninit<T>],
    leaf: &'a L,
}

/// Fewer elements than this are not worth a fork.
const ALONE: usize = 1 << 11;

/// Sorts the buckets and moves them back.
fn leaves<T: Send, L: Fn(&mut [T]) + Sync>(part: SamplePart<'_, T, L>) {
    let SamplePart { bounds, in_order, sorted, back, leaf } = part;
    let buckets = in_order.len();
    if buckets == 1 || sorted.len() <= ALONE {
        let (mut rest, mut back) = (sorted, back);
        for (ends, &in_order) in bounds.windows(2).zip(in_order) {
            let (one, more) = rest.split_at_mut(ends[1] - ends[0]);
            let (slots, left) = back.split_at_mut(one.len());
            if !in_order {
                leaf(one);
            }
            // SAFETY: as long as each other, and in different memory; the elements move (see
            // `Moved` for both ends of it).
            unsafe { one.as_ptr().copy_to_nonoverlapping(slots.as_mut_ptr().cast(), one.len()) };
            (rest, back) = (more, left);
        }
        return;
    }
    // Where half of the elements are, but at least a bucket on each side.
    let half = bounds[0] + sorted.len() / 2;
    let mid = bounds.partition_point(|&bound| bound < half).clamp(1, buckets - 1);
    let (left, right) = sorted.split_at_mut(bounds[mid] - bounds[0]);
    let (left_back, right_back) = back.split_at_mut(left.len());
    let left = SamplePart { bounds: &bounds[..=mid], in_order: &in_order[..mid], sorted: left, back: left_back, leaf };
    let right =
        SamplePart { bounds: &bounds[mid..], in_order: &in_order[mid..], sorted: right, back: right_back, leaf };
    join(|| leaves(left), || leaves(right));
}
