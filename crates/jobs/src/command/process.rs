//! Processes, by system calls: signals to a group, the end of its leader, and what its processes
//! use.

use myriad_base::sys::mutex::Mutex;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// A process group whose leader is a child of ours.
///
/// **Invariant.** The number is here from the start of the leader until it is reaped, or is seen to
/// be [lost](Leader::Lost); so a signal that is sent under the lock reaches this group, and not one
/// that has its number later.
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
    /// Is there a process in the group besides the leader, which has ended and is not reaped?
    ///
    /// A zombie takes signals as others do, so they do not tell. Zombies do not count: those whose
    /// parent was the leader are reaped by the first process of the system, and in a container that
    /// may be one that never does.
    pub(super) fn has_others(&self) -> bool {
        let Some(leader) = *self.0.lock() else { return false };
        match members(leader) {
            Some(mut members) => members.any(|(process, of)| process != leader && of.lives),
            // (Where this finds the leader, the group gets its whole grace.)
            None => self.signal(0),
        }
    }
    /// The status of the leader, which has ended, and what it has used. `None`: the system does not
    /// know it any more (see [`Leader::Lost`]).
    pub(super) fn reap(&self) -> Option<(ExitStatus, libc::rusage)> {
        let mut group = self.0.lock();
        let leader = group.take()?;
        let mut status = 0;
        // SAFETY: all zeros is a value of this struct of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both places are valid for writing, and of the types that the call writes.
            let got = unsafe { libc::wait4(leader, &raw mut status, 0, &raw mut usage) };
            if got == leader {
                return Some((ExitStatus::from_raw(status), usage));
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return None;
            }
        }
    }
    /// The leader is lost, so its number may be another's: from now on nobody gets a signal.
    pub(super) fn forget(&self) {
        *self.0.lock() = None;
    }
}

/// How it is with a child of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leader {
    Runs,
    /// It is a zombie, so its number is its own still.
    Ended,
    /// It has ended, and is reaped: the system does that where `SIGCHLD` is ignored; or another
    /// part of this process has waited for any child.
    Lost,
}

impl Leader {
    pub(super) fn of(process: libc::pid_t) -> Leader {
        // SAFETY: all zeros is a value of this struct.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: the place is valid for writing, and of the type that the call writes.
        if unsafe { libc::waitid(libc::P_PID, process as libc::id_t, &raw mut info, flags) } != 0 {
            let is_signal = io::Error::last_os_error().kind() == io::ErrorKind::Interrupted;
            return if is_signal { Leader::Runs } else { Leader::Lost };
        }
        // SAFETY: the call has set `si_pid`, or it is still zero.
        if unsafe { info.si_pid() } == process { Leader::Ended } else { Leader::Runs }
    }
}

/// A file that becomes readable when the process ends; or none, where the system has no such files.
pub(super) struct Pidfd(Option<OwnedFd>);

impl Pidfd {
    pub(super) fn open(process: libc::pid_t) -> Pidfd {
        #[cfg(target_os = "linux")]
        {
            use std::os::fd::FromRawFd;
            // SAFETY: the call takes two numbers, and returns a file of ours or -1.
            let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, process, 0) };
            // SAFETY: a number that is not negative is a file that was just opened, and nobody
            // else's.
            Pidfd((fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) }))
        }
        #[cfg(not(target_os = "linux"))]
        {
            _ = process;
            Pidfd(None)
        }
    }
    pub(super) fn file(&self) -> Option<BorrowedFd<'_>> {
        self.0.as_ref().map(AsFd::as_fd)
    }
}

/// What processes use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Used {
    /// Bytes that are in memory now.
    pub memory: u64,
    pub cpu: Duration,
}

/// What the processes of a group use together; nothing where the system does not say. What they
/// share counts in each.
pub(super) fn used_by(group: libc::pid_t) -> Used {
    // SAFETY: `sysconf` reads numbers.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) }.max(1) as u64;
    let Some(members) = members(group) else { return Used::default() };
    let (memory, time) = members.fold((0, 0), |sum, (_, of)| (sum.0 + of.memory, sum.1 + of.time));
    Used { memory, cpu: Duration::from_millis(time * 1000 / ticks) }
}

/// The memory of the processes of a group, of which what is shared counts in parts: so it counts
/// once if only they share it. The system looks at each page for that, of 1 GB for about 10 ms.
pub(super) fn memory_in_parts(group: libc::pid_t) -> u64 {
    let of_one = |(process, of): (libc::pid_t, Stat)| parts_of(process).unwrap_or(of.memory);
    members(group).map_or(0, |members| members.map(of_one).sum())
}

/// `None`: the system does not say, or not to us.
fn parts_of(process: libc::pid_t) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    kilobytes(&text, "Pss:")
}

/// The processes of a group, zombies too; `None` where the system does not say.
fn members(group: libc::pid_t) -> Option<impl Iterator<Item = (libc::pid_t, Stat)>> {
    // SAFETY: `sysconf` reads numbers.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as u64;
    let of_one = move |entry: std::fs::DirEntry| {
        let process = entry.file_name().to_str()?.parse().ok()?;
        let of = parse(&std::fs::read_to_string(entry.path().join("stat")).ok()?, page)?;
        (of.group == group).then_some((process, of))
    };
    Some(std::fs::read_dir("/proc").ok()?.flatten().filter_map(of_one))
}

