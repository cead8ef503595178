//! How a task comes to be: its record is written, and two rights are made, to run it and to its
//! result.
//!
//! ```text
//!   Blank<P, T> -> Created<T>   a closure  -.-> (inherits) -> Unheld<T> -> the right to run it: for a queue
//!               -> NewFuture<T> a future   -'                          -> HeldTask<T>: for the handle
//!   a frame     -> InFrame      a closure whose record stands in a frame: it has no handle
//! ```
//! Until the two rights part nobody else knows the task. So its record may still be replaced by a
//! larger one, and who refuses the task drops it and frees the record.
//!
//! **One task, whatever its result.** What is rare, and not to be compiled for each type of result,
//! takes a `Created<OneTask<'_>>` and returns a `HeldTask<OneTask<'_>>`: [`Created::through`] makes
//! the first and takes the second. The lifetime belongs to that call alone, so the handle is that
//! of the task that was given.

use super::header::{Header, Kind, Outcome, Run, RunnerByte, TaskFlags};
use super::held::HeldTask;
use super::memory::{Memory, UNIT};
use super::payload;
use super::position::UNCLAIMED;
use super::state;
use super::step::{self, Step};
use super::task::{Runnable, Unstarted};
use myriad_base::sys::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::{NonNull, null_mut};

/// Memory for the record of a task: of a closure or future `P`, with a result `T`.
///
/// **Invariant.** It is record memory of the class for the two, and nobody else uses it.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "memory that no task uses leaks"]
pub(crate) struct Blank<P, T>(NonNull<Header>, PhantomData<fn(P) -> T>);

/// A closure that has not begun, and that nobody else knows yet: its record, in memory for records,
/// may still be replaced by another one, with more room. See the module's header.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a task that nobody queues or runs never ends"]
pub(crate) struct Created<T>(Unstarted, PhantomData<fn() -> T>);

/// A future that was never queued, that nobody else knows yet, and that has inherited nothing.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a task that nobody queues or runs never ends"]
pub(crate) struct NewFuture<T>(Runnable, PhantomData<fn() -> T>);

/// A task that nobody else knows yet, whatever it is: nobody holds it, and nobody waits for it.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a task that nobody queues or runs never ends"]
pub(crate) struct Unheld<T>(Runnable, PhantomData<fn() -> T>);

/// A closure that has not begun, and that nobody else knows yet, whose record stands in a frame
/// with a word for its context behind the header. The frame has its result: nobody holds it.
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "a task that nobody queues or runs never ends"]
pub(crate) struct InFrame(Unstarted);

/// The result of one task, which the lifetime tells from others, where its type is not needed. (To
/// take it out is to forget it.)
#[derive(Debug)]
pub(crate) struct OneTask<'a>(PhantomData<fn(&'a ()) -> &'a ()>);

impl<P, T> Blank<P, T> {
    /// The class of its memory.
    pub(crate) const CLASS: usize = payload::class::<P, T>();

    /// Of this memory.
    #[inline(always)]
    pub(crate) fn of(memory: &Memory) -> Blank<P, T> {
        // SAFETY: fresh memory of the class.
        unsafe { Blank::from_raw(memory.alloc(const { payload::class::<P, T>() }).cast()) }
    }

