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
//! (Over 600 lines: the steps of a turn call each other, and another file would be one more in the
//! engine's largest cycle of files.)
//!
//! Nothing of the loop lives across the run of a task but the worker, and a stack never leaves its
//! worker.

use super::ask::ask;
use super::busy::{self, Looking};
use super::idle::WorkerShared;
use super::pool::Pool;
use super::priority::{self, NextTask};
use super::spare;
use super::stacks::{LoopEnd, RunLoop};
use super::worker::{BUDGET, Peer, Role, Worker};
use crate::queue::parked::{Parked, Resumable};
use crate::queue::reason::WaitReason;
use crate::record::current::CurrentTask;
use crate::record::header::{Ended, Header};
use crate::record::held::{Ending, Finished, Untyped};
use crate::record::position;
use crate::record::task::Runnable;
use crate::sched::rescue::monitor;
use crate::sched::wait::foreign;
use crate::sched::waker::wake_waiter_as;
use crate::sched::{cancel, context, driver, finish, lifecycle, unhandled};
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::fence::heavy_ticks;
use myriad_base::sys::thread::relax;

/// An idle worker looks around for so long before it sleeps.
pub(crate) const SPIN_US: u64 = 50;
/// One that looks around looks at the reactor as often, in microseconds: that is a call of the
/// system.
const POLL_US: u64 = 2;
/// The same where others have all processors.
pub(super) const SHORT_SPIN_US: u64 = 5;
/// In every so manieth look it says how many free records it has.
const SHOW: u32 = 16;
/// It forces a steal when it has found nothing for so long.
pub(crate) const FORCE_US: u64 = 10;
/// One look in so many is for tasks between the ends of the queue. Seldom, for each opens a subtree
/// before its time: one in three took 40 % more memory in a tree of tasks that wait for messages,
/// and 16 % more time.
const BETWEEN: u8 = 16;
/// After a forced steal it lets so many times pass that its fence took: an owner that keeps only
/// one task at a time, which it would have run itself at once, is not interrupted all the time.
pub(crate) const FORCE_PAUSE: u64 = 8;

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

