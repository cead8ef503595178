//! Small programs of two channels, and all that Go's semantics lets them say.
//!
//! An exploration of its own, which knows nothing of the models: goroutines take steps in any
//! order; an operation does one of its cases that are ready, or parks in the queues of all; who
//! comes later completes the first in a queue. A send on a closed channel panics in Go, and says
//! `Closed` here. Programs that may deadlock are left out.

use super::model::{Answer, Brought, Call, How};
use super::object::{Dice, Object};
use super::objects::{Arm, ChannelOp as Op, Channels, Ends, Form, Full, channel::Channel};
use super::place::Place;
use super::print::{GO, Told, tell};
use super::rounds::{Program, run};
use crate::common::Rng;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// What each task has said.
type Outcome = Vec<Vec<Answer>>;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    chans: [Chan; 2],
    said: Outcome,
    /// The cases in whose queues each task is, bit by bit.
    parked: Vec<u8>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Chan {
    capacity: usize,
    buffer: Vec<i32>,
    closed: bool,
    /// Task, case, and what is sent.
    senders: Vec<(usize, u8, i32)>,
    receivers: Vec<(usize, u8)>,
}

struct Exploration<'a> {
    program: &'a Program<Op>,
    seen: HashSet<State>,
    outcomes: HashSet<Outcome>,
    deadlock: bool,
}

/// Programs with so many outcomes are kept.
const OUTCOMES: std::ops::RangeInclusive<usize> = 4..=150;

/// All outcomes. `None`: a deadlock is among them, or they are too many.
pub(crate) fn outcomes(program: &Program<Op>, capacities: [usize; 2]) -> Option<HashSet<Outcome>> {
    let chan = |capacity| Chan { capacity, buffer: vec![], closed: false, senders: vec![], receivers: vec![] };
    let (said, parked) = (vec![vec![]; program.len()], vec![0; program.len()]);
    let mut all = Exploration { program, seen: HashSet::new(), outcomes: HashSet::new(), deadlock: false };
    all.explore(State { chans: capacities.map(chan), said, parked });
    (!all.deadlock && all.outcomes.len() <= *OUTCOMES.end()).then_some(all.outcomes)
}

impl Exploration<'_> {
    fn explore(&mut self, state: State) {
        if self.deadlock || self.outcomes.len() > *OUTCOMES.end() || !self.seen.insert(state.clone()) {
            return;
        }
        let open: Vec<usize> =
            (0..self.program.len()).filter(|&task| state.said[task].len() < self.program[task].len()).collect();
        if open.is_empty() {
            self.outcomes.insert(state.said);
            return;
        }
        let mut moved = false;
        for task in open {
            for next in state.step(task, &self.program[task][state.said[task].len()]) {
                moved = true;
                self.explore(next);
            }
        }
        self.deadlock |= !moved;
    }
}

/// Added to the numbers of the cases of a select.
const SELECT: u8 = 10;

/// The cases of an operation.
fn cases(op: Op) -> Vec<Arm> {
    match op {
        Op::Send(at, value) => vec![Arm::Send(at, value)],
        Op::Recv(at) => vec![Arm::Recv(at)],
        Op::Select(_, arms) => arms.to_vec(),
        _ => Vec::new(),
    }
}

impl State {
    /// Goes on with an operation. Go locks all channels of a select, and parks in all queues at
    /// once. Here a select enters one queue after the other, and may be completed in between; so
    /// there is a step for each. (Who finds nothing, by a default, has found it at one moment.)
    fn step(&self, task: usize, call: &Call<Op>) -> Vec<State> {
        let mut state = self.clone();
        if let Op::Close(at) = call.op {
            state.close(task, usize::from(at));
            return vec![state];
        }
        let select = matches!(call.op, Op::Select(..));
        let (mut next, mut ready) = (Vec::new(), false);
        for (number, &arm) in (0..).zip(&cases(call.op)) {
            let mut state = self.clone();
            if self.parked[task] & 1 << number != 0 {
                continue;
            }
            // (It does not meet itself.)
            state.leave_queues(task);
            if let Some(brought) = state.attempt(arm) {
                ready = true;
                state.say(task, number, brought, select);
                next.push(state);
            } else if call.how != How::Now {
                let mut state = self.clone();
                state.parked[task] |= 1 << number;
                // Whether it is a select is kept in the number of its case.
                let number = number + if select { SELECT } else { 0 };
                match arm {
                    Arm::Send(at, value) => state.chans[usize::from(at)].senders.push((task, number, value)),
                    Arm::Recv(at) => state.chans[usize::from(at)].receivers.push((task, number)),
                }
                next.push(state);
            }
        }
        if call.how == How::Now && !ready {
            state.said[task].push(Answer::Nothing);
            next.push(state);
        }
        next
    }

    fn leave_queues(&mut self, task: usize) {
        for chan in &mut self.chans {
            chan.senders.retain(|sender| sender.0 != task);
            chan.receivers.retain(|receiver| receiver.0 != task);
        }
        self.parked[task] = 0;
    }

    fn say(&mut self, task: usize, number: u8, brought: Brought, select: bool) {
        self.said[task].push(match brought {
            _ if select => Answer::Arm(number, brought),
            Brought::Sent => Answer::Done,
            Brought::Value(value) => Answer::Value(value),
            Brought::Closed => Answer::Closed,
        });
    }

    /// Completes the operation of a task that is parked.
    fn ready(&mut self, task: usize, number: u8, brought: Brought) {
        self.leave_queues(task);
        self.say(task, number % SELECT, brought, number >= SELECT);
    }

