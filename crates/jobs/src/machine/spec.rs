//! What a job asks for, and what is said of a job: the words of the machine.

use std::fmt;
use std::sync::Arc;

/// Nanoseconds since the start of the machine's clock.
pub(crate) type Time = u64;
/// A time of day: nanoseconds since 1970.
pub(crate) type OfDay = u64;

/// The number of a job, as an example of [`State`] shows. Numbers count up from 1 without gaps, in
/// the order of submission; the elements of an array follow the number of their array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub(crate) u64);

impl JobId {
    /// The number.
    pub fn as_u64(self) -> u64 {
        self.0
    }
    /// The job with this number, which a program has read somewhere.
    pub fn from_u64(number: u64) -> JobId {
        JobId(number)
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The place of a resource in the machine's table.
pub(crate) type Resource = u16;
/// Processors, in units of 1/10,000.
pub(crate) const CPU: Resource = 0;
/// Memory, in bytes.
pub(crate) const MEMORY: Resource = 1;
/// The units of one processor, and of one of each named resource.
pub(crate) const WHOLE: u64 = 10_000;

/// How much of each resource a job holds while it runs: sorted by resource, without zeros.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct Demand(Parts);

/// Most jobs ask for processors and memory at most: then nothing is allocated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Parts {
    Few([(Resource, u64); 2], u8),
    Many(Box<[(Resource, u64)]>),
}

impl Default for Parts {
    fn default() -> Parts {
        Parts::Few([(0, 0); 2], 0)
    }
}

impl Demand {
    /// Adds to what is asked.
    pub(crate) fn set(&mut self, resource: Resource, amount: u64) {
        let others = self.parts().iter().copied().filter(|part| part.0 != resource);
        let mut few = [(0, 0); 2];
        let mut many = Vec::new();
        let mut len = 0;
        for part in others.chain((amount > 0).then_some((resource, amount))) {
            match few.get_mut(len) {
                Some(place) => *place = part,
                None => many.push(part),
            }
            len += 1;
        }
        few[..len.min(2)].sort_unstable();
        self.0 = if many.is_empty() {
            Parts::Few(few, len as u8)
        } else {
            many.extend(few);
            many.sort_unstable();
            Parts::Many(many.into())
        };
    }
    /// Only processors, in units.
    #[cfg(test)]
    pub(crate) fn cpu(amount: u64) -> Demand {
        Demand(Parts::Few([(CPU, amount), (0, 0)], u8::from(amount > 0)))
    }
    /// What such a job asks for.
    #[inline]
    pub(crate) fn of_plain(plain: &Plain) -> Demand {
        Demand(match (plain.cpu, plain.memory) {
            (0, memory) => Parts::Few([(MEMORY, memory), (0, 0)], u8::from(memory > 0)),
            (cpu, memory) => {
                Parts::Few([(CPU, cpu), if memory > 0 { (MEMORY, memory) } else { (0, 0) }], 1 + u8::from(memory > 0))
            }
        })
    }
    #[inline]
    pub(crate) fn parts(&self) -> &[(Resource, u64)] {
        match &self.0 {
            Parts::Few(parts, len) => &parts[..usize::from(*len)],
            Parts::Many(parts) => parts,
        }
    }
    /// How much of this resource.
    pub(crate) fn of(&self, resource: Resource) -> u64 {
        self.parts().iter().find(|part| part.0 == resource).map_or(0, |part| part.1)
    }
}

/// Which end of another job a job waits for. Example: [`Waiting`](super::Waiting).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum When {
    /// It is done.
    Done,
    /// It has ended, in whatever way.
    Ended,
    /// It failed: its last attempt failed, or its time was over.
    Failed,
    /// It runs, or has run.
    Started,
}

/// One dependency.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct After {
    /// The other job.
    pub job: JobId,
    /// What has to become of that job.
    pub when: When,
}

/// Dependencies: mostly there is one, for which nothing is allocated.
#[derive(Debug, Clone)]
pub(crate) enum Afters {
    One(After),
    Many(Vec<After>),
}

impl Default for Afters {
    fn default() -> Afters {
        Afters::Many(Vec::new())
    }
}

impl std::ops::Deref for Afters {
    type Target = [After];
    fn deref(&self) -> &[After] {
        match self {
            Afters::One(after) => std::slice::from_ref(after),
            Afters::Many(all) => all,
        }
    }
}

