//! The engine beside the machine: carries out what the machine decides.
//!
//! **One lock**, a thread's lock, is held for a call of the machine and no user code: closures,
//! callbacks, destructors and wakers run after it, and so do spawns, which drop their task where
//! the runtime has ended. What was decided is taken out under the lock, in order, and carried out
//! without it. So two threads may carry out two turns side by side, and a job that is stopped may
//! not have begun: the stop is noted in the seat of the run, under the lock, and the run finds it
//! there.
//!
//! **A job is a task** of the pool in which the queue was made, or follows another one in its task
//! (`run.rs`). The end of a job and the start of the next are one turn of the lock.

use super::cell::{Body, Call};
use super::counted::Counted;
use super::event::{Event, Listeners};
use super::outside::Outside;
use super::seats::{Place as RunPlace, Seats};
use super::timer::{AT_THE_END, Alarm};
use super::wakers::{Place, Wakers};
use crate::machine::{Decision, Handover, JobId, Machine, Outcome, Refused, State, Time, Waiting};
use myriad_base::hash::Numbers;
use myriad_base::sys::mutex::Mutex;
use myriad_core::Handle;
use myriad_core::engine::now_of;
use myriad_core::engine::running::ToTell;
use myriad_core::engine::user_code::StoredWaker;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::task::{Context, Poll};

pub(super) type Payload = Counted<dyn Body>;

pub(super) struct Shared {
    /// Of no other queue of the process.
    pub number: u64,
    pub pool: Handle,
    /// The time of `pool` at which the machine's begins.
    origin: u64,
    inner: Mutex<Inner>,
    pub listeners: Listeners,
    pub alarm: Mutex<Alarm>,
    /// When the alarm comes; `NEVER` if none is set.
    pub alarm_at: AtomicU64,
    /// The runtime ends, or has ended: no alarm is set.
    pub is_ending: AtomicBool,
    pub outside: Outside,
}

pub(super) const NEVER: u64 = u64::MAX;

pub(super) struct Inner {
    pub machine: Machine<Payload>,
    pub seats: Seats,
    /// Suspended jobs that wait for their turn to go on.
    pub resuming: Numbers<u64, StoredWaker>,
    /// Who waits until no job is left.
    idle: Wakers,
    pub closed: bool,
}

/// A run that is spawned without the lock.
pub(super) struct NewRun {
    pub call: Call,
    pub place: RunPlace,
    pub body: Payload,
}

/// What one turn of the lock has decided: mostly the end of a job and the start of one.
pub(super) struct Turn {
    start: Option<NewRun>,
    ended: Option<Payload>,
    /// The next call by the time.
    next: Time,
    /// No job is left.
    is_empty: bool,
    more: Option<Box<More>>,
}

/// What few turns decide beside that.
#[derive(Default)]
struct More {
    starts: Vec<NewRun>,
    ended: Vec<Payload>,
    /// For the listeners.
    events: Vec<Event>,
    /// Tasks that have to stop.
    stop: Vec<ToTell>,
    /// Who waited for what has ended, and suspended jobs that go on.
    wake: Vec<StoredWaker>,
}

impl More {
    fn only_wakes(&self) -> bool {
        let is_nothing_else =
            self.starts.is_empty() && self.ended.is_empty() && self.events.is_empty() && self.stop.is_empty();
        is_nothing_else && self.wake.iter().all(StoredWaker::is_ours)
    }
}

impl Inner {
    /// A run gets a place of its own.
    fn seat(&mut self, run: &mut NewRun) {
        run.place = self.seats.take(run.call);
        self.machine.note(run.call.id, run.place.seat);
    }
    /// Or that of the run before it, in whose task it runs.
    pub(super) fn seat_again(&mut self, run: &mut NewRun, place: RunPlace) {
        run.place = place;
        self.seats.call_again(place, run.call);
        self.machine.note(run.call.id, place.seat);
    }
    /// When the alarm has to be there: for the machine's next time; while jobs wait that have none,
    /// for the end of the runtime.
    #[inline]
    pub(super) fn next_time(&mut self) -> Time {
        let machine = &mut self.machine;
        let some_wait = machine.alive() > machine.running();
        let next = machine.next_time().map(|next| next.min(AT_THE_END));
        next.unwrap_or(if some_wait { AT_THE_END } else { NEVER })
    }
}

impl Default for Turn {
    fn default() -> Turn {
        Turn { start: None, ended: None, next: NEVER, is_empty: false, more: None }
    }
}

