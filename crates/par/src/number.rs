//! The numbers that can be summed.

use std::ops::Add;

/// A number that [`sum`](crate::sum) and [`prefix_sum`](crate::prefix_sum) add up: an integer of
/// std's (with `+`, so an overflow panics where overflows are checked, and else wraps around), or a
/// float.
pub trait Number: Copy + Send + Sync + Add<Output = Self> + 'static + sealed::Sealed {
    /// Nothing. (Of floats the negative zero: it alone changes nothing.)
    const ZERO: Self;
    /// Is the addition associative?
    #[doc(hidden)]
    const IS_EXACT: bool;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! number {
    ($zero:literal, $exact:literal: $($type:ty),*) => {$(
        impl sealed::Sealed for $type {}
        impl Number for $type {
            const ZERO: Self = $zero;
            const IS_EXACT: bool = $exact;
        }
    )*};
}
number!(0, true: u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize);
number!(-0.0, false: f32, f64);
