//! What this machine offers to the engine, and what each missing thing costs.
//!
//! Found out by trying, not by the kernel's version: containers forbid calls that the kernel has.

use crate::stack::FIBERS_SUPPORTED;
use crate::stack::pool::DEFAULT_STACK;
use crate::sys::{fence, map, thread};
use std::fmt;

pub use crate::sys::map::GuardKind;

/// What the engine found on this machine: what [`platform()`] returns. [`Display`](fmt::Display)
/// makes a block of lines for people.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Platform {
    /// The operating system, as in `std::env::consts::OS`.
    pub os: &'static str,
    /// The kernel's version, as it tells it itself; empty if it does not.
    pub kernel: String,
    /// The processor's architecture, as in `std::env::consts::ARCH`.
    pub arch: &'static str,
    /// The processors that the calling thread may run on.
    pub cpus: Vec<usize>,
    /// How many processors' worth of time the control groups allow, if they limit it.
    pub quota: Option<f64>,
    /// How many workers a runtime has by default.
    pub workers: usize,
    /// Whether threads can be bound to processors.
    pub pinning: bool,
    /// Whether tasks can wait on stacks of their own instead of OS threads.
    pub fibers: bool,
    /// Whether the kernel runs fences on other threads for us.
    pub membarrier: bool,
    /// Whether that is only because `MYRIAD_NO_MEMBARRIER` forbids it.
    pub membarrier_forbidden: bool,
    /// How the guard pages of stacks are made.
    pub guard_pages: GuardKind,
    /// Whether that is only because `MYRIAD_NO_GUARD_INSTALL` forbids better.
    pub guard_install_forbidden: bool,
    /// How many memory mappings a process may have, if there is a limit.
    pub max_map_count: Option<usize>,
    /// How many of them a thread of ours takes: two stacks with their guards, and an alternate
    /// stack for signals.
    pub mappings_of_thread: usize,
    /// The size of a page in bytes.
    pub page_size: usize,
    /// About how many threads the user may have: the least of the limits that are known.
    pub max_threads: Option<usize>,
}

/// What the engine finds on this machine. The first call decides how fences and guards work in this
/// process, if nothing has done so before, and takes some 0.3 ms.
///
/// # Examples
/// ```
/// # use myriad_base::platform as myriad;
/// let platform = myriad::platform();
/// println!("{platform}");
/// ```
pub fn platform() -> Platform {
    let cores = thread::available();
    let forbidden = |name| std::env::var_os(name).is_some_and(|v| !v.is_empty() && v != "0");
    let membarrier = membarrier();
    let guard_pages = map::guard_kind();
    Platform {
        os: std::env::consts::OS,
        kernel: line_of("/proc/sys/kernel/osrelease").unwrap_or_default(),
        arch: std::env::consts::ARCH,
        quota: cores.quota,
        workers: cores.workers,
        // The same processors as before: nothing changes.
        pinning: thread::unpin(&cores.cpus),
        cpus: cores.cpus,
        fibers: FIBERS_SUPPORTED,
        membarrier,
        membarrier_forbidden: !membarrier && forbidden("MYRIAD_NO_MEMBARRIER"),
        guard_pages,
        guard_install_forbidden: guard_pages == GuardKind::Mprotect && forbidden("MYRIAD_NO_GUARD_INSTALL"),
        max_map_count: map::max_map_count(),
        mappings_of_thread: map::mappings_of_thread(),
        page_size: map::page_size(),
        max_threads: max_threads(),
    }
}

#[cfg(not(loom))]
fn membarrier() -> bool {
    fence::membarrier_works()
}
#[cfg(loom)]
fn membarrier() -> bool {
    _ = fence::heavy;
    false
}

