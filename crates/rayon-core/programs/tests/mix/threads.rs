//! How many threads of the system there are, and how many there may be:
//! docs/dev/RAYON-INSIDE.md, "The mix".

use crate::foreign::{GANG, PARTS};
use crate::kinds::{Kind, TOKIO_WORKERS};
use crate::{ROOTS, tree::Tree};
use std::sync::Arc;

/// Threads of this process; 0 where the system does not tell.
pub(crate) fn now() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("Threads:"));
    line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// Sums over rounds: of each sort the most, as a thread of a sort is used again by the same sort
/// only.
pub(crate) struct Bound {
    fibers: bool,
    fixed: usize,
    most: [usize; 6],
}

impl Bound {
    pub(crate) fn new(fibers: bool, workers: usize) -> Bound {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        // The main thread, the watchdog, the trees'; workers, their monitor, spares beside those
        // that compute (one more for each doubling of the time); tokio's; a gang; OpenBLAS's own,
        // which it starts when it is loaded.
        let fixed = 2 + ROOTS + workers + 1 + 8 + TOKIO_WORKERS + GANG + cores;
        Bound { fibers, fixed, most: [0; 6] }
    }

    pub(crate) fn round(&mut self, trees: &[Arc<Tree>]) {
        let mut round = [0; 6];
        for node in trees.iter().flat_map(|tree| &tree.nodes) {
            let children = node.children.len();
            match node.kind {
                Kind::Blocking | Kind::Tokio => round[0] += 1,
                Kind::InTokio => round[1] += children,
                // (Twice: those of the round before may be about to end.)
                Kind::Threads => round[2] += 2 * children,
                Kind::Install => round[3] += 2 * node.own_threads(),
                // A spare for each that holds its worker.
                Kind::SystemWait | Kind::Dgemm => round[4] += 1,
                Kind::Fftw => round[4] += 1,
                _ => {}
            }
            // In threads mode a task that waits has a thread.
            if !self.fibers {
                round[5] += 1 + 2 * children + if node.kind == Kind::Fftw { PARTS } else { 0 };
            }
        }
        self.most.iter_mut().zip(round).for_each(|(most, round)| *most = round.max(*most));
    }

    pub(crate) fn total(&self) -> u64 {
        (self.fixed + self.most.iter().sum::<usize>()) as u64
    }
}
