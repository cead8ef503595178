//! Long computations, on threads where nobody waits behind them.

use crate::common::{MODES, case, catch_planned, each_with, in_both_modes, plan, quiet};
use myriad::{compute, compute_async, scope, spawn, spawn_async};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

fn cores() -> usize {
    myriad::platform().workers
}

fn spin_until(flag: &AtomicBool) {
    while !flag.load(SeqCst) {
        std::hint::spin_loop();
    }
}

/// A blocked task of the same worker goes on: in fiber mode nobody else could help it.
#[test]
fn nobody_waits_behind_it() {
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            let done = Arc::new(AtomicBool::new(false));
            let (tx, rx) = myriad::channel::rendezvous::<()>();
            let says = done.clone();
            let blocked = rt.spawn(move || {
                rx.recv().unwrap();
                says.store(true, SeqCst);
            });
            let computes = rt.spawn(move || compute(|| spin_until(&done)));
            rt.spawn(move || tx.send(()).unwrap()).join().unwrap();
            computes.join().unwrap();
            blocked.join().unwrap();
        },
    );
}

#[test]
fn borrows_and_is_still_the_task() {
    myriad::task_local! { static LOCAL: Cell<u32> = Cell::new(1); }
    in_both_modes(|rt| {
        let (mut list, me) = (vec![3, 1, 2], AtomicUsize::new(0));
        let sum = rt.run(|| {
            LOCAL.with(|l| l.set(5));
            compute(|| {
                list.sort_unstable();
                me.fetch_add(1, SeqCst);
                LOCAL.with(|l| l.replace(6)) as i32 + list.iter().sum::<i32>()
            }) + LOCAL.with(Cell::get) as i32
        });
        assert_eq!((sum, &*list, me.into_inner()), (5 + 6 + 6, &[1, 2, 3][..], 1));
    });
}

#[test]
fn panics_go_on() {
    quiet();
    in_both_modes(|rt| {
        rt.run(|| catch_planned("in a computation", || compute(|| plan("in a computation"))));
        let async_ = rt.spawn_async(async { compute_async(|| -> u32 { plan("in another") }).await });
        assert!(async_.join().unwrap_err().is_panic());
    });
}

/// How many of these run at a time.
struct Running(AtomicUsize, AtomicUsize);

impl Running {
    fn during(&self, f: impl FnOnce()) {
        let now = self.0.fetch_add(1, SeqCst) + 1;
        self.1.fetch_max(now, SeqCst);
        f();
        self.0.fetch_sub(1, SeqCst);
    }
}

#[test]
fn as_many_as_processors_and_all_have_their_turn() {
    in_both_modes(|rt| {
        let running = Running(AtomicUsize::new(0), AtomicUsize::new(0));
        let done = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                for _ in 0..20 {
                    s.spawn(|| {
                        compute(|| running.during(|| (0..10).for_each(|_| std::thread::yield_now())));
                        done.fetch_add(1, SeqCst);
                    });
                }
            });
        });
        assert_eq!(done.into_inner(), 20);
        let most = running.1.into_inner();
        assert!((1..=cores()).contains(&most), "{most} at a time");
    });
}

/// One that waits gives its place to another, so those that wait for each other do not hang,
/// however many they are.
#[test]
fn computations_wait_for_each_other() {
    in_both_modes(|rt| {
        let n = 3 * cores() + 2;
        let barrier = myriad::sync::Barrier::new(n);
        rt.run(|| {
            scope(|s| {
                for _ in 0..n {
                    s.spawn(|| {
                        compute(|| {
                            barrier.wait();
                            // And for tasks, which compute in their turn.
                            assert_eq!(spawn(|| compute(|| 7)).join().unwrap(), 7);
                        })
                    });
                }
            });
        });
    });
}

#[test]
fn within_itself_and_on_foreign_threads_it_is_a_call() {
    in_both_modes(|rt| {
        rt.run(|| {
            compute(|| {
                let here = std::thread::current().id();
                assert_eq!(compute(|| std::thread::current().id()), here);
            });
        });
        let here = std::thread::current().id();
        assert_eq!(compute(|| std::thread::current().id()), here);
    });
}

#[test]
fn as_futures() {
    in_both_modes(|rt| {
        let all: Vec<_> = (0..50_u64)
            .map(|i| rt.spawn_async(async move { compute_async(move || (0..=i).sum::<u64>()).await }))
            .collect();
        for (i, h) in (0..50).zip(all) {
            assert_eq!(h.join().unwrap(), i * (i + 1) / 2);
        }
        // Dropped: it is made all the same, and its result dropped.
        let drops = crate::common::Drops::new();
        let one = drops.one();
        rt.run(|| drop(spawn_async(async move { drop(compute_async(move || one)) }).join()));
        drops.wait_all(1);
    });
}

/// The threads of both pools, which pinned workers start, are tied to no core.
#[test]
fn they_may_use_all_cores() {
    let cpus = myriad::platform().cpus.len();
    for mode in MODES {
        case(
            mode,
            cores(),
            |b| b,
            |rt| {
                let on_threads = rt.run(|| {
                    let cpus = || myriad::platform().cpus.len();
                    (compute(cpus), myriad::blocking(cpus))
                });
                assert_eq!(on_threads, (cpus, cpus));
            },
        );
    }
}
