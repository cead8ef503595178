//! Which workers of a runtime are stuck, and what is done about it. Run by the monitor.
//!
//! A worker *moves* if it has come to its loop since the last look: the monitor sets its
//! `tick_countdown` to 0, so its next turn looks around and counts that (`tick_count`). One that is
//! awake and has not moved for [`THRESHOLD`] is *stuck*: it computes, or it waits in the system. A
//! worker that recurses through `join`, or runs the tasks of a scope at its end, comes to no loop
//! for long either. But its deque moves, or the task on top of its stack is another one each time,
//! and what is in the deque is its own business: it counts as stuck after [`BUSY_THRESHOLD`] only.
//!
//! **Who moves helps.** At each look of its own, as long as somebody is stuck, a worker takes from
//! those who are (`sched::run_loop`): a ready task in threads mode, timers that are due, and, once
//! no worker has come to be stuck for [`CALM_AFTER`], one task that has not begun. (Each such task
//! may block in the same lock, and take a thread: where a thousand did, and each who moved began
//! one more, all 256 spares stood in that lock and none was left for the lock's owner.) Also a
//! spare that is off duty, and one that has something to do: a task that polls with `yield_now` may
//! be all that it ever does, and what it polls for may wait behind a worker that is stuck. Such a
//! worker moves, so it counts as one that runs here, and no spare comes. (Only jobs of guests wait
//! for one that may begin them.)
//!
//! **What is done.** In threads mode the ready tasks of a stuck worker are *taken over*: others go
//! on with them (`rescue::takeover`). Everything else that waits behind it (unstarted tasks,
//! timers) any worker takes that has nothing to do. If there is none, and something waits, *spare*
//! workers go on duty:
//!
//! - for each worker that waits in the system one, so that as many run as the runtime has workers;
//! - beside workers that compute, one more at once, the next when all that are awake have been in
//!   one task for [`BUSY_THRESHOLD`], then for twice as long each time. More running threads than
//!   workers are not what was asked for; none at all may let what waits wait for ever. Where there
//!   are jobs of guests (`sched::spare`), the first of them comes after [`BUSY_THRESHOLD`] too: a
//!   task that it begins may call the guest, and then has a number above the others.
//!
//! When nobody has been stuck for [`CALM_AFTER`] all spares go off duty: they run what they have
//! begun and rest. If more run than should, because some came back, as many spares go off duty at
//! once.
//!
//! **Kept tasks.** A worker whose turns are short keeps a lone task that it has woken, or all of
//! them where futures are gathered on it (`queue::deque::kept`), and nobody is woken for these. If
//! the worker has not come to its loop at the next look ([`READY_THRESHOLD`] later, where others
//! sleep), they are for others, one of them is woken, and the worker keeps no other task before it
//! comes to its loop.
//!
//! **Takeovers last for a while.** A worker that has got out of a lock is likely to be in the next
//! one soon: for [`CALM_AFTER`] more its tasks may be taken over, and wakers tell helpers at once.
//! A thousand tasks that each block with the same lock held so take milliseconds and not a
//! threshold for each.
//!
//! **A process that stood still** (stopped in a debugger, or with its machine) has workers that did
//! not move meanwhile, and are not stuck. The monitor did not move either: after a look that comes
//! [`STOOD_STILL`] late the time that a worker has been in a task begins anew.
//!
//! **Errors in judgement** are harmless: a worker that the system has not let run looks stuck;
//! helping it is right at any time.

use super::reports::Reports;
use super::stuck::{OnStuck, Stuck};
use super::tell::Errand;
use crate::sched::hints;
use crate::sched::idle::{RESTING, WorkerShared, is_asleep};
use crate::sched::pool::Pool;
use crate::sched::timers::Timers;
use crate::sched::unhandled::Unhandled;
use crate::sched::worker::Peer;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::clock::Instant;
use myriad_base::sys::fence::Fence;
use myriad_base::sys::{choice, thread};
use std::time::Duration;

