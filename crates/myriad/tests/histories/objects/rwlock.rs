//! The read-write lock. "While one [writer] waits, those who come to read wait behind it. When it
//! has written, all readers that wait then are let in before the next writer."

use super::kept::{Kept, Unused, keep};
use crate::model::{Answer, Call, How, Model, Step, at_once};
use crate::object::{Dice, Object, awaited_or, either, waited};
use myriad::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Read,
    Write,
    /// From writing to reading.
    Downgrade,
    Unlock,
    IsLocked,
}

pub(crate) struct ReadWrite;

enum Guard {
    Reads(#[allow(dead_code, reason = "it is held")] RwLockReadGuard<'static, ()>),
    Writes(RwLockWriteGuard<'static, ()>),
}

pub(crate) struct Hand {
    guard: Option<Guard>,
    lock: Arc<Kept<RwLock<()>>>,
}

#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct State {
    writer: Option<usize>,
    /// In the order of their numbers.
    readers: Vec<usize>,
    waiting_writers: Vec<usize>,
    waiting_readers: Vec<usize>,
}

impl State {
    fn is_locked(&self) -> bool {
        self.writer.is_some() || !self.readers.is_empty()
    }

    fn begin_to_read(&mut self, actor: usize) {
        self.readers.push(actor);
        self.readers.sort_unstable();
    }

    fn let_readers_in(&mut self) {
        for reader in std::mem::take(&mut self.waiting_readers) {
            self.begin_to_read(reader);
        }
    }

    fn is_wanted(&self) -> bool {
        !self.waiting_writers.is_empty() || !self.waiting_readers.is_empty()
    }

    /// What it holds, it holds no more. True: it wrote.
    fn release(&mut self, actor: usize) -> bool {
        self.readers.retain(|reader| *reader != actor);
        self.writer.take_if(|writer| *writer == actor).is_some()
    }

    /// If nobody holds it, it goes to those who wait.
    fn hand_over(&mut self, wrote: bool) {
        if self.is_locked() || !self.is_wanted() {
            return;
        }
        if self.waiting_writers.is_empty() || wrote && !self.waiting_readers.is_empty() {
            self.let_readers_in();
        } else {
            self.writer = Some(self.waiting_writers.remove(0));
        }
    }

    /// Waits no more. Readers that waited behind a writer go on.
    fn leave_line(&mut self, actor: usize) {
        self.waiting_readers.retain(|waiter| *waiter != actor);
        self.waiting_writers.retain(|waiter| *waiter != actor);
        if self.waiting_writers.is_empty() && !self.readers.is_empty() {
            self.let_readers_in();
        }
    }

    fn attempt(mut self, actor: usize, writes: bool) -> Option<State> {
        if self.writer.is_some() || self.is_wanted() || writes && !self.readers.is_empty() {
            return None;
        }
        if writes {
            self.writer = Some(actor)
        } else {
            self.begin_to_read(actor)
        }
        Some(self)
    }
}

/// The stages of one who stands in line, and of one whose time has passed, and who has left the
/// line and looks a last time.
const IN_LINE: u8 = 1;
const LAST_LOOK: u8 = 2;
/// Of one who has read, or written, and is about to hand over: for a moment nobody has it.
const HAS_READ: u8 = 1;
const HAS_WRITTEN: u8 = 2;

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, stage: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        let holds = self.writer == Some(actor) || self.readers.contains(&actor);
        match call.op {
            Op::Read | Op::Write if stage == IN_LINE => {
                if !holds {
                    state.leave_line(actor);
                    let mut steps: Vec<_> = call.give_up(state.clone()).into_iter().collect();
                    if call.may_be_late() {
                        steps.push(Step { late: true, ..Step::stage(state, LAST_LOOK) });
                    }
                    return steps;
                }
                let mut steps = at_once(state.clone(), Answer::Done);
                // A future that was let in and goes, or a wait that was cancelled then, leaves.
                if call.may_be_dropped() || matches!(call.how, How::Cancelled(_)) {
                    let wrote = state.release(actor);
                    state.hand_over(wrote);
                    steps.extend(call.give_up(state));
                }
                steps
            }
            Op::Read | Op::Write => {
                let writes = matches!(call.op, Op::Write);
                if let Some(taken) = state.clone().attempt(actor, writes) {
                    return at_once(taken, Answer::Done);
                }
                let mut steps: Vec<_> = call.give_up(state.clone()).into_iter().collect();
                if call.how != How::Now && stage != LAST_LOOK {
                    if writes { &mut state.waiting_writers } else { &mut state.waiting_readers }.push(actor);
                    steps.push(Step::stage(state, IN_LINE));
                }
                steps
            }
            Op::Downgrade if self.writer == Some(actor) => {
                state.writer = None;
                state.begin_to_read(actor);
                if state.waiting_writers.is_empty() {
                    state.let_readers_in();
                }
                at_once(state, Answer::Done)
            }
            Op::Unlock if stage > 0 => {
                state.hand_over(stage == HAS_WRITTEN);
                at_once(state, Answer::Done)
            }
            Op::Unlock if holds => {
                let wrote = state.release(actor);
                if state.is_locked() || !state.is_wanted() {
                    return at_once(state, Answer::Done);
                }
                vec![Step::stage(state, if wrote { HAS_WRITTEN } else { HAS_READ })]
            }
            Op::Downgrade | Op::Unlock => at_once(state, Answer::Nothing),
            Op::IsLocked => at_once(state, Answer::Flag(self.is_locked())),
        }
    }
}

