//! The end of task-locals: when they are dropped, in which order, what their destructors may do,
//! and that nothing is left.

use crate::common::{Drops, MODES, PLANNED, case, catch_planned, each, in_both_modes, plan, quiet, wait_until, watch};
use myriad::channel::{bounded, rendezvous};
use myriad::task::current;
use myriad::{Unhandled, join, scope, spawn, spawn_async, task_local, yield_now};
use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};

/// Tells what happens to it.
struct Noisy(&'static str, Arc<Mutex<Vec<String>>>);

impl Noisy {
    fn say(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

task_local! {
    static LOG: RefCell<Option<Arc<Mutex<Vec<String>>>>> = RefCell::new(None);
    static FIRST: RefCell<Option<Noisy>> = RefCell::new(None);
    static SECOND: RefCell<Option<Noisy>> = RefCell::new(None);
    static LATE: RefCell<Option<Noisy>> = RefCell::new(None);
}

impl Drop for Noisy {
    fn drop(&mut self) {
        match self.0 {
            "blocks" => {
                yield_now();
                let (tx, rx) = rendezvous();
                spawn(move || tx.send(1).unwrap());
                assert_eq!(rx.recv(), Ok(1));
                assert!(current().is_some());
            }
            "panics" => {
                self.say("panics");
                plan("in a destructor");
            }
            "looks" => {
                // Its own is gone, the older one is still there, and a new one can be made.
                self.say(if SECOND.try_with(|_| ()).is_err() { "sees itself gone" } else { "sees itself" });
                self.say(if FIRST.with_borrow(Option::is_some) { "sees the first" } else { "misses the first" });
                LATE.set(Some(Noisy("late", self.1.clone())));
            }
            _ => {}
        }
        self.say("is dropped");
    }
}

#[test]
fn dropped_at_the_end_the_newest_first() {
    in_both_modes(|rt| {
        for detach in [false, true] {
            let log = Arc::new(Mutex::new(Vec::new()));
            let (own, first, second) = (log.clone(), Noisy("first", log.clone()), Noisy("looks", log.clone()));
            let body = move || {
                FIRST.set(Some(first));
                SECOND.set(Some(second));
                own.lock().unwrap().push("the task ends".to_owned());
            };
            if detach {
                drop(rt.spawn(body));
                wait_until(|| log.lock().unwrap().len() == 6);
            } else {
                rt.spawn(body).join().unwrap();
            }
            let expected = [
                "the task ends",
                "looks sees itself gone",
                "looks sees the first",
                "looks is dropped",
                "late is dropped",
                "first is dropped",
            ];
            assert_eq!(*log.lock().unwrap(), expected, "detached: {detach}");
        }
    });
}

/// All ways in which a task can run: from the loop, on top of its joiner, in a scope, as a side of
/// `join`, as a future, by `run`.
fn in_all_ways(rt: &myriad::Runtime, body: impl Fn() + Copy + Send + Sync + 'static) {
    rt.spawn(body).join().unwrap();
    rt.run(body);
    rt.run(move || {
        spawn(body).join().unwrap();
        let task = spawn(body);
        yield_now();
        task.join().unwrap();
        scope(|s| {
            s.spawn(body);
            s.spawn(body).join().unwrap();
        });
        join(|| (), body);
        join(yield_now, body);
        spawn_async(async move { body() }).join().unwrap();
        spawn_async(async move {
            myriad::time::sleep_async(std::time::Duration::from_micros(1)).await;
            body();
        })
        .join()
        .unwrap();
    });
}
const WAYS: usize = 10;

#[test]
fn destructors_may_block() {
    static DONE: AtomicUsize = AtomicUsize::new(0);
    in_both_modes(|rt| {
        DONE.store(0, SeqCst);
        in_all_ways(rt, || {
            task_local! { static LAST: Last = Last; }
            struct Last;
            impl Drop for Last {
                fn drop(&mut self) {
                    DONE.fetch_add(1, SeqCst);
                }
            }
            LAST.with(|_| ());
            FIRST.set(Some(Noisy("blocks", Arc::default())));
        });
        assert_eq!(DONE.load(SeqCst), WAYS);
    });
}

#[test]
fn a_destructor_that_panics_is_reported() {
    for mode in MODES {
        let lines: Arc<Mutex<Vec<String>>> = Arc::default();
        let hook = lines.clone();
        let unhandled = Unhandled::Hook(Arc::new(move |line| hook.lock().unwrap().push(line.to_owned())));
        case(
            mode,
            2,
            |b| b.on_unhandled_panic(unhandled),
            |rt| {
                let log: Arc<Mutex<Vec<String>>> = Arc::default();
                static DROPPED: Mutex<Option<Arc<Mutex<Vec<String>>>>> = Mutex::new(None);
                *DROPPED.lock().unwrap() = Some(log.clone());
                in_all_ways(rt, || {
                    let log = DROPPED.lock().unwrap().clone().unwrap();
                    FIRST.set(Some(Noisy("first", log.clone())));
                    SECOND.set(Some(Noisy("panics", log)));
                });
                let log = log.lock().unwrap();
                for what in ["panics panics", "first is dropped"] {
                    assert_eq!(log.iter().filter(|line| *line == what).count(), WAYS, "{what}: {log:?}");
                }
            },
        );
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), WAYS, "{lines:?}");
        for line in lines.iter() {
            assert!(line.starts_with("the destructor of a task-local of the task spawned at "), "{line}");
            assert!(line.contains(file!()) && line.contains(PLANNED.trim()), "{line}");
        }
    }
}

#[test]
fn a_task_that_panics_drops_them() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        task_local! { static HELD: RefCell<Vec<crate::common::Counted>> = RefCell::new(Vec::new()); }
        let held = drops.clone();
        let hold = move || {
            HELD.with_borrow_mut(|all| all.push(held.one()));
            plan("as it should")
        };
        assert!(rt.spawn(hold.clone()).join().is_err());
        drops.assert_all(1);
        rt.run(|| {
            // The side of a `join`, called on top of a task without any: what it made is not the
            // caller's.
            catch_planned("as it should", || join(|| (), hold.clone()));
            drops.assert_all(2);
            assert_eq!(HELD.with_borrow(Vec::len), 0);
            HELD.with_borrow_mut(|all| all.push(drops.one()));
            catch_planned("as it should", || join(|| (), hold.clone()));
            assert_eq!((drops.made(), drops.dropped()), (4, 3));
            // The first side is the caller itself.
            catch_planned("as it should", || join(hold.clone(), hold.clone()));
            assert_eq!((drops.made(), drops.dropped()), (6, 4));
            assert_eq!(HELD.with_borrow(Vec::len), 2);
            let (copy, boxed) = (hold.clone(), hold.clone());
            assert!(spawn_async(async move { copy() }).join().is_err());
            scope(|s| assert!(s.spawn(boxed).join().is_err()));
        });
        drops.assert_all(8);
    });
}