/// Between two looks, as long as a worker is awake; and how long one that does not move is not yet
/// stuck.
pub(crate) const THRESHOLD: Duration = Duration::from_millis(10);
/// Both, while workers are stuck and blocked tasks of theirs are ready: one of them may be the
/// owner of the lock. (Not for tasks that have not begun, of which each might be stuck in its turn:
/// 150 threads for a lock that is only contended.)
const READY_THRESHOLD: Duration = Duration::from_millis(2);
/// So long after the last one was stuck all is well again.
pub(crate) const CALM_AFTER: Duration = Duration::from_millis(100);
/// One whose deque moves is stuck after so long; and between the first two extra workers.
pub(crate) const BUSY_THRESHOLD: Duration = Duration::from_secs(1);
/// Between two looks, if all who are awake have been waiting in the system for long.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// The monitor has not looked for so long, although it was not asleep.
const STOOD_STILL: Duration = Duration::from_secs(1);
/// Spares that begin at one look, at most: each is a thread to start.
const AT_ONCE: usize = 16;

/// What the monitor knows of a runtime.
pub(super) struct Watch {
    /// No other watch has it: pools are used again.
    pub(super) number: u64,
    pool: &'static Pool,
    workers: usize,
    on_stuck: OnStuck,
    reports: Reports,
    histories: Vec<WorkerHistory>,
    /// When it looked last.
    looked: Option<Instant>,
    /// When a worker was stuck last.
    last_stuck: Option<Instant>,
    /// When a worker that moved was found stuck last.
    newly_stuck: Option<Instant>,
    /// When a ready task waited last for a worker that was stuck.
    last_ready: Option<Instant>,
    /// Workers that run beside those that compute.
    extras: usize,
    /// Until the next look, while all who are awake wait in the system.
    pause: Duration,
    /// The number and the name of the next spare, where the user gives names: asked for under no
    /// lock.
    named: Option<(usize, String)>,
    /// Since when somebody asks for such a name.
    asked: Option<Instant>,
    /// A spare was needed whose name is not known yet.
    wants_name: bool,
}

/// What it knows of a worker.
#[derive(Clone, Copy)]
struct WorkerHistory {
    tick_count: u32,
    /// It has not moved since.
    since: Instant,
    /// Where its deque stood, and what it ran (an address to compare) ...
    at: (usize, usize),
    /// ... since then.
    at_since: Instant,
    stuck: bool,
    /// It is stuck, and waits in the system.
    blocked: bool,
    told: bool,
    /// When it was stuck last, if it allows takeovers.
    takeover: Option<Instant>,
    /// Where the search in its deque goes on, for a task that a spare may begin.
    looked: usize,
}

/// What one look has found.
#[derive(Default)]
struct ScanResult {
    /// Awake, and not waiting in the system.
    running: usize,
    sleepers: usize,
    stuck: usize,
    /// One of these was not at the last look.
    newly: bool,
    /// Of these, waiting in the system.
    blocked: usize,
    /// Something could go on that waits for a stuck worker.
    waits: bool,
    /// A task that is ready.
    ready: bool,
    /// A worker keeps a lone task, which it is to run in a moment.
    kept: bool,
    /// One that did so has not come by since the last look: its task is for others now.
    released: bool,
}

impl WorkerHistory {
    /// It has moved.
    fn new(tick_count: u32, at: (usize, usize), now: Instant, takeover: Option<Instant>) -> WorkerHistory {
        WorkerHistory {
            tick_count,
            since: now,
            at,
            at_since: now,
            stuck: false,
            blocked: false,
            told: false,
            takeover,
            looked: 0,
        }
    }
}

