//! One run of a graph.
//!
//! A node that has ended counts down those that come after it. The first that is ready runs next in
//! the same task, as what it needs is in this worker's cache; each further one is offered as a task
//! of its own. A node with one predecessor is ready when that has ended, and is not counted.
//!
//! The last one is offered first. So this worker goes on in the order in which the nodes were made,
//! and a thief, which takes the oldest task, gets the node that is farthest from the worker's next
//! one. (Where the first ones were offered first, the two worked on neighbours, whose values share
//! cache lines: figures in `docs/dev/FIGURES.md`.)
//!
//! Where many come after a node, their row is cut in half, and in half again, and the far halves
//! are offered as they are, to be counted down by who takes them. So others have half of the row
//! at once, and there are few tasks at a time. (On one worker a row of 100,000 takes as long as
//! with a task for each node at once.)

use super::Graph;
use super::error::{Cause, RunError};
use super::levels::ReadyNodes;
use super::node::{Error, Node};
use crate::view::TraceOfRun;
use myriad_base::sys::atomic::AtomicBool;
use myriad_base::sys::atomic::Ordering::{AcqRel, Relaxed};
use myriad_base::sys::mutex::Mutex;
use myriad_core::Scope;
use myriad_core::cancel;
use myriad_core::engine::unwind::{self, Payload};
use myriad_core::engine::user_code;
use myriad_core::engine::{self, running, split};
use std::collections::VecDeque;

/// A row that is longer is cut. (At 8, what the tasks of halves cost whose nodes are not yet ready
/// was a fifth of all that a run of Cholesky's factorization has to do beside the bodies.)
const ROW: usize = 64;

/// What the tasks of a run have in common.
pub(super) struct Run<'g, 'env> {
    graph: &'g Graph<'env>,
    failed: Mutex<Vec<(u32, Cause)>>,
    /// No task of a node was dropped before it began. Written before the scope ends, which is the
    /// order.
    is_whole: AtomicBool,
    trace: Option<&'g TraceOfRun>,
    /// If the critical path goes first. Then a task that has neither node nor row takes one here.
    ready: Option<ReadyNodes<'g>>,
}

impl<'env> Graph<'env> {
    pub(super) fn run_once(&self, trace: Option<&TraceOfRun>) -> Result<(), RunError> {
        split::on_worker(|| {
            let _turn = self.turn.acquire();
            if self.has_choices || !self.is_clean.load(Relaxed) {
                self.reset();
            }
            self.is_clean.store(false, Relaxed);
            let ready = self.levels.as_deref().map(ReadyNodes::new);
            let is_whole = AtomicBool::new(true);
            let run = Run { graph: self, failed: Mutex::new(Vec::new()), is_whole, trace, ready };
            match &run.ready {
                Some(_) => run.all::<true>(),
                None => run.all::<false>(),
            }
            let failed = std::mem::take(&mut *run.failed.lock());
            self.is_clean.store(run.is_whole.load(Relaxed), Relaxed);
            if failed.is_empty() { Ok(()) } else { Err(self.error(failed)) }
        })
    }

    /// What failed, and all that comes after it: breadth first, so that paths are short.
    #[cold]
    fn error(&self, mut failed: Vec<(u32, Cause)>) -> RunError {
        failed.sort_by_key(|&(node, _)| node);
        let mut known = vec![false; self.nodes.len()];
        let mut from: VecDeque<u32> = failed.iter().map(|&(node, _)| node).collect();
        from.iter().for_each(|&node| known[node as usize] = true);
        let mut skipped = Vec::new();
        while let Some(node) = from.pop_front() {
            for &next in self.after(node as usize) {
                if !std::mem::replace(&mut known[next as usize], true) {
                    skipped.push((next, node));
                    from.push_back(next);
                }
            }
        }
        skipped.sort_unstable();
        RunError::new(failed, skipped, self.number, self.names.clone())
    }
}

/// A run that is cancelled has causes of which nobody hears. Their destructors are the user's, and
/// this may be in the middle of unwinding.
impl Drop for Run<'_, '_> {
    fn drop(&mut self) {
        let failed = std::mem::take(&mut *self.failed.lock());
        failed.into_iter().for_each(unwind::drop_quietly);
    }
}

