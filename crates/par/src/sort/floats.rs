//! Sorting floating-point numbers as integers: quicksort down to parts that fit in a cache, which
//! are sorted by digits (`digits.rs`).

use super::presorted::{self, Shape};
use super::{SERIAL, digits, few, fork, quick, unstable};
use std::cmp::Ordering::{Greater, Less};

/// `f32` and `f64`: what [`sort_floats`](super::sort_floats) sorts.
pub trait Float: sealed::Sealed {}

impl Float for f32 {}
impl Float for f64 {}

mod sealed {
    use crate::sort::digits::DigitKey;
    use std::cmp::Ordering;

    /// What the sort needs of them.
    pub trait Sealed: Copy + PartialOrd + Send + Sync {
        /// The integer of the same size.
        type Bits: DigitKey + Send + Sync;
        /// IEEE's total order.
        fn total(&self, other: &Self) -> Ordering;
        /// Turns bits into an integer whose order is the total order, and such an integer into the
        /// bits.
        fn flip(bits: Self::Bits) -> Self::Bits;
    }

    impl Sealed for f64 {
        type Bits = i64;
        fn total(&self, other: &Self) -> Ordering {
            self.total_cmp(other)
        }
        fn flip(bits: i64) -> i64 {
            // Of negative numbers, all bits but the sign: then a greater magnitude is a smaller
            // integer.
            bits ^ ((bits >> 63) as u64 >> 1) as i64
        }
    }

    impl Sealed for f32 {
        type Bits = i32;
        fn total(&self, other: &Self) -> Ordering {
            self.total_cmp(other)
        }
        fn flip(bits: i32) -> i32 {
            bits ^ ((bits >> 31) as u32 >> 1) as i32
        }
    }
}

/// Sorts floating-point numbers, in parallel and (but for at most half a megabyte for each worker)
/// in place, in IEEE's total order: that of [`f64::total_cmp`].
///
/// Negative NaNs come first, then numbers from `-inf` to `inf` with `-0.0` before `0.0`, then
/// positive NaNs. Numbers that are equal have the same bits, so the question of stability does not
/// arise. They are turned into integers of the same order and sorted as these, parts of them by
/// their digits, which is what a comparator cannot tell the other sorts: it takes two thirds of
/// their time, or less.
///
/// # Blocking
/// Until they are sorted.
///
/// # Panics
/// Never.
///
/// # Cancellation
/// Arrives where the sort waits for other workers. Then each number is in the slice exactly once,
/// in some order.
///
/// # Examples
/// ```
/// let mut v = [2.5, -0.0, f64::NAN, 0.0, f64::NEG_INFINITY];
/// myriad::par::sort_floats(&mut v);
/// assert_eq!(v[..4], [f64::NEG_INFINITY, -0.0, 0.0, 2.5]);
/// assert!(v[1].is_sign_negative() && v[4].is_nan());
/// ```
pub fn sort_floats<F: Float>(v: &mut [F]) {
    if v.len() < SERIAL {
        return v.sort_unstable_by(F::total);
    }
    fork::on_workers(|workers| {
        // (The same order: two numbers that differ in value are soon told. The look at sorted ones
        // asks for `Greater`.)
        let order = |a: &F, b: &F| {
            if a > b {
                Greater
            } else if a < b {
                Less
            } else {
                F::total(a, b)
            }
        };
        match presorted::detect(v, &order, workers) {
            Shape::Sorted => return,
            Shape::Reversed => return v.reverse(),
            Shape::Runs(runs) if unstable::by_insertion(v, &runs, &F::total, workers) => return,
            _ => {}
        }
        // Of these the digits tell little, and to find that out takes as long as half of the sort.
        if few::are_few_values(v, &F::total) {
            return match workers {
                1 => v.sort_unstable_by(F::total),
                _ => quick::sort(v, &F::total, workers),
            };
        }
        const { assert!(size_of::<F>() == size_of::<F::Bits>() && align_of::<F>() == align_of::<F::Bits>()) };
        // SAFETY: as large and aligned alike; any bits are a number of either type.
        let bits = unsafe { std::slice::from_raw_parts_mut(v.as_mut_ptr().cast::<F::Bits>(), v.len()) };
        let grain = fork::grain(bits.len(), workers, 1 << 14);
        let mut integers = Integers::<F> { flipped: vec![false; bits.len().div_ceil(grain)], bits, grain };
        integers.flip();
        quick::by_leaves(integers.bits, &F::Bits::cmp, &digits::sort, digits::MOST, workers);
        integers.flip();
    })
}

/// Numbers, parts of which are integers at the moment. If a cancellation ends the sort they become
/// numbers again.
struct Integers<'a, F: Float> {
    bits: &'a mut [F::Bits],
    grain: usize,
    /// Of each part.
    flipped: Vec<bool>,
}

impl<F: Float> Integers<'_, F> {
    /// Numbers to integers, or the reverse.
    fn flip(&mut self) {
        let mut parts: Vec<_> = self.bits.chunks_mut(self.grain).zip(&mut self.flipped).collect();
        fork::each(&mut parts, &|(part, flipped)| flip::<F>(part, flipped));
    }
}

impl<F: Float> Drop for Integers<'_, F> {
    fn drop(&mut self) {
        for (part, flipped) in self.bits.chunks_mut(self.grain).zip(&mut self.flipped) {
            if *flipped {
                flip::<F>(part, flipped);
            }
        }
    }
}

fn flip<F: Float>(part: &mut [F::Bits], flipped: &mut bool) {
    for bits in part {
        *bits = F::flip(*bits);
    }
    *flipped = !*flipped;
}
