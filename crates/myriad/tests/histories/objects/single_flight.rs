//! Work that is done once for all callers at the same time: "the first one does it, the others wait
//! for its result".

use crate::model::{Answer, Call, How, Model, Step, at_once};
use crate::object::{Dice, Object, awaited, either, waited};
use myriad::sync::{Arc, SingleFlight};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// With the value of this caller's work, which lets others run.
    Run(i32),
    Forget,
}

pub(crate) struct Flights;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    under_way: Option<usize>,
    works: Vec<Work>,
    /// In which work each actor has a part.
    part: Vec<Option<usize>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Work {
    callers: usize,
    runs: bool,
    value: Option<i32>,
}

/// Has a part in some work; does it; has done it.
const PART: u8 = 1;
const RUNS: u8 = 2;
const DONE: u8 = 3;

impl State {
    /// "No longer under way, if it is done, or if the last one gives it up."
    fn leave(&mut self, actor: usize) {
        let Some(at) = self.part[actor].take() else { return };
        let work = &mut self.works[at];
        work.callers -= 1;
        if work.callers == 0 || work.value.is_some() {
            self.under_way.take_if(|under_way| *under_way == at);
        }
    }
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        let Op::Run(mine) = call.op else {
            state.under_way = None;
            return at_once(state, Answer::Done);
        };
        let Some(at) = self.part[actor] else {
            let at = self.under_way.unwrap_or(self.works.len());
            if at == self.works.len() {
                state.works.push(Work { callers: 0, runs: false, value: None });
            }
            state.works[at].callers += 1;
            (state.part[actor], state.under_way) = (Some(at), Some(at));
            return vec![Step::stage(state, PART)];
        };
        let mut steps = Vec::new();
        // Who goes leaves; who worked leaves the work to another.
        if stage != DONE && (call.may_be_dropped() || matches!(call.how, How::Cancelled(_))) {
            let mut state = self.clone();
            state.works[at].runs &= stage != RUNS;
            state.leave(actor);
            steps.extend(call.give_up(state));
        }
        let work = &mut state.works[at];
        match (stage, work.value) {
            (PART, Some(value)) => {
                state.leave(actor);
                steps.push(Step::answer(state, Answer::Pair(value, 1)));
            }
            (PART, None) if !work.runs => {
                work.runs = true;
                steps.push(Step::stage(state, RUNS));
            }
            (RUNS, _) => {
                (work.runs, work.value) = (false, Some(mine));
                steps.push(Step::stage(state, DONE));
            }
            (DONE, _) => {
                state.leave(actor);
                steps.push(Step::answer(state, Answer::Pair(mine, 0)));
            }
            _ => {}
        }
        steps
    }
}

impl Object for Flights {
    type Op = Op;
    type Model = State;
    type Hand = Arc<SingleFlight<u8, i32>>;

    fn name(&self) -> String {
        "single flight".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let value = dice.value();
        vec![match dice.below(8) {
            0 => Call::now(Op::Forget),
            _ => dice.waits_without(Op::Run(value), false, false),
        }]
    }

    fn make(&self, actors: usize) -> (State, Vec<Self::Hand>) {
        let state = State { under_way: None, works: Vec::new(), part: vec![None; actors + 1] };
        let flight = Arc::new(SingleFlight::new());
        (state, vec![flight; actors + 1])
    }

    fn call(flight: &mut Self::Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Forget => {
                flight.forget(&0);
                Answer::Done
            }
            Op::Run(value) => {
                let work = || {
                    super::once::pause();
                    value
                };
                either(waited(call.how, || None, || flight.run(0, work), |_| None), result)
            }
        }
    }

    async fn call_async(flight: &mut Self::Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Run(value) => {
                let work = || async move {
                    myriad::time::sleep_async(std::time::Duration::ZERO).await;
                    value
                };
                either(awaited(call.how, flight.run_async(0, work)).await, result)
            }
            Op::Forget => Self::call(flight, call),
        }
    }
}

fn result((value, shared): (i32, bool)) -> Answer {
    Answer::Pair(value, i32::from(shared))
}
