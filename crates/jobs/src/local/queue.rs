//! The calls of a queue.

use super::event::{Event, Listeners};
use super::handle::JobHandle;
use super::job::{Job, JobRef};
use super::shared::{Inner, Payload, Shared};
use crate::machine::{CPU, JobId, MEMORY, Machine, Refused, Row, Rules, State, Time, Waiting};
use myriad_core::block_on;
use myriad_sync::channel::BroadcastReceiver;
use std::fmt;
use std::sync::Arc;

/// A queue of jobs, made by [`Local`](super::Local). Cloning it copies a reference. The queue lives
/// as long as anybody has one, or a handle of a job, and as long as a job of it runs. Jobs that
/// still wait when it ends are dropped with it.
///
/// Every call may be made from anywhere: from jobs, from other tasks, from futures and from foreign
/// threads. Only calls whose names begin with `wait` block.
///
/// # Examples
/// ```
/// use myriad::jobs::{Edit, Job, Local, State};
/// use std::time::Duration;
/// let q = Local::new().cpus(4).start();
/// let report = q.submit(Job::new(|| 7).name("report").held())?;
/// // What has not begun can be changed.
/// q.edit(&report, Edit::new().priority(10).cpus(2).wall_time(Duration::from_secs(60)))?;
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

impl Queue {
    pub(super) fn start(
        rules: Rules,
        resources: &[(Arc<str>, u64)],
        groups: &[(Arc<str>, u64)],
        listeners: Listeners,
    ) -> Queue {
        Queue(Arc::new(Shared::new(Machine::new(rules, resources, groups), listeners)))
    }
    /// The number of a job of this queue.
    pub(super) fn own(&self, job: impl Into<JobRef>) -> Result<JobId, Refused> {
        job.into().in_queue(self.0.number)
    }

    /// Takes a job. It starts as soon as nothing is before it and there is room for it.
    ///
    /// # Errors
    /// A job that could never run is refused, with what is wrong: it asks for more than there is,
    /// for a resource or group that there is not, depends on a job that is unknown, forgotten or of
    /// another queue, or wants retries of a closure that can be called once. So is each job once
    /// the queue is closed: by [`close`](Self::close), or because its runtime has ended, where the
    /// jobs that were not done are cancelled. A dependency that has ended is decided here: the job
    /// is ready, or ends as skipped at once.
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
    pub fn submit<T: 'static>(&self, mut job: Job<T>) -> Result<JobHandle<T>, Refused> {
        // (Its parts are used where they are: to move it as a whole waits for what was just
        // written.)
        if job.again && job.more.is_none() {
            job.more();
        }
        let id = match job.more.take() {
            None => self.0.submit_plain(&job.plain, job.after.as_ref(), job.body.twin().into_body())?,
            Some(more) => self.0.submit(&job.plain, more, job.again, &job.body)?,
        };
        Ok(JobHandle::new(id, job.body, self.0.clone()))
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
    /// There is no such job, it has ended and is no more in the history, or the handle is of
    /// another queue.
    pub fn state(&self, id: impl Into<JobRef>) -> Result<State, Refused> {
        self.0.state(self.own(id)?)
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
    pub fn why(&self, id: impl Into<JobRef>) -> Result<Option<Waiting>, Refused> {
        self.0.why(self.own(id)?)
    }

    /// Cancels a job: one that has not begun never does, and those who depend on it are skipped;
    /// one that runs is asked to stop, and has what it holds until it has ended. A closure that
    /// ends well in spite of that is done. Returns the state before.
    ///
    /// # Errors
    /// As [`state`](Self::state); and of an element of an array that has not begun.
    pub fn cancel(&self, id: impl Into<JobRef>) -> Result<State, Refused> {
        self.0.cancel(self.own(id)?)
    }
    /// Cancels all jobs that have not ended, at once: no job begins because another one has ended
    /// by that.
    pub fn cancel_all(&self) {
        self.0.call(|machine, now| machine.cancel_all(now));
    }

    /// A job that has not begun does not start until it is released; of an array, no more elements
    /// do.
    ///
    /// # Errors
    /// It has begun, or ended.
    pub fn hold(&self, id: impl Into<JobRef>) -> Result<(), Refused> {
        let id = self.own(id)?;
        self.0.call(|machine, _| machine.hold(id))?;
        self.0.listeners.tell([Event::Held { id }]);
        Ok(())
    }
    /// A held job may start. It stands behind the others of its priority. False: it was not held.
    ///
    /// # Errors
    /// As [`state`](Self::state).
    pub fn release(&self, id: impl Into<JobRef>) -> Result<bool, Refused> {
        self.0.release(self.own(id)?)
    }

    /// The processes of a command stand still, until [`resume`](Self::resume). The job runs
    /// meanwhile as far as the queue knows: it holds what it has, and its wall time goes on. If it
    /// is cancelled, it goes on, to end.
    ///
    /// # Errors
    /// It is no command, or does not run. (What has not begun can be [held](Self::hold).)
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local, Refused, State};
    /// let q = Local::new().start();
    /// let sleeps = q.submit(Job::command(["sleep", "0.1"]))?;
    /// while q.pause(&sleeps).is_err() {} // (until it runs)
    /// q.resume(&sleeps)?;
    /// assert_eq!(sleeps.wait(), State::Done);
    /// let held = q.submit(Job::new(|| ()).held())?;
    /// assert_eq!(q.pause(&held), Err(Refused::NoProgram(held.id(), State::Pending)));
    /// # held.cancel();
    /// # Ok::<(), Refused>(())
    /// ```
    pub fn pause(&self, id: impl Into<JobRef>) -> Result<(), Refused> {
        self.set_paused(self.own(id)?, true)
    }
    /// The processes of a command that was [paused](Self::pause) go on.
    ///
    /// # Errors
    /// It is no command, or does not run.
    pub fn resume(&self, id: impl Into<JobRef>) -> Result<(), Refused> {
        self.set_paused(self.own(id)?, false)
    }
    fn set_paused(&self, id: JobId, paused: bool) -> Result<(), Refused> {
        let body = self.0.locked(|inner| inner.machine.payload(id).cloned());
        match body.is_some_and(|body| body.pause(paused)) {
            true => {
                self.0.listeners.tell([if paused { Event::Paused { id } } else { Event::Resumed { id } }]);
                Ok(())
            }
            false => Err(Refused::NoProgram(id, self.0.state(id)?)),
        }
    }

