//! Cancelled by a destructor that runs because of a panic. It does not wait itself, so both modes
//! allow it.

use crate::common::{Drops, catch_planned, each, plan};
use myriad::cancel::{Token, is_cancelled};
use myriad::task::Builder;
use myriad::time::sleep;
use myriad::{scope, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// More than one portion of a sweep.
const MANY: usize = 150;

/// Does something when it is dropped.
struct AtEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Says that it begins, and blocks for long.
fn blocks(begun: &AtomicUsize) {
    begun.fetch_add(1, AcqRel);
    sleep(Duration::from_secs(3600));
}

/// Until so many have begun, and blocked.
fn until_blocked(begun: &AtomicUsize, n: usize) {
    while begun.load(Acquire) < n {
        yield_now();
    }
    for _ in 0..10 {
        yield_now();
    }
}

/// Panics; the unwinding does this.
fn panics(at_end: impl FnMut()) {
    catch_planned("a panic", || {
        let _at_end = AtEnd(at_end);
        plan("a panic");
    });
}

#[test]
fn a_task() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let begun = Arc::new(AtomicUsize::new(0));
            let b = begun.clone();
            let h = spawn(move || blocks(&b));
            until_blocked(&begun, 1);
            panics(|| {
                h.cancel();
                // It looks at what is to be done, and leaves this.
                assert!(!is_cancelled());
            });
            assert!(h.join().unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_scope() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (begun, drops) = (&AtomicUsize::new(0), &Drops::new());
            scope(|s| {
                for _ in 0..MANY {
                    let held = drops.one();
                    s.spawn(move || (blocks(begun), held));
                }
                until_blocked(begun, MANY);
                panics(|| s.cancel());
            });
            drops.assert_all(MANY);
        });
    });
}

#[test]
fn a_join_that_passes_it_on() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let begun = Arc::new(AtomicUsize::new(0));
            let b = begun.clone();
            let h = spawn(move || {
                // (No wait before the join: there the cancellation would arrive at once.)
                spawn(move || blocks(&b)).join().is_err()
            });
            until_blocked(&begun, 1);
            panics(|| h.cancel());
            assert!(h.join().unwrap_err().is_cancelled());
        });
    });
}

#[test]
fn a_token() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (begun, token) = (Arc::new(AtomicUsize::new(0)), Token::new());
            let b = begun.clone();
            let h = Builder::new().token(&token).spawn(move || blocks(&b));
            until_blocked(&begun, 1);
            panics(|| token.cancel());
            assert!(h.join().unwrap_err().is_cancelled());
        });
    });
}

/// A limit in a destructor that runs because of a panic works; within it a second panic's
/// destructor cannot be left. It ends the process, having said what to do. (In fiber mode no
/// destructor waits because of a panic: its contract.)
#[test]
#[cfg(unix)]
fn a_limit_around_a_second_panic() {
    use crate::common::{Mode, assert_aborted, assert_ok, catch, in_child, stderr};
    let limited = |second: bool| {
        in_child(&[("SECOND", if second { "1" } else { "" })], || {
            let second = !std::env::var("SECOND").unwrap().is_empty();
            let rt = Mode::Threads.builder().workers(1).build().unwrap();
            rt.run(|| {
                panics(|| {
                    let hour = || sleep(Duration::from_secs(3600));
                    let limited = myriad::time::timeout(Duration::from_millis(5), || {
                        if second {
                            drop(catch(|| {
                                let _waits = AtEnd(hour);
                                plan("a second panic");
                            }));
                        } else {
                            hour();
                        }
                    });
                    assert!(limited.is_err());
                });
            });
        })
    };
    // (A child runs the test again, up to the first of these.)
    assert_ok(&limited(false));
    let output = limited(true);
    assert_aborted(&output);
    assert!(stderr(&output).contains("unless a second panic is under way within the limit"), "{}", stderr(&output));
}
