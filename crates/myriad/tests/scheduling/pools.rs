//! Pools of one runtime: where tasks run, that pools wait for each other, and what covers all of
//! them.

use crate::common::{
    MODES, Mode, PATIENCE, assert_ok, case, catch, each_with, fibers_supported, full_length, in_both_modes, in_child,
    text, wait_until,
};
use myriad::channel::{bounded, unbounded};
use myriad::{Builder, Handle, Runtime, State, join, scope, spawn, spawn_async, spawn_async_on, spawn_on, task};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn here() -> String {
    Handle::current().expect("in a task").pool_name().to_string()
}

/// A runtime with the pools `default` (of `workers`), `interactive` (1) and `third` (2), in both
/// modes.
#[track_caller]
fn with_pools(workers: &[usize], body: impl Fn(&Runtime)) {
    for mode in MODES {
        for &workers in workers {
            case(mode, workers, |b| b.pool("interactive", 1).pool("third", 2), &body);
        }
    }
}

#[test]
fn every_way_to_spawn_there() {
    with_pools(&[1, 2], |rt| {
        let expected = |name: &str, got: &str| assert_eq!(name, got);
        for name in ["default", "interactive", "third"] {
            let name: &'static str = name;
            // From outside.
            let handle = rt.handle().pool(name).unwrap();
            expected(name, &handle.spawn(here).join().unwrap());
            expected(name, &handle.spawn_async(async { here() }).join().unwrap());
            expected(name, &handle.run(here));
            let on =
                task::Builder::new().on(rt.handle()).pool(name).name("n").spawn(|| (here(), task::current().unwrap()));
            let (where_, who) = on.join().unwrap();
            assert_eq!((&*where_, who.name()), (name, Some("n")));
            // From a task of each pool.
            for from in rt.handle().pools() {
                from.run(|| {
                    expected(name, &spawn_on(name, here).join().unwrap());
                    expected(name, &spawn_async_on(name, async { here() }).join().unwrap());
                    expected(name, &task::Builder::new().pool(name).spawn(here).join().unwrap());
                    let future = task::Builder::new().pool(name).name("f").spawn_async(async { here() });
                    assert_eq!(future.name().as_deref(), Some("f"));
                    expected(name, &future.join().unwrap());
                    expected(name, &handle.spawn(here).join().unwrap());
                    expected(name, &handle.run(here));
                });
            }
        }
    });
}

#[test]
fn what_is_spawned_stays_in_the_pool() {
    with_pools(&[2], |rt| {
        fn tree(depth: u32) -> usize {
            assert_eq!(here(), "third");
            if depth == 0 {
                return 1;
            }
            let child = spawn(move || tree(depth - 1));
            let future = spawn_async(async move {
                myriad::time::sleep_async(Duration::ZERO).await;
                assert_eq!(here(), "third");
                1
            });
            let (a, b) = join(|| tree(depth - 1), || tree(depth - 1));
            let c = AtomicUsize::new(0);
            scope(|s| {
                s.spawn(|| c.fetch_add(tree(depth - 1), SeqCst));
            });
            a + b + c.into_inner() + child.join().unwrap() + future.join().unwrap()
        }
        // t(0) = 1, t(n) = 4 t(n - 1) + 1.
        assert_eq!(rt.run(|| spawn_on("third", || tree(5)).join().unwrap()), 1365);
    });
}

#[test]
fn threads_have_the_names_of_their_pools() {
    each_with(
        &[1],
        // (A spare has a number of its own.)
        |b| b.name("rt").pool("interactive", 1).spare_workers(0),
        |_, rt| {
            let name = || std::thread::current().name().unwrap().to_owned();
            assert!(rt.run(name).starts_with("rt-0"));
            assert!(rt.handle().pool("interactive").unwrap().run(name).starts_with("rt-interactive-0"));
        },
    );
}

