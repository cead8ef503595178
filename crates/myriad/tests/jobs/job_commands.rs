//! Jobs from commands: output, verdicts, limits, process groups.

use super::job_engine::until;
use crate::common::each;
use myriad::jobs::{CommandSpec, Job, JobError, Local, State};
use std::process::Command;
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
