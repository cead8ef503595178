//! Random histories, against the model: the same calls, the same decisions, the same states.

use super::model::{Model, WaitsFor};
use super::{Dice, end_and_decide};
use crate::machine::{
    After, ArrayRequest, Change, Decision, Demand, JobId, Machine, Outcome, Refused, Request, Retry, Rules, State,
    Time, Waiting, When,
};

/// How many in a test run; `MYRIAD_JOB_HISTORIES` says another number.
const HISTORIES: u64 = 400;

fn how_many() -> u64 {
    std::env::var("MYRIAD_JOB_HISTORIES").ok().and_then(|n| n.parse().ok()).unwrap_or(HISTORIES)
}

/// One machine and one model.
struct Pair {
    machine: Machine<u32>,
    model: Model,
    dice: Dice,
    now: Time,
    /// Arrays, with their lengths.
    arrays: Vec<(JobId, u32)>,
    log: Vec<String>,
}

const RESOURCES: [(&str, u64); 3] = [("cpu", 8), ("memory", 10), ("gpu", 2)];

impl Pair {
    fn new(seed: u64) -> Pair {
        let mut dice = Dice(seed);
        let rules = Rules {
            at_once: if dice.one_in(3) { 1 + dice.below(6) } else { u64::MAX },
            ageing: if dice.one_in(2) { Some(1 + dice.below(20)) } else { None },
            grace: dice.below(5),
            // (Of what has ended a machine may forget all, which the model does not.)
            kept: if dice.one_in(2) { dice.below(4) as usize } else { 10_000 },
            unnamed: dice.one_in(2),
            ..Rules::default()
        };
        let groups: Vec<u64> =
            (0..if dice.one_in(2) { 0 } else { 1 + dice.below(3) }).map(|_| 1 + dice.below(4)).collect();
        let resources: Vec<_> = RESOURCES.iter().map(|(name, amount)| ((*name).into(), *amount)).collect();
        let capacity: Vec<_> = RESOURCES.iter().map(|resource| resource.1).collect();
        let named: Vec<_> = groups.iter().enumerate().map(|(at, limit)| (at.to_string().into(), *limit)).collect();
        Pair {
            machine: Machine::new(rules.clone(), &resources, &named),
            model: Model::new(rules, &capacity, &groups),
            dice,
            now: 0,
            arrays: Vec::new(),
            log: vec![format!("groups {groups:?}")],
        }
    }

    /// Half of them are alike: so several jobs, and arrays with what depends on these, are in one
    /// class.
    fn demand(&mut self) -> Demand {
        if self.dice.one_in(2) {
            return Demand::cpu(2);
        }
        let mut demand = Demand::default();
        for (at, (_, most)) in RESOURCES.iter().enumerate() {
            if !self.dice.one_in(3) {
                demand.set(at as u16, self.dice.below(most + 1));
            }
        }
        demand
    }
    /// (Also on elements that have not begun.)
    fn after(&mut self) -> Vec<After> {
        let known: Vec<usize> =
            self.model.all().filter(|job| self.machine.state(job.0).is_ok()).map(|job| job.0.0 as usize).collect();
        let dice = &mut self.dice;
        let when = [When::Done, When::Ended, When::Failed, When::Started];
        let mut after: Vec<After> = (0..if known.is_empty() || dice.one_in(2) { 0 } else { dice.below(4) })
            .map(|_| After {
                job: JobId(known[dice.below(known.len() as u64) as usize] as u64),
                when: when[dice.below(4) as usize],
            })
            .collect();
        after.dedup();
        after
    }
    fn change(&mut self, groups: u64) -> Change {
        let (demand, after) = (self.demand(), self.after());
        let (now, dice) = (self.now, &mut self.dice);
        let parts = (0..3).map(|resource| (resource, demand.of(resource))).collect();
        let after = dice.one_in(2).then(|| (after, dice.one_in(3)));
        Change {
            priority: dice.one_in(2).then(|| dice.below(4) as i32 - 1),
            demand: if dice.one_in(2) { parts } else { Vec::new() },
            group: dice.one_in(3).then(|| dice.below(groups + 1) as u32),
            wall: dice.one_in(3).then(|| dice.one_in(2).then(|| 1 + dice.below(12))),
            begin: dice.one_in(3).then(|| now + dice.below(6)),
            any: after.is_none() && dice.one_in(3),
            after,
            ..Change::default()
        }
    }
    fn request(&mut self, groups: u64) -> Request {
        let after = self.after();
        let dice = &mut self.dice;
        let array = dice.one_in(8).then(|| ArrayRequest {
            len: 1 + dice.below(5) as u32,
            at_once: 1 + dice.below(3) as u32,
            max_failures: dice.below(3) as u32,
            each_of: None,
        });
        let request = Request {
            priority: dice.below(4) as i32 - 1,
            group: dice.below(groups + 1) as u32,
            wall: dice.one_in(2).then(|| 1 + dice.below(12)),
            begin: if dice.one_in(6) { self.now + dice.below(10) } else { 0 },
            after,
            any: dice.one_in(3),
            held: dice.one_in(10),
            retry: if dice.one_in(4) {
                Retry { times: 1 + dice.below(3) as u32, first: dice.below(4), most: 6 }
            } else {
                Retry::default()
            },
            array,
            ..Request::default()
        };
        Request { demand: self.demand(), ..request }
    }

