//! Taking the time: once, or again and again in a warm process.

use std::time::{Duration, Instant};

use crate::memory::Memory;
use crate::record::{Failure, Measured, Outcome};

/// Repeats stop when they have taken this long together…
const BUDGET: Duration = Duration::from_millis(40);
/// …but there are at least this many…
const LEAST: usize = 3;
/// …and at most this many.
const MOST: usize = 51;
/// When the warm-up took this long, one repeat is enough.
const LONG: Duration = Duration::from_millis(50);

/// Runs `once` untimed as a warm-up, then several times, and reports the median of the times it
/// returns.
pub(crate) fn warm(ops: u64, mut once: impl FnMut() -> Result<Duration, Failure>) -> Outcome {
    let begin = Instant::now();
    once()?;
    let least = if begin.elapsed() > LONG { 1 } else { LEAST };
    let begin = Instant::now();
    let mut times = Vec::new();
    while times.len() < least || (least > 1 && begin.elapsed() < BUDGET && times.len() < MOST) {
        times.push(once()?);
    }
    Ok(Measured {
        ops,
        repeats: times.len() as u32,
        quartiles: quartiles(&mut times),
        time: median(times),
        bytes_per_task: None,
        most_alive: None,
        note: None,
    })
}

/// Runs `once` a single time in this fresh process, and reports by how much the memory grew at the
/// peak for each of `tasks` tasks that pile up in it.
pub(crate) fn fresh(ops: u64, tasks: u64, once: impl FnOnce() -> Result<Duration, Failure>) -> Outcome {
    let before = Memory::now();
    let time = once()?;
    let bytes_per_task = Memory::peak_growth(before, tasks);
    Ok(Measured { ops, repeats: 1, quartiles: None, time, bytes_per_task, most_alive: None, note: None })
}

/// The times that a quarter of four or more lie below and above.
fn quartiles(times: &mut [Duration]) -> Option<[Duration; 2]> {
    times.sort_unstable();
    let last = times.len().checked_sub(1).filter(|&last| last >= 3)?;
    Some([last.div_ceil(4), last - last.div_ceil(4)].map(|i| times[i]))
}

/// The middle one, or the mean of the middle two.
fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    let mid = times.len() / 2;
    if times.len() % 2 == 1 { times[mid] } else { (times[mid - 1] + times[mid]) / 2 }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let ms = |v: &[u64]| median(v.iter().map(|&m| Duration::from_millis(m)).collect()).as_millis();
        assert_eq!(ms(&[9, 1, 5]), 5);
        assert_eq!(ms(&[9, 1, 5, 7]), 6);
    }

    #[test]
    fn the_quartiles_leave_a_quarter_outside() {
        let ms = |v: &[u64]| {
            let mut times: Vec<_> = v.iter().map(|&m| Duration::from_millis(m)).collect();
            quartiles(&mut times).map(|q| q.map(|time| time.as_millis()))
        };
        assert_eq!(ms(&[9, 1, 5]), None);
        assert_eq!(ms(&[9, 1, 5, 7]), Some([5, 7]));
        assert_eq!(ms(&[9, 1, 5, 7, 3]), Some([3, 7]));
    }

    #[test]
    fn a_warm_run_leaves_the_warm_up_out_and_stops_at_a_failure() {
        let mut times = [100, 1, 2, 3].map(Duration::from_millis).into_iter().cycle();
        let measured = warm(1, || Ok(times.next().expect("endless"))).expect("it never fails");
        assert!(measured.repeats >= 3, "{measured:?}");
        assert!(warm(1, || Failure::check(1, 2).map(|()| Duration::ZERO)).is_err());
    }
}
