//! Does every thread of this process wait for another one, for ever? The kernel knows.
//!
//! `/proc/self/task/ID/syscall` says in which system call a thread waits, and with which arguments.
//! A futex without a time limit is what all locks, joins and parked threads wait at: it ends when
//! another thread of the process ends it. Any other call may end by itself: a time passes, input
//! comes, a child ends.
//!
//! **All at one moment.** Threads are looked at one after the other, and one may wake another in
//! between. So all are looked at twice. A thread that waits both times, and has not fallen asleep
//! between the two (the kernel counts that), has waited all the time between them; if that is so of
//! all, there was a moment at which all waited, and nobody was left to wake one.
//!
//! **What it does not see.** A signal's handler may wake a thread (by a semaphore), and so may
//! another process that shares memory. Where the system does not say what a thread waits for,
//! nothing is known.

/// What a thread was found in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    /// It waits for other threads, for ever.
    ForEver,
    /// The same, for a time.
    Timed,
    /// Anything else.
    Else,
}

/// More threads than this are not looked at: it would take a tenth of a second.
const MOST: usize = 4096;

/// What all other threads were found in, with how often each has fallen asleep.
#[derive(Debug, PartialEq, Eq)]
pub struct AllWait(Vec<(u32, u64)>);

/// Looks at all threads but the calling one. `None`: they do not all wait for ever for each other,
/// but for so many of them that wait for a time, and (`main_timed`) the process's first thread; or
/// `still` says no, which is asked before each.
pub fn all_wait(timed: usize, main_timed: bool, still: impl Fn() -> bool) -> Option<AllWait> {
    if !cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return None;
    }
    let me = super::id();
    let mut left = timed;
    let mut all = Vec::new();
    for entry in std::fs::read_dir("/proc/self/task").ok()? {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        if all.len() == MOST {
            return None;
        }
        if id == me {
            continue;
        }
        if !still() {
            return None;
        }
        let call = std::fs::read_to_string(format!("/proc/self/task/{id}/syscall")).ok()?;
        match found(&call) {
            Found::ForEver => {}
            Found::Timed if main_timed && id == std::process::id() => {}
            Found::Timed => left = left.checked_sub(1)?,
            Found::Else => return None,
        }
        let status = std::fs::read_to_string(format!("/proc/self/task/{id}/status")).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
        all.push((id, line.trim().parse().ok()?));
    }
    all.sort_unstable();
    Some(AllWait(all))
}

/// Reads a line of `/proc/self/task/ID/syscall`: the number of the call, and its arguments.
fn found(call: &str) -> Found {
    const FUTEX: &str = if cfg!(target_arch = "x86_64") { "202" } else { "98" };
    const PRIVATE: u64 = 128;
    const REALTIME: u64 = 256;
    /// `FUTEX_WAIT`, `FUTEX_LOCK_PI`, `FUTEX_WAIT_BITSET`.
    const WAITS: [u64; 3] = [0, 6, 9];
    let mut words = call.split_whitespace();
    if words.next() != Some(FUTEX) {
        return Found::Else;
    }
    let mut number = || words.next()?.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
    let arguments = (number(), number(), number(), number());
    let (Some(_), Some(op), Some(value), Some(timeout)) = arguments else { return Found::Else };
    // Shared with other processes; but so is the word at which a thread's end is waited for, which
    // holds that thread's number.
    let is_own = op & PRIVATE != 0 || std::path::Path::new(&format!("/proc/self/task/{value}")).exists();
    if !is_own || !WAITS.contains(&(op & !(PRIVATE | REALTIME))) {
        return Found::Else;
    }
    if timeout == 0 { Found::ForEver } else { Found::Timed }
}

#[cfg(all(test, not(loom), target_os = "linux"))]
mod test {
    use super::*;

    #[test]
    fn calls_are_told_apart() {
        let futex = if cfg!(target_arch = "x86_64") { "202" } else { "98" };
        let call = |op: &str, value: &str, limit: &str| {
            found(&format!("{futex} 0x7f00 {op} {value} {limit} 0x0 0xffffffff 0x7ffd 0x7f01\n"))
        };
        assert_eq!(call("0x80", "0x2", "0x0"), Found::ForEver);
        assert_eq!(call("0x89", "0x2", "0x0"), Found::ForEver);
        assert_eq!(call("0x89", "0x2", "0x7f0e0dbc8ca8"), Found::Timed);
        // Of another process, perhaps.
        assert_eq!(call("0x109", "0x0", "0x0"), Found::Else);
        let me = format!("{:#x}", super::super::id());
        assert_eq!(call("0x109", &me, "0x0"), Found::ForEver);
        // It wakes.
        assert_eq!(call("0x81", "0x1", "0x0"), Found::Else);
        for line in ["running\n", "-1 0x7ffd 0x7f01\n", "230 0x0 0x0 0x7ffc 0x7ffc 0x0 0x0 0x7ffc 0x7f21\n", ""] {
            assert_eq!(found(line), Found::Else, "{line}");
        }
    }

    /// Threads of the test harness run or wait for a time here.
    #[test]
    fn a_thread_that_runs_is_seen() {
        assert_eq!(all_wait(0, false, || true), None);
    }

    #[test]
    fn a_look_ends_early() {
        let asked = std::cell::Cell::new(0);
        let looks = all_wait(usize::MAX, false, || {
            asked.set(asked.get() + 1);
            false
        });
        assert!(looks.is_none() && asked.get() == 1);
    }
}
