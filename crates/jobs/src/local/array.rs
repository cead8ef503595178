//! The body of an array: one closure, and the runs of its elements.

use super::cell::{Body, Call, Cell, Slot};
use super::counted::Counted;
use super::job::{outcome, report};
use super::wakers::Wakers;
use crate::machine::{JobId, Outcome, Report, Request, State};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::{unwind, user_code};
use std::sync::{Arc, OnceLock};

pub(super) struct Array<F> {
    f: Option<Arc<F>>,
    kept: Mutex<Option<Request>>,
    /// The array's own number, and cell.
    id: OnceLock<JobId>,
    cell: Cell<()>,
}

impl<F> Array<F> {
    pub(super) fn new(f: F) -> Array<F> {
        Array::of(Arc::new(f))
    }
    fn of(f: Arc<F>) -> Array<F> {
        Array { f: Some(f), kept: Mutex::new(None), id: OnceLock::new(), cell: Cell::new() }
    }
}

impl<F: Fn(u32) -> Result<(), Arc<str>> + Send + Sync> Body for Array<F> {
    fn keep(&self, request: &Request) {
        *self.kept.lock() = Some(request.clone());
    }
    fn change_kept(&self, change: &dyn Fn(&mut Request)) {
        self.kept.lock().as_mut().into_iter().for_each(change);
    }
    fn run(&self, call: Call) -> (Outcome, Option<Box<Report>>) {
        let (Some(f), Some(element)) = (&self.f, call.element) else {
            return (Outcome::Stopped, None);
        };
        let (outcome, result) = outcome(user_code::body(|| f(element)));
        let report = report(outcome, result.as_ref().err().and_then(Option::as_ref));
        if let Err(Some(reason)) = result {
            self.cell.fail(format!("element {element}: {reason}").into());
        }
        (outcome, report)
    }
    fn has_drop(&self) -> bool {
        false // (The array's record has the last reference, and ends in a turn with two ends.)
    }
    fn note_submitted(&self, id: JobId) {
        // (A job is submitted once.)
        _ = self.id.set(id);
    }
    fn note_retry(&self) {} // (What one element has left says something of the array.)
    fn note_runtime_end(&self) {
        self.cell.note_runtime_end();
    }
    fn note_end(&self, id: JobId, state: State) -> Option<Box<Wakers>> {
        // The array's own end says whether all went well; elements have no handles.
        if self.id.get() != Some(&id) {
            return None;
        }
        if state == State::Done {
            self.cell.leave_with(Ok(()));
        }
        self.cell.note_end(state)
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
    fn renew(&self) -> Option<(Counted<dyn Slot<()>>, Request)> {
        Some((Counted::new(Array::of(self.f.clone()?)), self.kept.lock().clone()?))
    }
}
impl<F> Drop for Array<F> {
    fn drop(&mut self) {
        unwind::drop_quietly(self.f.take());
    }
}
