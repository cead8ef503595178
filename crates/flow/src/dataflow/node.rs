//! A node with a body: what it waits for, and how it runs.

use super::args::Kept;
use super::bound;
use super::error::NodeError;
use super::handle::Handle;
use super::output::{Origin, Outcome, Output, OutputClaim, Parent};
use super::ready::{Dependent, InTask, Ready, Runnable, offer};
use super::runner::Runner;
use super::settings::{NodeName, Settings};
use super::work::Work;
use crate::graph::Cause;
use crate::protocol::{Countdown, Edge};
use myriad_base::sys::atomic::{Ordering::Acquire, fence};
use myriad_core::engine::running::delay_shutdown;
use myriad_core::engine::{unwind, user_code};
use myriad_core::{Handle as Pool, cancel};
use std::sync::Arc;

/// A node with a body. One allocation: what it needs, its edges and its value are in it.
struct ValueNode<T: 'static, W, K: Kept> {
    output: Output<T>,
    /// Of the ends of its parents.
    countdown: Countdown,
    runner: Runner,
    settings: Settings,
    /// Of who has the claim of the output.
    work: Work<W, K>,
    edges: K::Edges,
}

// SAFETY: the work is reached by one at a time: who makes the node, who has the claim, and whoever
// hears that this one never goes on. The rest is `Sync` by itself.
unsafe impl<T: Send + 'static, W: Send, K: Kept> Sync for ValueNode<T, W, K> {}

/// Makes a node, which runs when all that its arguments come from have ended.
#[inline]
pub(super) fn start<T, W, K>(work: W, kept: K, settings: Settings) -> Handle<T>
where
    T: Send + 'static,
    W: FnOnce(&mut K) -> Result<T, Cause> + Send + 'static,
    K: Kept,
{
    // (First: what it lets go on may unwind, and nothing is linked yet.)
    bound::keep();
    let edges = kept.edges();
    let node = Arc::new(ValueNode {
        output: Output::new(),
        countdown: Countdown::new(),
        runner: Runner::new(),
        settings,
        work: Work::new(work, kept),
        edges,
    });
    let mut waits_for = 0;
    let mut link = |parent: &dyn Parent, edge: &Edge<dyn Dependent>| {
        // SAFETY: the edge lies in the node, or in a box that the node owns; it is added once.
        if unsafe { parent.add(edge, node.clone()) }.is_ok() {
            waits_for += 1;
        } else if parent.error().is_some() {
            node.countdown.doom();
        }
    };
    // SAFETY: nobody else has the claim: no handle is there yet, and the node is not ready while it
    // is made.
    if let Some(kept) = unsafe { node.work.kept() } {
        kept.each(&node.edges, &mut link);
    }
    let handle = Handle::new(node.clone());
    if node.countdown.made(waits_for) {
        if node.countdown.is_doomed() {
            Ready::elsewhere(|ready| node.skip(ready));
        } else {
            offer(node);
        }
    }
    handle
}

impl<T: Send + 'static, W, K: Kept> ValueNode<T, W, K> {
    fn name(&self) -> NodeName {
        self.settings.name.clone()
    }

    /// What is to be done; it is there as long as there is a claim.
    #[inline]
    fn take_work(&self, _: &OutputClaim<'_, T>) -> Option<(W, K)> {
        // SAFETY: who has the claim of this node's output takes it; the body begins after that.
        unsafe { self.work.take() }
    }

    #[cold]
    fn failed(&self, cause: Cause) -> Outcome<T> {
        Err(NodeError::itself(self.name(), cause))
    }

    /// Why it does not run.
    #[cold]
    fn skipped(&self, kept: &K) -> Outcome<T> {
        let mut errors = Vec::new();
        kept.each(&self.edges, &mut |parent, _| errors.extend(parent.error()));
        if errors.is_empty() { self.failed(Cause::Cancelled) } else { Err(NodeError::parents(self.name(), errors)) }
    }

    /// Asked by who runs it: can nobody reach the value any more?
    #[cold]
    fn is_out_of_reach(self: &Arc<Self>) -> bool {
        let is_alone = Arc::strong_count(self) == 1;
        // Acquire: what who had the handle did before that reference went.
        fence(Acquire);
        is_alone && !self.output.has_taker()
    }

    /// Runs it, as [`Runnable::run`]. `fetch` is called before the body.
    #[inline(always)]
    fn run_with(
        self: Arc<Self>,
        fetch: impl FnOnce(&mut K) -> Result<(), Cause>,
        task: &InTask,
        count: u32,
        ready: &mut Ready,
    ) -> bool
    where
        W: FnOnce(&mut K) -> Result<T, Cause> + Send + 'static,
    {
        let Some(claim) = self.output.claim() else {
            self.leave(ready);
            return false;
        };
        ready.ends(&self);
        if self.settings.is_lazy() && self.is_out_of_reach() {
            unwind::drop_quietly(self.take_work(&claim));
            let ended = self.output.end(claim, self.failed(Cause::Cancelled));
            ready.after(ended);
            ready.has_ended();
            return false;
        }
        // SAFETY: as in `take_work`. There is one claim, so this is called once.
        let Some((work, kept)) = (unsafe { self.work.begin() }) else { unreachable!("it goes with the claim") };
        let body = || {
            user_code::body(|| {
                // The nodes before it need not have waited, in a long chain. So the node can be
                // cancelled, and others of this worker go on now and then.
                if count & 1023 == 0 {
                    myriad_core::yield_now();
                } else {
                    cancel::check();
                }
                fetch(kept)?;
                work(kept)
            })
        };
        // SAFETY: there is one claim of a node's output, so this is called once.
        let (outcome, is_cancelled) = match unsafe { self.runner.run(task, body) } {
            Err(body) => {
                unwind::drop_quietly(body);
                (self.failed(Cause::Cancelled), false)
            }
            Ok((Ok(Ok(value)), was_asked)) => (Ok(value), was_asked),
            Ok((Ok(Err(cause)), was_asked)) => (self.failed(cause), was_asked),
            Ok((Err(payload), _)) if unwind::is_cancellation(&payload) => {
                unwind::discard(payload);
                (self.failed(Cause::Cancelled), true)
            }
            Ok((Err(payload), was_asked)) => (self.failed(Cause::panicked(payload)), was_asked),
        };
        // What was lent is given back before anybody is told.
        // SAFETY: it was called with that, or dropped.
        drop(unsafe { self.work.end() });
        let ended = self.output.end(claim, outcome);
        ready.after(ended);
        ready.has_ended();
        self.leave(ready);
        is_cancelled
    }

    /// Gives up the reference of what was its end. If it was the last, the value goes on.
    #[inline]
    fn leave(self: Arc<Self>, ready: &mut Ready) {
        if let Some(mut node) = Arc::into_inner(self) {
            node.output.pass_on(ready);
        }
    }
}

