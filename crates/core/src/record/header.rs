//! The header of a task's record, and the protocol by which it is completed, joined and detached.
//!
//! ```text
//!  0        8        16       24   25      26      27     28     32     40
//!  run      waiter   location kind runtime outcome flags  state  idx    payload: closure | result | panic
//! ```
//! Records live in memory that is only ever used for records (`memory.rs`): a stale pointer may be
//! *looked at* for ever, which is what lets wakers be copied freely (`state` holds a generation)
//! and thieves compare identities.
//!
//! **Words.** `waiter` is 0, or says who waits for the end: a node of a blocked task or thread, a
//! waker (tagged, see `waker.rs`), [`DONE`] or [`DETACHED`].
//!
//! **Invariants.** The result is visible to whoever takes it. The record is freed exactly once,
//! after its last use. A waiter is woken exactly once.
//!
//! **Who may touch what.** The spawner until the record is pushed; then the one who started it
//! (`run`) until the swap in [`Header::complete`]; after it the holder of the handle, or the runner
//! itself if it read `DETACHED`. `idx` belongs to the owner of the deque that holds the task (under
//! that deque's lock for a thief that moves it), then to the task's home; of a future between two
//! polls to its next poller, for its context. `flags` is anybody's who knows that the task lives.
//!
//! **Ordering.** Completion against join, `complete` (release) with `wait` / `is_done` (acquire):
//! the result. Join against completion, `wait` (release) with `complete` (acquire): the node.
//! Detach against completion, `detach` (release, although it writes nothing: its reads of the
//! record come before the free) with `complete` (acquire).
//!
//! Tests: `tests/loom/completion.rs`.

use super::peek;
use myriad_base::sys::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicUsize, Ordering, Ordering::*};
use myriad_base::sys::mutant::{on, ord, ord_to};
use std::cell::Cell;
use std::mem::offset_of;
use std::panic::Location;
use std::ptr::null_mut;

/// What `run` is asked to do with the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Mode {
    /// Run the task; leave the result (or the panic's payload) in the record.
    Run,
    /// Drop the closure or future, which has not been started.
    DropUnstarted,
    /// Drop the result (or the payload) that nobody will take.
    DropOutcome,
}

/// What `run` says when it comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Ended {
    /// The result is in the record.
    Returned,
    /// The same, and the result has no destructor.
    ReturnedPlain,
    /// The panic's payload is in the record.
    Panicked,
    /// The record completes itself, or is not complete yet: do not touch it.
    BySelf,
}

/// How a task has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Outcome {
    /// The payload is the result.
    Returned,
    /// The payload is that of the panic.
    Panicked,
    /// The runtime was shut down before the task started: there is no payload.
    Dropped,
    /// The task was blocked when its runtime ended: there is no payload either, and the record
    /// stays the task's, whose stack and waits refer to it. So nobody frees it.
    Left,
}

/// The byte of the outcome: that of a task's runner alone, until the task is done. So what it notes
/// there takes no read-modify-write.
#[derive(Debug)]
pub(crate) struct RunnerByte(Cell<u8>);

/// Cancellations are kept off, as by [`TaskFlags::UNWINDING`].
const KEPT_OFF: u8 = 128;

impl RunnerByte {
    /// Of a task that has not begun, or a thread.
    #[inline(always)]
    pub(crate) const fn new() -> RunnerByte {
        RunnerByte(Cell::new(Outcome::Returned as u8))
    }

    /// How the task has ended.
    #[inline(always)]
    pub(super) fn outcome(&self) -> Outcome {
        match self.0.get() & !KEPT_OFF {
            0 => Outcome::Returned,
            1 => Outcome::Panicked,
            2 => Outcome::Dropped,
            _ => Outcome::Left,
        }
    }

    #[inline(always)]
    fn set_outcome(&self, outcome: Outcome) {
        self.0.set(outcome as u8);
    }

    /// Are cancellations kept off by this?
    #[inline(always)]
    pub(crate) fn is_kept_off(&self) -> bool {
        self.0.get() & KEPT_OFF != 0
    }

    /// They are from now on, or are not.
    #[inline(always)]
    pub(crate) fn keep_off(&self, yes: bool) {
        self.0.set(self.0.get() & !KEPT_OFF | if yes { KEPT_OFF } else { 0 });
    }
}

