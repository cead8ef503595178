//! Operations on channels: tasks that take from one end and give to others.
//!
//! | operation | takes from | gives |
//! |---|---|---|
//! | [`pipe`] | a channel, or any iterator | each item to a channel |
//! | [`pipeline`] | a channel | what a function makes of each item, by several tasks at a time |
//! | [`mult`] | a channel | each item to each tap |
//! | [`publish`] | a channel | each item to those who have subscribed to its topic |
//! | [`merge`] | several channels | each item to a channel |
//! | [`split`] | a channel | each item to one of two channels, as a function says |
//! | [`mix()`] | channels that are added, removed, muted and paused while it runs | each item to a channel |
//!
//! What needs no task of its own are the iterators of a
//! [`Receiver`](myriad_sync::channel::Receiver): `map`, `filter`, `take`, `zip`, `fold`, `collect`
//! and all others work there, and wait where they are used. [`Timed`] has those that look at the
//! clock: batches, debouncing, throttling.
//!
//! **Back-pressure.** No operation has a buffer that grows: one that cannot give does not take, but
//! for the items that it has in hand (one; of a pipeline as many as its window).
//!
//! **Modes.** An operation is a closure, as the functions that it calls may wait: in threads mode
//! one that waits has a thread of its own meanwhile, and each wait costs a switch of threads; with
//! fibers a stack and a switch of stacks. What a [`pipeline_async`] calls is futures, which wait
//! without.
//!
//! **End.** An operation ends when its source is closed and drained, when nobody can receive what
//! it gives, when a function of the user's panics, or when it is [cancelled](Operation::cancel). (A
//! `mult` or `publish` that has nobody left goes on, and drops what it takes.) Then it lets go of
//! both ends, so that the stages in front of it and behind it end, too.
//! [`join`](Operation::join) says why it has ended, how much went through, and gives back what was
//! taken and not given. A handle that is dropped leaves its operation running.
//!
//! # Examples
//! ```
//! use myriad::{channel::bounded, flow};
//! let ((tx, lines), (counts_tx, counts)) = (bounded(10), bounded(10));
//! let source = flow::pipe(["a rose", "is a rose"], tx);
//! let count = flow::pipeline(4, lines, counts_tx, |line: &str| line.split(' ').count());
//! assert_eq!(counts.into_iter().sum::<usize>(), 5);
//! assert!(source.join().is_complete() && count.join().is_complete());
//! ```

mod batches;
mod debounced;
pub(crate) mod ended;
mod give;
mod inputs;
mod line;
mod line_async;
mod merge;
mod mix;
mod mult;
mod outlets;
mod pipe;
mod pipeline;
mod publish;
mod split;
mod throttled;
mod timed;

pub use batches::Batches;
pub use debounced::Debounced;
pub use ended::{Ended, EndedFuture, Operation, Why};
pub use inputs::{Input, Mode, SoloMode};
pub use merge::merge;
pub use mix::{Mix, mix};
pub use mult::{Mult, mult};
pub use pipe::pipe;
pub use pipeline::{Pipeline, pipeline, pipeline_async};
pub use publish::{Publisher, publish};
pub use split::split;
pub use throttled::Throttled;
pub use timed::Timed;
