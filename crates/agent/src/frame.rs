//! Which agent's action runs here, and what it has sent.
//!
//! Whoever runs an action does so within a *frame*, which stands on the stack, and is in a list of
//! its OS thread: a closure stays on its thread, also while it waits. The calling task is inside an
//! action if there is a frame of that task. (As the frames of actors, which see.)
//!
//! **Invariants.** A frame is in the list of the thread that entered it, from `enter` to the end of
//! that call, and does not move meanwhile. The list is used by its thread alone, and no user code
//! runs in between. Frames of tasks that are set aside stand in it, too: so a look that passes many
//! makes an index of them by their tasks, which goes with the last one. Two frames of one task are
//! of one agent, and the newer one is left first: a call that blocks may be made in place.

use crate::action::{About, Change, SendHeld, hold};
use crate::kept::Kept;
use crate::queue::{Queue, Taken};
use myriad_base::hash::Numbers;
use myriad_core::engine::running::UnderWay;
use myriad_core::engine::unwind::discard;
use myriad_core::engine::user_code;
use std::cell::{Cell, UnsafeCell};
use std::ptr::{null, null_mut};

thread_local! {
    static NEWEST: Cell<*const Frame> = const { Cell::new(null()) };
    /// A box, or null. Has the newest frame of each task, by the task's number.
    static INDEX: Cell<*mut Index> = const { Cell::new(null_mut()) };
}

type Index = Numbers<usize, *const Frame>;

/// A look that has passed so many frames makes an index.
const MANY: usize = 16;

/// See the module's header.
pub(crate) struct Frame {
    /// The address of the agent's cell.
    agent: usize,
    task: UnderWay,
    older: Cell<*const Frame>,
    newer: Cell<*const Frame>,
    /// The older one of the same task, or null. Known if there is an index.
    below: Cell<*const Frame>,
    /// Are sends held? Not any more once they went out, or the action has failed.
    holds: Cell<bool>,
    /// What the action has sent. Empty between two actions. (Of this thread alone, and borrowed for
    /// one call of the queue.)
    held: UnsafeCell<Queue<SendHeld>>,
}

/// In the list until this is dropped.
struct Entered<'a>(&'a Frame);

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let (older, newer) = (self.0.older.get(), self.0.newer.get());
        // SAFETY: both are null or in the list of this thread, so they stand.
        unsafe {
            match newer.is_null() {
                true => NEWEST.set(older),
                false => (*newer).older.set(older),
            }
            if !older.is_null() {
                (*older).newer.set(newer);
            }
        }
        if !INDEX.get().is_null() {
            self.0.leave_index();
        }
    }
}

/// The newest frame of the calling task.
#[inline]
fn find<'a>() -> Option<&'a Frame> {
    // (At the very end of a thread there is no list any more.)
    let newest = NEWEST.try_with(Cell::get).unwrap_or(null());
    // SAFETY: what is in the list of this thread stands. That of the calling task stands until the
    // caller returns into `enter`: who asks has the answer for one call of its own.
    let newest = unsafe { newest.as_ref() }?;
    let here = UnderWay::here();
    if newest.task == here { Some(newest) } else { find_older(newest, here) }
}

#[inline(never)]
fn find_older(newest: &Frame, here: UnderWay) -> Option<&Frame> {
    // SAFETY: the index has frames of this thread's list, which stand; it is used for this look.
    // The same holds for the list.
    unsafe {
        if let Some(index) = INDEX.get().as_ref() {
            return index.get(&here.number()).and_then(|frame| frame.as_ref());
        }
        let (mut at, mut passed) = (newest, 0);
        let found = loop {
            if at.task == here {
                break Some(at);
            }
            let Some(older) = at.older.get().as_ref() else { break None };
            (at, passed) = (older, passed + 1);
        };
        if passed > MANY {
            make_index(newest);
        }
        found
    }
}

/// Makes an index of this frame and all that are older.
#[cold]
fn make_index(newest: &Frame) {
    let mut oldest = newest;
    INDEX.set(Box::into_raw(Box::default()));
    // SAFETY: what is in the list of this thread stands.
    unsafe {
        while let Some(older) = oldest.older.get().as_ref() {
            oldest = older;
        }
        oldest.enter_index();
        while let Some(newer) = oldest.newer.get().as_ref() {
            oldest = newer;
            oldest.enter_index();
        }
    }
}

/// Is the caller an action of this agent?
pub(crate) fn runs_here(agent: usize) -> bool {
    find().is_some_and(|frame| frame.agent == agent)
}