#[test]
fn a_pool_is_free_while_all_others_compute() {
    each_with(
        &[2],
        |b| b.pool("interactive", 1).spare_workers(0),
        |_, rt| {
            let done = Arc::new(AtomicBool::new(false));
            let busy: Vec<_> = (0..2)
                .map(|_| {
                    let done = done.clone();
                    rt.spawn(move || {
                        while !done.load(SeqCst) {
                            std::hint::spin_loop()
                        }
                    })
                })
                .collect();
            // Nobody else could end the loops.
            rt.handle().pool("interactive").unwrap().spawn(move || done.store(true, SeqCst)).join().unwrap();
            busy.into_iter().for_each(|h| h.join().unwrap());
        },
    );
}

#[test]
fn pools_wait_for_each_other() {
    with_pools(&[1, 2], |rt| {
        rt.run(|| {
            // Channels, there and back.
            let (to, from_here) = bounded::<u64>(1);
            let (back, answers) = bounded::<u64>(1);
            let echo = spawn_on("interactive", move || from_here.iter().try_for_each(|n| back.send(n + 1)));
            let sum: u64 = (0..1000)
                .map(|n| {
                    to.send(n).unwrap();
                    answers.recv().unwrap()
                })
                .sum();
            assert_eq!(sum, 500_500);
            drop(to);
            echo.join().unwrap().unwrap();
            // One lock.
            let count = Arc::new(myriad::sync::Mutex::new(0));
            let adders: Vec<_> = ["default", "interactive", "third"]
                .into_iter()
                .map(|pool| {
                    let count = count.clone();
                    spawn_on(pool, move || {
                        for _ in 0..1000 {
                            let mut count = count.lock().unwrap();
                            *count += 1;
                            if *count % 100 == 0 {
                                myriad::yield_now()
                            }
                        }
                    })
                })
                .collect();
            adders.into_iter().for_each(|h| h.join().unwrap());
            assert_eq!(*count.lock().unwrap(), 3000);
            // A scope whose tasks are in its owner's pool, joined over a ring of pools.
            let ring = spawn_on("third", || {
                spawn_on("interactive", || spawn_on("default", here).join().unwrap()).join().unwrap()
            });
            assert_eq!(ring.join().unwrap(), "default");
        });
    });
}

#[test]
fn run_stays_where_it_is_unless_a_pool_is_named() {
    with_pools(&[1], |rt| {
        let third = rt.handle().pool("third").unwrap();
        third.run(|| {
            assert_eq!(rt.run(here), "third");
            assert_eq!(myriad::run(here), "third");
            assert_eq!(rt.handle().run(here), "default");
        });
    });
}

#[test]
fn an_unknown_pool() {
    with_pools(&[1], |rt| {
        let error = rt.handle().pool("interactiv").unwrap_err();
        assert_eq!(error.pools(), ["default", "interactive", "third"]);
        let text_of_error = error.to_string();
        assert!(
            text_of_error.contains("no pool 'interactiv'")
                && text_of_error.contains("'default', 'interactive', 'third'")
        );
        // A fallback, as Julia has it for a pool without threads.
        let handle = rt.handle();
        assert_eq!(&*handle.pool("compute").unwrap_or(handle).pool_name(), "default");
        let said = rt.spawn(|| spawn_on("interactiv", || ())).join().map(drop).unwrap_err();
        assert!(said.to_string().contains("'default', 'interactive', 'third'"), "{said}");
        crate::common::quiet();
        let payload = catch(|| drop(task::Builder::new().on(rt.handle()).pool("x").spawn(|| ())));
        assert!(text(&*payload).contains("no pool 'x'"));
    });
}

#[test]
fn settings_that_make_no_sense() {
    let refused = |builder: Builder, part: &str| {
        let error = builder.build().unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
        assert!(error.to_string().contains(part), "{error}");
    };
    let builder = || Builder::new().workers(1);
    refused(builder().pool("interactive", 0), "the pool 'interactive' needs at least 1 worker");
    refused(builder().pool("a", 1).pool("b", 1).pool("a", 1), "two pools 'a'");
    refused(builder().pool("default", 1), "workers(n)");
    refused(builder().pool("", 1), "needs a name");
    refused(builder().pool("a\0b", 1), "zero bytes");
    refused(builder().pool("a", 1 << 20), "too many");
}

