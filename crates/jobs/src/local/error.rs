//! Why there is no result.

use crate::machine::JobId;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// Why a job has no result. Each message is one line, and begins with the job's number.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, JobError, Local};
/// let q = Local::new().start();
/// let fails = q.submit(Job::fallible(|| Err::<(), _>("no disk")))?;
/// let after = q.submit(Job::new(|| ()).after(&fails))?;
/// let (first, why) = (fails.id(), fails.join().unwrap_err());
/// assert_eq!(why.to_string(), format!("job {first} failed: no disk"));
/// assert!(matches!(after.join(), Err(JobError::Skipped(_, because)) if because == first));
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum JobError {
    /// The last attempt failed, with this panic or error; of a command, with this verdict.
    Failed(JobId, Arc<str>),
    /// The wall time was over. The text says more, if the job had something to say.
    TimedOut(JobId, Option<Arc<str>>),
    /// The job was cancelled.
    Cancelled(JobId),
    /// The job never ran, because of how the second one ended.
    Skipped(JobId, JobId),
    /// The runtime of the queue has ended first: the job never began, or was still blocked, and
    /// never goes on. Its [state](crate::State) is that of a job that was cancelled.
    RuntimeEnded(JobId),
    /// The result was taken before.
    Lost(JobId),
}

/// Its lines as one.
pub(super) fn one_line(text: &str) -> Cow<'_, str> {
    match text.contains(['\n', '\r']) {
        true => text.lines().map(str::trim).collect::<Vec<_>>().join(" ").into(),
        false => text.into(),
    }
}

impl JobError {
    /// The job.
    pub fn id(&self) -> JobId {
        match self {
            JobError::Failed(id, _) | JobError::TimedOut(id, _) | JobError::Cancelled(id) => *id,
            JobError::Skipped(id, _) | JobError::RuntimeEnded(id) | JobError::Lost(id) => *id,
        }
    }
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobError::Failed(id, why) => write!(f, "job {id} failed: {}", one_line(why)),
            JobError::TimedOut(id, None) => write!(f, "job {id} was stopped: its wall time was over"),
            JobError::TimedOut(id, Some(why)) => {
                write!(f, "job {id} was stopped: its wall time was over ({})", one_line(why))
            }
            JobError::Cancelled(id) => write!(f, "job {id} was cancelled"),
            JobError::Skipped(id, by) => write!(f, "job {id} was skipped because of job {by}"),
            JobError::RuntimeEnded(id) => write!(f, "job {id} has no result: its runtime has ended"),
            JobError::Lost(id) => write!(f, "the result of job {id} was taken before"),
        }
    }
}

impl std::error::Error for JobError {}
