//! Tasks that hold their workers, after rayon was used, and while it is: spare workers begin
//! Myriad's tasks, and no jobs of rayon.

mod common;

use common::{each, one};
use myriad::Runtime;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

/// One task for each worker waits, in a channel of std's, for a task that has not begun when all
/// workers are held.
fn all_wait_for_one_that_comes_last(rt: &Runtime) {
    let (began, all_began) = mpsc::channel();
    let (senders, waiters): (Vec<_>, Vec<_>) = (0..rt.workers())
        .map(|_| {
            let ((tx, rx), began) = (mpsc::channel::<()>(), began.clone());
            let waiter = rt.spawn(move || {
                began.send(()).unwrap();
                rx.recv().unwrap();
            });
            (tx, waiter)
        })
        .unzip();
    waiters.iter().for_each(|_| all_began.recv().unwrap());
    let last = rt.spawn(move || senders.into_iter().for_each(|tx| tx.send(()).unwrap()));
    last.join().unwrap();
    waiters.into_iter().for_each(|waiter| waiter.join().unwrap());
}

#[test]
fn one_use_of_rayon_does_not_end_them() {
    each("one use", |rt| {
        all_wait_for_one_that_comes_last(rt);
        rt.run(|| assert_eq!((0..10u32).into_par_iter().sum::<u32>(), 45));
        (0..3).for_each(|_| all_wait_for_one_that_comes_last(rt));
    });
}

#[test]
fn each_part_of_rayon_leaves_them() {
    let parts: [fn(); 6] = [
        || _ = rayon::join(|| (), || ()),
        || rayon::scope(|s| (0..10).for_each(|_| s.spawn(|_| ()))),
        || rayon::scope_fifo(|s| (0..10).for_each(|_| s.spawn_fifo(|_| ()))),
        || {
            let (tx, rx) = myriad::channel::bounded(1);
            rayon::spawn(move || tx.send(()).unwrap());
            rx.recv().unwrap();
        },
        || _ = rayon::broadcast(|_| ()),
        || _ = rayon::current_thread_index(),
    ];
    for part in parts {
        each("a part", |rt| {
            rt.run(part);
            all_wait_for_one_that_comes_last(rt);
        });
    }
}

