//! What the examples share: times by turns, and runtimes in either mode.

use myriad_core::{Builder, Runtime};
use std::time::{Duration, Instant};

/// A runtime with as many workers as processors, and stacks with room for foreign code. `fibers`
/// among the arguments: in fiber mode.
pub(crate) fn runtime() -> Runtime {
    let fibers = std::env::args().any(|arg| arg == "fibers");
    // SAFETY: no task here blocks in a thread-local scope, an initialiser, or a destructor.
    let builder = if fibers { unsafe { Builder::fibers() }.stack_size(256 << 10) } else { Builder::new() };
    builder.build().expect("a runtime")
}

/// Runs both by turns, and returns the median of each, and the median of the ratios of neighbours.
pub(crate) fn by_turns(rounds: usize, mut ours: impl FnMut(), mut theirs: impl FnMut()) -> (Duration, Duration, f64) {
    let mut times = Vec::new();
    for round in 0..=rounds {
        let pair = (time(&mut ours), time(&mut theirs));
        // The first one warms up.
        if round > 0 {
            times.push(pair);
        }
    }
    let mut ratios: Vec<f64> = times.iter().map(|(ours, theirs)| ours.as_secs_f64() / theirs.as_secs_f64()).collect();
    let (mut ours, mut theirs): (Vec<_>, Vec<_>) = times.into_iter().unzip();
    ours.sort_unstable();
    theirs.sort_unstable();
    ratios.sort_by(f64::total_cmp);
    (ours[rounds / 2], theirs[rounds / 2], ratios[rounds / 2])
}

fn time(f: &mut impl FnMut()) -> Duration {
    // Threads of the library look for work for a while after a call, and would disturb the other
    // side's turn.
    std::thread::sleep(Duration::from_millis(250));
    let began = Instant::now();
    f();
    began.elapsed()
}

/// Numbers without a pattern, between -1 and 1.
pub(crate) fn noise(seed: u64, n: usize) -> impl Iterator<Item = f64> {
    (seed..).take(n).map(|i| {
        let mixed = (i ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    })
}

/// The largest difference, relative to the largest number.
pub(crate) fn difference(a: &[f64], b: &[f64]) -> f64 {
    let largest = b.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    a.iter().zip(b).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs())) / largest
}

/// An argument like `n=4096`.
pub(crate) fn argument(name: &str, default: usize) -> usize {
    let prefix = format!("{name}=");
    let given = std::env::args().find_map(|arg| arg.strip_prefix(&prefix).map(str::to_owned));
    given.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number, not '{text}'")))
}
