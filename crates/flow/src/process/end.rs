//! How a run, and each process in it, has ended.

use crate::panic::Panic;
use std::fmt;
use std::sync::Arc;

/// How a run has ended: see [`Running::join`](super::Running::join).
#[derive(Debug)]
pub struct Finished {
    /// Its processes, in the order in which they were declared.
    pub processes: Vec<ProcessEnd>,
}

/// How a process has ended.
///
/// Example: [`Running::cancel`](super::Running::cancel).
#[derive(Debug, Clone)]
pub struct ProcessEnd {
    /// Its name.
    pub name: Arc<str>,
    /// Why.
    pub why: EndReason,
    /// How many steps it has begun.
    pub steps: u64,
    /// How many of its functions have panicked: each is in the [error
    /// channel](super::Running::errors), if that had room.
    pub panics: u64,
    /// How many messages it has given, each counted once, to however many inputs it went.
    pub given: u64,
    /// How many messages it had for outputs that nobody reads, or had still to give.
    pub undelivered: u64,
    /// How many messages waited at its inputs.
    pub unread: usize,
}

/// Why a process has ended.
///
/// Example: [`Running::cancel`](super::Running::cancel).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EndReason {
    /// All who could give to its inputs have ended, and it has read all; or its source has ended.
    InputsEnded,
    /// Nobody reads any of its outputs any more.
    NobodyReads,
    /// The run was [stopped](super::Running::stop).
    Stopped,
    /// The run was [cancelled](super::Running::cancel).
    Cancelled,
    /// A function of it has panicked, with this message.
    Panicked(String),
}

impl Finished {
    /// Have all processes ended because there was nothing more to do, and was no message without a
    /// reader, and no panic?
    pub fn is_complete(&self) -> bool {
        self.processes
            .iter()
            .all(|end| end.why == EndReason::InputsEnded && (end.panics, end.undelivered, end.unread) == (0, 0, 0))
    }

    /// That of the process with this name.
    pub fn process(&self, name: &str) -> Option<&ProcessEnd> {
        self.processes.iter().find(|end| &*end.name == name)
    }
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::InputsEnded => f.write_str("its inputs have ended"),
            EndReason::NobodyReads => f.write_str("nobody reads its outputs"),
            EndReason::Stopped => f.write_str("it was stopped"),
            EndReason::Cancelled => f.write_str("it was cancelled"),
            EndReason::Panicked(message) => write!(f, "it panicked: {message}"),
        }
    }
}

/// A function of a process has panicked: what the [error channel](super::Running::errors) brings.
#[derive(Debug)]
pub struct StepError {
    /// The process.
    pub process: Arc<str>,
    /// Which of its functions.
    pub during: During,
    /// The panic.
    pub panic: Panic,
    /// The state when that was over, as [`Process::show`](super::Process::show) says it.
    pub state: Option<String>,
    /// The message, if the input is [`input_kept`](super::Process::input_kept).
    pub message: Option<String>,
    /// What has become of the process.
    pub outcome: Outcome,
}

/// Which function of a process has panicked.
///
/// Example: [`Process::on_panic`](super::Process::on_panic).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum During {
    /// That which makes its state.
    Init,
    /// The step of this input, of its message with this number, from 1. What the step had given is
    /// dropped.
    Step {
        /// The input's name.
        input: Arc<str>,
        /// Which message.
        number: u64,
    },
    /// That of a source, when it was to make a message.
    Producing,
    /// That for transitions, at this one.
    Transition(super::Transition),
    /// A clone, or a destructor, of a message that was given; it is not given to those that have
    /// not had it.
    Giving,
    /// A destructor of its state, or of what it held.
    Release,
}

/// What becomes of a process when a function of it has panicked.
///
/// Example: [`Process::on_panic`](super::Process::on_panic).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It goes on, with the state that it had before.
    Restored,
    /// It goes on, with its state as the function has left it.
    Kept,
    /// It goes on, with a new state.
    Initialised,
    /// It has ended.
    Ended,
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the process '{}' panicked ", self.process)?;
        match &self.during {
            During::Init => f.write_str("when it made its state")?,
            During::Step { input, number } => write!(f, "at message {number} of '{input}'")?,
            During::Producing => f.write_str("when it was to make a message")?,
            During::Transition(transition) => write!(f, "at the transition {transition:?}")?,
            During::Giving => f.write_str("when a message was copied or dropped")?,
            During::Release => f.write_str("when what it held was dropped")?,
        }
        if let Some(message) = &self.message {
            write!(f, ", {message}")?;
        }
        write!(f, ": {}; ", self.panic.message())?;
        f.write_str(match self.outcome {
            Outcome::Restored => "it goes on with the state that it had",
            Outcome::Kept => "it goes on with its state as that is",
            Outcome::Initialised => "it goes on with a new state",
            Outcome::Ended => "it has ended",
        })
    }
}

impl std::error::Error for StepError {}

/// What a step has said by [`Outputs::report`](super::Outputs::report).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The process.
    pub process: Arc<str>,
    /// The text.
    pub text: String,
}
