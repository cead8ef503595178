//! The engine beside the machine: carries out what the machine decides.
//!
//! **One lock**, a thread's lock, is held for a call of the machine and no user code: closures,
//! callbacks, destructors and wakers run after it. What was decided is taken out under the lock, in
//! order, and carried out without it (a body drops what is the user's through the door). So two
//! threads may carry out two turns side by side, and a start and a stop of one job may overtake
//! each other: a run that is stopped before it begins is noted in the job's cell, and cancelled
//! when it begins.
//!
//! **A job is a task** of the pool in which the queue was made. The end of a job and the start of
//! the next are one turn of the lock.
//!
//! **Time.** One timer for the whole queue, set for the first time at which the machine wants to be
//! called. It is only ever set earlier; when it comes too early, it is set anew.

use super::cell::{Body, Call};
use super::event::{Event, Listeners};
use super::handle::JobHandle;
use super::job::{Begin, Job, nanos};
use crate::machine::{
    CPU, Change, Decision, JobId, MEMORY, Machine, Outcome, Refused, Report, Request, Row, Rules, State, Time, Waiting,
};
use myriad_base::hash::Numbers;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::now_of;
use myriad_core::engine::user_code::StoredWaker;
use myriad_core::{Handle, block_on, task};
use myriad_task::{Timer, call_later};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::task::Poll;
use std::time::{Duration, SystemTime};

type Payload = Arc<dyn Body>;

/// A queue of jobs, made by [`Local`](super::Local). Cloning it copies a reference. The queue lives
/// as long as anybody has one, or a handle of a job, and as long as a job of it runs. Jobs that
/// still wait when it ends are dropped with it.
///
/// Every call may be made from anywhere: from jobs, from other tasks, from futures and from foreign
/// threads. Only calls whose names begin with `wait` block.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, Local, State};
/// use std::time::Duration;
/// let q = Local::new().cpus(4).start();
/// let report = q.submit(Job::new(|| 7).name("report").held())?;
/// // What has not begun can be changed.
/// q.set_priority(&report, 10)?;
/// q.set_needs(&report, 2, 1 << 20)?;
/// q.set_wall_time(&report, Some(Duration::from_secs(60)))?;
/// q.release(&report)?;
/// assert_eq!(report.join().unwrap(), 7);
///
/// let never = q.submit(Job::new(|| ()).delay(Duration::from_secs(3600)))?;
/// q.hold(&never)?;
/// assert_eq!(q.cancel(&never)?, State::Pending);
/// q.set_cpus(1);
/// q.close(); // no new jobs
/// q.cancel_all();
/// q.wait_all();
/// println!("{}", q.gantt(80));
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[derive(Clone)]
pub struct Queue(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pool: Handle,
    /// The time of `pool` at which the machine's begins.
    origin: u64,
    inner: Mutex<Inner>,
    listeners: Listeners,
    timer: Mutex<Option<Timer>>,
    /// When the timer comes; `NEVER` if it is not set.
    timer_at: AtomicU64,
}

const NEVER: u64 = u64::MAX;

struct Inner {
    machine: Machine<Payload>,
    /// Those that have begun, for who has to stop them.
    running: Numbers<u64, Payload>,
    /// Suspended jobs that wait for their turn to go on.
    resuming: Numbers<u64, StoredWaker>,
    /// Who waits until no job is left.
    idle: Vec<StoredWaker>,
    closed: bool,
    listened: bool,
}

/// What one turn of the lock has decided: mostly the end of a job and the start of one.
#[derive(Default)]
struct Turn {
    first: [Option<Decision<Payload>>; 2],
    more: Vec<Decision<Payload>>,
    /// Suspended jobs that go on, and who waited for the last job.
    wake: Vec<StoredWaker>,
    /// The next call by the time.
    next: u64,
    /// No job is left.
    is_empty: bool,
    listened: bool,
}

impl Queue {
    pub(super) fn start(
        rules: Rules,
        resources: &[(Arc<str>, u64)],
        groups: &[(Arc<str>, u64)],
        listeners: Listeners,
    ) -> Queue {
        let pool = myriad_core::engine::home();
        let inner = Inner {
            machine: Machine::new(rules, resources, groups),
            running: Numbers::default(),
            resuming: Numbers::default(),
            idle: Vec::new(),
            closed: false,
            listened: !listeners.is_empty(),
        };
        Queue(Arc::new(Shared {
            pool,
            origin: now_of(pool).as_nanos().saturating_sub(1),
            inner: Mutex::new(inner),
            listeners,
            timer: Mutex::new(None),
            timer_at: AtomicU64::new(NEVER),
        }))
    }

