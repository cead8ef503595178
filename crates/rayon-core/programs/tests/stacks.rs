//! Rayon knows nothing of the size of stacks, and a fiber's is 64 KiB: a job that is joined runs on
//! top of its joiner only where half of a stack is left.

mod common;

use common::each;
use rayon::prelude::*;

/// Under rayon this overflows a stack of 2 MiB at some thousand.
#[test]
fn recursion_is_bounded_by_memory() {
    fn go(depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let (a, b) = rayon::join(|| go(depth - 1), || 1);
        a + b
    }
    each("deep", |rt| assert_eq!(rt.run(|| go(3_000)), 3_000));
}

#[test]
fn sorting_fits_on_small_stacks() {
    each("sort", |rt| {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state >> 33
        };
        let v: Vec<u64> = (0..60_000).map(|_| next()).collect();
        let mut sorted = v.clone();
        sorted.sort();
        rt.run(|| {
            let (mut stable, mut unstable, mut cached) = (v.clone(), v.clone(), v.clone());
            rayon::join(
                || stable.par_sort(),
                || {
                    rayon::join(
                        || unstable.par_sort_unstable(),
                        || cached.par_sort_by_cached_key(|x| x.to_string().len()),
                    )
                },
            );
            assert_eq!(stable, sorted);
            assert_eq!(unstable, sorted);
            assert!(cached.is_sorted_by_key(|x| x.to_string().len()));
        });
    });
}

#[test]
fn iterators_in_iterators_fit_on_small_stacks() {
    each("nested", |rt| {
        let count = rt.run(|| {
            let inner =
                |i: usize| (0..i % 50).into_par_iter().flat_map(move |j| (0..j).into_par_iter().map(move |k| k + i));
            (0..100usize).into_par_iter().flat_map(inner).filter(|x| x % 2 == 0).count()
        });
        let inner = |i: usize| (0..i % 50).flat_map(move |j| (0..j).map(move |k| k + i));
        assert_eq!(count, (0..100usize).flat_map(inner).filter(|x| x % 2 == 0).count());
    });
}
