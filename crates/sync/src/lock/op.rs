//! Waiting, once for all locks: as a call, with a deadline, as a future.
//!
//! A primitive says in an [`Op`] what it does under its own lock; [`wait`] and [`Waiting`] do the
//! rest. So each ending of each operation behaves alike, and what is true of one is true of all: a
//! wait that is given up has had no effect.
//!
//! **The end of a time limit** is decided under the primitive's lock, for closures and for futures:
//! what was done for the wait until then counts, also if its waker has not come to this entry yet;
//! else the operation is tried once more. So who hears of a timeout knows that, at some moment
//! after the deadline, the operation was not possible.

use crate::entry::{DONE, Entry, IDLE, LINKED, SKIPPED};
use crate::limit::{Limited, Stop};
use myriad_base::sys::mutant::fault;
use myriad_core::engine::wait::{BEHIND_WAIT, Caller, InHand, Parked, Wait, WaitReason, Waiter};
use myriad_core::time::Instant;
use std::cell::Cell;
use std::future::Future;
use std::marker::PhantomPinned;
use std::mem::MaybeUninit;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// Ended by a partner, who has not done it: the owner tries once more.
pub(crate) const RETRY: u8 = crate::entry::CLOSED;

/// An operation that may have to wait.
///
/// # Safety
/// `start` links the entry in the primitive's list, or does not touch it. Whoever takes it out ends
/// it with [`DONE`] or [`RETRY`] under the primitive's lock, and wakes its waiter without the lock.
/// After `withdraw` nobody knows it. Once the entry of one who blocks is linked, `start` runs no
/// user code any more, and does not unwind.
pub(crate) unsafe trait Op {
    /// What stands in an entry while it waits.
    type Slot;

    /// What a blocked one waits for.
    const REASON: WaitReason;

    /// The address of what is waited for, by which dumps tell one from the other.
    fn object(&self) -> *const ();

    /// Does it at once (true), or links the entry with the waiter, if there is one. Without a
    /// waiter it only tries.
    ///
    /// # Safety
    /// The entry is idle, and stays where it is until it is ended or given up; the waiter is its
    /// owner's.
    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<Self::Slot>, waiter: &mut Option<Waiter>) -> bool;

    /// The wait was ended with `RETRY`: the next `start` follows.
    fn retry(&mut self) {}

    /// A blocking wait was ended with `DONE`; what stands in the entry.
    ///
    /// # Safety
    /// `slot` is that of the entry of a blocking wait, which `start` linked, and which was ended
    /// with `DONE`.
    #[inline(always)]
    unsafe fn ended(&mut self, _slot: *mut Self::Slot) {}

    /// Under the primitive's lock: a linked entry gets a new waiter; the old one is left in its
    /// place, for the caller to discard.
    ///
    /// # Safety
    /// The entry was linked by `start`.
    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<Self::Slot>, waiter: &mut Option<Waiter>);

    /// Ends a wait that was begun: takes the entry out if it is still linked. What has become of
    /// the wait: [`DONE`], also if a partner has decided so and has not come to this entry yet;
    /// [`RETRY`]; anything else: nothing was done, and nothing will be. The entry is idle
    /// afterwards; its slot stays as it is.
    ///
    /// # Safety
    /// The entry was linked by `start`.
    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<Self::Slot>) -> u8;

    /// What has become of a wait that was withdrawn, `DONE` or `RETRY`, is undone or passed on.
    /// True: it cannot be, and is done.
    ///
    /// # Safety
    /// `withdraw` said so just now; `slot` is that of the entry.
    unsafe fn undo(&mut self, _outcome: u8, _slot: *mut Self::Slot) -> bool {
        false
    }
}

/// Gives a wait up. True: it is done all the same.
///
/// # Safety
/// The entry was linked by `start`.
unsafe fn give_up<O: Op>(op: &mut O, caller: Caller, entry: *mut Entry<O::Slot>) -> bool {
    // SAFETY: `entry` was linked by `start` (this function's contract); once it is withdrawn it is
    // its owner's, and `undo` hears what `withdraw` said.
    unsafe {
        match op.withdraw(caller, entry) {
            outcome @ (DONE | RETRY) => op.undo(outcome, (*entry).slot()),
            _ => false,
        }
    }
}