    /// One call of each kind, at random.
    fn step(&mut self, groups: u64) {
        self.now += [0, 0, 0, 1, 3][self.dice.below(5) as usize];
        let now = self.now;
        let all: Vec<(usize, State)> = self
            .model
            .all()
            .filter(|job| self.machine.state(job.0).is_ok())
            .map(|job| (job.0.0 as usize, job.1))
            .filter(|job| self.model.is_known(job.0))
            .collect();
        let on: Vec<usize> = all
            .iter()
            .filter(|job| matches!(job.1, State::Running | State::Overdue | State::Suspended))
            .map(|job| job.0)
            .collect();
        let pick = |dice: &mut Dice, of: &[usize]| of[dice.below(of.len() as u64) as usize];
        let any = |dice: &mut Dice| all[dice.below(all.len() as u64) as usize].0;
        let kind = self.dice.below(20);
        match kind {
            0..6 => {
                let mut request = self.request(groups);
                // Sometimes an array that follows another one of the same length.
                let arrays: Vec<_> = self
                    .arrays
                    .iter()
                    .copied()
                    .filter(|array| request.array.is_some_and(|own| own.len == array.1))
                    .collect();
                if !arrays.is_empty() && self.dice.one_in(2) {
                    let leader = arrays[self.dice.below(arrays.len() as u64) as usize].0;
                    request.array.as_mut().unwrap().each_of = Some(leader);
                    request.after.clear(); // (which of the two ended it would be chance)
                }
                self.log.push(format!("{now} submit {request:?}"));
                if self.machine.accept(&request, &[]).is_err() {
                    return; // more than there is by now
                }
                let id = self.machine.submit(now, &mut request.clone(), &[], 7);
                if let Some(array) = request.array {
                    self.arrays.push((id, array.len));
                }
                self.model.submit(now, request);
            }
            6..14 if !on.is_empty() => {
                let id = pick(&mut self.dice, &on);
                let outcome = [Outcome::Done, Outcome::Done, Outcome::Failed, Outcome::Lost, Outcome::Stopped]
                    [self.dice.below(5) as usize];
                self.log.push(format!("{now} end {id} {outcome:?}"));
                end_and_decide(&mut self.machine, now, JobId(id as u64), outcome);
                self.model.ended(now, id, outcome);
            }
            14 if !all.is_empty() => {
                let id = any(&mut self.dice);
                self.log.push(format!("{now} cancel {id}"));
                self.machine.cancel(now, JobId(id as u64)).unwrap();
                self.model.cancel(now, id);
            }
            15 if !all.is_empty() => {
                let id = any(&mut self.dice);
                self.log.push(format!("{now} hold {id}"));
                if self.machine.hold(JobId(id as u64)).is_ok() {
                    self.model.hold(id);
                }
            }
            16 if !all.is_empty() => {
                let id = any(&mut self.dice);
                self.log.push(format!("{now} release {id}"));
                self.machine.release(now, JobId(id as u64)).unwrap();
                self.model.release(now, id);
            }
            17 if !on.is_empty() => {
                let id = pick(&mut self.dice, &on);
                self.log.push(format!("{now} suspend or resume {id}"));
                if self.model.state(id) == State::Suspended {
                    self.machine.resume(JobId(id as u64));
                    self.model.resume(id);
                } else {
                    self.machine.suspend(JobId(id as u64));
                    self.model.suspend(id);
                }
            }
            18 if !all.is_empty() => {
                let id = any(&mut self.dice);
                let change = self.change(groups);
                self.log.push(format!("{now} change {id} {change:?}"));
                let circle = |after: &After| self.model.waits_for_job(after.job.0 as usize, id);
                let is_circle = change.after.iter().flat_map(|after| &after.0).any(circle);
                match self.machine.change(now, JobId(id as u64), change.clone(), &[]) {
                    Ok(()) => {
                        assert!(!is_circle, "job {id} waits for itself");
                        self.model.change(now, id, &change);
                    }
                    Err(refused) => assert!(is_circle || !matches!(refused, Refused::Circle(..)), "{refused}"),
                }
            }
            19 if self.dice.one_in(4) => {
                let resource = self.dice.below(3);
                let amount = self.dice.below(RESOURCES[resource as usize].1 + 1);
                self.log.push(format!("{now} capacity {resource} {amount}"));
                self.machine.set_capacity(resource as u16, amount);
                self.model.set_capacity(resource as usize, amount);
            }
            _ => self.log.push(format!("{now} time")),
        }
    }

