//! Jobs from commands: output, verdicts, limits, process groups.

use super::job_engine::until;
use crate::common::{Mode, case, each, each_with, wait_until};
use myriad::jobs::{CommandOutput, CommandSpec, Edit, Job, JobError, JobHandle, Local, Refused, State};
use myriad::{Builder, Runtime};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

pub(super) fn shell(script: &str) -> CommandSpec {
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
            let verdict = |script| q.submit(Job::command(shell(script))).unwrap().join().unwrap_err().to_string();
            assert!(verdict("echo first >&2; echo last >&2; exit 3").ends_with("failed: exit code 3: last"));
            assert!(verdict("kill -9 $$").ends_with("failed: killed by signal 9"));
            let none = q.submit(Job::command(["/no/such/program"])).unwrap().join().unwrap_err().to_string();
            assert!(none.contains("did not start: /no/such/program: "), "{none}");
            let mut lost = Command::new("true");
            lost.current_dir("/no/such/folder");
            let lost = q.submit(Job::command(lost)).unwrap().join().unwrap_err().to_string();
            assert!(lost.contains("did not start: the folder /no/such/folder: "), "{lost}");
            q.wait_all();
        });
    });
}

/// It ends although a grandchild has the output open, and what it left in its group goes on.
#[test]
fn a_grandchild_that_keeps_the_output_holds_up_nobody() {
    each(&[1, 2], |rt| {
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
    each(&[1, 2], |rt| {
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

/// Of a program that is cancelled the whole group has its grace, also if its leader ends before the
/// others: a child has time to clean up.
#[test]
fn the_group_has_its_grace_when_the_leader_is_gone() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let file = std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64()));
            // (The child is up when it writes its number; it ends once it finds `FILE.go`.)
            let child = "trap \"touch FILE.told; until [ -e FILE.go ]; do sleep 0.01; done; touch FILE.clean; exit\" TERM; \
                         echo $$ > FILE.new; mv FILE.new FILE; while :; do sleep 0.01; done";
            let script = format!("sh -c '{child}' & wait").replace("FILE", file.to_str().unwrap());
            let at = |end: &str| std::path::PathBuf::from(format!("{}{end}", file.display()));
            let begin = |grace| {
                let job = q.submit(Job::command(shell(&script).grace(grace))).unwrap();
                until(|| file.exists());
                let child = std::fs::read_to_string(&file).unwrap();
                job.cancel();
                (job, format!("/proc/{}/stat", child.trim()))
            };
            let lives = |stat: &str| std::fs::read_to_string(stat).is_ok_and(|stat| !stat.contains(") Z"));
            let (job, _) = begin(Duration::from_secs(3600));
            until(|| at(".told").exists() || job.state() != State::Running);
            assert_eq!((job.state(), q.cpus().0), (State::Running, 1.0), "it holds what it has");
            std::fs::write(at(".go"), "").unwrap();
            assert_eq!(job.wait(), State::Cancelled);
            assert!(at(".clean").exists(), "the child was killed");
            // One that does not end in its grace is killed, and the verdict is that of the stop.
            [file.clone(), at(".told"), at(".go"), at(".clean")].iter().for_each(|file| std::fs::remove_file(file).unwrap());
            let (job, child) = begin(Duration::from_millis(20));
            assert_eq!(job.wait(), State::Cancelled);
            until(|| !lives(&child));
            assert!(!at(".clean").exists());
            for file in [file.clone(), at(".told")] {
                _ = std::fs::remove_file(file);
            }
        });
    });
}

