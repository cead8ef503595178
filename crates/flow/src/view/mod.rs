//! Pictures of graphs, and of what a run of one did when.
//!
//! Example: [`Trace`].

mod dot;
mod gantt;
mod perfetto;
mod trace;

pub(crate) use dot::{Arrow, dot};
pub(crate) use trace::TraceOfRun;
pub use trace::{Span, Trace};
