//! Who holds a task, and who has what it left: the rights at a task's end, as values.
//!
//! ```text
//!   create -> HeldTask<T> -> (it has ended) -> Finished<T> -> the result and Emptied -> free
//!                 `--- detach ---> the runner -> Finished ---^
//! ```
//! A [`HeldTask`] is what a handle holds: the right to the result. A [`Finished`] is the right to
//! all of the record, once the task has ended: of the handle's holder, or, if it was detached, of
//! whoever has run it. An [`Emptied`] is a record with nothing in it, to be freed. Each is moved,
//! and not copied, so the outcome is taken once and the record freed once.
//!
//! **Rejected.** A `Drop` for each: what becomes of an outcome that nobody takes is user code, and
//! is for the floors above.

use super::header::{DONE, Header, Mode, Outcome};
use super::payload;
use super::task::TaskRef;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::unwind::Payload;
use std::marker::PhantomData;
use std::mem;
use std::ptr::{NonNull, null_mut};

/// The result of a task where nobody needs to know its type. (To take it out is to forget it.)
#[derive(Debug)]
pub(crate) struct Untyped;

/// The right to the result of a task, a `T`.
///
/// **Invariant.** Its record lives until this ends, and no other value is of the same task. What
/// waits for the end is what the holder has left there: a waker, or the node of a wait that it has
/// not left yet.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a task that nobody detaches is never freed"]
pub(crate) struct HeldTask<T>(NonNull<Header>, PhantomData<T>);

/// The end of this task is the caller's to wait for. A borrow of a [`HeldTask`], or of a task whose
/// record is in a frame.
///
/// **Invariant.** What waits for the end is a waker that the holder has left, or nothing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Awaited<'a>(TaskRef<'a>);

/// The right to the record of a task that has ended, with an outcome that, if it has returned, is a
/// `T`.
///
/// **Invariant.** `outcome` says what the payload is, and nobody else uses the record; but the
/// record of a task that was [left](Outcome::Left) stays that task's for ever.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "an outcome that nobody takes is never dropped"]
pub(crate) struct Finished<T>(NonNull<Header>, PhantomData<T>);

/// A record of the heap with nothing in it, which nobody else uses.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a record that nobody frees leaks"]
pub(crate) struct Emptied(NonNull<Header>);

/// What was left in `waiter`, and is nowhere else: a node to wake, or a waker to wake or to drop.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "what waits for the end is woken"]
pub(crate) struct EndWaiter(NonNull<()>);

/// What a runner finds when it has said that its task has ended.
#[derive(Debug)]
#[must_use = "what waits for the end is woken"]
pub(crate) enum Ending {
    /// The holder of the handle takes the outcome. The record is not touched any more.
    Held,
    /// Nobody holds the handle: the outcome is the runner's.
    Detached(Finished<Untyped>),
    /// This waits, and is to be woken. The record is not touched any more.
    Awaited(EndWaiter),
}

impl<T> HeldTask<T> {
    /// The right to the result of this record's task.
    ///
    /// # Safety
    /// The record lives, its result is a `T`, and it has no other handle: whoever had that right
    /// has given it away here.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(task: *mut Header) -> HeldTask<T> {
        // SAFETY: a record that lives is not at address 0.
        HeldTask(unsafe { NonNull::new_unchecked(task) }, PhantomData)
    }

    /// The record. The right goes with it.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> *mut Header {
        self.0.as_ptr()
    }

    /// The same right, whatever the result is.
    #[inline(always)]
    pub(crate) fn untyped(self) -> HeldTask<Untyped> {
        HeldTask(self.0, PhantomData)
    }

    /// The task.
    #[inline(always)]
    pub(crate) fn task_ref(&self) -> TaskRef<'_> {
        // SAFETY: the record lives as long as this (the type's invariant).
        unsafe { TaskRef::from_raw(self.0.as_ptr()) }
    }

    /// Its end, to wait for.
    #[inline(always)]
    pub(crate) fn awaited(&self) -> Awaited<'_> {
        Awaited(self.task_ref())
    }

    /// Its outcome, if it has ended.
    #[inline(always)]
    pub(crate) fn finished(self) -> Result<Finished<T>, HeldTask<T>> {
        if self.task_ref().is_done() { Ok(Finished(self.0, PhantomData)) } else { Err(self) }
    }

    /// Gives it up, if it has not ended and nothing waits.
    #[inline(always)]
    pub(crate) fn detach(self) -> Result<(), HeldTask<T>> {
        if self.task_ref().detach() { Ok(()) } else { Err(self) }
    }
}

impl<'a> Awaited<'a> {
    /// Of a task whose record is in a frame.
    ///
    /// # Safety
    /// The frame is the caller's, so nobody holds a handle of the task, and no waker is left.
    #[inline(always)]
    pub(crate) unsafe fn in_frame(task: TaskRef<'a>) -> Awaited<'a> {
        Awaited(task)
    }

    /// The task.
    #[inline(always)]
    pub(crate) fn task_ref(self) -> TaskRef<'a> {
        self.0
    }

    /// Takes out the waker that the holder has left there, if any is. The result is whether none is
    /// left; if one is, the task has ended.
    pub(crate) fn take_waker(self) -> (Option<EndWaiter>, bool) {
        let word = &self.0.header().waiter;
        let left = word.load(Acquire);
        if left.is_null() {
            return (None, true);
        }
        // Acquire on failure: it is DONE now; the outcome. Relaxed else: the word is ours again.
        if left == DONE || word.compare_exchange(left, null_mut(), Relaxed, Acquire).is_err() {
            return (None, false);
        }
        // What the exchange took out is a waker (the type's invariant), and nobody else has it.
        (NonNull::new(left).map(EndWaiter), true)
    }
}

