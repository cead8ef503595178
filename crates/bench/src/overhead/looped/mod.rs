//! The form `loop`: one parallel loop of `n` iterations that do nothing, and the form `nested`: a
//! loop of loops.
//!
//! An iteration is `black_box(i)`: the compiler has to have each `i` in a register, one after the
//! other, and can neither leave iterations out nor do several at once. That all have run is checked
//! apart, untimed, by a loop that counts them.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
pub(super) mod chili;
#[cfg(feature = "ours")]
pub(super) mod myriad;
#[cfg(feature = "peers")]
pub(super) mod rayon;
pub(super) mod serial;

/// A system's parallel loop.
pub(super) trait Loop {
    /// Calls `body` for each number below `n`.
    fn each(&mut self, n: u64, body: impl Fn(u64) + Sync);
    /// The same, where it may be inside another one.
    fn nested(&mut self, n: u64, body: impl Fn(u64, u64) + Sync);
}

/// Measures the form that `p` asks for.
fn measure(p: &Params, mut by: impl Loop) -> Outcome {
    let nested = p.form == super::NESTED;
    let side = p.n.isqrt();
    let ops = if nested { side * side } else { p.n };
    sample::warm(ops, || {
        let sum = AtomicU64::new(0);
        let time = if nested {
            by.nested(side, |i, k| _ = sum.fetch_add(i * side + k, Relaxed));
            timed(|| by.nested(side, |i, k| _ = black_box(i ^ k)))
        } else {
            by.each(ops, |i| _ = sum.fetch_add(i, Relaxed));
            timed(|| by.each(ops, |i| _ = black_box(i)))
        };
        Failure::check(sum.into_inner(), ops * (ops - 1) / 2)?;
        Ok(time)
    })
}

fn timed(f: impl FnOnce()) -> Duration {
    let begin = Instant::now();
    f();
    begin.elapsed()
}
