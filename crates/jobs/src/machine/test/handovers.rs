//! An end and a decision in one call come to the same as the two calls.

use super::super::change::Change;
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
/// between.
fn happens(dice: &mut Dice, now: Time, running: &[JobId]) -> Happens {
    let any = JobId(1 + dice.below(now + 2));
    match dice.below(20) {
        0..8 => Happens::Submit(Request {
            priority: dice.below(3) as i32,
            wall: dice.one_in(20).then_some(4),
            held: dice.one_in(10),
            begin: if dice.one_in(20) { now + 5 } else { 0 },
            name: dice.one_in(20).then(|| "named".into()),
            array: if dice.one_in(30) { array(2, 1) } else { None },
            ..cpus(if dice.one_in(12) { 2 } else { 1 })
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

#[test]
fn an_end_with_a_start_is_as_an_end_and_a_start() {
    let mut handed_over = 0;
    for seed in 0..500 {
        let mut dice = Dice(seed);
        let (ageing, unnamed, at_once) = (dice.one_in(2).then_some(3), dice.one_in(8), 1 + dice.below(6));
        let rules = Rules { ageing, unnamed, at_once, ..Rules::default() };
        let (mut one, mut two) = (machine(3, 10, rules.clone()), machine(3, 10, rules));
        let mut running: Vec<JobId> = Vec::new();
        for now in 0..150 {
            let call = happens(&mut dice, now, &running);
            for m in [&mut one, &mut two] {
                match call.clone() {
                    Happens::Submit(request) if m.accept(&request, &[]).is_ok() => _ = submit(m, now, request),
                    Happens::Submit(_) | Happens::End(..) => {}
                    Happens::Cancel(id) => _ = m.cancel(now, id),
                    Happens::Hold(id) => _ = m.hold(id),
                    Happens::Release(id) => _ = m.release(now, id),
                    Happens::Capacity(amount) => m.set_capacity(0, amount),
                    Happens::Change(id) => _ = m.change(now, id, Change { priority: Some(1), ..Change::default() }),
                }
            }
            match call {
                Happens::End(id, outcome) => {
                    one.ended(now, id, outcome);
                    handed_over += u32::from(end_and_decide(&mut two, now, id, outcome));
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
    assert!(handed_over > 1000, "{handed_over}");
}
