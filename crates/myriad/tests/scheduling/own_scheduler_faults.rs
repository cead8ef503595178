//! Schedulers of programs that lose tasks, keep them, panic, wait, spawn, or mix pools up: no task
//! is lost, none runs twice, and shutdowns end.

use super::own_scheduler::{Listed, OldestFirst, oldest_first};
use crate::common::{MODES, Mode, PATIENCE, PLANNED, case, full_length, plan, quiet, wait_until, watch};
use myriad::channel::bounded;
use myriad::scheduler::{Cause, PoolInfo, ReadyTask, Scheduler, Turn};
use myriad::{Builder, Runtime, State, Unhandled, spawn, spawn_async, time, yield_now};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs closures and futures that wake each other and themselves, spawned from outside and inside,
/// joined and not: each runs once.
fn all_run_once(rt: &Runtime) {
    let runs: Arc<Vec<AtomicUsize>> = Arc::new((0..120).map(|_| AtomicUsize::new(0)).collect());
    let (tx, rx) = bounded(2);
    let mut handles = Vec::new();
    for i in 0..30 {
        let (runs, tx, rx) = (runs.clone(), tx.clone(), rx.clone());
        handles.push(rt.spawn(move || {
            let inner = {
                let runs = runs.clone();
                spawn(move || _ = runs[i].fetch_add(1, SeqCst))
            };
            let (detached, also) = (runs.clone(), runs.clone());
            drop(spawn(move || _ = detached[30 + i].fetch_add(1, SeqCst)));
            let receives = spawn_async(async move {
                let number: usize = rx.recv_async().await.unwrap();
                also[60 + number].fetch_add(1, SeqCst);
            });
            tx.send(i).unwrap();
            inner.join().unwrap();
            receives.join().unwrap();
            runs[90 + i].fetch_add(1, SeqCst);
        }));
    }
    handles.into_iter().for_each(|handle| handle.join().unwrap());
    wait_until(|| runs.iter().all(|runs| runs.load(SeqCst) > 0));
    assert!(runs.iter().all(|runs| runs.load(SeqCst) == 1));
}

/// Runs that with this scheduler, in both modes, on 1, 2 and 4 workers.
fn each_under<S: Scheduler>(make: impl Fn(&PoolInfo) -> S + Send + Sync + Clone + 'static) {
    let rounds = if full_length() { 20 } else { 3 };
    for mode in MODES {
        for workers in [1, 2, 4] {
            case(
                mode,
                workers,
                |b| b.scheduler(make.clone()).on_unhandled_panic(Unhandled::Ignore),
                |rt| (0..rounds).for_each(|_| all_run_once(rt)),
            );
        }
    }
}

/// Drops what comes, and what it should pick.
#[test]
fn one_that_drops_all() {
    struct Drops;
    impl Scheduler for Drops {
        fn enqueue(&self, task: ReadyTask, _: Cause) {
            drop(task);
        }
        fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
            None
        }
    }
    each_under(|_| Drops);
    let seldom = Arc::new(AtomicUsize::new(0));
    each_under(move |_| {
        let seldom = seldom.clone();
        Listed::new(move |tasks: &mut VecDeque<ReadyTask>, _: &Turn<'_>| {
            if seldom.fetch_add(1, Relaxed).is_multiple_of(3) {
                drop(tasks.pop_back());
            }
            tasks.pop_front()
        })
    });
}

/// What is dropped on another thread, while the workers sleep, wakes one.
#[test]
fn one_that_drops_elsewhere() {
    each_under(|_| {
        let (out, dropped) = std::sync::mpsc::channel::<ReadyTask>();
        std::thread::spawn(move || dropped.into_iter().for_each(drop));
        let out = Mutex::new(out);
        Listed::new(move |tasks: &mut VecDeque<ReadyTask>, _: &Turn<'_>| {
            tasks.drain(..).for_each(|task| out.lock().unwrap().send(task).unwrap());
            None
        })
    });
}

/// Panics, at each call or now and then, in either method: reported, and the tasks run.
#[test]
fn one_that_panics() {
    struct Panics(usize, AtomicUsize, OldestFirst);
    impl Panics {
        fn perhaps(&self) {
            if self.1.fetch_add(1, Relaxed).is_multiple_of(self.0) {
                plan("a scheduler");
            }
        }
    }
    impl Scheduler for Panics {
        fn enqueue(&self, task: ReadyTask, cause: Cause) {
            self.perhaps();
            self.2.enqueue(task, cause);
            self.perhaps();
        }
        fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
            self.perhaps();
            let task = self.2.pick_next(turn);
            self.perhaps();
            task
        }
    }
    for every in [1, 2, 7] {
        each_under(move |_| Panics(every, AtomicUsize::new(0), oldest_first()));
    }
    // Said as the runtime's settings are, once for each.
    let reports: Arc<Mutex<Vec<String>>> = Arc::default();
    let said = reports.clone();
    case(
        Mode::Threads,
        1,
        |b| {
            b.spare_workers(0)
                .scheduler(|_| Panics(1, AtomicUsize::new(0), oldest_first()))
                .on_unhandled_panic(Unhandled::Hook(Arc::new(move |text: &str| said.lock().unwrap().push(text.into()))))
        },
        |rt| rt.spawn(|| ()).join().unwrap(),
    );
    assert_eq!(*reports.lock().unwrap(), [format!("a scheduler panicked: {PLANNED}a scheduler")]);
}

