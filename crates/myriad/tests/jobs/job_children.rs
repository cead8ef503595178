//! Commands of a process that does not hear of the ends of its children: the system forgets them,
//! or another part of the program takes them.

use crate::common::{assert_ok, each, in_child};
use crate::job_commands::shell;
use myriad::jobs::{Job, Local, State};
use std::sync::atomic::{AtomicBool, Ordering::*};

const UNKNOWN: &str = "its exit status is unknown, as this process ignores SIGCHLD";

/// `SIG_IGN` survives `exec`, so a program may have it from its parent. What a command wrote is
/// kept.
#[test]
fn a_process_that_ignores_the_ends_of_children() {
    let output = in_child(&[], || {
        // SAFETY: the process is this test's own, and no code runs at the signal.
        unsafe { libc::signal(libc::SIGCHLD, libc::SIG_IGN) };
        each(&[1, 2], |rt| {
            rt.run(|| {
                let q = Local::new().cpus(2).start();
                for script in ["echo ran; sleep 0.2", "echo ran; exit 0", "echo ran; exit 3"] {
                    let job = q.submit(Job::command(shell(script)).retries(2)).unwrap();
                    assert_eq!(job.wait(), State::Failed);
                    assert_eq!(q.job(&job).unwrap().attempts, 1, "it has run, perhaps well");
                    assert_eq!(job.failed_output().unwrap().stdout, b"ran\n");
                    let why = job.join().unwrap_err().to_string();
                    assert!(why.contains(UNKNOWN), "{why}");
                }
                let job = q.submit(Job::command(["sleep", "3600"])).unwrap();
                job.cancel();
                assert_eq!(job.wait(), State::Cancelled);
                assert_eq!((q.cpus().0, q.running()), (0.0, 0));
            });
        });
    });
    assert_ok(&output);
}

/// Who waits for any child takes those of commands, too. Either the command has its status, or the
/// verdict says that nobody knows it.
#[test]
fn a_process_in_which_another_thread_waits_for_children() {
    let output = in_child(&[], || {
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ends.load(Relaxed) {
                    // SAFETY: the call takes no status.
                    unsafe { libc::waitpid(-1, std::ptr::null_mut(), libc::WNOHANG) };
                }
            });
            each(&[1, 2], |rt| {
                rt.run(|| {
                    let q = Local::new().cpus(4).start();
                    let jobs = (0..20).map(|_| q.submit(Job::command(shell("echo ran; exit 3"))).unwrap());
                    for job in jobs.collect::<Vec<_>>() {
                        assert_eq!(job.wait(), State::Failed);
                        assert_eq!(job.failed_output().unwrap().stdout, b"ran\n");
                        let why = job.join().unwrap_err().to_string();
                        assert!(why.contains(UNKNOWN) || why.ends_with("exit code 3"), "{why}");
                    }
                });
            });
            ends.store(true, Relaxed);
        });
    });
    assert_ok(&output);
}
