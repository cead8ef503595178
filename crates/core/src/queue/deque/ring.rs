//! Where the tasks stand: a ring that doubles when it is full.

use super::{Deque, Guard, OwnDeque};
use crate::record::header::Header;
use myriad_base::sys::atomic::{AtomicPtr, Ordering::*};
use myriad_base::sys::mutant::{on, ord};
use std::ptr::null_mut;

#[derive(Debug)]
pub(super) struct Ring {
    pub(super) slots: *mut AtomicPtr<Header>,
    pub(super) mask: usize,
}

/// The ring is for the owner, and for whoever has the lock: the owner replaces it under the lock
/// only (I5), so it stands still for both. Each of the two has its way to the slots.
impl Deque {
    /// The slot of a position.
    ///
    /// # Safety
    /// The calling thread is the owner, or has the lock.
    #[inline(always)]
    unsafe fn slot_at(&self, position: usize) -> &AtomicPtr<Header> {
        // SAFETY: the ring stands still for the owner and under the lock (this function's
        // contract); the masked index is within it.
        self.ring.with(|ring| unsafe { &*(*ring).slots.add(position & (*ring).mask) })
    }
}

impl Guard<'_> {
    /// The slot of a position.
    #[inline(always)]
    pub(super) fn slot(&self, position: usize) -> &AtomicPtr<Header> {
        // SAFETY: a guard has the lock.
        unsafe { self.slot_at(position) }
    }
}

impl OwnDeque<'_> {
    /// The slot of a position.
    #[inline(always)]
    pub(super) fn slot(&self, position: usize) -> &AtomicPtr<Header> {
        // SAFETY: an `OwnDeque` is the owner's.
        unsafe { self.slot_at(position) }
    }

    /// The position of the next push, for which there is a slot.
    #[inline(always)]
    pub(super) fn make_room(&self) -> usize {
        let top = self.top.load(Relaxed);
        if top == self.half().full_at.get() { self.compact_or_grow(top) } else { top }
    }

    /// The ring may be full: looks again, and takes the tombstones out if it is; if more than half
    /// is left, doubles it. (So a task pays for a constant number of moves, and the ring is at most
    /// four times what it holds.)
    #[cold]
    #[inline(never)]
    pub(super) fn compact_or_grow(self, top: usize) -> usize {
        let capacity = self.capacity();
        // Acquire: pairs with the Release of head in a steal: the thief's swap of the slot comes
        // before our reuse.
        let head = self.head.load(ord(Acquire, "head-acquire"));
        if top - head < capacity {
            self.half().full_at.set(head + capacity);
            return top;
        }
        let top = if self.half().has_tombstones() { self.compact() } else { top };
        if top - head > capacity / 2 {
            self.grow();
        } else {
            self.half().full_at.set(head + capacity);
        }
        top
    }

    /// Moves all private tasks down over the tombstones between them; takes the lock, under which
    /// no thief is in a place. Who is to be found by its place, a closure, gets to know it. Where
    /// the newest end is now.
    fn compact(self) -> usize {
        let guard = if on("compact-without-lock") { None } else { Some(self.lock()) };
        let (split, top) = (self.split.load(Relaxed), self.top.load(Relaxed));
        let run = self.half().run();
        let (mut low, mut run_from) = (split, None);
        for place in split..top {
            if place == run.from() {
                run_from = Some(low);
            }
            let task = self.slot(place).load(Relaxed);
            if task.is_null() {
                continue;
            }
            self.slot(low).store(task, Relaxed);
            // SAFETY: a task in a private place has not been taken, and cannot be meanwhile, by the
            // lock: so its record lives.
            let idx = unsafe { (*task).idx() };
            if idx.load(Relaxed) == place && !on("compact-keeps-places") {
                idx.store(low, Relaxed);
            }
            low += 1;
        }
        self.set_top(low, "claim-top-release");
        drop(guard);
        self.half().set_tombstones(false);
        run.moved(top, low, run_from);
        low
    }

    /// The length of the ring.
    pub(super) fn capacity(&self) -> usize {
        // SAFETY: the ring stands still for its owner (I5).
        self.ring.with(|ring| unsafe { (*ring).mask + 1 })
    }

    /// Doubles the ring; takes the lock.
    pub(super) fn grow(&self) {
        let guard = if on("grow-without-lock") { None } else { Some(self.lock()) };
        let (head, top) = (self.head.load(Relaxed), self.top.load(Relaxed));
        let new = new_ring(self.capacity() * 2);
        for position in head..top {
            // SAFETY: masked index in the new ring, which nobody else knows yet.
            let slot = unsafe { &*new.slots.add(position & new.mask) };
            slot.store(self.slot(position).load(Relaxed), Relaxed);
        }
        self.half().full_at.set(head + new.mask + 1);
        // SAFETY: this is the owner, with the lock, so nobody else is in the old ring (I5), which
        // `new_ring` made.
        self.ring.with_mut(|ring| unsafe { free_ring(std::mem::replace(&mut *ring, new)) });
        drop(guard);
    }
}

impl Drop for Deque {
    fn drop(&mut self) {
        // SAFETY: the deque is borrowed exclusively, so nobody is in the ring, which `new_ring`
        // made.
        self.ring
            .with_mut(|ring| unsafe { free_ring(std::mem::replace(&mut *ring, Ring { slots: null_mut(), mask: 0 })) });
    }
}

pub(super) fn new_ring(capacity: usize) -> Ring {
    let slots: Box<[AtomicPtr<Header>]> = (0..capacity).map(|_| AtomicPtr::new(null_mut())).collect();
    Ring { slots: Box::into_raw(slots).cast(), mask: capacity - 1 }
}

/// # Safety
/// `ring` came from `new_ring`, or has no slots, and nobody uses it any more.
unsafe fn free_ring(ring: Ring) {
    if !ring.slots.is_null() {
        // SAFETY: `new_ring` made the ring (this function's contract), from a boxed slice of this
        // length.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(ring.slots, ring.mask + 1)) });
    }
}
