//! Functions that are called later, unless they are stopped or set anew.

use crate::common::{MODES, PLANNED, case, wait_until};
use myriad::time::{call_later, sleep, sleep_until};
use myriad::{Builder, Runtime, Unhandled};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// With a clock that stands still until the test moves it.
fn with_manual_clock(set: impl Fn(Builder) -> Builder + Copy, body: impl Fn(&Runtime)) {
    for mode in MODES {
        for workers in [1, 2] {
            case(mode, workers, |b| set(b.manual_clock()), &body);
        }
    }
}

/// Counts its calls.
fn counted() -> (Arc<AtomicUsize>, impl Fn() + Send + Sync + 'static) {
    let calls = Arc::new(AtomicUsize::new(0));
    let inner = calls.clone();
    (calls, move || _ = inner.fetch_add(1, SeqCst))
}

/// Moves the clock. Who was to be woken by then has been woken.
fn pass(rt: &Runtime, time: Duration) {
    let deadline = rt.now() + time;
    let sleeper = rt.spawn(move || sleep_until(deadline));
    rt.advance(time);
    sleeper.join().unwrap();
}

#[test]
fn once_when_it_is_time() {
    with_manual_clock(
        |b| b,
        |rt| {
            let (calls, call) = counted();
            let timer = rt.run(|| call_later(HOUR, call));
            let deadline = timer.deadline().expect("it is pending");
            assert_eq!(deadline, rt.now() + HOUR);
            rt.advance(HOUR - Duration::from_nanos(1));
            assert_eq!((calls.load(SeqCst), timer.deadline()), (0, Some(deadline)));
            rt.advance(Duration::from_nanos(1));
            wait_until(|| calls.load(SeqCst) == 1);
            assert_eq!((timer.stop(), timer.deadline()), (false, None));
            rt.advance(24 * HOUR);
            pass(rt, Duration::from_millis(5));
            assert_eq!(calls.load(SeqCst), 1);
        },
    );
}

#[test]
fn stopped() {
    with_manual_clock(
        |b| b,
        |rt| {
            let (calls, call) = counted();
            let timer = rt.run(|| call_later(HOUR, call));
            assert!(timer.stop());
            assert!(!timer.stop());
            rt.advance(2 * HOUR);
            pass(rt, Duration::from_millis(5));
            assert_eq!(calls.load(SeqCst), 0);
        },
    );
}

#[test]
fn set_anew_before_and_after() {
    with_manual_clock(
        |b| b,
        |rt| {
            let (calls, call) = counted();
            let timer = rt.run(|| call_later(HOUR, call));
            rt.advance(HOUR / 2);
            // From here, a thread of no runtime, the clock is still that of the runtime.
            assert!(timer.reset(HOUR));
            assert_eq!(timer.deadline(), Some(rt.now() + HOUR));
            rt.advance(HOUR / 2);
            pass(rt, Duration::from_millis(5));
            assert_eq!(calls.load(SeqCst), 0, "not at its first time");
            rt.advance(HOUR);
            wait_until(|| calls.load(SeqCst) == 1);
            for round in 2..5 {
                assert!(!timer.reset(HOUR), "it was called, and waits no more");
                rt.advance(HOUR);
                wait_until(|| calls.load(SeqCst) == round);
            }
            // After a stop, too.
            assert!(!timer.reset(HOUR) && timer.stop() && !timer.reset(HOUR));
            rt.advance(HOUR);
            wait_until(|| calls.load(SeqCst) == 5);
        },
    );
}

#[test]
fn dropped_it_is_called_all_the_same() {
    with_manual_clock(
        |b| b,
        |rt| {
            let (calls, call) = counted();
            drop(rt.run(|| call_later(HOUR, call)));
            rt.advance(HOUR);
            wait_until(|| calls.load(SeqCst) == 1);
            // Nothing of it is left: the counter is ours alone.
            wait_until(|| Arc::strong_count(&calls) == 1);
        },
    );
}

#[test]
fn it_may_set_itself_and_block() {
    with_manual_clock(
        |b| b,
        |rt| {
            let myself = Arc::new(OnceLock::new());
            let (calls, call) = counted();
            let inner = myself.clone();
            let timer = rt.run(|| {
                call_later(HOUR, move || {
                    let timer: &myriad::time::Timer = inner.get().expect("set before the clock moves");
                    assert!(!timer.stop(), "the call has begun");
                    sleep(HOUR);
                    call();
                    timer.reset(HOUR);
                })
            });
            myself.set(timer).expect("only here");
            for round in 1..4 {
                while calls.load(SeqCst) < round {
                    rt.advance(HOUR / 4);
                    std::thread::yield_now();
                }
            }
            let timer = myself.get().expect("set above");
            wait_until(|| timer.deadline().is_some());
            assert!(timer.stop());
        },
    );
}

#[test]
fn a_panic_is_reported_and_it_can_be_set_again() {
    static REPORTED: AtomicUsize = AtomicUsize::new(0);
    with_manual_clock(
        |b| b.on_unhandled_panic(Unhandled::Hook(Arc::new(|_| _ = REPORTED.fetch_add(1, SeqCst)))),
        |rt| {
            REPORTED.store(0, SeqCst);
            let timer = rt.run(|| call_later(HOUR, || panic!("{PLANNED}: late")));
            for round in 1..3 {
                rt.advance(HOUR);
                wait_until(|| REPORTED.load(SeqCst) == round);
                assert!(!timer.reset(HOUR));
            }
            assert!(timer.stop());
        },
    );
}

/// From a thread that is no worker: on the global runtime.
#[test]
fn of_a_foreign_thread() {
    let (calls, call) = counted();
    let timer = call_later(Duration::from_millis(1), call);
    wait_until(|| calls.load(SeqCst) == 1);
    assert!(!timer.stop());
}

/// A runtime ends with timers that are pending: they are dropped, with what they hold.
#[test]
fn pending_at_the_end() {
    for mode in MODES {
        let (calls, call) = counted();
        let rt = mode.builder().workers(2).build().unwrap();
        let timer = rt.run(|| call_later(HOUR, call));
        let report = rt.shutdown(Duration::from_millis(1));
        assert!(!report.is_clean(), "it waits for an hour: {report}");
        drop(timer);
        assert_eq!(calls.load(SeqCst), 0);
        wait_until(|| Arc::strong_count(&calls) == 1);
    }
}
