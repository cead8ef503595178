//! A graph that is being written down.

use super::build::{self, BuildError};
use super::limits::Limits;
use super::name::Name;
use super::node::{Body, NodeResult};
use super::{Graph, NodeId};
use crate::one_by_one::OneByOne;
use myriad_core::cancel::Token;
use myriad_sync::lock::Semaphore;
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

/// Collects the nodes of a [`Graph`] and their order.
///
/// Bodies may borrow what lives as long as the graph (`'env`).
///
/// # Examples
/// ```
/// use myriad::flow::Graph;
/// let mut graph = Graph::builder();
/// let fetch = graph.node("fetch", || println!("fetch")).id();
/// let clean = graph.node("clean", || println!("clean")).after([fetch]).id();
/// graph.node("count", || println!("count")).after([clean]);
/// graph.node("plot", || println!("plot")).after([clean]);
/// graph.build()?.run()?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct GraphBuilder<'env> {
    /// Tells this builder's nodes from others'.
    pub(super) number: u32,
    pub(super) drafts: OneByOne<Draft<'env>>,
    /// From a node to one that comes after it.
    pub(super) edges: Vec<(u32, u32)>,
    /// From a choice to its branches, in order.
    pub(super) branches: Vec<(u32, u32)>,
    /// Of nodes, if the critical path is to go first: those that are not 1.
    pub(super) weights: Option<Vec<(u32, u32)>>,
}

/// A node before the graph is built.
pub(super) struct Draft<'env> {
    pub(super) name: Name,
    pub(super) body: Body<'env>,
    pub(super) is_choice: bool,
    pub(super) limits: Option<Box<Limits<'env>>>,
}

