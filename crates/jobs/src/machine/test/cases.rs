//! What the machine promises, in virtual time. The numbers are those of the rules in
//! `docs/JOBS.md`, "What is promised".

use super::{Dice, array, cpus, decisions, done, machine, named, starts, state, submit};
use crate::machine::{
    After, CPU, Change, Decision, Demand, JobId, Machine, Outcome, Report, Request, Retry, Rules, State, Time, WHOLE,
    Waiting, When, spec::Stop,
};

const SECOND: Time = 1_000_000_000;

fn after(job: JobId, when: When) -> Vec<After> {
    vec![After { job, when }]
}

/// 1: a job of all processors behind a stream of small ones starts when the running ones have
/// ended; without wall times nothing passes.
#[test]
fn r01_a_wide_job_does_not_starve() {
    let mut m = machine(4, 0, Rules::default());
    let small: Vec<_> = (0..4).map(|_| submit(&mut m, 0, cpus(1))).collect();
    assert_eq!(starts(&mut m, 0), small);
    let wide = submit(&mut m, 0, cpus(4));
    let stream: Vec<_> = (0..100).map(|_| submit(&mut m, 0, cpus(1))).collect();
    for (at, id) in small.iter().enumerate() {
        assert_eq!(starts(&mut m, at as Time), [], "nothing passes");
        done(&mut m, at as Time, *id);
    }
    assert_eq!(starts(&mut m, 5), [wide]);
    done(&mut m, 6, wide);
    assert_eq!(starts(&mut m, 6), stream[..4]);
}

/// 1: with wall times only jobs that end before the reserved one could start may pass it.
#[test]
fn r01_backfill_by_wall_times() {
    let mut m = machine(4, 0, Rules::default());
    let until = |wall| Request { wall: Some(wall), ..cpus(1) };
    let runs = submit(&mut m, 0, Request { wall: Some(100), ..cpus(3) });
    assert_eq!(starts(&mut m, 0), [runs]);
    let wide = submit(&mut m, 0, cpus(4));
    let long = submit(&mut m, 0, until(101));
    let short = submit(&mut m, 0, until(40));
    let also_short = submit(&mut m, 0, until(60));
    assert_eq!(starts(&mut m, 0), [short], "it ends in time, and there is one processor");
    done(&mut m, 40, short);
    assert_eq!(starts(&mut m, 40), [also_short], "it ends at 100, as the running one");
    done(&mut m, 90, also_short);
    done(&mut m, 90, runs);
    assert_eq!(starts(&mut m, 90), [wide]);
    done(&mut m, 91, wide);
    assert_eq!(starts(&mut m, 91), [long]);
}

/// 9: the wall time of a job that has started, and waits for a thread, begins when it has one.
#[test]
fn r09_wall_time_begins_with_the_thread() {
    let mut m = machine(4, 0, Rules { grace: 5, ..Rules::default() });
    let job = submit(&mut m, 0, Request { wall: Some(10), ..cpus(1) });
    assert_eq!(starts(&mut m, 0), [job]);
    m.begins_later(job);
    assert_eq!((m.next_time(), decisions(&mut m, 100)), (None, vec![]));
    m.really_begins(100, job);
    assert_eq!(m.next_time(), Some(110));
    let stop = Decision::Stop { id: job, why: Stop::WallTime };
    assert_eq!(decisions(&mut m, 110), [stop]);
    m.ended(111, job, Outcome::Stopped);
    assert_eq!(m.state(job), Ok(State::TimedOut));
    // One that is cancelled before that has no time any more, and its end is as any other's.
    let job = submit(&mut m, 120, Request { wall: Some(10), ..cpus(1) });
    assert_eq!(starts(&mut m, 120), [job]);
    m.begins_later(job);
    m.cancel(121, job).unwrap();
    m.really_begins(122, job);
    assert_eq!(m.next_time(), None);
    m.ended(123, job, Outcome::Stopped);
    assert_eq!(m.state(job), Ok(State::Cancelled));
    m.check();
}

