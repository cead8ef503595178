//! Regions: who waits for whom, failures, cancellation, refusals, and what is dropped.

use crate::common::{PLANNED, catch, each, plan, quiet, text, wait_until};
use crate::each_runtime;
use myriad::cancel::Token;
use myriad::flow::graph::Cause;
use myriad::flow::region::{Data, TileMut};
use myriad::flow::{self, Graph};
use myriad::sync::{Barrier, Event};
use myriad::time;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// 14: each of two readers waits for the other.
#[test]
fn readers_run_together() {
    each_runtime(|| {
        let (mut x, barrier) = (5, Barrier::new(2));
        flow::region(|r| {
            let x = r.data(&mut x);
            r.task(|x: &mut i32| *x += 1, (x.write(),));
            for _ in 0..2 {
                let reads = |x: &i32| {
                    barrier.wait();
                    assert_eq!(*x, 6);
                };
                r.task(reads, (x.read(),));
            }
            r.task(|x: &mut i32| *x += 1, (x.write(),));
        })
        .unwrap();
        assert_eq!(x, 7);
    });
}

/// 14: a writer waits for all readers since the last writer, whichever comes last; and not for
/// those of other parts.
#[test]
fn a_writer_waits_for_all_readers() {
    each_runtime(|| {
        for late in 0..3 {
            let (mut v, read) = ([0_u8; 6], AtomicUsize::new(0));
            let elsewhere = Event::new();
            flow::region(|r| {
                let v = r.slice(&mut v);
                for reader in 0..3 {
                    let read = &read;
                    let reads = move |part: &[u8]| {
                        if reader == late {
                            (0..20).for_each(|_| myriad::yield_now());
                        }
                        assert_eq!(part, [0; 3]);
                        read.fetch_add(1, SeqCst);
                    };
                    r.task(reads, (v.read(reader..reader + 3),));
                }
                r.task(|_: &[u8]| elsewhere.wait(), (v.read(5..),));
                let writes = |part: &mut [u8]| {
                    assert_eq!(read.load(SeqCst), 3);
                    part.fill(1);
                    elsewhere.set();
                };
                r.task(writes, (v.write(..5),));
            })
            .unwrap();
            assert_eq!(v, [1, 1, 1, 1, 1, 0]);
        }
    });
}

/// 14: an empty range conflicts with nothing, nor do ranges beside each other, nor triangles of
/// which one has not the diagonal: the first task waits for the second.
#[test]
fn what_does_not_conflict_runs_together() {
    each_runtime(|| {
        let (mut v, mut matrix) = ([1_u8; 8], [0_u8; 16]);
        for case in 0..5 {
            let event = Event::new();
            flow::region(|r| {
                let (v, tile) = (r.slice(&mut v), r.tiles(&mut matrix, 4, 4).tile(0, 0));
                let waits = |_: &mut [u8]| event.wait();
                let sets = |_: &mut [u8]| event.set();
                let ranges = [(0..8, 3..3), (3..3, 2..5), (2..5, 5..8), (8..8, 0..8)];
                match ranges.get(case).cloned() {
                    Some((first, second)) => {
                        r.task(waits, (v.write(first),));
                        r.task(sets, (v.write(second),));
                    }
                    None => {
                        r.task(|_: TileMut<u8>| event.wait(), (tile.lower().write(),));
                        r.task(|_: TileMut<u8>| event.set(), (tile.strictly_upper().write(),));
                    }
                }
            })
            .unwrap();
        }
    });
}

/// 2: what comes after a task that fails or panics does not run, all else does, and the error names
/// the first cause and the path.
#[test]
fn failures_skip_what_comes_after() {
    fn load(x: &mut i32) -> Result<(), &'static str> {
        *x = 1;
        Err("no paper")
    }
    fn double(x: &i32, y: &mut i32) {
        *y = 2 * x;
    }
    quiet();
    each_runtime(|| {
        let (mut a, mut b, mut c, mut d) = (0, 0, 0, 0);
        let error = flow::region(|r| {
            let (a, b, c, d) = (r.data(&mut a), r.data(&mut b), r.data(&mut c), r.data(&mut d));
            r.task(load, (a.write(),));
            r.task(double, (a.read(), b.write()));
            r.task(|x: &i32, y: &mut i32| *y = *x, (b.read(), c.write())).name("copy");
            let print = |_: &mut i32| -> () { plan("ink") };
            r.task(print, (d.write(),)).name(format!("{} d", "print"));
            r.task(double, (d.read(), c.write()));
        })
        .unwrap_err();
        assert_eq!((a, b, c, d), (1, 0, 0, 0));
        let [first, second] = error.failures() else { panic!("{error}") };
        assert!(matches!(&first.cause, Cause::Error(error) if error.to_string() == "no paper"));
        assert!(matches!(&second.cause, Cause::Panicked(panic) if panic.message() == format!("{PLANNED}ink")));
        assert_eq!((&*first.name, &*second.name), ("load", "print d"));
        let paths: Vec<String> = error.skipped().map(|skipped| skipped.path().join(" → ")).collect();
        assert_eq!(paths, ["load → double", "load → double → copy", "print d → double"]);
    });
}

