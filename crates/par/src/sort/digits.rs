//! Sorting integers by two digits, in cache.
//!
//! ```text
//!  number - least = | high digit | low digit | the rest |     two to four cells for an element
//!
//!  slice --low digit--> scratch --high digit--> slice         a radix sort, least significant digit first
//!  slice: insertion, for those few that share a cell
//! ```
//! Where the numbers are not spread evenly enough over the cells, std sorts them: the sum of a
//! histogram is all that was in vain, or of some steps of insertion.

use std::mem::MaybeUninit;

/// An integer.
#[allow(unreachable_pub, reason = "a sealed trait names it; Rust 1.90 does not see that")]
pub trait DigitKey: Copy + Ord {
    /// Rises with it.
    fn number(self) -> u64;
}

impl DigitKey for i64 {
    #[inline(always)]
    fn number(self) -> u64 {
        (self ^ i64::MIN) as u64
    }
}

impl DigitKey for i32 {
    #[inline(always)]
    fn number(self) -> u64 {
        (self ^ i32::MIN) as u32 as u64
    }
}

/// More elements than this do not fit in a second-level cache twice.
pub(super) const MOST: usize = 1 << 16;

/// A digit has at most so many bits: its cells are on the stack, 4 bytes each.
const MOST_BITS: u32 = 10;
/// Fewer elements are std's.
const SMALL: usize = 1 << 8;
/// Elements that are sampled to find out where all lie.
const SAMPLE: usize = 1 << 10;
/// There are between 2 and 4 cells for an element (2 to the power of this, and half of it): with
/// one, every second element would be where it is by chance, which costs a wrong guess of the
/// processor's.
const FINER: u32 = 2;
/// If one value of the high digit is more frequent than so many times the mean, std sorts.
const UNEVEN: usize = 8;
/// So many steps of insertion for each element, on average; more, and std sorts.
const STEPS: usize = 4;

/// Sorts the slice, with memory for as many elements, if they are no more than [`MOST`] and it is
/// to be had; else std does it.
pub(super) fn sort<N: DigitKey>(v: &mut [N]) {
    if !by_digits(v) {
        v.sort_unstable();
    }
}

/// False: it is not sorted, or not quite.
fn by_digits<N: DigitKey>(v: &mut [N]) -> bool {
    if !(SMALL..=MOST).contains(&v.len()) {
        return false;
    }
    let Some(digits) = Digits::of(v) else { return v.is_sorted() };
    let mut scratch = Vec::new();
    scratch.try_reserve_exact(v.len()).is_ok() && digits.sort(v, scratch.spare_capacity_mut()) && insert(v)
}

/// Where the two digits of a number are.
#[derive(Clone, Copy)]
struct Digits {
    least: u64,
    greatest: u64,
    shift: u32,
    bits: u32,
    low_bits: u32,
}

impl Digits {
    /// From a sample; a few numbers are less or greater than all of it, and share the cells at the
    /// ends. None: all of that is equal.
    fn of<N: DigitKey>(v: &[N]) -> Option<Self> {
        let sample = || v.iter().step_by(v.len().div_ceil(SAMPLE)).map(|x| x.number());
        let least = sample().min()?;
        let greatest = sample().max()?;
        if least == greatest {
            return None;
        }
        let range_bits = u64::BITS - (greatest - least).leading_zeros();
        let bits = (v.len().ilog2() + FINER).min(2 * MOST_BITS).min(range_bits);
        Some(Digits { least, greatest, shift: range_bits - bits, bits, low_bits: bits / 2 })
    }

    /// Rises with the number; less than `2 ^ bits`.
    #[inline(always)]
    fn cell<N: DigitKey>(self, x: N) -> usize {
        ((x.number().clamp(self.least, self.greatest) - self.least) >> self.shift) as usize
    }

