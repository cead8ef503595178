//! The command from outside: every workload, form and system at a tiny size, and what is refused.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use myriad_bench::{Mode, Params, workloads};

/// A size that every system does in milliseconds.
fn tiny(p: &mut Params) {
    (p.n, p.m) = match p.workload.as_str() {
        "relay" => (20, 10),
        "skynet" => (100, 0),
        "fib" => (12, 0),
        "interactive" => (20, 0),
        "calls" => (10, 0),
        "actor" | "agent" => (10, 10),
        "pairs" | "hub" | "pipeline" | "alltoall" => (10, 5),
        "tree" => (8, 5),
        "psort" => (40_000, 0),
        "echo" | "http" | "echo-rate" => (200, 8),
        "echo-busy" => (5, 0),
        _ => (50, 0),
    };
}

fn myriad(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_myriad")).args(args).output().expect("the command starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it writes UTF-8")
}

/// Runs `p` and checks the one line of JSON. The command's watchdog ends what hangs.
fn check_one(p: &Params) {
    let (workers, n, m) = (p.workers.to_string(), p.n.to_string(), p.m.to_string());
    let mut args = vec!["bench", &p.workload, "--form", &p.form, "--system", &p.system, "--workers", &workers];
    // (To build a program of a peer may take a minute, where others compile too.)
    args.extend(["--n", &n, "--runs", "1", "--timeout", "300", "--json"]);
    let mode = p.mode.to_string();
    if p.is_ours() {
        args.extend(["--mode", &mode]);
    }
    let (payload, buffer) = (p.payload.to_string(), p.buffer.map_or("unbounded".into(), |b| b.to_string()));
    if p.m > 0 {
        args.extend(["--m", &m]);
    }
    if p.workload == "relay" {
        args.extend(["--payload", &payload, "--buffer", &buffer]);
    }
    let out = myriad(&args);
    assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
    let lines: Vec<_> = text(&out.stdout).lines().collect();
    let [line] = lines[..] else { panic!("{args:?} printed {lines:?}") };
    let record: serde_json::Value = serde_json::from_str(line).expect("it is JSON");
    // What is not installed here says so.
    let entry = p.entry().expect("it is in the table");
    if entry.outside && record["error"].as_str().is_some_and(|error| error.starts_with("cannot: ")) {
        return eprintln!("left out: {}: {}", p.system, record["error"]);
    }
    assert_eq!(record["ok"], true, "{record}");
    let asked = serde_json::to_value(p).expect("parameters are strings and numbers");
    for key in ["workload", "form", "system", "workers"] {
        assert_eq!(record[key], asked[key], "{record}");
    }
    for key in ["n", "m", "payload", "buffer", "seed"] {
        assert_eq!(record["params"][key], asked[key], "{record}");
    }
    for key in ["mode", "ops", "seconds", "ns_per_op", "bytes_per_task", "max_rss_bytes"] {
        assert!(record.get(key).is_some(), "{key} is missing in {record}");
    }
    let number = |key: &str| record[key].as_f64().unwrap_or(f64::NAN);
    // (The system adds the time of another process up when a thread of that has run.)
    assert!(number("seconds") > 0.0 && (number("cpu_seconds") > 0.0 || entry.outside), "{record}");
    assert!(number("seconds_min") <= number("seconds") && number("seconds") <= number("seconds_max"), "{record}");
    let beside = ["interactive", "echo-busy"].contains(&&*p.workload) || (p.workload == "calls" && p.form == "busy");
    assert_eq!(record.get("background_per_second").is_some(), beside, "{record}");
    let is_served = p.workload.starts_with("echo") || p.workload == "http";
    assert_eq!(record.get("silent").is_some(), p.workload == "echo-idle", "{record}");
    assert_eq!(record.get("served").is_some(), is_served && p.workload != "echo-idle", "{record}");
}

/// Every run of `workload` that this build can do, with one worker and with two. Several runs at a
/// time: some of them wait most of their time.
fn check_all(workload: &str) {
    const AT_ONCE: usize = 4;
    let w = myriad_bench::workload(workload).expect("it is in the table");
    let mut all = Vec::new();
    for form in w.forms {
        for entry in form.entries.iter().filter(|e| e.is_built()) {
            for workers in [1, 2] {
                // What rayon cannot is no run.
                let cannot = w.name == "calls" && form.name == "busy" && entry.system == "rayon";
                // (A process more for each, which is slow to start.)
                if entry.single && workers > 1 || cannot || entry.outside && workers == 1 {
                    continue;
                }
                let mut p = Params::new(w, form, entry.system, workers);
                tiny(&mut p);
                all.push(p.clone());
                if p.is_ours() {
                    p.mode = Mode::Threads;
                    all.push(p);
                }
            }
        }
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..AT_ONCE {
            s.spawn(|| {
                while let Some(p) = all.get(next.fetch_add(1, Relaxed)) {
                    check_one(p);
                }
            });
        }
    });
}

