//! What a system cannot do on this machine, known before it is tried.

use crate::record::Failure;

/// Mappings the process has before the first task, with room to spare.
const MAPPINGS_IN_USE: u64 = 5_000;

/// The number in a file of `/proc/sys`, or what Linux has when nobody changed it.
fn sysctl(name: &str, usual: u64) -> u64 {
    std::fs::read_to_string(format!("/proc/sys/{name}")).ok().and_then(|s| s.trim().parse().ok()).unwrap_or(usual)
}

/// How many of those that take so many mappings the kernel allows a process.
fn most_of(mappings: u64) -> u64 {
    sysctl("vm/max_map_count", 65_530).saturating_sub(MAPPINGS_IN_USE) / mappings
}

/// Refuses more OS threads at a time than the kernel gives a process.
pub(crate) fn threads(n: u64) -> Result<(), Failure> {
    // Its stack, the stack for signals, and a guard of each.
    let most = most_of(4).min(sysctl("kernel/threads-max", 60_000) / 2).min(sysctl("kernel/pid_max", 32_768) - 2_000);
    if n > most {
        return Err(Failure::Cannot(format!("{n} OS threads at a time; the kernel's limits allow about {most} here")));
    }
    Ok(())
}

/// Descriptors that the process has beside its connections, with room to spare.
#[cfg(target_os = "linux")]
const DESCRIPTORS_IN_USE: u64 = 100;

/// How many connections the process may have: as many as the hard limit of descriptors allows, to
/// which the soft one is raised.
#[cfg(target_os = "linux")]
pub(crate) fn descriptors() -> u64 {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a place of that type.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return u64::MAX;
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: reads `limit` in the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    limit.rlim_max.saturating_sub(DESCRIPTORS_IN_USE).max(1)
}

/// Refuses more coroutines of `may` at a time than the kernel has mappings for.
#[cfg(feature = "peers")]
pub(crate) fn may(n: u64) -> Result<(), Failure> {
    let most = most_of(2);
    if n > most {
        return Err(Failure::Cannot(format!(
            "{n} coroutines of may at a time; it maps two regions for each, so vm.max_map_count allows about {most}"
        )));
    }
    Ok(())
}
