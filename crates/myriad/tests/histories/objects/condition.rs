//! The condition: notifications that carry a value, for the one that has waited longest, or for all
//! who wait when it begins.

use crate::model::{Answer, Call, How, Model, Step, at_once};
use crate::object::{Dice, Object, awaited_or, either, waited};
use myriad::sync::{Arc, Condition};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Wait,
    /// Before all others.
    WaitFirst,
    NotifyOne(i32),
    NotifyAll(i32),
    IsEmpty,
}

pub(crate) struct Notified;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// Who waits, and since which generation.
    line: Vec<(usize, u8)>,
    generation: u8,
    /// What has come to whom, and was it for it alone?
    told: Vec<Option<(i32, bool)>>,
    /// Notifications of all that are under way: up to which generation, and how many they have
    /// told.
    calling: Vec<Option<(u8, i32)>>,
}

impl State {
    /// False: nobody waits.
    fn notify_one(&mut self, value: i32) -> bool {
        if self.line.is_empty() {
            return false;
        }
        let (first, _) = self.line.remove(0);
        self.told[first] = Some((value, true));
        true
    }

    fn wait(&self, actor: usize, call: &Call<Op>, first: bool, stage: u8) -> Vec<Step<State>> {
        let mut state = self.clone();
        if stage == 0 {
            let entry = (actor, self.generation);
            state.line.insert(if first { 0 } else { self.line.len() }, entry);
            return vec![Step::stage(state, 1)];
        }
        let Some((value, alone)) = state.told[actor].take() else {
            state.line.retain(|who| who.0 != actor);
            return call.give_up(state).into_iter().collect();
        };
        let mut steps = at_once(state.clone(), Answer::Value(value));
        // "Goes to the next that waits; if none does, it is dropped."
        if call.may_be_dropped() {
            if alone {
                state.notify_one(value);
            }
            steps.extend(call.give_up(state));
        }
        steps
    }
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Wait => self.wait(actor, call, false, stage),
            Op::WaitFirst => self.wait(actor, call, true, stage),
            Op::NotifyOne(value) => {
                let told = state.notify_one(value);
                at_once(state, if told { Answer::Done } else { Answer::Nothing })
            }
            Op::NotifyAll(_) if stage == 0 => {
                state.generation += 1;
                if self.line.is_empty() {
                    return at_once(state, Answer::Value(0));
                }
                state.calling[actor] = Some((self.generation, 0));
                vec![Step::stage(state, 1)]
            }
            // One after the other is told.
            Op::NotifyAll(value) => {
                let (upto, count) = self.calling[actor].expect("it has begun");
                let Some(at) = self.line.iter().position(|who| who.1 <= upto) else {
                    state.calling[actor] = None;
                    return at_once(state, Answer::Value(count));
                };
                let (who, _) = state.line.remove(at);
                state.told[who] = Some((value, false));
                state.calling[actor] = Some((upto, count + 1));
                vec![Step::stage(state, 1)]
            }
            Op::IsEmpty => at_once(state, Answer::Flag(self.line.is_empty())),
        }
    }
}

impl Object for Notified {
    type Op = Op;
    type Model = State;
    type Hand = Arc<Condition<i32>>;

    fn name(&self) -> String {
        "condition".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let value = dice.value();
        vec![match dice.below(10) {
            0..=2 => Call::now(Op::NotifyOne(value)),
            3 => Call::now(Op::NotifyAll(value)),
            4 => Call::now(Op::IsEmpty),
            5 => {
                let wait = dice.waits_without(Op::WaitFirst, false, true);
                dice.or_exactly(wait)
            }
            _ => {
                let wait = dice.waits_without(Op::Wait, false, true);
                dice.or_exactly(wait)
            }
        }]
    }

    fn make(&self, actors: usize) -> (State, Vec<Self::Hand>) {
        let all = actors + 1;
        let state = State { line: Vec::new(), generation: 0, told: vec![None; all], calling: vec![None; all] };
        let condition = Arc::new(Condition::new());
        (state, vec![condition; all])
    }

    fn call(condition: &mut Self::Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Wait => {
                let within = |limit| condition.wait_timeout(limit).ok();
                either(waited(call.how, || None, || condition.wait(), within), Answer::Value)
            }
            Op::WaitFirst => {
                let first = condition.first();
                let within = |limit| first.wait_timeout(limit).ok();
                either(waited(call.how, || None, || first.wait(), within), Answer::Value)
            }
            Op::NotifyOne(value) => condition.notify_one(value).map_or(Answer::Nothing, |()| Answer::Done),
            Op::NotifyAll(value) => Answer::Value(condition.notify_all(value) as i32),
            Op::IsEmpty => Answer::Flag(condition.is_empty()),
        }
    }

    async fn call_async(condition: &mut Self::Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Wait => {
                let within = async |limit| condition.wait_timeout_async(limit).await.ok();
                either(awaited_or(call.how, || condition.wait_async(), within).await, Answer::Value)
            }
            Op::WaitFirst => {
                let first = condition.first();
                let within = async |limit| first.wait_timeout_async(limit).await.ok();
                either(awaited_or(call.how, || first.wait_async(), within).await, Answer::Value)
            }
            _ => Self::call(condition, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::new(Op::NotifyAll(-1), How::Now)]
    }
}
