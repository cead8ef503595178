//! Taking the time: once, or again and again in a warm process.

use std::time::{Duration, Instant};

use crate::memory::Memory;
use crate::processor;
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
pub(crate) fn warm(ops: u64, once: impl FnMut() -> Result<Duration, Failure>) -> Outcome {
    warm_by(ops, processor::time, once)
}

/// The same where `processor_time` says what has been used so far: by another process.
pub(crate) fn warm_by(
    ops: u64,
    processor_time: impl Fn() -> Option<Duration>,
    mut once: impl FnMut() -> Result<Duration, Failure>,
) -> Outcome {
    let begin = Instant::now();
    once()?;
    let least = if begin.elapsed() > LONG { 1 } else { LEAST };
    let (begin, before) = (Instant::now(), processor_time());
    let mut times: Vec<Duration> = Vec::new();
    while times.len() < least || (least > 1 && begin.elapsed() < BUDGET && times.len() < MOST) {
        times.push(once()?);
    }
    let used = processor_time().zip(before).map(|(now, before)| now.saturating_sub(before));
    times.sort_unstable();
    let measured = Measured {
        range: (times[0], times[times.len() - 1]),
        repeats: times.len() as u32,
        ..Measured::once(ops, median(&times))
    };
    Ok(measured.with_processors(used, times.iter().sum()))
}

/// Runs `once` a single time in this fresh process, and reports by how much the memory grew at the
/// peak for each of `tasks` tasks that pile up in it.
pub(crate) fn fresh(ops: u64, tasks: u64, once: impl FnOnce() -> Result<Duration, Failure>) -> Outcome {
    let (before, processors) = (Memory::now(), processor::time());
    let time = once()?;
    let used = processor::since(processors);
    let bytes_per_task = Memory::peak_growth(before, tasks);
    Ok(Measured { bytes_per_task, ..Measured::once(ops, time) }.with_processors(used, time))
}

/// The middle one of sorted times, or the mean of the middle two.
fn median(times: &[Duration]) -> Duration {
    let mid = times.len() / 2;
    if times.len() % 2 == 1 { times[mid] } else { (times[mid - 1] + times[mid]) / 2 }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let ms = |v: &[u64]| median(&v.iter().map(|&m| Duration::from_millis(m)).collect::<Vec<_>>()).as_millis();
        assert_eq!(ms(&[1, 5, 9]), 5);
        assert_eq!(ms(&[1, 5, 7, 9]), 6);
    }

    #[test]
    fn a_warm_run_leaves_the_warm_up_out_and_stops_at_a_failure() {
        let mut times = [100, 1, 2, 3].map(Duration::from_millis).into_iter().cycle();
        let measured = warm(1, || Ok(times.next().expect("endless"))).expect("it never fails");
        assert!(measured.repeats >= 3, "{measured:?}");
        assert_eq!(measured.range, (Duration::from_millis(1), Duration::from_millis(100)));
        assert_eq!(measured.processors.is_some(), cfg!(unix));
        assert!(warm(1, || Failure::check(1, 2).map(|()| Duration::ZERO)).is_err());
    }
}
