//! What the behaviour tests share: each body runs in fiber mode and in threads mode, with 1, 2 and
//! 4 workers.
//!
//! ```text
//!  in_both_modes(|rt| ..)   a runtime per mode and number of workers; afterwards all its tasks must have ended
//!  each(&[2], |rt| ..)      the same with these numbers of workers
//!  case(mode, n, tweak, ..) one runtime, with settings of its own
//!  in_child("test", ..)     this very test once more, in a process of its own (it may die, or set limits)
//! ```
//! **Hangs.** Every case has a watchdog: after [`PATIENCE`] it says which test hangs, in which mode
//! and with how many workers, and aborts the process. So no test needs a time limit of its own.
//!
//! **Panics on purpose** begin with [`PLANNED`], and are not printed.

#![allow(dead_code)] // each test binary uses its part

pub(crate) mod table;

use myriad::{Builder, Report, Runtime, State};
use std::any::Any;
use std::fmt;
use std::io::Write;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, Once, OnceLock};
use std::time::{Duration, Instant};

/// A case that takes longer hangs. It only ends a hang: nothing that goes well takes near so long,
/// also where the machine stands still now and then.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How tasks block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Fibers,
    Threads,
}

pub(crate) const MODES: [Mode; 2] = [Mode::Fibers, Mode::Threads];

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Mode::Fibers { "fiber mode" } else { "threads mode" })
    }
}

impl Mode {
    /// A builder of runtimes in this mode.
    pub(crate) fn builder(self) -> Builder {
        match self {
            // SAFETY: these tests do not block inside a thread-local scope or initialiser, nor in a
            // destructor that runs because of a panic; the few that do it to show what happens say
            // so.
            Mode::Fibers => unsafe { Builder::fibers() },
            Mode::Threads => Builder::new(),
        }
    }

    /// A runtime in this mode.
    pub(crate) fn runtime(self, workers: usize) -> Runtime {
        self.builder().workers(workers).build().unwrap()
    }
}

/// Runs `body` in both modes, with 1, 2 and 4 workers.
#[track_caller]
pub(crate) fn in_both_modes(body: impl Fn(&Runtime)) {
    each(&[1, 2, 4], body);
}

/// Runs `body` in both modes, with these numbers of workers.
#[track_caller]
pub(crate) fn each(workers: &[usize], body: impl Fn(&Runtime)) {
    for mode in MODES {
        for &workers in workers {
            case(mode, workers, |b| b, &body);
        }
    }
}

/// Runs `body` in both modes, with these numbers of workers and with settings; it is told the mode.
#[track_caller]
pub(crate) fn each_with(workers: &[usize], tweak: impl Fn(Builder) -> Builder, body: impl Fn(Mode, &Runtime)) {
    for mode in MODES {
        for &workers in workers {
            case(mode, workers, &tweak, |rt| body(mode, rt));
        }
    }
}

/// Runs `body` with one runtime. All its tasks have to end afterwards.
#[track_caller]
pub(crate) fn case(mode: Mode, workers: usize, tweak: impl FnOnce(Builder) -> Builder, body: impl FnOnce(&Runtime)) {
    if mode == Mode::Fibers && !fibers_supported() {
        return;
    }
    quiet();
    let _watch = watch(&format!("{mode}, {workers} workers"));
    let rt = tweak(mode.builder().workers(workers)).build().unwrap();
    body(&rt);
    let report = rt.shutdown(PATIENCE);
    assert!(report.is_clean(), "{mode}, {workers} workers: {report}");
}

/// Runs `body` in both modes, with 1 and 2 workers. The runtime is the body's to end.
#[track_caller]
pub(crate) fn each_owned(body: impl Fn(Mode, Runtime)) {
    each_owned_with(|b| b, body);
}

/// The same with settings of its own.
#[track_caller]
pub(crate) fn each_owned_with(tweak: impl Fn(Builder) -> Builder, body: impl Fn(Mode, Runtime)) {
    quiet();
    for mode in MODES {
        if mode == Mode::Fibers && !fibers_supported() {
            continue;
        }
        for workers in [1, 2] {
            let _watch = watch(&format!("{mode}, {workers} workers"));
            body(mode, tweak(mode.builder().workers(workers)).build().unwrap());
        }
    }
}

/// Runs `setup` in both modes, with 1 and 2 workers, and ends the runtime while its tasks are at
/// rest, in what they wait for. `check` gets the report, and what `setup` has returned.
///
/// A task that has not come to its wait when the patience ends is named as one that runs: the
/// machine did not let it. Then all is done again, with more patience.
#[track_caller]
pub(crate) fn ended_at_rest<K>(setup: impl Fn(&Runtime) -> K, check: impl Fn(Mode, Report, K)) {
    each_owned(|mode, rt| {
        let workers = rt.workers();
        let mut first = Some(rt);
        for millis in [20, 500, 5000] {
            let rt = first.take().unwrap_or_else(|| mode.runtime(workers));
            let kept = setup(&rt);
            let report = rt.shutdown(Duration::from_millis(millis));
            if millis == 5000 || report.unfinished().iter().all(|task| task.state() != State::Running) {
                check(mode, report, kept);
                return;
            }
        }
    });
}

