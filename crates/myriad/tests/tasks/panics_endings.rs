//! Panics that nobody joins, and those in destructors: who is told, and that nothing is left
//! behind.

use crate::common::{
    MODES, PLANNED, assert_aborted, assert_ok, case, catch, catch_planned, each_with, in_both_modes, in_child, plan,
    stderr, wait_until,
};
use myriad::channel::bounded;
use myriad::{Unhandled, join, scope, spawn, spawn_async};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

// -------------------------------------------------------------------------------------------------------
// destructors

struct Bomb;
impl Drop for Bomb {
    fn drop(&mut self) {
        plan("bomb")
    }
}

/// A result that panics when it is dropped: where nobody takes it the worker survives, where
/// somebody does it is theirs.
#[test]
fn in_the_destructor_of_a_result() {
    each_with(
        &[1, 2],
        |b| b,
        |_, rt| {
            rt.run(|| {
                for _ in 0..20 {
                    drop(spawn(|| Bomb));
                    let h = spawn(|| Bomb);
                    wait_until(|| h.is_finished());
                    drop(h);
                    let bomb = spawn(|| Bomb).join();
                    catch_planned("bomb", || drop(bomb));
                }
            });
            assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
        },
    );
}

/// What the closure holds panics when it goes, at the task's end: the task has panicked.
#[test]
fn in_the_destructor_of_what_a_closure_holds() {
    in_both_modes(|rt| {
        rt.run(|| {
            let bomb = Bomb;
            let h = spawn(move || {
                let _bomb = &bomb;
                5
            });
            catch_planned("bomb", || h.join().unwrap_err().resume());
        });
    });
}

