//! The condition variable: "who waits longest is notified first"; "nobody wakes for nothing".

use super::kept::{Kept, Unused, keep};
use crate::model::{Answer, Call, How, Model, Step, at_once};
use crate::object::{Dice, Object, awaited, either, nanos};
use myriad::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Lock,
    Unlock,
    Wait,
    NotifyOne,
    NotifyAll,
}

pub(crate) struct Conditional;

type Pair = (Mutex<()>, Condvar);

pub(crate) struct Hand {
    guard: Option<MutexGuard<'static, ()>>,
    pair: Arc<Kept<Pair>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    owner: Option<usize>,
    line: Vec<usize>,
    /// Who was notified and does not have the lock again. True: by a notification for it alone.
    notified: Vec<(usize, bool)>,
    /// Whose time has passed, and who may not have left yet: then a notification for all still
    /// reaches them.
    late: Vec<usize>,
}

/// The stages of a wait: in line; notified; its time is over.
const IN_LINE: u8 = 1;
const NOTIFIED: u8 = 2;
const LATE: u8 = 3;

impl State {
    fn notify_one(&mut self) {
        if !self.line.is_empty() {
            let first = self.line.remove(0);
            self.notified.push((first, true));
            self.notified.sort_unstable();
        }
    }

    /// Waits no more, and leaves with the lock if it is free.
    fn back(&self, actor: usize, answer: Answer) -> Vec<Step<State>> {
        let mut state = self.clone();
        state.notified.retain(|who| who.0 != actor);
        state.late.retain(|who| *who != actor);
        state.owner = Some(actor);
        if self.owner.is_none() { at_once(state, answer) } else { Vec::new() }
    }

    /// A future that goes, or a task that unwinds: without the lock. "A notification that was meant
    /// for it alone goes to the next."
    fn leave(&self, actor: usize, call: &Call<Op>) -> Option<Step<State>> {
        if !call.may_be_dropped() && !matches!(call.how, How::Cancelled(_)) {
            return None;
        }
        let mut state = self.clone();
        state.line.retain(|who| *who != actor);
        state.late.retain(|who| *who != actor);
        if let Some(at) = state.notified.iter().position(|who| who.0 == actor)
            && state.notified.remove(at).1
        {
            state.notify_one();
        }
        call.give_up(state)
    }

    fn wait(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<State>> {
        let mut state = self.clone();
        let mut steps: Vec<_> = if stage == 0 { None } else { self.leave(actor, call) }.into_iter().collect();
        match stage {
            0 if self.owner != Some(actor) => return at_once(state, Answer::Nothing),
            0 => {
                state.owner = None;
                state.line.push(actor);
                steps.push(Step::stage(state, IN_LINE));
            }
            IN_LINE if self.notified.iter().any(|who| who.0 == actor) => steps.push(Step::stage(state, NOTIFIED)),
            IN_LINE if matches!(call.how, How::Within(_) | How::AwaitExactly(_)) => {
                state.line.retain(|who| *who != actor);
                state.late.push(actor);
                state.late.sort_unstable();
                steps.push(Step { late: true, ..Step::stage(state, LATE) });
            }
            NOTIFIED => steps.extend(self.back(actor, Answer::Done)),
            LATE => {
                if self.notified.iter().any(|who| who.0 == actor) {
                    steps.push(Step::stage(state, NOTIFIED));
                }
                steps.extend(self.back(actor, Answer::Timeout));
            }
            _ => {}
        }
        steps
    }
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        match call.op {
            Op::Lock if self.owner.is_some() => return Vec::new(),
            Op::Lock => state.owner = Some(actor),
            Op::Unlock if self.owner != Some(actor) => return at_once(state, Answer::Nothing),
            Op::Unlock => state.owner = None,
            Op::Wait => return self.wait(actor, call, stage),
            Op::NotifyOne => state.notify_one(),
            Op::NotifyAll => {
                let all = state.line.drain(..).chain(state.late.drain(..));
                state.notified.extend(all.map(|who| (who, false)));
                state.notified.sort_unstable();
            }
        }
        at_once(state, Answer::Done)
    }
}

/// A wait. Often a future that is dropped, so that its notification goes to the next.
fn wait(dice: &mut Dice) -> Call<Op> {
    if dice.in_future && dice.below(2) == 0 {
        return Call::new(Op::Wait, How::Dropped(dice.below(3) as u8 + 1));
    }
    let wait = dice.waits_without(Op::Wait, false, true);
    dice.or_exactly(wait)
}

