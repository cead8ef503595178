//! Networks of processes: what runs, and how it is connected, declared in one place.
//!
//! A *process* has a state, inputs, outputs, and a function for each input, its *step*, which gets
//! the state and a message, and says what goes to which output. It touches no channel and no task,
//! so a test calls it like any function ([`Outputs::recorder`]). A [`Network`] says which processes
//! there are and which output goes to which input. It is a declaration: [`start`](Network::start)
//! makes the channels, states and tasks, as often as you like, and the handle of that, a
//! [`Running`], pauses, resumes, pings, and stops all, or one process of it. The form is that of
//! core.async.flow; the types of messages are checked by the compiler.
//!
//! | | |
//! |---|---|
//! | processes | [`process`], [`source`], [`flat_map`], [`sink`] |
//! | connections | [`connect`], [`connect_each`], [`buffer`](NetworkBuilder::buffer) |
//! | how it runs | [`Workload`], [`Process::pool`], [`OnPanic`] |
//! | control | [`pause`], [`resume`], [`stop`], [`ping`], [`inject`], of all or [one](Running::process) |
//! | what is said | [`reports`], [`errors`], [`Finished`] |
//!
//! [`process`]: NetworkBuilder::process
//! [`source`]: NetworkBuilder::source
//! [`flat_map`]: NetworkBuilder::flat_map
//! [`sink`]: NetworkBuilder::sink
//! [`connect`]: NetworkBuilder::connect
//! [`connect_each`]: NetworkBuilder::connect_each
//! [`pause`]: Running::pause
//! [`resume`]: Running::resume
//! [`stop`]: Running::stop
//! [`ping`]: Running::ping
//! [`inject`]: Running::inject
//! [`reports`]: Running::reports
//! [`errors`]: Running::errors
//!
//! **Back-pressure.** Each input has a channel with room for some messages ([`Buffer`]). A process
//! whose reader has no room waits, and takes nothing meanwhile; it holds one message that it has
//! taken and what its last step has given. So a network holds no more than its buffers and that.
//!
//! **Panics.** A step that panics gives nothing; the [error channel](Running::errors) says which
//! process, which message, and what the state is. Then the process ends, or goes on, as it is
//! declared: by itself no state is trusted that a panic has gone through.
//!
//! **Modes.** A process is a closure in a task of its own, as its steps may wait: with fibers a
//! wait costs a switch of stacks, in threads mode one of threads.
//!
//! # Examples
//! ```
//! use myriad::flow::process::{Network, Transition};
//! use std::collections::BTreeMap;
//!
//! let mut net = Network::builder();
//! let lines = net.source("lines", || "INFO up\nERROR disk\nERROR net".lines());
//! let (line, level) = net.flat_map("level", |line: &str| line.split(' ').next().map(str::to_owned));
//! let each = net.process("count", BTreeMap::<String, u32>::new, |p| {
//!     p.show(|counts| format!("{counts:?}"));
//!     p.on_transition(|counts, transition, out| {
//!         if transition == Transition::InputsEnded {
//!             out.report(format!("{counts:?}"));
//!         }
//!     });
//!     p.input("each", |counts, level: String, _| *counts.entry(level).or_default() += 1)
//! });
//! net.connect(lines, line).connect(level, each);
//! let run = net.build()?.start();
//! assert_eq!(run.reports().recv().unwrap().text, r#"{"ERROR": 2, "INFO": 1}"#);
//! assert!(run.join().is_complete());
//! # Ok::<(), myriad::flow::process::NetworkError>(())
//! ```

mod body;
mod builder;
mod control;
mod draft;
mod end;
mod error;
mod finished;
mod inject;
mod inlet;
mod network;
mod outlet;
mod outputs;
mod ping;
mod port;
mod process_ref;
mod recovery;
mod running;
mod settings;
mod spec;
mod wiring;

pub use builder::NetworkBuilder;
pub use draft::Process;
pub use end::{During, EndReason, Finished, Outcome, ProcessEnd, Report, StepError};
pub use error::NetworkError;
#[doc(hidden)]
pub use finished::FinishedFuture;
pub use inject::Side;
pub use inject::{InjectError, Port};
pub use network::Network;
pub use outputs::Outputs;
pub use ping::{Activity, InputState, OutputState, Pong};
pub use port::{In, Out};
pub use process_ref::ProcessRef;
pub use running::Running;
pub use settings::{Buffer, OnPanic, Transition, Workload};
