//! A job that is to be submitted: what it runs, and what it asks for.

use super::cell::{Body, Call, Cell, Slot};
use super::closure::Closure;
use super::counted::Counted;
use super::handle::JobHandle;
use super::wakers::Wakers;
use crate::machine::{
    After, ArrayRequest, CPU, EndedJob, JobId, MEMORY, OfDay, Outcome, Plain, Refused, Report, Request, Retry, State,
    Time, WHOLE, When,
};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::{unwind, user_code};
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// A job: a closure or a [command](Job::command), and what it asks for. It does nothing until it is
/// [submitted](super::Queue::submit).
///
/// Without a word it asks for one processor and no memory, and has priority 0.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, Local};
/// use std::time::Duration;
/// let q = Local::new().cpus(4).resource("gpu", 1).start();
/// let job = Job::new(|| 6 * 7)
///     .name("answer")
///     .cpus(0.5)
///     .memory("200 MB")
///     .resource("gpu", 1)
///     .priority(5)
///     .wall_time(Duration::from_secs(60));
/// assert_eq!(q.submit(job)?.join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Times, groups and dependencies:
/// ```
/// use myriad::jobs::{Job, Local};
/// use std::time::{Duration, SystemTime};
/// let q = Local::new().cpus(4).group("net", 2).start();
/// let load = q.submit(Job::fallible(|| "17".parse::<i32>()).group("net"))?;
/// let soon = q.submit(Job::new(|| ()).delay(Duration::from_millis(1)).after_started(&load))?;
/// let now = q.submit(Job::new(|| ()).at(SystemTime::now()).after_any(&soon))?;
/// let alarm = q.submit(Job::new(|| ()).after_failed(&load))?; // skipped: `load` does not fail
/// let either = q.submit(Job::new(|| "one is done").after(&now).after(&alarm).any_is_enough())?;
/// assert_eq!(either.join()?, "one is done");
///
/// let read = q.submit(Job::array(10, |i| assert!(i < 10)).max_failures(3).held())?;
/// let write = q.submit(Job::array(10, |_| ()).after_each(&read))?; // element by element
/// read.release()?;
/// write.join()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Job<T> {
    pub(super) body: Counted<dyn Slot<T>>,
    pub(super) plain: Plain,
    /// What this job depends on, if that is one job, and there is nothing more.
    pub(super) after: Option<(JobRef, When)>,
    pub(super) more: Option<Box<Asks>>,
    /// Can the body be called again?
    pub(super) again: bool,
}

/// What few jobs ask for. (Boxed: each call that says more moves the job.)
#[derive(Debug, Default)]
pub(super) struct Asks {
    /// Without what is plain.
    pub request: Request,
    /// By name: the queue knows their places.
    pub named: Vec<(Arc<str>, u64)>,
    pub group: Option<Arc<str>>,
    pub begin: Begin,
    /// What was found wrong on the way.
    pub wrong: Option<Refused>,
    /// What this job depends on: jobs of the same queue, which may forget those of which there are
    /// handles.
    pub named_jobs: Vec<JobRef>,
}

impl Asks {
    fn depend(&mut self, (job, when): (JobRef, When)) {
        self.request.after.push(After { job: job.id, when });
        self.named_jobs.push(job);
    }
}

/// When a job may begin.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Begin {
    #[default]
    Now,
    After(Duration),
    At(SystemTime),
}

impl Begin {
    /// By the queue's clock; 0 is at once.
    pub(super) fn time(self, now: Time) -> Time {
        match self {
            Begin::After(time) => now.saturating_add(nanos(time)),
            Begin::Now | Begin::At(_) => 0,
        }
    }
    pub(super) fn at(self) -> Option<OfDay> {
        match self {
            Begin::At(time) => Some(of_day(time)),
            Begin::Now | Begin::After(_) => None,
        }
    }
}