/// The time of a wait is over. True: it is done.
///
/// # Safety
/// The entry was linked by `start`.
unsafe fn run_out<O: Op>(op: &mut O, caller: Caller, entry: *mut Entry<O::Slot>, blocks: bool) -> bool {
    // SAFETY: `entry` was linked by `start` (this function's contract); once it is withdrawn it is
    // idle and its owner's, so `start` may have it again.
    unsafe {
        match op.withdraw(caller, entry) {
            DONE => {
                if blocks {
                    op.ended((*entry).slot());
                }
                return true;
            }
            RETRY => op.retry(),
            _ => {}
        }
        !fault("no-last-try") && op.start(caller, entry, &mut None)
    }
}

/// A wait, its entry and its operation, side by side, so that a cancellation finds all. The wait
/// comes first: see [`Wait::on_cancel`].
#[repr(C)]
struct Blocked<O: Op> {
    wait: Wait,
    /// What is waited for: behind the wait, where a dump looks for it. Written when it blocks, for
    /// most operations do not.
    object: Cell<MaybeUninit<*const ()>>,
    entry: Entry<O::Slot>,
    op: *const O,
}

impl<O: Op> Blocked<O> {
    /// The waiting task is cancelled: from here on its entry has a waiter that nobody is behind, so
    /// that whoever ends it wakes nobody; its owner gives it up, like one whose time is over.
    /// False: it was ended already.
    ///
    /// # Safety
    /// The waiting task is blocked, and does not go on before this returns; no lock is held. `node`
    /// is that of a `Blocked`, whose entry was linked by `start`.
    unsafe fn end(node: *const Parked) -> bool {
        const { assert!(std::mem::offset_of!(Self, wait) == 0) };
        let blocked = node.cast::<Self>();
        // (A waker with nothing to drop, and not through the door: this is in the middle of a
        // cancellation.)
        let mut waiter = Some(Waiter::future(Waker::noop()));
        // SAFETY: the task does not go on before this returns (this function's contract): so the
        // `Blocked` in its frame stands, and the primitive, which the task keeps. The entry was
        // linked by `start`.
        unsafe { (*(*blocked).op).set_waiter(Caller::get(), (&raw const (*blocked).entry).cast_mut(), &mut waiter) };
        // The one that came back was the task's.
        waiter.is_some_and(|waiter| !waiter.is_future())
    }
}

/// Waits until it is done (true), or until the deadline (false: without effect).
///
/// # Cancellation
/// If the caller is cancelled meanwhile, the wait is given up, without effect, and this unwinds; or
/// it is done after all.
///
/// # Panics
/// If it must wait and there is no memory for a stack.
#[track_caller]
pub(crate) fn wait<O: Op>(op: &mut O, deadline: Option<Instant>) -> bool {
    let op: *mut O = op;
    loop {
        // Anew in each turn: after a wait the task may be on another worker.
        let caller = Caller::get();
        let wait = if deadline.is_some() { caller.timed_wait(O::REASON).cancellable() } else { caller.wait(O::REASON) };
        const { assert!(std::mem::offset_of!(Blocked<O>, object) == BEHIND_WAIT || cfg!(loom)) };
        let blocked = Blocked { wait, object: Cell::new(MaybeUninit::uninit()), entry: Entry::new(), op };
        let (wait, entry) = (&blocked.wait, &blocked.entry);
        if deadline.is_none() {
            // SAFETY: the wait is the first field of this `Blocked` (checked in `end`), which
            // stands in this frame until the wait is over; the operation is the caller's, who keeps
            // the primitive.
            unsafe { wait.on_cancel(Blocked::<O>::end) };
        }
        let prepared = wait.prepare();
        let at = (&raw const blocked.entry).cast_mut();
        let mut waiter = prepared.is_ok().then(|| wait.waiter());
        // SAFETY: the entry stands in this frame until the wait is over. It is prepared and
        // published, and of the kind that it is. After a timeout or a cancellation nobody wakes it,
        // and it is taken off the list. The operation is the caller's.
        unsafe {
            if (*op).start(caller, at, &mut waiter) {
                return true;
            }
            if let Err(error) = prepared {
                panic!("{error}");
            }
            blocked.object.set(MaybeUninit::new((*op).object()));
            if !Wait::block_by((&raw const blocked).cast(), deadline) || wait.was_cancelled() {
                let caller = Caller::get();
                if !wait.was_cancelled() {
                    return run_out(&mut *op, caller, at, true);
                }
                let done = give_up(&mut *op, caller, at);
                if !done {
                    wait.unwind_if_cancelled();
                }
                return done;
            }
            if entry.state() == DONE {
                (*op).ended(entry.slot());
                return true;
            }
            (*op).retry();
        }
    }
}

