//! What a program may take, and the words for one that took more.

use super::process::Used;
use crate::machine::memory;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Amounts in bytes. 0, or no time: no limit.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    /// In memory, of all processes of the group together. It is looked at.
    pub memory: u64,
    /// Processor time of all processes of the group together. It is looked at; each process has it
    /// as a limit of the system, too.
    pub cpu: Option<Duration>,
    /// Output and error each. It is looked at.
    pub output: u64,
    /// Each file that it writes: a limit of the system.
    pub file: u64,
    /// Of each process: a limit of the system.
    pub address_space: u64,
}

impl Limits {
    /// From now on the command's processes begin with the limits that the system knows.
    pub(super) fn set(self, command: &mut Command) {
        let cpu = self.cpu.map_or(0, |time| (time.as_secs() + u64::from(time.subsec_nanos() > 0)).max(1));
        let amounts = [cpu, self.file, self.address_space];
        if amounts == [0; 3] {
            return; // (So std may start it the short way.)
        }
        // SAFETY: what runs in the child between `fork` and `exec` is two system calls for each
        // limit, with memory of its own frame.
        unsafe { command.pre_exec(move || set_own(amounts)) };
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
fn set_own(amounts: [u64; 3]) -> io::Result<()> {
    let resources = [libc::RLIMIT_CPU, libc::RLIMIT_FSIZE, libc::RLIMIT_AS];
    for (at, (resource, most)) in resources.into_iter().zip(amounts).enumerate() {
        if most == 0 {
            continue;
        }
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the place is valid for writing, and of the type that the call writes.
        if unsafe { libc::getrlimit(resource, &raw mut limit) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // (One that ignores the signal for its time is killed a second later.)
        let hard = if at == 0 { most + 1 } else { most };
        limit.rlim_max = limit.rlim_max.min(hard);
        limit.rlim_cur = limit.rlim_max.min(most);
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
