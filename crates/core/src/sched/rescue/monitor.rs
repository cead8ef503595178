//! The monitor: one thread of the process that sees which workers are stuck, and sends help
//! ([`crate::sched::rescue::watch`]).
//!
//! ```text
//!  every 10 ms while a worker is awake (2 ms while ready tasks wait): what each runtime's `Watch` says
//!  all workers of all runtimes sleep: sleeps without a time limit, until one wakes up, or a thread
//!  ends and is to be joined
//! ```
//! How the two do not miss each other: [`super::parking`]. So an idle program has no ticks. The
//! thread ends with the last runtime, and is joined by its shutdown. Meanwhile another runtime may
//! begin, with a monitor of its own: so there may be two threads, of which the older one ends. Only
//! the newest says that it sleeps (under the lock under which it is replaced), each sleeps only
//! while its own number stands there, and an end takes away only that of its own thread. (With a
//! flag in its place an old one took the sleep of the new one for its own, and its join never
//! ended; or its end wiped out that the new one sleeps, and nobody woke it any more.)
//!
//! **It runs no code of users**, for one of them could stop the help for all. Functions of users
//! are called, and reports written, by threads for that ([`super::tell`]).
//!
//! **Rejected.** A monitor for each runtime: as many ticks as runtimes. A timer signal: lands in
//! foreign code. A sleeping worker that looks after the others: there is none when all are stuck.

use super::marks;
use super::parking::{AWAKE, Parking};
use super::quiet;
use super::tell::{self, Errand};
use crate::sched::calls;
use crate::sched::pool::Pool;
use crate::sched::rescue::watch::Watch;
use crate::sched::unwind;
#[cfg(not(loom))]
use myriad_base::lock::bias_owner;
use myriad_base::pieces;
use myriad_base::sys::atomic::{AtomicUsize, Ordering::*};
use myriad_base::sys::fork::{self, Rank};
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_base::sys::passing::passing;
use myriad_base::sys::{clock, thread};
use std::thread::{JoinHandle, Thread, park};
use std::time::Duration;

struct Monitor {
    /// Whose threads these are: see [`crate::sched::fork`].
    era: u32,
    watched: Vec<Watch>,
    thread: Option<JoinHandle<()>>,
    /// Counts the threads: one that is not the newest ends.
    generation: usize,
    /// Counts what was watched.
    numbered: u64,
}

static MONITOR: Mutex<Monitor> =
    Mutex::new(Monitor { era: 0, watched: Vec::new(), thread: None, generation: 0, numbered: 0 });
/// Generations begin with 1.
#[cfg(not(loom))]
static PARKING: Parking = Parking { asleep: AtomicUsize::new(AWAKE) };
#[cfg(loom)] // models have one of their own
static PARKING: std::sync::LazyLock<Parking> = std::sync::LazyLock::new(|| Parking { asleep: AtomicUsize::new(AWAKE) });
/// Apart from the rest: whoever wakes the monitor must not wait until it has looked around.
static THREAD: Mutex<Option<Thread>> = Mutex::new(None);

/// Is there a thread that looks? A hint; std's, as no protocol's part.
static RUNS: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

/// Does a monitor look at stuck workers, and at what they keep? Not where its thread could not be
/// started.
pub(crate) fn runs() -> bool {
    RUNS.load(Relaxed)
}

/// From now on forks find these locks free: nobody else is in the middle of anything meanwhile.
fn watch_forks() {
    fork::hold(Rank::Monitor, || {
        let held = (MONITOR.lock(), THREAD.lock(), quiet::lock());
        Box::new(|_| drop(held))
    });
}

/// The monitor of this process.
fn monitor() -> MutexGuard<'static, Monitor> {
    let mut monitor = MONITOR.lock();
    if monitor.era != fork::era() {
        // The parent's thread, and its runtimes.
        monitor.era = fork::era();
        monitor.generation += 1;
        std::mem::forget((std::mem::take(&mut monitor.watched), monitor.thread.take(), THREAD.lock().take()));
        PARKING.asleep.store(AWAKE, Relaxed);
    }
    monitor
}

