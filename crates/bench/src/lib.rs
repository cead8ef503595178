//! The workloads that Myriad measures itself by, each written the same way for Myriad and for its
//! peers.
//!
//! ```text
//! src/<workload>/mod.rs        what the workload is, and the table of its forms and systems
//! src/<workload>/<system>.rs   the program of one system
//! src/talk/                    workloads written once, over what the systems have in common
//! src/host/<system>.rs         how that system's workers are started
//! src/outside/, peers/         systems outside of this process, and their programs
//! ```
//!
//! # Words
//!
//! - **workload**: a problem with a known answer (`chain`, `skynet`, …), see [`workloads`].
//! - **form**: the way in which the program is written (`closure`, `future`, …). Systems are
//!   compared within a form.
//! - **system**: a runtime, a pool or a channel that runs it; `myriad` is ours, the others are
//!   *peers*.
//! - **operation**: what the time is divided by: a task, a hop, a message, a fork.
//! - **published**: a figure of others, of their machine, beside the rows of a form
//!   ([`published`](fn@published)).
//!
//! # Rules
//!
//! - All programs of a form do the same thing, with a task handle or a channel per task where the
//!   system has one. A system that splits lazily and makes no task per node is marked so
//!   ([`lazy`](field@Entry::lazy)).
//! - Every run checks its answer. A wrong answer is a failed run, however fast.
//! - A system that cannot do a size says why in one line, instead of hanging or of being left out.
//! - A run is one process: one workload, one system, one number of workers ([`run`]). Workloads
//!   that others measure with a warm pool are repeated inside the process after an untimed warm-up,
//!   and the median is reported.

mod entry;
mod host;
mod limits;
#[cfg(feature = "ours")]
mod live;
mod load;
mod memory;
#[cfg(feature = "peers")]
mod outside;
mod params;
mod payload;
mod processor;
mod published;
mod record;
mod sample;
mod serving;
mod together;

mod actor;
mod agent;
mod calls;
mod cancel;
mod chain;
mod dataflow;
#[cfg(target_os = "linux")]
mod echo;
mod fib;
mod graph;
#[cfg(target_os = "linux")]
mod http;
mod idle;
mod interactive;
mod job;
mod lock;
mod mutex;
mod ops;
mod overhead;
mod pingpong;
mod psort;
mod relay;
mod scan;
mod select;
#[cfg(target_os = "linux")]
mod served;
mod sieve;
mod skynet;
mod sum;
mod talk;
mod threads;
mod timers;

pub use entry::{Entry, Form, OURS, Size, Takes, Unit, Workload};
pub use params::{Mode, Params, Payload, Policy};
pub use published::{Published, published};
pub use record::{Given, Record};
pub use serving::{Served, Silent};

/// All workloads, in the order in which they are shown.
static WORKLOADS: [&Workload; 30 + 5 * cfg!(target_os = "linux") as usize] = [
    &chain::WORKLOAD,
    &relay::WORKLOAD,
    &overhead::WORKLOAD,
    &skynet::WORKLOAD,
    &threads::WORKLOAD,
    &fib::WORKLOAD,
    &psort::WORKLOAD,
    &scan::WORKLOAD,
    &sum::WORKLOAD,
    &graph::WORKLOAD,
    &dataflow::WORKLOAD,
    &pingpong::WORKLOAD,
    &sieve::WORKLOAD,
    &talk::pairs::WORKLOAD,
    &talk::hub::WORKLOAD,
    &talk::pipeline::WORKLOAD,
    &talk::tree::WORKLOAD,
    &talk::alltoall::WORKLOAD,
    &ops::WORKLOAD,
    &idle::WORKLOAD,
    &lock::WORKLOAD,
    &select::WORKLOAD,
    &mutex::WORKLOAD,
    &interactive::WORKLOAD,
    &calls::WORKLOAD,
    #[cfg(target_os = "linux")]
    &echo::WORKLOAD,
    #[cfg(target_os = "linux")]
    &echo::rate::WORKLOAD,
    #[cfg(target_os = "linux")]
    &echo::busy::WORKLOAD,
    #[cfg(target_os = "linux")]
    &echo::idle::WORKLOAD,
    #[cfg(target_os = "linux")]
    &http::WORKLOAD,
    &timers::WORKLOAD,
    &cancel::WORKLOAD,
    &job::WORKLOAD,
    &actor::WORKLOAD,
    &agent::WORKLOAD,
];

/// All workloads, in the order in which they are shown.
pub fn workloads() -> &'static [&'static Workload] {
    &WORKLOADS
}

/// The workload with this name.
pub fn workload(name: &str) -> Option<&'static Workload> {
    workloads().iter().copied().find(|w| w.name == name)
}

/// The names of all systems of all workloads, each once, ours first.
pub fn systems() -> Vec<&'static str> {
    let mut names = vec![OURS];
    for entry in workloads().iter().flat_map(|w| w.forms).flat_map(|f| f.entries) {
        if !names.contains(&entry.system) {
            names.push(entry.system);
        }
    }
    names
}

/// The systems outside of this process, and for each that is missing what to install: none in a
/// build without peers. Asks compilers, so it takes up to a second.
pub fn outside() -> Vec<(&'static str, Result<(), String>)> {
    #[cfg(feature = "peers")]
    return outside::all();
    #[cfg(not(feature = "peers"))]
    return Vec::new();
}

/// Runs what `params` asks for, in this process, and reports it.
///
/// Never panics for impossible parameters: these give a record that is not [`ok`](Record::ok) and
/// says why. Some systems have one pool a process that cannot be stopped, so call this once in a
/// process.
///
/// # Blocking
///
/// Blocks the calling thread until the run ends. There is no time-out here: the caller keeps a
/// watchdog.
pub fn run(params: &Params) -> Record {
    let outcome = params.entry().and_then(|entry| match entry.run {
        Some(run) => run(params).map_err(|f| f.to_string()),
        None => Err(format!("{} is not in this build", entry.system)),
    });
    Record::new(params, outcome)
}

#[cfg(test)]
mod test;
