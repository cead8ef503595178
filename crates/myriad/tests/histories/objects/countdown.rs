//! What is waited for until a count is zero: the latch, which then stays open, and the wait group.

use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited_or, either, waited};
use myriad::sync::{Arc, Latch, WaitGroup};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Of a wait group.
    Add,
    Down,
    Count,
    Wait,
}

pub(crate) struct Countdown {
    pub(crate) latch: bool,
}

#[derive(Clone)]
pub(crate) enum Hand {
    Latch(Arc<Latch>),
    Group(Arc<WaitGroup>),
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Count(i32);

impl Model for Count {
    type Op = Op;

    fn next(&self, _: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        match call.op {
            Op::Add => at_once(Count(self.0 + 1), Answer::Done),
            Op::Down => at_once(Count(self.0 - 1), Answer::Done),
            Op::Count => at_once(self.clone(), Answer::Value(self.0)),
            Op::Wait => whenever(self, call, (self.0 == 0).then(|| (self.clone(), Answer::Done))),
        }
    }
}

impl Object for Countdown {
    type Op = Op;
    type Model = Count;
    type Hand = Hand;

    fn name(&self) -> String {
        (if self.latch { "latch" } else { "wait group" }).into()
    }

    /// Who still has to count down does not wait for ever.
    fn calls(&self, actor: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let mut wait = dice.waits_without(Op::Wait, false, true);
        let (count, counts_down) = (Call::now(Op::Count), actor.is_multiple_of(2));
        if self.latch {
            if counts_down {
                wait.how = match wait.how {
                    How::Wait => How::Within(5_000),
                    How::Await => How::AwaitWithin(5_000),
                    how => how,
                };
            }
            return vec![if dice.below(3) == 0 { count } else { dice.or_exactly(wait) }];
        }
        match dice.below(5) {
            0 => vec![Call::now(Op::Add), count, Call::now(Op::Down)],
            1 | 2 => vec![Call::now(Op::Add), Call::now(Op::Down)],
            _ => vec![dice.or_exactly(wait)],
        }
    }

    fn last(&self, actor: usize) -> Vec<Call<Op>> {
        if self.latch && actor.is_multiple_of(2) { vec![Call::now(Op::Down), Call::now(Op::Count)] } else { Vec::new() }
    }

    fn make(&self, actors: usize) -> (Count, Vec<Hand>) {
        let count = if self.latch { actors.div_ceil(2) } else { 0 };
        let hand =
            if self.latch { Hand::Latch(Arc::new(Latch::new(count))) } else { Hand::Group(Arc::new(WaitGroup::new())) };
        (Count(count as i32), vec![hand; actors + 1])
    }

    fn call(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match (call.op, &*hand) {
            (Op::Add, Hand::Group(group)) => group.add(1),
            (Op::Add, Hand::Latch(_)) => unreachable!("a latch is not raised"),
            (Op::Down, Hand::Latch(latch)) => latch.count_down(),
            (Op::Down, Hand::Group(group)) => group.done(),
            (Op::Count, Hand::Latch(latch)) => return Answer::Value(latch.count() as i32),
            (Op::Count, Hand::Group(group)) => return Answer::Value(group.count() as i32),
            (Op::Wait, Hand::Latch(latch)) => {
                let within = |limit| latch.wait_timeout(limit).ok();
                return either(waited(call.how, || None, || latch.wait(), within), |()| Answer::Done);
            }
            (Op::Wait, Hand::Group(group)) => {
                let within = |limit| group.wait_timeout(limit).ok();
                return either(waited(call.how, || None, || group.wait(), within), |()| Answer::Done);
            }
        }
        Answer::Done
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match (call.op, &*hand) {
            (Op::Wait, Hand::Latch(latch)) => {
                let within = async |limit| latch.wait_timeout_async(limit).await.ok();
                either(awaited_or(call.how, || latch.wait_async(), within).await, |()| Answer::Done)
            }
            (Op::Wait, Hand::Group(group)) => {
                let within = async |limit| group.wait_timeout_async(limit).await.ok();
                either(awaited_or(call.how, || group.wait_async(), within).await, |()| Answer::Done)
            }
            _ => Self::call(hand, call),
        }
    }
}