    fn attempt(&mut self, arm: Arm) -> Option<Brought> {
        match arm {
            Arm::Send(at, value) => {
                let chan = &mut self.chans[usize::from(at)];
                if chan.closed {
                    return Some(Brought::Closed);
                }
                if let Some(&(task, number)) = chan.receivers.first() {
                    self.ready(task, number, Brought::Value(value));
                    return Some(Brought::Sent);
                }
                (chan.buffer.len() < chan.capacity).then(|| chan.buffer.push(value))?;
                Some(Brought::Sent)
            }
            Arm::Recv(at) => {
                let at = usize::from(at);
                let first = self.chans[at].senders.first().copied();
                let sent = first.map(|(task, number, value)| {
                    self.ready(task, number, Brought::Sent);
                    value
                });
                let chan = &mut self.chans[at];
                if chan.buffer.is_empty() {
                    return sent.map(Brought::Value).or(chan.closed.then_some(Brought::Closed));
                }
                chan.buffer.extend(sent);
                Some(Brought::Value(chan.buffer.remove(0)))
            }
        }
    }

    fn close(&mut self, task: usize, at: usize) {
        let was_open = !std::mem::replace(&mut self.chans[at].closed, true);
        self.said[task].push(Answer::Flag(was_open));
        while let Some(&(task, number)) = self.chans[at].receivers.first() {
            self.ready(task, number, Brought::Closed);
        }
        while let Some(&(task, number, _)) = self.chans[at].senders.first() {
            self.ready(task, number, Brought::Closed);
        }
    }
}

/// Two channels, of which everybody has both ends.
struct Two([usize; 2]);

impl Object for Two {
    type Op = Op;
    type Model = Channels;
    type Hand = Ends;

    fn name(&self) -> String {
        format!("{GO} of {:?}", self.0)
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let at = dice.below(2) as u8;
        let how = if dice.below(3) == 0 { How::Now } else { How::Wait };
        let mut arm = |at| if dice.below(2) == 0 { Arm::Recv(at) } else { Arm::Send(at, dice.value()) };
        let (first, second) = (arm(0), arm(1));
        vec![match dice.below(10) {
            0 => Call::now(Op::Close(at)),
            1..=3 => Call::new(Op::Recv(at), how),
            4..=6 => Call::new(Op::Send(at, dice.value()), how),
            _ => Call::new(Op::Select(Form::Macro, [first, second]), how),
        }]
    }

    fn make(&self, actors: usize) -> (Channels, Vec<Ends>) {
        let (one, two) = (myriad::channel::bounded(self.0[0]), myriad::channel::bounded(self.0[1]));
        let ends = |_| Ends::new(vec![one.clone(), two.clone()]);
        (Channels::new(&self.0, Full::Wait, actors, actors), (0..=actors).map(ends).collect())
    }

    fn call(ends: &mut Ends, call: &Call<Op>) -> Answer {
        Channel::call(ends, call)
    }

    async fn call_async(ends: &mut Ends, call: &Call<Op>) -> Answer {
        let how = if call.how == How::Wait { How::Await } else { call.how };
        Channel::call_async(ends, &Call::new(call.op, how)).await
    }
}

/// A program that is kept.
fn program(seed: u64) -> Option<(Two, Program<Op>, HashSet<Outcome>)> {
    let mut rng = Rng(seed);
    let object = Two([rng.below(3) as usize, rng.below(3) as usize]);
    let tasks = 2 + rng.below(3) as usize;
    let mut task = |task| {
        let calls = 1 + rng.below(3);
        let mut dice = Dice::new(rng.fork(), false, task);
        (0..calls).flat_map(|_| object.calls(task, &mut dice)).collect::<Vec<_>>()
    };
    let program: Program<Op> = (0..tasks).map(&mut task).collect();
    let outcomes = outcomes(&program, object.0)?;
    OUTCOMES.contains(&outcomes.len()).then_some((object, program, outcomes))
}

/// Runs programs until the time is over; what no goroutines can say is an error.
pub(crate) fn check(seed: u64, chosen: Option<u64>, seconds: f64) -> Result<(), String> {
    let (mut rng, end) = (Rng(seed), Instant::now() + Duration::from_secs_f64(seconds));
    let (mut runs, mut programs, mut possible, mut seen) = (0, 0, 0, 0);
    while Instant::now() < end {
        let seed = chosen.unwrap_or_else(|| rng.next());
        let Some((object, program, outcomes)) = program(seed) else { continue };
        let (mut heard, mut place) = (HashSet::new(), Place::choose(&mut rng));
        for _ in 0..4 {
            let name = Object::name(&object);
            let told = |what| Told { what, object: &name, seed, place };
            let hangs = |history: &_| {
                let text = tell::<Two>(&told("hangs"), &program, history, &[]);
                _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
            };
            for history in run(&object, &program, &place, 32, false, &mut rng, hangs) {
                runs += 1;
                let said: Outcome = history[..program.len()]
                    .iter()
                    .map(|events| events.iter().map(|event| event.answer).collect())
                    .collect();
                if !outcomes.contains(&said) {
                    return Err(tell::<Two>(&told("says what Go never says"), &program, &history, &[]));
                }
                heard.insert(said);
            }
            place = Place::choose(&mut rng);
        }
        (programs, possible, seen) = (programs + 1, possible + outcomes.len(), seen + heard.len());
    }
    println!("Go: {runs} runs of {programs} programs, {seen} of their {possible} outcomes seen");
    Ok(())
}
