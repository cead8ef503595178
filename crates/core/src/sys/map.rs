//! Memory maps: address space without memory, guard pages, giving memory back.
//!
//! What stacks need of the system, in terms of addresses; which stack is where is [`crate::stack::pool`]'s business.
//!
//! **Guard pages** come in two kinds. `MADV_GUARD_INSTALL` (Linux 6.13) marks page-table entries: 0.4 µs, and a slab of
//! stacks stays one mapping. `mprotect` splits the mapping: 1.6 µs, two mappings more for each guard, and a process may
//! have only so many (`vm.max_map_count`, 65 530). [`guard`] uses the first kind until the kernel refuses it (too old, or
//! locked memory) or if `MYRIAD_NO_GUARD_INSTALL=1`.

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
/// Guard pages of this process that are mappings of their own.
static SPLIT: AtomicUsize = AtomicUsize::new(0);

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

/// Reserves zeroed memory that is taken from the system page by page when touched. `len` and `align` are multiples of
/// the page size, `align` is a power of two.
pub fn reserve(len: usize, align: usize) -> io::Result<NonNull<u8>> {
    debug_assert!(len > 0 && len.is_multiple_of(page_size()) && align.is_power_of_two());
    if align <= page_size() {
        return imp::map(len);
    }
    let whole = len.checked_add(align).ok_or(io::ErrorKind::OutOfMemory)?;
    let start = imp::map(whole)?;
    let before = start.as_ptr().align_offset(align);
    // SAFETY: `before` is less than `align`, so both ends and the middle lie within the mapping of `len + align` bytes.
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
    // SAFETY: the caller.
    unsafe { imp::unmap(start, len) };
}

