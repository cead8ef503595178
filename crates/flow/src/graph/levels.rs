//! The critical path first: which of the nodes that are ready begins next.
//!
//! The *level* of a node (its *b-level*) is how much work there is from its begin to the end of the
//! graph, on the longest way. A task goes on with the highest of the nodes that have become ready
//! by its last one. The others wait in a heap by level, and for each there is a task; whichever of
//! these begins takes the highest. So it is list scheduling by levels (Hu, 1961; Graham, 1969), but
//! that a way which has begun goes on: its last nodes are low, and would have to wait for all that
//! is wide and has a few nodes behind it.
//!
//! **Rejected.** Sorting the rows of successors by level: which costs nothing in a run, but of what
//! a worker has offered it takes the last itself, and others take the first, so that one of them
//! has the order upside down. The engine's priorities: there are three.

use super::build::number;
use myriad_base::sys::mutex::Mutex;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The levels of nodes with these weights: at least 1.
pub(super) fn levels<'a>(weights: &[(u32, u32)], predecessors: &[u32], after: impl Fn(u32) -> &'a [u32]) -> Box<[u64]> {
    let count = predecessors.len();
    let mut levels: Box<[u64]> = vec![1; count].into();
    weights.iter().for_each(|&(node, weight)| levels[node as usize] = u64::from(weight.max(1)));
    let (mut left, mut order) = (predecessors.to_vec(), Vec::with_capacity(count));
    order.extend((0..count).filter(|&at| left[at] == 0).map(number));
    let mut next = 0;
    while let Some(&node) = order.get(next) {
        next += 1;
        for &later in after(node) {
            left[later as usize] -= 1;
            if left[later as usize] == 0 {
                order.push(later);
            }
        }
    }
    for &node in order.iter().rev() {
        let later = after(node).iter().map(|&later| levels[later as usize]).max();
        levels[node as usize] += later.unwrap_or(0);
    }
    levels
}

/// The nodes of a run that are ready and have not begun. For each there is a task.
pub(super) struct ReadyNodes<'g> {
    levels: &'g [u64],
    /// With a reversed number, so that of two on one level the first added comes first.
    waiting: Mutex<BinaryHeap<(u64, Reverse<u32>)>>,
}

impl<'g> ReadyNodes<'g> {
    pub(super) fn new(levels: &'g [u64]) -> Self {
        ReadyNodes { levels, waiting: Mutex::new(BinaryHeap::new()) }
    }

    fn entry(&self, node: u32) -> (u64, Reverse<u32>) {
        (self.levels[node as usize], Reverse(node))
    }

    /// Of these, all of which are ready, the highest begins now; the others wait.
    pub(super) fn put_all_but_highest(&self, nodes: impl Iterator<Item = u32>) -> (Option<u32>, usize) {
        let mut first: Option<u32> = None;
        let mut others = Vec::new();
        for node in nodes {
            match first {
                Some(known) if self.entry(known) >= self.entry(node) => others.push(node),
                known => {
                    others.extend(known);
                    first = Some(node);
                }
            }
        }
        let count = others.len();
        if count > 0 {
            self.waiting.lock().extend(others.into_iter().map(|node| self.entry(node)));
        }
        (first, count)
    }

    /// This one waits.
    pub(super) fn put(&self, node: u32) {
        self.waiting.lock().push(self.entry(node));
    }

    /// The highest of those that wait.
    pub(super) fn take(&self) -> Option<u32> {
        self.waiting.lock().pop().map(|(_, Reverse(node))| node)
    }
}