/// A wait as long as relief lets it be: its end shows that it was not notified.
fn patient(dice: &Dice) -> Call<Op> {
    const LIMIT: u32 = 200_000;
    Call::new(Op::Wait, if dice.in_future { How::AwaitExactly(LIMIT) } else { How::Within(LIMIT) })
}

/// Polls the wait once, and drops it some time later: a notification may come in between.
async fn dropped_late<T>(wait: impl Future<Output = T>, polls: u8) -> Result<T, Answer> {
    let (mut wait, mut polled) = (pin!(wait), false);
    poll_fn(|cx| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(Err(Answer::Gone));
        }
        if let Poll::Ready(value) = wait.as_mut().poll(cx) {
            return Poll::Ready(Ok(value));
        }
        (0..300 * u32::from(polls)).for_each(|_| std::hint::spin_loop());
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

impl Object for Conditional {
    type Op = Op;
    type Model = State;
    type Hand = Hand;

    fn name(&self) -> String {
        "condvar".into()
    }

    fn calls(&self, actor: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let lock = Call::new(Op::Lock, if dice.in_future { How::Await } else { How::Wait });
        let (unlock, one, all) = (Call::now(Op::Unlock), Call::now(Op::NotifyOne), Call::now(Op::NotifyAll));
        // One goes, one stays for long, and one notifies: often, for by chance it is rare.
        match (dice.below(2), actor) {
            (0, 0) => return vec![lock, wait(dice), unlock],
            (0, 1) => return vec![lock, patient(dice), unlock],
            (0, 2) => return vec![one],
            _ => {}
        }
        match dice.below(8) {
            0 => vec![one],
            1 => vec![lock, one, unlock],
            2 => vec![all],
            3 => vec![lock, unlock],
            _ => vec![lock, wait(dice), unlock],
        }
    }

    fn make(&self, actors: usize) -> (State, Vec<Hand>) {
        static UNUSED: Unused<Pair> = Unused::new(Vec::new());
        let pair = keep(&UNUSED, || (Mutex::new(()), Condvar::new()));
        let hands = (0..=actors).map(|_| Hand { guard: None, pair: pair.clone() }).collect();
        (State { owner: None, line: Vec::new(), notified: Vec::new(), late: Vec::new() }, hands)
    }

    fn call(hand: &mut Hand, call: &Call<Op>) -> Answer {
        let (mutex, condvar) = hand.pair.value;
        match call.op {
            Op::Lock => hand.guard = Some(mutex.lock().unwrap()),
            Op::Unlock => return hand.guard.take().map_or(Answer::Nothing, |_guard| Answer::Done),
            Op::Wait => {
                let Some(guard) = hand.guard.take() else { return Answer::Nothing };
                let waited = match call.how {
                    How::Within(limit) => {
                        let (guard, result) = condvar.wait_timeout(guard, nanos(limit)).unwrap();
                        Ok((guard, if result.timed_out() { Answer::Timeout } else { Answer::Done }))
                    }
                    how => {
                        let wait = || (condvar.wait(guard).unwrap(), Answer::Done);
                        crate::object::waited(how, || None, wait, |_| None)
                    }
                };
                return either(waited, |(guard, answer)| {
                    hand.guard = Some(guard);
                    answer
                });
            }
            Op::NotifyOne => condvar.notify_one(),
            Op::NotifyAll => condvar.notify_all(),
        }
        Answer::Done
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        let (mutex, condvar) = hand.pair.value;
        match call.op {
            Op::Lock => {
                hand.guard = Some(mutex.lock_async().await.unwrap());
                Answer::Done
            }
            Op::Wait => {
                let Some(guard) = hand.guard.take() else { return Answer::Nothing };
                if let How::AwaitExactly(limit) = call.how {
                    let (guard, result) = condvar.wait_timeout_async(guard, nanos(limit)).await.unwrap();
                    hand.guard = Some(guard);
                    return if result.timed_out() { Answer::Timeout } else { Answer::Done };
                }
                let wait = condvar.wait_async(guard);
                let waited = match call.how {
                    How::Dropped(polls) => dropped_late(wait, polls).await,
                    how => awaited(how, wait).await,
                };
                either(waited, |guard| {
                    hand.guard = Some(guard.unwrap());
                    Answer::Done
                })
            }
            _ => Self::call(hand, call),
        }
    }

    fn relief(&self) -> Vec<Call<Op>> {
        vec![Call::now(Op::NotifyAll)]
    }
}
