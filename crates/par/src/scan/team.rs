//! Who does what in a scan: the caller alone, then, when others have nothing to do, a team.
//!
//! A member of the team claims the next block and reduces it; when the prefix of the block before
//! is there it scans its own, and reduces the next one that it has claimed meanwhile. If the prefix
//! is not there soon, it reduces further blocks, at most [`AHEAD`], and then sleeps like any task:
//! who has the block before may be set aside on this very worker.

use super::chain::Chain;
use super::kernel::{Kernel, NextBlock, Prefix};
use super::lines::elements_in;
use crate::grain::Grain;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread::relax;
use myriad_core::engine::split::{IdleWorkers, idle_workers, publish, workers};
use myriad_core::engine::wait::Caller;
use myriad_core::{cancel, join};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// A block is at most so large: together with the next one it has room in a second-level cache.
/// Smaller ones cost more: each time a worker goes on elsewhere, what the processor has prefetched
/// beyond the block's end was in vain, and the other worker's.
const BLOCK_BYTES: usize = 256 * 1024;
/// Blocks begin with a page, where they are that large: at its end the processor's prefetching
/// stops.
const PAGE_BYTES: usize = 4096;
/// The blocks of a scan whose blocks are part of the result.
const STRICT_BLOCK: usize = 4096;
/// Alone, so much is fetched ahead.
const AHEAD_BYTES: usize = 16 * 1024;
/// Blocks that a member reduces before it sleeps.
const AHEAD: usize = 3;
/// It spins so long for the block before, which takes about as long.
const SPIN_US: u64 = 30;
/// Alone, a piece takes about so long,
const PIECE_US: u64 = 4;
/// and a block so many times that.
const PIECES: usize = 8;
/// There are at least so many blocks for each worker, so that none has to wait long for the last
/// one.
const SHARES: usize = 8;
/// With less to do, nobody is woken for it: it takes 20 to 50 µs until a sleeper comes, and is not
/// free for who wakes it.
const WORTH_A_WAKE_US: u64 = 200;
/// More blocks than this are of no use to anybody, and each takes memory.
const MOST_BLOCKS: usize = 1 << 14;
/// Fewer blocks than this are not worth waking one more,
const WORTH_A_WAKE: usize = 4;
/// and fewer of those whose size is fixed not the first one.
const STRICT_WORTH_A_WAKE: usize = 48;

/// Scans all `len` elements, with `before` before the first. The combination of all, where the
/// kernel returns one of its own.
pub(super) fn scan<K: Kernel>(kernel: &K, len: usize, before: Option<K::T>) -> Option<K::T> {
    let mut prefix: Option<Prefix<'_, K::T>> = before.map(Prefix::Own);
    let mut grain = Grain::of_pieces(PIECE_US, WORTH_A_WAKE_US);
    let mut at = 0;
    while at < len {
        cancel::check();
        let piece = grain.begin(len - at);
        let end = at + piece.len;
        // SAFETY: the pieces follow each other; nobody else is here.
        prefix = Some(unsafe { alone(kernel, at..end, prefix.as_ref()) });
        at = end;
        if at < len && grain.end(piece, len - at) {
            let fair = (len - at).div_ceil(SHARES * workers());
            let most = (BLOCK_BYTES / size_of::<K::T>().max(1)).min(fair);
            let least = (len - at).div_ceil(MOST_BLOCKS).max(2);
            let mut size = grain.size().saturating_mul(PIECES).min(most).max(least);
            let page = elements_in::<K::T>(PAGE_BYTES);
            if page > 1 && size >= 2 * page {
                let begin = at + elements_in::<K::T>(kernel.address(at).wrapping_neg() % PAGE_BYTES);
                if begin > at {
                    // SAFETY: nobody else is at work yet; a page has no more elements than a block,
                    // and there are several blocks.
                    prefix = Some(unsafe { alone(kernel, at..begin, prefix.as_ref()) });
                    at = begin;
                }
                size = size / page * page;
            }
            return Team::new(kernel, at..len, size, prefix, true).run();
        }
    }
    prefix.and_then(Prefix::into_own)
}

/// Scans a range that follows what is scanned already, straight on.
///
/// # Safety
/// `range` is within the slices and not empty, has not been scanned, and is the caller's.
unsafe fn alone<'a, K: Kernel>(
    kernel: &'a K,
    range: Range<usize>,
    before: Option<&Prefix<'_, K::T>>,
) -> Prefix<'a, K::T> {
    let ahead = range.start + elements_in::<K::T>(AHEAD_BYTES);
    // SAFETY: `range` is within the slices and not empty, has not been scanned, and is the caller's
    // (this function's contract).
    unsafe { kernel.scan(range, before.map(Prefix::get), ahead) }
}

