//! The public interface of `crossbeam-channel` 0.5.17 on [`myriad::channel`] and
//! [`myriad::select`], so that the tests of that crate can be run, unmodified, against Myriad's
//! channels: `scripts/suites.sh crossbeam`.
//!
//! Two things differ from the genuine crate.
//! - `select!` evaluates the message of a `send(s, m)` before it waits, as Myriad's own does, not
//!   only if that arm is chosen.
//! - A message that a [`Select`] sends is not known when the send is chosen: Myriad sends a place
//!   instead, and whoever receives the place waits until [`SelectedOperation::send`] has filled it.
//!   (The genuine crate has its packets for that.)

mod arm;
mod channel;
mod err;
mod macros;
mod ready;
mod select;

pub use channel::{IntoIter, Iter, Receiver, Sender, TryIter, after, at, bounded, never, tick, unbounded};
pub use err::{
    ReadyTimeoutError, RecvError, RecvTimeoutError, SelectTimeoutError, SendError, SendTimeoutError, TryReadyError,
    TryRecvError, TrySelectError, TrySendError,
};
pub use select::{Select, SelectedOperation};

#[doc(hidden)]
pub mod internal {
    pub use crate::arm::{received, sent};
    pub use crate::channel::{WeakEnd, is_disconnected};
    pub use myriad::select::{Order, Won, try_wait, wait, wait_timeout};
}
