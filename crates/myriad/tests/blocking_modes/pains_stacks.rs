//! Stacks: recursion without a limit, overflow with a message, a hundred thousand waiting tasks.

use crate::common::{MODES, Mode, assert_aborted, case, in_child, stderr, watch_for};
use myriad::channel::{bounded, rendezvous};
use myriad::{join, scope, spawn};
use std::hint::black_box;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// An unoptimised build needs ten times the stack, and so ten times the memory, for the same depth.
const SLOW: bool = cfg!(debug_assertions);

// -------------------------------------------------------------------------------------------------------
// depth

/// Linear recursion through `join`: elsewhere it dies at some 10,000 levels, by a signal.
#[test]
fn recursion_through_join() {
    fn go(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (a, b) = join(|| go(depth - 1), || 1);
        a + b
    }
    fn go_right(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (a, b) = join(|| 1, || go_right(depth - 1));
        a + b
    }
    let depth = if SLOW { 100_000 } else { 300_000 };
    for mode in MODES {
        for workers in [1, 2] {
            case(mode, workers, |b| b, |rt| assert_eq!(rt.run(|| go(depth)), depth));
            case(mode, workers, |b| b, |rt| assert_eq!(rt.run(|| go_right(depth / 2)), depth / 2));
        }
    }
}

fn spawn_and_join(depth: usize) -> usize {
    if depth == 0 {
        return 0;
    }
    spawn(move || spawn_and_join(depth - 1)).join().unwrap() + 1
}

/// Each task spawns the next one and waits for it. Where a thread is a stack, as many threads are
/// needed as stacks: 2 MiB hold some thousand levels.
#[test]
fn recursion_through_spawn() {
    for mode in MODES {
        let depth = match mode {
            Mode::Fibers if SLOW => 100_000,
            Mode::Fibers => 1_000_000,
            Mode::Threads if SLOW => 100_000,
            Mode::Threads => 1_000_000,
        };
        for workers in [1, 2] {
            case(mode, workers, |b| b, |rt| assert_eq!(rt.run(|| spawn_and_join(depth)), depth));
        }
    }
}

