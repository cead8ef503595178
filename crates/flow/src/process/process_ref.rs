//! One process of a network that runs.

use super::ping::Pong;
use super::running::Running;
use myriad_core::time;
use std::fmt;
use std::time::Duration;

/// A process of a network that runs: [`Running::process`].
#[derive(Clone, Copy)]
pub struct ProcessRef<'a> {
    pub(super) run: &'a Running,
    pub(super) at: usize,
}

impl ProcessRef<'_> {
    /// As [`Running::pause`], this process alone.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn pause(self) {
        self.run.controls[self.at].pause(true);
    }

    /// As [`Running::resume`], this process alone.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn resume(self) {
        self.run.controls[self.at].pause(false);
    }

    /// As [`Running::ping`], this process alone.
    ///
    /// # Blocking
    /// Until it has answered, for at most as long as the limit.
    pub fn ping(self, within: Duration) -> Pong {
        let answer = self.run.ask(self.at).recv_deadline(time::now() + within);
        self.run.pong(self.at, answer.ok())
    }

    /// As [`ping`](Self::ping), as a future.
    pub async fn ping_async(self, within: Duration) -> Pong {
        let deadline = time::now() + within;
        let answer = self.run.ask(self.at).recv_deadline_async(deadline).await;
        self.run.pong(self.at, answer.ok())
    }
}

impl fmt::Debug for ProcessRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ProcessRef").field(self.run.network.processes[self.at].spec.name()).finish()
    }
}
