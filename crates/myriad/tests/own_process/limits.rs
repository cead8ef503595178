//! What happens when stacks run out: who would block gets a panic with a clear text, its joiner
//! sees it, and nothing else is lost.
//!
//! Where stacks are counted there are no spare workers: one that begins, because the machine holds
//! up the others, has stacks of its own.
#![cfg(unix)]

use crate::common::{MODES, Mode, assert_ok, case, catch, in_child, stderr, text};
use myriad::channel::{bounded, unbounded};
use myriad::{Runtime, Unhandled, join, scope, spawn, spawn_async};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// Panics for want of a stack are not printed.
fn quiet_about_stacks() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    crate::common::quiet();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !text(info.payload()).contains("no stack for another blocked task: ") {
                loud(info);
            }
        }));
    });
}

fn crowd(rt: &Runtime, tasks: usize) -> (usize, Vec<String>) {
    quiet_about_stacks();
    crate::common::crowd(rt, tasks)
}

#[test]
fn as_many_stacks_as_allowed() {
    for mode in MODES {
        // On one worker the order of events is known: receivers first.
        case(
            mode,
            1,
            |b| b.max_stacks(6).spare_workers(0),
            |rt| {
                for _ in 0..3 {
                    let (got, told) = crowd(rt, 30);
                    assert!(got >= 4 && !told.is_empty(), "{mode}: {got} got through");
                    assert!(
                        told[0].contains(
                            "panicked: no stack for another blocked task: this worker has 6, and 6 are allowed"
                        ),
                        "{}",
                        told[0]
                    );
                    assert!(
                        told[0].contains("a future takes bytes instead of a stack")
                            && told[0].contains("Builder::max_stacks")
                    );
                }
                // Afterwards all is as before.
                assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
            },
        );
        case(
            mode,
            4,
            |b| b.max_stacks(6),
            |rt| {
                let (got, told) = crowd(rt, 300);
                assert_eq!(got + told.len(), 300);
            },
        );
    }
}

/// Recursion that would need more stacks than there are: a panic that goes through all levels to
/// the caller.
#[test]
fn recursion_without_stacks() {
    fn go(depth: usize) -> usize {
        if depth == 0 { 0 } else { join(|| go(depth - 1), || 1).0 + 1 }
    }
    fn spawning(depth: usize) -> usize {
        if depth == 0 { 0 } else { spawn(move || spawning(depth - 1)).join().unwrap_or_else(|e| e.resume()) + 1 }
    }
    quiet_about_stacks();
    // More than fits, also where frames are small.
    let (levels, spawned) = if cfg!(debug_assertions) { (20_000, 5000) } else { (300_000, 50_000) };
    for mode in MODES {
        for workers in [1, 2] {
            let stack = if mode == Mode::Fibers { 64 << 10 } else { 256 << 10 };
            case(
                mode,
                workers,
                |b| b.max_stacks(4).stack_size(stack).on_unhandled_panic(Unhandled::Ignore),
                |rt| {
                    let payload = catch(|| rt.run(|| go(levels)));
                    assert!(text(&*payload).starts_with("no stack for another blocked task: "), "{}", text(&*payload));
                    let payload = catch(|| rt.run(|| spawning(spawned)));
                    assert!(text(&*payload).contains("no stack for another blocked task: "), "{}", text(&*payload));
                    // Little goes on as before.
                    assert_eq!(rt.run(|| go(3)), 3);
                },
            );
        }
    }
}

/// A scope whose tasks find no stack ends, with their panic.
#[test]
fn a_scope_without_stacks() {
    quiet_about_stacks();
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.max_stacks(3).spare_workers(0),
            |rt| {
                let (tx, rx) = bounded::<()>(1);
                let (started, closed) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let payload = catch(|| {
                    rt.run(|| {
                        scope(|s| {
                            for _ in 0..10 {
                                s.spawn(|| {
                                    if started.fetch_add(1, SeqCst) + 1 == 10 {
                                        tx.close();
                                    }
                                    closed.fetch_add(usize::from(rx.recv().is_err()), SeqCst);
                                });
                            }
                        })
                    })
                });
                assert!(text(&*payload).starts_with("no stack for another blocked task: "), "{}", text(&*payload));
                // Two could wait, and the last one need not.
                assert_eq!(closed.into_inner(), 3);
                assert_eq!(rt.run(|| join(|| 1, || 2)), (1, 2));
            },
        );
    }
}

