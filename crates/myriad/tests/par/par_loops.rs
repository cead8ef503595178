//! Parallel loops: each number exactly once, whatever the schedule, the pieces and the policy.

use crate::common::{MODES, case, catch_planned, each, in_both_modes, locked, plan, text};
use myriad::par::{self, Loop, Schedule};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

pub(super) const SCHEDULES: [Schedule; 3] = [Schedule::Dynamic, Schedule::Static, Schedule::Greedy];

/// All settings that make a difference, over a range of this length.
pub(super) fn settings(n: usize) -> Vec<Loop> {
    let mut all = Vec::new();
    for schedule in SCHEDULES {
        let plain = Loop::new(0..n).schedule(schedule);
        all.extend([plain.clone(), plain.clone().grain(1), plain.clone().grain(7), plain.clone().grain(usize::MAX)]);
        all.extend([plain.clone().tasks(1), plain.clone().tasks(3), plain.tasks(50)]);
    }
    all
}

#[test]
fn each_number_exactly_once() {
    in_both_modes(|rt| {
        for n in [0, 1, 2, 3, 63, 64, 1000] {
            for settings in settings(n) {
                let hits: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
                rt.run(|| settings.clone().run(|i| _ = hits[i].fetch_add(1, Relaxed)));
                assert!(hits.iter().all(|hits| hits.load(Relaxed) == 1), "{n}: {settings:?}");
            }
        }
    });
}

#[test]
fn pieces_are_the_range() {
    in_both_modes(|rt| {
        for settings in settings(1000) {
            let pieces = Mutex::new(Vec::new());
            rt.run(|| settings.clone().run_pieces(|piece| locked(&pieces).push(piece)));
            let mut pieces = pieces.into_inner().unwrap();
            pieces.sort_by_key(|piece| piece.start);
            assert_eq!((pieces[0].start, pieces.last().unwrap().end), (0, 1000), "{settings:?}");
            assert!(pieces.windows(2).all(|two| two[0].end == two[1].start), "{settings:?}: {pieces:?}");
        }
    });
}

/// Also where others are hungry while the last number of a part is left, which is no two halves.
#[test]
fn no_piece_is_empty() {
    each(&[2, 4], |rt| {
        for n in [2, 4, 5] {
            for _ in 0..10 {
                rt.run(|| {
                    Loop::new(0..n).run_pieces(|piece: std::ops::Range<usize>| {
                        assert!(!piece.is_empty(), "of {n}: {piece:?}");
                        std::thread::sleep(Duration::from_millis(1));
                    })
                });
            }
        }
    });
}

/// Other integers, and ranges that are as long as can be: cut, not counted through.
#[test]
fn the_longest_ranges() {
    in_both_modes(|rt| {
        rt.run(|| {
            let sum = AtomicUsize::new(0);
            par::for_each_index(-3..4_i8, |i| _ = sum.fetch_add(i.unsigned_abs().into(), Relaxed));
            assert_eq!(sum.load(Relaxed), 12);
            for schedule in SCHEDULES {
                let long = Loop::new(1..usize::MAX).schedule(schedule).grain(usize::MAX / 5);
                let len = Mutex::new(0_u128);
                long.run_pieces(|piece| *locked(&len) += piece.len() as u128);
                assert_eq!(len.into_inner().unwrap(), usize::MAX as u128 - 1, "{schedule:?}");
                let ends = Mutex::new((0, 0));
                Loop::new(i64::MIN..i64::MAX).schedule(schedule).grain(usize::MAX / 3).run_pieces(|piece| {
                    let mut ends = locked(&ends);
                    *ends = (ends.0.min(piece.start), ends.1.max(piece.end));
                });
                assert_eq!(ends.into_inner().unwrap(), (i64::MIN, i64::MAX), "{schedule:?}");
            }
            // The grain that it finds by itself grows without bound over a body that takes no time.
            // (With AddressSanitizer a piece takes longer than half a microsecond, whatever its
            // length, and the loop would take for ever.)
            if cfg!(myriad_asan) {
                return;
            }
            let len = AtomicUsize::new(0);
            Loop::new(0..usize::MAX).run_pieces(|piece| _ = len.fetch_add(piece.len(), Relaxed));
            assert_eq!(len.load(Relaxed), usize::MAX);
        });
    });
}

/// Slices and results without a size are as long as numbers go.
#[test]
fn the_longest_slices() {
    static UNITS: [(); usize::MAX] = [(); usize::MAX];
    in_both_modes(|rt| {
        rt.run(|| {
            for size in [usize::MAX, usize::MAX - 1, usize::MAX / 2, usize::MAX / 3 + 1] {
                let lengths = Mutex::new(Vec::new());
                par::for_each_chunk(&UNITS, size, |number, part| locked(&lengths).push((number, part.len())));
                let mut lengths = lengths.into_inner().unwrap();
                lengths.sort();
                let expected = (0..usize::MAX.div_ceil(size)).map(|i| (i, size.min(usize::MAX - i * size)));
                assert!(lengths.into_iter().eq(expected), "{size}");
            }
            // All of them would take for ever: the first one that unwinds ends it.
            catch_planned("result", || {
                par::map_index(0..usize::MAX, |i| {
                    if i == 300 {
                        plan("result")
                    }
                })
            });
            catch_planned("result", || {
                par::filter_map_index(0..usize::MAX, |i| (i != 300).then_some(()).or_else(|| plan("result")))
            });
            catch_planned("grain", || {
                Loop::new(0..usize::MAX).grain(usize::MAX).map(|i| {
                    if i == 300 {
                        plan("grain")
                    }
                })
            });
            catch_planned("value", || {
                par::map_reduce_index(
                    0..usize::MAX,
                    |i| {
                        if i == 300 {
                            plan("value")
                        }
                    },
                    (),
                    |(), ()| (),
                )
            });
            catch_planned("capacity", || {
                let caught = std::panic::catch_unwind(|| par::map_index(0..usize::MAX, |i| i as u8));
                assert!(caught.is_err());
                plan("capacity")
            });
        });
    });
}

