//! The mutex. No order among those who wait: "whoever comes when it is free gets it, before those
//! who wait".

use super::kept::{Kept, Unused, keep};
use crate::model::{Answer, Call, How, Model, Step, at_once, whenever};
use crate::object::{Dice, Object, awaited_or, either, waited};
use myriad::sync::{Arc, Mutex, MutexGuard};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Lock,
    Unlock,
    IsLocked,
}

pub(crate) struct Locks;

pub(crate) struct Hand {
    /// (It goes before the mutex is used again.)
    guard: Option<MutexGuard<'static, ()>>,
    mutex: Arc<Kept<Mutex<()>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Owner(Option<usize>);

impl Model for Owner {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        match call.op {
            // A future that was handed the lock and goes, or a wait that was cancelled then, gives
            // it to the next.
            Op::Lock if stage == 1 => call.give_up(Owner(None)).into_iter().collect(),
            Op::Lock => {
                let attempt = self.0.is_none().then_some((Owner(Some(actor)), Answer::Done));
                let handed = attempt.is_some() && (call.may_be_dropped() || matches!(call.how, How::Cancelled(_)));
                let mut steps = whenever(self, call, attempt);
                steps.extend(handed.then(|| Step::stage(Owner(Some(actor)), 1)));
                steps
            }
            Op::Unlock if self.0 == Some(actor) => at_once(Owner(None), Answer::Done),
            Op::Unlock => at_once(self.clone(), Answer::Nothing),
            Op::IsLocked => at_once(self.clone(), Answer::Flag(self.0.is_some())),
        }
    }
}

impl Hand {
    fn took(&mut self, guard: MutexGuard<'static, ()>) -> Answer {
        self.guard = Some(guard);
        Answer::Done
    }
}

impl Object for Locks {
    type Op = Op;
    type Model = Owner;
    type Hand = Hand;

    fn name(&self) -> String {
        "mutex".into()
    }

    fn weight(&self) -> u32 {
        4
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let lock = dice.waits(Op::Lock);
        let lock = dice.or_exactly(lock);
        match dice.below(6) {
            0 => vec![Call::now(Op::IsLocked)],
            1 => vec![lock, Call::now(Op::IsLocked), Call::now(Op::Unlock)],
            _ => vec![lock, Call::now(Op::Unlock)],
        }
    }

    fn make(&self, actors: usize) -> (Owner, Vec<Hand>) {
        static UNUSED: Unused<Mutex<()>> = Unused::new(Vec::new());
        let mutex = keep(&UNUSED, || Mutex::new(()));
        (Owner(None), (0..=actors).map(|_| Hand { guard: None, mutex: mutex.clone() }).collect())
    }

    fn call(hand: &mut Hand, call: &Call<Op>) -> Answer {
        let mutex = hand.mutex.value;
        match call.op {
            Op::Lock => {
                let within = |limit| mutex.lock_timeout(limit).ok();
                let locked = waited(call.how, || mutex.try_lock().ok(), || mutex.lock().unwrap(), within);
                either(locked, |guard| hand.took(guard))
            }
            Op::Unlock => hand.guard.take().map_or(Answer::Nothing, |_guard| Answer::Done),
            Op::IsLocked => Answer::Flag(mutex.is_locked()),
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        match call.op {
            Op::Lock if call.how != How::Now => {
                let mutex = hand.mutex.value;
                let within = async |limit| mutex.lock_timeout_async(limit).await.ok().map(Ok);
                let locked = awaited_or(call.how, || mutex.lock_async(), within).await;
                either(locked, |guard| hand.took(guard.unwrap()))
            }
            _ => Self::call(hand, call),
        }
    }
}
