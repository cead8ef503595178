//! What the bodies of a parallel loop may do, and where it may run: they block, spawn, nest and
//! meet; on foreign threads and small stacks, over any iterator.

use super::par_loops::SCHEDULES;
use crate::common::{Drops, MODES, Mode, case, catch_planned, in_both_modes, locked, plan};
use myriad::par::{self, Loop, Schedule};
use myriad::{channel, task, time};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Locks, channels, sleeps, spawned tasks.
#[test]
fn bodies_that_block_and_spawn() {
    in_both_modes(|rt| {
        for schedule in SCHEDULES {
            let total = myriad::sync::Mutex::new(0);
            rt.run(|| {
                let (tx, rx) = channel::bounded(1);
                let receiver = myriad::spawn(move || rx.iter().sum::<usize>());
                Loop::new(0..60).schedule(schedule).run(|i| {
                    tx.send(i).unwrap();
                    let child = myriad::spawn(move || i * 2);
                    let mut total = total.lock().unwrap();
                    myriad::yield_now();
                    *total += child.join().unwrap();
                    if i % 20 == 0 {
                        time::sleep(Duration::from_micros(50));
                    }
                });
                drop(tx);
                assert_eq!(receiver.join().unwrap(), 1770);
            });
            assert_eq!(*total.lock().unwrap(), 3540, "{schedule:?}");
        }
    });
}

/// In a greedy loop as many bodies wait at a time as it has tasks, whatever the workers: they meet,
/// and wait for earlier ones.
#[test]
fn greedy_bodies_meet() {
    in_both_modes(|rt| {
        rt.run(|| {
            let barrier = myriad::sync::Barrier::new(5);
            Loop::new(0..50).schedule(Schedule::Greedy).tasks(5).run(|_| _ = barrier.wait());
            let (tx, rx) = channel::rendezvous();
            Loop::new(0..100)
                .schedule(Schedule::Greedy)
                .tasks(2)
                .run(|i| if i % 2 == 0 { tx.send(i).unwrap() } else { _ = rx.recv().unwrap() });
        });
    });
}

#[test]
fn loops_in_loops_in_tasks() {
    in_both_modes(|rt| {
        let hits = AtomicUsize::new(0);
        rt.run(|| {
            let outer: Vec<_> =
                (0..3).map(|_| myriad::spawn(|| par::map_reduce_index(0..30_u64, |i| i, 0, |a, b| a + b))).collect();
            Loop::new(0..20).schedule(Schedule::Greedy).run(|_| {
                Loop::new(0..10).grain(1).run(|_| {
                    Loop::new(0..5).schedule(Schedule::Static).run(|_| _ = hits.fetch_add(1, Relaxed));
                });
            });
            assert!(outer.into_iter().all(|task| task.join().unwrap() == 435));
        });
        assert_eq!(hits.load(Relaxed), 1000);
    });
}

/// From threads that have nothing to do with Myriad, and from tasks with a thread of their own.
#[test]
fn foreign_threads() {
    let sum = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for schedule in SCHEDULES {
                    Loop::new(0..100).schedule(schedule).run(|i| _ = sum.fetch_add(i, Relaxed));
                }
                par::for_each_bridge(0..100, |i| _ = sum.fetch_add(i, Relaxed));
            });
        }
    });
    assert_eq!(sum.load(Relaxed), 4 * 4 * 4950);
    in_both_modes(|rt| {
        let h = rt.run(|| task::dedicated(|| par::map(&[1, 2, 3], |x| x * 2)));
        assert_eq!(h.join().unwrap(), [2, 4, 6]);
    });
}

/// The smallest stacks: splitting takes a frame for each halving, and more of them than fit find
/// another stack.
#[test]
fn small_stacks() {
    for mode in MODES {
        // (The sanitizer's frames are several times as large.)
        let times = if cfg!(myriad_asan) { 4 } else { 1 };
        let size = times * if mode == Mode::Fibers { 32 * 1024 } else { 128 * 1024 };
        case(
            mode,
            2,
            |b| b.stack_size(size),
            |rt| {
                let hits = AtomicUsize::new(0);
                rt.run(|| {
                    for schedule in SCHEDULES {
                        Loop::new(0..4000).schedule(schedule).grain(1).tasks(200).run(|_| {
                            hits.fetch_add(1, Relaxed);
                            myriad::yield_now();
                        });
                    }
                });
                assert_eq!(hits.load(Relaxed), 12_000);
            },
        );
    }
}

/// Any iterator: one task at a time is in it, in the items' order; it may block, and own what it
/// yields.
#[test]
fn any_iterator() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = channel::bounded(2);
            let drops = Drops::new();
            let d = drops.clone();
            let feeder = myriad::spawn(move || {
                for i in 0..200 {
                    tx.send((i, d.one())).unwrap();
                    myriad::yield_now();
                }
            });
            let seen = Mutex::new(BTreeSet::new());
            par::for_each_bridge(&rx, |(i, _own)| {
                myriad::yield_now();
                assert!(locked(&seen).insert(i));
            });
            feeder.join().unwrap();
            assert_eq!(*locked(&seen), (0..200).collect());
            drops.assert_all(200);
        });
    });
}

/// Bodies that panic: the others run. An iterator that panics: it is not asked again. Without an
/// end: a cancellation ends it.
#[test]
fn iterators_and_panics() {
    in_both_modes(|rt| {
        let ran = AtomicUsize::new(0);
        let body = |i: i32| {
            ran.fetch_add(1, Relaxed);
            if i % 10 == 3 {
                plan(&format!("item {i}"));
            }
        };
        catch_planned("item 3", || rt.run(|| par::for_each_bridge(0..100, body)));
        assert_eq!(ran.swap(0, Relaxed), 100);
        let items = (0..100).map(|i| if i == 50 { plan("iterator") } else { i });
        catch_planned("iterator", || rt.run(|| par::for_each_bridge(items, |_| _ = ran.fetch_add(1, Relaxed))));
        assert_eq!(ran.load(Relaxed), 50);
        let h = rt.spawn(|| par::for_each_bridge(std::iter::repeat(()), |()| ()));
        h.cancel();
        assert!(h.join().unwrap_err().is_cancelled());
    });
}
