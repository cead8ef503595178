//! Jobs that run a program.
//!
//! The program is the leader of a process group of its own, so a signal reaches all that it starts
//! and that stays in the group. Its output comes through pipes. Nothing waits for a grandchild that
//! keeps them open: the end of a job is the end of the program; of one that is told to stop, it is
//! the end of its group. One thread of the pool for blocking calls watches each program: it waits
//! for the end of the process (a pidfd where the system has one) and for what is written, and looks
//! at the other limits every tenth of a second, and more often at first.
//!
//! ```text
//! capture.rs  what is kept of its output
//! drain.rs    those who still write when their job is over
//! limits.rs   what a program may take: limits of the system, and those that are looked at
//! output.rs   where its output goes
//! pipe.rs     pipes, by system calls
//! process.rs  signals, the end, what processes use
//! wall.rs     a wall for memory, where the system lets us build one
//! watch.rs    from the start of a program to its end
//! ```
//!
//! **The interface.** Jobs know of programs what `watch::run` takes and returns: a command with its
//! rules goes in, an output with a verdict comes out, and the signals of `Processes` reach it
//! meanwhile. Who lets a reactor wait for the ends of processes writes these two anew.
//!
//! **Rejected.** The crate process-wrap: std's `Command` makes process groups itself. process-wrap
//! takes the process's status without its resource usage, which is where the peak of memory and the
//! processor time come from. Limits of the system for memory: there is one for the address space
//! only, which many programs reserve and do not use; so it is one that is asked for by its name,
//! and memory is looked at.

mod capture;
mod drain;
mod limits;
mod output;
mod pipe;
mod process;
mod wall;
mod watch;

use crate::local::{Body, Call, Cell, Counted, Job, JobHandle, Slot, Wakers, body_of_one, outcome};
use crate::machine::{JobId, MEMORY, Outcome, Report, Request, State};
use limits::Limits;
use myriad_base::sys::mutex::Mutex;
use myriad_core::cancel;
use myriad_core::engine::user_code;
use output::Target;
use process::Processes;
use std::ffi::OsStr;
use std::path::PathBuf;
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
    /// The most memory that was seen, in bytes: of its processes together if the job asks for
    /// memory, else of one of them. 0: it ended before anybody looked.
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
/// let q = Local::new().start();
/// let done = q.submit(Job::command(sort))?.join()?;
/// assert!(done.stdout.is_empty());
///
/// // Limits, and a file for the output.
/// let log = std::env::temp_dir().join("sort.log");
/// let sort = CommandSpec::from(["echo", "sorted"])
///     .cpu_time(Duration::from_secs(60))
///     .file_size(1 << 20)
///     .address_space(1 << 32)
///     .stdout_file(&log)
///     .stderr_file(&log)
///     .append();
/// q.submit(Job::command(sort).memory("1 MB"))?.join()?;
/// assert!(std::fs::read_to_string(&log)?.ends_with("sorted\n"));
/// # std::fs::remove_file(log)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CommandSpec {
    command: Command,
    grace: Duration,
    limits: Limits,
    outputs: Outputs,
    /// It is a command of the program's, which may have code of its own for the child.
    has_hooks: bool,
}

/// Where the outputs of a program go.
#[derive(Debug, Default)]
struct Outputs {
    out: Target,
    err: Target,
    append: bool,
}

impl CommandSpec {
    /// From std's command, whose standard input, output and error are replaced.
    pub fn new(command: Command) -> CommandSpec {
        let limits = Limits { output: 16 << 20, ..Limits::default() };
        CommandSpec { command, grace: Duration::from_secs(5), limits, outputs: Outputs::default(), has_hooks: true }
    }
    /// How long the program and its whole process group may take to end after they were told to
    /// (`SIGTERM`), before what is left of them is killed (`SIGKILL`): 5 s if nothing is said. The
    /// job goes on until then, and has not ended well whatever the program says.
    pub fn grace(mut self, time: Duration) -> CommandSpec {
        self.grace = time;
        self
    }
    /// How many bytes it may write to its output and error each: 16 MB if nothing is said. A
    /// program that writes more is killed. Of more than 64 MB the beginning is kept in the folder
    /// for temporary files. (What goes to files of its own does not count:
    /// [`file_size`](Self::file_size).)
    pub fn output_limit(mut self, bytes: u64) -> CommandSpec {
        self.limits.output = bytes;
        self
    }
    /// The processor time that all its processes together may take. They are killed if they take
    /// more, and the failure says so. (Each process has whole seconds of that as a limit of the
    /// system, so it ends also if nobody looks. More than 584 years are no limit.)
    pub fn cpu_time(mut self, time: Duration) -> CommandSpec {
        self.limits.cpu = Some(time);
        self
    }
    /// How long each file may become that it writes, in bytes: a limit of the system. (What is kept
    /// of its output is no file.) A program that goes on is killed, and the failure says so; one
    /// that ignores the signal sees an error.
    pub fn file_size(mut self, bytes: u64) -> CommandSpec {
        self.limits.file = bytes;
        self
    }
    /// How much address space each of its processes may have, in bytes: a limit of the system. A
    /// program sees this as a lack of memory. Many reserve much more than they use; what a job may
    /// *use* is said by [`Job::memory`].
    pub fn address_space(mut self, bytes: u64) -> CommandSpec {
        self.limits.address_space = bytes;
        self
    }
    /// Its standard output goes to this file, and not to the result. The file is made, and emptied,
    /// when the program starts.
    pub fn stdout_file(mut self, path: impl Into<PathBuf>) -> CommandSpec {
        self.outputs.out = Target::File(path.into());
        self
    }
    /// Its standard error goes to this file, which may be that of its output.
    pub fn stderr_file(mut self, path: impl Into<PathBuf>) -> CommandSpec {
        self.outputs.err = Target::File(path.into());
        self
    }
    /// Its files are not emptied when it starts: what it writes comes after what is there.
    pub fn append(mut self) -> CommandSpec {
        self.outputs.append = true;
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
        CommandSpec { has_hooks: false, ..CommandSpec::new(command) }
    }
}