impl Watch {
    pub(super) fn new(pool: &'static Pool, number: u64) -> Watch {
        let config = pool.config();
        Watch {
            number,
            pool,
            workers: config.workers,
            on_stuck: match &config.stuck {
                OnStuck::Hint if !hints::ON || !matches!(config.unhandled, Unhandled::Report) => OnStuck::Ignore,
                on_stuck => on_stuck.clone(),
            },
            reports: Reports::default(),
            histories: Vec::new(),
            looked: None,
            last_stuck: None,
            newly_stuck: None,
            last_ready: None,
            extras: 0,
            pause: THRESHOLD,
            named: None,
            asked: None,
            wants_name: false,
        }
    }

    /// What somebody else is to do now: see [`super::tell`].
    pub(super) fn errands(&mut self, now: Instant) -> impl Iterator<Item = (u64, Errand)> + use<> {
        let tell = self.reports.begin().then_some(Errand::Tell);
        let asks = std::mem::take(&mut self.wants_name) && self.asked.is_none();
        let name = self.pool.next_spare().filter(|_| asks).map(|index| Errand::Name(self.pool, index));
        if name.is_some() {
            self.asked = Some(now);
        }
        let number = self.number;
        [tell, name].into_iter().flatten().map(move |errand| (number, errand))
    }

    /// For the one who tells: the next report, and who is told. `None`: there is none, and it tells
    /// no more.
    pub(super) fn next_report(&mut self) -> Option<(OnStuck, Stuck)> {
        self.reports.next().map(|stuck| (self.on_stuck.clone(), stuck))
    }

    /// The same where only the standard error can be told.
    pub(super) fn next_said(&mut self) -> Option<Stuck> {
        self.reports.next()
    }

    /// Who has asked for a spare's name is back, with the spare's number and the name, if it has
    /// one.
    pub(super) fn set_name(&mut self, named: Option<(usize, String)>) {
        self.asked = None;
        self.named = named;
    }

    pub(super) fn is_of(&self, pool: &Pool) -> bool {
        std::ptr::eq(self.pool, pool)
    }

    /// Is there nothing to look at, until a worker wakes up or a thread ends?
    ///
    /// Spares are on duty only after somebody was stuck; off duty they give up their idle threads.
    pub(super) fn sleeps(&self) -> bool {
        let none_taken_over = self.histories.iter().all(|history| history.takeover.is_none());
        self.pool.workers.all_sleep() && self.last_stuck.is_none() && none_taken_over && !self.pool.threads_leave()
    }

    /// The runtime ends. (What is left of it may hold functions of the user: it is dropped under no
    /// lock.)
    pub(super) fn end(&mut self) {
        let all = self.pool.workers.all();
        for (history, shared) in self.histories.iter_mut().zip(all) {
            Self::end_takeover(self.pool, history, shared);
            shared.remote.stuck.store(false, Relaxed);
        }
        self.pool.any_stuck.store(false, Relaxed);
        self.pool.long_stuck.store(false, Relaxed);
    }