    fn compare(&mut self) {
        self.machine.decide(self.now);
        self.model.decide(self.now);
        let mine: Vec<_> = std::iter::from_fn(|| self.machine.next_decision()).collect();
        let theirs = std::mem::take(&mut self.model.out);
        // Starts come in the same order; ends in any.
        let starts = |all: &[Decision<u32>]| -> Vec<String> {
            all.iter()
                .filter(|one| matches!(one, Decision::Start { .. } | Decision::Resume { .. }))
                .map(|one| format!("{one:?}"))
                .collect()
        };
        let rest = |all: &[Decision<u32>]| -> Vec<String> {
            let rest = all.iter().filter(|one| !matches!(one, Decision::Start { .. } | Decision::Resume { .. }));
            // (A job that two others keep from running is skipped because of either.)
            let plain = |one: &Decision<u32>| match one {
                Decision::Ended { id, state: State::Skipped(_), .. } => format!("{id} skipped"),
                Decision::Ended { id, state, .. } => format!("{id} {state}"),
                other => format!("{other:?}"),
            };
            let mut rest: Vec<_> = rest.map(plain).collect();
            rest.sort();
            rest
        };
        assert_eq!(starts(&mine), starts(&theirs), "starts");
        assert_eq!(rest(&mine), rest(&theirs), "the rest");
        for (id, state) in self.model.all() {
            if self.model.is_known(id.0 as usize) {
                match self.machine.state(id) {
                    Ok(here) => assert_eq!(here.word(), state.word(), "job {id}"),
                    Err(why) => assert!(state.is_final() && why == Refused::Forgotten(id), "job {id}: {why}"),
                }
            }
        }
        self.machine.check();
    }
}

impl Pair {
    /// So many steps of the history of this seed.
    fn walk(&mut self, seed: u64, steps: u64) {
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let groups = self.model.groups() - 1;
            for _ in 0..steps {
                self.step(groups);
                self.compare();
            }
        }));
        if let Err(payload) = run {
            eprintln!("MYRIAD_JOB_SEED={seed}:\n{}", self.log.join("\n"));
            std::panic::resume_unwind(payload);
        }
    }
}

