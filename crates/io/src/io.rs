//! Bytes on their way: from one connection to another, and through pipes. Examples: [`copy_both`],
//! [`pipe`].
//!
//! | | |
//! |---|---|
//! | [`copy_both`], [`copy_both_async`] | what a proxy does: both directions of two connections |
//! | [`Polled`] | a stream for the traits of other crates, which poll |
//! | [`pipe`], [`PipeReader`], [`PipeWriter`] | a pipe, within the process or to a child |

mod copy;
#[cfg(feature = "futures-io")]
mod futures_io;
mod pipe;
mod polled;

#[doc(hidden)]
pub use crate::source::Attempts;
pub use copy::{Copied, copy_both, copy_both_async};
pub use pipe::{PipeReader, PipeWriter, pipe};
pub use polled::{PollRead, PollWrite, Polled};
