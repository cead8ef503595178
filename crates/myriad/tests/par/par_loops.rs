//! Parallel loops: each number exactly once, whatever the schedule; panics collected; bodies that
//! block, spawn, nest and are cancelled.
//!
//! (Over 600 lines: all tests share the settings and schedules that stand first.)

use crate::common::{Drops, MODES, Mode, case, catch_planned, each, in_both_modes, locked, plan, text, wait_until};
use myriad::par::{self, Loop, Schedule};
use myriad::{cancel, channel, task, time};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const SCHEDULES: [Schedule; 3] = [Schedule::Dynamic, Schedule::Static, Schedule::Greedy];

/// All settings that make a difference, over a range of this length.
fn settings(n: usize) -> Vec<Loop> {
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

/// The panics of the very last numbers have their numbers.
#[test]
fn panics_at_the_end_of_all_numbers() {
    in_both_modes(|rt| {
        rt.run(|| {
            for settings in SCHEDULES.map(|schedule| Loop::new(usize::MAX - 40..usize::MAX).schedule(schedule)) {
                for settings in [
                    settings.clone(),
                    settings.clone().grain(1),
                    settings.clone().grain(usize::MAX),
                    settings.tasks(40),
                ] {
                    let runs = AtomicUsize::new(0);
                    let panics = settings.try_run(|i| {
                        runs.fetch_add(1, Relaxed);
                        if i >= usize::MAX - 2 {
                            plan("late");
                        }
                    });
                    assert!(panics.unwrap_err().iter().map(|(number, _)| number).eq([38, 39]));
                    assert_eq!(runs.into_inner(), 40);
                }
            }
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

#[test]
fn all_panics_are_collected_and_all_others_run() {
    in_both_modes(|rt| {
        for settings in settings(500) {
            let hits: Vec<AtomicUsize> = (0..500).map(|_| AtomicUsize::new(0)).collect();
            let body = |i: usize| {
                hits[i].fetch_add(1, Relaxed);
                if i % 100 == 42 || i == 499 {
                    plan(&format!("number {i}"));
                }
            };
            let panics = rt.run(|| settings.clone().try_run(body)).unwrap_err();
            assert!(hits.iter().all(|hits| hits.load(Relaxed) == 1), "{settings:?}");
            let list: Vec<_> = panics.iter().map(|(i, payload)| (i, text(payload).to_owned())).collect();
            let expected = [42, 142, 242, 342, 442, 499].map(|i| (i, format!("planned: number {i}")));
            assert_eq!(list, expected, "{settings:?}");
            catch_planned("number 42", || rt.run(|| settings.run(body)));
        }
    });
}

/// None is lost, and none is dropped twice: payloads, and what bodies own.
#[test]
fn payloads_are_dropped_once() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        let body = |i: usize| {
            let own = drops.one();
            if i.is_multiple_of(3) {
                std::panic::resume_unwind(Box::new(own));
            }
        };
        let panics = rt.run(|| Loop::new(0..300).try_run(body)).unwrap_err();
        assert_eq!((panics.len(), drops.made() - drops.dropped()), (100, 100));
        drop(panics);
        drops.assert_all(300);
        drop(crate::common::catch(|| rt.run(|| Loop::new(0..300).run(body))));
        drops.assert_all(600);
    });
}

/// A payload whose destructor panics harms nobody.
#[test]
fn payloads_that_panic_when_dropped() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            plan("dropped");
        }
    }
    in_both_modes(|rt| {
        let ran = AtomicUsize::new(0);
        let panics = rt.run(|| {
            Loop::new(0..20).try_run(|_| {
                ran.fetch_add(1, Relaxed);
                std::panic::resume_unwind(Box::new(Bad));
            })
        });
        drop(panics.unwrap_err());
        assert_eq!(ran.load(Relaxed), 20);
    });
}

