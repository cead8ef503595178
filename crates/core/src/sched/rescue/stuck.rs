//! Who is told that a worker is stuck, and what. How: [`super::tell`].

use std::fmt;
use std::panic::Location;
use std::sync::Arc;
// Std's: a setting.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Who is told when a worker has been in one task for a long time: see
/// [`Builder::on_stuck`](crate::runtime::Builder::on_stuck).
///
/// Once for each time that it is stuck, from a thread that is no worker. A long computation is
/// nothing bad, so by default there is only a [hint](Self::Hint).
///
/// Each pool of a runtime has one thread at a time that tells, one report after the other, and what
/// it is told does may take its time: workers that are stuck get help meanwhile, also those that it
/// waits for itself. But reports that come meanwhile wait, up to 64 of them; more are lost, and the
/// next one [says how many](Stuck::lost).
///
/// The end of a runtime does not wait for a hook that is running, which may wait for whoever ends
/// the runtime. It is not called any more afterwards, and reports that wait are dropped.
///
/// # Examples
/// ```
/// use myriad::{Builder, OnStuck};
/// use std::time::Duration;
/// let rt = Builder::new().on_stuck(OnStuck::Report { after: Duration::from_secs(1) }).build().unwrap();
/// ```
#[derive(Clone, Default)]
#[non_exhaustive]
pub enum OnStuck {
    /// In debug builds a line on the standard error once a task has kept its worker for 5 s, once
    /// for each place where such tasks are spawned, with what to do about that. Not while a
    /// debugger traces the process, nor where [`Unhandled`](crate::Unhandled) is not `Report`. In
    /// other builds nobody is told.
    #[default]
    Hint,
    /// Nobody.
    Ignore,
    /// A line on the standard error.
    Report {
        /// How long it must have been stuck; in steps of some 10 ms.
        after: Duration,
    },
    /// Calls this function.
    Hook {
        /// As above.
        after: Duration,
        /// A panic in it stops there.
        hook: Arc<dyn Fn(&Stuck) + Send + Sync>,
    },
}

/// When there is a hint, in milliseconds.
static HINT_AFTER: AtomicU64 = AtomicU64::new(5_000);

/// For tests: from now on there is a hint after so long.
pub fn hint_after(millis: u64) {
    HINT_AFTER.store(millis, Relaxed);
}

impl fmt::Debug for OnStuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OnStuck::Hint => f.write_str("Hint"),
            OnStuck::Ignore => f.write_str("Ignore"),
            OnStuck::Report { after } => write!(f, "Report({after:?})"),
            OnStuck::Hook { after, .. } => write!(f, "Hook({after:?}, ..)"),
        }
    }
}

impl OnStuck {
    /// As `MYRIAD_STUCK_MS` says.
    pub(crate) fn from_environment() -> OnStuck {
        let after = std::env::var("MYRIAD_STUCK_MS").ok().and_then(|ms| ms.trim().parse().ok());
        after.map_or(OnStuck::Hint, |ms| OnStuck::Report { after: Duration::from_millis(ms) })
    }

    /// When somebody is told.
    pub(super) fn after(&self) -> Option<Duration> {
        match self {
            OnStuck::Ignore => None,
            OnStuck::Hint => Some(Duration::from_millis(HINT_AFTER.load(Relaxed))),
            OnStuck::Report { after } | OnStuck::Hook { after, .. } => Some(*after),
        }
    }
}

/// A worker that has been in one task for a long time.
///
/// # Examples
/// ```
/// use myriad::{Builder, OnStuck, Stuck};
/// use std::sync::{Arc, mpsc::channel};
/// use std::time::Duration;
/// let (tx, reports) = channel();
/// let hook = Arc::new(move |stuck: &Stuck| _ = tx.send((stuck.name().map(str::to_owned), stuck.duration())));
/// let after = Duration::from_millis(20);
/// let rt = Builder::new().workers(1).on_stuck(OnStuck::Hook { after, hook }).build()?;
/// let (done, wait) = channel::<()>();
/// let busy = rt.run(|| myriad::task::Builder::new().name("busy").spawn(move || wait.recv())); // std's
/// let (name, duration) = reports.recv().unwrap();
/// assert!(name.as_deref() == Some("busy") && duration >= after);
/// drop(done);
/// _ = busy.join();
/// # std::io::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct Stuck {
    pub(super) runtime: String,
    pub(super) worker: usize,
    pub(super) name: Option<String>,
    pub(super) location: &'static Location<'static>,
    pub(super) duration: Duration,
    pub(super) blocked: Option<bool>,
    pub(super) lost: usize,
}

impl Stuck {
    /// The number of the worker, from 0; a spare one has a number above the others'.
    pub fn worker(&self) -> usize {
        self.worker
    }
    /// The name of the task, if it has one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
    /// Where the task was spawned. A task that runs on top of another, which joins it, is meant,
    /// not the other.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.location
    }
    /// For how long at least.
    pub fn duration(&self) -> Duration {
        self.duration
    }
    /// Does its thread wait in the system, in a lock or a call that knows nothing of tasks (true),
    /// or compute (false)? `None` where the system does not say.
    pub fn is_blocked(&self) -> Option<bool> {
        self.blocked
    }
    /// How many reports of this pool were lost since the last one that was told, because too many
    /// waited for the hook.
    pub fn lost(&self) -> usize {
        self.lost
    }
}

impl fmt::Display for Stuck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker {} of '{}' has been stuck for {:?} ", self.worker, self.runtime, self.duration)?;
        match &self.name {
            Some(name) => write!(f, "in task '{name}' spawned at {}", self.location)?,
            None => write!(f, "in the task spawned at {}", self.location)?,
        }
        f.write_str(match self.blocked {
            Some(true) => ": it waits in the system (a foreign lock, a system call)",
            Some(false) => ": it computes",
            None => "",
        })?;
        match self.lost {
            0 => Ok(()),
            lost => write!(f, "; {lost} reports before this one were lost"),
        }
    }
}
