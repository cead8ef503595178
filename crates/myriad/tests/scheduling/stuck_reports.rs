//! Who is told of workers that are stuck, and what.

use crate::common::{MODES, Mode, case, compute_until, in_child, wait_until};
use myriad::{OnStuck, Stuck, join, time};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};
#[cfg(unix)]
use std::{
    io::{Read, Write},
    os::fd::AsRawFd,
};

/// A hook that keeps what it is told.
fn told(after: Duration) -> (Arc<Mutex<Vec<Stuck>>>, OnStuck) {
    let all = Arc::new(Mutex::new(Vec::new()));
    let hook = OnStuck::Hook {
        after,
        hook: Arc::new({
            let all = all.clone();
            move |stuck: &Stuck| all.lock().unwrap().push(stuck.clone())
        }),
    };
    (all, hook)
}

/// The stuck task is named, with its place, for how long, and whether it waits or computes; once.
#[test]
fn a_stuck_task_is_named() {
    for (mode, waits) in MODES.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
        // A task that is about to wait computes, until the machine lets it go on: then again, with
        // more time.
        let named = [30, 500, 5000].into_iter().any(|ms| is_named(mode, waits, Duration::from_millis(ms)));
        assert!(named, "{mode}: it waits, and is said to compute");
    }
}

/// False: it waits, and was said to compute.
fn is_named(mode: Mode, waits: bool, after: Duration) -> bool {
    const SPARES: usize = 3;
    let (all, hook) = told(after);
    let mut named = false;
    case(
        mode,
        1,
        |b| b.on_stuck(hook).spare_workers(SPARES),
        |rt| {
            let (end, ended) = std::sync::mpsc::channel::<()>();
            let stop = Arc::new(AtomicBool::new(false));
            let stopped = stop.clone();
            let mut line = 0;
            let task = rt.run(|| {
                line = line!() + 1;
                myriad::task::Builder::new().name("slow").spawn(move || {
                    if waits {
                        ended.recv().unwrap_err();
                    } else {
                        compute_until(|| stopped.load(Relaxed));
                    }
                })
            });
            // (On a busy machine other tasks may look stuck too.)
            let slow =
                || -> Vec<Stuck> { all.lock().unwrap().iter().filter(|s| s.name() == Some("slow")).cloned().collect() };
            wait_until(|| !slow().is_empty());
            let stuck = slow()[0].clone();
            // (Or a spare's, if the worker did not come to run.)
            let worker = stuck.worker();
            assert!(worker <= SPARES, "{stuck}");
            let place = stuck.spawned_at();
            assert_eq!((place.file(), place.line()), (file!(), line), "{stuck}");
            assert!(stuck.duration() >= after, "{stuck}");
            let text = stuck.to_string();
            assert!(
                text.contains("'slow' spawned at ") && text.contains(&format!("worker {worker} of 'myriad'")),
                "{text}"
            );
            named = !waits || !cfg!(target_os = "linux") || stuck.is_blocked() == Some(true);
            if named && cfg!(target_os = "linux") {
                assert_eq!(stuck.is_blocked(), Some(waits), "{stuck}");
            }
            // Others run meanwhile, and nothing is said again.
            for _ in 0..3 {
                rt.run(|| time::sleep(Duration::from_millis(5)));
            }
            assert_eq!(slow().len(), 1);
            stop.store(true, Relaxed);
            drop(end);
            task.join().unwrap();
        },
    );
    named
}

/// A record in the frame of `join` or of `run`, which may be gone when somebody asks.
#[test]
fn a_stuck_task_in_a_frame_is_named() {
    for mode in MODES {
        let (all, hook) = told(Duration::from_millis(10));
        case(
            mode,
            2,
            |b| b.on_stuck(hook),
            |rt| {
                let seen = || all.lock().unwrap().len();
                rt.run(|| {
                    let both = Barrier::new(2);
                    join(
                        || (both.wait(), compute_until(|| seen() >= 2)),
                        || (both.wait(), compute_until(|| seen() >= 2)),
                    );
                });
                assert!(all.lock().unwrap().iter().all(|s| s.spawned_at().file() == file!()));
            },
        );
    }
}

