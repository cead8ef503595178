//! Whose tasks a pool takes in, and where a task comes from that asks to be taken in.

/// Whose tasks the injector takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Nobody's: the runtime has stopped, or has not begun.
    #[default]
    Nobody,
    /// Those of the runtime's own tasks: the runtime is being shut down.
    OwnTasks,
    /// All.
    All,
}

/// Where a task comes from that enters the injector. The number is the term of a handle, which may
/// be older than the runtime that uses the pool now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A thread outside of the runtime has spawned the task.
    Outside(u64),
    /// A task of the same runtime has spawned the task: in another pool, or on a thread of its own.
    SameRuntime(u64),
    /// A future of this runtime was woken from outside.
    Wake,
}
