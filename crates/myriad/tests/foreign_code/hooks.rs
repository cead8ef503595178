//! The user's functions that threads of a runtime call: names, hooks, reports.

use crate::common::{Drops, MODES, assert_ok, compute_until, in_child, locked, plan, quiet, wait_until, watch};
use myriad::{Builder, OnStuck, spawn, time};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A name is asked for by whoever needs a thread: it may wait, spawn into another runtime, and
/// panic.
#[test]
fn names_that_wait() {
    quiet();
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let other = Arc::new(mode.runtime(1));
        let (asked, ends) = (Arc::new(AtomicUsize::new(0)), other.clone());
        let asks = asked.clone();
        let name = move |worker: usize| {
            let n = asks.fetch_add(1, SeqCst);
            time::sleep(Duration::from_millis(1));
            let name = ends.spawn(move || format!("thread {worker}.{n}")).join().unwrap();
            if n % 3 == 2 { plan("a name panics") } else { name }
        };
        let rt = mode.builder().workers(2).name_threads(name).build().unwrap();
        // Many that wait, each of which takes a thread of its own in threads mode.
        rt.run(|| {
            let (tx, rx) = myriad::channel::bounded::<()>(1);
            let all: Vec<_> = (0..20)
                .map(|_| {
                    let rx = rx.clone();
                    spawn(move || rx.recv().is_err())
                })
                .collect();
            time::sleep(Duration::from_millis(2));
            drop(tx);
            all.into_iter().for_each(|h| assert!(h.join().unwrap()));
        });
        assert!(asked.load(SeqCst) >= 2);
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}