/// A program that obeys, and says that all is well, is stopped all the same: what depends on it
/// does not run, and what it wrote is kept.
#[test]
fn a_program_that_obeys_with_success_is_stopped() {
    each_with(&[1, 2], Builder::manual_clock, |_, rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).start();
            let file = std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64()));
            let script = format!("trap 'exit 0' TERM; echo half; > {}; while :; do sleep 0.01; done", file.display());
            let stopped = |end, stop: &dyn Fn(&JobHandle<CommandOutput>)| {
                let job = Job::command(shell(&script)).wall_time(Duration::from_secs(1));
                let job = q.submit(job).unwrap();
                let next = q.submit(Job::new(|| ()).after(&job)).unwrap();
                wait_until(|| file.exists());
                std::fs::remove_file(&file).unwrap();
                stop(&job);
                assert_eq!((job.wait(), next.wait()), (end, State::Skipped(job.id())));
                assert_eq!(job.failed_output().unwrap().stdout, b"half\n");
                q.job(&job).unwrap().reason
            };
            stopped(State::Cancelled, &|job| job.cancel());
            // (A shell may say that its child was terminated, too.)
            let why = stopped(State::TimedOut, &|_| rt.advance(Duration::from_secs(1))).unwrap();
            assert!(why.starts_with("timed out after 1s: exit code 0"), "{why}");
        });
    });
}

/// More time than the system can count is no limit of the system, and ends nothing.
#[test]
fn much_processor_time_is_no_limit() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let asks = |spec: CommandSpec| q.submit(Job::command(spec)).unwrap().join().unwrap().stdout;
            let limits = || shell("ulimit -St; ulimit -Ht");
            let none = asks(limits());
            let seconds = [u64::MAX, i64::MAX as u64, 1 << 40].map(Duration::from_secs);
            for much in [Duration::MAX].into_iter().chain(seconds) {
                assert_eq!(asks(limits().cpu_time(much)), none, "{much:?}");
            }
        });
    });
}

#[test]
fn limits_are_named() {
    each(&[1, 2], |rt| {
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
            // One that runs too long. (On a busy machine its time is over before the program is
            // there.)
            let too_long = || {
                let long = q.submit(Job::command(["sleep", "3600"]).wall_time(Duration::from_millis(5))).unwrap();
                let id = long.id();
                assert!(matches!(long.join(), Err(JobError::TimedOut(..))));
                q.job(id).unwrap().reason.unwrap()
            };
            let why = std::iter::repeat_with(too_long).find(|why| &**why != "timed out after 5ms");
            assert_eq!(why.as_deref(), Some("timed out after 5ms: killed by signal 15"));
            // And again, with retries.
            let retried = q.submit(Job::command(shell("echo no; exit 1")).retries(2)).unwrap();
            assert_eq!(retried.wait(), State::Failed);
            assert_eq!(retried.failed_output().unwrap().stdout, b"no\n");
            let well = q.submit(Job::command(["echo"])).unwrap();
            assert_eq!((well.wait(), well.failed_output()), (State::Done, None));
            q.wait_all();
            assert_eq!((q.cpus().0, q.memory().0), (0.0, 0));
        });
    });
}

/// A limit of processor time, of files, of address space: the verdict names it, also if a child of
/// the program met it.
#[test]
fn limits_of_the_system_are_named() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(4).start();
            let verdict = |spec: CommandSpec| q.submit(Job::command(spec)).unwrap().join().unwrap_err().to_string();
            let spins = || shell("while :; do :; done").cpu_time(Duration::from_millis(30));
            let why = verdict(spins());
            assert!(why.contains("killed: cpu time") && why.contains("of 0.0 s"), "{why}");
            let children = shell("sh -c 'while :; do :; done' & wait").cpu_time(Duration::from_millis(30));
            let why = verdict(children);
            assert!(why.contains("killed: cpu time"), "{why}");
            let file = std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64()));
            let fills = |script: &str| shell(&script.replace("FILE", file.to_str().unwrap())).file_size(1 << 16);
            for script in ["exec head -c 1000000 /dev/zero > FILE", "head -c 1000000 /dev/zero > FILE; exit $?"] {
                let why = verdict(fills(script));
                assert!(why.ends_with("killed: a file of more than 64.0 KB"), "{why}");
                assert_eq!(std::fs::metadata(&file).unwrap().len(), 1 << 16, "the limit is a wall");
            }
            std::fs::remove_file(&file).unwrap();
            let why = verdict(shell("echo no memory >&2; exit 2").address_space(1 << 30));
            assert!(why.ends_with("exit code 2: no memory (its address space was limited to 1.0 GB)"), "{why}");
            // They are those of the next attempt, too; and one that keeps to them is done.
            let retried = q.submit(Job::command(fills("exec head -c 1000000 /dev/zero > FILE")).retries(1)).unwrap();
            assert!(retried.join().unwrap_err().to_string().contains("killed: a file"));
            let small = fills("exec head -c 1000 /dev/zero > FILE").cpu_time(Duration::from_secs(60));
            q.submit(Job::command(small)).unwrap().join().unwrap();
            std::fs::remove_file(&file).unwrap();
        });
    });
}

