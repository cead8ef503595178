//! Jobs that follow each other in one task: nothing of one is seen by the next.

use crate::common::{each, in_both_modes};
use myriad::jobs::{Job, Local, Queue, State};
use myriad::sync::Event;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

/// A queue of one processor, which the returned job has until the event: so jobs that are submitted
/// meanwhile stand in a row.
fn held(end: &Arc<Event>) -> Queue {
    let q = Local::new().cpus(1).start();
    let in_job = end.clone();
    q.submit(Job::new(move || in_job.wait())).unwrap();
    q
}

/// Task-locals end with their job, and each job that asks for the number of its task has another.
#[test]
fn a_row_shares_no_task() {
    myriad::task_local! { static LOCAL: Cell<usize> = Cell::new(0); }
    each(&[1, 2], |rt| {
        rt.run(|| {
            let end = Arc::new(Event::new());
            let q = held(&end);
            let job = |at: usize| {
                Job::new(move || {
                    if at.is_multiple_of(3) {
                        assert_eq!(LOCAL.replace(at + 1), 0);
                    }
                    (at % 3 == 1).then(|| myriad::task::current().unwrap().id())
                })
            };
            let jobs: Vec<_> = (0..300).map(|at| q.submit(job(at)).unwrap()).collect();
            let id = || Job::new(|| assert!(LOCAL.get() == 0 && myriad::task::current().is_some()));
            let ids: Vec<_> = (0..100).map(|_| q.submit(id()).unwrap()).collect();
            end.set();
            let numbers: HashSet<_> = jobs.into_iter().filter_map(|job| job.join().unwrap()).collect();
            assert_eq!(numbers.len(), 100);
            ids.into_iter().for_each(|job| job.join().unwrap());
        });
    });
}

/// A job that is cancelled while it runs, and ends well in spite of that, leaves no mark behind.
#[test]
fn a_cancellation_is_of_one_job_of_a_row() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            for _ in 0..50 {
                let (runs, go_on) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
                let (in_job, goes_on) = (runs.clone(), go_on.clone());
                let first = q
                    .submit(Job::new(move || {
                        in_job.store(true, Release);
                        while !goes_on.load(Acquire) {
                            myriad::cancel::shield(myriad::yield_now);
                        }
                    }))
                    .unwrap();
                let next = q.submit(Job::new(myriad::cancel::is_cancelled)).unwrap();
                while !runs.load(Acquire) {
                    myriad::yield_now();
                }
                first.cancel();
                go_on.store(true, Release);
                assert_eq!((first.wait(), next.join()), (State::Done, Ok(false)));
            }
        });
    });
}

/// Other tasks of a single worker have their turns between the jobs of a row.
#[test]
fn a_row_is_short() {
    in_both_modes(|rt| {
        rt.run(|| {
            let end = Arc::new(Event::new());
            let (q, left) = (held(&end), Arc::new(AtomicUsize::new(20_000)));
            for _ in 0..20_000 {
                let left = left.clone();
                q.submit(Job::new(move || _ = left.fetch_sub(1, Relaxed))).unwrap();
            }
            end.set();
            let mut turns = 0;
            while left.load(Relaxed) > 0 {
                turns += 1;
                myriad::yield_now();
            }
            assert!(turns > 10, "{turns}");
            q.wait_all();
        });
    });
}

/// Programs in a row: each has its own output, and a failure or a cancellation is of one.
#[test]
fn programs_in_a_row() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let word = |at: usize| at.to_string();
            let jobs: Vec<_> = (0..40)
                .map(|at| match at % 10 {
                    7 => q.submit(Job::command(["sh".into(), "-c".into(), format!("echo {at}; exit 1")])).unwrap(),
                    _ => q.submit(Job::command(["echo".into(), word(at)])).unwrap(),
                })
                .collect();
            let closure = q.submit(Job::new(|| myriad::task::current().is_some())).unwrap();
            jobs[38].cancel();
            for (at, job) in jobs.into_iter().enumerate() {
                match at {
                    38 => assert!(job.join().is_err()),
                    _ if at % 10 == 7 => assert!(job.join().unwrap_err().to_string().ends_with("exit code 1")),
                    _ => assert_eq!(job.join().unwrap().stdout, format!("{at}\n").into_bytes()),
                }
            }
            assert_eq!(closure.join(), Ok(true));
        });
    });
}
