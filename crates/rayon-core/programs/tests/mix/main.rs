//! The mix: Myriad, rayon, tokio, FFTW and OpenBLAS in each other, at random, in one process.
//!
//! Each round makes trees by chance and computes them, one on a plain thread, one in a task, one in
//! a job of rayon. A node is a way to compute its children (`kinds.rs`), each has a known value,
//! and all have to end. There is a process for each mode and number of workers; in it a watchdog
//! names what hangs, with the command that repeats the round. docs/dev/RAYON-INSIDE.md, "The mix",
//! says what is left out, and how many threads there may be.
//!
//! ```text
//! cargo test -p rayon-programs --test mix        each configuration, 1 s (MYRIAD_MIX_SECONDS / 4)
//! cargo test -p rayon-programs --test mix -- run fibers 2 0x1f 60 once
//!     mode, workers, seed, patience of the watchdog; only this round
//! cargo test -p rayon-programs --test mix -- run fibers 2 0x1f 60 300     that and the following ones, for 300 s
//! ```
//! With `MYRIAD_MIX_HOLD` set the watchdog leaves a process that hangs as it is, for a debugger.

mod foreign;
mod kinds;
mod threads;
mod tree;

use foreign::Foreign;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use tree::{Profile, Tree};

/// Trees at a time.
const ROOTS: usize = 3;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.first().is_some_and(|arg| arg == "run") {
        run(&args[1..]);
        return ExitCode::SUCCESS;
    }
    // (As the harness has it: a filter for other tests.)
    if args.iter().any(|arg| !arg.starts_with('-') && !"mix".contains(arg.as_str())) {
        return ExitCode::SUCCESS;
    }
    if args.iter().any(|arg| arg == "--list") {
        println!("mix: test");
        return ExitCode::SUCCESS;
    }
    let seconds = std::env::var("MYRIAD_MIX_SECONDS").ok().and_then(|s| s.parse::<f64>().ok()).map_or(1.0, |s| s / 4.0);
    let now = SystemTime::UNIX_EPOCH.elapsed().map_or(0, |now| now.as_micros() as u64);
    let mut failed = false;
    for mode in ["threads", "fibers"] {
        for workers in ["1", "2"] {
            let (program, seed) = (std::env::current_exe().unwrap(), format!("{:#x}", now & 0xffff_ffff));
            let args = ["run", mode, workers, &seed, "60", &seconds.to_string()];
            let mut command = Command::new(program);
            if (mode, workers) != ("threads", "1") {
                command.env("MYRIAD_MIX_TOLD", "1");
            }
            let status = command.args(args).status().unwrap();
            if !status.success() {
                eprintln!("mix: {args:?}: {status}");
                failed = true;
            }
        }
    }
    ExitCode::from(u8::from(failed))
}

/// What this process runs now, for the watchdog.
#[derive(Default)]
struct Now {
    seed: u64,
    trees: Vec<Arc<Tree>>,
    since: Option<Instant>,
}

static NOW: Mutex<Now> = Mutex::new(Now { seed: 0, trees: Vec::new(), since: None });
static PEAK: AtomicU64 = AtomicU64::new(0);

fn run(args: &[String]) {
    let [mode, workers, seed, patience, time] = args else { panic!("run MODE WORKERS SEED PATIENCE (once|SECONDS)") };
    let (fibers, workers) = (mode == "fibers", workers.parse().unwrap());
    let seed = u64::from_str_radix(seed.trim_start_matches("0x"), 16).unwrap();
    let patience = Duration::from_secs(patience.parse().unwrap());
    let time = (time != "once").then(|| Duration::from_secs_f64(time.parse().unwrap()));
    let repeat = format!("run {mode} {workers}");
    watch(repeat.clone(), patience);

    // SAFETY: no task here waits inside a thread-local scope: tokio's `block_on`, which is one, is
    // called on threads that are no worker's.
    let builder =
        if fibers { unsafe { myriad::Builder::fibers() }.stack_size(512 << 10) } else { myriad::Builder::new() };
    builder.workers(workers).name("mix").install().unwrap();
    let foreign = Foreign::load();
    for missing in foreign.missing.iter().filter(|_| std::env::var_os("MYRIAD_MIX_TOLD").is_none()) {
        println!("mix: SKIPPED: {missing}");
    }
    let (began, mut rounds, mut nodes, mut longest) = (Instant::now(), 0_u64, 0, (Duration::ZERO, 0));
    let (mut bound, mut counts) = (threads::Bound::new(fibers, workers), [0_u64; kinds::ALL.len()]);
    loop {
        let at = seed.wrapping_add(rounds);
        let profile = Profile::of(at);
        let trees: Vec<_> = (0..ROOTS).map(|root| Arc::new(Tree::new(at, root, profile, foreign.clone()))).collect();
        trees.iter().for_each(|tree| tree.count(&mut counts));
        nodes += trees.iter().map(|tree| tree.nodes.len()).sum::<usize>();
        bound.round(&trees);
        let start = Instant::now();
        *NOW.lock().unwrap() = Now { seed: at, trees: trees.clone(), since: Some(start) };
        kinds::round(&trees);
        NOW.lock().unwrap().since = None;
        longest = longest.max((start.elapsed(), at));
        rounds += 1;
        if time.is_none_or(|time| began.elapsed() >= time) {
            break;
        }
    }
    let (peak, bound) = (PEAK.load(SeqCst), bound.total());
    println!(
        "mix: {mode}, {workers} workers, seed {seed:#x}: {rounds} rounds of {ROOTS} trees, {nodes} nodes, the longest round {:.1?} ({:#x}); \
         {peak} threads of the system at most, bound {bound}",
        longest.0, longest.1
    );
    if std::env::var_os("MYRIAD_MIX_KINDS").is_some() {
        kinds::ALL.iter().zip(counts).for_each(|(kind, count)| println!("mix: {kind:?}: {count}"));
    }
    assert!(peak <= bound, "{peak} threads, and {bound} are the bound");
}

/// Looks at the number of threads; aborts if a round takes too long, or if something panics.
fn watch(repeat: String, patience: Duration) {
    let default = std::panic::take_hook();
    let command = repeat.clone();
    std::panic::set_hook(Box::new(move |info| {
        default(info);
        eprintln!("mix: failed; the round: {command} {:#x} 60 once", NOW.try_lock().map_or(0, |now| now.seed));
        std::process::abort();
    }));
    std::thread::spawn(move || {
        loop {
            PEAK.fetch_max(threads::now(), SeqCst);
            std::thread::sleep(Duration::from_millis(2));
            let now = NOW.lock().unwrap();
            if now.since.is_none_or(|since| since.elapsed() < patience) {
                continue;
            }
            eprintln!("mix: hangs (process {}); to repeat: {repeat} {:#x} 60 once", std::process::id(), now.seed);
            for (root, tree) in now.trees.iter().enumerate() {
                eprintln!("root {root}:\n{tree}");
            }
            if std::env::var_os("MYRIAD_MIX_HOLD").is_none() {
                std::process::abort();
            }
            std::thread::sleep(Duration::from_secs(1 << 20));
        }
    });
}
