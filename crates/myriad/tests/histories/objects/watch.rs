//! The watch: "each receiver hears that it has changed, and gets the latest value".

use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited, either, waited};
use myriad::channel::{RecvTimeoutError, TryRecvError, WatchReceiver, WatchSender, watch};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Send(i32),
    Recv,
    Get,
    HasChanged,
    Close,
}

pub(crate) struct Watch;

pub(crate) struct Hand {
    set: WatchSender<i32>,
    seen: WatchReceiver<i32>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    value: i32,
    version: u32,
    /// By each actor.
    seen: Vec<u32>,
    closed: bool,
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        let news = self.version > self.seen[actor];
        match call.op {
            Op::Send(_) if self.closed => at_once(state, Answer::Closed),
            Op::Send(value) => {
                (state.value, state.version) = (value, self.version + 1);
                at_once(state, Answer::Done)
            }
            Op::Recv => {
                state.seen[actor] = self.version;
                let closed = self.closed.then(|| (self.clone(), Answer::Closed));
                whenever(self, call, news.then_some((state, Answer::Value(self.value))).or(closed))
            }
            Op::Get => at_once(state, Answer::Value(self.value)),
            Op::HasChanged => at_once(state, Answer::Flag(news)),
            Op::Close => {
                state.closed = true;
                at_once(state, Answer::Flag(!self.closed))
            }
        }
    }
}

impl Object for Watch {
    type Op = Op;
    type Model = State;
    type Hand = Hand;

    fn name(&self) -> String {
        "watch".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let value = dice.value();
        vec![match dice.below(12) {
            0..=3 => Call::now(Op::Send(value)),
            4 => Call::now(Op::Get),
            5 => Call::now(Op::HasChanged),
            6 => Call::now(Op::Close),
            _ => {
                let recv = dice.waits(Op::Recv);
                dice.or_slowly(recv)
            }
        }]
    }

    fn make(&self, actors: usize) -> (State, Vec<Hand>) {
        let (set, seen) = watch(0);
        let state = State { value: 0, version: 0, seen: vec![0; actors + 1], closed: false };
        (state, (0..=actors).map(|_| Hand { set: set.clone(), seen: seen.clone() }).collect())
    }

    fn call(Hand { set, seen }: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Send(value) => set.send(value).map_or(Answer::Closed, |()| Answer::Done),
            Op::Recv if call.how == How::Now => match seen.try_recv() {
                Err(TryRecvError::Empty) => Answer::Nothing,
                got => heard(got.ok().as_deref()),
            },
            Op::Recv => {
                let outcome = match call.how {
                    How::Within(limit) => match seen.recv_timeout(crate::object::nanos(limit)) {
                        Err(RecvTimeoutError::Timeout) => Err(Answer::Timeout),
                        got => Ok(got.ok()),
                    },
                    how => waited(how, || None, || seen.recv().ok(), |_| None),
                };
                either(outcome, |got| heard(got.as_deref()))
            }
            Op::Get => Answer::Value(*seen.get()),
            Op::HasChanged => Answer::Flag(seen.has_changed()),
            Op::Close => Answer::Flag(set.close()),
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Recv if call.how != How::Now => {
                either(awaited(call.how, hand.seen.recv_async()).await, |got| heard(got.ok().as_deref()))
            }
            _ => Self::call(hand, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::Close)]
    }
}

fn heard(value: Option<&i32>) -> Answer {
    value.map_or(Answer::Closed, |value| Answer::Value(*value))
}
