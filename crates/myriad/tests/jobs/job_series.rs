//! Series of runs, as a program has them.

use crate::common::in_both_modes;
use crate::job_engine::until;
use myriad::jobs::{Job, Local, Missed, Overlap, Schedule};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;

fn each_second() -> Schedule {
    Schedule::new("* * * * * *", "UTC").unwrap()
}

/// No run is asked for, and none comes.
#[test]
fn series_of_no_runs() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (q, made) = (Local::new().start(), Arc::new(AtomicU64::new(0)));
            let makes = made.clone();
            let series = q.every(each_second().runs(0), move || {
                makes.fetch_add(1, Relaxed);
                Job::new(|| ())
            });
            until(|| series.is_over());
            assert_eq!((series.runs(), made.load(Relaxed), series.error()), (0, 0, None));
        });
    });
}

/// Why a series is over can be read: its job was refused, or making it panicked.
#[test]
fn series_that_end_say_why() {
    in_both_modes(|rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let refused = q.every(each_second(), || Job::new(|| ()).cpus(9));
            let panics = q.every(each_second(), || -> Job<()> { panic!("no paper") });
            until(|| refused.is_over() && panics.is_over());
            assert!(refused.error().unwrap().starts_with("refused: the job asks for 9 cpus"), "{refused:?}");
            assert_eq!(panics.error().as_deref(), Some("panicked: no paper"));
            let closed = q.every(each_second(), || Job::new(|| ()));
            q.close();
            assert!(closed.is_over() && q.is_closed());
            until(|| closed.error().is_some());
            assert!(closed.error().unwrap().starts_with("refused: the queue is closed"), "{closed:?}");
        });
    });
}

/// A schedule is made in a task that has little of its stack left, also without optimisation.
#[test]
fn series_of_a_task_with_a_small_stack() {
    let from = "2026-03-07T12:00[UTC]".parse().unwrap();
    in_both_modes(|rt| {
        rt.run(|| {
            let used = [1_u8; 16 << 10];
            std::hint::black_box(&used);
            let nightly = Schedule::new("0 3 * * *", "America/New_York").unwrap();
            assert_eq!(nightly.overlap(Overlap::Queue).times(&from).take(3).count(), 3);
            std::hint::black_box(&used);
        });
    });
}

/// The series stands still for seconds: each run that was missed comes, one at a time.
#[test]
fn series_that_were_missed_come_each() {
    for overlap in [Overlap::Skip, Overlap::Queue, Overlap::Parallel] {
        let q = Local::new().cpus(8).start();
        let (made, inside, most) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let seen = most.clone();
        let series = q.every(each_second().missed(Missed::All).overlap(overlap), move || {
            // From the begin of a second to the middle of another: two begin meanwhile.
            if made.fetch_add(1, Relaxed) == 0 {
                std::thread::sleep(Duration::from_millis(2500));
            }
            let (inside, seen) = (inside.clone(), seen.clone());
            Job::new(move || {
                seen.fetch_max(inside.fetch_add(1, Relaxed) + 1, Relaxed);
                myriad::time::sleep(Duration::from_millis(20));
                inside.fetch_sub(1, Relaxed);
            })
        });
        until(|| series.runs() + series.skipped() >= 3);
        series.stop();
        q.wait_all();
        // (With `Parallel` the first of them runs beside the one before.)
        let together = if overlap == Overlap::Parallel { 2 } else { 1 };
        assert_eq!((series.runs(), series.skipped()), (3, 0), "{overlap:?}");
        assert!(most.load(Relaxed) <= together, "{overlap:?}");
    }
}
