//! Memory maps by `mmap`, `mprotect` and `madvise`.

use super::*;

pub(super) const MAPS: bool = true;

pub(super) fn page_size() -> usize {
    // SAFETY: takes no pointers.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

pub(super) fn map(len: usize) -> io::Result<UnusedRange> {
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
    Ok(UnusedRange { start, len })
}

pub(super) fn unmap(range: UnusedRange) {
    // SAFETY: nobody uses the range (`UnusedRange`), which ends here. It can fail only when it
    // splits a mapping at the limit; then it leaks.
    unsafe { libc::munmap(range.start.as_ptr().cast(), range.len) };
}

pub(super) fn protect(range: &UnusedRange) -> io::Result<()> {
    // SAFETY: nobody uses the range (`UnusedRange`).
    ok(unsafe { libc::mprotect(range.start.as_ptr().cast(), range.len, libc::PROT_NONE) })
}

pub(super) fn discard(range: &UnusedRange) {
    // SAFETY: nobody needs what stands in the range (`UnusedRange`).
    unsafe { libc::madvise(range.start.as_ptr().cast(), range.len, libc::MADV_DONTNEED) };
}

fn ok(result: i32) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
const MADV_GUARD_INSTALL: i32 = 102;
#[cfg(any(target_os = "linux", target_os = "android"))]
const MADV_GUARD_REMOVE: i32 = 103;

/// The pages are at most `EACH_MAX`.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn each(what: Each, pages: &[UnusedRange]) -> bool {
    // The calling process, without a descriptor: process_madvise takes it since Linux 6.15.
    const PIDFD_SELF_PROCESS: i32 = -10001;
    const MADV_POPULATE_WRITE: i32 = 23;
    let advice = match what {
        Each::Guard => MADV_GUARD_INSTALL,
        Each::Touch => MADV_POPULATE_WRITE,
    };
    let mut ranges = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; EACH_MAX];
    let ranges = &mut ranges[..pages.len()];
    for (range, page) in ranges.iter_mut().zip(pages) {
        *range = libc::iovec { iov_base: page.start.as_ptr().cast(), iov_len: page.len };
    }
    let (list, n) = (ranges.as_ptr(), ranges.len());
    // SAFETY: nobody uses the pages (`UnusedRange`); the kernel reads `n` entries of the list,
    // which has them.
    let done = unsafe { libc::syscall(libc::SYS_process_madvise, PIDFD_SELF_PROCESS, list, n, advice, 0) };
    usize::try_from(done).is_ok_and(|done| done == pages.iter().map(|page| page.len).sum())
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn each(_what: Each, _pages: &[UnusedRange]) -> bool {
    false
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn guard_install(range: &UnusedRange) -> io::Result<()> {
    // SAFETY: nobody uses the range (`UnusedRange`).
    ok(unsafe { libc::madvise(range.start.as_ptr().cast(), range.len, MADV_GUARD_INSTALL) })
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn guard_install(_range: &UnusedRange) -> io::Result<()> {
    Err(io::ErrorKind::InvalidInput.into())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn guard_remove(range: &UnusedRange) {
    // SAFETY: nobody uses the range (`UnusedRange`).
    _ = unsafe { libc::madvise(range.start.as_ptr().cast(), range.len, MADV_GUARD_REMOVE) };
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn guard_remove(_range: &UnusedRange) {}

pub(super) fn guard_install_works() -> bool {
    let Ok(range) = map(super::page_size()) else { return false };
    let mut works = guard_install(&range).is_ok();
    if works {
        // Emulators (qemu-user) say yes to any advice and do nothing. So let a system call write
        // there: it must fail.
        // SAFETY: if it can be written, the page has room for the structure; nobody else uses it.
        works = unsafe { libc::uname(range.start.as_ptr().cast()) } != 0;
    }
    range.release();
    works
}
