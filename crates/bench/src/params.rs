//! What a run is asked to do.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::entry::{Entry, Form, OURS};
use crate::{Workload, workload};

/// How the tasks of Myriad wait. Peers have one way each and ignore it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// A waiting task keeps its own small stack and its worker goes on with another.
    #[default]
    Fibers,
    /// A waiting task keeps its OS thread.
    Threads,
}

/// Which of its tasks a worker of Myriad starts next: as `myriad::Policy`, which a build without
/// Myriad does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Each worker its newest; who has none takes another's oldest.
    #[default]
    WorkStealing,
    /// The first one in the order of the serial program.
    DepthFirst,
    /// One queue for all, first in, first out.
    SharedQueue,
    /// Dealt to the workers in turn.
    RoundRobin,
}

/// What a message of `relay` is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Payload {
    /// One integer.
    #[default]
    Int,
    /// A list of 20 integers that changes its owner at each hop; nothing is copied.
    Moved20,
    /// A list of 20 integers behind an `Arc` that the feeder keeps too.
    Shared20,
}

/// Everything a run is asked to do. [`Params::new`] fills in the default sizes of the workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Name of the workload.
    pub workload: String,
    /// Name of the form.
    pub form: String,
    /// Name of the system.
    pub system: String,
    /// Worker threads of the pool, at least 1.
    pub workers: usize,
    /// How the tasks of Myriad wait.
    pub mode: Mode,
    /// What the workers of Myriad start next.
    #[serde(default)]
    pub policy: Policy,
    /// Count how many tasks are alive at a time: of Myriad's skynet and fib.
    #[serde(default)]
    pub live: bool,
    /// The size of the workload; its meaning is said in the workload's description.
    pub n: u64,
    /// The second size, of `relay` only: the number of relays.
    pub m: u64,
    /// What a message is, of `relay` only.
    pub payload: Payload,
    /// The slots of each channel, where they are a parameter; `None` is unbounded.
    pub buffer: Option<usize>,
    /// Seed of the random numbers, where the workload uses any. None of the present ones does.
    pub seed: u64,
}

impl Params {
    /// The default run of `workload` in `form` by `system` on `workers` workers.
    pub fn new(workload: &Workload, form: &Form, system: &str, workers: usize) -> Self {
        Params {
            workload: workload.name.into(),
            form: form.name.into(),
            system: system.into(),
            workers,
            mode: Mode::default(),
            policy: Policy::default(),
            live: false,
            n: workload.size.n,
            m: workload.size.m,
            payload: Payload::default(),
            buffer: workload.size.buffer,
            seed: 1,
        }
    }

    /// Whether the run is one of Myriad, not of a peer.
    pub fn is_ours(&self) -> bool {
        self.system == OURS
    }

    /// The table entry that runs this.
    ///
    /// # Errors
    ///
    /// One clear line that lists the possible values, when the parameters do not fit together.
    pub fn entry(&self) -> Result<&'static Entry, String> {
        let workload = workload(&self.workload).ok_or_else(|| {
            let names: Vec<_> = crate::workloads().iter().map(|w| w.name).collect();
            format!("there is no workload `{}`; there are: {}", self.workload, names.join(", "))
        })?;
        let form = workload.form(&self.form)?;
        let entry = form.entry(workload, &self.system)?;
        if self.workers == 0 {
            return Err("a pool needs at least 1 worker".into());
        }
        if entry.single && self.workers != 1 {
            return Err(format!("{} has exactly 1 worker, not {}", entry.system, self.workers));
        }
        if !workload.takes.payload && self.payload != Payload::Int {
            return Err(format!("{} has no payload; only relay has", workload.name));
        }
        if self.live && !(self.is_ours() && ["skynet", "fib"].contains(&workload.name)) {
            return Err(format!("only skynet and fib of {OURS} count tasks"));
        }
        (workload.check)(self)?;
        Ok(entry)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mode::Fibers => "fibers",
            Mode::Threads => "threads",
        })
    }
}

impl Policy {
    const ALL: [Policy; 4] = [Policy::WorkStealing, Policy::DepthFirst, Policy::SharedQueue, Policy::RoundRobin];
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Policy::WorkStealing => "work-stealing",
            Policy::DepthFirst => "depth-first",
            Policy::SharedQueue => "shared-queue",
            Policy::RoundRobin => "round-robin",
        })
    }
}

impl FromStr for Policy {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        Policy::ALL.into_iter().find(|policy| policy.to_string() == s).ok_or_else(|| {
            format!("there is no policy `{s}`; there are: {}", Policy::ALL.map(|policy| policy.to_string()).join(", "))
        })
    }
}

impl fmt::Display for Payload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Payload::Int => "int",
            Payload::Moved20 => "moved20",
            Payload::Shared20 => "shared20",
        })
    }
}

impl FromStr for Mode {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "fibers" => Ok(Mode::Fibers),
            "threads" => Ok(Mode::Threads),
            _ => Err(format!("there is no mode `{s}`; there are: fibers, threads")),
        }
    }
}

impl FromStr for Payload {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "int" => Ok(Payload::Int),
            "moved20" => Ok(Payload::Moved20),
            "shared20" => Ok(Payload::Shared20),
            _ => Err(format!("there is no payload `{s}`; there are: int, moved20, shared20")),
        }
    }
}
