//! Wakers that are ours: of futures, and of `block_on`. And what stands in `waiter` of a record.
//!
//! **Ours** is a waker whose table is one of [`TABLES`]. Nothing that is ours runs user code: a
//! wake queues a record or wakes a node, as the wake of a blocked task does; it does not wait, nor
//! panic; a drop frees memory at most. So whoever keeps wakers calls ours as they are, and all
//! others through the door ([`crate::sched::user_code`]). A waker of somebody else's that wraps one
//! of ours has a table of its own, and goes through the door; so does one that another copy of this
//! crate has made.
//!
//! **The waker of a future** is a plain word: its record's address and generation.
//!
//! ```text
//!  63      48 47              6 5   3 2   0
//!  generation | address of record | gen | tag
//! ```
//! Records are 64-byte aligned and below 2^48, and their memory is type-stable
//! ([`crate::record::memory`]): so a waker needs no count, cloning copies and dropping does
//! nothing, and waking compares the generation. After 2^19 later tasks in the same memory a stale
//! waker would wake the wrong future once: spurious, which futures allow.
//!
//! **The waker of `block_on`** counts the references to a [`Signal`].
//!
//! In `waiter` of the task that somebody awaits stands the same word with tag [`TASK`], or the
//! signal with tag [`SIGNAL`]; another waker as a box with tag [`BOXED`]; tag 0 is the node of a
//! blocked task or thread.
//!
//! **Rejected.** To know ours by a method of the waker's own: a table has no room for one. To box
//! `block_on`'s waker in `waiter` as foreign ones are: 120 instructions of an await.
//!
//! Tests: `test.rs`, and `foreign_code::waking`.

mod signal;
#[cfg(all(test, not(loom)))]
mod test;

pub(crate) use signal::Signal;

use crate::queue::parked::Resumable;
use crate::record::header::Header;
use crate::record::held::EndWaiter;
use crate::record::state::{self, CancelFound};
use crate::record::task::{HeapRecord, Runnable, TaskRef};
use crate::sched::pool::{Origin, Pool};
use crate::sched::priority::PriorityQueue;
use crate::sched::user_code::StoredWaker;
use crate::sched::worker::{self, Role, Worker};
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::task::{RawWaker, RawWakerVTable, Waker};

const LOW: u32 = 3;
const ADDRESS: usize = (1 << 48) - 64;
/// Tag of a record's waker in a `waiter` word.
const TASK: usize = 4;
/// Tag of a reference to a [`Signal`] there.
const SIGNAL: usize = 5;
/// Tag of a boxed waker there.
const BOXED: usize = 6;
const TAG: usize = 7;

// A signal's address has room for a tag.
const _: () = assert!(align_of::<Signal>() > TAG);

/// The word for this record, which is a future of this generation.
#[inline(always)]
fn pack(record: *mut Header, generation: u32) -> *mut () {
    let (low, high) = (generation as usize & 7, generation as usize >> LOW);
    record.map_addr(|a| a | low << 3 | high << 48).cast()
}

#[inline(always)]
fn unpack(word: *const ()) -> (*mut Header, u32) {
    let generation = word.addr() >> 3 & 7 | word.addr() >> 48 << LOW;
    (word.map_addr(|a| a & ADDRESS).cast_mut().cast(), generation as u32)
}

/// The tables of wakers that are ours, as numbers in [`TABLES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
enum OwnTable {
    /// Of a future: it goes to whoever wakes it.
    Task,
    /// Of a future of [`PriorityQueue::Interactive`].
    Interactive,
    /// Of a future of [`PriorityQueue::Background`].
    Background,
    /// Of `block_on`.
    Signal,
}

