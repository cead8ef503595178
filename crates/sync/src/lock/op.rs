//! Waiting, once for all locks: as a call, with a deadline, as a future.
//!
//! A primitive says in an [`Op`] what it does under its own lock; [`wait`] and [`Waiting`] do the rest. So each ending of each
//! operation behaves alike, and what is true of one is true of all: a wait that is given up has had no effect.

use crate::entry::{DONE, Entry, IDLE, LINKED, SKIPPED};
use myriad_core::time::Instant;
use myriad_core::wait::{Here, Target};
use std::future::Future;
use std::marker::PhantomPinned;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Ended by a partner, who has not done it: the owner tries once more.
pub(crate) const AGAIN: u8 = crate::entry::CLOSED;

/// An operation that may have to wait.
///
/// # Safety
/// `start` links the entry in the primitive's list, or does not touch it. Whoever takes it out ends it with [`DONE`] or
/// [`AGAIN`] under the primitive's lock, and wakes its target without the lock. After `give_up` nobody knows it.
pub(crate) unsafe trait Op {
    /// What stands in an entry while it waits.
    type Slot;

    /// Does it at once (true), or links the entry with the target, if there is one.
    ///
    /// # Safety
    /// The entry is idle, and stays where it is until it is ended or given up; the target is its owner's.
    unsafe fn start(&mut self, here: Here, entry: *mut Entry<Self::Slot>, target: &mut Option<Target>) -> bool;

    /// The wait was ended with `AGAIN`: the next `start` follows.
    fn again(&mut self) {}

    /// Under the primitive's lock: a linked entry gets a new target; the old one is left in its place.
    ///
    /// # Safety
    /// The entry was linked by `start`.
    unsafe fn retarget(&self, here: Here, entry: *mut Entry<Self::Slot>, target: &mut Option<Target>);

    /// Gives a wait up that was begun: takes the entry out if it is still linked. What a partner has done since is undone, or,
    /// if it cannot be, the answer is true: it is done after all.
    ///
    /// # Safety
    /// The entry was linked by `start`; its state says what has become of it.
    unsafe fn give_up(&mut self, here: Here, entry: *mut Entry<Self::Slot>) -> bool;
}

/// Waits until it is done (true), or until the deadline (false: without effect).
///
/// # Panics
/// If it must wait and there is no memory for a stack.
pub(crate) fn wait<O: Op>(op: &mut O, deadline: Option<Instant>) -> bool {
    loop {
        // Anew in each turn: after a wait the task may be on another worker.
        let here = Here::get();
        let wait = if deadline.is_some() { here.timed_wait() } else { here.wait() };
        let prepared = wait.prepare();
        let entry = Entry::new();
        let at = (&raw const entry).cast_mut();
        let mut target = prepared.is_ok().then(|| wait.target());
        // SAFETY: the entry stands in this frame until the wait is over. It is prepared and published, and of the kind that it is.
        // After a timeout nobody wakes it, and it is taken off the list.
        unsafe {
            if op.start(here, at, &mut target) {
                return true;
            }
            if let Err(error) = prepared {
                panic!("{error}");
            }
            match deadline {
                None => wait.block(),
                Some(deadline) => {
                    if !wait.block_until(deadline) {
                        return op.give_up(Here::get(), at);
                    }
                }
            }
        }
        if entry.state() == DONE {
            return true;
        }
        op.again();
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

// SAFETY: the entry is touched under the primitive's lock, or by the future's holder; the operation is itself Send.
unsafe impl<O: Op + Send> Send for Waiting<O> where O::Slot: Send {}
// SAFETY: nothing can be done with `&Waiting` but to look at what the operation lets one see.
unsafe impl<O: Op + Sync> Sync for Waiting<O> where O::Slot: Send {}

impl<O: Op> Waiting<O> {
    pub(crate) fn new(op: O) -> Self {
        Waiting { op, entry: Entry::new(), _pinned: PhantomPinned }
    }

    /// Has it not begun to wait, or is it over?
    pub(crate) fn is_idle(&self) -> bool {
        self.entry.state() == IDLE
    }

    /// What stood in the entry when a wait was ended; nothing has been there before the first.
    ///
    /// # Safety
    /// The future was ready after a wait.
    pub(crate) unsafe fn slot(&self) -> *mut O::Slot {
        // SAFETY: the caller: the entry is our own again.
        unsafe { self.entry.place() }
    }

    /// The operation itself.
    pub(crate) fn op(&self) -> &O {
        &self.op
    }
}

impl<O: Op> Future for Waiting<O> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: the entry is not moved.
        let this = unsafe { self.get_unchecked_mut() };
        let here = Here::get();
        let at = &raw mut this.entry;
        if this.entry.state() == IDLE && !here.poll_spend(cx.waker()) {
            return Poll::Pending;
        }
        loop {
            match this.entry.state() {
                IDLE => {}
                LINKED => {
                    // Cloned and dropped without the lock: wakers are foreign code.
                    let mut target = Some(Target::future(cx.waker().clone()));
                    // SAFETY: our own entry, linked by `start`.
                    unsafe { this.op.retarget(here, at, &mut target) };
                    if this.entry.state() == LINKED {
                        return Poll::Pending;
                    }
                    // Ended meanwhile, and the older waker was called.
                    continue;
                }
                state => {
                    this.entry.reset();
                    if state == DONE {
                        return Poll::Ready(());
                    }
                    debug_assert_ne!(state, SKIPPED, "a future has no time limit");
                    this.op.again();
                }
            }
            let mut target = Some(Target::future(cx.waker().clone()));
            // SAFETY: the entry is idle; the future is pinned, so it stays where it is, and its drop gives it up.
            let done = unsafe { this.op.start(here, at, &mut target) };
            return if done { Poll::Ready(()) } else { Poll::Pending };
        }
    }
}

impl<O: Op> Drop for Waiting<O> {
    fn drop(&mut self) {
        if self.entry.state() != IDLE {
            // SAFETY: linked by `start`. Afterwards nobody else knows the entry.
            unsafe { self.op.give_up(Here::get(), &raw mut self.entry) };
        }
    }
}
