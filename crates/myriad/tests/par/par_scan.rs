//! Prefix scans against serial ones: operators that do not commute, own memory, block, panic and
//! are cancelled.

use crate::common::{Counted, Drops, catch_planned, each, in_both_modes, plan, wait_until};
use myriad::par;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const SIZES: [usize; 9] = [0, 1, 2, 3, 100, 4095, 4097, 70_000, 300_001];

/// `x -> a x + b` in the integers: applying one after the other is associative, and does not
/// commute.
type Affine = (u64, u64);

fn then(f: &Affine, g: &Affine) -> Affine {
    (f.0.wrapping_mul(g.0), f.1.wrapping_mul(g.0).wrapping_add(g.1))
}

fn maps(n: usize) -> Vec<Affine> {
    let mut random = crate::common::Rng(n as u64);
    (0..n).map(|_| (random.next() | 1, random.next())).collect()
}

fn serial<T: Clone>(xs: &[T], op: impl Fn(&T, &T) -> T) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for x in xs {
        all.push(all.last().map_or_else(|| x.clone(), |last| op(last, x)));
    }
    all
}

#[test]
fn operands_keep_their_order() {
    in_both_modes(|rt| {
        for n in SIZES {
            let xs = maps(n);
            let expected = serial(&xs, then);
            rt.run(|| {
                let mut inclusive = xs.clone();
                par::scan_inclusive(&mut inclusive, then);
                assert!(inclusive == expected, "{n}");
                let mut to = vec![(0, 0); n];
                par::scan_inclusive_to(&xs, &mut to, then);
                assert!(to == expected, "{n}");

                let mut shifted = vec![(1, 0)];
                shifted.extend_from_slice(&expected);
                let total = shifted.pop().unwrap();
                let mut exclusive = xs.clone();
                assert_eq!(par::scan_exclusive(&mut exclusive, (1, 0), then), total, "{n}");
                assert!(exclusive == shifted, "{n}");
                assert_eq!(par::scan_exclusive_to(&xs, &mut to, (1, 0), then), total, "{n}");
                assert!(to == shifted, "{n}");
            });
        }
    });
}

#[test]
fn prefix_sums() {
    in_both_modes(|rt| {
        for n in SIZES {
            let mut xs = vec![3_i64; n];
            let mut floats = vec![3.0_f64; n];
            rt.run(|| {
                par::prefix_sum(&mut xs);
                par::prefix_sum(&mut floats);
            });
            assert!((0..n).all(|i| xs[i] == 3 * (i as i64 + 1) && floats[i] == xs[i] as f64), "{n}");
        }
    });
}

/// Several members at once: each block of a costly operator is worth to be shared. Whoever is
/// hungry comes.
#[test]
fn a_team() {
    each(&[2, 4], |rt| {
        let threads = std::sync::Mutex::new(std::collections::HashSet::new());
        let mut xs = maps(20_000);
        let expected = serial(&xs, then);
        let slowly = |f: &Affine, g: &Affine| {
            crate::common::locked(&threads).insert(std::thread::current().id());
            then(f, g)
        };
        // Until it has been seen: on a busy machine the others may come late.
        wait_until(|| {
            let mut xs = xs.clone();
            rt.run(|| par::scan_inclusive(&mut xs, slowly));
            assert!(xs == expected);
            crate::common::locked(&threads).len() > 1
        });
        xs.clear();
    });
}

/// Wherever the operator panics in a short scan, in place and to another slice: each element is
/// whole, either as it was or combined, and nothing is dropped twice or lost; the pending result of
/// a kernel neither.
#[test]
fn a_panic_at_each_element() {
    each(&[1, 2], |rt| {
        for len in [2_u64, 3, 4, 9, 17, 70] {
            for bad in 1..len {
                let drops = Drops::new();
                // The elements are 1, 2, 3, ...; what is combined is the sum.
                let mut xs: Vec<Own> = (1..=len).map(|i| Own(i, drops.one())).collect();
                let op = |a: &Own, b: &Own| {
                    if b.0 == bad + 1 {
                        plan("op");
                    }
                    Own(a.0 + b.0, drops.one())
                };
                catch_planned("op", || rt.run(|| par::scan_inclusive(&mut xs, op)));
                for (i, x) in (1..).zip(&xs) {
                    // Behind it, too: with several members (which a busy machine can bring about) a
                    // later block needs the aggregates of those before, and not their scans.
                    assert!(
                        x.0 == i || (i != bad + 1 && x.0 == i * (i + 1) / 2),
                        "{len} elements, panic at {bad}: {} at {i}",
                        x.0
                    );
                }
                assert_eq!(drops.made() - drops.dropped(), len as usize);
                drop(xs);
                drops.assert_all(drops.made());
            }
        }
    });
}

/// Lengths and blocks whose borders fall on each place of a cache line, with elements of several
/// sizes.
#[test]
fn each_length_around_borders() {
    fn check<T: Clone + PartialEq + Send + Sync>(n: usize, make: impl Fn(u64) -> T, op: impl Fn(&T, &T) -> T + Sync) {
        let xs: Vec<T> = (0..n as u64).map(make).collect();
        let expected = serial(&xs, &op);
        let mut inclusive = xs.clone();
        par::scan_inclusive(&mut inclusive, &op);
        assert!(inclusive == expected, "{n} of {} bytes", size_of::<T>());
        let mut to = xs.clone();
        par::scan_inclusive_to(&xs, &mut to, &op);
        assert!(to == expected, "{n} of {} bytes, to another slice", size_of::<T>());
    }
    each(&[1, 2], |rt| {
        rt.run(|| {
            let borders = [0_usize, 64, 128, 4096, 8192, 16_384, 65_536];
            for n in borders.iter().flat_map(|b| b.saturating_sub(3)..b + 4) {
                check(n, |i| i as u8, |a, b| a.wrapping_add(*b));
                check(n, |i| i, |a, b| a.wrapping_mul(3).wrapping_add(*b).wrapping_sub(a.wrapping_mul(2)));
                check(n, |i| (i | 1, !i), then);
                check(n, |i| [i; 3], |a, b| std::array::from_fn(|k| a[k].wrapping_add(b[k])));
            }
            for n in 0..70 {
                check(n, |i| i.to_string(), |a, b| format!("{a}{b}"));
            }
        });
    });
}

