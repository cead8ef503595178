//! A worker's ring of blocked tasks that are ready to go on: first in, first out.
//!
//! In fiber mode it is the owner's alone. In threads mode it is *shared*: under a lock, because
//! another worker may go on with the ready tasks of one that is stuck
//! ([`crate::sched::rescue::takeover`]). A switch costs microseconds there, the lock some
//! nanoseconds. The slot for who goes on next is in the ring then, for the same reason; in fiber
//! mode it is the worker's own (`Worker::make_next`).

use super::parked::{Parked, Resumable};
use myriad_base::sys::atomic::{AtomicU32, Ordering::*, Peek};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};
use std::marker::PhantomData;
use std::ptr::null_mut;
// The mode: written before there are tasks, and not in a model.
use std::sync::atomic::AtomicBool;

/// Says of a saved stack whether only its own worker goes on with it.
///
/// # Safety
/// The argument is the saved stack of a node in a ring, and the caller has the ring's lock.
pub(crate) type IsHeld = unsafe fn(*mut u8) -> bool;

/// The ring, and who may come in.
#[derive(Debug)]
pub(crate) struct ReadyQueue {
    ring: UnsafeCell<Ready>,
    lock: AtomicU32,
    shared: AtomicBool,
}

impl Default for ReadyQueue {
    fn default() -> Self {
        ReadyQueue { ring: UnsafeCell::new(Ready::default()), lock: AtomicU32::new(0), shared: AtomicBool::new(false) }
    }
}

// SAFETY: the ring is reached by the owner (not shared), or under the lock (shared).
unsafe impl Sync for ReadyQueue {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for ReadyQueue {}

impl ReadyQueue {
    /// Threads mode or not; before there are tasks.
    pub(crate) fn set_shared(&self, yes: bool) {
        self.shared.store(yes, Relaxed);
    }

    /// Threads mode?
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// The ring in its owner's hands, if it is not shared.
    ///
    /// # Safety
    /// The calling thread is the owner, and stays so while the result is used.
    #[inline(always)]
    pub(crate) unsafe fn owner(&self) -> Option<OwnRing<'_>> {
        (!self.is_shared()).then_some(OwnRing { ring: &self.ring, thread: PhantomData })
    }

    /// The shared ring, for anybody. `f` is short, and nothing foreign.
    #[inline(never)]
    pub(crate) fn locked<R>(&self, f: impl FnOnce(&mut Ready) -> R) -> R {
        debug_assert!(self.is_shared());
        if on("ready-unlocked") {
            // SAFETY: none; a fault that is planted.
            return self.ring.with_mut(|ring| f(unsafe { &mut *ring }));
        }
        let mut spins = 0u32;
        // Acquire: pairs with the Release below.
        while self.lock.compare_exchange(0, 1, ord(Acquire, "ready-acquire"), Relaxed).is_err() {
            while self.lock.peek(Relaxed) != 0 {
                spins += 1;
                if spins.is_multiple_of(128) || cfg!(loom) {
                    myriad_base::sys::thread::yield_now();
                } else {
                    std::hint::spin_loop();
                }
            }
        }
        // SAFETY: the ring is shared, so everybody reaches it under the lock, which we have.
        let result = self.ring.with_mut(|ring| f(unsafe { &mut *ring }));
        // Release: the ring, for the next one's Acquire.
        self.lock.store(0, ord(Release, "ready-release"));
        result
    }
}

/// A ring that is not shared, in its owner's hands. It is not `Send`, and lives no longer than what
/// says that its thread is the owner (a borrowed worker).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRing<'a> {
    ring: &'a UnsafeCell<Ready>,
    thread: PhantomData<*mut ()>,
}

impl OwnRing<'_> {
    #[inline(always)]
    fn with<R>(self, f: impl FnOnce(&mut Ready) -> R) -> R {
        // SAFETY: the ring is not shared, so nobody but the owner reaches it, which is the calling
        // thread; what is called here, of this file, calls nothing else, so no call is within
        // another.
        self.ring.with_mut(|ring| f(unsafe { &mut *ring }))
    }

    /// See [`Ready::push`].
    #[inline(always)]
    pub(crate) fn push(self, node: Resumable) {
        self.with(|ring| ring.push(node));
    }

    /// See [`Ready::pop`].
    #[inline(always)]
    pub(crate) fn pop(self) -> Option<Resumable> {
        self.with(Ready::pop)
    }

    /// See [`Ready::is_empty`].
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.with(|ring| ring.is_empty())
    }
}

