//! What a program may take, and the words for one that took more.

use super::process::Used;
use crate::machine::memory;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Linux counts the seconds of a limit in nanoseconds, and more than 64 bits of them begin again
/// from 0: then such a program is killed at once. So much time, 584 years, is no limit.
const MOST_SECONDS: u64 = u64::MAX / 1_000_000_000;

/// Amounts in bytes. 0, or no time: no limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// In memory, of all processes of the group together. It is looked at.
    pub memory: u64,
    /// Processor time of all processes of the group together. It is looked at; each process has it
    /// as a limit of the system, too.
    pub cpu: Option<Duration>,
    /// Output and error each: it is seen as soon as it is passed.
    pub output: u64,
    /// Each file that it writes: a limit of the system.
    pub file: u64,
    /// Of each process: a limit of the system.
    pub address_space: u64,
}

impl Limits {
    /// From now on the command's processes begin with the limits that the system knows.
    pub(super) fn set(self, command: &mut Command) {
        let amounts = self.of_the_system();
        if amounts == [None; 3] {
            return; // (So std may start it the short way.)
        }
        // SAFETY: what runs in the child between `fork` and `exec` is two system calls for each
        // limit, with memory of its own frame; it computes nothing that may panic.
        unsafe { command.pre_exec(move || set_own(amounts)) };
    }

    /// Of processor time, in seconds, of files and of the address space: what a process is told by
    /// a signal, or an error, and what it never gets over.
    fn of_the_system(self) -> [Option<(u64, u64)>; 3] {
        let of_time = |time: Duration| {
            let seconds = time.as_secs().saturating_add(u64::from(time.subsec_nanos() > 0)).max(1);
            // (One that ignores the signal for its time is killed a second later.)
            (seconds < MOST_SECONDS).then(|| (seconds, seconds + 1))
        };
        let of_bytes = |most: u64| (most > 0).then_some((most, most));
        [self.cpu.and_then(of_time), of_bytes(self.file), of_bytes(self.address_space)]
    }

    /// What is over its limit, in words: "memory 2.1 GB of 2.0 GB".
    pub(super) fn exceeded(&self, used: Used) -> Option<String> {
        if self.memory > 0 && used.memory > self.memory {
            return Some(format!("memory {} of {}", memory(used.memory), memory(self.memory)));
        }
        self.cpu.filter(|most| used.cpu > *most).map(|most| cpu_time(used.cpu, most))
    }

    /// The same of one that a limit of the system has ended.
    pub(super) fn ended_by(&self, status: ExitStatus, cpu: Duration) -> Option<String> {
        // (A shell says so of its child by its own code.)
        let signal = status.signal().or_else(|| status.code().filter(|code| *code > 128).map(|code| code - 128))?;
        match (signal, self.cpu) {
            (libc::SIGXFSZ, _) if self.file > 0 => Some(format!("a file of more than {}", memory(self.file))),
            (libc::SIGXCPU, Some(most)) => Some(cpu_time(cpu, most)),
            (libc::SIGKILL, Some(most)) if cpu >= most => Some(cpu_time(cpu, most)),
            _ => None,
        }
    }

    /// What is to be known of one that failed by itself: it sees this limit as a lack of memory.
    pub(super) fn note(&self) -> String {
        match self.address_space {
            0 => String::new(),
            most => format!(" (its address space was limited to {})", memory(most)),
        }
    }
}

/// "cpu time 2.1 s of 2.0 s".
fn cpu_time(used: Duration, most: Duration) -> String {
    format!("cpu time {:.1} s of {:.1} s", used.as_secs_f64(), most.as_secs_f64())
}

/// In a child that has just been forked: nothing is allocated, and no lock is taken.
fn set_own(amounts: [Option<(u64, u64)>; 3]) -> io::Result<()> {
    let resources = [libc::RLIMIT_CPU, libc::RLIMIT_FSIZE, libc::RLIMIT_AS];
    for (resource, amount) in resources.into_iter().zip(amounts) {
        let Some((soft, hard)) = amount else { continue };
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the place is valid for writing, and of the type that the call writes.
        if unsafe { libc::getrlimit(resource, &raw mut limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
        limit.rlim_max = limit.rlim_max.min(hard);
        limit.rlim_cur = limit.rlim_max.min(soft);
        // SAFETY: the place is valid for reading, and of the type that the call reads.
        if unsafe { libc::setrlimit(resource, &raw const limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod test {
    use super::*;

    /// Whole seconds, rounded up; and more than the system can count is no limit.
    #[test]
    fn limits_of_the_system() {
        let seconds = |time| Limits { cpu: Some(time), ..Limits::default() }.of_the_system()[0];
        let (s, ms) = (Duration::from_secs, Duration::from_millis);
        assert_eq!([ms(0), ms(1), ms(1000), ms(1001)].map(seconds), [1, 1, 1, 2].map(|soft| Some((soft, soft + 1))));
        let most = MOST_SECONDS - 1;
        assert_eq!(seconds(s(most)), Some((most, most + 1)));
        assert!((most + 1).checked_mul(1_000_000_000).is_some());
        for much in [s(most) + ms(1), s(1 << 40), s(i64::MAX as u64), s(u64::MAX), Duration::MAX] {
            assert_eq!(seconds(much), None, "{much:?}");
        }
        let bytes = Limits { file: u64::MAX, address_space: 7, ..Limits::default() }.of_the_system();
        assert_eq!(bytes, [None, Some((u64::MAX, u64::MAX)), Some((7, 7))]);
    }

    #[test]
    fn words_for_limits() {
        let (ms, gb) = (Duration::from_millis, 1 << 30);
        let limits = Limits { memory: 2 * gb, cpu: Some(ms(2000)), file: 1 << 20, ..Limits::default() };
        let used = |memory, cpu| limits.exceeded(Used { memory, cpu });
        assert_eq!(used(2 * gb, ms(2000)), None);
        assert_eq!(used(2 * gb + gb / 10, ms(3000)).unwrap(), "memory 2.1 GB of 2.0 GB");
        assert_eq!(used(gb, ms(2100)).unwrap(), "cpu time 2.1 s of 2.0 s");
        let by = |raw, cpu| limits.ended_by(ExitStatus::from_raw(raw), cpu);
        assert_eq!(by(libc::SIGXFSZ, ms(0)).unwrap(), "a file of more than 1.0 MB");
        assert_eq!(by((128 + libc::SIGXFSZ) << 8, ms(0)).unwrap(), "a file of more than 1.0 MB");
        assert_eq!(by(libc::SIGXCPU, ms(2010)).unwrap(), "cpu time 2.0 s of 2.0 s");
        assert_eq!((by(libc::SIGKILL, ms(1900)), by(1 << 8, ms(5000))), (None, None));
        assert_eq!(Limits::default().ended_by(ExitStatus::from_raw(libc::SIGXCPU), ms(9)), None);
    }
}
