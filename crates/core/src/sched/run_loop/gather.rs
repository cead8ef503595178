//! What workers do where woken futures are [gathered](crate::sched::gather) on one of them.
//!
//! That one keeps what it wakes for itself ([`Keeps::All`]), and takes at its ticks what others
//! have, who publish it at theirs. What is spawned, what sockets wake, and what yields without
//! having used anything that others use, is for all, as ever. Stacks stay where they are. Locks
//! get used to the worker at once (`BiasOwner::set_alone`), unless it is a trial.
//!
//! **Nothing waits for long.** At a tick that finds long turns, what the worker has is for others
//! at once; if it is in one turn for long, the monitor sees that (`rescue::watch`, "kept tasks").
//! Where the one worker has time to sleep, gathering ends after some milliseconds of work: then
//! woken futures are for all, and wait less.
//!
//! **Not here:** under another policy than work stealing, where latencies are measured, and where
//! no monitor runs (the caller says that turns are not short).

use crate::queue::deque::{BATCH, Keeps};
use crate::sched::gather::Totals;
use crate::sched::worker::{BUDGET, Peer, Worker};
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread;

/// A worker that gives its tasks away waits so long for the next one to be taken, ...
const GIVE_US: u64 = 50;
/// ... and so long for all.
const GIVE_ALL_US: u64 = 500;
/// The worker that takes them does nothing else for so long, at a tick.
const TAKE_US: u64 = 20;

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
            w.deque().set_keeps(Keeps::All);
            take_offered(w, now);
            share_spawned(w);
            return Keeps::All;
        }
        Some(other) => give_to(w, other, now),
        None => {}
    }
    if short { Keeps::Lone } else { Keeps::Nothing }
}

/// At a tick whose turns nobody knows, because it was asked for: perhaps by who offers something.
/// (The next tick finds out whether turns are short still.)
pub(super) fn cut_tick(w: &Worker, now: u64) {
    if w.pool.gather.worker() == Some(w.shared.index) {
        w.deque().set_keeps(Keeps::All);
        take_offered(w, now);
    }
}

/// Takes what others have published for this worker; for so long, as nothing runs here meanwhile.
fn take_offered(w: &Worker, now: u64) {
    let gather = &w.pool.gather;
    if gather.take_offer() {
        let until = now + TAKE_US * ticks_per_us();
        if !take_from_others(w, || gather.worker() == Some(w.shared.index) && ticks() < until) {
            gather.offer(); // with the next tick
        }
    }
}

/// True: there is nothing more.
#[cold]
fn take_from_others(w: &Worker, goes_on: impl Fn() -> bool) -> bool {
    for victim in w.pool.workers.others(&w.shared) {
        while victim.deque.has_public() {
            if !goes_on() {
                return false;
            }
            let mut tasks = [const { None }; BATCH];
            let taken = victim.deque.steal(&mut tasks);
            if taken == 0 {
                break;
            }
            // (And no sleeper is woken for what is left: it is for this worker.)
            w.counters.stolen.add(taken as u64);
            tasks[..taken].iter_mut().filter_map(Option::take).for_each(|task| match task.into_unstarted() {
                Ok(closure) => w.push(closure),
                Err(future) => w.push_woken(future),
            });
        }
    }
    true
}

/// What was spawned since the last tick may be private, below what was woken: it is for all.
fn share_spawned(w: &Worker) {
    let spawned = w.counters.spawned.get();
    if w.spawned_at_tick.replace(spawned) != spawned && w.shared.deque.is_requested() {
        w.pool.workers.serve_requests(&w.shared, w.deque());
    }
}

/// Publishes all that is queued here, and waits for that worker to take it: as long as both run
/// what they wake, each of them wakes more. If the other does not come by, gathering is over.
#[cold]
fn give_to(w: &Worker, other: usize, now: u64) {
    let gather = &w.pool.gather;
    let Some(to) = w.pool.regular_workers().get(other) else { return };
    w.deque().publish_all();
    let us = ticks_per_us();
    let (mut until, mut left) = (now + GIVE_US * us, w.shared.deque.len());
    if w.shared.deque.has_public() {
        gather.offer();
        // (61 of its turns may take longer than this one waits.)
        to.request_tick();
    }
    while w.shared.deque.has_public() && gather.worker() == Some(other) && !to.shared.sleeps() {
        let now_left = w.shared.deque.len();
        if now_left != left {
            (until, left) = ((ticks() + GIVE_US * us).min(now + GIVE_ALL_US * us), now_left);
        }
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
