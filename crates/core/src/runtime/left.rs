//! Tasks that are blocked when their runtime ends, and never go on.
//!
//! A stack cannot be unwound from outside, so such a task keeps its stack, its record, and what it owns. Whoever holds its handle
//! is told: the record is completed for the joiner ([`Outcome::Left`]), and nobody frees it.
//!
//! **Who cannot be told.** Who has lent the task a frame: `run` from outside of the runtime, and the owner of a scope. What the
//! task has borrowed there it may have lent to others (to a call on another thread, to a task of another runtime), which go on
//! using it. So the frame must stand for ever, and its owner would wait for ever: the process ends instead, and says why.
//! (An owner that is itself left for ever waits for nothing.)
//!
//! **When.** The workers have ended: so nobody goes on with a task any more, and what a record says about its wait stays so.

use super::hub::Hub;
use crate::cancel::place::{self, Place};
use crate::sched::node::Node;
use crate::sched::worker::{self, Worker};
use crate::sys::thread::abort_with;
use crate::task::header::{DETACHED, DONE, Header, Outcome};
use crate::task::waker::wake_waiter;
use crate::task::{gang, memory, owner_of, tell_of_left};
use crate::unwind;
use std::sync::atomic::Ordering::*;

/// Leaves what is blocked in this hub, and tells who waits for it.
///
/// # Safety
/// All workers of the hub have ended, and their end happened before; what was queued has been dropped.
pub(super) unsafe fn leave(hub: &'static Hub) {
    // SAFETY: the caller.
    unsafe {
        refuse_lent_frames(hub);
        let mut left = Vec::new();
        memory::for_each_live(hub.number, |task| {
            if (*task).waiter.load(Acquire) != DONE && is_blocked(task) {
                left.push(task);
            }
        });
        left.into_iter().for_each(|task| tell(hub, task));
    }
    if let Err(payload) = unwind::catch(tell_of_left) {
        unwind::discard(payload);
    }
    gang::leave_all(hub);
}

/// Has the task begun, and is it set aside? (A record that somebody else is just making for a task that will be refused is not.)
///
/// # Safety
/// A live record.
unsafe fn is_blocked(task: *const Header) -> bool {
    loop {
        // SAFETY: the caller.
        match unsafe { (*task).idx.load(Acquire) } {
            // By a canceller, for some instructions.
            place::HELD => std::hint::spin_loop(),
            word => return matches!(place::read(word), Place::Waits(..) | Place::Under(..)),
        }
    }
}

/// Completes the record for whoever has the handle.
///
/// # Safety
/// As for [`leave`]; the task is blocked.
unsafe fn tell(hub: &'static Hub, task: *mut Header) {
    hub.keep_left();
    // SAFETY: the caller: who ran the task does not go on, so what is the runner's is ours.
    let waiter = unsafe {
        (*task).outcome = Outcome::Left;
        Header::complete(task)
    };
    if waiter == DETACHED {
        hub.forget_left();
    } else if !waiter.is_null() {
        // Perhaps a foreign waker.
        // SAFETY: taken out of the record, by its completion.
        if let Err(payload) = unwind::catch(|| unsafe { wake_waiter(worker::current(), waiter) }) {
            unwind::discard(payload);
        }
    }
}

/// Ends the process if somebody waits who cannot be told.
///
/// # Safety
/// As for [`leave`].
unsafe fn refuse_lent_frames(hub: &'static Hub) {
    let mut lent = None;
    // SAFETY: the caller; who is in `run` stays there meanwhile, and scopes stand until their tasks have ended.
    unsafe {
        hub.for_each_run(|task| {
            let waiter = (*task).waiter.load(Acquire);
            if waiter != DONE
                && !waiter.is_null()
                && waits((*waiter.cast::<Node>()).home.map(|home| Worker::of(home).hub))
            {
                lent = Some((task, "`run` waits for it"));
            }
        });
        for w in hub.all_workers() {
            w.custody.for_each_scoped(|task, cancelled| {
                let (home, foreign) = owner_of(cancelled);
                if waits((!foreign).then(|| home.hub())) {
                    lent = Some((task, "the owner of its scope waits for it"));
                }
            });
        }
    }
    if let Some((task, who)) = lent {
        let name = hub.name_of(task, true).map_or_else(|| "a task".into(), |name| format!("task '{name}'"));
        // SAFETY: it has not ended.
        let place = unsafe { (*task).place };
        abort_with(&format!(
            "{name} (spawned at {place}) was still blocked when its runtime ended, and {who}, with a frame that the task borrows \
             from: neither can go on. End such tasks first (cancel them, or close what they wait for), or give \
             `Runtime::shutdown` more patience"
        ));
    }
}

/// Does one wait who may go on: a foreign thread, or a task of this hub?
fn waits(hub: Option<&'static Hub>) -> bool {
    hub.is_none_or(|hub| !hub.crew.stops())
}
