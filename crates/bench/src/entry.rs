//! The table of what can be run: workloads, their forms, and the systems of each form.

use crate::params::Params;
use crate::record::Outcome;

/// The name of Myriad among the systems.
pub const OURS: &str = "myriad";

/// The program of one system for one form.
pub(crate) type Run = fn(&Params) -> Outcome;

/// A problem with a known answer.
#[derive(Debug)]
pub struct Workload {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: what it does, and what `n` is.
    pub about: &'static str,
    /// How its time is shown.
    pub unit: Unit,
    /// The size of the overall run: a fraction of a second for each system.
    pub size: Size,
    /// The published size, which may take many seconds.
    pub full: Size,
    /// Which parameters it takes besides `n`.
    pub takes: Takes,
    /// Refuses parameters that make no sense for it, in one line.
    pub check: fn(&Params) -> Result<(), String>,
    /// The ways in which it is written.
    pub forms: &'static [Form],
}

/// A way to write a workload, with the systems that can be compared in it.
#[derive(Debug)]
pub struct Form {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: what the program looks like.
    pub about: &'static str,
    /// The systems, ours first.
    pub entries: &'static [Entry],
}

/// A system in a form.
#[derive(Debug)]
pub struct Entry {
    /// The name of the system.
    pub system: &'static str,
    /// Its program; `None` when this build leaves the system out.
    pub(crate) run: Option<Run>,
    /// Left out of runs that do not ask for it by name.
    pub extra: bool,
    /// Makes no task per node (it splits lazily, or not at all), so it does less than the others.
    /// Shown as such.
    pub lazy: bool,
    /// Has exactly one worker.
    pub single: bool,
    /// Its threads are not a pool: the number of workers does not bind it.
    pub unbound: bool,
    /// Serial code, or the least time that the machine's memory takes: a line to compare with, and
    /// no competitor.
    pub reference: bool,
    /// Its closures wait, so their time depends on the [mode](crate::Mode).
    pub waits: bool,
    /// A program of its own, which is built at its first run if what that takes is
    /// [installed](crate::outside). Left out where no workload is named.
    pub outside: bool,
}

/// Sizes of a run.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The size.
    pub n: u64,
    /// The second size, or 0.
    pub m: u64,
    /// The slots of each channel; `None` is unbounded, or not a parameter.
    pub buffer: Option<usize>,
}

/// Which parameters a workload takes besides `n`.
#[derive(Clone, Copy, Debug)]
pub struct Takes {
    /// The second size `m`.
    pub m: bool,
    /// The kind of message.
    pub payload: bool,
    /// The slots of each channel.
    pub buffer: bool,
}

/// How the time of a workload is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds for one of these.
    Per(&'static str),
    /// Seconds for the whole.
    Whole,
}

impl Workload {
    /// The form with this name.
    ///
    /// # Errors
    ///
    /// One line that lists the forms of this workload.
    pub fn form(&self, name: &str) -> Result<&'static Form, String> {
        self.forms.iter().find(|f| f.name == name).ok_or_else(|| {
            let names: Vec<_> = self.forms.iter().map(|f| f.name).collect();
            format!("{} has no form `{name}`; it has: {}", self.name, names.join(", "))
        })
    }
}

impl Form {
    /// The entry of the system with this name.
    ///
    /// # Errors
    ///
    /// One line that lists the systems of this form of `workload`.
    pub fn entry(&self, workload: &Workload, system: &str) -> Result<&Entry, String> {
        self.entries.iter().find(|e| e.system == system).ok_or_else(|| {
            let names: Vec<_> = self.entries.iter().map(|e| e.system).collect();
            format!("{} {} has no system `{system}`; it has: {}", workload.name, self.name, names.join(", "))
        })
    }
}

impl Entry {
    /// Whether this build has the system; see the features of this crate.
    pub fn is_built(&self) -> bool {
        self.run.is_some()
    }

    /// A system that is in every run that it applies to.
    pub(crate) const fn new(system: &'static str, run: Option<Run>) -> Self {
        Entry {
            system,
            run,
            extra: false,
            lazy: false,
            single: false,
            unbound: false,
            reference: false,
            waits: false,
            outside: false,
        }
    }

    /// Only on request.
    pub(crate) const fn extra(mut self) -> Self {
        self.extra = true;
        self
    }

    /// Makes no task per node.
    pub(crate) const fn lazy(mut self) -> Self {
        self.lazy = true;
        self
    }

    /// Has exactly one worker.
    pub(crate) const fn single(mut self) -> Self {
        self.single = true;
        self
    }

    /// Is not bound by the number of workers.
    pub(crate) const fn unbound(mut self) -> Self {
        self.unbound = true;
        self
    }

    /// No competitor. (It makes no task per node either.)
    pub(crate) const fn reference(mut self) -> Self {
        self.reference = true;
        self.lazy()
    }

    /// Its closures wait.
    pub(crate) const fn waits(mut self) -> Self {
        self.waits = true;
        self
    }

    /// Is a program of its own.
    pub(crate) const fn outside(mut self) -> Self {
        self.outside = true;
        self
    }
}

impl Size {
    /// Only `n`.
    pub(crate) const fn n(n: u64) -> Self {
        Size { n, m: 0, buffer: None }
    }
}

impl Takes {
    /// Only `n`.
    pub(crate) const N: Takes = Takes { m: false, payload: false, buffer: false };
}

/// Refuses `n = 0`, for workloads that take any other.
pub(crate) fn at_least_one(p: &Params) -> Result<(), String> {
    if p.n == 0 { Err(format!("{}: n must be at least 1", p.workload)) } else { Ok(()) }
}

/// The program of a peer, or `None` in a build without peers.
#[cfg(all(feature = "peers", not(test)))]
macro_rules! peer {
    ($run:expr) => {
        Some($run as crate::entry::Run)
    };
}

/// The program of a peer, or `None` in a build without peers.
#[cfg(not(feature = "peers"))]
macro_rules! peer {
    ($run:expr) => {
        None
    };
}

/// Our program, or `None` in a build without Myriad.
#[cfg(all(feature = "ours", not(test)))]
macro_rules! ours {
    ($run:expr) => {
        Some($run as crate::entry::Run)
    };
}

/// Our program, or `None` in a build without Myriad.
#[cfg(not(feature = "ours"))]
macro_rules! ours {
    ($run:expr) => {
        None
    };
}

// The unit tests call none of these programs: there they are checked, and no code is made of them,
// which takes longer than all else of this crate. (The command's tests run each.)

/// `None`, of a program that compiles.
#[cfg(all(feature = "peers", test))]
macro_rules! peer {
    ($run:expr) => {
        if true { None } else { Some($run as crate::entry::Run) }
    };
}

/// `None`, of a program that compiles.
#[cfg(all(feature = "ours", test))]
macro_rules! ours {
    ($run:expr) => {
        if true { None } else { Some($run as crate::entry::Run) }
    };
}

pub(crate) use {ours, peer};