/// 1: what the reserved job does not need is free for others, also without wall times.
#[test]
fn r01_what_is_not_reserved_is_used() {
    let mut m: Machine<u32> =
        Machine::new(Rules::default(), &[("cpu".into(), 4 * WHOLE), ("memory".into(), 0), ("gpu".into(), WHOLE)], &[]);
    let gpu = || {
        let mut demand = Demand::cpu(WHOLE);
        demand.set(2, WHOLE);
        Request { demand, ..Request::default() }
    };
    let holds = submit(&mut m, 0, gpu());
    let reserved = submit(&mut m, 0, gpu());
    let others: Vec<_> = (0..10).map(|_| submit(&mut m, 0, cpus(1))).collect();
    // Three processors are left, and one of four is kept for the reserved job.
    assert_eq!(starts(&mut m, 0), [holds, others[0], others[1], others[2]]);
    done(&mut m, 1, others[0]);
    assert_eq!(starts(&mut m, 1), [others[3]]);
    done(&mut m, 2, holds);
    assert_eq!(starts(&mut m, 2), [reserved]);
}

/// 2: with ageing a job of the lowest priority starts after a bounded time; without, it waits.
#[test]
fn r02_ageing() {
    for (ageing, starts_at) in [(Some(10), Some(100)), (None, None)] {
        let mut m = machine(1, 0, Rules { ageing, ..Rules::default() });
        let mut runs = submit(&mut m, 0, Request { priority: 10, ..cpus(1) });
        assert_eq!(starts(&mut m, 0), [runs]);
        let low = submit(&mut m, 0, cpus(1));
        let mut began = None;
        for now in 1..500 {
            submit(&mut m, now, Request { priority: 10, ..cpus(1) });
            done(&mut m, now, runs);
            let next = starts(&mut m, now);
            if next == [low] {
                began = Some(now);
                break;
            }
            runs = next[0];
        }
        // (Places count up from 1, so the time at which it is first may be one later.)
        assert_eq!(began.map(|at| at / 10 * 10), starts_at, "{ageing:?}");
    }
}

/// 2: first in, first out within a priority; a released job goes to the end of its line.
#[test]
fn r02_hold_and_release() {
    let mut m = machine(1, 0, Rules::default());
    let runs = submit(&mut m, 0, cpus(1));
    let jobs: Vec<_> = (0..4).map(|_| submit(&mut m, 0, cpus(1))).collect();
    assert_eq!(starts(&mut m, 0), [runs]);
    m.hold(jobs[1]).unwrap();
    m.release(0, jobs[1]).unwrap();
    let mut last = runs;
    for next in [jobs[0], jobs[2], jobs[3], jobs[1]] {
        done(&mut m, 1, last);
        assert_eq!(starts(&mut m, 1), [next]);
        last = next;
    }
}

/// 5: failures go through the graph at once, each told once.
#[test]
fn r05_skipped_because_of_another() {
    let mut m = machine(2, 0, Rules { unnamed: true, ..Rules::default() });
    let first = submit(&mut m, 0, cpus(1));
    let on = |m: &mut Machine<u32>, job, when| submit(m, 0, Request { after: after(job, when), ..cpus(1) });
    let well = on(&mut m, first, When::Done);
    let anyhow = on(&mut m, first, When::Ended);
    let badly = on(&mut m, first, When::Failed);
    let chained = on(&mut m, well, When::Done);
    assert_eq!(starts(&mut m, 0), [first]);
    m.ended(1, first, Outcome::Failed);
    let told = decisions(&mut m, 1);
    let ended = |id| told.iter().filter(|one| matches!(one, Decision::Ended { id: other, .. } if *other == id)).count();
    assert_eq!([first, well, chained, anyhow, badly].map(ended), [1, 1, 1, 0, 0]);
    assert_eq!(state(&m, well), State::Skipped(first));
    assert_eq!(state(&m, chained), State::Skipped(well));
    assert_eq!([state(&m, anyhow), state(&m, badly)], [State::Running; 2]);
}

