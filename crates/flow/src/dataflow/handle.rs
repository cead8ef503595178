//! What a program has of a node.

use super::args::Arg;
use super::error::NodeError;
use super::node;
use super::output::{Origin, Parent, pass_to};
use super::promise::{Flatten, Promise};
use super::settings::{NodeName, Settings};
use myriad_sync::answer::answer;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;

/// The value of a node, once that has run: see [`spawn`](super::spawn).
///
/// A handle is an argument of further nodes: `&handle` lends the value, `handle` moves it. Dropping
/// it changes nothing: the node runs, and its value is dropped when the last node that it was lent
/// to has run.
///
/// # Examples
/// ```
/// use myriad::flow;
/// let words = flow::spawn(|| vec!["to", "be", "or", "not", "to", "be"], ());
/// let count = words.map(|words| words.len());
/// let longest = words.map(|words| words.iter().map(|word| word.len()).max());
/// assert_eq!(words.get()?[3], "not");
/// assert_eq!((count.join()?, longest.join()?), (6, Some(3)));
/// # Ok::<(), myriad::flow::NodeError>(())
/// ```
#[must_use = "a handle that is dropped cannot be joined; the node runs all the same"]
pub struct Handle<T: 'static>(Arc<dyn Origin<T>>);

impl<T: Send + 'static> Handle<T> {
    pub(super) fn new(source: Arc<dyn Origin<T>>) -> Self {
        Handle(source)
    }

    #[inline]
    pub(super) fn source(&self) -> &Arc<dyn Origin<T>> {
        &self.0
    }

    /// What its node is called.
    pub(super) fn name(&self) -> NodeName {
        self.0.name()
    }

    pub(super) fn into_source(self) -> Arc<dyn Origin<T>> {
        self.0
    }

    /// Has the node ended, or was it skipped or cancelled?
    pub fn is_done(&self) -> bool {
        self.0.output().has_ended()
    }

    /// The value, by reference.
    ///
    /// # Blocking
    /// Until the node has ended. The calling task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Errors
    /// The node has failed, or one that it needs, or it was cancelled.
    #[track_caller]
    pub fn get(&self) -> Result<&T, NodeError>
    where
        T: Sync,
    {
        self.0.output().wait(|| self.0.name().place);
        self.ended()
    }

    /// As [`get`](Self::get), as a future.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn get_async(&self) -> Result<&T, NodeError>
    where
        T: Sync,
    {
        self.0.output().wait_async(|| self.0.name().place).await;
        self.ended()
    }

    fn ended(&self) -> Result<&T, NodeError>
    where
        T: Sync,
    {
        self.0.output().outcome().expect("it has ended").as_ref().map_err(NodeError::clone)
    }

    /// The value itself.
    ///
    /// # Blocking
    /// Until the node has ended, and all nodes have that the value was lent to. The calling task is
    /// set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    #[track_caller]
    pub fn join(mut self) -> Result<T, NodeError> {
        self.0.output().wait(|| self.0.name().place);
        if let Some(outcome) = self.at_once() {
            return outcome;
        }
        let (tx, rx) = answer();
        pass_to(self.0, Arc::new(tx));
        rx.recv(None).unwrap_or_else(|_| Err(NodeError::lost()))
    }

    /// As [`join`](Self::join), as a future. (Awaiting the handle is the same.)
    ///
    /// # Cancellation
    /// Dropped before it is ready, the future drops the handle.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn join_async(mut self) -> Result<T, NodeError> {
        self.0.output().wait_async(|| self.0.name().place).await;
        if let Some(outcome) = self.at_once() {
            return outcome;
        }
        let (tx, rx) = answer();
        pass_to(self.0, Arc::new(tx));
        rx.recv_async().await.unwrap_or_else(|_| Err(NodeError::lost()))
    }

    /// The outcome: of a node that has failed, or to which nobody else has a reference.
    fn at_once(&mut self) -> Option<Result<T, NodeError>> {
        // (What has failed early may still be known to those that it waited for.)
        let error = self.0.output().error().map(Err);
        error.or_else(|| Arc::get_mut(&mut self.0)?.output_mut().take())
    }

    /// Skips the node, and all that need its value: their error names this one as the root. A body
    /// that runs already is cancelled as a task is, at its next wait. Nodes that this one needs run
    /// on, for others may need them.
    ///
    /// # Blocking
    /// Never.
    ///
    /// # Examples
    /// ```
    /// use myriad::{flow, channel::rendezvous};
    /// let (_tx, rx) = rendezvous::<u32>();
    /// let input = flow::named("input").spawn(move || rx.recv().unwrap(), ());
    /// let double = flow::named("double").spawn(|n: &u32| n * 2, (&input,));
    /// input.cancel();
    /// assert_eq!(double.join().unwrap_err().to_string(), "the node 'input' was cancelled; so 'double' did not run");
    /// ```
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// A node that calls `f` with the value of this one.
    ///
    /// # Errors
    /// Its handle's: this node has failed, or `f` has panicked.
    #[track_caller]
    pub fn map<U, F>(&self, f: F) -> Handle<U>
    where
        T: Sync,
        U: Send + 'static,
        F: FnOnce(&T) -> U + Send + 'static,
    {
        let settings = Settings::plain(Location::caller());
        node::start(move |kept: &mut (_,)| Ok(f(<&Self as Arg>::give(&mut kept.0))), (Arg::keep(self),), settings)
    }
}

impl<T: Send + 'static> Handle<Handle<T>> {
    /// The value of the node whose handle this node returns: for a body that spawns nodes.
    ///
    /// Nothing waits in a task meanwhile. To cancel it is to cancel this wait, and no body.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::{self, Handle};
    /// fn fib(n: u64) -> Handle<u64> {
    ///     if n < 2 {
    ///         return flow::spawn(move || n, ());
    ///     }
    ///     let (a, b) = (flow::spawn(move || fib(n - 1), ()), flow::spawn(move || fib(n - 2), ()));
    ///     flow::spawn(|a: u64, b: u64| a + b, (a.flatten(), b.flatten()))
    /// }
    /// assert_eq!(fib(10).join()?, 55);
    /// # Ok::<(), myriad::flow::NodeError>(())
    /// ```
    pub fn flatten(self) -> Handle<T> {
        let promise = Promise::new(self.0.name());
        pass_to(self.0, Arc::new(Flatten(promise.clone())));
        Handle(promise)
    }
}

impl<T: Send + 'static> IntoFuture for Handle<T> {
    type Output = Result<T, NodeError>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.join_async())
    }
}

impl<T: 'static> fmt::Debug for Handle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").finish_non_exhaustive()
    }
}