#[test]
fn chain() {
    check_all("chain");
}

#[test]
fn relay() {
    check_all("relay");
}

#[test]
fn relay_with_every_payload_and_buffer() {
    let w = myriad_bench::workload("relay").expect("it is in the table");
    for form in w.forms {
        for entry in form.entries.iter().filter(|e| e.is_built()) {
            for payload in ["moved20", "shared20"] {
                for buffer in [None, Some(3)] {
                    let mut p = Params::new(w, form, entry.system, 1);
                    tiny(&mut p);
                    (p.payload, p.buffer) = (payload.parse().expect("it exists"), buffer);
                    check_one(&p);
                }
            }
        }
    }
}

#[test]
fn overhead() {
    check_all("overhead");
}

#[test]
fn skynet() {
    check_all("skynet");
}

#[test]
fn threads() {
    check_all("threads");
}

#[test]
fn fib() {
    check_all("fib");
}

#[test]
fn scan() {
    check_all("scan");
}

#[test]
fn sum() {
    check_all("sum");
}

#[test]
fn pingpong() {
    check_all("pingpong");
}

#[test]
fn sieve() {
    check_all("sieve");
}

#[test]
fn pairs() {
    check_all("pairs");
}

#[test]
fn hub() {
    check_all("hub");
}

#[test]
fn pipeline() {
    check_all("pipeline");
}

#[test]
fn tree() {
    check_all("tree");
}

#[test]
fn alltoall() {
    check_all("alltoall");
}

#[test]
fn calls() {
    check_all("calls");
}

#[test]
fn echo() {
    if cfg!(target_os = "linux") {
        check_all("echo");
    }
}

#[test]
fn echo_at_a_rate() {
    if cfg!(target_os = "linux") {
        check_all("echo-rate");
    }
}

#[test]
fn echo_beside_others() {
    if cfg!(target_os = "linux") {
        check_all("echo-busy");
    }
}

#[test]
fn echo_in_silence() {
    if cfg!(target_os = "linux") {
        check_all("echo-idle");
    }
}

#[test]
fn http() {
    if cfg!(target_os = "linux") {
        check_all("http");
    }
}

#[test]
fn actor() {
    check_all("actor");
}

#[test]
fn agent() {
    check_all("agent");
}

#[test]
fn idle() {
    check_all("idle");
}

#[test]
fn lock() {
    check_all("lock");
}

#[test]
fn mutex() {
    check_all("mutex");
}

#[test]
fn interactive() {
    check_all("interactive");
}

#[test]
fn select() {
    check_all("select");
}

#[test]
fn timers() {
    check_all("timers");
}

#[test]
fn cancel() {
    check_all("cancel");
}

#[test]
fn job() {
    check_all("job");
}

#[test]
fn graph() {
    check_all("graph");
}

#[test]
fn dataflow() {
    check_all("dataflow");
}

#[test]
fn ops() {
    check_all("ops");
}

#[test]
fn psort() {
    check_all("psort");
}

#[test]
fn every_workload_is_tested_above() {
    let source = include_str!("cli.rs");
    for w in workloads() {
        assert!(source.contains(&format!("check_all(\"{}\")", w.name)), "{} is not", w.name);
    }
}

#[test]
fn documents_have_each_workload() {
    let page = include_str!("../../../docs/BENCHMARKS.md");
    for w in workloads() {
        let names_it = |row: &str| row.starts_with("| `") && row.contains(&format!("`{}`", w.name));
        assert!(page.lines().any(names_it), "docs/BENCHMARKS.md has no row for {}", w.name);
    }
    let count = format!("`bench` runs {} workloads", workloads().len());
    assert!(include_str!("../../../CHANGELOG.md").contains(&count), "CHANGELOG.md does not say: {count}");
}