/// Makes a range fault at every access. `Err(OutOfMemory)` when the process has too many mappings for more.
///
/// # Safety
/// The range was reserved here, and nobody uses it.
pub unsafe fn guard(start: NonNull<u8>, len: usize) -> io::Result<()> {
    if guard_kind() == GuardKind::GuardInstall {
        // SAFETY: the caller.
        match unsafe { imp::guard_install(start, len) } {
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => GUARD_KIND.store(2, Relaxed),
            other => return other,
        }
    }
    if SPLIT.fetch_add(1, Relaxed) >= split_limit() {
        SPLIT.fetch_sub(1, Relaxed);
        return Err(io::ErrorKind::OutOfMemory.into());
    }
    // SAFETY: the caller.
    unsafe { imp::protect(start, len) }.inspect_err(|_| _ = SPLIT.fetch_sub(1, Relaxed))
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

/// Does the same to one page in each of `n` places, `stride` bytes apart, with one system call. False: perhaps to none
/// (the call is too new for this kernel, or something failed): then do it one by one, which is no harm where it was done.
///
/// # Safety
/// The pages were reserved here, and nobody uses them.
pub unsafe fn each(what: Each, first: NonNull<u8>, stride: usize, n: usize) -> bool {
    // SAFETY: the caller.
    n <= EACH_MAX && guard_kind() == GuardKind::GuardInstall && unsafe { imp::each(what, first, stride, n) }
}

/// `n` guards that [`guard`] made have been unmapped. (Counting too few would only let the kernel say no instead of us.)
pub fn guards_released(n: usize) {
    _ = SPLIT.fetch_update(Relaxed, Relaxed, |split| Some(split.saturating_sub(n)));
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

/// How many guards may be mappings of their own: what the kernel allows, less a sixteenth for the rest of the program.
pub fn split_limit() -> usize {
    static LIMIT: AtomicUsize = AtomicUsize::new(0);
    if LIMIT.load(Relaxed) == 0 {
        let limit = max_map_count().map_or(usize::MAX, |max| (max - max / 16) / 2);
        LIMIT.store(limit.max(1), Relaxed);
    }
    LIMIT.load(Relaxed)
}

/// How many mappings a process may have; `None` where there is no such limit, or it cannot be read.
pub fn max_map_count() -> Option<usize> {
    std::fs::read_to_string("/proc/sys/vm/max_map_count").ok()?.trim().parse().ok()
}

/// Gives the memory of a range back to the system, now; it reads as zeros afterwards. Guards in it stay.
///
/// # Safety
/// The range was reserved here, and nobody needs what stands in it.
pub unsafe fn discard(start: NonNull<u8>, len: usize) {
    // SAFETY: the caller.
    unsafe { imp::discard(start, len) };
}

#[cfg(unix)]
mod imp {
    use super::*;

    pub(super) const MAPS: bool = true;

    pub(super) fn page_size() -> usize {
        // SAFETY: takes no pointers.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
    }

    pub(super) fn map(len: usize) -> io::Result<NonNull<u8>> {
        // MAP_STACK: since Linux 6.7 it keeps huge pages away, which would take 2 MiB at the first touch.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        const EXTRA: i32 = libc::MAP_NORESERVE | libc::MAP_STACK;
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        const EXTRA: i32 = 0;
        // SAFETY: a new private mapping somewhere.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANON | EXTRA,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        #[cfg(any(target_os = "linux", target_os = "android"))]
        // SAFETY: our new mapping; before Linux 6.7 only this keeps huge pages away, and failing does no harm.
        unsafe {
            libc::madvise(start.as_ptr().cast(), len, libc::MADV_NOHUGEPAGE)
        };
        Ok(start)
    }

    pub(super) unsafe fn unmap(start: NonNull<u8>, len: usize) {
        // SAFETY: the caller of `release`. It can fail only when it splits a mapping at the limit; then it leaks.
        unsafe { libc::munmap(start.as_ptr().cast(), len) };
    }

    pub(super) unsafe fn protect(start: NonNull<u8>, len: usize) -> io::Result<()> {
        // SAFETY: the caller of `guard`.
        ok(unsafe { libc::mprotect(start.as_ptr().cast(), len, libc::PROT_NONE) })
    }

    pub(super) unsafe fn discard(start: NonNull<u8>, len: usize) {
        // SAFETY: the caller of `discard`.
        unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_DONTNEED) };
    }

    fn ok(result: i32) -> io::Result<()> {
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    const MADV_GUARD_INSTALL: i32 = 102;

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) unsafe fn each(what: Each, first: NonNull<u8>, stride: usize, n: usize) -> bool {
        // The calling process, without a descriptor: process_madvise takes it since Linux 6.15.
        const PIDFD_SELF_PROCESS: i32 = -10001;
        const MADV_POPULATE_WRITE: i32 = 23;
        let advice = match what {
            Each::Guard => MADV_GUARD_INSTALL,
            Each::Touch => MADV_POPULATE_WRITE,
        };
        let page = super::page_size();
        let mut ranges = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: page }; EACH_MAX];
        for (i, range) in ranges[..n].iter_mut().enumerate() {
            range.iov_base = first.as_ptr().wrapping_add(i * stride).cast();
        }
        // SAFETY: the caller; the kernel reads `n` entries of the list, which has them.
        let done =
            unsafe { libc::syscall(libc::SYS_process_madvise, PIDFD_SELF_PROCESS, ranges.as_ptr(), n, advice, 0) };
        usize::try_from(done).is_ok_and(|done| done == n * page)
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) unsafe fn each(_what: Each, _first: NonNull<u8>, _stride: usize, _n: usize) -> bool {
        false
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(super) unsafe fn guard_install(start: NonNull<u8>, len: usize) -> io::Result<()> {
        // SAFETY: the caller of `guard`.
        ok(unsafe { libc::madvise(start.as_ptr().cast(), len, MADV_GUARD_INSTALL) })
    }
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(super) unsafe fn guard_install(_start: NonNull<u8>, _len: usize) -> io::Result<()> {
        Err(io::ErrorKind::InvalidInput.into())
    }

    pub(super) fn guard_install_works() -> bool {
        let page = super::page_size();
        let Ok(start) = map(page) else { return false };
        // SAFETY: a page of our own, which nobody uses.
        let mut works = unsafe { guard_install(start, page) }.is_ok();
        if works {
            // Emulators (qemu-user) say yes to any advice and do nothing. So let a system call write there: it must fail.
            // SAFETY: if it can be written, the page has room for the structure.
            works = unsafe { libc::uname(start.as_ptr().cast()) } != 0;
        }
        // SAFETY: nobody uses it.
        unsafe { unmap(start, page) };
        works
    }
}

/// Systems without mmap: no fibers there, so nobody asks for memory.
#[cfg(not(unix))]
mod imp {
    use super::*;

    pub(super) const MAPS: bool = false;

    pub(super) fn page_size() -> usize {
        4096
    }
    pub(super) fn map(_len: usize) -> io::Result<NonNull<u8>> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub(super) unsafe fn unmap(_start: NonNull<u8>, _len: usize) {}
    pub(super) unsafe fn each(_what: Each, _first: NonNull<u8>, _stride: usize, _n: usize) -> bool {
        false
    }
    pub(super) unsafe fn protect(_start: NonNull<u8>, _len: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub(super) unsafe fn discard(_start: NonNull<u8>, _len: usize) {}
    pub(super) unsafe fn guard_install(_start: NonNull<u8>, _len: usize) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
    pub(super) fn guard_install_works() -> bool {
        false
    }
}
