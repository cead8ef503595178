//! What is done once: `OnceLock`, a place that is written once, and `Once`.

use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited, awaited_or, either, waited};
use myriad::sync::{Arc, Once, OnceLock};
use std::future::ready;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Set(i32),
    /// `get_or_init`, whose closure lets others run; of a `Once`, `call_once`.
    Init(i32),
    /// `get_or_try_init`, whose closure fails.
    Fail,
    Get,
    Wait,
}

pub(crate) struct Cells;
pub(crate) struct Turns;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Written(Option<i32>);

/// Was the caller's own closure called?
fn by(value: i32, own: bool) -> Answer {
    Answer::Pair(value, i32::from(own))
}

impl Model for Written {
    type Op = Op;

    fn next(&self, _: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        let there = self.0.map(|value| (self.clone(), by(value, false)));
        match call.op {
            Op::Set(value) if self.0.is_none() => at_once(Written(Some(value)), Answer::Done),
            Op::Set(_) => at_once(self.clone(), Answer::Nothing),
            Op::Init(value) => whenever(self, call, there.or(Some((Written(Some(value)), by(value, true))))),
            Op::Fail => whenever(self, call, there.or(Some((self.clone(), Answer::Nothing)))),
            Op::Get => at_once(self.clone(), self.0.map_or(Answer::Nothing, Answer::Value)),
            Op::Wait => whenever(self, call, there),
        }
    }
}

/// The call of an operation that has no forms but to block, and as a future.
fn init(op: Op, dice: &mut Dice) -> Call<Op> {
    let how = match dice.waits_without(op, false, false).how {
        How::Within(limit) => How::Cancelled(limit),
        how => how,
    };
    Call { op, how }
}

fn wait(dice: &mut Dice) -> Call<Op> {
    let wait = dice.waits_without(Op::Wait, false, true);
    dice.or_exactly(wait)
}

impl Object for Cells {
    type Op = Op;
    type Model = Written;
    type Hand = Arc<OnceLock<i32>>;

    fn name(&self) -> String {
        "OnceLock".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let value = dice.value();
        vec![match dice.below(8) {
            0 => Call::now(Op::Get),
            1 => Call::now(Op::Set(value)),
            2 | 3 => wait(dice),
            4 if !dice.in_future => init(Op::Fail, dice),
            _ => init(Op::Init(value), dice),
        }]
    }

    fn make(&self, actors: usize) -> (Written, Vec<Self::Hand>) {
        let place = Arc::new(OnceLock::new());
        (Written(None), vec![place; actors + 1])
    }

    fn call(place: &mut Self::Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Set(value) => place.set(value).map_or(Answer::Nothing, |()| Answer::Done),
            Op::Get => place.get().map_or(Answer::Nothing, |value| Answer::Value(*value)),
            Op::Init(value) => {
                let mut own = false;
                let initialise = || {
                    own = true;
                    pause();
                    value
                };
                let got = waited(call.how, || None, || *place.get_or_init(initialise), |_| None);
                either(got, |value| by(value, own))
            }
            Op::Fail => {
                let fail = || {
                    pause();
                    Err(())
                };
                let got = waited(call.how, || None, || place.get_or_try_init(fail).copied(), |_| None);
                either(got, |got| got.map_or(Answer::Nothing, |value| by(value, false)))
            }
            Op::Wait => {
                let within = |limit| place.wait_timeout(limit).ok();
                either(waited(call.how, || None, || place.wait(), within), |value| by(*value, false))
            }
        }
    }

    async fn call_async(place: &mut Self::Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Init(value) => {
                let mut own = false;
                let initialise = || {
                    own = true;
                    async move {
                        myriad::time::sleep_async(std::time::Duration::ZERO).await;
                        value
                    }
                };
                let got = awaited(call.how, place.get_or_init_async(initialise)).await.copied();
                either(got, |value| by(value, own))
            }
            Op::Wait => {
                let within = async |limit| place.wait_timeout_async(limit).await.ok();
                either(awaited_or(call.how, || place.wait_async(), within).await, |value| by(*value, false))
            }
            _ => Self::call(place, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::Set(-1))]
    }
}

impl Object for Turns {
    type Op = Op;
    type Model = Written;
    type Hand = Arc<(Once, OnceLock<i32>)>;

    fn name(&self) -> String {
        "Once".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let value = dice.value();
        vec![match dice.below(6) {
            0 => Call::now(Op::Get),
            1 | 2 => wait(dice),
            // (There is no future of it.)
            _ => Call::new(Op::Init(value), if dice.in_future { How::Await } else { How::Wait }),
        }]
    }

    fn make(&self, actors: usize) -> (Written, Vec<Self::Hand>) {
        let hand = Arc::new((Once::new(), OnceLock::new()));
        (Written(None), vec![hand; actors + 1])
    }

    fn call(hand: &mut Self::Hand, call: &Call<Op>) -> Answer {
        let (once, value) = &**hand;
        // What was done once is to be seen by all who find it done.
        let seen = |own| by(value.get().copied().unwrap_or(0), own);
        match call.op {
            Op::Init(mine) => {
                let mut own = false;
                once.call_once(|| {
                    own = true;
                    pause();
                    _ = value.set(mine);
                });
                seen(own)
            }
            Op::Wait => {
                let within = |limit| once.wait_timeout(limit).ok();
                either(waited(call.how, || None, || once.wait(), within), |()| seen(false))
            }
            _ if once.is_completed() => value.get().map_or(Answer::Panicked, |value| Answer::Value(*value)),
            _ => Answer::Nothing,
        }
    }

    async fn call_async(hand: &mut Self::Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Wait => {
                let (once, value) = &**hand;
                let within = async |limit| once.wait_timeout_async(limit).await.ok();
                let done = awaited_or(call.how, || once.wait_async(), within).await;
                either(done, |()| by(value.get().copied().unwrap_or(0), false))
            }
            _ => ready(Self::call(hand, call)).await,
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::new(Op::Init(-1), How::Wait)]
    }
}

/// Others may run: also those who want the turn.
pub(super) fn pause() {
    if myriad::Handle::current().is_some() { myriad::yield_now() } else { std::thread::yield_now() }
}