/// Another attempt after a failure.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Retry {
    /// Attempts after the first.
    pub times: u32,
    /// The pause before the first of them. Each further pause is twice as long ...
    pub first: Time,
    /// ... and at most this long.
    pub most: Time,
}

impl Retry {
    /// The pause before this retry; the first has number 1.
    pub(crate) fn pause(self, number: u32) -> Time {
        self.first
            .checked_shl(number - 1)
            .filter(|pause| pause >> (number - 1) == self.first)
            .map_or(self.most, |pause| pause.min(self.most))
    }
}

/// An array: many jobs of one kind.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArrayRequest {
    pub len: u32,
    /// So many run at the same time at most.
    pub at_once: u32,
    /// With so many failures no more elements begin.
    pub max_failures: u32,
    /// An array of the same length: each element waits until that one's element is done.
    pub each_of: Option<JobId>,
}

/// What is submitted.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    pub name: Option<Arc<str>>,
    /// A label of the program's: whose job it is.
    pub user: Option<Arc<str>>,
    /// Higher ones first.
    pub priority: i32,
    pub demand: Demand,
    /// The group's place in the machine's table; 0 has no limit.
    pub group: u32,
    /// How long the job may run.
    pub wall: Option<Time>,
    /// Not before that.
    pub begin: Time,
    /// Or not before this time of day.
    pub at: Option<OfDay>,
    pub after: Vec<After>,
    /// One dependency is enough.
    pub any: bool,
    pub held: bool,
    pub retry: Retry,
    pub array: Option<ArrayRequest>,
}

/// What most jobs ask for, who ask for nothing else.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Plain {
    pub priority: i32,
    pub held: bool,
    pub cpu: u64,
    pub memory: u64,
}

/// How a run of a job's body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    Failed,
    /// It has ended, and nobody knows how: perhaps well, so it is not run again.
    Lost,
    /// It was stopped, as the machine had asked.
    Stopped,
}

/// What is known of a job: where it stands, or how it ended.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, JobId, Local, State};
/// let q = Local::new().start();
/// let job = q.submit(Job::new(|| ()).name("a").held())?;
/// let id = JobId::from_u64(job.id().as_u64());
/// assert_eq!(q.state(id)?, State::Pending);
/// q.release(id)?;
/// let state = job.wait();
/// assert!(state.is_final() && state.word() == "done");
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// It has not begun, or waits for its next attempt. [`Waiting`](super::Waiting) says why.
    Pending,
    /// It runs.
    Running,
    /// It waits for another job of its queue, and holds no resources meanwhile.
    Suspended,
    /// Its time is over, it was told to stop, and it goes on running.
    Overdue,
    /// It ended well.
    Done,
    /// Its last attempt failed.
    Failed,
    /// Its time was over.
    TimedOut,
    /// It was cancelled.
    Cancelled,
    /// It never ran, because of how this other job ended.
    Skipped(JobId),
}

impl State {
    /// Is it one of the last five, which are for good?
    pub fn is_final(self) -> bool {
        !matches!(self, State::Pending | State::Running | State::Suspended | State::Overdue)
    }
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Running => "running",
            State::Suspended => "suspended",
            State::Overdue => "overdue",
            State::Done => "done",
            State::Failed => "failed",
            State::TimedOut => "timed out",
            State::Cancelled => "cancelled",
            State::Skipped(_) => "skipped",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            State::Skipped(by) => write!(f, "skipped because of job {by}"),
            other => f.pad(other.word()),
        }
    }
}

/// Of a dependency: met, impossible by now, or still open.
pub(crate) fn verdict(when: When, state: State) -> Option<bool> {
    match (when, state) {
        (When::Started, State::Running | State::Suspended | State::Overdue) => Some(true),
        (When::Started, State::Done | State::Failed | State::TimedOut) => Some(true),
        (_, state) if !state.is_final() => None,
        (When::Ended, _) => Some(true),
        (When::Done, state) => Some(state == State::Done),
        (When::Failed, state) => Some(matches!(state, State::Failed | State::TimedOut)),
        (When::Started, _) => Some(false),
    }
}

/// Why the machine stops a running job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    Cancelled,
    WallTime,
}

