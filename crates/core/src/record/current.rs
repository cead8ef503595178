//! The word that says what a worker runs.

use super::header::{Header, Run};
use super::task::TaskRef;
use myriad_base::sys::atomic::{AtomicPtr, Ordering::*};
use std::cell::{Cell, UnsafeCell};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::panic::Location;
use std::ptr::NonNull;
#[cfg(loom)]
use std::ptr::null_mut;

const CONTEXT: usize = 1;

/// What runs where no task does: destructors, wakers. It may block, as a task does, and is never
/// cancelled, so it has a record to be blocked in; all have the same one, in which nobody looks.
#[cfg(not(loom))]
static NOBODY: Nobody = Nobody(Header::nobody());

#[cfg(not(loom))]
#[repr(transparent)]
struct Nobody(Header);

// SAFETY: nobody runs or completes this record, so its cells, which make a header `!Sync`, keep
// what `Header::nobody` wrote; its other words are atomic or never written.
#[cfg(not(loom))]
unsafe impl Sync for Nobody {}

/// Nothing, a task's record, or the context of a task (tagged), which names the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct CurrentTask(*mut ());

/// The first part of a task's context: what a [`CurrentTask`] has to know of it. The rest belongs
/// to task-locals.
///
/// A context is record memory, so a late look at a record that was here reads a context.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct ContextHead {
    /// The task; null for a thread's own.
    pub(crate) record: Cell<*mut Header>,
    /// The record's own `run`, while another one stands there.
    pub(crate) run: Cell<Option<Run>>,
    /// Any location: where a record has one, so that a late look at a record that was here finds
    /// one ([`crate::sched::pool`]).
    pub(crate) location: &'static Location<'static>,
    /// Kind and state of the record memory that this is.
    untouched: UnsafeCell<MaybeUninit<u64>>,
    /// See [`CurrentTask::cancel_record`].
    pub(crate) cancel_record: Cell<*const Header>,
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(ContextHead, location) == offset_of!(Header, location) || cfg!(loom));
    assert!(offset_of!(ContextHead, untouched) == offset_of!(Header, kind) || cfg!(loom));
    // A late look at where the record that was here waits (`idx`) finds an address, which is no
    // location and no position that is in use.
    assert!(offset_of!(ContextHead, cancel_record) == offset_of!(Header, idx) || cfg!(loom));
    // `CurrentTask` tags the address of either in its lowest bit.
    assert!(align_of::<ContextHead>() > 1 && align_of::<Header>() > 1);
    assert!(offset_of!(Header, state) + 4 == offset_of!(Header, kind) + 8 || cfg!(loom));
};

impl CurrentTask {
    /// No task runs.
    #[cfg(not(loom))]
    pub(crate) const NOTHING: CurrentTask = CurrentTask((&raw const NOBODY).cast_mut().cast());
    /// No task runs. (In a model no worker does.)
    #[cfg(loom)]
    pub const NOTHING: CurrentTask = CurrentTask(null_mut());

    /// A task without a context.
    #[inline(always)]
    pub(crate) fn of_task(record: *mut Header) -> CurrentTask {
        CurrentTask(record.cast())
    }

    /// A task with this context.
    #[inline(always)]
    pub(crate) fn of_context(context: *mut ContextHead) -> CurrentTask {
        CurrentTask(context.map_addr(|a| a | CONTEXT).cast())
    }

    /// Is it a context?
    #[inline(always)]
    pub(crate) fn has_context(self) -> bool {
        self.0.addr() & CONTEXT != 0
    }

    /// The head of the context; a pointer to the whole, as [`of_context`](Self::of_context) got it.
    #[inline(always)]
    pub(crate) fn head(self) -> *mut ContextHead {
        debug_assert!(self.has_context());
        self.0.map_addr(|a| a & !CONTEXT).cast()
    }

    /// The task's record; if none runs, a record that is nobody's.
    ///
    /// # Safety
    /// The word is that of a task that has not ended; or the result is compared, and no more.
    #[inline(always)]
    pub(crate) unsafe fn record(self) -> *const Header {
        if self.has_context() {
            // SAFETY: contexts are record memory, which is always readable.
            return unsafe { (*self.head()).record.get() };
        }
        self.0.cast()
    }

    /// The record that says where the task waits, and whether it is cancelled: its own, or that of
    /// the stack on which it goes on for a while (a `Loan`).
    ///
    /// # Safety
    /// The word is that of what runs here, or of what stands below it on the same stack.
    #[inline(always)]
    pub(crate) unsafe fn cancel_record(self) -> *const Header {
        if self.has_context() {
            // SAFETY: the word is that of a task on this stack (this function's contract), which
            // keeps its context until the task ends.
            return unsafe { (*self.head()).cancel_record.get() };
        }
        self.0.cast()
    }

