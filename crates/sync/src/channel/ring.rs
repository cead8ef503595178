//! The buffer of a channel: a ring that grows as messages come, to both ends of use.
//!
//! But for the shortest paths messages are moved from slot to slot, not passed by value: a copy for
//! each call would fill a small stack when they are large and the compiler does not optimise.

use crate::values::move_fresh;
use myriad_base::blocks;
use myriad_base::sys::thread::{self, abort_with};
use myriad_core::engine::user_code::UserValue;
use std::alloc::Layout;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;

/// A queue of messages. Takes no memory while it was never used. What is in it is dropped as
/// [`Messages`]: dropping the ring itself does nothing. What changes with each message stands last:
/// see [`super::chan::ChanState`].
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Ring<T> {
    slots: NonNull<MaybeUninit<T>>,
    /// A power of two, or 0.
    capacity: usize,
    /// Masked, the index of the first message. It counts: up with each message that is taken out,
    /// down with each that comes back.
    first: usize,
    len: usize,
}

const _: () = crate::values::no_drop_glue::<Ring<String>>();

// SAFETY: the ring alone has its memory and the messages in it, which are `Send`.
unsafe impl<T: Send> Send for Ring<T> {}

/// The first allocation holds about so many bytes.
const FIRST_BYTES: usize = 128;

impl<T> Ring<T> {
    /// For how many messages the first memory is.
    const FIRST: usize = {
        let most = FIRST_BYTES / if size_of::<T>() == 0 { 1 } else { size_of::<T>() };
        if most < 2 {
            2
        } else if most > 16 {
            16
        } else {
            most.next_power_of_two()
        }
    };

