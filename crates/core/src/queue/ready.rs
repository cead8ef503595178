//! A worker's ring of blocked tasks that are ready to go on: first in, first out.
//!
//! In fiber mode it is the owner's alone. In threads mode it is *shared*: under a lock, because
//! another worker may go on with the ready tasks of one that is stuck
//! ([`crate::sched::rescue::takeover`]). A switch costs microseconds there, the lock some
//! nanoseconds. The slot for who goes on next is in the ring then, for the same reason; in fiber
//! mode it is the worker's own (`Worker::make_next`).
//!
//! Where it is *measured* how long those wait who are ready (`sched::latency`), the ring is reached
//! under the lock in fiber mode too: so one look at the mode says whether it is the short path.

use super::parked::{Parked, Resumable};
use myriad_base::sys::atomic::{AtomicU32, Ordering::*, Peek};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};
use std::cell::{Cell, UnsafeCell as StdUnsafeCell};
use std::marker::PhantomData;
use std::ptr::null_mut;
// The mode: written before there are tasks, and not in a model. Positions: see `Ready`.
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};

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
    /// Others may come in (threads mode).
    shared: AtomicBool,
    measured: AtomicBool,
    /// One of the two. (Each in a word of its own: a test of a bit costs the code around it a
    /// jump.)
    has_lock: AtomicBool,
}

impl Default for ReadyQueue {
    fn default() -> Self {
        ReadyQueue {
            ring: UnsafeCell::new(Ready::default()),
            lock: AtomicU32::new(0),
            shared: AtomicBool::new(false),
            measured: AtomicBool::new(false),
            has_lock: AtomicBool::new(false),
        }
    }
}

// SAFETY: the ring is reached by the owner (neither shared nor measured), or under the lock.
unsafe impl Sync for ReadyQueue {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for ReadyQueue {}

impl ReadyQueue {
    /// Threads mode or not, and is it measured? Before there are tasks.
    pub(crate) fn set_mode(&self, shared: bool, measured: bool) {
        self.shared.store(shared, Relaxed);
        self.measured.store(measured, Relaxed);
        self.has_lock.store(shared || measured, Relaxed);
    }

    /// Threads mode?
    #[inline(always)]
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// How many nodes are in the ring, and how many have gone on out of it. An estimate, for
    /// anybody, without the lock.
    pub(crate) fn counts(&self) -> (usize, usize) {
        self.ring.with(|ring| {
            // SAFETY: the ring is there as long as `self`, and is changed through shared
            // references.
            let ring = unsafe { &*ring };
            let first = ring.first.get();
            let next = usize::from(!ring.next.load(Relaxed).is_null());
            // (The ends are read one after the other, while the ring moves on.)
            (ring.end.get().saturating_sub(first) + next, first + ring.out_of_next.get())
        })
    }

    /// Is the ring empty, as far as the caller can see without the lock? Who has heard so does
    /// without the ring for now, and looks under the lock before the worker sleeps
    /// ([`WorkerShared::has_ready`](crate::sched::idle::WorkerShared::has_ready)): another worker
    /// may push as well.
    #[inline(always)]
    pub(crate) fn looks_empty(&self) -> bool {
        self.ring.with(|ring| {
            // SAFETY: as in `counts`.
            let ring = unsafe { &*ring };
            ring.next.load(Relaxed).is_null() && ring.first.get() == ring.end.get()
        })
    }

    /// Is it measured?
    #[inline(always)]
    pub(crate) fn is_measured(&self) -> bool {
        self.measured.load(Relaxed)
    }

    /// The ring in its owner's hands, if it is neither shared nor measured.
    ///
    /// # Safety
    /// The calling thread is the owner, and stays so while the result is used.
    #[inline(always)]
    pub(crate) unsafe fn owner(&self) -> Option<OwnRing<'_>> {
        // SAFETY: nobody comes by the lock in this mode, and the rest is this function's contract.
        (!self.has_lock.load(Relaxed)).then(|| unsafe { self.own_ring() })
    }

