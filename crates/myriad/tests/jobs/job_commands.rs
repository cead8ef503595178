//! Jobs from commands: output, verdicts, limits, process groups.

use super::job_engine::until;
use crate::common::{Mode, case, each};
use myriad::jobs::{CommandSpec, Job, JobError, Local, State};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

fn shell(script: &str) -> CommandSpec {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    CommandSpec::new(command)
}

#[test]
fn output_and_verdicts() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).start();
            let well = q.submit(Job::command(["echo", "hello"])).unwrap();
            let output = well.join().unwrap();
            assert_eq!((&*output.stdout, &*output.stderr), (&b"hello\n"[..], &b""[..]));
            assert!(output.peak_memory > 0);
            let verdict = |script| q.submit(Job::command(shell(script))).unwrap().join().unwrap_err().to_string();
            assert!(verdict("echo first >&2; echo last >&2; exit 3").ends_with("failed: exit code 3: last"));
            assert!(verdict("kill -9 $$").ends_with("failed: killed by signal 9"));
            let none = q.submit(Job::command(["/no/such/program"])).unwrap().join().unwrap_err().to_string();
            assert!(none.contains("did not start"), "{none}");
            q.wait_all();
        });
    });
}

/// It ends although a grandchild has the output open, and what it left in its group goes on.
#[test]
fn a_grandchild_that_keeps_the_output_holds_up_nobody() {
    each(&[1], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let job = q.submit(Job::command(shell("sleep 3600 & echo $!"))).unwrap();
            let process = String::from_utf8(job.join().unwrap().stdout).unwrap();
            let path = format!("/proc/{}", process.trim());
            assert!(std::path::Path::new(&path).exists());
            assert!(Command::new("kill").args(["-9", process.trim()]).status().unwrap().success());
        });
    });
}

/// Cancelled: first `SIGTERM`, then the whole group is killed.
#[test]
fn a_program_that_ignores_term_is_killed_with_its_group() {
    each(&[1], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let file = std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64()));
            let script = format!(
                "trap '' TERM; sleep 3600 & echo $! > {0}.new; mv {0}.new {0}; wait; sleep 3600",
                file.display()
            );
            let job = q.submit(Job::command(shell(&script).grace(Duration::from_millis(20)))).unwrap();
            until(|| file.exists());
            let child = std::fs::read_to_string(&file).unwrap();
            job.cancel();
            assert_eq!(job.wait(), State::Cancelled);
            let stat = format!("/proc/{}/stat", child.trim());
            until(|| {
                std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") Z"))
                    || !std::path::Path::new(&stat).exists()
            });
            std::fs::remove_file(file).unwrap();
        });
    });
}

#[test]
fn limits_are_named() {
    each(&[1], |rt| {
        rt.run(|| {
            let q = Local::new().memory("1 GB").cpus(2).start();
            // One that prints for ever.
            let prints = q.submit(Job::command(CommandSpec::output_limit(shell("exec yes"), 100_000))).unwrap();
            let why = prints.join().unwrap_err().to_string();
            assert!(why.contains("killed: output") && why.contains("of 97.7 KB"), "{why}");
            // One that takes more memory than it asked for: a shell alone has more than this.
            let hungry = q.submit(Job::command(["sleep", "3600"]).memory("8 KB")).unwrap();
            let why = hungry.join().unwrap_err().to_string();
            assert!(why.contains("killed: memory") && why.contains("of 8.0 KB"), "{why}");
            // One that runs too long.
            let long = Job::command(["sleep", "3600"]).wall_time(Duration::from_millis(5));
            let long = q.submit(long).unwrap();
            assert!(matches!(long.join(), Err(JobError::TimedOut(..))));
            // And again, with retries.
            let retried = q.submit(Job::command(shell("exit 1")).retries(2)).unwrap();
            assert_eq!(retried.wait(), State::Failed);
            q.wait_all();
            assert_eq!((q.cpus().0, q.memory().0), (0.0, 0));
        });
    });
}

/// More than the limit is a failure also if the program has ended before anybody looked.
#[test]
fn output_over_the_limit_is_never_cut_silently() {
    each(&[1], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            for stream in ["", " >&2"] {
                let writes = shell(&format!("printf 12345678901{stream}")).output_limit(10);
                let why = q.submit(Job::command(writes)).unwrap().join().unwrap_err().to_string();
                let name = if stream.is_empty() { "output" } else { "error" };
                assert!(why.contains(&format!("{name} 11 B of 10 B")), "{why}");
            }
            let exactly = q.submit(Job::command(shell("printf 1234567890").output_limit(10))).unwrap();
            assert_eq!(exactly.join().unwrap().stdout, b"1234567890");
        });
    });
}

/// A command that has ended holds no files, also while its handle is kept.
#[test]
fn a_finished_command_holds_no_files() {
    each(&[1], |rt| {
        rt.run(|| {
            let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
            let q = Local::new().cpus(4).start();
            let before = open();
            let ended: Vec<_> = (0..200).map(|_| q.submit(Job::command(["true"])).unwrap()).collect();
            ended.iter().for_each(|job| assert_eq!(job.wait(), State::Done));
            // (Other tests of this process have some, too.)
            assert!(open() < before + 150, "{} files before, {} now", before, open());
        });
    });
}

/// A command that is cancelled while it waits for a thread never runs, and has ended.
#[test]
fn cancelled_before_a_thread_is_there() {
    const THREADS: usize = 512;
    case(
        Mode::Fibers,
        1,
        |b| b,
        |rt| {
            rt.run(|| {
                let begun = Arc::new(AtomicUsize::new(0));
                let (open, gate) = mpsc::channel::<()>();
                let gate = Arc::new(Mutex::new(gate));
                let held: Vec<_> = (0..THREADS)
                    .map(|_| {
                        let (begun, gate) = (begun.clone(), gate.clone());
                        myriad::spawn(move || {
                            myriad::blocking(|| {
                                begun.fetch_add(1, Relaxed);
                                _ = gate.lock().unwrap().recv();
                            });
                        })
                    })
                    .collect();
                until(|| begun.load(Relaxed) == THREADS);
                let q = Local::new().start();
                let job = q.submit(Job::command(["true"]).retries(1)).unwrap();
                // (The only worker comes back to this task when the job's task waits.)
                myriad::yield_now();
                assert_eq!(job.state(), State::Running);
                job.cancel();
                drop(open);
                assert_eq!(job.wait(), State::Cancelled);
                held.into_iter().for_each(|task| task.join().unwrap());
                assert_eq!(q.cpus().0, 0.0);
            });
        },
    );
}

/// What a command may take is what was asked last.
#[test]
fn needs_that_are_changed_are_the_limits() {
    each(&[1], |rt| {
        rt.run(|| {
            let q = Local::new().memory("1 GB").start();
            let less = q.submit(Job::command(["sleep", "3600"]).held()).unwrap();
            q.set_needs(&less, 1, 8 << 10).unwrap();
            less.release().unwrap();
            let why = less.join().unwrap_err().to_string();
            assert!(why.contains("killed: memory") && why.contains("of 8.0 KB"), "{why}");
            let more = q.submit(Job::command(["sleep", "0.25"]).memory("8 KB").held()).unwrap();
            q.set_needs(&more, 1, 1 << 29).unwrap();
            more.release().unwrap();
            more.join().unwrap();
        });
    });
}