/// The function of a task's type: runs or drops what is in the record.
///
/// # Safety
/// The record is live and of this type, and the caller alone uses its payload. The payload is the
/// closure or future for [`Mode::Run`] and [`Mode::DropUnstarted`]; for [`Mode::DropOutcome`] it is
/// what `outcome` says.
pub(crate) type Run = unsafe fn(*mut Header, Mode) -> Ended;

/// See the module's header. Outside of `record` nobody touches a field: what is not atomic is
/// written by the methods that say when that is right.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Header {
    /// What to call.
    pub(super) run: Cell<Run>,
    /// Who waits for the end.
    pub(super) waiter: AtomicPtr<()>,
    /// Where it was spawned. (This and the next two are written when the record is made. They stand
    /// in cells so that a late look at the words beside them says nothing about these.)
    pub(super) location: Cell<&'static Location<'static>>,
    /// What the record is, and its size class.
    pub(super) kind: Cell<Kind>,
    /// Number of the runtime that it belongs to.
    pub(super) runtime: Cell<u8>,
    /// How the task has ended, once it is done.
    pub(super) outcome: RunnerByte,
    /// What others have to say to the runner: see [`TaskFlags`].
    pub(super) flags: AtomicU8,
    /// Generation and state of a future; only the generation for a closure.
    pub(super) state: AtomicU32,
    /// Position in the deque that holds the task; once it is started, what its stack waits at: see
    /// `position.rs`.
    pub(super) idx: AtomicUsize,
}

/// The bits of [`Header::flags`]. Set by whoever it may be, with a read-modify-write.
#[derive(Debug)]
pub(crate) struct TaskFlags;

impl TaskFlags {
    /// Taken out of a private position by a forced steal.
    pub(crate) const STOLEN: u8 = 1;
    /// The task is cancelled, for good.
    pub(crate) const CANCELLED: u8 = 2;
    /// A cancel scope of the task was cancelled: it looks for it at its next blocking point.
    pub(crate) const SCOPE_CANCELLED: u8 = 4;
    /// It unwinds because of a cancellation, and is spared until that is over.
    pub(crate) const UNWINDING: u8 = 8;
    /// It runs on top of another task, which does not know it yet. (Of the runner alone, before the
    /// task begins.)
    pub(crate) const ON_TOP: u8 = 16;
    /// It has a frame (`cancel::scoped_tasks`), which is not in the worker's list yet. (From its
    /// spawn on.)
    pub(crate) const UNLISTED: u8 = 32;
    /// Its name is in the runtime's table, or its property in that of the scheduler's tasks.
    pub(crate) const NAMED: u8 = 64;
    /// Its number is in the runtime's table.
    pub(crate) const NUMBERED: u8 = 128;
    /// What makes a blocking point look closer.
    pub(crate) const SLOW_PATH: u8 = TaskFlags::CANCELLED
        | TaskFlags::SCOPE_CANCELLED
        | TaskFlags::UNWINDING
        | TaskFlags::ON_TOP
        | TaskFlags::UNLISTED;
}

/// What a record is: a bit set, with the size class in the upper three bits. 0 in free memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Kind(pub u8);

impl Kind {
    /// Free memory.
    pub(crate) const FREE: Kind = Kind(0);
    /// A closure.
    pub(crate) const CLOSURE: Kind = Kind(1);
    /// A future.
    pub(crate) const FUTURE: Kind = Kind(2);
    /// Belongs to a scope: its payload begins with a pointer to it.
    pub(crate) const SCOPED: Kind = Kind(4);
    /// A job of a library whose jobs are numbered by their workers: no spare begins it
    /// ([`crate::sched::spare`]).
    pub(crate) const GUEST: Kind = Kind(8);
    /// Lives on the stack of the task that waits for it (`join(a, b)`, `run`).
    pub(crate) const ON_STACK: Kind = Kind(16);
    /// Of a record on a stack, which has no size class: a context waits behind the header.
    pub(crate) const INHERITED: Kind = Kind(32);

