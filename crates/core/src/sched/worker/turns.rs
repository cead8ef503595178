//! Numbers: how much a task does before others have a turn, and how many turns lie between two
//! ticks.

/// Channel operations of a task before it lets others run. (Some 2 µs. With half of it a relay of
/// futures on two workers takes an eighth longer: after each round a channel's lines move to the
/// other processor. Twice as much wins little, and the others wait.)
pub(crate) const BUDGET: u32 = 256;

/// So much of it an operation on a socket takes, whose call of the system is some microseconds.
pub(crate) const IO_COST: u32 = 8;

/// The same for a closure that goes on with its own thread, in threads mode: it costs a switch of
/// threads to let others run, some 3 µs, and not some nanoseconds. (Some 50 µs. With 256 a relay of
/// unbounded channels took 1.8 times as long as with threads of std's.)
pub(crate) const THREAD_BUDGET: u32 = 4096;

/// Turns between two looks at inbox, clock and the oldest task, while no timers are pending.
pub(crate) const SELDOM: u32 = 61;

/// Turns between two looks, while timers are pending.
pub(crate) const OFTEN: u32 = 7;

/// In threads mode a tick is an exchange of threads more, where tasks go on one after the other. So
/// a worker that ticks [often](OFTEN) does so no sooner than this after its last tick, in
/// microseconds, if there is nothing that a tick would find but events of sockets. (Of an echo
/// server of 64 connections that was one exchange in eight.)
pub(crate) const THREAD_TICK_US: u64 = 1000;
