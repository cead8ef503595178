//! `yield_now` in many jobs: what it takes is bounded, and everybody comes to his turn. In both
//! modes.

mod common;

use common::{each, one_of, watched};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

const STACK: usize = 1 << 20;

thread_local! {
    /// Jobs of this thread that have begun and not ended, by an address in the frame of each. (Such
    /// a job stays on its thread.)
    static BEGUN: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
}

/// So many frames of such jobs are below this one on its stack. Neighbours there are closer than a
/// quarter of it; frames on two stacks are not, for a job on top of another leaves half of a stack.
fn below(frame: usize) -> usize {
    let mut last = frame;
    // Stacks grow downwards.
    let is_near = |&next: &usize| next - std::mem::replace(&mut last, next) < STACK / 4;
    BEGUN.with_borrow(|begun| begun.range(frame + 1..).copied().take_while(is_near).count())
}

/// Each began the next one on a stack of its own, which in threads mode is a thread of the system.
#[test]
fn jobs_that_yield_do_not_pile_up() {
    const JOBS: usize = 20_000;
    for (fibers, workers) in [(false, 1), (false, 2), (false, 4), (true, 1), (true, 2), (true, 4)] {
        one_of(
            "many yields",
            fibers,
            workers,
            |builder| builder.stack_size(STACK),
            |rt| {
                let (deepest, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let (stacks, most_stacks) = (AtomicUsize::new(0), AtomicUsize::new(0));
                rt.run(|| {
                    rayon::scope(|s| {
                        for _ in 0..JOBS {
                            s.spawn(|_| {
                                let here = 0u8;
                                let frame = std::ptr::from_ref(&here).addr();
                                let depth = below(frame);
                                BEGUN.with_borrow_mut(|begun| begun.insert(frame));
                                deepest.fetch_max(depth, SeqCst);
                                if depth == 0 {
                                    most_stacks.fetch_max(stacks.fetch_add(1, SeqCst) + 1, SeqCst);
                                }
                                rayon::yield_now();
                                if depth == 0 {
                                    stacks.fetch_sub(1, SeqCst);
                                }
                                BEGUN.with_borrow_mut(|begun| begun.remove(&frame));
                                ran.fetch_add(1, SeqCst);
                            });
                        }
                    });
                });
                assert_eq!(ran.into_inner(), JOBS);
                let (deepest, most_stacks) = (deepest.into_inner(), most_stacks.into_inner());
                assert!((1..=32).contains(&deepest), "{deepest} jobs stood on top of a job");
                assert!(most_stacks <= 100, "{most_stacks} stacks for {JOBS} jobs");
            },
        );
    }
}

/// In a pool with own threads they do, as in rayon: a job that yields waits for the next one.
#[test]
fn jobs_of_own_threads_that_yield_stand_on_top_of_each_other() {
    const JOBS: usize = 500;
    watched("many yields on a thread", || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).stack_size(8 << 20).build().unwrap();
        let (inside, deepest) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool.scope(|s| {
            for _ in 0..JOBS {
                s.spawn(|_| {
                    deepest.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                    rayon::yield_now();
                    inside.fetch_sub(1, SeqCst);
                });
            }
        });
        assert_eq!(deepest.into_inner(), JOBS);
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
