//! A task as a value: a reference to its record, and the right to queue or run it.
//!
//! A task's record is reached by pointers of many holders: its handle, its waker, the scope that
//! waits for it. Which of them may *run* it does not follow from a pointer. So that right is a
//! value of its own, which can be moved and not copied: creation makes it, a queue takes it and
//! gives it back, a claim takes it out of the middle of a queue, and a run uses it up.
//!
//! ```text
//!   create -> Unstarted -> queue -> Runnable -> run                   a closure: once
//!                           |                   ^
//!                           `--- claim ---------'
//!   create, or wake -> Runnable -> queue -> Runnable -> poll          a future: at each wake
//! ```
//!
//! **Invariant.** While a value exists, its record lives, is in no queue, and is run by nobody; no
//! other value is of the same task. Who makes a value ([`Runnable::from_raw`]) has to know that;
//! all that takes one may rely on it.
//!
//! A [`TaskRef`] gives no such right: it says that the record is a task's and lives, and keeps the
//! pointer through which all of the record may be reached, behind its header too. How a task comes
//! to be stands in [`create`](super::create); who holds it, and who has what it left, in
//! [`held`](super::held).
//!
//! **Rejected.** A `Drop` that drops the task: a runnable task is never given up in silence, for
//! its joiner would wait for ever; what refuses one says so (`sched::finish`). So it is `must_use`.

use super::header::{Ended, Header, Kind, Mode};
use myriad_base::sys::atomic::{AtomicU8, AtomicU32};
use std::marker::PhantomData;
use std::mem;
use std::ptr::NonNull;

/// The record of a task, which lives as long as `'a`. See the module's header.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct TaskRef<'a>(NonNull<Header>, PhantomData<&'a Header>);

/// A closure that has not begun, or a future that was woken. See the module's header.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a task that nobody queues or runs never ends"]
pub(crate) struct Runnable(NonNull<Header>);

/// A [`Runnable`] closure: it is queued where its handle can
/// [claim](crate::queue::deque::OwnDeque::claim) it.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a task that nobody queues or runs never ends"]
pub(crate) struct Unstarted(Runnable);

// SAFETY: a task may begin on any thread; the value is the only one that is about this.
unsafe impl Send for Runnable {}

// As cheap as the pointer that it is, with null for "none".
const _: () = assert!(size_of::<Option<Runnable>>() == size_of::<usize>() && !mem::needs_drop::<Runnable>());

/// The address of a record, for who comes later: its task may have ended by then, and not every
/// record stands for ever.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RecordAddress {
    /// In memory for records.
    Heap(HeapRecord),
    /// In a frame, where it is not looked at unless it is found there once more.
    Frame(*const Header),
}

/// A record in memory for records, which may be looked at for ever: another task may be in it by
/// now, or none, but its words are what they are.
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct HeapRecord(NonNull<Header>);

impl HeapRecord {
    /// The record of this address.
    ///
    /// # Safety
    /// It is one in memory for records.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(record: *mut Header) -> HeapRecord {
        // SAFETY: a record is not at address 0.
        HeapRecord(unsafe { NonNull::new_unchecked(record) })
    }

    /// Where it is.
    #[inline(always)]
    pub(crate) fn as_ptr(self) -> *mut Header {
        self.0.as_ptr()
    }

    /// Its words: only those that are atomic mean something.
    #[inline(always)]
    pub(crate) fn header(self) -> &'static Header {
        // SAFETY: memory for records is never used for anything else, nor unmapped (the type's
        // invariant).
        unsafe { self.0.as_ref() }
    }

    /// The state of the future in it, if any is.
    #[inline(always)]
    pub(crate) fn state(self) -> &'static AtomicU32 {
        self.header().state()
    }

    /// The flags of the task in it, if any is.
    #[inline(always)]
    pub(crate) fn flags(self) -> &'static AtomicU8 {
        self.header().flags()
    }
}

