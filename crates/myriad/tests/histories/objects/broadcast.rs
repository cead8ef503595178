//! The broadcast of two messages: all receivers get all messages, and hear how many they have
//! missed.

use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited, either, nanos, waited};
use myriad::channel::{BroadcastReceiver, BroadcastSender, Heard, RecvTimeoutError, TryRecvError, broadcast};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Send(i32),
    Recv,
    Len,
    Close,
}

pub(crate) struct Broadcast;

pub(crate) struct Hand {
    tx: BroadcastSender<i32>,
    rx: BroadcastReceiver<i32>,
}

const ROOM: usize = 2;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// All that were ever sent.
    messages: Vec<i32>,
    /// Of each actor.
    next: Vec<usize>,
    closed: bool,
}

impl State {
    fn receive(&self, actor: usize) -> Option<(State, Answer)> {
        let (mut state, next) = (self.clone(), self.next[actor]);
        let first = self.messages.len().saturating_sub(ROOM);
        if next < first {
            state.next[actor] = first;
            return Some((state, Answer::Pair(0, (first - next) as i32)));
        }
        match self.messages.get(next) {
            Some(&message) => {
                state.next[actor] += 1;
                Some((state, Answer::Value(message)))
            }
            None => self.closed.then_some((state, Answer::Closed)),
        }
    }
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Send(_) if self.closed => at_once(state, Answer::Closed),
            Op::Send(value) => {
                state.messages.push(value);
                at_once(state, Answer::Done)
            }
            Op::Recv => whenever(self, call, self.receive(actor)),
            Op::Len => at_once(state, Answer::Value((self.messages.len() - self.next[actor]) as i32)),
            Op::Close => {
                state.closed = true;
                at_once(state, Answer::Flag(!self.closed))
            }
        }
    }
}

impl Object for Broadcast {
    type Op = Op;
    type Model = State;
    type Hand = Hand;

    fn name(&self) -> String {
        "broadcast".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let value = dice.value();
        vec![match dice.below(12) {
            0..=4 => Call::now(Op::Send(value)),
            5 => Call::now(Op::Len),
            6 => Call::now(Op::Close),
            _ => {
                let recv = dice.waits(Op::Recv);
                dice.or_slowly(recv)
            }
        }]
    }

    fn make(&self, actors: usize) -> (State, Vec<Hand>) {
        let (tx, rx) = broadcast(ROOM);
        let state = State { messages: Vec::new(), next: vec![0; actors + 1], closed: false };
        (state, (0..=actors).map(|_| Hand { tx: tx.clone(), rx: rx.clone() }).collect())
    }

    fn call(Hand { tx, rx }: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Send(value) => tx.send(value).map_or(Answer::Closed, |()| Answer::Done),
            Op::Recv => {
                let outcome = match call.how {
                    How::Now => match rx.try_recv() {
                        Err(TryRecvError::Empty) => Err(Answer::Nothing),
                        got => Ok(got.ok()),
                    },
                    How::Within(limit) => match rx.recv_timeout(nanos(limit)) {
                        Err(RecvTimeoutError::Timeout) => Err(Answer::Timeout),
                        got => Ok(got.ok()),
                    },
                    how => waited(how, || None, || rx.recv().ok(), |_| None),
                };
                either(outcome, heard)
            }
            Op::Len => Answer::Value(rx.len() as i32),
            Op::Close => Answer::Flag(tx.close()),
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Recv if call.how != How::Now => {
                either(awaited(call.how, hand.rx.recv_async()).await, |got| heard(got.ok()))
            }
            _ => Self::call(hand, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::Close)]
    }
}

fn heard(heard: Option<Heard<i32>>) -> Answer {
    match heard {
        Some(Heard::Message(message)) => Answer::Value(*message),
        Some(Heard::Missed(n)) => Answer::Pair(0, n as i32),
        None => Answer::Closed,
    }
}
