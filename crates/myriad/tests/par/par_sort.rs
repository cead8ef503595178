//! The parallel sorts against std's: inputs, elements, callers.

use crate::common::{Drops, Mode, Rng, case, each, fibers_supported, full_length};
use crate::sort_common::{Item, LONG, PATTERNS, by_key, items, keys, seed, sorts, workers};
use myriad::{join, par, scope};
use std::time::{Duration, Instant};

/// What std's stable sort makes of it.
fn expected(v: &[Item]) -> Vec<Item> {
    let mut v = v.to_vec();
    v.sort_by(by_key);
    v
}

/// All sorts of this input give what std's give.
fn check(v: &[Item], what: &dyn std::fmt::Display) {
    let expected = expected(v);
    for (name, stable, sort) in sorts() {
        let mut sorted = v.to_vec();
        sort(&mut sorted, &by_key);
        if !stable {
            assert!(sorted.is_sorted_by_key(|item| item.0), "{name}, {what}");
            // In the order of places within a key, it is the same.
            sorted.sort();
        }
        assert!(sorted == expected, "{name}, {what}");
    }
}

#[test]
fn every_pattern() {
    each(workers(), |rt| {
        let mut rng = Rng(7);
        for pattern in 0..PATTERNS {
            let v = items(&keys(pattern, LONG, &mut rng));
            rt.run(|| check(&v, &format_args!("pattern {pattern}")));
        }
    });
}

#[test]
fn every_length_around_the_limits() {
    each(&[2], |rt| {
        let mut rng = Rng(8);
        let all = &[0, 1, 2, 3, 20, 21, 1000, 16_384, 32_769, 16_383, 16_385, 32_768, 65_537];
        for &n in if full_length() { &all[..] } else { &all[..9] } {
            let v = items(&keys(0, n, &mut rng));
            rt.run(|| check(&v, &format_args!("{n} elements")));
        }
    });
}

/// Random patterns and lengths, for a second.
#[test]
fn random_inputs() {
    let mut rng = Rng(seed());
    let until = Instant::now() + Duration::from_secs(1);
    while Instant::now() < until {
        let pattern = rng.below(PATTERNS as u64) as usize;
        let n = 1 + rng.below(100_000) as usize;
        let v = items(&keys(pattern, n, &mut rng));
        case(
            Mode::Threads,
            1 + rng.below(3) as usize,
            |b| b,
            |rt| {
                rt.run(|| check(&v, &format_args!("pattern {pattern}, {n} elements")));
            },
        );
    }
}

#[test]
fn natural_order_and_keys() {
    each(workers(), |rt| {
        let v = items(&keys(1, LONG, &mut Rng(9)));
        let (all, by_key) = (
            {
                let mut v = v.clone();
                v.sort();
                v
            },
            expected(&v),
        );
        rt.run(|| {
            type Case = (fn(&mut [Item]), bool);
            let cases: [Case; 9] = [
                (par::sort, true),
                (par::sort_unstable, true),
                (par::merge_sort, true),
                (|v| par::sort_by_key(v, |item| item.0), false),
                (|v| par::merge_sort_by_key(v, |item| item.0), false),
                (|v| par::sort_by_cached_key(v, |item| item.0), false),
                (|v| par::sort_by_cached_key(v, |item| format!("{:010}", item.0)), false),
                (|v| par::sort_by_radix_key(v, |item| item.0), false),
                (|v| par::sort_unstable_by_key(v, |item| *item), true),
            ];
            for (i, (sort, whole)) in cases.into_iter().enumerate() {
                let mut v = v.clone();
                sort(&mut v);
                assert!(v == if whole { &*all } else { &*by_key }, "case {i}");
            }
        });
    });
}

