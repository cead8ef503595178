//! The semaphore: "weighted, first come, first served: who waits for many is not passed by those
//! who want few".

use crate::model::{Answer, Call, How, Model, Step, at_once};
use crate::object::{Dice, Object, awaited_or, either, waited};
use myriad::sync::{Arc, OwnedPermit, Permit, Semaphore};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Acquire(usize),
    Release,
    Available,
    /// Adds a permit for good.
    Add,
}

pub(crate) struct Permits {
    pub(crate) n: usize,
}

pub(crate) struct Hand {
    semaphore: Arc<Semaphore>,
    held: Option<OwnedPermit>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    free: usize,
    held: Vec<usize>,
    /// Who, and how many it wants.
    line: Vec<(usize, usize)>,
}

impl State {
    fn give(&mut self, n: usize) {
        self.free += n;
        while let Some(&(actor, wanted)) = self.line.first().filter(|(_, wanted)| *wanted <= self.free) {
            self.line.remove(0);
            self.free -= wanted;
            self.held[actor] = wanted;
        }
    }

    fn release(&mut self, actor: usize) -> bool {
        let n = std::mem::take(&mut self.held[actor]);
        self.give(n);
        n > 0
    }
}

/// The stages of one who stands in line, and of one whose time has passed, and who has left the
/// line and looks a last time.
const IN_LINE: u8 = 1;
const LAST_LOOK: u8 = 2;

impl State {
    /// With `free` permits, and nobody who holds any.
    pub(crate) fn new(free: usize, actors: usize) -> State {
        State { free, held: vec![0; actors], line: Vec::new() }
    }
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Acquire(_) if stage == IN_LINE => {
                let mut steps = Vec::new();
                let served = self.held[actor] > 0;
                if served {
                    steps.push(Step::answer(self.clone(), Answer::Done));
                }
                // A future that was served and goes, or a wait that was cancelled then, gives it to
                // the next.
                if !served || call.may_be_dropped() || matches!(call.how, How::Cancelled(_)) {
                    state.line.retain(|waiter| waiter.0 != actor);
                    state.release(actor);
                    steps.extend(call.give_up(state.clone()));
                }
                if !served && call.may_be_late() {
                    steps.push(Step { late: true, ..Step::stage(state, LAST_LOOK) });
                }
                steps
            }
            Op::Acquire(n) if self.line.is_empty() && n <= self.free => {
                state.free -= n;
                state.held[actor] = n;
                at_once(state, Answer::Done)
            }
            Op::Acquire(n) => {
                let mut steps: Vec<_> = call.give_up(state.clone()).into_iter().collect();
                if call.how != How::Now && stage != LAST_LOOK {
                    state.line.push((actor, n));
                    steps.push(Step::stage(state, IN_LINE));
                }
                steps
            }
            Op::Release => {
                let held = state.release(actor);
                at_once(state, if held { Answer::Done } else { Answer::Nothing })
            }
            Op::Available => at_once(state, Answer::Value(self.free as i32)),
            Op::Add => {
                state.give(1);
                at_once(state, Answer::Done)
            }
        }
    }
}

impl Object for Permits {
    type Op = Op;
    type Model = State;
    type Hand = Hand;

    fn name(&self) -> String {
        format!("semaphore {}", self.n)
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let n = 1 + dice.below(self.n as u64);
        let acquire = dice.waits(Op::Acquire(n));
        let acquire = dice.or_exactly(acquire);
        match dice.below(9) {
            0 => vec![Call::now(Op::Available)],
            1 => vec![Call::now(Op::Add)],
            2 => vec![acquire, Call::now(Op::Available), Call::now(Op::Release)],
            _ => vec![acquire, Call::now(Op::Release)],
        }
    }

    fn make(&self, actors: usize) -> (State, Vec<Hand>) {
        let semaphore = Arc::new(Semaphore::new(self.n));
        let state = State::new(self.n, actors + 1);
        (state, (0..=actors).map(|_| Hand { semaphore: semaphore.clone(), held: None }).collect())
    }

    fn call(Hand { semaphore, held }: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Acquire(n) => {
                let permit = {
                    let within = |limit| semaphore.acquire_many_timeout(n, limit).ok();
                    let now = || semaphore.try_acquire_many(n);
                    waited(call.how, now, || semaphore.acquire_many(n), within)
                };
                either(permit, |permit| keep(held, permit, semaphore))
            }
            Op::Release => held.take().map_or(Answer::Nothing, |_permit| Answer::Done),
            Op::Available => Answer::Value(semaphore.available() as i32),
            Op::Add => {
                semaphore.add_permits(1);
                Answer::Done
            }
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Acquire(n) if call.how != How::Now => {
                let Hand { semaphore, held } = hand;
                let within = async |limit| semaphore.acquire_many_timeout_async(n, limit).await.ok();
                let permit = awaited_or(call.how, || semaphore.acquire_many_async(n), within).await;
                either(permit, |permit| keep(held, permit, semaphore))
            }
            _ => Self::call(hand, call),
        }
    }
}

fn keep(held: &mut Option<OwnedPermit>, permit: Permit<'_>, semaphore: &Arc<Semaphore>) -> Answer {
    *held = Some(permit.into_owned(semaphore));
    Answer::Done
}
