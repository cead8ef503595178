//! Runtimes for the tests: rayon runs on the runtime of the task that calls it.

use myriad::{Builder, Runtime};
use std::sync::mpsc;
use std::time::Duration;

/// Calls `f` with runtimes of both modes, of 1, 2 and 4 workers; with a message and an abort if one
/// hangs.
#[allow(dead_code)]
pub fn each(name: &str, f: impl Fn(&Runtime) + Copy) {
    for fibers in [false, true] {
        for workers in [1, 2, 4] {
            one(name, fibers, workers, f);
        }
    }
}

/// With one runtime.
#[allow(dead_code)]
pub fn one(name: &str, fibers: bool, workers: usize, f: impl FnOnce(&Runtime)) {
    one_of(name, fibers, workers, |builder| builder, f);
}

/// With one runtime, made by this builder.
#[allow(dead_code)]
pub fn one_of(name: &str, fibers: bool, workers: usize, set: fn(Builder) -> Builder, f: impl FnOnce(&Runtime)) {
    // SAFETY: no code here waits inside a thread-local scope, the initialiser of a thread-local, or
    // in an unwinding destructor.
    let builder = if fibers { unsafe { Builder::fibers() } } else { Builder::new() };
    let rt = set(builder.workers(workers)).build().unwrap();
    watched(&format!("{name}, {workers} workers, fibers: {fibers}"), || f(&rt));
    let report = rt.shutdown(Duration::from_secs(30));
    assert!(report.is_clean(), "{report}");
}

/// Aborts if it hangs.
pub fn watched(what: &str, f: impl FnOnce()) {
    let seconds = std::env::var("MYRIAD_TEST_PATIENCE").ok().and_then(|s| s.parse().ok()).unwrap_or(60);
    let (done, watch) = mpsc::channel::<()>();
    let what = what.to_owned();
    let watcher = std::thread::spawn(move || {
        if watch.recv_timeout(Duration::from_secs(seconds)) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{what}: hangs");
            std::process::abort();
        }
    });
    f();
    drop(done);
    watcher.join().unwrap();
}
