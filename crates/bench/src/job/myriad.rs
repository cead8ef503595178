//! `job` by Myriad.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use myriad::jobs::{Job, JobHandle, Local, Queue};
use myriad::sync::Event;

use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::{host, sample};

use super::programs;

/// What all jobs add to. (One sum: a job has no handle here, as most in a queue have none.)
type Sum = Arc<AtomicU64>;

fn job(sum: &Sum, x: u64) -> Job<()> {
    let sum = sum.clone();
    Job::new(move || _ = sum.fetch_add(x + black_box(1), Relaxed))
}

/// Measures `once`, which returns the time from the first submission to the end of the last job.
fn measure(p: &Params, once: fn(u64, &Sum) -> Duration) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    sample::warm(n, || {
        let sum = Sum::default();
        let in_run = sum.clone();
        let time = rt.run(move || once(n, &in_run));
        Failure::check(sum.load(Relaxed), n * (n - 1) / 2 + n)?;
        Ok(time)
    })
}

pub(super) fn submit(p: &Params) -> Outcome {
    measure(p, |n, sum| {
        let queue = Local::new().start();
        let begin = Instant::now();
        for x in 0..n {
            queue.submit(job(sum, x)).expect("it fits");
            // (So that they run meanwhile, also with one worker.)
            if x % 64 == 0 {
                myriad::yield_now();
            }
        }
        queue.wait_all();
        begin.elapsed()
    })
}

/// A job that has all processors until the event.
fn gate(queue: &Queue) -> (Arc<Event>, JobHandle<()>) {
    let open = Arc::new(Event::new());
    let in_job = open.clone();
    let gate = Job::new(move || in_job.wait()).cpus(queue.cpus().1).priority(9999);
    let gate = queue.submit(gate).expect("it fits");
    (open, gate)
}

pub(super) fn held(p: &Params) -> Outcome {
    measure(p, |n, sum| {
        let queue = Local::new().start();
        let (open, _gate) = gate(&queue);
        let begin = Instant::now();
        for x in 0..n {
            queue.submit(job(sum, x).priority((x % 100) as i32)).expect("it fits");
        }
        open.set();
        queue.wait_all();
        begin.elapsed()
    })
}

pub(super) fn chained(p: &Params) -> Outcome {
    measure(p, |n, sum| {
        let queue = Local::new().start();
        let (open, gate) = gate(&queue);
        let begin = Instant::now();
        let mut last = gate;
        for x in 0..n {
            last = queue.submit(job(sum, x).after(&last)).expect("it fits");
        }
        open.set();
        queue.wait_all();
        begin.elapsed()
    })
}

pub(super) fn blocked(p: &Params) -> Outcome {
    measure(p, |n, sum| {
        let queue = Local::new().resource("gpu", 1).start();
        // One job has the only gpu, and all who want that too wait.
        let (free, in_job) = (Arc::new(Event::new()), Arc::new(Event::new()));
        let (waits, begun) = (free.clone(), in_job.clone());
        let holder = Job::new(move || {
            begun.set();
            waits.wait();
        });
        queue.submit(holder.cpus(0).resource("gpu", 1)).expect("it fits");
        in_job.wait();
        for _ in 0..n {
            queue.submit(Job::new(|| ()).cpus(0).resource("gpu", 1).priority(5)).expect("it fits");
        }
        let done = Arc::new(Event::new());
        let begin = Instant::now();
        for x in 0..n {
            queue.submit(job(sum, x)).expect("it fits");
            if x % 64 == 0 {
                myriad::yield_now();
            }
        }
        // The last of them has all processors: so all others have ended before.
        let last = done.clone();
        let last = queue.submit(Job::new(move || last.set()).cpus(queue.cpus().1)).expect("it fits");
        done.wait();
        let time = begin.elapsed();
        _ = last.join();
        queue.cancel_all();
        free.set();
        queue.wait_all();
        time
    })
}

/// One program after the other.
pub(super) fn command(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = programs::number(p);
    sample::warm(n, || {
        let time = rt.run(move || {
            let queue = Local::new().cpus(1).start();
            let begin = Instant::now();
            let jobs: Vec<_> =
                (0..n).map(|_| queue.submit(Job::command([programs::PROGRAM])).expect("it fits")).collect();
            // (As in the other forms. To join one by one would wake this task for each.)
            queue.wait_all();
            let done = jobs.into_iter().filter_map(|job| job.join().ok()).count() as u64;
            (begin.elapsed(), done)
        });
        Failure::check(time.1, n)?;
        Ok(time.0)
    })
}

/// Tasks instead of jobs: in no order, and without limits.
pub(super) fn tasks(p: &Params) -> Outcome {
    measure(p, |n, sum| {
        let begin = Instant::now();
        let tasks: Vec<_> = (0..n)
            .map(|x| {
                let sum = sum.clone();
                myriad::spawn(move || _ = sum.fetch_add(x + black_box(1), Relaxed))
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().expect("it does not panic"));
        begin.elapsed()
    })
}
