//! Memory maps by `mmap`, `mprotect` and `madvise`.

use super::*;

pub(super) const MAPS: bool = true;

pub(super) fn page_size() -> usize {
    // SAFETY: takes no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

pub(super) fn map(len: usize) -> io::Result<NonNull<u8>> {
    // MAP_STACK: since Linux 6.7 it keeps huge pages away, which would take 2 MiB at the first
    // touch.
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
    // SAFETY: our new mapping; before Linux 6.7 only this keeps huge pages away, and failing does
    // no harm.
    unsafe {
        libc::madvise(start.as_ptr().cast(), len, libc::MADV_NOHUGEPAGE)
    };
    Ok(start)
}

/// # Safety
/// The range was mapped by [`map`], and nobody uses it any more.
pub(super) unsafe fn unmap(start: NonNull<u8>, len: usize) {
    // SAFETY: the range is ours, and nobody uses it any more (this function's contract). It can
    // fail only when it splits a mapping at the limit; then it leaks.
    unsafe { libc::munmap(start.as_ptr().cast(), len) };
}

/// # Safety
/// The range was mapped by [`map`], and nobody uses it.
pub(super) unsafe fn protect(start: NonNull<u8>, len: usize) -> io::Result<()> {
    // SAFETY: the range is ours, and nobody uses it (this function's contract).
    ok(unsafe { libc::mprotect(start.as_ptr().cast(), len, libc::PROT_NONE) })
}

/// # Safety
/// The range was mapped by [`map`], and nobody needs what stands in it.
pub(super) unsafe fn discard(start: NonNull<u8>, len: usize) {
    // SAFETY: the range is ours, and nobody needs what stands in it (this function's contract).
    unsafe { libc::madvise(start.as_ptr().cast(), len, libc::MADV_DONTNEED) };
}

fn ok(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const MADV_GUARD_INSTALL: i32 = 102;

/// # Safety
/// The pages were mapped by [`map`], and nobody uses them; `n` is at most `EACH_MAX`.
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
    // SAFETY: the pages are ours, and nobody uses them (this function's contract); the kernel reads
    // `n` entries of the list, which has them.
    let done = unsafe { libc::syscall(libc::SYS_process_madvise, PIDFD_SELF_PROCESS, ranges.as_ptr(), n, advice, 0) };
    usize::try_from(done).is_ok_and(|done| done == n * page)
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) unsafe fn each(_what: Each, _first: NonNull<u8>, _stride: usize, _n: usize) -> bool {
    false
}

/// # Safety
/// The range was mapped by [`map`], and nobody uses it.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) unsafe fn guard_install(start: NonNull<u8>, len: usize) -> io::Result<()> {
    // SAFETY: the range is ours, and nobody uses it (this function's contract).
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
        // Emulators (qemu-user) say yes to any advice and do nothing. So let a system call write
        // there: it must fail.
        // SAFETY: if it can be written, the page has room for the structure.
        works = unsafe { libc::uname(start.as_ptr().cast()) } != 0;
    }
    // SAFETY: the mapping is ours, and nobody uses it.
    unsafe { unmap(start, page) };
    works
}
