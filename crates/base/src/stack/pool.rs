//! The memory of stacks: slabs of address space, a guard page at the low end of each stack.
//!
//! ```text
//!  slab (one mapping): 16 stacks the first, 32 the second, ... at most 512
//!  ├── stack 0 ──────────────────────┼── stack 1 ──────────────────────┼── ...      each aligned to its size
//!  │guard│      grows ◀──   top│line │guard│      grows ◀──  top│lines│
//!        ▲                     ▲     ▲
//!        start + page          coloured: (k % 24) * 64 bytes below the end, k = address / size
//! ```
//! One owner, no atomics but in the registry. Memory is taken from the system page by page as it is
//! touched: a stack that blocks shallowly takes one page, and 132 bytes of page table (64 KiB
//! stacks; 517 at 256 KiB).
//!
//! **Aligned to their size**, so that `sp & (size - 1)` is the room left, and the handler finds a
//! stack's ends.
//! **Coloured**, because tops at the same offset would all fall into the same few sets of the
//! cache. Not more than is good: what the colour takes of the top page is missing below. The
//! unwinder takes 1.9 KiB, so that with 24 colours a task that blocks shallowly unwinds in its
//! first page; with 32 two of five touched a second one (4 KiB more for good, and 0.6 µs). With 16
//! a relay through 1000 tasks took 16 % longer.
//! **Guards** are one page each: compiled Rust touches every page of a big frame in order, so no
//! frame jumps over it. (C only when compiled with `-fstack-clash-protection`.) See
//! [`crate::sys::map`] for the two kinds and their prices.
//!
//! **In batches.** When the stacks that are ready have run out, the next ones get their guards and
//! the memory of their top pages together, two system calls for up to 64 stacks (a quarter of those
//! that exist, so small programs take nothing in advance). Guard and first touch, measured per
//! stack for 200 000 stacks of 64 KiB on a 2-core VM, Linux 6.18:
//!
//! ```text
//!  guard by madvise, touched by use          0.55 + 2.35 µs     4096 B + 128 B of page table
//!  batches of 8 / 32 / 64 / 512              2.2 / 2.0 / 1.9 / 1.9 µs in all     the same
//!  floor: memory in one piece, populated     1.4 µs; zeroing the 4 KiB alone takes 0.7 to 0.9
//! ```
//! A whole task that is spawned and blocks: 2.8 µs instead of 3.8 (median of 5, 1 000 000 tasks,
//! the machine half busy). Without the batch calls (before Linux 6.15), or with mprotect guards,
//! each stack is made when it is taken.
//!
//! **Rejected.** `MADV_POPULATE_WRITE` one by one: 2.3 µs, no gain. Huge pages: 0.9 µs a page, but
//! tops do not lie in one piece. Guards for a whole slab at once: programs with ten tasks would pay
//! for 512.
//!
//! **Invariants.** A stack of a slab is either not ready yet, or has its guard; then it is in
//! exactly one place: never taken, given out, in `warm` or in `cold`. What is in `cold` holds no
//! memory but its page table.

use super::registry::{self, Registered};
use super::switch;
use crate::sys::map::{self, Each, UnusedRange};
use std::io;
use std::ptr::NonNull;

pub use super::no_stack::NoStack;
pub use crate::sys::map::GuardKind;

/// The least size of a stack. A caught panic takes 6 KiB of it; 21 KiB if `RUST_BACKTRACE` makes it
/// print a backtrace, so a stack of this size overflows then.
pub const MIN_STACK: usize = 16 << 10;
/// The size of a stack unless the builder says otherwise.
pub const DEFAULT_STACK: usize = 64 << 10;

/// Stacks in the first slab, and in the later ones.
const FIRST_SLAB: usize = 16;
const MAX_SLAB: usize = 512;
/// Tops are spread over so many cache lines.
pub const COLOURS: usize = 24;
const LINE: usize = 64;
/// Stacks that were put back and keep their memory.
const KEEP_WARM: usize = 64;
/// At most so many stacks are trimmed at a time: some 0.2 ms.
const TRIM_BATCH: usize = 512;