impl<'g, 'env> Run<'g, 'env> {
    /// The whole run. `RANKED`: the critical path goes first.
    fn all<const RANKED: bool>(&self) {
        let starts = &self.graph.starts;
        // (Graphs within graphs need a stack of any depth.)
        let in_place = running::has_room(engine::home());
        myriad_core::scope(|s| {
            if in_place { self.go::<RANKED>(s, None, starts) } else { self.offer::<RANKED>(s, None, starts) }
        });
    }

    /// Makes a task of a node that is ready, or of a row that is to be counted down.
    #[inline]
    fn offer<'scope, const RANKED: bool>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        node: Option<u32>,
        row: &'g [u32],
    ) {
        let offered = Offered { run: self, node, row };
        drop(s.spawn(move || {
            let Offered { run, node, row } = *std::mem::ManuallyDrop::new(offered);
            run.go::<RANKED>(s, node, row);
        }));
    }

    /// Runs a node and what becomes ready by that, or what is ready of a row after one has ended.
    fn go<'scope, const RANKED: bool>(&'scope self, s: &'scope Scope<'scope, '_>, node: Option<u32>, row: &'g [u32]) {
        let mut next = node;
        // (A task has looked whether it is cancelled as it began.)
        let mut is_checked = node.is_some();
        let (mut cancelled, mut count) = (None, 0_u32);
        if !row.is_empty() {
            next = self.count_down::<RANKED>(s, row);
        } else if RANKED && node.is_none() {
            next = self.ready.as_ref().and_then(ReadyNodes::take);
        }
        while let Some(at) = next.take() {
            let node = &self.graph.nodes[at as usize];
            count = count.wrapping_add(1);
            // (One that is ranked does not go behind those that are lower, but ends now and then.)
            let branch = match self.call(at, node, if RANKED { 1 } else { count }, std::mem::take(&mut is_checked)) {
                Ok(branch) => Some(branch),
                Err(end) => {
                    cancelled = self.fail(at, *end).or(cancelled);
                    None
                }
            };
            next = self.count_down::<RANKED>(s, self.graph.after(at as usize));
            if node.special
                && let Some(&branch) = branch.and_then(|branch| self.graph.branches(at as usize).get(branch as usize))
                && let Some(other) = next.replace(branch)
            {
                self.offer::<RANKED>(s, Some(other), &[]);
            }
            if RANKED
                && count & 1023 == 0
                && cancelled.is_none()
                && let Some(at) = next.take()
            {
                // (The worker looks at other things between two tasks.)
                self.offer::<true>(s, Some(at), &[]);
            }
        }
        if let Some(payload) = cancelled {
            unwind::resume(payload);
        }
    }

    /// One in front of each of these has ended. Returns the first that is ready by that, and offers
    /// the others.
    #[inline(always)]
    fn count_down<'scope, const RANKED: bool>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        mut row: &'g [u32],
    ) -> Option<u32> {
        if RANKED && let Some(ready) = &self.ready {
            return self.count_down_ranked(s, row, ready);
        }
        let mut is_offering = row.len() > ROW;
        while row.len() > ROW {
            let (near, far) = row.split_at(row.len() / 2);
            self.offer::<RANKED>(s, None, far);
            row = near;
        }
        let mut first = None;
        let (nodes, has_choices) = (&*self.graph.nodes, self.graph.has_choices);
        for &at in row.iter().rev() {
            let node = &nodes[at as usize];
            if node.predecessors > 1 && !is_last(node, has_choices) {
                continue;
            }
            if let Some(other) = first.replace(at) {
                is_offering = true;
                self.offer::<RANKED>(s, Some(other), &[]);
            }
        }
        if is_offering {
            // The next body may be long.
            split::publish_one();
        }
        first
    }

    /// The same, if the critical path goes first: returns the highest of those that are ready.
    fn count_down_ranked<'scope>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        row: &'g [u32],
        ready: &ReadyNodes<'_>,
    ) -> Option<u32> {
        let is_ready = |at: &u32| {
            let node = &self.graph.nodes[*at as usize];
            node.predecessors <= 1 || is_last(node, self.graph.has_choices)
        };
        let (first, others) = ready.put_all_but_highest(row.iter().copied().filter(is_ready));
        for _ in 0..others {
            self.offer::<true>(s, None, &[]);
        }
        if others > 0 {
            split::publish_one();
        }
        first
    }

    /// Calls the body of a node, unless one in front of it has failed. `count`: so many this task
    /// has called. `is_checked`: it need not look whether it is cancelled.
    #[inline(always)]
    fn call(&self, at: u32, node: &Node<'env>, count: u32, is_checked: bool) -> Result<u32, Box<End>> {
        // Relaxed: written before the count that has made the node ready, or by this task.
        if node.doomed.load(Relaxed) {
            return Err(skipped());
        }
        let _span = self.trace.map(|trace| trace.begin(at));
        if node.special
            && let Some(limits) = &self.graph.extras[at as usize].limits
        {
            return match limits.call(&node.body) {
                Ok(result) => result.map_err(|cause| Box::new(End::Failed(cause))),
                Err(payload) => Err(panicked(payload)),
            };
        }
        match user_code::body(|| {
            // The nodes before it need not have waited, in a long chain or a loop. So it can be
            // cancelled, and others of this worker go on now and then.
            if count & 1023 == 0 {
                myriad_core::yield_now();
            } else if !is_checked {
                cancel::check();
            }
            (node.body)()
        }) {
            Ok(result) => result.map_err(failed),
            Err(payload) => Err(panicked(payload)),
        }
    }

    /// A node has not ended well: what comes after it will be skipped. Returns a cancellation that
    /// has to go on when all that is done. (Until then this task runs no more bodies: what follows
    /// in it comes after the node.)
    #[cold]
    fn fail(&self, at: u32, end: End) -> Option<Payload> {
        // Relaxed: the counts that come after this, and the end of the run, are the order.
        if !self.graph.has_choices {
            // For the next run. (With choices it may be started again in this one.)
            self.graph.nodes[at as usize].doomed.store(false, Relaxed);
        }
        for &after in self.graph.after(at as usize) {
            self.graph.nodes[after as usize].doomed.store(true, Relaxed);
        }
        match end {
            End::Skipped => None,
            End::Failed(cause) => {
                self.failed.lock().push((at, cause));
                None
            }
            End::Cancelled(payload) => {
                self.failed.lock().push((at, Cause::Cancelled));
                Some(payload)
            }
        }
    }
}

