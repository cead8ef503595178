//! What a script is, and how one is explored: shared by the models of the engine and those of
//! channels and locks (`crates/sync/tests/loom/main.rs`).

use myriad_base::sys::fence::{self, Meaning};
use myriad_base::sys::{atomic, futex, mutant};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// A closed program for loom to explore.
pub struct Script {
    pub name: &'static str,
    pub run: fn(),
    /// Threads, with the first.
    pub threads: usize,
    /// Owners of light fences: workers.
    pub owners: usize,
    /// Does a foreign thread use its fence?
    pub foreign: bool,
    /// Do sleepers spin? See `sys::futex`.
    pub spins: bool,
    /// Bound on preemptions in the usual run, and in the thorough one; `None` explores everything.
    pub bound: (Option<usize>, Option<usize>),
    /// Mutants that this script has to catch.
    pub mutants: &'static [&'static str],
}

/// What most scripts have in common.
pub const SCRIPT: Script = Script {
    name: "",
    run: || (),
    threads: 2,
    owners: 1,
    foreign: false,
    spins: false,
    bound: (None, None),
    mutants: &[],
};

pub const MEANINGS: [Meaning; 2] = [Meaning::PerOwner, Meaning::SeqCst];

/// Explores a script with this mutant planted ("" for none); returns the number of executions.
/// Panics when an execution breaks an invariant.
pub fn explore(script: &Script, mutant: &'static str, meaning: Meaning) -> u64 {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = if is_thorough() { script.bound.1 } else { script.bound.0 };
    builder.max_branches = 5_000;
    let executions = Arc::new(AtomicU64::new(0));
    let counter = executions.clone();
    let Script { run, threads, owners, foreign, spins, .. } = *script;
    mutant::plant(mutant);
    if std::env::var_os("MYRIAD_LOOM_TRACE").is_some() {
        atomic::trace(true);
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            atomic::take_trace().iter().for_each(|line| eprintln!("{line}"));
            hook(info);
        }));
    }
    builder.check(move || {
        counter.fetch_add(1, Relaxed);
        atomic::begin(threads);
        fence::begin(meaning, owners, foreign);
        futex::begin(spins);
        run();
    });
    mutant::plant("");
    executions.load(Relaxed)
}

/// Is this the run with wider bounds, which takes hours?
fn is_thorough() -> bool {
    std::env::var_os("MYRIAD_LOOM_THOROUGH").is_some()
}

/// Explores these scripts, without mutants, under the meaning of the fences that is proof; in the
/// thorough run under both.
pub fn check(scripts: &[Script]) {
    let only = std::env::var("MYRIAD_LOOM_ONLY").unwrap_or_default();
    let meanings = if is_thorough() { &MEANINGS[..] } else { &MEANINGS[..1] };
    for script in scripts.iter().filter(|s| s.name.contains(&only)) {
        for &meaning in meanings {
            _ = fence::met();
            let start = Instant::now();
            let n = explore(script, "", meaning);
            let seconds = start.elapsed().as_secs_f64();
            let met = fence::met();
            let meaning = if met { format!("{meaning:?}") } else { "no fences".into() };
            println!("{:30} {meaning:9} {n:9} executions {seconds:7.1} s", script.name);
            if !met {
                break;
            }
        }
    }
}
