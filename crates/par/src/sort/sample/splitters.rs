//! Splitters: elements of the slice between which the buckets lie.

use super::Classify;
use super::classify;
use crate::sort::Random;
use std::cmp::Ordering::{self, Less};
use std::mem::MaybeUninit;

/// The number of a bucket.
pub(crate) type Id = u16;

/// Elements looked at for each bucket: the largest bucket is seldom twice the mean.
const OVERSAMPLING: usize = 16;
/// The most ranges between splitters: their lines, and the ends of their buckets, are to stay in
/// the first-level cache.
const MOST: usize = 256;
/// About so many elements in a bucket: fewer are sorted faster by std than by another level of the
/// tree.
const BUCKET: usize = 1 << 12;

/// A search tree of splitters.
pub(super) struct Splitters<'a, T, F> {
    /// `tree[1]` is the root, the children of `i` are `2 i` and `2 i + 1`; `tree[0]` is not used.
    tree: Vec<&'a T>,
    /// The splitter at the lower end of each range; `[0]` is not used.
    lower: Vec<&'a T>,
    /// The tree's levels.
    levels: u32,
    /// Has each range a bucket of its own for the elements that equal its lower end?
    equal: bool,
    cmp: &'a F,
}

impl<'a, T: Sync, F: Fn(&T, &T) -> Ordering + Sync> Splitters<'a, T, F> {
    /// From a sample of the elements, of which there are some.
    pub(super) fn choose(v: &'a [T], cmp: &'a F) -> Self {
        let ranges = (v.len() / BUCKET).clamp(2, MOST).next_power_of_two();
        let mut sample = sample(v, OVERSAMPLING * ranges);
        sample.sort_unstable_by(|a, b| cmp(a, b));
        // At equal distances, those that are greater than the one before.
        let mut chosen: Vec<&T> = Vec::with_capacity(ranges);
        for i in 1..ranges {
            let next = sample[i * OVERSAMPLING];
            if chosen.last().is_none_or(|last| cmp(last, next) == Less) {
                chosen.push(next);
            }
        }
        // The same value twice: it is frequent, and worth a bucket that is not sorted.
        let equal = chosen.len() < ranges - 1;
        Self::new(&chosen, equal, cmp)
    }

    /// From splitters in order, at least one.
    fn new(chosen: &[&'a T], equal: bool, cmp: &'a F) -> Self {
        let ranges = (chosen.len() + 1).next_power_of_two();
        let last = chosen[chosen.len() - 1];
        // Filled up with the last: between these the ranges are empty.
        let sorted = |i: usize| chosen.get(i).copied().unwrap_or(last);
        let levels = ranges.trailing_zeros();
        let tree = (0..ranges)
            .map(|i| match i {
                0 => last,
                // Of the nodes of its level it is the `at`-th; in order it has `2 at + 1` halves of
                // a subtree before it.
                _ => {
                    let level = i.ilog2();
                    let at = i - (1 << level);
                    sorted((2 * at + 1) * (ranges >> (level + 1)) - 1)
                }
            })
            .collect();
        let lower = (0..ranges).map(|i| if i == 0 { last } else { sorted(i - 1) }).collect();
        Splitters { tree, lower, levels, equal, cmp }
    }
}

impl<T: Sync, F: Fn(&T, &T) -> Ordering + Sync> Classify<T> for Splitters<'_, T, F> {
    fn buckets(&self) -> usize {
        self.tree.len() << u32::from(self.equal)
    }

    fn is_sorted(&self, bucket: usize) -> bool {
        self.equal && bucket.is_multiple_of(2)
    }

    fn classify(&self, v: &[T], ids: &mut [MaybeUninit<Id>], counts: &mut [usize]) {
        let (tree, levels, cmp) = (&*self.tree, self.levels, self.cmp);
        let lower = &*self.lower;
        // In the order of `x < splitter`: an element that equals a splitter goes to its right.
        let less = |i: usize, x: &T| cmp(x, tree[i]) == Less;
        if self.equal {
            // Those that are equal, then those that are greater. The first range has no lower end:
            // all are greater, and its bucket of equal ones stays empty.
            let bucket = |i: usize, x: &T| {
                let range = i - tree.len();
                2 * range + usize::from((range == 0) | (cmp(lower[range], x) == Less))
            };
            classify::interleaved(v, ids, counts, levels, less, bucket);
        } else {
            classify::interleaved(v, ids, counts, levels, less, |i, _| i - tree.len());
        }
    }
}

/// So many elements from anywhere, the same each time.
fn sample<T>(v: &[T], count: usize) -> Vec<&T> {
    let mut random = Random::new(v.len());
    (0..count).map(|_| &v[random.below(v.len())]).collect()
}

#[cfg(test)]
mod test {
    use super::*;

    fn bucket_of(splitters: &Splitters<'_, u32, impl Fn(&u32, &u32) -> Ordering + Sync>, x: u32) -> usize {
        let (mut ids, mut counts) = ([MaybeUninit::uninit()], vec![0; splitters.buckets()]);
        splitters.classify(&[x], &mut ids, &mut counts);
        counts.iter().position(|&count| count == 1).expect("it is counted")
    }

    #[test]
    fn buckets_are_the_ranges_between_splitters() {
        for count in 1..40 {
            let values: Vec<u32> = (1..=count).map(|i| 10 * i).collect();
            let chosen: Vec<&u32> = values.iter().collect();
            let cmp = u32::cmp;
            let plain = Splitters::new(&chosen, false, &cmp);
            let equal = Splitters::new(&chosen, true, &cmp);
            let mut before = (0, 0);
            for x in 0..10 * count + 20 {
                let range = (x / 10).min(count) as usize;
                // What is as great as the last splitter lies behind those that it is filled up
                // with.
                let range = if range == count as usize { plain.buckets() - 1 } else { range };
                assert_eq!(bucket_of(&plain, x), range, "{x} of {count}");
                let is_equal = x > 0 && x % 10 == 0 && x <= 10 * count;
                let now = bucket_of(&equal, x);
                // Equal ones lie in front of the greater ones of their range.
                assert_eq!(equal.is_sorted(now), is_equal, "{x} of {count}");
                assert!(before <= (now, x), "{x} of {count}");
                before = (now, x);
            }
        }
    }

    #[test]
    fn a_frequent_value_gets_a_bucket_of_its_own() {
        let v: Vec<u32> = (0..100_000).map(|i| if i % 3 == 0 { i } else { 50_000 }).collect();
        let cmp = u32::cmp;
        let splitters = Splitters::choose(&v, &cmp);
        assert!(splitters.equal);
        let bucket = bucket_of(&splitters, 50_000);
        assert!(splitters.is_sorted(bucket));
        assert_ne!(bucket_of(&splitters, 50_001), bucket);
        assert_ne!(bucket_of(&splitters, 49_999), bucket);
    }
}
