//! What a loop counts with.

use std::ops::Range;

/// An integer that a [`Loop`](crate::Loop) counts with: `usize`, `u64`, `u32`, `u16`, `u8`, and the
/// signed ones.
pub trait Index: Copy + Send + Sync + sealed::Sealed {
    /// The number so many after `start`; there is one.
    #[doc(hidden)]
    fn at(start: Self, number: usize) -> Self;
    /// How many numbers there are from `start` to `end`.
    #[doc(hidden)]
    fn count(start: Self, end: Self) -> usize;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! index {
    ($($int:ty),*) => {$(
        impl sealed::Sealed for $int {}
        impl Index for $int {
            #[inline(always)]
            fn at(start: Self, number: usize) -> Self {
                // Wrapping: of a signed type the numbers may be more than half of all.
                start.wrapping_add(number as $int)
            }
            #[inline]
            fn count(start: Self, end: Self) -> usize {
                // (A `usize` has 64 bits here: see the engine.)
                if start < end { (end as i128 - start as i128) as usize } else { 0 }
            }
        }
    )*};
}
index!(usize, u64, u32, u16, u8, isize, i64, i32, i16, i8);

/// How long a range is.
pub(crate) fn len<I: Index>(range: &Range<I>) -> usize {
    I::count(range.start, range.end)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn whole_types() {
        assert_eq!(len(&(0..usize::MAX)), usize::MAX);
        assert_eq!(len(&(i64::MIN..i64::MAX)), usize::MAX);
        assert_eq!(i64::at(i64::MIN, usize::MAX), i64::MAX);
        assert_eq!(len(&(-128..127_i8)), 255);
        assert_eq!(i8::at(-128, 254), 126);
        #[expect(clippy::reversed_empty_ranges, reason = "an empty one")]
        let reversed = 5..3_u8;
        assert_eq!(len(&reversed), 0);
    }
}
