//! Cancellation: ending work that nobody wants any more.
//!
//! A task is cancelled by its [handle](crate::JoinHandle::cancel), a part of it by a [`Token`], a
//! deadline ([`timeout`](crate::time::timeout)), or the end of a scope. The cancellation *arrives*
//! at the task's next blocking point: a wait there ends without having had any effect, and the task
//! unwinds, with its destructors, as from a panic, but without a message. Who waits for the task
//! gets a [`JoinError`](crate::JoinError) that says
//! [`is_cancelled`](crate::JoinError::is_cancelled).
//!
//! **Blocking points** are all waits of this library (channels, joins, sleeping, `block_on`) in
//! which the task is really set aside, and [`yield_now`](crate::yield_now); [`check`] is one that
//! does nothing else. A task that computes looks at [`is_cancelled`].
//!
//! **Joins pass it on.** A task that waits for the end of another (`join` of a handle,
//! `join(a, b)`, the end of a scope) does not leave when it is cancelled: it cancels those that it
//! waits for, and unwinds when they have ended. Nothing else would be the same whether the other
//! runs elsewhere or on top of the waiting one. To leave a task behind, wait with
//! [`join_timeout`](crate::JoinHandle::join_timeout), or drop the handle.
//!
//! **Clean-up.** Destructors that block while a task unwinds because of a cancellation are not
//! cancelled again, so they need no [`shield`]; that does the same for other code. A limit on such
//! code is a cancel scope of its own: `timeout` works within both. *In fiber mode* a destructor
//! that unwinding runs must not block: that is in the contract of
//! [`Builder::fibers`](crate::Builder::fibers). There catch the cancellation, clean up in a
//! [`shield`], and let the cancellation go on, as in the second example.
//!
//! **Catching.** `catch_unwind` catches a cancellation like a panic (its payload is [`Cancelled`]).
//! Once the payload is dropped and the task goes on, it arrives again at the next blocking point.
//! Let it go on with `resume_unwind`.
//!
//! **Futures.** A task that is a future is cancelled by dropping it at its next poll, which comes
//! at once.
//!
//! **Where a panic aborts** (`panic = "abort"`) nothing is unwound: tasks are only asked, and look
//! at [`is_cancelled`]. Tasks that have not begun never do, and futures are dropped.
//!
//! # Examples
//! ```
//! let (_tx, rx) = myriad::channel::unbounded::<u32>();
//! let task = myriad::spawn(move || rx.recv()); // waits for a message
//! task.cancel();
//! assert!(task.join().unwrap_err().is_cancelled());
//! ```
//! Clean-up that waits:
//! ```
//! # use myriad::{cancel, channel};
//! # use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
//! fn take_all(requests: &channel::Receiver<u32>, log: &channel::Sender<&'static str>) {
//!     let work = || while let Ok(_request) = requests.recv() {};
//!     if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
//!         cancel::shield(|| _ = log.send("stopped")); // may wait, in both modes
//!         resume_unwind(payload);
//!     }
//! }
//! # let ((tx, requests), (log, said)) = (channel::unbounded(), channel::bounded(1));
//! # tx.send(1).unwrap();
//! # let task = myriad::spawn(move || take_all(&requests, &log));
//! # while !tx.is_empty() {
//! #     std::thread::yield_now();
//! # }
//! # task.cancel();
//! # assert_eq!(said.recv(), Ok("stopped"));
//! # assert!(task.join().unwrap_err().is_cancelled());
//! ```
pub use crate::api::token::{Cause, OnCancel, RunAsync, Token, TokenCancelled, WaitCancelled};
pub use crate::sched::cancel::{Cancelled, check, is_cancelled, shield};
