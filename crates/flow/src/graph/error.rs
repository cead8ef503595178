//! What has gone wrong in a run.

use super::NodeId;
use super::name::Name;
use super::node::Error;
use crate::panic::Panic;
use myriad_core::engine::unwind::{self, Payload};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Why a node has no result.
///
/// Examples: [`RunError::into_failures`], [`Panic`].
#[non_exhaustive]
pub enum Cause {
    /// Its body has returned this.
    Error(Error),
    /// Its body has panicked.
    Panicked(Panic),
    /// Each call of its body has lasted longer than its [limit](super::NodeDraft::time_limit).
    TimedOut(Duration),
    /// Its [token](super::NodeDraft::token), or the task that ran it, was cancelled.
    Cancelled,
    /// Its body was blocked when its runtime ended, and never goes on: of a node of a dataflow.
    RuntimeEnded,
}

impl Cause {
    #[cold]
    pub(crate) fn panicked(payload: Payload) -> Cause {
        Cause::Panicked(Panic::new(payload))
    }

    #[cold]
    pub(crate) fn of(error: impl Into<Error>) -> Cause {
        Cause::Error(error.into())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Error(error) => write!(f, "failed: {error}"),
            Cause::Panicked(panic) => write!(f, "panicked: {}", panic.message()),
            Cause::TimedOut(limit) => write!(f, "was not done within {limit:?}"),
            Cause::Cancelled => f.write_str("was cancelled"),
            Cause::RuntimeEnded => f.write_str("was still blocked when its runtime ended"),
        }
    }
}

impl fmt::Debug for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A node that has failed.
///
/// Example: [`RunError::into_failures`].
#[derive(Debug)]
pub struct Failure {
    /// Which.
    pub node: NodeId,
    /// Its name.
    pub name: String,
    /// Why.
    pub cause: Cause,
}

/// Nodes of a run have failed; all that does not come after them has run.
///
/// # Examples
/// ```
/// use myriad::flow::Graph;
/// let mut graph = Graph::builder();
/// let read = graph.node("read", || Err("no such file")).id();
/// let parse = graph.node("parse", || ()).after([read]).id();
/// graph.node("plot", || ()).after([parse]);
/// let error = graph.build()?.run().unwrap_err();
/// assert_eq!(error.to_string(), "the node 'read' failed: no such file; 2 nodes after it did not run");
/// let paths: Vec<_> = error.skipped().map(|skipped| skipped.path().join(" → ")).collect();
/// assert_eq!(paths, ["read → parse", "read → parse → plot"]);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct RunError {
    /// At least one, in the order of nodes.
    failures: Vec<Failure>,
    /// Nodes that were not run, in their order, each with the one in front of it on its path.
    skipped: Vec<(u32, u32)>,
    graph: u32,
    names: Arc<[Name]>,
}

impl RunError {
    #[cold]
    pub(super) fn new(failed: Vec<(u32, Cause)>, skipped: Vec<(u32, u32)>, graph: u32, names: Arc<[Name]>) -> Self {
        let failure =
            |(index, cause)| Failure { node: NodeId { graph, index }, name: names[index as usize].to_string(), cause };
        RunError { failures: failed.into_iter().map(failure).collect(), skipped, graph, names }
    }

    /// The nodes that have failed, in the order in which they were added to the graph. (One that
    /// runs in a loop may be there more than once.)
    pub fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// The nodes that were not run because they come after one that has failed, in the same order.
    /// (Branches that a choice has not chosen are not among them.)
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = Skipped<'_>> {
        self.skipped.iter().map(|&(index, _)| Skipped { error: self, index })
    }

    /// The nodes that have failed, for good.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::{Graph, graph::Cause};
    /// let mut graph = Graph::builder();
    /// graph.node("read", || Err("no such file"));
    /// let error = graph.build()?.run().unwrap_err();
    /// for failure in error.into_failures() {
    ///     match failure.cause {
    ///         Cause::Error(error) => assert_eq!(format!("{}: {error}", failure.name), "read: no such file"),
    ///         other => panic!("{other}"),
    ///     }
    /// }
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn into_failures(mut self) -> Vec<Failure> {
        std::mem::take(&mut self.failures)
    }
}

/// One by one: of two causes whose destructors panic, the second would end the process.
impl Drop for RunError {
    fn drop(&mut self) {
        self.failures.drain(..).for_each(unwind::drop_quietly);
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let several = self.failures.len() > 1;
        if let Some(Failure { name, cause, .. }) = self.failures.first() {
            write!(f, "the node '{name}' {cause}")?;
        }
        match self.failures.len() {
            0 | 1 => {}
            2 => f.write_str("; another one failed as well")?,
            n => write!(f, "; {} others failed as well", n - 1)?,
        }
        let them = if several { "them" } else { "it" };
        match self.skipped.len() {
            0 => Ok(()),
            1 => write!(f, "; 1 node after {them} did not run"),
            n => write!(f, "; {n} nodes after {them} did not run"),
        }
    }
}

impl fmt::Debug for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunError({self})")
    }
}

impl std::error::Error for RunError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.failures.first()?.cause {
            Cause::Error(error) => Some(&**error),
            _ => None,
        }
    }
}

/// A node that was not run, because it comes after one that has failed.
///
/// Example: [`RunError`].
#[derive(Clone, Copy)]
pub struct Skipped<'a> {
    error: &'a RunError,
    index: u32,
}

impl<'a> Skipped<'a> {
    /// Which.
    pub fn node(&self) -> NodeId {
        NodeId { graph: self.error.graph, index: self.index }
    }

    /// Its name.
    pub fn name(&self) -> &'a str {
        &self.error.names[self.index as usize]
    }

    /// The names from the node that has failed to this one. Of several such paths, a shortest.
    pub fn path(&self) -> Vec<&'a str> {
        let (mut at, mut path) = (self.index, vec![self.name()]);
        while let Ok(place) = self.error.skipped.binary_search_by_key(&at, |&(node, _)| node) {
            at = self.error.skipped[place].1;
            path.push(&self.error.names[at as usize]);
        }
        path.reverse();
        path
    }
}

impl fmt::Debug for Skipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Skipped").field(&self.name()).finish()
    }
}
