//! What becomes of a process when a function of it has panicked, and at its end.

use super::body::{Flow, ProcessBody};
use super::end::{During, EndReason, Outcome, ProcessEnd, StepError};
use super::settings::OnPanic;
use crate::panic::Panic;
use myriad_base::unwind::{Payload, message};
use myriad_core::engine::{unwind, user_code};
use myriad_sync::channel::TrySendError;

impl<S: Send + 'static> ProcessBody<S> {
    /// A function of the process has panicked. An error: it ends.
    #[cold]
    pub(super) fn recovered(&mut self, during: During, payload: Payload, text: Option<String>) -> Flow {
        let payload = not_cancelled(payload);
        if !matches!(during, During::Transition(_)) {
            self.clear_outputs();
        }
        let saved = self.saved.take();
        let outcome = match (self.spec.clone, self.spec.on_panic) {
            (Some(_), _) => self.set_state(saved, Outcome::Restored),
            (None, OnPanic::End) => Outcome::Ended,
            (None, OnPanic::Keep) => Outcome::Kept,
            (None, OnPanic::Init) => match user_code::body(|| (self.spec.init)()) {
                Ok(state) => self.set_state(Some(state), Outcome::Initialised),
                Err(payload) => {
                    self.failed(During::Init, payload, None, Outcome::Ended);
                    Outcome::Ended
                }
            },
        };
        let why = message(&*payload).to_owned();
        self.failed(during, payload, text, outcome);
        if outcome == Outcome::Ended { Err(EndReason::Panicked(why)) } else { Ok(()) }
    }

    /// Replaces the state, if there is another one.
    fn set_state(&mut self, state: Option<S>, outcome: Outcome) -> Outcome {
        if state.is_none() {
            // (The clone that was to be kept has panicked.)
            return Outcome::Ended;
        }
        let old = std::mem::replace(&mut self.state, state);
        self.release(|_| drop(old));
        outcome
    }

    pub(super) fn drop_saved(&mut self) {
        if let Some(saved) = self.saved.take() {
            self.release(|_| drop(saved));
        }
    }

    /// The process ends by this panic.
    #[cold]
    pub(super) fn ended_by(&mut self, during: During, payload: Payload) -> EndReason {
        let payload = not_cancelled(payload);
        let why = EndReason::Panicked(message(&*payload).to_owned());
        self.failed(during, payload, None, Outcome::Ended);
        why
    }

    /// Says that a function has panicked.
    #[cold]
    pub(super) fn failed(&mut self, during: During, payload: Payload, message: Option<String>, outcome: Outcome) {
        let (panic, process) = (Panic::new(not_cancelled(payload)), self.spec.name.clone());
        self.control.live.count_panic();
        let error = StepError { process, during, panic, state: self.shown(), message, outcome };
        let errors = &self.ends.errors;
        // (It may drop an older one, whose payload is the user's.)
        let sent = user_code::call(|| {
            if let Err(TrySendError::Closed(error)) = errors.try_send(error) {
                user_code::report(&format!("{error} (nobody reads the errors)"));
            }
        });
        sent.unwrap_or_else(unwind::drop_quietly);
    }

    /// Lets go of something of the user's; a panic of its destructor is said, and no more.
    pub(super) fn release(&mut self, f: impl FnOnce(&mut Self)) {
        if let Err(payload) = user_code::call(|| f(self)) {
            self.failed(During::Release, payload, None, Outcome::Kept);
        }
    }

    /// Lets go of things of the user's, one by one, until `f` says that there is none.
    pub(super) fn release_all(&mut self, mut f: impl FnMut(&mut Self) -> bool) {
        let mut is_some = true;
        while is_some {
            // (After a panic there may be more.)
            self.release(|body| is_some = f(body));
        }
    }

    pub(super) fn clear_outputs(&mut self) {
        self.outputs.reports.clear();
        for at in 0..self.outputs.all.len() {
            self.release_all(|body| body.outputs.all[at].drop_one());
        }
    }

    /// Lets go of all that it holds, one by one: of two destructors that panic at once the second
    /// would end the process.
    pub(super) fn end(mut self, why: EndReason, (given, undelivered): (u64, u64)) -> ProcessEnd {
        let unread = self.inlets.iter().map(|inlet| inlet.close()).sum();
        self.clear_outputs();
        for at in 0..self.inlets.len() {
            self.release_all(|body| body.inlets[at].drop_one());
        }
        let (inlets, outlets) = (std::mem::take(&mut self.inlets), std::mem::take(&mut self.outputs.all));
        inlets.into_iter().for_each(|inlet| self.release(|_| drop(inlet)));
        outlets.into_iter().for_each(|outlet| self.release(|_| drop(outlet)));
        let (state, saved) = (self.state.take(), self.saved.take());
        self.release(|_| drop(state));
        self.release(|_| drop(saved));
        self.control.end();
        let (name, steps, panics) = (self.spec.name.clone(), self.steps, self.control.live.panics());
        ProcessEnd { name, why, steps, panics, given, undelivered, unread }
    }
}

/// A cancellation unwinds as the process does.
fn not_cancelled(payload: Payload) -> Payload {
    if unwind::is_cancellation(&payload) {
        unwind::resume(payload);
    }
    payload
}