/// 9 and 12: a region is cancelled with its caller, and a graph of one can run again.
#[test]
fn cancelled_with_its_caller() {
    each_runtime(|| {
        let (mut x, token, rounds) = (0, Token::new(), AtomicUsize::new(0));
        let graph = Graph::record(|r| {
            let x = r.data(&mut x);
            let first = |x: &mut u32| {
                *x += 1;
                if rounds.fetch_add(1, SeqCst) == 0 {
                    token.cancel();
                    time::sleep(Duration::from_secs(3600));
                }
            };
            r.task(first, (x.write(),));
            r.task(|x: &mut u32| *x += 10, (x.write(),));
        });
        assert!(token.run(|| graph.run()).is_err());
        graph.run_n(2).unwrap();
        drop(graph);
        assert_eq!(x, 1 + 2 * 11);
    });
}

/// Bodies run regions on what they got.
#[test]
fn regions_nest() {
    fn sum(v: &mut [u64]) -> Result<(), flow::graph::RunError> {
        if v.len() == 1 {
            return Ok(());
        }
        let half = v.len() / 2;
        flow::region(|r| {
            let v = r.slice(v);
            r.task(sum, (v.write(..half),));
            r.task(sum, (v.write(half..),));
            r.task(|a: &mut [u64], b: &[u64]| a[0] += b[0], (v.write(..1), v.read(half..=half)));
        })
    }
    each_runtime(|| {
        let mut v: Vec<u64> = (0..64).collect();
        sum(&mut v).unwrap();
        assert_eq!(v[0], 63 * 32);
    });
    let mut v = vec![1; 8];
    std::thread::scope(|s| _ = s.spawn(|| sum(&mut v).unwrap()));
    assert_eq!(v[0], 8);
}

/// 6, 14 and 18: many readers, and a writer.
#[test]
fn a_hundred_thousand_readers() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (mut x, read) = (1, AtomicUsize::new(0));
            flow::region(|r| {
                let x = r.data(&mut x);
                for _ in 0..100_000 {
                    r.task(|x: &u32| _ = read.fetch_add(*x as usize, Relaxed), (x.read(),));
                }
                r.task(|x: &mut u32| *x = read.load(Relaxed) as u32, (x.write(),));
            })
            .unwrap();
            assert_eq!(x, 100_000);
        });
    });
}

struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// 6: a panic while the program is written down: no task has run, each body is dropped once, and
/// the data are the caller's again.
#[test]
fn a_panic_while_recording() {
    quiet();
    each_runtime(|| {
        let (mut x, dropped) = (0, AtomicUsize::new(0));
        let record = || {
            flow::region(|r| {
                let x = r.data(&mut x);
                for _ in 0..100_000 {
                    let counted = Counted(&dropped);
                    let body = move |x: &mut u32| {
                        _ = &counted;
                        *x += 1;
                    };
                    r.task(body, (x.write(),));
                }
                plan("half-way");
            })
        };
        assert_eq!(text(&*catch(AssertUnwindSafe(record))), format!("{PLANNED}half-way"));
        assert_eq!((x, dropped.into_inner()), (0, 100_000));
    });
}

/// Bodies are dropped with the region, also those that did not run; the data stay.
#[test]
fn what_is_dropped_with_a_region() {
    each_runtime(|| {
        let (dropped, count, mut x) = (AtomicUsize::new(0), AtomicUsize::new(0), 0);
        let mut kept = Some(Counted(&count));
        flow::region(|r| {
            let (x, kept) = (r.data(&mut x), r.data(&mut kept));
            for at in 0..3 {
                let counted = Counted(&dropped);
                let body = move |_: &mut i32| {
                    _ = &counted;
                    if at == 0 { Err("no paper") } else { Ok(()) }
                };
                r.task(body, (x.write(),));
            }
            r.task(|kept: &Option<Counted>| assert!(kept.is_some()), (kept.read(),));
        })
        .unwrap_err();
        assert_eq!((dropped.into_inner(), count.load(Relaxed)), (3, 0));
        drop(kept);
        assert_eq!(count.load(Relaxed), 1);
    });
}

/// Two destructors of bodies that panic: the first panic goes on when all are dropped.
#[test]
fn destructors_of_bodies_that_panic() {
    struct Bad<'a>(&'a AtomicUsize, usize);
    impl Drop for Bad<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Relaxed);
            plan(&self.1.to_string());
        }
    }
    quiet();
    each_runtime(|| {
        let dropped = AtomicUsize::new(0);
        let run = |panics: bool| {
            flow::region(|r| {
                for at in 0..3 {
                    let bad = Bad(&dropped, at);
                    r.task(move || _ = &bad, ());
                }
                assert!(!panics, "planned: recording");
            })
        };
        assert_eq!(text(&*catch(|| run(false))), format!("{PLANNED}0"));
        assert_eq!(text(&*catch(|| run(true))), format!("{PLANNED}recording"));
        assert_eq!(dropped.load(Relaxed), 6);
    });
}