    /// Takes a job. It starts as soon as nothing is before it and there is room for it.
    ///
    /// # Errors
    /// A job that could never run is refused, with what is wrong: it asks for more than there is,
    /// for a resource or group that there is not, depends on a job that is unknown or forgotten, or
    /// wants retries of a closure that can be called once. A dependency that has ended is decided
    /// here: the job is ready, or ends as skipped at once.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().cpus(8).start();
    /// let refused = q.submit(Job::new(|| ()).cpus(16)).unwrap_err();
    /// assert_eq!(
    ///     refused.to_string(),
    ///     "the job asks for 16 cpus of cpu, and there are 8 cpus: ask for less, or add capacity"
    /// );
    /// ```
    pub fn submit<T: 'static>(&self, job: Job<T>) -> Result<JobHandle<T>, Refused> {
        let Job { body: slot, mut request, named, group, begin, wrong, known, again } = job;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if request.retry.times > 0 && !again {
            return Err(Refused::OnlyOnce);
        }
        let body: Payload = slot.clone();
        let is_array = request.array.is_some();
        let now = self.0.now();
        request.begin = match begin {
            Begin::Now => 0,
            Begin::After(time) => now.saturating_add(nanos(time)),
            Begin::At(time) => now.saturating_add(nanos(time.duration_since(SystemTime::now()).unwrap_or_default())),
        };
        // (The body is dropped without the lock, if it is refused.)
        let turn = self.0.locked(|inner| {
            if inner.closed {
                return Err(Refused::Closed);
            }
            // (Under the lock: a job that the machine has forgotten has noted its end.)
            let mut known: Vec<_> = known.iter().filter_map(|(id, body)| Some((*id, body.ended()?))).collect();
            known.sort_unstable_by_key(|known| known.0);
            find_places(&inner.machine, &mut request, &named, group.as_ref())?;
            inner.machine.accept(&request, &known)?;
            body.limit(&request.demand);
            let id = inner.machine.submit(now, request, &known, body);
            if is_array {
                slot.cell().set_id(id);
            }
            Ok((id, inner.turn(now)))
        });
        let (id, turn) = turn?;
        self.0.carry_out(turn);
        Ok(JobHandle::new(id, slot, self.0.clone()))
    }

    /// Takes several jobs, in this order. The first that is refused ends that; the ones before it
    /// stay.
    ///
    /// # Errors
    /// As [`submit`](Self::submit).
    pub fn submit_all<T: 'static>(&self, jobs: impl IntoIterator<Item = Job<T>>) -> Result<Vec<JobHandle<T>>, Refused> {
        jobs.into_iter().map(|job| self.submit(job)).collect()
    }

    // What is done to jobs by number.

    /// The state of a job.
    ///
    /// # Errors
    /// There is no such job, or it has ended and is no more in the history.
    pub fn state(&self, id: impl Into<JobId>) -> Result<State, Refused> {
        Queue::state_in(&self.0, id.into())
    }
    pub(super) fn state_in(shared: &Arc<Shared>, id: JobId) -> Result<State, Refused> {
        shared.inner.lock().machine.state(id)
    }

    /// Why a job has not begun; `None` of one that has. It is computed from what the scheduler
    /// itself looks at: the job that is named as the first is the one that starts first.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().cpus(2).start();
    /// let first = q.submit(Job::new(|| ()).held())?;
    /// let second = q.submit(Job::new(|| ()).after(&first))?;
    /// assert_eq!(q.why(&first)?.unwrap().to_string(), "held");
    /// assert_eq!(q.why(&second)?.unwrap().to_string(), "until job 1 is done");
    /// # q.release(&first)?;
    /// # q.wait_all();
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn why(&self, id: impl Into<JobId>) -> Result<Option<Waiting>, Refused> {
        Queue::why_in(&self.0, id.into())
    }
    pub(super) fn why_in(shared: &Arc<Shared>, id: JobId) -> Result<Option<Waiting>, Refused> {
        let now = shared.now();
        shared.inner.lock().machine.why(now, id)
    }

    /// Cancels a job: one that has not begun never does, and those who depend on it are skipped;
    /// one that runs is asked to stop, and has what it holds until it has ended. A closure that
    /// ends well in spite of that is done. Returns the state before.
    ///
    /// # Errors
    /// As [`state`](Self::state); and of an element of an array that has not begun.
    pub fn cancel(&self, id: impl Into<JobId>) -> Result<State, Refused> {
        Queue::cancel_in(&self.0, id.into())
    }
    pub(super) fn cancel_in(shared: &Arc<Shared>, id: JobId) -> Result<State, Refused> {
        shared.call(|machine, now| machine.cancel(now, id))
    }
    /// Cancels all jobs that have not ended.
    pub fn cancel_all(&self) {
        let all: Vec<JobId> =
            self.0.locked(|inner| inner.machine.rows().filter(|row| !row.state.is_final()).map(|row| row.id).collect());
        for id in all {
            // (It may have ended meanwhile.)
            _ = self.cancel(id);
        }
    }

    /// A job that has not begun does not start until it is released; of an array, no more elements
    /// do.
    ///
    /// # Errors
    /// It has begun, or ended.
    pub fn hold(&self, id: impl Into<JobId>) -> Result<(), Refused> {
        let id = id.into();
        self.0.call(|machine, _| machine.hold(id))
    }
    /// A held job may start. It stands behind the others of its priority. False: it was not held.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub fn release(&self, id: impl Into<JobId>) -> Result<bool, Refused> {
        Queue::release_in(&self.0, id.into())
    }
    pub(super) fn release_in(shared: &Arc<Shared>, id: JobId) -> Result<bool, Refused> {
        shared.call(|machine, now| machine.release(now, id))
    }

    /// Another priority for a job that has not begun.
    ///
    /// # Errors
    /// It has begun, or ended; the priority is none.
    pub fn set_priority(&self, id: impl Into<JobId>, priority: i32) -> Result<(), Refused> {
        self.change(id.into(), Change { priority: Some(priority), ..Change::default() })
    }
    /// Other processors and memory for a job that has not begun.
    ///
    /// # Errors
    /// It has begun, or ended; there is not so much.
    pub fn set_needs(&self, id: impl Into<JobId>, cpus: impl Into<f64>, memory: u64) -> Result<(), Refused> {
        let cpus = super::job::units(cpus.into()).ok_or_else(|| Refused::NoResource("cpu".into()))?;
        self.change(id.into(), Change { demand: vec![(CPU, cpus), (MEMORY, memory)], ..Change::default() })
    }
    /// Another wall time, or none, for a job that has not begun.
    ///
    /// # Errors
    /// It has begun, or ended.
    pub fn set_wall_time(&self, id: impl Into<JobId>, time: Option<Duration>) -> Result<(), Refused> {
        self.change(id.into(), Change { wall: Some(time.map(|time| nanos(time).max(1))), ..Change::default() })
    }
    fn change(&self, id: JobId, change: Change) -> Result<(), Refused> {
        self.0.call(|machine, now| machine.change(now, id, change))
    }

    /// From now on there are so many processors. Jobs that run keep theirs. Waiting ones that want
    /// more than that say so ([`Waiting::Infeasible`]).
    pub fn set_cpus(&self, cpus: impl Into<f64>) {
        let units = super::job::units(cpus.into()).unwrap_or(0);
        self.0.call(|machine, _| machine.set_capacity(CPU, units));
    }

    /// How many jobs have not ended.
    pub fn len(&self) -> usize {
        self.0.inner.lock().machine.alive() as usize
    }
    /// Has every job ended?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// How many jobs run.
    pub fn running(&self) -> usize {
        self.0.inner.lock().machine.running() as usize
    }
    /// How many processors are held, of how many.
    pub fn cpus(&self) -> (f64, f64) {
        let inner = self.0.inner.lock();
        let whole = crate::machine::WHOLE as f64;
        (inner.machine.used(CPU) as f64 / whole, inner.machine.capacity(CPU) as f64 / whole)
    }
    /// How many bytes of memory are held, of how many.
    pub fn memory(&self) -> (u64, u64) {
        let inner = self.0.inner.lock();
        (inner.machine.used(MEMORY), inner.machine.capacity(MEMORY))
    }

    /// Waits until no job is left.
    ///
    /// # Blocking
    /// Until then; any number of callers may wait. Jobs that jobs submit count from the moment of
    /// their submission, so the number is not 0 as long as anybody among the jobs can add one. A
    /// job that calls this waits for ever, since it is one of them.
    pub fn wait_all(&self) {
        block_on(poll_fn(|cx| {
            let waker = StoredWaker::clone_of(cx.waker());
            let mut inner = self.0.inner.lock();
            if inner.machine.alive() > 0 {
                inner.idle.push(waker);
                return Poll::Pending;
            }
            drop(inner);
            waker.discard();
            Poll::Ready(())
        }));
    }

    /// Takes no more jobs. Those that are there go on.
    pub fn close(&self) {
        self.0.inner.lock().closed = true;
    }

    pub(super) fn rows(&self) -> (Vec<Row>, Time) {
        let now = self.0.now();
        (self.0.locked(|inner| inner.machine.rows().collect()), now)
    }
    pub(super) fn row(&self, id: JobId) -> (Option<Row>, Time) {
        let now = self.0.now();
        (self.0.locked(|inner| inner.machine.one(id)), now)
    }

    /// If the calling task runs a job of this queue, that job is suspended as long as the guard
    /// lives.
    pub(super) fn suspend_caller(shared: &Arc<Shared>) -> Option<Suspended> {
        let me = task::current()?.id();
        let running: Vec<(u64, Payload)> =
            shared.locked(|inner| inner.running.iter().map(|(id, body)| (*id, body.clone())).collect());
        let (id, _) = running.iter().find(|(id, body)| body.task(JobId(*id)) == Some(me))?;
        let id = JobId(*id);
        shared.call(|machine, _| machine.suspend(id));
        Some(Suspended { shared: shared.clone(), id })
    }
}