#[test]
fn in_the_destructor_of_a_scoped_result() {
    in_both_modes(|rt| {
        rt.run(|| {
            let n = AtomicUsize::new(0);
            scope(|s| {
                for _ in 0..20 {
                    s.spawn(|| {
                        n.fetch_add(1, Relaxed);
                        Bomb
                    });
                }
            });
            assert_eq!(n.load(Relaxed), 20);
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// detached

type Lines = Arc<Mutex<Vec<String>>>;

fn hook(lines: &Lines) -> Unhandled {
    let lines = lines.clone();
    Unhandled::Hook(Arc::new(move |line: &str| lines.lock().unwrap().push(line.to_owned())))
}

#[test]
fn a_detached_panic_goes_to_the_hook() {
    for mode in MODES {
        for workers in [1, 2, 4] {
            let lines = Lines::default();
            case(
                mode,
                workers,
                |b| b.on_unhandled_panic(hook(&lines)),
                |rt| {
                    rt.run(|| {
                        // Detached before it runs, after it has ended, with a name, as a future,
                        // from its own task.
                        drop(spawn(|| plan("one")));
                        let h = spawn(|| plan("two"));
                        wait_until(|| h.is_finished());
                        drop(h);
                        drop(myriad::task::Builder::new().name("three").spawn(|| plan("three")));
                        drop(spawn_async(async { plan("four") }));
                    });
                    drop(rt.spawn(|| plan("five")));
                    wait_until(|| lines.lock().unwrap().len() == 5);
                    // Joined ones are not reported.
                    assert!(rt.spawn(|| plan("joined")).join().is_err());
                },
            );
            let mut lines = std::mem::take(&mut *lines.lock().unwrap());
            lines.sort_by_key(|line| line.contains("(spawned at"));
            assert_eq!(lines.len(), 5, "{lines:#?}");
            for number in ["one", "two", "three", "four", "five"] {
                let line = lines.iter().find(|line| line.ends_with(&format!("panicked: {PLANNED}{number}")));
                let line = line.unwrap_or_else(|| panic!("{number} is not in {lines:#?}"));
                let who =
                    if number == "three" { "detached task 'three' (spawned at" } else { "a detached task (spawned at" };
                assert!(line.starts_with(who) && line.contains(file!()), "{line}");
            }
        }
    }
}

/// A hook that panics itself, and no report at all.
#[test]
fn the_worker_survives_its_hook() {
    for mode in MODES {
        let bad = Unhandled::Hook(Arc::new(|_| plan("hook")));
        for unhandled in [bad, Unhandled::Ignore] {
            case(
                mode,
                1,
                |b| b.on_unhandled_panic(unhandled),
                |rt| {
                    (0..10).for_each(|_| drop(rt.spawn(|| plan("detached"))));
                    assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
                },
            );
        }
    }
}

/// A hook is ordinary code on the worker: it may spawn, and wait.
#[test]
fn a_hook_that_spawns_and_waits() {
    for mode in MODES {
        for workers in [1, 2] {
            let (tx, rx) = bounded(100);
            let hook = Unhandled::Hook(Arc::new(move |line: &str| {
                let words = line.split(' ').count();
                let counted = spawn(move || words).join().unwrap();
                myriad::time::sleep(std::time::Duration::from_micros(50));
                tx.send(counted).unwrap();
            }));
            case(
                mode,
                workers,
                |b| b.on_unhandled_panic(hook),
                |rt| {
                    (0..20).for_each(|_| drop(rt.spawn(|| plan("detached"))));
                    assert!((0..20).all(|_| rx.recv().unwrap() > 3));
                },
            );
        }
    }
}

#[cfg(unix)]
#[test]
fn a_detached_panic_aborts_if_so_told() {
    for (mode, variable) in MODES.into_iter().zip(["fibers", "threads"]) {
        let output = in_child(&[("MYRIAD_TEST_MODE", variable)], || {
            let mode = if std::env::var("MYRIAD_TEST_MODE").unwrap() == "fibers" { MODES[0] } else { MODES[1] };
            let rt = mode.builder().workers(1).on_unhandled_panic(Unhandled::Abort).build().unwrap();
            // Not for a panic that somebody joins.
            assert!(rt.spawn(|| plan("joined")).join().is_err());
            eprintln!("still here");
            drop(myriad::task::Builder::new().name("fatal").spawn(|| ()));
            rt.run(|| drop(myriad::task::Builder::new().name("fatal").spawn(|| plan("the end"))));
            std::thread::sleep(crate::common::PATIENCE);
        });
        assert_aborted(&output);
        let said = stderr(&output);
        assert!(said.contains("still here"), "{mode}: {said}");
        assert!(
            said.contains("detached task 'fatal' (spawned at") && said.contains("panicked: planned: the end; aborting"),
            "{said}"
        );
    }
}

/// Without settings: a line on the standard error, once.
#[test]
fn a_detached_panic_is_reported() {
    let output = in_child(&[], || {
        for mode in MODES {
            case(mode, 1, |b| b, |rt| drop(rt.spawn(|| plan("nobody hears"))));
        }
    });
    assert_ok(&output);
    let said = stderr(&output);
    assert_eq!(said.matches("myriad: a detached task (spawned at ").count(), 2, "{said}");
    assert_eq!(said.matches("panicked: planned: nobody hears\n").count(), 2, "{said}");
}

// -------------------------------------------------------------------------------------------------------
// afterwards

/// After thousands of panics everywhere the runtime works as before.
#[test]
fn nothing_is_left_behind() {
    each_with(
        &[2],
        |b| b.on_unhandled_panic(Unhandled::Ignore),
        |_, rt| {
            for round in 0..20 {
                _ = catch(|| {
                    rt.run(|| {
                        (0..50).for_each(|_| drop(spawn(|| plan("detached"))));
                        let h = spawn(|| plan("joined"));
                        scope(|s| (0..10).for_each(|_| drop(s.spawn(|| plan("scoped")))));
                        drop(h);
                    })
                });
                assert_eq!(
                    rt.run(|| (0..100).map(|i| spawn(move || i)).map(|h| h.join().unwrap()).sum::<usize>()),
                    4950,
                    "{round}"
                );
            }
            assert!(!std::thread::panicking());
        },
    );
}

/// A payload that panics itself when it is dropped: where nobody takes it the worker drops it, and
/// survives.
#[test]
fn a_payload_that_panics_when_it_is_dropped() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            bad()
        }
    }
    fn bad() {
        std::panic::resume_unwind(Box::new(Bad))
    }
    each_with(
        &[1],
        |b| b.on_unhandled_panic(Unhandled::Ignore),
        |_, rt| {
            rt.run(|| {
                drop(spawn(bad));
                drop(spawn_async(async { bad() }));
                let payload = catch(|| scope(|s| (0..3).for_each(|_| drop(s.spawn(bad)))));
                std::mem::forget(payload);
                let payload = catch(|| join(bad, bad));
                std::mem::forget(payload);
            });
            assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
        },
    );
}
