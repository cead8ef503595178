//! The runs of jobs, as tasks; and jobs that wait for others meanwhile.
//!
//! **Runs in a row.** Where a job ends and another starts in the same turn, the second one runs in
//! the first one's task: that saves a spawn and two turns of the lock. Nobody sees the difference:
//! the task has nothing of its own that a new one would not have (no task-locals, no mark of
//! cancellation), no code of the user runs between the two, and a row is short. Programs have rows
//! of their own, on a thread for what blocks: so between two of them no thread waits for another.

use super::cell::Call;
use super::event::Event;
use super::job::outcome;
use super::seats::{Place, RunTask, Seated};
use super::shared::{NewRun, Payload, Shared, Turn};
use crate::machine::{JobId, Outcome, Report, State, Time};
use myriad_core::engine::running::{self, UnderWay};
use myriad_core::engine::user_code::{self, StoredWaker};
use myriad_core::{block_on, blocking, cancel};
use std::cell::Cell;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

/// The task of runs. It says that a run has ended also if the task never began, cancelled before or
/// left by its runtime, and if the body unwinds.
struct Start {
    shared: Arc<Shared>,
    call: Call,
    place: Place,
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

/// In one task so many jobs follow each other at most ...
const IN_A_ROW: u32 = 64;
/// ... and none begins there after so many nanoseconds. So the worker soon looks at other tasks.
const ROW_TIME: u64 = 50_000;

/// How a run has ended.
type How = (Outcome, Option<Box<Report>>);

impl Start {
    fn run(mut self) {
        if !self.shared.locked(|inner| inner.seats.enter(self.place)) {
            return;
        }
        self.shared.listeners.tell([Event::Started { id: self.call.id, attempt: self.call.attempt }]);
        let is_as_new = running::is_as_new();
        let last = if self.body.as_ref().is_some_and(|body| body.blocks()) {
            // (It unwinds if the task is cancelled before there is a thread for it.)
            let row = || blocking(|| self.run_row(|| is_as_new && !cancel::is_cancelled(), Time::MAX));
            user_code::body(row).unwrap_or_else(|payload| Some((outcome::<()>(Err(payload)).0, None)))
        } else {
            let until = self.shared.now() + ROW_TIME;
            self.run_row(running::is_as_new, until)
        };
        if let Some(how) = last {
            self.over(how, None);
        }
    }

    /// This run, and those that follow in its task, none of which begins after a time. Returned is
    /// how the last one has ended, if that has not been said.
    #[inline]
    fn run_row(&mut self, is_as_new: impl Fn() -> bool, until: Time) -> Option<How> {
        for left in (0..IN_A_ROW).rev() {
            let body = self.body.as_ref()?;
            if body.blocks() {
                // (It has its thread now.)
                self.shared.call(|machine, now| machine.really_begins(now, self.call.id));
            }
            let how = body.run(self.call);
            let goes_on = left > 0 && how.0 == Outcome::Done && !body.has_drop();
            if !goes_on || !self.shared.listeners.is_empty() || !is_as_new() {
                return Some(how);
            }
            if !self.over(how, Some(until)) {
                break;
            }
        }
        None
    }

    /// The run is over. Has this task another one now? It may, up to this time.
    fn over(&mut self, how: How, until: Option<Time>) -> bool {
        let Some(body) = self.body.take() else { return false };
        let until = until.map(|until| (until, body.blocks()));
        let mut turn = Turn::default();
        let next = self.shared.end(self.call, self.place, how, until, &mut turn);
        self.shared.carry_out(&mut turn);
        let Some(NewRun { call, place, body }) = next else { return false };
        (self.call, self.place, self.body) = (call, place, Some(body));
        true
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
        if self.body.is_some() {
            self.shared.note_runtime_end(self.call.id);
            self.over((Outcome::Stopped, None), None);
        }
    }
}

impl Shared {
    /// Spawns a run. False: the runtime has ended, and has dropped the task. So no lock is held.
    pub(super) fn begin(self: &Arc<Self>, run: NewRun) -> bool {
        let NewRun { call, place, body } = run;
        let start = Start { shared: self.clone(), call, place, body: Some(body) };
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
        let (kept, has_waiter) = self.locked(|inner| (inner.seats.keep(place, of), self.outside.is_there()));
        if has_waiter && (!is_watched || matches!(kept, Ok(true))) {
            self.watch_runs();
        }
        true
    }

    /// The job ends because its runtime does: it has not begun, or is left. (One that was stopped
    /// before that ends as cancelled.)
    pub(super) fn note_runtime_end(&self, id: JobId) {
        self.locked(|inner| {
            if !inner.seats.is_stopped(inner.machine.noted(id), id) {
                inner.machine.payload(id).into_iter().for_each(|body| body.note_runtime_end());
            }
        });
    }

    /// The run of a job has ended, or never came. `until`: up to this time another one may begin in
    /// the same task, if it blocks its thread, or if it does not. It does, and is returned, if the
    /// turn decides nothing else: no other code of the user comes before that run, which would wait
    /// for that.
    pub(super) fn end(
        &self,
        call: Call,
        place: Place,
        how: How,
        until: Option<(Time, bool)>,
        turn: &mut Turn,
    ) -> Option<NewRun> {
        let (id, now) = (call.id, self.now());
        let mut next = None;
        let left = self.locked(|inner| {
            // (Else it was left: its runtime has come back to it, too late.)
            let is_stopped = inner.seats.is_stopped_at(place)?;
            match inner.machine.end_and_decide(now, id, how.0, how.1) {
                Some(handover) => self.take_handover(inner, id, handover, turn),
                None => self.take(inner, turn),
            }
            if until.is_some_and(|(until, blocks)| now < until && turn.stays(blocks)) && !is_stopped {
                next = turn.take_start();
                next.iter_mut().for_each(|run| inner.seat_again(run, place));
                inner.machine.likely_second().into_iter().for_each(Payload::prefetch);
                return None;
            }
            let left = inner.seats.leave(place);
            turn.seat_start(inner);
            left
        });
        drop(left.and_then(Seated::into_task));
        next
    }

    /// If the calling task runs a job of this queue, that job is suspended as long as the guard
    /// lives.
    pub(super) fn suspend_caller(self: &Arc<Self>) -> Option<Suspended> {
        let (here, now) = (UnderWay::here(), self.now());
        let mut turn = Turn::default();
        let id = self.locked(|inner| {
            let id = inner.seats.run_by(here).filter(|id| inner.machine.suspend(*id))?;
            self.turn(inner, now, &mut turn);
            Some(id)
        })?;
        self.carry_out(&mut turn);
        self.listeners.tell([Event::Suspended { id }]);
        Some(Suspended { shared: self.clone(), id })
    }
}

/// A job that waits for another one: dropped, it waits until it has back what it held. (One that is
/// to stop has that at once.)
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
        cancel::shield(|| {
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