    pub(crate) const fn new() -> Ring<T> {
        Ring { slots: NonNull::dangling(), first: 0, len: 0, capacity: 0 }
    }

    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline(always)]
    fn slot(&mut self, i: usize) -> *mut T {
        let at = self.first.wrapping_add(i) & (self.capacity - 1);
        // SAFETY: masked, so within the allocation.
        unsafe { self.slots.as_ptr().add(at).cast() }
    }

    /// How many messages were taken out so far, less those that came back in
    /// [front](Self::push_front); wraps.
    #[inline(always)]
    pub(crate) fn taken(&self) -> usize {
        self.first
    }

    /// Of an empty ring that takes the place of another: it counts on from there.
    pub(crate) fn count_on_from(&mut self, other: &Ring<T>) {
        debug_assert_eq!(self.len, 0, "a ring that is not empty is asked to count anew");
        self.first = other.first;
    }

    /// Asks for the memory of `n` messages from the `i`-th on, up to a kilobyte of it, not around
    /// the ring's end.
    pub(crate) fn prefetch(&self, i: usize, n: usize) {
        const MOST: usize = 1024;
        let begin = self.first.wrapping_add(i) & self.capacity.saturating_sub(1);
        let bytes = n.min(self.capacity - begin).saturating_mul(size_of::<T>());
        thread::prefetch(self.slots.as_ptr().wrapping_add(begin).cast(), bytes.min(MOST));
    }

    /// For how many messages there is memory.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Moves a message in, behind all others.
    ///
    /// # Safety
    /// `src` holds a message, which is the caller's to move.
    #[inline(always)]
    pub(crate) unsafe fn push(&mut self, src: *const T) {
        if self.len == self.capacity {
            self.grow(Self::FIRST);
        }
        // SAFETY: this function's contract; there is memory now.
        unsafe { self.push_into_room(src) };
    }

    /// As [`push`](Self::push).
    ///
    /// # Safety
    /// As there, and there is memory for one more.
    #[inline(always)]
    pub(crate) unsafe fn push_into_room(&mut self, src: *const T) {
        let len = self.len;
        // SAFETY: `src` holds a message, which is moved once, into the slot behind the last
        // message, which is empty, for there is memory (this function's contract).
        unsafe { move_fresh(src, self.slot(len)) };
        self.len += 1;
    }

    /// The same for one that comes in registers.
    ///
    /// # Safety
    /// There is memory for one more.
    #[inline]
    pub(crate) unsafe fn push_value(&mut self, value: ManuallyDrop<T>) {
        let len = self.len;
        // SAFETY: there is memory for one more (this function's contract), so the slot behind the
        // last message is empty.
        unsafe { self.slot(len).cast::<ManuallyDrop<T>>().write(value) };
        self.len += 1;
    }

    /// Moves a message in, before all others.
    ///
    /// # Safety
    /// `src` holds a message, which is the caller's to move.
    pub(crate) unsafe fn push_front(&mut self, src: *const T) {
        if self.len == self.capacity {
            self.grow(Self::FIRST);
        }
        self.first = self.first.wrapping_sub(1);
        // SAFETY: `src` holds a message, which is moved once (this function's contract), into the
        // slot before the first message: there is room, so that slot is empty.
        unsafe { self.slot(0).copy_from_nonoverlapping(src, 1) };
        self.len += 1;
    }

    /// Moves a message in, behind so many. O(`behind`).
    ///
    /// # Safety
    /// `src` holds a message, which is the caller's to move; the ring holds `behind` messages or
    /// more.
    pub(crate) unsafe fn insert(&mut self, behind: usize, src: *const T) {
        // SAFETY: `src` holds a message and the ring held `behind` messages (this function's
        // contract), so the slots 0 to `behind` are full once that of `src` is in front.
        unsafe {
            self.push_front(src);
            for i in 0..behind {
                self.slot(i).swap(self.slot(i + 1));
            }
        }
    }

    /// Moves the first message out.
    ///
    /// # Safety
    /// There is one; `dst` is valid, and empty.
    #[inline(always)]
    pub(crate) unsafe fn pop(&mut self, dst: *mut T) {
        // SAFETY: the ring holds a message, and `dst` is valid and empty (this function's
        // contract); the message is no longer in the ring afterwards.
        unsafe { dst.copy_from_nonoverlapping(self.slot(0), 1) };
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
    }

    /// The same into registers.
    ///
    /// # Safety
    /// The ring holds a message.
    #[inline]
    pub(crate) unsafe fn pop_value(&mut self) -> T {
        let message = self.slot(0);
        self.first = self.first.wrapping_add(1);
        self.len -= 1;
        // SAFETY: the ring held a message (this function's contract): this one, which is no longer
        // in the ring.
        unsafe { message.read() }
    }

    /// Moves a message in, behind all others, and the first one out into the slot where it was.
    ///
    /// # Safety
    /// There is one; `slot` holds a message, which is the caller's to move.
    pub(crate) unsafe fn replace_first(&mut self, slot: *mut T) {
        // SAFETY: the ring holds a message, so it has memory, and `slot` holds one too (this
        // function's contract). The slot of the first becomes that behind the last if the memory is
        // full; else both are valid.
        unsafe {
            let first = self.slot(0);
            let behind = self.slot(self.len);
            if first == behind {
                first.swap(slot);
            } else {
                behind.copy_from_nonoverlapping(slot, 1);
                slot.copy_from_nonoverlapping(first, 1);
            }
        }
        self.first = self.first.wrapping_add(1);
    }

    /// Makes room for one more. The first memory is for so many, a power of two.
    #[inline(always)]
    pub(crate) fn make_room(&mut self, first: usize) {
        if self.len < self.capacity {
            return;
        }
        if self.capacity > 0 {
            return self.grow(first);
        }
        (self.slots, self.capacity) = (Self::memory(first), first);
    }

    /// Gives the memory of an empty ring back if it is for so many, the first memory. It counts on.
    #[inline(always)]
    pub(crate) fn shrink(&mut self, first: usize) {
        if self.len == 0 && self.capacity == first {
            self.free();
            (self.slots, self.capacity) = (NonNull::dangling(), 0);
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, first: usize) {
        let capacity = (self.capacity * 2).max(first);
        let slots = Self::memory(capacity);
        for i in 0..self.len {
            // SAFETY: the slot is within the new memory, and empty; the message is moved, from the
            // old memory.
            unsafe {
                let slot = slots.as_ptr().cast::<T>().add(self.first.wrapping_add(i) & (capacity - 1));
                slot.copy_from_nonoverlapping(self.slot(i), 1);
            }
        }
        self.free();
        (self.slots, self.capacity) = (slots, capacity);
    }

    /// Of the memory for so many messages; of size 0, there is none.
    #[inline(always)]
    fn layout(capacity: usize) -> Layout {
        Layout::array::<T>(capacity).unwrap_or_else(|_| abort_with("a channel has more messages than memory holds"))
    }

    #[inline(always)]
    fn memory(capacity: usize) -> NonNull<MaybeUninit<T>> {
        let layout = Self::layout(capacity);
        if layout.size() == 0 { NonNull::dangling() } else { blocks::alloc(layout).cast() }
    }

    /// Gives the memory back; the messages have been moved.
    #[inline]
    fn free(&mut self) {
        if self.capacity > 0 {
            let layout = Self::layout(self.capacity);
            if layout.size() > 0 {
                // SAFETY: of `memory`, for as many; no message is in it.
                unsafe { blocks::free(self.slots.cast(), layout) };
            }
        }
    }
}

/// The messages of a ring that was taken out of its channel: dropped in order with this.
///
/// All are dropped, whatever their destructors do. The first panic of one goes on to whoever drops
/// this, and can be caught there; those of later ones, which nobody could receive, are reported
/// through the door of user code. So are all while a panic unwinds already.
#[derive(Debug)]
pub(crate) struct Messages<T>(pub(crate) Ring<T>);

impl<T> Messages<T> {
    fn next(&mut self) -> Option<UserValue<T>> {
        // SAFETY: not empty. No longer in the ring when its destructor runs.
        (self.0.len > 0).then(|| UserValue::new(unsafe { self.0.pop_value() }))
    }
}

impl<T> Drop for Messages<T> {
    #[inline]
    fn drop(&mut self) {
        if self.0.len == 0 {
            return self.0.free();
        }
        self.drop_all();
    }
}

impl<T> Messages<T> {
    #[inline(never)]
    fn drop_all(&mut self) {
        /// What is left when a message's destructor panics, or because of a panic.
        struct Rest<'a, T>(&'a mut Messages<T>);
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                while let Some(message) = self.0.next() {
                    message.discard("the destructor of a message");
                }
                self.0.0.free();
            }
        }
        let rest = Rest(self);
        while rest.0.0.len > 0 && !std::thread::panicking() {
            drop(rest.0.next().map(UserValue::give));
        }
    }
}
