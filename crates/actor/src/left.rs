//! A closure that is blocked when its runtime ends, and never goes on.
//!
//! Its task keeps its stack, and so the end that hangs on the task (`life.rs`) never comes by
//! itself. The handle of the task is the life's until the actor's end. A supervisor leaves a waker
//! in it: an actor that is alive and whose task has ended was left, because its end is settled
//! before its task ends. The exit protocol runs where that is heard, without step 2: what the
//! closure has stays on its stack.
//!
//! **Who hears.** Supervisors: they wait for ends, and start others anew. A future is dropped by
//! its runtime, and so ends by itself; of a server's handler that is blocked nobody hears.

use crate::life::{Life, Stage};
use crate::pid::{Pid, Process};
use crate::reason::Reason;
use myriad_core::JoinHandle;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Wake};

/// Hears of the end of an actor's task.
struct Listens(Weak<dyn Process>);

impl Wake for Listens {
    fn wake(self: Arc<Self>) {
        if let Some(process) = self.0.upgrade() {
            process.task_ended();
        }
    }
}

impl Life {
    /// The actor is a closure that this task runs. (Or has run: then the handle is dropped.)
    pub(crate) fn keep_task(&self, task: JoinHandle<()>) {
        let mut task = Some(task);
        self.about(|stage, about| {
            if stage == Stage::Alive {
                std::mem::swap(&mut about.task, &mut task);
            }
        });
    }

    /// Step 1 of the exit protocol, for an actor whose task has ended. `None`: it ends, or has
    /// ended, by itself.
    pub(crate) fn settle_left(&self) -> Option<Reason> {
        let is_left = self.about(|stage, _| stage == Stage::Alive);
        // (Between the two nobody else settles it: the task has ended.)
        is_left.then(|| self.settle(Reason::Cancelled))
    }
}

/// From now on the actor ends also if its runtime leaves it.
pub(crate) fn watch_task(pid: &Pid) {
    let life = pid.life();
    let Some(mut task) = life.about(|_, about| about.task.take()) else { return };
    // (Without the lock: the waker is cloned.)
    let waker = Arc::new(Listens(Arc::downgrade(&pid.0))).into();
    match Pin::new(&mut task).poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(_) => pid.0.task_ended(),
        Poll::Pending => life.keep_task(task),
    }
}