    /// # Safety
    /// `record` is memory of [`CLASS`](Self::CLASS) that nobody else uses.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(record: *mut Header) -> Blank<P, T> {
        // SAFETY: memory is not at address 0.
        Blank(unsafe { NonNull::new_unchecked(record) }, PhantomData)
    }

    /// A closure as a task that goes into a worker's own deque, which writes its position. `word`
    /// is what the kind words of that worker's tasks have in common.
    ///
    /// # Safety
    /// `run` is the function of records that hold a `P`, and then a `T`. Both may be used on any
    /// thread, and what they borrow outlives the task.
    #[inline(always)]
    pub(crate) unsafe fn closure_to_push(
        self,
        run: Run,
        word: KindWord,
        kind: Kind,
        closure: ManuallyDrop<P>,
        location: &'static Location<'static>,
    ) -> Created<T> {
        let record = self.0.as_ptr();
        // SAFETY: nobody else uses the memory, whose class has room for the closure (the type's
        // invariant; a `ManuallyDrop` is as its content). The rest is this function's contract.
        unsafe {
            write_queued_header(record, run, word.with(payload::kind::<P, T>(kind)), location);
            payload::put(record, closure);
            Created::from_raw(record)
        }
    }

    /// A closure as a task of the runtime of this number.
    ///
    /// # Safety
    /// As for [`closure_to_push`](Self::closure_to_push).
    #[inline(always)]
    pub(crate) unsafe fn closure(
        self,
        run: Run,
        kind: Kind,
        runtime: u8,
        closure: ManuallyDrop<P>,
        location: &'static Location<'static>,
    ) -> Created<T> {
        let record = self.0.as_ptr();
        // SAFETY: as in `closure_to_push`.
        unsafe {
            write_header(record, run, payload::kind::<P, T>(kind), runtime, location);
            payload::put(record, closure);
            Created::from_raw(record)
        }
    }

    /// A future as a task of the runtime of this number.
    ///
    /// # Safety
    /// As for [`closure_to_push`](Self::closure_to_push).
    #[inline(always)]
    pub(crate) unsafe fn future(
        self,
        run: Run,
        runtime: u8,
        future: ManuallyDrop<P>,
        location: &'static Location<'static>,
    ) -> NewFuture<T> {
        let record = self.0.as_ptr();
        // SAFETY: as in `closure_to_push`. The state is the new task's: nobody else uses the
        // memory.
        unsafe {
            write_header(record, run, const { payload::kind::<P, T>(Kind::FUTURE) }, runtime, location);
            state::begin(&(*record).state);
            payload::put(record, future);
            NewFuture(Runnable::from_raw(record), PhantomData)
        }
    }
}

impl<T> Created<T> {
    /// The closure of this record, which nobody else knows.
    ///
    /// # Safety
    /// As for [`Unstarted::from_raw`], and no pointer to the record is kept elsewhere. It is in
    /// memory for records, and its result is a `T`.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(record: *mut Header) -> Created<T> {
        // SAFETY: this function's contract contains that of `from_raw`.
        Created(unsafe { Unstarted::from_raw(record) }, PhantomData)
    }

    /// The record, which the caller alone knows. All rights go with it.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> *mut Header {
        Runnable::from(self.0).into_raw()
    }

    /// The right to run it, and that to its result: others may know it from now on.
    #[inline(always)]
    pub(crate) fn into_parts(self) -> (Unstarted, HeldTask<T>) {
        // SAFETY: the record is that of a task whose result is a `T`, and which has no other
        // handle: it was made, or came from, a `Created<T>`, which ends here.
        let held = unsafe { HeldTask::from_raw(self.0.address()) };
        (self.0, held)
    }

    /// What `f` has made of it: its handle. See the module's header.
    #[inline(always)]
    pub(crate) fn through(self, f: impl for<'a> FnOnce(Created<OneTask<'a>>) -> HeldTask<OneTask<'a>>) -> HeldTask<T> {
        // SAFETY: the lifetime is that of this call alone, and only this task has it: so the handle
        // is this task's, whose result is a `T`.
        unsafe { HeldTask::from_raw(f(Created(self.0, PhantomData)).into_raw()) }
    }
}

impl Created<()> {
    /// The right to run it: its handle is given up before there was one. (Nothing is left of a
    /// result that is nothing.)
    #[inline(always)]
    pub(crate) fn into_detached(self) -> Unstarted {
        self.0.header().detach_alone();
        self.0
    }
}

impl<T> NewFuture<T> {
    /// As [`Created::through`].
    #[inline(always)]
    pub(crate) fn through(
        self,
        f: impl for<'a> FnOnce(NewFuture<OneTask<'a>>) -> HeldTask<OneTask<'a>>,
    ) -> HeldTask<T> {
        // SAFETY: as in `Created::through`.
        unsafe { HeldTask::from_raw(f(NewFuture(self.0, PhantomData)).into_raw()) }
    }
}

impl<T> Unheld<T> {
    /// As [`Created::into_parts`].
    #[inline(always)]
    pub(crate) fn into_parts(self) -> (Runnable, HeldTask<T>) {
        // SAFETY: as in `Created::into_parts`.
        let held = unsafe { HeldTask::from_raw(self.0.address()) };
        (self.0, held)
    }

    /// Its handle is given up before there was one: so who drops the task frees its record.
    #[inline(always)]
    pub(crate) fn into_detached(self) -> Runnable {
        self.0.header().detach_alone();
        self.0
    }
}

