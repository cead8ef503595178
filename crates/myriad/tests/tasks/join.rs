//! `join(a, b)`: two closures, perhaps in parallel.

use crate::common::{Drops, each, in_both_modes};
use myriad::join;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::*};

fn fib(n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

#[test]
fn both_results() {
    in_both_modes(|rt| {
        assert_eq!(rt.run(|| join(|| 1, || "two")), (1, "two"));
        assert_eq!(rt.run(|| fib(20)), 6765);
    });
}

#[test]
fn both_borrow() {
    in_both_modes(|rt| {
        let mut xs: Vec<u32> = (0..10_000).rev().collect();
        fn merge_sort(xs: &mut [u32]) {
            if xs.len() > 16 {
                let (left, right) = xs.split_at_mut(xs.len() / 2);
                join(|| merge_sort(left), || merge_sort(right));
            }
            // Merges the halves, and sorts what is short.
            xs.sort();
        }
        rt.run(|| merge_sort(&mut xs));
        assert!(xs.is_sorted());
    });
}

#[test]
fn each_runs_once_and_drops_once() {
    in_both_modes(|rt| {
        let (drops, runs) = (Drops::new(), AtomicUsize::new(0));
        rt.run(|| {
            for _ in 0..1000 {
                let (a, b) = (drops.one(), drops.one());
                let (a, b) = join(
                    || {
                        runs.fetch_add(1, Relaxed);
                        a
                    },
                    || {
                        runs.fetch_add(1, Relaxed);
                        b
                    },
                );
                drop((a, b));
            }
        });
        assert_eq!(runs.load(Relaxed), 2000);
        drops.assert_all(2000);
    });
}

/// They really run at the same time where there are two workers: each waits for the other, on the
/// OS's barrier.
#[test]
fn both_at_the_same_time() {
    each(&[2, 4], |rt| {
        let barrier = Barrier::new(2);
        rt.run(|| join(|| barrier.wait(), || barrier.wait()));
    });
}

#[test]
fn deep_in_both_branches() {
    fn walk(depth: usize) -> usize {
        if depth == 0 { 1 } else { join(|| walk(depth - 1), || walk(depth / 2)).0 + 1 }
    }
    in_both_modes(|rt| assert_eq!(rt.run(|| walk(24)), 25));
}

/// The task inside of `b` spawns, blocks and joins itself.
#[test]
fn mixed_with_spawn_and_channels() {
    in_both_modes(|rt| {
        let sum = rt.run(|| {
            let (tx, rx) = myriad::channel::bounded(3);
            let (tx2, rx) = (tx.clone(), &rx);
            let ((), sum) = join(
                move || (0..500).for_each(|i| tx.send(i).unwrap()),
                move || {
                    let h = myriad::spawn(move || (500..1000).for_each(|i| tx2.send(i).unwrap()));
                    let sum: u64 = rx.iter().take(1000).sum();
                    h.join().unwrap();
                    sum
                },
            );
            sum
        });
        assert_eq!(sum, 499_500);
    });
}