/// Where sends of the caller are held, if it stands in an action: that frame is for this call.
#[inline(always)]
pub(crate) fn holding<'a>() -> Option<&'a Frame> {
    find().filter(|frame| frame.holds.get())
}

impl Frame {
    /// For actions of the agent with the cell of this address, one after the other, which the
    /// caller runs within [`enter`](Self::enter).
    pub(crate) fn new(agent: usize) -> Frame {
        Frame {
            agent,
            task: UnderWay::here(),
            older: Cell::new(null()),
            newer: Cell::new(null()),
            below: Cell::new(null()),
            holds: Cell::new(false),
            held: UnsafeCell::new(Queue::new()),
        }
    }

    /// Calls `f`, in which actions run.
    #[inline]
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let older = NEWEST.get();
        self.older.set(older);
        self.newer.set(null());
        NEWEST.set(self);
        // SAFETY: it is null or in the list of this thread, so it stands.
        if let Some(older) = unsafe { older.as_ref() } {
            older.newer.set(self);
        }
        if !INDEX.get().is_null() {
            self.enter_index();
        }
        let _entered = Entered(self);
        f()
    }

    /// Is its task's newest frame from now on.
    #[cold]
    #[inline(never)]
    fn enter_index(&self) {
        // SAFETY: there is an index, which is used for this change.
        let below = unsafe { &mut *INDEX.get() }.insert(self.task.number(), self);
        self.below.set(below.unwrap_or(null()));
    }

    /// The contrary. The frame is out of the list already.
    #[cold]
    #[inline(never)]
    fn leave_index(&self) {
        // SAFETY: there is an index, which is used for this change, or goes.
        unsafe {
            if NEWEST.get().is_null() {
                drop(Box::from_raw(INDEX.replace(null_mut())));
            } else if self.below.get().is_null() {
                (*INDEX.get()).remove(&self.task.number());
            } else {
                (*INDEX.get()).insert(self.task.number(), self.below.get());
            }
        }
    }

    /// The next one who sends does so in an action.
    #[inline(always)]
    pub(crate) fn begin(&self) {
        self.holds.set(true);
    }

    /// Holds a send of the action that runs.
    #[inline(always)]
    pub(crate) fn hold<T: Send + Sync + 'static, C: Change<T>>(
        &self,
        to: Kept<T>,
        change: C,
        about: Option<Box<About>>,
    ) {
        // SAFETY: nobody else borrows it meanwhile (see the field).
        hold(unsafe { &mut *self.held.get() }, to, change, about);
    }

    /// Takes out the oldest send that is held.
    #[inline(always)]
    fn pop(&self) -> Option<Taken<SendHeld>> {
        // SAFETY: nobody else borrows it meanwhile (see the field).
        unsafe { &mut *self.held.get() }.pop()
    }

    /// Sends what is held, and what is held meanwhile. How much was that? (A send may drop the last
    /// handle of an agent, whose value sends.)
    #[inline(always)]
    fn send_held(&self) -> usize {
        let mut count = 0;
        while let Some(held) = self.pop() {
            // SAFETY: it was taken out last, and is not used afterwards.
            unsafe { (held.kind.call)(held.payload) };
            count += 1;
        }
        count
    }

    /// Sends what is held, and holds no more.
    #[inline(always)]
    pub(crate) fn release(&self) {
        self.send_held();
        self.holds.set(false);
    }

    /// Drops what is held, and holds no more.
    #[cold]
    pub(crate) fn give_up(&self) {
        self.holds.set(false);
        // (One by one: two destructors that panic at once would end the process.)
        while let Some(held) = self.pop() {
            // SAFETY: it was taken out last, and is not used afterwards.
            _ = user_code::call(|| unsafe { held.drop() }).map_err(discard);
        }
    }
}

/// Sends what the action that runs here has sent so far, instead of at its end, and says how much
/// that was. It stays sent if the action fails later. 0 where no action runs.
///
/// # Examples
/// ```
/// use myriad::agent::{Agent, release_pending_sends};
/// let (first, second) = (Agent::new(0), Agent::new(0));
/// let other = second.clone();
/// first.send(move |_| {
///     other.send(|n| *n = 1).unwrap();
///     assert_eq!(other.get(), 0);
///     assert_eq!(release_pending_sends(), 1);
///     other.wait().unwrap();
///     assert_eq!(other.get(), 1);
/// })?;
/// first.wait().unwrap();
/// # Ok::<(), myriad::agent::AgentError>(())
/// ```
#[doc(alias = "release-pending-sends")]
pub fn release_pending_sends() -> usize {
    holding().map_or(0, Frame::send_held)
}
