//! Prints: all met
//!
//! 16 tasks on two workers meet in a barrier of std's, which holds the worker of each, before
//! rayon was used in their runtime and after one use. Before the last line: the median time until
//! all have met, and the longest, of each mode.
//!
//! The argument says how often they meet (9 times else). A first series is not shown: in it the
//! spare workers begin. So both others find the runtime in the same state.

use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const TASKS: usize = 16;

fn main() {
    let meetings = std::env::args().nth(1).map_or(9, |n| n.parse().expect("how often they meet"));
    for fibers in [false, true] {
        // SAFETY: no code here waits inside a thread-local scope, the initialiser of a
        // thread-local, or in an unwinding destructor.
        let builder = if fibers { unsafe { myriad::Builder::fibers() } } else { myriad::Builder::new() };
        let rt = builder.workers(2).build().expect("a runtime");
        _ = rounds(&rt, meetings);
        let before = rounds(&rt, meetings);
        rt.run(|| rayon::scope(|s| s.spawn(|_| ())));
        let after = rounds(&rt, meetings);
        let mode = if fibers { "fibers" } else { "threads" };
        for (when, [median, longest]) in [("before", before), ("after", after)] {
            println!("{mode}, {when} rayon: {:.1} ms, at most {:.1} ms", ms(median), ms(longest));
        }
        let report = rt.shutdown(Duration::from_secs(30));
        assert!(report.is_clean(), "{report}");
    }
    println!("all met");
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// The median and the longest.
fn rounds(rt: &myriad::Runtime, meetings: usize) -> [Duration; 2] {
    let mut times: Vec<Duration> = (0..meetings)
        .map(|_| {
            let (began, barrier) = (Instant::now(), Arc::new(Barrier::new(TASKS)));
            let meet = || {
                let barrier = barrier.clone();
                rt.spawn(move || _ = barrier.wait())
            };
            let tasks: Vec<_> = (0..TASKS).map(|_| meet()).collect();
            tasks.into_iter().for_each(|task| task.join().expect("it has met the others"));
            began.elapsed()
        })
        .collect();
    times.sort();
    [times[meetings / 2], times[meetings - 1]]
}
