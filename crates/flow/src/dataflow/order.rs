//! Nodes in an order that their arguments do not say: one after the other, or all at once.

use super::args::{Args, Body, Kept};
use super::handle::Handle;
use super::kept::LentAll;
use super::options::Options;
use super::output::{Origin, Parent, Taker, pass_to};
use super::promise::Promise;
use super::ready::{Dependent, Ready};
use super::settings::NodeName;
use crate::protocol::Edge;
use myriad_base::sys::mutex::Mutex;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// Nodes that run one after the other, in the order in which they are spawned, however each ends;
/// each also waits for its arguments.
///
/// # Examples
/// ```
/// use myriad::flow::{self, Sequence};
/// use std::sync::{Arc, Mutex};
/// let (sequence, written) = (Sequence::new(), Arc::new(Mutex::new(Vec::new())));
/// let nodes: Vec<_> = (0..10)
///     .map(|n| {
///         let written = written.clone();
///         sequence.spawn(move || written.lock().unwrap().push(n), ())
///     })
///     .collect();
/// flow::all(nodes).join()?;
/// assert_eq!(*written.lock().unwrap(), Vec::from_iter(0..10));
/// # Ok::<(), flow::NodeError>(())
/// ```
#[doc(alias = "spawn_sequential")]
pub struct Sequence {
    /// Ends when all that were spawned have.
    last: Mutex<Arc<Promise<()>>>,
}

/// What a node waits for beside its arguments, and what waits for the node's turn.
#[derive(Default)]
pub(super) struct Order {
    after: Vec<Arc<dyn Origin<()>>>,
    turns: Vec<Turn>,
}

impl Order {
    pub(super) fn in_sequence(&mut self, sequence: &Sequence) {
        let (turn, before) = sequence.next();
        self.turns.push(turn);
        self.after.push(before);
    }

    pub(super) fn in_bulk(&mut self, bulk: &Bulk) {
        self.after.push(bulk.gate());
    }

    pub(super) fn keep(self) -> KeptOrder {
        KeptOrder { turns: self.turns, after: LentAll::new(self.after) }
    }
}

/// What a node keeps of its order, until it has run, or will not.
pub(super) struct KeptOrder {
    turns: Vec<Turn>,
    after: LentAll<()>,
}

impl Kept for KeptOrder {
    type Edges = <LentAll<()> as Kept>::Edges;
    fn edges(&self) -> Self::Edges {
        self.after.edges()
    }
    fn each(&self, edges: &Self::Edges, f: &mut impl FnMut(&dyn Parent, &Edge<dyn Dependent>)) {
        self.after.each(edges, f);
    }
    fn end_turn(&mut self) {
        self.turns.clear();
    }
}

/// Held until a node has run, or will not.
struct Turn {
    before: Option<Arc<Promise<()>>>,
    after: Option<Arc<Promise<()>>>,
}

impl Sequence {
    /// With nothing in it.
    #[track_caller]
    pub fn new() -> Self {
        let begin = Promise::new(NodeName::at(Location::caller()));
        open(begin.clone());
        Sequence { last: Mutex::new(begin) }
    }

    /// As [`flow::spawn`](super::spawn), after what was spawned here before. For a node with
    /// options there is [`Options::in_sequence`].
    #[track_caller]
    pub fn spawn<F, A>(&self, f: F, args: A) -> Handle<F::Output>
    where
        A: Args,
        F: Body<A> + Send + 'static,
        F::Output: Send + 'static,
    {
        Options::new().in_sequence(self).spawn(f, args)
    }

    /// The turn of the next node, and what it waits for.
    #[track_caller]
    fn next(&self) -> (Turn, Arc<dyn Origin<()>>) {
        let after = Promise::new(NodeName::at(Location::caller()));
        let before = std::mem::replace(&mut *self.last.lock(), after.clone());
        (Turn { before: Some(before.clone()), after: Some(after) }, before)
    }
}

impl Default for Sequence {
    #[track_caller]
    fn default() -> Self {
        Sequence::new()
    }
}

impl Drop for Turn {
    /// The next node's turn comes, when this one's had: a node that was cancelled goes before its
    /// turn.
    fn drop(&mut self) {
        if let (Some(before), Some(after)) = (self.before.take(), self.after.take()) {
            if before.output().has_ended() { open(after) } else { pass_to(before, after) }
        }
    }
}

/// What waits for it goes on.
fn open(promise: Arc<Promise<()>>) {
    Ready::elsewhere(|ready| promise.take(Ok(()), ready));
}

/// Nodes that begin together: none before [`submit`](Self::submit). So one worker does not run the
/// first ones while another still spawns the others, and a graph that turns out wrong can be
/// cancelled whole.
///
/// Dropping it submits it.
///
/// # Examples
/// ```
/// use myriad::flow::{self, Bulk};
/// let bulk = Bulk::new();
/// let nodes: Vec<_> = (0..10).map(|n: u64| bulk.spawn(move || n * n, ())).collect();
/// assert!(nodes.iter().all(|node| !node.is_done()));
/// bulk.submit();
/// assert_eq!(flow::all(nodes).join()?.iter().sum::<u64>(), 285);
/// # Ok::<(), flow::NodeError>(())
/// ```
#[doc(alias = "spawn_bulk")]
pub struct Bulk(Option<Arc<Promise<()>>>);

impl Bulk {
    /// With nothing in it.
    #[track_caller]
    pub fn new() -> Self {
        Bulk(Some(Promise::new(NodeName::at(Location::caller()))))
    }

    /// As [`flow::spawn`](super::spawn), but that the node waits for [`submit`](Self::submit), too.
    /// For a node with options there is [`Options::in_bulk`].
    #[track_caller]
    pub fn spawn<F, A>(&self, f: F, args: A) -> Handle<F::Output>
    where
        A: Args,
        F: Body<A> + Send + 'static,
        F::Output: Send + 'static,
    {
        Options::new().in_bulk(self).spawn(f, args)
    }

    /// All nodes that were spawned here begin, or wait for their arguments.
    pub fn submit(self) {}

    fn gate(&self) -> Arc<dyn Origin<()>> {
        self.0.clone().expect("there until it is dropped")
    }
}

impl Default for Bulk {
    #[track_caller]
    fn default() -> Self {
        Bulk::new()
    }
}

impl Drop for Bulk {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(open);
    }
}

impl fmt::Debug for Sequence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sequence").finish_non_exhaustive()
    }
}

impl fmt::Debug for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").finish_non_exhaustive()
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}
