//! Jobs in the process: a queue that says when what runs, by priorities, resources, dependencies
//! and time.
//!
//! Programs use it as `myriad::jobs`, with the feature `jobs`. A [`Queue`] is made by [`Local`]; a
//! [`Job`] is a closure or a [command](Job::command), with what it asks for; a [`JobHandle`] gives
//! the result. `docs/JOBS.md` has the rules, and how to come from other queues.
//!
//! ```
//! use myriad::jobs::{Job, Local};
//!
//! let q = Local::new().cpus(4).start();
//! let prep = q.submit(Job::new(|| vec![3, 1, 2]).name("prep").priority(5))?;
//! let report = q.submit(Job::command(["echo", "sorted"]).after(&prep))?;
//! assert_eq!(prep.join()?.len(), 3);
//! assert_eq!(report.join()?.stdout, b"sorted\n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Inside, the scheduler is a state machine without threads and without a clock (`machine`): calls
//! and the time go in, decisions come out. The engine beside it (`local`) carries these out as
//! tasks. Tests run the machine in virtual time, against a plain model.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod command;
mod local;
mod machine;
mod schedule;
mod series;
mod share;

pub use command::{CommandOutput, CommandSpec};
pub use local::{Bytes, Edit, Event, Job, JobError, JobHandle, JobInfo, JobRef, Local, Progress, Queue};
pub use machine::{JobId, Refused, State, Waiting, When};
pub use schedule::{Missed, Overlap, Schedule};
pub use series::Series;
pub use share::cpus_per_job;