/// A job that waits for another one: dropped, it waits until it has back what it held.
pub(super) struct Suspended {
    shared: Arc<Shared>,
    id: JobId,
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if !self.shared.call(|machine, _| machine.resume(self.id)) {
            return;
        }
        // Not to be left, also by a cancellation: the job runs, and is to hold what it was given.
        myriad_core::cancel::shield(|| {
            block_on(poll_fn(|cx| {
                let waker = StoredWaker::clone_of(cx.waker());
                let mut inner = self.shared.inner.lock();
                let old = match inner.machine.state(self.id) {
                    Ok(State::Suspended) => inner.resuming.insert(self.id.0, waker),
                    _ => Some(waker),
                };
                let waits = inner.resuming.contains_key(&self.id.0);
                drop(inner);
                old.into_iter().for_each(StoredWaker::discard);
                if waits { Poll::Pending } else { Poll::Ready(()) }
            }));
        });
    }
}

impl Inner {
    /// Lets the machine decide, and takes what it has decided.
    fn turn(&mut self, now: Time) -> Turn {
        self.machine.decide(now);
        let mut turn = Turn { listened: self.listened, ..Turn::default() };
        let mut count = 0;
        while let Some(mut decision) = self.machine.next_decision() {
            match &mut decision {
                // (If there are two references they are to one body: none is the last.)
                Decision::Ended { id, state, payload } => {
                    if let Some(ran) = self.running.remove(&id.0) {
                        *payload = Some(ran);
                    }
                    if let Some(body) = payload {
                        body.note_end(*id, *state);
                    }
                }
                Decision::Start { id, payload, .. } => _ = self.running.insert(id.0, payload.clone()),
                Decision::Resume { id } => turn.wake.extend(self.resuming.remove(&id.0)),
                _ => {}
            }
            match turn.first.get_mut(count) {
                Some(place) => *place = Some(decision),
                None => turn.more.push(decision),
            }
            count += 1;
        }
        turn.is_empty = self.machine.alive() == 0;
        if turn.is_empty && !self.idle.is_empty() {
            turn.wake.append(&mut self.idle);
        }
        turn.next = self.machine.next_time().unwrap_or(NEVER);
        turn
    }
}