/// The same in blocks whose size is fixed, each scanned from the combined aggregates of those
/// before: whoever does it, the operator is applied to the same values.
pub(super) fn scan_strictly<K: Kernel>(kernel: &K, len: usize) {
    let mut prefix: Option<Prefix<'_, K::T>> = None;
    let mut at = 0;
    while len - at > STRICT_BLOCK {
        cancel::check();
        let left = (len - at).div_ceil(STRICT_BLOCK);
        if is_worth(left, STRICT_WORTH_A_WAKE) {
            return drop(Team::new(kernel, at..len, STRICT_BLOCK, prefix, false).run());
        }
        let block = at..at + STRICT_BLOCK;
        // SAFETY: the blocks follow each other; nobody else is here.
        let aggregate = unsafe { kernel.reduce(block.clone()) };
        let next = match &prefix {
            Some(prefix) => kernel.combine(prefix.get(), &aggregate),
            None => aggregate,
        };
        // SAFETY: the blocks follow each other, each is scanned once, and nobody else is here.
        unsafe { kernel.scan(block, prefix.as_ref().map(Prefix::get), at + STRICT_BLOCK) };
        prefix = Some(Prefix::Own(next));
        at += STRICT_BLOCK;
    }
    if at < len {
        // SAFETY: the rest is behind all blocks, is scanned once, and nobody else is here.
        unsafe { kernel.scan(at..len, prefix.as_ref().map(Prefix::get), at) };
    }
}

/// Does anybody want some of so many blocks, and is it worth it? For a sleeper, if there are as
/// many as `for_a_wake`.
fn is_worth(left: usize, for_a_wake: usize) -> bool {
    match idle_workers() {
        IdleWorkers::None => false,
        IdleWorkers::Awake => left >= 2,
        IdleWorkers::Asleep => left >= for_a_wake,
    }
}

/// A scan of a range in blocks, by several.
struct Team<'a, K: Kernel> {
    kernel: &'a K,
    range: Range<usize>,
    /// Elements of a block, at least 2; of the last one perhaps fewer.
    size: usize,
    blocks: usize,
    chain: Chain<'a, K::T>,
    /// The next block that nobody has claimed.
    next: AtomicUsize,
    /// Members that were asked to come, and those that have.
    asked: AtomicUsize,
    here: AtomicUsize,
    most: usize,
    /// Prefixes may be made of whatever is known first.
    is_free: bool,
}

/// What a member has.
#[derive(Default)]
struct MemberState {
    /// Reduced, and to be scanned; the lowest first.
    reduced: VecDeque<usize>,
    /// Claimed, and nothing more.
    claimed: Option<usize>,
}

impl<'a, K: Kernel> Team<'a, K> {
    fn new(kernel: &'a K, range: Range<usize>, size: usize, before: Option<Prefix<'a, K::T>>, is_free: bool) -> Self {
        let blocks = (range.end - range.start).div_ceil(size);
        Team {
            kernel,
            range,
            size,
            blocks,
            chain: Chain::new(before, blocks),
            next: AtomicUsize::new(0),
            asked: AtomicUsize::new(1),
            here: AtomicUsize::new(0),
            most: workers(),
            is_free,
        }
    }

    /// The combination of all, where the kernel returns one of its own.
    fn run(self) -> Option<K::T> {
        self.come();
        self.chain.into_last().and_then(Prefix::into_own)
    }

    /// A member begins.
    fn come(&self) {
        self.here.fetch_add(1, Relaxed);
        self.work(&mut MemberState::default());
    }

    fn work(&self, state: &mut MemberState) {
        // In this frame, not below a join: that waits for who may be waiting for us.
        let fail_on_unwind = FailOnUnwind(&self.chain);
        loop {
            cancel::check();
            if self.chain.has_failed() {
                break;
            }
            if self.may_ask() && is_worth(self.blocks - self.next.load(Relaxed).min(self.blocks), WORTH_A_WAKE) {
                self.asked.fetch_add(1, Relaxed);
                let near = || {
                    publish();
                    self.work(state);
                };
                join(near, || self.come());
                break;
            }
            if state.reduced.is_empty() {
                let Some(block) = self.take(state) else { break };
                if self.is_free && self.here.load(Relaxed) == 1 {
                    self.scan_straight_on(block);
                    continue;
                }
                self.reduce(block, state);
            }
            let block = state.reduced[0];
            match self.chain.look_back(block, |a, b| self.kernel.combine(a, b)) {
                Ok(before) => self.finish(block, before, state),
                Err(other) => self.wait(other, state),
            }
        }
        std::mem::forget(fail_on_unwind);
    }

    fn may_ask(&self) -> bool {
        self.asked.load(Relaxed) < self.most
    }

    fn take(&self, state: &mut MemberState) -> Option<usize> {
        state.claimed.take().or_else(|| self.claim())
    }

