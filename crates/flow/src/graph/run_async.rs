//! A run that a future waits for.

use super::{Graph, RunError};
use myriad_core::JoinHandle;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

impl Graph<'static> {
    /// Runs the graph once, as [`run`](Self::run) does, in a task that the future waits for.
    ///
    /// # Cancellation
    /// The run begins at the first poll. A future that is dropped before the run has ended cancels
    /// the run, and does not wait for the end: the next run of this graph does.
    ///
    /// # Panics
    /// When it is polled, if the runtime ends before the run does.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::Graph;
    /// use std::sync::Arc;
    /// let mut graph = Graph::builder();
    /// let first = graph.node("first", || println!("first")).id();
    /// graph.node("second", || println!("second")).after([first]);
    /// let graph = Arc::new(graph.build()?);
    /// myriad::block_on(graph.run_async())?;
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn run_async(self: &Arc<Self>) -> RunAsync {
        RunAsync(State::New(self.clone()))
    }
}

/// The future of [`Graph::run_async`].
#[derive(Debug)]
#[must_use = "a run begins when its future is polled"]
pub struct RunAsync(State);

#[derive(Debug)]
enum State {
    New(Arc<Graph<'static>>),
    Running(JoinHandle<Result<(), RunError>>),
    Done,
}

impl Future for RunAsync {
    type Output = Result<(), RunError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if let State::New(graph) = &self.0 {
            let graph = graph.clone();
            self.0 = State::Running(myriad_core::spawn(move || graph.run()));
        }
        let State::Running(task) = &mut self.0 else {
            panic!("a future that was ready is polled again");
        };
        let result = ready!(Pin::new(task).poll(cx));
        self.0 = State::Done;
        Poll::Ready(result.unwrap_or_else(|error| error.resume()))
    }
}

impl Drop for RunAsync {
    fn drop(&mut self) {
        if let State::Running(task) = &self.0 {
            task.cancel();
        }
    }
}
