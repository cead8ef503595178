//! Suspended jobs that want to go on: what is kept for them, and who is to stop.

use super::{cpus, decisions, done, machine, starts, state, submit};
use crate::machine::spec::Stop;
use crate::machine::{CPU, Decision, JobId, Machine, Outcome, Request, Rules, State, WHOLE, Waiting};

/// Eight cpus, and a group of which one runs at a time.
fn with_net(rules: Rules) -> Machine<u32> {
    Machine::new(rules, &[("cpu".into(), 8 * WHOLE), ("memory".into(), 0)], &[("net".into(), 1)])
}
fn net(cpus_of_it: u64) -> Request {
    Request { group: 1, ..cpus(cpus_of_it) }
}

/// One that waits for a child meanwhile, and whose place another one has taken. Both.
fn one_without_its_place(m: &mut Machine<u32>, cpus_of_it: u64, wall: Option<u64>) -> (JobId, JobId) {
    let parent = submit(m, 0, Request { wall, ..net(cpus_of_it) });
    assert_eq!(starts(m, 0), [parent]);
    assert!(m.suspend(parent));
    let (child, other) = (submit(m, 0, cpus(1)), submit(m, 0, net(1)));
    assert_eq!(starts(m, 0).len(), 2);
    done(m, 1, child);
    assert!(m.resume(parent));
    (parent, other)
}

/// 7: a suspended job whose place in its group is taken stops nobody who leaves what it wants.
#[test]
fn r07_a_place_that_is_taken_stops_nobody_else() {
    let mut m = with_net(Rules::default());
    let (parent, other) = one_without_its_place(&mut m, 2, None);
    let plain = submit(&mut m, 1, cpus(1));
    assert_eq!(starts(&mut m, 1), [plain]);
    // Of 8 processors two run, and two are kept.
    let wide = submit(&mut m, 1, cpus(5));
    let grouped = submit(&mut m, 1, net(1));
    assert_eq!(starts(&mut m, 1), []);
    assert_eq!(m.why(1, wide).unwrap(), Some(Waiting::Resuming { first: parent }));
    assert_eq!(m.why(1, grouped).unwrap(), Some(Waiting::GroupFull { group: "net".into(), limit: 1 }));
    // Another suspended job goes on meanwhile.
    m.suspend(plain);
    assert_eq!(starts(&mut m, 2), [wide]);
    assert!(m.resume(plain));
    assert_eq!(decisions(&mut m, 2), [], "six run, and two are kept");
    done(&mut m, 3, wide);
    assert_eq!(decisions(&mut m, 3).pop(), Some(Decision::Resume { id: plain }));
    done(&mut m, 4, other);
    assert_eq!(decisions(&mut m, 4).pop(), Some(Decision::Resume { id: parent }), "before the other of its group");
    assert_eq!((m.used(CPU), state(&m, grouped)), (3 * WHOLE, State::Pending));
    m.check();
}

/// 7: what is kept is taken by nobody, however many there are; and of a group for no more than may
/// run at a time.
#[test]
fn r07_what_is_kept_is_not_taken() {
    let mut m = with_net(Rules { at_once: 5, ..Rules::default() });
    let parents: Vec<_> = (0..4).map(|_| submit(&mut m, 0, net(3))).collect();
    for parent in &parents {
        assert_eq!(starts(&mut m, 0), [*parent]);
        assert!(m.suspend(*parent));
    }
    let holds = submit(&mut m, 0, net(1));
    assert_eq!(starts(&mut m, 0), [holds]);
    parents.iter().for_each(|parent| assert!(m.resume(*parent)));
    let small: Vec<_> = (0..20).map(|_| submit(&mut m, 1, cpus(1))).collect();
    // One runs, and a place and three processors are kept.
    assert_eq!(starts(&mut m, 1), small[..3]);
    for at in 0..10 {
        done(&mut m, 1, small[at]);
        assert_eq!(starts(&mut m, 1), [small[at + 3]]);
    }
    done(&mut m, 2, holds);
    for parent in parents {
        let resumed = Decision::Resume { id: parent };
        assert!(decisions(&mut m, 2).contains(&resumed));
        m.check();
        done(&mut m, 2, parent);
    }
}

/// 7, 8, 9: who is to stop waits for no room, whether it is told before its wait is over or later.
#[test]
fn r08_a_suspended_job_unwinds_at_once() {
    let resumed = |id| Decision::Resume { id };
    for by_time in [false, true] {
        let (wall, why) = if by_time { (Some(5), Stop::WallTime) } else { (None, Stop::Cancelled) };
        let mut m = machine(1, 0, Rules { at_once: 1, grace: 5, ..Rules::default() });
        let parent = submit(&mut m, 0, Request { wall, ..cpus(1) });
        assert_eq!(starts(&mut m, 0), [parent]);
        m.suspend(parent);
        let child = submit(&mut m, 0, cpus(0));
        assert_eq!(starts(&mut m, 0), [child]);
        if !by_time {
            m.cancel(5, parent).unwrap();
        }
        assert_eq!(decisions(&mut m, 5), [Decision::Stop { id: parent, why }]);
        assert!(!m.resume(parent), "it has what it wants");
        let next = submit(&mut m, 5, cpus(0));
        assert_eq!(decisions(&mut m, 5), [resumed(parent)]);
        assert_eq!((m.used(CPU), m.running()), (WHOLE, 2));
        m.check();
        // The end of one of the two gives no place.
        assert!(!super::end_and_decide(&mut m, 6, child, Outcome::Done));
        assert_eq!(starts(&mut m, 6), []);
        m.ended(6, parent, Outcome::Stopped);
        assert_eq!(state(&m, parent), if by_time { State::TimedOut } else { State::Cancelled });
        assert_eq!(starts(&mut m, 6), [next]);
        m.check();

        let mut m = with_net(Rules { grace: 5, ..Rules::default() });
        let (parent, other) = one_without_its_place(&mut m, 8, wall);
        let plain = submit(&mut m, 1, cpus(1));
        assert_eq!(starts(&mut m, 1), []);
        if !by_time {
            m.cancel(5, parent).unwrap();
        }
        assert_eq!(decisions(&mut m, 5), [Decision::Stop { id: parent, why }, resumed(parent)]);
        m.ended(6, parent, Outcome::Stopped);
        assert_eq!(starts(&mut m, 6), [plain], "nothing is kept any more");
        done(&mut m, 7, other);
        done(&mut m, 7, plain);
        assert_eq!((m.used(CPU), m.running(), m.alive()), (0, 0, 0));
        m.check();
    }
}