/// What was before 1970 is over.
fn of_day(time: SystemTime) -> OfDay {
    nanos(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}
/// What time of day it is.
pub(super) fn clock() -> OfDay {
    of_day(SystemTime::now())
}

impl<T: Send + 'static> Job<T> {
    /// A job from a closure. Its result is the handle's; a panic is a failure.
    pub fn new(f: impl FnOnce() -> T + Send + 'static) -> Job<T> {
        Job::from_body(Once { f: Closure::new(move || Ok::<T, Arc<str>>(f())), cell: Cell::new() }, false)
    }

    /// A job from a closure that may fail: an error is a failure, as a panic is.
    pub fn fallible<E: fmt::Display>(f: impl FnOnce() -> Result<T, E> + Send + 'static) -> Job<T> {
        let f = move || f().map_err(|error| error.to_string().into());
        Job::from_body(Once { f: Closure::new(f), cell: Cell::new() }, false)
    }

    /// A job that can be called again, so it may have [retries](Job::retries).
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// use std::time::Duration;
    /// let q = Local::new().start();
    /// let mut tries = 0;
    /// let job = Job::again(move || {
    ///     tries += 1;
    ///     if tries < 3 { Err("not yet") } else { Ok(tries) }
    /// });
    /// let job = job.retries(5).backoff(Duration::from_millis(1)..Duration::from_millis(20));
    /// assert_eq!(q.submit(job)?.join()?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn again<E: fmt::Display>(mut f: impl FnMut() -> Result<T, E> + Send + 'static) -> Job<T> {
        let f = move || f().map_err(|error| error.to_string().into());
        Job::from_body(Again { f: Mutex::new(Some(f)), kept: Mutex::new(None), cell: Cell::new() }, true)
    }

    /// The job of this handle, which has ended, to be submitted again.
    pub(super) fn of_ended(handle: &JobHandle<T>, body: Counted<dyn Slot<T>>, request: Request) -> Job<T> {
        // (What it waited for has come, or never will.)
        let array = request.array.map(|array| ArrayRequest { each_of: None, ..array });
        let demand = &request.demand;
        let (cpu, memory) = (demand.of(CPU), demand.of(MEMORY));
        let plain = Plain { priority: request.priority, held: false, cpu, memory };
        let request = Request { after: Vec::new(), any: false, begin: 0, at: None, array, ..request };
        let of_this_queue = vec![JobRef::from(handle)];
        let asks = Asks { request, named_jobs: of_this_queue, ..Asks::default() };
        Job { body, plain, after: None, more: Some(Box::new(asks)), again: true }
    }

    #[inline]
    pub(crate) fn from_body(body: impl Slot<T> + 'static, again: bool) -> Job<T> {
        let plain = Plain { cpu: WHOLE, ..Plain::default() };
        Job { body: Counted::new(body), plain, after: None, more: None, again }
    }
}

impl Job<()> {
    /// An array: `len` elements, each of which calls `f` with its index from 0. They are one job
    /// to depend on, to cancel and to wait for; each is a job of its own to the scheduler, and
    /// takes memory only once it has begun.
    ///
    /// The array is done when all elements are; it fails if one does not end well.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// use std::sync::{Arc, atomic::{AtomicU32, Ordering::*}};
    /// let q = Local::new().cpus(4).start();
    /// let sum = Arc::new(AtomicU32::new(0));
    /// let in_job = sum.clone();
    /// let job = Job::array(1000, move |i| _ = in_job.fetch_add(i, Relaxed)).at_once(2);
    /// q.submit(job)?.join()?;
    /// assert_eq!(sum.load(Relaxed), 499_500);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn array(len: u32, f: impl Fn(u32) + Send + Sync + 'static) -> Job<()> {
        let f = move |at| {
            f(at);
            Ok::<(), Arc<str>>(())
        };
        let mut job = Job::from_body(super::array::Array::new(f), true);
        job.more().request.array = Some(ArrayRequest { len, at_once: u32::MAX, max_failures: 0, each_of: None });
        job
    }

    /// Of an array: so many elements run at the same time at most.
    pub fn at_once(mut self, most: u32) -> Job<()> {
        self.array_mut(|array| array.at_once = most);
        self
    }
    /// Of an array: after so many failures no more elements begin.
    pub fn max_failures(mut self, most: u32) -> Job<()> {
        self.array_mut(|array| array.max_failures = most);
        self
    }
    /// Of an array: each element waits until the element with the same index of that array, which
    /// has the same length, is done. It is skipped if that one does not end well. (By its handle
    /// also an array may be meant that is done, and not in the history any more.)
    pub fn after_each(mut self, other: impl Into<JobRef>) -> Job<()> {
        let other = other.into();
        self.array_mut(|array| array.each_of = Some(other.id));
        self.more().named_jobs.push(other);
        self
    }
    fn array_mut(&mut self, change: impl FnOnce(&mut ArrayRequest)) {
        match &mut self.more().request.array {
            Some(array) => change(array),
            None => self.more().wrong = Some(Refused::EmptyArray),
        }
    }
}

