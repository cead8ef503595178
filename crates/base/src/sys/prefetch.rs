//! A hint to the processor: memory that is to be read soon.
//!
//! For what lies somewhere, and is known some hundred nanoseconds before it is used: the next of
//! many in a line. What the processor foresees by itself, such as a row, needs none.

/// The first bytes of this value, up to 128, are to be read soon. Without effect where there is no
/// such hint.
#[inline(always)]
pub fn prefetch<T: ?Sized>(value: &T) {
    two_lines(std::ptr::from_ref(value).cast());
}

#[inline(always)]
fn two_lines(first: *const u8) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    for at in [0, 64] {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch reads nothing that the program sees, and does not fail, whatever the
        // address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(first.wrapping_add(at).cast()) };
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = first;
}