impl InFrame {
    /// The closure of this record, which nobody else knows.
    ///
    /// # Safety
    /// As for [`Unstarted::from_raw`], and no pointer to the record is kept elsewhere. It is in a
    /// frame, with a word behind the header.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(record: *mut Header) -> InFrame {
        // SAFETY: this function's contract contains that of `from_raw`.
        InFrame(unsafe { Unstarted::from_raw(record) })
    }

    /// The record, which the caller alone knows.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> *mut Header {
        Runnable::from(self.0).into_raw()
    }

    /// Others may know it from now on.
    #[inline(always)]
    pub(crate) fn into_unstarted(self) -> Unstarted {
        self.0
    }
}

impl<T> From<Created<T>> for Unheld<T> {
    #[inline(always)]
    fn from(task: Created<T>) -> Unheld<T> {
        Unheld(task.0.into(), PhantomData)
    }
}

impl<T> From<NewFuture<T>> for Unheld<T> {
    #[inline(always)]
    fn from(task: NewFuture<T>) -> Unheld<T> {
        Unheld(task.0, PhantomData)
    }
}

/// Each is a task, to be looked at.
macro_rules! looked_at {
    ($([$($generics:tt)*] $of:ty),*) => {$(
        impl $($generics)* std::ops::Deref for $of {
            type Target = Runnable;
            #[inline(always)]
            fn deref(&self) -> &Runnable {
                &self.0
            }
        }
    )*};
}
looked_at!([<T>] Created<T>, [<T>] NewFuture<T>, [<T>] Unheld<T>, [] InFrame);

/// Writes all of a header but `state`, which keeps the memory's generation.
///
/// # Safety
/// `task` is record memory that nobody else uses.
#[inline(always)]
unsafe fn write_header(task: *mut Header, run: Run, kind: Kind, runtime: u8, location: &'static Location<'static>) {
    // SAFETY: nobody else uses `task` (this function's contract), so its words may be written.
    unsafe {
        write_unclaimed(task);
        write_queued_header(task, run, KindWord::new(kind, runtime), location);
    }
}

/// The same for a task that goes into a worker's own deque, which writes `idx`.
///
/// # Safety
/// `task` is record memory that nobody else uses.
#[inline(always)]
unsafe fn write_queued_header(task: *mut Header, run: Run, word: KindWord, location: &'static Location<'static>) {
    // SAFETY: nobody else uses `task` (this function's contract), so its words may be written.
    unsafe {
        (&raw mut (*task).run).write(Cell::new(run));
        (&raw mut (*task).waiter).write(AtomicPtr::new(null_mut()));
        (&raw mut (*task).location).write(Cell::new(location));
        write_kind_word(task, word);
        step::task(Step::Created, task);
        if cfg!(loom) {
            write_unclaimed(task);
        }
    }
}

/// Says in a fresh record that it is in no queue.
///
/// # Safety
/// `task` is memory for a header that nobody else uses.
#[inline(always)]
pub(crate) unsafe fn write_unclaimed(task: *mut Header) {
    // SAFETY: nobody else uses `task` (this function's contract).
    unsafe { (&raw mut (*task).idx).write(AtomicUsize::new(UNCLAIMED)) };
}

/// Moves a closure's record into one that is one class larger.
///
/// # Safety
/// `old` is the record of a [`Created`] closure, of this class, which is not the largest. It is
/// used no more.
pub(crate) unsafe fn larger(memory: &Memory, old: *mut Header, class: usize) -> *mut Header {
    // SAFETY: nobody else knows `old` (this function's contract), so its bytes may be moved, and
    // its memory freed. The new record is larger. `state` belongs to the memory, and stays: a stale
    // waker may look at it just now.
    unsafe {
        let new = memory.alloc(class + 1).cast::<Header>();
        let (before, after) = (std::mem::offset_of!(Header, kind), std::mem::offset_of!(Header, idx));
        let (from, to) = (old.cast::<u8>(), new.cast::<u8>());
        to.copy_from_nonoverlapping(from, before);
        write_kind_word(new, KindWord::new((*old).kind().without_class().of_class(class + 1), (*old).runtime()));
        to.add(after).copy_from_nonoverlapping(from.add(after), (class + 1) * UNIT - after);
        memory.dealloc(old.cast(), class);
        new
    }
}

/// Kind, runtime, outcome and flags of a fresh record as one word.
///
/// **Invariant.** The byte of the outcome is [`Outcome::Returned`].
#[derive(Debug, Clone, Copy)]
#[repr(transparent)]
pub(crate) struct KindWord(u32);