impl<T> Job<T> {
    pub(super) fn more(&mut self) -> &mut Asks {
        let more = self.more.get_or_insert_default();
        self.after.take().into_iter().for_each(|after| more.depend(after));
        more
    }
    /// A name: for tables, and so that the job is in the history once it is done.
    pub fn name(mut self, name: impl Into<Arc<str>>) -> Job<T> {
        self.more().request.name = Some(name.into());
        self
    }
    /// Whose job it is: a label, by which [`jobs_of`](super::Queue::jobs_of) finds the job. Nothing
    /// else depends on it.
    pub fn user(mut self, user: impl Into<Arc<str>>) -> Job<T> {
        self.more().request.user = Some(user.into());
        self
    }
    /// From -9999 to 9999. Higher ones are first.
    pub fn priority(mut self, priority: i32) -> Job<T> {
        self.plain.priority = priority;
        self
    }
    /// How many processors, in steps of 1/10,000. With 0 the job waits for none.
    pub fn cpus(mut self, cpus: impl Into<f64>) -> Job<T> {
        let given = cpus.into();
        match units(given) {
            Some(units) => self.plain.cpu = units,
            None => self.more().wrong = Some(Refused::NoAmount("cpu".into(), given.to_string().into())),
        }
        self
    }
    /// How much memory: bytes, or a text as "2 GB" or "512 KB" (of 1024 each). Of a closure it is
    /// only counted. A command that takes more is killed.
    pub fn memory(mut self, memory: impl Into<Bytes>) -> Job<T> {
        match memory.into().amount() {
            Ok(bytes) => self.plain.memory = bytes,
            Err(wrong) => self.more().wrong = Some(wrong),
        }
        self
    }
    /// How much of a resource that the queue was made with, in steps of 1/10,000. (`cpu` and
    /// `memory` are those of [`cpus`](Self::cpus), and bytes.)
    pub fn resource(mut self, name: impl Into<Arc<str>>, amount: impl Into<f64>) -> Job<T> {
        match amount_of(name.into(), amount.into()) {
            Ok((name, units)) if &*name == "cpu" => self.plain.cpu = units,
            Ok((name, bytes)) if &*name == "memory" => self.plain.memory = bytes,
            Ok(named) => self.more().named.push(named),
            Err(wrong) => self.more().wrong = Some(wrong),
        }
        self
    }
    /// The group, of which only so many run at a time as the queue was told.
    pub fn group(mut self, name: impl Into<Arc<str>>) -> Job<T> {
        self.more().group = Some(name.into());
        self
    }
    /// How long the job may run, by the clock. Then it is stopped, and has timed out. (A closure is
    /// cancelled, which arrives at its next wait: see [`cancel`](myriad_core::cancel). One that
    /// goes on is *overdue*, and keeps what it holds.)
    pub fn wall_time(mut self, time: Duration) -> Job<T> {
        self.more().request.wall = Some(nanos(time).max(1));
        self
    }
    /// Not before so much time has passed since it was submitted.
    pub fn delay(mut self, time: Duration) -> Job<T> {
        self.more().begin = Begin::After(time);
        self
    }
    /// Not before this time of day. One in the past is now.
    ///
    /// The time is that of the machine's clock, also where the runtime has another one. If the
    /// clock is set, or the machine sleeps, the queue sees that within 20 seconds of the runtime's
    /// own time; a [manual clock](myriad_core::Builder::manual_clock) has to go on, too.
    pub fn at(mut self, time: SystemTime) -> Job<T> {
        self.more().begin = Begin::At(time);
        self
    }
    /// It does not start until it is [released](super::Queue::release).
    pub fn held(mut self) -> Job<T> {
        self.plain.held = true;
        self
    }

    /// Not before that job is done. If that one ends in another way, this one is skipped.
    pub fn after(self, job: impl Into<JobRef>) -> Job<T> {
        self.depends(job, When::Done)
    }
    /// Not before that job has ended, in whatever way.
    pub fn after_any(self, job: impl Into<JobRef>) -> Job<T> {
        self.depends(job, When::Ended)
    }
    /// Only if that job fails, or its time is over. It is skipped if that one ends in another way.
    pub fn after_failed(self, job: impl Into<JobRef>) -> Job<T> {
        self.depends(job, When::Failed)
    }
    /// Not before that job has begun.
    pub fn after_started(self, job: impl Into<JobRef>) -> Job<T> {
        self.depends(job, When::Started)
    }
    /// One of the dependencies is enough. (Otherwise all have to be met.)
    pub fn any_is_enough(mut self) -> Job<T> {
        self.more().request.any = true;
        self
    }
    fn depends(mut self, job: impl Into<JobRef>, when: When) -> Job<T> {
        let after = (job.into(), when);
        match (&self.after, &self.more) {
            (None, None) => self.after = Some(after),
            _ => self.more().depend(after),
        }
        self
    }

