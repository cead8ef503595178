//! What workers do where woken futures are [gathered](crate::sched::gather) on one of them.
//!
//! That one keeps what it wakes for itself ([`Keeps::All`]), and takes at its ticks what others
//! have, who publish it at theirs. What is spawned, and what sockets and timers wake, is for all,
//! as ever. Stacks stay where they are. Locks get used to the worker at once
//! (`BiasOwner::set_alone`), unless it is a trial.
//!
//! **Nothing waits for long.** At a tick that finds long turns, what the worker has is for others
//! at once; if it is in one turn for long, the monitor sees that (`rescue::watch`, "kept tasks").
//! Where the one worker has time to sleep, gathering ends after some milliseconds: then woken
//! futures are for all, and wait less.
//!
//! **Not here:** under another policy than work stealing, where latencies are measured, and where
//! no monitor runs (the caller says that turns are not short).

use super::steal::has_stolen;
use crate::queue::deque::{BATCH, Keeps};
use crate::sched::gather::Totals;
use crate::sched::worker::{BUDGET, Peer, Worker};
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread;

/// A worker that gives its tasks away waits no longer until they are taken.
const GIVE_US: u64 = 50;

/// At a tick, by a worker whose turns are short, or are not: what it keeps until the next one.
pub(super) fn tick(w: &Worker, now: u64, short: bool) -> Keeps {
    let gather = &w.pool.gather;
    if short && gather.is_due(now) && w.pool.regular_workers().len() > 1 {
        gather.look(now, w.pool.regular_workers().iter().map(|w| totals(w)));
    }
    let at = if short { gather.worker() } else { None };
    let is_here = at == Some(w.shared.index);
    if let Some(owner) = w.bias_owner.get() {
        owner.set_alone(is_here && gather.lasts());
    }
    match at {
        Some(_) if is_here => {
            if gather.take_offer() {
                take_from_others(w);
            }
            return Keeps::All;
        }
        Some(other) => give_to(w, other, now),
        None => {}
    }
    if short { Keeps::Lone } else { Keeps::Nothing }
}

/// Takes what others have published.
#[cold]
fn take_from_others(w: &Worker) {
    for victim in w.pool.workers.others(&w.shared) {
        while victim.deque.has_public() {
            let mut tasks = [const { None }; BATCH];
            let taken = victim.deque.steal(&mut tasks);
            if taken == 0 {
                break;
            }
            has_stolen(w, victim, taken);
            tasks[..taken].iter_mut().filter_map(Option::take).for_each(|task| match task.into_unstarted() {
                Ok(closure) => w.push(closure),
                Err(future) => w.push_woken(future),
            });
        }
    }
}

/// Publishes all that is queued here, and waits for that worker to take it: as long as both run
/// what they wake, each of them wakes more. If the other does not come by, gathering is over.
#[cold]
fn give_to(w: &Worker, other: usize, now: u64) {
    let gather = &w.pool.gather;
    let Some(to) = w.pool.regular_workers().get(other) else { return };
    w.deque().publish_all();
    let until = now + GIVE_US * ticks_per_us();
    while w.shared.deque.has_public() && gather.worker() == Some(other) && !to.shared.sleeps() {
        if ticks() >= until {
            return gather.give_up(other);
        }
        // (Again: another worker's may have been taken, or this deque's lock.)
        gather.offer();
        // (Both may be on one processor.)
        thread::yield_now();
    }
}

/// What this worker has done.
fn totals(w: &'static Peer) -> Totals {
    let counters = &w.counters;
    let polls = counters.polls.get();
    Totals {
        polls,
        operations: polls.wrapping_mul(BUDGET.into()).wrapping_sub(counters.budget_left.get()),
        queued: polls.wrapping_sub(counters.stolen.get()).wrapping_add(w.shared.deque.taken() as u64),
        closures: counters.begun.get().wrapping_sub(polls),
        resumed: w.ready().1,
        sleeps: counters.sleeps.get(),
    }
}

#[cfg(all(test, not(loom)))]
mod test;
