//! What goes wrong with agents.

use myriad_base::unwind::message;
use myriad_core::engine::unwind::{Payload, discard, end_cancellation};
use std::fmt;
use std::sync::Arc;

/// Why an agent's action has failed; and the agent with it, unless its
/// [mode](crate::Agent::set_error_mode) says otherwise. Cheap to clone.
///
/// # Examples
/// ```
/// use myriad::agent::{Agent, AgentError};
/// let agent = Agent::new(1);
/// agent.set_validator(|n| *n > 0)?;
/// agent.send(|n| *n = -1)?;
/// assert!(agent.wait().is_err());
/// assert_eq!(agent.error(), Some(AgentError::Refused));
/// # Ok::<(), AgentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AgentError {
    /// The action panicked, with this text; the value is as before.
    Panic(Arc<str>),
    /// The validator refused the new value; the value is as before.
    Refused,
    /// The validator panicked, with this text; the value is as before.
    Validator(Arc<str>),
    /// The watch of this key panicked, with this text. **The value has changed already.**
    Watch(Arc<str>, Arc<str>),
    /// The runtime where the agent's actions run has ended; what had not begun stays in the queue.
    Shutdown,
}

/// The text of a panic that goes no further.
pub(crate) fn text_of(mut payload: Payload) -> Arc<str> {
    let text = Arc::from(message(&*payload));
    end_cancellation(&mut payload);
    discard(payload);
    text
}

impl fmt::Display for AgentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AgentError::Panic(text) => write!(f, "an action of the agent panicked: {text}"),
            AgentError::Refused => f.write_str("the agent's validator refused the value"),
            AgentError::Validator(text) => write!(f, "the agent's validator panicked: {text}"),
            AgentError::Watch(key, text) => write!(f, "the agent's watch '{key}' panicked: {text}"),
            AgentError::Shutdown => f.write_str("the runtime of the agent's actions has ended"),
        }
    }
}

impl std::error::Error for AgentError {}

/// Why a wait for an agent's actions has ended early.
///
/// # Examples
/// ```
/// use myriad::agent::{Agent, WaitError};
/// let agent = Agent::new(0);
/// let same = agent.clone();
/// agent.send(move |_| assert_eq!(same.wait(), Err(WaitError::Itself))).unwrap();
/// assert_eq!(agent.wait(), Ok(()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitError {
    /// The agent has failed: what is in its queue does not run before a
    /// [restart](crate::Agent::restart).
    Failed(AgentError),
    /// The time is over.
    Timeout,
    /// The caller is an action of this very agent: it would wait for itself.
    Itself,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::Failed(error) => write!(f, "the agent has failed: {error}"),
            WaitError::Timeout => f.write_str("the agent's actions were not done in time"),
            WaitError::Itself => f.write_str("an action would wait for its own agent, which is itself"),
        }
    }
}

impl std::error::Error for WaitError {}

/// Why an agent was not restarted.
///
/// # Examples
/// ```
/// use myriad::agent::{Agent, Queued, RestartError};
/// assert_eq!(Agent::new(0).restart(1, Queued::Run), Err(RestartError::NotFailed));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RestartError {
    /// It has not failed.
    NotFailed,
    /// The validator does not allow the new value.
    Invalid(AgentError),
}

impl fmt::Display for RestartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RestartError::NotFailed => f.write_str("the agent has not failed, and needs no restart"),
            RestartError::Invalid(error) => write!(f, "the agent was not restarted: {error}"),
        }
    }
}

impl std::error::Error for RestartError {}
