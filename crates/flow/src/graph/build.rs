//! From what was written down to what runs: checks, and rows of successors.

use super::builder::GraphBuilder;
use super::levels::levels;
use super::node::{Marks, Node};
use super::{Extra, Graph};
use crate::one_by_one::OneByOne;
use crate::protocol::Count;
use myriad_base::sys::atomic::AtomicBool;
use myriad_sync::lock::Semaphore;
use std::fmt;

/// Why a graph cannot be built.
///
/// # Examples
/// ```
/// use myriad::flow::{Graph, graph::BuildError};
/// let mut graph = Graph::builder();
/// let read = graph.node("read", || ()).id();
/// graph.node("parse", || ()).after([read]).before([read]);
/// let error = graph.build().unwrap_err();
/// assert_eq!(error, BuildError::Cycle(vec!["parse".into(), "read".into()]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// These nodes come after each other in a circle, each after the one in front of it and the
    /// first after the last. (A loop is a [branch](super::NodeDraft::branches) back.)
    Cycle(Vec<String>),
    /// Each node comes after another one, or is a branch of a choice: a run could not start.
    NoStart,
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BuildError::Cycle(names) => {
                let first = names.first().map_or("", |name| name);
                write!(f, "nodes wait for each other: '{}' → '{first}'", names.join("' → '"))?;
                f.write_str("; take out one `after`, or make a loop of it by a choice with a branch back")
            }
            BuildError::NoStart => f.write_str(
                "no node can start: each comes after another one or is a branch of a choice; add one that does not",
            ),
        }
    }
}

impl std::error::Error for BuildError {}

/// The number of a node, of which there are less than 2³².
///
/// # Panics
/// If there are more.
pub(super) fn number(at: usize) -> u32 {
    u32::try_from(at).expect("a graph has less than 4,294,967,296 nodes and edges")
}

/// A list for each node, in one: `ends` says where each list ends.
struct Rows {
    ends: Vec<u32>,
    items: Vec<u32>,
}