/// 6: ten jobs of 0.1 fit into 1.0; after 100,000 random jobs nothing is held.
#[test]
fn r06_amounts_are_exact() {
    let mut m = machine(1, 0, Rules::default());
    let tenth = || Request { demand: Demand::cpu(WHOLE / 10), ..Request::default() };
    let jobs: Vec<_> = (0..11).map(|_| submit(&mut m, 0, tenth())).collect();
    assert_eq!(starts(&mut m, 0), jobs[..10]);

    let (mut m, mut dice) = (machine(7, 1000, Rules::default()), Dice(6));
    let mut running = Vec::new();
    let mut submitted = 0;
    while submitted < 100_000 || m.alive() > 0 {
        if submitted < 100_000 && dice.below(3) > 0 {
            let mut demand = Demand::cpu(dice.below(7 * WHOLE));
            demand.set(1, dice.below(1000));
            submit(&mut m, submitted, Request { demand, priority: dice.below(3) as i32, ..Request::default() });
            submitted += 1;
        }
        running.extend(starts(&mut m, submitted));
        if !running.is_empty() {
            let id = running.swap_remove(dice.below(running.len() as u64) as usize);
            let outcome = [Outcome::Done, Outcome::Failed, Outcome::Stopped][dice.below(3) as usize];
            m.ended(submitted, id, outcome);
        }
        while m.next_decision().is_some() {}
    }
    assert_eq!((m.used(0), m.used(1), m.running()), (0, 0, 0));
}

/// 10: a retry keeps its place, and its pause grows.
#[test]
fn r10_pauses_and_places() {
    let mut m = machine(1, 0, Rules::default());
    let retry = Retry { times: 3, first: 10, most: 25 };
    let first = submit(&mut m, 0, Request { retry, ..cpus(1) });
    let second = submit(&mut m, 0, cpus(1));
    let third = submit(&mut m, 0, cpus(1));
    assert_eq!(starts(&mut m, 0), [first]);
    m.ended(0, first, Outcome::Failed);
    assert_eq!(starts(&mut m, 0), [second], "the pause holds nothing");
    assert_eq!(m.next_time(), Some(10));
    done(&mut m, 10, second);
    assert_eq!(starts(&mut m, 10), [first], "before the third");
    assert_eq!([1, 2, 3, 4, 70].map(|number| retry.pause(number)), [10, 20, 25, 25, 25]);
    m.ended(11, first, Outcome::Done);
    assert_eq!(starts(&mut m, 11), [third]);
}

/// 12: a time that goes back starts nothing twice.
#[test]
fn r12_time_never_goes_back() {
    let mut m = machine(2, 0, Rules::default());
    let late = submit(&mut m, 100, Request { begin: 200, ..cpus(1) });
    assert_eq!(starts(&mut m, 199), []);
    assert_eq!(starts(&mut m, 200), [late]);
    assert_eq!(starts(&mut m, 10), []);
    let past = submit(&mut m, 10, Request { begin: 150, ..cpus(1) });
    assert_eq!(starts(&mut m, 10), [past], "its time was there before");
}

/// 13: an array of 1,000,000 takes no records until its elements begin, and no more than it may
/// run at a time.
#[test]
fn r13_a_huge_array() {
    let mut m = machine(1000, 0, Rules::default());
    let id = submit(&mut m, 0, Request { array: array(1_000_000, 7), ..cpus(1) });
    let mut running = starts(&mut m, 0);
    assert_eq!(running.len(), 7);
    assert_eq!(m.rows().count(), 8, "the array, and what runs of it");
    for round in 0..10_000 {
        let one = running.remove(0);
        done(&mut m, round, one);
        running.extend(starts(&mut m, round));
        assert_eq!(running.len(), 7);
    }
    assert_eq!(m.rows().count(), 8);
    m.cancel(0, id).unwrap();
    let stops = decisions(&mut m, 0).iter().filter(|one| matches!(one, Decision::Stop { .. })).count();
    assert_eq!(stops, 7);
}

/// 13: a job that waits for the begin of an array, and asks for the same as its elements, is not
/// lost when the last of them begins.
#[test]
fn r13_a_dependent_that_asks_for_the_same_as_the_array() {
    let mut m = machine(1, 0, Rules::default());
    let list = submit(&mut m, 0, Request { array: array(1, 1), ..cpus(1) });
    let waits = submit(&mut m, 0, Request { after: after(list, When::Started), priority: 5, ..cpus(1) });
    let element = JobId(list.0 + 1);
    assert_eq!(starts(&mut m, 0), [element]);
    done(&mut m, 1, element);
    assert_eq!(starts(&mut m, 1), [waits]);
}

