//! Running the cells: processes for groups of them, a watchdog for each, and a summary.
//!
//! ```text
//!  test `matrix` ──> a child for each place × mode × workers, several at a time, each one this very test again
//!                    child: its runtime is the global one; behaviours × callers, one after the other
//!  a child dies  ──> the parent knows the cell by what the child printed last, and starts a child
//!                    for the cells behind it
//! ```
//! A cell that hangs is named by the child's watchdog, which ends the child. So one bad cell hides
//! no other.

use crate::behaviours::{BEHAVIOURS, Behaviour, Foe, quiet};
use crate::cell::{CALLERS, Caller, Cx, Seen, until};
use crate::common::{MODES, Mode, Rng, fibers_supported};
use crate::table::{Expected, PLACES, Place, abort_message};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

/// A cell that takes longer hangs.
pub(crate) fn patience() -> Duration {
    Duration::from_secs(env("MYRIAD_TEST_PATIENCE").unwrap_or(60))
}

pub(crate) fn env(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

pub(crate) type Cell = (Behaviour, Caller);

/// The cells that one process runs.
#[derive(Clone, Copy)]
pub(crate) struct Unit {
    pub(crate) place: &'static Place,
    pub(crate) mode: Mode,
    pub(crate) workers: usize,
    /// Only [`Behaviour::Moves`], which needs spare workers.
    pub(crate) moves: bool,
}

impl Unit {
    fn text(&self) -> String {
        let mode = if self.mode == Mode::Fibers { "fibers" } else { "threads" };
        format!("{}/{mode}/{}{}", self.place.name, self.workers, if self.moves { "/moves" } else { "" })
    }

    fn builder(&self) -> myriad::Builder {
        // No spares, if the place can do without: they would take a dead worker's place, and nobody
        // would see that it is dead.
        let spares = if self.moves { 8 } else { self.place.spares };
        self.mode.builder().workers(self.workers).spare_workers(spares)
    }

    /// Its cells: for each behaviour that makes sense at this place, each caller.
    fn cells(&self) -> Vec<Cell> {
        let behaviours = if self.moves { &[Behaviour::Moves][..] } else { &BEHAVIOURS[..] };
        let behaviours = behaviours.iter().copied().filter(|b| self.place.expected(*b) != Expected::None);
        behaviours.flat_map(|b| CALLERS.map(|c| (b, c))).collect()
    }

    pub(crate) fn name(&self, (behaviour, caller): Cell) -> String {
        format!("{}, {}, {} workers, {}, {}", self.place.name, behaviour.name(), self.workers, self.mode, caller.name())
    }
}

/// All processes of the matrix, whether or not there are fibers here. (To find that out, one makes
/// fibers; a child whose cells have none should have none at all, for valgrind's sake.)
fn units() -> Vec<Unit> {
    let only = std::env::var("MYRIAD_HOSTILE_ONLY").unwrap_or_default();
    let wanted_mode = std::env::var("MYRIAD_HOSTILE_MODE").unwrap_or_default();
    let mut units = Vec::new();
    let not = std::env::var("MYRIAD_HOSTILE_NOT").unwrap_or_default();
    for place in PLACES.iter().filter(|place| not.is_empty() || !place.name.contains(&not)) {
        for mode in MODES {
            for (workers, moves) in [(1, false), (2, false), (2, true)] {
                let unit = Unit { place, mode, workers, moves };
                // Fibers keep their worker.
                let makes_sense = mode == Mode::Threads || !moves;
                if makes_sense && unit.text().contains(&only) && mode.to_string().contains(&wanted_mode) {
                    units.push(unit);
                }
            }
        }
    }
    units
}

// -------------------------------------------------------------------------------------------------------
// one cell

/// What a cell has shown.
pub(crate) enum Verdict {
    Pass,
    /// It left the contract of fiber mode, so nothing was done.
    Outside,
    Fail(String),
}

/// Where the cell is, for the watchdog.
static PHASE: Mutex<(String, &'static str, Option<Instant>)> = Mutex::new((String::new(), "", None));

/// From here on this is what does not happen, if the cell hangs. Returns what it was.
pub(crate) fn phase(what: &'static str) -> &'static str {
    std::mem::replace(&mut PHASE.lock().unwrap().1, what)
}

fn watchdog() {
    loop {
        std::thread::sleep(Duration::from_millis(100));
        let phase = PHASE.lock().unwrap();
        if phase.2.is_some_and(|until| Instant::now() > until) {
            _ = writeln!(std::io::stderr(), "\ncell {} HANGS: {}; aborting", phase.0, phase.1);
            std::process::abort();
        }
    }
}

/// Runs a cell. `alone`: nothing else runs in this process, so each worker has to answer
/// afterwards.
pub(crate) fn run_cell(unit: Unit, (behaviour, caller): Cell, alone: bool) -> Verdict {
    let foe = Arc::new(Foe::new(behaviour, unit.mode == Mode::Fibers));
    let cx = Cx { foe: foe.clone(), mode: unit.mode, workers: unit.workers, caller };
    _ = phase("the place does not end");
    let (seen, unclean) = call(unit, cx);
    foe.release();
    if !foe.is_outside() && seen == Seen::Well && foe.acted() == 0 {
        // What runs it may still be under way.
        until("the foreign code does not run", || foe.acted() > 0 || foe.is_outside());
    }
    until("not all values are dropped", || foe.counts().0 <= foe.counts().1);
    if alone && caller != Caller::Shutdown {
        _ = phase("the runtime does not answer afterwards");
        answer(unit.workers);
    }
    let (made, dropped) = foe.counts();
    if made != dropped {
        return Verdict::Fail(format!("{made} values were made, and {dropped} dropped"));
    }
    if let Some(fault) = foe.faults().first() {
        return Verdict::Fail(fault.clone());
    }
    if foe.is_outside() {
        return Verdict::Outside;
    }
    if let Some(unclean) = unclean {
        return Verdict::Fail(unclean);
    }
    let expected = unit.place.expected(behaviour);
    let ends = caller == Caller::Shutdown && seen == Seen::Shutdown;
    if !expected.allows(&seen) && !ends {
        return Verdict::Fail(format!("{seen:?}, expected {expected:?}"));
    }
    Verdict::Pass
}

/// Runs the place as this caller.
fn call(unit: Unit, cx: Cx) -> (Seen, Option<String>) {
    let caller = cx.caller;
    let place = unit.place.f;
    // An act that goes on on another thread when the place has ended may spawn into the end of the
    // runtime.
    let goes_on = Arc::new(AtomicBool::new(false));
    let body_goes_on = goes_on.clone();
    let body = move || {
        let token = cx.foe.token.clone();
        let seen = match catch_unwind(AssertUnwindSafe(|| token.run(|| place(&cx)))) {
            Ok(Ok(seen)) => seen,
            Ok(Err(_)) => Seen::Cancelled,
            Err(payload) => Seen::caught(&*payload),
        };
        body_goes_on.store(cx.foe.over() < cx.foe.acted(), Release);
        seen
    };
    match caller {
        Caller::Worker => (myriad::spawn(body).join().unwrap_or_else(|e| Seen::joined::<()>(Err(e))), None),
        Caller::Plain => (std::thread::spawn(body).join().unwrap_or_else(|e| Seen::caught(&*e)), None),
        Caller::Dedicated => {
            (myriad::task::dedicated(body).join().unwrap_or_else(|e| Seen::joined::<()>(Err(e))), None)
        }
        Caller::Shutdown => {
            let rt = unit.builder().build().unwrap();
            let under_way = Arc::new(AtomicBool::new(false));
            let (begun, has_begun) = mpsc::channel();
            let task = rt.spawn({
                let under_way = under_way.clone();
                move || {
                    begun.send(()).unwrap();
                    while !under_way.load(Acquire) {
                        std::thread::yield_now();
                    }
                    body()
                }
            });
            has_begun.recv().unwrap();
            under_way.store(true, Release);
            let report = rt.shutdown(patience());
            let clean = report.is_clean() || goes_on.load(Acquire);
            let unclean = (!clean).then(|| format!("the shutdown leaves tasks: {report}"));
            (Seen::joined_flat(task.join()), unclean)
        }
    }
}

impl Seen {
    fn joined_flat(result: Result<Seen, myriad::JoinError>) -> Seen {
        result.unwrap_or_else(|e| Seen::joined::<()>(Err(e)))
    }
}

/// Each worker of the global runtime runs a task, all at the same time.
pub(crate) fn answer(workers: usize) {
    let here = Arc::new(AtomicUsize::new(0));
    let tasks = (0..workers).map(|_| {
        let here = here.clone();
        myriad::spawn(move || {
            here.fetch_add(1, AcqRel);
            while here.load(Acquire) < workers {
                std::thread::yield_now();
            }
        })
    });
    tasks.collect::<Vec<_>>().into_iter().for_each(|task| task.join().unwrap());
}

// -------------------------------------------------------------------------------------------------------
// the child

/// If this process is a child of the matrix: runs its cells, and exits.
pub(crate) fn be_child() {
    let Ok(unit) = std::env::var("MYRIAD_HOSTILE_UNIT") else { return };
    let unit = units().into_iter().find(|u| u.text() == unit).expect("a unit of the matrix");
    let from = env("MYRIAD_HOSTILE_FROM").unwrap_or(0) as usize;
    quiet();
    std::thread::spawn(watchdog);
    unit.builder().install().unwrap();
    let mut out = std::io::stdout();
    for (i, cell) in unit.cells().into_iter().enumerate().skip(from) {
        writeln!(out, "@begin {i}").unwrap();
        *PHASE.lock().unwrap() = (unit.name(cell), "", Some(Instant::now() + patience()));
        let verdict = run_cell(unit, cell, true);
        PHASE.lock().unwrap().2 = None;
        match verdict {
            Verdict::Pass => writeln!(out, "@pass {i}"),
            Verdict::Outside => writeln!(out, "@outside {i}"),
            Verdict::Fail(why) => writeln!(out, "@fail {i} {}", why.replace('\n', " | ")),
        }
        .unwrap();
    }
    writeln!(out, "@end 0").unwrap();
    std::process::exit(0);
}

// -------------------------------------------------------------------------------------------------------
// the parent

#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) outside: usize,
    pub(crate) aborted: usize,
    /// Place and behaviour; what was seen; where.
    pub(crate) failed: BTreeMap<(String, String), Vec<String>>,
    pub(crate) failures: usize,
    /// Where cells have failed.
    units: Vec<Unit>,
}

impl Tally {
    fn fail(&mut self, unit: Unit, (behaviour, caller): Cell, why: &str) {
        self.failures += 1;
        self.units.push(unit);
        let mode = if unit.mode == Mode::Fibers { "fibers" } else { "threads" };
        let key = (format!("{} × {}", unit.place.name, behaviour.name()), why.to_owned());
        self.failed.entry(key).or_default().push(format!("{mode}/{}/{}", unit.workers, caller.name()));
    }

    /// Cells that were run.
    pub(crate) fn cells(&self) -> usize {
        self.passed + self.outside + self.aborted + self.failures
    }

    /// What failed, in groups.
    pub(crate) fn failures(&self) -> String {
        let mut text = String::new();
        for ((cell, why), places) in &self.failed {
            text += &format!("{cell}: {why}\n    {} cells: {}\n", places.len(), places.join(", "));
        }
        text
    }
}

/// Runs one unit, in as many processes as it takes.
fn run_unit(unit: Unit, tally: &Mutex<Tally>) {
    let cells = unit.cells();
    let mut from = 0;
    while from < cells.len() {
        from = run_process(unit, &cells, from, tally);
    }
}

/// Runs a unit's cells from this one on, in one process. Returns the next one that has not run.
fn run_process(unit: Unit, cells: &[Cell], from: usize, tally: &Mutex<Tally>) -> usize {
    let program = std::env::current_exe().unwrap();
    let wrapper = std::env::var("MYRIAD_HOSTILE_WRAPPER").unwrap_or_default();
    let mut words = wrapper.split_whitespace().map(str::to_owned).chain([program.to_str().unwrap().to_owned()]);
    let mut child = Command::new(words.next().unwrap())
        .args(words)
        .args(["matrix", "--exact", "--nocapture", "--include-ignored", "--test-threads=1"])
        .env("MYRIAD_HOSTILE_UNIT", unit.text())
        .env("MYRIAD_HOSTILE_FROM", from.to_string())
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || {
        let mut lines: Vec<String> = Vec::new();
        for line in BufReader::new(stderr).split(b'\n').map_while(Result::ok) {
            lines.push(String::from_utf8_lossy(&line).into_owned());
            // A cell that goes wild must not fill the memory.
            if lines.len() > 2000 {
                lines.drain(..1000);
            }
        }
        lines
    });
    let (mut running, mut ended) = (from, false);
    for line in BufReader::new(child.stdout.take().unwrap()).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        // libtest prints the test's name without a newline in front.
        let Some((_, line)) = line.split_once('@') else { continue };
        let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
        let mut tally = tally.lock().unwrap();
        match what {
            "begin" => running = rest.parse().unwrap(),
            "pass" => tally.passed += 1,
            "outside" => tally.outside += 1,
            "fail" => {
                let why = rest.split_once(' ').map_or("", |(_, why)| why);
                tally.fail(unit, cells[running], why);
            }
            "end" => ended = true,
            _ => {}
        }
    }
    let status = child.wait().unwrap();
    let errors = errors.join().unwrap();
    if ended && status.success() {
        return cells.len();
    }
    let mut tally = tally.lock().unwrap();
    let cell = cells[running.min(cells.len() - 1)];
    if ended {
        tally.fail(unit, cell, &format!("at the end of the process: {status}: {}", last_words(&errors)));
        return cells.len();
    }
    // The cell has ended its process. Should it?
    if unit.place.expected(cell.0) == Expected::Abort {
        let message = abort_message(unit.place.name);
        if errors.iter().any(|line| line.contains(message)) {
            tally.aborted += 1;
        } else {
            tally.fail(unit, cell, &format!("{status} without the message '{message}': {}", last_words(&errors)));
        }
    } else {
        tally.fail(unit, cell, &format!("{status}: {}", last_words(&errors)));
    }
    running + 1
}

