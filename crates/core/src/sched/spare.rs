//! What a spare begins: all tasks but the jobs of guests.
//!
//! A *guest* is a library whose interface numbers the threads of its pool and says how many there
//! are (rayon: [`crate::api::guest`]). Its users make arrays with a place for each number, and
//! count on no more jobs at a time. So its *jobs* are begun by the workers that the runtime was
//! built with, and by no spare. Each job's record says what it is ([`Kind::GUEST`]); the record of
//! an ordinary task, on which a job may wait, does not, and a spare begins it whatever is queued
//! beside it.
//!
//! ```text
//!  injector   two queues, in one order of age                      a spare takes from the queue of tasks
//!  deque      first a look: is there a task that is no job?        then it steals the oldest until it has that task;
//!                                                                  jobs before it go to the injector
//!  policy     takes until it has a task that is no job             jobs before it go back
//! ```
//! **The look** ([`Pool::waits_behind`]) comes before the first steal, so that a program of jobs
//! alone is left as it is: there the monitor calls no spare either. It is a hint: who is stuck may
//! come back at any moment. What was stolen is looked at again.
//!
//! **Jobs that were passed over** are taken by workers before all else that is injected, the last
//! one first: that is the job which the innermost `join` waits for. They go into no deque again: a
//! forced steal has flagged some of them ([`TaskFlags::STOLEN`]), and their owners may still decide
//! by that.
//!
//! A spare does go on with what others have begun (`rescue::takeover`), and with what that spawns:
//! in its own deque it passes nothing over. Else a job that holds a lock of std's, which all
//! workers wait for, would never end.
//!
//! Nor do spares pass anything over in each other's deques. Jobs there are those of a task that a
//! spare has begun, and they may stand before the task that a thief has come for. In the injector
//! they would wait for a worker, and a worker may be held by a job that waits for that very task.
//!
//! **A spare that finds nothing** sleeps on duty, as one that knows of no jobs does; the monitor
//! says when it goes off duty. Its last look passes jobs over, and it may be woken for one, in
//! vain. No worker misses that wake. `Workers::wake_one` prefers the workers that the runtime was
//! built with. So when it takes a spare none of those sleeps, and each looks itself before it does.
//! Nor can a task be missed for long that comes while a spare looks: as long as somebody is stuck
//! the monitor looks too, and wakes one who sleeps.
//!
//! **A spare that polls** is never idle, and counts as a worker that runs. So at its looks it takes
//! from those that are stuck, as every worker does ([`super::run_loop`]), with the same rules.
//!
//! **Rescue.** If all workers have stood still in the system for a second (`rescue::watch`), and
//! one of them in a task that is no job, spares take jobs from the injector too, as long as that is
//! so: what the task waits for may be a thread that calls the guest. (With its own threads the
//! guest would go on: such a task would hold none of them.) Where jobs alone hold the workers it
//! would not, and nor do we. Jobs in deques are left even then: a task that calls the guest, whose
//! closures wait long in the system, looks the same.
//!
//! **Rejected.** To hold spares back altogether, from the first job on: what a worker waits for in
//! the system may be a task that has not begun, and the program hangs. To do so only while there
//! are jobs: then it hangs in a long loop. That a spare goes off duty by itself, once it knows of
//! jobs: where 16 tasks hold their workers, meet, and meet again, the monitor had to call all
//! spares anew each time. A number above the others for a spare's job: an ordinary
//! program with jobs of 10 ms indexes beyond its array. The number of the worker that is stuck: two
//! jobs with one place.
//!
//! [`TaskFlags::STOLEN`]: crate::record::header::TaskFlags::STOLEN

use super::busy::{self, Looking};
use super::idle::WorkerShared;
use super::run_loop::{FORCE_US, SHORT_SPIN_US, SPIN_US, has_stolen, steal_one, take_over};
use super::worker::{Role, Worker};
use crate::queue::policy::{Arrival, PolicyQueues};
use crate::record::header::Kind;
use crate::record::task::Runnable;
use crate::sched::driver;
use crate::sched::rescue::monitor;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::thread::{relax, yield_now};