    /// Looks at all workers, and does what is to be done. When to look again; `None`: when a worker
    /// wakes up.
    pub(super) fn scan(&mut self, now: Instant) -> Option<Duration> {
        let recent = |last: Option<Instant>| last.is_some_and(|last| now - last < CALM_AFTER);
        let threshold = if recent(self.last_ready) { READY_THRESHOLD } else { THRESHOLD };
        if self.looked.replace(now).is_some_and(|looked| now - looked >= STOOD_STILL) {
            self.histories.iter_mut().for_each(|history| (history.since, history.at_since) = (now, now));
        }
        let mut found = ScanResult::default();
        for (i, &shared) in self.pool.workers.all().iter().enumerate() {
            if self.histories.len() == i {
                self.histories.push(WorkerHistory::new(0, (0, 0), now, None));
            }
            self.scan_worker(i, shared, now, threshold, &mut found);
        }
        // Who moves takes from those at its next look: `Workers::allow_takeover` has a fence for
        // the ready tasks; what has not begun needs none.
        self.pool.any_stuck.store(found.stuck > 0, Relaxed);
        if found.newly {
            self.newly_stuck = Some(now);
        }
        self.pool.long_stuck.store(found.stuck > 0 && !recent(self.newly_stuck), Relaxed);
        if self.pool.has_guests() {
            // (A spare may be asleep, which it was before there were jobs, or in an earlier
            // rescue.)
            let rescue = self.stands_still(now);
            self.pool.set_rescue(rescue);
        }
        if found.released {
            // (Whoever goes to sleep just now, and has seen the kept task, is found by the next
            // look that finds this worker stuck.)
            self.pool.workers.wake_one();
        }
        if found.stuck > 0 {
            self.last_stuck = Some(now);
            // Others look at the timers of all only when they have nothing else to do.
            let injected = self.pool.has_injected_for_spares();
            found.waits |= injected && found.running <= found.stuck - found.blocked || Timers::any_due(self.pool);
            found.waits |= self.sees_events(found.sleepers);
        }
        if found.waits {
            if found.ready {
                self.last_ready = Some(now);
            }
            self.send_help(now, &found);
        }
        if recent(self.last_stuck) {
            self.take_off_duty(found.running.saturating_sub(self.workers + self.extras));
        } else {
            self.last_stuck = None;
            self.extras = 0;
            self.take_off_duty(usize::MAX);
        }
        // Nobody runs, and nothing waits: what comes now comes from outside, and a sleeper or the
        // next look finds it.
        let quiet = found.running == 0 && !found.waits;
        self.pause = if quiet { (self.pause * 2).min(LONGEST_PAUSE) } else { THRESHOLD };
        self.pool.reap();
        let soon = recent(self.last_ready) || found.kept && found.sleepers > 0;
        (!self.sleeps()).then_some(if soon { READY_THRESHOLD } else { self.pause })
    }

    fn scan_worker(
        &mut self,
        i: usize,
        shared: &'static WorkerShared,
        now: Instant,
        threshold: Duration,
        found: &mut ScanResult,
    ) {
        let (history, w) = (&mut self.histories[i], Peer::of(shared));
        if shared.remote.dead.load(Relaxed) {
            return;
        }
        let sleeping = shared.remote.sleeping.word.load(Acquire);
        let tick_count = w.tick_count.load(Relaxed);
        let at = (shared.deque.position(), w.running.get().addr());
        if sleeping != 0 || tick_count != history.tick_count {
            found.kept |= sleeping == 0 && shared.deque.keeps_task();
            *history = WorkerHistory::new(tick_count, at, now, history.takeover);
        } else {
            found.released |= shared.deque.release_kept();
            if at != history.at {
                (history.at, history.at_since, history.told) = (at, now, false);
                history.stuck &= now - history.since >= BUSY_THRESHOLD;
            }
        }
        if sleeping == 0 {
            // Its next turn is one that counts.
            w.request_tick();
        }
        found.sleepers += usize::from(is_asleep(sleeping));
        let duration = now - history.at_since;
        let stands = |history: &WorkerHistory| duration >= threshold && (history.stuck || !moves(shared));
        let before = history.stuck;
        history.stuck = sleeping == 0 && (now - history.since >= BUSY_THRESHOLD || stands(history));
        found.newly |= history.stuck && !before;
        if shared.remote.stuck.load(Relaxed) != history.stuck {
            shared.remote.stuck.store(history.stuck, Relaxed);
        }
        history.blocked = false;
        if !history.stuck {
            if history.takeover.is_some_and(|last| now - last >= CALM_AFTER) {
                Self::end_takeover(self.pool, history, shared);
            }
            found.running += usize::from(sleeping == 0);
        } else {
            found.stuck += 1;
            // Where the system does not say, it is worse to let work wait than to run too much at a
            // time.
            let blocked = thread::is_blocked(w.thread.load(Relaxed)).unwrap_or(true);
            history.blocked = blocked;
            found.blocked += usize::from(blocked);
            found.running += usize::from(!blocked);
            found.waits |= self.pool.waits_behind(shared, &mut history.looked);
            if shared.ready.is_shared() {
                let ready = if history.takeover.is_none() {
                    self.pool.takeovers.fetch_add(1, Relaxed);
                    self.pool.workers.allow_takeover(shared)
                } else {
                    shared.has_free_ready()
                };
                history.takeover = Some(now);
                found.waits |= ready;
                found.ready |= ready;
            }
        }
        if sleeping == 0 && !history.told && self.on_stuck.after().is_some_and(|after| duration >= after.max(THRESHOLD))
        {
            let running = self.pool.name_running(w);
            // If it has moved meanwhile this is another task. And between tasks it is the system
            // that does not let it run.
            if let Some((name, location)) = running
                && w.tick_count.load(Acquire) == tick_count
            {
                history.told = true;
                if matches!(self.on_stuck, OnStuck::Hint) && thread::is_traced() {
                    return;
                }
                self.reports.push(Stuck {
                    runtime: self.pool.config().name.clone(),
                    worker: shared.index,
                    name: name.map(|name| name.to_string()),
                    location,
                    duration,
                    blocked: thread::is_blocked(w.thread.load(Relaxed)),
                    lost: 0,
                });
            }
        }
    }

