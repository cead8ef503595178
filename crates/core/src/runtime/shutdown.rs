//! Shutting a runtime down.
//!
//! 1. The injector closes for newcomers: what others spawn from now on is dropped, and their
//!    handles say so. Tasks may still spawn, and be woken: they need it to end.
//! 2. Wait until no task is left, or the patience is at an end; and in any case for what
//!    [`delays`](crate::sched::pool::ShutdownDelay) the end.
//! 3. Stop: each worker leaves its loop at its next turn.
//! 4. What is left in the queues is dropped, then the waiting futures; their joiners are woken.
//!    Dropping runs the user's destructors, so it is done again until nothing is left. (If a worker
//!    is still in a task, it does this itself when it comes back, for only then the queues stand
//!    still.)
//! 5. What is left then is blocked or running: it is named, and the pool is never used again. Who
//!    joins a task that is left blocked is told ([`super::left`]), if all workers of its pool have
//!    ended; else when the last of them has come back.
//!
//! Nothing counts tasks while they run: a look at all records says whether one is left, and costs
//! only a shutdown. It says so only while all workers sleep, before the look and after it: records
//! that come and go behind it are not missed.

use super::report::{Report, State, Unfinished};
use super::{grace, left};
use crate::queue::parked::Parked;
use crate::queue::policy::Arrival;
use crate::queue::reason::WaitReason;
use crate::record::current::CurrentTask;
use crate::record::header::{Header, Kind, TaskFlags};
use crate::record::position::{self, Position};
use crate::record::task::Runnable;
use crate::record::{memory, state};
use crate::sched::borrower;
use crate::sched::driver::reactor::Reactor;
use crate::sched::finish;
use crate::sched::pool::{Admission, Pool};
use crate::sched::worker;
use myriad_base::sys::clock::{self, Instant};
use std::panic::Location;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// Workers that are in no task get so much, on a machine that is busy.
const LATE: Duration = Duration::from_secs(5);

/// Shuts the runtime of this pool down, with all its pools.
pub(super) fn shutdown(pool: &'static Pool, patience: Duration) -> Report {
    if pool.is_elsewhere() {
        // Nothing of it is here.
        return Report::default();
    }
    let pools = pool.runtime_pools().pools();
    let until = clock::system_now() + patience;
    pools.iter().for_each(|pool| pool.set_admission(Admission::OwnTasks));
    wait_until_empty(&pools, until);
    wait_for_delays(&pools);
    // From here on no spare worker begins.
    pools.iter().for_each(|&pool| crate::sched::rescue::monitor::forget(pool));
    pools.iter().for_each(|pool| pool.workers.set_stop(true));
    for pool in &pools {
        pool.wait_ended(pool.workers.all().len(), Some(until));
    }
    grace::wait(&pools);
    for pool in &pools {
        // Who is in no task comes to its loop's end, if the system lets it run; a spare may just
        // have been started.
        if pool.all_workers().all(|w| w.running.get() == CurrentTask::NOTHING) {
            pool.wait_ended(pool.workers.all().len(), Some(clock::system_now() + LATE));
        }
    }
    pools.iter().for_each(|pool| pool.set_admission(Admission::Nobody));
    let (stopped, late): (Vec<_>, Vec<_>) = pools.iter().partition(|pool| pool.wait_no_longer(clean_up_late));
    let mut report = Report::default();
    drop_left(&stopped, &mut report);
    for &pool in &late {
        let mut left = pool.drain_injector();
        left.extend(drain_queues(pool, true));
        drop_all(left, usize::MAX, &mut report);
    }
    stopped.iter().for_each(|pool| name_left(pool, true, &mut report));
    late.iter().for_each(|pool| name_left(pool, false, &mut report));
    // SAFETY: their workers have ended (the lock of its threads), and the queues are empty.
    stopped.iter().for_each(|pool| unsafe { left::leave(pool) });
    let mut clean = late.is_empty() && report.unfinished.is_empty();
    for pool in &stopped {
        clean &= pool.join_leaving() && pool.blocked() == 0;
    }
    // What waits for sockets beyond the runtime does so elsewhere from now on.
    pools.iter().filter_map(|pool| pool.workers.reactor.get()).for_each(Reactor::end);
    pools.iter().for_each(|pool| pool.dedicated.join(true));
    clean &= pools.iter().all(|pool| pool.dedicated.is_empty());
    // All or none: a task that is still there may hold on to any pool.
    if clean {
        pools.iter().for_each(|pool| pool.give_back());
    } else {
        stopped.iter().for_each(|pool| give_number_back(pool));
    }
    super::deadlock::forget();
    report
}

