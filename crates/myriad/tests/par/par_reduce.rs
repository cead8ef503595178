//! Maps and reductions: in order, the same bits on each run, everything dropped once.

use crate::common::{Drops, catch_planned, each, in_both_modes, plan, wait_until};
use myriad::par;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn results_in_order() {
    in_both_modes(|rt| {
        for n in [0_usize, 1, 2, 511, 513, 5000, 50_000] {
            let (squares, words) = rt.run(|| {
                let squares = par::map_index(0..n, |i| i * i);
                let words = par::map(&squares, |x| x.to_string());
                (squares, words)
            });
            assert!(squares.iter().copied().eq((0..n).map(|i| i * i)), "{n}");
            assert!(words.iter().zip(&squares).all(|(word, x)| *word == x.to_string()), "{n}");
            assert_eq!((squares.len(), words.len()), (n, n));
        }
        assert_eq!(rt.run(|| par::map_index(0..1000_u64, |_| ())).len(), 1000);
    });
}

/// A grain is how many numbers one part does together, in their order; with any, the results are
/// the same.
#[test]
fn results_with_a_grain() {
    in_both_modes(|rt| {
        for n in [0_usize, 1, 7, 1000] {
            for grain in [1, 3, 1000, usize::MAX] {
                let over = || par::Loop::new(0..n).grain(grain);
                let (squares, odd, text) = rt.run(|| {
                    let squares = over().map(|i| i * i);
                    let odd = over().filter_map(|i| (i % 2 == 1).then_some(i));
                    (squares, odd, over().map_reduce(|i| format!("{i} "), String::new(), |a, b| a + &b))
                });
                assert!(squares.into_iter().eq((0..n).map(|i| i * i)), "{n} by {grain}");
                assert!(odd.into_iter().eq((0..n).filter(|i| i % 2 == 1)), "{n} by {grain}");
                assert_eq!(text, (0..n).map(|i| format!("{i} ")).collect::<String>(), "{n} by {grain}");
            }
        }
    });
    // What is one leaf is one task's, from the first to the last.
    each(&[2], |rt| {
        let tasks = rt.run(|| {
            par::Loop::new(0..64_usize).grain(16).map(|i| {
                // Each leaf's first waits a little, so that another worker would have time to take
                // the rest of it.
                if i % 16 == 0 {
                    myriad::time::sleep(Duration::from_millis(2));
                }
                std::thread::current().id()
            })
        });
        assert!(tasks.chunks(16).all(|leaf| leaf.iter().all(|id| *id == leaf[0])));
    });
}

/// Not commutative, and `id` only where there is nothing else.
#[test]
fn operands_keep_their_order() {
    in_both_modes(|rt| {
        for n in [0, 1, 2, 3, 100, 3000] {
            let words: Vec<String> = (0..n).map(|i| format!("{i} ")).collect();
            let all = rt.run(|| par::reduce(&words, String::from("nothing"), |a, b| a + &b));
            assert_eq!(all, if n == 0 { "nothing".into() } else { words.concat() });
            let all = rt.run(|| par::map_reduce_index(0..n, |i| format!("{i} "), String::new(), |a, b| a + &b));
            assert_eq!(all, words.concat());
        }
    });
}

/// The same bits whatever the number of workers, the mode, and who is hungry when.
#[test]
fn floats_have_the_same_bits() {
    let xs: Vec<f64> = (0..300_001).map(|i| (f64::from(i) * 0.37).sin() * 10_f64.powi(i % 17)).collect();
    let results = std::sync::Mutex::new(Vec::new());
    let calculate = || {
        let sum = par::sum(&xs);
        let reduced = par::reduce(&xs, 0.0, |a, b| a + b);
        let mapped = par::map_reduce_index(0..xs.len(), |i| xs[i] / 3.0, 0.0, |a, b| a + b);
        let mut prefixes = xs.clone();
        par::prefix_sum(&mut prefixes);
        let prefixes = prefixes.iter().fold(0_u64, |hash, x| hash.wrapping_mul(31).wrapping_add(x.to_bits()));
        crate::common::locked(&results).push((sum.to_bits(), reduced.to_bits(), mapped.to_bits(), prefixes));
    };
    each(&[1, 2, 3, 4], |rt| {
        for _ in 0..5 {
            rt.run(calculate);
        }
    });
    let results = results.into_inner().unwrap();
    assert!(results.iter().all(|result| *result == results[0]), "{results:x?}");
    let plain: f64 = xs.iter().sum();
    assert!((f64::from_bits(results[0].0) - plain).abs() <= plain.abs() * 1e-9);
}

