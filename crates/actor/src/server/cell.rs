//! The record of a server.
//!
//! **Who consumes.** The inbox of a server is *idle* or has one consumer: a turn (`turn.rs`), which
//! is a task, or a caller that handles its message in place. The state is the consumer's.
//!
//! **Invariant.** The record has a reference to itself until its end, so it stands while it is
//! idle, and as long as somebody consumes: only who consumes ends the server, which gives the
//! reference up. From the moment when the inbox is idle the next consumer may do that. So a turn
//! does not touch the record from then on; a caller in place, who has an address, may.

use super::turn::{First, Turn};
use super::{Context, Next, Server};
use crate::cell::{Cell, Gate, Target, call_nested, exit_message, run_nested};
use crate::frame;
use crate::left::end_left;
use crate::life::Life;
use crate::pid::{Exit, Process, Served};
use crate::reason::Reason;
use crate::shared::Shared;
use myriad_core::engine::{home, unwind, user_code};
use myriad_core::{Handle, JoinHandle};
use std::any::{TypeId, type_name};
use std::cell::UnsafeCell;
use std::ptr::NonNull;

/// See the module's header.
pub(crate) struct ServerCell<S: Server> {
    cell: Cell<S::Message>,
    /// Where its turns run.
    home: Handle,
    state: UnsafeCell<State<S>>,
}

/// What is the consumer's.
pub(super) struct State<S> {
    /// `None` once it has ended.
    pub(super) server: Option<S>,
    /// The timer of [`Next::GoFor`], and how many there were.
    timer: Option<JoinHandle<()>>,
    pub(super) timers: u64,
}

impl<S> State<S> {
    /// (If it has fired already its turn finds another number.)
    #[cold]
    fn stop_timer(&mut self) {
        self.timer.take().inspect(JoinHandle::cancel);
    }
}

/// The text of a message that is being handled. Dropped with it, the server fails: the text is left
/// for those who are told.
struct InHand<'a> {
    life: &'a Life,
    what: Option<String>,
}

impl Drop for InHand<'_> {
    fn drop(&mut self) {
        if let Some(what) = self.what.take() {
            self.life.extra(true, |extra| extra.control().last_message.replace(what));
        }
    }
}

// SAFETY: the state is reached by the consumer alone, and goes from one to the next through the
// lock of the inbox; it is `Send`.
unsafe impl<S: Server> Sync for ServerCell<S> {}
// SAFETY: the state is `Send`, and goes with the whole; nothing in it belongs to a thread.
unsafe impl<S: Server> Send for ServerCell<S> {}

impl<S: Server> ServerCell<S> {
    pub(super) fn start(server: S, life: Life, gate: Option<Gate>) -> Shared<Self> {
        let state = State { server: Some(server), timer: None, timers: 0 };
        let cell = Cell::new(life, true, gate);
        let [this, own] = Shared::several(ServerCell { cell, home: home(), state: UnsafeCell::new(state) });
        // The record's reference to itself: given up by `end`.
        own.keep();
        this
    }

    pub(super) fn cell(&self) -> &Cell<S::Message> {
        &self.cell
    }

    pub(super) fn home(&self) -> Handle {
        self.home
    }

    /// A reference to it.
    pub(super) fn shared(&self) -> Shared<Self> {
        // SAFETY: `start` alone makes records, in a `Shared`, which is kept by whoever lends
        // `self`.
        unsafe { Shared::of(self) }
    }

    /// # Safety
    /// The caller consumes, and has no other reference to the state.
    #[expect(clippy::mut_from_ref, reason = "the consumer alone has it")]
    pub(super) unsafe fn state(&self) -> &mut State<S> {
        // SAFETY: one consumer, one reference (this function's contract).
        unsafe { &mut *self.state.get() }
    }

    /// Runs one handler, and what it says comes before all else. Back: how to go on, which is never
    /// `Continue`.
    ///
    /// # Safety
    /// The caller consumes, and the server has not ended.
    #[inline(always)]
    pub(super) unsafe fn step(&self, first: First<S::Message>) -> Next<S::Message> {
        // SAFETY: the caller consumes (this function's contract).
        let state = unsafe { self.state() };
        let mut cx = Context::new(self);
        if state.timer.is_some() && !matches!(first, First::Look) {
            state.stop_timer();
        }
        let Some(server) = state.server.as_mut() else { return Next::Stop(Reason::Normal) };
        let next = match first {
            First::Message(message) => {
                self.cell.took();
                self.handle(server, message, &mut cx)
            }
            First::Idle(number) if number == state.timers => server.idle(&mut cx),
            First::Idle(_) | First::Look | First::End => Next::Go,
        };
        if matches!(next, Next::Go) {
            return Next::Go;
        }
        // SAFETY: this function's contract; `state` is not used any more.
        unsafe { self.go_on(next) }
    }

    /// What a handler has said, which is not [`Next::Go`], comes before all else: goes on with
    /// that. Back: as from [`step`](Self::step).
    ///
    /// # Safety
    /// As for [`step`](Self::step).
    #[inline(never)]
    pub(super) unsafe fn go_on(&self, mut next: Next<S::Message>) -> Next<S::Message> {
        // SAFETY: the caller consumes (this function's contract).
        let state = unsafe { self.state() };
        while let Next::Continue(message) = next {
            let Some(server) = state.server.as_mut() else { return Next::Stop(Reason::Normal) };
            next = self.handle(server, message, &mut Context::new(self));
        }
        if let Next::GoFor(limit) = next {
            state.timers += 1;
            state.timer = Some(self.wake_later(limit, state.timers));
        }
        next
    }