/// Can this platform switch stacks?
pub(crate) fn fibers_supported() -> bool {
    static SUPPORTED: OnceLock<bool> = OnceLock::new();
    *SUPPORTED.get_or_init(|| {
        let built = Mode::Fibers.builder().workers(1).build();
        !built.is_err_and(|error| error.kind() == std::io::ErrorKind::Unsupported)
    })
}

// -------------------------------------------------------------------------------------------------------
// hangs

/// Ends the watch when dropped.
pub(crate) struct Watch(usize);

type Watched = Vec<(usize, String, Instant)>;
static WATCHED: Mutex<Watched> = Mutex::new(Vec::new());
static CHANGED: Condvar = Condvar::new();

/// From here until the guard is dropped, the calling test may take [`PATIENCE`], or
/// `MYRIAD_TEST_PATIENCE` seconds.
pub(crate) fn watch(what: &str) -> Watch {
    watch_for(what, patience())
}

/// A busy machine, or a checker of leaks, may need more.
fn patience() -> Duration {
    let asked = std::env::var("MYRIAD_TEST_PATIENCE").ok().and_then(|seconds| seconds.parse().ok());
    asked.map_or(PATIENCE, Duration::from_secs)
}

/// The same with another limit.
pub(crate) fn watch_for(what: &str, patience: Duration) -> Watch {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    static START: Once = Once::new();
    START.call_once(|| {
        _ = std::thread::Builder::new().name("watchdog".into()).spawn(watchdog).unwrap();
        if std::env::var_os("MYRIAD_TEST_DUMPS").is_some() {
            _ = std::thread::Builder::new().name("dumps".into()).spawn(dump_all_the_time).unwrap();
        }
    });
    let number = NUMBER.fetch_add(1, Relaxed);
    let name = format!("{} ({what})", test_name());
    locked(&WATCHED).push((number, name, Instant::now() + patience));
    CHANGED.notify_all();
    Watch(number)
}

impl Drop for Watch {
    fn drop(&mut self) {
        locked(&WATCHED).retain(|(number, ..)| *number != self.0);
    }
}

/// With `MYRIAD_TEST_DUMPS`, beside all that a test program does: a dump each millisecond.
fn dump_all_the_time() {
    for n in 0u64.. {
        let dump = myriad::dump();
        if n.is_multiple_of(100) {
            let text = dump.to_string();
            assert!(text.lines().count() <= 40 && dump.to_json().ends_with("]}\n"), "{text}");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn watchdog() {
    let mut watched = locked(&WATCHED);
    loop {
        let now = Instant::now();
        if let Some((_, name, _)) = watched.iter().find(|(_, _, until)| *until <= now) {
            // Not by `eprintln!`: a test's threads have its standard error captured, and the
            // process ends here.
            _ = writeln!(std::io::stderr(), "\ntest {name} HANGS; aborting");
            std::process::abort();
        }
        let wait = watched.iter().map(|(_, _, until)| *until - now).min().unwrap_or(Duration::from_secs(3600));
        watched = CHANGED.wait_timeout(watched, wait).unwrap_or_else(|e| e.into_inner()).0;
    }
}

pub(crate) fn test_name() -> String {
    std::thread::current().name().unwrap_or("a thread without a name").to_owned()
}

/// Waits, on whatever thread or task, until the condition holds: for what nothing wakes a waiter
/// for.
#[track_caller]
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < patience(), "the condition does not come true");
        if myriad::Handle::current().is_some() {
            myriad::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Computes, and does not come back to its worker, until the condition holds.
pub(crate) fn compute_until(condition: impl Fn() -> bool) {
    while !condition() {
        std::hint::spin_loop();
    }
}

// -------------------------------------------------------------------------------------------------------
// panics

/// How the text of a panic on purpose begins.
pub(crate) const PLANNED: &str = "planned: ";

/// Do tests of many rounds run all of them? In optimised builds, and where `MYRIAD_TEST_FULL` is
/// set, as one step of CI does; else fewer.
pub(crate) fn full_length() -> bool {
    !cfg!(debug_assertions) || std::env::var_os("MYRIAD_TEST_FULL").is_some()
}

/// Panics that are part of a test are not printed.
pub(crate) fn quiet() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !text(info.payload()).starts_with(PLANNED) {
                loud(info);
            }
        }));
    });
}

/// A panic on purpose.
#[track_caller]
pub(crate) fn plan(text: &str) -> ! {
    std::panic::panic_any(format!("{PLANNED}{text}"))
}

