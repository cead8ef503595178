//! The queue of a process: how it is made.

mod array;
mod cell;
mod chart;
mod closure;
mod counted;
mod edit;
mod error;
mod event;
mod handle;
mod job;
mod json;
mod outside;
mod progress;
mod queue;
mod run;
mod seats;
mod shared;
mod submit;
mod timer;
mod view;
mod wakers;

pub(crate) use cell::{Body, Call, Cell, Slot};
pub(crate) use counted::Counted;
pub use edit::Edit;
pub use error::JobError;
pub use event::Event;
pub use handle::JobHandle;
pub use job::{Bytes, Job, JobRef};
pub(crate) use job::{body_of_one, outcome};
pub use progress::Progress;
pub use queue::Queue;
pub use view::JobInfo;
pub(crate) use wakers::Wakers;

use crate::machine::{Rules, WHOLE};
use event::{Listener, Listeners};
use job::{clock, nanos, units_of_queue};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The settings of a [`Queue`].
///
/// Its jobs are tasks of the pool in which [`start`](Self::start) is called; on a foreign thread,
/// of the global runtime.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, Local};
/// let q = Local::new().cpus(8).memory("16 GB").resource("gpu", 2).group("net", 4).start();
/// let prep = q.submit(Job::new(|| 20).cpus(2).name("prep"))?;
/// let runs = (0..10).map(|i| Job::new(move || i * i).after(&prep));
/// let runs = q.submit_all(runs)?;
/// let mut sum = prep.join()?;
/// for run in runs {
///     sum += run.join()?;
/// }
/// assert_eq!(sum, 305);
///
/// // What else can be said.
/// use std::time::Duration;
/// let q = Local::new()
///     .at_once(100)
///     .ageing(Duration::from_secs(60))
///     .grace(Duration::from_secs(10))
///     .history(1_000, Duration::from_secs(3600))
///     .keep_unnamed()
///     .on_event(|event| println!("{event:?}"))
///     .start();
/// q.submit(Job::new(|| ()))?.join()?;
/// assert_eq!(q.jobs().len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Local {
    rules: Rules,
    cpus: u64,
    memory: u64,
    resources: Vec<(Arc<str>, u64)>,
    groups: Vec<(Arc<str>, u64)>,
    listeners: Vec<Listener>,
}

impl Local {
    /// As many processors as the pool has workers (on a foreign thread: as the machine has), and
    /// the machine's memory.
    pub fn new() -> Local {
        Local {
            rules: Rules { grace: nanos(Duration::from_secs(5)), clock, ..Rules::default() },
            cpus: WHOLE * workers() as u64,
            memory: machine_memory(),
            resources: Vec::new(),
            groups: Vec::new(),
            listeners: Vec::new(),
        }
    }
    /// So many processors.
    ///
    /// # Panics
    /// That is no number from 0 on.
    #[track_caller]
    pub fn cpus(mut self, cpus: impl Into<f64>) -> Local {
        self.cpus = units_of_queue("processors", cpus.into());
        self
    }
    /// So much memory: bytes, or a text as "16 GB".
    ///
    /// # Panics
    /// The text is no amount.
    pub fn memory(mut self, memory: impl Into<Bytes>) -> Local {
        self.memory = memory.into().0.unwrap_or_else(|text| panic!("\"{text}\" is no amount of memory: say \"16 GB\""));
        self
    }
    /// So much of a resource that jobs can ask for by this name. What is said last of a name
    /// counts.
    ///
    /// # Panics
    /// That is no number from 0 on. The name is `cpu` or `memory`, which have methods of their own.
    #[track_caller]
    pub fn resource(mut self, name: impl Into<Arc<str>>, amount: impl Into<f64>) -> Local {
        let name = name.into();
        assert!(!matches!(&*name, "cpu" | "memory"), "processors and memory are said by Local::cpus and Local::memory");
        let units = units_of_queue(&name, amount.into());
        self.resources.retain(|resource| resource.0 != name);
        self.resources.push((name, units));
        self
    }
    /// A group of which so many jobs run at a time at most. While several groups have jobs of equal
    /// priority waiting, that one is first of which fewer run. What is said last of a name counts.
    ///
    /// # Panics
    /// The name is empty, or no job may run: those of the group would wait for ever.
    #[track_caller]
    pub fn group(mut self, name: impl Into<Arc<str>>, limit: usize) -> Local {
        let name = name.into();
        assert!(!name.is_empty() && limit > 0, "a group has a name, and a limit of at least 1: '{name}' has {limit}");
        self.groups.retain(|group| group.0 != name);
        self.groups.push((name, limit as u64));
        self
    }
    /// So many jobs run at a time at most, in all.
    ///
    /// # Panics
    /// That is 0: all jobs would wait for ever.
    #[track_caller]
    pub fn at_once(mut self, most: usize) -> Local {
        assert!(most > 0, "at least one job may run at a time, or all would wait for ever");
        self.rules.at_once = most as u64;
        self
    }
    /// The priority of a job that could start grows by one for each such time that it waits. So
    /// every job starts some day: one of priority `p` no later than one of priority `q` that became
    /// ready `q - p` such times after it. Without this, lower priorities may wait for ever. (A step
    /// of more than five days counts as five days.)
    pub fn ageing(mut self, step: Duration) -> Local {
        // (So that the priorities of all jobs, in such steps, are numbers that a machine has.)
        const MOST: u64 = i64::MAX as u64 / 20_000;
        self.rules.ageing = Some(nanos(step).clamp(1, MOST));
        self
    }
    /// How long a job may take to stop after its wall time, before it counts as overdue: 5 s if
    /// nothing is said.
    pub fn grace(mut self, time: Duration) -> Local {
        self.rules.grace = nanos(time);
        self
    }
    /// How many jobs of each final state the history keeps at most (10,000 if nothing is said), and
    /// for how long. A job without a name that is done is not kept.
    pub fn history(mut self, jobs: usize, time: Duration) -> Local {
        self.rules.kept = jobs;
        self.rules.kept_for = nanos(time);
        self
    }
    /// Also jobs without a name that are done are in the history.
    pub fn keep_unnamed(mut self) -> Local {
        self.rules.unnamed = true;
        self
    }
    /// Calls `f` for all that happens to jobs, on whatever thread that happens: of a start in the
    /// job's own task, before the job. It may do whatever a task may do, also wait for other jobs;
    /// but it holds that task up, so send the event on. What comes of its own calls is told when it
    /// has returned. Its panic is reported, and is none of the job's.
    pub fn on_event(mut self, f: impl Fn(&Event) + Send + Sync + 'static) -> Local {
        self.listeners.push(Arc::new(f));
        self
    }
    /// Starts the queue. Nothing runs, and nothing is used, while it has no jobs.
    pub fn start(self) -> Queue {
        let mut resources = vec![("cpu".into(), self.cpus), ("memory".into(), self.memory)];
        resources.extend(self.resources);
        Queue::start(self.rules, &resources, &self.groups, Listeners::new(self.listeners))
    }
}

impl Default for Local {
    fn default() -> Local {
        Local::new()
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("rules", &self.rules).field("groups", &self.groups).finish_non_exhaustive()
    }
}

/// The workers of the caller's pool; those that a runtime has if nothing is said.
fn workers() -> usize {
    if myriad_core::task::current().is_some() {
        return myriad_core::engine::split::workers();
    }
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The machine's memory, in bytes; without limit if the system does not say.
fn machine_memory() -> u64 {
    // SAFETY: `sysconf` reads a number, and has no other effect.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    if pages > 0 && size > 0 { pages as u64 * size as u64 } else { u64::MAX }
}