/// Is it a job of a guest?
pub(crate) fn is_job(task: &Runnable) -> bool {
    task.header().kind().has(Kind::GUEST)
}

/// As [`search`](super::run_loop) for others: looks around for as long as they do, then sleeps.
pub(super) fn search(w: Role) -> (Role, Option<Runnable>) {
    let (began, per_us) = (ticks(), ticks_per_us());
    let (mut w, mut polled) = (w, false);
    let mut looking = None;
    loop {
        let workers = &w.pool.workers;
        if !w.shared.remote.inbox.is_empty() || workers.stops() || take_over(&w) {
            return (w, None);
        }
        let task = find(&w);
        if task.is_some() {
            return (w, task);
        }
        let now = ticks();
        if !polled && now - began >= FORCE_US * per_us {
            polled = true;
            // (Wakers are user code.)
            looking = None;
            let (now, timers) = driver::poll_all(w);
            let (now, events) = driver::poll_reactor(now);
            w = now;
            if timers || events {
                return (w, None);
            }
        }
        _ = looking.get_or_insert_with(Looking::begin);
        let in_the_way = busy::others_fill_processors();
        if now - began > if in_the_way { SHORT_SPIN_US } else { SPIN_US } * per_us {
            w.stacks.trim(&w);
            let slept = workers.sleep_unless(&w.shared, || last_search(&w), || driver::before_sleep(&w));
            // As others do, and for the same reasons.
            monitor::worker_awake();
            drop(looking);
            w.pool.next_wake.store(u64::MAX, std::sync::atomic::Ordering::Relaxed);
            return (driver::poll_all(driver::after_sleep(w, slept)).0, None);
        }
        if now - began > FORCE_US * per_us && !in_the_way {
            // Others may have no processor: there are more of us than of those.
            yield_now();
        } else {
            relax();
        }
    }
}

/// Before it sleeps: is there something that it takes?
///
/// (Of a policy's queues nobody knows what is in them. A task that comes into one before all know
/// that this spare sleeps is found by a worker, or by the monitor's next look.)
fn last_search(w: &Worker) -> bool {
    let (workers, me) = (&w.pool.workers, &w.shared);
    me.has_ready()
        || workers.stops()
        || workers.has_interactive()
        || workers.has_background()
        || workers.queues().is_none() && w.pool.has_injected_for_spares()
        || workers.others(me).any(|other| has_task(w, other) || other.allows_takeover() && other.has_free_ready())
}

/// Takes a task that is no job from where it may wait.
fn find(w: &Worker) -> Option<Runnable> {
    let workers = &w.pool.workers;
    if w.pool.has_injected_for_spares() {
        let task = w.pool.take_injected(w, true);
        if task.is_some() {
            return task;
        }
    }
    let task = steal_any(w);
    if task.is_some() {
        return task;
    }
    if workers.has_background() { w.pool.take_background() } else { None }
}

/// The oldest task of another worker that is no job.
fn steal_any(w: &Worker) -> Option<Runnable> {
    let workers = &w.pool.workers;
    if workers.queues().is_some() {
        return None;
    }
    workers.others(&w.shared).find_map(|victim| steal(w, victim, true))
}

/// The oldest task of this worker that is no job. What is private it takes only if it may use
/// force.
pub(super) fn steal(w: &Worker, victim: &WorkerShared, force: bool) -> Option<Runnable> {
    if !has_task(w, victim) {
        return None;
    }
    loop {
        let task = pass_over(w, victim, steal_one(victim, force)?);
        if task.is_some() {
            has_stolen(w, victim, 1);
            return task;
        }
    }
}