/// `MYRIAD_MAX_STACKS`: how many stacks a worker may have, of either kind, whatever the program
/// says.
pub fn limit_from_environment() -> usize {
    std::env::var("MYRIAD_MAX_STACKS").ok().and_then(|v| v.parse().ok()).unwrap_or(usize::MAX)
}

/// A stack that was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// Its high end, exclusive, aligned to 16. It is the taker's until it is put back.
    pub top: *mut u8,
}

/// Gives out stacks. Dropping it unmaps them all: if somebody still runs or stands on one,
/// [leak](StackPool::leak) it.
#[derive(Debug)]
pub struct StackPool {
    size: usize,
    max: usize,
    slabs: Vec<Slab>,
    /// Put back, with their memory; the last is the warmest. Lowest addresses.
    warm: Vec<NonNull<u8>>,
    /// Put back and without memory.
    cold: Vec<NonNull<u8>>,
    /// Stacks that were taken at least once.
    made: usize,
}

#[derive(Debug)]
struct Slab {
    start: NonNull<u8>,
    stacks: usize,
    /// Stacks that have a guard: the first ones.
    ready: usize,
    /// Stacks that were taken at least once; at most `ready`.
    used: usize,
    registered: Registered,
}

// SAFETY: the pool owns its slabs, and has no ties to a thread.
unsafe impl Send for StackPool {}

impl StackPool {
    /// A pool of stacks of this size, a power of two and at least [`MIN_STACK`] (rounded up if not,
    /// and to four pages); `MYRIAD_MAX_STACKS` can lower `max`. Takes nothing from the system yet.
    pub fn new(stack_size: usize, max: usize) -> StackPool {
        let size = stack_size.max(MIN_STACK).max(4 * map::page_size()).next_power_of_two();
        StackPool {
            size,
            max: max.min(limit_from_environment()),
            slabs: Vec::new(),
            warm: Vec::new(),
            cold: Vec::new(),
            made: 0,
        }
    }

    /// The size of each stack, guard and colour included.
    pub fn stack_size(&self) -> usize {
        self.size
    }

    /// How many stacks exist, taken or put back.
    pub fn made(&self) -> usize {
        self.made
    }

    /// How many stacks are given out.
    pub fn taken(&self) -> usize {
        self.made - self.warm.len() - self.cold.len()
    }

    /// Gives out a stack: the last that was put back, or a new one.
    pub fn take(&mut self) -> Result<Stack, NoStack> {
        let start = match self.warm.pop().or_else(|| self.cold.pop()) {
            Some(start) => start,
            None => self.make()?,
        };
        let colour = start.addr().get() / self.size % COLOURS;
        Ok(Stack { top: start.as_ptr().wrapping_add(self.size - colour * LINE) })
    }

    /// The next stack that was never taken.
    #[cold]
    fn make(&mut self) -> Result<NonNull<u8>, NoStack> {
        if self.made >= self.max {
            return Err(NoStack::limit(self.taken(), self.max));
        }
        if self.slabs.last().is_none_or(|slab| slab.used == slab.stacks) {
            self.add_slab()?;
        }
        let slab = self.slabs.last_mut().expect("just made");
        if slab.used == slab.ready {
            // Not beyond what the limit lets us take.
            let n = (self.made / 4).min(map::EACH_MAX).min(self.max - self.made).min(slab.stacks - slab.used);
            slab.make_ready(n.max(1), self.size).map_err(|error| match error.kind() {
                io::ErrorKind::OutOfMemory => NoStack::mappings(self.made),
                _ => NoStack::os(self.made, error),
            })?;
        }
        // SAFETY: `used` is less than `stacks`, so this is within the slab.
        let start = unsafe { slab.start.add(slab.used * self.size) };
        slab.used += 1;
        self.made += 1;
        Ok(start)
    }

    fn add_slab(&mut self) -> Result<(), NoStack> {
        let stacks = (FIRST_SLAB << self.slabs.len().min(16)).min(MAX_SLAB);
        let len = stacks * self.size;
        let range = map::reserve(len, self.size).map_err(|error| NoStack::os(self.made, error))?;
        let start = range.into_start();
        let registered = registry::register(start.addr().get(), len, self.size, map::page_size());
        self.slabs.push(Slab { start, stacks, ready: 0, used: 0, registered });
        Ok(())
    }

