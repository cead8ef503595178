//! Workers that are stuck in foreign locks, system calls and long computations: what waits behind them goes on.

mod common;

use common::{MODES, Mode, case, each, in_child, wait_until, watch};
use myriad::channel::{bounded, unbounded};
use myriad::{OnStuck, Runtime, State, Stuck, join, scope, spawn, spawn_async, time};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

fn in_threads_mode(workers: &[usize], body: impl Fn(&Runtime)) {
    for &workers in workers {
        case(Mode::Threads, workers, |b| b, &body);
    }
}

/// Computes, and does not come back to its worker, until the condition holds.
fn compute_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::hint::spin_loop();
    }
}

/// Each task holds `std`'s mutex over a receive, for which another task has to run; all others block in `lock` meanwhile.
#[test]
fn a_std_mutex_held_over_a_recv() {
    in_threads_mode(&[1, 2], |rt| {
        let n = Mutex::new(0);
        rt.run(|| {
            let (ask, asked) = unbounded::<myriad::channel::Sender<usize>>();
            let server = spawn(move || asked.iter().for_each(|reply| reply.send(1).unwrap()));
            scope(|s| {
                for _ in 0..1000 {
                    let (ask, n) = (ask.clone(), &n);
                    s.spawn(move || {
                        let mut n = n.lock().unwrap();
                        let (reply, answer) = bounded(1);
                        ask.send(reply).unwrap();
                        *n += answer.recv().unwrap();
                    });
                }
            });
            drop(ask);
            server.join().unwrap();
        });
        assert_eq!(*n.lock().unwrap(), 1000);
    });
}

/// The lock's owner sleeps with a timer that was set on a worker which is stuck in that lock.
#[test]
fn a_std_mutex_held_over_a_sleep() {
    in_threads_mode(&[1, 2], |rt| {
        let n = Mutex::new(0);
        rt.run(|| {
            scope(|s| {
                for _ in 0..20 {
                    s.spawn(|| {
                        let mut n = n.lock().unwrap();
                        time::sleep(Duration::from_millis(1));
                        *n += 1;
                    });
                }
            });
        });
        assert_eq!(*n.lock().unwrap(), 20);
    });
}

/// Spare workers get stuck in their turn: a barrier of `std`'s needs as many threads as tasks.
#[test]
fn a_chain_of_stuck_spares() {
    each(&[1, 2], |rt| {
        let barrier = Barrier::new(20);
        let first = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                for _ in 0..20 {
                    s.spawn(|| first.fetch_add(usize::from(barrier.wait().is_leader()), Relaxed));
                }
            });
        });
        assert_eq!(first.load(Relaxed), 1);
    });
}

/// All workers compute, and end only when the others have run: unstarted tasks, injected ones, futures and their timers.
#[test]
fn long_computations() {
    each(&[1, 2], |rt| {
        let (n, expected) = (AtomicUsize::new(0), 4);
        let n = &n;
        let begun = &AtomicUsize::new(0);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                wait_until(|| begun.load(Relaxed) == rt.workers());
                // Injected.
                rt.run(|| n.fetch_add(1, Relaxed));
            });
            rt.run(|| {
                scope(|s| {
                    for _ in 1..rt.workers() {
                        s.spawn(|| {
                            begun.fetch_add(1, Relaxed);
                            compute_until(|| n.load(Relaxed) == expected);
                        });
                    }
                    // The others have begun, so the next ones have nobody.
                    compute_until(|| begun.load(Relaxed) == rt.workers() - 1);
                    s.spawn(|| n.fetch_add(1, Relaxed));
                    s.spawn(|| {
                        time::sleep(Duration::from_millis(1));
                        n.fetch_add(1, Relaxed);
                    });
                    s.spawn(|| {
                        spawn_async(async { time::sleep_async(Duration::from_millis(1)).await }).join().unwrap();
                        n.fetch_add(1, Relaxed);
                    });
                    begun.fetch_add(1, Relaxed);
                    compute_until(|| n.load(Relaxed) == expected);
                });
            });
        });
    });
}