/// Does a task wait in this worker's deque that is no job? A hint.
fn has_task(w: &Worker, victim: &WorkerShared) -> bool {
    let mut from = 0;
    while !w.pool.waits_behind(victim, &mut from) {
        if from >= victim.deque.position() {
            return false;
        }
    }
    true
}

/// What was stolen from this worker; `None` if it is a job, and the thief a spare that has not
/// known of any.
pub(super) fn unless_job(w: &Worker, victim: &WorkerShared, task: Option<Runnable>) -> Option<Runnable> {
    if w.spare { pass_over(w, victim, task?) } else { task }
}

/// The task itself, or `None` if it is a job of a worker that is no spare: then it waits for a
/// worker.
fn pass_over(w: &Worker, victim: &WorkerShared, task: Runnable) -> Option<Runnable> {
    let is_of_spare = victim.index >= w.pool.regular_workers().len();
    if is_of_spare || !is_job(&task) {
        return Some(task);
    }
    w.pool.expect_jobs();
    w.pool.put_aside(task);
    None
}

/// The next task of a policy's queues that is no job.
pub(crate) fn take_queued(w: &Worker, queues: &dyn PolicyQueues) -> Option<Runnable> {
    let mut jobs = Vec::new();
    let task = loop {
        match queues.take(w.shared.index, None) {
            Some(job) if is_job(&job) => jobs.push(job),
            other => break other,
        }
    };
    jobs.into_iter().for_each(|job| w.pool.workers.put(queues, None, job, Arrival::Outside));
    task
}

#[cfg(all(test, not(loom)))]
mod test {
    use crate::api::guest;
    use crate::runtime::Builder;
    use crate::sched::worker::Peer;
    use myriad_base::stack::switch::FIBERS_SUPPORTED;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::sync::{Arc, Barrier};
    use std::time::{Duration, Instant};

    /// A spare that finds nothing sleeps, and stays on duty as long as somebody is stuck, so that
    /// the next task wakes it. Whether there were jobs of guests makes no difference. False: a
    /// worker did not come to run, and a spare is held in its place.
    fn stays_on_duty(builder: Builder, guests: bool) -> bool {
        let rt = builder.workers(2).build().unwrap();
        let pool = rt.handle().inner();
        if guests {
            guest::expect_jobs(rt.handle());
            guest::run(rt.handle(), || ());
        }
        // Both workers are held, and what comes next needs a spare.
        let gate = Arc::new(Barrier::new(3));
        let spare_is_held = Arc::new(AtomicBool::new(false));
        let held = [(); 2].map(|()| {
            let (gate, spare) = (gate.clone(), spare_is_held.clone());
            rt.spawn(move || {
                spare.fetch_or(guest::worker().is_some_and(|w| w.index() >= 2), Relaxed);
                gate.wait();
            })
        });
        let mut awake = None;
        for round in 0..5 {
            rt.spawn(|| ()).join().unwrap();
            let sleeps = || {
                let spares = &pool.workers.all()[2..];
                !spares.is_empty() && spares.iter().all(|s| s.sleeps() && Peer::of(s).on_duty.load(Relaxed))
            };
            let until = Instant::now() + Duration::from_secs(20);
            while !sleeps() && awake.is_none() && !spare_is_held.load(Relaxed) {
                awake = (Instant::now() > until).then_some(round);
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        gate.wait();
        held.into_iter().for_each(|h| h.join().unwrap());
        assert_eq!(awake, None, "a spare does not sleep on duty (guests: {guests})");
        !spare_is_held.load(Relaxed)
    }

    #[test]
    fn a_spare_that_finds_nothing_stays_on_duty() {
        for guests in [false, true] {
            while !stays_on_duty(Builder::new(), guests) {}
            if FIBERS_SUPPORTED {
                // SAFETY: the tasks keep no thread-local over a wait.
                while !stays_on_duty(unsafe { Builder::fibers() }, guests) {}
            }
        }
    }
}