    /// Takes a stack back. What stands on it is forgotten, not dropped.
    ///
    /// # Safety
    /// `sp` is the `top` of a stack that this pool gave out, or a pointer into it that a switch
    /// saved; nobody runs on the stack, goes on with it, or uses what stands on it.
    pub unsafe fn put(&mut self, sp: *mut u8) {
        let start = sp.map_addr(|sp| (sp - 1) & !(self.size - 1));
        debug_assert!(
            self.slabs.iter().any(|slab| slab.has_taken(start.addr(), self.size)),
            "not a stack of this pool"
        );
        if let Some(start) = NonNull::new(start) {
            switch::forget(start, self.size);
            self.warm.push(start);
        }
    }

    /// Gives the memory of stacks that were put back to the system, but for the warmest 64; at most
    /// 512 of them at a time. Returns how many. Neighbours go together, which takes 0.3 µs a stack
    /// instead of 1.6.
    pub fn trim(&mut self) -> usize {
        let n = self.warm.len().saturating_sub(KEEP_WARM).min(TRIM_BATCH);
        let mut batch: Vec<_> = self.warm.drain(..n).collect();
        batch.sort_unstable();
        for run in batch.chunk_by(|a, b| a.addr().get() + self.size == b.addr().get()) {
            // SAFETY: stacks that nobody has; guards stay.
            unsafe { UnusedRange::at(run[0], run.len() * self.size) }.discard();
        }
        self.cold.append(&mut batch);
        n
    }

    /// Gives the memory below the page of `sp` to the system: what a deep task has left on a stack
    /// that now waits shallowly. 0.3 µs if there is none, 1.6 µs and more if there is.
    ///
    /// # Safety
    /// `sp` was saved by a switch on a stack of this pool, and nobody has gone on with it since.
    pub unsafe fn release_below(&self, sp: *mut u8) {
        let page = map::page_size();
        let low = ((sp.addr() - 1) & !(self.size - 1)) + page;
        // A suspended stack has no red zone, and nothing else below its pointer.
        let high = sp.addr() & !(page - 1);
        if let (true, Some(start)) = (low < high, NonNull::new(sp.with_addr(low))) {
            // SAFETY: between the guard and the page of `sp`, which nobody uses while the stack is
            // suspended.
            unsafe { UnusedRange::at(start, high - low) }.discard();
        }
    }

    /// Gives the pool up without unmapping: what stands on its stacks stays valid for ever.
    pub fn leak(self) {
        std::mem::forget(self);
    }
}

impl Slab {
    fn has_taken(&self, start: usize, size: usize) -> bool {
        start.wrapping_sub(self.start.addr().get()) < self.used * size
    }

    /// Makes the next stacks ready: `n` of them if that goes at one stroke, else one.
    fn make_ready(&mut self, n: usize, size: usize) -> io::Result<()> {
        let page = map::page_size();
        assert!(self.ready + n <= self.stacks, "within the slab");
        // The page so many bytes above the low end of each of the stacks.
        let pages = |at: usize| {
            let first = self.ready;
            (first..first + n).map(move |i| i * size + at)
        };
        // SAFETY: within the slab (checked above); nobody has these stacks yet.
        let range = |at| unsafe { UnusedRange::at(self.start.add(at), page) };
        let guards: Vec<_> = pages(0).map(range).collect();
        if n > 1 && map::each(Each::Guard, &guards) {
            // If it fails, the pages come when they are touched.
            map::each(Each::Touch, &pages(size - page).map(range).collect::<Vec<_>>());
            self.ready += n;
        } else {
            guards[0].guard()?;
            self.ready += 1;
        }
        Ok(())
    }
}

impl Drop for StackPool {
    fn drop(&mut self) {
        for slab in self.slabs.drain(..) {
            switch::forget(slab.start, slab.stacks * self.size);
            registry::unregister(slab.registered);
            // SAFETY: the pool's own; nobody is on its stacks, or the owner would have leaked it.
            unsafe { UnusedRange::at(slab.start, slab.stacks * self.size) }.release();
        }
        if map::guard_kind() == GuardKind::Mprotect {
            map::guards_released(self.made);
        }
    }
}

#[cfg(all(test, unix, not(loom), not(miri)))]
#[path = "pool/test.rs"]
mod test;
