//! What a process does while it runs: the loop around its steps.
//!
//! A turn looks at what the handle wants, gives what the last step has left, takes a message, and
//! runs the step. All that a process holds stands in [`ProcessBody`], outside of what unwinds, so a
//! panic or a cancellation loses no message but the one that the step had.
//!
//! A task that has not begun may be run by who joins it, so it may be cancelled from outside, too.

use super::control::{Control, News};
use super::end::{During, EndReason, Outcome, ProcessEnd, Report, StepError};
use super::inlet::{Inlet, Taken};
use super::outputs::Outputs;
use super::ping::{Activity, Answer};
use super::settings::{Transition, Workload};
use super::spec::Spec;
use crate::ops::ended;
use myriad_base::unwind::{Payload, message};
use myriad_core::engine::{unwind, user_code};
use myriad_sync::channel::Sender;
use myriad_sync::select::Select;
use std::ops::ControlFlow;
use std::sync::Arc;

/// A process that runs.
pub(super) struct ProcessBody<S> {
    pub(super) spec: Arc<Spec<S>>,
    pub(super) control: Arc<Control>,
    pub(super) ends: Ends,
    pub(super) inlets: Vec<Box<dyn Inlet<S>>>,
    /// Those that may bring something.
    open: Vec<usize>,
    /// Where the next look at them begins.
    next: usize,
    pub(super) outputs: Outputs,
    pub(super) state: Option<S>,
    /// As it was before the step, if it is to be had back.
    pub(super) saved: Option<S>,
    is_paused: bool,
    pub(super) steps: u64,
}

/// Where panics and reports go.
pub(super) struct Ends {
    pub(super) errors: Sender<StepError>,
    pub(super) reports: Sender<Report>,
}

/// An error is the end.
pub(super) type Flow = Result<(), EndReason>;