impl Shared {
    pub(super) fn now(&self) -> Time {
        now_of(self.pool).as_nanos() - self.origin
    }
    fn locked<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        f(&mut self.inner.lock())
    }

    /// A call of the machine, and what comes of it.
    fn call<R>(self: &Arc<Self>, f: impl FnOnce(&mut Machine<Payload>, Time) -> R) -> R {
        let now = self.now();
        let (result, turn) = self.locked(|inner| {
            let result = f(&mut inner.machine, now);
            (result, inner.turn(now))
        });
        self.carry_out(turn);
        result
    }

    /// Carries out what was decided. No lock is held.
    fn carry_out(self: &Arc<Self>, turn: Turn) {
        let Turn { first, more, wake, next, listened, is_empty } = turn;
        for decision in first.into_iter().flatten().chain(more) {
            if listened {
                self.tell(&decision);
            }
            match decision {
                Decision::Start { id, element, payload, .. } => self.begin(Call { id, element }, payload),
                Decision::Stop { id, .. } => {
                    let canceller = self.locked(|inner| {
                        // (Or that run has ended meanwhile, and this may be its next attempt.)
                        let body = inner.running.get(&id.0).filter(|_| inner.machine.is_stopping(id));
                        body.and_then(|body| body.stop(id))
                    });
                    if let Some(canceller) = canceller {
                        canceller.cancel();
                    }
                }
                Decision::Ended { id, payload, .. } => {
                    if let Some(body) = payload {
                        body.over(id);
                    }
                }
                Decision::Resume { .. } | Decision::Overdue { .. } | Decision::Again { .. } => {}
            }
        }
        wake.into_iter().for_each(StoredWaker::wake);
        let set = self.timer_at.load(Relaxed);
        if next < set {
            self.set_timer(next);
        } else if is_empty && set != NEVER {
            // A sleeping task would keep a runtime from its end.
            self.stop_timer();
        }
    }

    fn begin(self: &Arc<Self>, call: Call, body: Payload) {
        let mut start = Some(Start { shared: self.clone(), call, body: Some(body.clone()) });
        let pool = self.pool;
        let stopped = body.begin(call.id, &mut || {
            let start = start.take();
            pool.spawn(move || start.into_iter().for_each(Start::run))
        });
        if let Some(canceller) = stopped {
            canceller.cancel();
        }
    }

    /// The run of a job has ended, or never came.
    fn ended(self: &Arc<Self>, id: JobId, body: &Payload, outcome: Outcome, report: Option<Report>) {
        let now = self.now();
        let turn = self.locked(|inner| {
            body.end(id);
            inner.machine.report(id, report);
            inner.machine.ended(now, id, outcome);
            inner.turn(now)
        });
        self.carry_out(turn);
    }

    fn tell(&self, decision: &Decision<Payload>) {
        if let Some(event) = Event::of(decision) {
            self.listeners.tell(&event);
        }
    }

    /// The machine is called at this time.
    #[cold]
    fn set_timer(self: &Arc<Self>, at: Time) {
        let mut timer = self.timer.lock();
        if at >= self.timer_at.load(Relaxed) {
            return;
        }
        self.timer_at.store(at, Relaxed);
        let after = Duration::from_nanos(at.saturating_sub(self.now()));
        match &*timer {
            Some(timer) => _ = timer.reset(after),
            None => {
                let weak = Arc::downgrade(self);
                *timer = Some(call_later(after, move || {
                    if let Some(shared) = weak.upgrade() {
                        shared.timer_at.store(NEVER, Relaxed);
                        shared.call(|_, _| ());
                    }
                }));
            }
        }
    }
}

