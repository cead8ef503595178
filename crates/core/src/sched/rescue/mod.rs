//! What happens to the tasks of a worker that does not come back: the monitor finds the worker,
//! another one runs its tasks.
pub(crate) mod marks;
pub(crate) mod monitor;
pub(crate) mod parking;
pub(crate) mod quiet;
mod reports;
pub(crate) mod stuck;
pub(crate) mod takeover;
mod tell;
pub(crate) mod watch;
