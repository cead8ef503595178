//! Nodes that have become ready: where they run.
//!
//! The first one runs next in the task that has made it ready, as what it needs is in this worker's
//! cache; each further one is a task of its own. Where no loop of nodes is under way (in a
//! destructor, in `cancel`), each is one. A node that will not run, because one of its parents has
//! failed, ends where that is found; so a chain of any length is skipped by one loop, in constant
//! space.

use super::output::JustEnded;
use myriad_core::Handle;
use myriad_core::engine::running::{Watcher, call_nested, watched};
use myriad_core::engine::{guest, split};
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ptr::NonNull;
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
    /// Ends it instead of the task that had its claim.
    ///
    /// # Safety
    /// That task was blocked when its runtime ended, and never goes on; its last step happened
    /// before, and this is called once.
    unsafe fn end_left(&self, ready: &mut Ready);
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
    /// This one is being ended here. It is there as long as this says so.
    claimed: Option<NonNull<dyn Runnable>>,
}

impl Ready {
    /// Of whoever is no loop of nodes: all that is ready by `f` is offered.
    pub(super) fn elsewhere(f: impl FnOnce(&mut Ready)) {
        let mut ready = Ready::new(None, None);
        f(&mut ready);
        ready.settle();
    }

    #[inline]
    fn new(here: Option<Handle>, next: Option<Arc<dyn Runnable>>) -> Self {
        Ready { here, next, doomed: Vec::new(), has_offered: false, claimed: None }
    }

    /// Somebody has the claim of this node, and ends it here; before that node may go,
    /// [`has_ended`](Self::has_ended) is called.
    #[inline]
    pub(super) fn ends(&mut self, node: &Arc<impl Runnable + 'static>) {
        self.claimed = Some(NonNull::from(&**node as &dyn Runnable));
    }

    /// The node has ended, and what waits for it was told.
    #[inline]
    pub(super) fn has_ended(&mut self) {
        self.claimed = None;
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
    if let Err(make) = guest::spawn_detached_here(pool, || move || offered.run()) {
        drop(pool.spawn(make()));
    }
}

/// A node in its task, which may be dropped before it begins.
struct NodeTask(Option<Arc<dyn Runnable>>);

impl NodeTask {
    /// The body of the task.
    fn run(mut self) {
        let Some(first) = self.0.take() else { return };
        let nodes = Loop(UnsafeCell::new(Ready::new(Some(first.pool()), Some(first))));
        // SAFETY: this is all that the closure of `offer` calls, which is of no scope. The loop was
        // made just now.
        unsafe { watched(&nodes, || nodes.run()) };
    }
}

/// A loop of nodes in a task.
struct Loop(UnsafeCell<Ready>);

impl Loop {
    /// # Safety
    /// It is called once.
    #[inline]
    unsafe fn run(&self) {
        // SAFETY: only this call reaches it (this function's contract), and `left`, after which the
        // task does not go on.
        let ready = unsafe { &mut *self.0.get() };
        let (task, mut count) = (InTask(PhantomData), 0_u32);
        while let Some(node) = ready.next.take() {
            count = count.wrapping_add(1);
            let is_cancelled = node.run(&task, count, ready);
            ready.settle();
            if is_cancelled {
                // What is next comes into a task that is not cancelled.
                ready.next.take().into_iter().for_each(offer);
            }
        }
    }
}

impl Watcher for Loop {
    /// What is under way ends with an error, and what comes after it goes on elsewhere.
    #[cold]
    unsafe fn left(&self) {
        // SAFETY: the task never goes on, and its last step happened before (this function's
        // contract).
        let left = unsafe { &mut *self.0.get() };
        Ready::elsewhere(|ready| {
            if let Some(node) = left.claimed.take() {
                // SAFETY: the node is there as long as it is here; the task has its claim. The rest
                // is this function's contract.
                unsafe { node.as_ref().end_left(ready) };
            }
            ready.doomed.append(&mut left.doomed);
        });
        left.next.take().into_iter().for_each(offer);
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