/// A runtime begins.
pub(crate) fn watch(pool: &'static Pool) {
    watch_forks();
    let mut monitor = monitor();
    monitor.numbered += 1;
    let number = monitor.numbered;
    monitor.watched.push(Watch::new(pool, number));
    if monitor.thread.is_none() {
        monitor.generation += 1;
        let generation = monitor.generation;
        let cpus = pool.config().cpus.clone();
        let body = move || {
            // Perhaps started by a worker that is pinned.
            _ = cpus.is_some_and(|cpus| thread::unpin(&cpus));
            crate::sched::unwind::never_unwinds("the monitor", || run(generation));
        };
        // Without a monitor all goes on, but stuck workers get no help.
        let builder = std::thread::Builder::new().name("myriad-monitor".into()).stack_size(256 << 10);
        monitor.thread = builder.spawn(passing(body)).ok();
        RUNS.store(monitor.thread.is_some(), Relaxed);
        *THREAD.lock() = monitor.thread.as_ref().map(|t| t.thread().clone());
    }
    drop(monitor);
    wake();
}

/// A runtime ends: when this returns the monitor does not look at it any more, and starts no spare
/// worker.
pub(crate) fn forget(pool: &'static Pool) {
    let mut monitor = monitor();
    let index = monitor.watched.iter().position(|watch| watch.is_of(pool));
    let mut ended_watch = index.map(|i| monitor.watched.swap_remove(i));
    ended_watch.iter_mut().for_each(Watch::end);
    if !monitor.watched.is_empty() {
        drop(monitor);
        return unwind::drop_quietly(ended_watch);
    }
    let ended = monitor.generation;
    monitor.generation += 1;
    let thread = monitor.thread.take();
    *THREAD.lock() = None;
    drop(monitor);
    // (This is not that thread, which runs no code of users.)
    if let Some(thread) = thread {
        // Not that of a newer one. If it is not asleep yet, it will find that it is not the newest.
        _ = PARKING.asleep.compare_exchange(ended, AWAKE, SeqCst, Relaxed);
        thread.thread().unpark();
        // It does not unwind.
        _ = thread.join();
    }
    unwind::drop_quietly(ended_watch);
}

/// A worker has woken up, or has not fallen asleep; or a thread ends (and is listed).
#[inline]
pub(crate) fn worker_awake() {
    if PARKING.is_asleep() {
        wake();
    }
}

#[cold]
fn wake() {
    if PARKING.take()
        && let Some(thread) = &*THREAD.lock()
    {
        thread.unpark();
    }
}

/// The newest monitor, if it waits for its next look, takes that look now.
pub(super) fn scan_now() {
    if let Some(thread) = &*THREAD.lock() {
        thread.unpark();
    }
}

/// The watch of this number, under the lock; `None` if its runtime has ended. `f` runs no code of
/// users.
pub(super) fn with_watch<R>(number: u64, f: impl FnOnce(&mut Watch) -> R) -> Option<R> {
    MONITOR.lock().watched.iter_mut().find(|watch| watch.number == number).map(f)
}

fn run(generation: usize) {
    let mut errands: Vec<(u64, Errand)> = Vec::new();
    loop {
        let mut pause: Option<Duration> = None;
        {
            let mut monitor = MONITOR.lock();
            if monitor.generation != generation {
                return;
            }
            let now = clock::system_now();
            for watch in &mut monitor.watched {
                let until = watch.scan(now);
                pause = [pause, until].into_iter().flatten().min();
                errands.extend(watch.errands(now));
            }
        }
        #[cfg(not(loom))]
        bias_owner::sample_long_turns();
        // Without the lock, which those take who do it.
        errands.drain(..).for_each(|(number, errand)| tell::start(number, errand));
        let until_marks = marks::ask(clock::system_now());
        pieces::look(clock::system_now(), || true);
        // (All sleep, and the last of them has fallen asleep since the last marks.)
        match pause.or(until_marks) {
            Some(pause) => clock::park(pause),
            None => sleep(generation),
        }
    }
}

/// Sleeps until a worker wakes up, a thread ends, or a runtime begins or ends.
fn sleep(generation: usize) {
    {
        // Under the lock: as long as we are the newest nobody else sets it.
        let monitor = MONITOR.lock();
        if monitor.generation != generation {
            return;
        }
        if !PARKING.fall_asleep(generation, || monitor.watched.iter().all(Watch::sleeps)) {
            return;
        }
    }
    let still = || PARKING.asleep.load(Acquire) == generation;
    // Once for each time that nothing moves.
    let mut told = false;
    while still() {
        told = told || quiet::look(still, calls::idle_threads);
        if still() && quiet::again() {
            told = false;
        } else if still() {
            match pieces::look(clock::system_now(), still) {
                Some(pause) => clock::park(pause),
                None => park(),
            }
        }
    }
}