#[test]
fn keys_are_computed_once() {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    each(workers(), |rt| {
        let mut v = keys(0, LONG, &mut Rng(10));
        let asked = AtomicUsize::new(0);
        rt.run(|| {
            par::sort_by_cached_key(&mut v, |x| {
                asked.fetch_add(1, Relaxed);
                std::cmp::Reverse(*x)
            });
        });
        assert!(v.is_sorted_by(|a, b| a >= b));
        assert_eq!(asked.into_inner(), LONG);
    });
}

#[test]
fn owning_elements() {
    each(workers(), |rt| {
        let mut v: Vec<String> = keys(0, LONG, &mut Rng(11)).iter().map(|key| format!("{key:x}")).collect();
        let mut expected = v.clone();
        expected.sort();
        let shuffled = v.clone();
        for sort in [par::sort, par::sort_unstable, par::merge_sort] {
            v.clone_from(&shuffled);
            rt.run(|| sort(&mut v));
            assert!(v == expected);
        }
        // Each is dropped once.
        let drops = Drops::new();
        let mut counted: Vec<_> = keys(1, LONG, &mut Rng(11)).into_iter().map(|key| (key, drops.one())).collect();
        rt.run(|| {
            par::sort_by_key(&mut counted, |x| x.0);
            par::sort_unstable_by_key(&mut counted, |x| std::cmp::Reverse(x.0));
            par::merge_sort_by_key(&mut counted, |x| x.0 % 5);
            par::sort_by_cached_key(&mut counted, |x| x.0);
        });
        assert_eq!(drops.dropped(), 0);
        drop(counted);
        drops.assert_all(LONG);
    });
}

#[test]
fn elements_of_all_sizes() {
    fn sized<const N: usize>(keys: &[u32]) {
        let v: Vec<[u32; N]> = keys.iter().zip(0..).map(|(&key, i)| std::array::from_fn(|k| [key, i][k % 2])).collect();
        let cmp = |a: &[u32; N], b: &[u32; N]| a[0].cmp(&b[0]);
        let mut expected = v.clone();
        expected.sort_by(cmp);
        for (name, stable, sort) in sorts() {
            let mut v = v.clone();
            sort(&mut v, &cmp);
            if !stable {
                assert!(v.is_sorted_by_key(|x| x[0]));
                v.sort();
            }
            assert!(v == expected, "{name} of {N} words");
        }
        let mut cached = v.clone();
        par::sort_by_cached_key(&mut cached, |x| x[0]);
        assert!(cached == expected);
        let mut radix = v.clone();
        par::sort_by_radix_key(&mut radix, |x| x[0]);
        assert!(radix == expected);
    }
    each(&[2], |rt| {
        let keys = keys(10, 20_000, &mut Rng(12));
        rt.run(|| {
            sized::<3>(&keys);
            sized::<32>(&keys);
            // These are sorted by reference.
            sized::<33>(&keys);
        });
    });
}

#[test]
fn elements_without_a_size() {
    each(workers(), |rt| {
        let mut v = vec![(); 1_000_000];
        rt.run(|| {
            par::sort(&mut v);
            par::sort_unstable(&mut v);
            par::merge_sort(&mut v);
            par::merge(&mut v, 1000);
            par::sort_by_radix_key(&mut v, |()| 0_u8);
            par::sort_by_cached_key(&mut v[..1000], |()| 0_u8);
        });
        assert_eq!(v.len(), 1_000_000);
    });
}

