//! Parallel sorts with comparators that panic, lie, block, are cancelled, or change what they
//! compare: each element stays in the slice exactly once.

use crate::common::{Counted, Drops, Rng, catch, each, full_length, plan, text, wait_until};
use crate::sort_common::{Cmp, LONG, keys, seed, sorts, workers};
use myriad::channel::{bounded, rendezvous};
use myriad::sync::Mutex;
use myriad::{par, spawn};
use std::cell::Cell;
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};

/// An element that owns memory, is counted, and has a number.
#[derive(Debug)]
struct Owned {
    key: u32,
    number: Box<u32>,
    _counted: Counted,
}

fn owned(keys: &[u32], drops: &Drops) -> Vec<Owned> {
    keys.iter().zip(0..).map(|(&key, i)| Owned { key, number: Box::new(i), _counted: drops.one() }).collect()
}

/// Each element is there once, and nothing was dropped; then all are, once.
#[track_caller]
fn assert_whole(v: Vec<Owned>, drops: &Drops) {
    let mut numbers: Vec<u32> = v.iter().map(|x| *x.number).collect();
    numbers.sort();
    assert!(numbers.into_iter().eq(0..v.len() as u32));
    assert_eq!(drops.dropped(), 0);
    let len = v.len();
    drop(v);
    drops.assert_all(len);
}

/// Keys at random, few different ones, some runs: see `keys`.
fn patterns() -> &'static [usize] {
    if full_length() { &[0, 1, 7] } else { &[0, 7] }
}

/// Numbers of calls: the first ones, and some up to the last.
fn moments(rng: &mut Rng) -> Vec<usize> {
    let n = if full_length() { 7 } else { 3 };
    let mut moments = vec![0, 1, 2, 100, 4095];
    moments.extend((0..n).map(|_| rng.below(100_000) as usize));
    moments.extend((0..n).map(|_| rng.below(900_000) as usize));
    moments
}

#[test]
fn a_panic_at_any_moment() {
    let mut rng = Rng(seed());
    let moments = moments(&mut rng);
    each(workers(), |rt| {
        for &pattern in patterns() {
            for &moment in &moments {
                for (name, _, sort) in sorts::<Owned>() {
                    let drops = Drops::new();
                    let mut v = owned(&keys(pattern, 20_000, &mut Rng(22)), &drops);
                    let calls = AtomicUsize::new(0);
                    let cmp = |a: &Owned, b: &Owned| {
                        if calls.fetch_add(1, Relaxed) == moment {
                            plan("compared");
                        }
                        a.key.cmp(&b.key)
                    };
                    let done = rt.run(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| sort(&mut v, &cmp))));
                    match done {
                        Ok(()) => {
                            assert!(calls.load(SeqCst) <= moment, "{name}: the panic was swallowed");
                            assert!(v.is_sorted_by_key(|x| x.key));
                        }
                        Err(payload) => assert!(text(&*payload).ends_with("compared"), "{name}"),
                    }
                    assert_whole(v, &drops);
                }
            }
        }
    });
}