/// One in front of a node has ended: the last? Then the count is as at the beginning again.
#[inline(always)]
fn is_last(node: &Node<'_>, has_choices: bool) -> bool {
    let all = node.predecessors;
    // AcqRel: what all its predecessors did comes before the node; partner: the same count, by
    // the others.
    if has_choices {
        // In one step: a choice may start one in front of it again at any time.
        let mut pending = node.pending.load(Relaxed);
        loop {
            let next = if pending == 1 { all } else { pending - 1 };
            match node.pending.compare_exchange_weak(pending, next, AcqRel, Relaxed) {
                Ok(_) => return pending == 1,
                Err(now) => pending = now,
            }
        }
    }
    let is_last = node.pending.fetch_sub(1, AcqRel) == 1;
    if is_last {
        // Relaxed: nobody else counts it in this run.
        node.pending.store(all, Relaxed);
    }
    is_last
}

/// How a node ends that does not end well.
enum End {
    Skipped,
    Failed(Cause),
    /// As the task is that runs it.
    Cancelled(Payload),
}

#[cold]
fn skipped() -> Box<End> {
    Box::new(End::Skipped)
}

#[cold]
fn failed(error: Error) -> Box<End> {
    Box::new(End::Failed(Cause::Error(error)))
}

#[cold]
fn panicked(payload: Payload) -> Box<End> {
    let is_cancellation = unwind::is_cancellation(&payload);
    Box::new(if is_cancellation { End::Cancelled(payload) } else { End::Failed(Cause::panicked(payload)) })
}

/// What was offered and has not begun; such a task is dropped if it is cancelled before.
struct Offered<'a, 'g, 'env> {
    run: &'a Run<'g, 'env>,
    node: Option<u32>,
    row: &'g [u32],
}

impl Drop for Offered<'_, '_, '_> {
    #[cold]
    fn drop(&mut self) {
        let first = self.node.or(self.row.first().copied());
        let first = first.or_else(|| self.run.ready.as_ref()?.take());
        self.run.failed.lock().extend(first.map(|node| (node, Cause::Cancelled)));
        self.run.is_whole.store(false, Relaxed);
    }
}
