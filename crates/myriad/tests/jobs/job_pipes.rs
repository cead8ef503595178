//! The pipes in which the output of commands is kept: their names, their ends, and those who still
//! write when the job is over.

use crate::common::{assert_ok, each, in_child};
use crate::job_commands::shell;
use crate::job_engine::until;
use myriad::jobs::{Job, Local, State};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Files of this name, and of this name with an ending, are gone when it is dropped.
struct Name(PathBuf);

impl Name {
    fn new() -> Name {
        Name(std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64())))
    }
    fn file(&self, ending: &str) -> PathBuf {
        self.0.with_extension(ending)
    }
    /// The script, with the name in it as `FILE`.
    fn fill(&self, script: &str) -> String {
        script.replace("FILE", self.0.to_str().unwrap())
    }
}

impl Drop for Name {
    fn drop(&mut self) {
        for ending in ["", "go", "new", "done"] {
            _ = std::fs::remove_file(self.file(ending));
        }
    }
}

fn lives(process: &str) -> bool {
    Path::new(&format!("/proc/{}", process.trim())).exists()
}

/// Who opens the outputs by their names writes where others write.
#[cfg(target_os = "linux")]
#[test]
fn outputs_that_are_opened_by_name() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let script = "echo first; echo second > /dev/stdout; echo third; \
                          echo one >&2; echo two | tee /dev/stderr > /dev/null; exit 3";
            let job = q.submit(Job::command(shell(script))).unwrap();
            assert_eq!(job.wait(), State::Failed);
            let output = job.failed_output().unwrap();
            assert_eq!(String::from_utf8_lossy(&output.stdout), "first\nsecond\nthird\n");
            assert_eq!(String::from_utf8_lossy(&output.stderr), "one\ntwo\n");
            let why = job.join().unwrap_err().to_string();
            assert!(why.ends_with("exit code 3: two"), "{why}");
        });
    });
}

/// A limit of files is none of what is printed.
#[test]
fn the_limit_of_files_does_not_count_what_is_printed() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let prints = shell("head -c 200000 /dev/zero").file_size(1 << 16);
            let output = q.submit(Job::command(prints)).unwrap().join().unwrap();
            assert_eq!(output.stdout.len(), 200_000);
        });
    });
}

/// What a program leaves behind may print, much and little, when the job is over.
#[test]
fn who_is_left_behind_may_print() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            for to in ["", ">&2"] {
                let name = Name::new();
                // (Both of the outputs stay open. The one is told to print when the job is over.)
                let left = format!(
                    "until [ -e FILE.go ]; do sleep 0.01; done; \
                     head -c 1000000 /dev/zero {to} && echo more {to} && echo well > FILE.new || echo bad > FILE.new; \
                     mv FILE.new FILE.done; exec sleep 3600"
                );
                let script = name.fill(&format!("sh -c '{left}' & echo $!"));
                let process = q.submit(Job::command(shell(&script))).unwrap().join().unwrap().stdout;
                let process = String::from_utf8(process).unwrap();
                std::fs::write(name.file("go"), "").unwrap();
                until(|| name.file("done").exists() || !lives(&process));
                assert_eq!(std::fs::read_to_string(name.file("done")).unwrap(), "well\n");
                assert!(Command::new("kill").args(["-9", process.trim()]).status().unwrap().success());
            }
        });
    });
}

/// The same of one that has left the group of a command that was told to stop.
#[test]
fn who_has_left_the_group_may_print() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let name = Name::new();
            let left = "echo $$ > FILE.new; mv FILE.new FILE; until [ -e FILE.go ]; do sleep 0.01; done; \
                        head -c 1000000 /dev/zero && echo well > FILE.new || echo bad > FILE.new; \
                        mv FILE.new FILE.done; exec sleep 3600";
            let script = name.fill(&format!("setsid sh -c '{left}' & sleep 3600"));
            let job = q.submit(Job::command(shell(&script))).unwrap();
            until(|| name.0.exists());
            job.cancel();
            assert_eq!(job.wait(), State::Cancelled);
            let process = std::fs::read_to_string(&name.0).unwrap();
            std::fs::write(name.file("go"), "").unwrap();
            until(|| name.file("done").exists() || !lives(&process));
            assert_eq!(std::fs::read_to_string(name.file("done")).unwrap(), "well\n");
            let group = format!("-{}", process.trim());
            assert!(Command::new("kill").args(["-9", "--", &group]).status().unwrap().success());
        });
    });
}

/// A program that closes its outputs runs on, and what it wrote before is there.
#[test]
fn a_program_that_closes_its_outputs() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let job = q.submit(Job::command(shell("echo some; exec >&- 2>&-; sleep 0.1; exit 3"))).unwrap();
            assert_eq!(job.wait(), State::Failed);
            assert_eq!(job.failed_output().unwrap().stdout, b"some\n");
            assert!(job.join().unwrap_err().to_string().ends_with("exit code 3"));
        });
    });
}

/// Of a program that is told to stop what it prints then is read, too, so its end is not held up.
#[test]
fn a_program_that_prints_much_when_it_is_told_to_stop() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let name = Name::new();
            let says = "trap \"head -c 300000 /dev/zero; exit 0\" TERM; echo > FILE; while :; do sleep 0.01; done";
            // (The leader, and one that it leaves in its group.)
            for script in ["SAYS", "sh -c 'SAYS' & while :; do sleep 0.01; done"] {
                let says = name.fill(&script.replace("SAYS", says));
                _ = std::fs::remove_file(&name.0);
                let job = q.submit(Job::command(shell(&says).grace(std::time::Duration::from_secs(3600)))).unwrap();
                until(|| name.0.exists());
                job.cancel();
                assert_eq!(job.wait(), State::Cancelled);
                assert!(job.failed_output().unwrap().stdout.len() >= 300_000);
            }
        });
    });
}

/// Where the process may open no more files, a command is not started, and says so; and the next
/// one is.
#[cfg(target_os = "linux")]
#[test]
fn no_descriptor_is_left() {
    let output = in_child(&[], || {
        each(&[1, 2], |rt| {
            rt.run(|| {
                let q = Local::new().start();
                q.submit(Job::command(["true"])).unwrap().join().unwrap();
                let mut taken = Vec::new();
                while let Ok(file) = std::fs::File::open("/dev/null") {
                    taken.push(file);
                }
                // (Two pipes need four; then a file for its input is lacking.)
                for left in 0..5 {
                    taken.truncate(taken.len() - usize::from(left > 0));
                    let why = q.submit(Job::command(["true"])).unwrap().join().unwrap_err().to_string();
                    assert!(why.contains("did not start: ") && why.contains("Too many open files"), "{why}");
                }
                drop(taken);
                assert_eq!(q.submit(Job::command(["echo", "well"])).unwrap().join().unwrap().stdout, b"well\n");
            });
        });
    });
    assert_ok(&output);
}
