//! Hashing for tables of the library's own.
//!
//! [`Spread`] is for numbers that no outsider chooses: addresses, and numbers that are counted up.
//! One multiplication. [`Keyed`] is for keys of the program, which outsiders may have chosen: a
//! multiplication by a secret number for each eight bytes, as of foldhash and wyhash. Whoever knows
//! neither that number nor how long a look takes cannot choose keys that collide. std's own hash
//! withstands more, and takes 140 instructions for a number; `Keyed` takes fifteen.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

/// A hash table with such keys.
pub type Numbers<K, V> = HashMap<K, V, BuildHasherDefault<Spread>>;

/// A number, spread over all bits: std's table uses the lowest and the highest ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.0 = fold(self.0 ^ number, FACTOR);
    }
    #[inline(always)]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Two to the 64, by the golden ratio.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Both halves of the product.
#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product >> 64) as u64 ^ product as u64
}

/// A number spread twice, for tables without chains: numbers in even steps are in even steps after
/// one multiplication, and a second row of them then meets the first one at nearly each place, or
/// nowhere.
#[inline]
pub fn spread_twice(number: u64) -> u64 {
    fold(fold(number, FACTOR), FACTOR)
}

/// A table's secret.
#[derive(Debug, Clone)]
pub struct Keyed {
    begin: u64,
    factor: u64,
}

impl Keyed {
    /// With this secret, of which nobody outside of the process knows anything.
    pub fn new(secret: [u64; 2]) -> Keyed {
        let [begin, factor] = secret;
        // (All products by none, and by all ones, fold to one word.)
        let factor = if factor.wrapping_add(1) <= 1 { FACTOR } else { factor };
        Keyed { begin, factor }
    }
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;
    #[inline(always)]
    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher { state: self.begin, factor: self.factor }
    }
}

/// See [`Keyed`].
#[derive(Debug)]
pub struct KeyedHasher {
    state: u64,
    factor: u64,
}

/// A number is written as eight bytes.
macro_rules! numbers {
    ($($write:ident $of:ident),*) => {$(
        #[inline(always)]
        fn $write(&mut self, number: $of) {
            self.write_u64(number as u64);
        }
    )*};
}

impl Hasher for KeyedHasher {
    fn write(&mut self, bytes: &[u8]) {
        // (The length: what is filled up with zeros differs from what ends in zeros.)
        self.write_usize(bytes.len());
        for some in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..some.len()].copy_from_slice(some);
            self.write_u64(u64::from_le_bytes(word));
        }
    }
    #[inline(always)]
    fn write_u64(&mut self, number: u64) {
        self.state = fold(self.state ^ number, self.factor);
    }
    numbers!(write_u8 u8, write_u16 u16, write_u32 u32, write_usize usize);
    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
        self.write_u64((number >> 64) as u64);
    }
    /// (Once more: after one multiplication the hashes of numbers in even steps are in even steps,
    /// too, and with some secrets have few different bits at one end.)
    #[inline(always)]
    fn finish(&self) -> u64 {
        fold(self.state, FACTOR)
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::{Keyed, Spread, spread_twice};
    use std::collections::HashSet;
    use std::hash::{BuildHasher, BuildHasherDefault};

    /// Of addresses, which are multiples, and of small numbers the low bits and the high ones are
    /// about as often different as chance has it: two thirds.
    #[test]
    fn low_and_high_bits_are_spread() {
        let build = BuildHasherDefault::<Spread>::default();
        for step in [1, 8, 64, 4096, 1 << 20, 1 << 32] {
            let hashes: Vec<u64> = (0..4096_usize).map(|i| build.hash_one(0x7f00_0000_0000 + i * step)).collect();
            let low: HashSet<u64> = hashes.iter().map(|hash| hash & 4095).collect();
            let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
            assert!(low.len() > 2000 && high.len() > 120, "steps of {step}: {} {}", low.len(), high.len());
        }
    }

    /// Two rows of 100 records, wherever the allocator has put them, meet at some of 4,096 places,
    /// as chance has it: 2 or 3. (After one multiplication one pair of rows in a hundred meets at
    /// half of the places.)
    #[test]
    fn two_rows_of_addresses_meet_seldom() {
        let place = |address: u64| spread_twice(address) >> 52;
        // Arenas are 64 MB apart.
        let row = |arena: u64, at: u64| {
            let first = 0x7f00_0000_0000 + arena * 0x400_0000 + at * 64;
            (0..100).map(move |i| first + 64 * i)
        };
        for n in 0..4_000 {
            let (one, other): (Vec<u64>, Vec<u64>) =
                (row(0, n * 7 % 512).collect(), row(n % 61, n * 13 % 512).collect());
            if one[0].abs_diff(other[0]) > 64 * 100 {
                let places: HashSet<u64> = one.into_iter().map(place).collect();
                let meet = other.into_iter().filter(|&address| places.contains(&place(address))).count();
                assert!(meet <= 16, "{n}: {meet}");
            }
        }
    }

    fn keyed(secret: u64) -> Keyed {
        let build = BuildHasherDefault::<Spread>::default();
        Keyed::new([build.hash_one(secret), build.hash_one(!secret)])
    }

    /// The same of numbers and of texts, in tables with secrets of their own.
    #[test]
    fn keyed_hashes_are_spread() {
        for secret in 0..50 {
            let build = keyed(secret);
            let far_apart = (0..4096_u64).map(|i| build.hash_one(i << 40)).collect();
            let numbers = (0..4096_u64).map(|i| build.hash_one(i)).collect();
            let texts = (0..4096).map(|i| build.hash_one(format!("a/longer/topic/{i}"))).collect();
            let kinds: [Vec<u64>; 3] = [far_apart, numbers, texts];
            for hashes in kinds {
                let low: HashSet<u64> = hashes.iter().map(|hash| hash & 4095).collect();
                let high: HashSet<u64> = hashes.iter().map(|hash| hash >> 57).collect();
                assert!(low.len() > 2000 && high.len() > 120, "{} {}", low.len(), high.len());
            }
        }
    }

    /// Each byte counts, and how many there are; and no two tables agree.
    #[test]
    fn keyed_hashes_differ() {
        let (build, other) = (keyed(1), keyed(2));
        let mut seen = HashSet::new();
        for len in 0..40_usize {
            assert!(seen.insert(build.hash_one(vec![0_u8; len].as_slice())));
            assert!((0..len).all(|at| {
                let mut bytes = vec![0_u8; len];
                bytes[at] = 1;
                seen.insert(build.hash_one(bytes.as_slice()))
            }));
        }
        let tuples = [(0_u32, 1_u32), (1, 0), (0, 0), (1, 1)].map(|pair| build.hash_one(pair));
        assert_eq!(HashSet::from(tuples).len(), 4);
        assert_ne!(build.hash_one(7_u128 << 64), build.hash_one(7_u128));
        assert_ne!(build.hash_one("topic"), other.hash_one("topic"));
    }
}