/// All of ours, side by side: one comparison says whether a waker is.
static TABLES: [RawWakerVTable; 4] = [
    RawWakerVTable::new(
        |word| RawWaker::new(word, OwnTable::Task.table()),
        // SAFETY: the data of this table's wakers is a packed word.
        |word| unsafe { wake(word) },
        // SAFETY: the data of this table's wakers is a packed word.
        |word| unsafe { wake(word) },
        |_| (),
    ),
    RawWakerVTable::new(
        |word| RawWaker::new(word, OwnTable::Interactive.table()),
        // SAFETY: the data of this table's wakers is a packed word.
        |word| unsafe { wake_into(word, PriorityQueue::Interactive) },
        // SAFETY: the data of this table's wakers is a packed word.
        |word| unsafe { wake_into(word, PriorityQueue::Interactive) },
        |_| (),
    ),
    RawWakerVTable::new(
        |word| RawWaker::new(word, OwnTable::Background.table()),
        // SAFETY: the data of this table's wakers is a packed word.
        |word| unsafe { wake_into(word, PriorityQueue::Background) },
        // SAFETY: the data of this table's wakers is a packed word.
        |word| unsafe { wake_into(word, PriorityQueue::Background) },
        |_| (),
    ),
    RawWakerVTable::new(
        |signal| {
            // SAFETY: the data of this table's wakers is a reference of an `Arc`, which the waker
            // that is cloned keeps.
            unsafe { Arc::increment_strong_count(signal.cast::<Signal>()) };
            RawWaker::new(signal, OwnTable::Signal.table())
        },
        // SAFETY: the data of this table's wakers is a reference of an `Arc`; this waker's is given
        // up by its wake.
        |signal| notify(worker::current().as_deref(), &*unsafe { Arc::from_raw(signal.cast::<Signal>()) }),
        // SAFETY: the data of this table's wakers is a reference of an `Arc`, which this one keeps.
        |signal| notify(worker::current().as_deref(), unsafe { &*signal.cast::<Signal>() }),
        // SAFETY: the data of this table's wakers is a reference of an `Arc`; this waker's is given
        // up by its drop.
        |signal| drop(unsafe { Arc::from_raw(signal.cast::<Signal>()) }),
    ),
];

impl OwnTable {
    #[inline(always)]
    fn table(self) -> &'static RawWakerVTable {
        &TABLES[self as usize]
    }

    /// Has this waker this table?
    #[inline(always)]
    fn is(self, waker: &Waker) -> bool {
        std::ptr::eq(waker.vtable(), self.table())
    }
}

/// Is it one of our own wakers, which run no user code?
#[inline(always)]
pub(crate) fn is_ours(waker: &Waker) -> bool {
    let table = std::ptr::from_ref(waker.vtable()).addr();
    table.wrapping_sub(TABLES.as_ptr().addr()) < size_of_val(&TABLES)
}

/// The waker of the future in this record, now. (Of no future it wakes nothing.)
#[inline(always)]
pub(crate) fn waker_of(record: HeapRecord) -> Waker {
    waker_with(record, None)
}

/// The same of a future with a priority.
pub(crate) fn waker_into(record: HeapRecord, queue: PriorityQueue) -> Waker {
    waker_with(record, Some(queue))
}

#[inline(always)]
fn waker_with(record: HeapRecord, queue: Option<PriorityQueue>) -> Waker {
    let own = match queue {
        None => OwnTable::Task,
        Some(PriorityQueue::Interactive) => OwnTable::Interactive,
        Some(PriorityQueue::Background) => OwnTable::Background,
    };
    let generation = state::generation(record.state().load(myriad_base::sys::atomic::Ordering::Relaxed));
    // SAFETY: the tables' functions keep the contract of `RawWaker`: thread-safe, nothing to free.
    // The data is a packed word, as futures' tables want it, of a record that may be looked at for
    // ever.
    unsafe { Waker::from_raw(RawWaker::new(pack(record.as_ptr(), generation), own.table())) }
}

/// A waker with a signal of its own.
pub(crate) fn waker_of_signal() -> Waker {
    let signal = Arc::into_raw(Arc::new(Signal::new()));
    // SAFETY: the table's functions keep the contract of `RawWaker`: the data is a reference of an
    // `Arc`, `Signal` is `Sync`, and each waker has one reference, which its wake or drop gives up.
    unsafe { Waker::from_raw(RawWaker::new(signal.cast(), OwnTable::Signal.table())) }
}

/// The signal of a waker of [`waker_of_signal`].
#[inline(always)]
pub(crate) fn signal_of(waker: &Waker) -> Option<&Signal> {
    // SAFETY: the data of wakers of this table is a reference to a signal, and the waker keeps it
    // for as long as it is borrowed.
    OwnTable::Signal.is(waker).then(|| unsafe { &*waker.data().cast::<Signal>() })
}

/// The future that this word wakes, if this wake is the one that queues it.
///
/// # Safety
/// `word` was made by `pack`.
#[inline]
unsafe fn woken(word: *const ()) -> Option<Runnable> {
    let (record, generation) = unpack(word);
    // SAFETY: record memory is never unmapped, and `state` is always an atomic word there. A wake
    // that says so makes the task the caller's to queue.
    unsafe { state::wake((*record).state(), generation).then(|| Runnable::from_raw(record)) }
}

/// # Safety
/// `word` was made by `pack`.
#[inline]
unsafe fn wake(word: *const ()) {
    // SAFETY: `pack` has made the word (this function's contract).
    if let Some(task) = unsafe { woken(word) } {
        worker::schedule(task);
    }
}