/// 13: an element on which a job depends has a record before it begins; it begins as the array asks
/// by then.
#[test]
fn r13_an_array_is_changed_while_jobs_depend_on_an_element() {
    let mut m = machine(4, 0, Rules::default());
    let list = submit(&mut m, 0, Request { array: array(2, 2), held: true, ..cpus(2) });
    let (first, second) = (JobId(list.0 + 1), JobId(list.0 + 2));
    let waits = submit(&mut m, 0, Request { after: after(second, When::Done), ..cpus(4) });
    m.change(0, list, Change { demand: vec![(CPU, WHOLE)], ..Change::default() }, &[]).unwrap();
    m.release(0, list).unwrap();
    assert_eq!(starts(&mut m, 0), [first, second]);
    assert_eq!(m.used(CPU), 2 * WHOLE);
    done(&mut m, 1, second);
    done(&mut m, 1, first);
    assert_eq!(m.used(CPU), 0);
    assert_eq!(starts(&mut m, 1), [waits]);
}

/// 13: an array that lets no more elements begin, because one that is to be tried again was
/// cancelled, keeps nobody behind it waiting.
#[test]
fn r13_an_array_that_closes_leaves_the_line() {
    let mut m = machine(4, 0, Rules { at_once: 3, ..Rules::default() });
    let retry = Retry { times: 1, first: 0, most: 0 };
    let mut request = Request { array: array(3, 3), retry, ..cpus(2) };
    request.array.as_mut().unwrap().max_failures = 1;
    let list = submit(&mut m, 0, request);
    let [first, second] = [1, 2].map(|at| JobId(list.0 + at));
    assert_eq!(starts(&mut m, 0), [first, second]);
    let holds = submit(&mut m, 0, Request { priority: 1, ..cpus(2) });
    // It needs nothing but the last place, which is kept for the array.
    let behind = submit(&mut m, 0, Request { priority: -1, demand: Demand::default(), ..Request::default() });
    m.ended(1, first, Outcome::Failed);
    assert_eq!(starts(&mut m, 1), [holds]);
    assert_eq!(state(&m, first), State::Pending);
    m.cancel(1, first).unwrap();
    assert_eq!(starts(&mut m, 1), [behind]);
}

/// 8, 13: a cancelled array has ended when its elements have; if all of them end well, it is done.
#[test]
fn r08_a_cancelled_array_ends_with_its_elements() {
    for (outcome, end) in [(Outcome::Stopped, State::Cancelled), (Outcome::Done, State::Done)] {
        let mut m = machine(2, 0, Rules { unnamed: true, ..Rules::default() });
        let list = submit(&mut m, 0, Request { array: array(2, 2), ..cpus(1) });
        let elements = [JobId(list.0 + 1), JobId(list.0 + 2)];
        assert_eq!(starts(&mut m, 0), elements);
        m.cancel(0, list).unwrap();
        m.cancel(0, list).unwrap();
        let stops = decisions(&mut m, 0);
        assert!(matches!(stops[..], [Decision::Stop { .. }, Decision::Stop { .. }]), "{stops:?}");
        m.ended(1, elements[0], outcome);
        decisions(&mut m, 1);
        assert_eq!((state(&m, list).is_final(), m.alive()), (false, 1));
        m.ended(2, elements[1], outcome);
        decisions(&mut m, 2);
        assert_eq!((state(&m, list), m.alive()), (end, 0));
    }
    // Of one that is closed no more elements begin, also if one of them pauses before another
    // attempt.
    let mut m = machine(1, 0, Rules::default());
    let retry = Retry { times: 1, first: 10, most: 10 };
    let list = submit(&mut m, 0, Request { array: array(2, 1), retry, ..cpus(1) });
    let pauses = starts(&mut m, 0)[0];
    m.ended(0, pauses, Outcome::Failed);
    decisions(&mut m, 0);
    m.cancel(1, list).unwrap();
    assert_eq!((starts(&mut m, 20), state(&m, list), m.next_time()), (vec![], State::Cancelled, None));
}