fn line_of(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn max_threads() -> Option<usize> {
    let number = |path| line_of(path)?.parse::<usize>().ok();
    [number("/proc/sys/kernel/pid_max"), number("/proc/sys/kernel/threads-max"), user_limit()]
        .into_iter()
        .flatten()
        .min()
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple", target_os = "freebsd"))]
fn user_limit() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: fills the structure.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_NPROC, &mut limit) } == 0;
    (got && limit.rlim_cur != libc::RLIM_INFINITY).then_some(usize::try_from(limit.rlim_cur).ok()?)
}
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple", target_os = "freebsd")))]
fn user_limit() -> Option<usize> {
    None
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = |what: &str, found: String, meaning: String| {
            let text = format!("{what:<14} {found:<28} {meaning}");
            writeln!(f, "{}", text.trim_end())
        };
        line("system", format!("{} {} {}", self.os, self.kernel, self.arch), String::new())?;
        let quota = self.quota.map_or("no limit on their time".into(), |q| format!("limited to {q} processors' worth"));
        line("processors", self.cpus.len().to_string(), format!("{quota}: {} workers by default", self.workers))?;
        line("pinning", yes(self.pinning), self.pinning_means())?;
        line("fibers", yes(self.fibers), self.fibers_mean())?;
        line("membarrier", yes_but(self.membarrier, self.membarrier_forbidden), self.membarrier_means())?;
        line("guard pages", self.guards(), self.guards_mean())?;
        let max = self.max_map_count.map_or("no limit known".into(), |n| n.to_string());
        line("mappings", max, format!("vm.max_map_count; a thread takes {}", self.mappings_of_thread))?;
        line("page size", format!("{} bytes", self.page_size), "the least memory of a blocked fiber".into())?;
        let threads = self.max_threads.map_or("no limit known".into(), |n| n.to_string());
        line("threads", threads, "at most, for this user: in threads mode each blocked task takes one".into())
    }
}

impl Platform {
    fn pinning_means(&self) -> String {
        match self.pinning {
            true => String::new(),
            false => "a woken worker may land on a busy processor: some ms late, rarely".into(),
        }
    }

    fn fibers_mean(&self) -> String {
        match self.fibers {
            true => "a switch between blocked tasks takes about 2 ns".into(),
            false => "each blocked task keeps an OS thread; a switch takes microseconds".into(),
        }
    }

    fn membarrier_means(&self) -> String {
        match self.membarrier {
            true => "spawning, taking back and locking need no fences".into(),
            false => "about 6 ns more for each spawn, join and lock; locks do without bias".into(),
        }
    }

    fn guards(&self) -> String {
        match self.guard_pages {
            GuardKind::GuardInstall => "madvise".into(),
            GuardKind::Mprotect if self.guard_install_forbidden => "mprotect (madvise forbidden)".into(),
            GuardKind::Mprotect => "mprotect".into(),
            GuardKind::None => "none".into(),
        }
    }

    fn guards_mean(&self) -> String {
        match self.guard_pages {
            GuardKind::GuardInstall => format!("stacks of {} KiB take no mappings of their own", DEFAULT_STACK >> 10),
            GuardKind::Mprotect => match self.max_map_count {
                Some(_) => format!(
                    "2 mappings a stack, so at most {} fibers can block; 1.6 µs a stack instead of 0.4 (Linux 6.13: madvise)",
                    map::split_limit()
                ),
                None => "1.6 µs a stack instead of 0.4".into(),
            },
            GuardKind::None => "no memory maps here, so no fibers".into(),
        }
    }
}

fn yes(there: bool) -> String {
    yes_but(there, false)
}

fn yes_but(there: bool, forbidden: bool) -> String {
    match (there, forbidden) {
        (true, _) => "yes".into(),
        (false, true) => "no (forbidden here)".into(),
        (false, false) => "no".into(),
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore)]
    fn this_machine() {
        let here = platform();
        assert!(here.workers >= 1 && here.workers <= here.cpus.len());
        assert!(here.page_size.is_power_of_two());
        assert_eq!(here.fibers, FIBERS_SUPPORTED);
        let text = here.to_string();
        assert_eq!(text.lines().count(), 9, "{text}");
        if cfg!(target_os = "linux") {
            assert!(here.pinning && !here.kernel.is_empty() && here.max_threads.is_some(), "{here:?}");
        }
    }

    #[test]
    fn what_is_missing_is_told_with_its_price() {
        let poor = Platform {
            os: "linux",
            kernel: "5.4.0".into(),
            arch: "x86_64",
            cpus: vec![0, 3, 5],
            quota: Some(1.5),
            workers: 2,
            pinning: false,
            fibers: true,
            membarrier: false,
            membarrier_forbidden: true,
            guard_pages: GuardKind::Mprotect,
            guard_install_forbidden: false,
            max_map_count: Some(65530),
            mappings_of_thread: 6,
            page_size: 4096,
            max_threads: Some(30000),
        };
        let text = poor.to_string();
        for part in [
            "limited to 1.5",
            "2 workers",
            "no (forbidden here)",
            "6 ns more",
            "2 mappings a stack",
            "30000",
            "takes 6",
        ] {
            assert!(text.contains(part), "{part} is not in\n{text}");
        }
    }
}