/// What one task may not say of itself, and what belongs to another region.
#[test]
fn what_a_task_refuses() {
    quiet();
    let overlap = "this task has two accesses to the same data";
    for case in 0..8 {
        let (mut x, mut v, mut m, mut other) = (0_u8, [0_u8; 6], [0_u8; 4], 0_u8);
        let mut escaped: Option<Data<u8>> = None;
        flow::region(|r| escaped = Some(r.data(&mut other))).unwrap();
        let ran = AtomicUsize::new(0);
        let refused = || {
            flow::region(|r| {
                let (x, v, m) = (r.data(&mut x), r.slice(&mut v), r.tiles(&mut m, 2, 2).tile(0, 0));
                r.task(|_: &mut u8| _ = ran.fetch_add(1, Relaxed), (x.write(),));
                let (two, one) = (|_: &mut [u8], _: &mut [u8]| (), |_: &u8, _: &mut u8| ());
                match case {
                    0 => _ = r.task(one, (x.read(), x.write())),
                    1 => _ = r.task(|_: &mut u8, _: &u8| (), (x.write(), x.read())),
                    2 => _ = r.task(two, (v.write(..3), v.write(2..))),
                    3 => _ = r.task(two, (v.write(1..2), v.write(..))),
                    4 => _ = r.task(|_: Vec<&mut u8>| (), (vec![x.write(), x.write()],)),
                    5 => {
                        let both = (m.lower().write(), m.upper().write());
                        r.task(|_: TileMut<u8>, _: TileMut<u8>| (), both);
                    }
                    6 => _ = r.task(|_: &u8| (), (escaped.unwrap().read(),)),
                    _ => _ = v.read(4..7),
                }
            })
        };
        let message = catch(AssertUnwindSafe(refused));
        let want = match case {
            0..6 => overlap,
            6 => "these data are of another region",
            _ => "the range Included(4) to Excluded(7) is not within a slice of length 6",
        };
        assert!(text(&*message).starts_with(want), "{}", text(&*message));
        assert_eq!(ran.into_inner(), 0);
    }
}

/// A program that lacks a task is not run, also if the panic was caught.
#[test]
fn a_refused_task_ends_the_region() {
    quiet();
    let (mut x, ran) = (0_u8, AtomicUsize::new(0));
    let region = |adds: bool, x: &mut u8| {
        flow::region(|r| {
            let x = r.data(x);
            r.task(|_: &mut u8| _ = ran.fetch_add(1, Relaxed), (x.write(),));
            let twice = |_: &mut u8, _: &mut u8| ();
            catch(AssertUnwindSafe(|| _ = r.task(twice, (x.write(), x.write()))));
            if adds {
                r.task(|_: &u8| (), (x.read(),));
            }
        })
    };
    let said = |adds: bool, x: &mut u8| text(&*catch(AssertUnwindSafe(|| region(adds, x)))).to_owned();
    assert!(said(false, &mut x).starts_with("a task of this region was refused, so"));
    assert!(said(true, &mut x).starts_with("a task of this region was refused before"));
    assert_eq!(ran.into_inner(), 0);
}

/// Two regions that a program has exchanged: each runs what it has.
#[test]
fn regions_that_are_exchanged() {
    each_runtime(|| {
        let (mut x, mut y) = (0, 0);
        flow::region(|outer| {
            let x = outer.data(&mut x);
            outer.task(|x: &mut i32| *x += 1, (x.write(),));
            flow::region(|inner| {
                let y = inner.data(&mut y);
                inner.task(|y: &mut i32| *y += 10, (y.write(),));
                std::mem::swap(outer, inner);
                inner.task(|x: &mut i32| *x *= 5, (x.write(),));
            })
            .unwrap();
        })
        .unwrap();
        assert_eq!((x, y), (5, 10));
    });
}

/// Regions within tasks that are all under way at once wait for each other's data only.
#[test]
fn regions_of_several_tasks() {
    each_runtime(|| {
        let begun = AtomicUsize::new(0);
        myriad::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| {
                    let mut x = 0;
                    flow::region(|r| {
                        let x = r.data(&mut x);
                        let all_begin = |x: &mut i32| {
                            begun.fetch_add(1, SeqCst);
                            wait_until(|| begun.load(SeqCst) == 3);
                            *x += 1;
                        };
                        r.task(all_begin, (x.write(),));
                    })
                    .unwrap();
                    assert_eq!(x, 1);
                });
            }
        });
    });
}
