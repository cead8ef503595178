//! The promise: "the first value that is set stays, and all receivers get it".

use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited, either, nanos, waited};
use myriad::channel::{PromiseReceiver, PromiseSender, RecvTimeoutError, promise};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Send(i32),
    Recv,
    IsSet,
}

pub(crate) struct Promise;

pub(crate) struct Hand {
    set: PromiseSender<i32>,
    get: PromiseReceiver<i32>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Value(Option<i32>);

impl Model for Value {
    type Op = Op;

    fn next(&self, _: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        match call.op {
            Op::Send(value) if self.0.is_none() => at_once(Value(Some(value)), Answer::Done),
            Op::Send(_) => at_once(self.clone(), Answer::Nothing),
            Op::Recv => whenever(self, call, self.0.map(|value| (self.clone(), Answer::Value(value)))),
            Op::IsSet => at_once(self.clone(), Answer::Flag(self.0.is_some())),
        }
    }
}

impl Object for Promise {
    type Op = Op;
    type Model = Value;
    type Hand = Hand;

    fn name(&self) -> String {
        "promise".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let value = dice.value();
        vec![match dice.below(10) {
            0 | 1 => Call::now(Op::Send(value)),
            2 | 3 => Call::now(Op::IsSet),
            _ => {
                let recv = dice.waits(Op::Recv);
                dice.or_slowly(recv)
            }
        }]
    }

    fn make(&self, actors: usize) -> (Value, Vec<Hand>) {
        let (set, get) = promise();
        (Value(None), (0..=actors).map(|_| Hand { set: set.clone(), get: get.clone() }).collect())
    }

    fn call(Hand { set, get }: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Send(value) => set.send(value).map_or(Answer::Nothing, |()| Answer::Done),
            Op::Recv => {
                let outcome = match call.how {
                    How::Now => get.try_recv().map(Some).map_err(|_| Answer::Nothing),
                    How::Within(limit) => match get.recv_timeout(nanos(limit)) {
                        Err(RecvTimeoutError::Timeout) => Err(Answer::Timeout),
                        got => Ok(got.ok()),
                    },
                    how => waited(how, || None, || get.recv().ok(), |_| None),
                };
                either(outcome, |got| got.map_or(Answer::Closed, |value| Answer::Value(*value)))
            }
            Op::IsSet => Answer::Flag(get.is_set()),
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Recv if call.how != How::Now => {
                let got = awaited(call.how, hand.get.recv_async()).await;
                either(got, |got| got.map_or(Answer::Closed, |value| Answer::Value(*value)))
            }
            _ => Self::call(hand, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::Send(-1))]
    }
}
