//! What rayon starts lies where others take it at once: they need not take it by force, while its
//! owner computes, tens of microseconds later. In both modes, while all other workers are busy, so
//! that nobody takes it away.

mod common;

use common::one;
use myriad::sync::Event;
use myriad_core::engine::guest;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

fn until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[track_caller]
fn assert_offered() {
    assert!(guest::worker().expect("on a worker").has_public(), "nobody can take it");
}

#[track_caller]
fn assert_nothing_left() {
    assert!(!guest::worker().expect("on a worker").has_public(), "something is left of the last one");
}

/// Calls `f` in a job while all other workers compute.
fn while_others_are_busy(workers: usize, f: impl FnOnce() + Send) {
    let (busy, go_on) = (AtomicUsize::new(0), AtomicBool::new(false));
    struct GoOn<'a>(&'a AtomicBool);
    impl Drop for GoOn<'_> {
        fn drop(&mut self) {
            self.0.store(true, SeqCst);
        }
    }
    rayon::scope(|s| {
        // Also if `f` panics.
        let _go_on = GoOn(&go_on);
        for _ in 1..workers {
            s.spawn(|_| {
                busy.fetch_add(1, SeqCst);
                until(|| go_on.load(SeqCst));
            });
        }
        until(|| busy.load(SeqCst) == workers - 1);
        f();
    });
}

fn each(name: &str, f: fn()) {
    for fibers in [false, true] {
        for workers in [2, 4] {
            one(name, fibers, workers, |rt| rt.run(|| while_others_are_busy(workers, f)));
        }
    }
}

#[test]
fn the_second_half_of_a_join() {
    each("join", || {
        assert_nothing_left();
        rayon::join(assert_offered, || ());
        // Of three one is public; when that has been run, another one is.
        rayon::join(|| rayon::join(|| rayon::join(assert_offered, || ()), assert_offered), || ());
    });
}

#[test]
fn the_second_half_of_a_join_that_asks() {
    each("join_context", || {
        assert_nothing_left();
        rayon::join_context(|_| assert_offered(), |_| ());
    });
}

#[test]
fn a_job_of_a_scope() {
    each("scope", || {
        assert_nothing_left();
        rayon::scope(|s| {
            s.spawn(|_| ());
            assert_offered();
        });
    });
}

#[test]
fn a_job_that_nobody_waits_for() {
    each("spawn", || {
        assert_nothing_left();
        static RAN: AtomicUsize = AtomicUsize::new(0);
        let before = RAN.load(SeqCst);
        rayon::spawn(|| _ = RAN.fetch_add(1, SeqCst));
        assert_offered();
        while RAN.load(SeqCst) == before {
            myriad::yield_now();
            rayon::yield_now();
        }
    });
}

/// From a thread that is no worker, in the global pool.
#[test]
fn a_join_from_outside() {
    let workers = rayon::current_num_threads();
    if workers == 1 {
        return;
    }
    let (busy, done) = (AtomicBool::new(false), Event::new());
    thread::scope(|threads| {
        threads.spawn(|| {
            while_others_are_busy(workers, || {
                busy.store(true, SeqCst);
                // Its worker is the only one that is free.
                done.wait();
            });
        });
        until(|| busy.load(SeqCst));
        let offered = std::panic::catch_unwind(|| rayon::join(assert_offered, || ()));
        done.set();
        offered.expect("it is offered");
    });
}