impl Hand {
    fn took(&mut self, guard: Guard) -> Answer {
        self.guard = Some(guard);
        Answer::Done
    }
}

impl Object for ReadWrite {
    type Op = Op;
    type Model = State;
    type Hand = Hand;

    fn name(&self) -> String {
        "rwlock".into()
    }

    fn weight(&self) -> u32 {
        4
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let (read, write, unlock) = (dice.waits(Op::Read), dice.waits(Op::Write), Call::now(Op::Unlock));
        let (read, write) = (dice.or_exactly(read), dice.or_exactly(write));
        match dice.below(7) {
            0 => vec![Call::now(Op::IsLocked)],
            1 => vec![write, Call::now(Op::Downgrade), unlock],
            2 => vec![read, Call::now(Op::IsLocked), unlock],
            3 | 4 => vec![write, unlock],
            _ => vec![read, unlock],
        }
    }

    fn make(&self, actors: usize) -> (State, Vec<Hand>) {
        static UNUSED: Unused<RwLock<()>> = Unused::new(Vec::new());
        let lock = keep(&UNUSED, || RwLock::new(()));
        (State::default(), (0..=actors).map(|_| Hand { guard: None, lock: lock.clone() }).collect())
    }

    fn call(hand: &mut Hand, call: &Call<Op>) -> Answer {
        let lock = hand.lock.value;
        match call.op {
            Op::Read => {
                let within = |limit| lock.read_timeout(limit).ok();
                let read = waited(call.how, || lock.try_read().ok(), || lock.read().unwrap(), within);
                either(read, |guard| hand.took(Guard::Reads(guard)))
            }
            Op::Write => {
                let within = |limit| lock.write_timeout(limit).ok();
                let written = waited(call.how, || lock.try_write().ok(), || lock.write().unwrap(), within);
                either(written, |guard| hand.took(Guard::Writes(guard)))
            }
            Op::Downgrade => match hand.guard.take() {
                Some(Guard::Writes(guard)) => hand.took(Guard::Reads(RwLockWriteGuard::downgrade(guard))),
                _ => Answer::Nothing,
            },
            Op::Unlock => hand.guard.take().map_or(Answer::Nothing, |_guard| Answer::Done),
            Op::IsLocked => Answer::Flag(lock.is_locked()),
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        let lock = hand.lock.value;
        match call.op {
            Op::Read if call.how != How::Now => {
                let within = async |limit| lock.read_timeout_async(limit).await.ok().map(Ok);
                let read = awaited_or(call.how, || lock.read_async(), within).await;
                either(read, |guard| hand.took(Guard::Reads(guard.unwrap())))
            }
            Op::Write if call.how != How::Now => {
                let within = async |limit| lock.write_timeout_async(limit).await.ok().map(Ok);
                let written = awaited_or(call.how, || lock.write_async(), within).await;
                either(written, |guard| hand.took(Guard::Writes(guard.unwrap())))
            }
            _ => Self::call(hand, call),
        }
    }
}
