//! `actor`: actors that send to each other, are called, begin and end.
//!
//! The actor is the same everywhere: a sum and an address; messages "hand on", "add", "what is the
//! sum", "stop"; an unbounded mailbox. The forms, of `n` and `m`:
//!
//! | form | an operation is | there are |
//! |---|---|---|
//! | `relay` | a hop of a message: `n` go through a chain of `m` actors | `n × m` |
//! | `ring` | a hop of one message through `n × m` actors that have waited since their spawn | `n × m` |
//! | `call` | a call with its answer, one after the other, of one actor | `n × m` |
//! | `spawn` | an actor that is started and stopped; at most 256 live at a time | `n × m` |
//! | `idle` | an actor that has handled a message and waits: memory | `n × m / 20` |
//! | `skynet` | an actor of a tree of tens, which tells its parent a sum | 1.11 × the power of ten below `n × m` |
//! | `restart` | a child that fails and is started anew, all at once under one supervisor | `n × m / 100` |
//! | `kill` | an actor that waits and is killed | `n × m / 20` |
//!
//! `…-server` is the same with ours as servers, `call-in-place` a call that an idle server handles
//! on top of the caller. Actors of `actix` stay on their threads, and go round all of them. `tokio`
//! is a task with a channel, without a library for actors. `erlang` is a process with a receive, in
//! `…-server` and `call…` a gen_server, and `elixir` a GenServer.

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, ours, peer};
use crate::params::Params;

#[cfg(feature = "peers")]
mod actix;
#[cfg(feature = "peers")]
pub(crate) mod elixir;
#[cfg(feature = "peers")]
mod erlang;
#[cfg(feature = "peers")]
mod kameo;
#[cfg(feature = "ours")]
mod myriad;
mod program;
#[cfg(feature = "peers")]
mod ractor;
#[cfg(feature = "peers")]
mod tokio;

/// A form with all systems, and perhaps more of them.
macro_rules! form {
    ($name:literal, $about:literal, $run:ident, $ours:expr $(, $more:expr)?) => {
        Form {
            name: $name,
            about: $about,
            entries: &[
                Entry::new("myriad", ours!($ours)).waits(),
                Entry::new("tokio", peer!(tokio::$run)),
                Entry::new("kameo", peer!(kameo::$run)),
                Entry::new("ractor", peer!(ractor::$run)),
                Entry::new("actix", peer!(actix::$run)),
                Entry::new("erlang", peer!(erlang::$run)).outside(),
                $($more,)?
            ],
        }
    };
}

/// Elixir, where its program has the form.
macro_rules! elixir {
    ($run:ident) => {
        Entry::new("elixir", peer!(elixir::$run)).outside()
    };
}

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "actor",
    about: "actors: messages, calls, starts and ends (n × m operations)",
    unit: Unit::Per("operation"),
    size: Size { n: 1_000, m: 100, buffer: None },
    full: Size { n: 1_000, m: 1_000, buffer: None },
    takes: Takes { m: true, payload: false, buffer: false },
    check,
    forms: &[
        form!("relay", "n messages through a chain of m actors", relay, myriad::relay, elixir!(relay)),
        form!("relay-server", "the same, ours as servers", relay, myriad::relay_server, elixir!(relay)),
        form!("ring", "one message through n × m actors", ring, myriad::ring),
        form!("ring-server", "the same, ours as servers", ring, myriad::ring_server),
        form!("call", "calls of one actor, with their answers", call, myriad::call, elixir!(call)),
        form!("call-in-place", "the same, ours on top of the caller", call, myriad::call_in_place, elixir!(call)),
        form!("spawn", "actors that are started and stopped", spawn, myriad::spawn),
        form!("spawn-server", "the same, ours as servers", spawn, myriad::spawn_server),
        form!("idle", "actors that have handled a message: memory", idle, myriad::idle),
        form!("idle-server", "the same, ours as servers", idle, myriad::idle_server),
        Form {
            name: "skynet",
            about: "a tree of actors, ten children each",
            entries: &[
                Entry::new("myriad", ours!(myriad::skynet)).waits(),
                Entry::new("erlang", peer!(erlang::skynet)).outside(),
            ],
        },
        Form {
            name: "restart",
            about: "children that all fail at once, and are started anew",
            entries: &[
                Entry::new("myriad", ours!(myriad::restart)).waits(),
                Entry::new("erlang", peer!(erlang::restart)).outside(),
            ],
        },
        Form {
            name: "kill",
            about: "actors that wait and are killed",
            entries: &[
                Entry::new("myriad", ours!(myriad::kill)).waits(),
                Entry::new("kameo", peer!(kameo::kill)),
                Entry::new("ractor", peer!(ractor::kill)),
                Entry::new("erlang", peer!(erlang::kill)).outside(),
            ],
        },
    ],
};

fn check(p: &Params) -> Result<(), String> {
    if p.n == 0 || p.m == 0 { Err("actor: n and m must be at least 1".into()) } else { Ok(()) }
}
