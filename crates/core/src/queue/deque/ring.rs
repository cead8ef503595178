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
        if top == self.half().full_at.get() {
            self.compact_or_grow(top);
        }
        top
    }

    /// The ring may be full: looks again, and doubles it if it is.
    #[cold]
    #[inline(never)]
    fn compact_or_grow(self, top: usize) {
        let capacity = self.capacity();
        // Acquire: pairs with the Release of head in a steal: the thief's swap of the slot comes
        // before our reuse.
        let head = self.head.load(ord(Acquire, "head-acquire"));
        if top - head < capacity {
            self.half().full_at.set(head + capacity);
        } else {
            self.grow();
        }
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
