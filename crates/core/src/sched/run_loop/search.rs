//! What a worker does when it has found nothing: it looks around, takes over, steals, polls, and
//! then sleeps. A spare first goes on with what stuck workers have begun, or rests.

use super::steal::{FORCE_US, steal, steal_forced};
use crate::record::current::CurrentTask;
use crate::record::task::Runnable;
use crate::sched::busy::{self, Looking};
use crate::sched::rescue::monitor;
use crate::sched::wait::foreign;
use crate::sched::worker::{Peer, Role, Worker};
use crate::sched::{driver, spare};
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread::relax;

/// An idle worker looks around for so long before it sleeps.
pub(crate) const SPIN_US: u64 = 50;

/// One that looks around looks at the reactor as often, in microseconds: that is a call of the
/// system.
const POLL_US: u64 = 2;

/// The same where others have all processors.
pub(crate) const SHORT_SPIN_US: u64 = 5;

/// What a spare does when it has nothing of its own: it goes on with blocked tasks of stuck workers
/// before it starts anything, which might be stuck in the same lock; off duty it rests. False: it
/// is to look further.
#[cold]
#[inline(never)]
pub(super) fn spare_turn(w: Role) -> (Role, bool) {
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
pub(crate) fn take_over(w: &Worker) -> bool {
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
pub(super) fn search(w: Role) -> (Role, Option<Runnable>) {
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