    /// From now on there are so many processors. Jobs that run keep theirs. Waiting ones that want
    /// more than that say so ([`Waiting::Infeasible`]).
    ///
    /// # Panics
    /// That is no number from 0 on.
    #[track_caller]
    pub fn set_cpus(&self, cpus: impl Into<f64>) {
        let units = super::job::units_of_queue("processors", cpus.into());
        self.0.call(|machine, _| machine.set_capacity(CPU, units));
    }

    /// How many jobs have not ended.
    pub fn len(&self) -> usize {
        self.0.locked(|inner| inner.machine.alive() as usize)
    }
    /// Has every job ended?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// How many jobs run.
    pub fn running(&self) -> usize {
        self.0.locked(|inner| inner.machine.running() as usize)
    }
    /// How many processors are held, of how many.
    pub fn cpus(&self) -> (f64, f64) {
        let whole = crate::machine::WHOLE as f64;
        let (used, all) = self.0.locked(|inner| (inner.machine.used(CPU), inner.machine.capacity(CPU)));
        (used as f64 / whole, all as f64 / whole)
    }
    /// How many bytes of memory are held, of how many.
    pub fn memory(&self) -> (u64, u64) {
        self.0.locked(|inner| (inner.machine.used(MEMORY), inner.machine.capacity(MEMORY)))
    }

    /// What happens to jobs from now on, as a stream. It keeps the last 4,096 events, and tells a
    /// receiver that is slower how many it has missed; nobody waits for a receiver. The stream ends
    /// with the queue. (To miss none, see [`Local::on_event`](super::Local::on_event).)
    ///
    /// From the first call on each event takes an allocation, and short jobs no longer share tasks.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Event, Job, Local};
    /// let q = Local::new().start();
    /// let mut events = q.events();
    /// let job = q.submit(Job::new(|| ()).held())?;
    /// let id = job.id();
    /// assert_eq!(*events.recv()?.message().unwrap(), Event::Submitted { id });
    /// job.cancel();
    /// while let Some(event) = events.recv()?.message() {
    ///     println!("{event:?}");
    ///     if matches!(*event, Event::Ended { .. }) {
    ///         break;
    ///     }
    /// }
    /// drop((job, q));
    /// assert!(events.recv().is_err(), "the queue is gone");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn events(&self) -> BroadcastReceiver<Event> {
        self.0.listeners.stream()
    }

    /// Waits until no job is left.
    ///
    /// # Blocking
    /// Until then; any number of callers may wait. Jobs that jobs submit count from the moment of
    /// their submission, so the number is not 0 as long as anybody among the jobs can add one. A
    /// job that calls this waits for ever, since it is one of them.
    pub fn wait_all(&self) {
        let _outside = self.0.wait_outside();
        block_on(self.0.wait_all());
    }

    /// Takes no more jobs. Those that are there go on.
    pub fn close(&self) {
        self.0.locked(|inner| inner.closed = true);
    }
    /// Does the queue take no more jobs, because it was closed, or because its runtime has ended?
    pub fn is_closed(&self) -> bool {
        self.0.locked(|inner| inner.closed)
    }

    pub(super) fn rows(&self) -> (Vec<Row>, Time) {
        self.look(|machine| machine.rows().collect())
    }
    /// Those whose name and user are wanted.
    pub(super) fn rows_of(&self, is_wanted: impl Fn(Option<&str>, Option<&str>) -> bool) -> (Vec<Row>, Time) {
        self.look(|machine| machine.rows_of(is_wanted).collect())
    }
    pub(super) fn row(&self, id: JobId) -> (Option<Row>, Time) {
        self.look(|machine| machine.one(id))
    }
    /// At what the history keeps by now.
    fn look<R>(&self, f: impl FnOnce(&Machine<Payload>) -> R) -> (R, Time) {
        let now = self.0.now();
        let look = |inner: &mut Inner| {
            inner.machine.forget_older(now);
            f(&inner.machine)
        };
        (self.0.locked(look), now)
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("jobs", &self.len()).field("running", &self.running()).finish_non_exhaustive()
    }
}
