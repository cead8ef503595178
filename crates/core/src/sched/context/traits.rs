//! The traits of `rand_core`, behind the feature of that name.

use super::generator::Generator;
use super::rng::Rng;
use rand_core::{Infallible, TryRng};

macro_rules! implement {
    ($($t:ty)*) => {$(
        impl TryRng for $t {
            type Error = Infallible;
            fn try_next_u32(&mut self) -> Result<u32, Infallible> {
                // The upper bits are the better ones.
                Ok((self.next_u64() >> 32) as u32)
            }
            fn try_next_u64(&mut self) -> Result<u64, Infallible> {
                Ok(self.next_u64())
            }
            fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
                self.fill(bytes);
                Ok(())
            }
        }
    )*};
}

implement! { Generator Rng }
