//! Programs that print much more than is kept: what is kept, what is said, and that neither memory
//! nor a disk fills up.

use crate::common::{assert_ok, each, in_child};
use crate::job_commands::shell;
use crate::job_engine::until;
use crate::job_memory::kilobytes;
use myriad::jobs::{CommandOutput, Job, Local, State};
use std::path::{Path, PathBuf};
use std::process::Command;

const MB: u64 = 1 << 20;

fn new_file() -> PathBuf {
    std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64()))
}

/// Runs this, in a process of its own, in both modes with 1 and 2 workers, and returns by how much
/// the memory of the process grew at most.
fn in_own_process(most: u64, body: impl Fn() + Sync) {
    let output = in_child(&[], || {
        each(&[1, 2], |rt| {
            // (What a queue and its threads take the first time is not counted.)
            rt.run(|| _ = Local::new().start().submit(Job::command(["true"])).unwrap().join());
            let before = kilobytes("VmRSS:");
            std::fs::write("/proc/self/clear_refs", "5").unwrap();
            rt.run(&body);
            let grown = kilobytes("VmHWM:").saturating_sub(before) << 10;
            assert!(cfg!(myriad_asan) || grown < most, "{} MB more at most", grown / MB);
        });
    });
    assert_ok(&output);
}

/// A script that leaves a process outside of the group, which has both outputs open, and a file
/// with its number; then this. (It goes on when that process is there: it would be killed with the
/// group.)
fn and_a_witness(file: &Path, then: &str) -> String {
    format!(
        "setsid sh -c 'echo $$ > {0}.new; mv {0}.new {0}; exec sleep 3600' & until [ -e {0} ]; do sleep 0.01; done; {then}",
        file.display()
    )
}

/// Kills whoever this is, and the file in which its number stood.
fn end(file: &Path) {
    let process = std::fs::read_to_string(file).unwrap();
    assert!(Command::new("kill").args(["-9", process.trim()]).status().unwrap().success());
    std::fs::remove_file(file).unwrap();
}

/// Four gigabytes, at once or after a pause in which nobody looks often: the program is killed long
/// before, its verdict says how much it has written, and as much as the limit is kept. Nobody waits
/// for another process that has its outputs.
#[test]
fn gigabytes_are_not_kept() {
    // (What is kept is there, and a copy of it.)
    in_own_process(192 * MB, || {
        let q = Local::new().start();
        for (pause, limit, shown, name) in [
            ("", 16 * MB, "16.0 MB", "output"),
            ("sleep 0.3;", 16 * MB, "16.0 MB", "error"),
            ("", 64 * MB, "64.0 MB", "output"),
        ] {
            let file = new_file();
            let (to, kept) = if name == "output" { ("", [limit, 0]) } else { (">&2", [0, limit]) };
            let prints = format!("{pause} exec head -c 4000000000 /dev/zero {to}");
            let spec = shell(&and_a_witness(&file, &prints)).output_limit(limit);
            let job = q.submit(Job::command(spec)).unwrap();
            job.wait();
            let both = job.failed_output().map(|both| [both.stdout, both.stderr].map(|kept| kept.len() as u64));
            assert_eq!(both, Some(kept));
            let why = job.join().unwrap_err().to_string();
            assert!(why.contains(&format!("killed: {name} ")) && why.ends_with(&format!("of {shown}")), "{why}");
            end(&file);
        }
        assert_eq!((q.cpus().0, q.running()), (0.0, 0));
    });
}

/// More than 64 MB may be kept, on a disk: all of it comes back, of both outputs at the same time.
/// Of a program that writes a byte too much that byte is lost, and nothing else.
#[test]
fn much_output_is_kept_whole() {
    // (Both are there, and a copy of them. Each was read into a place that grew twofold.)
    in_own_process(600 * MB, || {
        let q = Local::new().start();
        let (out, err) = (66 * MB, 65 * MB);
        let job = |limit| {
            let prints = |word, bytes, to| format!("yes {word} | head -c {bytes} {to}");
            let both = format!("{} & {}", prints('o', out, ""), prints('e', err, ">&2"));
            // (The byte too much is the last one of all: the program is killed when it is seen.)
            let both = format!("{both}; printf end >&2; wait; printf end");
            q.submit(Job::command(shell(&both).output_limit(limit))).unwrap()
        };
        let check = |kept: CommandOutput, end_of_out: &[u8]| {
            for (bytes, length, letter, end) in [(kept.stdout, out, b'o', end_of_out), (kept.stderr, err, b'e', b"end")]
            {
                assert_eq!(bytes.len(), length as usize + end.len());
                let part = [letter, b'\n'].repeat(MB as usize / 2);
                let (all, last) = bytes.split_at(length as usize);
                assert!(all.chunks(part.len()).all(|of| of == part) && last == end);
            }
        };
        check(job(out + 3).join().unwrap(), b"end");
        let over = job(out + 2);
        assert_eq!(over.wait(), State::Failed);
        check(over.failed_output().unwrap(), b"en");
        let why = over.join().unwrap_err().to_string();
        assert!(why.ends_with("output 66.0 MB of 66.0 MB"), "{why}");
    });
}

/// Files of the user have the limit that they were given, exactly, and nothing of them is kept.
#[test]
fn much_output_to_files_that_have_a_limit() {
    in_own_process(16 * MB, || {
        let q = Local::new().start();
        let (out, err) = (new_file(), new_file());
        for (stream, file) in [("", &out), (">&2", &err)] {
            let prints = shell(&format!("exec head -c 1000000000 /dev/zero {stream}"));
            let spec = prints.stdout_file(&out).stderr_file(&err).output_limit(1).file_size(66 * MB);
            let why = q.submit(Job::command(spec)).unwrap().join().unwrap_err().to_string();
            assert!(why.ends_with("killed: a file of more than 66.0 MB"), "{why}");
            assert_eq!(std::fs::metadata(file).unwrap().len(), 66 * MB);
        }
        assert_eq!(std::fs::metadata(&out).unwrap().len(), 0, "it was emptied for the second one");
        for file in [out, err] {
            std::fs::remove_file(file).unwrap();
        }
    });
}

/// What a program leaves behind goes on, and may print much. Nobody looks any more, so what it
/// writes then is not kept, of either output, and takes no memory.
#[test]
fn a_grandchild_that_prints_much_is_not_kept() {
    in_own_process(16 * MB, || {
        let q = Local::new().start();
        for (stream, number) in [("", 1), (">&2", 2)] {
            let file = new_file();
            // (It waits for the end of the job.)
            let child = format!(
                "echo $$ > {0}.new; mv {0}.new {0}; until [ -e {0}.go ]; do sleep 0.01; done; head -c 100000000 /dev/zero {stream}; exec sleep 3600",
                file.display()
            );
            let script = format!(
                "setsid sh -c '{child}' & until [ -e {0} ]; do sleep 0.01; done; echo hello {stream}",
                file.display()
            );
            let output = q.submit(Job::command(shell(&script))).unwrap().join().unwrap();
            assert_eq!(if number == 1 { output.stdout } else { output.stderr }, b"hello\n");
            let go = file.with_extension("go");
            std::fs::write(&go, "").unwrap();
            let process = std::fs::read_to_string(&file).unwrap();
            let name = || std::fs::read_to_string(format!("/proc/{}/comm", process.trim())).unwrap();
            until(|| name().trim() == "sleep");
            std::fs::remove_file(go).unwrap();
            end(&file);
        }
    });
}
