//! A run in a fresh process, under a watchdog.
//!
//! The parent starts its own executable with the hidden command `measure-one` and the parameters as
//! JSON; the child prints one line of JSON. A child that crashes, prints nonsense or takes too long
//! gives a record that says so, and so does one that takes nearly all of the machine's memory. A
//! child's standard input is a pipe that nobody writes to: where that ends, the parent is gone, and
//! the child ends too.

use std::io::Read;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use myriad_bench::{Params, Record};

/// Set for a child whose standard input ends with its parent.
const LIFELINE: &str = "MYRIAD_BENCH_LIFELINE";

/// The child's side: does the run that `params` describes and prints its record.
pub(crate) fn be(params: &str) -> ExitCode {
    match serde_json::from_str::<Params>(params) {
        Ok(params) => {
            if std::env::var_os(LIFELINE).is_some() {
                thread::spawn(|| {
                    _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
                    std::process::exit(1)
                });
            }
            println!("{}", myriad_bench::run(&params).to_json());
            // No unwinding of thousands of tasks that nobody looks at any more.
            std::process::exit(0)
        }
        Err(e) => {
            eprintln!("error: these are no parameters of a run: {e}");
            ExitCode::from(crate::USAGE)
        }
    }
}

/// The parent's side: does the run in a fresh process and kills it after `timeout`.
pub(crate) fn run(params: &Params, timeout: Duration) -> Record {
    let json = serde_json::to_string(params).expect("parameters are strings and numbers");
    let child = std::env::current_exe().and_then(|exe| {
        let mut command = Command::new(exe);
        command.args(["measure-one", &json]).env(LIFELINE, "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
    });
    match child {
        Ok(child) => watch(child, timeout).and_then(|(status, said)| understand(params, status, &said)),
        Err(e) => Err(format!("its process did not start: {e}")),
    }
    .unwrap_or_else(|error| Record::failed(params, error))
}

/// What a child wrote.
struct Said {
    out: String,
    err: String,
}

/// Waits for the end of the child's output and then of the child, but not longer than `timeout`.
fn watch(mut child: Child, timeout: Duration) -> Result<(ExitStatus, Said), String> {
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let errors = thread::spawn(move || read_all(&mut err));
    let (ended, end) = mpsc::channel();
    thread::spawn(move || ended.send(read_all(&mut out)));
    let (until, memory) = (Instant::now() + timeout, available_memory());
    let out = loop {
        let left = until.saturating_duration_since(Instant::now());
        let complaint = match end.recv_timeout(left.min(LOOK)) {
            Ok(out) => break out,
            Err(RecvTimeoutError::Disconnected) => break String::new(),
            Err(RecvTimeoutError::Timeout) if left.is_zero() => {
                format!("not done after {} s, killed (--timeout allows more)", timeout.as_secs())
            }
            Err(RecvTimeoutError::Timeout) => match (memory, memory_of(&child)) {
                (Some(available), Some(taken)) if taken > available / 10 * 9 => {
                    format!("killed: it took {} of {} (give a smaller --n)", bytes(taken), bytes(available))
                }
                _ => continue,
            },
        };
        // The kill may find that it has just ended, and the wait cannot fail for a child of ours.
        let _ = child.kill();
        let _ = child.wait();
        return Err(complaint);
    };
    let status = child.wait().map_err(|e| format!("its process is lost: {e}"))?;
    Ok((status, Said { out, err: errors.join().unwrap_or_default() }))
}

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(100);

fn bytes(b: u64) -> String {
    crate::style::bytes(b as f64)
}

/// The memory that is free for a child, in bytes, if the system tells.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    kilobytes(text.lines().find(|line| line.starts_with("MemAvailable:"))?)
}

/// What it has now.
fn memory_of(child: &Child) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    kilobytes(text.lines().find(|line| line.starts_with("VmRSS:"))?)
}

/// "VmRSS:   123 kB"
fn kilobytes(line: &str) -> Option<u64> {
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kb| kb * 1024)
}

/// All that comes from a pipe; what is no text or breaks off is simply left out.
fn read_all(pipe: &mut Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Makes a record of what the child said, or says in one line what became of it.
fn understand(params: &Params, status: ExitStatus, said: &Said) -> Result<Record, String> {
    let complaint = said.err.lines().find(|l| !l.trim().is_empty() && !l.trim().starts_with("thread '"));
    let complaint = complaint.map(|l| format!(": {}", l.trim())).unwrap_or_default();
    if !status.success() {
        return Err(format!("{} ended with {status}{complaint}", params.system));
    }
    serde_json::from_str(said.out.trim()).map_err(|_| format!("{} gave no result{complaint}", params.system))
}

#[cfg(all(test, unix))]
mod test {
    use super::*;
    use std::time::Instant;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("there is a shell")
    }

    fn params() -> Params {
        let w = myriad_bench::workload("threads").expect("it is in the table");
        Params::new(w, &w.forms[0], "std", 1)
    }

    #[test]
    fn a_hanging_child_is_killed() {
        let begin = Instant::now();
        let error = watch(shell("exec sleep 60"), Duration::from_millis(50)).err().expect("it is killed");
        assert!(error.contains("killed"), "{error}");
        assert!(begin.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_crashing_child_is_reported_with_its_complaint() {
        let (status, said) = watch(shell("echo boom >&2; exit 3"), Duration::from_secs(30)).expect("it ends");
        let error = understand(&params(), status, &said).expect_err("it crashed");
        assert!(error.contains("exit status: 3: boom"), "{error}");
    }

    #[test]
    fn nonsense_is_reported() {
        let (status, said) = watch(shell("echo hello"), Duration::from_secs(30)).expect("it ends");
        assert!(understand(&params(), status, &said).expect_err("no JSON").contains("no result"));
    }

    #[test]
    fn a_record_comes_through() {
        let record = Record::failed(&params(), "cannot: just a test".into());
        let (status, said) =
            watch(shell(&format!("echo '{}'", record.to_json())), Duration::from_secs(30)).expect("ends");
        assert_eq!(understand(&params(), status, &said).expect("JSON").cannot(), Some("just a test"));
    }
}
