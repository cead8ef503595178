//! Systems that lack something: each missing thing is forbidden by a variable, and a small suite is
//! run without it.

use crate::common::{MODES, assert_ok, crowd, each, in_both_modes, in_child, wait_until};
use myriad::channel::{bounded, rendezvous, unbounded};
use myriad::{join, scope, spawn, spawn_async};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn tree(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let children: Vec<_> = (0..4).map(|_| spawn(move || tree(depth - 1))).collect();
    1 + children.into_iter().map(|h| h.join().unwrap()).sum::<u64>()
}

/// A little of everything: spawning, stealing, sleeping and waking, channels with biased locks,
/// scopes, timers, stacks.
fn suite() {
    in_both_modes(|rt| {
        assert_eq!(rt.run(|| (fib(16), tree(5))), (987, 1365));
        for capacity in [0, 1, 100] {
            let sum = rt.run(|| {
                let (tx, rx) = bounded::<u64>(capacity);
                let relay = spawn_async({
                    let (out, next) = unbounded();
                    let rx = rx.clone();
                    async move {
                        while let Ok(n) = rx.recv_async().await {
                            out.send(n + 1).unwrap();
                        }
                        drop(out);
                        next.iter().sum::<u64>()
                    }
                });
                drop(rx);
                scope(|s| {
                    (0..4).for_each(|k| {
                        drop(s.spawn({
                            let tx = tx.clone();
                            move || (0..100).for_each(|i| tx.send(k * 100 + i).unwrap())
                        }))
                    })
                });
                drop(tx);
                relay.join().unwrap()
            });
            assert_eq!(sum, 79_800 + 400);
        }
        rt.run(|| {
            // Many stacks, then deep ones.
            let (tx, rx) = rendezvous::<u32>();
            let handles: Vec<_> = (0..300)
                .map(|_| {
                    let rx = rx.clone();
                    spawn(move || rx.recv().unwrap())
                })
                .collect();
            (0..300).for_each(|i| tx.send(i).unwrap());
            assert_eq!(handles.into_iter().map(|h| h.join().unwrap()).sum::<u32>(), 44_850);
            fn deep(n: u32) -> u32 {
                if n == 0 { 0 } else { spawn(move || deep(n - 1)).join().unwrap() + 1 }
            }
            assert_eq!(deep(2000), 2000);
            (0..10).for_each(|_| myriad::time::sleep(Duration::from_micros(100)));
        });
    });
    // Tasks are taken by force from one who computes, and sleepers are woken for one task, by tasks
    // and by threads.
    each(&[2, 4], |rt| {
        for _ in 0..50 {
            let (done, started) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
            rt.run(|| {
                let sets = done.clone();
                drop(spawn(move || sets.store(true, SeqCst)));
                while !done.load(SeqCst) {
                    std::hint::spin_loop();
                }
                started.store(1, SeqCst);
            });
            let h = rt.spawn(|| 1);
            wait_until(|| h.is_finished());
        }
    });
}

/// Here.
#[test]
fn with_all_that_there_is() {
    suite();
}

/// Before Linux 4.14, in some containers: fences are paid by their users.
#[test]
fn without_membarrier() {
    assert_ok(&in_child(&[("MYRIAD_NO_MEMBARRIER", "1")], suite));
}

/// Before Linux 6.13: guard pages are mappings of their own.
#[test]
fn without_guard_install() {
    assert_ok(&in_child(&[("MYRIAD_NO_GUARD_INSTALL", "1")], suite));
}

#[test]
fn without_either() {
    assert_ok(&in_child(&[("MYRIAD_NO_MEMBARRIER", "1"), ("MYRIAD_NO_GUARD_INSTALL", "1")], suite));
}

/// With guard pages that are mappings, some 30,000 stacks exhaust the process's mappings. Who then
/// blocks is told so, and all else goes on.
#[test]
#[cfg(target_os = "linux")]
fn mappings_run_out() {
    let output = in_child(&[("MYRIAD_NO_GUARD_INSTALL", "1")], || {
        let limit: usize = std::fs::read_to_string("/proc/sys/vm/max_map_count").unwrap().trim().parse().unwrap();
        if !crate::common::fibers_supported() || limit > 100_000 {
            return;
        }
        std::panic::set_hook(Box::new(|_| ()));
        let rt = MODES[0].builder().workers(1).stack_size(32 << 10).build().unwrap();
        let tasks = 40_000;
        let (got, told) = crowd(&rt, tasks);
        let told = told.last().expect("some find no stack");
        assert!(got > 20_000 && got < tasks, "{got}");
        assert!(told.contains("vm.max_map_count") && told.contains("MYRIAD_NO_GUARD_INSTALL is set"), "{told}");
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    });
    assert_ok(&output);
}
