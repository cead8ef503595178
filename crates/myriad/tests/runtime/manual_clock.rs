//! Under a manual clock the time of tasks stands still until it is moved; what the runtime does for
//! itself takes real time all the same.

use crate::common::{MODES, Mode, case, compute_until, each_owned_with, wait_until};
use myriad::channel::{RecvTimeoutError, unbounded};
use myriad::{OnStuck, Stuck};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, mpsc};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// A worker that waits in the system is seen, and another one comes, though no task's time passes.
#[test]
fn a_stuck_worker_gets_help_while_the_clock_stands() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.manual_clock(),
            |rt| {
                let (tx, rx) = mpsc::channel();
                let begun = Arc::new(AtomicBool::new(false));
                let stuck = rt.spawn({
                    let begun = begun.clone();
                    move || {
                        begun.store(true, SeqCst);
                        rx.recv().unwrap()
                    }
                });
                wait_until(|| begun.load(SeqCst));
                rt.spawn(move || tx.send(7).unwrap()).join().unwrap();
                assert_eq!(stuck.join().unwrap(), 7);
            },
        );
    }
}

/// A hook that counts, and is called for workers that have been stuck for so long.
fn counts(after: Duration) -> (Arc<AtomicUsize>, OnStuck) {
    let told = Arc::new(AtomicUsize::new(0));
    let hook = {
        let told = told.clone();
        Arc::new(move |_: &Stuck| _ = told.fetch_add(1, SeqCst))
    };
    (told, OnStuck::Hook { after, hook })
}

/// Returns when the monitor has looked at all runtimes at least twice: it has found a worker of
/// another one that does not move.
fn the_monitor_looks() {
    let (told, hook) = counts(Duration::from_millis(10));
    case(
        Mode::Threads,
        1,
        |b| b.on_stuck(hook),
        |rt| {
            let told = told.clone();
            rt.spawn(move || compute_until(|| told.load(SeqCst) > 0)).join().unwrap();
        },
    );
}

/// A clock that is moved by a day makes nobody who computes for some milliseconds stuck for a day.
#[test]
fn a_day_that_is_moved_makes_no_worker_stuck() {
    for mode in MODES {
        let (told, hook) = counts(HOUR);
        case(
            mode,
            1,
            |b| b.manual_clock().on_stuck(hook),
            |rt| {
                let (begun, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
                let busy = rt.spawn({
                    let (begun, stop) = (begun.clone(), stop.clone());
                    move || {
                        begun.store(true, SeqCst);
                        compute_until(|| stop.load(SeqCst));
                    }
                });
                wait_until(|| begun.load(SeqCst));
                the_monitor_looks();
                rt.advance(24 * HOUR);
                the_monitor_looks();
                assert_eq!(told.load(SeqCst), 0, "a worker counts as stuck for as long as the clock was moved");
                stop.store(true, SeqCst);
                busy.join().unwrap();
            },
        );
    }
}

/// Who shuts the runtime down waits, and cannot move the clock.
#[test]
fn a_shutdown_gives_up_while_the_clock_stands() {
    each_owned_with(
        |b| b.manual_clock(),
        |_, rt| {
            let (tx, rx) = unbounded::<()>();
            let begun = Arc::new(AtomicBool::new(false));
            drop(rt.spawn_async({
                let begun = begun.clone();
                async move {
                    begun.store(true, SeqCst);
                    _ = rx.recv_async().await;
                }
            }));
            wait_until(|| begun.load(SeqCst));
            let report = rt.shutdown(Duration::from_millis(20));
            assert_eq!(report.unfinished().len() + report.dropped().len(), 1, "{report:?}");
            drop(tx);
        },
    );
}

/// A thread that is of no runtime has the machine's time.
#[test]
fn a_thread_outside_has_real_time() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.manual_clock(),
            |rt| {
                let (tx, rx) = unbounded::<()>();
                let kept = rt.run(move || tx);
                assert_eq!(rx.recv_timeout(Duration::from_millis(5)), Err(RecvTimeoutError::Timeout));
                drop(kept);
            },
        );
    }
}