/// Who has nothing to do takes part: the first body keeps its worker until another one has run.
#[test]
fn the_others_take_part() {
    each(&[2, 4], |rt| {
        for schedule in SCHEDULES {
            let others = AtomicUsize::new(0);
            rt.run(|| {
                Loop::new(0..1000).schedule(schedule).grain(1).run(|i| {
                    if i > 0 {
                        others.fetch_add(1, SeqCst);
                    }
                    while others.load(SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                });
            });
            assert_eq!(others.load(SeqCst), 999, "{schedule:?}");
        }
    });
}

/// The same with the grain that the loop finds: it is not split before its first number, so that
/// one does not wait.
#[test]
fn the_others_take_part_by_themselves() {
    each(&[2, 4], |rt| {
        let met = AtomicUsize::new(0);
        let here = std::thread::current().id();
        rt.run(|| {
            let owner = std::thread::current().id();
            assert_ne!(owner, here);
            par::for_each_index(0..10_000_000_usize, |_| {
                if met.load(Relaxed) == 0 {
                    std::thread::yield_now();
                    if std::thread::current().id() != owner {
                        met.store(1, Relaxed);
                    }
                }
            });
        });
        assert_eq!(met.load(Relaxed), 1);
    });
}

/// Equal blocks, each on one thread from its beginning to its end.
#[test]
fn static_blocks() {
    in_both_modes(|rt| {
        for (n, tasks) in [(10, 4), (3, 8), (100, 7)] {
            let blocks = Mutex::new(Vec::new());
            rt.run(|| {
                Loop::new(0..n).schedule(Schedule::Static).tasks(tasks).run_pieces(|block| {
                    let thread = std::thread::current().id();
                    for _ in block.clone() {
                        myriad::yield_now();
                        assert_eq!(std::thread::current().id(), thread);
                    }
                    locked(&blocks).push(block.len());
                });
            });
            let blocks = blocks.into_inner().unwrap();
            assert_eq!((blocks.len(), blocks.iter().sum::<usize>()), (tasks.min(n), n));
            assert!(blocks.iter().max().unwrap() - blocks.iter().min().unwrap() <= 1, "{blocks:?}");
        }
    });
}

#[test]
fn every_policy() {
    use myriad::Policy::*;
    for policy in [WorkStealing, DepthFirst, SharedQueue, RoundRobin] {
        for mode in MODES {
            for workers in [1, 2] {
                case(
                    mode,
                    workers,
                    |b| b.policy(policy),
                    |rt| {
                        let hits = AtomicUsize::new(0);
                        let total = rt.run(|| {
                            for schedule in SCHEDULES {
                                Loop::new(0..1000).schedule(schedule).grain(1).run(|_| _ = hits.fetch_add(1, Relaxed));
                            }
                            let mut xs = vec![1_u64; 300_000];
                            par::scan_inclusive(&mut xs, |a, b| a + b);
                            par::sum(&xs)
                        });
                        assert_eq!((hits.load(Relaxed), total), (3000, 300_000 * 300_001 / 2));
                    },
                );
            }
        }
    }
}

#[test]
fn slices() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mut xs: Vec<usize> = (0..10_000).collect();
            par::for_each_mut(&mut xs, |x| *x += 1);
            let sum = AtomicUsize::new(0);
            par::for_each(&xs, |x| _ = sum.fetch_add(*x, Relaxed));
            assert_eq!(sum.load(Relaxed), 50_005_000);
            par::for_each_chunk_mut(&mut xs, 999, |number, part| part.fill(number));
            assert!((0..10_000).all(|i| xs[i] == i / 999));
            let seen = Mutex::new(BTreeSet::new());
            par::for_each_chunk(&xs, 999, |number, part| assert!(locked(&seen).insert((number, part.len()))));
            let expected: BTreeSet<_> = (0..11).map(|i| (i, if i == 10 { 10 } else { 999 })).collect();
            assert_eq!(*locked(&seen), expected);
            par::for_each_mut(&mut [] as &mut [u8], |_| unreachable!());
            par::for_each_chunk(&[] as &[u8], 1, |_, _| unreachable!());
            let units = AtomicUsize::new(0);
            par::for_each_mut(&mut [(); 5000], |()| _ = units.fetch_add(1, Relaxed));
            assert_eq!(units.load(Relaxed), 5000);
        });
        crate::common::catch(|| rt.run(|| par::for_each_chunk(&[1], 0, |_, _| ())));
    });
}

#[test]
fn settings_that_make_no_sense() {
    crate::common::quiet();
    for (make, word) in [
        ((|| _ = Loop::new(0..1).grain(0)) as fn(), "grain"),
        (|| _ = Loop::new(0..1).tasks(0), "task"),
        (|| par::scan_inclusive_to(&[1], &mut [], |a, b| a + b), "as many"),
    ] {
        let payload = std::thread::spawn(make).join().unwrap_err();
        assert!(
            text(&*payload).contains(word) || payload.downcast_ref::<&str>().is_some_and(|t| t.contains(word)),
            "{word}"
        );
    }
}
