//! Sorting by keys that are numbers.

use super::sample::{self, Classify, Id, Room};
use super::{Random, SERIAL, fork, stable};
use std::mem::MaybeUninit;

/// A key that is a number, or orders as one.
///
/// # Examples
/// ```
/// use myriad::par::sort::RadixKey;
///
/// /// Newest first.
/// #[derive(Clone, Copy)]
/// struct Newest(u32);
///
/// impl RadixKey for Newest {
///     fn radix(&self) -> u64 {
///         u64::MAX - u64::from(self.0)
///     }
/// }
///
/// let mut years = [1989, 2024, 1969];
/// myriad::par::sort_by_radix_key(&mut years, |year| Newest(*year));
/// assert_eq!(years, [2024, 1989, 1969]);
/// ```
pub trait RadixKey {
    /// The number. The order of these numbers is the order of the keys.
    fn radix(&self) -> u64;
}

macro_rules! unsigned {
    ($($type:ty),*) => {$(
        impl RadixKey for $type {
            #[inline]
            fn radix(&self) -> u64 {
                *self as u64
            }
        }
    )*};
}
unsigned!(bool, char, u8, u16, u32, u64, usize);

macro_rules! signed {
    ($($type:ty),*) => {$(
        impl RadixKey for $type {
            #[inline]
            fn radix(&self) -> u64 {
                // The most negative one is 0.
                (*self as i64 ^ i64::MIN) as u64
            }
        }
    )*};
}
signed!(i8, i16, i32, i64, isize);

impl RadixKey for f64 {
    /// In IEEE's total order: as [`f64::total_cmp`].
    #[inline]
    fn radix(&self) -> u64 {
        let bits = self.to_bits() as i64;
        (bits ^ ((bits >> 63) as u64 >> 1) as i64).radix()
    }
}

impl RadixKey for f32 {
    /// In IEEE's total order: as [`f32::total_cmp`].
    #[inline]
    fn radix(&self) -> u64 {
        let bits = self.to_bits() as i32;
        (bits ^ ((bits >> 31) as u32 >> 1) as i32).radix()
    }
}

/// Sorts the slice by a key that is a number, in parallel and stably.
///
/// The key's leading digit takes the place of the first comparisons: faster than
/// [`sort_by_key`](super::sort_by_key) where the numbers are about evenly spread between the least
/// and the greatest; where a sample says that they are not, it is the same. The key should be pure
/// and cheap: it is computed for each comparison.
///
/// # Blocking
/// Until it is sorted.
///
/// # Panics
/// As [`sort_by`](super::sort_by), for the key.
///
/// # Cancellation
/// As [`sort_by`](super::sort_by).
///
/// # Examples
/// ```
/// let mut v = vec![(3.5, 'a'), (-1.0, 'b'), (3.5, 'c')];
/// myriad::par::sort_by_radix_key(&mut v, |pair| pair.0);
/// assert_eq!(v, [(-1.0, 'b'), (3.5, 'a'), (3.5, 'c')]);
/// ```
pub fn sort_by_radix_key<T, K, F>(v: &mut [T], key: F)
where
    T: Send + Sync,
    K: RadixKey,
    F: Fn(&T) -> K + Sync,
{
    let by_key = |a: &T, b: &T| key(a).radix().cmp(&key(b).radix());
    if v.len() < SERIAL || size_of::<T>() == 0 {
        return v.sort_by(by_key);
    }
    fork::on_workers(|workers| {
        let len = v.len();
        let digits = RadixDigits::of(v, &key);
        let room = if digits.is_even { Room::new(len) } else { None };
        match room {
            // SAFETY: the slice is ours, and `digits` has nothing of it.
            Some(room) => unsafe {
                let leaf = |bucket: &mut [T]| bucket.sort_by(by_key);
                sample::by_buckets(v.as_mut_ptr(), len, room, &digits, &leaf, workers);
            },
            None => stable::by(v, &by_key, workers),
        }
    })
}

/// Buckets.
const BUCKETS: usize = 256;
/// Elements that are sampled.
const SAMPLE: usize = 4096;
/// With more than so many times the mean in one bucket of the sample, the numbers are not even
/// enough.
const UNEVEN: usize = 4;

/// The first digit of a number in the range of the numbers that there seem to be.
struct RadixDigits<'a, F> {
    key: &'a F,
    least: u64,
    shift: u32,
    /// Are all digits about as frequent?
    is_even: bool,
}

impl<'a, F> RadixDigits<'a, F> {
    fn of<T, K: RadixKey>(v: &[T], key: &'a F) -> Self
    where
        F: Fn(&T) -> K,
    {
        let mut random = Random::new(v.len());
        let sample: Vec<u64> = (0..SAMPLE).map(|_| key(&v[random.below(v.len())]).radix()).collect();
        let least = sample.iter().copied().min().unwrap_or(0);
        let range = sample.iter().copied().max().unwrap_or(0) - least;
        let shift = (u64::BITS - range.leading_zeros()).saturating_sub(BUCKETS.ilog2());
        let mut digits = RadixDigits { key, least, shift, is_even: false };
        let mut counts = [0; BUCKETS];
        sample.iter().for_each(|&number| counts[digits.digit(number)] += 1);
        digits.is_even = counts.iter().all(|&count| count <= UNEVEN * SAMPLE / BUCKETS);
        digits
    }

    /// Rises with the number, also outside of the sample's range.
    #[inline(always)]
    fn digit(&self, number: u64) -> usize {
        let digit = number.saturating_sub(self.least) >> self.shift;
        digit.min(BUCKETS as u64 - 1) as usize
    }
}

impl<T, K, F> Classify<T> for RadixDigits<'_, F>
where
    K: RadixKey,
    F: Fn(&T) -> K + Sync,
{
    fn buckets(&self) -> usize {
        BUCKETS
    }

    fn is_sorted(&self, _: usize) -> bool {
        false
    }

    fn classify(&self, v: &[T], ids: &mut [MaybeUninit<Id>], counts: &mut [usize]) {
        for (x, id) in v.iter().zip(ids) {
            let digit = self.digit((self.key)(x).radix());
            counts[digit] += 1;
            id.write(digit as Id);
        }
    }
}
