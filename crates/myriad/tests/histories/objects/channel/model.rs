//! Channels as a sequential machine: a buffer, two lines of those who wait, and one who peeks at
//! the first message.
//!
//! A message goes straight to the receiver that waits longest; a receive from a full buffer moves
//! that of the first waiting sender in. Whoever is served finds what came to it under its own
//! number in `served`.

use super::{Arm, Form, Op, ROUNDS};
use crate::model::{Answer, Brought, Call, How, Model, Step, at_once};

/// What a send does at a full buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Full {
    Wait,
    DropOldest,
    DropNewest,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Channels {
    chans: Vec<Chan>,
    served: Vec<Option<Served>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Chan {
    limit: usize,
    full: Full,
    /// With the message that is lent, which has `returned` ones before it.
    buffer: Vec<i32>,
    returned: usize,
    lent: bool,
    closed: bool,
    senders: usize,
    receivers: usize,
    waiting_senders: Vec<Waiter>,
    waiting_receivers: Vec<Waiter>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Waiter {
    actor: usize,
    arm: u8,
    /// What it sends.
    value: i32,
    peeks: bool,
}

/// What came to one that waited, by which arm.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Served {
    arm: u8,
    brought: Brought,
}

impl Channels {
    pub(crate) fn new(limits: &[usize], full: Full, senders: usize, receivers: usize) -> Channels {
        let chan = |&limit| Chan {
            limit,
            full,
            buffer: Vec::new(),
            returned: 0,
            lent: false,
            closed: false,
            senders,
            receivers,
            waiting_senders: Vec::new(),
            waiting_receivers: Vec::new(),
        };
        Channels { chans: limits.iter().map(chan).collect(), served: vec![None; 6] }
    }

    fn serve(&mut self, waiter: Waiter, brought: Brought) {
        self.leave_lines(waiter.actor);
        self.served[waiter.actor] = Some(Served { arm: waiter.arm, brought });
    }

    fn leave_lines(&mut self, actor: usize) {
        for chan in &mut self.chans {
            chan.waiting_senders.retain(|waiter| waiter.actor != actor);
            chan.waiting_receivers.retain(|waiter| waiter.actor != actor);
        }
    }

    /// The first message is handed to one that waits: to keep, or to peek at.
    fn hand_over(&mut self, at: usize, waiter: Waiter, value: i32) {
        self.serve(waiter, Brought::Value(value));
        if waiter.peeks {
            self.lend(at, value);
        }
    }

    fn lend(&mut self, at: usize, value: i32) {
        self.chans[at].buffer.insert(0, value);
        (self.chans[at].lent, self.chans[at].returned) = (true, 0);
    }

    /// Sends now, if that is possible.
    fn send(&mut self, at: usize, value: i32) -> Option<Brought> {
        let chan = &mut self.chans[at];
        if chan.closed {
            return Some(Brought::Closed);
        }
        if !chan.lent
            && let Some(&first) = chan.waiting_receivers.first()
        {
            self.hand_over(at, first, value);
            return Some(Brought::Sent);
        }
        if chan.buffer.len() >= chan.limit {
            match chan.full {
                Full::Wait => return None,
                Full::DropNewest => return Some(Brought::Sent),
                Full::DropOldest => _ = chan.buffer.remove(0),
            }
        }
        chan.buffer.push(value);
        Some(Brought::Sent)
    }

    /// Takes a message out of a sender that waits at a rendezvous.
    fn meet(&mut self, at: usize) -> Option<i32> {
        let first = *self.chans[at].waiting_senders.first()?;
        self.serve(first, Brought::Sent);
        Some(first.value)
    }

    fn receive(&mut self, at: usize) -> Option<Brought> {
        let chan = &mut self.chans[at];
        if chan.lent {
            if chan.returned == 0 || !chan.waiting_receivers.is_empty() {
                return None;
            }
            chan.returned -= 1;
            return Some(Brought::Value(chan.buffer.remove(0)));
        }
        if chan.buffer.is_empty() {
            return if chan.closed { Some(Brought::Closed) } else { self.meet(at).map(Brought::Value) };
        }
        let value = chan.buffer.remove(0);
        if chan.buffer.len() < chan.limit
            && let Some(next) = self.meet(at)
        {
            self.chans[at].buffer.push(next);
        }
        Some(Brought::Value(value))
    }

    /// Is lent the first message.
    fn borrow(&mut self, at: usize) -> Option<Brought> {
        let chan = &mut self.chans[at];
        if chan.lent {
            return None;
        }
        if !chan.buffer.is_empty() {
            let value = chan.buffer.remove(0);
            self.lend(at, value);
            return Some(Brought::Value(value));
        }
        if chan.closed {
            return Some(Brought::Closed);
        }
        let value = self.meet(at)?;
        self.lend(at, value);
        Some(Brought::Value(value))
    }

    /// The lent message comes back, or is taken; all that waited meanwhile are served.
    fn end_peek(&mut self, at: usize, taken: bool) {
        let chan = &mut self.chans[at];
        if taken {
            chan.buffer.remove(chan.returned);
        }
        (chan.lent, chan.returned) = (false, 0);
        loop {
            let chan = &mut self.chans[at];
            let sender = chan.waiting_senders.first().copied().filter(|_| !chan.closed);
            let receiver = chan.waiting_receivers.first().copied();
            if chan.buffer.len() < chan.limit && sender.is_some() {
                let value = self.meet(at).expect("a sender waits");
                self.chans[at].buffer.push(value);
            } else if let Some(receiver) = receiver
                && (!chan.buffer.is_empty() || sender.is_some())
            {
                let value = if chan.buffer.is_empty() { self.meet(at).unwrap() } else { chan.buffer.remove(0) };
                self.hand_over(at, receiver, value);
                if receiver.peeks {
                    return;
                }
            } else {
                break;
            }
        }
        if self.chans[at].closed {
            self.end_all(at);
        }
    }

    fn close(&mut self, at: usize) -> bool {
        let was_open = !std::mem::replace(&mut self.chans[at].closed, true);
        self.end_all(at);
        was_open
    }

    /// Of a closed channel.
    fn end_all(&mut self, at: usize) {
        let chan = &self.chans[at];
        // What is lent may come back to a receiver.
        let receivers = if chan.lent { Vec::new() } else { chan.waiting_receivers.clone() };
        for waiter in chan.waiting_senders.clone().into_iter().chain(receivers) {
            self.serve(waiter, Brought::Closed);
        }
    }

    /// A message that was handed to a receiver which has gone: to the next, or before all others.
    fn give_back(&mut self, at: usize, value: i32) {
        let chan = &mut self.chans[at];
        match chan.waiting_receivers.first().copied() {
            Some(first) if !(chan.lent && first.peeks) => self.hand_over(at, first, value),
            _ => {
                chan.buffer.insert(0, value);
                chan.returned += usize::from(chan.lent);
            }
        }
    }

    fn attempt(&mut self, arm: Arm, peeks: bool) -> Option<Brought> {
        match arm {
            Arm::Send(at, value) => self.send(at.into(), value),
            Arm::Recv(at) if peeks => self.borrow(at.into()),
            Arm::Recv(at) => self.receive(at.into()),
        }
    }

    /// What is left to be done after an operation that has waited for one of these arms: an answer,
    /// and a peek goes on.
    fn won(self, op: &Op, served: Served) -> Step<Self> {
        match (op, served.brought) {
            (Op::Select(..), brought) => Step::answer(self, Answer::Arm(served.arm, brought)),
            (Op::Peek { .. }, Brought::Value(_)) => Step::stage(self, PEEKING),
            (_, Brought::Sent) => Step::answer(self, Answer::Done),
            (_, Brought::Value(value)) => Step::answer(self, Answer::Value(value)),
            (_, Brought::Closed) => Step::answer(self, Answer::Closed),
        }
    }

    /// Does it stand in the line of this arm?
    fn stands(&self, actor: usize, arm: Arm) -> bool {
        let chan = &self.chans[arm.channel()];
        let line = if let Arm::Recv(_) = arm { &chan.waiting_receivers } else { &chan.waiting_senders };
        line.iter().any(|waiter| waiter.actor == actor)
    }

    /// The steps of an operation that waits for one of these arms.
    fn wait(&self, actor: usize, call: &Call<Op>, arms: &[Arm]) -> Vec<Step<Self>> {
        let peeks = matches!(call.op, Op::Peek { .. });
        let timer_is_an_arm = matches!(call.op, Op::Select(Form::After, _));
        // A stream stands in line, and keeps what came to it, until it is dropped.
        let is_stream = matches!(call.op, Op::Next);
        let mut steps = Vec::new();
        if let Some(served) = self.served[actor] {
            let mut state = self.clone();
            state.served[actor] = None;
            // A cancelled wait, or a future that is dropped, at a closed channel has had no effect.
            let unheard = matches!(call.how, How::Cancelled(_)) && served.brought == Brought::Closed;
            if is_stream && call.may_be_dropped() {
                steps.extend(call.give_up(self.clone()));
            } else if call.may_be_dropped() && !timer_is_an_arm || unheard {
                let mut state = state.clone();
                if let (Brought::Value(value), Arm::Recv(at)) = (served.brought, arms[usize::from(served.arm)]) {
                    let at = usize::from(at);
                    if peeks { state.end_peek(at, false) } else { state.give_back(at, value) }
                }
                steps.extend(call.give_up(state));
            }
            steps.push(state.won(&call.op, served));
            return steps;
        }
        let mut possible = false;
        for (number, &arm) in arms.iter().enumerate() {
            let (mut state, arm_number) = (self.clone(), number as u8);
            // (One that stands in a line is served by others.)
            state.leave_lines(actor);
            if let Some(brought) = state.attempt(arm, peeks) {
                possible = true;
                steps.push(state.won(&call.op, Served { arm: arm_number, brought }));
            } else if call.how != How::Now && !self.stands(actor, arm) {
                let mut state = self.clone();
                let waiter = Waiter { actor, arm: arm_number, value: arm.value(), peeks };
                let chan = &mut state.chans[arm.channel()];
                match arm {
                    Arm::Send(..) => chan.waiting_senders.push(waiter),
                    Arm::Recv(_) => chan.waiting_receivers.push(waiter),
                }
                steps.push(Step::stage(state, 0));
            }
        }
        if !possible || timer_is_an_arm {
            let mut state = self.clone();
            if !is_stream {
                state.leave_lines(actor);
            }
            steps.extend(call.give_up(state));
        }
        steps
    }
}

/// The stage of one who peeks at a message.
const PEEKING: u8 = 1;
/// Of one who has sent the only message, and not closed the channel yet.
const SENT: u8 = 1;

impl Model for Channels {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Peek { at, take } if stage == PEEKING => {
                let chan = &self.chans[usize::from(at)];
                let value = chan.buffer[chan.returned];
                state.end_peek(at.into(), take);
                at_once(state, Answer::Value(value))
            }
            Op::Send(at, value) => self.wait(actor, call, &[Arm::Send(at, value)]),
            Op::Recv(at) | Op::Peek { at, .. } => self.wait(actor, call, &[Arm::Recv(at)]),
            Op::End(at, value) => self.wait(actor, call, &[Arm::Send(at, value)]),
            Op::Begin(at, value) => {
                match state.send(at.into(), value) {
                    Some(brought) => state.served[actor] = Some(Served { arm: 0, brought }),
                    None => {
                        state.chans[usize::from(at)].waiting_senders.push(Waiter { actor, arm: 0, value, peeks: false })
                    }
                }
                at_once(state, Answer::Done)
            }
            Op::Next => self.wait(actor, call, &[Arm::Recv(0)]),
            Op::Feed(value) => self.wait(actor, call, &[Arm::Send(0, value)]),
            Op::Select(_, arms) => self.wait(actor, call, &arms),
            // There is room for the only message, and the channel is closed behind it.
            Op::SendOnce(value) if stage == 0 => match state.send(0, value) {
                Some(Brought::Sent) => vec![Step::stage(state, SENT)],
                _ => at_once(state, Answer::Closed),
            },
            Op::SendOnce(_) => {
                state.close(0);
                at_once(state, Answer::Done)
            }
            Op::Shuttle(_) if stage == 4 * ROUNDS => at_once(state, Answer::Done),
            Op::Shuttle(value) => {
                match stage % 4 {
                    0 => _ = state.send(0, value),
                    1 => _ = state.receive(1),
                    2 => _ = state.send(1, value),
                    _ => _ = state.receive(0),
                }
                vec![Step::stage(state, stage + 1)]
            }
            Op::Close(at) => {
                let was_open = state.close(at.into());
                at_once(state, Answer::Flag(was_open))
            }
            Op::Len(at) => {
                let len = self.chans[usize::from(at)].buffer.len();
                at_once(state, Answer::Value(len as i32))
            }
            Op::IsClosed(at) => {
                let closed = self.chans[usize::from(at)].closed;
                at_once(state, Answer::Flag(closed))
            }
            Op::Leave { sends, receives } => {
                state.leave_lines(actor);
                if let Some(Served { brought: Brought::Value(value), .. }) = state.served[actor].take() {
                    state.give_back(0, value);
                }
                let chan = &mut state.chans[0];
                chan.senders -= usize::from(sends);
                chan.receivers -= usize::from(receives);
                let nobody = chan.receivers == 0;
                if chan.senders == 0 || nobody {
                    state.close(0);
                }
                if nobody {
                    state.chans[0].buffer.clear();
                }
                at_once(state, Answer::Done)
            }
        }
    }
}
