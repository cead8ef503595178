//! Sums, the same bits on each run.

use super::tree;
use crate::number::Number;

/// Values in a leaf.
const LEAF: usize = 4096;
/// Sums that a leaf keeps side by side. So many, that the adder's latency does not count with
/// vectors of any width up to 64 bytes; and fixed, because the number is part of the result.
const LANES: usize = 16;

/// The sum of all elements.
///
/// Of floats it is the same, to the bit, on each run, with any number of workers and on any
/// processor, and more exact than a loop's: leaves of 4096 elements, in each 16 sums side by side,
/// combined by a fixed binary tree. It runs as fast as memory can be read.
///
/// # Blocking
/// Until the sum is there, and all parts have ended.
///
/// # Panics
/// If an integer overflows, where that is checked; else it wraps around.
///
/// # Cancellation
/// As [`for_each_index`](crate::for_each_index).
///
/// # Examples
/// ```
/// let xs: Vec<f64> = (0..100_000).map(|i| f64::from(i).sqrt()).collect();
/// let once = myriad::par::sum(&xs);
/// assert!((0..10).all(|_| myriad::par::sum(&xs).to_bits() == once.to_bits()));
/// ```
#[track_caller]
pub fn sum<T: Number>(xs: &[T]) -> T {
    if xs.len() <= LEAF {
        return leaf(xs);
    }
    let value = |number: usize| leaf(&xs[number * LEAF..xs.len().min((number + 1) * LEAF)]);
    tree(xs.len().div_ceil(LEAF), &value, &|a, b| a + b)
}

fn leaf<T: Number>(xs: &[T]) -> T {
    let (rows, rest) = xs.as_chunks::<LANES>();
    let mut lanes = [T::ZERO; LANES];
    for row in rows {
        for (lane, x) in lanes.iter_mut().zip(row) {
            *lane = *lane + *x;
        }
    }
    for (lane, x) in lanes.iter_mut().zip(rest) {
        *lane = *lane + *x;
    }
    let mut width = LANES / 2;
    while width > 0 {
        for i in 0..width {
            lanes[i] = lanes[i] + lanes[i + width];
        }
        width /= 2;
    }
    lanes[0]
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn whole_numbers_are_exact() {
        for n in [0_usize, 1, 15, 16, 17, 4095, 4096, 4097, 100_000] {
            let xs: Vec<u64> = (0..n as u64).collect();
            assert_eq!(sum(&xs), (n as u64 * n.saturating_sub(1) as u64) / 2, "{n}");
            let xs: Vec<f64> = xs.into_iter().map(|x| x as f64).collect();
            assert_eq!(sum(&xs), (n * n.saturating_sub(1) / 2) as f64, "{n}");
        }
    }

    /// The contract, by its definition: whoever changes lanes or leaves changes results.
    #[test]
    fn the_bits_are_those_of_the_definition() {
        let xs: Vec<f64> = (0..3 * LEAF + 777).map(|i| (i as f64 * 0.7).sin() * 1e3).collect();
        let leaf = |xs: &[f64]| {
            let lane = |k: usize| xs.iter().skip(k).step_by(16).fold(-0.0, |sum, x| sum + x);
            let mut lanes: Vec<f64> = (0..16).map(lane).collect();
            while lanes.len() > 1 {
                let half = lanes.len() / 2;
                lanes = (0..half).map(|i| lanes[i] + lanes[i + half]).collect();
            }
            lanes[0]
        };
        let leaves: Vec<f64> = xs.chunks(LEAF).map(leaf).collect();
        let expected = (leaves[0] + leaves[1]) + (leaves[2] + leaves[3]);
        assert_eq!(sum(&xs).to_bits(), expected.to_bits());
        assert_eq!(sum(&[-0.0_f64]).to_bits(), (-0.0_f64).to_bits());
    }
}