    /// So many attempts after the first, if one fails or its time is over. Those who depend on the
    /// job see the last one only. It must be a job that [can be called again](Job::again), a
    /// command, or an array.
    pub fn retries(mut self, times: u32) -> Job<T> {
        self.more().request.retry.times = times;
        self
    }
    /// The pause before the first retry, and the longest: each is twice as long as the one before.
    /// A job that pauses holds no resources.
    pub fn backoff(mut self, pauses: std::ops::Range<Duration>) -> Job<T> {
        let retry = &mut self.more().request.retry;
        *retry = Retry { first: nanos(pauses.start), most: nanos(pauses.end), ..*retry };
        self
    }
}

impl<T> fmt::Debug for Job<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job")
            .field("plain", &self.plain)
            .field("after", &self.after)
            .field("more", &self.more)
            .finish_non_exhaustive()
    }
}

/// A job that is meant: a handle, or a number. A handle is known in its own queue only, and refused
/// in others. Example: [`Job`].
#[derive(Clone)]
pub struct JobRef {
    pub(super) id: JobId,
    /// Of a handle: the number of its queue, and what the job runs.
    handle: Option<(u64, Counted<dyn Body>)>,
}

impl JobRef {
    /// How the job has ended, if its handle says so.
    pub(super) fn ended(&self) -> Option<EndedJob> {
        let body = &self.handle.as_ref()?.1;
        Some(EndedJob { id: self.id, state: body.ended()?, elements: body.elements() })
    }
    /// The number of that job in this queue.
    pub(super) fn in_queue(&self, queue: u64) -> Result<JobId, Refused> {
        match &self.handle {
            Some((other, _)) if *other != queue => Err(Refused::OtherQueue(self.id)),
            _ => Ok(self.id),
        }
    }
}

impl fmt::Debug for JobRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("JobRef").field(&self.id).finish()
    }
}

impl From<JobId> for JobRef {
    fn from(id: JobId) -> JobRef {
        JobRef { id, handle: None }
    }
}
impl<T> From<&JobHandle<T>> for JobRef {
    fn from(handle: &JobHandle<T>) -> JobRef {
        JobRef { id: handle.id(), handle: Some((handle.queue_number(), handle.body())) }
    }
}

/// A number of bytes: a number, or a text with a unit (B, KB, MB, GB, TB, of 1024 each). Example:
/// [`Local`](super::Local).
#[derive(Debug, Clone)]
pub struct Bytes(pub(super) Result<u64, String>);

impl Bytes {
    pub(super) fn amount(self) -> Result<u64, Refused> {
        self.0.map_err(|text| Refused::NoAmount("memory".into(), format!("\"{text}\"").into()))
    }
}

impl From<u64> for Bytes {
    fn from(bytes: u64) -> Bytes {
        Bytes(Ok(bytes))
    }
}
impl From<&str> for Bytes {
    fn from(text: &str) -> Bytes {
        let trimmed = text.trim();
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(digits);
        let power = match unit.trim().to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
            "" => Some(0),
            "K" => Some(1),
            "M" => Some(2),
            "G" => Some(3),
            "T" => Some(4),
            _ => None,
        };
        let bytes = power.and_then(|power| Some(number.parse::<f64>().ok()? * 1024_f64.powi(power)));
        Bytes(
            bytes
                .filter(|bytes| *bytes >= 0.0 && *bytes < 1e19)
                .map(|bytes| bytes.round() as u64)
                .ok_or_else(|| text.to_owned()),
        )
    }
}

/// Whole units of 1/10,000: so ten jobs of 0.1 fit into 1.0, which sums of floats do not. (What is
/// less than a unit is one: who asks for something gets something.)
pub(super) fn units(amount: f64) -> Option<u64> {
    let whole = |units: f64| if amount > 0.0 { units.round().max(1.0) } else { 0.0 } as u64;
    (0.0..=1e12).contains(&amount).then(|| whole(amount * WHOLE as f64))
}

/// So much of a resource: units; of memory bytes.
pub(super) fn amount_of(name: Arc<str>, given: f64) -> Result<(Arc<str>, u64), Refused> {
    match units(given) {
        None => Err(Refused::NoAmount(name, given.to_string().into())),
        Some(_) if &*name == "memory" => Ok((name, given as u64)),
        Some(units) => Ok((name, units)),
    }
}

/// The units of what a queue has.
///
/// # Panics
/// That is no amount.
#[track_caller]
pub(super) fn units_of_queue(what: &str, amount: f64) -> u64 {
    units(amount).unwrap_or_else(|| panic!("{amount} is no amount of {what}: say a number from 0 to 10^12"))
}

