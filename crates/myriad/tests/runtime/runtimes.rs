//! Several runtimes: beside each other, in each other, and tasks that go between.

use crate::common::{Drops, MODES, Mode, case, each, in_both_modes, watch};
use myriad::channel::{bounded, rendezvous};
use myriad::{Runtime, join, scope, spawn, spawn_async};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

fn end(rt: Runtime) {
    let report = rt.shutdown(crate::common::PATIENCE);
    assert!(report.is_clean(), "{report}");
}

#[test]
fn a_runtime_inside_a_runtime() {
    in_both_modes(|outer| {
        for mode in MODES {
            let n = outer.run(|| {
                let inner = mode.runtime(2);
                let n = inner.run(|| join(|| spawn(|| 20).join().unwrap(), || 22));
                end(inner);
                n
            });
            assert_eq!(n, (20, 22));
        }
    });
}

/// Each level's task waits, set aside, for the level below.
#[test]
fn five_levels() {
    fn level(mode: Mode, n: usize) -> usize {
        if n == 0 {
            return 0;
        }
        let rt = mode.runtime(1);
        let below = rt.run(|| level(mode, n - 1));
        end(rt);
        below + 1
    }
    for mode in MODES {
        case(mode, 1, |b| b, |rt| assert_eq!(rt.run(|| level(mode, 5)), 5));
    }
}

/// While a task waits for another runtime, its worker does other things.
#[test]
fn waiting_for_another_runtime_blocks_the_task_only() {
    each(&[1], |outer| {
        let inner = Mode::Threads.runtime(1);
        let n = outer.run(|| {
            let (tx, rx) = bounded::<u32>(1);
            // Runs on the outer runtime's only worker, which must be free for it.
            let sender = spawn(move || tx.send(7).unwrap());
            let n = inner.run(|| rx.recv().unwrap());
            sender.join().unwrap();
            n
        });
        assert_eq!(n, 7);
        end(inner);
    });
}

#[test]
fn handles_and_channels_between_two_runtimes() {
    in_both_modes(|a| {
        for mode in MODES {
            let b = mode.runtime(2);
            let (to_b, from_a) = rendezvous::<u64>();
            let (to_a, from_b) = bounded::<u64>(2);
            let echo = b.spawn(move || {
                for n in from_a {
                    to_a.send(n * 2).unwrap();
                }
                "echo ends"
            });
            let handle_of_b = b.handle();
            let sum = a.run(|| {
                let sender = spawn(move || (0..300).for_each(|i| to_b.send(i).unwrap()));
                let sum: u64 = from_b.iter().sum();
                sender.join().unwrap();
                // Joined here, awaited here, spawned there.
                assert_eq!(echo.join().unwrap(), "echo ends");
                let there = handle_of_b.spawn(|| spawn(|| 5).join().unwrap());
                assert_eq!(spawn_async(there).join().unwrap().unwrap(), 5);
                sum
            });
            assert_eq!(sum, 2 * 44_850);
            end(b);
        }
    });
}

#[test]
fn many_at_once() {
    let _watch = crate::common::watch("24 runtimes");
    let runtimes: Vec<_> = (0..24).map(|i| MODES[i % 2].runtime(1 + i % 3)).collect();
    let total = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for rt in &runtimes {
            s.spawn(|| {
                let n = rt.run(|| {
                    let handles: Vec<_> = (0..100).map(|i| spawn(move || i)).collect();
                    handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
                });
                total.fetch_add(n, Relaxed);
            });
        }
    });
    assert_eq!(total.load(Relaxed), 24 * 4950);
    runtimes.into_iter().for_each(end);
}

/// A token goes round through eight runtimes.
#[test]
fn a_ring_of_runtimes() {
    for mode in MODES {
        let _watch = crate::common::watch(&mode.to_string());
        let runtimes: Vec<_> = (0..8).map(|_| mode.runtime(1)).collect();
        let (first, mut last) = bounded::<usize>(1);
        for rt in &runtimes {
            let (tx, rx) = bounded(1);
            let from = std::mem::replace(&mut last, rx);
            drop(rt.spawn(move || from.into_iter().for_each(|n| tx.send(n + 1).unwrap())));
        }
        let mut token = 0;
        for _ in 0..50 {
            first.send(token).unwrap();
            token = last.recv().unwrap();
        }
        assert_eq!(token, 8 * 50);
        drop(first);
        assert!(last.recv().is_err());
        runtimes.into_iter().for_each(end);
    }
}

#[test]
fn what_is_spawned_after_a_shutdown_is_dropped() {
    for mode in MODES {
        let _watch = crate::common::watch(&mode.to_string());
        let drops = Drops::new();
        let rt = mode.runtime(2);
        let handle = rt.handle();
        end(rt);
        let token = drops.one();
        let line = line!() + 1;
        let h = handle.spawn(move || drop(token));
        drops.assert_all(1);
        assert!(h.is_finished());
        let error = h.join().unwrap_err();
        assert!(error.is_shutdown() && error.spawned_at().line() == line, "{error}");
        assert!(error.to_string().ends_with("was dropped: its runtime has been shut down"), "{error}");
        // Awaited, and detached.
        assert!(myriad::block_on(handle.spawn(|| 1)).unwrap_err().is_shutdown());
        drop(handle.spawn(|| 1));
        let payload = crate::common::catch(|| handle.run(|| 1));
        assert!(
            crate::common::text(&*payload).contains("the runtime has been shut down"),
            "{}",
            crate::common::text(&*payload)
        );
    }
}

