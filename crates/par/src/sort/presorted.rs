//! Is there little to sort? A comparison of each pair of neighbours, in parallel, that ends when
//! there are too many that say no.
//!
//! A slice to which new elements were appended is in order but for a part. That part counts as one
//! run, which is to be sorted before all are merged. To find it, pairs are looked at in blocks,
//! each of which ends by itself when it says no too often. (Elements that were written here and
//! there, more than a few, are in too many blocks: then all is sorted.)

use super::fork;
use std::cmp::Ordering::{self, Less};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What a slice looks like.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// In order.
    Sorted,
    /// Strictly in the opposite order: so turning it around is stable.
    Reversed,
    /// At least two runs, most of whose elements are in runs that are in order.
    Runs(Vec<Run>),
    /// Anything else.
    Other,
}

/// A part of a slice, up to the next one.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(super) struct Run {
    pub(super) start: usize,
    pub(super) in_order: bool,
}

/// Calls `sort` for those that are in no order. Returns where all begin.
pub(super) fn put_in_order<T>(v: &mut [T], runs: &[Run], sort: impl Fn(&mut [T])) -> Vec<usize> {
    let ends = runs[1..].iter().map(|run| run.start).chain([v.len()]);
    for (run, end) in runs.iter().zip(ends) {
        if !run.in_order {
            sort(&mut v[run.start..end]);
        }
    }
    runs.iter().map(|run| run.start).collect()
}

/// The most runs: merging them passes over the elements `log2` as many times.
const RUNS: usize = 16;
/// This part of the elements may be in runs that are in no order: to sort them, and then to merge,
/// takes less than to sort all.
const WILD: usize = 8;
/// The most exceptions in a block: with more it is in no order.
const EXCEPTIONS: usize = RUNS - 1;
/// Blocks for each worker, and elements of a block at least.
const BLOCKS: usize = 64;
const BLOCK: usize = 1 << 12;
/// Places that are looked at first, of so many pairs: of most slices they tell.
const SPOTS: usize = 16;
const SPOT: usize = 64;

/// Detects it. The slice is untouched.
pub(super) fn detect<T, F>(v: &[T], cmp: &F, workers: usize) -> Shape
where
    T: Send + Sync,
    F: Fn(&T, &T) -> Ordering + Sync,
{
    let [first, second, ..] = v else { return Shape::Sorted };
    if cmp(second, first) == Less && blocks(v, &|a, b| cmp(b, a) != Less, 0, 0, workers).is_some() {
        return Shape::Reversed;
    }
    let exception = |a: &T, b: &T| cmp(b, a) == Less;
    if is_hopeless(v, &exception) {
        return Shape::Other;
    }
    match blocks(v, &exception, EXCEPTIONS, v.len() / WILD, workers) {
        Some(blocks) => shape(blocks),
        None => Shape::Other,
    }
}

/// Do too many places look as if they were in no order?
fn is_hopeless<T>(v: &[T], exception: &impl Fn(&T, &T) -> bool) -> bool {
    if v.len() < 2 * SPOTS * SPOT {
        return false;
    }
    let wild = (0..SPOTS).filter(|i| {
        let start = i * ((v.len() - SPOT) / SPOTS);
        let pairs = v[start..start + SPOT].windows(2);
        pairs.filter(|pair| exception(&pair[0], &pair[1])).take(SPOT / 8).count() == SPOT / 8
    });
    wild.take(SPOTS / 4).count() == SPOTS / 4
}

/// The pairs whose first elements are here.
struct Block {
    pairs: Range<usize>,
    /// The second elements of those that are exceptions.
    exceptions: Vec<usize>,
    /// There are more of them than wanted: it ended there.
    wild: bool,
}

