//! `agent`: values that are changed by functions which others send, as Clojure's agents.
//!
//! | form | an operation is | there are |
//! |---|---|---|
//! | `relay` | a hop: `n` go through a chain of `m` agents, sent on inside the actions | `n × m` |
//! | `shared` | a function that one of `n` tasks has sent to one agent, `m` each | `n × m` |
//!
//! `tokio` is a task with a channel of boxed functions. That has less to do: nobody reads its value
//! meanwhile, and a panic in a function ends it. `elixir` is its `Agent`, which has less to do,
//! too.

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;

#[cfg(feature = "peers")]
mod clojure;
#[cfg(feature = "peers")]
mod elixir;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod tokio;

/// A form with all systems.
macro_rules! form {
    ($name:literal, $about:literal, $run:ident) => {
        Form {
            name: $name,
            about: $about,
            entries: &[
                Entry::new("myriad", ours!(myriad::$run)),
                Entry::new("tokio", peer!(tokio::$run)),
                Entry::new("clojure", peer!(clojure::$run)).outside(),
                Entry::new("elixir", peer!(elixir::$run)).outside(),
            ],
        }
    };
}

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "agent",
    about: "agents: functions that change a value, one after the other (n × m operations)",
    unit: Unit::Per("operation"),
    size: Size { n: 1_000, m: 100, buffer: None },
    full: Size { n: 1_000, m: 1_000, buffer: None },
    takes: Takes { m: true, payload: false, buffer: false },
    check,
    forms: &[
        form!("relay", "n messages through a chain of m agents", relay),
        form!("shared", "n tasks send m functions each to one agent", shared),
    ],
};

fn check(p: &Params) -> Result<(), String> {
    if p.n == 0 || p.m == 0 { Err("agent: n and m must be at least 1".into()) } else { Ok(()) }
}

/// The sum of all messages of `relay` at the end of the chain.
#[cfg(any(feature = "ours", feature = "peers"))]
fn sum_of_relay(p: &Params) -> u64 {
    p.n * (p.n - 1) / 2 + p.n * (p.m - 1)
}

/// The sum of what all tasks of `shared` have sent.
#[cfg(any(feature = "ours", feature = "peers"))]
fn sum_of_shared(p: &Params) -> u64 {
    p.n * p.m * (p.m - 1) / 2
}