/// Waits in its methods: for a time, for other tasks, for a task that only it can give out.
#[test]
fn one_that_waits() {
    struct Waits(AtomicUsize, OldestFirst);
    impl Scheduler for Waits {
        fn enqueue(&self, task: ReadyTask, cause: Cause) {
            if self.0.fetch_add(1, Relaxed).is_multiple_of(5) {
                yield_now();
            }
            self.1.enqueue(task, cause);
        }
        fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
            match self.0.fetch_add(1, Relaxed) % 50 {
                0 => time::sleep(Duration::from_micros(50)),
                10 => spawn(|| ()).join().unwrap(),
                20 => spawn_async(async { yield_now() }).join().unwrap(),
                30 => {
                    let (tx, rx) = bounded(0);
                    drop(spawn(move || tx.send(()).unwrap()));
                    rx.recv().unwrap();
                }
                _ => {}
            }
            self.1.pick_next(turn)
        }
    }
    each_under(|_| Waits(AtomicUsize::new(0), oldest_first()));
}

/// Spawns in its methods: what it spawns comes to it too.
#[test]
fn one_that_spawns() {
    static SPAWNED: AtomicUsize = AtomicUsize::new(0);
    static RAN: AtomicUsize = AtomicUsize::new(0);
    struct Spawns(AtomicUsize, OldestFirst);
    impl Spawns {
        fn now_and_then(&self) {
            if self.0.fetch_add(1, Relaxed).is_multiple_of(7) {
                SPAWNED.fetch_add(1, SeqCst);
                drop(spawn(|| _ = RAN.fetch_add(1, SeqCst)));
            }
        }
    }
    impl Scheduler for Spawns {
        fn enqueue(&self, task: ReadyTask, cause: Cause) {
            self.now_and_then();
            self.1.enqueue(task, cause);
        }
        fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
            self.now_and_then();
            self.1.pick_next(turn)
        }
    }
    each_under(|_| Spawns(AtomicUsize::new(0), oldest_first()));
    assert!(SPAWNED.load(SeqCst) > 0 && SPAWNED.load(SeqCst) == RAN.load(SeqCst));
}

/// Gives out no task: a shutdown ends all the same, joiners are told, and the report names what was
/// kept. The same if the tickets are forgotten.
#[test]
fn one_that_keeps_all() {
    quiet();
    struct Keeps(bool, Mutex<Vec<ReadyTask>>);
    impl Scheduler for Keeps {
        fn enqueue(&self, task: ReadyTask, _: Cause) {
            if self.0 {
                std::mem::forget(task);
            } else {
                self.1.lock().unwrap().push(task);
            }
        }
        fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
            None
        }
    }
    for (mode, forgets) in MODES.into_iter().flat_map(|mode| [(mode, false), (mode, true)]) {
        for workers in [1, 2] {
            let _watch = watch(&format!("{mode}, forgets: {forgets}, {workers}"));
            let rt =
                mode.builder().workers(workers).scheduler(move |_| Keeps(forgets, Mutex::default())).build().unwrap();
            let gone = Arc::new(AtomicUsize::new(0));
            struct Counts(Arc<AtomicUsize>);
            impl Drop for Counts {
                fn drop(&mut self) {
                    self.0.fetch_add(1, SeqCst);
                }
            }
            let handles: Vec<_> = (0..10)
                .map(|_| {
                    let counts = Counts(gone.clone());
                    rt.spawn(move || drop(counts))
                })
                .collect();
            let waits = {
                let handle = rt.handle();
                std::thread::spawn(move || handle.spawn(|| ()).join())
            };
            let report = rt.shutdown(Duration::from_millis(50));
            assert!(!report.is_clean() || !report.dropped().is_empty());
            for handle in handles {
                assert!(handle.join().unwrap_err().is_shutdown());
            }
            assert_eq!(gone.load(SeqCst), 10);
            assert!(waits.join().unwrap().unwrap_err().is_shutdown());
            let unstarted = report.dropped().iter().filter(|task| task.state() == State::Unstarted).count();
            assert!(unstarted == 10 || unstarted == 11, "{report}");
        }
    }
}

