//! A worker asks the scheduler that the program has written.
//!
//! The scheduler is user code, so it is called through the door: in the worker's loop, where no
//! task runs, without a lock. It may wait, spawn and panic, and the worker may be another one
//! afterwards.
//!
//! **Progress does not depend on it.** While a call waits, its worker takes the oldest task itself,
//! and so it does after a panic. What the scheduler drops is run, and what it keeps back a joiner
//! can claim, and a shutdown drop: the tasks are in the pool's [`Table`].
//!
//! Tests: `crates/myriad/tests/scheduling/own_scheduler.rs`.

use super::unhandled;
use super::user_code;
use super::worker::Role;
use crate::queue::policy::PolicyQueues;
use crate::queue::policy::scheduler::{Hosted, Turn};
use crate::queue::policy::table::{Batch, Found, Table};
use crate::record::current::CurrentTask;
use crate::record::task::Runnable;
use myriad_base::sys::atomic::Ordering::Relaxed;
use std::sync::Arc;

/// The task that the calling worker is to run next, as the scheduler says. `None`: there is none
/// for it now.
#[cold]
#[inline(never)]
pub(super) fn ask(w: Role, table: &'static Table) -> (Role, Option<Runnable>) {
    let me = &w.as_static().shared;
    // As in `tick`, for what is called runs as nobody else.
    w.running.set(CurrentTask::NOTHING);
    w.end_leases();
    // Relaxed: of this worker alone; in threads mode it goes to others with the worker's role.
    if me.asks.load(Relaxed) {
        return (w, table.take(me.index, None));
    }
    let (hosted, version) = match table.find() {
        Found::Task(task) => return (w, Some(task)),
        Found::Nothing => return (w, None),
        Found::Ask(hosted, version) => (hosted, version),
    };
    me.asks.store(true, Relaxed);
    let (now, result) = user_code::call_as(Some(w), || call(table, hosted, me.index));
    let mut w = now.expect("a worker stays one");
    me.asks.store(false, Relaxed);
    let task = match result {
        Ok(task) => {
            if task.is_none() {
                // Relaxed: read by the worker itself, and by others as a hint: who sleeps with an
                // older version here looks once more in vain. (In threads mode this may be another
                // worker by now, which has not asked.)
                me.declined.store(version, Relaxed);
            }
            w.pool.workers.pass_on(&w.shared, table);
            task
        }
        Err(payload) => {
            w = unhandled::report_user_code(Some(w), "a scheduler", payload).expect("a worker stays one");
            table.take(w.shared.index, None)
        }
    };
    (w, task)
}

/// Delivers what has come, and asks. User code; and so is what goes with the reference, which is
/// the last one if the runtime has ended without this worker.
fn call(table: &'static Table, hosted: Arc<Hosted>, worker: usize) -> Option<Runnable> {
    let turn = Turn { worker, pool: &hosted.pool };
    let mut batch: Batch = Default::default();
    let mut delivered = false;
    while table.deliver(&mut batch, delivered) || batch[0].is_some() {
        delivered = true;
        for place in &mut batch {
            let Some((task, cause)) = place.take() else { break };
            hosted.scheduler.enqueue(task, cause);
        }
    }
    loop {
        let picked = hosted.scheduler.pick_next(&turn)?;
        if let Some(task) = picked.redeem(table) {
            return Some(task);
        }
    }
}