impl Turn {
    /// May its start be the next run of the task whose run it ends? That is so if it decides
    /// nothing else, but to wake those who wait by wakers of the engine, which are no code of the
    /// user; and if both block their thread, or neither.
    pub(super) fn stays(&self, blocks: bool) -> bool {
        self.start.as_ref().is_some_and(|start| start.body.blocks() == blocks)
            && self.ended.is_some()
            && self.more.as_deref().is_none_or(More::only_wakes)
    }
    /// The run that starts first gets a place of its own.
    pub(super) fn seat_start(&mut self, inner: &mut Inner) {
        self.start.iter_mut().for_each(|start| inner.seat(start));
    }
    pub(super) fn take_start(&mut self) -> Option<NewRun> {
        self.start.take()
    }
    fn more(&mut self) -> &mut More {
        self.more.get_or_insert_default()
    }
}

impl Shared {
    pub(super) fn new(machine: Machine<Payload>, listeners: Listeners) -> Shared {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let pool = myriad_core::engine::home();
        let inner = Inner {
            machine,
            seats: Seats::default(),
            resuming: Numbers::default(),
            idle: Wakers::default(),
            closed: false,
        };
        Shared {
            number: LAST.fetch_add(1, Relaxed) + 1,
            pool,
            origin: now_of(pool).as_nanos().saturating_sub(1),
            inner: Mutex::new(inner),
            listeners,
            alarm: Mutex::new(Alarm::default()),
            alarm_at: AtomicU64::new(NEVER),
            is_ending: AtomicBool::new(false),
            outside: Outside::default(),
        }
    }
    pub(super) fn now(&self) -> Time {
        now_of(self.pool).as_nanos() - self.origin
    }
    pub(super) fn locked<R>(&self, f: impl FnOnce(&mut Inner) -> R) -> R {
        f(&mut self.inner.lock())
    }

    /// A call of the machine, and what comes of it.
    pub(super) fn call<R>(self: &Arc<Self>, f: impl FnOnce(&mut Machine<Payload>, Time) -> R) -> R {
        let now = self.now();
        let mut turn = Turn::default();
        let result = self.locked(|inner| {
            let result = f(&mut inner.machine, now);
            self.turn(inner, now, &mut turn);
            result
        });
        self.carry_out(&mut turn);
        result
    }

    /// Lets the machine decide, and takes what it has decided.
    pub(super) fn turn(&self, inner: &mut Inner, now: Time, turn: &mut Turn) {
        inner.machine.decide(now);
        self.take(inner, turn);
        turn.seat_start(inner);
    }
    /// Takes what the machine has decided. The run that starts first has no place yet.
    #[inline]
    pub(super) fn take(&self, inner: &mut Inner, turn: &mut Turn) {
        while let Some(decision) = inner.machine.next_decision() {
            self.take_decision(inner, decision, turn);
        }
        turn.is_empty = inner.machine.alive() == 0;
        if turn.is_empty && !inner.idle.is_empty() {
            turn.more().wake.extend(inner.idle.take());
        }
        turn.next = inner.next_time();
    }
    /// The same of a job that is done, and another one that runs from now on.
    #[inline]
    pub(super) fn take_handover(&self, inner: &mut Inner, id: JobId, handover: Handover<Payload>, turn: &mut Turn) {
        let Handover { ended, next, payload } = handover;
        if !self.listeners.is_empty() {
            turn.more().events.push(Event::Ended { id, state: State::Done });
        }
        if let Some(mut wake) = ended.as_ref().and_then(|body| body.note_end(id, State::Done)) {
            turn.more().wake.extend(wake.take());
        }
        let call = Call { id: next, element: None, attempt: 1 };
        turn.start = Some(NewRun { call, place: RunPlace::NONE, body: payload });
        turn.ended = ended;
        turn.next = inner.next_time();
    }
    #[inline]
    fn take_decision(&self, inner: &mut Inner, decision: Decision<Payload>, turn: &mut Turn) {
        if !self.listeners.is_empty() {
            turn.more().events.extend(Event::of(&decision));
        }
        match decision {
            Decision::Start { id, element, attempt, payload } => {
                if payload.blocks() {
                    inner.machine.begins_later(id);
                }
                let mut begin = NewRun { call: Call { id, element, attempt }, place: RunPlace::NONE, body: payload };
                match turn.start {
                    None => turn.start = Some(begin),
                    Some(_) => {
                        inner.seat(&mut begin);
                        turn.more().starts.push(begin);
                    }
                }
            }
            Decision::Ended { id, state, payload } => {
                if let Some(body) = payload {
                    let wake = body.note_end(id, state);
                    if let Some(mut wake) = wake {
                        turn.more().wake.extend(wake.take());
                    }
                    match turn.ended {
                        None => turn.ended = Some(body),
                        Some(_) => turn.more().ended.push(body),
                    }
                }
            }
            Decision::Stop { id, .. } => {
                let told = inner.seats.stop(inner.machine.noted(id), id);
                turn.more().stop.extend(told);
            }
            Decision::Again { id, .. } => inner.machine.payload(id).into_iter().for_each(|body| body.note_retry()),
            Decision::Resume { id } => turn.more().wake.extend(inner.resuming.remove(&id.0)),
            Decision::Overdue { .. } => {}
        }
    }

