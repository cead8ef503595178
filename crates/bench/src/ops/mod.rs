//! `ops`: operations on channels, through which `n` numbers go.
//!
//! Forms: `mult`, each item to four channels; `pipeline`, a function of each item in eight tasks at
//! a time, in order; `publish`, each item to the one who has subscribed to its topic, of 1,000;
//! `mix`, the items of four channels, of which each can be muted, to one. All channels have 64
//! slots. An operation is an item; the answer is what the readers have summed up.
//!
//! `tokio` has none of these. Its programs are what one writes by hand: a task that sends to each
//! channel; a task for each item, whose handles are awaited in order; a table of channels; a
//! `select!` over four channels and one for changes. `core.async` has all of them, and is outside
//! of this process; its `pipeline` has threads of its own, so many as it does items at a time.

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};

#[cfg(feature = "peers")]
mod core_async;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod tokio;

/// Slots of each channel.
#[cfg(any(feature = "ours", feature = "peers"))]
const SLOTS: usize = 64;
/// Readers of `mult`.
#[cfg(any(feature = "ours", feature = "peers"))]
const TAPS: u64 = 4;
/// Tasks of `pipeline`.
#[cfg(any(feature = "ours", feature = "peers"))]
const TASKS: usize = 8;
/// Topics of `publish`.
#[cfg(any(feature = "ours", feature = "peers"))]
const TOPICS: u64 = 1_000;
/// Inputs of `mix`.
#[cfg(any(feature = "ours", feature = "peers"))]
const INPUTS: u64 = 4;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "ops",
    about: "operations on channels, with n items",
    unit: Unit::Per("item"),
    size: Size::n(200_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "mult",
            about: "each item to four readers",
            entries: &[
                Entry::new("myriad", ours!(myriad::mult)).waits(),
                Entry::new("tokio", peer!(tokio::mult)),
                Entry::new("core.async", peer!(core_async::mult)).outside(),
            ],
        },
        Form {
            name: "pipeline",
            about: "eight tasks at a time, in order",
            entries: &[
                Entry::new("myriad", ours!(myriad::pipeline)).waits(),
                Entry::new("tokio", peer!(tokio::pipeline)),
                Entry::new("core.async", peer!(core_async::pipeline)).outside().unbound(),
            ],
        },
        Form {
            name: "publish",
            about: "each item to the reader of its topic, of 1,000",
            entries: &[
                Entry::new("myriad", ours!(myriad::publish)).waits(),
                Entry::new("tokio", peer!(tokio::publish)),
                Entry::new("core.async", peer!(core_async::publish)).outside(),
            ],
        },
        Form {
            name: "mix",
            about: "four channels to one reader",
            entries: &[
                Entry::new("myriad", ours!(myriad::mix)).waits(),
                Entry::new("tokio", peer!(tokio::mix)),
                Entry::new("core.async", peer!(core_async::mix)).outside(),
            ],
        },
    ],
};

/// Of the numbers below `n`.
#[cfg(any(feature = "ours", feature = "peers"))]
fn sum(n: u64) -> u64 {
    n * (n - 1) / 2
}