    /// The server's state, if a message needs nothing but its handler. `None`: there is a limit, a
    /// timer, something to look at, or messages are to be described.
    ///
    /// # Safety
    /// The caller consumes, and has no other reference to the state.
    #[expect(clippy::mut_from_ref, reason = "the consumer alone has it")]
    #[inline(always)]
    pub(super) unsafe fn plain(&self) -> Option<&mut S> {
        if S::DESCRIBE.is_some() || self.cell.life.is_marked() || self.cell.gate.is_some() {
            return None;
        }
        // SAFETY: one consumer, one reference (this function's contract).
        let state = unsafe { self.state() };
        if state.timer.is_some() { None } else { state.server.as_mut() }
    }

    #[inline(always)]
    fn handle(&self, server: &mut S, message: S::Message, cx: &mut Context<'_, S>) -> Next<S::Message> {
        match S::DESCRIBE {
            None => server.handle(message, cx),
            Some(describe) => {
                let mut hand = InHand { life: &self.cell.life, what: Some(describe(&message)) };
                let next = server.handle(message, cx);
                if !matches!(&next, Next::Stop(why) if !why.is_expected()) {
                    hand.what = None;
                }
                next
            }
        }
    }

    /// Ends the server: the whole exit protocol.
    ///
    /// # Safety
    /// The caller consumes; this is called once.
    pub(super) unsafe fn end(server: NonNull<Self>, why: Reason, put_off: frame::PutOff) {
        // SAFETY: the reference that `start` has made, given up once: at the end of this.
        let server = unsafe { Shared::kept(server) };
        let all = || {
            let reason = server.cell.life.settle(why);
            // SAFETY: the caller consumes (this function's contract).
            let state = unsafe { server.state() };
            if let Some(server) = &mut state.server
                && reason != Reason::Killed
            {
                // (A shield is there already: a second one costs 250 instructions.)
                run_nested("the terminate of a server", || server.terminate(&reason));
            }
            // (The record keeps nothing: those who have addresses keep its memory.)
            let state_of_user = state.server.take();
            call_nested(|| drop(state_of_user));
            state.timer.take().inspect(JoinHandle::cancel);
            if let Some(put_off) = put_off {
                unwind::drop_quietly(put_off);
            }
            server.cell.end(&*server, &reason);
        };
        if let Err(payload) = user_code::call(all) {
            unwind::discard(payload);
        }
    }
}

// SAFETY: made by `start`, in a `Shared`.
unsafe impl<S: Server> Process for ServerCell<S> {
    fn life(&self) -> &Life {
        &self.cell.life
    }

    fn exit_message(&self, exit: Exit) -> Result<(), Exit> {
        exit_message(self, exit)
    }

    fn was_left(&self) {
        // (Not `end`: the state is lent to the handler, for ever.)
        end_left(self, &self.cell);
    }

    fn home(&self) -> Option<Handle> {
        Some(self.home)
    }

    fn interrupt(&self) {
        if self.cell.inbox.interrupt() {
            Turn::begin(self, First::End);
        }
    }

    fn queued(&self) -> usize {
        self.cell.inbox.len()
    }

    fn is_at_rest(&self) -> bool {
        self.cell.inbox.is_at_rest()
    }

    fn traps_exits(&self) -> bool {
        self.cell.trap().is_some()
    }

    fn served(&self) -> Option<Served> {
        let position = self.cell.inbox.position();
        Some(Served { is: TypeId::of::<S>(), name: type_name::<S>(), position })
    }

    fn pause(&self) -> bool {
        self.cell.inbox.pause()
    }

    fn resume(&self) {
        if self.cell.inbox.resume() {
            Turn::begin(self, First::Look);
        }
        // (Where a message has come, this fails, and the timer is none any more.)
        if let Some(number) = self.cell.life.take_late()
            && self.cell.inbox.begin()
        {
            Turn::begin(self, First::Idle(number));
        }
    }

    fn is_paused(&self) -> bool {
        self.cell.inbox.is_paused()
    }

    fn obey(&self) {
        if self.cell.inbox.begin_paused() {
            Turn::begin(self, First::Look);
        }
    }
}

impl<S: Server> Target<S::Message> for ServerCell<S> {
    #[inline(always)]
    fn cell(&self) -> &Cell<S::Message> {
        &self.cell
    }

    #[inline]
    unsafe fn start(&self, first: *const S::Message) {
        // SAFETY: it holds a message, which is moved here (this function's contract).
        Turn::begin_with(self, || First::Message(unsafe { first.read() }));
    }

    #[inline]
    unsafe fn run_here(&self, message: *const S::Message) -> bool {
        // SAFETY: this function's contract.
        S::CALL_IN_PLACE && unsafe { self.call_in_place(message) }
    }

    #[inline]
    unsafe fn start_here(&self, message: *const S::Message) -> bool {
        if S::CALL_IN_PLACE || self.cell.gate.is_some() || !self.cell.inbox.begin() {
            return false;
        }
        // SAFETY: the inbox was idle, and was taken; the message is there (this function's
        // contract).
        unsafe { self.start(message) };
        true
    }
}