/// A loop is cancelled when one of its bodies has panicked: that payload is dropped while the
/// caller unwinds, and its destructor panics.
#[test]
fn payloads_that_panic_when_dropped_by_a_cancellation() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            plan("the payload's destructor")
        }
    }
    each(&[1, 2], |rt| {
        for schedule in SCHEDULES {
            let drops = Drops::new();
            let token = cancel::Token::new();
            let ended = rt.run(|| {
                token.run(|| {
                    let one = Mutex::new(Some((Bad, drops.one())));
                    Loop::new(0..2).grain(1).schedule(schedule).run(|_| {
                        if let Some(payload) = locked(&one).take() {
                            std::panic::resume_unwind(Box::new(payload));
                        }
                        token.cancel();
                        time::sleep(Duration::from_secs(3600));
                    });
                })
            });
            assert!(ended.is_err(), "{schedule:?}");
            drops.assert_all(1);
        }
    });
}

/// Locks, channels, sleeps, spawned tasks.
#[test]
fn bodies_that_block_and_spawn() {
    in_both_modes(|rt| {
        for schedule in SCHEDULES {
            let total = myriad::sync::Mutex::new(0);
            rt.run(|| {
                let (tx, rx) = channel::bounded(1);
                let receiver = myriad::spawn(move || rx.iter().sum::<usize>());
                Loop::new(0..60).schedule(schedule).run(|i| {
                    tx.send(i).unwrap();
                    let child = myriad::spawn(move || i * 2);
                    let mut total = total.lock().unwrap();
                    myriad::yield_now();
                    *total += child.join().unwrap();
                    if i % 20 == 0 {
                        time::sleep(Duration::from_micros(50));
                    }
                });
                drop(tx);
                assert_eq!(receiver.join().unwrap(), 1770);
            });
            assert_eq!(*total.lock().unwrap(), 3540, "{schedule:?}");
        }
    });
}

