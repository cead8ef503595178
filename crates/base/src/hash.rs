//! Hashing of numbers that no outsider chooses: addresses, and numbers that are counted up.
//!
//! One multiplication. std's own hash, which withstands keys chosen to collide, takes a hundred
//! instructions for each look at a table.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

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
        let product = u128::from(self.0 ^ number) * 0x9E37_79B9_7F4A_7C15;
        self.0 = (product >> 64) as u64 ^ product as u64;
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

#[cfg(all(test, not(loom)))]
mod test {
    use super::Spread;
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
}