#[test]
fn floats_in_total_order() {
    each(workers(), |rt| {
        let mut rng = Rng(13);
        let mut v: Vec<f64> = (0..LONG).map(|_| f64::from_bits(rng.next())).collect();
        v.extend([0.0, -0.0, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE, 5e-324]);
        let w: Vec<f32> = v.iter().map(|x| f32::from_bits(x.to_bits() as u32)).collect();
        let bits = |v: &[f64]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let bits32 = |v: &[f32]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let (mut expected, mut expected32) = (v.clone(), w.clone());
        expected.sort_by(f64::total_cmp);
        expected32.sort_by(f32::total_cmp);
        let mut turned = expected.clone();
        turned.reverse();
        for input in [&v, &expected, &turned] {
            let (mut floats, mut radix) = (input.clone(), input.clone());
            rt.run(|| par::sort_floats(&mut floats));
            rt.run(|| par::sort_by_radix_key(&mut radix, |x| *x));
            assert!(bits(&floats) == bits(&expected) && bits(&radix) == bits(&expected));
        }
        let (mut floats, mut radix) = (w.clone(), w);
        rt.run(|| par::sort_floats(&mut floats));
        rt.run(|| par::sort_by_radix_key(&mut radix, |x| *x));
        assert!(bits32(&floats) == bits32(&expected32) && bits32(&radix) == bits32(&expected32));
        // Few of them: std's.
        let mut few = [2.0, f64::NAN, -1.0];
        par::sort_floats(&mut few);
        assert_eq!(few[..2], [-1.0, 2.0]);
    });
}

#[test]
fn radix_keys_of_all_types() {
    /// Their numbers are in their order.
    fn in_order<K: par::sort::RadixKey + Ord>(of: impl Fn(u64) -> K) {
        let mut rng = Rng(14);
        let mut keys: Vec<K> = (0..1000).map(|_| of(rng.next())).collect();
        keys.extend([0, 1, u64::MAX, 1 << 63, (1 << 63) - 1].map(of));
        keys.sort();
        assert!(keys.windows(2).all(|w| w[0].radix().cmp(&w[1].radix()) == w[0].cmp(&w[1])));
    }
    in_order(|x| x);
    in_order(|x| x as i64);
    in_order(|x| x as u32);
    in_order(|x| x as i32);
    in_order(|x| x as u16);
    in_order(|x| x as i16);
    in_order(|x| x as u8);
    in_order(|x| x as i8);
    in_order(|x| x as usize);
    in_order(|x| x as isize);
    in_order(|x| x % 3 == 0);
    in_order(|x| char::from(x as u8));
}

#[test]
fn radix_keys_in_a_part_of_their_range() {
    let parts: [&(dyn Fn(u64) -> u64 + Sync); 6] =
        [&|x| x, &|x| x % 1000, &|x| u64::MAX - x % 1000, &|x| x >> (x % 64), &|_| 7, &|x| (1 << 63) - 500 + x % 1000];
    each(&[2], |rt| {
        for part in parts {
            let mut rng = Rng(14);
            let mut v: Vec<(u64, u32)> = (0..20_000).map(|i| (part(rng.next()), i)).collect();
            let mut expected = v.clone();
            expected.sort_by_key(|x| x.0);
            rt.run(|| par::sort_by_radix_key(&mut v, |x| x.0));
            assert!(v == expected);
        }
    });
}

#[test]
fn merging() {
    each(workers(), |rt| {
        let mut rng = Rng(15);
        for n in [0, 1, 2, 100, 20_000, LONG] {
            for mid in [0, 1.min(n), n / 3, n / 2, n - n.min(1), n] {
                for pattern in [0, 1, 3, 4, 5] {
                    let mut v = items(&keys(pattern, n, &mut rng));
                    v[..mid].sort_by(by_key);
                    v[mid..].sort_by(by_key);
                    let expected = expected(&v);
                    let mut by = v.clone();
                    rt.run(|| par::merge_by(&mut by, mid, by_key));
                    assert!(by == expected, "{n}, {mid}, pattern {pattern}");
                    rt.run(|| par::merge_by_key(&mut v, mid, |item| item.0));
                    assert!(v == expected, "{n}, {mid}, pattern {pattern}");
                }
            }
        }
        let mut v = vec![1, 4, 7, 2, 4, 9];
        par::merge(&mut v, 3);
        assert_eq!(v, [1, 2, 4, 4, 7, 9]);
    });
}

