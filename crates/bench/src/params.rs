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