impl<'env> GraphBuilder<'env> {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let (edges, branches) = (Vec::new(), Vec::new());
        GraphBuilder { number, drafts: OneByOne::default(), edges, branches, weights: None }
    }

    /// Adds a node, whose body runs once in each run, when all nodes that it comes after have
    /// ended. Names serve for errors and pictures, and need not differ.
    ///
    /// The body returns `()` or a `Result`. It may block: on channels, locks, timers, other tasks,
    /// and on a run of another graph, which is how graphs nest.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::Graph;
    /// let mut inner = Graph::builder();
    /// inner.node("inner", || println!("inside"));
    /// let inner = inner.build()?;
    /// let mut outer = Graph::builder();
    /// outer.node("sub-graph", || inner.run());
    /// outer.build()?.run()?;
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn node<R: NodeResult>(
        &mut self,
        name: impl Into<String>,
        body: impl Fn() -> R + Send + Sync + 'env,
    ) -> NodeDraft<'_, 'env> {
        self.add(name.into().into(), false, Box::new(move || body().into_result().map(|()| 0)))
    }

    /// Adds a choice: a node whose body says by number which of its
    /// [branches](NodeDraft::branches) runs next. A number without a branch starts none.
    ///
    /// A branch is started by the choice alone, and starts each time that the choice names it, so
    /// that a branch back to an earlier node is a loop. A node that is a branch is no start of the
    /// graph. What stands [`after`](NodeDraft::after) a node counts the nodes that it comes after,
    /// and never choices of which it is a branch: a start by a choice leaves that count as it is.
    /// A node that several choices may start at the same time runs as often as it is started, also
    /// beside itself. What comes after a node that has failed in this run does not run, also where
    /// a choice starts it.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::Graph;
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    /// let tosses = AtomicU32::new(0);
    /// let mut graph = Graph::builder();
    /// let start = graph.node("start", || ()).id();
    /// let toss = graph.node("toss", || _ = tosses.fetch_add(1, Relaxed)).after([start]).id();
    /// let done = graph.node("done", || ()).id();
    /// let enough = || usize::from(tosses.load(Relaxed) == 5);
    /// graph.choice("five?", enough).after([toss]).branches([toss, done]);
    /// graph.build()?.run()?;
    /// assert_eq!(tosses.into_inner(), 5);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn choice(
        &mut self,
        name: impl Into<String>,
        body: impl Fn() -> usize + Send + Sync + 'env,
    ) -> NodeDraft<'_, 'env> {
        self.add(name.into().into(), true, Box::new(move || Ok(u32::try_from(body()).unwrap_or(u32::MAX))))
    }

    fn add(&mut self, name: Name, is_choice: bool, body: Body<'env>) -> NodeDraft<'_, 'env> {
        self.drafts.push(Draft { name, body, is_choice, limits: None });
        let at = self.drafts.len() - 1;
        NodeDraft { builder: self, at }
    }

    /// How many nodes there are.
    pub(crate) fn len(&self) -> usize {
        self.drafts.len()
    }

    /// Adds the node of this number, the next one.
    pub(crate) fn add_body(&mut self, name: Name, body: Body<'env>) {
        self.add(name, false, body);
    }

    pub(crate) fn rename(&mut self, at: usize, name: Name) {
        self.drafts[at].name = name;
    }

    /// The order, as pairs of a node and one that comes after it: the numbers of nodes that are
    /// there, or are before the graph is built.
    pub(crate) fn edges(&mut self) -> &mut Vec<(u32, u32)> {
        &mut self.edges
    }

    /// Runs of the graph begin with what takes longest: a worker that is free begins the node from
    /// which the longest way leads to the end of the graph, of those that are ready; and goes on
    /// with the one with the longest way of those that have become ready by it. The length of a way
    /// is the sum of its nodes' [weights](NodeDraft::weight), which are 1 where nothing is said.
    /// (Branches of choices are no part of a way.)
    ///
    /// It pays where a long way stands beside many other nodes: without it that way may be begun
    /// last. But each node that becomes ready beside another one goes through a heap that the whole
    /// run has in common: a node that does nothing takes about twice the instructions. So it is no
    /// default.
    ///
    /// # Examples
    /// On one worker the order is the one that is said:
    /// ```
    /// use myriad::flow::Graph;
    /// use std::sync::Mutex;
    /// let seen = Mutex::new(String::new());
    /// let see = |name: &'static str| { let seen = &seen; move || seen.lock().unwrap().push_str(name) };
    /// let mut graph = Graph::builder();
    /// graph.critical_path_first();
    /// (0..3).for_each(|_| _ = graph.node("short", see("s")));
    /// graph.node("long", see("L")).weight(5);
    /// let first = graph.node("first", see("1")).id();
    /// graph.node("second", see("2")).after([first]);
    /// let rt = myriad::Builder::new().workers(1).spare_workers(0).build()?;
    /// rt.run(|| graph.build().unwrap().run().unwrap());
    /// assert_eq!(*seen.lock().unwrap(), "L12sss");
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "b-level")]
    #[doc(alias = "priority")]
    pub fn critical_path_first(&mut self) -> &mut Self {
        self.weights.get_or_insert_default();
        self
    }

    /// Checks the order, and makes the graph. O(nodes + edges).
    ///
    /// # Errors
    /// Nodes that come after each other in a circle, which the error names; or no node that a run
    /// could start with.
    pub fn build(self) -> Result<Graph<'env>, BuildError> {
        build::build(self)
    }

    #[track_caller]
    fn index(&self, node: NodeId) -> u32 {
        assert!(node.graph == self.number, "this node is of another graph: a graph orders its own nodes only");
        node.index
    }
}

impl fmt::Debug for GraphBuilder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GraphBuilder").field("nodes", &self.drafts.len()).finish_non_exhaustive()
    }
}

/// A node that has just been added: says what it comes after, and how it runs.
///
/// # Examples
/// ```
/// use myriad::{flow::Graph, sync::Semaphore};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// use std::time::Duration;
/// let (disk, calls) = (Semaphore::new(2), AtomicU32::new(0));
/// let fetch = || if calls.fetch_add(1, Relaxed) < 2 { Err("no answer") } else { Ok(()) };
/// let mut graph = Graph::builder();
/// let plot = graph.node("plot", || ()).id();
/// let fetch = graph.node("fetch", fetch).retries(2).time_limit(Duration::from_secs(10)).id();
/// graph.node("save", || ()).after([fetch]).before([plot]).permits(&disk, 1);
/// graph.build()?.run()?;
/// assert_eq!(calls.into_inner(), 3);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug)]
pub struct NodeDraft<'a, 'env> {
    builder: &'a mut GraphBuilder<'env>,
    at: usize,
}

