//! Waiting for several things at once: messages, room for a message, times, ends of tasks, futures.
//!
//! [`select!`](crate::select!) takes arms that are known when the program is written, [`Select`]
//! any number; `select!` is the convenient form of [`wait`], [`try_wait`] and [`wait_async`], to
//! which it hands a tuple of arms. All may be used by closures, threads and (the async forms)
//! futures, and meet the plain operations of channels, and each other, in every pairing.
//!
//! **What a select promises.** Exactly one arm takes effect; all others are as if they had never
//! been there: no message is taken or sent by an arm that has not won. Of several arms that are
//! ready each wins with equal chances, unless the select is *biased*: then the first does. A closed
//! channel is ready (with an error, when nothing is left in it). The same channel may stand in
//! several arms, also with both its ends; a select does not meet itself. Without arms it waits for
//! ever. A select that does nothing, because it has a default or its time is over, says that at one
//! moment none of its arms was ready (after the limit, if it has one).
//!
//! # Blocking
//! A select waits until one of its arms can be done; whoever makes that possible does it, and wakes
//! it. A task is set aside meanwhile, a foreign thread sleeps, a future is pending. In lists of
//! waiters a select has its place like anybody else, first come, first served, in each of its
//! channels; if several of its arms wait in one list, each is as likely the first of them.
//!
//! # Examples
//! ```
//! use myriad::{channel::{bounded, unbounded}, select};
//! use std::time::Duration;
//! let (jobs, work) = unbounded::<u32>();
//! let (stop, stopped) = bounded::<()>(0);
//! let worker = myriad::spawn(move || {
//!     let mut sum = 0;
//!     loop {
//!         select! {
//!             n = work.recv() => sum += n.unwrap(),
//!             _ = stopped.recv() => return sum,
//!             after(Duration::from_secs(60)) => panic!("nobody works"),
//!         }
//!     }
//! });
//! jobs.send(2).unwrap();
//! jobs.send(3).unwrap();
//! while !jobs.is_empty() {
//!     myriad::yield_now();
//! }
//! stop.close();
//! assert_eq!(worker.join().unwrap(), 5);
//! ```

// How it works.
//
// The locks of channels are never held two at a time (biased locks
// forbid it), so a select goes from arm to arm:
//
// ```text
//  attempt   each arm in random order, under its channel's lock: done? -> it has won; nothing else was touched
//  link      each arm, again in random order, under its channel's lock: possible now? -> end our wait, and do it
//                                                        else          -> an entry in the channel's list
//  block     until the wait is ended
//  unlink    each arm: out of its list, under its lock; the one whose entry is done has won; no one? -> attempt again
// ```
// **One claim word for all arms** (`myriad_core::engine::wait`) decides who ends the wait: a
// partner at one of the channels, a timer, or the select itself while it links. A partner claims
// under the lock of the channel where it found the entry, and leaves message and state there
// before it lets go of the lock; then it wakes.
//
// **Select against select.** While it links, a select is already in lists. If it meets a partner
// that waits in lists too, both waits must end, or neither. See
// `Waiter::claim_with`: the two words are taken
// in the order of their addresses, the first for a moment only, to be undone if the second is
// lost.
//
// **Invariants.** An entry is linked only between `link` and `unlink` of its arm, which does not
// move meanwhile. The `Wait` lives until all arms are unlinked. Before its wait is over a select
// has changed nothing but lists. A wait that was ended by another is woken once, and the select
// blocks until then, even if it knows already. Foreign code (wakers, futures, functions of a
// `Select`) runs without a lock, and only wakers while something is linked.
//
// **Why nothing is missed.** An arm is linked, or attempted, under its channel's lock, so whoever
// makes it possible either came before and is seen, or comes later and finds the entry. One that
// finds the wait over skips it and acts as if it was not there; what it then leaves (a message, an
// entry of its own) is found by the select if that attempts again.
//
// **To find nothing** takes more than one look at each arm, because arms may take turns to be
// ready: see `reattempt_all` in `order.rs`. Each channel has a version, which its shortest paths
// keep without an instruction of their own: the ring counts what was taken out. A select that has
// waited stood in all lists when its time was over, so there one look more is enough.
//
// **Futures among the arms** are polled where their arm is attempted. Ready they are done, so
// nothing else may be: before each poll the select ends its own wait (or finds that it has won),
// unlinks, and begins anew. A closure that has such arms blocks on the future form.
//
// **Rejected.** *All locks at once, in the order of addresses* (Go): a worker is in one biased
// lock at a time, and messages of others would wait for all of ours. *Withdraw, and attempt again
// without being in lists* when a partner is met while linking: needs one claim only; but two
// selects that meet can both withdraw, for as long as chance wants, and lose their place in line
// each time. *Hand out the right to send, the message later* (crossbeam's packets): a select that
// was chosen makes its partner wait for it. *Polling all arms as futures* (tokio): each receive
// would stand in line with a waker of its own, be handed messages, and have to give them back. *To
// link all arms before the default is taken* (crossbeam): a partner may end the wait meanwhile,
// and what waits for nothing would have to wait for that wake.
//
// Models: `tests/loom/select.rs`; the claims alone: `crates/core/tests/loom/multi.rs`.

mod arm;
mod arms;
mod blocking;
mod dynamic;
mod future;
mod macros;
mod order;

pub use arm::{Arm, Arms, Won};
pub use arms::{FutureArm, Time, after, at, future, join};
pub use blocking::{try_wait, wait, wait_deadline, wait_timeout};
pub use dynamic::Select;
pub use future::{SelectFuture, wait_async};
pub use order::Order;

#[doc(hidden)]
pub use arm::Link;