/// Finds the exceptions of each block, at most so many in each; `None` if more elements than
/// `wild` are in blocks with more.
fn blocks<T, E>(v: &[T], exception: &E, most: usize, wild: usize, workers: usize) -> Option<Vec<Block>>
where
    T: Sync,
    E: Fn(&T, &T) -> bool + Sync,
{
    let (pairs, size) = (v.len() - 1, v.len().div_ceil(BLOCKS * workers).max(BLOCK));
    let block = |start: usize| Block { pairs: start..pairs.min(start + size), exceptions: Vec::new(), wild: false };
    let mut blocks: Vec<Block> = (0..pairs).step_by(size).map(block).collect();
    // Relaxed: the answers go through the joins; this may be late, which costs only time.
    let (found, runs) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let is_over = || found.load(Relaxed) > wild || runs.load(Relaxed) >= RUNS;
    // (A pair may have its second element in the next block: elements are shared, hence `T: Sync`.)
    let search = |block: &mut Block| {
        if is_over() {
            return;
        }
        let Range { start, end } = block.pairs;
        let mut at = start;
        // (A loop of nothing but comparisons: in one with the rest in it each took half as long
        // again.)
        while let Some(n) = v[at..=end].windows(2).position(|pair| exception(&pair[0], &pair[1])) {
            at += n + 1;
            if block.exceptions.len() == most {
                block.wild = true;
                found.fetch_add(end - start, Relaxed);
                return;
            }
            block.exceptions.push(at);
        }
        runs.fetch_add(block.exceptions.len(), Relaxed);
    };
    // The first one alone: often it tells.
    let (first, others) = blocks.split_first_mut()?;
    search(first);
    fork::each(others, &search);
    if is_over() { None } else { Some(blocks) }
}

