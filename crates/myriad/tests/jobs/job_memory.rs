//! What a backlog of jobs leaves behind.

use crate::common::{assert_ok, each, full_length, in_child};
use crate::job_engine::until;
use myriad::jobs::{Job, Local};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};

/// Kilobytes of memory.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
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