pub(super) fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// What a run came to, of a body with one closure.
pub(crate) fn outcome<T>(run: Result<Result<T, Arc<str>>, unwind::Payload>) -> (Outcome, Result<T, Option<Arc<str>>>) {
    match run {
        Ok(Ok(value)) => (Outcome::Done, Ok(value)),
        Ok(Err(error)) => (Outcome::Failed, Err(Some(error))),
        Err(mut payload) => {
            let stopped = unwind::is_cancellation(&payload);
            unwind::end_cancellation(&mut payload);
            let text: Arc<str> = format!("panicked: {}", myriad_base::unwind::message(&*payload)).into();
            unwind::discard(payload);
            if stopped { (Outcome::Stopped, Err(None)) } else { (Outcome::Failed, Err(Some(text))) }
        }
    }
}

pub(super) fn report(outcome: Outcome, reason: Option<&Arc<str>>) -> Option<Box<Report>> {
    (outcome != Outcome::Done).then(|| Box::new(Report { text: reason.cloned(), ..Report::default() }))
}

/// A closure that is called once.
struct Once<F, T> {
    f: Closure<F>,
    cell: Cell<T>,
}

/// A closure that may be called again.
struct Again<F, T> {
    f: Mutex<Option<F>>,
    kept: Mutex<Option<Request>>,
    cell: Cell<T>,
}

macro_rules! body_of_one {
    () => {
        fn note_retry(&self) {
            self.cell.note_retry();
        }
        fn note_runtime_end(&self) {
            self.cell.note_runtime_end();
        }
        fn note_end(&self, _: JobId, state: State) -> Option<Box<Wakers>> {
            self.cell.note_end(state)
        }
        fn ended(&self) -> Option<State> {
            self.cell.state()
        }
    };
}
pub(crate) use body_of_one;

impl<F: FnOnce() -> Result<T, Arc<str>> + Send, T: Send> Body for Once<F, T> {
    body_of_one!();
    fn has_drop(&self) -> bool {
        std::mem::needs_drop::<T>() // (The closure is gone.)
    }
    fn run(&self, _: Call) -> (Outcome, Option<Box<Report>>) {
        let (outcome, result) = match self.f.take() {
            Some(f) => outcome(user_code::body(f)),
            None => (Outcome::Stopped, Err(None)),
        };
        let report = report(outcome, result.as_ref().err().and_then(Option::as_ref));
        self.cell.leave_with(result);
        (outcome, report)
    }
}
impl<F: FnOnce() -> Result<T, Arc<str>> + Send, T: Send> Slot<T> for Once<F, T> {
    fn cell(&self) -> &Cell<T> {
        &self.cell
    }
}
impl<F, T> Drop for Once<F, T> {
    fn drop(&mut self) {
        self.f.take().into_iter().for_each(unwind::drop_quietly);
    }
}

impl<F: FnMut() -> Result<T, Arc<str>> + Send, T: Send> Body for Again<F, T> {
    body_of_one!();
    fn keep(&self, request: &Request) {
        *self.kept.lock() = Some(request.clone());
    }
    fn change_kept(&self, change: &dyn Fn(&mut Request)) {
        self.kept.lock().as_mut().into_iter().for_each(change);
    }
    fn has_drop(&self) -> bool {
        std::mem::needs_drop::<(F, T)>()
    }
    fn run(&self, _: Call) -> (Outcome, Option<Box<Report>>) {
        let f = self.f.lock().take();
        let Some(mut f) = f else {
            self.cell.leave_with(Err(None));
            return (Outcome::Stopped, None);
        };
        let (outcome, result) = outcome(user_code::body(&mut f));
        *self.f.lock() = Some(f);
        let report = report(outcome, result.as_ref().err().and_then(Option::as_ref));
        self.cell.leave_with(result);
        (outcome, report)
    }
}
impl<F: FnMut() -> Result<T, Arc<str>> + Send + 'static, T: Send + 'static> Slot<T> for Again<F, T> {
    fn cell(&self) -> &Cell<T> {
        &self.cell
    }
    fn renew(&self) -> Option<(Counted<dyn Slot<T>>, Request)> {
        let f = Mutex::new(Some(self.f.lock().take()?));
        let request = self.kept.lock().clone()?;
        Some((Counted::new(Again { f, kept: Mutex::new(None), cell: Cell::new() }), request))
    }
}
impl<F, T> Drop for Again<F, T> {
    fn drop(&mut self) {
        if let Some(f) = self.f.get_mut().take() {
            unwind::drop_quietly(f);
        }
    }
}