    /// The ring in its owner's hands.
    ///
    /// # Safety
    /// It is neither shared nor measured, and the calling thread is the owner, and stays so while
    /// the result is used.
    #[inline(always)]
    pub(crate) unsafe fn own_ring(&self) -> OwnRing<'_> {
        debug_assert!(!self.has_lock.load(Relaxed));
        OwnRing { ring: &self.ring, thread: PhantomData }
    }

    /// The ring, for anybody, if it is shared or measured. `f` is short, and nothing foreign.
    #[inline(never)]
    pub(crate) fn locked<R>(&self, f: impl FnOnce(&Ready) -> R) -> R {
        // (Not `has_lock`: another thread may have seen that it is shared, and not yet that.)
        debug_assert!(self.is_shared() || self.is_measured());
        if on("ready-unlocked") {
            // SAFETY: none; a fault that is planted.
            return self.ring.with_mut(|ring| f(unsafe { &*ring }));
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
        // SAFETY: the ring is shared or measured, so everybody reaches it under the lock, which we
        // have.
        let result = self.ring.with_mut(|ring| f(unsafe { &*ring }));
        // Release: the ring, for the next one's Acquire.
        self.lock.store(0, ord(Release, "ready-release"));
        result
    }
}

/// A ring that is neither shared nor measured, in its owner's hands. It is not `Send`, and lives no
/// longer than what says that its thread is the owner (a borrowed worker).
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnRing<'a> {
    ring: &'a UnsafeCell<Ready>,
    thread: PhantomData<*mut ()>,
}

impl OwnRing<'_> {
    #[inline(always)]
    fn with<R>(self, f: impl FnOnce(&Ready) -> R) -> R {
        // SAFETY: the ring has no lock in this mode, so nobody but the owner reaches it, which is
        // the calling thread; what is called here, of this file, calls nothing else, so no call is
        // within another.
        self.ring.with_mut(|ring| f(unsafe { &*ring }))
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
///
/// It is reached by shared references, whose holder is the owner or has the lock, and is alone: the
/// cells are for that one. Positions only grow. They and the slot are [`Shown`] to whoever
/// [counts](ReadyQueue::counts). (Std's atomics and cells: who changes the ring is alone in it, and
/// a model sees that by the cell around the whole.)
#[derive(Debug)]
pub(crate) struct Ready {
    slots: StdUnsafeCell<Box<[Cell<*mut Parked>]>>,
    first: Shown,
    end: Shown,
    /// Who goes on before all others, in a ring that is shared; or null.
    next: AtomicPtr<Parked>,
    /// How many have gone on out of that slot.
    out_of_next: Shown,
}

/// A number that one thread at a time changes, and all may read.
#[derive(Debug, Default)]
pub(crate) struct Shown(AtomicUsize);

impl Shown {
    /// By the one who may change it. (Not atomic: a processor compares with a word in memory by one
    /// instruction, but the compiler does so only where the load is a plain one.)
    ///
    /// # Safety
    /// Nobody changes the number meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn own(&self) -> usize {
        // SAFETY: a plain load races with nothing but stores, and there are none meanwhile (this
        // function's contract).
        unsafe { *self.0.as_ptr() }
    }

    /// By the one who may change it.
    #[inline(always)]
    pub(crate) fn set(&self, n: usize) {
        self.0.store(n, Relaxed);
    }

    /// For all.
    pub(crate) fn get(&self) -> usize {
        self.0.load(Relaxed)
    }
}

impl Default for Ready {
    fn default() -> Self {
        Ready {
            slots: StdUnsafeCell::new(vec![Cell::new(null_mut()); 64].into()),
            first: Shown::default(),
            end: Shown::default(),
            next: AtomicPtr::new(null_mut()),
            out_of_next: Shown::default(),
        }
    }
}

impl Ready {
    /// The slots.
    #[inline(always)]
    fn slots(&self) -> &[Cell<*mut Parked>] {
        // SAFETY: only `grow` replaces them, which nobody calls while the result is used: who has a
        // reference to a ring is alone in it (the type's invariant).
        unsafe { &*self.slots.get() }
    }

    /// The slot of a position.
    #[inline(always)]
    fn slot(&self, position: usize) -> &Cell<*mut Parked> {
        let slots = self.slots();
        let mask = slots.len() - 1;
        // SAFETY: the length is a power of two (64, then doubled), so a masked position is within
        // it.
        unsafe { slots.get_unchecked(position & mask) }
    }