impl<T> Finished<T> {
    /// The right to the record of a task that has ended.
    ///
    /// # Safety
    /// The task has ended, and `outcome` is written: the payload is what it says, a `T` if it has
    /// returned. Nobody else uses the record.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(task: *mut Header) -> Finished<T> {
        // SAFETY: a record is not at address 0.
        Finished(unsafe { NonNull::new_unchecked(task) }, PhantomData)
    }

    /// The same right, whatever the result is.
    #[inline(always)]
    pub(crate) fn untyped(self) -> Finished<Untyped> {
        Finished(self.0, PhantomData)
    }

    /// The task.
    #[inline(always)]
    pub(crate) fn task_ref(&self) -> TaskRef<'_> {
        // SAFETY: the record is there as long as this (the type's invariant).
        unsafe { TaskRef::from_raw(self.0.as_ptr()) }
    }

    /// How it has ended.
    #[inline(always)]
    pub(crate) fn outcome(&self) -> Outcome {
        self.task_ref().outcome.outcome()
    }

    /// Its result, if it has returned.
    #[inline(always)]
    pub(crate) fn into_value(self) -> Result<(T, Emptied), Finished<T>> {
        if self.outcome() != Outcome::Returned {
            return Err(self);
        }
        // SAFETY: the payload is what the outcome says, and nobody else uses the record (the type's
        // invariant), which ends here: so it is taken once.
        Ok((unsafe { payload::take::<T>(self.0.as_ptr()) }, Emptied(self.0)))
    }

    /// The payload of its panic, if that is how it has ended.
    #[inline]
    pub(crate) fn into_panic(self) -> Result<(Payload, Emptied), Finished<T>> {
        if self.outcome() != Outcome::Panicked {
            return Err(self);
        }
        // SAFETY: as in `into_value`.
        Ok((unsafe { payload::take::<Payload>(self.0.as_ptr()) }, Emptied(self.0)))
    }

    /// The payload of its panic, in place.
    pub(crate) fn panic(&self) -> Option<&Payload> {
        // SAFETY: the payload is what the outcome says, nobody else uses the record, and it stays
        // there while this is borrowed.
        (self.outcome() == Outcome::Panicked).then(|| unsafe { &*payload::get::<Payload>(self.0.as_ptr()) })
    }

    /// The record of a task that has left nothing in it; `None` if it was [left](Outcome::Left),
    /// where the record is not for anybody to free.
    pub(crate) fn into_nothing(self) -> Result<Option<Emptied>, Finished<T>> {
        match self.outcome() {
            Outcome::Dropped => Ok(Some(Emptied(self.0))),
            Outcome::Left => Ok(None),
            Outcome::Returned | Outcome::Panicked => Err(self),
        }
    }

    /// The outcome is dropped in `through`, which is to call what it is given. (If it does not, the
    /// outcome is forgotten.) `None`: the task was [left](Outcome::Left), with its record.
    pub(crate) fn drop_outcome<R>(self, through: impl FnOnce(&mut dyn FnMut()) -> R) -> (R, Option<Emptied>) {
        let task = self.0.as_ptr();
        let mut is_there = true;
        let result = through(&mut || {
            if mem::take(&mut is_there) {
                // SAFETY: the outcome is in the record, nobody else uses that (the type's
                // invariant), and it is dropped here once.
                _ = unsafe { ((*task).run.get())(task, Mode::DropOutcome) };
            }
        });
        (result, (self.outcome() != Outcome::Left).then_some(Emptied(self.0)))
    }
}

impl Emptied {
    /// A record without a payload.
    ///
    /// # Safety
    /// The record came from [`Memory::alloc`](super::memory::Memory::alloc), its payload is gone,
    /// and nobody else uses it.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(task: *mut Header) -> Emptied {
        // SAFETY: a record is not at address 0.
        Emptied(unsafe { NonNull::new_unchecked(task) })
    }

    /// The record.
    #[inline(always)]
    pub(crate) fn task_ref(&self) -> TaskRef<'_> {
        // SAFETY: the record is there as long as this (the type's invariant).
        unsafe { TaskRef::from_raw(self.0.as_ptr()) }
    }
}

impl EndWaiter {
    /// What this word of a `waiter` says.
    ///
    /// # Safety
    /// It is neither null nor one of the two words for ends, and was taken out, or made to be put
    /// in: so it is nowhere else.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(word: *mut ()) -> EndWaiter {
        // SAFETY: it is not null (this function's contract).
        EndWaiter(unsafe { NonNull::new_unchecked(word) })
    }

    /// The word. What it stands for goes with it.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> *mut () {
        self.0.as_ptr()
    }

    /// The word, to look at what it stands for.
    #[inline(always)]
    pub(crate) fn as_ptr(&self) -> *mut () {
        self.0.as_ptr()
    }

    /// The word, to look at its tag.
    #[inline(always)]
    pub(crate) fn addr(&self) -> usize {
        self.0.as_ptr().addr()
    }

    /// Leaves it in this record, to be woken at the end; back if the task has ended, or something
    /// is there.
    #[inline(always)]
    pub(crate) fn leave_in(self, task: Awaited<'_>) -> Result<(), EndWaiter> {
        if task.0.wait(self.0.as_ptr()) { Ok(()) } else { Err(self) }
    }
}