#[test]
fn json_is_one_object_a_line_and_the_table_is_not_there() {
    let out = myriad(&["bench", "threads", "--n", "10", "--runs", "2", "--workers", "1", "--system", "std", "--json"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    let lines: Vec<_> = text(&out.stdout).lines().collect();
    assert_eq!(lines.len(), 2);
    for line in lines {
        assert_eq!(serde_json::from_str::<serde_json::Value>(line).expect("it is JSON")["ok"], true);
    }
    assert!(out.stderr.is_empty(), "no progress bar without a terminal: {}", text(&out.stderr));
}

#[test]
fn published_figures_are_marked_and_stand_beside_all_systems_only() {
    let lines = |more: &[&str]| -> Vec<serde_json::Value> {
        let args = ["bench", "overhead", "--form", "dataflow", "--n", "10", "--runs", "1", "--workers", "1", "--json"];
        let out = myriad(&[&args[..], more].concat());
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout).lines().map(|line| serde_json::from_str(line).expect("it is JSON")).collect()
    };
    let all = lines(&[]);
    let is_published = |line: &&serde_json::Value| line["published"] == true;
    let [figure] = all.iter().filter(is_published).collect::<Vec<_>>()[..] else { panic!("{all:?}") };
    assert_eq!((&figure["system"], &figure["n"]), (&"Dagger.jl".into(), &10_000.into()));
    assert!(all.iter().filter(|line| !is_published(line)).all(|line| line["ok"] == true), "{all:?}");
    assert!(lines(&["--system", "myriad"]).iter().all(|line| line["published"].is_null()));
}

#[test]
fn the_table_has_no_colours_without_a_terminal() {
    let out = myriad(&["bench", "threads", "--n", "10", "--runs", "1", "--system", "std"]);
    assert!(out.status.success() && out.stderr.is_empty(), "{}", text(&out.stderr));
    let table = text(&out.stdout);
    assert!(table.contains("threads") && table.contains("std") && !table.contains('\x1b'), "{table}");
}

#[test]
fn scaling_shows_the_numbers_of_workers_beside_each_other() {
    let args = ["bench", "pairs", "--scaling", "--workers", "1,2,3", "--n", "4", "--m", "5", "--runs", "1"];
    let out = myriad(&args);
    assert!(out.status.success() && out.stderr.is_empty(), "{}", text(&out.stderr));
    let table = text(&out.stdout);
    let words: Vec<_> = table.lines().nth(1).expect("there is a header").split_whitespace().collect();
    assert_eq!(words, ["workload", "system", "w1", "w2", "w3", "1/2", "1/3", "min–max", "cpu"], "{table}");
    assert!(!table.contains('\x1b') && table.contains("closure") && table.contains("future"), "{table}");
    let all: Vec<_> = args.iter().chain(&["--json"]).copied().collect();
    let out = myriad(&all);
    let records: Vec<serde_json::Value> =
        text(&out.stdout).lines().map(|l| serde_json::from_str(l).expect("it is JSON")).collect();
    assert!([1, 2, 3].iter().all(|w| records.iter().any(|r| r["workers"] == *w && r["ok"] == true)), "{records:?}");
}

#[cfg(unix)]
#[test]
fn what_there_is_when_it_is_interrupted_is_shown() {
    // It runs for some minutes, if nobody ends it.
    let args = ["bench", "threads", "--n", "10", "--system", "std", "--workers", "1", "--runs", "30000", "--json"];
    let mut command = Command::new(env!("CARGO_BIN_EXE_myriad"));
    let mut child =
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut first = String::new();
    lines.read_line(&mut first).expect("it writes text");
    // The first run has ended, so it listens.
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
    assert!(killed.success());
    let mut rest = String::new();
    lines.read_to_string(&mut rest).expect("it writes text");
    let out = child.wait_with_output().expect("it ends");
    assert_eq!(out.status.code(), Some(130), "{}", text(&out.stderr));
    assert!(text(&out.stderr).starts_with("interrupted after "), "{}", text(&out.stderr));
    for line in [&first].into_iter().map(|l| l.trim()).chain(rest.lines()) {
        assert_eq!(serde_json::from_str::<serde_json::Value>(line).expect("it is JSON")["ok"], true);
    }
}

#[test]
fn what_a_system_cannot_is_shown_and_is_no_failure() {
    let out = myriad(&["bench", "chain", "--form", "closure", "--system", "std", "--n", "9000000", "--runs", "1"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(text(&out.stdout).contains("cannot") && text(&out.stdout).contains("OS threads"), "{}", text(&out.stdout));
}

#[cfg(feature = "peers")]
#[test]
fn a_peer_outside_that_is_missing_says_what_to_install() {
    let no_jar = "/not/there.jar";
    for (workload, form, system, variable, value) in [
        // A compiler that finds no header, and paths where nothing is.
        ("graph", "chain", "tbb", "CXX", "false"),
        ("graph", "chain", "taskflow", "CXX", "false"),
        ("ops", "mult", "core.async", "CORE_ASYNC_CLASSPATH", no_jar),
        ("agent", "relay", "clojure", "CLOJURE_CLASSPATH", no_jar),
        ("actor", "relay", "erlang", "PATH", "/not/there"),
        ("actor", "call", "elixir", "PATH", "/not/there"),
    ] {
        let args =
            ["bench", workload, "--form", form, "--system", system, "--workers", "1", "--n", "10", "--runs", "1"];
        let out = Command::new(env!("CARGO_BIN_EXE_myriad")).args(args).env(variable, value).output();
        let out = out.expect("the command starts");
        let said = text(&out.stdout);
        assert!(out.status.success() && said.contains("cannot"), "{said}");
        let hint = said.lines().last().expect("the note is below the table");
        assert!(hint.contains(system) && (hint.contains("install") || hint.contains("TASKFLOW_INCLUDE")), "{said}");
    }
}

#[test]
fn a_run_that_takes_too_long_is_killed_and_only_strictness_fails_the_command() {
    let args = ["bench", "fib", "--n", "60", "--system", "serial", "--runs", "1", "--workers", "1", "--timeout", "1"];
    let out = myriad(&args);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stdout));
    assert!(
        text(&out.stderr).contains("not compared") && text(&out.stderr).contains("killed"),
        "{}",
        text(&out.stderr)
    );
    let out = myriad(&[&args[..], &["--strict"]].concat());
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
}

#[test]
fn a_run_of_ours_that_takes_too_long_fails_the_command() {
    let args = ["bench", "fib", "--n", "60", "--system", "myriad", "--runs", "1", "--workers", "1", "--timeout", "1"];
    let out = myriad(&args);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
    assert!(text(&out.stderr).contains("error: ") && text(&out.stderr).contains("killed"), "{}", text(&out.stderr));
}

/// The command in a shell, for what is done to its output.
#[cfg(unix)]
fn shell(script: &str) -> Output {
    let script = script.replace("myriad", env!("CARGO_BIN_EXE_myriad"));
    Command::new("sh").args(["-c", &script]).output().expect("the shell starts")
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    for command in ["myriad doctor", "myriad --help", "myriad bench threads --n 10 --runs 1 --workers 1 --json"] {
        let out = shell(&format!("{command} > /dev/full"));
        assert_eq!(out.status.code(), Some(1), "{command}: {}", text(&out.stderr));
        assert!(text(&out.stderr).contains("No space left"), "{command}: {}", text(&out.stderr));
    }
}

#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_the_command() {
    // All of its runs would take some minutes.
    let out = shell("myriad bench threads --n 10 --system std --workers 1 --runs 30000 --json | head -n 1");
    assert!(out.status.success());
    let lines: Vec<_> = text(&out.stdout).lines().collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(!text(&out.stderr).contains("panicked"), "{}", text(&out.stderr));
}