#[test]
fn keys_and_merges_that_panic() {
    each(workers(), |rt| {
        let all = &[0, 500, 19_999, 100_000, 1, 9_999, 30_000, 500_000];
        for &moment in if full_length() { &all[..] } else { &all[..4] } {
            let calls = AtomicUsize::new(0);
            let tick = || {
                if calls.fetch_add(1, Relaxed) == moment {
                    plan("asked");
                }
            };
            type Case<'a> = &'a dyn Fn(&mut [Owned]);
            // Keys that own memory: all are dropped, also those that were made elsewhere meanwhile.
            let key_drops = Drops::new();
            let cached = |v: &mut [Owned]| {
                rt.run(|| {
                    par::sort_by_cached_key(v, |x| {
                        tick();
                        Key(x.key, key_drops.one())
                    })
                })
            };
            // Its keys may panic when they are compared, too.
            let compared = |v: &mut [Owned]| {
                rt.run(|| par::sort_by_cached_key(v, |x| Ticking(x.key, &tick)));
            };
            let radix = |v: &mut [Owned]| {
                rt.run(|| {
                    par::sort_by_radix_key(v, |x| {
                        tick();
                        x.key
                    })
                })
            };
            let merged = |v: &mut [Owned]| {
                rt.run(|| {
                    let mid = v.len() / 2;
                    par::merge_by(v, mid, |a, b| {
                        tick();
                        a.key.cmp(&b.key)
                    })
                })
            };
            let cases: [Case<'_>; 4] = [&cached, &compared, &radix, &merged];
            for (i, case) in cases.into_iter().enumerate() {
                calls.store(0, SeqCst);
                let drops = Drops::new();
                let mut v = owned(&keys(0, 20_000, &mut Rng(23)), &drops);
                if i == 3 {
                    v[..10_000].sort_by_key(|x| x.key);
                    v[10_000..].sort_by_key(|x| x.key);
                }
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| case(&mut v)));
                assert_eq!(done.is_err(), calls.load(SeqCst) > moment, "case {i}, moment {moment}");
                assert!(done.is_err() || v.is_sorted_by_key(|x| x.key));
                assert_whole(v, &drops);
            }
            assert_eq!(key_drops.made(), key_drops.dropped());
        }
    });
}

struct Key(u32, #[allow(dead_code)] Counted);

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0 == other.0
    }
}
impl Eq for Key {}
impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.0.cmp(&other.0)
    }
}

struct Ticking<'a>(u32, &'a (dyn Fn() + Sync));

impl PartialEq for Ticking<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}
impl Eq for Ticking<'_> {}
impl PartialOrd for Ticking<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ticking<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.1)();
        self.0.cmp(&other.0)
    }
}

/// Which order comes out does not matter, and std's may panic.
#[test]
fn liars_lose_no_element() {
    let seed = seed();
    each(workers(), |rt| {
        let noise = AtomicU32::new(seed as u32 | 1);
        let random = |_: &Owned, _: &Owned| {
            // Not the same for the same pair, and not the same in both directions.
            let x = noise.fetch_add(0x9e37_79b9, Relaxed);
            [Ordering::Less, Ordering::Equal, Ordering::Greater][(x.wrapping_mul(x | 1) >> 16) as usize % 3]
        };
        let greater = |a: &Owned, b: &Owned| if a.key == b.key { Ordering::Greater } else { a.key.cmp(&b.key) };
        let circle = |a: &Owned, b: &Owned| (a.key % 3).cmp(&((b.key + 1) % 3));
        let liars: [Cmp<'_, Owned>; 6] =
            [&|_, _| Ordering::Less, &|_, _| Ordering::Greater, &|_, _| Ordering::Equal, &random, &greater, &circle];
        crate::common::quiet();
        for (i, liar) in liars.into_iter().enumerate() {
            for &pattern in patterns() {
                for (_, _, sort) in sorts::<Owned>() {
                    let drops = Drops::new();
                    let mut v = owned(&keys(pattern, 20_000, &mut Rng(24)), &drops);
                    _ = silently(|| rt.run(|| sort(&mut v, liar)));
                    assert_whole(v, &drops);
                }
                let drops = Drops::new();
                let mut v = owned(&keys(pattern, 20_000, &mut Rng(25)), &drops);
                _ = silently(|| rt.run(|| par::merge_by(&mut v, 7000 + i, liar)));
                assert_whole(v, &drops);
            }
        }
    });
}

/// Catches std's panic about an order that is none.
fn silently(f: impl FnOnce()) -> Result<(), Box<dyn std::any::Any + Send>> {
    let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f));
    if let Err(payload) = &done {
        assert!(text(&**payload).contains("total order"), "{}", text(&**payload));
    }
    done
}

