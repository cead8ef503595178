//! What is said about a process and its inputs, and what it is told.

use myriad_sync::channel::{Receiver, Sender, bounded, bounded_drop_newest, bounded_drop_oldest};

/// The channel in front of an input.
///
/// Example: [`NetworkBuilder::buffer`](super::NetworkBuilder::buffer).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Buffer {
    /// Has room for so many messages (at least one); who gives to a full one waits.
    Bounded(usize),
    /// The same; in a full one the oldest message makes room for the new one.
    DropOldest(usize),
    /// The same; a message that finds no room is dropped.
    DropNewest(usize),
}

impl Default for Buffer {
    /// For ten messages, as in core.async.
    fn default() -> Self {
        Buffer::Bounded(10)
    }
}

impl Buffer {
    pub(super) fn channel<T>(self) -> (Sender<T>, Receiver<T>) {
        match self {
            Buffer::Bounded(room) => bounded(room.max(1)),
            Buffer::DropOldest(room) => bounded_drop_oldest(room.max(1)),
            Buffer::DropNewest(room) => bounded_drop_newest(room.max(1)),
        }
    }
}

/// What kind of work the steps of a process are.
///
/// Example: [`Process::workload`](super::Process::workload).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workload {
    /// Short, or waiting for what Myriad has: they run in the task of the process.
    #[default]
    Mixed,
    /// They wait in the system, or for a foreign lock: each runs as
    /// [`blocking`](myriad_core::blocking) does, which costs some microseconds.
    Io,
    /// They compute for long: each runs as [`compute`](myriad_core::compute) does, which costs some
    /// ten microseconds.
    Compute,
}

/// What happens to a process, beside messages.
///
/// Example: [`Process::on_transition`](super::Process::on_transition).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Transition {
    /// It begins, with a new state; perhaps paused.
    Start,
    /// It is paused.
    Pause,
    /// It goes on.
    Resume,
    /// All its inputs have ended, or its source: what it gives now is its last.
    InputsEnded,
    /// It ends, for whatever reason: this is the last call. What it gives now is dropped.
    Stop,
}

/// What becomes of a process whose step or transition has panicked.
///
/// Example: [`Process::on_panic`](super::Process::on_panic).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnPanic {
    /// It ends, and what gives to it, or reads from it, sees that.
    #[default]
    End,
    /// It goes on, with a new state.
    Init,
    /// It goes on, with its state as the panic has left it.
    Keep,
}
