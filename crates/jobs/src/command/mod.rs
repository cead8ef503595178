//! Jobs that run a program.
//!
//! The program is the leader of a process group of its own, so a signal reaches all that it starts
//! and that stays in the group. Its output goes to files without names, and not through pipes: so
//! no thread reads, nothing waits for a grandchild that keeps the output open, and the end of a job
//! is the end of the program. One thread of the pool for blocking calls watches each program: it
//! waits for the end of the process (a pidfd where the system has one), and looks at the limits
//! every tenth of a second.
//!
//! **Rejected.** The crate process-wrap: std's `Command` makes process groups itself. process-wrap
//! takes the process's status without its resource usage, which is where the peak of memory and the
//! processor time come from.

mod watch;

use crate::local::{Body, Call, Cell, Job, Run, Slot, body_of_one, outcome};
use crate::machine::{JobId, MEMORY, Outcome, Report, State};
use myriad_base::sys::mutex::Mutex;
use myriad_core::blocking;
use myriad_core::cancel;
use myriad_core::engine::running::{ToTell, UnderWay};
use myriad_core::engine::user_code::{self, StoredWaker};
use std::ffi::OsStr;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// What a program has left: the result of a [job from a command](Job::command).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandOutput {
    /// What it wrote to its standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// What it wrote to its standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// The most memory that one of its processes had, in bytes.
    pub peak_memory: u64,
    /// The processor time that it took.
    pub cpu_time: Duration,
}

/// A program to run: what [`Job::command`] is made from, with settings of its own.
///
/// # Examples
/// ```
/// use myriad::jobs::{CommandSpec, Job, Local};
/// use std::{process::Command, time::Duration};
/// let mut sort = Command::new("sort");
/// sort.arg("/dev/null");
/// let sort = CommandSpec::new(sort).grace(Duration::from_secs(1)).output_limit(1 << 20);
/// let done = Local::new().start().submit(Job::command(sort))?.join()?;
/// assert!(done.stdout.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CommandSpec {
    command: Command,
    grace: Duration,
    output: u64,
}

impl CommandSpec {
    /// From std's command, whose standard input, output and error are replaced.
    pub fn new(command: Command) -> CommandSpec {
        CommandSpec { command, grace: Duration::from_secs(5), output: 16 << 20 }
    }
    /// How long the program may take to end after it was told to (`SIGTERM`), before it is killed
    /// (`SIGKILL`), with its whole process group: 5 s if nothing is said.
    pub fn grace(mut self, time: Duration) -> CommandSpec {
        self.grace = time;
        self
    }
    /// How many bytes it may write to its output and error each: 16 MB if nothing is said. A
    /// program that writes more is killed.
    pub fn output_limit(mut self, bytes: u64) -> CommandSpec {
        self.output = bytes;
        self
    }
}

impl From<Command> for CommandSpec {
    fn from(command: Command) -> CommandSpec {
        CommandSpec::new(command)
    }
}
impl<S: AsRef<OsStr>, const N: usize> From<[S; N]> for CommandSpec {
    fn from(words: [S; N]) -> CommandSpec {
        let mut words = words.iter();
        let mut command = Command::new(words.next().map_or(OsStr::new(""), AsRef::as_ref));
        command.args(words);
        CommandSpec::new(command)
    }
}

impl Job<CommandOutput> {
    /// A job that runs a program, without a shell: its name and arguments, or std's `Command`. It
    /// is done if the program ends with 0. A job that asks for memory is killed when the processes
    /// of its group have more than that together, and its failure names the limit.
    ///
    /// It can be called again, so it may have [retries](Job::retries).
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().start();
    /// let hello = q.submit(Job::command(["echo", "hello"]).name("hello"))?;
    /// assert_eq!(hello.join()?.stdout, b"hello\n");
    /// let bad = q.submit(Job::command(["sh", "-c", "echo no >&2; exit 3"]))?;
    /// assert_eq!(bad.join().unwrap_err().to_string(), "job 2 failed: exit code 3: no");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn command(command: impl Into<CommandSpec>) -> Job<CommandOutput> {
        let spec = command.into();
        let body = Program { spec: Mutex::new(Some(spec)), memory: Mutex::new(0), cell: Cell::new() };
        Job::from_body(body, true)
    }
}

struct Program {
    /// Taken out while it runs.
    spec: Mutex<Option<CommandSpec>>,
    /// The limit of memory, or 0.
    memory: Mutex<u64>,
    cell: Cell<CommandOutput>,
}

impl Body for Program {
    body_of_one!();
    fn limit(&self, demand: &crate::machine::Demand) {
        *self.memory.lock() = demand.of(MEMORY);
    }
    fn run(&self, _: Call) -> (Outcome, Option<Report>) {
        let Some(mut spec) = self.spec.lock().take() else {
            self.cell.leave_with(Err(None));
            return (Outcome::Stopped, None);
        };
        let memory = *self.memory.lock();
        // The watcher looks itself at whether the task is cancelled: a cancellation that unwound
        // it would leave the program behind.
        let limits = watch::Limits { memory, output: spec.output, grace: spec.grace };
        let is_cancelled = || cancel::is_cancelled();
        // (It unwinds if the task is cancelled before there is a thread for it.)
        let (how, ended) =
            outcome(user_code::body(|| Ok(blocking(|| watch::run(&mut spec.command, &limits, &is_cancelled)))));
        *self.spec.lock() = Some(spec);
        let watch::Ended { output, outcome, verdict } = match ended {
            Ok(ended) => ended,
            Err(reason) => {
                self.cell.leave_with(Err(reason));
                return (how, None);
            }
        };
        let verdict: Option<Arc<str>> = verdict.map(Arc::from);
        let report = Report {
            text: verdict.clone(),
            peak_memory: output.peak_memory,
            cpu_time: output.cpu_time.as_nanos() as u64,
        };
        self.cell.leave_with(if outcome == Outcome::Done { Ok(output) } else { Err(verdict) });
        (outcome, Some(report))
    }
}
impl Slot<CommandOutput> for Program {
    fn cell(&self) -> &Cell<CommandOutput> {
        &self.cell
    }
}