/// What tells most of a process that has died.
fn last_words(errors: &[String]) -> String {
    if let Some(hang) = errors.iter().rev().find(|line| line.contains(" HANGS: ")) {
        return hang.split_once(" HANGS: ").unwrap().1.replace("; aborting", "; hangs");
    }
    let told = |line: &&String| {
        let line = line.trim_start();
        let backtrace = line.starts_with("at ") || line.split(':').next().is_some_and(|n| n.parse::<u32>().is_ok());
        let noise = line.is_empty() || line.starts_with("note:") || line.contains("planned: ");
        !noise && !backtrace && !line.starts_with("stack backtrace")
    };
    let words: Vec<&str> = errors.iter().filter(told).map(|line| line.trim()).collect();
    let tail = words[words.len().saturating_sub(4)..].join(" | ");
    // What differs from run to run.
    let mut text = String::new();
    for word in tail.split(' ') {
        let word = match word {
            _ if word.starts_with("'myriad-") || word == "'<unnamed>'" || word == "'matrix'" => "'…'",
            _ if word.starts_with("/rustc/") => word.rsplit("/library/").next().unwrap(),
            _ if word.starts_with('(') && word[1..].starts_with(|c: char| c.is_ascii_digit()) => continue,
            _ if word.starts_with("0x") => "0x…",
            _ => word,
        };
        text.push_str(word);
        text.push(' ');
    }
    text.trim_end().to_owned()
}