/// A future waits for a timer that was set on the worker which then computes.
#[test]
fn a_timer_of_a_worker_that_computes() {
    each(&[1, 2], |rt| {
        let rung = AtomicBool::new(false);
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let bell = spawn_async(async move {
                tx.send(()).unwrap();
                time::sleep_async(Duration::from_millis(5)).await;
            });
            rx.recv().unwrap();
            compute_until(|| bell.is_finished());
            rung.store(true, Relaxed);
        });
        assert!(rung.load(Relaxed));
    });
}

/// A spare's own timer wakes a task (or a future) of its own when it is off duty, and no other worker is idle to look.
#[test]
fn a_timer_of_a_spare_that_rests() {
    for future in [false, true] {
        each(&[1], |rt| {
            let (started, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
            let (starts, ends) = (started.clone(), done.clone());
            rt.run(move || {
                // So long that the spare is off duty by then.
                let pause = Duration::from_millis(300);
                let sleeper = if future {
                    spawn_async(async move {
                        starts.store(true, SeqCst);
                        time::sleep_async(pause).await;
                        ends.store(true, SeqCst);
                    })
                } else {
                    spawn(move || {
                        starts.store(true, SeqCst);
                        time::sleep(pause);
                        ends.store(true, SeqCst);
                    })
                };
                compute_until(|| started.load(SeqCst));
                // Neither stuck nor idle.
                wait_until(|| done.load(SeqCst));
                sleeper.join().unwrap();
            });
        });
    }
}

/// In threads mode also a closure that is ready goes on, when its own worker computes.
#[test]
fn a_ready_closure_of_a_worker_that_computes() {
    in_threads_mode(&[1, 2], |rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<()>(1);
            let (has_begun, begun) = bounded::<()>(1);
            let waits = spawn(move || {
                has_begun.send(()).unwrap();
                let id = std::thread::current().id();
                rx.recv().unwrap();
                assert_eq!(std::thread::current().id(), id);
                // Spawns, joins and waits as another worker now.
                assert_eq!(join(|| 1, || 2), (1, 2));
                time::sleep(Duration::from_millis(1));
                spawn(|| 3).join().unwrap()
            });
            begun.recv().unwrap();
            tx.send(()).unwrap();
            compute_until(|| waits.is_finished());
            assert_eq!(waits.join().unwrap(), 3);
        });
    });
}

/// A read from a pipe that only another task writes to.
#[test]
#[cfg(unix)]
fn a_system_call() {
    use std::io::{Read, Write};
    each(&[1, 2], |rt| {
        rt.run(|| {
            let pipes: Vec<_> = (0..rt.workers() + 1).map(|_| std::io::pipe().unwrap()).collect();
            let (readers, writers): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
            let readers: Vec<_> = readers
                .into_iter()
                .map(|mut pipe| {
                    spawn(move || {
                        let mut byte = [0];
                        pipe.read_exact(&mut byte).unwrap();
                        byte[0]
                    })
                })
                .collect();
            let writer = spawn(move || writers.into_iter().for_each(|mut pipe| pipe.write_all(&[7]).unwrap()));
            for reader in readers {
                assert_eq!(reader.join().unwrap(), 7);
            }
            writer.join().unwrap();
        });
    });
}

// ------------------------------------------------------------------------------------------------------- what is said

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
        let (all, hook) = told(Duration::from_millis(30));
        case(
            mode,
            1,
            |b| b.on_stuck(hook),
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
                let slow = || -> Vec<Stuck> {
                    all.lock().unwrap().iter().filter(|s| s.name() == Some("slow")).cloned().collect()
                };
                wait_until(|| !slow().is_empty());
                let stuck = slow()[0].clone();
                assert_eq!(stuck.worker(), 0, "{stuck}");
                let place = stuck.place();
                assert_eq!((place.file(), place.line()), (file!(), line), "{stuck}");
                assert!(stuck.duration() >= Duration::from_millis(30), "{stuck}");
                let text = stuck.to_string();
                assert!(text.contains("'slow' spawned at ") && text.contains("worker 0 of 'myriad'"), "{text}");
                if cfg!(target_os = "linux") {
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
    }
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
                assert!(all.lock().unwrap().iter().all(|s| s.place().file() == file!()));
            },
        );
    }
}

