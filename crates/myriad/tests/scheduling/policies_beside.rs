//! Policies beside what else decides where and when a task runs: pools, priorities, groups, threads
//! of their own, cancellation.

use crate::cancel_common::*;
use myriad::channel::{bounded, rendezvous};
use myriad::task::{Builder, Group, JoinSet, Priority, dedicated};
use myriad::time::{sleep, timeout};
use myriad::{Handle, Policy, Runtime, join, scope, spawn, spawn_async, spawn_on, try_scope, yield_now};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs `body` under each policy that has queues of its own, in both modes, beside another pool.
fn under_each(workers: &[usize], tweak: impl Fn(myriad::Builder) -> myriad::Builder, body: impl Fn(&Runtime)) {
    for policy in Policy::ALL.into_iter().filter(|policy| *policy != Policy::WorkStealing) {
        let tweak = |b: myriad::Builder| tweak(b.policy(policy).pool("other", 1));
        each_with(workers, tweak, |_, rt| {
            assert_eq!(rt.policy(), policy);
            body(rt);
        });
    }
}

fn here() -> String {
    Handle::current().expect("in a task").pool_name().to_string()
}

/// A tree whose nodes run in either pool by turns, and wait for each other.
fn tree(depth: u64) -> u64 {
    if depth == 0 {
        return 1;
    }
    let pool = ["default", "other"][depth as usize % 2];
    let far = spawn_on(pool, move || {
        assert_eq!(here(), pool);
        tree(depth - 1)
    });
    let (a, b) = join(|| tree(depth - 1), yield_now);
    () = b;
    a + far.join().unwrap()
}

#[test]
fn pools_wait_for_each_other() {
    under_each(
        &[1, 2],
        |b| b,
        |rt| {
            assert_eq!(rt.run(|| tree(7)), 128);
            let (tx, rx) = rendezvous::<u32>();
            let sends = rt.handle().pool("other").unwrap().spawn_async(async move {
                for i in 0..100 {
                    tx.send_async(i).await.unwrap();
                }
                here()
            });
            assert_eq!(rt.run(|| rx.iter().sum::<u32>()), 4950);
            assert_eq!(sends.join().unwrap(), "other");
        },
    );
}

/// Interactive tasks begin before all that waits in the policy's queues, background tasks after it;
/// and neither waits for ever.
#[test]
fn priorities_come_before_queues() {
    // One worker and no spares: who begins what is all its own doing.
    under_each(
        &[1],
        |b| b.spare_workers(0),
        |rt| {
            let log = Arc::new(Mutex::new(Vec::new()));
            let entry = |what: &'static str| {
                let log = log.clone();
                move || locked(&log).push(what)
            };
            let all = rt.run(|| {
                let last = Builder::new().priority(Priority::Background).spawn(entry("background"));
                let mut all: Vec<_> = (0..20).map(|_| spawn(entry("default"))).collect();
                all.push(Builder::new().priority(Priority::Interactive).spawn(entry("interactive")));
                all.push(last);
                all
            });
            all.into_iter().for_each(|h| h.join().unwrap());
            let log = std::mem::take(&mut *locked(&log));
            assert_eq!((log[0], log[21], log.len()), ("interactive", "background", 22), "{log:?}");
            // Beside tasks that are always there a background task begins all the same, and others
            // beside interactive ones.
            fn again(priority: Priority, over: Arc<AtomicBool>) {
                if !over.load(SeqCst) {
                    drop(Builder::new().priority(priority).spawn(move || again(priority, over)));
                }
            }
            for (always, seldom) in
                [(Priority::Default, Priority::Background), (Priority::Interactive, Priority::Default)]
            {
                let over = Arc::new(AtomicBool::new(false));
                rt.run(|| again(always, over.clone()));
                let h = rt.run(|| Builder::new().priority(seldom).spawn(|| ()));
                h.join().unwrap();
                over.store(true, SeqCst);
            }
        },
    );
}

