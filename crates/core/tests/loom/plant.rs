//! Plants each mutant in each script that has to catch it: shared by the crates that have models.
//!
//! Every case runs in a process of its own, because a model that fails may abort, and under a time
//! limit. A mutant that no script catches makes the test fail, unless it is named with a reason.

use super::{MEANINGS, Script, explore};
use myriad_base::sys::fence::Meaning;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A case that takes longer has no verdict, which fails.
const LIMIT: Duration = Duration::from_secs(120);

/// A mutant that no script can catch under this meaning of the fences, and why the ordering is
/// still right to have.
pub type Survivor = (&'static str, Meaning, &'static str);

/// Plants every mutant. `MYRIAD_LOOM_ONLY=part` restricts it to scripts whose name contains this;
/// `MYRIAD_LOOM_JOBS=n` runs so many cases at a time.
pub fn each(scripts: impl Iterator<Item = &'static Script>, survivors: &[Survivor]) {
    let only = std::env::var("MYRIAD_LOOM_ONLY").unwrap_or_default();
    let jobs = std::env::var("MYRIAD_LOOM_JOBS").ok().and_then(|n| n.parse().ok());
    let jobs = jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let cases: Vec<_> = scripts
        .filter(|s| s.name.contains(&only))
        .flat_map(|s| s.mutants.iter().flat_map(move |m| MEANINGS.map(|meaning| (s, *m, meaning))))
        .collect();
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                while let Some(&(script, mutant, meaning)) = cases.get(next.fetch_add(1, Relaxed)) {
                    let start = Instant::now();
                    let verdict = plant(script, mutant, meaning);
                    let may_survive = survivors.iter().any(|(m, under, _)| *m == mutant && *under == meaning);
                    let meaning = format!("{meaning:?}");
                    let seconds = start.elapsed().as_secs_f64();
                    println!("{:32} {mutant:26} {meaning:9} {verdict:24} {seconds:6.1} s", script.name);
                    if !verdict.starts_with(if may_survive { "SURVIVED" } else { "killed" }) {
                        wrong.lock().unwrap().push(format!("{} {mutant} {meaning}: {verdict}", script.name));
                    }
                }
            });
        }
    });
    for (mutant, meaning, reason) in survivors {
        println!("known to survive under {meaning:?}: {mutant} ({reason})");
    }
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "not as expected:\n{}", wrong.join("\n"));
}

/// The name of a test in a module beside this one: the engine's models are a module of its crate,
/// the others a program.
fn beside(test: &str) -> String {
    let here = module_path!();
    match here.strip_suffix("::plant").and_then(|parent| parent.split_once("::")) {
        Some((_, parent)) => format!("{parent}::{test}"),
        None => test.to_owned(),
    }
}

/// Runs one case in a process of its own. It begins with "killed" when the model failed.
fn plant(script: &Script, mutant: &str, meaning: Meaning) -> String {
    let start = Instant::now();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", &beside("mutants::one_case"), "--nocapture"])
        .env("MYRIAD_LOOM_CASE", format!("{} {mutant} {meaning:?}", script.name))
        .env("RUST_BACKTRACE", "0")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Read beside the wait: a full pipe would stop the child.
    let mut stderr = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        _ = stderr.read_to_string(&mut text);
        text
    });
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            let text = reader.join().unwrap();
            return if status.success() { "SURVIVED".into() } else { format!("killed: {}", reason(&text)) };
        }
        if start.elapsed() > LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            return "NO VERDICT IN TIME".into();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// How the mutant was caught, from the message of the first panic.
fn reason(text: &str) -> &str {
    let first = text.find("panicked at").map_or(text, |i| &text[i..]);
    let causes = [
        ("Causality violation", "unordered access"),
        ("is forgotten", "forgotten sleeper"),
        ("deadlock", "hang"),
        ("maximum number of branches", "endless"),
        ("is lost", "lost task"),
        ("is run twice", "run twice"),
    ];
    let message = first.lines().nth(1).unwrap_or(first);
    causes.iter().find(|(sign, _)| message.contains(sign)).map_or(message, |(_, cause)| cause)
}

/// The child's side of [`plant`]: `MYRIAD_LOOM_CASE="script mutant meaning"`.
pub fn one_case(mut scripts: impl Iterator<Item = &'static Script>) {
    let Ok(case) = std::env::var("MYRIAD_LOOM_CASE") else { return };
    let mut words = case.split(' ');
    let (name, mutant, meaning) = (words.next().unwrap(), words.next().unwrap(), words.next().unwrap());
    let script = scripts.find(|s| s.name == name).expect("a script's name");
    let meaning = MEANINGS.into_iter().find(|m| format!("{m:?}") == meaning).expect("a meaning");
    let n = explore(script, mutant.to_string().leak(), meaning);
    println!("{n} executions");
}

/// Every mutant that the sources in these folders name is planted by some script, and no script
/// names one that does not exist.
pub fn all_are_planted(scripts: impl Iterator<Item = &'static Script>, folders: &[&Path]) {
    let mut named = BTreeSet::new();
    folders.iter().for_each(|folder| collect(folder, &mut named));
    let planted: BTreeSet<String> = scripts.flat_map(|s| s.mutants).map(|m| m.to_string()).collect();
    let without: Vec<_> = named.difference(&planted).collect();
    assert!(without.is_empty(), "no script plants {without:?}");
    let unknown: Vec<_> = planted.difference(&named).collect();
    assert!(unknown.is_empty(), "no code has the mutants {unknown:?}");
}

/// Adds the mutants named in all source files of a folder: the last argument of these calls.
fn collect(folder: &Path, named: &mut BTreeSet<String>) {
    const CALLS: [&str; 5] = ["ord(", "ord_to(", "on(", "light(", "set_top("];
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, named);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code: String =
                text.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
            for (i, call) in CALLS.iter().flat_map(|call| code.match_indices(call)) {
                let begins_a_word = !code[..i].ends_with(|c: char| c.is_alphanumeric() || c == '_');
                if begins_a_word {
                    named.extend(last_literal(&code[i + call.len()..]));
                }
            }
        }
    }
}

/// The string literal that is the last argument of a call; `arguments` begins after its
/// parenthesis.
fn last_literal(arguments: &str) -> Option<String> {
    let mut depth = 1;
    let end = arguments.find(|c| {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        depth == 0
    })?;
    let last = arguments[..end].trim().trim_end_matches(',').rsplit([',', '(']).next()?.trim();
    let name = last.strip_prefix('"')?.strip_suffix('"')?;
    name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-').then(|| name.to_string())
}
