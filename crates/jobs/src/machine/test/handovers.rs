//! An end and a decision in one call come to the same as the two calls.

use super::super::{After, MEMORY, When, change::Change};
use super::*;

/// What happens to two machines alike.
#[derive(Debug, Clone)]
enum Happens {
    Submit(Request),
    End(JobId, Outcome),
    Cancel(JobId),
    Hold(JobId),
    Release(JobId),
    Capacity(u64),
    Change(JobId),
}

/// Jobs mostly of one class, so that mostly one hands over to the next; with all that may come
/// between; or (`two`) of two classes that want different things.
fn happens(dice: &mut Dice, two: bool, now: Time, running: &[JobId]) -> Happens {
    let any = JobId(1 + dice.below(now + 2));
    let wants_memory = dice.one_in(if two { 3 } else { 8 });
    match dice.below(20) {
        0..8 if two => Happens::Submit(Request {
            priority: dice.below(2) as i32 + i32::from(wants_memory),
            demand: if wants_memory { memory(6) } else { cpus(1).demand },
            ..Request::default()
        }),
        0..8 => Happens::Submit(Request {
            priority: dice.below(3) as i32,
            wall: dice.one_in(20).then_some(4),
            held: dice.one_in(10),
            begin: if dice.one_in(20) { now + 5 } else { 0 },
            name: dice.one_in(20).then(|| "named".into()),
            after: after(dice, now),
            array: if dice.one_in(30) { array(2, 1) } else { None },
            // (Of those that want memory one runs at a time: the others are passed.)
            demand: if wants_memory { memory(6) } else { cpus(if dice.one_in(12) { 2 } else { 1 }).demand },
            ..Request::default()
        }),
        8..15 if !running.is_empty() => {
            let id = running[dice.below(running.len() as u64) as usize];
            Happens::End(id, if dice.one_in(6) { Outcome::Failed } else { Outcome::Done })
        }
        15 => Happens::Cancel(any),
        16 => Happens::Hold(any),
        17 => Happens::Release(any),
        18 if dice.one_in(4) => Happens::Capacity(dice.below(4) * WHOLE),
        _ => Happens::Change(any),
    }
}

fn memory(amount: u64) -> Demand {
    let mut demand = Demand::default();
    demand.set(MEMORY, amount);
    demand
}

/// Mostly none; else mostly one of the last jobs.
fn after(dice: &mut Dice, now: Time) -> Vec<After> {
    let all = [When::Done, When::Done, When::Ended, When::Failed, When::Started];
    let some = if dice.one_in(3) { 1 + dice.below(2) } else { 0 };
    let each = |_| After { job: JobId(1 + dice.below(now / 2 + 1)), when: all[dice.below(5) as usize] };
    (0..some).map(each).collect()
}

/// Jobs that wait for each other in a row: at each end nothing is ready but the next one.
#[test]
fn a_chain_is_handed_on() {
    let mut m = machine(2, 10, Rules::default());
    let first = submit(&mut m, 1, cpus(2));
    let mut last = first;
    for when in [When::Done, When::Ended, When::Done] {
        let after = vec![After { job: last, when }];
        last = submit(&mut m, 1, Request { after, ..cpus(2) });
    }
    decisions(&mut m, 1);
    for id in first.0..last.0 {
        assert!(end_and_decide(&mut m, 2, JobId(id), Outcome::Done), "{id}");
        let next = [m.next_decision(), m.next_decision(), m.next_decision()];
        assert!(
            matches!(next, [Some(Decision::Ended { .. }), Some(Decision::Start { attempt: 1, .. }), None]),
            "{next:?}"
        );
        assert_eq!(m.state(JobId(id + 1)), Ok(State::Running));
        m.check();
    }
    assert!(!end_and_decide(&mut m, 3, last, Outcome::Done));
    assert_eq!((m.alive(), m.running()), (0, 0));
}

#[test]
fn an_end_with_a_start_is_as_an_end_and_a_start() {
    let (mut handed_over, mut passed) = (0, 0);
    for seed in 0..1000 {
        let mut dice = Dice(seed);
        let (ageing, unnamed, at_once) = (dice.one_in(2).then_some(3), dice.one_in(8), 1 + dice.below(6));
        let rules = Rules { ageing, unnamed, at_once, ..Rules::default() };
        let (mut one, mut two) = (machine(3, 10, rules.clone()), machine(3, 10, rules));
        let mut running: Vec<JobId> = Vec::new();
        for now in 0..150 {
            let call = happens(&mut dice, seed % 2 == 1, now, &running);
            for m in [&mut one, &mut two] {
                match call.clone() {
                    Happens::Submit(request) if m.accept(&request, &[]).is_ok() => _ = submit(m, now, request),
                    Happens::Submit(_) | Happens::End(..) => {}
                    Happens::Cancel(id) => _ = m.cancel(now, id),
                    Happens::Hold(id) => _ = m.hold(id),
                    Happens::Release(id) => _ = m.release(now, id),
                    Happens::Capacity(amount) => m.set_capacity(0, amount),
                    Happens::Change(id) => {
                        _ = m.change(now, id, Change { priority: Some(1), ..Change::default() }, &[]);
                    }
                }
            }
            match call {
                Happens::End(id, outcome) => {
                    let has_passed = two.table.at(id.0).passed != 0;
                    one.ended(now, id, outcome);
                    let is_over = end_and_decide(&mut two, now, id, outcome);
                    handed_over += u32::from(is_over);
                    passed += u32::from(is_over && has_passed);
                }
                _ => two.decide(now),
            }
            let mine = decisions(&mut one, now);
            let theirs: Vec<_> = std::iter::from_fn(|| two.next_decision()).collect();
            assert_eq!(mine, theirs, "seed {seed}, at {now}: {call:?}");
            for decision in mine {
                match decision {
                    Decision::Start { id, .. } => running.push(id),
                    Decision::Ended { id, .. } => running.retain(|other| *other != id),
                    _ => {}
                }
            }
            one.check();
            two.check();
        }
        let counts = |m: &Machine<u32>| (m.alive(), m.running(), m.starts, m.ended_by_state());
        assert_eq!(counts(&one), counts(&two), "seed {seed}");
    }
    assert!(handed_over > 1000 && passed > 100, "{handed_over}, {passed} past another one");
}
