//! Memory maps: address space without memory, guard pages, giving memory back.
//!
//! What stacks need of the system, in terms of addresses; which stack is where is
//! [`crate::stack::pool`]'s business.
//!
//! **Guard pages** come in two kinds. `MADV_GUARD_INSTALL` (Linux 6.13) marks page-table entries:
//! 0.4 µs, and a slab of stacks stays one mapping. `mprotect` splits the mapping: 1.6 µs, two
//! mappings more for each guard, and a process may have only so many (`vm.max_map_count`, 65 530).
//! [`guard`] uses the first kind until the kernel refuses it (too old, or locked memory) or if
//! `MYRIAD_NO_GUARD_INSTALL=1`.

use std::io;
use std::ptr::NonNull;
// Std's own atomics, not `sys::atomic`: statics that no model covers.
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

/// How guard pages are made here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuardKind {
    /// `MADV_GUARD_INSTALL`: no mappings.
    GuardInstall,
    /// `mprotect`: two mappings for each guard.
    Mprotect,
    /// Not at all: no memory maps on this system.
    None,
}

/// 0: not tried yet, 1: guard-install, 2: mprotect.
static GUARD_KIND: AtomicU8 = AtomicU8::new(0);
/// Mappings that guard pages and threads of ours take.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The size of a page.
#[inline]
pub fn page_size() -> usize {
    static SIZE: AtomicUsize = AtomicUsize::new(0);
    match SIZE.load(Relaxed) {
        0 => {
            let size = imp::page_size();
            SIZE.store(size, Relaxed);
            size
        }
        size => size,
    }
}

/// Reserves zeroed memory that is taken from the system page by page when touched. `len` and
/// `align` are multiples of the page size, `align` is a power of two.
pub fn reserve(len: usize, align: usize) -> io::Result<NonNull<u8>> {
    debug_assert!(len > 0 && len.is_multiple_of(page_size()) && align.is_power_of_two());
    if align <= page_size() {
        return imp::map(len);
    }
    let whole = len.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?;
    let start = imp::map(whole)?;
    let before = start.as_ptr().align_offset(align);
    // SAFETY: `before` is less than `align`, so both ends and the middle lie within the mapping of
    // `len + align` bytes.
    unsafe {
        if before > 0 {
            release(start, before);
        }
        release(start.add(before + len), align - before);
        Ok(start.add(before))
    }
}

/// Unmaps.
///
/// # Safety
/// The range was reserved here, and nobody uses it any more.
pub unsafe fn release(start: NonNull<u8>, len: usize) {
    // SAFETY: the range was reserved here, and nobody uses it any more (this function's contract).
    unsafe { imp::unmap(start, len) };
}

/// Makes a range fault at every access. `Err(OutOfMemory)` when the process has too many mappings
/// for more. Who unmaps it tells [`guards_released`].
///
/// # Safety
/// The range was reserved here, and nobody uses it.
pub unsafe fn guard(start: NonNull<u8>, len: usize) -> io::Result<()> {
    // SAFETY: the range was reserved here, and nobody uses it (this function's contract).
    if let Some(result) = unsafe { guard_without_mappings(start, len) } {
        return result;
    }
    if !take_mappings(2) {
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // SAFETY: the range was reserved here, and nobody uses it (this function's contract).
    unsafe { imp::protect(start, len) }.inspect_err(|_| give_mappings(2))
}

/// As [`guard`], for what belongs to a thread: [`thread_starts`] has counted its mappings, and
/// [`thread_ended`] takes them off again.
///
/// # Safety
/// The range was reserved here, and nobody uses it.
pub unsafe fn guard_of_thread(start: NonNull<u8>, len: usize) -> io::Result<()> {
    // SAFETY: the range was reserved here, and nobody uses it (this function's contract).
    unsafe { guard_without_mappings(start, len).unwrap_or_else(|| imp::protect(start, len)) }
}

/// `None`: not possible here.
///
/// # Safety
/// The range was reserved here, and nobody uses it.
unsafe fn guard_without_mappings(start: NonNull<u8>, len: usize) -> Option<io::Result<()>> {
    if guard_kind() != GuardKind::GuardInstall {
        return None;
    }
    // SAFETY: the range was reserved here, and nobody uses it (this function's contract).
    match unsafe { imp::guard_install(start, len) } {
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
            GUARD_KIND.store(2, Relaxed);
            None
        }
        other => Some(other),
    }
}

/// Counts mappings that are about to be made. False: too many, do not make them.
fn take_mappings(n: usize) -> bool {
    let granted = TAKEN.fetch_add(n, Relaxed).saturating_add(n) <= mappings_limit();
    if !granted {
        give_mappings(n);
    }
    granted
}

