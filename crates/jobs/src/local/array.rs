//! The body of an array: one closure, and the runs of its elements.

use super::cell::{Body, Call, Cell, Slot};
use super::counted::Counted;
use super::job::{outcome, report};
use super::wakers::Wakers;
use crate::machine::{JobId, Outcome, Report, Request, State};
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::{unwind, user_code};
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

pub(super) struct Array<F> {
    f: Option<Arc<F>>,
    kept: Mutex<Option<Request>>,
    /// The array's own number, and cell.
    id: OnceLock<JobId>,
    cell: Cell<()>,
    failures: Mutex<Failures>,
}

/// What is said of elements that did not end well.
#[derive(Default)]
struct Failures {
    /// Of elements whose last attempt failed, and which have not ended: there may be another one.
    open: BTreeMap<u32, Arc<str>>,
    /// Of the array.
    reason: Option<Arc<str>>,
}

impl Failures {
    fn note_end(&mut self, element: u32, state: State) {
        match (self.open.remove(&element), state) {
            (Some(text), State::Failed) => self.reason = Some(format!("element {element}: {text}").into()),
            (_, State::TimedOut) => self.note(|| format!("element {element}: its wall time was over")),
            (_, State::Cancelled) => self.note(|| format!("element {element} was cancelled")),
            _ => {}
        }
    }
    /// Unless more is known.
    fn note(&mut self, text: impl FnOnce() -> String) {
        self.reason.get_or_insert_with(|| text().into());
    }
}

impl<F> Array<F> {
    pub(super) fn new(f: F) -> Array<F> {
        Array::of(Arc::new(f))
    }
    fn of(f: Arc<F>) -> Array<F> {
        let failures = Mutex::new(Failures::default());
        Array { f: Some(f), kept: Mutex::new(None), id: OnceLock::new(), cell: Cell::new(), failures }
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
            self.failures.lock().open.insert(element, reason);
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
    fn note_retry(&self) {} // (An element's next end replaces what is said of this one.)
    fn note_runtime_end(&self) {
        self.cell.note_runtime_end();
    }
    fn note_end(&self, id: JobId, state: State) -> Option<Box<Wakers>> {
        // The array's own end says whether all went well; elements have no handles.
        let array = self.id.get()?;
        if *array != id {
            self.failures.lock().note_end((id.0 - array.0 - 1) as u32, state);
            return None;
        }
        let reason = self.failures.lock().reason.take();
        match (state, reason) {
            (State::Done, _) => self.cell.leave_with(Ok(())),
            (State::Failed, Some(reason)) => self.cell.fail(reason),
            _ => {}
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