#[test]
fn sums_of_all_kinds() {
    in_both_modes(|rt| {
        rt.run(|| {
            assert_eq!(par::sum::<i32>(&[]), 0);
            assert_eq!(par::sum(&[1_u8; 200]), 200);
            assert_eq!(par::sum(&[-1_i128; 10_000]), -10_000);
            assert_eq!(par::sum(&vec![0.5_f32; 1 << 16]), 32768.0);
        });
    });
}

/// Values and results are dropped once, also when an operator panics in the middle, wherever parts
/// are.
#[test]
fn panics_drop_everything_once() {
    in_both_modes(|rt| {
        for bad in [0, 1, 700, 1999] {
            let drops = Drops::new();
            catch_planned("map", || {
                rt.run(|| par::map_index(0..2000, |i| if i == bad { plan("map") } else { (i, drops.one()) }))
            });
            drops.assert_all(drops.made());
            let made = drops.made();
            let combine = |a: (usize, crate::common::Counted), b: (usize, crate::common::Counted)| {
                if (a.0..=b.0).contains(&bad) && b.0 > 0 {
                    plan("op");
                }
                (a.0, drops.one())
            };
            catch_planned("op", || {
                rt.run(|| par::map_reduce_index(0..2000, |i| (i, drops.one()), (0, drops.one()), combine))
            });
            assert!(drops.made() > made);
            drops.assert_all(drops.made());
            let lengths = rt.run(|| par::map_index(0..2000, |i| (i, drops.one()))).len();
            assert_eq!(lengths, 2000);
            drops.assert_all(drops.made());
        }
    });
}

/// After a panic no more parts begin.
#[test]
fn a_panic_stops_the_others() {
    in_both_modes(|rt| {
        let ran = AtomicUsize::new(0);
        let body = |i: usize| {
            if ran.fetch_add(1, Relaxed) > 100 && i > 0 {
                plan("stop");
            }
            // Bounded, so that a fault fails instead of hanging.
            1
        };
        catch_planned("stop", || {
            rt.run(|| par::map_reduce_index(0..usize::MAX, body, 0, |a: usize, b| a.wrapping_add(b)))
        });
        assert!(ran.load(Relaxed) < 1_000_000);
    });
}

#[test]
fn cancelled_in_the_middle() {
    in_both_modes(|rt| {
        let (began, drops) = (Arc::new(AtomicUsize::new(0)), Drops::new());
        let (b, d) = (began.clone(), drops.clone());
        let h = rt.spawn(move || {
            par::map_index(0..1000, |_| {
                let own = d.one();
                if b.fetch_add(1, SeqCst) > 20 {
                    myriad::time::sleep(Duration::from_secs(3600));
                }
                own
            })
        });
        wait_until(|| began.load(SeqCst) > 20);
        h.cancel();
        assert!(h.join().unwrap_err().is_cancelled());
        drops.assert_all(drops.made());
    });
}

/// Maps in maps, operators that block, from foreign threads.
#[test]
fn operators_that_block_and_nest() {
    in_both_modes(|rt| {
        let total = rt.run(|| {
            let lock = myriad::sync::Mutex::new(());
            let row = |i: u64| {
                let _guard = lock.lock().unwrap();
                myriad::yield_now();
                par::map_reduce_index(0..20_u64, |j| i * j, 0, |a, b| a + b)
            };
            par::map_reduce_index(0..50_u64, row, 0, |a, b| {
                myriad::yield_now();
                a + b
            })
        });
        assert_eq!(total, 190 * 1225);
    });
    assert_eq!(par::sum(&par::map_index(0..100_000_u64, |i| i)), 4_999_950_000);
}