#[test]
fn counts_of_workers() {
    with_pools(&[1, 2], |rt| {
        let of = |name| rt.handle().pool(name).unwrap().workers();
        assert_eq!((of("interactive"), of("third")), (1, 2));
        assert_eq!(rt.workers(), of("default") + 3);
        let names: Vec<String> = rt.handle().pools().iter().map(|pool| pool.pool_name().to_string()).collect();
        assert_eq!(names, ["default", "interactive", "third"]);
        assert_eq!(rt.handle().workers(), of("default"));
    });
}

#[test]
fn one_clock() {
    each_with(
        &[1],
        |b| b.pool("interactive", 1).manual_clock(),
        |_, rt| {
            let interactive = rt.handle().pool("interactive").unwrap();
            let (day, start) = (Duration::from_secs(86_400), rt.now());
            let sleeper = interactive.spawn(move || {
                myriad::time::sleep(day);
                myriad::time::now()
            });
            let future = interactive.spawn_async(async move { myriad::time::sleep_async(day).await });
            let here = rt.spawn(move || {
                myriad::time::sleep(day);
                myriad::time::now()
            });
            while !(sleeper.is_finished() && here.is_finished() && future.is_finished()) {
                rt.advance(day);
                std::thread::sleep(Duration::from_millis(1));
            }
            future.join().unwrap();
            assert!(sleeper.join().unwrap() >= start + day && here.join().unwrap() >= start + day);
            assert_eq!(interactive.run(myriad::time::now), rt.now());
        },
    );
}

#[test]
fn a_shutdown_waits_for_tasks_that_go_from_pool_to_pool() {
    with_pools(&[1, 2], |rt| {
        let builder = if rt.is_fiber_mode() { Mode::Fibers } else { Mode::Threads }.builder();
        let inner = builder.workers(1).pool("a", 1).pool("b", 1).build().unwrap();
        let steps = Arc::new(AtomicUsize::new(0));
        fn hop(left: usize, steps: Arc<AtomicUsize>) {
            steps.fetch_add(1, SeqCst);
            if left > 0 {
                spawn_on(["default", "a", "b"][left % 3], move || hop(left - 1, steps));
            }
        }
        let counted = steps.clone();
        inner.spawn(move || hop(1000, counted));
        let report = inner.shutdown(PATIENCE);
        assert!(report.is_clean(), "{report}");
        assert_eq!(steps.load(SeqCst), 1001);
    });
}

#[test]
fn a_shutdown_ends_and_names_what_is_in_all_pools() {
    for mode in MODES {
        if mode == Mode::Fibers && !fibers_supported() {
            continue;
        }
        let _watch = crate::common::watch(&mode.to_string());
        let rt = mode.builder().workers(1).pool("a", 1).spare_workers(0).build().unwrap();
        let (_never, waits) = unbounded::<()>();
        let begun = Arc::new(AtomicUsize::new(0));
        let drops = crate::common::Drops::new();
        let blocked = |pool: &'static str| {
            let (waits, begun) = (waits.clone(), begun.clone());
            let task = task::Builder::new().on(rt.handle()).pool(pool).name(format!("blocked in {pool}"));
            task.spawn(move || {
                begun.fetch_add(1, SeqCst);
                waits.recv()
            })
        };
        let waiting = |pool: &'static str| {
            let (waits, one, begun) = (waits.clone(), drops.one(), begun.clone());
            let future = async move {
                begun.fetch_add(1, SeqCst);
                waits.recv_async().await.map(|()| drop(one))
            };
            task::Builder::new().on(rt.handle()).pool(pool).name(format!("future in {pool}")).spawn_async(future)
        };
        let (b, w) = (["default", "a"].map(blocked), ["default", "a"].map(waiting));
        // Each pool has one worker: what runs there now comes after all four have begun to wait.
        wait_until(|| begun.load(SeqCst) == 4);
        rt.handle().pools().iter().for_each(|pool| pool.run(|| ()));
        let report = rt.shutdown(Duration::ZERO);
        let named = |tasks: &[myriad::Unfinished]| {
            let mut names: Vec<(String, State)> = tasks.iter().map(|t| (t.name().unwrap().into(), t.state())).collect();
            names.sort_by(|a, b| a.0.cmp(&b.0));
            names
        };
        let both = |what: &str, state| ["a", "default"].map(|pool| (format!("{what} in {pool}"), state)).to_vec();
        assert_eq!(named(report.unfinished()), both("blocked", State::Blocked), "{mode}: {report}");
        assert_eq!(named(report.dropped()), both("future", State::Waiting), "{mode}: {report}");
        drops.assert_all(2);
        assert!(w.into_iter().all(|h| h.join().unwrap_err().is_shutdown()));
        drop(b);
    }
}

