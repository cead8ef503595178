//! The word that says what a worker runs.

use super::Context;
use crate::sys::atomic::{AtomicPtr, Ordering::*};
use crate::task::header::Header;
use std::ptr::null_mut;

const CONTEXT: usize = 1;

/// Nothing, a task's record, or the context of a task (tagged), which names the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Word(*mut ());

impl Word {
    /// No task runs.
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

    /// The task's record; null if none runs.
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

    /// The same of another worker, whose task may end at any time: a guess, to be compared, or to be confirmed
    /// ([`Hub::name_running`](crate::runtime::hub::Hub::name_running)).
    pub fn record_elsewhere(self) -> *const Header {
        if self.has_context() {
            // SAFETY: readable; volatile, for somebody may write there.
            return unsafe { (&raw const (*self.context()).record).cast::<*const Header>().read_volatile() };
        }
        self.0.cast()
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
        Running(AtomicPtr::new(null_mut()))
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
