//! Agents: a value that actions change, one after the other, and that anybody reads at any time.
//!
//! Clojure's `agent`. An [`Agent`] has a value; whoever has the agent sends it actions, and goes
//! on. The actions of an agent run on the runtime's workers, one at a time, in the order in which
//! each sender has sent them.
//!
//! | | |
//! |---|---|
//! | [`Agent::send`], [`Agent::swap`], [`Agent::send_off`], [`Agent::send_on`] | actions, here or elsewhere |
//! | [`Agent::get`], [`Agent::snapshot`] | the value now, without waiting for actions |
//! | [`Agent::wait`], [`Agent::wait_timeout`], [`Agent::wait_async`] | until what was sent before is done |
//! | [`Agent::set_validator`], [`Agent::watch`] | which values there may be, and who is told of changes |
//! | [`Agent::set_error_mode`], [`Agent::set_error_handler`], [`Agent::restart`] | what a failed action does |
//! | [`release_pending_sends`] | sends out of actions, before the action has ended |
//!
//! **A value is never half changed.** An action works on a copy, or makes a new value of the old
//! one. So readers never wait, an action that fails has changed nothing, and a watch sees both
//! values. (In place there would be no value to go back to after a panic, and none to read
//! meanwhile.) What is dear to copy is kept in pieces behind `Arc`s, or in a persistent collection.
//!
//! **Sends inside an action** are held until the action has succeeded, and its watches have seen
//! the change; they are dropped if it fails. What a task does that the action has spawned is
//! outside.
//!
//! **Ends.** An agent ends when nobody has it and nothing is left to do: actions that were sent
//! run. Then its value is dropped, where the last of the two went. A runtime that ends fails its
//! agents, with [`AgentError::Shutdown`]; what has not begun stays in their queues. (An action that
//! is still blocked then is left, and its agent neither goes on nor fails.) An action that is
//! blocked at that time is left, as any closure, and a wait behind it does not end.
//!
//! # Examples
//! ```
//! use myriad::agent::Agent;
//! let (from, to) = (Agent::new(100), Agent::new(0));
//! let payee = to.clone();
//! from.send(move |balance| {
//!     *balance -= 30;
//!     // Goes when this action has succeeded.
//!     payee.send(|balance| *balance += 30).unwrap();
//! })?;
//! from.wait().unwrap();
//! to.wait().unwrap();
//! assert_eq!((from.get(), to.get()), (70, 30));
//! # Ok::<(), myriad::agent::AgentError>(())
//! ```
// They panic where the output is full or closed: see `myriad_base::sys::say`.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod action;
mod agent;
mod cell;
mod error;
mod fail;
mod frame;
mod kept;
mod queue;
mod rules;
mod run;
mod turn;
mod wait;

pub use agent::Agent;
pub use error::{AgentError, RestartError, WaitError};
pub use fail::Queued;
pub use frame::release_pending_sends;
pub use rules::ErrorMode;