    /// Sorts by the digits alone. False: they are too uneven, and nothing has moved.
    fn sort<N: DigitKey>(self, v: &mut [N], scratch: &mut [MaybeUninit<N>]) -> bool {
        let len = v.len();
        let low = |x: N| self.cell(x) & ((1 << self.low_bits) - 1);
        let high = |x: N| self.cell(x) >> self.low_bits;
        let mut lows = [0_u32; 1 << MOST_BITS];
        let mut highs = [0_u32; 1 << MOST_BITS];
        for &x in &*v {
            lows[low(x)] += 1;
            highs[high(x)] += 1;
        }
        let most = (len >> (self.bits - self.low_bits)) * UNEVEN + SMALL;
        if highs.iter().any(|&count| count as usize > most) {
            return false;
        }
        begins(&mut lows);
        begins(&mut highs);
        let scratch = &mut scratch[..len];
        for &x in &*v {
            let index = &mut lows[low(x)];
            // SAFETY: so many numbers have this digit as were counted, and the next one's have
            // their slots behind them; so it is less than `len`. (A number has the same digit each
            // time: no code of the caller's tells it.)
            unsafe { scratch.get_unchecked_mut(*index as usize).write(x) };
            *index += 1;
        }
        for x in &*scratch {
            // SAFETY: all slots are written, as there are as many as numbers, and each had its
            // own.
            let x = unsafe { x.assume_init() };
            let index = &mut highs[high(x)];
            // SAFETY: the slots are those of the numbers counted before: each is below their
            // number, and is used once.
            unsafe { *v.get_unchecked_mut(*index as usize) = x };
            *index += 1;
        }
        true
    }
}

/// Turns counts into where each one begins.
fn begins(counts: &mut [u32]) {
    let mut next = 0;
    for count in counts {
        next += std::mem::replace(count, next);
    }
}

/// Sorts by insertion what is nearly sorted. False: it is not, and has been given up.
fn insert<N: DigitKey>(v: &mut [N]) -> bool {
    let mut steps = STEPS * v.len();
    for i in 1..v.len() {
        let x = v[i];
        let mut at = i;
        while at > 0 && v[at - 1].number() > x.number() {
            v[at] = v[at - 1];
            at -= 1;
        }
        v[at] = x;
        if i - at > steps {
            return false;
        }
        steps -= i - at;
    }
    true
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::sort::Random;

    fn check(v: &[i64]) {
        let mut sorted = v.to_vec();
        sorted.sort();
        let mut v = v.to_vec();
        sort(&mut v);
        assert_eq!(v, sorted);
    }

    #[test]
    fn of_each_shape() {
        let mut random = Random::new(3);
        for len in [0, 1, 2, 255, 256, 257, 1000, 5000, 40_000, MOST, MOST + 1] {
            let mut even = |most: usize| (0..len).map(|_| random.below(most) as i64).collect::<Vec<_>>();
            check(&even(usize::MAX));
            check(&even(1 << 40));
            let some = even(1 << 30);
            // Of both signs, up to the ends; many of them in few cells.
            check(&some.iter().map(|x| x - (1 << 29)).collect::<Vec<_>>());
            check(&some.iter().map(|x| i64::MAX >> (x % 64)).collect::<Vec<_>>());
            check(&some.iter().map(|x| i64::MIN >> (x % 64)).collect::<Vec<_>>());
            // Equal ones, and so few different ones that there are fewer cells.
            check(&vec![-5; len]);
            check(&even(2));
            check(&even(7));
            check(&even(300));
            // In one cell but for the ends.
            let mut ends: Vec<i64> = (0..len as i64).rev().collect();
            if let [first, .., last] = &mut ends[..] {
                (*first, *last) = (i64::MAX, i64::MIN);
            }
            check(&ends);
            // What the sample does not see.
            let mut one = vec![7; len];
            if let [.., last] = &mut one[..] {
                *last = 6;
            }
            check(&one);
        }
        let mut small: Vec<i32> = (0..5000).map(|i| (i * 7919 % 5003 - 2500) << 19).collect();
        sort(&mut small);
        assert!(small.is_sorted());
    }

    #[test]
    fn even_numbers_need_no_other_sort() {
        let mut random = Random::new(5);
        let mut v: Vec<i64> = (0..50_000).map(|_| random.below(usize::MAX) as i64).collect();
        assert!(by_digits(&mut v) && v.is_sorted());
    }

    #[test]
    fn insertion_gives_up() {
        let mut v: Vec<i64> = (0..1000).rev().collect();
        assert!(!insert(&mut v));
        v.sort();
        assert!(v.iter().copied().eq(0..1000), "none is lost");
        v.swap(3, 4);
        assert!(insert(&mut v) && v.is_sorted());
    }
}
