//! The descriptors of this process: for tests that have it for themselves.

/// How many there are.
pub(crate) fn count() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

/// Sets how many descriptors this process may have, and returns how many it might have before.
pub(crate) fn allow(count: u64) -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the calls read and write the structure, which lives.
    unsafe {
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        let before = limit.rlim_cur;
        limit.rlim_cur = count;
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
        before
    }
}

/// The number that the next descriptor gets.
pub(crate) fn next() -> u64 {
    use std::os::fd::AsRawFd;
    std::fs::File::open("/dev/null").unwrap().as_raw_fd() as u64
}