/// What the blocks come to.
fn shape(blocks: Vec<Block>) -> Shape {
    let mut runs: Vec<Run> = Vec::new();
    for Block { pairs, exceptions, wild } in blocks {
        // The pair across the blocks' border is the block's before: an exception there is the start
        // of this one.
        if wild && runs.last().is_some_and(|last| last.start == pairs.start) {
            // What begins there is in no order.
            runs.pop();
        }
        if runs.last().is_none_or(|last| last.in_order == wild) {
            runs.push(Run { start: pairs.start, in_order: !wild });
        }
        if !wild {
            runs.extend(exceptions.into_iter().map(|start| Run { start, in_order: true }));
        }
        if runs.len() > RUNS {
            return Shape::Other;
        }
    }
    match runs[..] {
        [Run { in_order: true, .. }] => Shape::Sorted,
        [_] => Shape::Other,
        _ => Shape::Runs(runs),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn shape(v: &[u32]) -> Shape {
        detect(v, &u32::cmp, 2)
    }

    #[test]
    fn shapes() {
        let up: Vec<u32> = (0..100_000).collect();
        let down: Vec<u32> = (0..100_000).rev().collect();
        assert_eq!(shape(&up), Shape::Sorted);
        assert_eq!(shape(&down), Shape::Reversed);
        assert_eq!(shape(&[7; 100_000]), Shape::Sorted);
        // Turned around these would change places.
        assert_eq!(shape(&[&down[..], &[0]].concat()), Shape::Other);
        assert_eq!(shape(&[]), Shape::Sorted);
        assert_eq!(shape(&[1]), Shape::Sorted);
        assert_eq!(shape(&[2, 1]), Shape::Reversed);
    }

    fn ordered(starts: impl IntoIterator<Item = usize>) -> Shape {
        Shape::Runs(starts.into_iter().map(|start| Run { start, in_order: true }).collect())
    }

    #[test]
    fn runs_wherever_they_begin() {
        for starts in [vec![50_000], vec![2], vec![99_999], vec![3, 4096, 4097, 12_288, 70_000]] {
            // Each run begins below the end of the one before.
            let run = |i: u32| starts.iter().filter(|&&start| start <= i as usize).count() as u32;
            let v: Vec<u32> = (0..100_000).map(|i| 1_000_000 * (10 - run(i)) + i).collect();
            assert_eq!(shape(&v), ordered(std::iter::once(0).chain(starts)));
        }
        // The first pair says "down".
        let v: Vec<u32> = [1].into_iter().chain(0..100_000).collect();
        assert_eq!(shape(&v), ordered([0, 1]));
    }

    /// Where a part is in no order: at the front, at the end, between, wherever the blocks begin.
    #[test]
    fn a_part_in_no_order() {
        for part in [0..2000, 98_000..100_000, 50_000..53_000, 4000..8200, 8190..8192 + 300] {
            let wild = |i: u32| (i.wrapping_mul(0x9e37_79b9) >> 7) % 100_000;
            let v: Vec<u32> = (0..100_000).map(|i| if part.contains(&i) { wild(i) } else { i }).collect();
            let Shape::Runs(runs) = shape(&v) else { panic!("{part:?}: {:?}", shape(&v)) };
            assert_eq!(runs[0].start, 0);
            assert!(runs.windows(2).all(|pair| pair[0].start < pair[1].start));
            let ends = runs[1..].iter().map(|run| run.start).chain([v.len()]);
            for (run, end) in runs.iter().zip(ends) {
                assert_eq!(run.in_order, v[run.start..end].is_sorted(), "{part:?}: {run:?} to {end}");
                assert!(run.in_order || end - run.start <= part.len() + 2 * BLOCK, "{part:?}: {run:?} to {end}");
            }
        }
    }

    #[test]
    fn more_than_a_part_in_no_order() {
        let v: Vec<u32> = (0..100_000_u32).map(|i| if i < 75_000 { i } else { i.wrapping_mul(0x9e37_79b9) }).collect();
        assert_eq!(shape(&v), Shape::Other);
    }

    /// It ends when there are too many runs, wherever they are.
    #[test]
    fn too_many_runs_are_soon_told() {
        let v: Vec<u32> = (0..4_000_000).map(|i| i % 50_000).collect();
        let calls = AtomicUsize::new(0);
        let cmp = |a: &u32, b: &u32| {
            calls.fetch_add(1, Relaxed);
            a.cmp(b)
        };
        assert_eq!(detect(&v, &cmp, 2), Shape::Other);
        let calls = calls.into_inner();
        assert!(calls < v.len() / 2, "{calls} of {}", v.len());
    }

    #[test]
    fn too_many_runs() {
        let v: Vec<u32> = (0..100_000).map(|i| i % 5000).collect();
        assert_eq!(shape(&v), Shape::Other);
    }

    /// A part in no order that begins at a block's border, below what is before it.
    #[test]
    fn a_part_that_begins_with_a_block() {
        let v: Vec<u32> = (0..100_000)
            .map(|i: u32| if (8192..8492).contains(&i) { i.wrapping_mul(0x9e37_79b9) % 8000 } else { i })
            .collect();
        let Shape::Runs(runs) = detect(&v, &u32::cmp, 2) else { panic!("it has runs") };
        assert!(runs.windows(2).all(|pair| pair[0].start < pair[1].start), "{runs:?}");
    }

    /// More exceptions at the end, or fewer: the same shape.
    #[test]
    fn as_many_as_you_like_at_the_end() {
        let mut other = Vec::new();
        for appended in 1..40_u32 {
            let v: Vec<u32> = (0..100_000).map(|i| 1000 + i).chain((0..appended).rev()).collect();
            if detect(&v, &u32::cmp, 2) == Shape::Other {
                other.push(appended);
            }
        }
        assert_eq!(other, [0; 0], "appended so many: all is sorted");
    }

    /// Against an obvious one: random parts, small values, all lengths about the limits.
    #[test]
    fn runs_are_what_they_say() {
        let mut seed = 1_u64;
        let mut rng = move |n: usize| {
            seed = seed.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (seed >> 33) as usize % n
        };
        for case in 0..400 {
            let n = [16_384, 16_385, 20_480, 20_481, 32_768, 32_769, 40_000, 65_537][rng(8)];
            let span = [3, 1000, 1 << 20][rng(3)];
            let mut v: Vec<u32> = (0..n).map(|i| (i * span / n) as u32).collect();
            for _ in 0..rng(4) {
                let len = rng(n / 16).max(1);
                let at = [0, n - len, rng(n - len), rng(n - len) / 4096 * 4096][rng(4)];
                v[at..at + len].iter_mut().for_each(|x| *x = rng(span) as u32);
            }
            match detect(&v, &u32::cmp, 1 + rng(3)) {
                Shape::Sorted => assert!(v.is_sorted(), "{case}"),
                Shape::Reversed => assert!(v.windows(2).all(|p| p[0] > p[1]), "{case}"),
                Shape::Other => {}
                Shape::Runs(runs) => {
                    assert_eq!(runs[0].start, 0);
                    assert!(runs.len() <= RUNS && runs.len() > 1);
                    let ends = runs[1..].iter().map(|run| run.start).chain([n]);
                    let mut unordered = 0;
                    for (run, end) in runs.iter().zip(ends) {
                        assert!(run.start < end, "{case}: empty run at {end}");
                        assert!(!run.in_order || v[run.start..end].is_sorted(), "{case}");
                        unordered += if run.in_order { 0 } else { end - run.start };
                    }
                    assert!(unordered <= n / WILD + 1, "{case}");
                }
            }
        }
    }
}