// So the bitwise or of two words keeps the invariant.
const _: () = assert!(Outcome::Returned as u8 == 0);

impl KindWord {
    #[inline(always)]
    pub(crate) const fn new(kind: Kind, runtime: u8) -> KindWord {
        let framed = kind.has(Kind::SCOPED) || kind.has(Kind::ON_STACK);
        let flags = if framed { TaskFlags::UNLISTED } else { 0 };
        KindWord(u32::from_ne_bytes([kind.0, runtime, Outcome::Returned as u8, flags]))
    }

    /// Of this kind too. (Words are known in parts: a worker has its runtime's.)
    #[inline(always)]
    pub(crate) const fn with(self, kind: Kind) -> KindWord {
        KindWord(self.0 | KindWord::new(kind, 0).0)
    }

    /// Of a record on a stack.
    pub(crate) const fn on_stack(runtime: u8) -> KindWord {
        KindWord::new(Kind::CLOSURE.and(Kind::ON_STACK), runtime)
    }

    /// The same of a [guest's](Kind::GUEST) job.
    pub(crate) const fn guest_on_stack(runtime: u8) -> KindWord {
        KindWord::on_stack(runtime).with(Kind::GUEST)
    }
}

/// Writes the four at once: they stand side by side (checked below).
///
/// # Safety
/// `task` is memory for a header that nobody else uses.
#[inline(always)]
unsafe fn write_kind_word(task: *mut Header, word: KindWord) {
    const {
        assert!(std::mem::offset_of!(Header, runtime) == std::mem::offset_of!(Header, kind) + 1 || cfg!(loom));
        assert!(std::mem::offset_of!(Header, outcome) == std::mem::offset_of!(Header, kind) + 2 || cfg!(loom));
        assert!(std::mem::offset_of!(Header, flags) == std::mem::offset_of!(Header, kind) + 3 || cfg!(loom));
        assert!(std::mem::offset_of!(Header, kind).is_multiple_of(4) || cfg!(loom));
    }
    // SAFETY: nobody else uses `task` (this function's contract). The store covers the four fields
    // and no more, and is aligned (checked above). The third byte is an `Outcome`: the word's
    // invariant. (In a model the words are larger: field by field.)
    unsafe {
        if cfg!(loom) {
            let [kind, runtime, _, task_flags] = word.0.to_ne_bytes();
            (&raw mut (*task).kind).write(Cell::new(Kind(kind)));
            (&raw mut (*task).runtime).write(Cell::new(runtime));
            (&raw mut (*task).outcome).write(RunnerByte::new());
            (&raw mut (*task).flags).write(AtomicU8::new(task_flags));
        } else {
            // Atomic for `memory::for_each_live`, which may look at any time.
            std::sync::atomic::AtomicU32::from_ptr((&raw mut (*task).kind).cast()).store(word.0, Relaxed);
        }
    }
}

/// A header for a record on a stack: it has no generation. `idx` is written by the push, or by the
/// caller.
///
/// # Safety
/// `task` is memory for a header that nobody else uses.
#[inline(always)]
pub(crate) unsafe fn write_stack_header(
    task: *mut Header,
    run: Run,
    word: KindWord,
    location: &'static Location<'static>,
) {
    // SAFETY: nobody else uses `task` (this function's contract), so its words may be written. The
    // store of eight bytes is aligned, and covers the word and `state` (checked beside it); its
    // outcome is valid, by the word's invariant.
    unsafe {
        (&raw mut (*task).run).write(Cell::new(run));
        (&raw mut (*task).waiter).write(AtomicPtr::new(null_mut()));
        (&raw mut (*task).location).write(Cell::new(location));
        if cfg!(loom) {
            write_kind_word(task, word);
            (&raw mut (*task).state).write(AtomicU32::new(0));
            write_unclaimed(task);
        } else {
            // With a state of 0, in one store.
            const { assert!(std::mem::offset_of!(Header, state) == std::mem::offset_of!(Header, kind) + 4 || cfg!(loom)) };
            const { assert!(std::mem::offset_of!(Header, kind).is_multiple_of(align_of::<u64>()) || cfg!(loom)) };
            let both = if cfg!(target_endian = "little") { u64::from(word.0) } else { u64::from(word.0) << 32 };
            (&raw mut (*task).kind).cast::<u64>().write(both);
        }
        step::task(Step::Created, task);
    }
}