/// The payload of a name that panics goes where the name was asked for: in the middle of a task's
/// wait, of which the payload's destructor knows nothing.
#[test]
fn payloads_of_names_that_wait() {
    struct Waits(Arc<AtomicUsize>);
    impl Drop for Waits {
        fn drop(&mut self) {
            // While it sleeps its worker gets another task, which holds it: so the sleeper goes on
            // elsewhere.
            for _ in 0..3 {
                drop(spawn(|| std::thread::sleep(Duration::from_millis(15))));
            }
            time::sleep(Duration::from_micros(500));
            self.0.fetch_add(1, SeqCst);
        }
    }
    quiet();
    // Whether the waiter goes on elsewhere is a matter of luck.
    for mode in MODES.repeat(10) {
        let _watch = watch(&format!("{mode}"));
        let (asked, dropped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (asks, drops) = (asked.clone(), dropped.clone());
        let name = move |worker: usize| {
            let n = asks.fetch_add(1, SeqCst);
            if n.is_multiple_of(3) {
                std::panic::resume_unwind(Box::new(Waits(drops.clone())))
            } else {
                format!("{worker}")
            }
        };
        let rt = mode.builder().workers(2).name_threads(name).build().unwrap();
        rt.run(|| {
            let (tx, rx) = myriad::channel::bounded::<()>(1);
            let receive = |_| {
                spawn({
                    let rx = rx.clone();
                    move || rx.recv().is_err()
                })
            };
            let all: Vec<_> = (0..20).map(receive).collect();
            drop(tx);
            all.into_iter().for_each(|h| assert!(h.join().unwrap()));
        });
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        assert!(asked.load(SeqCst) >= 2);
        // (The monitor may just have asked for a spare's name.)
        wait_until(|| dropped.load(SeqCst) == asked.load(SeqCst).div_ceil(3));
    }
}

/// The name of a spare worker's thread is asked for by the monitor, which holds nothing meanwhile:
/// runtimes begin and end.
#[test]
fn the_name_of_a_spare_may_build_a_runtime() {
    let output = in_child(&[], || {
        for mode in MODES {
            let built = Arc::new(AtomicUsize::new(0));
            let counts = built.clone();
            let name = move |worker: usize| {
                if worker > 0 {
                    let rt = Builder::new().workers(1).build().unwrap();
                    counts.fetch_add(rt.run(|| 1), SeqCst);
                }
                format!("named {worker}")
            };
            let rt = mode.builder().workers(1).name_threads(name).build().unwrap();
            let begun = Arc::new(AtomicBool::new(false));
            let says = begun.clone();
            // The only worker is stuck until a task behind it has run, on a spare.
            let stuck = rt.spawn(move || compute_until(|| says.load(SeqCst)));
            let h = rt.spawn(move || {
                begun.store(true, SeqCst);
                std::thread::current().name().map(str::to_string)
            });
            assert!(h.join().unwrap().unwrap().starts_with("named"));
            stuck.join().unwrap();
            wait_until(|| built.load(SeqCst) > 0);
        }
    });
    assert_ok(&output);
}

/// While the name of a spare is asked for, the runtime ends. So who asks is the last who holds the
/// user's functions, and what they hold goes there: it waits, asks another runtime, and panics.
/// Others get help.
#[test]
fn hooks_of_which_who_asks_for_a_name_lets_go_last() {
    struct Last(Arc<AtomicUsize>, myriad::Handle);
    impl Drop for Last {
        fn drop(&mut self) {
            assert_eq!(self.1.spawn(|| 5).join().unwrap(), 5);
            time::sleep(Duration::from_millis(1));
            self.0.fetch_add(1, SeqCst);
            plan("what a hook holds panics");
        }
    }
    let output = in_child(&[], || {
        quiet();
        for mode in MODES {
            // Gets help later on.
            let other = mode.runtime(1);
            let [asked, go] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
            let dropped = Arc::new(AtomicUsize::new(0));
            let last = Last(dropped.clone(), other.handle());
            let (asks, goes) = (asked.clone(), go.clone());
            let name = move |worker: usize| {
                let _last = &last;
                if worker > 0 {
                    asks.store(true, SeqCst);
                    wait_until(|| goes.load(SeqCst));
                }
                format!("named {worker}")
            };
            let rt = mode.builder().workers(1).name_threads(name).build().unwrap();
            let was_asked = asked.clone();
            // The only worker is stuck, and a task waits behind it, until a spare's name is asked
            // for.
            let stuck = rt.spawn(move || compute_until(|| was_asked.load(SeqCst)));
            let behind = rt.spawn(|| ());
            stuck.join().unwrap();
            behind.join().unwrap();
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
            assert_eq!(dropped.load(SeqCst), 0, "who asks holds it yet");
            go.store(true, SeqCst);
            wait_until(|| dropped.load(SeqCst) == 1);
            // The next who are stuck are found.
            let begun = Arc::new(AtomicBool::new(false));
            let says = begun.clone();
            let stuck = other.spawn(move || compute_until(|| says.load(SeqCst)));
            let behind = other.spawn(move || begun.store(true, SeqCst));
            stuck.join().unwrap();
            behind.join().unwrap();
        }
    });
    assert_ok(&output);
}

/// Hooks for threads and for stuck workers may wait, panic, spawn, and begin and end runtimes.
#[test]
fn hooks_that_do_all_kinds_of_things() {
    quiet();
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let (starts, ends, told) =
            (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (start, end, tells) = (starts.clone(), ends.clone(), told.clone());
        let other = Arc::new(mode.runtime(1));
        let others = other.clone();
        let rt = mode
            .builder()
            .workers(2)
            .on_thread_start(move |_| {
                start.fetch_add(1, SeqCst);
                assert_eq!(others.spawn(|| 5).join().unwrap(), 5);
                time::sleep(Duration::from_millis(1));
                plan("a hook panics");
            })
            .on_thread_end(move |_| {
                end.fetch_add(1, SeqCst);
                drop(Builder::new().workers(1).build().unwrap());
                plan("a hook panics");
            })
            .on_stuck(OnStuck::Hook {
                after: Duration::from_millis(1),
                hook: Arc::new(move |_| {
                    tells.fetch_add(1, SeqCst);
                    assert_eq!(other.run(|| 6), 6);
                    time::sleep(Duration::from_millis(1));
                    plan("a hook panics");
                }),
            })
            .build()
            .unwrap();
        rt.run(|| compute_until(|| told.load(SeqCst) > 0));
        rt.run(|| (0..10).map(|_| spawn(|| time::sleep(Duration::from_millis(1)))).for_each(|h| h.join().unwrap()));
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        assert_eq!(starts.load(SeqCst), ends.load(SeqCst));
        assert!(starts.load(SeqCst) >= 2);
    }
}

/// The hooks of a runtime that has ended are dropped with it, under no lock: what they hold may
/// have a destructor of its own.
#[test]
fn hooks_are_dropped_with_their_runtime() {
    struct Last(Mutex<Option<crate::common::Counted>>);
    impl Drop for Last {
        fn drop(&mut self) {
            // As a user's may: it uses runtimes, and panics.
            assert_eq!(Builder::new().workers(1).build().unwrap().run(|| 3), 3);
            drop(locked(&self.0).take());
            plan("a destructor of a hook panics");
        }
    }
    quiet();
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        let drops = Drops::new();
        let last = || Last(Mutex::new(Some(drops.one())));
        let (a, b, c, d) = (last(), last(), last(), last());
        let rt = mode
            .builder()
            .workers(1)
            .name_threads(move |n| format!("{n}{}", locked(&a.0).is_some()))
            .on_thread_start(move |_| drop(locked(&b.0)))
            .on_stuck(OnStuck::Hook { after: Duration::from_secs(1), hook: Arc::new(move |_| drop(locked(&c.0))) })
            .on_unhandled_panic(myriad::Unhandled::Hook(Arc::new(move |_| drop(locked(&d.0)))))
            .build()
            .unwrap();
        assert_eq!(rt.run(|| 5), 5);
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        drops.wait_all(4);
    }
}

