//! The body of an array: one closure, and the runs of its elements.

use super::cell::{Body, Call, Cell, Run, Slot};
use super::job::{outcome, report};
use crate::machine::{JobId, Outcome, Report, Request, State};
use myriad_base::hash::Numbers;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::running::{ToTell, UnderWay};
use myriad_core::engine::user_code::StoredWaker;
use myriad_core::engine::{unwind, user_code};
use std::sync::{Arc, OnceLock};

pub(super) struct Array<F> {
    f: Option<Arc<F>>,
    kept: Mutex<Option<Request>>,
    /// Those that run. (A number's lock is held for some instructions, as a cell's is.)
    runs: Mutex<Numbers<u64, Run>>,
    /// The array's own number, and cell.
    id: OnceLock<JobId>,
    cell: Cell<()>,
}

impl<F> Array<F> {
    pub(super) fn new(f: F) -> Array<F> {
        Array::of(Arc::new(f))
    }
    fn of(f: Arc<F>) -> Array<F> {
        let kept = Mutex::new(None);
        Array { f: Some(f), kept, runs: Mutex::new(Numbers::default()), id: OnceLock::new(), cell: Cell::new() }
    }
    fn with_run<R>(&self, id: JobId, f: impl FnOnce(&mut Run) -> R) -> R {
        f(self.runs.lock().entry(id.as_u64()).or_default())
    }
}

impl<F: Fn(u32) -> Result<(), Arc<str>> + Send + Sync> Body for Array<F> {
    fn enter(&self, id: JobId) -> bool {
        self.with_run(id, Run::enter)
    }
    fn run(&self, call: Call) -> (Outcome, Option<Report>) {
        let (Some(f), Some(element)) = (&self.f, call.element) else {
            self.leave(call.id);
            return (Outcome::Stopped, None);
        };
        let (outcome, result) = outcome(user_code::body(|| f(element)));
        self.leave(call.id);
        let report = report(outcome, result.as_ref().err().and_then(Option::as_ref));
        if let Err(Some(reason)) = result {
            self.cell.fail(format!("element {element}: {reason}").into());
        }
        (outcome, report)
    }
    fn leave(&self, id: JobId) {
        self.with_run(id, Run::leave);
    }
    fn stop(&self, id: JobId) -> Option<ToTell> {
        self.with_run(id, Run::stop)
    }
    fn is_run_by(&self, id: JobId, task: UnderWay) -> bool {
        self.with_run(id, |run| run.is_run_by(task))
    }
    fn note_submitted(&self, id: JobId) {
        // (A job is submitted once.)
        _ = self.id.set(id);
    }
    fn note_retry(&self, id: JobId) {
        self.runs.lock().remove(&id.as_u64());
    }
    fn note_runtime_end(&self, id: JobId) {
        // (An element that was stopped before it began was cancelled, and so was its array.)
        if !self.with_run(id, |run| run.is_stopped()) {
            self.cell.note_runtime_end();
        }
    }
    fn note_end(&self, id: JobId, state: State, wake: &mut Vec<StoredWaker>) {
        self.runs.lock().remove(&id.as_u64());
        // The array's own end says whether all went well; elements have no handles.
        if self.id.get() == Some(&id) {
            if state == State::Done {
                self.cell.leave_with(Ok(()));
            }
            self.cell.note_end(state, wake);
        }
    }
    fn ended(&self) -> Option<State> {
        self.cell.state()
    }
    fn elements(&self) -> u32 {
        self.kept.lock().as_ref().and_then(|request| request.array).map_or(0, |array| array.len)
    }
}
impl<F: Fn(u32) -> Result<(), Arc<str>> + Send + Sync + 'static> Slot<()> for Array<F> {
    fn cell(&self) -> &Cell<()> {
        &self.cell
    }
    fn keep(&self, request: &Request) {
        *self.kept.lock() = Some(request.clone());
    }
    fn renew(&self) -> Option<(Arc<dyn Slot<()>>, Request)> {
        Some((Arc::new(Array::of(self.f.clone()?)), self.kept.lock().clone()?))
    }
}
impl<F> Drop for Array<F> {
    fn drop(&mut self) {
        unwind::drop_quietly(self.f.take());
    }
}