/// Values that own memory, of which there are fewer blocks than workers, or more.
#[test]
fn strings() {
    in_both_modes(|rt| {
        for n in [1_usize, 2, 3, 50, 700] {
            let mut words: Vec<String> = (0..n).map(|i| i.to_string()).collect();
            let expected = serial(&words, |a, b| format!("{a} {b}"));
            rt.run(|| {
                par::scan_inclusive(&mut words, |a, b| {
                    myriad::yield_now();
                    format!("{a} {b}")
                });
            });
            assert_eq!(words, expected);
        }
    });
}

/// Elements without a size, and few elements whose operator costs much.
#[test]
fn odd_sizes() {
    in_both_modes(|rt| {
        rt.run(|| {
            let calls = AtomicUsize::new(0);
            par::scan_inclusive(&mut [(); 100_000], |(), ()| _ = calls.fetch_add(1, Relaxed));
            assert!(calls.load(Relaxed) >= 99_999);
            let mut large: Vec<Box<[u64; 100]>> = (0..40).map(|i| Box::new([i; 100])).collect();
            par::scan_inclusive(&mut large, |a, b| Box::new(std::array::from_fn(|k| a[k] + b[k])));
            assert!(large.iter().enumerate().all(|(i, x)| x[99] == (i * (i + 1) / 2) as u64));
        });
    });
}

/// An element that is counted while it is alive.
struct Own(u64, #[expect(dead_code, reason = "counted")] Counted);

/// Each value is dropped once, wherever the operator panics; the slice stays whole.
#[test]
fn panics_drop_everything_once() {
    in_both_modes(|rt| {
        for bad in [1, 2, 50, 5000, 19_998] {
            let drops = Drops::new();
            let mut xs: Vec<Own> = (0..20_000).map(|i| Own(i, drops.one())).collect();
            catch_planned("op", || {
                rt.run(|| {
                    par::scan_inclusive(&mut xs, |a, b| {
                        if b.0 == bad {
                            plan("op");
                        }
                        Own(a.0.max(b.0), drops.one())
                    });
                });
            });
            assert_eq!(drops.made() - drops.dropped(), 20_000, "the slice's own are alive, and nothing else");
            drop(xs);
            drops.assert_all(drops.made());
        }
        let drops = Drops::new();
        let mut xs: Vec<Own> = (0..20_000).map(|i| Own(i, drops.one())).collect();
        rt.run(|| par::scan_inclusive(&mut xs, |a, b| Own(a.0 + b.0, drops.one())));
        assert_eq!(xs[19_999].0, 199_990_000);
        assert_eq!(drops.made() - drops.dropped(), 20_000);
    });
}

/// Operators that block: on a lock, on each other's progress, so that members wait for the block
/// before, and sleep.
#[test]
fn operators_that_block() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (lock, calls) = (myriad::sync::Mutex::new(()), AtomicUsize::new(0));
            let mut xs = maps(3000);
            let expected = serial(&xs, then);
            par::scan_inclusive(&mut xs, |f, g| {
                let n = calls.fetch_add(1, Relaxed);
                if n.is_multiple_of(500) {
                    myriad::time::sleep(Duration::from_micros(200));
                } else if n.is_multiple_of(7) {
                    let _guard = lock.lock().unwrap();
                    myriad::yield_now();
                }
                then(f, g)
            });
            assert!(xs == expected);
        });
    });
}

#[test]
fn cancelled_in_the_middle() {
    in_both_modes(|rt| {
        let calls = Arc::new(AtomicUsize::new(0));
        let c = calls.clone();
        let drops = Drops::new();
        let d = drops.clone();
        let h = rt.spawn(move || {
            let mut xs: Vec<Own> = (0..20_000).map(|i| Own(i, d.one())).collect();
            par::scan_inclusive(&mut xs, |a, b| {
                if c.fetch_add(1, SeqCst) > 3000 {
                    myriad::time::sleep(Duration::from_secs(3600));
                }
                Own(a.0 + b.0, d.one())
            });
        });
        wait_until(|| calls.load(SeqCst) > 3000);
        h.cancel();
        assert!(h.join().unwrap_err().is_cancelled());
        drops.assert_all(drops.made());
    });
}

#[test]
fn scans_in_loops_and_on_foreign_threads() {
    in_both_modes(|rt| {
        rt.run(|| {
            par::for_each_index(0..20, |_| {
                let mut xs = vec![1_u32; 30_000];
                par::scan_inclusive(&mut xs, |a, b| a + b);
                assert_eq!(xs[29_999], 30_000);
            });
        });
    });
    let mut xs = vec![1_u64; 500_000];
    assert_eq!(par::scan_exclusive(&mut xs, 0, |a, b| a + b), 500_000);
    assert!((0..500_000).all(|i| xs[i] == i as u64));
}