/// A hook of the global runtime's own threads spawns while that is started: it is told, and nobody
/// waits for ever.
#[test]
fn a_hook_that_needs_the_runtime_that_starts() {
    let output = in_child(&[], || {
        quiet();
        let told = Arc::new(AtomicUsize::new(0));
        let (by_name, by_hook) = (told.clone(), told.clone());
        let spawns = |told: &AtomicUsize| {
            let result = std::panic::catch_unwind(|| drop(spawn(|| ())));
            told.fetch_add(usize::from(result.is_err()), SeqCst);
        };
        let builder = Builder::new().workers(2).name_threads(move |n| {
            spawns(&by_name);
            format!("{n}")
        });
        builder.on_thread_start(move |_| spawns(&by_hook)).install().unwrap();
        assert_eq!(told.load(SeqCst), 4);
        assert_eq!(spawn(|| 5).join().unwrap(), 5);
    });
    assert_ok(&output);
}

/// The standard error is full: what the engine says is lost, and nothing else.
#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_error() {
    use std::os::fd::AsRawFd;
    let output = in_child(&[], || {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        // SAFETY: two descriptors that are open.
        assert_eq!(unsafe { libc::dup2(full.as_raw_fd(), 2) }, 2);
        std::panic::set_hook(Box::new(|_| ()));
        for mode in MODES {
            let report = OnStuck::Report { after: Duration::from_millis(1) };
            let rt = mode.builder().workers(1).on_stuck(report).build().unwrap();
            for _ in 0..3 {
                let begun = Arc::new(AtomicBool::new(false));
                let says = begun.clone();
                let stuck = rt.spawn(move || compute_until(|| says.load(SeqCst)));
                // The monitor reports the first, and lives to begin a spare worker for the second.
                rt.spawn(move || {
                    let until = std::time::Instant::now() + Duration::from_millis(30);
                    compute_until(|| std::time::Instant::now() > until);
                    begun.store(true, SeqCst);
                });
                stuck.join().unwrap();
            }
            assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
        }
    });
    assert_ok(&output);
}