/// A disk that is full is the program's failure, in its own words.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            let why = q
                .submit(Job::command(shell("head -c 9 /dev/zero > /dev/full")))
                .unwrap()
                .join()
                .unwrap_err()
                .to_string();
            assert!(why.contains("exit code") && why.contains("No space left"), "{why}");
            let log = q.submit(Job::command(shell("echo much").stdout_file("/dev/full"))).unwrap();
            assert!(log.join().unwrap_err().to_string().contains("failed"), "its own output cannot be written");
            let nowhere = q.submit(Job::command(shell("echo much").stdout_file("/no/such/file"))).unwrap();
            let why = nowhere.join().unwrap_err().to_string();
            assert!(why.contains("did not start: /no/such/file: "), "{why}");
        });
    });
}

/// The output goes to a file of the user: both, emptied or not.
#[test]
fn output_to_files() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(1).start();
            let log = std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64()));
            let says =
                |text: &str| shell(&format!("echo {text}; echo {text}! >&2")).stdout_file(&log).stderr_file(&log);
            let written = |spec: CommandSpec| {
                let output = q.submit(Job::command(spec)).unwrap().join().unwrap();
                assert!(output.stdout.is_empty() && output.stderr.is_empty());
                std::fs::read_to_string(&log).unwrap()
            };
            assert_eq!(written(says("one").output_limit(1)), "one\none!\n");
            assert_eq!(written(says("two")), "two\ntwo!\n");
            assert_eq!(written(says("three").append()), "two\ntwo!\nthree\nthree!\n");
            std::fs::remove_file(&log).unwrap();
        });
    });
}

/// The peak is the program's own, also where the process that starts it has much memory.
#[cfg(target_os = "linux")]
#[test]
fn the_peak_of_memory_is_not_the_parents() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let mut much = vec![0_u8; 256 << 20];
            much.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
            let q = Local::new().start();
            // (Nobody knows the peak of one that ends before anybody has looked: then it is 0.)
            let times = ["0.05", "0.5", "5"].map(|time| Job::command(["sleep", time]));
            let mut small = times.into_iter().map(|job| q.submit(job).unwrap().join().unwrap());
            let small = small.find(|small| small.peak_memory > 0).expect("somebody has looked");
            assert!(small.peak_memory < 64 << 20, "{small:?}");
            assert_eq!(std::hint::black_box(much).len(), 256 << 20);
        });
    });
}

/// A command that is paused stands still, and goes on when it is resumed, or cancelled.
#[cfg(target_os = "linux")]
#[test]
fn pause_and_resume() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().cpus(2).start();
            let file = std::env::temp_dir().join(format!("myriad-job-{}", myriad::rng().next_u64()));
            let script = format!(
                "echo $$ > {0}.new; mv {0}.new {0}; while [ -e {0} ] && kill -0 $PPID; do :; done",
                file.display()
            );
            let begin = || {
                let job = q.submit(Job::command(shell(&script))).unwrap();
                until(|| file.exists());
                let process = std::fs::read_to_string(&file).unwrap();
                (job, format!("/proc/{}/stat", process.trim()))
            };
            let is_stopped = |stat: &str| std::fs::read_to_string(stat).is_ok_and(|stat| stat.contains(") T "));
            let (job, stat) = begin();
            q.pause(&job).unwrap();
            until(|| is_stopped(&stat));
            std::fs::remove_file(&file).unwrap();
            assert_eq!((job.state(), q.cpus().0), (State::Running, 1.0), "it holds what it has");
            q.resume(&job).unwrap();
            assert_eq!(job.wait(), State::Done);
            assert!(matches!(q.pause(&job), Err(Refused::Forgotten(_) | Refused::NoProgram(..))));
            let (job, stat) = begin();
            q.pause(&job).unwrap();
            until(|| is_stopped(&stat));
            job.cancel();
            assert_eq!(job.wait(), State::Cancelled);
            std::fs::remove_file(&file).unwrap();
            let closure = q.submit(Job::new(|| ()).held()).unwrap();
            assert_eq!(q.resume(&closure), Err(Refused::NoProgram(closure.id(), State::Pending)));
            closure.cancel();
        });
    });
}