    /// Have all workers stood still in the system for [`BUSY_THRESHOLD`], one of them in a task
    /// that is no job of a guest? (Whatever spares do: a task that one of them has begun may run
    /// until the rescue has come.)
    fn stands_still(&self, now: Instant) -> bool {
        let workers = self.histories.iter().zip(self.pool.regular_workers());
        workers.clone().all(|(history, _)| history.blocked && now - history.at_since >= BUSY_THRESHOLD)
            && workers.into_iter().any(|(_, w)| self.pool.runs_task(w))
    }

    fn end_takeover(pool: &Pool, history: &mut WorkerHistory, shared: &WorkerShared) {
        if history.takeover.take().is_some() {
            pool.workers.end_takeover(shared);
            pool.takeovers.fetch_sub(1, Relaxed);
        }
    }

    /// Something waits behind a stuck worker.
    fn send_help(&mut self, now: Instant, found: &ScanResult) {
        if found.sleepers > 0 {
            self.pool.workers.wake_one();
            return;
        }
        let missing = self.workers.saturating_sub(found.running);
        if missing > 0 {
            _ = (0..missing.min(AT_ONCE)).all(|_| self.call_spare(now));
            return;
        }
        // None of those who could come back has done so for so long.
        let extras = if self.pool.has_guests() { self.extras + 1 } else { self.extras };
        let long = if extras == 0 { Duration::ZERO } else { BUSY_THRESHOLD * (1 << (extras - 1).min(20)) };
        let all = self.pool.workers.all().iter();
        let awake = all.zip(&self.histories).filter(|(shared, _)| shared.remote.sleeping.word.load(Relaxed) == 0);
        if awake.into_iter().all(|(_, history)| now - history.since >= long) && self.call_spare(now) {
            self.extras += 1;
        }
    }

    /// Workers are stuck, and so many sleep: are there events that nobody sees to? A worker that
    /// sleeps elsewhere is woken for those that come, and takes its place in the reactor.
    fn sees_events(&self, sleepers: usize) -> bool {
        let workers = &self.pool.workers;
        let Some(reactor) = workers.reactor.get() else { return false };
        let any = sleepers == 0 && reactor.has_events();
        if sleepers == 0 {
            // One that falls asleep meanwhile may have found us in it, and be elsewhere. Pairs with
            // the heavy fence in `sleep`: the reactor against `sleepers`.
            Fence::foreign().light();
        }
        if workers.has_sleepers() && workers.is_reactor_empty() {
            workers.wake_one();
        }
        any
    }

