//! Scopes that fail fast, races, sets, and jobs with a limit.

use crate::common::{Drops, catch_planned, in_both_modes, plan};
use myriad::sync::Semaphore;
use myriad::task::{JoinSet, map_concurrent, map_concurrent_unordered, try_map_concurrent};
use myriad::time::{sleep, timeout};
use myriad::{block_on, race, spawn, try_scope, yield_now};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);
const SHORT: Duration = Duration::from_millis(1);

#[test]
fn the_first_error_cancels_the_rest() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let result = try_scope(|s| {
                for i in 0..100 {
                    let held = drops.one();
                    s.spawn(move || {
                        let _held = held;
                        if i == 50 {
                            return Err("no");
                        }
                        sleep(LONG);
                        Ok(())
                    });
                }
                sleep(LONG);
                Ok(())
            });
            assert_eq!(result.unwrap_err().into_first(), "no");
            drops.assert_all(100);
        });
    });
}

impl From<&'static str> for Text {
    fn from(text: &'static str) -> Text {
        Text(text)
    }
}
#[derive(Debug, PartialEq)]
struct Text(&'static str);

#[test]
fn no_error_is_lost() {
    in_both_modes(|rt| {
        rt.run(|| {
            let result: Result<(), _> = try_scope(|s| {
                for i in 0..10 {
                    s.spawn(move || -> Result<(), usize> {
                        // Cancelled or not, each fails.
                        myriad::cancel::shield(yield_now);
                        Err(i)
                    });
                }
                for _ in 0..200 {
                    myriad::cancel::shield(yield_now);
                }
                Err(10)
            });
            let errors = result.unwrap_err();
            let mut all = errors.into_vec();
            all.sort_unstable();
            // Those that never began have none.
            assert!(all.contains(&10) && all.windows(2).all(|w| w[0] != w[1]), "{all:?}");
        });
    });
}

#[test]
fn results_of_a_scope_that_may_fail() {
    in_both_modes(|rt| {
        rt.run(|| {
            let sum = try_scope(|s| -> Result<u32, Text> {
                let hs: Vec<_> = (0..10).map(|i| s.spawn(move || Ok(i))).collect();
                Ok(hs.into_iter().map(|h| h.join().unwrap().unwrap()).sum())
            });
            assert_eq!(sum, Ok(45));
            // The body's own error.
            let drops = Drops::new();
            let result = try_scope(|s| -> Result<(), Text> {
                let held = drops.one();
                s.spawn(move || {
                    sleep(LONG);
                    drop(held);
                    Ok(())
                });
                Err("body")?;
                Ok(())
            });
            assert_eq!(result.unwrap_err().first(), &Text("body"));
            drops.assert_all(1);
        });
    });
}

#[test]
fn a_panic_cancels_the_rest() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            catch_planned("in a task", || {
                try_scope(|s| -> Result<(), ()> {
                    for _ in 0..10 {
                        let held = drops.one();
                        s.spawn(move || {
                            sleep(LONG);
                            drop(held);
                            Ok(())
                        });
                    }
                    s.spawn(|| -> Result<(), ()> { plan("in a task") });
                    Ok(())
                })
            });
            drops.assert_all(10);
            // Its handle says nothing, the scope does.
            catch_planned("in a task that is joined", || {
                try_scope(|s| -> Result<(), ()> {
                    let h = s.spawn(|| -> Result<(), ()> { plan("in a task that is joined") });
                    assert!(h.join().unwrap().is_none());
                    sleep(LONG);
                    Ok(())
                })
            });
            catch_planned("in the body", || {
                try_scope(|s| -> Result<(), ()> {
                    s.spawn(|| {
                        sleep(LONG);
                        Ok(())
                    });
                    plan("in the body")
                })
            });
        });
    });
}

#[test]
fn a_race() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let delays = [3600, 7200, 0, 10_000];
            let winner = race(delays.map(|s| {
                let held = drops.one();
                move || {
                    let _held = held;
                    sleep(Duration::from_secs(s));
                    s
                }
            }));
            assert_eq!(winner, Some(0));
            drops.assert_all(4);
            assert_eq!(race(Vec::<fn() -> u32>::new()), None);
        });
    });
}

#[test]
fn a_set() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mut set = JoinSet::new();
            for i in 0..50u32 {
                if i % 2 == 0 {
                    set.spawn(move || {
                        if i == 10 {
                            plan("in a set");
                        }
                        i
                    });
                } else {
                    set.spawn_async(async move { i });
                }
            }
            assert_eq!(set.len(), 50);
            let (mut sum, mut panics) = (0, 0);
            while let Some(result) = set.join_next() {
                match result {
                    Ok(i) => sum += i,
                    Err(e) => panics += u32::from(e.is_panic()),
                }
            }
            assert_eq!((sum, panics, set.len()), (49 * 50 / 2 - 10, 1, 0));
            // As a future; with a limit that loses nothing; cancelled.
            set.spawn(|| 1);
            assert_eq!(block_on(set.join_next_async()).unwrap().unwrap(), 1);
            for _ in 0..10 {
                set.spawn(|| {
                    sleep(LONG);
                    0
                });
            }
            assert!(timeout(SHORT, || set.join_next()).is_err());
            set.cancel_all();
            let cancelled = set.by_ref().filter(|r| r.as_ref().is_err_and(|e| e.is_cancelled())).count();
            assert_eq!(cancelled, 10);
        });
    });
}

