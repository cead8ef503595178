//! What the tests share: runtimes in both modes, one test at a time (a library has one setting in
//! the process), skips that are said.

#![allow(dead_code, reason = "each test binary uses its part")]

use myriad_core::{Builder, Runtime};
use myriad_foreign::LoadError;
use std::io::Write;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

/// A library, or why these tests are skipped. With `MYRIAD_FOREIGN=required` it must be there.
pub(crate) fn or_skip<T>(what: &str, found: Result<T, LoadError>) -> Option<T> {
    match found {
        Ok(library) => Some(library),
        Err(error) if std::env::var_os("MYRIAD_FOREIGN").is_some_and(|value| value == "required") => {
            panic!("{what}: {error}")
        }
        Err(error) => {
            // Not by `eprintln!`, which is shown only for tests that fail.
            _ = writeln!(std::io::stderr(), "SKIPPED: {what}: {error}");
            None
        }
    }
}

/// One test at a time in this process.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|e| e.into_inner())
}

/// Runs `body` in both modes, with 1, 2 and 4 workers. All tasks have to end.
pub(crate) fn in_both_modes(body: impl Fn(&Runtime)) {
    in_both_modes_with(|builder| builder, body);
}

/// The same with settings.
pub(crate) fn in_both_modes_with(tweak: impl Fn(Builder) -> Builder, body: impl Fn(&Runtime)) {
    for workers in [1, 2, 4] {
        // SAFETY: no test blocks in a thread-local scope, an initialiser, or a destructor.
        let fibers = unsafe { Builder::fibers() }.stack_size(256 << 10);
        for builder in [fibers, Builder::new()] {
            let Ok(rt) = tweak(builder.workers(workers)).build() else { continue };
            body(&rt);
            let report = rt.shutdown(Duration::from_secs(60));
            assert!(report.is_clean(), "{report}");
        }
    }
}

/// Numbers without a pattern, between -1 and 1.
pub(crate) fn noise(seed: u64, n: usize) -> Vec<f64> {
    (seed..)
        .take(n)
        .map(|i| {
            let mixed = (i ^ 0x9e37_79b9_7f4a_7c15).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        })
        .collect()
}

/// Equal but for rounding.
#[track_caller]
pub(crate) fn assert_close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let largest = b.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let difference = a.iter().zip(b).fold(0.0_f64, |most, (x, y)| most.max((x - y).abs()));
    assert!(largest > 0.0 && difference <= tolerance * largest, "{difference:e} of {largest:e}");
}