/// Tasks of a group do not run at the same time, whatever the queues hand out beside them.
#[test]
fn groups_stay_together() {
    under_each(
        &[1, 2],
        |b| b,
        |rt| {
            let (inside, ran) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let group = Group::on(rt.handle(), ());
            let all: Vec<_> = (0..200)
                .map(|i| {
                    let (inside, ran) = (inside.clone(), ran.clone());
                    let f = move |_: &myriad::task::Local<()>| {
                        for _ in 0..3 {
                            assert!(!inside.swap(true, SeqCst), "two tasks of a group run at the same time");
                            std::hint::spin_loop();
                            inside.store(false, SeqCst);
                            match i % 3 {
                                0 => yield_now(),
                                1 => spawn(|| ()).join().unwrap(),
                                _ => _ = join(yield_now, yield_now),
                            }
                        }
                        ran.fetch_add(1, SeqCst);
                    };
                    if i % 2 == 0 { group.spawn(f) } else { rt.run(|| group.spawn(f)) }
                })
                .collect();
            rt.run(|| scope(|s| (0..200).for_each(|_| drop(s.spawn(yield_now)))));
            all.into_iter().for_each(|h| h.join().unwrap());
            assert_eq!(ran.load(SeqCst), 200);
        },
    );
}

/// A task with a thread of its own spawns into the policy's queues, and waits for what runs there.
#[test]
fn dedicated_tasks_spawn_into_the_queues() {
    under_each(
        &[1, 2],
        |b| b,
        |rt| {
            let h = rt.run(|| {
                dedicated(|| {
                    let all: Vec<_> = (0..50_u64).map(|i| spawn(move || i)).collect();
                    let futures: Vec<_> = (0..50_u64).map(|i| spawn_async(async move { i })).collect();
                    all.into_iter().chain(futures).map(|h| h.join().unwrap()).sum::<u64>()
                })
            });
            assert_eq!(h.join().unwrap(), 2 * 1225);
        },
    );
}

/// Cancelled in a queue, blocked, and on top of a joiner: each ends, and is dropped once.
#[test]
fn cancelled_wherever_it_stands() {
    under_each(
        &[1, 2],
        |b| b,
        |rt| {
            rt.run(|| {
                let drops = Drops::new();
                // Not begun, most likely.
                let all: Vec<_> = (0..100)
                    .map(|i| {
                        let held = drops.one();
                        let wait = move || (sleep(LONG), held);
                        if i % 2 == 0 { spawn(wait) } else { spawn(move || spawn(wait).join().unwrap()) }
                    })
                    .collect();
                all.iter().for_each(|h| h.cancel());
                all.into_iter().for_each(|h| assert!(h.join().unwrap_err().is_cancelled()));
                drops.assert_all(100);
                // Blocked, and in a join and a scope that pass it on.
                let (_tx, rx) = bounded::<u32>(1);
                cancel_in(move || rx.recv());
                cancel_in(|| join(|| sleep(LONG), || sleep(LONG)));
                cancel_in(|| scope(|s| (0..20).for_each(|_| drop(s.spawn(|| sleep(LONG))))));
                let held: Vec<_> = (0..20).map(|_| drops.one()).collect();
                let limited = timeout(Duration::from_millis(1), || {
                    scope(|s| held.into_iter().for_each(|held| drop(s.spawn(|| (sleep(LONG), held)))));
                });
                assert!(limited.is_err());
                drops.assert_all(120);
                // Futures.
                let futures: Vec<_> = (0..20).map(|_| spawn_async(std::future::pending::<()>())).collect();
                futures.into_iter().for_each(assert_cancelled);
                let mut set = JoinSet::new();
                (0..20).for_each(|_| set.spawn(|| sleep(LONG)));
                drop(set);
                let failed = try_scope(|s| {
                    (0..20).for_each(|_| {
                        s.spawn(|| {
                            sleep(LONG);
                            Ok(())
                        });
                    });
                    Err::<(), _>("no")
                });
                assert!(failed.is_err());
            });
        },
    );
}