    /// The position of the first node, and the one behind the last.
    #[inline(always)]
    fn ends(&self) -> (usize, usize) {
        // SAFETY: who has a reference to a ring is alone in it (the type's invariant).
        unsafe { (self.first.own(), self.end.own()) }
    }

    /// Adds a node behind all others.
    #[inline(always)]
    pub(crate) fn push(&self, node: Resumable) {
        let (first, end) = self.ends();
        if end - first == self.slots().len() {
            self.grow();
        }
        // (The same, read anew: else a register is saved for the call.)
        let (_, end) = self.ends();
        self.slot(end).set(node.into_raw());
        self.end.set(end + 1);
    }

    /// Takes the first node.
    #[inline(always)]
    pub(crate) fn pop(&self) -> Option<Resumable> {
        let (first, end) = self.ends();
        if first == end {
            return None;
        }
        let node = self.slot(first).get();
        self.first.set(first + 1);
        if end - (first + 1) > 3 {
            // Its node's line and the next below, where the saved registers are.
            prefetch(self.slot(first + 4).get().cast());
        }
        // SAFETY: pushed as one, and out of the ring now.
        Some(unsafe { Resumable::from_raw(node) })
    }

    /// Is there none? (But for the slot, which a ring that is not shared has not.)
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        let (first, end) = self.ends();
        first == end
    }

    /// This node goes on before all others; who was to do so is behind them now. Of a shared ring,
    /// as all that follows.
    pub(crate) fn push_next(&self, node: Resumable) {
        if !on("slot-lost") {
            self.spill_next();
        }
        self.next.store(node.into_raw(), Relaxed);
    }

    /// Who was to go on before all others is behind them.
    pub(crate) fn spill_next(&self) {
        if let Some(before) = self.take_next() {
            self.push(before);
        }
    }

    fn take_next(&self) -> Option<Resumable> {
        let next = self.next.load(Relaxed);
        self.next.store(null_mut(), Relaxed);
        // SAFETY: it was put there as one, and is out of the slot now.
        unsafe { Resumable::from_slot(next) }
    }

    /// Takes the node that goes on.
    pub(crate) fn pop_next(&self) -> Option<Resumable> {
        let next = self.take_next();
        if next.is_some() {
            self.out_of_next.set(self.out_of_next.get() + 1);
        }
        next.or_else(|| self.pop())
    }

    /// Is there none, in the slot neither?
    pub(crate) fn is_all_empty(&self) -> bool {
        self.next.load(Relaxed).is_null() && self.is_empty()
    }

    /// Where the first node stands that others than the owner may take. (The slot is for the
    /// owner, who is not there, so it is given up.)
    fn first_free(&self, is_held: IsHeld) -> Option<usize> {
        if !on("slot-kept") {
            self.spill_next();
        }
        let (first, end) = self.ends();
        (first..end).find(|&position| {
            // SAFETY: a node in the ring waits, with its stack saved. Only a shared ring is
            // searched, by whoever has the lock.
            unsafe { !is_held((*self.slot(position).get()).saved.with(|saved| *saved)) }
        })
    }

    /// May others than the owner take something?
    pub(crate) fn has_free(&self, is_held: IsHeld) -> bool {
        self.first_free(is_held).is_some()
    }

    /// Takes the first node that others may take.
    pub(crate) fn pop_free(&self, is_held: IsHeld) -> Option<Resumable> {
        let position = self.first_free(is_held)?;
        let node = self.slot(position).get();
        let (first, _) = self.ends();
        // Those before it keep their order.
        for later in (first..position).rev() {
            self.slot(later + 1).set(self.slot(later).get());
        }
        self.first.set(first + 1);
        // SAFETY: pushed as one, and out of the ring now.
        Some(unsafe { Resumable::from_raw(node) })
    }

    /// Doubles a full ring.
    #[cold]
    #[inline(never)]
    fn grow(&self) {
        let (first, end) = self.ends();
        let new = self.slots().len() * 2;
        let slots = vec![Cell::new(null_mut()); new];
        for position in first..end {
            slots[position & (new - 1)].set(self.slot(position).get());
        }
        // SAFETY: nobody looks at the slots: who has a reference to a ring is alone in it (the
        // type's invariant), and those taken above are gone.
        unsafe { *self.slots.get() = slots.into() };
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