#[test]
fn the_doctor_speaks_json() {
    let out = myriad(&["doctor", "--json"]);
    let value: serde_json::Value = serde_json::from_slice(&out.stdout).expect("it is JSON");
    assert!(value.as_object().is_some_and(|all| !all.is_empty()), "{value}");
}

#[test]
fn a_name_with_a_slip_is_corrected() {
    for (args, said) in [(["bench", "pingpng"], "pingpong"), (["bench", "--fom"], "--form"), (["benhc", ""], "bench")] {
        let out = myriad(&args[..if args[1].is_empty() { 1 } else { 2 }]);
        assert_eq!(out.status.code(), Some(2));
        assert!(text(&out.stderr).contains(said), "{args:?}: {}", text(&out.stderr));
    }
}

#[test]
fn what_is_impossible_is_one_line_and_status_2() {
    let cases: [(&[&str], &str); 9] = [
        (&["bench", "nothing"], "there are: chain, relay"),
        (&["bench", "chain", "--form", "join"], "it has: closure, future"),
        (&["bench", "--system", "nobody"], "there are: myriad"),
        (&["bench", "chain", "--payload", "int"], "only relay"),
        (&["bench", "chain", "--workers", "0"], "at least 1"),
        (&["bench", "chain", "--workers", "1,99999999"], "the most is 1024"),
        (&["bench", "--mode", "nothing"], "fibers, threads"),
        (&["bench", "fib", "--system", "std"], "fib join: myriad, serial"),
        (&["bench", "--n", "5"], "name one"),
    ];
    for (args, said) in cases {
        let out = myriad(args);
        let error = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{args:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{args:?}: {error}");
        assert!(error.contains(said), "{args:?}: {error}");
    }
}

#[test]
fn doctor_completions_and_help() {
    let doctor = myriad(&["doctor"]);
    assert!(doctor.status.success() && text(&doctor.stdout).contains("other peers"), "{}", text(&doctor.stdout));
    let completions = myriad(&["completions", "bash"]);
    assert!(completions.status.success() && text(&completions.stdout).contains("skynet"));
    let help = myriad(&["--help"]);
    assert!(help.status.success() && text(&help.stdout).contains("Examples:"));
    assert!(!text(&help.stdout).contains("measure-one"), "it is hidden");
    let help = myriad(&["bench", "--help"]);
    assert!(help.status.success() && text(&help.stdout).contains("Hoare's prime sieve"), "{}", text(&help.stdout));
}