impl<'env> NodeDraft<'_, 'env> {
    /// The node's name for the other nodes of this graph.
    pub fn id(&self) -> NodeId {
        NodeId { graph: self.builder.number, index: build::number(self.at) }
    }

    /// The node runs when all these have ended. (One that is named twice counts once.)
    ///
    /// # Panics
    /// If one of them is of another graph.
    #[track_caller]
    pub fn after(self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        for node in nodes {
            let node = self.builder.index(node);
            self.builder.edges.push((node, build::number(self.at)));
        }
        self
    }

    /// These run when the node has ended, and all else that they come after.
    ///
    /// # Panics
    /// If one of them is of another graph.
    #[track_caller]
    pub fn before(self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        for node in nodes {
            let node = self.builder.index(node);
            self.builder.edges.push((build::number(self.at), node));
        }
        self
    }

    /// What a [choice](GraphBuilder::choice) chooses from, in the order of its numbers.
    ///
    /// # Panics
    /// If the node is no choice, or one of these is of another graph.
    #[track_caller]
    pub fn branches(self, nodes: impl IntoIterator<Item = NodeId>) -> Self {
        let draft = &self.builder.drafts[self.at];
        assert!(draft.is_choice, "the node '{}' has no branches: they belong to a choice", &*draft.name);
        for node in nodes {
            let node = self.builder.index(node);
            self.builder.branches.push((build::number(self.at), node));
        }
        self
    }

    /// The node's body runs with so many permits of this semaphore, which go back when it has
    /// ended, in whatever way. While it waits for them it holds no worker. May be said for several
    /// semaphores: all nodes take them in one order, so that no two wait for each other.
    pub fn permits(mut self, semaphore: &'env Semaphore, count: usize) -> Self {
        self.limits().add_permits(semaphore, count);
        self
    }

    /// How long the body takes, in any unit, beside other nodes of this graph: for the [critical
    /// path](GraphBuilder::critical_path_first), which goes first where a node has a weight. 0 is
    /// as 1. Of several weights the last counts.
    pub fn weight(self, weight: u32) -> Self {
        self.builder.weights.get_or_insert_default().push((build::number(self.at), weight));
        self
    }

    /// A body that fails or panics is called again, up to so many times.
    pub fn retries(mut self, times: u32) -> Self {
        self.limits().retries = times;
        self
    }

    /// Each call of the body is cancelled after so long, and has failed; the time in which it waits
    /// for permits does not count. (A limit for the whole run: a
    /// [`timeout`](myriad_core::time::timeout) around it.)
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limits().time = Some(limit);
        self
    }

    /// Cancels the node when the token is cancelled: a body that runs unwinds at its next wait, one
    /// that does not is not begun any more. What comes after the node is skipped; the rest of the
    /// graph runs on. The token of several nodes cancels that part of the graph.
    ///
    /// # Examples
    /// ```
    /// use myriad::{cancel::Token, flow::Graph};
    /// let preview = Token::new();
    /// let mut graph = Graph::builder();
    /// let draw = graph.node("draw", || ()).token(&preview).id();
    /// graph.node("show", || ()).after([draw]);
    /// graph.node("save", || ());
    /// let graph = graph.build()?;
    /// preview.cancel();
    /// let error = graph.run().unwrap_err();
    /// assert_eq!(error.to_string(), "the node 'draw' was cancelled; 1 node after it did not run");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn token(mut self, token: &Token) -> Self {
        self.limits().token = Some(token.clone());
        self
    }

    fn limits(&mut self) -> &mut Limits<'env> {
        self.builder.drafts[self.at].limits.get_or_insert_default()
    }
}