    fn claim(&self) -> Option<usize> {
        // A load first, so that it does not grow without end.
        if self.next.load(Relaxed) >= self.blocks {
            return None;
        }
        // Release: that we are here. Acquire: with those of the claims before: who finds himself
        // alone afterwards has made them all.
        Some(self.next.fetch_add(1, AcqRel)).filter(|block| *block < self.blocks)
    }

    /// The elements of a block.
    fn elements(&self, block: usize) -> Range<usize> {
        let start = self.range.start + block * self.size;
        start..start + self.size.min(self.range.end - start)
    }

    fn is_last(&self, block: usize) -> bool {
        block + 1 == self.blocks
    }

    /// Nobody else has come yet, so all blocks before are done: no need to go twice over this one.
    fn scan_straight_on(&self, block: usize) {
        let before = self.chain.look_back(block, |a, b| self.kernel.combine(a, b));
        let Ok(before) = before else { unreachable!("all blocks before are the only member's, and done") };
        // SAFETY: this member has claimed the block, which is not empty and not scanned yet.
        let prefix = unsafe { alone(self.kernel, self.elements(block), before.as_ref()) };
        // SAFETY: this member has claimed the block, and does this once.
        unsafe { self.chain.set_prefix(block, Some(prefix)) };
    }

    fn reduce(&self, block: usize, state: &mut MemberState) {
        // Nobody asks for the last one's.
        if !self.is_last(block) {
            // SAFETY: claimed, not scanned yet, and of at least two elements, as all but the last.
            let aggregate = unsafe { self.kernel.reduce(self.elements(block)) };
            self.reduced(block, aggregate, state);
        } else {
            state.reduced.push_back(block);
        }
    }

    /// A block that the member has claimed was reduced.
    fn reduced(&self, block: usize, aggregate: K::T, state: &mut MemberState) {
        // SAFETY: this member has claimed the block, and does this once.
        unsafe { self.chain.set_aggregate(block, aggregate, self.is_free) };
        state.reduced.push_back(block);
    }

    /// Scans a block, with what is before it; others may go on at once.
    fn finish(&self, block: usize, before: Option<Prefix<'_, K::T>>, state: &mut MemberState) {
        if !self.is_last(block) {
            // `None`: the aggregate is the prefix.
            let prefix = before.as_ref().map(|before| {
                // SAFETY: this member has claimed the block, and has reduced it.
                let aggregate = unsafe { self.chain.aggregate(block) };
                Prefix::Own(self.kernel.combine(before.get(), aggregate))
            });
            // SAFETY: this member has claimed the block, and does this once.
            unsafe { self.chain.set_prefix(block, prefix) };
        }
        state.reduced.pop_front();
        let range = self.elements(block);
        let before = before.as_ref().map(Prefix::get);
        let next = if state.reduced.is_empty() { self.take(state) } else { None };
        let end = match next {
            Some(next) if !self.is_last(next) => {
                // If all go on as fast as each other.
                let then = self.next.load(Relaxed) + self.here.load(Relaxed) - 1;
                let then = self.elements(then.min(self.blocks - 1)).start;
                let next_range = NextBlock { range: self.elements(next), then };
                // SAFETY: both claimed, the first not scanned yet, and the second of at least two
                // elements, as all but the last.
                let (end, aggregate) = unsafe { self.kernel.scan_and_reduce(range, before, next_range) };
                self.reduced(next, aggregate, state);
                end
            }
            _ => {
                state.claimed = next;
                let ahead = next.map_or(range.start, |next| self.elements(next).start);
                // SAFETY: this member has claimed the block, which is not empty and not scanned
                // yet.
                unsafe { self.kernel.scan(range, before, ahead) }
            }
        };
        if self.is_last(block) {
            // SAFETY: this member has claimed the block, and does this once.
            unsafe { self.chain.set_prefix(block, Some(end)) };
        }
    }

    /// Another block says nothing yet.
    #[cold]
    fn wait(&self, other: usize, state: &mut MemberState) {
        if self.spin(other) {
            return;
        }
        if state.reduced.len() < AHEAD
            && let Some(next) = self.take(state)
        {
            self.reduce(next, state);
        } else {
            self.chain.sleep_until_over(other);
        }
    }

    fn spin(&self, other: usize) -> bool {
        let began = ticks();
        while !self.chain.is_over(other) {
            if !Caller::get().may_spin() || ticks().saturating_sub(began) > SPIN_US * ticks_per_us() {
                return false;
            }
            relax();
        }
        true
    }
}

/// Tells the other members when this one unwinds.
struct FailOnUnwind<'a, 'c, T: Send + Sync>(&'a Chain<'c, T>);

impl<T: Send + Sync> Drop for FailOnUnwind<'_, '_, T> {
    fn drop(&mut self) {
        self.0.fail();
    }
}