/// In a greedy loop as many bodies wait at a time as it has tasks, whatever the workers: they meet,
/// and wait for earlier ones.
#[test]
fn greedy_bodies_meet() {
    in_both_modes(|rt| {
        rt.run(|| {
            let barrier = myriad::sync::Barrier::new(5);
            Loop::new(0..50).schedule(Schedule::Greedy).tasks(5).run(|_| _ = barrier.wait());
            let (tx, rx) = channel::rendezvous();
            Loop::new(0..100)
                .schedule(Schedule::Greedy)
                .tasks(2)
                .run(|i| if i % 2 == 0 { tx.send(i).unwrap() } else { _ = rx.recv().unwrap() });
        });
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
fn loops_in_loops_in_tasks() {
    in_both_modes(|rt| {
        let hits = AtomicUsize::new(0);
        rt.run(|| {
            let outer: Vec<_> =
                (0..3).map(|_| myriad::spawn(|| par::map_reduce_index(0..30_u64, |i| i, 0, |a, b| a + b))).collect();
            Loop::new(0..20).schedule(Schedule::Greedy).run(|_| {
                Loop::new(0..10).grain(1).run(|_| {
                    Loop::new(0..5).schedule(Schedule::Static).run(|_| _ = hits.fetch_add(1, Relaxed));
                });
            });
            assert!(outer.into_iter().all(|task| task.join().unwrap() == 435));
        });
        assert_eq!(hits.load(Relaxed), 1000);
    });
}

/// The whole loop ends, then the caller unwinds.
#[test]
fn cancelled_in_the_middle() {
    in_both_modes(|rt| {
        for schedule in SCHEDULES {
            let (began, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let state = std::sync::Arc::new((began, ended));
            let s = state.clone();
            let h = rt.spawn(move || {
                Loop::new(0..1000).schedule(schedule).run(|_| {
                    s.0.fetch_add(1, SeqCst);
                    let _end = OnDrop(|| _ = s.1.fetch_add(1, SeqCst));
                    time::sleep(Duration::from_secs(3600));
                });
            });
            wait_until(|| state.0.load(SeqCst) > 0);
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
            let began = state.0.load(SeqCst);
            assert!(began < 1000 && state.1.load(SeqCst) == began, "{schedule:?}: {began} of 1000");
        }
    });
}

/// Bodies that compute are not interrupted, but no more of them begin.
#[test]
fn cancelled_between_bodies() {
    in_both_modes(|rt| {
        let ran = std::sync::Arc::new(AtomicUsize::new(0));
        let r = ran.clone();
        let h = rt.spawn(move || {
            Loop::new(0..usize::MAX).grain(1).run(|_| _ = r.fetch_add(1, Relaxed));
        });
        wait_until(|| ran.load(Relaxed) > 0);
        h.cancel();
        assert!(h.join().unwrap_err().is_cancelled());
        let token = cancel::Token::new();
        let cancelled = rt.run(|| {
            token.run(|| {
                par::for_each_index(0..usize::MAX, |i| {
                    if i == 10 {
                        token.cancel()
                    }
                })
            })
        });
        assert!(cancelled.is_err());
    });
}

struct OnDrop<F: Fn()>(F);
impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// From threads that have nothing to do with Myriad, and from tasks with a thread of their own.
#[test]
fn foreign_threads() {
    let sum = AtomicUsize::new(0);
    std::thread::scope(|s| {
        for _ in 0..4 {
            s.spawn(|| {
                for schedule in SCHEDULES {
                    Loop::new(0..100).schedule(schedule).run(|i| _ = sum.fetch_add(i, Relaxed));
                }
                par::for_each_bridge(0..100, |i| _ = sum.fetch_add(i, Relaxed));
            });
        }
    });
    assert_eq!(sum.load(Relaxed), 4 * 4 * 4950);
    in_both_modes(|rt| {
        let h = rt.run(|| task::dedicated(|| par::map(&[1, 2, 3], |x| x * 2)));
        assert_eq!(h.join().unwrap(), [2, 4, 6]);
    });
}

/// The smallest stacks: splitting takes a frame for each halving, and more of them than fit find
/// another stack.
#[test]
fn small_stacks() {
    for mode in MODES {
        // (The sanitizer's frames are several times as large.)
        let times = if cfg!(myriad_asan) { 4 } else { 1 };
        let size = times * if mode == Mode::Fibers { 32 * 1024 } else { 128 * 1024 };
        case(
            mode,
            2,
            |b| b.stack_size(size),
            |rt| {
                let hits = AtomicUsize::new(0);
                rt.run(|| {
                    for schedule in SCHEDULES {
                        Loop::new(0..4000).schedule(schedule).grain(1).tasks(200).run(|_| {
                            hits.fetch_add(1, Relaxed);
                            myriad::yield_now();
                        });
                    }
                });
                assert_eq!(hits.load(Relaxed), 12_000);
            },
        );
    }
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

/// Any iterator: one task at a time is in it, in the items' order; it may block, and own what it
/// yields.
#[test]
fn any_iterator() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = channel::bounded(2);
            let drops = Drops::new();
            let d = drops.clone();
            let feeder = myriad::spawn(move || {
                for i in 0..200 {
                    tx.send((i, d.one())).unwrap();
                    myriad::yield_now();
                }
            });
            let seen = Mutex::new(BTreeSet::new());
            par::for_each_bridge(&rx, |(i, _own)| {
                myriad::yield_now();
                assert!(locked(&seen).insert(i));
            });
            feeder.join().unwrap();
            assert_eq!(*locked(&seen), (0..200).collect());
            drops.assert_all(200);
        });
    });
}

/// Bodies that panic: the others run. An iterator that panics: it is not asked again. Without an
/// end: a cancellation ends it.
#[test]
fn iterators_and_panics() {
    in_both_modes(|rt| {
        let ran = AtomicUsize::new(0);
        let body = |i: i32| {
            ran.fetch_add(1, Relaxed);
            if i % 10 == 3 {
                plan(&format!("item {i}"));
            }
        };
        catch_planned("item 3", || rt.run(|| par::for_each_bridge(0..100, body)));
        assert_eq!(ran.swap(0, Relaxed), 100);
        let items = (0..100).map(|i| if i == 50 { plan("iterator") } else { i });
        catch_planned("iterator", || rt.run(|| par::for_each_bridge(items, |_| _ = ran.fetch_add(1, Relaxed))));
        assert_eq!(ran.load(Relaxed), 50);
        let h = rt.spawn(|| par::for_each_bridge(std::iter::repeat(()), |()| ()));
        h.cancel();
        assert!(h.join().unwrap_err().is_cancelled());
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