/// 5, 17: a job that two others skip at a time is forgotten after the first, if nothing is kept.
#[test]
fn r05_skipped_twice_and_forgotten() {
    let mut m = machine(1, 0, Rules { kept: 0, ..Rules::default() });
    let first = submit(&mut m, 0, cpus(1));
    let on = |m: &mut Machine<u32>, after| submit(m, 0, Request { after, ..cpus(1) });
    let [one, other] = [0; 2].map(|_| on(&mut m, after(first, When::Done)));
    let both = on(&mut m, [one, other].map(|job| After { job, when: When::Done }).to_vec());
    assert_eq!(starts(&mut m, 0), [first]);
    m.ended(1, first, Outcome::Failed);
    let ends: Vec<_> = decisions(&mut m, 1);
    assert_eq!(ends.len(), 4, "{ends:?}");
    assert_eq!((m.alive(), m.rows().count()), (0, 0), "job {both} and the others");
}

/// 7: a suspended job that wants more than there is by now goes on when all of that is free.
#[test]
fn r07_a_suspended_job_goes_on_after_the_capacity_shrank() {
    let mut m = machine(4, 0, Rules::default());
    let wide = submit(&mut m, 0, cpus(4));
    let inner = submit(&mut m, 0, cpus(2));
    let last = submit(&mut m, 0, cpus(2));
    assert_eq!(starts(&mut m, 0), [wide]);
    m.suspend(wide);
    assert_eq!(starts(&mut m, 0), [inner, last]);
    m.set_capacity(CPU, 2 * WHOLE);
    done(&mut m, 1, inner);
    assert!(m.resume(wide));
    assert_eq!(decisions(&mut m, 1).len(), 1, "the other one runs still");
    done(&mut m, 2, last);
    let next = submit(&mut m, 2, cpus(1));
    assert!(decisions(&mut m, 2).contains(&Decision::Resume { id: wide }));
    done(&mut m, 3, wide);
    assert_eq!(starts(&mut m, 3), [next]);
}

/// 12: the timer of a job that was cancelled is none: a queue without jobs waits for no time.
#[test]
fn r12_no_time_is_left_of_a_cancelled_job() {
    let mut m = machine(1, 0, Rules::default());
    let late = submit(&mut m, 0, Request { begin: 3600 * SECOND, ..cpus(1) });
    decisions(&mut m, 0);
    assert_eq!(m.next_time(), Some(3600 * SECOND));
    m.cancel(0, late).unwrap();
    decisions(&mut m, 0);
    assert_eq!(m.next_time(), None);
}

/// 10: what is said of an attempt is not said of the next one.
#[test]
fn r10_a_report_is_of_one_attempt() {
    let mut m = machine(1, 0, Rules::default());
    let id = submit(&mut m, 0, named("again", Request { retry: Retry { times: 1, first: 0, most: 0 }, ..cpus(1) }));
    starts(&mut m, 0);
    m.report(id, Some(Box::new(Report { text: Some("no".into()), ..Report::default() })));
    m.ended(0, id, Outcome::Failed);
    assert_eq!(m.one(id).unwrap().report.text.as_deref(), Some("no"));
    assert_eq!(starts(&mut m, 1), [id]);
    m.report(id, None);
    done(&mut m, 1, id);
    let row = m.one(id).unwrap();
    assert_eq!((row.state, row.report.text), (State::Done, None));
}

/// 14: groups of 4 and 4 under 6 in all: each has three while both have jobs; one alone has four.
#[test]
fn r14_groups_share_what_there_is() {
    let groups = [("a".into(), 4), ("b".into(), 4)];
    let rules = Rules { at_once: 6, ..Rules::default() };
    let mut m: Machine<u32> = Machine::new(rules, &[("cpu".into(), 100 * WHOLE), ("memory".into(), 0)], &groups);
    let mut dice = Dice(14);
    let of = |group| Request { group, ..cpus(1) };
    let mut group_of = std::collections::HashMap::new();
    for _ in 0..200 {
        group_of.insert(submit(&mut m, 0, of(1)), 1);
    }
    let mut running = starts(&mut m, 0);
    assert_eq!(running.len(), 4, "its limit");
    for _ in 0..200 {
        group_of.insert(submit(&mut m, 0, of(2)), 2);
    }
    running.extend(starts(&mut m, 0));
    assert_eq!(running.len(), 6);
    for round in 0..100 {
        let id = running.swap_remove(dice.below(6) as usize);
        done(&mut m, 0, id);
        running.extend(starts(&mut m, 0));
        let first = running.iter().filter(|id| group_of[id] == 1).count();
        assert_eq!(running.len(), 6);
        assert!(round < 10 || first == 3, "{first} of the first group");
    }
}

