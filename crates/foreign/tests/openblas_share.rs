//! The number of OpenBLAS's threads follows what the workers do. Without the library: a function
//! that notes the number stands for its own.

mod common;

use common::{alone, in_both_modes_with};
use myriad_core::{Runtime, scope};
use myriad_foreign::openblas::{CALLS, run_gang, share_threads};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering::*};
use std::thread;

/// Without spares: when the system keeps a worker from running, nobody takes its place and has
/// nothing to do.
fn in_both_modes(body: impl Fn(&Runtime)) {
    in_both_modes_with(|builder| builder.spare_workers(0), body);
}

/// What stands for OpenBLAS's number, and how often it was set.
static NUMBER: AtomicI32 = AtomicI32::new(0);
static TIMES: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn set(n: c_int) {
    NUMBER.store(n, SeqCst);
    TIMES.fetch_add(1, SeqCst);
}

fn share(threads: usize) {
    // SAFETY: it may be called from anywhere; there is no OpenBLAS.
    unsafe { share_threads(set, threads) };
    assert_eq!(NUMBER.load(SeqCst), threads as c_int);
}

/// A call that is divided in two.
fn divided_call() {
    unsafe extern "C" fn part(_: c_int, parts: *mut c_void, _: c_int) {
        // SAFETY: the count below.
        unsafe { &*parts.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
    }
    let parts = AtomicUsize::new(0);
    // SAFETY: the parts count in one place.
    unsafe { run_gang(1, Some(part), 2, 0, (&raw const parts).cast_mut().cast(), 0) };
    assert_eq!(parts.into_inner(), 2);
}

/// Without a wait of the task's: it keeps its worker.
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// Lets the others go on, also if a test fails.
struct GoOn<'a>(&'a AtomicBool);

impl Drop for GoOn<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// Runs `f` in a task while all other workers compute, until it calls what it is given.
fn beside_busy_workers(rt: &Runtime, f: impl FnOnce(&dyn Fn()) + Send) {
    let (busy, go_on) = (AtomicUsize::new(0), AtomicBool::new(false));
    rt.run(|| {
        scope(|s| {
            for _ in 1..rt.workers() {
                s.spawn(|| {
                    busy.fetch_add(1, SeqCst);
                    until(|| go_on.load(SeqCst));
                });
            }
            let _go_on = GoOn(&go_on);
            until(|| busy.load(SeqCst) == rt.workers() - 1);
            f(&|| go_on.store(true, SeqCst));
        });
    });
}

#[test]
fn one_thread_while_all_are_busy() {
    let _alone = alone();
    in_both_modes(|rt| {
        if rt.workers() == 1 {
            return;
        }
        let workers = rt.workers() as c_int;
        share(rt.workers());
        beside_busy_workers(rt, |go_on| {
            for _ in 1..CALLS * rt.workers() {
                divided_call();
                assert_eq!(NUMBER.load(SeqCst), workers);
            }
            divided_call();
            assert_eq!(NUMBER.load(SeqCst), 1);
            // The same with the next call, if it comes to us.
            divided_call();
            assert_eq!(NUMBER.load(SeqCst), 1);
            go_on();
            // One that has nothing to do raises it.
            until(|| NUMBER.load(SeqCst) == workers);
            // And now it stays: whoever has woken up for nothing since sleeps again soon.
            let stays = (0..10_000).any(|_| {
                until(|| NUMBER.load(SeqCst) == workers);
                let before = TIMES.load(SeqCst);
                (0..CALLS * rt.workers()).for_each(|_| divided_call());
                thread::yield_now();
                TIMES.load(SeqCst) == before
            });
            assert!(stays, "it is lowered though workers sleep");
        });
    });
}

/// What is left low by the last task is raised when its runtime ends.
#[test]
fn a_shutdown_raises_it() {
    let _alone = alone();
    for _ in 0..20 {
        in_both_modes(|rt| {
            if rt.workers() > 1 {
                share(rt.workers());
                beside_busy_workers(rt, |go_on| {
                    (0..CALLS * rt.workers()).for_each(|_| divided_call());
                    assert_eq!(NUMBER.load(SeqCst), 1);
                    go_on();
                });
            }
        });
        assert_eq!(NUMBER.load(SeqCst), 4);
    }
}

#[test]
fn not_if_there_are_more_threads_than_workers() {
    let _alone = alone();
    in_both_modes(|rt| {
        share(rt.workers() + 1);
        let before = TIMES.load(SeqCst);
        beside_busy_workers(rt, |go_on| {
            (0..CALLS * (rt.workers() + 1)).for_each(|_| divided_call());
            go_on();
        });
        assert_eq!(TIMES.load(SeqCst), before);
    });
}

/// One thread, and threads that are no workers, change nothing.
#[test]
fn not_by_others() {
    let _alone = alone();
    in_both_modes(|rt| {
        share(1);
        let before = TIMES.load(SeqCst);
        beside_busy_workers(rt, |go_on| {
            (0..CALLS * (rt.workers() + 1)).for_each(|_| divided_call());
            go_on();
        });
        assert_eq!(TIMES.load(SeqCst), before);
        share(rt.workers());
        let before = TIMES.load(SeqCst);
        let called = AtomicBool::new(false);
        thread::scope(|threads| {
            let caller = threads.spawn(|| {
                until(|| called.load(SeqCst));
                (0..CALLS * rt.workers()).for_each(|_| divided_call());
            });
            beside_busy_workers(rt, |go_on| {
                called.store(true, SeqCst);
                until(|| caller.is_finished());
                go_on();
            });
        });
        assert_eq!(TIMES.load(SeqCst), before);
    });
}