/// As [`start`].
#[inline(always)]
fn start_in<const MEASURED: bool>(w: Role, task: Runnable) -> Role {
    if MEASURED {
        w.pool.latency.iter().for_each(|latency| latency.begins(task.address()));
    }
    start(w, task)
}

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
fn tick(w: Role) -> (Role, bool) {
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
    if w.shared.deque.should_share() {
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
        w.deque().set_short_turns(keeps && w.pool.workers.queues().is_none() && monitor::runs());
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

/// Starts what was taken out of a queue, if anything was.
fn start_taken(w: Role, task: Option<Runnable>) -> (Role, bool) {
    match task {
        Some(task) if w.pool.latency.is_some() => (start_in::<true>(w, task), true),
        Some(task) => (start(w, task), true),
        None => (w, false),
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

impl Role {
    /// Runs a task, which is what the worker [runs](Worker::running): its body is user code, so the
    /// role is read anew.
    #[inline(always)]
    pub(crate) fn run(self, task: Runnable) -> (Role, Ended) {
        let ended = lifecycle::begin(task);
        (self.refresh(), ended)
    }
}

/// Runs a task from the loop, to its end or until it blocks (then another stack goes on with the
/// loop).
#[inline(always)]
pub(crate) fn start(w: Role, task: Runnable) -> Role {
    let record = task.address();
    w.running.set(CurrentTask::of_task(record));
    w.budget.set(BUDGET);
    w.awaits.store(position::RUNS, Relaxed);
    w.counters.begun.add(1);
    let (mut w, mut ended) = w.run(task);
    // What completes itself has ended its context before.
    if ended == Ended::BySelf {
        w.running.set(CurrentTask::NOTHING);
        w.end_leases();
        return w;
    }
    if w.running.has_context() {
        (w, ended) = context::end_then(w, ended);
    }
    w.running.set(CurrentTask::NOTHING);
    // SAFETY: the task has run to its end on this stack, just now, and says how.
    unsafe { complete(w, record, ended) }
}

/// After a task has run to its end: outcome, waiter, memory. Nothing runs on the worker any more:
/// the record may be another task's as soon as the end can be seen.
///
/// # Safety
/// The caller has run the task to its end, and `ended` says how it ended.
#[inline(always)]
pub(crate) unsafe fn complete(w: Role, task: *mut Header, ended: Ended) -> Role {
    // SAFETY: the task has run to its end (this function's contract): until that is said the record
    // is ours.
    let ending = unsafe {
        (*task).set_outcome(lifecycle::outcome_of(ended));
        lifecycle::end_by_runner(task)
    };
    match ending {
        Ending::Held => w,
        Ending::Detached(task) if ended == Ended::ReturnedPlain => match task.into_value() {
            // (What it has returned is forgotten: it has no destructor.)
            Ok((_, record)) => {
                finish::free(Some(&w), record);
                w
            }
            Err(task) => end_detached(w, task, ended),
        },
        Ending::Detached(task) => end_detached(w, task, ended),
        Ending::Awaited(waiter) => wake_waiter_as(w, waiter),
    }
}

#[inline(never)]
fn end_detached(w: Role, finished: Finished<Untyped>, ended: Ended) -> Role {
    let task = finished.task_ref();
    // What is left is the task's own code: its destructors run as the task, which is cancelled no
    // more.
    w.running.set(CurrentTask::of_task(task.as_ptr()));
    // (The exchange in `complete` has said that it has ended.)
    task.drops_yet();
    cancel::keep_off_for_good(task.header());
    let w = if ended == Ended::Panicked { unhandled::report(Some(w), &finished) } else { Some(w) };
    finish::drop_own_outcome(w.expect("a worker stays one"), finished)
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

/// What a spare does when it has nothing of its own: it goes on with blocked tasks of stuck workers
/// before it starts anything, which might be stuck in the same lock; off duty it rests. False: it
/// is to look further.
#[cold]
#[inline(never)]
fn spare_turn(w: Role) -> (Role, bool) {
    if w.pool.workers.stops() {
        return (w, false);
    }
    if !w.on_duty.load(Relaxed) {
        w.stacks.trim_threads(&w, 0);
        // As in `tick`.
        w.running.set(CurrentTask::NOTHING);
        let w = driver::poll(w);
        // What the timers have woken is ours: nobody else would look for it.
        if !w.spare || w.shared.has_ready() || !w.nothing_ready() || w.shared.deque.looks_busy() {
            return (w, true);
        }
        w.end_leases();
        let looking = Looking::begin();
        w.pool.workers.rest(&w.shared, || w.on_duty.load(Relaxed), || w.timers.until_own(&w));
        drop(looking);
        monitor::worker_awake();
        return (w, true);
    }
    let taken_over = take_over(&w);
    (w, taken_over)
}

/// Takes over a ready task of a worker that is stuck (threads mode): it goes on next, as ours.
pub(super) fn take_over(w: &Worker) -> bool {
    if !w.shared.ready.is_shared() || !w.pool.any_takeover() {
        return false;
    }
    let Some((other, node)) = w.pool.workers.take_over(&w.shared) else { return false };
    Peer::of(other).count_stacks(-1);
    w.count_stacks(1);
    // SAFETY: `take_over` has taken the node out of the other's queue, for this worker.
    unsafe { w.make_ready(node) };
    true
}

/// Looks for work elsewhere: polls, then steals by force, then sleeps. `None`: look at your own
/// queues again.
#[cold]
#[inline(never)]
fn search(w: Role) -> (Role, Option<Runnable>) {
    // As in `tick`.
    w.running.set(CurrentTask::NOTHING);
    w.end_leases();
    if w.passes_jobs_over() {
        return spare::search(w);
    }
    let began = ticks();
    w.phases.idle_begins(began);
    let (w, task) = look_around(w, began);
    w.phases.idle_ends(began, ticks());
    (w, task)
}

/// The same, for one that began at this time, in ticks.
fn look_around(w: Role, began: u64) -> (Role, Option<Runnable>) {
    let workers = &w.pool.workers;
    let me = &w.as_static().shared;
    let mut w = w;
    let per_us = ticks_per_us();
    let has_reactor = workers.reactor.get().is_some();
    let look_for = if has_reactor { w.phases.look() } else { SPIN_US * per_us };
    // (Who sleeps at once sees there what has come already.)
    let mut polls_at = if has_reactor && look_for > 0 { began } else { u64::MAX };
    // From its second look on: the first one is short.
    let mut looking = None;
    loop {
        if !me.remote.inbox.is_empty() || workers.stops() || workers.has_injected_for(me) {
            return (w, None);
        }
        if me.has_pinned() {
            let task = w.pool.take_pinned(&w);
            if task.is_some() {
                return (w, task);
            }
        }
        if take_over(&w) {
            return (w, None);
        }
        for victim in workers.others(me) {
            let task = spare::unless_job(&w, victim, steal(&w, victim));
            if task.is_some() {
                return (w, task);
            }
        }
        if workers.has_background() {
            let task = w.pool.take_background();
            if task.is_some() {
                return (w, task);
            }
        }
        let now = ticks();
        if now >= w.force_at.get().max(began + FORCE_US * per_us) {
            let task = steal_forced(&w);
            if task.is_some() {
                return (w, task);
            }
            // (Wakers are user code.)
            looking = None;
            let (now, any) = driver::poll_all(w);
            w = now;
            // (Whoever ran a waker may be another worker by now, with queues of its own.)
            if any {
                return (w, None);
            }
        }
        if now >= polls_at {
            polls_at = now + POLL_US * per_us;
            // (Wakers are user code.)
            looking = None;
            let (now, any) = driver::poll_reactor(w);
            w = now;
            if any {
                return (w, None);
            }
        }
        _ = looking.get_or_insert_with(Looking::begin);
        let in_the_way = busy::others_fill_processors();
        // Who must not yet force a steal does not sleep either, if there is something that only
        // force can take.
        if now - began >= if in_the_way { look_for.min(SHORT_SPIN_US * per_us) } else { look_for }
            && (now >= w.force_at.get() || !workers.others(me).any(|m| m.deque.looks_stealable()))
        {
            w.stacks.trim(&w);
            let slept = workers.sleep(me, || driver::before_sleep(&w));
            // Also if it did not: the monitor may have looked while all others slept and it was
            // about to.
            monitor::worker_awake();
            if !slept.has_slept() {
                // Somebody is busy: perhaps with tasks that only force can take.
                let task = steal_forced(&w);
                if task.is_some() {
                    return (w, task);
                }
            }
            w.pool.next_wake.store(u64::MAX, std::sync::atomic::Ordering::Relaxed);
            drop(looking);
            return (driver::poll_all(driver::after_sleep(w, slept)).0, None);
        }
        // (Where others have all processors, and there is something for which it may not sleep yet,
        // it yields too.)
        let yields = if in_the_way {
            now - began > SHORT_SPIN_US * per_us
        } else {
            now - began > FORCE_US * per_us || foreign::was_called_lately(now)
        };
        if yields {
            // Whoever waits for what this worker has just ended, a thread that is no worker, may
            // stand behind it on its processor. (Without that a call from such a thread took 60 us
            // where there are no more processors than workers: as long as they spin. And 10 us
            // where the first microseconds went without yields.)
            myriad_base::sys::thread::yield_now();
        } else {
            for _ in 0..4 {
                if !me.remote.inbox.is_empty() {
                    break;
                }
                relax();
            }
        }
    }
}

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
pub(super) fn has_stolen(w: &Worker, victim: &WorkerShared, tasks: usize) {
    w.counters.stolen.add(tasks as u64);
    w.pool.workers.found(victim);
}

/// The oldest task of this worker, and no other; what is private, only by force.
pub(super) fn steal_one(victim: &WorkerShared, force: bool) -> Option<Runnable> {
    let mut one = [None];
    match victim.deque.steal(&mut one) {
        0 if force => victim.deque.steal_forced(),
        _ => one[0].take(),
    }
}

/// It forces a steal now, and the next one after a while.
fn pause_force(w: &Worker) {
    w.force_at.set(ticks() + (FORCE_PAUSE * heavy_ticks()).max(FORCE_US * ticks_per_us()));
}

#[cold]
fn steal_forced(w: &Worker) -> Option<Runnable> {
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
