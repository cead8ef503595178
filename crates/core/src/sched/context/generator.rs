//! The generator of random numbers.
//!
//! - **Numbers**: xoshiro256++ 1.0, by David Blackman and Sebastiano Vigna (prng.di.unimi.it,
//!   public domain).
//! - **Seeding**: the words of the state are outputs of SplitMix64 begun at the seed, as its
//!   authors advise.
//! - **Forking**: each generator has a fifth word, a SplitMix64 of its own that is used for nothing
//!   but forks, so a fork does not disturb the stream of numbers. A child's word is a hash of the
//!   parent's word and of the next output of that. The hash is the finalizer of MurmurHash3, which
//!   is not linear: with sums alone, streams of relatives would be related (Julia 1.10 had that;
//!   the idea of the fifth word, and that a child depends on the parent's whole state, are Julia's
//!   too).
//!
//! Not for secrets.

use std::ops::{Range, RangeInclusive};

/// A stream of random numbers, and a source of further streams.
///
/// The same seed gives the same numbers, on every machine and in every run. (Not in every version:
/// a new minor version may have another algorithm.) Not for secrets.
///
/// A task has one of its own: [`rng`](crate::task::rng::rng()). This type is for those who want it
/// in their hands, say in a tight loop: `rng().fork()`. With the feature `rand_core` it has that
/// crate's traits. (Not `Copy`: an accidental copy would draw the same numbers again.)
///
/// # Examples
/// ```
/// use myriad::rng::Generator;
/// let mut a = Generator::from_seed(42);
/// let mut b = a.fork();                       // another stream
/// assert_ne!(a.next_u64(), b.next_u64());
/// assert!((1..=6).contains(&a.range(1..=6)) && (0.0..1.0).contains(&a.f64()));
/// let (mut bytes, mut cards) = ([0; 8], [1, 2, 3]);
/// a.fill(&mut bytes);
/// b.shuffle(&mut cards);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generator {
    state: [u64; 4],
    forks: u64,
}

/// The step of SplitMix64: the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64's next output (Guy Steele, Doug Lea, Christine Flood, 2014; finalizer by David
/// Stafford, variant 13).
fn split_mix(x: &mut u64) -> u64 {
    *x = x.wrapping_add(GOLDEN);
    let mut z = *x;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// The finalizer of MurmurHash3 (Austin Appleby): a bijection.
fn murmur_mix(mut z: u64) -> u64 {
    z = (z ^ z >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    z = (z ^ z >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    z ^ z >> 33
}

impl Generator {
    /// The generator of this seed.
    pub fn from_seed(seed: u64) -> Generator {
        let mut x = seed;
        Generator { state: std::array::from_fn(|_| split_mix(&mut x)), forks: split_mix(&mut x) }.not_zero()
    }

    /// All zeros is the one state from which xoshiro does not move.
    fn not_zero(mut self) -> Generator {
        if self.state == [0; 4] {
            self.state[0] = GOLDEN;
        }
        self
    }

    /// Another generator, for another task: its numbers have nothing to do with this one's, and
    /// this one's numbers go on as if there had been no fork. A further fork is different again.
    pub fn fork(&mut self) -> Generator {
        let x = &mut self.forks;
        let state = self.state.map(|word| murmur_mix(word.wrapping_add(split_mix(x))));
        Generator { state, forks: murmur_mix(split_mix(x)) }.not_zero()
    }

    /// The next 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number in `0.0..1.0`: a multiple of 2^-53, each equally probable.
    #[inline]
    pub fn f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A number of this range, each equally probable: `range(0..n)`, `range(1..=6)`, of any type of
    /// integers.
    ///
    /// # Panics
    /// If the range is empty.
    #[inline]
    #[track_caller]
    pub fn range<R: Span>(&mut self, range: R) -> R::Item {
        range.check();
        range.pick(self)
    }

    /// A number below `n`, which is not 0; any number if it is. (Lemire's method: no division, most
    /// often.)
    #[inline]
    fn below(&mut self, n: u64) -> u64 {
        if n == 0 {
            return self.next_u64();
        }
        let mut wide = u128::from(self.next_u64()) * u128::from(n);
        if (wide as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (wide as u64) < threshold {
                wide = u128::from(self.next_u64()) * u128::from(n);
            }
        }
        (wide >> 64) as u64
    }

    /// Fills a slice with random bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.next_u64().to_le_bytes()[..chunk.len()]);
        }
    }

    /// Shuffles a slice; each order is equally probable (as far as a seed of 64 bits goes). Linear.
    pub fn shuffle<T>(&mut self, slice: &mut [T]) {
        for i in (1..slice.len()).rev() {
            slice.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

/// A range of integers, from which [`Generator::range`] picks.
pub trait Span: sealed::Sealed {
    /// The type of the numbers.
    type Item;
    #[doc(hidden)]
    fn check(&self);
    #[doc(hidden)]
    fn pick(self, generator: &mut Generator) -> Self::Item;
}

macro_rules! spans {
    ($($t:ty)*) => {$(
        impl sealed::Sealed for Range<$t> {}
        impl Span for Range<$t> {
            type Item = $t;
            #[inline]
            #[track_caller]
            fn check(&self) {
                assert!(self.start < self.end, "an empty range has no random number: {:?}", self);
            }
            #[inline]
            fn pick(self, generator: &mut Generator) -> $t {
                self.start.wrapping_add(generator.below(self.end.wrapping_sub(self.start) as u64 & mask!($t)) as $t)
            }
        }
        impl sealed::Sealed for RangeInclusive<$t> {}
        impl Span for RangeInclusive<$t> {
            type Item = $t;
            #[inline]
            #[track_caller]
            fn check(&self) {
                assert!(!self.is_empty(), "an empty range has no random number: {:?}", self);
            }
            #[inline]
            fn pick(self, generator: &mut Generator) -> $t {
                let width = self.end().wrapping_sub(*self.start()) as u64 & mask!($t);
                self.start().wrapping_add(generator.below(width.wrapping_add(1)) as $t)
            }
        }
    )*};
}

/// The bits of a type: a difference of signed numbers is a number without a sign.
macro_rules! mask {
    ($t:ty) => {
        u64::MAX >> (64 - <$t>::BITS)
    };
}

spans! { u8 u16 u32 u64 usize i8 i16 i32 i64 isize }

#[cfg(test)]
mod test;
