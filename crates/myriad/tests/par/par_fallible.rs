//! Loops and maps that may fail: the error of a serial loop, whatever the schedule; nothing begins
//! behind a failure that is known; no result and no error is lost or dropped twice.

use crate::common::{Drops, catch_planned, each, in_both_modes, plan, quiet, text};
use myriad::cancel::Token;
use myriad::par;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn the_first_error_by_number() {
    in_both_modes(|rt| {
        rt.run(|| {
            for first in [0, 1, 499, 5_000, 9_999] {
                let fails = |i: usize| if i >= first && (i - first).is_multiple_of(7) { Err(i) } else { Ok(i) };
                let xs: Vec<usize> = (0..10_000).collect();
                assert_eq!(par::try_for_each_index(0..10_000, |i| fails(i).map(drop)), Err(first));
                assert_eq!(par::try_for_each(&xs, |&i| fails(i).map(drop)), Err(first));
                assert_eq!(par::try_map_index(0..10_000, fails), Err(first));
                assert_eq!(par::try_map(&xs, |&i| fails(i)), Err(first));
            }
            assert_eq!(par::try_map_index(0..10_000, Ok::<usize, ()>), Ok((0..10_000).collect()));
            assert_eq!(par::try_map(&[] as &[u8], |_| Err::<(), ()>(())), Ok(vec![]));
            assert_eq!(par::try_for_each_index(5..5, |_| Err(())), Ok(()));
            assert_eq!(par::try_for_each_index(-3..3_i8, |i| if i < 0 { Ok(()) } else { Err(i) }), Err(0));
        });
    });
}

/// All of it would take for ever.
#[test]
fn what_follows_is_not_begun() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (first, later) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let result = par::try_map_index(0..1_000_000_usize, |i| {
                if i == 3 {
                    first.store(1, Release);
                    return Err("three");
                }
                // Leaves that have begun already go on to their end.
                if first.load(Acquire) == 1 && i > 3 {
                    later.fetch_add(1, Relaxed);
                }
                Ok(())
            });
            assert_eq!(result, Err("three"));
            assert!(later.load(Relaxed) < 500_000, "{later:?}");
            let result = par::try_for_each_index(0..u64::MAX / 2, |i| if i == 300 { Err(i) } else { Ok(()) });
            assert_eq!(result, Err(300));
        });
    });
}

#[test]
fn a_panic_before_the_error_goes_on() {
    in_both_modes(|rt| {
        rt.run(|| {
            let fails = |at: usize, panics: usize| {
                par::try_for_each_index(0..1000, |i| {
                    if i == panics {
                        plan("below")
                    }
                    if i == at { Err(i) } else { Ok(()) }
                })
            };
            catch_planned("below", || fails(700, 20));
            catch_planned("below", || fails(1000, 999));
            assert_eq!(fails(20, 700), Err(20));
            catch_planned("below", || {
                par::try_map_index(0..1000, |i| if i == 20 { plan("below") } else { Ok::<_, ()>(i) })
            });
        });
    });
}

/// Results and errors have owners.
#[test]
fn all_are_dropped_once() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        rt.run(|| {
            for first in [0, 10, 999, 1000] {
                let made = || drops.one();
                let result = par::try_map_index(0..1000, |i| if i >= first { Err(made()) } else { Ok(made()) });
                assert_eq!(result.is_ok(), first == 1000);
                drop(result);
                _ = par::try_for_each_index(0..1000, |i| if i >= first { Err(made()) } else { Ok(()) });
            }
        });
        assert!(drops.made() > 0);
        drops.assert_all(drops.made());
    });
}

/// An error whose destructor panics, always.
struct Loud(usize);

impl Drop for Loud {
    fn drop(&mut self) {
        plan("of an error's destructor");
    }
}

/// A serial loop never has an error in hand while another body fails, panics or is cancelled. So
/// the destructor of an error that is not returned does not show, and does not end the process.
#[test]
fn errors_that_are_not_returned_are_dropped_quietly() {
    const N: usize = 2_000;
    quiet();
    each(&[2, 4], |rt| {
        for lower in ["fails", "panics", "is cancelled"] {
            for collects in [false, true] {
                // Until a failure of the upper half came first, and one of the lower half second.
                let both = (0..10_000).any(|_| {
                    let (upper, second) = (AtomicBool::new(false), AtomicBool::new(false));
                    let token = Token::new();
                    let body = |i: usize| {
                        if i >= N / 2 {
                            upper.store(true, SeqCst);
                            return Err(Loud(i));
                        }
                        (0..100).for_each(|_| std::hint::spin_loop());
                        if !upper.load(SeqCst) || second.swap(true, SeqCst) {
                            return Ok(());
                        }
                        // (The failure of the other one is noted a moment after the flag.)
                        std::thread::sleep(Duration::from_micros(200));
                        match lower {
                            "fails" => Err(Loud(i)),
                            "panics" => plan("of the lower half"),
                            _ => {
                                token.cancel();
                                Ok(())
                            }
                        }
                    };
                    let run = || match collects {
                        false => par::try_for_each_index(0..N, body),
                        true => par::try_map_index(0..N, body).map(drop),
                    };
                    let ended = rt.run(|| catch_unwind(AssertUnwindSafe(|| token.run(run))));
                    let second = second.into_inner();
                    match ended {
                        Ok(Ok(Ok(()))) => panic!("the upper half fails"),
                        Ok(Ok(Err(error))) => {
                            assert!(!second || lower != "panics", "the panic is lost");
                            assert_eq!(error.0 < N / 2, second && lower == "fails");
                            std::mem::forget(error);
                        }
                        Ok(Err(cancelled)) => assert!(second && lower == "is cancelled", "{cancelled}"),
                        Err(payload) => {
                            assert!(second && lower == "panics", "{}", text(&*payload));
                            assert!(text(&*payload).ends_with("of the lower half"), "{}", text(&*payload));
                        }
                    }
                    second
                });
                assert!(both, "no round had an error in hand while a lower number {lower}");
            }
        }
    });
}

/// Results, and errors, that are parts of the elements.
#[test]
fn results_borrow_from_the_elements() {
    let lines: Vec<String> = (0..1000).map(|i| format!("{i} {}", i * i)).collect();
    each(&[1, 2], |rt| {
        rt.run(|| {
            let firsts = par::map(&lines, |line| line.split(' ').next().unwrap());
            let pairs = par::try_map(&lines, |line| line.split_once(' ').ok_or(line)).unwrap();
            assert!(pairs.iter().zip(&firsts).all(|((first, _), other)| first == other));
            let nines = par::filter_map(&lines, |line| line.strip_suffix('9'));
            assert_eq!(nines.len(), lines.iter().filter(|line| line.ends_with('9')).count());
            let error = par::try_for_each(&lines, |line| if line.starts_with("77") { Err(&**line) } else { Ok(()) });
            assert_eq!(error, Err("77 5929"));
        });
    });
}
