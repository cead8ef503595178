//! The barrier: all who have come go on together.

use crate::model::{Answer, Call, How, Model, Step, at_once};
use crate::object::{Dice, Object, awaited_or, either, waited};
use myriad::sync::{Arc, Barrier, BarrierWaitResult};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Wait,
    Arrived,
}

pub(crate) struct Meeting {
    pub(crate) parties: usize,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    parties: usize,
    /// In the order of their numbers.
    arrived: Vec<usize>,
    /// Have met others, and not gone on yet.
    met: Vec<usize>,
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Arrived => at_once(state, Answer::Value(self.arrived.len() as i32)),
            // Has come.
            Op::Wait if stage == 1 => {
                let met = self.met.contains(&actor);
                state.met.retain(|who| *who != actor);
                state.arrived.retain(|who| *who != actor);
                let mut steps = Vec::new();
                if !met || call.may_be_dropped() {
                    steps.extend(call.give_up(state.clone()));
                }
                if met {
                    steps.push(Step::answer(state, Answer::Flag(false)));
                } else if call.may_be_late() {
                    // The time has passed: it has left, and looks once more before it says so.
                    steps.push(Step { late: true, ..Step::stage(state, 2) });
                }
                steps
            }
            // Comes again only where it is the last.
            Op::Wait if stage == 2 && self.arrived.len() + 1 < self.parties => {
                call.give_up(state).into_iter().collect()
            }
            Op::Wait if self.arrived.len() + 1 == self.parties => {
                state.met.append(&mut state.arrived);
                state.met.sort_unstable();
                at_once(state, Answer::Flag(true))
            }
            Op::Wait => {
                state.arrived.push(actor);
                state.arrived.sort_unstable();
                vec![Step::stage(state, 1)]
            }
        }
    }
}

impl Object for Meeting {
    type Op = Op;
    type Model = State;
    type Hand = Arc<Barrier>;

    fn name(&self) -> String {
        format!("barrier {}", self.parties)
    }

    /// Nobody waits without a limit, as the others may have gone.
    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        if dice.below(5) == 0 {
            return vec![Call::now(Op::Arrived)];
        }
        let mut call = dice.waits_without(Op::Wait, false, true);
        call.how = match call.how {
            How::Wait => How::Within(150_000),
            How::Await => How::AwaitWithin(150_000),
            how => how,
        };
        vec![dice.or_exactly(call)]
    }

    fn make(&self, actors: usize) -> (State, Vec<Arc<Barrier>>) {
        let barrier = Arc::new(Barrier::new(self.parties));
        (State { parties: self.parties, arrived: Vec::new(), met: Vec::new() }, vec![barrier; actors + 1])
    }

    fn call(barrier: &mut Arc<Barrier>, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Arrived => Answer::Value(barrier.arrived() as i32),
            Op::Wait => {
                let within = |limit| barrier.wait_timeout(limit).ok();
                either(waited(call.how, || None, || barrier.wait(), within), leads)
            }
        }
    }

    async fn call_async(barrier: &mut Arc<Barrier>, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Wait => {
                let within = async |limit| barrier.wait_timeout_async(limit).await.ok();
                either(awaited_or(call.how, || barrier.wait_async(), within).await, leads)
            }
            Op::Arrived => Self::call(barrier, call),
        }
    }
}

fn leads(met: BarrierWaitResult) -> Answer {
    Answer::Flag(met.is_leader())
}