/// Two stacks for each worker. On one of them a task waits in a `join` that cannot be left, on the
/// last stack; what it waits for needs the other stack's task, which is ready.
#[test]
fn a_join_on_the_last_stack() {
    /// The worker of the calling thread: `myriad-1`, also where the thread is `myriad-1.3`.
    fn worker() -> String {
        std::thread::current().name().unwrap().split('.').next().unwrap().to_owned()
    }
    quiet_about_stacks();
    for mode in MODES {
        for in_a_scope in [false, true] {
            case(
                mode,
                2,
                |b| b.max_stacks(2).spare_workers(0),
                |rt| {
                    let (gate_tx, gate_rx) = bounded::<()>(1);
                    let (tx, rx) = bounded::<()>(1);
                    let (home_tx, home_rx) = bounded(1);
                    let first = rt.spawn(move || {
                        home_tx.send(worker()).unwrap();
                        gate_rx.recv().unwrap();
                        tx.send(()).unwrap();
                    });
                    let home = home_rx.recv().unwrap();
                    let (begun, taken) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
                    // Of these two the one on the first task's worker does it; the other one keeps
                    // its worker busy until then.
                    let tasks: Vec<_> = (0..2)
                        .map(|_| {
                            let (begun, taken, gate, rx, home) =
                                (begun.clone(), taken.clone(), gate_tx.clone(), rx.clone(), home.clone());
                            rt.spawn(move || {
                                if worker() != home {
                                    while begun.load(SeqCst) == 0 {
                                        std::hint::spin_loop();
                                    }
                                    return;
                                }
                                if begun.fetch_add(1, SeqCst) > 0 {
                                    return;
                                }
                                let a = || {
                                    while taken.load(SeqCst) == 0 {
                                        std::hint::spin_loop();
                                    }
                                    gate.send(()).unwrap();
                                };
                                let b = || {
                                    taken.store(1, SeqCst);
                                    rx.recv().unwrap();
                                };
                                if in_a_scope {
                                    scope(|s| {
                                        s.spawn(b);
                                        a();
                                    });
                                } else {
                                    join(a, b);
                                }
                            })
                        })
                        .collect();
                    tasks.into_iter().for_each(|h| h.join().unwrap());
                    first.join().unwrap();
                },
            );
        }
    }
}

/// On the last stack: a yield promises nothing and goes on; what must wait says why it cannot, and
/// has had no effect.
#[test]
fn every_wait_on_the_last_stack() {
    quiet_about_stacks();
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.max_stacks(2).spare_workers(0),
            |rt| {
                rt.run(|| {
                    let (tx, rx) = bounded::<Vec<String>>(1);
                    drop(spawn(move || {
                        let tries = || {
                            let (full, nobody) = bounded(1);
                            let (_keep, empty) = bounded::<()>(1);
                            full.send(1).unwrap();
                            let said = |wait: &mut dyn FnMut()| text(&*catch(wait)).to_owned();
                            let all = vec![
                                said(&mut || myriad::time::sleep(Duration::from_millis(1))),
                                said(&mut || _ = full.send(2)),
                                said(&mut || _ = full.send_timeout(2, Duration::from_secs(1))),
                                said(&mut || _ = empty.recv()),
                                said(&mut || _ = empty.recv_timeout(Duration::from_secs(1))),
                                said(&mut || myriad::block_on(std::future::pending())),
                            ];
                            assert_eq!(nobody.try_iter().collect::<Vec<_>>(), [1]);
                            all
                        };
                        (0..100).for_each(|_| myriad::yield_now());
                        // What need not wait works.
                        assert_eq!(spawn(|| 1).join().unwrap(), 1);
                        assert_eq!(join(|| 1, || 2), (1, 2));
                        tx.send(tries()).unwrap();
                    }));
                    for said in rx.recv().unwrap() {
                        assert!(said.starts_with("no stack for another blocked task: "), "{said}");
                    }
                });
            },
        );
    }
}