/// What is in a line of `/proc/*/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    group: libc::pid_t,
    /// It is no zombie.
    lives: bool,
    /// Bytes.
    memory: u64,
    /// Ticks of processor time, with those of children that were waited for.
    time: u64,
}

fn parse(stat: &str, page: u64) -> Option<Stat> {
    // After the name, which may have any characters: state, parent, group, ..; four times from the
    // 12th on; threads are the 18th, and pages the 22nd.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    // (One whose first thread has ended is called a zombie, too, while its others run.)
    let lives = !matches!(*fields.first()?, "Z" | "X") || number(17)? > 1;
    let time = fields.get(11..15)?.iter().filter_map(|time| time.parse::<u64>().ok()).sum();
    Some(Stat { group: fields.get(2)?.parse().ok()?, lives, memory: number(21)? * page, time })
}

/// The most memory that a process had, in bytes; 0 where the system does not say.
pub(super) fn peak_of(process: libc::pid_t) -> u64 {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return 0 };
    kilobytes(&status, "VmHWM:").unwrap_or(0)
}

/// The amount of a line "name  123 kB", in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()? * 1024)
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
pub(super) mod test {
    use super::super::pipe;
    use super::*;

    /// Waits for the end of a child, which is not reaped.
    pub(crate) fn until_ended(process: libc::pid_t) {
        let pidfd = Pidfd::open(process);
        while Leader::of(process) == Leader::Runs {
            pipe::wait(&mut [pipe::entry(pidfd.file())], Some(Duration::from_millis(100)));
        }
    }

    #[test]
    fn a_line_of_a_process() {
        let line = "77 (a) b (c)) S 1 42 42 0 -1 4194560 90 800 0 1 2 3 4 5 20 0 1 0 123 9000000 321 18446744";
        let of = |lives| Some(Stat { group: 42, lives, memory: 3210, time: 2 + 3 + 4 + 5 });
        assert_eq!(parse(line, 10), of(true));
        assert_eq!(parse(&line.replace(") S ", ") Z "), 10), of(false));
        let threads = line.replace(") S ", ") Z ").replace(" 20 0 1 0 ", " 20 0 2 0 ");
        assert_eq!(parse(&threads, 10), of(true), "its other thread runs");
        assert_eq!(parse("77 (a) S 1", 10), None);
        assert_eq!(parse("", 10), None);
        assert_eq!(kilobytes("Rss:  9 kB\nPss:   12 kB\n", "Pss:"), Some(12 << 10));
    }

    /// The processes of our own group, at least this one, have memory.
    #[test]
    fn what_our_own_group_uses() {
        // SAFETY: reads a number.
        let own = unsafe { libc::getpgrp() };
        assert!(used_by(own).memory > 0 && memory_in_parts(own) > 0);
        assert!(own_peak() > 0);
    }

    /// What a program and its children share counts once, if it is counted in parts.
    #[cfg(target_os = "linux")]
    #[test]
    fn shared_memory_counts_once() {
        // (The children are there until they are killed.)
        let text = "a=$(head -c 33554432 /dev/zero | tr '\\0' x); for i in 1 2 3 4; do (sleep 3600; :) & done; wait";
        let mut shell = Command::new("sh");
        let group = Processes::default();
        let leader = group.spawn(shell.args(["-c", text])).unwrap();
        while used_by(leader).memory < 150 << 20 {
            assert_eq!(Leader::of(leader), Leader::Runs);
        }
        // (A child that starts its program meanwhile lets its share go to those counted before it.)
        let mut parts = 0;
        while parts < 32 << 20 {
            parts = memory_in_parts(leader);
        }
        assert!(parts < 64 << 20, "{parts}");
        assert!(group.signal(libc::SIGKILL));
        group.reap().unwrap();
    }

    /// A group whose leader has ended has others as long as one of them runs.
    #[test]
    fn the_others_of_a_group() {
        let group = Processes::default();
        let mut shell = Command::new("sh");
        let leader = group.spawn(shell.args(["-c", "sleep 3600 & exit 0"])).unwrap();
        until_ended(leader);
        assert!(group.has_others());
        assert!(group.signal(libc::SIGKILL));
        while group.has_others() {
            std::thread::yield_now();
        }
        group.reap().unwrap();
        assert!(!group.has_others());
    }

    #[test]
    fn a_group_that_is_none_gets_no_signal() {
        let group = Processes::default();
        assert!(!group.signal(libc::SIGKILL));
        assert!(group.reap().is_none());
    }

    /// Of a child that another one has waited for nothing is known, and its number gets no signal.
    #[test]
    fn a_leader_that_is_lost() {
        let group = Processes::default();
        let leader = group.spawn(&mut Command::new("true")).unwrap();
        until_ended(leader);
        assert_eq!(Leader::of(leader), Leader::Ended);
        // SAFETY: the call takes numbers, and no place for a status.
        assert_eq!(unsafe { libc::waitpid(leader, std::ptr::null_mut(), 0) }, leader);
        assert_eq!(Leader::of(leader), Leader::Lost);
        group.forget();
        assert!(!group.signal(0) && group.reap().is_none());
    }
}