    /// Are all these bits set?
    #[inline(always)]
    pub(crate) const fn has(self, bits: Kind) -> bool {
        self.0 & bits.0 == bits.0
    }
    /// Both.
    #[inline(always)]
    pub(crate) const fn and(self, bits: Kind) -> Kind {
        Kind(self.0 | bits.0)
    }
    /// With this size class.
    #[inline(always)]
    pub(crate) const fn of_class(self, class: usize) -> Kind {
        Kind(self.0 | (class as u8) << 5)
    }
    /// Without the size class.
    #[inline(always)]
    pub(crate) const fn without_class(self) -> Kind {
        Kind(self.0 & 31)
    }
    /// The size class.
    #[inline(always)]
    pub(crate) const fn class(self) -> usize {
        (self.0 >> 5) as usize
    }
}

/// In `waiter`: the task has ended.
pub(crate) const DONE: *mut () = std::ptr::without_provenance_mut(1);
/// In `waiter`: nobody holds the handle.
pub(crate) const DETACHED: *mut () = std::ptr::without_provenance_mut(2);

impl Header {
    /// Where it says what it is, in a word that is never the address of a record.
    pub(crate) const KIND_AT: usize = offset_of!(Header, kind);

    /// What stands for the running task while none runs. It is in no queue, and nobody waits for
    /// it.
    #[cfg(not(loom))]
    pub(crate) const fn nobody() -> Header {
        Header {
            run: Cell::new(run_nobody),
            waiter: AtomicPtr::new(null_mut()),
            location: Cell::new(Location::caller()),
            kind: Cell::new(Kind::FREE),
            runtime: Cell::new(0),
            outcome: RunnerByte::new(),
            flags: AtomicU8::new(0),
            state: AtomicU32::new(0),
            idx: AtomicUsize::new(0),
        }
    }

    /// One that is in no memory for records, for tests: of a closure.
    #[cfg(test)]
    pub(crate) fn of_test(run: Run) -> Header {
        Header {
            run: Cell::new(run),
            waiter: AtomicPtr::new(null_mut()),
            location: Cell::new(Location::caller()),
            kind: Cell::new(Kind::CLOSURE),
            runtime: Cell::new(0),
            outcome: RunnerByte::new(),
            flags: AtomicU8::new(0),
            state: AtomicU32::new(0),
            idx: AtomicUsize::new(super::position::UNCLAIMED),
        }
    }

    /// Makes it one of this kind.
    #[cfg(test)]
    pub(crate) fn set_kind_of_test(&mut self, kind: Kind) {
        self.kind.set(kind);
    }

    /// Calls the function of the task's type.
    ///
    /// # Safety
    /// That of [`Run`]. `this` reaches all of the record.
    #[inline(always)]
    pub(crate) unsafe fn call(this: *mut Header, mode: Mode) -> Ended {
        // SAFETY: the record is live (this function's contract, as the rest).
        unsafe { ((*this).run.get())(this, mode) }
    }

    /// The function of the task's type.
    #[inline(always)]
    pub(crate) fn run(&self) -> Run {
        self.run.get()
    }

    /// Another function from now on; which it was.
    ///
    /// # Safety
    /// The caller alone has the task, and `run` is one for what is in its record.
    #[inline(always)]
    pub(crate) unsafe fn set_run(&self, run: Run) -> Run {
        self.run.replace(run)
    }

    /// Where it was spawned.
    #[inline(always)]
    pub(crate) fn location(&self) -> &'static Location<'static> {
        self.location.get()
    }

    /// What the record is.
    #[inline(always)]
    pub(crate) fn kind(&self) -> Kind {
        self.kind.get()
    }

    /// Number of the runtime that it belongs to.
    #[inline(always)]
    pub(crate) fn runtime(&self) -> u8 {
        self.runtime.get()
    }

    /// What it is besides.
    ///
    /// # Safety
    /// The caller alone has the task, and it is of this kind too.
    #[inline(always)]
    pub(crate) unsafe fn add_kind(&self, kind: Kind) {
        self.kind.set(self.kind().and(kind));
    }

    /// How it has ended.
    #[inline(always)]
    pub(crate) fn outcome(&self) -> Outcome {
        self.outcome.outcome()
    }

    /// Says how it has ended.
    ///
    /// # Safety
    /// The caller has run the task, or nobody does; the payload is what `outcome` says.
    #[inline(always)]
    pub(crate) unsafe fn set_outcome(&self, outcome: Outcome) {
        self.outcome.set_outcome(outcome);
    }

