//! The memory of stacks: slabs of address space, a guard page at the low end of each stack.
//!
//! ```text
//!  slab (one mapping): 16 stacks, the next 32, ... 512
//!  ├── stack 0 ──────────────────────┼── stack 1 ──────────────────────┼── ...      each aligned to its size
//!  │guard│      grows ◀──   top│line │guard│      grows ◀──  top│lines│
//!        ▲                     ▲     ▲
//!        start + page          coloured: (k % 32) * 64 bytes below the end, k = address / size
//! ```
//! One owner, no atomics but in the registry. Memory is taken from the system page by page as it is touched: a stack
//! that blocks shallowly takes one page, and 132 bytes of page table (64 KiB stacks; 517 at 256 KiB).
//!
//! **Aligned to their size**, so that `sp & (size - 1)` is the room left, and the handler finds a stack's ends.
//! **Coloured**, because tops at the same offset would all fall into the same few sets of the cache.
//! **Guards** are installed when a stack is first taken: see [`crate::sys::map`] for the two kinds and their prices.
//! A guard is one page: compiled Rust touches each page of a big frame in order, so it cannot be jumped over. C code is
//! compiled so only on request (`-fstack-clash-protection`).
//!
//! **Invariants.** A stack is in exactly one place: given out, in `warm` or in `cold`; each of them has its guard. What is
//! in `cold` holds no memory but its page table.

use super::registry::{self, Registered};
use crate::sys::map;
use std::ptr::NonNull;

pub use super::no_stack::NoStack;
pub use crate::sys::map::GuardKind;

/// The least size of a stack.
pub const MIN_STACK: usize = 16 << 10;
/// The size of a stack unless the builder says otherwise.
pub const DEFAULT_STACK: usize = 64 << 10;

/// Stacks in the first slab, and in the later ones.
const FIRST_SLAB: usize = 16;
const MAX_SLAB: usize = 512;
/// Tops are spread over so many cache lines.
const COLOURS: usize = 32;
const LINE: usize = 64;
/// Stacks that were put back and keep their memory.
const KEEP_WARM: usize = 64;
/// At most so many stacks are trimmed at a time: some 0.2 ms.
const TRIM_BATCH: usize = 512;

/// A stack that was given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stack {
    /// Its high end, exclusive, aligned to 16. It is the taker's until it is put back.
    pub top: *mut u8,
}

/// Gives out stacks. Dropping it unmaps them all: if somebody still runs or stands on one, [leak](StackPool::leak) it.
#[derive(Debug)]
pub struct StackPool {
    size: usize,
    max: usize,
    slabs: Vec<Slab>,
    /// Put back, with their memory; the last is the warmest. Lowest addresses.
    warm: Vec<NonNull<u8>>,
    /// Put back and without memory.
    cold: Vec<NonNull<u8>>,
    /// Stacks that have a guard.
    made: usize,
}

#[derive(Debug)]
struct Slab {
    start: NonNull<u8>,
    stacks: usize,
    /// Stacks that were taken at least once.
    used: usize,
    registered: Registered,
}

// SAFETY: the pool owns its slabs, and has no ties to a thread.
unsafe impl Send for StackPool {}

