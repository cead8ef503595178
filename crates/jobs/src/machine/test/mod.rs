//! The machine against a plain model, and what it promises, in virtual time.

mod cases;
mod clock;
mod groups;
mod handovers;
mod histories;
mod model;
mod suspended;

use super::{ArrayRequest, Decision, Demand, Handover, JobId, Machine, Outcome, Request, Rules, State, Time, WHOLE};
use std::sync::Arc;

/// Random numbers (splitmix64): the seed is all that a failure needs.
#[derive(Debug, Clone)]
pub(super) struct Dice(pub u64);

impl Dice {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A machine with so many cpus and so much memory.
pub(super) fn machine(cpus: u64, memory: u64, rules: Rules) -> Machine<u32> {
    Machine::new(rules, &[("cpu".into(), cpus * WHOLE), ("memory".into(), memory)], &[])
}

/// A job that wants cpus.
pub(super) fn cpus(cpus: u64) -> Request {
    Request { demand: Demand::cpu(cpus * WHOLE), ..Request::default() }
}

/// What the machine decides at this time.
pub(super) fn decisions(machine: &mut Machine<u32>, now: Time) -> Vec<Decision<u32>> {
    machine.decide(now);
    std::iter::from_fn(|| machine.next_decision()).collect()
}
/// The jobs that it starts at this time.
pub(super) fn starts(machine: &mut Machine<u32>, now: Time) -> Vec<JobId> {
    let started = |decision| match decision {
        Decision::Start { id, .. } => Some(id),
        _ => None,
    };
    decisions(machine, now).into_iter().filter_map(started).collect()
}
pub(super) fn submit(machine: &mut Machine<u32>, now: Time, mut request: Request) -> JobId {
    machine.accept(&request, &[]).unwrap();
    machine.submit(now, &mut request, &[], 7)
}
/// Of an array.
pub(super) fn array(len: u32, at_once: u32) -> Option<ArrayRequest> {
    Some(ArrayRequest { len, at_once, max_failures: 0, each_of: None })
}
pub(super) fn named(name: &str, request: Request) -> Request {
    Request { name: Some(Arc::from(name)), ..request }
}
pub(super) fn done(machine: &mut Machine<u32>, now: Time, id: JobId) {
    machine.ended(now, id, Outcome::Done);
}
/// An end and what comes of it. True: a job has handed over to another one, which is noted as two
/// decisions.
pub(super) fn end_and_decide(machine: &mut Machine<u32>, now: Time, id: JobId, outcome: Outcome) -> bool {
    let Some(handover) = machine.end_and_decide(now, id, outcome, None) else { return false };
    let Handover { ended, next, payload } = handover;
    machine.out.push_back(Decision::Ended { id, state: State::Done, payload: ended });
    machine.out.push_back(Decision::Start { id: next, element: None, attempt: 1, payload });
    true
}
pub(super) fn state(machine: &Machine<u32>, id: JobId) -> State {
    machine.state(id).unwrap()
}
