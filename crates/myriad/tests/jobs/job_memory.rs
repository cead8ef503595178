//! What a backlog of jobs leaves behind, and that a queue in which nothing happens takes no time.

use crate::common::{assert_ok, each, full_length, in_child};
use crate::job_engine::until;
use myriad::jobs::{Job, Local};
use myriad::sync::Event;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::Duration;

/// A line of what the system says of this process.
pub(super) fn kilobytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}
fn memory() -> u64 {
    kilobytes("VmRSS:")
}

/// A queue of so many jobs, all behind one. Returns the memory while all wait.
fn backlog(jobs: u64) -> u64 {
    let queue = Local::new().cpus(1).start();
    let sum = Arc::new(AtomicU64::new(0));
    let first = queue.submit(Job::new(|| ()).held()).unwrap();
    for x in 0..jobs {
        let sum = sum.clone();
        let job = Job::new(move || _ = sum.fetch_add(x, Relaxed)).priority((x % 3) as i32);
        queue.submit(job.after(&first)).unwrap();
    }
    let most = memory();
    first.release().unwrap();
    queue.wait_all();
    assert_eq!(sum.load(Relaxed), jobs * (jobs - 1) / 2);
    most
}

/// 17: jobs without a name leave nothing: a second later the process has the memory that it had,
/// within a twentieth.
#[test]
#[cfg(all(target_os = "linux", not(myriad_asan)))]
fn r17_the_memory_of_a_backlog_goes_back() {
    let output = in_child(&[], || {
        each(&[1], |rt| {
            rt.run(|| _ = backlog(1_000));
            let before = memory();
            let jobs = if full_length() { 300_000 } else { 30_000 };
            let most = rt.run(move || backlog(jobs));
            assert!(most > before + jobs / 10, "{before} kB before, {most} kB with {jobs} jobs");
            until(|| memory() * 20 <= before * 21);
        });
    });
    assert_ok(&output);
}

/// Nanoseconds of a processor that the threads of this process have had, without the calling one.
fn time_of_others() -> u64 {
    // (A thread that has just ended has no such file.)
    let time = |path: std::path::PathBuf| {
        std::fs::read_to_string(path.join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    let own = std::fs::read_link("/proc/thread-self").unwrap();
    let threads = std::fs::read_dir("/proc/self/task").unwrap().map(|thread| thread.unwrap().path());
    threads.filter(|thread| thread.file_name() != own.file_name()).filter_map(time).sum::<u64>()
}

/// Queues that are empty, or whose jobs are held, late, or do not fit, take no time of a processor:
/// not a nanosecond in ten seconds.
#[test]
#[cfg(target_os = "linux")]
fn idle_queues_take_no_time() {
    let output = in_child(&[], || {
        each(&[1, 2], |rt| {
            let (empty, queue) = rt.run(|| {
                let empty = Local::new().start();
                (0..100).for_each(|_| _ = empty.submit(Job::new(|| ())).unwrap());
                empty.wait_all();
                (empty, Local::new().cpus(1).resource("gpu", 1).start())
            });
            let (open, in_job) = (Arc::new(Event::new()), Arc::new(Event::new()));
            let (waits, begun) = (open.clone(), in_job.clone());
            let holder = Job::new(move || (begun.set(), waits.wait())).cpus(0).resource("gpu", 1);
            queue.submit(holder).unwrap();
            in_job.wait();
            (0..1_000).for_each(|_| _ = queue.submit(Job::new(|| ()).cpus(0).resource("gpu", 1).priority(1)).unwrap());
            queue.submit(Job::new(|| ()).held()).unwrap();
            queue.submit(Job::new(|| ()).delay(Duration::from_secs(3600))).unwrap();
            queue.submit(Job::new(|| ())).unwrap().join().unwrap();
            // (First the workers look for work, and what the backlog took goes back.)
            let long = if full_length() && rt.workers() == 1 { 10_000 } else { 300 };
            for millis in [300, long] {
                while {
                    let before = time_of_others();
                    std::thread::sleep(Duration::from_millis(millis));
                    time_of_others() != before
                } {}
            }
            assert_eq!((queue.running(), queue.len(), empty.len()), (1, 1_003, 0));
            queue.cancel_all();
            open.set();
            queue.wait_all();
        });
    });
    assert_ok(&output);
}