/// What the machine has decided. The engine carries it out.
#[derive(Debug, PartialEq)]
pub(crate) enum Decision<P> {
    /// This job runs from now on. Its element, if it is one of an array; the attempt counts from 1.
    Start { id: JobId, element: Option<u32>, attempt: u32, payload: P },
    /// This running job has to stop.
    Stop { id: JobId, why: Stop },
    /// This suspended job has its resources back.
    Resume { id: JobId },
    /// This job did not stop within the time of grace after the end of its wall time.
    Overdue { id: JobId },
    /// This attempt failed, and another one comes at this time.
    Again { id: JobId, at: Time },
    /// This job has ended. What is left of what was submitted with it, to be dropped by the engine.
    Ended { id: JobId, state: State, payload: Option<P> },
}

/// A job is done, and another one runs from now on: as `Ended` and `Start` say it. Its attempt is
/// the first.
#[derive(Debug)]
pub(crate) struct Handover<P> {
    pub ended: Option<P>,
    pub next: JobId,
    pub payload: P,
}

/// A job that is not accepted. Each message is one line. Example:
/// [`Queue::submit`](crate::Queue::submit).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refused {
    /// It asks for more than there is: of what, how much, and how much there is.
    Infeasible {
        /// The resource.
        resource: Arc<str>,
        /// What the job asks for, as text: "16 cpus".
        wants: Arc<str>,
        /// What there is: "8".
        there: Arc<str>,
    },
    /// There is no such resource.
    NoResource(Arc<str>),
    /// What was given is no amount of this resource: the resource, and what was given.
    NoAmount(Arc<str>, Arc<str>),
    /// There is no such group.
    NoGroup(Arc<str>),
    /// There is no job with this number.
    Unknown(JobId),
    /// What was given is a handle of another queue, in which the job has this number.
    OtherQueue(JobId),
    /// This job has ended, and is no more in the history.
    Forgotten(JobId),
    /// The priority is not one of -9999 to 9999.
    Priority(i32),
    /// A per-element dependency on a job that is no array, or has another length.
    NotAlike(JobId),
    /// An array needs at least one element, and one that may run.
    EmptyArray,
    /// Retries, arrays and series need a body that can be called again.
    OnlyOnce,
    /// What cannot be done to an element of an array that has not begun.
    InArray(JobId),
    /// The first job was to wait for the second one, which waits for the first already.
    Circle(JobId, JobId),
    /// What can only be done to a job that has not begun; with its state.
    Begun(JobId, State),
    /// What can only be done to the processes of a command; with the job's state.
    NoProgram(JobId, State),
    /// A pattern, a time zone or a time that says nothing; with the reason.
    Time(Arc<str>),
    /// The queue is closed, or its runtime has ended.
    Closed,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::Infeasible { resource, wants, there } => {
                write!(
                    f,
                    "the job asks for {wants} of {resource}, and there are {there}: ask for less, or add capacity"
                )
            }
            Refused::NoResource(name) => write!(f, "the queue has no resource {name}: name it when the queue is made"),
            Refused::NoAmount(resource, given) => {
                write!(
                    f,
                    "{given} is no amount of {resource}: say a number from 0 to 10^12, and of memory bytes, or \"2 GB\""
                )
            }
            Refused::NoGroup(name) => write!(f, "the queue has no group {name}: name it when the queue is made"),
            Refused::Unknown(id) => write!(f, "there is no job {id} in this queue"),
            Refused::OtherQueue(id) => write!(f, "the handle is of job {id} of another queue: give it to that one"),
            Refused::Forgotten(id) => {
                write!(f, "job {id} has ended and is not in the history any more: keep its handle, or give it a name")
            }
            Refused::Priority(given) => write!(f, "priority {given} is not one of -9999 to 9999"),
            Refused::NotAlike(id) => write!(f, "job {id} is no array of the same length"),
            Refused::EmptyArray => write!(f, "an array needs at least one element, and one that may run at a time"),
            Refused::OnlyOnce => {
                write!(f, "the job can be called once only: make it by Job::again to have retries, or by Job::array")
            }
            Refused::InArray(id) => write!(f, "job {id} is an element that has not begun: do that to its array"),
            Refused::Circle(id, on) => {
                write!(f, "job {id} cannot wait for job {on}, which waits for job {id}: neither would begin")
            }
            Refused::Begun(id, state) => write!(f, "job {id} has begun, it is {state}"),
            Refused::NoProgram(id, state) => {
                write!(f, "job {id} has no processes, it is {state}: a job that has not begun can be held")
            }
            Refused::Time(why) => f.write_str(why),
            Refused::Closed => write!(f, "the queue is closed, or its runtime has ended"),
        }
    }
}

impl std::error::Error for Refused {}
