//! Actors: messages, ends, calls, servers, supervisors, names.
//!
//! Numbers in the comments of tests count the situations that a model of Erlang's gets wrong most
//! easily, in the order of the table in `docs/dev/FEATURES.md`.

#[path = "../common/mod.rs"]
mod common;

mod actor_calls;
mod actor_crashes;
mod actor_exits;
mod actor_left;
mod actor_looks;
mod actor_messages;
mod actor_monitors;
mod actor_names;
mod actor_registries;
mod actor_restarts;
mod actor_servers;
mod actor_states;
mod actor_storm;
mod actor_supervisors;
mod as_erlang;

use crate::common::{each, in_both_modes};
use myriad::actor::{self, Address, AsPid, Mailbox, Reason};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// Longer than any test.
const LONG: Duration = Duration::from_secs(1000);

/// In a runtime of each kind.
#[track_caller]
fn each_runtime(body: impl Fn() + Send + Sync) {
    each(&[1, 2], |rt| rt.run(&body));
}

/// Why an actor has ended; waits for that.
#[track_caller]
fn end_of(actor: &impl AsPid) -> Reason {
    match actor::monitor(actor).wait().reason {
        Reason::NoProcess => actor.pid().reason().unwrap(),
        reason => reason,
    }
}

/// Receives for ever.
fn forever<M: Send + 'static>(mut mail: Mailbox<M>) {
    loop {
        drop(mail.receive());
    }
}

/// Ends an actor.
#[track_caller]
fn kill(actor: &impl AsPid) {
    actor::kill(actor);
    end_of(actor);
}

/// Counts the drops of its clones.
#[derive(Clone)]
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new() -> (Counted, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        (Counted(count.clone()), count)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// An actor that hands on what it is sent.
fn probe<M: Send + 'static>() -> (Address<M>, myriad::channel::Receiver<M>) {
    let (tx, rx) = myriad::channel::unbounded();
    let actor = actor::spawn_async(async move |mut mail: Mailbox<M>| {
        loop {
            drop(tx.send(mail.receive_async().await));
        }
    });
    (actor, rx)
}
