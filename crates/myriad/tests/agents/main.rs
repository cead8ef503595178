//! Agents: sends, waits, errors, watches, ends.
//!
//! Numbers in the comments of tests count the situations that a model of Clojure's agents gets
//! wrong most easily.

#[path = "../common/mod.rs"]
mod common;

mod agent_destructors;
mod agent_ends;
mod agent_errors;
mod agent_memory;
mod agent_sends;
mod agent_waits;
mod agent_watches;
mod as_clojure;

use crate::common::each;
use myriad::agent::{Agent, AgentError, ErrorMode, Queued, RestartError, WaitError};
use myriad::channel::unbounded;
use myriad::sync::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

/// In a runtime of each kind, with one worker and with two.
#[track_caller]
fn each_runtime(body: impl Fn() + Send + Sync) {
    each(&[1, 2], |rt| rt.run(&body));
}

/// An agent whose first action waits until the event is set.
fn held_up<T: Clone + Send + Sync + 'static>(value: T) -> (Agent<T>, Arc<Event>) {
    let agent = Agent::new(value);
    let go = Arc::new(Event::new());
    let until = go.clone();
    agent.send(move |_| until.wait()).unwrap();
    (agent, go)
}

/// An agent that has failed, with what was queued behind the failure.
fn failed(value: i64, queued: usize) -> Agent<i64> {
    let (agent, go) = held_up(value);
    agent.send(|_| panic!("planned: an action")).unwrap();
    for _ in 0..queued {
        agent.send(|n| *n += 1).unwrap();
    }
    go.set();
    assert_eq!(agent.wait(), Err(WaitError::Failed(planned("an action"))));
    agent
}

fn planned(what: &str) -> AgentError {
    AgentError::Panic(format!("planned: {what}").into())
}

/// Waits until this holds.
#[track_caller]
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        myriad::yield_now();
    }
}

/// Counts the drops of its clones.
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
