//! Processors for the server and its client: apart, where there are enough.

/// Whether there are more processors than a server with so many workers needs.
pub(super) fn is_room(workers: usize) -> bool {
    allowed().len() > workers
}

/// The calling thread, and those that it starts, run on the first processors that they may run on,
/// as many as there are workers.
pub(super) fn to_first(workers: usize) {
    let allowed = allowed();
    pin(&allowed[..workers.min(allowed.len())]);
}

/// The same, on the last.
pub(super) fn to_last() {
    pin(&allowed()[allowed().len().saturating_sub(1)..]);
}

/// The processors that the thread may run on; none, if the system does not say.
fn allowed() -> Vec<usize> {
    // SAFETY: a set of processors is plain numbers, for which zero is none.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a place of that size.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0 {
        return Vec::new();
    }
    // SAFETY: the numbers are below the set's size.
    (0..libc::CPU_SETSIZE as usize).filter(|&i| unsafe { libc::CPU_ISSET(i, &set) }).collect()
}

fn pin(processors: &[usize]) {
    if processors.is_empty() {
        return;
    }
    // SAFETY: a set of processors is plain numbers, for which zero is none.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &processor in processors {
        // SAFETY: it is below the set's size.
        unsafe { libc::CPU_SET(processor, &mut set) };
    }
    // SAFETY: the call reads a set of that size.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
}
