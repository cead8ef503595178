//! What came out of a run.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::memory;
use crate::params::{Mode, Params, Payload, Policy};
use crate::serving::{Served, Silent};

/// What a program gives back.
pub(crate) type Outcome = Result<Measured, Failure>;

/// A run with the right answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Measured {
    /// Operations done in the time.
    pub(crate) ops: u64,
    /// The median time of the repeats.
    pub(crate) time: Duration,
    /// The shortest and the longest time of the repeats.
    pub(crate) range: (Duration, Duration),
    /// How many times it was measured inside the process.
    pub(crate) repeats: u32,
    /// How many processors the process used on average, while it measured.
    pub(crate) processors: Option<f64>,
    /// Tasks (or turns of them) that the workers ended in a second beside what was measured, where
    /// there were such.
    pub(crate) background_per_second: Option<f64>,
    /// Memory growth for each task, where tasks pile up.
    pub(crate) bytes_per_task: Option<f64>,
    /// The most tasks that were alive at a time, where they were counted.
    pub(crate) most_alive: Option<u64>,
    /// What a client in another process found out.
    pub(crate) served: Option<Served>,
    /// The same, while it was silent.
    pub(crate) silent: Option<Silent>,
    /// Something a reader of the number must know.
    pub(crate) note: Option<String>,
}

impl Measured {
    /// `ops` operations, measured once.
    pub(crate) fn once(ops: u64, time: Duration) -> Self {
        Measured { ops, time, range: (time, time), repeats: 1, ..Measured::default() }
    }

    /// The same, when the process has used so much processor time `meanwhile`.
    pub(crate) fn with_processors(mut self, used: Option<Duration>, meanwhile: Duration) -> Self {
        self.processors = used.map(|used| used.as_secs_f64() / meanwhile.as_secs_f64().max(1e-9));
        self
    }
}

/// A run without a right answer.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The system cannot do this size, for a known reason.
    Cannot(String),
    /// It ran, and the answer is wrong or missing.
    Wrong(String),
}

impl Failure {
    /// `Ok` when the answer is right.
    pub(crate) fn check<T: PartialEq + fmt::Display>(got: T, want: T) -> Result<(), Failure> {
        if got == want { Ok(()) } else { Err(Failure::Wrong(format!("{WRONG}: {got} instead of {want}"))) }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Cannot(reason) => write!(f, "{CANNOT}{reason}"),
            Failure::Wrong(what) => f.write_str(what),
        }
    }
}

/// How the error of a run begins whose answer is wrong.
const WRONG: &str = "wrong answer";

/// How the error of a run begins that the system cannot do.
const CANNOT: &str = "cannot: ";

/// A run as it is reported: one JSON object on a line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Name of the workload.
    pub workload: String,
    /// Name of the form.
    pub form: String,
    /// Name of the system.
    pub system: String,
    /// Worker threads of the pool.
    pub workers: usize,
    /// How tasks wait: of Myriad only.
    pub mode: Option<Mode>,
    /// The sizes asked for.
    pub params: Given,
    /// Operations done in `seconds`.
    pub ops: u64,
    /// Time of the whole: the median, when it was repeated.
    pub seconds: f64,
    /// The shortest time of the whole, when it was repeated.
    #[serde(default)]
    pub seconds_min: f64,
    /// The longest time of the whole, when it was repeated.
    #[serde(default)]
    pub seconds_max: f64,
    /// Processor time for `seconds`, user and system, of all threads of the process: what it used
    /// while it measured is divided among the repeats as their times are. What a repeat does
    /// outside of its time is in it.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
    /// Nanoseconds for each operation.
    pub ns_per_op: f64,
    /// Memory for each waiting task, where tasks pile up.
    pub bytes_per_task: Option<f64>,
    /// The most tasks that were alive at a time, where they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_alive: Option<u64>,
    /// Tasks (or turns of them) that the workers ended in a second beside what was measured, where
    /// there were such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub background_per_second: Option<f64>,
    /// What a client of a server found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<Served>,
    /// What a server did while its clients were silent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub silent: Option<Silent>,
    /// The most memory the process ever had.
    pub max_rss_bytes: Option<u64>,
    /// How many times it was measured inside the process.
    pub repeats: u32,
    /// Whether the answer is right.
    pub ok: bool,
    /// Why not, when it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Something a reader of the number must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// The sizes of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// The size.
    pub n: u64,
    /// The second size, or 0.
    pub m: u64,
    /// What a message is.
    pub payload: Payload,
    /// The slots of each channel; null is unbounded, or not a parameter.
    pub buffer: Option<usize>,
    /// The seed.
    pub seed: u64,
    /// What the workers start next: of Myriad only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
}

impl Record {
    /// The record of a run that came to its end.
    pub(crate) fn new(p: &Params, outcome: Result<Measured, String>) -> Self {
        let mut record = Record::failed(p, String::new());
        record.max_rss_bytes = memory::peak();
        match outcome {
            Ok(m) => {
                record.ops = m.ops;
                record.seconds = m.time.as_secs_f64();
                (record.seconds_min, record.seconds_max) = (m.range.0.as_secs_f64(), m.range.1.as_secs_f64());
                record.cpu_seconds = m.processors.map(|processors| processors * record.seconds);
                record.background_per_second = m.background_per_second;
                record.ns_per_op = m.time.as_secs_f64() * 1e9 / m.ops.max(1) as f64;
                record.bytes_per_task = m.bytes_per_task;
                (record.served, record.silent) = (m.served, m.silent);
                record.repeats = m.repeats;
                record.most_alive = m.most_alive;
                record.note = m.note;
                record.ok = true;
                record.error = None;
            }
            Err(error) => record.error = Some(error),
        }
        record
    }

    /// The record of a run that gave nothing, with the reason.
    pub fn failed(p: &Params, error: String) -> Self {
        Record {
            workload: p.workload.clone(),
            form: p.form.clone(),
            system: p.system.clone(),
            workers: p.workers,
            mode: p.is_ours().then_some(p.mode),
            params: Given {
                n: p.n,
                m: p.m,
                payload: p.payload,
                buffer: p.buffer,
                seed: p.seed,
                policy: p.is_ours().then_some(p.policy),
            },
            ops: 0,
            seconds: 0.0,
            seconds_min: 0.0,
            seconds_max: 0.0,
            cpu_seconds: None,
            ns_per_op: 0.0,
            bytes_per_task: None,
            most_alive: None,
            background_per_second: None,
            served: None,
            silent: None,
            max_rss_bytes: None,
            repeats: 0,
            ok: false,
            error: Some(error),
            note: None,
        }
    }

    /// Why the system cannot do this, when that is why it is not ok. This is not a fault of the
    /// system's answer.
    pub fn cannot(&self) -> Option<&str> {
        self.error.as_deref().and_then(|e| e.strip_prefix(CANNOT))
    }

    /// Is it not ok because the answer is wrong?
    pub fn is_wrong(&self) -> bool {
        self.error.as_deref().is_some_and(|e| e.starts_with(WRONG))
    }

    /// This as one line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a record has only strings and numbers")
    }
}
