//! The loop of a worker: what runs next.
//!
//! In this order: the blocked task that was handed a message last; those that are ready, first
//! come, first served; the newest task of its own, or the oldest of several futures that were
//! woken; the inbox; the injector; another worker's tasks; sleep. Every 61st turn (7th while
//! timers are pending) the inbox and the clock are looked at, who was to go on next stands
//! back, and by turns the oldest, the newest, or (seldom) any other unstarted task comes first,
//! so that nothing starves. A task that comes from outside while all workers are busy makes the
//! next turn of each such a turn, and is what that turn begins; of nine turns that are asked
//! for in this way one goes on with what is ready. What has a priority ([`super::priority`])
//! comes first in such a turn, or last of all. A task that blocks switches to the next ready
//! one directly; that counts as a turn. (In threads mode a seventh turn passes that over if it
//! would find nothing: `Worker::is_tick_due`.)
//!
//! As long as another worker is stuck (`rescue::watch`) such a turn also takes what waits behind
//! that one: due timers, a ready task in threads mode, and, if no worker has come to be stuck for a
//! while, by turns with the own ones a task that has not begun.
//!
//! When the runtime stops nothing more is begun: the loop returns at its next turn, whatever is
//! queued.
//!
//! Below `run_loop/`: `tick.rs`, what a tick looks at; `search.rs`, what is done when nothing is
//! found; `steal.rs`, how tasks are taken from others; `task.rs`, how a task begins and is
//! completed.
//!
//! Nothing of the loop lives across the run of a task but the worker, and a stack never leaves its
//! worker.

mod gather;
mod search;
pub(crate) mod steal;
mod task;
mod tick;

pub(crate) use search::{SHORT_SPIN_US, SPIN_US, take_over};
pub(crate) use steal::{FORCE_US, has_stolen, steal, steal_one};
pub(crate) use task::{complete, start};

use super::ask::ask;
use super::pool::Pool;
use super::stacks::{LoopEnd, RunLoop};
use super::worker::Role;
use crate::queue::parked::{Parked, Resumable};
use crate::queue::reason::WaitReason;
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::choice::ticks;
use search::{search, spare_turn};
use task::{start_in, start_taken};
use tick::tick;

/// The loop of this pool's workers.
pub(crate) fn of(pool: &Pool) -> RunLoop {
    if pool.latency.is_some() { run::<true> } else { run::<false> }
}

/// Works until the runtime stops. Returns on whatever stack sees the stop. Tells of each beginning
/// if that is `MEASURED`.
fn run<const MEASURED: bool>(w: Role) -> LoopEnd {
    let mut w = w;
    loop {
        let left = w.tick_countdown.load(Relaxed);
        if left == 0 {
            if w.pool.workers.stops() {
                w.give_run_next_back();
                return LoopEnd::Stopped;
            }
            w.tick_countdown.store(w.tick_interval.get(), Relaxed);
            w.spill_next();
            let (now, started) = tick(w);
            w = now;
            if started {
                continue;
            }
        } else {
            w.tick_countdown.store(left - 1, Relaxed);
        }
        let node = w.take_ready();
        if let Some(node) = node {
            // SAFETY: a ready node of ours.
            match unsafe { resume(w, node) } {
                Some(now) => w = now,
                None => return LoopEnd::NotNeeded,
            }
            continue;
        }
        let task = w.deque().pop();
        if let Some(task) = task {
            w = start_in::<MEASURED>(w, task);
            continue;
        }
        if w.drain_inbox() {
            continue;
        }
        if w.spare {
            let (now, done) = spare_turn(w);
            w = now;
            if done {
                continue;
            }
        }
        let (now, started) = start_injected(w);
        w = now;
        if started {
            continue;
        }
        if w.pool.workers.stops() {
            return LoopEnd::Stopped;
        }
        let (now, task) = search(w);
        w = now;
        w.window_began.set(ticks());
        w.window_cut.store(true, Relaxed);
        if let Some(task) = task {
            w = start_in::<MEASURED>(w, task);
        }
    }
}

/// Parks this stack in the idle list and goes on with a blocked task. `None`: this thread is not
/// needed any more.
///
/// # Safety
/// `node` is one of `w` or, in threads mode, of a worker from which it was adopted.
#[inline(always)]
unsafe fn resume(w: Role, node: Resumable) -> Option<Role> {
    let me = Parked::saved(None, w.stacks.here(), WaitReason::Other);
    w.stacks.park_idle(&me);
    // SAFETY: this worker resumes the node (this function's contract), next. `me` is in the idle
    // list, from which only this worker takes it.
    let needed = unsafe {
        let to = node.saved();
        me.saved.with_mut(|saved| w.stacks.switch(&w, saved, to))
    };
    needed.then(|| w.refresh())
}

fn start_injected(w: Role) -> (Role, bool) {
    if !w.pool.workers.may_have_injected() {
        return (w, false);
    }
    let Some(table) = w.pool.workers.table().filter(|_| !w.passes_jobs_over()) else {
        let task = w.pool.take_injected(&w, true);
        return start_taken(w, task);
    };
    let interactive = w.pool.take_interactive_before(&w, &table);
    if interactive.is_some() {
        return start_taken(w, interactive);
    }
    w.priority_state.begins(false);
    let (w, task) = ask(w, table);
    if task.is_none() && !w.nothing_ready() {
        // The scheduler is user code, and may have woken what is the worker's own: nobody else
        // would look for that, and neither would this worker before it sleeps.
        return (w, true);
    }
    start_taken(w, task)
}