/// # Safety
/// `word` was made by `pack`.
unsafe fn wake_into(word: *const (), queue: PriorityQueue) {
    // SAFETY: `pack` has made the word (this function's contract).
    if let Some(task) = unsafe { woken(word) } {
        queue_into(task, queue);
    }
}

/// Queues a future that was woken in the queue of its priority.
pub(crate) fn queue_into(task: Runnable, queue: PriorityQueue) {
    Pool::of_task(task.task_ref()).inject_into(Some(queue), task, Origin::Wake);
}

/// Wakes who waits in `block_on`.
#[inline]
fn notify(w: Option<&Worker>, signal: &Signal) {
    if let Some(node) = signal.notify() {
        worker::wake_node(w, node);
    }
}

/// The future in this record, which the caller has just marked as cancelled by a SeqCst exchange,
/// if it waited: the caller queues it. And whether its next poll sees the mark; if not, its own
/// code may be blocked.
pub(crate) fn woken_by_cancellation(task: TaskRef<'_>) -> (Option<Runnable>, bool) {
    let found = state::for_cancellation(task.state());
    // SAFETY: a wake that says so makes it the caller's to queue.
    let woken = (found == CancelFound::Idle).then(|| unsafe { Runnable::from_raw(task.as_ptr()) });
    (woken, found != CancelFound::Runs)
}

/// The word for `waiter` that stands for this waker, if it needs no box.
#[inline(always)]
fn plain_waiter(waker: &Waker) -> Option<*mut ()> {
    let tag = if OwnTable::Task.is(waker) {
        TASK
    } else if OwnTable::Signal.is(waker) {
        SIGNAL
    } else {
        return None;
    };
    Some(waker.data().cast_mut().map_addr(|a| a | tag))
}

/// A clone of a waker for `waiter`: those of futures and signals as they are, others in a box.
pub(crate) fn to_waiter(waker: &Waker) -> EndWaiter {
    let word = match plain_waiter(waker) {
        Some(word) => {
            // (The word has the reference. A future's waker has none.)
            _ = ManuallyDrop::new(waker.clone());
            word
        }
        None => Box::into_raw(Box::new(StoredWaker::clone_of(waker))).cast::<()>().map_addr(|a| a | BOXED),
    };
    // SAFETY: a fresh word with a tag, so it is no null, and not that of an end.
    unsafe { EndWaiter::from_raw(word) }
}

/// Drops what `to_waiter` made.
pub(crate) fn drop_waiter(waiter: EndWaiter) {
    match waiter.addr() & TAG {
        // SAFETY: it has the tag of a box.
        BOXED => unsafe { from_box(waiter) }.discard(),
        // SAFETY: it has the tag of a signal.
        SIGNAL => drop(unsafe { from_signal(waiter) }),
        _ => {}
    }
}

/// # Safety
/// It has the tag [`SIGNAL`].
unsafe fn from_signal(waiter: EndWaiter) -> Arc<Signal> {
    // SAFETY: the word has the tag of a signal (this function's contract) and is nowhere else
    // (`EndWaiter`): without the tag it is a reference of an `Arc`, which `to_waiter` took.
    unsafe { Arc::from_raw(waiter.into_raw().map_addr(|a| a & !TAG).cast::<Signal>()) }
}

/// # Safety
/// It has the tag [`BOXED`].
unsafe fn from_box(waiter: EndWaiter) -> StoredWaker {
    // SAFETY: the word has the tag of a box (this function's contract) and is nowhere else
    // (`EndWaiter`): without the tag it is the address of the `StoredWaker` that `to_waiter` has
    // put into a box.
    *unsafe { Box::from_raw(waiter.into_raw().map_addr(|a| a & !TAG).cast::<StoredWaker>()) }
}

/// Does this waiter word wake what this waker wakes? (Boxes are not looked into: the runner may be
/// taking one out. A signal that `waker` keeps is at no other's address.)
pub(crate) fn is_same(waiter: usize, waker: &Waker) -> bool {
    plain_waiter(waker).is_some_and(|word| word.addr() == waiter)
}

/// Wakes whoever waits there, and frees the word.
#[inline]
pub(crate) fn wake_waiter_as(w: Role, waiter: EndWaiter) -> Role {
    match waiter.addr() & TAG {
        // SAFETY: tag 0 is a blocked node, and the word is ours alone (`EndWaiter`).
        0 => worker::wake_node(Some(&w), unsafe { Resumable::from_raw(waiter.into_raw().cast()) }),
        // SAFETY: tag TASK is a packed word.
        TASK => unsafe { wake(waiter.into_raw().map_addr(|a| a & !TAG)) },
        _ => return wake_counted(w, waiter),
    }
    w
}