/// The text of a panic's payload; `""` if it is something else.
pub(crate) fn text(payload: &(dyn Any + Send)) -> &str {
    match payload.downcast_ref::<String>() {
        Some(text) => text,
        None => payload.downcast_ref::<&str>().copied().unwrap_or(""),
    }
}

/// Runs `f`, which has to panic, and returns what the panic carries.
#[track_caller]
pub(crate) fn catch<T>(f: impl FnOnce() -> T) -> Box<dyn Any + Send> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)) {
        Ok(_) => panic!("no panic came"),
        Err(payload) => payload,
    }
}

/// Runs `f`, which has to panic on purpose with this text.
#[track_caller]
pub(crate) fn catch_planned<T>(expected: &str, f: impl FnOnce() -> T) {
    let payload = catch(f);
    assert_eq!(text(&*payload), format!("{PLANNED}{expected}"));
}

// -------------------------------------------------------------------------------------------------------
// processes

const CHILD: &str = "MYRIAD_TEST_CHILD";

/// Is this process a child that [`in_child`] has started?
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs the calling test once more in a process of its own, with these variables; in that process,
/// runs `body` and exits.
pub(crate) fn in_child(env: &[(&str, &str)], body: impl FnOnce()) -> Output {
    if is_child() {
        let _watch = watch("in a process of its own");
        body();
        std::process::exit(0);
    }
    Command::new(std::env::current_exe().unwrap())
        .args([&test_name(), "--exact", "--nocapture", "--include-ignored"])
        .env(CHILD, "1")
        .envs(env.iter().copied())
        .output()
        .unwrap()
}

/// What a process wrote to its standard error.
pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// It ended well.
#[track_caller]
pub(crate) fn assert_ok(output: &Output) {
    assert!(output.status.success(), "{}\n{}", output.status, stderr(output));
}

/// It died of SIGABRT.
#[cfg(unix)]
#[track_caller]
pub(crate) fn assert_aborted(output: &Output) {
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(output.status.signal(), Some(6), "{}\n{}", output.status, stderr(output));
}

// -------------------------------------------------------------------------------------------------------
// crowds

/// So many tasks want to block; some find no stack. Returns how many got a message, and what the
/// others were told.
pub(crate) fn crowd(rt: &Runtime, tasks: usize) -> (usize, Vec<String>) {
    rt.run(|| {
        let (tx, rx) = myriad::channel::unbounded::<usize>();
        let started = Arc::new(AtomicUsize::new(0));
        let handles: Vec<_> = (0..tasks)
            .map(|_| {
                let (tx, rx, started) = (tx.clone(), rx.clone(), started.clone());
                myriad::spawn(move || {
                    // The last one to start lets the others go on.
                    if started.fetch_add(1, SeqCst) + 1 == tasks {
                        (0..tasks).for_each(|i| tx.send(i).unwrap());
                    }
                    rx.recv().unwrap()
                })
            })
            .collect();
        let (mut got, mut told) = (0, Vec::new());
        for h in handles {
            match h.join() {
                Ok(_) => got += 1,
                Err(error) => told.push(error.to_string()),
            }
        }
        // What the failed ones did not take is still there.
        assert_eq!(rx.try_iter().count(), told.len());
        (got, told)
    })
}

// -------------------------------------------------------------------------------------------------------
// drops

/// Counts how many of its [`Counted`] are alive, and how many there were.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drops(Arc<(AtomicUsize, AtomicUsize)>);

/// A value that is counted while it is alive.
#[derive(Debug)]
pub(crate) struct Counted(Drops);

impl Drops {
    pub(crate) fn new() -> Drops {
        Drops::default()
    }
    /// One more value.
    pub(crate) fn one(&self) -> Counted {
        self.0.0.fetch_add(1, SeqCst);
        Counted(self.clone())
    }
    /// How many were made.
    pub(crate) fn made(&self) -> usize {
        self.0.0.load(SeqCst)
    }
    /// How many were dropped.
    pub(crate) fn dropped(&self) -> usize {
        self.0.1.load(SeqCst)
    }
    /// All that were made were dropped, each once.
    #[track_caller]
    pub(crate) fn assert_all(&self, made: usize) {
        assert_eq!((self.made(), self.dropped()), (made, made), "(made, dropped)");
    }
    /// Waits until all that were made are dropped.
    #[track_caller]
    pub(crate) fn wait_all(&self, made: usize) {
        wait_until(|| self.dropped() >= made);
        self.assert_all(made);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.0.1.fetch_add(1, SeqCst);
    }
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

// -------------------------------------------------------------------------------------------------------
// random numbers

/// A small generator (splitmix64), so that a failure can be repeated from its seed.
#[derive(Debug, Clone)]
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    /// Less than `n`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
    /// A generator of its own, for a child.
    pub(crate) fn fork(&mut self) -> Rng {
        Rng(self.next())
    }
}
