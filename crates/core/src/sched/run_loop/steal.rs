//! How a worker takes tasks out of another one's deque: some of those that it shares, or, by
//! force, one that is private yet.

use crate::record::task::Runnable;
use crate::sched::idle::WorkerShared;
use crate::sched::spare;
use crate::sched::worker::Worker;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::fence::heavy_ticks;

/// It forces a steal when it has found nothing for so long.
pub(crate) const FORCE_US: u64 = 10;

/// After a forced steal it lets so many times pass that its fence took: an owner that keeps only
/// one task at a time, which it would have run itself at once, is not interrupted all the time.
pub(crate) const FORCE_PAUSE: u64 = 8;

/// The ordinary steal: the first task to run now, the others into our own deque.
pub(crate) fn steal(w: &Worker, victim: &WorkerShared) -> Option<Runnable> {
    if w.pool.workers.queues().is_some() {
        // What others have is in the policy's queues.
        return None;
    }
    let mut tasks = [const { None }; crate::queue::deque::BATCH];
    // A spare holds nothing back: it may be stuck soon. And where it is measured nothing is queued
    // twice.
    let most = if w.spare || w.pool.latency.is_some() { 1 } else { tasks.len() };
    let taken = victim.deque.steal(&mut tasks[..most]);
    if taken == 0 {
        victim.deque.request();
        return None;
    }
    // Each push looks at our own request: a sleeper that scanned while they were in flight hears of
    // them.
    tasks[1..taken].iter_mut().filter_map(Option::take).for_each(|task| w.push_any(task));
    has_stolen(w, victim, taken);
    tasks[0].take()
}

/// So many tasks were taken out of this worker's deque.
pub(crate) fn has_stolen(w: &Worker, victim: &WorkerShared, tasks: usize) {
    w.counters.stolen.add(tasks as u64);
    w.pool.workers.found(victim);
}

/// The oldest task of this worker, and no other; what is private, only by force.
pub(crate) fn steal_one(victim: &WorkerShared, force: bool) -> Option<Runnable> {
    let mut one = [None];
    match victim.deque.steal(&mut one) {
        0 if force => victim.deque.steal_forced(),
        _ => one[0].take(),
    }
}

/// It forces a steal now, and the next one after a while.
pub(super) fn pause_force(w: &Worker) {
    w.force_at.set(ticks() + (FORCE_PAUSE * heavy_ticks()).max(FORCE_US * ticks_per_us()));
}

#[cold]
pub(super) fn steal_forced(w: &Worker) -> Option<Runnable> {
    if w.pool.workers.queues().is_some() {
        return None;
    }
    pause_force(w);
    for victim in w.pool.workers.others(&w.shared).filter(|victim| victim.deque.looks_stealable()) {
        let task = victim.deque.steal_forced();
        if task.is_some() {
            has_stolen(w, victim, 1);
            return spare::unless_job(w, victim, task);
        }
    }
    None
}