    /// One more spare on duty. False: there is none, and none can be made.
    fn call_spare(&mut self, now: Instant) -> bool {
        let workers = &self.pool.workers;
        let resting = workers.all()[self.workers..].iter().find(|shared| {
            let w = Peer::of(shared);
            shared.remote.sleeping.word.load(Relaxed) == RESTING && !w.on_duty.load(Relaxed)
        });
        match resting {
            Some(shared) => {
                Peer::of(shared).on_duty.store(true, Relaxed);
                workers.call(shared);
                true
            }
            None => self.add_spare(now),
        }
    }

    fn add_spare(&mut self, now: Instant) -> bool {
        let Some(index) = self.pool.next_spare() else { return false };
        let Some(name) = self.name_for(index, now) else {
            self.wants_name = true;
            return false;
        };
        self.pool.add_spare(index, name).is_ok()
    }

    /// The name of this spare; `None`: it is to be asked for, or has not been said yet. What is
    /// asked for [`BUSY_THRESHOLD`] is not waited for: the user's function may wait for what this
    /// spare is to begin.
    fn name_for(&mut self, index: usize, now: Instant) -> Option<String> {
        match self.named.take() {
            Some((named, name)) if named == index => Some(name),
            _ => {
                let waits = self.asked.is_none_or(|asked| now - asked < BUSY_THRESHOLD);
                let known = !self.pool.config().threads.has_names();
                (known || !waits).then(|| self.pool.usual_name(index))
            }
        }
    }

    /// So many spares of those that move, or sleep, go off duty.
    fn take_off_duty(&self, most: usize) {
        let workers = &self.pool.workers;
        let all = workers.all().iter().enumerate().skip(self.workers);
        let on_duty = all.filter(|(i, shared)| {
            let sleeps = shared.sleeps();
            // (One that has gone to sleep just when it went off duty must look up.)
            (Peer::of(shared).on_duty.load(Relaxed) || sleeps)
                && !self.histories.get(*i).is_none_or(|history| history.stuck)
        });
        for (_, shared) in on_duty.take(most) {
            Peer::of(shared).on_duty.store(false, Relaxed);
            workers.call(shared);
        }
    }
}

/// Does the owner of this deque push and pop?
fn moves(shared: &WorkerShared) -> bool {
    let before = shared.deque.position();
    let began = choice::ticks();
    let long = 200 * choice::ticks_per_us();
    while choice::ticks() - began < long {
        if shared.deque.position() != before {
            return true;
        }
        thread::relax();
    }
    false
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use crate::runtime::Builder;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    /// A process that was stopped has no stuck workers because of that; the time in a task counts
    /// on while the monitor looks.
    #[test]
    fn a_process_that_stood_still() {
        let after = Duration::from_secs(5);
        let hook = Arc::new(|_: &Stuck| ());
        // (The runtime's own monitor has real time, in which 5 s do not pass here.)
        let rt = Builder::new().workers(1).on_stuck(OnStuck::Hook { after, hook }).build().unwrap();
        let gate = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        let held = gate.clone();
        let task = rt.spawn(move || {
            held.0.store(true, Release);
            while !held.1.load(Acquire) {
                std::hint::spin_loop();
            }
        });
        while !gate.0.load(Acquire) {
            std::thread::yield_now();
        }
        let mut watch = Watch::new(rt.pool, u64::MAX);
        let mut now = myriad_base::sys::clock::system_now();
        let mut look = |pause: Duration| {
            now += pause;
            watch.scan(now);
            watch.next_said().map(|stuck| stuck.duration())
        };
        assert_eq!(look(Duration::ZERO), None);
        // It stands for a minute.
        assert_eq!(look(Duration::from_secs(60)), None);
        let is_stuck = || rt.pool.regular_workers()[0].shared.remote.stuck.load(Relaxed);
        assert!(!is_stuck(), "nobody was stuck while nobody ran");
        let told = (1..100).map(|i| (i, look(Duration::from_millis(100)))).find(|(_, told)| told.is_some());
        assert_eq!(told, Some((50, Some(after))));
        gate.1.store(true, Release);
        task.join().unwrap();
    }
}