/// More than the limit is a failure also if the program has ended before anybody looked.
#[test]
fn output_over_the_limit_is_never_cut_silently() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().start();
            for stream in ["", " >&2"] {
                let writes = shell(&format!("printf 12345678901{stream}")).output_limit(10);
                let why = q.submit(Job::command(writes)).unwrap().join().unwrap_err().to_string();
                let name = if stream.is_empty() { "output" } else { "error" };
                assert!(why.contains(&format!("{name} 11 B of 10 B")), "{why}");
            }
            let goes_on = shell("printf 12345678901; exec sleep 3600").output_limit(10);
            let goes_on = q.submit(Job::command(goes_on)).unwrap();
            assert_eq!(goes_on.wait(), State::Failed);
            assert_eq!(goes_on.failed_output().unwrap().stdout, b"1234567890");
            let why = goes_on.join().unwrap_err().to_string();
            assert!(why.ends_with("killed: output 11 B of 10 B"), "{why}");
            let exactly = q.submit(Job::command(shell("printf 1234567890").output_limit(10))).unwrap();
            assert_eq!(exactly.join().unwrap().stdout, b"1234567890");
        });
    });
}

/// A command that has ended holds no files, also while its handle is kept.
#[test]
fn a_finished_command_holds_no_files() {
    each(&[1, 2], |rt| {
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

/// Runs this while all threads for what blocks are taken, until the sender is dropped.
fn without_threads(body: impl Fn(&Runtime, mpsc::Sender<()>) + Sync) {
    const THREADS: usize = 512;
    let tweak = |b: Builder| b.manual_clock();
    case(Mode::Fibers, 1, tweak, |rt| {
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
            while begun.load(Relaxed) < THREADS {
                myriad::yield_now();
            }
            body(rt, open);
            held.into_iter().for_each(|task| task.join().unwrap());
        });
    });
}

/// A command that is cancelled while it waits for a thread never runs, and has ended.
#[test]
fn cancelled_before_a_thread_is_there() {
    without_threads(|_, open| {
        let q = Local::new().start();
        let job = q.submit(Job::command(["true"]).retries(1)).unwrap();
        // (The only worker comes back to this task when the job's task waits.)
        myriad::yield_now();
        assert_eq!(job.state(), State::Running);
        job.cancel();
        drop(open);
        assert_eq!(job.wait(), State::Cancelled);
        assert_eq!(q.cpus().0, 0.0);
    });
}

/// While a command waits for a thread its wall time does not pass.
#[test]
fn wall_time_begins_with_the_thread() {
    without_threads(|rt, open| {
        let q = Local::new().start();
        let job = q.submit(Job::command(["true"]).wall_time(Duration::from_secs(60)).name("short")).unwrap();
        myriad::yield_now();
        assert_eq!(job.state(), State::Running);
        rt.advance(Duration::from_secs(3600));
        drop(open);
        assert_eq!(job.wait(), State::Done);
        let info = q.job(&job).unwrap();
        assert_eq!((info.waited, info.ran), (Duration::from_secs(3600), Duration::ZERO));
    });
}

/// What a command may take is what was asked last.
#[test]
fn needs_that_are_changed_are_the_limits() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let q = Local::new().memory("1 GB").start();
            let less = q.submit(Job::command(["sleep", "3600"]).held()).unwrap();
            q.edit(&less, Edit::new().memory(8 << 10)).unwrap();
            less.release().unwrap();
            let why = less.join().unwrap_err().to_string();
            assert!(why.contains("killed: memory") && why.contains("of 8.0 KB"), "{why}");
            let more = q.submit(Job::command(["sleep", "0.25"]).memory("8 KB").held()).unwrap();
            q.edit(&more, Edit::new().memory(1 << 29)).unwrap();
            more.release().unwrap();
            more.join().unwrap();
        });
    });
}
