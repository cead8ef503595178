//! What a worker does in a tick, and which unstarted task begins then.
//!
//! A tick is each 61st turn, and each that somebody has asked for: the loop's header says what for.

use super::gather;
use super::search::take_over;
use super::steal::{FORCE_US, has_stolen, pause_force, steal_one};
use super::task::start_taken;
use crate::record::current::CurrentTask;
use crate::record::task::Runnable;
use crate::sched::ask::ask;
use crate::sched::idle::WorkerShared;
use crate::sched::priority::{self, NextTask};
use crate::sched::rescue::monitor;
use crate::sched::worker::{Role, Worker};
use crate::sched::{driver, spare};
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::choice::{ticks, ticks_per_us};

/// In every so manieth look it says how many free records it has.
const SHOW: u32 = 16;

/// One look in so many is for tasks between the ends of the queue. Seldom, for each opens a subtree
/// before its time: one in three took 40 % more memory in a tree of tasks that wait for messages,
/// and 16 % more time.
const BETWEEN: u8 = 16;

/// Every so many turns: inbox, clock, who asks for work (else only a push looks, and one who has
/// spawned many tasks and now starts them does not push), and by turns the oldest and the newest
/// unstarted task, now and then another one. True: that was run.
///
/// The newest too, because ready tasks may never run out: then the loop would come to the others
/// only here, and a future that wakes itself, which goes to the oldest end, would be all that it
/// finds there. And those between, because the newest end may be as busy, with tasks that spawn
/// their successors.
#[cold]
#[inline(never)]
pub(super) fn tick(w: Role) -> (Role, bool) {
    // What blocked last may still stand there, and wakers are user code, which runs as nobody else.
    w.running.set(CurrentTask::NOTHING);
    let run_next = w.take_run_next();
    if run_next.is_some() {
        return start_taken(w, run_next);
    }
    // Only we write it.
    w.tick_count.store(w.tick_count.load(Relaxed).wrapping_add(1), Relaxed);
    if w.tick_count.load(Relaxed).is_multiple_of(SHOW) {
        w.memory.show();
    }
    w.drain_inbox();
    w.end_leases();
    let requested = w.window_cut.load(Relaxed);
    measure_turns(&w);
    let mut w = driver::poll(w);
    let others_stuck = w.pool.any_stuck.load(Relaxed);
    if others_stuck {
        // (Less often, as it asks for the time.)
        if w.tick_count.load(Relaxed).is_multiple_of(4) {
            w = driver::poll_all(w).0;
        }
        take_over(&w);
    }
    let long_stuck = others_stuck && w.pool.long_stuck.load(Relaxed);
    if w.shared.deque.should_share() && !w.deque().keeps_all() {
        w.pool.workers.serve_requests(&w.shared, w.deque());
    }
    match priority::next_task(&w) {
        NextTask::Default => {}
        NextTask::Skip => return (w, false),
        NextTask::Task(task) => return start_taken(w, Some(task)),
    }
    let asked_for = if requested { w.pool.take_requested(&w) } else { NextTask::Default };
    match asked_for {
        NextTask::Default => {}
        NextTask::Skip => return (w, false),
        NextTask::Task(task) => return start_taken(w, Some(task)),
    }
    let fairness_step = w.fairness_step.get();
    w.fairness_step.set((fairness_step + 1) % BETWEEN);
    if let Some(queues) = w.pool.workers.queues() {
        let task = if !w.passes_jobs_over() {
            if let Some(table) = queues.table() {
                let (w, task) = ask(w, table);
                return start_taken(w, task);
            }
            queues.take(w.shared.index, Some(w.tick_count.load(Relaxed)))
        } else if long_stuck {
            w.pool.take_injected(&w, false)
        } else {
            None
        };
        return start_taken(w, task);
    }
    let mut task = match fairness_step {
        0 => w.deque().pop_between(),
        // The newest of its own unstarted tasks.
        n if n % 2 == 0 => w.deque().pop_newest(),
        // (Before all that is its own, for that may never run out.)
        1 | 5 | 9 | 13 if long_stuck => take_from_stuck(&w),
        _ => None,
    };
    if task.is_none() {
        task = take_oldest(&w);
    }
    if task.is_none() && long_stuck {
        task = take_from_stuck(&w);
    }
    start_taken(w, task)
}

/// Finds out whether turns are short of late: shorter than another worker needs to come for a task.
///
/// That is the average of the turns since the last tick. Where there were fewer than usual (it has
/// slept, or somebody has asked for this tick), nobody knows how many: they may have been too long,
/// but are not known to be short. Where no monitor runs nothing is kept, so that nothing depends on
/// it.
fn measure_turns(w: &Worker) {
    let now = ticks();
    let time = now.saturating_sub(w.window_began.replace(now));
    let turns = w.tick_interval.get() * (1 + w.ticks_passed_over.take());
    let short = time < u64::from(turns) * FORCE_US * ticks_per_us();
    let cut = w.window_cut.load(Relaxed);
    w.window_cut.store(false, Relaxed);
    if !(short && cut) {
        let keeps = short && w.pool.latency.is_none();
        let keeps = keeps && w.pool.workers.queues().is_none() && monitor::runs();
        w.deque().set_keeps(gather::tick(w, now, keeps));
    } else {
        gather::cut_tick(w, now);
    }
}

/// A task that waits behind a stuck worker.
///
/// Who moves takes it, and does not wait until it has nothing else to do: a task that polls may be
/// all that it ever does, and may wait for just that one. (The monitor counts who moves among those
/// that run, and calls no spare beside it.)
#[cold]
fn take_from_stuck(w: &Worker) -> Option<Runnable> {
    let workers = &w.pool.workers;
    if workers.queues().is_some() {
        return None;
    }
    // (Who computes is not interrupted all the time.)
    let force = ticks() >= w.force_at.get();
    let stuck = |other: &&WorkerShared| other.remote.stuck.load(Relaxed) && other.deque.looks_busy();
    for victim in workers.others(&w.shared).filter(stuck) {
        if force {
            pause_force(w);
        }
        let task = if w.passes_jobs_over() {
            spare::steal(w, victim, force)
        } else {
            spare::unless_job(w, victim, steal_one(victim, force)).inspect(|_| has_stolen(w, victim, 1))
        };
        if task.is_some() {
            return task;
        }
    }
    None
}

/// The oldest unstarted task: of the injector, then of our own.
#[cold]
#[inline(never)]
fn take_oldest(w: &Worker) -> Option<Runnable> {
    if w.pool.workers.may_have_injected() {
        let task = w.pool.take_injected(w, false);
        if task.is_some() {
            return task;
        }
    }
    w.deque().pop_oldest()
}
