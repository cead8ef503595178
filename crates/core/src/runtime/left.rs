//! Tasks that are blocked when their runtime ends, and never go on.
//!
//! A stack cannot be unwound from outside, so such a task keeps its stack, its record, and what it
//! owns. Whoever holds its handle is told: the record is completed for the joiner
//! ([`Outcome::Left`]), and nobody frees it. What runs in such a task for others, as the nodes of a
//! dataflow do, hears of it by a pointer in the record ([`watch`]).
//!
//! **Who cannot be told.** Who has lent the task a frame: `run` from outside of the runtime, and
//! the owner of a scope. What the task has borrowed there it may have lent to others (to a call on
//! another thread, to a task of another runtime), which go on using it. So the frame must stand for
//! ever, and its owner would wait for ever: the process ends instead, and says why. (An owner that
//! is itself left for ever waits for nothing.)
//!
//! **When.** The workers have ended: so nobody goes on with a task any more, and what a record says
//! about its wait stays so.

use crate::queue::parked::Parked;
use crate::record::header::{DONE, Header, Outcome};
use crate::record::held::Ending;
use crate::record::position::Position;
use crate::record::{memory, position, watch};
use crate::sched::lifecycle;
use crate::sched::pool::Pool;
use crate::sched::waker::wake_waiter;
use crate::sched::worker::{self, Peer};
use myriad_base::sys::hooks::Hooks;
use myriad_base::sys::thread::abort_with;
use std::sync::atomic::Ordering::*;

/// Who is told when tasks of a pool were left blocked, in this order.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told {
    /// Sets of tasks: their members' records say so.
    Sets,
    /// Gangs: those of the pool's tasks never begin.
    Gangs,
}

const ALL_TOLD: usize = Told::Gangs as usize + 1;

static TOLD: Hooks<fn(&Pool), ALL_TOLD> = Hooks::new();

/// From now on `told` is called when tasks of a pool were left blocked.
pub(crate) fn when_left(who: Told, told: fn(&Pool)) {
    TOLD.set(who as usize, told);
}

/// Leaves what is blocked in this pool, and tells who waits for it.
///
/// # Safety
/// All workers of `pool` have ended, and their end happened before; what was queued has been
/// dropped.
pub(super) unsafe fn leave(pool: &'static Pool) {
    // SAFETY: the workers have ended, so what runs or is blocked in them stays as it is; a live
    // record is read through its atomic words.
    unsafe {
        refuse_lent_frames(pool);
        let mut left = Vec::new();
        memory::for_each_live(pool.number, |task| {
            if !(*task).is_done() && is_blocked(task) {
                left.push(task);
            }
        });
        left.into_iter().for_each(|task| tell(pool, task));
    }
    for told in (0..ALL_TOLD).filter_map(|who| TOLD.get(who)) {
        // (Wakers that these call come through the door.)
        told(pool);
    }
}

/// Has the task begun, and is it set aside? (A record that somebody else is just making for a task
/// that will be refused is not.)
///
/// # Safety
/// `task` is a record in memory for records.
pub(super) unsafe fn is_blocked(task: *const Header) -> bool {
    loop {
        // SAFETY: record memory, which is never unmapped; the word is atomic.
        match unsafe { (*task).idx().load(Acquire) } {
            // By a canceller, for some instructions.
            position::HELD => std::hint::spin_loop(),
            word => return matches!(position::read(word), Position::Waits(..) | Position::Under(..)),
        }
    }
}

/// Completes the record for whoever has the handle.
///
/// # Safety
/// All workers of `pool` have ended, and their end happened before. `task` is a live record of the
/// pool, and blocked.
unsafe fn tell(pool: &'static Pool, task: *mut Header) {
    pool.keep_left();
    // SAFETY: `task` is blocked, and its workers have ended (this function's contract): who ran it
    // does not go on, so what is the runner's is ours.
    match unsafe { lifecycle::end(task, Outcome::Left) } {
        Ending::Detached(_) => pool.forget_left(),
        Ending::Awaited(waiter) => _ = wake_waiter(worker::current(), waiter),
        Ending::Held => {}
    }
    // SAFETY: as above, and a record is told once: it has ended now.
    unsafe { watch::tell(task) };
}

/// Ends the process if somebody waits who cannot be told.
///
/// # Safety
/// All workers of `pool` have ended, and their end happened before.
unsafe fn refuse_lent_frames(pool: &'static Pool) {
    let mut lent = None;
    // SAFETY: the workers have ended, so their lists of frames stay as they are; who is in `run`
    // stays there meanwhile, and scopes stand until their tasks have ended.
    unsafe {
        pool.for_each_run(|task| {
            let waiter = (*task).waiter(Acquire);
            if waiter != DONE
                && !waiter.is_null()
                && waits((*waiter.cast::<Parked>()).home.map(|home| Peer::of(home.shared()).pool))
            {
                lent = Some((task, "`run` waits for it"));
            }
        });
        for w in pool.all_workers() {
            w.scoped.for_each_scoped(|task, scope| {
                // (What is read of the scope does not change.)
                if waits((!scope.foreign).then(|| scope.home.inner())) {
                    lent = Some((task.as_ptr().cast_const(), "the owner of its scope waits for it"));
                }
            });
        }
    }
    if let Some((task, who)) = lent {
        let name = pool.name_of(task, true).map_or_else(|| "a task".into(), |name| format!("task '{name}'"));
        // SAFETY: the task has not ended (`waiter` was not `DONE`), and its workers have, so the
        // record stays.
        let location = unsafe { (*task).location() };
        abort_with(&format!(
            "{name} (spawned at {location}) was still blocked when its runtime ended, and {who}, with a frame that the task borrows \
             from: neither can go on. End such tasks first (cancel them, or close what they wait for), or give \
             `Runtime::shutdown` more patience"
        ));
    }
}

/// Does one wait who may go on: a foreign thread, or a task of this pool?
fn waits(pool: Option<&'static Pool>) -> bool {
    pool.is_none_or(|pool| !pool.workers.stops())
}
