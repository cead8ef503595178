//! Waiting for an agent's actions.
//!
//! Who waits puts a mark into the queue, behind what it has sent: the turn that comes to the mark
//! tells, and so does a failure.

use crate::action::push_mark;
use crate::agent::Agent;
use crate::error::WaitError;
use crate::frame;
use myriad_core::time::{Instant, now};
use myriad_sync::channel::{Receiver, RecvTimeoutError, oneshot};
use std::ptr;
use std::time::Duration;

/// A mark is told when the turn comes to it, and at a failure; the queue that it is in stands.
const FORGOTTEN: &str = "a wait for an agent was forgotten (a bug in Myriad)";

type Telling = Receiver<Result<(), crate::AgentError>>;

impl<T: Send + Sync + 'static> Agent<T> {
    /// Puts a mark behind all that the caller has sent.
    fn mark(&self) -> Result<Telling, WaitError> {
        if frame::runs_here(ptr::from_ref(&*self.0).addr()) {
            return Err(WaitError::Itself);
        }
        let (told, telling) = oneshot();
        self.0.send(None, |queue| push_mark(queue, told)).map_err(WaitError::Failed)?;
        Ok(telling)
    }

    /// Waits until all actions are done that the caller has sent to this agent before.
    ///
    /// Not until those are done that these send in their turn; nor, where the caller is itself an
    /// action (of another agent), what is still [held](crate::release_pending_sends).
    ///
    /// # Blocking
    /// Until the actions are done; the calling task is set aside, a foreign thread sleeps.
    ///
    /// # Errors
    /// The agent has failed, or fails meanwhile (in Clojure such a wait never ends). The caller is
    /// an action of this agent.
    ///
    /// # Cancellation
    /// The caller unwinds; the actions are done all the same.
    ///
    /// # Examples
    /// ```
    /// let agent = myriad::agent::Agent::new(0);
    /// for _ in 0..100 {
    ///     agent.send(|n| *n += 1).unwrap();
    /// }
    /// agent.wait().unwrap();
    /// assert_eq!(agent.get(), 100);
    /// ```
    #[doc(alias = "await")]
    #[track_caller]
    pub fn wait(&self) -> Result<(), WaitError> {
        self.mark()?.recv().expect(FORGOTTEN).map_err(WaitError::Failed)
    }

    /// The same for so long. A wait that gave up stays [in the queue](Self::queued) until its turn
    /// comes.
    ///
    /// # Errors
    /// As [`wait`](Self::wait), and [`WaitError::Timeout`].
    ///
    /// # Examples
    /// ```
    /// use myriad::agent::{Agent, WaitError};
    /// use std::time::Duration;
    /// let agent = Agent::new(0);
    /// agent.send(|_| myriad::time::sleep(Duration::from_millis(50))).unwrap();
    /// assert_eq!(agent.wait_timeout(Duration::from_millis(1)), Err(WaitError::Timeout));
    /// ```
    #[doc(alias = "await-for")]
    #[track_caller]
    pub fn wait_timeout(&self, limit: Duration) -> Result<(), WaitError> {
        let end: Option<Instant> = now().checked_add(limit);
        let telling = self.mark()?;
        let told = match end {
            Some(end) => telling.recv_deadline(end),
            None => telling.recv().map_err(|_| RecvTimeoutError::Closed),
        };
        match told {
            Ok(told) => told.map_err(WaitError::Failed),
            Err(RecvTimeoutError::Timeout) => Err(WaitError::Timeout),
            Err(RecvTimeoutError::Closed) => panic!("{FORGOTTEN}"),
        }
    }

    /// The same as [`wait`](Self::wait), as a future.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    ///
    /// # Examples
    /// ```
    /// let agent = myriad::agent::Agent::new(0);
    /// agent.send(|n| *n += 1)?;
    /// myriad::block_on(agent.wait_async()).unwrap();
    /// assert_eq!(agent.get(), 1);
    /// # Ok::<(), myriad::agent::AgentError>(())
    /// ```
    pub async fn wait_async(&self) -> Result<(), WaitError> {
        self.mark()?.recv_async().await.expect(FORGOTTEN).map_err(WaitError::Failed)
    }
}
