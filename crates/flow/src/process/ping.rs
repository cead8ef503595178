//! What a process is found to do.

use std::sync::Arc;

/// What a process does.
///
/// Example: [`Running::process`](super::Running::process).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Activity<P = Arc<str>> {
    /// It has not begun.
    NotBegun,
    /// It waits for a message.
    Waiting,
    /// It is paused.
    Paused,
    /// It is in the step of this input. (Which is where it is stuck if it does not answer.)
    InStep(P),
    /// It makes the next message of a source.
    Producing,
    /// It makes its state, or is in the function for transitions.
    InTransition,
    /// It gives to this output, whose readers have no room.
    Giving(P),
    /// It has ended.
    Ended,
}

/// What is known of a process: see [`Running::ping`](super::Running::ping).
#[derive(Debug, Clone)]
pub struct Pong {
    /// Its name.
    pub process: Arc<str>,
    /// Has it answered within the limit? If not, it is in a step that lasts long, or its worker is
    /// busy; then the rest is an estimate, and there is neither state nor outputs.
    pub answered: bool,
    /// What it does.
    pub activity: Activity,
    /// Its state, as [`Process::show`](super::Process::show) says it.
    pub state: Option<String>,
    /// How many steps it has begun.
    pub steps: u64,
    /// How many panics there were.
    pub panics: u64,
    /// Its inputs.
    pub inputs: Vec<InputState>,
    /// Its outputs.
    pub outputs: Vec<OutputState>,
}

/// An input, and its channel.
///
/// Example: [`Network::start_paused`](super::Network::start_paused).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputState {
    /// Its name.
    pub name: Arc<str>,
    /// How many messages wait in its channel.
    pub waiting: usize,
    /// How many may.
    pub capacity: usize,
    /// No further message can come.
    pub is_closed: bool,
}

/// An output.
///
/// Example: [`Running::ping`](super::Running::ping).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputState {
    /// Its name.
    pub name: Arc<str>,
    /// How many messages were given, each counted once, to however many inputs it went.
    pub given: u64,
    /// How many the last step has left to give.
    pub in_hand: usize,
    /// How many inputs it is connected with that are still read.
    pub readers: usize,
}

/// What a process itself says.
pub(super) struct Answer {
    pub(super) activity: Activity<usize>,
    pub(super) state: Option<String>,
    pub(super) steps: u64,
    pub(super) panics: u64,
    pub(super) outputs: Vec<OutputState>,
}

impl Activity<usize> {
    /// In one word.
    #[inline]
    pub(super) fn to_bits(&self) -> u32 {
        let (kind, at) = match self {
            Activity::NotBegun => (0, 0),
            Activity::Waiting => (1, 0),
            Activity::Paused => (2, 0),
            Activity::InStep(at) => (3, *at),
            Activity::Producing => (4, 0),
            Activity::InTransition => (5, 0),
            Activity::Giving(at) => (6, *at),
            Activity::Ended => (7, 0),
        };
        // (Nobody has so many inputs; of the number of a name nothing else depends.)
        kind | (at as u32) << 3
    }

    pub(super) fn from_bits(bits: u32) -> Self {
        let at = (bits >> 3) as usize;
        match bits & 7 {
            0 => Activity::NotBegun,
            1 => Activity::Waiting,
            2 => Activity::Paused,
            3 => Activity::InStep(at),
            4 => Activity::Producing,
            5 => Activity::InTransition,
            6 => Activity::Giving(at),
            _ => Activity::Ended,
        }
    }

    /// With the names of inputs and outputs.
    pub(super) fn named(&self, inputs: &[Arc<str>], outputs: &[Arc<str>]) -> Activity {
        match *self {
            Activity::NotBegun => Activity::NotBegun,
            Activity::Waiting => Activity::Waiting,
            Activity::Paused => Activity::Paused,
            Activity::InStep(at) => Activity::InStep(inputs[at].clone()),
            Activity::Producing => Activity::Producing,
            Activity::InTransition => Activity::InTransition,
            Activity::Giving(at) => Activity::Giving(outputs[at].clone()),
            Activity::Ended => Activity::Ended,
        }
    }
}
