//! A failed agent, and how it goes on.

use crate::agent::Agent;
use crate::cell::drop_actions;
use crate::error::{AgentError, RestartError};

/// What becomes of the actions in a failed agent's queue at its [restart](Agent::restart).
///
/// # Examples
/// See [`Agent::restart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queued {
    /// They run, on the new value.
    Run,
    /// They are dropped: Clojure's `:clear-actions true`.
    Drop,
}

impl<T: Send + Sync + 'static> Agent<T> {
    /// Why the agent has failed; `None` if it has not.
    #[doc(alias = "agent-error")]
    pub fn error(&self) -> Option<AgentError> {
        self.0.error()
    }

    /// How many actions (and waits) wait in the queue, without the one that runs.
    pub fn queued(&self) -> usize {
        self.0.queued()
    }

    /// Lets a failed agent go on, with this value. Watches are not told of it.
    ///
    /// # Errors
    /// The agent has not failed, or its validator does not allow the value: nothing has changed.
    ///
    /// # Examples
    /// ```
    /// use myriad::agent::{Agent, Queued};
    /// let agent = Agent::new(1);
    /// agent.send(|_| panic!("no"))?;
    /// assert!(agent.wait().is_err());
    /// assert!(agent.send(|n| *n += 1).is_err());
    /// agent.restart(10, Queued::Run).unwrap();
    /// agent.send(|n| *n += 1)?;
    /// agent.wait().unwrap();
    /// assert_eq!(agent.get(), 11);
    /// # Ok::<(), myriad::agent::AgentError>(())
    /// ```
    #[doc(alias = "restart-agent")]
    pub fn restart(&self, value: T, queued: Queued) -> Result<(), RestartError> {
        if let Some(rules) = self.0.rules() {
            rules.validate(&value).map_err(RestartError::Invalid)?;
        }
        match self.0.revive(value, queued == Queued::Drop) {
            None => Err(RestartError::NotFailed),
            Some(dropped) => {
                drop_actions(dropped);
                Ok(())
            }
        }
    }
}
