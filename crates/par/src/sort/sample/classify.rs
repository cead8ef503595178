//! Finding the bucket of each element.

use super::Id;
use std::mem::MaybeUninit;

/// A part of the slice.
pub(super) struct Chunk<'a, T> {
    pub(super) elements: &'a [T],
    /// Where the elements' buckets are written.
    pub(super) ids: &'a mut [MaybeUninit<Id>],
    /// How many are in each bucket; later, where in the buffer the next of each bucket goes.
    pub(super) counts: &'a mut [usize],
}

/// Elements that go down the tree side by side: one alone would wait for each comparison in turn.
const SIDE_BY_SIDE: usize = 8;

/// Goes down the tree: from the root, 1, by `step` on each level, and from there by `bucket`.
#[inline(always)]
pub(super) fn interleaved<T>(
    v: &[T],
    ids: &mut [MaybeUninit<Id>],
    counts: &mut [usize],
    levels: u32,
    step: impl Fn(usize, &T) -> usize,
    bucket: impl Fn(usize, &T) -> usize,
) {
    let (groups, rest) = v.as_chunks::<SIDE_BY_SIDE>();
    let (id_groups, id_rest) = ids.as_chunks_mut::<SIDE_BY_SIDE>();
    for (group, ids) in groups.iter().zip(id_groups) {
        let mut at = [1; SIDE_BY_SIDE];
        for _ in 0..levels {
            for (at, x) in at.iter_mut().zip(group) {
                *at = step(*at, x);
            }
        }
        for ((at, x), id) in at.into_iter().zip(group).zip(ids) {
            let bucket = bucket(at, x);
            counts[bucket] += 1;
            id.write(bucket as Id);
        }
    }
    for (x, id) in rest.iter().zip(id_rest) {
        let mut at = 1;
        for _ in 0..levels {
            at = step(at, x);
        }
        let bucket = bucket(at, x);
        counts[bucket] += 1;
        id.write(bucket as Id);
    }
}