    /// What others have to say to the runner: see [`TaskFlags`].
    #[inline(always)]
    pub(crate) fn flags(&self) -> &AtomicU8 {
        &self.flags
    }

    /// What the runner notes.
    #[inline(always)]
    pub(crate) fn runner_byte(&self) -> &RunnerByte {
        &self.outcome
    }

    /// Is a cancellation that came from outside not for the task now? Asked by its runner, or by
    /// its home while it is blocked.
    #[inline(always)]
    pub(crate) fn is_spared(&self) -> bool {
        self.has_flags(TaskFlags::UNWINDING) || self.outcome.is_kept_off()
    }

    /// Are some of these set? For who relies on nothing else: Relaxed.
    #[inline(always)]
    pub(crate) fn has_flags(&self, any: u8) -> bool {
        self.flags.load(Relaxed) & any != 0
    }

    /// Generation and state of a future: for [`state`](super::state).
    #[inline(always)]
    pub(crate) fn state(&self) -> &AtomicU32 {
        &self.state
    }

    /// Where it is queued or waits: see [`position`](super::position).
    #[inline(always)]
    pub(crate) fn idx(&self) -> &AtomicUsize {
        &self.idx
    }

    /// What the word of a record says that may be another task's meanwhile: an address to compare,
    /// null in memory that had no record yet.
    ///
    /// # Safety
    /// The record is readable.
    pub(crate) unsafe fn look_at_location(this: *const Header) -> *const Location<'static> {
        // SAFETY: readable (this function's contract). As an address: the record may become another
        // task's meanwhile, whose location is not written yet.
        let address = unsafe { peek::word((&raw const (*this).location).cast()) };
        std::ptr::with_exposed_provenance(address)
    }

    /// As [`look_at_location`](Self::look_at_location), what it is.
    ///
    /// # Safety
    /// The record is readable.
    pub(crate) unsafe fn look_at_kind(this: *const Header) -> Kind {
        // SAFETY: readable (this function's contract); each byte is a `Kind`.
        Kind(unsafe { peek::byte((&raw const (*this).kind).cast()) })
    }

    /// Where the word of its position is, for a look that is as late.
    pub(crate) fn position_at(this: *const Header) -> *const usize {
        this.wrapping_byte_add(offset_of!(Header, idx)).cast()
    }

    /// As [`look_at_location`](Self::look_at_location), whose it is.
    ///
    /// # Safety
    /// The record is readable.
    pub(crate) unsafe fn look_at_runtime(this: *const Header) -> u8 {
        // SAFETY: readable (this function's contract).
        unsafe { peek::byte((&raw const (*this).runtime).cast()) }
    }

    /// The word of who waits for the end.
    #[inline(always)]
    pub(crate) fn waiter(&self, order: Ordering) -> *mut () {
        self.waiter.load(order)
    }

    /// What waits for the end does so no more, of a task that nobody runs any more, nor holds.
    pub(crate) fn forget_waiter(&self) {
        self.waiter.store(null_mut(), Relaxed);
    }

    /// The runner's last step: says that the task has ended, and returns who waits.
    ///
    /// Null: the holder of the handle frees the record. [`DETACHED`]: the caller does. Anything
    /// else is to be woken, and neither it (after the wake) nor the record may be touched again.
    ///
    /// # Safety
    /// `this` is a record whose task the caller has run to its end, with the outcome written.
    #[inline(always)]
    pub(crate) unsafe fn complete(this: *const Header) -> *mut () {
        // AcqRel. Release: the result, with the Acquire in `is_done`, `wait` and `detach`. Acquire:
        // the waiter's node, with the Release in `wait`, or the last reads of the one who detached.
        let order = ord_to(ord_to(AcqRel, Release, "done-not-acquire"), Acquire, "done-not-release");
        // SAFETY: the caller has run the task of `this` (this function's contract), and nobody
        // frees a record before its runner's swap, so it is live.
        unsafe { (*this).waiter.swap(DONE, order) }
    }

    /// Has the task ended? If so the result is visible.
    #[inline(always)]
    pub(crate) fn is_done(&self) -> bool {
        // Acquire: pairs with the Release in `complete`.
        self.waiter.load(ord(Acquire, "done-load-acquire")) == DONE
    }

    /// The runner, which [`complete`](Self::complete) has told that it frees the record, drops what
    /// is in it first: as long as that takes, which may be for ever, the task has not ended.
    #[inline(always)]
    pub(crate) fn drops_yet(&self) {
        if !on("dropping-is-ended") {
            // Relaxed: whoever looks has seen the runner's worker asleep, which comes after.
            self.waiter.store(DETACHED, Relaxed);
        }
    }

    /// For a shutdown, which has seen all workers asleep: has the task ended, with all that was its
    /// own code?
    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        // Relaxed: what is seen beside a worker that is awake is not believed.
        self.waiter.load(Relaxed) == DONE
    }

    /// Is something of it in a table of the runtime: its name, its number? (One test for both: at
    /// each free. Of one byte, for a load that spans the store of `outcome` just before would have
    /// to wait for it.)
    #[inline(always)]
    pub(crate) fn is_known(&self) -> bool {
        // Relaxed: who asks has the record for itself.
        self.flags.load(Relaxed) & (TaskFlags::NAMED | TaskFlags::NUMBERED) != 0
    }

    /// Has it run on top of another task from begin to end, which was not told, and is nothing of
    /// it in a table? (One test for all.)
    #[inline(always)]
    pub(crate) fn is_plain_on_top(&self) -> bool {
        const TOLD_OR_KNOWN: u8 = TaskFlags::ON_TOP | TaskFlags::NAMED | TaskFlags::NUMBERED;
        // Relaxed: as in `is_known`.
        self.flags.load(Relaxed) & TOLD_OR_KNOWN == TaskFlags::ON_TOP
    }

    /// Leaves `waiter` to be woken at the end. False: the task has ended already, and the result is
    /// visible.
    #[inline(always)]
    pub(crate) fn wait(&self, waiter: *mut ()) -> bool {
        // Release: the node, for the Acquire in `complete`. On failure the word is DONE; Acquire:
        // the result.
        let (release, acquire) = (ord(Release, "wait-release"), ord(Acquire, "wait-failure-acquire"));
        self.waiter.compare_exchange(null_mut(), waiter, release, acquire).is_ok()
    }

    /// Takes back what [`wait`](Self::wait) has left. False: the task has ended, and wakes it.
    pub(crate) fn wait_no_longer(&self, waiter: *mut ()) -> bool {
        // Relaxed: who waits goes on as if nothing had been left.
        self.waiter.compare_exchange(waiter, null_mut(), Relaxed, Relaxed).is_ok()
    }

    /// Gives up the handle, where no waiter was left. False: the task has ended, its outcome is
    /// visible, and the caller drops it and frees the record.
    #[inline(always)]
    pub(crate) fn detach(&self) -> bool {
        self.detach_from(null_mut())
    }

    /// Does nobody wait, and has it not ended? (A hint about the end; for the handle's holder the
    /// rest is certain.)
    #[inline(always)]
    pub(crate) fn is_unwatched(&self) -> bool {
        self.waiter.load(Relaxed).is_null()
    }

    /// Gives up the handle of a task that has not begun, by whoever has it out of its queue.
    #[inline(always)]
    pub(crate) fn detach_alone(&self) {
        // Relaxed: the caller puts it back into the queue, which orders the record for the runner.
        self.waiter.store(DETACHED, Relaxed);
    }

    /// As [`detach`](Self::detach), where `waiter` was left before. False also if another waiter is
    /// there now.
    #[inline(always)]
    pub(crate) fn detach_from(&self, waiter: *mut ()) -> bool {
        // Release: our reads of the record come before the runner's free. Failure is DONE; Acquire:
        // the outcome.
        let (release, acquire) = (ord(Release, "detach-release"), ord(Acquire, "detach-failure-acquire"));
        self.waiter.compare_exchange(waiter, DETACHED, release, acquire).is_ok()
    }
}

#[cfg(not(loom))]
unsafe fn run_nobody(_: *mut Header, _: Mode) -> Ended {
    myriad_base::sys::thread::abort_with("a task that is none was run (a bug in Myriad)")
}