impl<'a> TaskRef<'a> {
    /// The task of this record.
    ///
    /// # Safety
    /// The record is a task's, and lives as long as `'a`.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(task: *mut Header) -> TaskRef<'a> {
        // SAFETY: a record that lives is not at address 0.
        TaskRef(unsafe { NonNull::new_unchecked(task) }, PhantomData)
    }

    /// The record, to compare, or for one who may reach all of it.
    #[inline(always)]
    pub(crate) fn as_ptr(self) -> *mut Header {
        self.0.as_ptr()
    }

    /// Where its record is, for who may come when it is over.
    pub(crate) fn record_address(self) -> RecordAddress {
        if self.header().kind().has(Kind::ON_STACK) {
            RecordAddress::Frame(self.as_ptr())
        } else {
            RecordAddress::Heap(HeapRecord(self.0))
        }
    }

    /// The record.
    #[inline(always)]
    pub(crate) fn header(self) -> &'a Header {
        // SAFETY: the record lives as long as `'a`, and its words that others write are atomic.
        unsafe { self.0.as_ref() }
    }
}

impl std::ops::Deref for TaskRef<'_> {
    type Target = Header;
    #[inline(always)]
    fn deref(&self) -> &Header {
        self.header()
    }
}

impl Runnable {
    /// The right to queue or run the task of this record.
    ///
    /// # Safety
    /// The record lives, is in no queue, and is run by nobody; whoever had that right has given it
    /// away here.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(task: *mut Header) -> Runnable {
        // SAFETY: a record that lives is not at address 0.
        Runnable(unsafe { NonNull::new_unchecked(task) })
    }

    /// The same of what a slot of a queue held, where null says that there was nothing.
    ///
    /// # Safety
    /// Null; or as for [`from_raw`](Self::from_raw).
    #[inline(always)]
    pub(crate) unsafe fn from_slot(task: *mut Header) -> Option<Runnable> {
        NonNull::new(task).map(Runnable)
    }

    /// The record, for a slot of a queue, or for the one who runs it. The right goes with it.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> *mut Header {
        self.0.as_ptr()
    }

    /// Runs the task: a closure to its end, a future until it waits.
    #[inline(always)]
    pub(crate) fn run(self) -> Ended {
        // SAFETY: the record lives, nobody else runs the task (the type's invariant), and its
        // payload is the closure or the future.
        unsafe { Header::call(self.into_raw(), Mode::Run) }
    }

    /// Drops what is in it, which is the user's. The task has not ended by that.
    pub(crate) fn drop_payload(self) {
        // SAFETY: as in `run`; the payload is dropped once, for the right to it ends here.
        _ = unsafe { Header::call(self.into_raw(), Mode::DropUnstarted) };
    }

    /// Where the record is: to compare, to say what runs.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut Header {
        self.0.as_ptr()
    }

    /// The record.
    #[inline(always)]
    pub(crate) fn header(&self) -> &Header {
        // SAFETY: the record lives (the type's invariant), and its words that others write are
        // atomic.
        unsafe { self.0.as_ref() }
    }

    /// The task.
    #[inline(always)]
    pub(crate) fn task_ref(&self) -> TaskRef<'_> {
        TaskRef(self.0, PhantomData)
    }

    /// Is it a future's?
    #[inline(always)]
    pub(crate) fn is_future(&self) -> bool {
        self.header().kind().has(Kind::FUTURE)
    }

    /// As a closure that has not begun; back, if it is a future.
    #[inline(always)]
    pub(crate) fn into_unstarted(self) -> Result<Unstarted, Runnable> {
        if self.is_future() { Err(self) } else { Ok(Unstarted(self)) }
    }
}

impl Unstarted {
    /// The right to queue or run the closure of this record.
    ///
    /// # Safety
    /// As for [`Runnable::from_raw`], and the record is a closure's.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(task: *mut Header) -> Unstarted {
        // SAFETY: this function's contract contains that of `from_raw`.
        let task = unsafe { Runnable::from_raw(task) };
        debug_assert!(!task.is_future());
        Unstarted(task)
    }
}

impl std::ops::Deref for Unstarted {
    type Target = Runnable;
    #[inline(always)]
    fn deref(&self) -> &Runnable {
        &self.0
    }
}

impl From<Unstarted> for Runnable {
    #[inline(always)]
    fn from(task: Unstarted) -> Runnable {
        task.0
    }
}
