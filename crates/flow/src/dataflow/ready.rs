//! Nodes that have become ready: where they run.
//!
//! The first one runs next in the task that has made it ready, as what it needs is in this worker's
//! cache; each further one is a task of its own. Where no loop of nodes is under way (in a
//! destructor, in `cancel`), each is one. A node that will not run, because one of its parents has
//! failed, ends where that is found; so a chain of any length is skipped by one loop, in constant
//! space.

use super::output::JustEnded;
use myriad_core::Handle;
use myriad_core::engine::running::call_nested;
use myriad_core::engine::{guest, split};
use std::marker::PhantomData;
use std::sync::Arc;

/// What waits for the ends of others.
pub trait Dependent: Send + Sync {
    /// One of these has ended.
    fn one_ended(self: Arc<Self>, with_error: bool, ready: &mut Ready);
}

/// A node with a body.
pub(super) trait Runnable: Send + Sync {
    /// Where it runs.
    fn pool(&self) -> Handle;
    /// Runs the body, if the node has not ended before. `count`: so many has this task run. True:
    /// the task was cancelled, and runs nothing more.
    fn run(self: Arc<Self>, task: &InTask, count: u32, ready: &mut Ready) -> bool;
    /// Ends it without its body: a parent has failed; or its task was dropped before it began.
    fn skip(self: Arc<Self>, ready: &mut Ready);
}

/// The calling task was spawned for nodes.
pub(super) struct InTask(PhantomData<*const ()>);

/// Where nodes go that are ready.
#[allow(missing_debug_implementations)]
pub struct Ready {
    /// The pool of the loop that is under way here.
    here: Option<Handle>,
    next: Option<Arc<dyn Runnable>>,
    /// These will not run.
    doomed: Vec<Arc<dyn Runnable>>,
    has_offered: bool,
}

impl Ready {
    /// Of whoever is no loop of nodes: all that is ready by `f` is offered.
    pub(super) fn elsewhere(f: impl FnOnce(&mut Ready)) {
        let mut ready = Ready { here: None, next: None, doomed: Vec::new(), has_offered: false };
        f(&mut ready);
        ready.settle();
    }

    /// Whoever waits for something that has ended is told.
    #[inline]
    pub(super) fn after(&mut self, ended: JustEnded) {
        for dependent in ended.waiting {
            dependent.one_ended(ended.with_error, self);
        }
    }

    /// A node whose last parent has ended.
    #[inline]
    pub(super) fn push(&mut self, node: Arc<dyn Runnable>) {
        if self.next.is_none() && self.here.is_some_and(|here| guest::is_same(here, node.pool())) {
            self.next = Some(node);
        } else {
            self.has_offered = true;
            offer(node);
        }
    }

    /// A node whose last parent has ended, and that will not run.
    #[cold]
    pub(super) fn push_doomed(&mut self, node: Arc<dyn Runnable>) {
        self.doomed.push(node);
    }

    /// Ends what is doomed, and all that comes after it.
    #[inline]
    fn settle(&mut self) {
        while let Some(node) = self.doomed.pop() {
            node.skip(self);
        }
        if std::mem::take(&mut self.has_offered) {
            // The next body may be long.
            split::publish_one();
        }
    }
}

/// Makes a task of it.
#[inline]
pub(super) fn offer(node: Arc<dyn Runnable>) {
    let pool = node.pool();
    let offered = NodeTask(Some(node));
    drop(pool.spawn(move || offered.run()));
}

/// A node in its task, which may be dropped before it begins.
struct NodeTask(Option<Arc<dyn Runnable>>);

impl NodeTask {
    /// The body of the task.
    fn run(mut self) {
        let Some(first) = self.0.take() else { return };
        let here = Some(first.pool());
        let mut ready = Ready { here, next: Some(first), doomed: Vec::new(), has_offered: false };
        let (task, mut count) = (InTask(PhantomData), 0_u32);
        while let Some(node) = ready.next.take() {
            count = count.wrapping_add(1);
            let is_cancelled = node.run(&task, count, &mut ready);
            ready.settle();
            if is_cancelled {
                // What is next comes into a task that is not cancelled.
                ready.next.take().into_iter().for_each(offer);
            }
        }
    }
}

impl Drop for NodeTask {
    fn drop(&mut self) {
        if let Some(node) = self.0.take() {
            // What comes after it may be refused by the runtime, too, one after the other.
            call_nested(move || Ready::elsewhere(|ready| node.skip(ready)));
        }
    }
}
