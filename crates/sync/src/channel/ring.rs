//! The buffer of a channel: a ring that grows as messages come, to both ends of use.

use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// A queue of messages. Takes no memory while it was never used.
#[derive(Debug)]
pub(super) struct Ring<T> {
    slots: NonNull<MaybeUninit<T>>,
    first: usize,
    len: usize,
    /// A power of two, or 0.
    capacity: usize,
}

/// The first allocation holds about so many bytes.
const FIRST_BYTES: usize = 128;

impl<T> Ring<T> {
    pub(super) const fn new() -> Ring<T> {
        Ring { slots: NonNull::dangling(), first: 0, len: 0, capacity: 0 }
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn slot(&mut self, i: usize) -> *mut T {
        let at = self.first.wrapping_add(i) & (self.capacity - 1);
        // SAFETY: masked, so within the allocation.
        unsafe { self.slots.as_ptr().add(at).cast() }
    }

    /// For how many messages there is memory.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        if self.len == self.capacity {
            self.grow();
        }
        // SAFETY: there is room.
        unsafe { self.push_within(value) };
    }

    /// # Safety
    /// There is memory for one more.
    #[inline(always)]
    pub(super) unsafe fn push_within(&mut self, value: T) {
        let len = self.len;
        // SAFETY: a slot behind the last message: empty.
        unsafe { self.slot(len).write(value) };
        self.len += 1;
    }

    /// Puts a message before all others.
    pub(super) fn push_front(&mut self, value: T) {
        if self.len == self.capacity {
            self.grow();
        }
        self.first = self.first.wrapping_sub(1);
        // SAFETY: a slot before the first message: empty, because there was room.
        unsafe { self.slot(0).write(value) };
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        // SAFETY: not empty.
        (self.len > 0).then(|| unsafe { self.pop_some() })
    }

    /// # Safety
    /// Not empty.
    #[inline(always)]
    pub(super) unsafe fn pop_some(&mut self) -> T {
        // SAFETY: the first message; it is no longer in the ring afterwards.
        let value = unsafe { self.slot(0).read() };
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        value
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let least = (FIRST_BYTES / size_of::<T>().max(1)).clamp(2, 16);
        let capacity = (self.capacity * 2).max(least.next_power_of_two());
        let mut slots: Vec<MaybeUninit<T>> = Vec::with_capacity(capacity);
        for i in 0..self.len {
            // SAFETY: moved over to the new memory; within its capacity.
            unsafe { slots.as_mut_ptr().add(i).cast::<T>().write(self.slot(i).read()) };
        }
        self.free();
        // SAFETY: a vector's pointer is not null.
        self.slots = unsafe { NonNull::new_unchecked(std::mem::ManuallyDrop::new(slots).as_mut_ptr()) };
        (self.first, self.capacity) = (0, capacity);
    }

    /// Gives the memory back; the messages have been moved.
    fn free(&mut self) {
        if self.capacity > 0 {
            // SAFETY: made by a vector of this capacity in `grow`.
            drop(unsafe { Vec::from_raw_parts(self.slots.as_ptr(), 0, self.capacity) });
        }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        while let Some(value) = self.pop() {
            drop(value);
        }
        self.free();
    }
}
