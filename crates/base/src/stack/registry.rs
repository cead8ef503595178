//! Where the slabs of stacks lie, for a signal handler that has nothing but an address.
//!
//! ```text
//!  FIRST ─▶ chunk of 64 entries ─next─▶ chunk of 64 ─▶ ...      never freed; entries are used again
//!  entry: start (0: free, 1: being written), len, stack size, guard size
//! ```
//! **Who may touch what.** Whoever moves `start` from 0 to 1 owns the entry until it stores the
//! address there; the pool that entered a slab is the one to remove it, before it unmaps. Readers
//! take nothing: no lock, no allocation, so a handler may interrupt a writer.
//!
//! **Ordering.** `start` with release, after the rest; readers load it with acquire before and
//! after they read the rest, and skip the entry if it has changed. The slab of a faulting address
//! is alive, so its own entry does not change.
//!
//! The atomics are std's, not those of `sys::atomic`: a static for a handler, which no model
//! covers.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::*, fence};

/// Entries of a chunk; 64 slabs hold some 30 000 stacks.
const CHUNK: usize = 64;
const FREE: usize = 0;
const BUSY: usize = 1;

#[derive(Debug)]
struct Entry {
    start: AtomicUsize,
    len: AtomicUsize,
    stack_size: AtomicUsize,
    guard: AtomicUsize,
}

impl Entry {
    const fn new() -> Entry {
        Entry {
            start: AtomicUsize::new(FREE),
            len: AtomicUsize::new(0),
            stack_size: AtomicUsize::new(0),
            guard: AtomicUsize::new(0),
        }
    }
}

#[derive(Debug)]
struct Chunk {
    entries: [Entry; CHUNK],
    next: AtomicPtr<Chunk>,
}

impl Chunk {
    const fn new() -> Chunk {
        Chunk { entries: [const { Entry::new() }; CHUNK], next: AtomicPtr::new(null_mut()) }
    }
}

static FIRST: Chunk = Chunk::new();

/// A slab's place in the registry.
#[derive(Debug)]
pub(super) struct Registered(&'static Entry);

/// A stack that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// The lowest address, where the guard begins.
    pub start: usize,
    /// The size of the whole stack, guard included.
    pub size: usize,
    /// Whether the address lies in the guard.
    pub in_guard: bool,
}

/// Enters a slab of stacks that are aligned to their size.
pub(super) fn register(start: usize, len: usize, stack_size: usize, guard: usize) -> Registered {
    let mut chunk = &FIRST;
    loop {
        for entry in &chunk.entries {
            // Acquire: pairs with the release in `unregister`, so that our stores come after the
            // last use.
            if entry.start.compare_exchange(FREE, BUSY, Acquire, Relaxed).is_ok() {
                // A reader that sees one of the new values also sees BUSY, or something later, when
                // it looks again.
                fence(Release);
                entry.len.store(len, Relaxed);
                entry.stack_size.store(stack_size, Relaxed);
                entry.guard.store(guard, Relaxed);
                // Release: pairs with the first load in `find`.
                entry.start.store(start, Release);
                return Registered(entry);
            }
        }
        chunk = next_or_new(chunk);
    }
}

fn next_or_new(chunk: &'static Chunk) -> &'static Chunk {
    // Acquire: pairs with the release below.
    let next = chunk.next.load(Acquire);
    if !next.is_null() {
        // SAFETY: chunks are leaked boxes.
        return unsafe { &*next };
    }
    let new = Box::into_raw(Box::new(Chunk::new()));
    // Release: the new chunk's content. Acquire: that of another's.
    match chunk.next.compare_exchange(null_mut(), new, AcqRel, Acquire) {
        // SAFETY: leaked from here on.
        Ok(_) => unsafe { &*new },
        Err(other) => {
            // SAFETY: nobody has seen ours.
            drop(unsafe { Box::from_raw(new) });
            // SAFETY: chunks are leaked boxes.
            unsafe { &*other }
        }
    }
}

/// Removes a slab, before it is unmapped.
pub(super) fn unregister(slab: Registered) {
    // Release: pairs with the acquire in `register`.
    slab.0.start.store(FREE, Release);
}

/// The stack that an address belongs to. Async-signal-safe.
pub fn find(address: usize) -> Option<Region> {
    let mut chunk = &FIRST;
    loop {
        for entry in &chunk.entries {
            // Acquire: pairs with the release in `register`.
            let start = entry.start.load(Acquire);
            if start <= BUSY || address < start {
                continue;
            }
            let (len, size, guard) =
                (entry.len.load(Relaxed), entry.stack_size.load(Relaxed), entry.guard.load(Relaxed));
            // Pairs with the release fence in `register`.
            fence(Acquire);
            if entry.start.load(Relaxed) != start || address - start >= len {
                continue;
            }
            let inside = address & (size - 1);
            return Some(Region { start: address - inside, size, in_guard: inside < guard });
        }
        // Acquire: pairs with the release in `next_or_new`.
        let next = chunk.next.load(Acquire);
        if next.is_null() {
            return None;
        }
        // SAFETY: chunks are leaked boxes.
        chunk = unsafe { &*next };
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    /// Addresses that no pool of another test has, since nothing can be mapped there.
    const BASE: usize = 1 << (usize::BITS - 2);

    #[test]
    fn finds_what_is_registered() {
        let size = 1 << 16;
        let slabs: Vec<_> = (0..200).map(|i| register(BASE + i * 4 * size, 2 * size, size, 4096)).collect();
        for i in 0..200 {
            let slab = BASE + i * 4 * size;
            assert_eq!(find(slab), Some(Region { start: slab, size, in_guard: true }));
            assert_eq!(find(slab + 4095).map(|p| p.in_guard), Some(true));
            assert_eq!(find(slab + size + 4096), Some(Region { start: slab + size, size, in_guard: false }));
            assert_eq!(find(slab + 2 * size), None);
        }
        assert_eq!(find(BASE - 1), None);
        slabs.into_iter().for_each(unregister);
        assert_eq!(find(BASE), None);
        let again = register(BASE, size, size, 4096);
        assert!(find(BASE).is_some());
        unregister(again);
    }

    /// Entries come and go; a slab that stays is found all the time, and nothing is found where
    /// nothing ever was.
    #[test]
    fn readers_are_not_confused_by_writers() {
        let size = 1 << 16;
        let stays = register(BASE * 2, size, size, 4096);
        std::thread::scope(|s| {
            for t in 1..3 {
                s.spawn(move || {
                    for i in 0..2000 {
                        let start = BASE * 2 + (t * 2 + i % 2 * 8) * 16 * size;
                        unregister(register(start, size << (i % 2), size >> (i % 2), 4096));
                    }
                });
            }
            for _ in 0..2000 {
                assert_eq!(find(BASE * 2 + 8192).map(|p| p.start), Some(BASE * 2));
                assert_eq!(find(BASE * 2 + size), None);
            }
        });
        unregister(stays);
    }
}
