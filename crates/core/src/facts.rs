//! Numbers of the engine that documents repeat: each document says what the code says.
//!
//! To change a number, change the constant; the test then names each document that says something
//! else. A document that repeats another number gets a line here.

use crate::record::header::Header;
use crate::record::memory::{CLASSES, UNIT};
use crate::runtime::builder::{LEAST_FIBER, LEAST_THREAD, MOST_STACK, MOST_WORKERS, SPARES, THREAD_STACK};
use crate::runtime::grace;
use crate::sched::rescue::watch::{BUSY_THRESHOLD, CALM_AFTER, THRESHOLD};
use crate::sched::run_loop::steal::FORCE_PAUSE;
use crate::sched::run_loop::{FORCE_US, SPIN_US};
use crate::sched::wait::foreign::YIELDS;
use crate::sched::worker::{BUDGET, OFTEN, SELDOM, THREAD_BUDGET, dispatch};
use crate::sched::{calls, pool, priority, timers};
use myriad_base::lock::bias_owner::NUMBER;
use myriad_base::stack::pool::{COLOURS, DEFAULT_STACK};
use myriad_base::sys::map::EACH_MAX;
use myriad_base::wheel::LEVELS;
use std::path::Path;

const ARCHITECTURE: &str = "docs/dev/ARCHITECTURE.md";
const DECISIONS: &str = "docs/dev/DECISIONS.md";
const GLOSSARY: &str = "docs/dev/GLOSSARY.md";
const PLATFORM: &str = "docs/PLATFORM.md";
const RAYON: &str = "docs/dev/RAYON-INSIDE.md";
const SOUNDNESS: &str = "docs/SOUNDNESS.md";
const MODES: &str = "docs/MODES.md";
const TUNING: &str = "docs/TUNING.md";
const DEBUGGING: &str = "docs/DEBUGGING.md";
const COMPARE: &str = "docs/COMPARE.md";
/// The pages of `Builder` and of the facade.
const BUILDER: &str = "crates/core/src/runtime/builder.rs";
const FACADE: &str = "crates/myriad/src/lib.rs";

/// 1 KiB, 1 MiB, 1 GiB and their multiples.
fn bytes(n: usize) -> String {
    [(30, "GiB"), (20, "MiB"), (10, "KiB")]
        .into_iter()
        .find(|(shift, _)| n >= 1 << shift && n.is_multiple_of(1 << shift))
        .map_or_else(|| format!("{n} bytes"), |(shift, unit)| format!("{} {unit}", n >> shift))
}

/// 16,384.
fn thousands(n: usize) -> String {
    if n < 1000 { n.to_string() } else { format!("{},{:03}", thousands(n / 1000), n % 1000) }
}

/// Small numbers are words in a text.
fn word(n: usize) -> String {
    const WORDS: [&str; 13] =
        ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];
    WORDS.get(n).map_or_else(|| n.to_string(), |word| (*word).to_owned())
}