impl Job<CommandOutput> {
    /// A job that runs a program, without a shell: its name and arguments, or std's `Command`. It
    /// is done if the program ends with 0, and was not told to stop. A job that asks for memory is
    /// killed when the processes of its group have more than that together, and its failure names
    /// the limit.
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
        let mut spec = command.into();
        spec.limits.set(&mut spec.command);
        Job::from_body(Program::new(spec), true)
    }
}

struct Program {
    has_hooks: bool,
    /// Taken out while it runs.
    spec: Mutex<Option<CommandSpec>>,
    /// The limit of memory, or 0.
    memory: Mutex<u64>,
    kept: Mutex<Option<Request>>,
    /// Its processes, while it runs.
    group: Processes,
    /// What it wrote, if it did not end well.
    remains: Mutex<Option<CommandOutput>>,
    cell: Cell<CommandOutput>,
}

impl Program {
    fn new(spec: CommandSpec) -> Program {
        Program {
            has_hooks: spec.has_hooks,
            spec: Mutex::new(Some(spec)),
            memory: Mutex::new(0),
            kept: Mutex::new(None),
            group: Processes::default(),
            remains: Mutex::new(None),
            cell: Cell::new(),
        }
    }
}

impl Body for Program {
    body_of_one!();
    fn keep(&self, request: &Request) {
        *self.kept.lock() = Some(request.clone());
    }
    fn change_kept(&self, change: &dyn Fn(&mut Request)) {
        self.kept.lock().as_mut().into_iter().for_each(change);
    }
    fn blocks(&self) -> bool {
        true
    }
    fn has_drop(&self) -> bool {
        self.has_hooks
    }
    fn pause(&self, pause: bool) -> bool {
        self.group.signal(if pause { libc::SIGSTOP } else { libc::SIGCONT })
    }
    fn limit(&self, demand: &crate::machine::Demand) {
        *self.memory.lock() = demand.of(MEMORY);
    }
    fn run(&self, _: Call) -> (Outcome, Option<Box<Report>>) {
        let Some(mut spec) = self.spec.lock().take() else {
            self.cell.leave_with(Err(None));
            return (Outcome::Stopped, None);
        };
        let memory = *self.memory.lock();
        let CommandSpec { command, grace, limits, outputs, .. } = &mut spec;
        // The watcher looks itself at whether the task is cancelled: a cancellation that unwound
        // it would leave the program behind.
        let rules = watch::Watched {
            limits: Limits { memory, ..*limits },
            outputs,
            grace: *grace,
            group: &self.group,
            is_cancelled: &cancel::is_cancelled,
        };
        let (how, ended) = outcome(user_code::body(|| Ok(watch::run(command, &rules))));
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
        let (result, remains) = match outcome {
            Outcome::Done => (Ok(output), None),
            _ => (Err(verdict), Some(output)),
        };
        *self.remains.lock() = remains;
        self.cell.leave_with(result);
        (outcome, Some(Box::new(report)))
    }
}
impl Slot<CommandOutput> for Program {
    fn cell(&self) -> &Cell<CommandOutput> {
        &self.cell
    }
    fn renew(&self) -> Option<(Counted<dyn Slot<CommandOutput>>, Request)> {
        let spec = self.spec.lock().take()?;
        Some((Counted::new(Program::new(spec)), self.kept.lock().clone()?))
    }
    fn remains(&self) -> Option<CommandOutput> {
        self.remains.lock().clone()
    }
}

impl JobHandle<CommandOutput> {
    /// What the program wrote, and what it took, if it did not end well: of its last attempt that
    /// has ended. `None` if it ended well, or never started. Never blocks.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local, State};
    /// let q = Local::new().start();
    /// let half = q.submit(Job::command(["sh", "-c", "echo half of it; echo why >&2; exit 3"]))?;
    /// assert_eq!(half.wait(), State::Failed);
    /// assert_eq!(half.failed_output().unwrap().stdout, b"half of it\n");
    /// assert!(half.join().unwrap_err().to_string().ends_with("exit code 3: why"));
    /// # Ok::<(), myriad::jobs::Refused>(())
    /// ```
    pub fn failed_output(&self) -> Option<CommandOutput> {
        self.slot.remains()
    }
}