/// The end of a runtime inside of a task of another one, with tasks of both in a scope.
#[test]
fn a_scope_over_two_runtimes() {
    in_both_modes(|outer| {
        let sum = outer.run(|| {
            let inner = Mode::Threads.runtime(2);
            let sum = AtomicUsize::new(0);
            scope(|s| {
                for i in 0..20 {
                    let (inner, sum) = (&inner, &sum);
                    s.spawn(move || _ = sum.fetch_add(inner.run(|| spawn(move || i).join().unwrap()), Relaxed));
                }
            });
            end(inner);
            sum.into_inner()
        });
        assert_eq!(sum, 190);
    });
}

/// Again and again the last runtime ends while another one begins, so the monitor of the one ends
/// beside that of the other. Elsewhere each end waits for its own, and tasks behind a stuck worker
/// are helped by theirs.
#[test]
fn runtimes_come_while_others_go() {
    let _watch = watch("runtimes come and go");
    let threads: Vec<_> = (0..2)
        .map(|thread| {
            std::thread::spawn(move || {
                for round in 0..200 {
                    let rt = MODES[1].runtime(1);
                    assert_eq!(rt.run(|| spawn(move || round).join().unwrap()), round);
                    if round % 8 == thread {
                        // Idle for long enough that all workers sleep, and the monitor with them;
                        // then one is stuck, and needs it.
                        std::thread::sleep(Duration::from_millis(1));
                        rt.run(|| {
                            let (tx, rx) = std::sync::mpsc::channel();
                            let stuck = spawn(move || rx.recv().unwrap());
                            spawn(move || tx.send(7).unwrap());
                            assert_eq!(stuck.join().unwrap(), 7);
                        });
                    }
                    assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// What a program prints of what it has is a line.
#[test]
fn debug_output_is_short() {
    in_both_modes(|rt| {
        let line = |what: &dyn std::fmt::Debug| {
            let line = format!("{what:?}");
            assert!(line.len() < 300 && !line.contains('\n'), "{} bytes: {line}", line.len());
            line
        };
        for (what, kind) in [(line(rt), "Runtime {"), (line(&rt.handle()), "Handle {")] {
            let workers =
                format!("workers: {}, mode: {}", rt.workers(), if rt.is_fiber_mode() { "fibers" } else { "threads" });
            assert!(what.starts_with(kind) && what.contains("name: \"myriad\"") && what.contains(&workers), "{what}");
        }
        rt.run(|| {
            myriad::scope(|s| {
                line(s);
                line(&s.spawn(|| ()));
            });
            let mut set = myriad::task::JoinSet::new();
            for i in 0..100 {
                set.spawn(move || i);
            }
            line(&set);
            let h = myriad::spawn(|| ());
            let (sleep, blocking) = (myriad::time::sleep_async(crate::common::PATIENCE), myriad::blocking_async(|| ()));
            let (late, token) =
                (myriad::time::timeout_async(crate::common::PATIENCE, async {}), myriad::cancel::Token::new());
            let futures: [&dyn std::fmt::Debug; 6] =
                [&h.canceller(), &sleep, &late, &blocking, &token, &token.run_async(async {})];
            futures.iter().for_each(|what| _ = line(*what));
            let words: Result<(), myriad::Errors<String>> = myriad::try_scope(|s| Ok(_ = line(s)));
            words.unwrap();
            h.join().unwrap();
            while let Some(result) = set.join_next() {
                _ = result.unwrap();
            }
        });
    });
}

/// As tokio's: `?` takes them into an `io::Error`, which gives them back.
#[test]
fn errors_become_io_errors() {
    use std::io;
    let error: io::Error = myriad::spawn(|| crate::common::plan("planned")).join().unwrap_err().into();
    assert_eq!(error.kind(), io::ErrorKind::Other);
    assert!(error.to_string().contains("panicked: planned"), "{error}");
    let payload = error.downcast::<myriad::JoinError>().unwrap().try_into_panic().unwrap();
    assert_eq!(crate::common::text(&*payload), "planned: planned");
    let elapsed: io::Error = myriad::time::Elapsed.into();
    assert_eq!((elapsed.kind(), elapsed.to_string().as_str()), (io::ErrorKind::TimedOut, "the time limit has passed"));
    let failed = |kind| io::Error::new(kind, "a task");
    let both: Result<(), _> = myriad::try_scope(|s| {
        drop(s.spawn(|| -> Result<(), io::Error> { Err(failed(io::ErrorKind::NotFound)) }));
        Err(failed(io::ErrorKind::NotFound))
    });
    let error: io::Error = both.unwrap_err().into();
    assert_eq!(error.kind(), io::ErrorKind::NotFound);
    assert!((1..=2).contains(&error.downcast::<myriad::Errors<io::Error>>().unwrap().into_vec().len()));
}

/// `?` takes it into an error type that asks for `Sync`, as `anyhow`'s does.
#[test]
fn join_errors_are_shared() {
    fn shared<T: Send + Sync + 'static>(error: T) -> T {
        error
    }
    let joined = || -> Result<u32, Box<dyn std::error::Error + Send + Sync>> {
        Ok(myriad::spawn(|| if true { std::panic::panic_any(std::cell::Cell::new(1)) } else { 1 }).join()?)
    };
    let error = joined().unwrap_err();
    assert!(error.to_string().contains("(a payload that is not text)"), "{error}");
    let error = shared(myriad::spawn(|| crate::common::plan("planned")).join().unwrap_err());
    std::thread::scope(|s| {
        let texts: Vec<_> = (0..2).map(|_| s.spawn(|| error.to_string())).collect();
        texts.into_iter().for_each(|text| assert!(text.join().unwrap().contains("planned")));
    });
}
