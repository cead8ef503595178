//! What an object promises: a sequential machine that says, for each operation, what may happen
//! next.

use std::fmt::{self, Debug};
use std::hash::Hash;

/// A sequential machine. A history is explained if there is an order of steps, each at a moment
/// between the call and the return of its operation, in which this machine gives all the answers
/// that were heard.
///
/// An operation takes one step, or several: who waits in a line takes its place in one step, at
/// *stage* 0, and is served in another one. So "first come, first served" and operations that take
/// effect together can be said: who serves another leaves that in the state, where the other finds
/// it.
pub(crate) trait Model: Clone + Eq + Hash {
    type Op: Copy + Debug;

    /// All steps that the actor may take now, whose call stands at this stage. None: it has to
    /// wait.
    fn next(&self, actor: usize, call: &Call<Self::Op>, stage: u8) -> Vec<Step<Self>>;
}

/// An operation, and in which of its forms it is called.
#[derive(Clone, Copy)]
pub(crate) struct Call<Op> {
    pub(crate) op: Op,
    pub(crate) how: How,
}

/// The forms of an operation; limits are in nanoseconds. What never waits has the form `Now`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    /// `try_..`.
    Now,
    /// Blocks.
    Wait,
    /// Blocks, with a time limit of its own.
    Within(u32),
    /// Blocks within `time::timeout`: is cancelled, and unwinds.
    Cancelled(u32),
    /// As a future.
    Await,
    /// As a future within `timeout_async`, which does not know whether it had an effect.
    AwaitWithin(u32),
    /// As a future with a time limit of its own, which does.
    AwaitExactly(u32),
    /// As a future that is polled so many times, and dropped.
    Dropped(u8),
    /// As a future with a slow waker of somebody else's, in any actor.
    AwaitSlowly,
}

/// What an operation has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Answer {
    Done,
    Value(i32),
    Pair(i32, i32),
    Flag(bool),
    /// It was impossible, or there was nothing.
    Nothing,
    Closed,
    /// The time has passed.
    Timeout,
    /// The future was dropped.
    Gone,
    /// This arm of a select, and what it brought.
    Arm(u8, Brought),
    /// No model says this.
    Panicked,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Brought {
    Sent,
    Value(i32),
    Closed,
}

/// One step: the state afterwards, and what becomes of the operation.
pub(crate) struct Step<M> {
    pub(crate) state: M,
    pub(crate) then: Then,
    /// Not before the operation's time limit has passed.
    pub(crate) late: bool,
}

pub(crate) enum Then {
    Stage(u8),
    Answer(Answer),
}

impl<M> Step<M> {
    pub(crate) fn answer(state: M, answer: Answer) -> Step<M> {
        Step { state, then: Then::Answer(answer), late: false }
    }

    pub(crate) fn stage(state: M, stage: u8) -> Step<M> {
        Step { state, then: Then::Stage(stage), late: false }
    }
}

impl<Op> Call<Op> {
    pub(crate) fn new(op: Op, how: How) -> Call<Op> {
        Call { op, how }
    }

    /// Never waits.
    pub(crate) fn now(op: Op) -> Call<Op> {
        Call { op, how: How::Now }
    }

    /// The time limit, in nanoseconds.
    pub(crate) fn limit(&self) -> u64 {
        match self.how {
            How::Within(limit) | How::Cancelled(limit) | How::AwaitWithin(limit) | How::AwaitExactly(limit) => {
                u64::from(limit)
            }
            _ => 0,
        }
    }

    /// Ends without having been possible, in a step that leaves this state; if the form does that.
    pub(crate) fn give_up<M>(&self, state: M) -> Option<Step<M>> {
        let (answer, late) = match self.how {
            How::Wait | How::Await | How::AwaitSlowly => return None,
            How::Now => (Answer::Nothing, false),
            How::Dropped(_) => (Answer::Gone, false),
            How::Within(_) | How::Cancelled(_) | How::AwaitWithin(_) | How::AwaitExactly(_) => (Answer::Timeout, true),
        };
        Some(Step { late, ..Step::answer(state, answer) })
    }

    /// Does it look once more when its time has passed?
    pub(crate) fn may_be_late(&self) -> bool {
        matches!(self.how, How::Within(_) | How::AwaitExactly(_))
    }

    /// Is it a future that may go without having looked what became of its wait?
    pub(crate) fn may_be_dropped(&self) -> bool {
        matches!(self.how, How::AwaitWithin(_) | How::Dropped(_))
    }
}

/// The steps of an operation that has no place in a line: it is done at some moment at which it is
/// possible, and gives up at one at which it is not. A future that is dropped, and a wait that is
/// cancelled, have had no effect, and do not say that it was impossible.
pub(crate) fn whenever<M: Model>(state: &M, call: &Call<M::Op>, attempt: Option<(M, Answer)>) -> Vec<Step<M>> {
    let impossible = attempt.is_none();
    let mut steps: Vec<_> = attempt.into_iter().map(|(state, answer)| Step::answer(state, answer)).collect();
    if impossible || call.may_be_dropped() || matches!(call.how, How::Cancelled(_)) {
        steps.extend(call.give_up(state.clone()));
    }
    steps
}

/// The single step of an operation that is always possible.
pub(crate) fn at_once<M>(state: M, answer: Answer) -> Vec<Step<M>> {
    vec![Step::answer(state, answer)]
}

impl<Op: Debug> Debug for Call<Op> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.how {
            How::Now => write!(f, "{:?}", self.op),
            how => write!(f, "{:?} {how:?}", self.op),
        }
    }
}