#[test]
fn dropped_by_a_shutdown() {
    for mode in MODES {
        quiet();
        let _watch = watch("shutdown");
        let drops = Drops::new();
        task_local! { static HELD: RefCell<Option<crate::common::Counted>> = RefCell::new(None); }
        let rt = mode.runtime(2);
        let (tx, rx) = rendezvous::<()>();
        let (ready, readies) = bounded(10);
        rt.run(|| {
            for _ in 0..10 {
                let (rx, held, ready) = (rx.clone(), drops.clone(), ready.clone());
                spawn_async(async move {
                    HELD.set(Some(held.one()));
                    ready.send(()).unwrap();
                    _ = rx.recv_async().await;
                });
            }
            (0..10).for_each(|_| readies.recv().unwrap());
        });
        let report = rt.shutdown(std::time::Duration::ZERO);
        assert_eq!(report.dropped().len(), 10, "{report}");
        drops.assert_all(10);
        drop(tx);
    }
}

#[test]
fn a_hundred_thousand_tasks_leave_nothing() {
    each(&[2], |rt| {
        let drops = Drops::new();
        task_local! { static HELD: RefCell<Vec<crate::common::Counted>> = RefCell::new(Vec::new()); }
        rt.run(|| {
            for _ in 0..100 {
                let tasks: Vec<_> = (0..500)
                    .map(|_| {
                        let held = drops.clone();
                        spawn(move || HELD.with_borrow_mut(|all| all.push(held.one())))
                    })
                    .collect();
                let futures: Vec<_> = (0..500)
                    .map(|_| {
                        let held = drops.clone();
                        spawn_async(async move { HELD.with_borrow_mut(|all| all.push(held.one())) })
                    })
                    .collect();
                tasks.into_iter().chain(futures).for_each(|task| task.join().unwrap());
            }
        });
        drops.assert_all(100_000);
    });
}