#[test]
fn random_histories_go_as_the_model_says() {
    let only = std::env::var("MYRIAD_JOB_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = only.map_or(0..how_many(), |seed: u64| seed..seed + 1);
    for seed in seeds {
        Pair::new(seed).walk(seed, 60);
    }
}

/// 18: in whatever history, `why` says of each job that has not begun what the model says, and all
/// that wait for others name the same job; that one is the next to start once there is room.
#[test]
fn r18_why_says_what_comes_next() {
    let mut rooms = 0;
    let seeds = how_many() / 2;
    for seed in 0..seeds {
        let mut pair = Pair::new(1_000_000 + seed);
        pair.walk(1_000_000 + seed, 10 + seed % 50);
        let now = pair.now;
        let waiting: Vec<JobId> = pair
            .model
            .all()
            .filter(|job| job.1 == State::Pending && pair.model.is_known(job.0.0 as usize))
            .map(|job| job.0)
            .filter(|id| pair.machine.state(*id) == Ok(State::Pending))
            .collect();
        let Pair { machine, model, arrays, .. } = &mut pair;
        let first = machine.first_in_line();
        let mut infeasible = false;
        for id in waiting {
            let at = id.0 as usize;
            let Some(why) = machine.why(now, id).unwrap() else {
                // Of an array all elements have begun, or the rest never will.
                assert!(model.has_all_begun(at), "seed {seed}: job {id} waits for nothing");
                continue;
            };
            let says_so = match (&why, model.waits_for(at)) {
                (Waiting::Held, WaitsFor::Release) | (Waiting::Time { .. }, WaitsFor::Time) => true,
                (Waiting::Dependency { on, when }, WaitsFor::Jobs(open)) => {
                    open.contains(&After { job: *on, when: *when })
                }
                (Waiting::GroupFull { .. }, WaitsFor::Room) => model.is_full(at),
                // (Of arrays: as many as may run, or none of which the partner is done.)
                (Waiting::ArrayFull { .. } | Waiting::Dependency { .. }, WaitsFor::Room) => {
                    arrays.iter().any(|array| array.0 == id)
                }
                (Waiting::Infeasible { .. }, WaitsFor::Room) => {
                    infeasible = true;
                    true
                }
                (Waiting::Resuming { first: named }, WaitsFor::Room) => model.resumes(named.0 as usize),
                (Waiting::Resources { .. }, WaitsFor::Room) => Some(id) == first,
                (Waiting::Behind { first: named }, WaitsFor::Room) => Some(*named) == first && *named != id,
                (Waiting::QueueFull { first: named, .. }, WaitsFor::Room) => Some(*named) == first,
                _ => false,
            };
            assert!(says_so, "seed {seed}: job {id}: {why:?}, and the model: {:?}", model.waits_for(at));
        }
        // Room for all who wait, and not for more than before of those who never fit.
        if infeasible || first.is_none() {
            continue;
        }
        rooms += 1;
        machine.rules.at_once = u64::MAX;
        for (resource, (_, most)) in RESOURCES.iter().enumerate() {
            // (Also for suspended jobs that go on first, none of which wants more than there was.)
            let suspended = model.all().filter(|job| job.1 == State::Suspended).count() as u64;
            let (resource, more) = (resource as u16, suspended * most);
            machine.set_capacity(resource, machine.capacity(resource) + machine.used(resource) + more);
        }
        machine.decide(now);
        let decisions: Vec<_> = std::iter::from_fn(|| machine.next_decision()).collect();
        let begins = |decision: &Decision<u32>| match *decision {
            // (Of an array an element starts. One that is tried again stands in line itself.)
            Decision::Start { id, element: Some(at), attempt: 1, .. } => Some(JobId(id.0 - 1 - u64::from(at))),
            Decision::Start { id, .. } => Some(id),
            _ => None,
        };
        assert_eq!(decisions.iter().find_map(begins), first, "seed {seed}");
        let begun = decisions.iter().skip_while(|decision| begins(decision).is_none());
        let resumed = |decision: &Decision<u32>| matches!(decision, Decision::Resume { .. });
        assert!(!begun.into_iter().any(resumed), "seed {seed}: suspended jobs go on before others begin");
    }
    assert!(rooms > seeds / 10, "{rooms}");
}