/// By default nothing is said of 0.2 s; the variable asks for it.
#[cfg(unix)]
#[test]
fn the_standard_error_on_request() {
    let quiet = in_child(&[], || {
        let rt = Mode::Threads.runtime(1);
        rt.run(|| {
            let until = Instant::now() + Duration::from_millis(200);
            compute_until(|| Instant::now() >= until);
        });
    });
    assert!(!String::from_utf8_lossy(&quiet.stderr).contains("has been stuck"));
    let loud = in_child(&[("MYRIAD_STUCK_MS", "30")], || {
        // It goes on until something is said.
        reading_stderr(|said| Mode::Threads.runtime(1).run(|| compute_until(|| !said().is_empty())));
    });
    let text = String::from_utf8_lossy(&loud.stderr);
    assert!(text.contains("myriad: worker 0 of 'myriad' has been stuck for "), "{text}");
    assert!(text.contains("stuck_reports.rs:"), "{text}");
}

/// Calls `f` while the standard error is a pipe; `f` is told how to look at what was said so far.
/// Writes all that to the standard error behind.
#[cfg(unix)]
fn reading_stderr(f: impl FnOnce(&(dyn Fn() -> String + Sync))) {
    let (mut reader, writer) = std::io::pipe().unwrap();
    // SAFETY: descriptors that are open; the standard error's is kept beside.
    let kept = unsafe {
        let kept = libc::dup(2);
        libc::dup2(writer.as_raw_fd(), 2);
        kept
    };
    let text = Arc::new(Mutex::new(Vec::new()));
    let reads = text.clone();
    let said = move || String::from_utf8_lossy(&text.lock().unwrap()).into_owned();
    // (Not joined: who has inherited the descriptor may keep the pipe open.)
    std::thread::spawn(move || {
        let mut part = [0; 1000];
        while let Ok(n @ 1..) = reader.read(&mut part) {
            reads.lock().unwrap().extend_from_slice(&part[..n]);
        }
    });
    f(&said);
    // SAFETY: descriptors that are open.
    unsafe { libc::dup2(kept, 2) };
    std::io::stderr().write_all(said().as_bytes()).unwrap();
}

/// In debug builds something is said once for each place, with what to do; where panics are not
/// reported, nothing.
#[cfg(all(unix, debug_assertions))]
#[test]
fn a_hint_once_for_each_place() {
    for mode in MODES {
        let output = in_child(&[], || {
            myriad_core::engine::testing::hint_after(30);
            reading_stderr(|said| {
                let quiet = mode.builder().workers(1).on_unhandled_panic(myriad::Unhandled::Ignore).build().unwrap();
                let stop = Arc::new(AtomicBool::new(false));
                let stopped = stop.clone();
                drop(quiet.spawn(move || compute_until(|| stopped.load(Relaxed))));
                let is_stuck = |rt: &myriad::Runtime| rt.metrics().workers_in(myriad::WorkerActivity::Stuck) == 1;
                let rts = [mode.runtime(1), mode.runtime(1), mode.runtime(1)];
                for (i, rt) in rts[..2].iter().enumerate() {
                    let stopped = stop.clone();
                    let name = format!("one {i}");
                    drop(myriad::task::Builder::new().name(name).on(rt.handle()).spawn(move || {
                        compute_until(|| stopped.load(Relaxed));
                    }));
                    wait_until(|| said().contains("'one ") && is_stuck(rt));
                }
                // What is to be said of the second one would be said before this.
                let stopped = stop.clone();
                drop(rts[2].spawn(move || compute_until(|| stopped.load(Relaxed))));
                wait_until(|| said().matches("hint: worker 0").count() >= 2 && is_stuck(&quiet));
                stop.store(true, Relaxed);
            });
        });
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}");
        assert_eq!(text.matches("has been stuck for").count(), 2, "{mode}: {text}");
        assert_eq!(text.matches("in task 'one 0' spawned at ").count(), 1, "{mode}: {text}");
        assert!(
            text.contains("it computes. ") && text.contains("`compute` is for long computations"),
            "{mode}: {text}"
        );
    }
}

/// A hook that panics harms nobody; one that takes its time holds nothing up that needs no help.
#[test]
fn a_hook_that_panics() {
    crate::common::quiet();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let hook = OnStuck::Hook {
        after: Duration::from_millis(20),
        hook: Arc::new(move |_| {
            count.fetch_add(1, Relaxed);
            crate::common::plan("in the hook");
        }),
    };
    case(
        Mode::Threads,
        1,
        |b| b.on_stuck(hook),
        |rt| {
            rt.run(|| {
                compute_until(|| calls.load(Relaxed) == 1);
                myriad::yield_now();
                compute_until(|| calls.load(Relaxed) == 2);
            })
        },
    );
}

// -------------------------------------------------------------------------------------------------------
// the end