/// The shutdown is over, and now the last worker has come back from its task. On a thread that is
/// no worker any more.
pub(crate) fn clean_up_late(pool: &'static Pool) {
    drop_left(&[pool], &mut Report::default());
    // SAFETY: the workers have ended (the lock of its threads), and the queues are empty.
    unsafe { left::leave(pool) };
    give_number_back(pool);
}

/// The workers of this pool have ended, and its records are done: another pool may have its number.
/// (Not if a task has a thread of its own yet: that task spawns.)
fn give_number_back(pool: &'static Pool) {
    if pool.dedicated.is_empty() {
        pool.give_number_back();
    }
}

/// Waits until no task of these pools is left.
fn wait_until_empty(pools: &[&'static Pool], until: Instant) {
    let mut pause = Duration::from_micros(20);
    while any_left(pools) {
        let left = until - clock::system_now();
        if left.is_zero() {
            return;
        }
        clock::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Waits until nothing delays the end any more. (Not on one of their own workers, which the tasks
/// that delay it may need; nor where a task keeps such a worker's thread.)
fn wait_for_delays(pools: &[&'static Pool]) {
    pools.iter().for_each(|pool| pool.delays.close());
    let is_ours = |pool: &Pool| pools.iter().any(|ours| std::ptr::eq(*ours, pool));
    if worker::current().is_some_and(|w| is_ours(w.pool)) || borrower::home().is_some_and(|home| is_ours(home.inner()))
    {
        return;
    }
    let mut pause = Duration::from_micros(20);
    while !pools.iter().all(|pool| pool.delays.are_over()) {
        clock::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(5));
    }
}

/// Is a task left that has not ended?
fn any_left(pools: &[&'static Pool]) -> bool {
    let idle = || {
        pools.iter().all(|pool| {
            pool.workers.all_sleep()
                && !pool.workers.has_injected()
                && pool.nobody_runs()
                && pool.dedicated.is_empty()
                && pool.user_code() == 0
        })
    };
    let mut any = !idle();
    for pool in pools {
        if any {
            break;
        }
        // SAFETY: looks at the atomic `waiter` only. If somebody spawns or frees meanwhile,
        // whatever we see is not believed: the workers are looked at again.
        unsafe { memory::for_each_live(pool.number, |task| any |= !(*task).is_over()) };
    }
    any || !idle()
}

/// With all workers of these pools stopped: drops what is in the queues, and waiting futures, until
/// none is left.
fn drop_left(pools: &[&'static Pool], report: &mut Report) {
    loop {
        // Of all pools before anything is dropped: a destructor wakes none of those that we have.
        let mut left = Vec::new();
        for pool in pools {
            left.append(&mut pool.drain_injector());
            left.extend(drain_queues(pool, false));
            for w in pool.all_workers() {
                // SAFETY: the worker has ended, and its end happened before (the lock of its
                // threads): we act as the owner.
                let deque = unsafe { w.shared.deque.owner() };
                left.extend(std::iter::from_fn(|| deque.pop()));
            }
        }
        let queued = left.len();
        for pool in pools {
            // SAFETY: the workers have stopped; a future that is seized is nobody else's, and is in
            // no queue.
            unsafe {
                memory::for_each_live(pool.number, |task| {
                    if (*task).kind().has(Kind::FUTURE) && state::seize((*task).state()) {
                        left.push(Runnable::from_raw(task));
                    }
                });
            }
        }
        if left.is_empty() {
            break;
        }
        drop_all(left, queued, report);
    }
    pools.iter().flat_map(|pool| pool.all_workers()).for_each(|w| w.timers.abandon());
}

/// Takes what is in the queues of another policy than work stealing. `some_run`: a task is still
/// running somewhere; then what it has forked, in a `join` or a scope, stays for it, as under work
/// stealing all does that is in its worker's deque.
fn drain_queues(pool: &'static Pool, some_run: bool) -> Vec<Runnable> {
    let Some(queues) = pool.workers.queues() else { return Vec::new() };
    let left: Vec<_> = std::iter::from_fn(|| queues.take(0, None)).collect();
    if !some_run {
        return left;
    }
    let mut runs = Vec::new();
    pool.for_each_run(|task| runs.push(task));
    let forked = |task: &Runnable| {
        let kind = task.header().kind();
        kind.has(Kind::SCOPED) || kind.has(Kind::ON_STACK) && !runs.contains(&task.address().cast_const())
    };
    let (stay, left): (Vec<_>, Vec<_>) = left.into_iter().partition(forked);
    stay.into_iter().for_each(|task| pool.workers.put(queues, None, task, Arrival::Outside));
    left
}

/// Drops these tasks, of which the first `queued` were in queues.
fn drop_all(tasks: Vec<Runnable>, queued: usize, report: &mut Report) {
    for (i, task) in tasks.into_iter().enumerate() {
        let waits = i >= queued || task.is_future();
        let state = if waits { State::Waiting } else { State::Unstarted };
        // (One that the program has cancelled ends as that says.)
        if !task.header().has_flags(TaskFlags::CANCELLED) {
            // SAFETY: a `Runnable`'s record lives.
            report.dropped.extend(unsafe { describe(Pool::of_task(task.task_ref()), task.address(), state) });
        }
        finish::drop_unstarted(task);
    }
}

/// Names what has neither ended nor been dropped.
fn name_left(pool: &'static Pool, stopped: bool, report: &mut Report) {
    let running: Vec<*const Header> = if stopped {
        Vec::new()
    } else {
        // A racy look at workers that did not come back: for the report only.
        pool.all_workers().map(|w| w.running.get().record_elsewhere()).collect()
    };
    // (Of workers that have not come back the number is a guess.)
    let user_code = Unfinished { name: None, location: Location::caller(), state: State::UserCode, reason: None };
    report.unfinished.extend(std::iter::repeat_n(user_code, pool.user_code()));
    let mut name = |task: *const Header| {
        let state = match () {
            () if pool.dedicated.has(task) => State::Dedicated,
            () if running.contains(&task) => State::Running,
            () => State::Blocked,
        };
        // SAFETY: a record that was visited below.
        let told = unsafe { describe(pool, task, state) };
        report.unfinished.extend(told.map(|told| {
            // SAFETY: the workers of the pool have ended, so what is blocked stays so.
            let reason = if stopped && state == State::Blocked { unsafe { reason_of(task) } } else { None };
            Unfinished { reason, ..told }
        }));
    };
    // SAFETY: the workers have stopped; or one has not come back, and may free and make records
    // meanwhile: `waiter` is atomic, and `describe` allows for that.
    unsafe {
        memory::for_each_live(pool.number, |task| {
            // (With all workers ended, what has begun is blocked, or has a thread of its own.
            // Anything else is a record that a thread is just making, by an older handle, of a task
            // that will be refused: it is no task of this runtime.)
            let is_ours = !stopped || pool.dedicated.has(task) || left::is_blocked(task);
            if !(*task).is_done() && is_ours {
                name(task);
            }
        });
        pool.for_each_run(|task| {
            if !(*task).is_done() {
                name(task);
            }
        });
    }
}

/// `None`: the record is just being made, for another task, by a worker that has not come back.
///
/// # Safety
/// A record in memory for records, or one that stays while it is looked at.
unsafe fn describe(pool: &Pool, task: *const Header, state: State) -> Option<Unfinished> {
    let name = pool.name_of(task, true).map(|name| name.to_string());
    // SAFETY: readable, by the contract. Volatile, and as an address: the record may become another
    // task's meanwhile, whose place is not written yet.
    let location = unsafe { Header::look_at_location(task) };
    // SAFETY: null in memory that had no record yet; else the place of this task, or of another one
    // in the same memory. Places stay.
    let location = unsafe { location.as_ref() }?;
    Some(Unfinished { name, location, state, reason: None })
}

/// What a blocked task waits for; `None` where that is not known: another task stands on top of it.
///
/// # Safety
/// `task` is a record of a pool whose workers have ended: if the record says that its task waits at
/// a node, that task does not go on.
unsafe fn reason_of(task: *const Header) -> Option<WaitReason> {
    // SAFETY: readable, by the contract; the word is atomic.
    match position::read(unsafe { (*task).idx().load(Acquire) }) {
        Position::Waits(_, node) => {
            // SAFETY: the node stands on the stack of the task, which does not go on.
            Some(unsafe { (*node.cast::<Parked>()).reason })
        }
        _ => None,
    }
}
