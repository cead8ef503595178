//! What a wait is for: each wait carries its reason, which reports and dumps tell; and where the
//! address of what is waited for stands beside it.

use super::parked::{BEHIND_NODE, BEHIND_WAIT};
use crate::record::position;
use std::fmt;

/// What a blocked task waits for: see [`Unfinished`](crate::Unfinished).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum WaitReason {
    /// None of the others.
    Other,
    /// Its turn: it has yielded.
    Yield,
    /// The end of a task.
    Join,
    /// The end of all tasks of a scope.
    Scope,
    /// A future, which it polls.
    Future,
    /// A time.
    Sleep,
    /// The result of `blocking` or `compute`.
    Blocking,
    /// A place for a gang.
    Gang,
    /// A message of a channel.
    Recv,
    /// Room in a channel.
    Send,
    /// One of the arms of a select.
    Select,
    /// News of a promise, a watch or a broadcast.
    News,
    /// A mutex or a re-entrant lock.
    Lock,
    /// A read-write lock, to read.
    ReadLock,
    /// A read-write lock, to write.
    WriteLock,
    /// Permits of a semaphore.
    Permits,
    /// A notification of a condition.
    Condition,
    /// An event.
    Event,
    /// The others at a barrier.
    Barrier,
    /// A count that becomes zero.
    Countdown,
    /// The initialisation of a `Once`.
    Once,
    /// Input: bytes, a datagram, a connection.
    Input,
    /// Room for output; or the end of a connect.
    Output,
    /// The end of a node of a dataflow (`flow::spawn`).
    Node,
}

/// All of them, by their numbers.
const ALL: [WaitReason; 24] = {
    use WaitReason::*;
    [
        Other, Yield, Join, Scope, Future, Sleep, Blocking, Gang, Recv, Send, Select, News, Lock, ReadLock, WriteLock,
        Permits, Condition, Event, Barrier, Countdown, Once, Input, Output, Node,
    ]
};

const _: () = {
    assert!(ALL.len() <= position::REASONS);
    let mut number = 0;
    while number < ALL.len() {
        assert!(ALL[number] as usize == number);
        number += 1;
    }
};

impl WaitReason {
    /// The reason of this number; [`Other`](Self::Other) if there is none.
    pub(crate) fn of_number(number: u8) -> WaitReason {
        ALL.get(usize::from(number)).copied().unwrap_or(WaitReason::Other)
    }

    /// Is it for a socket?
    pub(crate) fn is_of_socket(self) -> bool {
        matches!(self, WaitReason::Input | WaitReason::Output)
    }

    /// May it be known where that was made?
    pub(crate) fn has_place(self) -> bool {
        matches!(self, WaitReason::Recv | WaitReason::Send | WaitReason::News | WaitReason::Node)
    }

    /// How far behind its node a wait for this has the address of what is waited for. Those who
    /// wait keep to that: a task, a scope behind the node; a channel or a lock behind the
    /// `sched::wait::Wait` that begins with the node.
    pub(crate) fn object_at(self) -> Option<usize> {
        match self {
            _ if cfg!(loom) => None,
            WaitReason::Join | WaitReason::Scope => Some(BEHIND_NODE),
            WaitReason::Recv
            | WaitReason::Send
            | WaitReason::News
            | WaitReason::Lock
            | WaitReason::ReadLock
            | WaitReason::WriteLock
            | WaitReason::Permits
            | WaitReason::Condition
            | WaitReason::Event
            | WaitReason::Barrier
            | WaitReason::Countdown
            | WaitReason::Once
            | WaitReason::Input
            | WaitReason::Output
            | WaitReason::Node => Some(BEHIND_WAIT),
            WaitReason::Other
            | WaitReason::Yield
            | WaitReason::Future
            | WaitReason::Sleep
            | WaitReason::Blocking
            | WaitReason::Gang
            | WaitReason::Select => None,
        }
    }
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            WaitReason::Other => "waits",
            WaitReason::Yield => "has yielded",
            WaitReason::Join => "waits for a task",
            WaitReason::Scope => "waits for the tasks of a scope",
            WaitReason::Future => "waits for a future",
            WaitReason::Sleep => "sleeps",
            WaitReason::Blocking => "waits for a blocking call",
            WaitReason::Gang => "waits for a place for a gang",
            WaitReason::Recv => "waits for a message",
            WaitReason::Send => "waits for room in a channel",
            WaitReason::Select => "waits in a select",
            WaitReason::News => "waits for news of a promise, watch or broadcast",
            WaitReason::Lock => "waits for a lock",
            WaitReason::ReadLock => "waits for a lock to read",
            WaitReason::WriteLock => "waits for a lock to write",
            WaitReason::Permits => "waits for a permit of a semaphore",
            WaitReason::Condition => "waits for a condition",
            WaitReason::Event => "waits for an event",
            WaitReason::Barrier => "waits at a barrier",
            WaitReason::Countdown => "waits for a count",
            WaitReason::Once => "waits for an initialisation",
            WaitReason::Input => "waits for input",
            WaitReason::Output => "waits for room for output",
            WaitReason::Node => "waits for a node of a dataflow",
        })
    }
}