    /// The same, as a reference.
    ///
    /// # Safety
    /// The word is that of what runs here, or of what stands below it on the same stack, and stays
    /// there as long as `'a`.
    #[inline(always)]
    pub(crate) unsafe fn runs_here<'a>(self) -> RunsHere<'a> {
        // SAFETY: the word is that of what runs here (this function's contract), so the record is
        // its own, or a static, and lives as long.
        unsafe { RunsHere(NonNull::new_unchecked(self.cancel_record().cast_mut()), PhantomData) }
    }

    /// As an address, for `record::position`.
    #[inline(always)]
    pub(crate) fn expose(self) -> usize {
        self.0.expose_provenance()
    }

    /// The word of an address.
    ///
    /// # Safety
    /// `address` was returned by [`expose`](Self::expose) of a word whose task has not ended.
    pub(crate) unsafe fn exposed(address: usize) -> CurrentTask {
        CurrentTask(std::ptr::with_exposed_provenance_mut(address))
    }

    /// The same as [`record`](Self::record) of another worker, whose task may end at any time: a
    /// guess, to be compared, or to be confirmed
    /// ([`Pool::name_running`](crate::sched::pool::Pool::name_running)).
    pub(crate) fn record_elsewhere(self) -> *const Header {
        if self.has_context() {
            // SAFETY: a context is record memory, which is always readable; the word is aligned.
            // Atomic, for somebody may write there.
            let record: &std::sync::atomic::AtomicPtr<Header> =
                unsafe { std::sync::atomic::AtomicPtr::from_ptr((&raw mut (*self.head()).record).cast()) };
            return record.load(Relaxed).cast_const();
        }
        self.0.cast()
    }

    /// Is this the record that stands for no task?
    pub(crate) fn is_nobody(record: *const Header) -> bool {
        std::ptr::eq(record, CurrentTask::nobody())
    }

    /// The record that stands for no task.
    pub(crate) fn nobody() -> *const Header {
        CurrentTask::NOTHING.0.cast()
    }

    /// As a number, to compare.
    pub(crate) fn addr(self) -> usize {
        self.0.addr()
    }
}

/// The record that says where what runs here waits, and whether it is cancelled: a task's own, that
/// of the stack on which it goes on for a while ([`CurrentTask::cancel_record`]), or nobody's.
///
/// **Invariant.** It lives as long as `'a`, which is no longer than what runs here does.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct RunsHere<'a>(NonNull<Header>, PhantomData<&'a Header>);

impl<'a> RunsHere<'a> {
    /// The record.
    #[inline(always)]
    pub(crate) fn header(self) -> &'a Header {
        // SAFETY: it lives as long as `'a` (the type's invariant).
        unsafe { self.0.as_ref() }
    }

    /// Where it is, to compare, or to be stored while it lives.
    #[inline(always)]
    pub(crate) fn as_ptr(self) -> *const Header {
        self.0.as_ptr()
    }

    /// The task, if one runs here.
    pub(crate) fn task(self) -> Option<TaskRef<'a>> {
        // SAFETY: it lives as long as `'a` (the type's invariant), and is a task's.
        (!CurrentTask::is_nobody(self.as_ptr())).then(|| unsafe { TaskRef::from_raw(self.0.as_ptr()) })
    }
}

/// What a worker runs now: written by the worker, read also by whoever asks what it is stuck in.
#[derive(Debug)]
pub(crate) struct Running(AtomicPtr<()>);

impl Running {
    /// No task.
    pub(crate) fn nothing() -> Running {
        Running(AtomicPtr::new(CurrentTask::NOTHING.0))
    }
    /// The word.
    #[inline(always)]
    pub(crate) fn get(&self) -> CurrentTask {
        // Acquire: pairs with the Release in `set`: the record's position, for others.
        CurrentTask(self.0.load(Acquire))
    }
    /// Something else runs.
    #[inline(always)]
    pub(crate) fn set(&self, word: CurrentTask) {
        self.0.store(word.0, Release);
    }
    /// The same; what ran before.
    #[inline(always)]
    pub(crate) fn replace(&self, word: CurrentTask) -> CurrentTask {
        let before = CurrentTask(self.0.load(Relaxed));
        self.set(word);
        before
    }
    /// Has the running task a context? Asked by the worker itself.
    #[inline(always)]
    pub(crate) fn has_context(&self) -> bool {
        CurrentTask(self.0.load(Relaxed)).has_context()
    }
}
