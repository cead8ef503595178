//! The node by which a blocked task, or a blocked foreign thread, is found and woken.
//!
//! It lives on the blocked stack, so it stands still until its task goes on. Whoever wakes it reads
//! `home`, pushes it on that worker's inbox, and touches it no more.
//!
//! **Who may touch what.** `saved`, of a fiber, is written by the home worker when it leaves the
//! stack and read by it when it returns. Of a thread it is known beforehand, and stands there
//! before the node is published: so any worker may go on with it, even before the thread has handed
//! over its role (see [`crate::sched::rescue::takeover`]). `next` is written by whoever holds the
//! node: a wait list (under its lock), the waker, then the home. No `&mut Parked` may exist while
//! it is published: it is reached through raw pointers only.

use super::reason::WaitReason;
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::futex::Parker;
use std::cell::Cell;
use std::ptr::{NonNull, null_mut};

/// The worker to which a node belongs: its address, for this floor knows no workers (`sched::idle`
/// makes it and reads it).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home(NonNull<()>);

impl Home {
    /// The worker with this address.
    ///
    /// # Safety
    /// `worker` is the address of a `sched::idle::WorkerShared` that is never freed.
    #[inline(always)]
    pub(crate) unsafe fn new(worker: NonNull<()>) -> Home {
        Home(worker)
    }

    /// The worker's address, as [`new`](Self::new) got it.
    #[inline(always)]
    pub(crate) fn address(self) -> NonNull<()> {
        self.0
    }
}

/// The word of a [`Parker`] at which a foreign thread waits, before it sleeps: see `wait::foreign`.
pub(crate) const PARKER_WAITS: u32 = 1;

/// See the module's header.
#[derive(Debug)]
#[repr(C)]
pub struct Parked {
    /// The next node of the list that holds this one.
    pub(crate) next: UnsafeCell<*mut Parked>,
    /// Where the home worker goes on: a saved stack pointer, or the parked thread.
    pub(crate) saved: UnsafeCell<*mut u8>,
    /// The worker that runs it; `None` for a foreign thread, which sleeps on `parker`.
    pub(crate) home: Option<Home>,
    /// For a foreign thread: see `foreign`.
    pub(crate) parker: Parker,
    /// 1: a cancellation has ended the wait. Written by the home (by a foreign thread itself)
    /// before it goes on.
    pub(crate) cancelled: Cell<u16>,
    /// 1: it began while its thread was panicking (threads mode).
    pub(crate) panicking: Cell<u8>,
    /// What it waits for. (A byte, so that one store sets this, the two above and the parker.)
    pub(crate) reason: WaitReason,
    /// How a cancellation ends the wait; `None`: it does not.
    pub(crate) cancel_fn: Cell<Option<CancelFn>>,
}

/// Where a wait for a task or a scope has its address: behind the node.
pub(crate) const BEHIND_NODE: usize = size_of::<Parked>();
/// Where a wait for a channel or a lock has its address: behind the `sched::wait::Wait`, of which
/// the node is the first field.
pub const BEHIND_WAIT: usize = BEHIND_NODE + size_of::<usize>();

/// A blocked task or thread that goes on: the right to bring its node to where it is resumed, and
/// there to resume it. Moved, not copied: it goes on once.
///
/// **Invariant.** While a value exists its node stands, blocked or about to block having published
/// itself; it is in no list; and nobody else wakes it. (A request to a worker, which is no wait,
/// travels through inboxes as one, without a home.)
#[derive(Debug)]
#[repr(transparent)]
#[must_use = "what nobody resumes waits for ever"]
pub(crate) struct Resumable(NonNull<Parked>);

// As cheap as the pointer that it is, with null for "none".
const _: () = assert!(size_of::<Option<Resumable>>() == size_of::<usize>() && !std::mem::needs_drop::<Resumable>());

impl Resumable {
    /// The right to let go on what waits at this node.
    ///
    /// # Safety
    /// The node is blocked, or about to block having published itself, in no list, and woken by
    /// nobody else; whoever had that right has given it away here. Or it is a request's, for an
    /// inbox.
    #[inline(always)]
    pub(crate) unsafe fn from_raw(node: *mut Parked) -> Resumable {
        // SAFETY: a node that stands is not at address 0.
        Resumable(unsafe { NonNull::new_unchecked(node) })
    }

    /// The same of what a slot of a list held, where null says that there was nothing.
    ///
    /// # Safety
    /// Null; or as for [`from_raw`](Self::from_raw).
    #[inline(always)]
    pub(crate) unsafe fn from_slot(node: *mut Parked) -> Option<Resumable> {
        NonNull::new(node).map(Resumable)
    }

    /// The node, for a slot of a list, or for the one who resumes it. The right goes with it.
    #[inline(always)]
    pub(crate) fn into_raw(self) -> *mut Parked {
        self.0.as_ptr()
    }

    /// Where the node is, to compare.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut Parked {
        self.0.as_ptr()
    }

    /// The worker that runs it; `None` for a foreign thread.
    #[inline(always)]
    pub(crate) fn home(&self) -> Option<Home> {
        // SAFETY: the node stands (the type's invariant), and `home` does not change.
        unsafe { (*self.0.as_ptr()).home }
    }

    /// Where its worker goes on, if that has left the stack: see the module's header.
    ///
    /// # Safety
    /// The calling thread is the worker that resumes it, or has the lock of the ring that it was
    /// in.
    #[inline(always)]
    pub(crate) unsafe fn saved(&self) -> *mut u8 {
        // SAFETY: the node stands (the type's invariant). Its `saved` is written by its worker,
        // when that leaves the stack, or before the node was published: the calling thread is that
        // worker, or the ring's lock has shown it what was published (this function's contract).
        unsafe { (*self.0.as_ptr()).saved.with(|saved| *saved) }
    }
}

/// Asks a wait to end, because its task is cancelled. True: it is off all lists, nobody will wake
/// it any more, and the caller does. False: its wake is on the way, or it goes on waiting (and has
/// passed the request on to what it waits for).
///
/// Called by the home of a blocked task, without any lock, while the task cannot go on.
///
/// # Safety
/// The argument is the node of a wait that has this `CancelFn`, and the pointer was made of the
/// whole wait. Who waits is blocked, and does not go on before this returns.
pub type CancelFn = unsafe fn(*const Parked) -> bool;

impl Parked {
    /// Has a cancellation ended the wait?
    #[inline(always)]
    pub(crate) fn was_cancelled(&self) -> bool {
        self.cancelled.get() != 0
    }

    /// A node that no task waits at: of an idle stack, or of a request.
    #[inline(always)]
    pub(crate) fn new(home: Option<Home>) -> Parked {
        Parked::saved(home, null_mut(), WaitReason::Other)
    }

    /// The node of a foreign thread that waits.
    #[inline(always)]
    pub(crate) fn foreign(reason: WaitReason) -> Parked {
        Parked::saved(None, null_mut(), reason)
    }

    /// The node of what runs on this worker now; `saved` is its thread's stack, in threads mode.
    #[inline(always)]
    pub(crate) fn saved(home: Option<Home>, saved: *mut u8, reason: WaitReason) -> Parked {
        Parked {
            next: UnsafeCell::new(null_mut()),
            saved: UnsafeCell::new(saved),
            home,
            parker: Parker::new(PARKER_WAITS),
            cancelled: Cell::new(0),
            panicking: Cell::new(0),
            reason,
            cancel_fn: Cell::new(None),
        }
    }
}