/// Counts mappings that are gone. (Too few would only let the kernel say no instead of us.)
fn give_mappings(n: usize) {
    _ = TAKEN.fetch_update(Relaxed, Relaxed, |taken| Some(taken.saturating_sub(n)));
}

/// Mappings of a thread of ours: its stack and an alternate signal stack, each with a guard, both
/// by std, and an alternate stack of ours, whose guard takes another one if guards are mappings.
/// (Measured: 5.00 and 6.01 with 5,000 threads.)
///
/// Besides, the C library's allocator has arenas of two mappings each, at most eight for each core.
pub fn mappings_of_thread() -> usize {
    if guard_kind() == GuardKind::GuardInstall { 5 } else { 6 }
}

/// A thread is about to be started.
///
/// # Errors
/// The process has nearly as many mappings as it may have. std *aborts* the process where a thread
/// that has started finds none for its signal stack, so we say no before that.
pub fn thread_starts() -> io::Result<()> {
    if take_mappings(mappings_of_thread()) {
        return Ok(());
    }
    let each = mappings_of_thread();
    let most =
        max_map_count().map_or(String::new(), |max| format!(" (vm.max_map_count = {max}; a thread takes {each})"));
    let text = format!("there are nearly as many memory mappings as the process may have{most}");
    Err(io::Error::new(io::ErrorKind::OutOfMemory, text))
}

/// A thread has ended, or could not be started after all.
pub fn thread_ended() {
    give_mappings(mappings_of_thread());
}

/// Mappings that are counted as taken.
#[cfg(test)]
pub fn taken() -> usize {
    TAKEN.load(Relaxed)
}

/// What [`each`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Each {
    /// Makes guards.
    Guard,
    /// Takes memory from the system, as touching would.
    Touch,
}

/// At most so many ranges at a time: [`each`] has their list on the stack.
pub const EACH_MAX: usize = 64;

/// Does the same to one page in each of `n` places, `stride` bytes apart, with one system call.
/// False: perhaps to none (the call is too new for this kernel, or something failed): then do it
/// one by one, which is no harm where it was done.
///
/// # Safety
/// The pages were reserved here, and nobody uses them.
pub unsafe fn each(what: Each, first: NonNull<u8>, stride: usize, n: usize) -> bool {
    // SAFETY: the pages were reserved here, and nobody uses them (this function's contract); there
    // are at most `EACH_MAX`.
    n <= EACH_MAX && guard_kind() == GuardKind::GuardInstall && unsafe { imp::each(what, first, stride, n) }
}

/// `n` guards that [`guard`] made have been unmapped.
pub fn guards_released(n: usize) {
    give_mappings(2 * n);
}

/// How guards are made in this process; tries it at the first call.
pub fn guard_kind() -> GuardKind {
    if GUARD_KIND.load(Relaxed) == 0 {
        let refused = std::env::var_os("MYRIAD_NO_GUARD_INSTALL").is_some_and(|v| !v.is_empty() && v != "0");
        let works = !refused && imp::guard_install_works();
        GUARD_KIND.store(if works { 1 } else { 2 }, Relaxed);
    }
    match GUARD_KIND.load(Relaxed) {
        _ if !imp::MAPS => GuardKind::None,
        1 => GuardKind::GuardInstall,
        _ => GuardKind::Mprotect,
    }
}

/// How many guards may be mappings of their own: what the kernel allows, less a sixteenth for the
/// rest of the program.
pub fn split_limit() -> usize {
    mappings_limit() / 2
}

/// The most mappings of ours.
fn mappings_limit() -> usize {
    static LIMIT: AtomicUsize = AtomicUsize::new(0);
    if LIMIT.load(Relaxed) == 0 {
        let limit = max_map_count().map_or(usize::MAX, |max| max - max / 16);
        LIMIT.store(limit.max(2), Relaxed);
    }
    LIMIT.load(Relaxed)
}

/// How many mappings a process may have; `None` where there is no such limit, or it cannot be read.
pub fn max_map_count() -> Option<usize> {
    std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()
}

/// Gives the memory of a range back to the system, now; it reads as zeros afterwards. Guards in it
/// stay.
///
/// # Safety
/// The range was reserved here, and nobody needs what stands in it.
pub unsafe fn discard(start: NonNull<u8>, len: usize) {
    // SAFETY: the range was reserved here, and nobody needs what stands in it (this function's
    // contract).
    unsafe { imp::discard(start, len) };
}

#[cfg(unix)]
#[path = "map/unix.rs"]
mod imp;
#[cfg(not(unix))]
#[path = "map/none.rs"]
mod imp;
