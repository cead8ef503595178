//! Plants each mutant in each script that has to catch it; see `loom/mod.rs`.
//!
//! Every case runs in a process of its own, because a model that fails may abort, and under a time limit.
#![cfg(loom)]

#[path = "loom/mod.rs"]
mod models;

use models::{MEANINGS, scripts};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A case that takes longer has no verdict, which fails.
const LIMIT: Duration = Duration::from_secs(120);

/// What survives, and why that is no fault of the script.
const KNOWN: [(&str, &str); 1] = [(
    "lock.mutex_two begin-no-heavy SeqCst",
    "the unlocker's plain store is an exchange in a model (sys::atomic), which with its full fence needs no other",
)];

/// Plants every mutant. `MYRIAD_LOOM_ONLY=part` restricts it to scripts whose name contains this.
#[test]
#[ignore = "takes a minute: scripts/mutants.sh"]
fn every_mutant_is_caught() {
    let only = std::env::var("MYRIAD_LOOM_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    for script in scripts().filter(|s| s.name.contains(&only)) {
        for mutant in script.mutants {
            for meaning in MEANINGS {
                let case = format!("{} {mutant} {meaning:?}", script.name);
                let start = Instant::now();
                let verdict = plant(&case);
                println!("{case:64} {verdict:20} {:6.1} s", start.elapsed().as_secs_f64());
                let known = KNOWN.iter().any(|(known, _)| *known == case);
                if verdict != if known { "SURVIVED" } else { "killed" } {
                    wrong.push(format!("{case}: {verdict}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "not killed:\n{}", wrong.join("\n"));
}

fn plant(case: &str) -> &'static str {
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "one_case", "--nocapture"])
        .env("MYRIAD_LOOM_CASE", case)
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(if std::env::var_os("MYRIAD_LOOM_WHY").is_some() { Stdio::inherit() } else { Stdio::null() })
        .spawn()
        .unwrap();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return if status.success() { "SURVIVED" } else { "killed" };
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            return "NO VERDICT IN TIME";
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The child's side of [`plant`]: `MYRIAD_LOOM_CASE="script mutant meaning"`.
#[test]
fn one_case() {
    let Ok(case) = std::env::var("MYRIAD_LOOM_CASE") else { return };
    let mut words = case.split(' ');
    let (name, mutant, meaning) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let script = scripts().find(|s| s.name == name).expect("a script's name");
    let meaning = MEANINGS.into_iter().find(|m| format!("{m:?}") == meaning).expect("a meaning");
    models::explore(script, mutant.to_string().leak(), meaning);
}

/// Every mutant that the source names is planted by some script, and no script names one that does not exist.
#[test]
fn every_mutant_has_a_script() {
    let mut named = BTreeSet::new();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = vec![src.join("entry.rs")];
    for folder in ["channel", "channel/chan", "lock", "select"] {
        let entries = std::fs::read_dir(src.join(folder)).unwrap().map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| path.is_file()));
    }
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines().filter(|line| !line.trim_start().starts_with("//")) {
            for (i, call) in [" on(\"", "(on(\"", "!on(\"", ", \""].iter().flat_map(|call| line.match_indices(call)) {
                let rest = &line[i + call.len()..];
                if line.contains("ord(") || call.contains("on(") {
                    named.extend(rest.split_once('"').map(|(name, _)| name.to_string()));
                }
            }
        }
    }
    let planted: BTreeSet<String> = scripts().flat_map(|s| s.mutants).map(|m| m.to_string()).collect();
    assert_eq!(named, planted, "in the source, and planted");
}
