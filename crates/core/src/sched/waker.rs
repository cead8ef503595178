//! Wakers of futures, as plain words: a record's address and generation.
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
//! The same word with tag [`TASK`] stands in `waiter` of the task that a future awaits; a foreign
//! waker stands there as a box with tag [`BOXED`]; tag 0 is the node of a blocked task or thread.

use crate::queue::parked::Resumable;
use crate::record::header::Header;
use crate::record::state;
use crate::record::task::Runnable;
use crate::sched::user_code::StoredWaker;
use crate::sched::worker::{self, Role};
use std::task::{RawWaker, RawWakerVTable, Waker};

const LOW: u32 = 3;
const ADDRESS: usize = (1 << 48) - 64;
/// Tag of a record's waker in a `waiter` word.
const TASK: usize = 4;
/// Tag of a boxed waker there.
const BOXED: usize = 6;
const TAG: usize = 7;

/// The word for this record, which is a future of this generation.
#[inline(always)]
pub(crate) fn pack(record: *mut Header, generation: u32) -> *mut () {
    let (low, high) = (generation as usize & 7, generation as usize >> LOW);
    record.map_addr(|a| a | low << 3 | high << 48).cast()
}

#[inline(always)]
pub(crate) fn unpack(word: *const ()) -> (*mut Header, u32) {
    let generation = word.addr() >> 3 & 7 | word.addr() >> 48 << LOW;
    (word.map_addr(|a| a & ADDRESS).cast_mut().cast(), generation as u32)
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    |word| RawWaker::new(word, &VTABLE),
    // SAFETY: the data of this table's wakers is a packed word.
    |word| unsafe { wake(word) },
    // SAFETY: the data of this table's wakers is a packed word.
    |word| unsafe { wake(word) },
    |_| (),
);

/// The waker of a future in this record, now.
///
/// # Safety
/// The record is a live future.
#[inline(always)]
pub(crate) unsafe fn waker_of(record: *mut Header) -> Waker {
    // SAFETY: the record is a live future (this function's contract), and `state` is atomic.
    let generation = state::generation(unsafe { (*record).state.load(myriad_base::sys::atomic::Ordering::Relaxed) });
    // SAFETY: the table's functions keep the contract of `RawWaker`: thread-safe, nothing to free.
    unsafe { Waker::from_raw(RawWaker::new(pack(record, generation), &VTABLE)) }
}

/// # Safety
/// `word` was made by `pack`.
#[inline]
unsafe fn wake(word: *const ()) {
    let (record, generation) = unpack(word);
    // SAFETY: record memory is never unmapped, and `state` is always an atomic word there.
    if state::wake(unsafe { &(*record).state }, generation) {
        // SAFETY: the wake made the task ours to queue.
        worker::schedule(unsafe { Runnable::from_raw(record) });
    }
}

/// Is it one of these wakers, which neither wait nor panic?
#[inline(always)]
pub(crate) fn is_ours(waker: &Waker) -> bool {
    std::ptr::eq(waker.vtable(), &VTABLE)
}

/// Wakes the future in this record, which the caller has just marked as cancelled by a SeqCst
/// exchange.
///
/// # Safety
/// The record is alive.
pub(crate) unsafe fn wake_cancelled(record: *mut Header) {
    // SAFETY: the record is alive; a wake that says so makes it ours to queue.
    unsafe {
        if state::for_cancellation(&(*record).state) {
            worker::schedule(Runnable::from_raw(record));
        }
    }
}

/// A waker as a word for `waiter`: our own as they are, others in a box.
pub(crate) fn to_waiter(waker: &Waker) -> *mut () {
    if is_ours(waker) {
        return waker.data().cast_mut().map_addr(|a| a | TASK);
    }
    Box::into_raw(Box::new(StoredWaker::clone_of(waker))).cast::<()>().map_addr(|a| a | BOXED)
}

/// Drops what `to_waiter` made.
///
/// # Safety
/// `waiter` came from `to_waiter` and is nowhere else.
pub(crate) unsafe fn drop_waiter(waiter: *mut ()) {
    if waiter.addr() & TAG == BOXED {
        // SAFETY: a box of ours, untagged, which nobody else has.
        unsafe { from_box(waiter) }.discard();
    }
}

/// # Safety
/// A word with the tag [`BOXED`] that came from `to_waiter` and is nowhere else.
unsafe fn from_box(waiter: *mut ()) -> StoredWaker {
    // SAFETY: the word has the tag of a box and is nowhere else (this function's contract): without
    // the tag it is the address of the `StoredWaker` that `to_waiter` has put into a box.
    *unsafe { Box::from_raw(waiter.map_addr(|a| a & !TAG).cast::<StoredWaker>()) }
}

/// Is this waiter word a plain one of the task that this waker wakes? (Boxes are not looked into:
/// the runner may be taking one out.)
pub(crate) fn is_same_task(waiter: *mut (), waker: &Waker) -> bool {
    waiter.addr() & TAG == TASK && std::ptr::eq(waker.vtable(), &VTABLE) && waiter.addr() & !TAG == waker.data().addr()
}

/// Wakes whoever a `waiter` word stands for, and frees the word.
///
/// # Safety
/// The word was taken out of a `waiter` by [`Header::complete`], so it is ours alone.
#[inline]
pub(crate) unsafe fn wake_waiter_as(w: Role, waiter: *mut ()) -> Role {
    match waiter.addr() & TAG {
        // SAFETY: tag 0 is a blocked node, and the word is ours alone.
        0 => worker::wake_node(Some(&w), unsafe { Resumable::from_raw(waiter.cast()) }),
        // SAFETY: tag TASK is a packed word.
        TASK => unsafe { wake(waiter.map_addr(|a| a & !TAG)) },
        // SAFETY: a box of ours.
        _ => return unsafe { wake_boxed(w, waiter) },
    }
    w
}

/// # Safety
/// `waiter` has the tag [`BOXED`], and was taken out of a record's `waiter` by
/// [`Header::complete`], so it is the caller's alone.
#[cold]
#[inline(never)]
unsafe fn wake_boxed(w: Role, waiter: *mut ()) -> Role {
    // SAFETY: the word is ours alone.
    unsafe { from_box(waiter) }.wake_as(w)
}

/// Wakes whoever a `waiter` word stands for, and frees the word, on any thread.
///
/// # Safety
/// `waiter` was taken out of a record's `waiter` by [`Header::complete`], so it is the caller's
/// alone.
pub(crate) unsafe fn wake_waiter(w: Option<Role>, waiter: *mut ()) -> Option<Role> {
    // SAFETY: the word is ours alone, and woken once; tag 0 is a blocked node, TASK a packed word,
    // BOXED a box of ours.
    unsafe {
        match w {
            Some(w) => return Some(wake_waiter_as(w, waiter)),
            None => match waiter.addr() & TAG {
                0 => worker::wake_node(None, Resumable::from_raw(waiter.cast())),
                TASK => wake(waiter.map_addr(|a| a & !TAG)),
                _ => from_box(waiter).wake(),
            },
        }
    }
    None
}