/// An operation as a future; ready when it is done.
///
/// # Cancellation
/// Dropped before, it has had no effect.
pub(crate) struct Waiting<O: Op> {
    op: O,
    entry: Entry<O::Slot>,
    _pinned: PhantomPinned,
}

// SAFETY: the entry is touched under the primitive's lock, or by the future's holder; the operation
// is itself Send.
unsafe impl<O: Op + Send> Send for Waiting<O> where O::Slot: Send {}
// SAFETY: nothing can be done with `&Waiting` but to look at what the operation lets one see.
unsafe impl<O: Op + Sync> Sync for Waiting<O> where O::Slot: Send {}

impl<O: Op> Waiting<O> {
    pub(crate) fn new(op: O) -> Self {
        Waiting { op, entry: Entry::new(), _pinned: PhantomPinned }
    }

    /// Has it not begun to wait, or is it over?
    #[inline(always)]
    pub(crate) fn is_idle(&self) -> bool {
        self.entry.state() == IDLE
    }

    /// What stood in the entry when a wait was ended; nothing has been there before the first.
    ///
    /// # Safety
    /// The future was ready after a wait.
    pub(crate) unsafe fn slot(&self) -> *mut O::Slot {
        // SAFETY: the future was ready after a wait (this function's contract), so the entry is our
        // own again.
        unsafe { self.entry.slot() }
    }

    /// The operation itself.
    pub(crate) fn op(&self) -> &O {
        &self.op
    }

    /// Waits until the deadline. True: it is done.
    pub(crate) async fn until(self, deadline: Instant) -> bool {
        Limited::new(pin!(self), deadline).await
    }
}

impl<O: Op> Stop for Pin<&mut Waiting<O>> {
    type InTime = bool;

    fn in_time((): ()) -> bool {
        true
    }

    fn stop(self: Pin<&mut Self>) -> bool {
        // SAFETY: the entry is not moved. It is idle, or was linked by `start`.
        unsafe {
            let this = self.get_mut().as_mut().get_unchecked_mut();
            let (caller, at) = (Caller::get(), &raw mut this.entry);
            if this.entry.state() == IDLE {
                // It has only let others go first: it begins now, to leave at once.
                let mut waiter = InHand::future(Waker::noop());
                if this.op.start(caller, at, &mut waiter) {
                    return true;
                }
            }
            run_out(&mut this.op, caller, at, false)
        }
    }
}

impl<O: Op> Future for Waiting<O> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let caller = Caller::get();
        let at = &raw mut this.entry;
        if this.entry.state() == IDLE && !caller.poll_spend(cx.waker()) {
            return Poll::Pending;
        }
        loop {
            let state = this.entry.state();
            if state == DONE {
                this.entry.reset();
                return Poll::Ready(());
            }
            // Cloned when nothing is locked, and discarded when nothing is any more: wakers are
            // user code. And before anything is changed: if the clone panics, this may be dropped
            // as it is.
            let mut waiter = InHand::future(cx.waker());
            match state {
                IDLE => {}
                LINKED => {
                    // SAFETY: our own entry, linked by `start`.
                    unsafe { this.op.set_waiter(caller, at, &mut waiter) };
                    if this.entry.state() == LINKED {
                        caller.note_await(O::REASON, this.op.object());
                        return Poll::Pending;
                    }
                    // Ended meanwhile, and the older waker was called.
                    continue;
                }
                _ => {
                    debug_assert_ne!(state, SKIPPED, "a future has no time limit");
                    this.entry.reset();
                    this.op.retry();
                }
            }
            // SAFETY: the entry is idle; the future is pinned, so it stays where it is, and its
            // drop gives it up.
            let done = unsafe { this.op.start(caller, at, &mut waiter) };
            if done {
                return Poll::Ready(());
            }
            caller.note_await(O::REASON, this.op.object());
            return Poll::Pending;
        }
    }
}

impl<O: Op> Waiting<O> {
    #[cold]
    #[inline(never)]
    fn give_up(&mut self) {
        let caller = Caller::get();
        caller.forget_await();
        // SAFETY: linked by `start`. Afterwards nobody else knows the entry.
        unsafe { give_up(&mut self.op, caller, &raw mut self.entry) };
    }
}

impl<O: Op> Drop for Waiting<O> {
    #[inline]
    fn drop(&mut self) {
        if self.entry.state() != IDLE {
            self.give_up();
        }
    }
}