impl<T, W, K> Origin<T> for ValueNode<T, W, K>
where
    T: Send + 'static,
    W: FnOnce(&mut K) -> Result<T, Cause> + Send + 'static,
    K: Kept,
{
    fn output(&self) -> &Output<T> {
        &self.output
    }

    fn output_mut(&mut self) -> &mut Output<T> {
        &mut self.output
    }

    fn name(&self) -> NodeName {
        self.name()
    }

    fn cancel(&self) {
        if !self.end_unbegun(Cause::Cancelled) {
            self.runner.cancel();
        }
    }

    fn end_unbegun(&self, cause: Cause) -> bool {
        let Some(claim) = self.output.claim() else { return false };
        unwind::drop_quietly(self.take_work(&claim));
        let ended = self.output.end(claim, self.failed(cause));
        Ready::elsewhere(|ready| ready.after(ended));
        true
    }
}

impl<T, W, K> Dependent for ValueNode<T, W, K>
where
    T: Send + 'static,
    W: FnOnce(&mut K) -> Result<T, Cause> + Send + 'static,
    K: Kept,
{
    #[inline]
    fn one_ended(self: Arc<Self>, with_error: bool, ready: &mut Ready) {
        if !self.countdown.one_ended(with_error) {
            return;
        }
        if self.countdown.is_doomed() {
            ready.push_doomed(self);
        } else {
            ready.push(self);
        }
    }
}

impl<T, W, K> Runnable for ValueNode<T, W, K>
where
    T: Send + 'static,
    W: FnOnce(&mut K) -> Result<T, Cause> + Send + 'static,
    K: Kept,
{
    fn pool(&self) -> Pool {
        self.settings.pool
    }

    fn run(self: Arc<Self>, task: &InTask, count: u32, ready: &mut Ready) -> bool {
        let Some(gate) = K::gate(&self.edges) else { return self.run_with(|_| Ok(()), task, count, ready) };
        let Some(pass) = gate.enter(&self) else { return false };
        let Some(delay) = delay_shutdown() else {
            drop(pass);
            self.skip(ready);
            return false;
        };
        let fetch = move |kept: &mut K| {
            let _in_gate = (pass, delay);
            kept.fetch()
        };
        self.run_with(fetch, task, count, ready)
    }

    #[cold]
    fn skip(self: Arc<Self>, ready: &mut Ready) {
        let Some(claim) = self.output.claim() else { return self.leave(ready) };
        ready.ends(&self);
        let Some((work, kept)) = self.take_work(&claim) else { unreachable!("it goes with the claim") };
        let outcome = self.skipped(&kept);
        unwind::drop_quietly((work, kept));
        let ended = self.output.end(claim, outcome);
        ready.after(ended);
        ready.has_ended();
        self.leave(ready);
    }

    #[cold]
    unsafe fn end_left(&self, ready: &mut Ready) {
        self.runner.abandon();
        let error = NodeError::itself(self.name(), Cause::RuntimeEnded);
        // SAFETY: who has the claim never goes on (this function's contract).
        if let Some(kept) = unsafe { self.work.kept() } {
            kept.each(&self.edges, &mut |parent, _| parent.stays_lent(&error, ready));
            kept.end_turn();
        }
        // SAFETY: this function's contract.
        unsafe { self.output.end_left(&error, ready) };
    }
}