    /// Carries out what was decided. No lock is held.
    #[inline]
    pub(super) fn carry_out(self: &Arc<Self>, turn: &mut Turn) {
        if turn.start.is_some() || turn.more.is_some() {
            self.begin_and_tell(turn);
        }
        drop(turn.ended.take());
        self.see_to_alarm(turn);
    }
    fn begin_and_tell(self: &Arc<Self>, turn: &mut Turn) {
        let mut refused = VecDeque::new();
        self.carry_out_one(turn, &mut refused);
        if !refused.is_empty() {
            // The runtime ends. So that there is a last job, however fast others are submitted.
            self.locked(|inner| inner.closed = true);
        }
        // (No recursion: each of these ends is the start of the next job.)
        while let Some((call, place)) = refused.pop_front() {
            self.note_runtime_end(call.id);
            let mut turn = Turn::default();
            self.end(call, place, (Outcome::Stopped, None), None, &mut turn);
            self.carry_out_one(&mut turn, &mut refused);
            self.see_to_alarm(&turn);
        }
    }

    fn carry_out_one(self: &Arc<Self>, turn: &mut Turn, refused: &mut VecDeque<(Call, RunPlace)>) {
        let mut begin = |run: NewRun| {
            let (call, place) = (run.call, run.place);
            if !self.begin(run) {
                refused.push_back((call, place));
            }
        };
        turn.start.take().into_iter().for_each(&mut begin);
        drop(turn.ended.take());
        if let Some(more) = turn.more.take() {
            let More { starts, ended, events, stop, wake } = *more;
            starts.into_iter().for_each(begin);
            drop(ended);
            stop.into_iter().for_each(ToTell::tell);
            // (When all jobs of the turn have their tasks: a listener may wait for one.)
            self.listeners.tell(events);
            wake.into_iter().for_each(StoredWaker::wake);
        }
    }
    #[inline]
    fn see_to_alarm(self: &Arc<Self>, turn: &Turn) {
        let set = self.alarm_at.load(Relaxed);
        if turn.next < set {
            self.set_alarm(turn.next);
            // (A turn that was carried out late may be of the past, and the alarm one that never
            // comes. Who empties the queue after this look sees the alarm, and stops it.)
            if self.locked(|inner| inner.next_time()) == NEVER {
                self.stop_alarm();
            }
        } else if turn.is_empty && set != NEVER {
            self.stop_alarm();
        }
    }

    // What handles and queues have in common.

    pub(super) fn state(&self, id: JobId) -> Result<State, Refused> {
        self.inner.lock().machine.state(id)
    }
    pub(super) fn why(&self, id: JobId) -> Result<Option<Waiting>, Refused> {
        let now = self.now();
        self.inner.lock().machine.why(now, id)
    }
    pub(super) fn cancel(self: &Arc<Self>, id: JobId) -> Result<State, Refused> {
        self.call(|machine, now| machine.cancel(now, id))
    }
    pub(super) fn release(self: &Arc<Self>, id: JobId) -> Result<bool, Refused> {
        let was_held = self.call(|machine, now| machine.release(now, id))?;
        self.listeners.tell(was_held.then_some(Event::Released { id }));
        Ok(was_held)
    }

    /// Waits until no job is left.
    pub(super) async fn wait_all(&self) {
        let mut waits = WaitsForAll { shared: self, place: 0 };
        poll_fn(|cx| self.poll_idle(cx, &mut waits.place)).await;
    }
    fn poll_idle(&self, cx: &mut Context<'_>, place: &mut Place) -> Poll<()> {
        {
            let inner = self.inner.lock();
            if inner.machine.alive() == 0 {
                return Poll::Ready(());
            }
            if inner.idle.has(*place, cx.waker()) {
                return Poll::Pending;
            }
        }
        // Cloned without the lock: a waker is user code.
        let waker = StoredWaker::clone_of(cx.waker());
        let mut inner = self.inner.lock();
        let (old, poll) = match inner.machine.alive() {
            0 => (Some(waker), Poll::Ready(())),
            _ => (inner.idle.put(place, waker), Poll::Pending),
        };
        drop(inner);
        old.into_iter().for_each(StoredWaker::discard);
        poll
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.alarm.get_mut().undo().into_iter().for_each(|task| task.cancel());
    }
}

struct WaitsForAll<'a> {
    shared: &'a Shared,
    place: Place,
}

impl Drop for WaitsForAll<'_> {
    fn drop(&mut self) {
        let waker = self.shared.inner.lock().idle.leave(self.place);
        waker.into_iter().for_each(StoredWaker::discard);
    }
}