impl<S: Send + 'static> ProcessBody<S> {
    pub(super) fn new(
        spec: Arc<Spec<S>>,
        inlets: Vec<Box<dyn Inlet<S>>>,
        outputs: Outputs,
        control: Arc<Control>,
        ends: Ends,
    ) -> Self {
        let open = (0..inlets.len()).collect();
        let (state, saved) = (None, None);
        ProcessBody { spec, control, ends, inlets, open, next: 0, outputs, state, saved, is_paused: false, steps: 0 }
    }

    /// All of it.
    pub(super) fn run(mut self) -> ProcessEnd {
        let control = self.control.clone();
        let turns = user_code::body(|| control.token.run(|| self.turns()));
        let (why, cancelled) = match turns {
            Ok(Ok(why)) => (why, None),
            // (A stop unwinds a source.)
            Ok(Err(_)) if control.is_stopped() => (EndReason::Stopped, None),
            Ok(Err(_)) => (EndReason::Cancelled, None),
            // (Who joins it runs it, and is cancelled.)
            Err(payload) if unwind::is_cancellation(&payload) => (EndReason::Cancelled, Some(payload)),
            Err(payload) => (self.ended_by(During::Release, payload), None),
        };
        let counts = self.outputs.all.iter().map(|outlet| outlet.counts());
        let counts = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
        if !matches!(why, EndReason::Panicked(_)) {
            self.clear_outputs();
            self.last_transition();
        }
        let end = self.end(why, counts);
        match cancelled {
            Some(payload) => unwind::resume(payload),
            None => end,
        }
    }

    fn turns(&mut self) -> EndReason {
        let mut flow = self.start();
        loop {
            match flow {
                Ok(()) => flow = self.turn(),
                Err(why) => return why,
            }
        }
    }

    fn start(&mut self) -> Flow {
        self.control.live.set(Activity::InTransition, 0);
        match user_code::body(|| (self.spec.init)()) {
            Ok(state) => self.state = Some(state),
            Err(payload) => return Err(self.ended_by(During::Init, payload)),
        }
        self.transition(Transition::Start)?;
        self.control.live.set(Activity::Waiting, 0);
        self.attend()
    }

    fn turn(&mut self) -> Flow {
        // (Asked first: this is cheaper than a `try_recv` that fails.)
        if !self.control.signal.is_empty() && self.control.signal.try_recv().is_ok() {
            self.attend()?;
        }
        self.give()?;
        match &self.spec.produce {
            Some(_) => self.produce()?,
            None => match self.take() {
                Taken::Message(at) => self.step(at)?,
                Taken::End(_) => self.finish()?,
                Taken::Signal => return self.attend(),
            },
        }
        ended::pass(self.steps);
        Ok(())
    }

    /// Does what the handle wants, and comes back when the process is to go on.
    ///
    /// # Blocking
    /// While it is paused.
    #[cold]
    fn attend(&mut self) -> Flow {
        let before = self.control.live.activity();
        loop {
            let News { is_paused, is_stopped, pings } = self.control.news();
            if is_stopped {
                return Err(EndReason::Stopped);
            }
            if is_paused != self.is_paused {
                self.is_paused = is_paused;
                self.transition(if is_paused { Transition::Pause } else { Transition::Resume })?;
            }
            self.control.live.set(if is_paused { Activity::Paused } else { before.clone() }, self.steps);
            for ping in pings {
                _ = ping.send(self.answer());
            }
            if !is_paused {
                return Ok(());
            }
            _ = self.control.signal.recv();
        }
    }

    fn answer(&self) -> Answer {
        let live = &self.control.live;
        let names = &self.spec.names.1;
        let outputs = self.outputs.all.iter().zip(names).map(|(outlet, name)| outlet.state(name)).collect();
        Answer { activity: live.activity(), state: self.shown(), steps: self.steps, panics: live.panics(), outputs }
    }

    /// The state as text. (Of one that cannot be shown, why.)
    pub(super) fn shown(&self) -> Option<String> {
        let (show, state) = (self.spec.show?, self.state.as_ref()?);
        Some(user_code::call(|| show(state)).unwrap_or_else(|payload| {
            let text = format!("the state cannot be shown: {}", message(&*payload));
            unwind::drop_quietly(payload);
            text
        }))
    }

    /// Gives what steps and transitions have left.
    ///
    /// # Blocking
    /// While an input has no room.
    fn give(&mut self) -> Flow {
        for at in 0..self.outputs.all.len() {
            while !self.outputs.all[at].is_empty() {
                self.control.live.set(Activity::Giving(at), self.steps);
                let (outlet, signal) = (&mut self.outputs.all[at], &self.control.signal);
                match user_code::body(|| outlet.give(signal)) {
                    Ok(true) => {}
                    Ok(false) => self.attend()?,
                    Err(payload) => {
                        self.failed(During::Giving, payload, None, Outcome::Kept);
                        self.release(|body| body.outputs.all[at].skip());
                    }
                }
                if self.outputs.is_unread() {
                    return Err(EndReason::NobodyReads);
                }
            }
        }
        for text in self.outputs.reports.drain(..) {
            _ = self.ends.reports.try_send(Report { process: self.spec.name.clone(), text });
        }
        Ok(())
    }

    /// A message of one of the inputs. [`Taken::End`]: all have ended.
    ///
    /// # Blocking
    /// Until there is one, or a signal.
    fn take(&mut self) -> Taken {
        loop {
            let taken = match self.try_take() {
                Some(taken) => taken,
                None => {
                    self.control.live.set(Activity::Waiting, self.steps);
                    self.wait()
                }
            };
            match taken {
                Taken::End(at) if self.open.len() > 1 => self.open.retain(|open| *open != at),
                taken => return taken,
            }
        }
    }

    fn try_take(&mut self) -> Option<Taken> {
        let count = self.open.len();
        // (Each in turn: one that has always something does not hold up the others.)
        for turn in self.next..self.next + count {
            let at = self.open[turn % count];
            if let Some(taken) = self.inlets[at].try_take(at) {
                self.next = turn % count + 1;
                return Some(taken);
            }
        }
        None
    }

    fn wait(&mut self) -> Taken {
        let signal = &self.control.signal;
        if let [at] = self.open[..] {
            return self.inlets[at].take(at, signal);
        }
        let mut select = Select::new();
        select.recv(signal, |_| Taken::Signal);
        for (at, inlet) in self.inlets.iter_mut().enumerate().filter(|(at, _)| self.open.contains(at)) {
            inlet.arm(at, &mut select);
        }
        select.wait()
    }

    /// A message goes through the step of its input.
    fn step(&mut self, at: usize) -> Flow {
        self.steps += 1;
        self.control.live.set(Activity::InStep(at), self.steps);
        let ProcessBody { spec, inlets, outputs, state, saved, .. } = self;
        let (Some(state), inlet) = (state, &mut inlets[at]) else { return Ok(()) };
        let result = user_code::body(|| {
            *saved = spec.clone.map(|clone| clone(state));
            run_as(spec.workload, || inlet.step(state, outputs));
        });
        if let Err(payload) = result {
            return self.step_panicked(at, payload);
        }
        self.drop_saved();
        Ok(())
    }

    #[cold]
    fn step_panicked(&mut self, at: usize, payload: Payload) -> Flow {
        let inlet = &mut self.inlets[at];
        let message = user_code::call(|| inlet.shown()).ok().flatten();
        let during = During::Step { input: self.spec.names.0[at].clone(), number: inlet.number() };
        self.release_all(|body| body.inlets[at].drop_one());
        self.recovered(during, payload, message)
    }

    /// The source makes messages.
    fn produce(&mut self) -> Flow {
        self.steps += 1;
        self.control.live.set(Activity::Producing, self.steps);
        let ProcessBody { spec, outputs, state, saved, .. } = self;
        let (Some(state), Some(produce)) = (state, &spec.produce) else { return Ok(()) };
        let result = user_code::body(|| {
            *saved = spec.clone.map(|clone| clone(state));
            run_as(spec.workload, || produce(state, outputs))
        });
        match result {
            Ok(ControlFlow::Continue(())) => {
                self.drop_saved();
                Ok(())
            }
            Ok(ControlFlow::Break(())) => self.finish(),
            Err(payload) => self.recovered(During::Producing, payload, None),
        }
    }

    /// There is nothing more to take, or to make.
    fn finish(&mut self) -> Flow {
        self.give()?;
        self.transition(Transition::InputsEnded)?;
        self.give()?;
        Err(EndReason::InputsEnded)
    }

    fn transition(&mut self, transition: Transition) -> Flow {
        let ProcessBody { spec, outputs, state, saved, .. } = self;
        let (Some(on_transition), Some(state)) = (&spec.transition, state) else { return Ok(()) };
        self.control.live.set(Activity::InTransition, self.steps);
        let result = user_code::body(|| {
            *saved = spec.clone.map(|clone| clone(state));
            on_transition(state, transition, outputs);
        });
        if let Err(payload) = result {
            return self.recovered(During::Transition(transition), payload, None);
        }
        self.drop_saved();
        Ok(())
    }

    /// The last one, in peace from cancellations.
    fn last_transition(&mut self) {
        let ProcessBody { spec, outputs, state, .. } = self;
        let (Some(on_transition), Some(state)) = (&spec.transition, state) else { return };
        self.control.live.set(Activity::InTransition, self.steps);
        if let Err(payload) = user_code::call(|| on_transition(state, Transition::Stop, outputs)) {
            self.failed(During::Transition(Transition::Stop), payload, None, Outcome::Ended);
        }
    }
}

fn run_as<R: Send>(workload: Workload, f: impl FnOnce() -> R + Send) -> R {
    match workload {
        Workload::Mixed => f(),
        Workload::Io => myriad_core::blocking(f),
        Workload::Compute => myriad_core::compute(f),
    }
}
