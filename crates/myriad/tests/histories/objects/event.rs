//! Events: one that stays set, and one that lets one go on each time: "the one that has waited
//! longest, or, if none waits, the next that comes".

use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited_or, either, waited};
use myriad::sync::{Arc, Event};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Set,
    Reset,
    IsSet,
    Wait,
}

pub(crate) struct Events {
    pub(crate) auto: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    auto: bool,
    set: bool,
    line: Vec<usize>,
    /// Who was let go on alone, and has not gone yet.
    served: Vec<usize>,
}

impl State {
    fn set(&mut self) {
        if self.auto && !self.line.is_empty() {
            let first = self.line.remove(0);
            self.served.push(first);
        } else {
            self.set = true;
        }
    }
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Set => {
                state.set();
                at_once(state, Answer::Done)
            }
            Op::Reset => {
                state.set = false;
                at_once(state, Answer::Flag(self.set))
            }
            Op::IsSet => at_once(state, Answer::Flag(self.set)),
            Op::Wait if !self.auto => whenever(self, call, self.set.then_some((state, Answer::Done))),
            // In line.
            Op::Wait if stage == 1 => {
                let served = self.served.contains(&actor);
                state.line.retain(|waiter| *waiter != actor);
                state.served.retain(|waiter| *waiter != actor);
                if !served {
                    return call.give_up(state).into_iter().collect();
                }
                let mut steps = at_once(state.clone(), Answer::Done);
                // "Was it let go by an event with automatic reset, another is."
                if call.may_be_dropped() || matches!(call.how, How::Cancelled(_)) {
                    state.set();
                    steps.extend(call.give_up(state));
                }
                steps
            }
            Op::Wait if self.set => {
                state.set = false;
                at_once(state, Answer::Done)
            }
            Op::Wait => {
                let mut steps: Vec<_> = call.give_up(state.clone()).into_iter().collect();
                if call.how != How::Now {
                    state.line.push(actor);
                    steps.push(Step::stage(state, 1));
                }
                steps
            }
        }
    }
}

impl Object for Events {
    type Op = Op;
    type Model = State;
    type Hand = Arc<Event>;

    fn name(&self) -> String {
        (if self.auto { "event, automatic" } else { "event" }).into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let wait = dice.waits(Op::Wait);
        vec![match dice.below(8) {
            0..=2 => Call::now(Op::Set),
            3 => Call::now(Op::Reset),
            4 => Call::now(Op::IsSet),
            _ => dice.or_exactly(wait),
        }]
    }

    fn make(&self, actors: usize) -> (State, Vec<Arc<Event>>) {
        let event = Arc::new(if self.auto { Event::auto_reset() } else { Event::new() });
        let state = State { auto: self.auto, set: false, line: Vec::new(), served: Vec::new() };
        (state, vec![event; actors + 1])
    }

    fn call(event: &mut Arc<Event>, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Set => {
                event.set();
                Answer::Done
            }
            Op::Reset => Answer::Flag(event.reset()),
            Op::IsSet => Answer::Flag(event.is_set()),
            Op::Wait => {
                let within = |limit| event.wait_timeout(limit).ok();
                let now = || event.try_wait().then_some(());
                either(waited(call.how, now, || event.wait(), within), |()| Answer::Done)
            }
        }
    }

    async fn call_async(event: &mut Arc<Event>, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Wait if call.how != How::Now => {
                let within = async |limit| event.wait_timeout_async(limit).await.ok();
                either(awaited_or(call.how, || event.wait_async(), within).await, |()| Answer::Done)
            }
            _ => Self::call(event, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::Set)]
    }
}