/// Runs these units, several at a time.
fn run_units(units: &[Unit], until: Option<Instant>) -> Tally {
    let (tally, next) = (Mutex::new(Tally::default()), AtomicUsize::new(0));
    let processors = std::thread::available_parallelism().map_or(1, |n| n.get());
    // Most of the time goes by in waits.
    let at_once = env("MYRIAD_HOSTILE_JOBS").unwrap_or(4 * processors as u64);
    std::thread::scope(|s| {
        for _ in 0..at_once {
            s.spawn(|| {
                while let Some(unit) = units.get(next.fetch_add(1, Relaxed)) {
                    if until.is_some_and(|until| Instant::now() > until) {
                        break;
                    }
                    run_unit(*unit, &tally);
                }
            });
        }
    });
    tally.into_inner().unwrap()
}

/// Is all of it wanted?
fn whole() -> bool {
    std::env::var_os("MYRIAD_HOSTILE_WHOLE").is_some() || std::env::var_os("MYRIAD_HOSTILE_ONLY").is_some()
}

/// The whole matrix; or, if `MYRIAD_HOSTILE_SECONDS` is set, units at random for so long.
pub(crate) fn matrix() -> Tally {
    let began = Instant::now();
    let mut units = units();
    units.retain(|unit| unit.mode == Mode::Threads || fibers_supported());
    // The whole matrix takes minutes.
    let seconds = env("MYRIAD_HOSTILE_SECONDS").unwrap_or(if whole() { 0 } else { 10 });
    let limit = (seconds > 0).then(|| began + Duration::from_secs(seconds));
    if limit.is_some() {
        let seed = env("MYRIAD_HOSTILE_SEED").unwrap_or_else(|| std::process::id().into());
        println!("hostile matrix: MYRIAD_HOSTILE_SEED={seed}");
        let mut rng = Rng(seed);
        (1..units.len()).rev().for_each(|i| units.swap(i, rng.below(i as u64 + 1) as usize));
    }
    let mut tally = run_units(&units, limit);
    if tally.failures > 0 {
        // A busy machine: what fails twice has failed. The first failures are told in any case.
        println!("hostile matrix: {} cells failed, and are run again:\n{}", tally.failures, tally.failures());
        let mut again = std::mem::take(&mut tally.units);
        again.sort_by_key(Unit::text);
        again.dedup_by_key(|unit| unit.text());
        let second = run_units(&again, None);
        tally.passed += tally.failures.saturating_sub(second.failures);
        (tally.failures, tally.failed) = (second.failures, second.failed);
    }
    let counted = |f: fn(Expected) -> bool| -> usize {
        PLACES.iter().map(|p| BEHAVIOURS.into_iter().filter(|b| f(p.expected(*b))).count()).sum()
    };
    println!(
        "hostile matrix: {} places × 8 behaviours × {{1, 2}} workers × 2 modes × 4 callers; \
         {} of {} place × behaviour make no sense; {} cells in {:.1?}: {} passed, {} aborted as expected, \
         {} outside of fiber mode's contract, {} failed",
        PLACES.len(),
        counted(|e| e == Expected::None),
        8 * PLACES.len(),
        tally.cells(),
        began.elapsed(),
        tally.passed,
        tally.aborted,
        tally.outside,
        tally.failures,
    );
    tally
}