impl Shared {
    #[cold]
    fn stop_timer(self: &Arc<Self>) {
        // First the note, then the look: who submits a job after the look reads the note, under the
        // lock of the queue or after it, and sets the timer again.
        let timer = self.timer.lock();
        self.timer_at.store(NEVER, Relaxed);
        let next = self.locked(|inner| inner.machine.next_time());
        if let (None, Some(timer)) = (next, timer.as_ref()) {
            timer.stop();
        }
        drop(timer);
        if let Some(next) = next {
            self.set_timer(next);
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if let Some(timer) = self.timer.get_mut() {
            timer.stop();
        }
    }
}

/// The task of a run. It says that the run has ended also if the task never began: cancelled
/// before, or left by its runtime.
struct Start {
    shared: Arc<Shared>,
    call: Call,
    body: Option<Payload>,
}

impl Start {
    fn run(mut self) {
        if let Some(body) = self.body.take() {
            let (outcome, report) = body.run(self.call);
            self.shared.ended(self.call.id, &body, outcome, report);
        }
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        if let Some(body) = self.body.take() {
            self.shared.ended(self.call.id, &body, Outcome::Stopped, None);
        }
    }
}

/// The places of resources and of the group in the machine's tables.
fn find_places(
    machine: &Machine<Payload>,
    request: &mut Request,
    named: &[(Arc<str>, u64)],
    group: Option<&Arc<str>>,
) -> Result<(), Refused> {
    for (name, amount) in named {
        let resource = machine.resource(name).ok_or_else(|| Refused::NoResource(name.clone()))?;
        request.demand.set(resource, *amount);
    }
    if let Some(name) = group {
        request.group = machine.group(name).ok_or_else(|| Refused::NoGroup(name.clone()))?;
    }
    Ok(())
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("jobs", &self.len()).field("running", &self.running()).finish_non_exhaustive()
    }
}
