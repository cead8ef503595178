//! How long a worker in the middle of a task may take to come to its loop, when its runtime stops.
//!
//! Tasks that block, yield or end come there within microseconds *of their own time*. What passes
//! on the clock until then is another matter: on a machine where many want to run, or while the
//! process is stopped, no time of theirs passes. So the time is counted in waits of a millisecond
//! each, of which a process that stands still has none; and where `k` times as many threads want to
//! run as there are processors there are `k` times as many waits.
//!
//! **Rejected.** The processor time of the worker's thread: it may wait, in the engine, for a lock
//! whose holder does not run.

use crate::sched::pool::Pool;
use myriad_base::sys::clock;
use myriad_base::sys::thread::processors;
use std::time::Duration;

/// Waits of [`STEP`], on a machine with processors for all.
pub(crate) const STEPS: usize = 50;
const STEP: Duration = Duration::from_millis(1);
/// The most of them, about ten seconds: somebody waits for this.
const MOST_STEPS: usize = 200 * STEPS;

/// Waits until all workers of these pools have ended, or have had time enough.
pub(super) fn wait(pools: &[&'static Pool]) {
    let mut steps = 0;
    for pool in pools {
        while !pool.wait_ended(pool.workers.all().len(), Some(clock::system_now() + STEP)) {
            steps += 1;
            if steps >= STEPS && steps >= (STEPS * crowding()).min(MOST_STEPS) {
                return;
            }
        }
    }
}

/// How many times as many threads want to run as there are processors, at this moment. At least 1,
/// and 1 where it cannot be told.
fn crowding() -> usize {
    let running = std::fs::read_to_string("/proc/loadavg").ok().and_then(|text| runnable(&text));
    running.unwrap_or(1).div_ceil(processors().workers.max(1)).max(1)
}

/// Of a text such as `0.20 0.18 0.12 3/420 11206`: 3.
fn runnable(loadavg: &str) -> Option<usize> {
    loadavg.split_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    #[test]
    fn the_number_of_threads_that_want_to_run() {
        assert_eq!(runnable("0.20 0.18 0.12 3/420 11206\n"), Some(3));
        assert_eq!(runnable("").or(runnable("0.2 0.1")).or(runnable("0 0 0 x/1 1")), None);
        assert!(crowding() >= 1);
    }
}
