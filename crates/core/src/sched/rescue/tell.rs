//! Threads that call the user's functions for the monitor: who is told of stuck workers, and what
//! names spares.
//!
//! The monitor looks after all runtimes, so it waits for no user: a function of one may wait for
//! what only the monitor's help lets go on, and a line on the standard error for whoever reads it.
//!
//! ```text
//!  reports   monitor: into the pool's queue; nobody tells? -> a thread, which tells until it is empty, and ends
//!  names     monitor: a spare is needed, and nobody asks for its name? -> a thread, which asks, says it, and ends
//! ```
//! So a pool has one thread of each kind at most, and what one pool's functions do holds up no
//! other's. A name that takes longer than a second is not waited for (`watch::Watch::name_for`).
//!
//! **A thread ends when it has nothing to do**, and does not wait for more. Both things are rare (a
//! report comes after 10 ms of standing still at the earliest), and a thread that waits would have
//! to be woken, told to end, and joined with the runtime.
//!
//! **The end of a runtime** takes its watch out of the monitor's list. Who comes back from a
//! function then finds it gone (`number`: another runtime may have the pool), drops what it holds
//! and ends. The end does not wait for that: the function may wait for who ends the runtime.
//!
//! **A fork.** In the child nobody tells, and the parent's queues are gone (`monitor`). A function
//! that has forked comes back in the child too: there its thread ends.
//!
//! Tests: `foreign_code/stuck_hooks.rs`, `own_process/fork.rs`.

use super::monitor;
use super::stuck::{OnStuck, Stuck};
use super::watch::Watch;
use crate::sched::fork;
use crate::sched::hints;
use crate::sched::pool::Pool;
use crate::sched::{unwind, user_code};
use myriad_base::sys::passing::passing;
use myriad_base::sys::say::say;
use std::io;

/// What is to be done for a watch, by its number.
pub(super) enum Errand {
    /// There are reports, and nobody tells them.
    Tell,
    /// The pool needs a spare, and nobody asks for its name.
    Name(&'static Pool, usize),
}

/// Has this done by a thread of its own. Without a lock.
pub(super) fn start(number: u64, errand: Errand) {
    match errand {
        Errand::Tell => {
            if let Err(error) = spawn("myriad-reports", move || tell_all(number)) {
                say_all(number, &error);
            }
        }
        Errand::Name(pool, index) => {
            if spawn("myriad-names", move || name(number, pool, index)).is_err() {
                // Where no thread can be started the spare cannot either: at the next look again.
                _ = monitor::with_watch(number, |watch| watch.set_name(None));
            }
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let body = move || unwind::never_unwinds("a thread for functions of users", body);
    std::thread::Builder::new().name(name.into()).spawn(passing(body)).map(drop)
}

/// Tells what is queued, until nothing is.
fn tell_all(number: u64) {
    let era = fork::era();
    while fork::era() == era
        && let Some((who, stuck)) = monitor::with_watch(number, Watch::next_report).flatten()
    {
        tell(&who, &stuck);
        // (It may be the last one who has the function.)
        unwind::drop_quietly(who);
    }
}

fn tell(who: &OnStuck, stuck: &Stuck) {
    match who {
        OnStuck::Ignore => {}
        OnStuck::Hint => hints::task_keeps_worker(stuck.location, stuck.blocked, stuck),
        OnStuck::Report { .. } => say!("myriad: {stuck}"),
        OnStuck::Hook { hook, .. } => {
            if let Err(payload) = user_code::call(|| hook(stuck)) {
                unwind::discard(payload);
                say!("myriad: {stuck}; and the hook for stuck workers panicked");
            }
        }
    }
}

/// No thread can be started: says what is queued. (That may take its time, but is better than
/// silence.)
#[cold]
fn say_all(number: u64, error: &io::Error) {
    while let Some(stuck) = monitor::with_watch(number, Watch::next_said).flatten() {
        say!("myriad: {stuck}; and no thread can be started that tells: {error}");
    }
}

/// Asks for the name of this spare.
fn name(number: u64, pool: &'static Pool, index: usize) {
    let era = fork::era();
    let name = pool.name_spare(index);
    if fork::era() == era {
        _ = monitor::with_watch(number, |watch| watch.set_name(Some((index, name))));
        monitor::scan_now();
    }
}