#[test]
#[should_panic(expected = "the second range begins at 4, behind the end of the slice, which has 3 elements")]
fn a_merge_outside_of_the_slice() {
    par::merge(&mut [1, 2, 3], 4);
}

#[test]
fn from_foreign_threads() {
    let _watch = crate::common::watch("the global runtime");
    std::thread::scope(|s| {
        for i in 0..4 {
            s.spawn(move || check(&items(&keys(i, LONG, &mut Rng(16))), &format_args!("thread {i}")));
        }
    });
    // On a thread of its own, which is a task and no worker.
    let dedicated = myriad::task::dedicated(|| check(&items(&keys(0, LONG, &mut Rng(17))), &"dedicated"));
    dedicated.join().unwrap();
}

#[test]
fn nested_in_tasks_and_in_sorts() {
    each(workers(), |rt| {
        let v = items(&keys(0, LONG, &mut Rng(18)));
        rt.run(|| {
            scope(|s| {
                for i in 0..if full_length() { 4 } else { 2 } {
                    let v = &v;
                    s.spawn(move || check(v, &format_args!("task {i}")));
                }
            });
            join(|| check(&v, &"left"), || check(&v, &"right"));
        });
        // A comparator that sorts.
        let mut outer = keys(0, 20_000, &mut Rng(19));
        let inner = keys(5, 17_000, &mut Rng(20));
        let done = std::sync::atomic::AtomicUsize::new(0);
        rt.run(|| {
            par::sort_by(&mut outer, |a, b| {
                if done.fetch_add(1, std::sync::atomic::Ordering::Relaxed) % 50_000 == 1000 {
                    let mut inner = inner.clone();
                    inner.swap(7, 9000);
                    par::sort(&mut inner);
                    assert!(inner.is_sorted());
                }
                a.cmp(b)
            });
        });
        assert!(outer.is_sorted());
    });
}

/// Std's sorts have buffers of 4 KiB on the stack; ours have none.
#[test]
fn on_small_stacks() {
    if !fibers_supported() {
        return;
    }
    for workers in [1, 2] {
        case(
            Mode::Fibers,
            workers,
            |b| b.stack_size(64 << 10),
            |rt| {
                let n = if full_length() { 200_000 } else { 2 * LONG };
                let v = items(&keys(0, n, &mut Rng(21)));
                let strings: Vec<String> = v.iter().map(|x| x.0.to_string()).collect();
                rt.run(|| {
                    // A task in a task: not the stack that the worker began with.
                    join(|| check(&v, &"small stacks"), myriad::yield_now);
                    for sort in [par::sort, par::sort_unstable, par::merge_sort] {
                        let mut strings = strings.clone();
                        sort(&mut strings);
                        assert!(strings.is_sorted());
                    }
                    par::sort_by_cached_key(&mut strings.clone(), |s| s.len());
                });
            },
        );
    }
}

/// New elements behind sorted ones, of which there are as many as whole blocks of the look.
#[test]
fn appended_at_a_blocks_border() {
    for (old, new) in [(1 << 16, 4096), (1 << 16, 5000), (1 << 18, 5000), (983_040, 65_536)] {
        let mut v: Vec<u32> = (0..old).map(|i| i + 10_000).collect();
        v.extend((0..new).map(|i: u32| (i.wrapping_mul(0x9e37_79b9) >> 7) % 10_000));
        let mut expected = v.clone();
        expected.sort();
        each(workers(), |rt| {
            let (mut stable, mut unstable) = (v.clone(), v.clone());
            let mut floats: Vec<f64> = v.iter().map(|&x| f64::from(x)).collect();
            rt.run(|| {
                par::sort(&mut stable);
                par::sort_unstable(&mut unstable);
                par::sort_floats(&mut floats);
            });
            assert!(stable == expected && unstable == expected, "{old}, {new}");
            assert!(floats.iter().zip(&expected).all(|(x, y)| *x == f64::from(*y)), "{old}, {new}");
        });
    }
}