/// `JoinHandle::join` that cannot wait is an error that says so; the task runs on, detached, and
/// its result is dropped.
#[test]
fn a_handle_joined_on_the_last_stack() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.max_stacks(2).spare_workers(0),
            |rt| {
                let drops = crate::common::Drops::new();
                let result = drops.one();
                rt.run(move || {
                    // This task waits on one stack, the next one runs on the other. A future needs
                    // none.
                    let (tx, rx) = bounded(1);
                    drop(spawn(move || {
                        let (go, gate) = bounded::<()>(1);
                        let future = spawn_async(async move {
                            gate.recv_async().await.unwrap();
                            result
                        });
                        let error = future.join().map(drop).unwrap_err();
                        assert!(error.is_no_stack(), "{error}");
                        assert!(!error.is_panic() && !error.is_shutdown() && !error.is_self_join());
                        assert!(error.to_string().contains("no stack for another blocked task: "), "{error}");
                        go.send(()).unwrap();
                        tx.send(()).unwrap();
                    }));
                    rx.recv().unwrap();
                });
                drops.wait_all(1);
            },
        );
    }
}

// -------------------------------------------------------------------------------------------------------
// from outside

fn mode_of_child() -> Mode {
    if std::env::var("MYRIAD_TEST_MODE").unwrap() == "fibers" { Mode::Fibers } else { Mode::Threads }
}

const NAMES: [&str; 2] = ["fibers", "threads"];

/// `MYRIAD_MAX_STACKS` limits programs that one cannot change.
#[test]
fn a_limit_from_the_environment() {
    for mode in NAMES {
        let output = in_child(&[("MYRIAD_TEST_MODE", mode), ("MYRIAD_MAX_STACKS", "8")], || {
            case(
                mode_of_child(),
                1,
                |b| b,
                |rt| {
                    let (got, told) = crowd(rt, 40);
                    eprintln!("{got} and {} told {}", told.len(), told[0]);
                    assert!(
                        told[0].contains("this worker has 8, and 8 are allowed")
                            && told[0].contains("MYRIAD_MAX_STACKS")
                    );
                },
            );
        });
        assert_ok(&output);
    }
}

/// Lets this process have so many bytes more of address space.
fn limit_memory(more: u64) {
    let pages: u64 = std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
    let limit = pages * 4096 + more;
    let limit = libc::rlimit { rlim_cur: limit, rlim_max: limit };
    // SAFETY: reads the structure.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
}

/// No memory for stacks: some 100 MB of address space, and more tasks than that.
#[test]
#[cfg(target_os = "linux")]
fn no_memory_for_stacks() {
    for mode in NAMES {
        // One arena: or else glibc's allocator takes what is left, 64 MB for each thread.
        let output = in_child(&[("MYRIAD_TEST_MODE", mode), ("MALLOC_ARENA_MAX", "1")], || {
            // Threads so large that something is left for the rest of the program when one does not
            // fit.
            let mode = mode_of_child();
            let size = if mode == Mode::Fibers { 64 << 10 } else { 8 << 20 };
            case(
                mode,
                1,
                |b| b.stack_size(size),
                |rt| {
                    // Once, so that what the test itself needs is there.
                    crowd(rt, 10);
                    limit_memory(100 << 20);
                    let (got, told) = crowd(rt, 3000);
                    assert!(got > 5 && !told.is_empty(), "{got}");
                    eprintln!("{got} got through; the others: {}", told[0]);
                    assert!(
                        told[0].contains("and the system refuses more: ") && told[0].contains("ulimit -v"),
                        "{}",
                        told[0]
                    );
                    assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
                },
            );
        });
        assert_ok(&output);
    }
}