#[test]
fn after_the_end_all_pools_are_shut() {
    for mode in MODES {
        if mode == Mode::Fibers && !fibers_supported() {
            continue;
        }
        let rt = mode.builder().workers(1).pool("a", 1).build().unwrap();
        let a = rt.handle().pool("a").unwrap();
        assert!(rt.shutdown(PATIENCE).is_clean());
        assert!(a.spawn(|| ()).join().unwrap_err().is_shutdown());
    }
}

#[test]
#[should_panic(expected = "cannot be shut down by one of its own tasks")]
fn a_task_of_any_pool_cannot_shut_it_down() {
    let rt = Arc::new(Mutex::new(Some(Builder::new().workers(1).pool("a", 1).build().unwrap())));
    let a = rt.lock().unwrap().as_ref().unwrap().handle().pool("a").unwrap();
    crate::common::quiet();
    let inside = rt.clone();
    a.run(move || {
        let rt = inside.lock().unwrap_or_else(|e| e.into_inner()).take().unwrap();
        drop(rt.shutdown(Duration::ZERO));
    });
}

/// A worker of a pool is stuck in a lock that knows nothing of tasks: a spare one of that pool goes
/// on.
#[test]
fn stuck_workers_of_each_pool_get_help() {
    each_with(
        &[1],
        |b| b.pool("interactive", 1),
        |_, rt| {
            let interactive = rt.handle().pool("interactive").unwrap();
            let (open, opened) = std::sync::mpsc::channel::<()>();
            let stuck = interactive.spawn(move || opened.recv().unwrap());
            let pool = interactive.spawn(move || {
                open.send(()).unwrap();
                here()
            });
            assert_eq!(pool.join().unwrap(), "interactive");
            stuck.join().unwrap();
        },
    );
}

#[test]
fn many_starts_and_stops() {
    in_both_modes(|_| ());
    for mode in MODES {
        if mode == Mode::Fibers && !fibers_supported() {
            continue;
        }
        let _watch = crate::common::watch(&mode.to_string());
        for i in 0..if full_length() { 40 } else { 12 } {
            let rt = mode.builder().workers(1 + i % 2).pool("a", 1 + i % 3).pool("b", 1).build().unwrap();
            assert_eq!(rt.run(|| spawn_on("a", || spawn_on("b", here).join().unwrap()).join().unwrap()), "b");
            assert!(rt.shutdown(PATIENCE).is_clean());
        }
    }
}

/// The global runtime may have pools; foreign threads spawn into them.
#[test]
fn of_the_global_runtime() {
    let output = in_child(&[], || {
        Builder::new().workers(1).pool("interactive", 1).install().unwrap();
        assert_eq!(spawn_on("interactive", here).join().unwrap(), "interactive");
        assert_eq!(spawn_async_on("interactive", async { here() }).join().unwrap(), "interactive");
        assert_eq!(task::Builder::new().pool("interactive").spawn(here).join().unwrap(), "interactive");
        assert_eq!(spawn(here).join().unwrap(), "default");
    });
    assert_ok(&output);
}

/// A runtime that is built in a task of pinned workers is not tied to that worker's core.
#[test]
fn built_in_a_task_it_has_all_cores() {
    let cores = myriad::platform().cpus.len();
    for mode in MODES {
        case(
            mode,
            cores,
            |b| b,
            |rt| {
                rt.run(|| {
                    let inner = mode.builder().workers(1).pin_workers(false).pool("a", 1).build().unwrap();
                    for pool in inner.handle().pools() {
                        assert_eq!(pool.run(|| myriad::platform().cpus.len()), cores);
                    }
                    assert!(inner.shutdown(PATIENCE).is_clean());
                });
            },
        );
    }
}