/// What a comparator changes in an element is seen in the slice, and is not lost with a copy.
#[test]
fn changes_by_the_comparator_are_kept() {
    struct Asked {
        key: u32,
        times: AtomicU32,
        text: Mutex<String>,
    }
    each(workers(), |rt| {
        for pattern in [0, 1, 6, 7] {
            for (name, _, sort) in sorts::<Asked>() {
                let keys = keys(pattern, 20_000, &mut Rng(26));
                let mut v: Vec<Asked> = keys
                    .into_iter()
                    .map(|key| Asked { key, times: AtomicU32::new(0), text: Mutex::new(String::new()) })
                    .collect();
                let calls = AtomicUsize::new(0);
                rt.run(|| {
                    sort(&mut v, &|a, b| {
                        calls.fetch_add(1, Relaxed);
                        for x in [a, b] {
                            // The memory that a string owns changes: a stale copy would be freed
                            // twice.
                            let times = x.times.fetch_add(1, Relaxed);
                            if times % 8 == 0 {
                                *x.text.lock().unwrap() = times.to_string();
                            }
                        }
                        a.key.cmp(&b.key)
                    });
                });
                let times: usize = v.iter().map(|x| x.times.load(Relaxed) as usize).sum();
                assert_eq!(times, 2 * calls.into_inner(), "{name}, pattern {pattern}");
                assert!(v.iter().all(|x| x.times.load(Relaxed) == 0 || !x.text.lock().unwrap().is_empty()));
                assert!(v.is_sorted_by_key(|x| x.key));
            }
        }
    });
}

/// Elements that only one thread may have at a time: `Send`, not `Sync`.
#[test]
fn elements_that_are_not_shared() {
    each(workers(), |rt| {
        let mut v: Vec<(u32, Cell<u32>)> = keys(0, LONG, &mut Rng(27)).into_iter().map(|k| (k, Cell::new(0))).collect();
        let calls = AtomicUsize::new(0);
        rt.run(|| {
            par::merge_sort_by(&mut v, |a, b| {
                calls.fetch_add(1, Relaxed);
                a.1.set(a.1.get() + 1);
                a.0.cmp(&b.0)
            });
        });
        assert!(v.is_sorted_by_key(|x| x.0));
        assert_eq!(v.iter().map(|x| x.1.get() as usize).sum::<usize>(), calls.into_inner());
    });
}

#[test]
fn comparators_that_block() {
    each(workers(), |rt| {
        for (name, _, sort) in sorts::<u32>() {
            let mut v = keys(0, 20_000, &mut Rng(28));
            let lock = Mutex::new(0_usize);
            rt.run(|| {
                // Another task takes the lock again and again, and keeps it over waits.
                let (tx, rx) = rendezvous::<()>();
                let done = AtomicBool::new(false);
                myriad::scope(|s| {
                    s.spawn(|| {
                        while !done.load(Relaxed) {
                            let _held = lock.lock().unwrap();
                            _ = rx.try_recv();
                            myriad::yield_now();
                        }
                    });
                    sort(&mut v, &|a, b| {
                        let mut calls = lock.lock().unwrap();
                        *calls += 1;
                        if calls.is_multiple_of(1000) {
                            _ = tx.try_send(());
                            // Waits with the lock in its hands: the other parts of the sort wait
                            // for it.
                            myriad::yield_now();
                        }
                        a.cmp(b)
                    });
                    done.store(true, Relaxed);
                });
            });
            assert!(v.is_sorted(), "{name}");
        }
    });
}

/// The comparator waits for a message that comes only when the sort has been seen to wait: other
/// tasks go on meanwhile.
#[test]
fn a_comparator_waits_for_another_task() {
    each(workers(), |rt| {
        for (_, _, sort) in sorts::<u32>() {
            let mut v = keys(0, 20_000, &mut Rng(29));
            let calls = AtomicUsize::new(0);
            rt.run(|| {
                let (ask, asked) = bounded::<()>(1);
                let (tell, told) = bounded::<u32>(1);
                let other = spawn(move || {
                    while asked.recv().is_ok() {
                        tell.send(1).unwrap();
                    }
                });
                let one_at_a_time = Mutex::new(());
                sort(&mut v, &|a, b| {
                    if calls.fetch_add(1, Relaxed) % 5000 == 77 {
                        let _turn = one_at_a_time.lock().unwrap();
                        ask.send(()).unwrap();
                        assert_eq!(told.recv(), Ok(1));
                    }
                    a.cmp(b)
                });
                drop(ask);
                other.join().unwrap();
            });
            assert!(v.is_sorted());
        }
    });
}

