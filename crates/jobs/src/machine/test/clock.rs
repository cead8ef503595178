//! Jobs that wait for a time of day, with a clock that is set.

use super::{cpus, done, machine, starts, submit};
use crate::machine::{Change, Machine, Outcome, Request, Retry, Rules, Time, Waiting};
use std::cell::Cell;
use std::time::Duration;

const SECOND: Time = 1_000_000_000;

thread_local! {
    /// Seconds.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

fn at(seconds: u64) -> Option<u64> {
    Some(seconds * SECOND)
}
fn with_clock() -> Machine<u32> {
    machine(1, 0, Rules { clock: || CLOCK.get() * SECOND, ..Rules::default() })
}

/// 12: a job at a time of day begins then, also if the clock is set, or the machine has slept.
#[test]
fn r12_the_clock_is_looked_at_again() {
    let mut m = with_clock();
    let job = submit(&mut m, 0, Request { at: at(3600), ..cpus(1) });
    assert_eq!((starts(&mut m, 0), m.next_time()), (vec![], Some(20 * SECOND)));
    assert_eq!(m.why(0, job).unwrap(), Some(Waiting::Time { left: Duration::from_secs(3600) }));
    assert_eq!(m.one(job).unwrap().begin, Some(3600 * SECOND));
    // Nearly an hour went by in the sleep.
    CLOCK.set(3590);
    assert_eq!((starts(&mut m, 20 * SECOND), m.next_time()), (vec![], Some(30 * SECOND)));
    // The clock is put back just before that, ...
    CLOCK.set(3595);
    assert_eq!((starts(&mut m, 30 * SECOND), m.next_time()), (vec![], Some(35 * SECOND)));
    // ... and forward.
    CLOCK.set(9999);
    assert_eq!((starts(&mut m, 35 * SECOND), m.next_time()), (vec![job], None));
    done(&mut m, 35 * SECOND, job);
    // What is over is now.
    let past = submit(&mut m, 35 * SECOND, Request { at: at(9999), ..cpus(1) });
    assert_eq!(starts(&mut m, 35 * SECOND), [past]);
}

/// 10, 12: another start time replaces that one, and a pause between attempts is not by the clock.
#[test]
fn r12_a_time_of_day_is_changed() {
    let mut m = with_clock();
    CLOCK.set(100);
    let retry = Retry { times: 1, first: 50 * SECOND, most: 50 * SECOND };
    let job = submit(&mut m, 0, Request { at: at(103), retry, ..cpus(1) });
    let change = |begin, at| Change { begin: Some(begin), at, ..Change::default() };
    m.change(0, job, change(0, at(105)), &[]).unwrap();
    assert_eq!((starts(&mut m, 3 * SECOND), m.next_time()), (vec![], Some(5 * SECOND)));
    m.change(4 * SECOND, job, change(9 * SECOND, None), &[]).unwrap();
    assert_eq!((starts(&mut m, 5 * SECOND), m.next_time()), (vec![], Some(9 * SECOND)));
    assert_eq!(starts(&mut m, 9 * SECOND), [job], "whatever the clock says");
    m.ended(10 * SECOND, job, Outcome::Failed);
    assert_eq!((starts(&mut m, 59 * SECOND), m.next_time()), (vec![], Some(60 * SECOND)));
    assert_eq!(starts(&mut m, 60 * SECOND), [job]);
    done(&mut m, 60 * SECOND, job);
    assert_eq!((m.next_time(), m.alive()), (None, 0));
}
