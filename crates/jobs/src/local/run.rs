//! The runs of jobs, as tasks; and jobs that wait for others meanwhile.

use super::cell::Call;
use super::event::Event;
use super::seats::{RunTask, Seat};
use super::shared::{Payload, Shared, Turn};
use crate::machine::{JobId, Outcome, Report, State};
use myriad_core::block_on;
use myriad_core::engine::running::UnderWay;
use myriad_core::engine::user_code::StoredWaker;
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// The task of a run. It says that the run has ended also if the task never began, cancelled before
/// or left by its runtime, and if the body unwinds.
struct Start {
    shared: Arc<Shared>,
    call: Call,
    seat: Seat,
    /// Until the run is over.
    body: Option<Payload>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spawn {
    Nothing,
    UnderWay,
    Refused,
}

thread_local! {
    /// What this thread is just spawning, in which it does nothing else.
    static SPAWN: Cell<Spawn> = const { Cell::new(Spawn::Nothing) };
}

impl Start {
    fn run(mut self) {
        let Some(body) = &self.body else { return };
        let id = self.call.id;
        if !body.enter(id) {
            return;
        }
        self.shared.listeners.tell(&Event::Started { id, attempt: self.call.attempt });
        let (outcome, report) = body.run(self.call);
        self.over(outcome, report);
    }

    fn over(&mut self, outcome: Outcome, report: Option<Report>) {
        if let Some(_body) = self.body.take() {
            let turn = self.shared.end(self.call, self.seat, outcome, report);
            self.shared.carry_out(turn);
        }
    }
}

impl Drop for Start {
    fn drop(&mut self) {
        if SPAWN.get() == Spawn::UnderWay {
            // Refused. The one who spawns ends the run. (The body is not dropped with this: the
            // machine has it until then.)
            SPAWN.set(Spawn::Refused);
            self.body = None;
        }
        if let Some(body) = &self.body {
            body.leave(self.call.id);
            self.shared.note_runtime_end(self.call.id);
            self.over(Outcome::Stopped, None);
        }
    }
}

impl Shared {
    /// Spawns a run. False: the runtime has ended, and has dropped the task. So no lock is held.
    pub(super) fn begin(self: &Arc<Self>, call: Call, seat: Seat, body: Payload) -> bool {
        let start = Start { shared: self.clone(), call, seat, body: Some(body) };
        SPAWN.set(Spawn::UnderWay);
        let task = self.pool.spawn(move || start.run());
        if SPAWN.replace(Spawn::Nothing) == Spawn::Refused {
            return false;
        }
        let mut of = Some(RunTask { task, is_watched: false });
        if self.outside.is_there() {
            of = of.and_then(|of| self.watch(of));
        }
        let is_watched = of.as_ref().is_some_and(|of| of.is_watched);
        let (kept, has_waiter) = self.locked(|inner| (inner.seats.keep(call, seat, of), self.outside.is_there()));
        if has_waiter && (!is_watched || matches!(kept, Ok(true))) {
            self.watch_runs();
        }
        true
    }

    /// The job ends because its runtime does: it has not begun, or is left.
    pub(super) fn note_runtime_end(&self, id: JobId) {
        self.locked(|inner| inner.machine.payload(id).into_iter().for_each(|body| body.note_runtime_end(id)));
    }

    /// The run of a job has ended, or never came.
    pub(super) fn end(&self, call: Call, seat: Seat, outcome: Outcome, report: Option<Report>) -> Turn {
        let (id, now) = (call.id, self.now());
        let (task, turn) = self.locked(|inner| {
            let Some(task) = inner.seats.leave(call, seat) else {
                // It was left: its runtime has come back to it, too late.
                return (None, Turn::nothing());
            };
            inner.machine.report(id, report);
            inner.machine.ended(now, id, outcome);
            (task, self.turn(inner, now))
        });
        drop(task);
        turn
    }

    /// If the calling task runs a job of this queue, that job is suspended as long as the guard
    /// lives.
    pub(super) fn suspend_caller(self: &Arc<Self>) -> Option<Suspended> {
        let (here, now) = (UnderWay::here(), self.now());
        let (id, turn) = self.locked(|inner| {
            let machine = &inner.machine;
            let is_here = |id: &JobId| machine.payload(*id).is_some_and(|body| body.is_run_by(*id, here));
            let id = inner.seats.iter().find(is_here)?;
            inner.machine.suspend(id).then(|| (id, self.turn(inner, now)))
        })?;
        self.carry_out(turn);
        Some(Suspended { shared: self.clone(), id })
    }
}

/// A job that waits for another one: dropped, it waits until it has back what it held.
pub(super) struct Suspended {
    shared: Arc<Shared>,
    id: JobId,
}

impl Drop for Suspended {
    fn drop(&mut self) {
        if !self.shared.call(|machine, _| machine.resume(self.id)) {
            return;
        }
        // Not to be left, also by a cancellation: the job runs, and is to hold what it was given.
        myriad_core::cancel::shield(|| {
            block_on(poll_fn(|cx| {
                let waker = StoredWaker::clone_of(cx.waker());
                let (old, poll) = self.shared.locked(|inner| match inner.machine.state(self.id) {
                    Ok(State::Suspended) => (inner.resuming.insert(self.id.0, waker), Poll::Pending),
                    _ => (Some(waker), Poll::Ready(())),
                });
                old.into_iter().for_each(StoredWaker::discard);
                poll
            }));
        });
    }
}
