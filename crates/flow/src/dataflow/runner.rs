//! Which task runs a node, for who cancels it.

use super::ready::InTask;
use crate::protocol::Cancellable;
use myriad_core::engine::running::UnderWay;

pub(super) struct Runner(Cancellable<UnderWay>);

impl Runner {
    pub(super) fn new() -> Self {
        Runner(Cancellable::new())
    }

    /// Calls the body in the calling task. True: the task was cancelled because of it. `Err`: the
    /// node was cancelled before, and here is the body.
    ///
    /// # Safety
    /// It is called once.
    #[inline]
    pub(super) unsafe fn run<R, F: FnOnce() -> R>(&self, _: &InTask, body: F) -> Result<(R, bool), F> {
        // SAFETY: it is called once (this function's contract).
        unsafe { self.0.run(UnderWay::here(), body) }
    }

    /// The task in it was left, and never goes on: nobody looks at its record any more.
    pub(super) fn abandon(&self) {
        self.0.abandon();
    }

    /// Keeps the body from beginning, or cancels the task that is in it.
    pub(super) fn cancel(&self) {
        // SAFETY: the task is one that was spawned for nodes (`InTask`), and does not leave `run`
        // while it is marked.
        let marked = self.0.cancel(|task| unsafe { task.mark() });
        if let Some(marked) = marked.flatten() {
            marked.tell();
        }
    }
}