/// As many threads are needed as there are tasks.
#[test]
fn sixteen_tasks_meet_in_a_barrier_of_std() {
    each("barrier", |rt| {
        let meet = || {
            let barrier = Arc::new(Barrier::new(16));
            let tasks: Vec<_> = (0..16)
                .map(|_| {
                    let barrier = barrier.clone();
                    rt.spawn(move || _ = barrier.wait())
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
        };
        rt.run(|| rayon::scope(|s| s.spawn(|_| ())));
        meet();
        rt.run(|| (0..100u32).into_par_iter().for_each(|_| ()));
        meet();
    });
}

/// A job spawns a task, and waits for it in the system. The task stands behind older jobs in its
/// worker's queue.
fn a_job_that_holds_its_worker_for_a_task() -> u32 {
    let (tx, rx) = mpsc::channel();
    drop(myriad::spawn(move || tx.send(1).unwrap()));
    rx.recv().unwrap()
}

#[test]
fn a_long_loop_whose_closures_wait_for_tasks_ends() {
    each("loop", |rt| {
        let n = rt.run(|| {
            let jobs = (0..24u32).into_par_iter().with_max_len(1);
            jobs.map(|_| a_job_that_holds_its_worker_for_a_task()).sum::<u32>()
        });
        assert_eq!(n, 24);
    });
}

/// The same where the jobs of a scope stand in the queue, many more than levels of a loop.
#[test]
fn a_scope_whose_jobs_wait_for_tasks_ends() {
    each("scope", |rt| {
        let sum = AtomicUsize::new(0);
        rt.run(|| {
            rayon::scope(|s| {
                for _ in 0..40 {
                    s.spawn(|_| _ = sum.fetch_add(a_job_that_holds_its_worker_for_a_task() as usize, SeqCst));
                }
            });
        });
        assert_eq!(sum.into_inner(), 40);
    });
}

/// A timer of a worker that is held is looked after.
#[test]
fn a_sleep_behind_held_workers_ends() {
    each("timer", |rt| {
        rt.run(|| rayon::scope(|s| s.spawn(|_| ())));
        let (began, all_began) = mpsc::channel();
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..rt.workers()).map(|_| mpsc::channel::<()>()).unzip();
        let sleeps = began.clone();
        let last = rt.spawn_async(async move {
            sleeps.send(()).unwrap();
            // Long enough for all workers to be held before it is over.
            myriad::time::sleep_async(Duration::from_millis(200)).await;
            senders.into_iter().for_each(|tx| tx.send(()).unwrap());
        });
        all_began.recv().unwrap();
        let waiters = receivers.into_iter().map(|rx| {
            let began = began.clone();
            rt.spawn(move || (began.send(()).unwrap(), rx.recv().unwrap()))
        });
        let waiters: Vec<_> = waiters.collect();
        waiters.iter().for_each(|_| all_began.recv().unwrap());
        last.join().unwrap();
        waiters.into_iter().for_each(|waiter| _ = waiter.join().unwrap());
    });
}

/// A task calls rayon, whose closures wait long in the system: that all workers stand still is no
/// reason to begin more jobs. (In fiber mode, as below.)
#[test]
fn jobs_that_wait_long_are_no_more_than_workers() {
    for workers in [1, 2] {
        one("long waits", true, workers, |rt| {
            rt.run(|| {
                let running = AtomicUsize::new(0);
                (0..2 * workers).into_par_iter().with_max_len(1).for_each(|_| {
                    assert!(running.fetch_add(1, SeqCst) < workers, "more jobs than workers");
                    assert!(rayon::current_thread_index().unwrap() < workers);
                    std::thread::sleep(Duration::from_millis(1500));
                    running.fetch_sub(1, SeqCst);
                });
            });
        });
    }
}

/// Beside tasks that hold workers, so that spares are on duty, no more jobs begin at a time than
/// there are workers. (In fiber mode, where a job that has begun stays on its worker.)
#[test]
fn spares_begin_no_jobs_beside_tasks_that_they_begin() {
    for workers in [1, 2, 4] {
        one("no jobs", true, workers, |rt| {
            rt.run(|| {
                let (running, tasks) = (AtomicUsize::new(0), AtomicUsize::new(0));
                (0..8 * workers).into_par_iter().with_max_len(1).for_each(|_| {
                    assert!(running.fetch_add(1, SeqCst) < workers, "more jobs than workers");
                    assert!(rayon::current_thread_index().unwrap() < workers);
                    // On a spare, while this job and the others hold all workers.
                    tasks.fetch_add(a_job_that_holds_its_worker_for_a_task() as usize, SeqCst);
                    assert!(rayon::current_thread_index().unwrap() < workers);
                    running.fetch_sub(1, SeqCst);
                });
                assert_eq!(tasks.into_inner(), 8 * workers);
            });
        });
    }
}

/// All workers are held by tasks that wait, in the system, for a thread whose call of rayon comes
/// first. `beside` runs in a task meanwhile, and is called again until the call has ended.
fn tasks_wait_for_a_call_of_rayon(rt: &Runtime, beside: Option<fn()>) {
    rt.run(|| rayon::scope(|s| s.spawn(|_| ())));
    let (began, all_began) = mpsc::channel();
    let (senders, waiters): (Vec<_>, Vec<_>) = (0..rt.workers())
        .map(|_| {
            let ((tx, rx), began) = (mpsc::channel::<u32>(), began.clone());
            (tx, rt.spawn(move || (began.send(()).unwrap(), rx.recv().unwrap()).1))
        })
        .unzip();
    waiters.iter().for_each(|_| all_began.recv().unwrap());
    let done = Arc::new(AtomicBool::new(false));
    let other = beside.map(|beside| {
        let (done, began) = (done.clone(), began.clone());
        rt.spawn(move || {
            began.send(()).unwrap();
            while !done.load(SeqCst) {
                beside();
            }
        })
    });
    other.iter().for_each(|_| all_began.recv().unwrap());
    // (Not `rt.run`, which begins an ordinary task: a call of rayon's from a thread that is none of
    // theirs, in this runtime.)
    let sum = myriad_core::engine::guest::run(rt.handle(), || (0..10u32).into_par_iter().sum::<u32>());
    done.store(true, SeqCst);
    senders.into_iter().for_each(|tx| tx.send(sum).unwrap());
    waiters.into_iter().for_each(|waiter| assert_eq!(waiter.join().unwrap(), 45));
    other.into_iter().for_each(|other| other.join().unwrap());
}

#[test]
fn tasks_that_hold_all_workers_wait_for_a_call_of_rayon() {
    each("a call", |rt| tasks_wait_for_a_call_of_rayon(rt, None));
}

/// Another task, which a spare has begun, polls or computes until the call has ended.
#[test]
fn so_they_do_beside_a_task_that_never_rests() {
    let sleeps = || myriad::time::sleep(Duration::from_millis(1));
    let computes = || (0..100_000).for_each(|i| _ = std::hint::black_box(i));
    for beside in [myriad::yield_now as fn(), sleeps, computes] {
        for (fibers, workers) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
            one("a call beside a task", fibers, workers, |rt| tasks_wait_for_a_call_of_rayon(rt, Some(beside)));
        }
    }
}

