//! `yield_now` in many jobs: what it takes is bounded, and everybody comes to his turn. In both
//! modes.

mod common;

use common::each;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// Each began the next one, on a stack, which in threads mode is a thread of the system, of its
/// own.
#[test]
fn jobs_that_yield_do_not_pile_up() {
    const JOBS: usize = 20_000;
    each("many yields", |rt| {
        let (inside, most, ran) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        rt.run(|| {
            rayon::scope(|s| {
                for _ in 0..JOBS {
                    s.spawn(|_| {
                        most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                        rayon::yield_now();
                        inside.fetch_sub(1, SeqCst);
                        ran.fetch_add(1, SeqCst);
                    });
                }
            });
        });
        assert_eq!(ran.into_inner(), JOBS);
        let most = most.into_inner();
        assert!(most <= 2_000, "{most} of {JOBS} jobs had begun, and not ended");
    });
}

/// All have to begin before one can end.
fn poll_for_the_last(name: &str, poll: fn()) {
    const JOBS: usize = 1_000;
    each(name, |rt| {
        let begun = AtomicUsize::new(0);
        rt.run(|| {
            rayon::scope(|s| {
                for _ in 0..JOBS {
                    s.spawn(|_| {
                        begun.fetch_add(1, SeqCst);
                        while begun.load(SeqCst) < JOBS {
                            poll();
                        }
                    });
                }
            });
        });
    });
}

#[test]
fn jobs_that_poll_for_each_other_all_begin() {
    poll_for_the_last("polls", || _ = rayon::yield_now());
}

#[test]
fn jobs_that_poll_for_what_is_here_all_begin() {
    poll_for_the_last("polls here", || _ = rayon::yield_local());
}

/// The newest job is run on top of the caller, and set aside with it; the older one, that it waits
/// for, begins elsewhere.
#[test]
fn a_job_that_was_begun_by_a_yield_waits() {
    each("a wait in a yield", |rt| {
        let (event, done) = (myriad::sync::Event::new(), AtomicBool::new(false));
        rt.run(|| {
            rayon::scope(|s| {
                s.spawn(|_| event.set());
                s.spawn(|_| {
                    event.wait();
                    done.store(true, SeqCst);
                });
                while !done.load(SeqCst) {
                    rayon::yield_now();
                }
            });
        });
    });
}

/// It is a task of its own all the same: its task-locals are not the caller's, nor the other way
/// round, and a cancellation of the caller waits.
#[test]
fn a_job_that_was_begun_by_a_yield_is_a_task_of_its_own() {
    myriad::task_local! { static NAME: Cell<u32> = Cell::new(0); }
    each("a task in a yield", |rt| {
        let task = rt.spawn(|| {
            NAME.with(|name| name.set(1));
            let done = AtomicBool::new(false);
            rayon::scope(|s| {
                s.spawn(|_| {
                    assert_eq!(NAME.with(|name| name.replace(2)), 0);
                    myriad::yield_now();
                    assert_eq!(NAME.with(Cell::get), 2);
                    done.store(true, SeqCst);
                });
                while !done.load(SeqCst) {
                    rayon::yield_now();
                    assert_eq!(NAME.with(Cell::get), 1);
                }
            });
        });
        task.join().unwrap();
        let (tx, rx) = myriad::channel::bounded::<()>(0);
        let (begun, has_begun) = myriad::channel::unbounded();
        let caller = rt.spawn(move || -> () {
            rayon::spawn(move || {
                begun.send(()).unwrap();
                // Not cancelled, though what it stands on is.
                rx.recv().unwrap();
            });
            loop {
                rayon::yield_now();
                myriad::cancel::check();
            }
        });
        has_begun.recv().unwrap();
        caller.cancel();
        tx.send(()).unwrap();
        assert!(caller.join().unwrap_err().is_cancelled());
    });
}