impl StackPool {
    /// A pool of stacks of this size, a power of two and at least [`MIN_STACK`] (rounded up if not, and to four pages);
    /// `MYRIAD_MAX_STACKS` can lower `max`. Takes nothing from the system yet.
    pub fn new(stack_size: usize, max: usize) -> StackPool {
        let size = stack_size.max(MIN_STACK).max(4 * map::page_size()).next_power_of_two();
        let cap = std::env::var("MYRIAD_MAX_STACKS").ok().and_then(|v| v.parse().ok()).unwrap_or(usize::MAX);
        StackPool { size, max: max.min(cap), slabs: Vec::new(), warm: Vec::new(), cold: Vec::new(), made: 0 }
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

    /// The next stack that was never taken, with its guard.
    #[cold]
    fn make(&mut self) -> Result<NonNull<u8>, NoStack> {
        if self.made >= self.max {
            return Err(NoStack::limit(self.taken(), self.max));
        }
        if self.slabs.last().is_none_or(|slab| slab.used == slab.stacks) {
            self.add_slab()?;
        }
        let slab = self.slabs.last_mut().expect("just made");
        // SAFETY: `used` is less than `stacks`, so this is within the slab.
        let start = unsafe { slab.start.add(slab.used * self.size) };
        // SAFETY: the lowest page of a stack that nobody has yet.
        unsafe { map::guard(start, map::page_size()) }.map_err(|error| match error.kind() {
            std::io::ErrorKind::OutOfMemory => NoStack::mappings(self.made),
            _ => NoStack::os(self.made, error),
        })?;
        slab.used += 1;
        self.made += 1;
        Ok(start)
    }

    fn add_slab(&mut self) -> Result<(), NoStack> {
        let stacks = (FIRST_SLAB << self.slabs.len().min(16)).min(MAX_SLAB);
        let len = stacks * self.size;
        let start = map::reserve(len, self.size).map_err(|error| NoStack::os(self.made, error))?;
        let registered = registry::register(start.addr().get(), len, self.size, map::page_size());
        self.slabs.push(Slab { start, stacks, used: 0, registered });
        Ok(())
    }

    /// Takes a stack back. What stands on it is forgotten, not dropped.
    ///
    /// # Safety
    /// `sp` is the `top` of a stack that this pool gave out, or a pointer into it that a switch saved; nobody runs on the
    /// stack, goes on with it, or uses what stands on it.
    pub unsafe fn put(&mut self, sp: *mut u8) {
        let start = sp.map_addr(|sp| (sp - 1) & !(self.size - 1));
        debug_assert!(self.slabs.iter().any(|s| (s.start.as_ptr()..s.start.as_ptr().wrapping_add(s.used * self.size)).contains(&start)));
        if let Some(start) = NonNull::new(start) {
            self.warm.push(start);
        }
    }

    /// Gives the memory of stacks that were put back to the system, but for the warmest 64; at most 512 of them at a time. Returns
    /// how many. Neighbours go together, which takes 0.3 µs a stack instead of 1.6.
    pub fn trim(&mut self) -> usize {
        let n = self.warm.len().saturating_sub(KEEP_WARM).min(TRIM_BATCH);
        let mut batch: Vec<_> = self.warm.drain(..n).collect();
        batch.sort_unstable();
        for run in batch.chunk_by(|a, b| a.addr().get() + self.size == b.addr().get()) {
            // SAFETY: stacks that nobody has; guards stay.
            unsafe { map::discard(run[0], run.len() * self.size) };
        }
        self.cold.append(&mut batch);
        n
    }

    /// Gives the memory below the page of `sp` to the system: what a deep task has left on a stack that now waits
    /// shallowly. 0.3 µs if there is none, 1.6 µs and more if there is.
    ///
    /// # Safety
    /// `sp` was saved by a switch on a stack of this pool, and nobody has gone on with it since.
    pub unsafe fn release_below(&self, sp: *mut u8) {
        let page = map::page_size();
        let low = ((sp.addr() - 1) & !(self.size - 1)) + page;
        // A suspended stack has no red zone, and nothing else below its pointer.
        let high = sp.addr() & !(page - 1);
        if let (true, Some(start)) = (low < high, NonNull::new(sp.with_addr(low))) {
            // SAFETY: between the guard and the page of `sp`, which nobody uses while the stack is suspended.
            unsafe { map::discard(start, high - low) };
        }
    }

    /// Gives the pool up without unmapping: what stands on its stacks stays valid for ever.
    pub fn leak(self) {
        std::mem::forget(self);
    }
}

impl Drop for StackPool {
    fn drop(&mut self) {
        for slab in self.slabs.drain(..) {
            registry::unregister(slab.registered);
            // SAFETY: the pool's own; nobody is on its stacks, or the owner would have leaked it.
            unsafe { map::release(slab.start, slab.stacks * self.size) };
        }
        if map::guard_kind() == GuardKind::Mprotect {
            map::guards_released(self.made);
        }
    }
}
