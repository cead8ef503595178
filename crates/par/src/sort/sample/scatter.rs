//! Moving the elements to their buckets.

use super::Id;
use super::classify::Chunk;
use crate::sort::fork::{self, Shared};

/// Bytes ahead of a bucket's end that will be written soon.
const AHEAD: usize = 128;

/// Where everything goes. All indices are known before the first element moves, so the chunks do
/// not meet.
pub(super) struct Scatter<'a, T> {
    chunks: Vec<Chunk<'a, T>>,
    bounds: Vec<usize>,
    buffer: Shared<T>,
}

impl<'a, T: Send + Sync> Scatter<'a, T> {
    /// Turns the counts of each chunk into the indices of its first element in each bucket: by
    /// bucket, and within it in the order of the chunks, which makes the sort stable.
    pub(super) fn new(mut chunks: Vec<Chunk<'a, T>>, buckets: usize, buffer: *mut T) -> Self {
        let mut bounds = Vec::with_capacity(buckets + 1);
        let mut next = 0;
        for bucket in 0..buckets {
            bounds.push(next);
            for chunk in &mut chunks {
                let count = std::mem::replace(&mut chunk.counts[bucket], next);
                next += count;
            }
        }
        bounds.push(next);
        // The counts are ours, whatever the comparator has answered: each element was counted once.
        assert_eq!(next, chunks.iter().map(|chunk| chunk.elements.len()).sum());
        Scatter { chunks, bounds, buffer: Shared::new(buffer) }
    }

    /// Where each bucket begins, and the end.
    pub(super) fn bounds(&self) -> Vec<usize> {
        self.bounds.clone()
    }

    /// Copies each element to its place. (It becomes a move when the caller says so.)
    pub(super) fn run(mut self) {
        let buffer = self.buffer;
        fork::each(&mut self.chunks, &|chunk| {
            for (x, id) in chunk.elements.iter().zip(&*chunk.ids) {
                // SAFETY: each chunk was classified to its end, or a panic would have gone on.
                let id: Id = unsafe { id.assume_init_read() };
                let index = &mut chunk.counts[usize::from(id)];
                // SAFETY: each element has been counted for a slot of its own in the buffer, this
                // one for the next of its chunk in its bucket; buffer and slice do not overlap.
                unsafe { buffer.get().add(*index).copy_from_nonoverlapping(x, 1) };
                *index += 1;
                soon_written(buffer.get().wrapping_add(*index).wrapping_byte_add(AHEAD));
            }
        });
    }
}

/// Asks for a line of the cache, to be written.
#[inline(always)]
fn soon_written<T>(at: *mut T) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: a hint, which never faults, whatever the address. (`_mm_prefetch` would make it one
    // for reading, without the feature `prfchw`; all processors that are 64-bit know this one, some
    // as nothing.)
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) at, options(nostack, preserves_flags));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = at;
}