/// Cancelled in the middle, by its handle: the comparator waits, and the cancellation arrives
/// there.
#[test]
fn a_sort_that_is_cancelled() {
    let mut rng = Rng(seed());
    let moments: Vec<usize> = [0, 1000].into_iter().chain((0..6).map(|_| rng.below(400_000) as usize)).collect();
    each(workers(), |rt| {
        for &moment in &moments {
            for (name, _, sort) in sorts::<Owned>() {
                let drops = Drops::new();
                let v = Arc::new(Mutex::new(owned(&keys(0, 20_000, &mut Rng(30)), &drops)));
                let waits = Arc::new(AtomicBool::new(false));
                let handle = {
                    let (v, waits) = (v.clone(), waits.clone());
                    rt.spawn(move || {
                        let mut v = v.lock().unwrap_or_else(|e| e.into_inner());
                        let calls = AtomicUsize::new(0);
                        sort(&mut v, &|a, b| {
                            if calls.fetch_add(1, Relaxed) == moment {
                                waits.store(true, SeqCst);
                                myriad::time::sleep(std::time::Duration::from_secs(3600));
                            }
                            a.key.cmp(&b.key)
                        });
                    })
                };
                wait_until(|| waits.load(SeqCst) || handle.is_finished());
                handle.cancel();
                match handle.join() {
                    // It had compared less often.
                    Ok(()) => assert!(!waits.load(SeqCst), "{name}"),
                    Err(error) => assert!(error.is_cancelled(), "{name}: {error}"),
                }
                let v = std::mem::take(&mut *v.lock().unwrap_or_else(|e| e.into_inner()));
                assert_whole(v, &drops);
            }
        }
    });
}

/// Cancelled at some moment, without a wait in the comparator: at a join, or not at all. The
/// numbers are numbers again.
#[test]
fn floats_that_are_cancelled() {
    let seed = seed();
    each(workers(), |rt| {
        for round in 0..if full_length() { 20 } else { 6 } {
            let mut r = Rng(seed ^ round);
            let floats: Vec<f64> = (0..LONG).map(|_| f64::from_bits(r.next())).collect();
            let mut before: Vec<u64> = floats.iter().map(|x| x.to_bits()).collect();
            let v = Arc::new(Mutex::new(floats));
            let begun = Arc::new(AtomicBool::new(false));
            let handle = {
                let (v, begun) = (v.clone(), begun.clone());
                rt.spawn(move || {
                    begun.store(true, SeqCst);
                    par::sort_floats(&mut v.lock().unwrap_or_else(|e| e.into_inner()));
                })
            };
            wait_until(|| begun.load(SeqCst));
            for _ in 0..r.below(20_000) {
                std::hint::spin_loop();
            }
            handle.cancel();
            _ = handle.join();
            let mut after: Vec<u64> = v.lock().unwrap_or_else(|e| e.into_inner()).iter().map(|x| x.to_bits()).collect();
            before.sort();
            after.sort();
            assert!(before == after);
        }
    });
}

#[test]
fn the_panic_comes_out_unchanged() {
    each(workers(), |rt| {
        let mut v = keys(0, LONG, &mut Rng(31));
        let payload = catch(|| rt.run(|| par::sort_by(&mut v, |_, _| plan("all of them"))));
        assert!(text(&*payload).ends_with("all of them"));
    });
}

/// It says that the first of the second range is less than the last of the first one, and then that
/// nothing is.
#[test]
fn a_lie_to_merge_by() {
    each(&[2], |rt| {
        let mut v: Vec<u32> = (0..20_000).chain(5..20_005).collect();
        let first = AtomicBool::new(true);
        let cmp = |a: &u32, b: &u32| {
            if *b == 19_999 && !first.swap(false, SeqCst) { Ordering::Greater } else { a.cmp(b) }
        };
        rt.run(|| par::merge_by(&mut v, 20_000, cmp));
        v.sort();
        let mut expected: Vec<u32> = (0..20_000).chain(5..20_005).collect();
        expected.sort();
        assert_eq!(v, expected);
    });
}