/// By default nothing is said; the variable asks for it.
#[test]
fn the_standard_error_on_request() {
    let body = || {
        let rt = Mode::Threads.runtime(1);
        rt.run(|| {
            let until = Instant::now() + Duration::from_millis(200);
            compute_until(|| Instant::now() >= until);
        });
    };
    let quiet = in_child(&[], body);
    assert!(!String::from_utf8_lossy(&quiet.stderr).contains("has been stuck"));
    let loud = in_child(&[("MYRIAD_STUCK_MS", "30")], body);
    let text = String::from_utf8_lossy(&loud.stderr);
    assert!(text.contains("myriad: worker 0 of 'myriad' has been stuck for "), "{text}");
    assert!(text.contains("stuck_workers.rs:"), "{text}");
}

/// A hook that panics harms nobody; one that takes its time holds nothing up that needs no help.
#[test]
fn a_hook_that_panics() {
    common::quiet();
    let calls = Arc::new(AtomicUsize::new(0));
    let count = calls.clone();
    let hook = OnStuck::Hook {
        after: Duration::from_millis(20),
        hook: Arc::new(move |_| {
            count.fetch_add(1, Relaxed);
            common::plan("in the hook");
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

// ------------------------------------------------------------------------------------------------------- the end

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
        assert_eq!(report.unfinished()[0].place().file(), file!(), "{report}");
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
        let report = rt.shutdown(common::PATIENCE);
        assert!(report.is_clean(), "{report}");
        assert_eq!(done.load(Relaxed), 3);
    }
}

#[cfg(target_os = "linux")]
fn switches() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let myriads =
        tasks.filter(|task| std::fs::read_to_string(task.join("comm")).is_ok_and(|name| name.starts_with("myriad")));
    myriads
        .map(|task| {
            let status = std::fs::read_to_string(task.join("status")).unwrap_or_default();
            let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
            line.map_or(0, |n| n.trim().parse().unwrap())
        })
        .sum()
}

/// With nothing to do no thread of a runtime wakes up, the monitor included.
#[test]
#[cfg(target_os = "linux")]
fn an_idle_runtime_does_not_tick() {
    let out = in_child(&[], || {
        let rt = Mode::Threads.runtime(2);
        rt.run(|| scope(|s| (0..10).for_each(|i| drop(s.spawn(move || time::sleep(Duration::from_millis(i)))))));
        // It takes a moment until all sleep: then half a second without a switch.
        wait_until(|| {
            let before = switches();
            std::thread::sleep(Duration::from_millis(500));
            assert!(before > 0);
            switches() == before
        });
    });
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// A thousand runtimes, some of which needed help: no thread is left.
#[test]
#[cfg(target_os = "linux")]
fn a_thousand_runtimes() {
    let out = in_child(&[], || {
        for i in 0..1000 {
            let mode = MODES[i % 2];
            let rt = mode.runtime(1 + i % 3);
            if i % 100 < 2 {
                let barrier = Barrier::new(5);
                rt.run(|| scope(|s| (0..5).for_each(|_| drop(s.spawn(|| barrier.wait())))));
            } else {
                assert_eq!(rt.run(|| spawn(|| 1).join().unwrap()), 1);
            }
            let report = rt.shutdown(common::PATIENCE);
            assert!(report.is_clean(), "{report}");
            let threads = || std::fs::read_dir("/proc/self/task").unwrap().count();
            // The first thread, the test's, the watchdog.
            wait_until(|| threads() <= 3);
        }
    });
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
}

/// A worker that is about to sleep finds a task, and is stuck in it: the monitor, which looks at that moment, must not believe that
/// all sleep, or no spare ever comes.
#[test]
fn stuck_on_the_way_to_sleep() {
    for mode in MODES {
        let _watch = watch(&format!("{mode}"));
        for i in 0..150 {
            let rt = mode.builder().workers(1).spare_workers(1).build().unwrap();
            // The worker looks around for 50 µs before it sleeps.
            let began = Instant::now();
            while began.elapsed() < Duration::from_micros(i % 100) {
                std::hint::spin_loop();
            }
            rt.run(|| {
                let (tx, rx) = std::sync::mpsc::channel();
                let behind = spawn(move || tx.send(7).unwrap());
                // A wait that knows nothing of tasks.
                assert_eq!(rx.recv(), Ok(7));
                behind.join().unwrap();
            });
            assert!(rt.shutdown(common::PATIENCE).is_clean());
        }
    }
}