/// Jobs hold all workers, in the system, for tasks. Such a task, which a spare has begun, calls
/// rayon itself, and the one side waits in the system for a task that stands behind the other side
/// in the spare's queue. The second spare that comes for it leaves the other side to be run.
#[test]
fn tasks_that_spares_have_begun_call_rayon_and_wait() {
    each("rayon on spares", |rt| {
        myriad_core::engine::guest::run(rt.handle(), || {
            let all_held = Barrier::new(rt.workers());
            let holds = || {
                all_held.wait();
                let (tx, rx) = mpsc::channel();
                drop(myriad::spawn(move || {
                    let (a, b) = rayon::join(a_job_that_holds_its_worker_for_a_task, || 1);
                    tx.send(a + b).unwrap();
                }));
                rx.recv().unwrap()
            };
            let jobs = (0..rt.workers()).into_par_iter().with_max_len(1);
            assert_eq!(jobs.map(|_| holds()).sum::<u32>(), 2 * rt.workers() as u32);
        });
    });
}

/// A spare polls for ever, with `yield_now`, while a worker is held by a task that waits in the
/// system for one in its own queue.
#[test]
fn a_spare_that_polls_begins_what_waits() {
    for fibers in [false, true] {
        one("a poll", fibers, 1, |rt| {
            rt.run(|| rayon::scope(|s| s.spawn(|_| ())));
            let ((polls, polled), done) = (mpsc::channel(), Arc::new(AtomicBool::new(false)));
            let begun = done.clone();
            let holds = rt.spawn(move || {
                let ended = begun.clone();
                let poll = myriad::spawn(move || {
                    polls.send(()).unwrap();
                    while !ended.load(SeqCst) {
                        myriad::yield_now();
                    }
                });
                polled.recv().unwrap();
                assert_eq!(a_job_that_holds_its_worker_for_a_task(), 1);
                begun.store(true, SeqCst);
                poll.join().unwrap();
            });
            holds.join().unwrap();
        });
    }
}

/// A worker polls for a job in the queue of another one, which waits in the system for that job. No
/// spare may begin it.
#[test]
fn a_worker_that_polls_begins_a_job_of_one_that_is_held() {
    for fibers in [false, true] {
        one("a poll beside a job", fibers, 2, |rt| {
            rt.run(|| {
                let ((polls, polled), done) = (mpsc::channel(), Arc::new(AtomicBool::new(false)));
                let ended = done.clone();
                // (This worker is held, so the other one begins it.)
                let poll = myriad::spawn(move || {
                    polls.send(()).unwrap();
                    while !ended.load(SeqCst) {
                        myriad::yield_now();
                    }
                });
                polled.recv().unwrap();
                let meet = Barrier::new(2);
                rayon::scope(|s| {
                    s.spawn(|_| {
                        done.store(true, SeqCst);
                        meet.wait();
                    });
                    meet.wait();
                });
                poll.join().unwrap();
            });
        });
    }
}

/// A spare that polls was sent off duty, as its worker had come back. Then the worker is held
/// again.
#[test]
fn a_spare_that_polls_off_duty_begins_what_waits() {
    for fibers in [false, true] {
        one("a poll off duty", fibers, 1, |rt| {
            rt.run(|| {
                rayon::scope(|s| s.spawn(|_| ()));
                let ((polls, polled), done) = (mpsc::channel(), Arc::new(AtomicBool::new(false)));
                let ended = done.clone();
                let poll = myriad::spawn(move || {
                    polls.send(()).unwrap();
                    while !ended.load(SeqCst) {
                        myriad::yield_now();
                    }
                });
                polled.recv().unwrap();
                // Nobody is held for longer than spares stay on duty.
                let began = std::time::Instant::now();
                while began.elapsed() < Duration::from_millis(300) {
                    myriad::yield_now();
                }
                let (tx, rx) = mpsc::channel();
                drop(myriad::spawn(move || {
                    done.store(true, SeqCst);
                    tx.send(()).unwrap();
                }));
                rx.recv().unwrap();
                poll.join().unwrap();
            });
        });
    }
}
