//! Cells at random, beside each other in one runtime.
//!
//! Each storm has a process of its own: so many threads draw cells, one after the other, and run
//! them as any caller. What is expected of a cell holds for it here too.

use crate::behaviours::{BEHAVIOURS, quiet};
use crate::cell::Caller;
use crate::common::{MODES, Mode, Rng, fibers_supported};
use crate::run::{Cell, Unit, Verdict, answer, env, patience, run_cell};
use crate::table::{Expected, PLACES, Place};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// So many cells at a time.
const AT_ONCE: usize = 6;

/// Places that pass something on by a static or a setting of the process, of which there may be one
/// at a time; and one that
/// keeps the process's monitor, so that no spare worker begins meanwhile, which others need.
const ALONE: [&str; 5] =
    ["groups::task_local_init", "threads::initialiser", "hooks::on_stuck", "actors::on_crash", "actors::trapped"];

/// What each thread does, and since when.
static RUNNING: Mutex<[Option<(String, Instant)>; AT_ONCE]> = Mutex::new([const { None }; AT_ONCE]);

fn places() -> Vec<&'static Place> {
    let only = std::env::var("MYRIAD_HOSTILE_ONLY").unwrap_or_default();
    let not = std::env::var("MYRIAD_HOSTILE_NOT").unwrap_or_default();
    let wanted = |name: &str| name.contains(&only) && (not.is_empty() || !name.contains(&not));
    PLACES.iter().filter(|place| !ALONE.contains(&place.name) && wanted(place.name)).collect()
}

fn draw(rng: &mut Rng, places: &[&'static Place], mode: Mode, workers: usize) -> (Unit, Cell) {
    loop {
        let place = places[rng.below(places.len() as u64) as usize];
        let behaviour = BEHAVIOURS[rng.below(8) as usize];
        let caller = [Caller::Worker, Caller::Plain, Caller::Dedicated][rng.below(3) as usize];
        if !matches!(place.expected(behaviour), Expected::None | Expected::Abort) {
            return (Unit { place, mode, workers, moves: false }, (behaviour, caller));
        }
    }
}

/// If this process is a storm's: rages, and exits.
pub(crate) fn be_child() {
    let Ok(storm) = std::env::var("MYRIAD_HOSTILE_STORM") else { return };
    let words: Vec<u64> = storm.split('/').map(|word| word.parse().unwrap()).collect();
    let [fibers, workers, seed, millis] = words[..] else { panic!("no storm: {storm}") };
    let (mode, workers) = (MODES[1 - fibers as usize], workers as usize);
    quiet();
    // Spares: some places hold their worker while others wait.
    mode.builder().workers(workers).install().unwrap();
    std::thread::spawn(watchdog);
    let until = Instant::now() + Duration::from_millis(millis);
    let (mut rng, failed, count) = (Rng(seed), Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let threads: Vec<_> = (0..AT_ONCE)
        .map(|i| {
            let (mut rng, failed, count) = (rng.fork(), failed.clone(), count.clone());
            std::thread::spawn(move || {
                let places = places();
                while Instant::now() < until {
                    let (unit, cell) = draw(&mut rng, &places, mode, workers);
                    let name = unit.name(cell);
                    RUNNING.lock().unwrap()[i] = Some((name.clone(), Instant::now()));
                    count.fetch_add(1, Relaxed);
                    if let Verdict::Fail(why) = run_cell(unit, cell, false) {
                        failed.fetch_add(1, Relaxed);
                        println!("@storm {name}: {why}");
                    }
                    RUNNING.lock().unwrap()[i] = None;
                }
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    RUNNING.lock().unwrap()[0] = Some(("the end: each worker answers".into(), Instant::now()));
    answer(workers);
    println!("@cells {}", count.load(Relaxed));
    std::process::exit(i32::from(failed.load(Relaxed) > 0));
}

fn watchdog() {
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let running = RUNNING.lock().unwrap();
        if running.iter().flatten().any(|(_, since)| since.elapsed() > patience()) {
            for (name, since) in running.iter().flatten() {
                println!("@storm running for {:.1?}: {name}", since.elapsed());
            }
            println!("@storm HANGS; aborting");
            std::process::abort();
        }
    }
}

/// A storm for each mode and number of workers.
pub(crate) fn storms() {
    let seed = env("MYRIAD_HOSTILE_SEED").unwrap_or_else(|| std::process::id().into());
    // A share of the time that was given, or a second each.
    let wanted = std::env::var("MYRIAD_HOSTILE_MODE").unwrap_or_default();
    let millis =
        env("MYRIAD_HOSTILE_SECONDS").map_or(1000, |seconds| seconds * 1000 / if wanted.is_empty() { 8 } else { 4 });
    let wrapper = std::env::var("MYRIAD_HOSTILE_WRAPPER").unwrap_or_default();
    println!("hostile storm: MYRIAD_HOSTILE_SEED={seed}");
    let mut failures = Vec::new();
    for mode in MODES {
        if mode == Mode::Fibers && !fibers_supported() || !mode.to_string().contains(&wanted) {
            continue;
        }
        // The last one finds its standard error full.
        for (workers, full) in [(1, false), (2, false), (4, false), (2, true)] {
            let program = std::env::current_exe().unwrap();
            let mut words = wrapper.split_whitespace().map(str::to_owned).chain([program.to_str().unwrap().to_owned()]);
            let storm = format!("{}/{workers}/{seed}/{millis}", u8::from(mode == Mode::Fibers));
            let full = full.then(|| std::fs::File::options().write(true).open("/dev/full").ok()).flatten();
            let told = if full.is_some() { ", a full standard error" } else { "" };
            let output = Command::new(words.next().unwrap())
                .args(words)
                .stderr(full.map_or_else(Stdio::piped, Stdio::from))
                .args(["storm", "--exact", "--nocapture"])
                .env("MYRIAD_HOSTILE_STORM", &storm)
                .env("RUST_BACKTRACE", "0")
                .output()
                .unwrap();
            let out = String::from_utf8_lossy(&output.stdout);
            let cells = out.split("@cells ").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("?");
            println!("hostile storm: {mode}, {workers} workers: {cells} cells{told}: {}", output.status);
            if !output.status.success() {
                let errors = String::from_utf8_lossy(&output.stderr);
                let noise = |line: &&str| !line.contains("planned: ") && !line.starts_with("myriad: ");
                let lines: Vec<&str> = errors
                    .lines()
                    .filter(noise)
                    .chain(out.lines().filter(|l| l.contains("@storm") || l.contains("==")))
                    .collect();
                let tail = lines[lines.len().saturating_sub(30)..].join("\n");
                failures.push(format!("MYRIAD_HOSTILE_STORM={storm}: {}\n{tail}", output.status));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
