//! When help for stuck workers ends: with the need, with the runtime, or where there is to be none.

use crate::common::{MODES, Mode, case, compute_until, each, full_length, in_child, wait_until, watch};
use myriad::{State, scope, spawn, time};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

/// When nobody is stuck any more, no more tasks run at a time than there are workers.
#[test]
fn relief_ends() {
    each(&[1, 2], |rt| {
        let barrier = Barrier::new(rt.workers() + 4);
        rt.run(|| scope(|s| (0..rt.workers() + 4).for_each(|_| drop(s.spawn(|| barrier.wait())))));
        let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        wait_until(|| {
            most.store(0, SeqCst);
            rt.run(|| {
                scope(|s| {
                    for _ in 0..100 {
                        s.spawn(|| {
                            most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                            let until = Instant::now() + Duration::from_micros(300);
                            compute_until(|| Instant::now() >= until);
                            now.fetch_sub(1, SeqCst);
                        });
                    }
                });
            });
            most.load(SeqCst) <= rt.workers()
        });
    });
}

/// Without spare workers what waits behind a stuck worker waits until it comes back.
#[test]
fn no_spare_workers() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.spare_workers(0),
            |rt| {
                let ran = AtomicBool::new(false);
                rt.run(|| {
                    scope(|s| {
                        s.spawn(|| ran.store(true, Relaxed));
                        let until = Instant::now() + Duration::from_millis(50);
                        compute_until(|| Instant::now() >= until);
                        assert!(!ran.load(Relaxed));
                    });
                });
                assert!(ran.load(Relaxed));
            },
        );
    }
    let error = Mode::Threads.builder().spare_workers(100_000).build().unwrap_err();
    assert!(error.to_string().contains("the most is 1024"), "{error}");
}

/// The runtime is shut down while its worker is stuck, and spare ones have gone on with its work.
#[test]
fn a_shutdown_while_stuck() {
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let lock = Arc::new(Mutex::new(()));
        let rt = mode.runtime(1);
        let guard = lock.lock().unwrap();
        let (other, begun) = (lock.clone(), Arc::new(AtomicBool::new(false)));
        let has_begun = begun.clone();
        let stuck = rt.spawn(move || {
            has_begun.store(true, Relaxed);
            drop(other.lock().unwrap());
        });
        wait_until(|| begun.load(Relaxed));
        let relieved = rt.spawn(|| time::sleep(Duration::from_millis(1)));
        relieved.join().unwrap();
        let report = rt.shutdown(Duration::from_millis(100));
        assert_eq!(report.unfinished().len(), 1, "{report}");
        assert_eq!(report.unfinished()[0].state(), State::Running, "{report}");
        assert_eq!(report.unfinished()[0].spawned_at().file(), file!(), "{report}");
        assert!(report.dropped().is_empty(), "{report}");
        drop(guard);
        stuck.join().unwrap();
    }
}

/// Help goes on while a shutdown waits.
#[test]
fn a_shutdown_waits_for_help() {
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let rt = mode.runtime(1);
        let done = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..3)
            .map(|_| {
                let done = done.clone();
                rt.spawn(move || {
                    done.fetch_add(1, Relaxed);
                    compute_until(|| done.load(Relaxed) == 3);
                })
            })
            .collect();
        drop(handles);
        let report = rt.shutdown(crate::common::PATIENCE);
        assert!(report.is_clean(), "{report}");
        assert_eq!(done.load(Relaxed), 3);
    }
}

/// How often each thread whose name begins so has given up its processor, by its number.
#[cfg(target_os = "linux")]
fn switches(of: &str) -> std::collections::BTreeMap<String, usize> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap());
    let named =
        tasks.filter(|task| std::fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.starts_with(of)));
    named
        .map(|task| {
            let status = std::fs::read_to_string(task.path().join("status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            (task.file_name().into_string().unwrap(), line.map_or(0, |n| n.trim().parse().unwrap()))
        })
        .collect()
}

/// With nothing to do no thread of a runtime wakes up, the monitor included.
#[test]
#[cfg(target_os = "linux")]
fn an_idle_runtime_does_not_tick() {
    let out = in_child(&[], || {
        let rt = Mode::Threads.runtime(2);
        rt.run(|| scope(|s| (0..10).for_each(|i| drop(s.spawn(move || time::sleep(Duration::from_millis(i)))))));
        // What stops the whole process and lets it go on makes a switch for each thread: also for
        // one that does nothing at all.
        std::thread::Builder::new()
            .name("idle".into())
            .spawn(|| {
                loop {
                    std::thread::park()
                }
            })
            .unwrap();
        wait_until(|| switches("idle").len() == 1);
        // It takes a moment until all sleep: then half a second without a switch.
        wait_until(|| {
            let (before, stops) = (switches("myriad"), switches("idle"));
            std::thread::sleep(Duration::from_millis(500));
            let (after, stopped) = (switches("myriad"), switches("idle"));
            assert!(before.len() > 1 && stopped.len() == 1);
            let stops = stopped.values().sum::<usize>() - stops.values().sum::<usize>();
            after.keys().eq(before.keys()) && after.iter().all(|(task, n)| n - before[task] <= stops)
        });
    });
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// A thousand runtimes, some of which needed help: no thread is left.
#[test]
#[cfg(target_os = "linux")]
fn many_runtimes() {
    let out = in_child(&[], || {
        for i in 0..if full_length() { 1000 } else { 300 } {
            let mode = MODES[i % 2];
            let rt = mode.runtime(1 + i % 3);
            if i % 100 < 2 {
                let barrier = Barrier::new(5);
                rt.run(|| scope(|s| (0..5).for_each(|_| drop(s.spawn(|| barrier.wait())))));
            } else {
                assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
            }
            let report = rt.shutdown(crate::common::PATIENCE);
            assert!(report.is_clean(), "{report}");
            let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
            // The first thread, the test's, the watchdog.
            wait_until(|| threads() <= 3);
        }
    });
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}
