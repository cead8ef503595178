//! Trees of ways to compute, made by chance from a seed; each node knows its value, and how far it
//! is.

use crate::foreign::Foreign;
use crate::kinds::{ALL, Kind};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

/// Nodes below each other.
const DEPTH: usize = 6;
/// Nodes of a tree.
const NODES: usize = 48;

/// Numbers by chance.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
}

/// Who may wait in the system for a task, which holds a worker. docs/dev/RAYON-INSIDE.md says why
/// there is no more in one round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Profile {
    /// Tasks and jobs; and threads that are no workers do not call rayon.
    Jobs,
    /// Tasks.
    Tasks,
    /// Nobody.
    Nobody,
}

impl Profile {
    pub(crate) fn of(seed: u64) -> Profile {
        [Profile::Nobody, Profile::Jobs, Profile::Nobody, Profile::Tasks][(seed % 4) as usize]
    }
}

/// Where a node is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Site {
    /// In a task of Myriad.
    Task,
    /// In a job of rayon's, on Myriad's workers.
    Job,
    /// On a thread that is no worker of anybody's.
    Thread,
    /// In a job of rayon's, in a pool with threads of its own.
    Own,
}

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) site: Site,
    /// Its own number: what it adds, and what it takes by chance.
    pub(crate) number: u64,
    /// Which child of its parent it is.
    pub(crate) turn: u64,
    pub(crate) children: Vec<usize>,
    pub(crate) value: u64,
    depth: usize,
    /// 0: not begun, 1: begun, 2: ended.
    pub(crate) state: AtomicU8,
}

pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    pub(crate) foreign: Arc<Foreign>,
    profile: Profile,
    /// Nodes that wait in the system.
    held: usize,
}

/// What a child adds to its parent's value.
pub(crate) fn weight(value: u64, turn: u64) -> u64 {
    value.wrapping_mul(2 * turn + 3)
}

impl Tree {
    pub(crate) fn new(seed: u64, root: usize, profile: Profile, foreign: Arc<Foreign>) -> Tree {
        let mut chance = Chance::new(seed.wrapping_mul(SEED_PRIME).wrapping_add(root as u64));
        let mut tree = Tree { nodes: Vec::new(), foreign, profile, held: 0 };
        let site = [Site::Thread, Site::Task, Site::Job][root];
        tree.grow(&mut chance, site, 0, 0);
        tree
    }

    fn grow(&mut self, chance: &mut Chance, site: Site, depth: usize, turn: u64) -> usize {
        let kind = loop {
            // (One in so many more often: it is what is hard.)
            let kind = if chance.below(12) == 0 { Kind::SystemWait } else { ALL[chance.below(ALL.len())] };
            if self.allows(kind, site, depth) {
                break kind;
            }
        };
        let (index, number) = (self.nodes.len(), chance.next());
        let state = AtomicU8::new(0);
        self.nodes.push(Node { kind, site, number, turn, children: Vec::new(), value: 0, depth, state });
        self.held += usize::from(kind == Kind::SystemWait);
        let children = if kind.is_leaf() { 0 } else { 1 + chance.below(3) };
        let mut value = number;
        for turn in 0..children as u64 {
            let child = self.grow(chance, kind.site_of_children(site), depth + 1, turn);
            value = value.wrapping_add(weight(self.nodes[child].value, turn));
            self.nodes[index].children.push(child);
        }
        self.nodes[index].value = value;
        index
    }

    fn allows(&self, kind: Kind, site: Site, depth: usize) -> bool {
        let is_full = depth == DEPTH - 1 || self.nodes.len() >= NODES;
        if kind.is_leaf() {
            // Few of them higher up, so that trees are deep.
            return (is_full || depth >= 3) && self.foreign.has(kind);
        }
        if is_full {
            return false;
        }
        match kind {
            Kind::SystemWait => match self.profile {
                Profile::Jobs => self.held < 5 && matches!(site, Site::Task | Site::Job),
                Profile::Tasks => self.held < 3 && site == Site::Task,
                Profile::Nobody => false,
            },
            // (A thread that polls takes a processor, for nothing.)
            Kind::Poll => matches!(site, Site::Task | Site::Job),
            // It would wait, with the pool's thread, for a job of the pool's.
            Kind::RayonSpawn if site == Site::Own => false,
            _ => !(self.profile == Profile::Jobs && site == Site::Thread && kind.is_global_rayon(site)),
        }
    }

    pub(crate) fn count(&self, counts: &mut [u64; ALL.len()]) {
        self.nodes.iter().for_each(|node| counts[node.kind as usize] += 1);
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, index: usize) -> fmt::Result {
        let node = &self.nodes[index];
        let state = ["not begun", "begun", "ended"][usize::from(node.state.load(SeqCst))];
        writeln!(f, "{:1$}{2:?} ({3:?}): {state}", "", 2 * node.depth + 2, node.kind, node.site)?;
        node.children.iter().try_for_each(|&child| self.write(f, child))
    }
}

/// So that the trees of a round, and of the next one, have nothing in common.
const SEED_PRIME: u64 = 0x0001_0000_01b3;

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, " (in the system wait: {:?})", self.profile)?;
        self.write(f, 0)
    }
}
