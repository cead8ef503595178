//! The word that says what a worker runs.

use super::Context;
use crate::sys::atomic::{AtomicPtr, Ordering::*};
use crate::task::header::Header;
#[cfg(loom)]
use std::ptr::null_mut;

const CONTEXT: usize = 1;

/// What runs where no task does: destructors, wakers. It may block, as a task does, and is never cancelled, so it has a record
/// to be blocked in; all have the same one, in which nobody looks.
#[cfg(not(loom))]
static NOBODY: Header = Header::nobody();

/// Nothing, a task's record, or the context of a task (tagged), which names the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Word(*mut ());

impl Word {
    /// No task runs.
    #[cfg(not(loom))]
    pub const NOTHING: Word = Word((&raw const NOBODY).cast_mut().cast());
    /// No task runs. (In a model no worker does.)
    #[cfg(loom)]
    pub const NOTHING: Word = Word(null_mut());

    /// A task without a context.
    #[inline(always)]
    pub fn of_task(record: *mut Header) -> Word {
        Word(record.cast())
    }

    /// A task with this context.
    #[inline(always)]
    pub fn of_context(context: *mut Context) -> Word {
        Word(context.map_addr(|a| a | CONTEXT).cast())
    }

    /// Is it a context?
    #[inline(always)]
    pub fn has_context(self) -> bool {
        self.0.addr() & CONTEXT != 0
    }

    /// The context.
    #[inline(always)]
    pub fn context(self) -> *mut Context {
        debug_assert!(self.has_context());
        self.0.map_addr(|a| a & !CONTEXT).cast()
    }

    /// The task's record; if none runs, a record that is nobody's.
    ///
    /// # Safety
    /// The word is that of a task that has not ended; or the result is compared, and no more.
    #[inline(always)]
    pub unsafe fn record(self) -> *const Header {
        if self.has_context() {
            // SAFETY: contexts are record memory, which is always readable.
            return unsafe { (*self.context()).record.get() };
        }
        self.0.cast()
    }

    /// The record that says where the task waits, and whether it is cancelled: its own, or that of the stack on which it goes on
    /// for a while ([`Loan`](super::Loan)).
    ///
    /// # Safety
    /// The word is that of what runs here, or of what stands below it on the same stack.
    #[inline(always)]
    pub unsafe fn seat(self) -> *const Header {
        if self.has_context() {
            // SAFETY: the caller: the task's context.
            return unsafe { (*self.context()).seat.get() };
        }
        self.0.cast()
    }

    /// As an address, for [`crate::cancel::place`].
    #[inline(always)]
    pub fn expose(self) -> usize {
        self.0.expose_provenance()
    }

    /// The word of an address.
    ///
    /// # Safety
    /// It is what [`expose`](Self::expose) has said of a word that is good still.
    pub unsafe fn exposed(address: usize) -> Word {
        Word(std::ptr::with_exposed_provenance_mut(address))
    }

    /// The same as [`record`](Self::record) of another worker, whose task may end at any time: a guess, to be compared, or to be confirmed
    /// ([`Hub::name_running`](crate::runtime::hub::Hub::name_running)).
    pub fn record_elsewhere(self) -> *const Header {
        if self.has_context() {
            // SAFETY: readable; volatile, for somebody may write there.
            return unsafe { (&raw const (*self.context()).record).cast::<*const Header>().read_volatile() };
        }
        self.0.cast()
    }

    /// Is this the record that stands for no task?
    pub fn is_nobody(record: *const Header) -> bool {
        std::ptr::eq(record, Word::nobody())
    }

    /// The record that stands for no task.
    pub fn nobody() -> *const Header {
        Word::NOTHING.0.cast()
    }

    /// As a number, to compare.
    pub fn addr(self) -> usize {
        self.0.addr()
    }
}

/// What a worker runs now: written by the worker, read also by whoever asks what it is stuck in.
#[derive(Debug)]
pub struct Running(AtomicPtr<()>);

impl Running {
    /// No task.
    pub fn nothing() -> Running {
        Running(AtomicPtr::new(Word::NOTHING.0))
    }
    /// The word.
    #[inline(always)]
    pub fn get(&self) -> Word {
        // Acquire: pairs with the Release in `set`: the record's place, for others.
        Word(self.0.load(Acquire))
    }
    /// Something else runs.
    #[inline(always)]
    pub fn set(&self, word: Word) {
        self.0.store(word.0, Release);
    }
    /// The same; what ran before.
    #[inline(always)]
    pub fn replace(&self, word: Word) -> Word {
        let before = Word(self.0.load(Relaxed));
        self.set(word);
        before
    }
    /// Has the running task a context? Asked by the worker itself.
    #[inline(always)]
    pub fn has_context(&self) -> bool {
        Word(self.0.load(Relaxed)).has_context()
    }
}