/// Apart, so that it costs the others nothing. It has the tag [`SIGNAL`] or [`BOXED`].
#[inline(never)]
fn wake_counted(w: Role, waiter: EndWaiter) -> Role {
    match waiter.addr() & TAG {
        SIGNAL => {
            // SAFETY: it has a signal's tag.
            notify(Some(&w), &*unsafe { from_signal(waiter) });
            w
        }
        // SAFETY: it has a box's tag.
        BOXED => unsafe { from_box(waiter) }.wake_as(w),
        _ => wake_waiter_as(w, waiter),
    }
}

/// Wakes whoever waits there, and frees the word, on any thread.
pub(crate) fn wake_waiter(w: Option<Role>, waiter: EndWaiter) -> Option<Role> {
    if let Some(w) = w {
        return Some(wake_waiter_as(w, waiter));
    }
    // SAFETY: the word is ours alone (`EndWaiter`); tag 0 is a blocked node, TASK a packed word,
    // SIGNAL a signal's reference, BOXED a box of ours.
    unsafe {
        match waiter.addr() & TAG {
            0 => worker::wake_node(None, Resumable::from_raw(waiter.into_raw().cast())),
            TASK => wake(waiter.into_raw().map_addr(|a| a & !TAG)),
            SIGNAL => notify(None, &from_signal(waiter)),
            _ => from_box(waiter).wake(),
        }
    }
    None
}

/// A waker in one word: that of a task as it is, that of `block_on` as a reference, any other in a
/// box. It is [woken](Self::wake) or [discarded](Self::discard), not under a lock, for it may be
/// user code; dropping it does nothing.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a waker that is neither woken nor discarded leaks"]
pub struct WakerWord(EndWaiter);

// SAFETY: it stands for a `Waker`, which may be woken and dropped on any thread.
unsafe impl Send for WakerWord {}

impl WakerWord {
    /// If it is that of a task: a copy, which may be made, and given up, under a lock.
    #[inline(always)]
    pub fn of_task(waker: &Waker) -> Option<WakerWord> {
        // SAFETY: a packed word with its tag: it is no null, and not that of an end.
        let word = || unsafe { EndWaiter::from_raw(waker.data().cast_mut().map_addr(|a| a | TASK)) };
        OwnTable::Task.is(waker).then(|| WakerWord(word()))
    }

    /// A clone, which is user code: so it is made where nothing is locked and nothing half done.
    pub fn clone_of(waker: &Waker) -> WakerWord {
        WakerWord(to_waiter(waker))
    }

    /// Does it wake what this waker wakes? (If not, it may do so all the same.)
    pub fn will_wake(&self, waker: &Waker) -> bool {
        if self.0.addr() & TAG != BOXED {
            return is_same(self.0.addr(), waker);
        }
        // SAFETY: without its tag it is the address of the box, which this value has.
        unsafe { (*self.0.as_ptr().map_addr(|a| a & !TAG).cast::<StoredWaker>()).will_wake(waker) }
    }

    /// Is this the address of a [word](Self::into_raw), and not of something that is aligned to 8
    /// bytes, or null?
    #[inline(always)]
    pub fn is_raw(word: *const ()) -> bool {
        word.addr() & TAG != 0
    }

    /// The word. The waker goes with it.
    #[inline(always)]
    pub fn into_raw(self) -> *mut () {
        self.0.into_raw()
    }

    /// The waker again.
    ///
    /// # Safety
    /// The word came from [`into_raw`](Self::into_raw), and no waker that was made of it since was
    /// woken or discarded.
    #[inline(always)]
    pub unsafe fn from_raw(word: *mut ()) -> WakerWord {
        // SAFETY: it is that of an `EndWaiter`, and nobody else makes use of it (this function's
        // contract).
        WakerWord(unsafe { EndWaiter::from_raw(word) })
    }

    /// Wakes. A panic of a foreign waker is reported.
    #[inline(always)]
    pub fn wake(self) {
        if self.0.addr() & TAG == TASK {
            // SAFETY: tag TASK is a packed word.
            unsafe { wake(self.0.into_raw().map_addr(|a| a & !TAG)) }
        } else {
            self.wake_other();
        }
    }

    #[cold]
    #[inline(never)]
    fn wake_other(self) {
        _ = wake_waiter(worker::current(), self.0);
    }

    /// It is not to be woken.
    #[inline(always)]
    pub fn discard(self) {
        if self.0.addr() & TAG != TASK {
            drop_waiter(self.0);
        }
    }
}
