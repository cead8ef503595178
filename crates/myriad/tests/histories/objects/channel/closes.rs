//! Channels that close while selects wait, and some of those who wait are told late: by slow
//! wakers.

use super::{Arm, Form, Op};
use crate::model::{Call, How};
use crate::object::Dice;

/// A few that are told late, selects behind them with a time limit, and closes. Each actor mostly
/// has one part in that: for it shows only if three of them meet.
pub(super) fn told_late(actor: usize, at: u8, dice: &mut Dice) -> Vec<Call<Op>> {
    let part = if dice.below(2) == 0 { [3, 10, 0, 10][actor % 4] } else { dice.below(14) };
    vec![match part {
        0 | 1 => Call::now(Op::Close(at)),
        2 => Call::now(Op::IsClosed(at)),
        3..=5 => Call::new(Op::Recv(at), How::AwaitSlowly),
        6 => {
            let value = dice.value();
            dice.waits(Op::Send(at, value))
        }
        7..=9 if !dice.in_future => Call::new(Op::Recv(at), How::Within(limit(dice))),
        _ => limited(dice),
    }]
}

/// Senders of which one stood in line before the others begin, and is told of the close before
/// them; and selects that look before all of that, and come into line after it.
pub(super) fn kept(at: u8, dice: &mut Dice) -> Vec<Call<Op>> {
    let value = dice.value();
    match dice.below(8) {
        0..=2 => {
            let begin = Call::now(Op::Begin(at, value));
            vec![begin, Call::now(Op::Close(at)), Call::new(Op::End(at, value), How::AwaitSlowly)]
        }
        3 | 4 => {
            let send = dice.waits(Op::Send(at, value));
            vec![dice.or_slowly(send)]
        }
        _ => vec![limited(dice)],
    }
}

/// A select with a time limit, which mostly receives.
fn limited(dice: &mut Dice) -> Call<Op> {
    let mut arm = |at| if dice.below(4) > 0 { Arm::Recv(at) } else { Arm::Send(at, dice.value()) };
    let arms = [arm(0), arm(1)];
    let form = dice.one_of(&[Form::Macro, Form::Macro, Form::Dynamic, Form::After]);
    let limit = limit(dice);
    Call::new(Op::Select(form, arms), if dice.in_future { How::AwaitWithin(limit) } else { How::Within(limit) })
}

fn limit(dice: &mut Dice) -> u32 {
    dice.one_of(&[5_000, 20_000, 60_000, 100_000])
}