/// 18: a job that has begun, and is to be tried again, is no longer what those wait for who waited
/// for its begin.
#[test]
fn r18_a_dependency_that_is_met_stays_so() {
    let mut m = machine(1, 0, Rules::default());
    let retry = Retry { times: 1, first: 10, most: 10 };
    let again = submit(&mut m, 0, Request { retry, ..cpus(1) });
    let held = submit(&mut m, 0, Request { held: true, ..cpus(1) });
    let both = [After { job: again, when: When::Started }, After { job: held, when: When::Done }];
    let waits = submit(&mut m, 0, Request { after: both.to_vec(), ..cpus(1) });
    let on = |job, when| Some(Waiting::Dependency { on: job, when });
    assert_eq!(m.why(0, waits).unwrap(), on(again, When::Started));
    assert_eq!(starts(&mut m, 0), [again]);
    m.ended(0, again, Outcome::Failed);
    assert_eq!(state(&m, again), State::Pending);
    assert_eq!(m.why(0, waits).unwrap(), on(held, When::Done));
}

/// 18: the job that `why` names as the first is the one that starts, unless there is no room for
/// it: then only those start that may pass it.
#[test]
fn r18_the_job_that_why_names_first_starts() {
    for seed in 0..400 {
        let mut dice = Dice(seed);
        let ageing = if dice.one_in(2) { Some(1 + dice.below(9)) } else { None };
        let mut m = machine(4, 8, Rules { ageing, ..Rules::default() });
        let mut running = Vec::new();
        for now in 0..60 {
            for _ in 0..dice.below(4) {
                let mut demand = Demand::cpu(dice.below(5) * WHOLE);
                demand.set(1, dice.below(9));
                let wall = dice.one_in(2).then(|| 1 + dice.below(9));
                submit(&mut m, now, Request { demand, wall, priority: dice.below(4) as i32, ..Request::default() });
            }
            running.extend(starts(&mut m, now));
            let waiting: Vec<JobId> = m.rows().filter(|row| row.state == State::Pending).map(|row| row.id).collect();
            let Some(first) = m.first_in_line() else { continue };
            for id in &waiting {
                match m.why(now, *id).unwrap().unwrap() {
                    Waiting::Resources { .. } => assert_eq!(*id, first, "seed {seed}"),
                    Waiting::Behind { first: named } => assert!(named == first && *id != first, "seed {seed}"),
                    other => panic!("seed {seed}: {other}"),
                }
            }
            if !running.is_empty() {
                let id = running.swap_remove(dice.below(running.len() as u64) as usize);
                done(&mut m, now, id);
                let next = starts(&mut m, now);
                assert!(next.is_empty() || next[0] == first || state(&m, first) == State::Pending, "seed {seed}");
                if state(&m, first) == State::Pending {
                    let why = m.why(now, first).unwrap().unwrap();
                    assert!(matches!(why, Waiting::Resources { .. }), "seed {seed}: {why}");
                }
                running.extend(next);
            }
        }
    }
}