/// A million, whatever the build: takes gigabytes in an unoptimised one.
#[test]
#[ignore = "takes 4 GB of memory in an unoptimised build"]
fn a_million_levels() {
    for mode in MODES {
        let _watch = watch_for(&mode.to_string(), Duration::from_secs(120));
        let rt = mode.runtime(2);
        assert_eq!(rt.run(|| spawn_and_join(1_000_000)), 1_000_000);
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}

#[test]
fn recursion_through_scopes_and_futures() {
    fn go(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let n = AtomicUsize::new(0);
        scope(|s| drop(s.spawn(|| n.store(go(depth - 1) + 1, Relaxed))));
        n.into_inner()
    }
    fn poll(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        myriad::block_on(myriad::spawn_async(async move { poll(depth - 1) })).unwrap() + 1
    }
    for mode in MODES {
        case(
            mode,
            2,
            |b| b,
            |rt| {
                let depth = if mode == Mode::Fibers { 10_000 } else { 3000 };
                assert_eq!(rt.run(|| go(depth)), depth);
                assert_eq!(rt.run(|| poll(depth / 10)), depth / 10);
            },
        );
    }
}

/// What was used by a deep recursion is used again by the next one.
#[test]
fn depth_again_and_again() {
    for mode in MODES {
        case(
            mode,
            2,
            |b| b,
            |rt| {
                for i in 0..20 {
                    let depth = 500 + i * 300;
                    assert_eq!(rt.run(|| spawn_and_join(depth)), depth);
                }
            },
        );
    }
}

// -------------------------------------------------------------------------------------------------------
// overflow

#[inline(never)]
#[allow(unconditional_recursion)]
fn recurse(n: u64) -> u64 {
    let frame = black_box([n; 40]);
    recurse(n + 1) + frame[(n % 40) as usize]
}

/// A task that needs more than its stack: the process ends with a message that says which task,
/// where it was spawned and what to do. (Elsewhere: a signal without a word, or a task that
/// vanishes with the locks that it holds.)
#[cfg(unix)]
#[test]
fn an_overflow_names_the_task() {
    for (name, stack, expected) in
        [("fibers", None, " 64 KiB"), ("fibers", Some(256 << 10), " 256 KiB"), ("threads", None, " 2048 KiB")]
    {
        let size = stack.unwrap_or(0).to_string();
        let output = in_child(&[("MYRIAD_TEST_MODE", name), ("MYRIAD_TEST_STACK", &size)], || {
            let mode =
                if std::env::var("MYRIAD_TEST_MODE").unwrap() == "fibers" { Mode::Fibers } else { Mode::Threads };
            let size: usize = std::env::var("MYRIAD_TEST_STACK").unwrap().parse().unwrap();
            let builder = mode.builder().workers(2);
            let rt = if size > 0 { builder.stack_size(size) } else { builder }.build().unwrap();
            // Others wait meanwhile, on neighbouring stacks, and the task has blocked before.
            rt.run(|| {
                let (tx, rx) = bounded::<()>(1);
                let others: Vec<_> = (0..10)
                    .map(|_| {
                        let rx = rx.clone();
                        spawn(move || rx.recv())
                    })
                    .collect();
                let deep = myriad::task::Builder::new().name("too deep").spawn(|| {
                    myriad::yield_now();
                    recurse(1)
                });
                let n = deep.join();
                drop((tx, others, n));
            });
        });
        assert_aborted(&output);
        let said = stderr(&output);
        let message =
            said.lines().find(|line| line.contains("myriad: stack overflow: ")).unwrap_or_else(|| panic!("{said}"));
        assert!(message.contains("task 'too deep' spawned at ") && message.contains("pains_stacks.rs:"), "{message}");
        // A thread's stack, as the system tells its size, is a little larger than asked for.
        let size: usize =
            message.split("overflowed its stack of ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        let asked: usize = expected.trim().split(' ').next().unwrap().parse().unwrap();
        assert!((asked..=asked + 64).contains(&size), "{message}");
        assert!(message.contains("Builder::stack_size"), "{message}");
    }
}

/// One array that is larger than the stack, in a task without a name, that runs on top of another.
#[cfg(unix)]
#[test]
fn an_overflow_by_one_large_array() {
    #[inline(never)]
    fn large() -> u8 {
        black_box([1u8; 512 << 10])[black_box(77)]
    }
    let output = in_child(&[], || {
        let rt = MODES[0].runtime(1);
        rt.run(|| spawn(|| spawn(large).join().unwrap()).join().unwrap());
    });
    assert_aborted(&output);
    let said = stderr(&output);
    assert!(
        said.contains("myriad: stack overflow: the task spawned at ") && said.contains("pains_stacks.rs"),
        "{said}"
    );
}

// -------------------------------------------------------------------------------------------------------
// many

/// So many tasks wait at one place, all at a time; then each is woken, and answers.
fn wait_in_crowds(mode: Mode, workers: usize, tasks: usize) {
    let _watch = watch_for(&format!("{mode}, {tasks} tasks"), Duration::from_secs(120));
    let rt = mode.runtime(workers);
    let sum = rt.run(|| {
        let (tx, rx) = rendezvous::<usize>();
        let (done_tx, done_rx) = bounded(64);
        let waiting = std::sync::Arc::new(AtomicUsize::new(0));
        for _ in 0..tasks {
            let (rx, done, waiting) = (rx.clone(), done_tx.clone(), waiting.clone());
            drop(spawn(move || {
                waiting.fetch_add(1, SeqCst);
                done.send(rx.recv().unwrap()).unwrap();
            }));
        }
        drop(done_tx);
        crate::common::wait_until(|| waiting.load(SeqCst) == tasks);
        let sender = spawn(move || (0..tasks).for_each(|i| tx.send(i).unwrap()));
        let sum = done_rx.iter().sum::<usize>();
        sender.join().unwrap();
        sum
    });
    assert_eq!(sum, tasks * (tasks - 1) / 2);
    let report = rt.shutdown(crate::common::PATIENCE);
    assert!(report.is_clean(), "{report}");
}

/// With two mappings for each stack the system's default limit, 65,530, ends this at some 32,000
/// tasks.
#[test]
fn a_hundred_thousand_blocked_tasks() {
    if !crate::common::fibers_supported() || many_stacks() < 100_000 {
        eprintln!("skipped: guard pages take mappings here, and there are not enough");
        return;
    }
    wait_in_crowds(Mode::Fibers, 2, 100_000);
}

#[test]
#[ignore = "takes 4.5 GB of memory (12 GB in an unoptimised build) and some seconds"]
fn a_million_blocked_tasks() {
    wait_in_crowds(Mode::Fibers, 2, 1_000_000);
}

/// A thread for each: as many as threads are at hand.
#[test]
fn a_thousand_blocked_threads() {
    for workers in [1, 2] {
        wait_in_crowds(Mode::Threads, workers, 1000);
    }
}

/// Ten thousand tasks at one rendezvous, on one worker, senders and receivers in all orders.
#[test]
fn ten_thousand_at_one_rendezvous() {
    for mode in MODES {
        let tasks = if mode == Mode::Fibers { 10_000 } else { 2000 };
        case(
            mode,
            1,
            |b| b,
            |rt| {
                let sum = rt.run(|| {
                    let (tx, rx) = rendezvous::<usize>();
                    let handles: Vec<_> = (0..tasks)
                        .map(|i| {
                            let (tx, rx) = (tx.clone(), rx.clone());
                            spawn(move || {
                                if i % 2 == 0 {
                                    tx.send(i).unwrap();
                                    0
                                } else {
                                    rx.recv().unwrap()
                                }
                            })
                        })
                        .collect();
                    handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
                });
                assert_eq!(sum, (0..tasks).step_by(2).sum());
            },
        );
    }
}

/// How many stacks the system gives: all that fit into memory if guard pages take no mappings.
fn many_stacks() -> usize {
    let forbidden = std::env::var_os("MYRIAD_NO_GUARD_INSTALL").is_some_and(|v| v != "0");
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut parts = release.split(|c: char| !c.is_ascii_digit()).map_while(|n| n.parse::<u32>().ok());
    let new = (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (6, 13);
    if new && !forbidden { usize::MAX } else { 30_000 }
}
