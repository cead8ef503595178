//! A task, the handle of it, and those who let it end.

use crate::model::{Answer, Call, How, Model, Step, at_once};
use crate::object::{Dice, Object, awaited, either, nanos};
use myriad::sync::{Arc, Event};
use myriad::{JoinError, JoinHandle};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    /// Starts the task, which waits for the gate: a closure, or a future.
    Spawn,
    /// Lets the task end.
    Open,
    IsFinished,
    Cancel,
    /// In all forms; what has not ended stays in the hand.
    Join,
}

/// The first actor has the handle.
pub(crate) struct Joined;

pub(crate) struct Hand {
    gate: Arc<Event>,
    handle: Option<JoinHandle<()>>,
}

/// The task takes its own steps when it likes, so they are taken with those who look.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct State {
    /// The handle is used up.
    joined: bool,
    open: bool,
    cancelled: bool,
    end: Option<End>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum End {
    Done,
    Cancelled,
}

impl State {
    /// The states that this one may have become meanwhile.
    fn meanwhile(&self) -> Vec<State> {
        let mut all = vec![self.clone()];
        if self.end.is_none() {
            all.extend(self.open.then(|| State { end: Some(End::Done), ..self.clone() }));
            all.extend(self.cancelled.then(|| State { end: Some(End::Cancelled), ..self.clone() }));
        }
        all
    }
}

impl Model for State {
    type Op = Op;

    fn next(&self, _: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        match call.op {
            Op::IsFinished | Op::Cancel | Op::Join if self.joined => at_once(self.clone(), Answer::Gone),
            Op::Spawn => at_once(self.clone(), Answer::Done),
            Op::Open => at_once(State { open: true, ..self.clone() }, Answer::Done),
            Op::Cancel => {
                let cancelled = |state: State| State { cancelled: state.end.is_none(), ..state };
                self.meanwhile().into_iter().map(|state| Step::answer(cancelled(state), Answer::Done)).collect()
            }
            Op::IsFinished => {
                let look = |state: State| {
                    let finished = state.end.is_some();
                    Step::answer(state, Answer::Flag(finished))
                };
                self.meanwhile().into_iter().map(look).collect()
            }
            Op::Join => {
                let joined = |state, answer| Some(Step::answer(State { joined: true, ..state }, answer));
                let join = |state: State| match state.end {
                    Some(End::Done) => joined(state, Answer::Done),
                    Some(End::Cancelled) => joined(state, Answer::Closed),
                    None => call.give_up(state),
                };
                self.meanwhile().into_iter().filter_map(join).collect()
            }
        }
    }
}

fn ended(result: Result<(), JoinError>) -> Answer {
    match result {
        Ok(()) => Answer::Done,
        Err(error) if error.is_cancelled() => Answer::Closed,
        Err(_) => Answer::Panicked,
    }
}

impl Object for Joined {
    type Op = Op;
    type Model = State;
    type Hand = Hand;

    fn name(&self) -> String {
        "join handle".into()
    }

    fn calls(&self, actor: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        if actor > 0 {
            return vec![Call::now(Op::Open)];
        }
        let limit = [0, 5_000, 60_000][dice.below(3)];
        let mut calls = vec![Call::now(Op::Spawn)];
        for _ in 0..3 {
            let how = match (dice.in_future, dice.below(2)) {
                (true, 0) => How::AwaitWithin(limit),
                (true, _) => How::Dropped(2),
                (false, _) => How::Within(limit),
            };
            calls.push(match dice.below(4) {
                0 => Call::now(Op::IsFinished),
                1 => Call::now(Op::Cancel),
                _ => Call::new(Op::Join, how),
            });
        }
        calls.push(Call::new(Op::Join, if dice.in_future { How::Await } else { How::Wait }));
        // (So many that it is not started again.)
        calls
    }

    fn make(&self, actors: usize) -> (State, Vec<Hand>) {
        let gate = Arc::new(Event::new());
        (State::default(), (0..=actors).map(|_| Hand { gate: gate.clone(), handle: None }).collect())
    }

    fn call(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Spawn => {
                let gate = hand.gate.clone();
                hand.handle = Some(myriad::spawn(move || gate.wait()));
            }
            Op::Open => hand.gate.set(),
            _ => {
                // A join that has ended has used the handle up.
                let Some(handle) = hand.handle.take() else { return Answer::Gone };
                match (call.op, call.how) {
                    (Op::Join, How::Within(limit)) => match handle.join_timeout(nanos(limit)) {
                        Ok(result) => return ended(result),
                        Err(handle) => {
                            hand.handle = Some(handle);
                            return Answer::Timeout;
                        }
                    },
                    (Op::Join, _) => return ended(handle.join()),
                    (Op::Cancel, _) => handle.cancel(),
                    _ => {
                        let finished = handle.is_finished();
                        hand.handle = Some(handle);
                        return Answer::Flag(finished);
                    }
                }
                hand.handle = Some(handle);
            }
        }
        Answer::Done
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Spawn => {
                let gate = hand.gate.clone();
                hand.handle = Some(myriad::spawn_async(async move { gate.wait_async().await }));
                Answer::Done
            }
            Op::Join => {
                let Some(handle) = &mut hand.handle else { return Answer::Gone };
                let answer = either(awaited(call.how, &mut *handle).await, ended);
                if !matches!(answer, Answer::Timeout | Answer::Gone) {
                    hand.handle = None;
                }
                answer
            }
            _ => Self::call(hand, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::Open)]
    }
}
