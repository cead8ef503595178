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

use super::Graph;
use super::error::{Cause, RunError};
use super::levels::ReadyNodes;
use super::node::Error;
use super::offer::ROW;
use crate::view::TraceOfRun;
use myriad_base::sys::atomic::AtomicBool;
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::mutex::Mutex;
use myriad_core::Scope;
use myriad_core::cancel;
use myriad_core::engine::unwind::{self, Payload};
use myriad_core::engine::user_code;
use myriad_core::engine::{self, running, split};
use std::collections::VecDeque;

/// What the tasks of a run have in common.
pub(super) struct Run<'g, 'env> {
    graph: &'g Graph<'env>,
    pub(super) failed: Mutex<Vec<(u32, Cause)>>,
    /// No task of a node was dropped before it began. Written before the scope ends, which is the
    /// order.
    pub(super) is_whole: AtomicBool,
    trace: Option<&'g TraceOfRun>,
    /// If the critical path goes first. Then a task that has neither node nor row takes one here.
    pub(super) ready: Option<ReadyNodes<'g>>,
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
            if in_place { self.go::<RANKED>(s, None, starts) } else { self.offer_row::<RANKED>(s, starts) }
        });
    }

    /// Runs a node and what becomes ready by that, or what is ready of a row after one has ended.
    pub(super) fn go<'scope, const RANKED: bool>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        node: Option<u32>,
        row: &'g [u32],
    ) {
        let first = if !row.is_empty() {
            self.count_down::<RANKED>(s, row)
        } else if RANKED && node.is_none() {
            self.ready.as_ref().and_then(ReadyNodes::take)
        } else {
            node
        };
        // (A task has looked whether it is cancelled as it began.)
        let mut way = Way { next: first, count: 0, is_checked: node.is_some() };
        let mut cancelled = None;
        while let Some(at) = way.next {
            let stop = user_code::body(|| self.go_on::<RANKED>(s, &mut way, at));
            let result = match stop {
                Ok(Stop::AtEnd) => break,
                Ok(Stop::Marked(result)) => result,
                Ok(Stop::Failed(error)) => Err(failed(error)),
                Err(payload) if way.next.is_some() => Err(panicked(payload)),
                Err(payload) => unwind::resume(payload),
            };
            let Some(at) = way.next.take() else { break };
            way.is_checked = false;
            let branch = match result {
                Ok(branch) => Some(branch),
                Err(end) => {
                    cancelled = self.fail(at, *end).or(cancelled);
                    None
                }
            };
            way.next = self.count_down::<RANKED>(s, self.graph.after(at as usize));
            if self.graph.nodes[at as usize].marks.is_special()
                && let Some(&branch) = branch.and_then(|branch| self.graph.branches(at as usize).get(branch as usize))
                && let Some(other) = way.next.replace(branch)
            {
                self.offer_in_order::<RANKED>(s, other);
            }
            if cancelled.is_none()
                && way.is_long::<RANKED>()
                && let Some(at) = way.next.take()
            {
                self.offer_in_order::<RANKED>(s, at);
            }
        }
        if let Some(payload) = cancelled {
            unwind::resume(payload);
        }
    }

    /// The same until a node has not ended well, or has a mark. All of these are in one frame that
    /// catches panics; `way` says where that was.
    #[inline(always)]
    fn go_on<'scope, const RANKED: bool>(
        &'scope self,
        s: &'scope Scope<'scope, '_>,
        way: &mut Way,
        mut at: u32,
    ) -> Stop {
        loop {
            let node = &self.graph.nodes[at as usize];
            way.count = way.count.wrapping_add(1);
            if node.marks.any() || self.trace.is_some() {
                return Stop::Marked(self.call_marked::<RANKED>(at, way));
            }
            way.look::<RANKED>();
            if let Err(error) = (node.body)() {
                return Stop::Failed(error);
            }
            // (What panics now is no node.)
            way.next = None;
            match self.count_down::<RANKED>(s, self.graph.row(node)) {
                None => return Stop::AtEnd,
                Some(next) if way.is_long::<RANKED>() => {
                    self.offer_in_order::<RANKED>(s, next);
                    return Stop::AtEnd;
                }
                Some(next) => at = next,
            }
            way.next = Some(at);
            way.is_checked = false;
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
        let mut is_offering = false;
        if row.len() > ROW {
            row = self.offer_halves::<RANKED>(s, row);
            is_offering = true;
        }
        let mut first = None;
        let (counts, has_choices) = (&*self.graph.counts, self.graph.has_choices);
        for &at in row.iter().rev() {
            if !counts[at as usize].is_last(has_choices) {
                continue;
            }
            if let Some(other) = first.replace(at) {
                is_offering = true;
                self.offer::<RANKED>(s, other);
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
        let is_ready = |at: &u32| self.graph.counts[*at as usize].is_last(self.graph.has_choices);
        let (first, others) = ready.put_all_but_highest(row.iter().copied().filter(is_ready));
        for _ in 0..others {
            self.offer_highest(s);
        }
        if others > 0 {
            split::publish_one();
        }
        first
    }

    /// Calls the body of a node that has a mark, or of any node if the run is traced.
    #[inline(never)]
    fn call_marked<const RANKED: bool>(&self, at: u32, way: &Way) -> Result<u32, Box<End>> {
        let node = &self.graph.nodes[at as usize];
        if node.marks.is_doomed() {
            return Err(skipped());
        }
        let _span = self.trace.map(|trace| trace.begin(at));
        if node.marks.is_special()
            && let Some(limits) = &self.graph.extras[at as usize].limits
        {
            return match limits.call(&node.body) {
                Ok(result) => result.map_err(|cause| Box::new(End::Failed(cause))),
                Err(payload) => Err(panicked(payload)),
            };
        }
        way.look::<RANKED>();
        (node.body)().map_err(failed)
    }

    /// A node has not ended well: what comes after it will be skipped. Returns a cancellation that
    /// has to go on when all that is done. (Until then this task runs no more bodies: what follows
    /// in it comes after the node.)
    #[cold]
    fn fail(&self, at: u32, end: End) -> Option<Payload> {
        // Relaxed: the counts that come after this, and the end of the run, are the order.
        if !self.graph.has_choices {
            // For the next run. (With choices it may be started again in this one.)
            self.graph.nodes[at as usize].marks.set_doomed(false);
        }
        for &after in self.graph.after(at as usize) {
            self.graph.nodes[after as usize].marks.set_doomed(true);
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

/// Where a task is that goes from node to node.
struct Way {
    /// The node that runs, or is to run.
    next: Option<u32>,
    /// So many have begun.
    count: u32,
    /// The task need not look whether it is cancelled.
    is_checked: bool,
}

impl Way {
    /// The nodes before this one need not have waited, in a long chain or a loop. So it can be
    /// cancelled, and others of this worker go on now and then. (A node that is ranked does not go
    /// behind those that are lower.)
    #[inline(always)]
    fn look<const RANKED: bool>(&self) {
        if !RANKED && self.count & 1023 == 0 {
            myriad_core::yield_now();
        } else if !self.is_checked {
            cancel::check();
        }
    }

    /// Does the task end here, though there is a next node? (So the worker looks at other things
    /// between two tasks.)
    #[inline(always)]
    fn is_long<const RANKED: bool>(&self) -> bool {
        RANKED && self.count & 1023 == 0
    }
}

/// Why a task does not just go on with the next node.
enum Stop {
    /// There is none.
    AtEnd,
    /// The node has a mark, or the run is traced, and it has ended so.
    Marked(Result<u32, Box<End>>),
    /// The body has returned an error.
    Failed(Error),
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