/// Gives workers of one pool tasks of another: each runs in its own.
#[test]
fn one_that_mixes_pools_up() {
    for mode in MODES {
        let tasks: Arc<Mutex<Vec<ReadyTask>>> = Arc::default();
        struct Mixed(Arc<Mutex<Vec<ReadyTask>>>);
        impl Scheduler for Mixed {
            fn enqueue(&self, task: ReadyTask, _: Cause) {
                self.0.lock().unwrap().push(task);
            }
            fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
                self.0.lock().unwrap().pop()
            }
        }
        let made = tasks.clone();
        case(
            mode,
            2,
            |b| b.pool("other", 1).scheduler(move |_| Mixed(made.clone())),
            |rt| {
                let other = rt.handle().pool("other").unwrap();
                let name = || myriad::Handle::current().unwrap().pool_name();
                let both: Vec<_> = (0..200).map(|_| (rt.spawn(name), other.spawn(name))).collect();
                for (here, there) in both {
                    assert_eq!((&*here.join().unwrap(), &*there.join().unwrap()), ("default", "other"));
                }
                all_run_once(rt);
            },
        );
        assert!(tasks.lock().unwrap().iter().all(ReadyTask::is_stale));
    }
}

/// A scheduler, and a property, whose destructors panic; a function that makes none.
#[test]
fn destructors_that_panic() {
    struct Bad(OldestFirst);
    impl Drop for Bad {
        fn drop(&mut self) {
            plan("the end of a scheduler");
        }
    }
    impl Scheduler for Bad {
        fn enqueue(&self, task: ReadyTask, cause: Cause) {
            self.0.enqueue(task, cause);
        }
        fn pick_next(&self, turn: &Turn<'_>) -> Option<ReadyTask> {
            self.0.pick_next(turn)
        }
    }
    struct BadProperty;
    impl Drop for BadProperty {
        fn drop(&mut self) {
            plan("the end of a property");
        }
    }
    for mode in MODES {
        for _ in 0..3 {
            case(
                mode,
                2,
                |b| b.scheduler(|_| Bad(oldest_first())),
                |rt| {
                    for _ in 0..20 {
                        let task = myriad::task::Builder::new().on(rt.handle()).property(BadProperty).spawn(|| 1);
                        assert_eq!(task.join().unwrap(), 1);
                    }
                },
            );
        }
    }
    let made =
        std::panic::catch_unwind(|| Builder::new().workers(1).scheduler(|_| -> OldestFirst { plan("none") }).build());
    assert!(made.is_err());
}

/// All of that by chance, while a runtime is shut down without patience: it ends, and every task
/// has run or was dropped, once.
#[test]
fn storms() {
    quiet();
    struct Chance(Mutex<Vec<ReadyTask>>);
    impl Scheduler for Chance {
        fn enqueue(&self, task: ReadyTask, _: Cause) {
            match myriad::rng().range(0..12u32) {
                0 => drop(task),
                1 => plan("enqueue"),
                2 => yield_now(),
                _ => self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(task),
            }
        }
        fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
            match myriad::rng().range(0..20u32) {
                0 => plan("pick_next"),
                1 => yield_now(),
                2 => time::sleep(Duration::from_micros(20)),
                3 => drop(spawn(|| ())),
                _ => {}
            }
            let mut tasks = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let n = tasks.len();
            if n == 0 { None } else { Some(tasks.swap_remove(myriad::rng().range(0..n))) }
        }
    }
    struct Once(Arc<AtomicUsize>);
    impl Drop for Once {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    let rounds = if full_length() { 300 } else { 30 };
    for round in 0..rounds {
        for mode in MODES {
            let _watch = watch(&format!("{mode}, round {round}"));
            let builder = mode.builder().workers(1 + round % 4).on_unhandled_panic(Unhandled::Ignore);
            let rt = builder.scheduler(|_| Chance(Mutex::default())).build().unwrap();
            let (gone, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
            let mut handles = Vec::new();
            for i in 0..50 {
                let (once, begun) = (Once(gone.clone()), begun.clone());
                handles.push(match i % 2 {
                    0 => rt.spawn(move || {
                        begun.store(true, SeqCst);
                        drop(once);
                    }),
                    _ => rt.spawn_async(async move {
                        time::sleep_async(Duration::from_micros(10)).await;
                        drop(once);
                    }),
                });
            }
            if round % 3 == 0 {
                wait_until(|| begun.load(SeqCst));
            }
            let report = rt.shutdown(if round % 2 == 0 { Duration::ZERO } else { PATIENCE });
            assert!(round % 2 == 0 || report.is_clean() && report.dropped().is_empty(), "{report}");
            handles.into_iter().for_each(|handle| _ = handle.join());
            wait_until(|| gone.load(SeqCst) == 50);
        }
    }
}