impl Rows {
    /// The second ones of these pairs in the rows of the first ones, in the order of the pairs.
    fn new(nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Rows {
        // Each row's beginning, one place late: it is its end when the row is full.
        let mut ends = vec![0_u32; nodes + 2];
        pairs.clone().for_each(|(from, _)| ends[from as usize + 2] += 1);
        for at in 2..ends.len() {
            ends[at] += ends[at - 1];
        }
        let mut items = vec![0; ends.last().map_or(0, |end| *end as usize)];
        for (from, to) in pairs {
            let place = &mut ends[from as usize + 1];
            items[*place as usize] = to;
            *place += 1;
        }
        ends.pop();
        Rows { ends, items }
    }

    fn row(&self, node: usize) -> &[u32] {
        &self.items[self.ends[node] as usize..self.ends[node + 1] as usize]
    }
}

/// What comes after each node, in order: sorted by both ends, by two turns of a sort by counting.
/// Nodes whose order was given as they were added need only the second.
fn sorted(nodes: usize, edges: &[(u32, u32)]) -> Rows {
    if edges.is_sorted_by_key(|&(_, to)| to) {
        return Rows::new(nodes, edges.iter().copied());
    }
    let before = before(nodes, edges);
    Rows::new(nodes, (0..nodes).flat_map(|to| before.row(to).iter().map(move |&from| (from, number(to)))))
}

/// What each node comes after.
fn before(nodes: usize, edges: &[(u32, u32)]) -> Rows {
    Rows::new(nodes, edges.iter().map(|&(from, to)| (to, from)))
}

/// O(nodes + edges).
pub(super) fn build(builder: GraphBuilder<'_>) -> Result<Graph<'_>, BuildError> {
    let GraphBuilder { number: graph, drafts, edges, branches, weights } = builder;
    _ = number(edges.len() + branches.len());
    let count = drafts.len();
    let sorted = sorted(count, &edges);
    let branches = Rows::new(count, branches.into_iter());
    let mut predecessors = vec![0_u32; count];
    // What comes after a node, each once, then its branches.
    let mut successors = Vec::with_capacity(sorted.items.len() + branches.items.len());
    let rows: Vec<(u32, u32, u32)> = (0..count)
        .map(|at| {
            let begin = successors.len();
            successors.extend_from_slice(sorted.row(at));
            dedup_from(&mut successors, begin);
            successors[begin..].iter().for_each(|&to| predecessors[to as usize] += 1);
            let end = successors.len();
            successors.extend_from_slice(branches.row(at));
            (number(begin), number(end), number(successors.len()))
        })
        .collect();
    let after = |at: u32| {
        let (begin, end, _) = rows[at as usize];
        &successors[begin as usize..end as usize]
    };
    // (Where each leads on, no circle comes back.)
    let is_forward = edges.iter().all(|(from, to)| from < to);
    if !is_forward && let Some(circle) = find_cycle(&predecessors, after, &edges) {
        return Err(BuildError::Cycle(circle.into_iter().map(|at| drafts[at].name.to_string()).collect()));
    }
    let levels = weights.map(|weights| levels(&weights, &predecessors, after));
    let mut is_branch = vec![false; count];
    branches.items.iter().for_each(|&branch| is_branch[branch as usize] = true);
    let starts: Box<[u32]> = (0..count).filter(|&at| predecessors[at] == 0 && !is_branch[at]).map(number).collect();
    if starts.is_empty() && count > 0 {
        return Err(BuildError::NoStart);
    }
    let (mut nodes, mut extras, mut names) =
        (Vec::with_capacity(count), Vec::with_capacity(count), Vec::with_capacity(count));
    for (draft, (row, end, branches_end)) in drafts.into_inner().into_iter().zip(rows) {
        let marks = Marks::new(draft.is_choice || draft.limits.is_some());
        nodes.push(Node { body: draft.body, row, end, marks });
        extras.push(Extra { limits: draft.limits, branches_end });
        names.push(draft.name);
    }
    Ok(Graph {
        number: graph,
        nodes: OneByOne::from(nodes),
        counts: predecessors.into_iter().map(Count::new).collect(),
        extras: extras.into(),
        names: names.into(),
        successors: successors.into(),
        starts,
        levels,
        has_choices: !branches.items.is_empty(),
        turn: Semaphore::new(1),
        is_clean: AtomicBool::new(true),
    })
}

/// Takes the doubles out of the sorted end of a list.
fn dedup_from(list: &mut Vec<u32>, begin: usize) {
    let mut kept = begin;
    for at in begin..list.len() {
        if kept == begin || list[kept - 1] != list[at] {
            list[kept] = list[at];
            kept += 1;
        }
    }
    list.truncate(kept);
}

/// Takes away nodes that come after none (Kahn, 1962). What is left lies on circles, or behind one.
fn find_cycle<'a>(predecessors: &[u32], after: impl Fn(u32) -> &'a [u32], edges: &[(u32, u32)]) -> Option<Vec<usize>> {
    let mut left = predecessors.to_vec();
    let mut free: Vec<u32> = (0..left.len()).filter(|&at| left[at] == 0).map(number).collect();
    let mut taken = 0;
    while let Some(node) = free.pop() {
        taken += 1;
        for &next in after(node) {
            left[next as usize] -= 1;
            if left[next as usize] == 0 {
                free.push(next);
            }
        }
    }
    if taken == left.len() {
        return None;
    }
    let before = before(left.len(), edges);
    // From any of them back to one that it waits for, until one comes again.
    let mut at = left.iter().position(|&left| left > 0)?;
    let (mut path, mut place) = (Vec::new(), vec![None; left.len()]);
    while place[at].is_none() {
        place[at] = Some(path.len());
        path.push(at);
        at = before.row(at).iter().map(|&before| before as usize).find(|&before| left[before] > 0)?;
    }
    let mut circle = path.split_off(place[at]?);
    circle.reverse();
    Some(circle)
}
