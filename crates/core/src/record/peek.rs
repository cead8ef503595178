//! Reads of memory that somebody else may write, or use for something else, meanwhile: who reads
//! checks afterwards whether to believe what was read.

#[cfg(not(all(myriad_asan, target_arch = "x86_64")))]
use std::sync::atomic::Ordering::Relaxed;

/// A byte that somebody may write meanwhile. (By std's atomics, for the words are not atomic for
/// anybody else.)
///
/// # Safety
/// It is mapped.
#[cfg(not(all(myriad_asan, target_arch = "x86_64")))]
pub(crate) unsafe fn byte(at: *const u8) -> u8 {
    // SAFETY: mapped (this function's contract).
    unsafe { std::sync::atomic::AtomicU8::from_ptr(at.cast_mut()) }.load(Relaxed)
}

/// The same of a word.
///
/// # Safety
/// It is mapped, and aligned.
#[cfg(not(all(myriad_asan, target_arch = "x86_64")))]
pub(crate) unsafe fn word(at: *const usize) -> usize {
    // SAFETY: mapped and aligned (this function's contract).
    unsafe { std::sync::atomic::AtomicUsize::from_ptr(at.cast_mut()) }.load(Relaxed)
}

// The same unseen by AddressSanitizer, for which memory of a frame that is left is nobody's: what
// is read there is not believed.
#[cfg(all(myriad_asan, target_arch = "x86_64"))]
pub(crate) unsafe fn byte(at: *const u8) -> u8 {
    let byte: u8;
    // SAFETY: a load of mapped memory (this function's contract).
    unsafe { std::arch::asm!("mov {}, [{}]", out(reg_byte) byte, in(reg) at, options(nostack, readonly)) };
    byte
}

#[cfg(all(myriad_asan, target_arch = "x86_64"))]
pub(crate) unsafe fn word(at: *const usize) -> usize {
    let word: usize;
    // SAFETY: a load of mapped memory (this function's contract).
    unsafe { std::arch::asm!("mov {}, [{}]", out(reg) word, in(reg) at, options(nostack, readonly)) };
    word
}