#[test]
fn a_set_that_is_dropped_cancels() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let mut set = JoinSet::new();
            for _ in 0..10 {
                let held = drops.one();
                set.spawn(move || (sleep(LONG), held));
            }
            yield_now();
            drop(set);
            drops.wait_all(10);
        });
    });
}

#[test]
fn at_most_so_many_at_a_time() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (now, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let squares = map_concurrent(3, 0..100u64, |i| {
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                if i % 7 == 0 {
                    sleep(Duration::from_micros(100));
                } else {
                    yield_now();
                }
                now.fetch_sub(1, SeqCst);
                i * i
            });
            assert_eq!(squares, (0..100).map(|i| i * i).collect::<Vec<_>>());
            assert!((1..=3).contains(&most.load(SeqCst)));
            let mut seen = Vec::new();
            map_concurrent_unordered(4, 0..20, |i| i, |i| seen.push(i));
            seen.sort_unstable();
            assert_eq!(seen, (0..20).collect::<Vec<_>>());
            assert_eq!(map_concurrent(1, [0; 0], |i| i), []);
        });
    });
}

#[test]
fn jobs_that_fail() {
    in_both_modes(|rt| {
        rt.run(|| {
            let begun = AtomicUsize::new(0);
            let result = try_map_concurrent(2, 0..1000, |i| {
                begun.fetch_add(1, SeqCst);
                if i > 5 {
                    // Ends only by the failure.
                    sleep(LONG);
                }
                if i == 5 { Err(i) } else { Ok(i) }
            });
            assert_eq!(result.unwrap_err().into_vec(), [5]);
            assert!(begun.load(SeqCst) <= 7, "two at a time, and none after the failure");
            assert_eq!(try_map_concurrent(2, 0..10, Ok::<_, ()>), Ok((0..10).collect()));
            let drops = Drops::new();
            catch_planned("in a job", || {
                map_concurrent(4, 0..4, |i| {
                    let _held = drops.one();
                    if i == 3 {
                        plan("in a job");
                    }
                    sleep(LONG);
                })
            });
            assert_eq!(drops.made(), drops.dropped());
        });
    });
}

#[test]
fn a_join_with_a_limit() {
    in_both_modes(|rt| {
        rt.run(|| {
            let h = spawn(|| {
                sleep(LONG);
                1
            });
            let h = h.join_timeout(SHORT).unwrap_err();
            let h = h.join_timeout(Duration::ZERO).unwrap_err();
            h.cancel();
            assert!(h.join_timeout(LONG).unwrap().unwrap_err().is_cancelled());
            assert_eq!(spawn(|| 42).join_timeout(LONG).unwrap().unwrap(), 42);
        });
    });
}

/// Go's `errgroup` with `SetLimit` and `TryGo`: a scope that may fail, and a semaphore. Who waits
/// for a permit is cancelled with the rest.
#[test]
fn a_group_with_a_limit() {
    in_both_modes(|rt| {
        rt.run(|| {
            let limit = Semaphore::new(3);
            let (now, most, begun) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
            let work = |fails: bool| {
                begun.fetch_add(1, SeqCst);
                most.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                yield_now();
                now.fetch_sub(1, SeqCst);
                if fails { Err("planned") } else { Ok(()) }
            };
            let result = try_scope(|s| {
                for _ in 0..100 {
                    let permit = limit.acquire();
                    s.spawn(|| {
                        let _permit = permit;
                        work(false)
                    });
                }
                Ok(())
            });
            assert_eq!((result, begun.load(SeqCst)), (Ok(()), 100));
            assert!((1..=3).contains(&most.load(SeqCst)));
            // As many as there is room for.
            let result = try_scope(|s| {
                let mut started = 0;
                while let Some(permit) = limit.try_acquire() {
                    started += 1;
                    s.spawn(|| {
                        sleep(SHORT);
                        drop(permit);
                        Ok::<_, ()>(())
                    });
                    assert!(started <= 3);
                    if started == 3 {
                        break;
                    }
                }
                Ok(started)
            });
            assert_eq!((result, limit.available()), (Ok(3), 3));
            // The body waits for a permit that never comes, until the error cancels it.
            begun.store(0, SeqCst);
            let result: Result<(), _> = try_scope(|s| {
                loop {
                    let permit = limit.acquire();
                    let fails = begun.load(SeqCst) == 0;
                    s.spawn(move || {
                        let _permit = permit;
                        if fails {
                            return work(true);
                        }
                        sleep(LONG);
                        Ok(())
                    });
                }
            });
            assert_eq!(*result.unwrap_err().first(), "planned");
            assert_eq!(limit.available(), 3, "all permits are back");
        });
    });
}
