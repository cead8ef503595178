//! Which processors are near each other: siblings of a core, a shared cache, a memory node.
//!
//! Linux tells it under `/sys/devices/system`: of each processor `cpu/cpuN/topology` (the core and
//! the package) and `cpu/cpuN/cache/indexM` (who shares the cache), and `node/nodeM/cpulist`. What
//! the system does not tell counts as common to all, so a container that hides the files is a flat
//! machine. A [`Topology`] is a plain value: tests make those of machines that they have not got.
//!
//! **Rejected.** The system's table of node distances: of two nodes that are not ours, which one is
//! nearer decides nothing that was measurable for a search that finds a task in the first places.
//! `hwloc`: a library in C for four files.

use crate::sys::fact::Fact;
use std::path::Path;

/// How far two processors are from each other; the nearer is the lesser. See
/// [`Topology::distance`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Distance {
    /// The same processor, or hardware threads of one core.
    SameCore,
    /// Cores with a cache in common, the last level.
    SameCache,
    /// Cores of one memory node.
    SameNode,
    /// Cores of different memory nodes.
    Remote,
}

/// The places of one processor: equal numbers are equal places.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Processor {
    cpu: usize,
    core: usize,
    cache: usize,
    node: usize,
}

/// The processors of a machine, and how far they are from each other.
///
/// # Examples
/// ```
/// # mod myriad { pub mod scheduler { pub use myriad_base::sys::thread::{Distance, Topology}; } }
/// use myriad::scheduler::{Distance, Topology};
/// // 2 memory nodes of 2 cores with 2 hardware threads.
/// let machine = Topology::regular(2, 1, 2, 2);
/// assert_eq!(machine.cpus().len(), 8);
/// assert_eq!(machine.distance(0, 1), Distance::SameCore);
/// assert!(machine.distance(0, 2) < machine.distance(0, 4));
/// let near = machine.nearest_first(&[0, 4, 1]).unwrap();
/// assert_eq!(*near[0], [2, 1], "the worker on processor 1, then the one on 4");
/// println!("{:?}", Topology::of_machine());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Topology(Vec<Processor>);

impl Topology {
    /// A regular machine: so many memory nodes, each with so many caches of the last level, each
    /// shared by so many cores of so many hardware threads. Processors are numbered by node, cache,
    /// core and thread, the threads of a core one after the other.
    pub fn regular(nodes: usize, caches: usize, cores: usize, threads: usize) -> Topology {
        let place = |cpu| {
            let core = cpu / threads.max(1);
            let cache = core / cores.max(1);
            Processor { cpu, core, cache, node: cache / caches.max(1) }
        };
        Topology((0..nodes * caches * cores * threads).map(place).collect())
    }

    /// This machine, as it was at the first question.
    pub fn of_machine() -> &'static Topology {
        static MACHINE: Fact<Topology> = Fact::new();
        MACHINE.get(|| Topology::read(Path::new("/sys/devices/system"), &super::cores::processors().cpus))
    }

    /// Reads what a system says of these processors in the files below `root`, which is
    /// `/sys/devices/system` of that system. As [`of_machine`](Self::of_machine), for another one.
    pub fn read(root: &Path, cpus: &[usize]) -> Topology {
        let text = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
        // The lowest number of those that share it names a place. (The processor itself is one.)
        let first = |path: &Path| list(&text(path)).into_iter().min();
        let nodes: Vec<(usize, Vec<usize>)> = entries(&root.join("node"), "node")
            .into_iter()
            .map(|number| (number, list(&text(&root.join(format!("node/node{number}/cpulist"))))))
            .collect();
        let place = |&cpu: &usize| {
            let own = root.join(format!("cpu/cpu{cpu}"));
            let core = first(&own.join("topology/thread_siblings_list")).unwrap_or(cpu);
            let node = nodes.iter().find(|node| node.1.contains(&cpu)).map_or(0, |node| node.0);
            let caches = entries(&own.join("cache"), "index").into_iter().map(|index| {
                let cache = own.join(format!("cache/index{index}"));
                (text(&cache.join("level")).trim().parse().unwrap_or(0), first(&cache.join("shared_cpu_list")))
            });
            let last: Option<(u32, Option<usize>)> = caches.max();
            Processor { cpu, core, cache: last.and_then(|last| last.1).unwrap_or(0), node }
        };
        Topology(cpus.iter().map(place).collect())
    }

    /// The numbers of its processors.
    pub fn cpus(&self) -> impl ExactSizeIterator<Item = usize> {
        self.0.iter().map(|processor| processor.cpu)
    }

    /// How far these processors are from each other; [`Distance::SameNode`] if it does not know
    /// one of them. Time proportional to the number of processors.
    pub fn distance(&self, a: usize, b: usize) -> Distance {
        let find = |cpu| self.0.iter().find(|processor| processor.cpu == cpu);
        match (find(a), find(b)) {
            (Some(a), Some(b)) => a.distance(b),
            _ => Distance::SameNode,
        }
    }

    /// For each of the workers that run on these processors: the other workers, the nearest first,
    /// and of equally near ones the next by number. `None`: all are equally far from each other.
    pub fn nearest_first(&self, cpus: &[usize]) -> Option<Box<[Box<[u16]>]>> {
        let n = cpus.len();
        let places: Vec<_> = cpus.iter().map(|&cpu| self.0.iter().find(|p| p.cpu == cpu)).collect();
        let distance = |a: usize, b: usize| match (places[a], places[b]) {
            (Some(a), Some(b)) => a.distance(b),
            _ => Distance::SameNode,
        };
        if n <= 2 || n > usize::from(u16::MAX) {
            return None;
        }
        let usual = distance(0, 1);
        if (0..n).all(|a| (a + 1..n).all(|b| distance(a, b) == usual)) {
            return None;
        }
        let order = |me: usize| {
            let mut others: Vec<u16> = (1..n).map(|k| ((me + k) % n) as u16).collect();
            // Stable: of equally near ones the next by number stays first, so that not all thieves
            // go to the same victim.
            others.sort_by_key(|&other| distance(me, usize::from(other)));
            others.into_boxed_slice()
        };
        Some((0..n).map(order).collect())
    }
}

impl Processor {
    fn distance(&self, other: &Processor) -> Distance {
        match () {
            () if self.core == other.core => Distance::SameCore,
            // Nodes first: where the system does not tell the cache, all have one in common.
            () if self.node != other.node => Distance::Remote,
            () if self.cache == other.cache => Distance::SameCache,
            () => Distance::SameNode,
        }
    }
}

/// The numbers of the entries of this folder that are called `prefix` and a number.
fn entries(folder: &Path, prefix: &str) -> Vec<usize> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let number = |name: std::ffi::OsString| name.to_str()?.strip_prefix(prefix)?.parse().ok();
    let mut numbers: Vec<usize> = entries.filter_map(|entry| number(entry.ok()?.file_name())).collect();
    numbers.sort_unstable();
    numbers
}

/// A list of numbers as Linux writes it: "0-3,8-11". What is no number is left out.
fn list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

#[cfg(all(test, not(loom), not(miri)))]
mod test;
