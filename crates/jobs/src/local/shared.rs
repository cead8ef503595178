//! The engine beside the machine: carries out what the machine decides.
//!
//! **One lock**, a thread's lock, is held for a call of the machine and no user code: closures,
//! callbacks, destructors and wakers run after it, and so do spawns, which drop their task where
//! the runtime has ended. What was decided is taken out under the lock, in order, and carried out
//! without it. So two threads may carry out two turns side by side, and a job that is stopped may
//! not have begun: the stop is noted in the job's cell, under the lock, and the run finds it there.
//!
//! **A job is a task** of the pool in which the queue was made. The end of a job and the start of
//! the next are one turn of the lock.

use super::cell::{Body, Call};
use super::event::{Event, Listeners};
use super::outside::Outside;
use super::seats::{Seat, Seats};
use super::timer::{AT_THE_END, Alarm};
use super::wakers::{Place, Wakers};
use crate::machine::{Decision, JobId, Machine, Outcome, Refused, State, Time, Waiting};
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

pub(super) type Payload = Arc<dyn Body>;

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
struct NewRun {
    call: Call,
    seat: Seat,
    body: Payload,
}

/// What one turn of the lock has decided: mostly the end of a job and the start of one.
#[derive(Default)]
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

impl Inner {
    /// When the alarm has to be there: for the machine's next time; while jobs wait that have none,
    /// for the end of the runtime.
    #[inline]
    pub(super) fn next_time(&mut self) -> Time {
        let machine = &mut self.machine;
        let some_wait = machine.alive() > machine.running();
        machine.next_time().unwrap_or(if some_wait { AT_THE_END } else { NEVER })
    }
}

impl Turn {
    pub(super) fn nothing() -> Turn {
        Turn { next: NEVER, ..Turn::default() }
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
        let (result, turn) = self.locked(|inner| {
            let result = f(&mut inner.machine, now);
            (result, self.turn(inner, now))
        });
        self.carry_out(turn);
        result
    }

    /// Lets the machine decide, and takes what it has decided.
    pub(super) fn turn(&self, inner: &mut Inner, now: Time) -> Turn {
        inner.machine.decide(now);
        let mut turn = Turn::default();
        let mut wake = Vec::new();
        while let Some(decision) = inner.machine.next_decision() {
            if !self.listeners.is_empty() {
                turn.more().events.extend(Event::of(&decision));
            }
            match decision {
                Decision::Start { id, element, attempt, payload } => {
                    let call = Call { id, element, attempt };
                    let begin = NewRun { call, seat: inner.seats.take(call), body: payload };
                    match turn.start {
                        None => turn.start = Some(begin),
                        Some(_) => turn.more().starts.push(begin),
                    }
                }
                Decision::Stop { id, .. } => {
                    let told = inner.machine.payload(id).and_then(|body| body.stop(id));
                    turn.more().stop.extend(told);
                }
                Decision::Again { id, .. } => {
                    inner.machine.payload(id).into_iter().for_each(|body| body.note_retry(id))
                }
                Decision::Ended { id, state, payload } => {
                    if let Some(body) = payload {
                        body.note_end(id, state, &mut wake);
                        match turn.ended {
                            None => turn.ended = Some(body),
                            Some(_) => turn.more().ended.push(body),
                        }
                    }
                }
                Decision::Resume { id } => wake.extend(inner.resuming.remove(&id.0)),
                Decision::Overdue { .. } => {}
            }
        }
        turn.is_empty = inner.machine.alive() == 0;
        if turn.is_empty {
            wake.extend(inner.idle.take());
        }
        if !wake.is_empty() {
            turn.more().wake = wake;
        }
        turn.next = inner.next_time();
        turn
    }

    /// Carries out what was decided. No lock is held.
    pub(super) fn carry_out(self: &Arc<Self>, turn: Turn) {
        let mut refused = VecDeque::new();
        self.carry_out_one(turn, &mut refused);
        if !refused.is_empty() {
            // The runtime ends. So that there is a last job, however fast others are submitted.
            self.locked(|inner| inner.closed = true);
        }
        // (No recursion: each of these ends is the start of the next job.)
        while let Some((call, seat)) = refused.pop_front() {
            self.note_runtime_end(call.id);
            let turn = self.end(call, seat, Outcome::Stopped, None);
            self.carry_out_one(turn, &mut refused);
        }
    }

    fn carry_out_one(self: &Arc<Self>, turn: Turn, refused: &mut VecDeque<(Call, Seat)>) {
        let Turn { start, ended, next, is_empty, more } = turn;
        let mut begin = |NewRun { call, seat, body }: NewRun| {
            if !self.begin(call, seat, body) {
                refused.push_back((call, seat));
            }
        };
        if let Some(start) = start {
            begin(start);
        }
        drop(ended);
        if let Some(more) = more {
            let More { starts, ended, events, stop, wake } = *more;
            starts.into_iter().for_each(begin);
            drop(ended);
            stop.into_iter().for_each(ToTell::tell);
            // (When all jobs of the turn have their tasks: a listener may wait for one.)
            events.iter().for_each(|event| self.listeners.tell(event));
            wake.into_iter().for_each(StoredWaker::wake);
        }
        let set = self.alarm_at.load(Relaxed);
        if next < set {
            self.set_alarm(next);
        } else if is_empty && set != NEVER {
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
        self.call(|machine, now| machine.release(now, id))
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