/// Grows by doubling; never shrinks.
#[derive(Debug)]
pub(crate) struct Ready {
    slots: Box<[*mut Parked]>,
    first: usize,
    end: usize,
    /// Who goes on before all others, in a ring that is shared; or null.
    next: *mut Parked,
}

impl Default for Ready {
    fn default() -> Self {
        Ready { slots: vec![null_mut(); 64].into(), first: 0, end: 0, next: null_mut() }
    }
}

impl Ready {
    /// The slot of a position.
    #[inline(always)]
    fn slot(&mut self, position: usize) -> &mut *mut Parked {
        let mask = self.slots.len() - 1;
        // SAFETY: the length is a power of two (64, then doubled), so a masked position is within
        // it.
        unsafe { self.slots.get_unchecked_mut(position & mask) }
    }

    /// Adds a node behind all others.
    #[inline(always)]
    pub(crate) fn push(&mut self, node: Resumable) {
        if self.end - self.first == self.slots.len() {
            self.grow();
        }
        *self.slot(self.end) = node.into_raw();
        self.end += 1;
    }

    /// Takes the first node.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<Resumable> {
        if self.first == self.end {
            return None;
        }
        let node = *self.slot(self.first);
        self.first += 1;
        if self.end - self.first > 3 {
            // Its node's line and the next below, where the saved registers are.
            prefetch((*self.slot(self.first + 3)).cast());
        }
        // SAFETY: pushed as one, and out of the ring now.
        Some(unsafe { Resumable::from_raw(node) })
    }

    /// Is there none? (But for the slot, which a ring that is not shared has not.)
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// This node goes on before all others; who was to do so is behind them now. Of a shared ring,
    /// as all that follows.
    pub(crate) fn push_next(&mut self, node: Resumable) {
        if !on("slot-lost") {
            self.spill_next();
        }
        self.next = node.into_raw();
    }

    /// Who was to go on before all others is behind them.
    pub(crate) fn spill_next(&mut self) {
        if let Some(before) = self.take_next() {
            self.push(before);
        }
    }

    fn take_next(&mut self) -> Option<Resumable> {
        // SAFETY: it was put there as one, and is out of the slot now.
        unsafe { Resumable::from_slot(std::mem::replace(&mut self.next, null_mut())) }
    }

    /// Takes the node that goes on.
    pub(crate) fn pop_next(&mut self) -> Option<Resumable> {
        self.take_next().or_else(|| self.pop())
    }

    /// Is there none, in the slot neither?
    pub(crate) fn is_all_empty(&self) -> bool {
        self.next.is_null() && self.is_empty()
    }

    /// Where the first node stands that others than the owner may take. (The slot is for the
    /// owner, who is not there, so it is given up.)
    fn first_free(&mut self, is_held: IsHeld) -> Option<usize> {
        if !on("slot-kept") {
            self.spill_next();
        }
        (self.first..self.end).find(|&position| {
            // SAFETY: a node in the ring waits, with its stack saved. Only a shared ring is
            // searched, by whoever has the lock.
            unsafe { !is_held((**self.slot(position)).saved.with(|saved| *saved)) }
        })
    }

    /// May others than the owner take something?
    pub(crate) fn has_free(&mut self, is_held: IsHeld) -> bool {
        self.first_free(is_held).is_some()
    }

    /// Takes the first node that others may take.
    pub(crate) fn pop_free(&mut self, is_held: IsHeld) -> Option<Resumable> {
        let position = self.first_free(is_held)?;
        let node = *self.slot(position);
        // Those before it keep their order.
        for later in (self.first..position).rev() {
            *self.slot(later + 1) = *self.slot(later);
        }
        self.first += 1;
        // SAFETY: pushed as one, and out of the ring now.
        Some(unsafe { Resumable::from_raw(node) })
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let old = self.slots.len();
        let mut slots = vec![null_mut(); old * 2];
        for (to, slot) in slots.iter_mut().enumerate().take(old) {
            *slot = self.slots[(self.first + to) & (old - 1)];
        }
        (self.slots, self.first, self.end) = (slots.into(), 0, old);
    }
}

/// The stack of a task that will soon go on: the line of an address in it, and the next below. With
/// ten thousand cold stacks a hop is 25 instead of some 60 ns.
#[inline(always)]
pub(crate) fn prefetch(at: *mut u8) {
    prefetch_line(at);
    prefetch_line(at.wrapping_sub(64));
}

/// The line of an address.
#[inline(always)]
pub(crate) fn prefetch_line(at: *mut u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on the caches, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
