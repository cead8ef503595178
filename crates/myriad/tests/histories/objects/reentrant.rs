//! The lock that its owner may take again. The owner is the task, or the thread: an actor.

use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited, either, nanos, waited};
use myriad::sync::{Arc, ReentrantLock, ReentrantLockGuard};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Lock,
    Unlock,
    IsMine,
    IsLocked,
}

pub(crate) struct Reentrant;

/// Guards are not `Send`, and a future's hand has to be: they are forgotten, and counted.
pub(crate) struct Hand {
    lock: Arc<ReentrantLock<()>>,
    holds: u32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    owner: usize,
    holds: u32,
}

impl Model for Owner {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mine = self.holds > 0 && self.owner == actor;
        match call.op {
            // As of the mutex.
            Op::Lock if stage == 1 => call.give_up(Owner { owner: 0, holds: 0 }).into_iter().collect(),
            Op::Lock => {
                let next = || (Owner { owner: actor, holds: self.holds + 1 }, Answer::Done);
                let attempt = (mine || self.holds == 0).then(next);
                let handed = self.holds == 0 && (call.may_be_dropped() || matches!(call.how, How::Cancelled(_)));
                let mut steps = whenever(self, call, attempt);
                steps.extend(handed.then(|| Step::stage(Owner { owner: actor, holds: 1 }, 1)));
                steps
            }
            Op::Unlock if mine => {
                let holds = self.holds - 1;
                at_once(Owner { owner: if holds == 0 { 0 } else { actor }, holds }, Answer::Done)
            }
            Op::Unlock => at_once(self.clone(), Answer::Nothing),
            Op::IsMine => at_once(self.clone(), Answer::Flag(mine)),
            Op::IsLocked => at_once(self.clone(), Answer::Flag(self.holds > 0)),
        }
    }
}

fn took(guard: ReentrantLockGuard<'_, ()>, holds: &mut u32) -> Answer {
    std::mem::forget(guard);
    *holds += 1;
    Answer::Done
}

impl Object for Reentrant {
    type Op = Op;
    type Model = Owner;
    type Hand = Hand;

    fn name(&self) -> String {
        "reentrant lock".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let (lock, unlock) = (dice.waits(Op::Lock), Call::now(Op::Unlock));
        let lock = dice.or_exactly(lock);
        match dice.below(5) {
            0 => vec![Call::now(Op::IsLocked)],
            1 => vec![lock, Call::now(Op::IsMine), unlock],
            2 => vec![lock, dice.waits(Op::Lock), unlock, unlock],
            _ => vec![lock, unlock],
        }
    }

    fn make(&self, actors: usize) -> (Owner, Vec<Hand>) {
        let lock = Arc::new(ReentrantLock::new(()));
        let hand = |_| Hand { lock: lock.clone(), holds: 0 };
        (Owner { owner: 0, holds: 0 }, (0..=actors).map(hand).collect())
    }

    fn call(hand: &mut Hand, call: &Call<Op>) -> Answer {
        let Hand { lock, holds } = hand;
        match call.op {
            Op::Lock => {
                let within = |limit| lock.lock_timeout(limit).ok();
                either(waited(call.how, || lock.try_lock(), || lock.lock(), within), |guard| took(guard, holds))
            }
            Op::Unlock if *holds == 0 => Answer::Nothing,
            Op::Unlock => {
                *holds -= 1;
                // SAFETY: a guard of this actor, which alone has this hand, was forgotten when it
                // was counted; the value is nothing that could still be used.
                unsafe { lock.force_unlock() };
                Answer::Done
            }
            Op::IsMine => Answer::Flag(lock.is_held_by_me()),
            Op::IsLocked => Answer::Flag(lock.is_locked()),
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        let Hand { lock, holds } = hand;
        match call.op {
            Op::Lock if call.how != How::Now => {
                if let How::AwaitExactly(limit) = call.how {
                    let locking = async { lock.lock_timeout_async(nanos(limit)).await.map(|guard| took(guard, holds)) };
                    return locking.await.unwrap_or(Answer::Timeout);
                }
                // (Within it: the guard is not `Send`, and is forgotten before the next wait.)
                let locking = async { took(lock.lock_async().await, holds) };
                either(awaited(call.how, locking).await, |answer| answer)
            }
            _ => Self::call(hand, call),
        }
    }
}