/// 20: the end of a job looks at as many classes with 100,000 waiting that do not fit as with none.
#[test]
fn r20_the_end_of_a_job_does_not_look_at_all_that_wait() {
    for distinct in [false, true] {
        let mut m: Machine<u32> = Machine::new(
            Rules::default(),
            &[("cpu".into(), 2 * WHOLE), ("memory".into(), 1_000_000), ("gpu".into(), WHOLE)],
            &[],
        );
        let wants_gpu = |memory| {
            let mut demand = Demand::default();
            demand.set(2, WHOLE);
            demand.set(1, memory);
            Request { demand, priority: 5, ..Request::default() }
        };
        let holds = submit(&mut m, 0, wants_gpu(0));
        assert_eq!(starts(&mut m, 0), [holds]);
        for at in 0..100_000 {
            submit(&mut m, 0, wants_gpu(if distinct { at } else { 0 }));
        }
        submit(&mut m, 0, cpus(1));
        let mut runs = starts(&mut m, 0);
        m.looks = 0;
        for now in 0..1000 {
            submit(&mut m, now, cpus(1));
            done(&mut m, now, runs[0]);
            runs = starts(&mut m, now);
            assert_eq!(runs.len(), 1);
        }
        assert!(m.looks <= 8_000, "{} looks for 1000 ends", m.looks);
    }
}

/// 17: what has ended is forgotten by number and by age; records and classes with it.
#[test]
fn r17_the_history_is_bounded() {
    let rules = Rules { kept: 5, kept_for: 100 * SECOND, ..Rules::default() };
    let mut m = machine(1, 1 << 20, rules);
    for at in 0..2000_u64 {
        let mut demand = Demand::cpu(WHOLE);
        demand.set(1, at);
        let request = Request { demand, ..Request::default() };
        let id = submit(&mut m, at, if at % 2 == 0 { named("kept", request) } else { request });
        assert_eq!(starts(&mut m, at), [id]);
        m.ended(at, id, if at % 4 == 0 { Outcome::Failed } else { Outcome::Done });
        decisions(&mut m, at);
    }
    assert_eq!(m.rows().count(), 10, "five that failed, five that are done and have a name");
    assert!(m.classes_in_use() <= 80, "{}", m.classes_in_use());
    decisions(&mut m, 200 * SECOND);
    let id = submit(&mut m, 200 * SECOND, named("new", cpus(1)));
    assert_eq!(starts(&mut m, 200 * SECOND), [id]);
    done(&mut m, 200 * SECOND, id);
    assert_eq!(m.rows().count(), 1, "the others are too old");
}

/// 17: of many jobs without a name nothing is left: submitted while they run, all before the
/// first begins, each behind the one before, skipped all at once, and with start times.
#[test]
fn r17_many_jobs_leave_nothing() {
    const N: u64 = 50_000;
    let mut m = machine(1, 0, Rules { kept: 10, ..Rules::default() });
    let run_all = |m: &mut Machine<u32>, mut now: Time| {
        while m.alive() > 0 {
            now = m.next_time().map_or(now, |time| time.max(now));
            starts(m, now).into_iter().for_each(|id| done(m, now, id));
        }
        while m.next_decision().is_some() {}
    };
    let few = 4096;
    for _ in 0..N {
        submit(&mut m, 0, cpus(1));
        run_all(&mut m, 0);
    }
    assert!(m.room() < few, "one after the other: {}", m.room());
    (0..N).for_each(|at| _ = submit(&mut m, 0, Request { priority: (at % 100) as i32, ..cpus(1) }));
    assert!(m.room() as u64 > 2 * N);
    run_all(&mut m, 0);
    assert!(m.room() < few + 100 * 512, "all at once, in 100 lines: {}", m.room());
    let mut last = submit(&mut m, 0, cpus(1));
    (1..N).for_each(|_| last = submit(&mut m, 0, Request { after: after(last, When::Done), ..cpus(1) }));
    run_all(&mut m, 0);
    assert!(m.room() < few + 100 * 512, "a chain: {}", m.room());
    let first = submit(&mut m, 0, Request { held: true, ..cpus(1) });
    (1..N).for_each(|_| _ = submit(&mut m, 0, Request { after: after(first, When::Done), ..cpus(1) }));
    m.cancel(0, first).unwrap();
    run_all(&mut m, 0);
    assert!(m.room() < few + 100 * 512, "skipped: {}", m.room());
    (0..N).for_each(|at| _ = submit(&mut m, 0, Request { begin: 1 + at, ..cpus(1) }));
    run_all(&mut m, 0);
    assert_eq!((m.alive(), m.used(CPU)), (0, 0));
    submit(&mut m, N, Request { begin: 2 * N, ..cpus(1) });
    assert!(m.room() < few + 100 * 512, "start times: {}", m.room());
}
