//! Processor time: what the process has used, user and system, on all its threads. Nothing is known
//! outside of unix.

use std::cell::Cell;
use std::time::Duration;

thread_local! {
    /// What [`untimed`] took, of the thread that measures: tests do so on several threads.
    static UNTIMED: Cell<Duration> = const { Cell::new(Duration::ZERO) };
}

/// What the process has used so far, without what [`untimed`] took on this thread.
pub(crate) fn time() -> Option<Duration> {
    Some(used()?.saturating_sub(UNTIMED.get()))
}

/// What was used since `before`, which is an earlier [`time`].
pub(crate) fn since(before: Option<Duration>) -> Option<Duration> {
    Some(time()?.saturating_sub(before?))
}

/// Calls `f`, whose processor time does not count: it makes the input, or checks the answer. To be
/// called on the thread that measures, which a closure of any system here stays on.
pub(crate) fn untimed<T>(f: impl FnOnce() -> T) -> T {
    let before = time();
    let value = f();
    UNTIMED.set(UNTIMED.get() + since(before).unwrap_or_default());
    value
}

/// What another process has used so far.
#[cfg(all(target_os = "linux", feature = "peers"))]
pub(crate) fn of(process: u32) -> Option<Duration> {
    let mut clock = 0;
    // SAFETY: `clock` is a place of that type.
    let failed = unsafe { libc::clock_getcpuclockid(process as libc::pid_t, &raw mut clock) };
    (failed == 0).then(|| read(clock)).flatten()
}

#[cfg(unix)]
fn used() -> Option<Duration> {
    read(libc::CLOCK_PROCESS_CPUTIME_ID)
}

#[cfg(unix)]
fn read(clock: libc::clockid_t) -> Option<Duration> {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a place of that type, which lives for the call.
    let failed = unsafe { libc::clock_gettime(clock, &mut ts) };
    (failed == 0).then(|| Duration::new(ts.tv_sec as u64, ts.tv_nsec as u32))
}

#[cfg(not(unix))]
fn used() -> Option<Duration> {
    None
}

#[cfg(all(test, unix))]
mod test {
    use super::*;

    /// Uses so much of the processor.
    fn burn(much: Duration) {
        let before = used();
        while used().zip(before).is_some_and(|(now, before)| now - before < much) {}
    }

    #[test]
    fn what_is_untimed_does_not_count() {
        let much = Duration::from_millis(30);
        let before = time();
        burn(much);
        let one = since(before).expect("this is unix");
        assert!(one >= much, "{one:?}");
        // Other tests of this process use some too: in both.
        let (all, before) = (used(), time());
        untimed(|| burn(10 * much));
        let (counted, used) = (since(before).expect("this is unix"), used().expect("it is") - all.expect("it is"));
        assert!(used >= 10 * much && counted <= used - 10 * much, "{counted:?} of {used:?}");
    }
}