/// 61st, 122nd, 7th.
fn ordinal(n: u32) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// What is said, and by whom.
fn facts() -> Vec<(String, &'static [&'static str])> {
    let (seldom, often) = (ordinal(SELDOM), ordinal(OFTEN));
    let header = size_of::<Header>();
    let ms = THRESHOLD.as_millis();
    assert_eq!(BUSY_THRESHOLD.as_secs_f64(), 1.0, "documents say `a second`");
    assert_eq!(priority::BACKGROUND_EVERY, 4, "documents say `every fourth tick`");
    assert_eq!(grace::STEPS, 50, "documents say `fifty waits`");
    vec![
        // Turns, ticks, the budget.
        (format!("at each {} failure", ordinal(BUDGET)), &[MODES, TUNING]),
        (format!("after {BUDGET} operations on channels and locks"), &[TUNING]),
        (format!("in threads mode: after {THREAD_BUDGET}"), &[TUNING]),
        (format!("Every {} operation on channels and locks yields", ordinal(BUDGET)), &[MODES]),
        (format!("each {} operation of a task", ordinal(BUDGET)), &[SOUNDNESS]),
        (format!("each {} operation of a closure that has waited", ordinal(THREAD_BUDGET)), &[SOUNDNESS]),
        (format!("after {BUDGET} operations"), &[ARCHITECTURE]),
        (format!("after {THREAD_BUDGET} operations"), &[ARCHITECTURE]),
        (format!("before it yields: {BUDGET}, or {THREAD_BUDGET} for a closure"), &[GLOSSARY]),
        (format!("Every {seldom} turn, and every {often} turn"), &[ARCHITECTURE]),
        (format!("Every {seldom} turn is a tick"), &[DECISIONS]),
        (format!("each {seldom}, each {often} with timers"), &[GLOSSARY]),
        (format!("the {seldom} turn"), &[RAYON]),
        (format!("every {SELDOM} turns"), &[RAYON]),
        (format!("after {} in a row", dispatch::IN_A_ROW), &[DECISIONS]),
        (format!("after {} interactive tasks", priority::IN_A_ROW), &[DECISIONS]),
        ("every fourth tick".into(), &[DECISIONS]),
        // Stuck workers and spares.
        (format!("held for more than {ms} ms"), &[MODES]),
        (format!("kept it for more than {ms} ms"), &[DEBUGGING]),
        (format!("looks every {ms} ms"), &[ARCHITECTURE]),
        (format!("come to its loop for {ms} ms"), &[GLOSSARY]),
        (format!("after some {ms} ms"), &[SOUNDNESS, RAYON, COMPARE, TUNING]),
        ("stuck after a second".into(), &[ARCHITECTURE]),
        ("the next after a second".into(), &[DECISIONS]),
        (format!("stuck for {} s", CALM_AFTER.as_secs_f64()), &[ARCHITECTURE]),
        (format!("up to {SPARES} spares by default"), &[ARCHITECTURE]),
        (format!("(default {SPARES};"), &[BUILDER]),
        (format!("`Builder::spare_workers(n)` | {SPARES} |"), &[TUNING]),
        // Idle workers.
        (format!("finds nothing for {SPIN_US} µs"), &[ARCHITECTURE]),
        (format!("after {FORCE_US} µs the thief *forces* a steal"), &[ARCHITECTURE]),
        (format!("within some {FORCE_US} µs"), &[MODES]),
        (format!("{} times the time of its last fence", word(FORCE_PAUSE as usize)), &[DECISIONS]),
        (format!("yields its processor up to {YIELDS} times"), &[DECISIONS]),
        ("fifty waits of a millisecond".into(), &[DECISIONS]),
        // Records.
        (format!("a header of {header} bytes"), &[ARCHITECTURE, DECISIONS]),
        (format!("the future, {header} bytes, rounded up to {UNIT}"), &[PLATFORM]),
        (format!("{} sizes, multiples of {UNIT} bytes", word(CLASSES)), &[DECISIONS]),
        // Stacks.
        (format!("{} each by default", bytes(DEFAULT_STACK)), &[ARCHITECTURE]),
        (format!("has {} in fiber mode", bytes(DEFAULT_STACK)), &[FACADE]),
        (format!("{}, of which a task has at least half", bytes(DEFAULT_STACK)), &[PLATFORM]),
        (format!("{}, of which a task has at least a quarter", bytes(THREAD_STACK)), &[PLATFORM]),
        (format!("{} to {}", bytes(LEAST_FIBER), bytes(MOST_STACK)), &[PLATFORM]),
        (format!("{} to {}", bytes(LEAST_THREAD), bytes(MOST_STACK)), &[PLATFORM]),
        (format!("A fiber has {}, of which a task has at least half", bytes(DEFAULT_STACK)), &[TUNING]),
        (format!("a thread has {}, of which a task has at least a quarter", bytes(THREAD_STACK)), &[TUNING]),
        (
            format!("A fiber has {} of stack by default, a thread {}", bytes(DEFAULT_STACK), bytes(THREAD_STACK)),
            &[MODES],
        ),
        (format!("up to {EACH_MAX} stacks"), &[DECISIONS]),
        (format!("Stacks have {COLOURS} colours"), &[DECISIONS]),
        // How many.
        (format!("runtimes at a time | {}", pool::MOST), &[PLATFORM]),
        (format!("there are {} numbers", pool::MOST), &[DECISIONS]),
        (format!("{}; the first {}", thousands(MOST_WORKERS), thousands(NUMBER as usize)), &[PLATFORM]),
        (format!("there may be {}, and so many computations", calls::MOST), &[DECISIONS]),
        // Timers.
        (format!("a timing wheel of {} levels", word(LEVELS)), &[ARCHITECTURE]),
        (format!("taken out {} at a time", timers::BATCH), &[DECISIONS]),
    ]
}

#[test]
fn documents_say_what_the_code_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let read = |file: &str| {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        // A phrase may go over the end of a line, also of a comment.
        text.split_whitespace().filter(|word| *word != "///" && *word != "//!").collect::<Vec<_>>().join(" ")
    };
    let mut wrong = Vec::new();
    for (phrase, files) in facts() {
        for file in files {
            if !read(file).contains(&phrase) {
                wrong.push(format!("{file} says something else, or says it in other words: the code says `{phrase}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
