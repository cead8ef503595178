//! A token and its child: "cancelled with this one, or alone".

use crate::model::{Answer, Call, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited, either, waited};
use myriad::cancel::Token;
use myriad::sync::Event;

/// The numbers: 0 is the token, 1 its child.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Cancel(u8),
    IsCancelled(u8),
    Wait(u8),
    /// Runs what waits for ever in the token.
    Run(u8),
    /// Is one more child of the token, that is made now, cancelled?
    Child,
}

pub(crate) struct Tokens;

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Cancelled([bool; 2]);

impl Model for Cancelled {
    type Op = Op;

    fn next(&self, _: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Cancel(which) => {
                state.0[1] = true;
                state.0[0] |= which == 0;
                at_once(state, Answer::Done)
            }
            Op::IsCancelled(which) => at_once(state, Answer::Flag(self.0[usize::from(which)])),
            Op::Wait(which) | Op::Run(which) => {
                whenever(self, call, self.0[usize::from(which)].then_some((state, Answer::Done)))
            }
            Op::Child => at_once(state, Answer::Flag(self.0[0])),
        }
    }
}

impl Object for Tokens {
    type Op = Op;
    type Model = Cancelled;
    type Hand = [Token; 2];

    fn name(&self) -> String {
        "token".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let which = dice.below(2) as u8;
        vec![match dice.below(8) {
            0 => Call::now(Op::Cancel(which)),
            1 | 2 => Call::now(Op::IsCancelled(which)),
            3 => Call::now(Op::Child),
            4 => dice.waits_without(Op::Wait(which), false, false),
            _ => dice.waits_without(Op::Run(which), false, false),
        }]
    }

    fn make(&self, actors: usize) -> (Cancelled, Vec<[Token; 2]>) {
        let token = Token::new();
        let child = token.child();
        (Cancelled([false; 2]), vec![[token, child]; actors + 1])
    }

    fn call(tokens: &mut [Token; 2], call: &Call<Op>) -> Answer {
        match call.op {
            Op::Cancel(which) => {
                tokens[usize::from(which)].cancel();
                Answer::Done
            }
            Op::IsCancelled(which) => Answer::Flag(tokens[usize::from(which)].is_cancelled()),
            Op::Wait(which) => {
                let token = &tokens[usize::from(which)];
                either(waited(call.how, || None, || token.wait(), |_| None), |()| Answer::Done)
            }
            Op::Run(which) => {
                let run = || tokens[usize::from(which)].run(|| Event::new().wait());
                either(waited(call.how, || None, run, |_| None), unwound)
            }
            Op::Child => Answer::Flag(tokens[0].child().is_cancelled()),
        }
    }

    async fn call_async(tokens: &mut [Token; 2], call: &Call<Op>) -> Answer {
        match call.op {
            Op::Wait(which) => {
                either(awaited(call.how, tokens[usize::from(which)].cancelled()).await, |()| Answer::Done)
            }
            Op::Run(which) => {
                let never = std::future::pending::<()>();
                either(awaited(call.how, tokens[usize::from(which)].run_async(never)).await, unwound)
            }
            _ => Self::call(tokens, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::Cancel(0))]
    }
}

fn unwound<E>(result: Result<(), E>) -> Answer {
    result.map_or(Answer::Done, |()| Answer::Panicked)
}
