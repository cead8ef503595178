//! Which agent's action runs here, and what it has sent.
//!
//! Whoever runs an action does so within a *frame*, which stands on the stack, and is in a list of
//! its OS thread: a closure stays on its thread, also while it waits. The calling task is inside an
//! action if there is a frame of that task. (As the frames of actors, which see.)
//!
//! **Invariants.** A frame is in the list of the thread that entered it, from `enter` to the end of
//! that call, and does not move meanwhile. The list is used by its thread alone, and no user code
//! runs in between. Frames of tasks that are set aside stand in it, too.

use myriad_core::engine::running::UnderWay;
use myriad_core::engine::unwind::drop_quietly;
use std::cell::{Cell, RefCell};
use std::ptr::null;

thread_local! {
    static NEWEST: Cell<*const Frame> = const { Cell::new(null()) };
}

/// A send that is held.
pub(crate) trait Held: Send {
    /// Puts the action into its agent's queue.
    fn send(self: Box<Self>);
}

/// See the module's header.
pub(crate) struct Frame {
    /// The agent's cell: compared, never followed.
    agent: *const (),
    task: UnderWay,
    older: Cell<*const Frame>,
    newer: Cell<*const Frame>,
    /// Are sends held? Not any more once they went out, or the action has failed.
    holds: Cell<bool>,
    /// What the action has sent. Empty between two actions.
    held: RefCell<Vec<Box<dyn Held>>>,
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
    }
}

/// Calls `f` with each frame of the calling task, the newest first, until that says so.
#[inline]
fn find<R>(mut f: impl FnMut(&Frame) -> Option<R>) -> Option<R> {
    // (At the very end of a thread there is no list any more.)
    let mut at = NEWEST.try_with(Cell::get).unwrap_or(null());
    if at.is_null() {
        return None;
    }
    let here = UnderWay::here();
    // SAFETY: what is in the list of this thread stands, and nothing leaves it here: `f` is code of
    // this crate, which does not wait.
    while let Some(frame) = unsafe { at.as_ref() } {
        if frame.task == here
            && let Some(found) = f(frame)
        {
            return Some(found);
        }
        at = frame.older.get();
    }
    None
}

/// Is the caller an action of this agent?
pub(crate) fn runs_here(agent: *const ()) -> bool {
    find(|frame| (frame.agent == agent).then_some(())).is_some()
}

/// Does the caller stand in an action whose sends are held?
#[inline]
pub(crate) fn holds() -> bool {
    find(|frame| Some(frame.holds.get())).unwrap_or(false)
}

/// Holds a send. The caller stands in an action that [holds](holds) sends.
pub(crate) fn hold(send: Box<dyn Held>) {
    let mut send = Some(send);
    find(|frame| {
        frame.held.borrow_mut().extend(send.take());
        Some(())
    });
}

impl Frame {
    /// For actions of the agent with the cell of this address, one after the other, which the
    /// caller runs.
    pub(crate) fn new(agent: *const ()) -> Frame {
        Frame {
            agent,
            task: UnderWay::here(),
            older: Cell::new(null()),
            newer: Cell::new(null()),
            holds: Cell::new(false),
            held: RefCell::new(Vec::new()),
        }
    }

    /// Runs `f` as an action.
    #[inline]
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        let older = NEWEST.get();
        self.older.set(older);
        self.newer.set(null());
        self.holds.set(true);
        NEWEST.set(self);
        // SAFETY: it is null or in the list of this thread, so it stands.
        if let Some(older) = unsafe { older.as_ref() } {
            older.newer.set(self);
        }
        let _entered = Entered(self);
        f()
    }

    /// Sends what is held, and what is held meanwhile; then holds no more.
    #[inline]
    pub(crate) fn release(&self) {
        while !self.held.borrow().is_empty() {
            let mut held = self.held.take();
            held.drain(..).for_each(Held::send);
            // (A send may drop the last handle of an agent, whose value sends: that has come into
            // new memory.)
            let mut more = self.held.borrow_mut();
            if more.is_empty() {
                *more = held;
            }
        }
        self.holds.set(false);
    }

    /// Drops what is held, and holds no more.
    #[cold]
    pub(crate) fn give_up(&self) {
        self.holds.set(false);
        // (One by one: two destructors that panic at once would end the process.)
        self.held.take().into_iter().for_each(drop_quietly);
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
    let held = find(|frame| Some(frame.held.take())).unwrap_or_default();
    let count = held.len();
    held.into_iter().for_each(Held::send);
    count
}
