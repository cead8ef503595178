//! Systems outside of this process: programs in other languages, which are built when they are
//! asked for, where their compiler and library are installed.
//!
//! ```text
//! peers/*           the programs' sources, which are in this crate's package and in its library
//! outside/mod.rs    a program that runs, and answers
//! outside/built.rs  where what is built is kept
//! outside/cpp.rs, clojure.rs, beam.rs, go.rs   finding what a language needs, and building
//! ```
//!
//! A program builds all that is not timed, then reads its input. A line there asks for a run, which
//! it answers by a line: how many nanoseconds it took, how many of processor time, and the answer,
//! which is checked here. It ends where its input ends, so it does not outlive this process by more
//! than a run. A *server* is measured by a client instead: it serves from its begin, and answers a
//! line by how much its other tasks have done.
//!
//! What is not installed is a [`Failure::Cannot`] that says what to install: `doctor` says the same
//! without a run. A program that does not compile, or breaks off, is a fault.

pub(crate) mod beam;
mod built;
pub(crate) mod clojure;
pub(crate) mod cpp;
#[cfg(target_os = "linux")]
pub(crate) mod go;

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use crate::memory::Memory;
use crate::record::{Failure, Measured, Outcome};
use crate::sample;

/// The systems outside of this process, and for each that is missing what it lacks.
pub(crate) fn all() -> Vec<(&'static str, Result<(), String>)> {
    let found = |result: Result<(), Failure>| result.map_err(|failure| failure.to_string());
    vec![
        (cpp::TBB.name, found(cpp::find(&cpp::TBB).map(drop))),
        (cpp::TASKFLOW.name, found(cpp::find(&cpp::TASKFLOW).map(drop))),
        (beam::ERLANG.name, found(beam::find(&beam::ERLANG).map(drop))),
        (beam::ELIXIR.name, found(beam::find(&beam::ELIXIR).map(drop))),
        (clojure::CLOJURE.name, found(clojure::find(&clojure::CLOJURE).map(drop))),
        (clojure::CORE_ASYNC.name, found(clojure::find(&clojure::CORE_ASYNC).map(drop))),
        #[cfg(target_os = "linux")]
        (go::NAME, found(go::find().map(drop))),
    ]
}

/// A program that waits for lines on its input.
#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Program {
    /// Starts what `command` says.
    pub(crate) fn start(name: &'static str, mut command: Command) -> Result<Program, Failure> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| Failure::Wrong(format!("the program of {name}: {e}")))?;
        let (input, output) = (child.stdin.take(), child.stdout.take().expect("it is a pipe"));
        Ok(Program { name, child, input, output: BufReader::new(output) })
    }

    /// Gives it what it reads before it can run.
    pub(crate) fn give(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let input = self.input.as_mut().expect("it is taken at the end only");
        input.write_all(bytes).and_then(|()| input.flush()).map_err(|_| self.broken_off())
    }

    /// Measures runs of `ops` operations each, whose answer is `want`.
    pub(crate) fn measure(&mut self, ops: u64, want: u64) -> Outcome {
        let all = Cell::new(Duration::ZERO);
        let once = || {
            let [time, used, answer] = self.run()?;
            all.set(all.get() + Duration::from_nanos(used));
            Failure::check(answer, want)?;
            Ok(Duration::from_nanos(time))
        };
        sample::warm_by(ops, || Some(all.get()), once)
    }

    /// Measures one run, of which `tasks` tasks are left, and their memory.
    pub(crate) fn measure_memory(&mut self, tasks: u64, want: u64) -> Outcome {
        let process = Some(self.child.id());
        let before = Memory::of(process);
        let [time, used, answer] = self.run()?;
        let bytes_per_task = before.zip(Memory::of(process)).map(|(before, now)| now.growth_since(before, tasks));
        Failure::check(answer, want)?;
        let time = Duration::from_nanos(time);
        let measured = Measured { bytes_per_task, ..Measured::once(tasks, time) };
        Ok(measured.with_processors(Some(Duration::from_nanos(used)), time))
    }

    /// A run: the time, the processor time, the answer.
    fn run(&mut self) -> Result<[u64; 3], Failure> {
        self.answer(b"run\n")
    }

    /// Of a server: how much its other tasks have done so far.
    #[cfg(target_os = "linux")]
    pub(crate) fn count(&mut self) -> Result<u64, Failure> {
        let [count] = self.answer(b"count\n")?;
        Ok(count)
    }

    /// The number of its process.
    #[cfg(target_os = "linux")]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The numbers that it answers to a line.
    fn answer<const N: usize>(&mut self, line: &[u8]) -> Result<[u64; N], Failure> {
        self.give(line)?;
        let mut line = String::new();
        self.output.read_line(&mut line).map_err(|_| self.broken_off())?;
        let numbers: Result<Vec<u64>, _> = line.split_whitespace().map(str::parse).collect();
        numbers.ok().and_then(|numbers| numbers.try_into().ok()).ok_or_else(|| self.broken_off())
    }

    /// It has closed its pipes, or says what it should not.
    fn broken_off(&mut self) -> Failure {
        self.input = None;
        // (It may have ended already.)
        _ = self.child.kill();
        let mut said = String::new();
        if let Some(errors) = &mut self.child.stderr {
            _ = errors.read_to_string(&mut said);
        }
        Failure::Wrong(format!("the program of {} broke off: {}", self.name, first_line(&said)))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.input = None;
        _ = self.child.wait();
    }
}

/// The first line that says something.
fn first_line(text: &str) -> &str {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("without a word")
}

/// The file that a program of this name is, by `PATH`.
fn in_path(name: &str) -> Option<std::path::PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(&file)).find(|path| path.is_file())
}

#[cfg(all(test, unix))]
mod test {
    use super::*;

    fn shell(script: &str) -> Program {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Program::start("sh", command).expect("there is a shell")
    }

    #[test]
    fn its_times_are_taken_from_its_answers() {
        let measured = shell("while read line; do echo 7000 21000 42; done").measure(7, 42).expect("it answers");
        assert_eq!((measured.ops, measured.time), (7, Duration::from_micros(7)));
        assert!(measured.processors.is_some_and(|n| (n - 3.0).abs() < 1e-9), "{measured:?}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn its_memory_is_that_of_its_process() {
        let script = "read line; x=$(head -c 20000000 /dev/zero | tr '\\0' x); echo 7000 21000 42; read line";
        let measured = shell(script).measure_memory(10, 42).expect("it answers");
        assert_eq!((measured.ops, measured.time), (10, Duration::from_micros(7)));
        assert!(measured.bytes_per_task.is_some_and(|bytes| bytes >= 2_000_000.0), "{measured:?}");
    }

    #[test]
    fn a_wrong_answer_is_a_failed_run() {
        let failure = shell("while read line; do echo 1 1 41; done").measure(1, 42).expect_err("it is wrong");
        assert_eq!(failure.to_string(), "wrong answer: 41 instead of 42");
    }

    #[test]
    fn a_program_that_breaks_off_says_why() {
        for script in
            ["echo boom >&2; exit 3", "read line; echo boom >&2", "read line; echo boom >&2; echo 1 2; read line"]
        {
            let failure = shell(script).measure(1, 42).expect_err("it broke off");
            assert_eq!(failure.to_string(), "the program of sh broke off: boom", "{script}");
        }
    }
}