/// A runtime that is dropped in its own task ends, also where no thread can be had that would end
/// it: so the task does it itself.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_to_end_a_runtime_that_its_task_drops() {
    for mode in NAMES {
        // Threads without a size of their own do not fit.
        let env = [("MYRIAD_TEST_MODE", mode), ("MALLOC_ARENA_MAX", "1"), ("RUST_MIN_STACK", "1000000000")];
        let output = in_child(&env, || {
            let rt = mode_of_child().builder().workers(2).build().unwrap();
            let handle = rt.handle();
            let (gives, gets) = std::sync::mpsc::channel();
            let h = rt.spawn(move || {
                drop::<Runtime>(gets.recv().unwrap());
                // (A wait would be the last thing that it does: the runtime has ended.)
                7
            });
            limit_memory(200 << 20);
            gives.send(rt).unwrap();
            assert_eq!(h.join().unwrap(), 7);
            let error = handle.spawn(|| 1).join().expect_err("the runtime has ended");
            assert!(error.is_shutdown(), "{error}");
            let h = handle.spawn_async(std::future::pending::<()>());
            assert!(h.join().unwrap_err().is_shutdown());
        });
        assert_ok(&output);
    }
}

/// No memory for the runtime itself: `build` says so, and the next one, with less, works.
#[test]
#[cfg(target_os = "linux")]
fn no_memory_for_a_runtime() {
    for mode in NAMES {
        let output = in_child(&[("MYRIAD_TEST_MODE", mode)], || {
            let mode = mode_of_child();
            limit_memory(200 << 20);
            for _ in 0..3 {
                // So large that something is left for the rest of the program when one does not
                // fit.
                let error = mode.builder().workers(10).stack_size(64 << 20).build().expect_err("too much");
                assert!(
                    error.to_string().contains("cannot start worker ") || error.to_string().contains("no stack"),
                    "{error}"
                );
            }
            case(mode, 1, |b| b, |rt| assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1));
        });
        assert_ok(&output);
    }
}

/// More threads than the process may have mappings for. (std's own answer would be to abort the
/// process.)
#[test]
#[cfg(target_os = "linux")]
#[ignore = "starts more than 10,000 threads"]
fn more_threads_than_mappings() {
    let output = in_child(&[], || {
        let rt = Mode::Threads.runtime(2);
        let (got, told) = crowd(&rt, 25_000);
        assert_eq!(got + told.len(), 25_000);
        if let Some(told) = told.first() {
            assert!(told.contains("memory mappings") || told.contains("temporarily unavailable"), "{told}");
        }
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    });
    assert_ok(&output);
    eprintln!("{}", stderr(&output));
}

/// What the engine counts, and `myriad doctor` says, is what a thread takes.
#[test]
#[cfg(target_os = "linux")]
fn mappings_of_a_thread() {
    fn mappings() -> usize {
        std::fs::read_to_string("/proc/self/maps").unwrap().lines().count()
    }
    for without in ["0", "1"] {
        // One arena: otherwise the allocator has mappings of its own for the first threads.
        let env = [("MYRIAD_NO_GUARD_INSTALL", without), ("MALLOC_ARENA_MAX", "1")];
        let output = in_child(&env, || {
            const THREADS: usize = 400;
            let rt = Mode::Threads.runtime(1);
            rt.run(|| spawn(|| ()).join().unwrap());
            let before = mappings();
            let (close, closed) = bounded::<()>(1);
            let (blocked, all) = unbounded();
            for _ in 0..THREADS {
                let (closed, blocked) = (closed.clone(), blocked.clone());
                drop(rt.spawn(move || {
                    blocked.send(()).unwrap();
                    closed.recv().unwrap_err();
                }));
            }
            all.iter().take(THREADS).for_each(drop);
            let took = mappings() - before;
            let said = myriad::platform().mappings_of_thread;
            eprintln!("{took} mappings for {THREADS} threads, {said} each were said");
            assert!(took.abs_diff(said * THREADS) <= THREADS / 10);
            drop(close);
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        });
        assert_ok(&output);
    }
}
