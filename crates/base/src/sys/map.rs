//! Memory maps: address space without memory, guard pages, giving memory back.
//!
//! What stacks need of the system, in terms of addresses; which stack is where is
//! [`crate::stack::pool`]'s business.
//!
//! **Guard pages** come in two kinds. `MADV_GUARD_INSTALL` (Linux 6.13) marks page-table entries:
//! 0.4 µs, and a slab of stacks stays one mapping. `mprotect` splits the mapping: 1.6 µs, two
//! mappings more for each guard, and a process may have only so many (`vm.max_map_count`, 65 530).
//! [`UnusedRange::guard`] uses the first kind until the kernel refuses it (too old, or locked
//! memory) or if `MYRIAD_NO_GUARD_INSTALL=1`.

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

/// A range of whole pages that was reserved here, and that nobody uses: so its pages may be taken
/// away, or made to fault. Moved, and not copied: whoever begins to use it gives this up.
///
/// **Invariant.** It was reserved here, and is not unmapped; nobody uses it, nor what stands in it.
#[derive(Debug)]
#[must_use = "what nobody releases stays mapped"]
pub struct UnusedRange {
    start: NonNull<u8>,
    len: usize,
}

impl UnusedRange {
    /// The range of these addresses.
    ///
    /// # Safety
    /// It was reserved here and is not unmapped; nobody uses it while this value is, nor needs what
    /// stands in it.
    pub unsafe fn at(start: NonNull<u8>, len: usize) -> UnusedRange {
        UnusedRange { start, len }
    }

    /// Where it begins. Who uses it gives this up.
    pub fn into_start(self) -> NonNull<u8> {
        self.start
    }

    /// The address of where it begins.
    pub fn address(&self) -> usize {
        self.start.as_ptr().expose_provenance()
    }

    /// Its first bytes, and the rest.
    fn split_at(self, mid: usize) -> (UnusedRange, UnusedRange) {
        let UnusedRange { start, len } = self;
        assert!(mid <= len, "a part is within the whole");
        // SAFETY: within the range (checked above).
        let rest = unsafe { start.add(mid) };
        (UnusedRange { start, len: mid }, UnusedRange { start: rest, len: len - mid })
    }

    /// Unmaps it.
    pub fn release(self) {
        if self.len > 0 {
            imp::unmap(self);
        }
    }

    /// Makes it fault at every access. `Err(OutOfMemory)` when the process has too many mappings
    /// for more. Who unmaps it tells [`guards_released`].
    pub fn guard(&self) -> io::Result<()> {
        if let Some(result) = self.guard_without_mappings() {
            return result;
        }
        if !take_mappings(2) {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        imp::protect(self).inspect_err(|_| give_mappings(2))
    }

    /// As [`guard`](Self::guard) of its first `len` bytes, for what belongs to a thread:
    /// [`thread_starts`] has counted its mappings, and [`thread_ended`] takes them off again.
    pub fn guard_of_thread(&self, len: usize) -> io::Result<()> {
        assert!(len <= self.len, "a part is within the whole");
        let guard = UnusedRange { start: self.start, len };
        guard.guard_without_mappings().unwrap_or_else(|| imp::protect(&guard))
    }

    /// Makes it fault at every access, without a mapping. False: not possible here.
    pub fn guard_in_place(&self) -> bool {
        matches!(self.guard_without_mappings(), Some(Ok(())))
    }

    /// The end of [`guard_in_place`](Self::guard_in_place): it reads as zeros.
    pub fn unguard(&self) {
        imp::guard_remove(self);
    }

    /// `None`: not possible here.
    fn guard_without_mappings(&self) -> Option<io::Result<()>> {
        if guard_kind() != GuardKind::GuardInstall {
            return None;
        }
        match imp::guard_install(self) {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                GUARD_KIND.store(2, Relaxed);
                None
            }
            other => Some(other),
        }
    }

    /// Gives its memory back to the system, now; it reads as zeros afterwards. Guards in it stay.
    pub fn discard(&self) {
        imp::discard(self);
    }
}

/// Reserves zeroed memory that is taken from the system page by page when touched. `len` and
/// `align` are multiples of the page size, `align` is a power of two.
pub fn reserve(len: usize, align: usize) -> io::Result<UnusedRange> {
    debug_assert!(len > 0 && len.is_multiple_of(page_size()) && align.is_power_of_two());
    if align <= page_size() {
        return imp::map(len);
    }
    let whole = imp::map(len.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?)?;
    let (before, rest) = {
        let before = whole.start.as_ptr().align_offset(align);
        whole.split_at(before)
    };
    let (middle, after) = rest.split_at(len);
    before.release();
    after.release();
    Ok(middle)
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
/// by std. The alternate stack of ours stands in the thread's own; if guards are mappings it has
/// one of its own, and its guard another one. (Measured: 4.00 and 6.01 with 400 threads.)
///
/// Besides, the C library's allocator has arenas of two mappings each, at most eight for each core.
pub fn mappings_of_thread() -> usize {
    if guard_kind() == GuardKind::GuardInstall { 4 } else { 6 }
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

/// Does the same to all these pages, at most [`EACH_MAX`], with one system call. False: perhaps to
/// none (the call is too new for this kernel, or something failed): then do it one by one, which is
/// no harm where it was done.
pub fn each(what: Each, pages: &[UnusedRange]) -> bool {
    pages.len() <= EACH_MAX && guard_kind() == GuardKind::GuardInstall && imp::each(what, pages)
}

/// `n` guards that [`UnusedRange::guard`] made have been unmapped.
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

#[cfg(unix)]
#[path = "map/unix.rs"]
mod imp;
#[cfg(not(unix))]
#[path = "map/none.rs"]
mod imp;
