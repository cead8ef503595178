//! The body of an array: one closure, and the runs of its elements.

use super::cell::{Body, Call, Cell, Run, Slot, Spawn};
use super::job::{outcome, report};
use crate::machine::{JobId, Outcome, Report, State};
use myriad_base::hash::Numbers;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::{unwind, user_code};
use myriad_core::task::{Canceller, TaskId};
use std::sync::Arc;

pub(super) struct Array<F> {
    f: Option<F>,
    /// Those that run. (A number's lock is held for some instructions, as a cell's is.)
    runs: Mutex<Numbers<u64, Run>>,
    /// The array's own.
    cell: Cell<()>,
}

impl<F> Array<F> {
    pub(super) fn new(f: F) -> Array<F> {
        Array { f: Some(f), runs: Mutex::new(Numbers::default()), cell: Cell::new() }
    }
}

impl<F: Fn(u32) -> Result<(), Arc<str>> + Send + Sync> Body for Array<F> {
    fn begin(&self, id: JobId, spawn: Spawn<'_>) -> Option<Canceller> {
        self.runs.lock().entry(id.as_u64()).or_default().begin(spawn)
    }
    fn run(&self, call: Call) -> (Outcome, Option<Report>) {
        drop(self.runs.lock());
        let (Some(f), Some(element)) = (&self.f, call.element) else { return (Outcome::Stopped, None) };
        let (outcome, result) = outcome(user_code::body(|| f(element)));
        let report = report(outcome, result.as_ref().err().and_then(Option::as_ref));
        if let Err(Some(reason)) = result {
            self.cell.put(Err(Some(format!("element {element}: {reason}").into())));
        }
        (outcome, report)
    }
    fn end(&self, id: JobId) {
        self.runs.lock().remove(&id.as_u64());
    }
    fn stop(&self, id: JobId) -> Option<Canceller> {
        self.runs.lock().entry(id.as_u64()).or_default().stop()
    }
    fn task(&self, id: JobId) -> Option<TaskId> {
        self.runs.lock().get(&id.as_u64()).and_then(Run::task)
    }
    fn note_end(&self, id: JobId, state: State) {
        // The array's own end says whether all went well; elements have no handles.
        if self.cell.is_of(id) {
            if state == State::Done {
                self.cell.put(Ok(()));
            }
            self.cell.note_end(state);
        }
    }
    fn over(&self, id: JobId) {
        if self.cell.is_of(id) {
            self.cell.over();
        }
    }
    fn ended(&self) -> Option<State> {
        self.cell.state()
    }
}
impl<F: Fn(u32) -> Result<(), Arc<str>> + Send + Sync> Slot<()> for Array<F> {
    fn cell(&self) -> &Cell<()> {
        &self.cell
    }
}
impl<F> Drop for Array<F> {
    fn drop(&mut self) {
        unwind::drop_quietly(self.f.take());
    }
}
