//! The end of a network, as a future.

use super::end::{Finished, ProcessEnd};
use super::running::Running;
use myriad_core::JoinHandle;
use std::collections::VecDeque;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// Awaits the end, as [`join`](Running::join) waits for it.
impl IntoFuture for Running {
    type Output = Finished;
    type IntoFuture = FinishedFuture;

    fn into_future(mut self) -> FinishedFuture {
        self.close_all();
        let tasks = std::mem::take(&mut self.tasks).into_iter();
        FinishedFuture { tasks: tasks.collect(), ends: Vec::new(), _run: self }
    }
}

/// The future of a [`Running`]. Dropped, it stops the network.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct FinishedFuture {
    tasks: VecDeque<JoinHandle<ProcessEnd>>,
    ends: Vec<ProcessEnd>,
    /// (Stops the network when it goes.)
    _run: Running,
}

impl Future for FinishedFuture {
    type Output = Finished;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Finished> {
        while let Some(task) = self.tasks.front_mut() {
            let end = ready!(Pin::new(task).poll(cx)).unwrap_or_else(|error| error.resume());
            self.ends.push(end);
            self.tasks.pop_front();
        }
        Poll::Ready(Finished { processes: std::mem::take(&mut self.ends) })
    }
}
