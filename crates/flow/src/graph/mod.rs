//! Static graphs: nodes in an order that is given beforehand, built once and run many times.
//!
//! Examples: [`Graph`], [`GraphBuilder`], [`NodeDraft`], [`RunError`].

mod build;
mod builder;
mod error;
mod levels;
mod limits;
mod name;
mod node;
mod offer;
mod run;
mod run_async;
mod traced;

pub use crate::panic::Panic;
pub use build::BuildError;
pub use builder::{GraphBuilder, NodeDraft};
pub use error::{Cause, Failure, RunError, Skipped};
pub(crate) use name::Name;
pub(crate) use node::Error;
pub use node::NodeResult;
pub use run_async::RunAsync;

use crate::one_by_one::OneByOne;
use crate::protocol::Count;
use limits::Limits;
use myriad_base::sys::atomic::AtomicBool;
use myriad_sync::lock::Semaphore;
use node::Node;
use std::fmt;
use std::sync::Arc;

/// Bodies in an order: each runs once in a run, when those that it comes after have ended, on
/// whatever worker has time. Built once by a [`GraphBuilder`], and run as often as is wanted.
///
/// A node counts down those that come after it: the first of these that is ready runs in the same
/// task, the others are tasks of their own. [`GraphBuilder::critical_path_first`] is another order.
/// What passes from node to node, the bodies keep in common: in a lock, an atomic, a `OnceLock`.
///
/// **Failure.** A body that returns an error or panics fails its node alone. All that comes after
/// it is skipped, everything else runs, and then [`run`](Self::run) returns the error.
///
/// # Examples
/// ```
/// use myriad::flow::Graph;
/// use std::sync::Mutex;
/// let seen = Mutex::new(Vec::new());
/// let mut graph = Graph::builder();
/// let first = graph.node("first", || seen.lock().unwrap().push("first")).id();
/// let left = graph.node("left", || seen.lock().unwrap().push("left")).after([first]).id();
/// let right = graph.node("right", || seen.lock().unwrap().push("right")).after([first]).id();
/// graph.node("last", || seen.lock().unwrap().push("last")).after([left, right]);
/// let graph = graph.build()?;
/// graph.run()?;
/// graph.run_n(9)?;
/// let seen = seen.lock().unwrap();
/// assert_eq!((seen.len(), seen[0], seen[39]), (40, "first", "last"));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[doc(alias = "Taskflow")]
#[doc(alias = "DAG")]
pub struct Graph<'env> {
    number: u32,
    nodes: OneByOne<Node<'env>>,
    counts: Box<[Count]>,
    extras: Box<[Extra<'env>]>,
    names: Arc<[Name]>,
    /// For each node, in a row: what comes after it, then its branches.
    successors: Box<[u32]>,
    starts: Box<[u32]>,
    /// Of each node, if the critical path goes first.
    levels: Option<Box<[u64]>>,
    /// A run may leave counts behind that are not as they were.
    has_choices: bool,
    /// Who has the permit runs.
    turn: Semaphore,
    /// The last run has visited each node. Written by who has the turn.
    is_clean: AtomicBool,
}

/// What a run needs to know of few nodes only.
struct Extra<'env> {
    limits: Option<Box<Limits<'env>>>,
    /// Where its branches end.
    branches_end: u32,
}

/// A node of one graph, for the order of others.
///
/// Example: [`GraphBuilder`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId {
    graph: u32,
    index: u32,
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NodeId").field(&self.index).finish()
    }
}

impl<'env> Graph<'env> {
    /// A graph without nodes yet.
    pub fn builder() -> GraphBuilder<'env> {
        GraphBuilder::new()
    }

    /// Runs the graph once.
    ///
    /// # Blocking
    /// Until all nodes have ended, and before that until other runs of this graph have, which take
    /// turns as they come. A body that runs its own graph waits for itself, and so do two graphs
    /// whose bodies run each other.
    ///
    /// # Cancellation
    /// If the caller is cancelled, so are the nodes that run, and no others begin; it unwinds when
    /// they have ended. The graph can be run again.
    ///
    /// # Foreign threads
    /// The nodes run on the global runtime.
    ///
    /// # Errors
    /// Nodes have failed.
    pub fn run(&self) -> Result<(), RunError> {
        self.run_once(None)
    }

    /// Runs the graph so many times, one after the other, up to the first error.
    ///
    /// # Blocking
    /// As [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_n(&self, times: usize) -> Result<(), RunError> {
        (0..times).try_for_each(|_| self.run())
    }

    /// Runs the graph until `done` says so, which is asked before each run, or up to the first
    /// error.
    ///
    /// # Blocking
    /// As [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::Graph;
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// let error = AtomicU32::new(1000);
    /// let mut graph = Graph::builder();
    /// graph.node("refine", || error.store(error.load(Relaxed) / 2, Relaxed));
    /// graph.build()?.run_until(|| error.load(Relaxed) < 10)?;
    /// assert_eq!(error.into_inner(), 7);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn run_until(&self, mut done: impl FnMut() -> bool) -> Result<(), RunError> {
        while !done() {
            self.run()?;
        }
        Ok(())
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All counts are as at the beginning.
    #[cold]
    fn reset(&self) {
        self.counts.iter().for_each(Count::reset);
        self.nodes.iter().for_each(|node| node.marks.set_doomed(false));
    }

    /// What comes after a node.
    fn after(&self, node: usize) -> &[u32] {
        self.row(&self.nodes[node])
    }

    /// What comes after this node.
    #[inline(always)]
    fn row(&self, node: &Node<'_>) -> &[u32] {
        &self.successors[node.row as usize..node.end as usize]
    }

    /// The branches of a choice.
    fn branches(&self, node: usize) -> &[u32] {
        &self.successors[self.nodes[node].end as usize..self.extras[node].branches_end as usize]
    }
}

impl fmt::Debug for Graph<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Graph").field("nodes", &self.nodes.len()).finish_non_exhaustive()
    }
}
