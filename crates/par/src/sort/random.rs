//! Positions for samples and pivots: the same in each run, so that a sort takes the same steps.

/// A generator (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: usize) -> Self {
        Random(seed as u64)
    }

    /// Less than `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        // The upper half of the product: as even as the generator.
        ((u128::from(z) * n as u128) >> 64) as usize
    }
}
