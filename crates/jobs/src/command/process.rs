//! Processes, by system calls: signals to a group, the end of its leader, and what its processes
//! use.

use myriad_base::sys::clock;
use myriad_base::sys::mutex::Mutex;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// A process group whose leader is a child of ours.
///
/// **Invariant.** The number is here from the start of the leader until it is reaped; so a signal
/// that is sent under the lock reaches this group, and never one that has its number later.
#[derive(Debug, Default)]
pub(super) struct Processes(Mutex<Option<libc::pid_t>>);

impl Processes {
    /// Starts the leader. (Under the lock: who signals meanwhile finds it.)
    pub(super) fn spawn(&self, command: &mut Command) -> io::Result<libc::pid_t> {
        let mut group = self.0.lock();
        let leader = command.process_group(0).spawn()?.id() as libc::pid_t;
        *group = Some(leader);
        Ok(leader)
    }
    /// To all processes of the group. False: there is none.
    pub(super) fn signal(&self, signal: libc::c_int) -> bool {
        let group = self.0.lock();
        // SAFETY: `kill` takes numbers, and the group's is its own (see the invariant).
        group.is_some_and(|leader| unsafe { libc::kill(-leader, signal) } == 0)
    }
    /// The status of the leader, which has ended, and what it has used.
    pub(super) fn reap(&self) -> io::Result<(ExitStatus, libc::rusage)> {
        let mut group = self.0.lock();
        let leader = group.take().ok_or_else(|| io::Error::other("there is no process"))?;
        let mut status = 0;
        // SAFETY: all zeros is a value of this struct of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both places are valid for writing, and of the types that the call writes.
            let got = unsafe { libc::wait4(leader, &raw mut status, 0, &raw mut usage) };
            if got == leader {
                return Ok((ExitStatus::from_raw(status), usage));
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// A file that becomes readable when the process ends; or none, where the system has no such files.
pub(super) struct Pidfd(Option<std::os::fd::OwnedFd>);

impl Pidfd {
    pub(super) fn open(process: libc::pid_t) -> Pidfd {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::FromRawFd;
            // SAFETY: the call takes two numbers, and returns a file of ours or -1.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
            // SAFETY: a number that is not negative is a file that was just opened, and nobody
            // else's.
            Pidfd((fd >= 0).then(|| unsafe { std::os::fd::OwnedFd::from_raw_fd(fd as libc::c_int) }))
        }
        #[cfg(not(target_os = "linux"))]
        {
            _ = process;
            Pidfd(None)
        }
    }

    /// Waits so long at most. True: the process has ended; it is not reaped.
    pub(super) fn has_ended(&self, process: libc::pid_t, most: Duration) -> bool {
        use std::os::fd::AsRawFd;
        if let Some(fd) = &self.0 {
            let mut poll = libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid entry, for the length of the call.
            return unsafe { libc::poll(&raw mut poll, 1, most.as_millis() as libc::c_int) } > 0;
        }
        // SAFETY: all zeros is a value of this struct.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the place is valid for writing; `si_pid` is set by this call, or still zero.
        let ended = unsafe {
            libc::waitid(libc::P_PID, process as libc::id_t, &raw mut info, flags) == 0 && info.si_pid() == process
        };
        if !ended {
            clock::sleep(most.min(Duration::from_millis(5)));
        }
        ended
    }
}

/// What processes use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// Bytes that are in memory now.
    pub memory: u64,
    pub cpu: Duration,
}

/// What the processes of a group use together; nothing where the system does not say.
pub(super) fn used_by(group: libc::pid_t) -> Used {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Used::default() };
    // SAFETY: `sysconf` reads numbers.
    let (page, ticks) = unsafe { (libc::sysconf(libc::_SC_PAGESIZE), libc::sysconf(libc::_SC_CLK_TCK)) };
    let (page, ticks) = (page.max(1) as u64, ticks.max(1) as u64);
    let of_one = |entry: std::fs::DirEntry| {
        entry.file_name().to_str()?.parse::<u32>().ok()?;
        let (own, pages, time) = parse(&std::fs::read_to_string(entry.path().join("stat")).ok()?)?;
        (own == group).then_some((pages, time))
    };
    let (pages, time) = processes.flatten().filter_map(of_one).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    Used { memory: pages * page, cpu: Duration::from_millis(time * 1000 / ticks) }
}

/// Of a line of `/proc/*/stat`: the group, pages in memory, and ticks of processor time, with those
/// of children that were waited for.
fn parse(stat: &str) -> Option<(libc::pid_t, u64, u64)> {
    // After the name, which may have any characters: state, parent, group, ..; four times from the
    // 12th on; pages are the 22nd.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let time = fields.get(11..15)?.iter().filter_map(|time| time.parse::<u64>().ok()).sum();
    Some((fields.get(2)?.parse().ok()?, fields.get(21)?.parse().ok()?, time))
}

/// The most memory that a process had, in bytes; 0 where the system does not say.
pub(super) fn peak_of(process: libc::pid_t) -> u64 {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return 0 };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) * 1024
}

/// The most memory that this process had, in bytes.
pub(super) fn own_peak() -> u64 {
    // SAFETY: all zeros is a value of this struct of numbers, which the call fills.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the place is valid for writing, and of the type that the call writes.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
    most_memory(&usage)
}

/// The most memory that one of the processes had, in bytes.
pub(super) fn most_memory(usage: &libc::rusage) -> u64 {
    // (Kilobytes on Linux.)
    let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
    usage.ru_maxrss as u64 * unit
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn a_line_of_a_process() {
        let line = "77 (a) b (c)) S 1 42 42 0 -1 4194560 90 800 0 1 2 3 4 5 20 0 1 0 123 9000000 321 18446744";
        assert_eq!(parse(line), Some((42, 321, 2 + 3 + 4 + 5)));
        assert_eq!(parse("77 (a) S 1"), None);
        assert_eq!(parse(""), None);
    }

    /// The processes of our own group, at least this one, have memory.
    #[test]
    fn what_our_own_group_uses() {
        // SAFETY: reads a number.
        let own = unsafe { libc::getpgrp() };
        assert!(used_by(own).memory > 0);
        assert!(own_peak() > 0);
    }

    #[test]
    fn a_group_that_is_none_gets_no_signal() {
        let group = Processes::default();
        assert!(!group.signal(libc::SIGKILL));
        assert!(group.reap().is_err());
    }
}
