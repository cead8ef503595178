//! What there is on this machine.

use std::fs;

/// What was found. `None` is not known.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// Operating system and processor.
    pub(crate) system: String,
    /// Cores that the process may use.
    pub(crate) cores: usize,
    /// The share of them that the control group grants, if it limits it.
    pub(crate) quota: Option<f64>,
    /// Whether a thread can make all others pass a fence.
    pub(crate) membarrier: Option<bool>,
    /// Whether guard pages need no mapping of their own.
    pub(crate) guard_install: Option<bool>,
    /// How many mappings a process may have.
    pub(crate) max_map_count: Option<u64>,
    /// The ways in which a task can wait here.
    pub(crate) modes: Vec<&'static str>,
}

impl Found {
    /// Looks at this machine.
    ///
    /// Membarrier and guards are concluded from the kernel's version here.
    pub(crate) fn here() -> Self {
        let release = read("/proc/sys/kernel/osrelease");
        let version = release.as_deref().and_then(kernel_version);
        let fibers = cfg!(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")));
        Found {
            system: format!("{} {}, {}", std::env::consts::OS, release.unwrap_or_default(), std::env::consts::ARCH),
            cores: crate::bench::cores(),
            quota: quota(),
            membarrier: version.map(|v| v >= (4, 14)),
            guard_install: version.map(|v| v >= (6, 13)),
            max_map_count: read("/proc/sys/vm/max_map_count").and_then(|s| s.parse().ok()),
            modes: if fibers { vec!["fibers", "threads"] } else { vec!["threads"] },
        }
    }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
}

/// The first two numbers of a kernel's release.
fn kernel_version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(['.', '-']);
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The smallest limit of our control group and those above it (version 2 of control groups).
fn quota() -> Option<f64> {
    let groups = read("/proc/self/cgroup")?;
    let path = groups.lines().find_map(|l| l.strip_prefix("0::/"))?;
    let mut dir = std::path::PathBuf::from("/sys/fs/cgroup").join(path);
    let mut least: Option<f64> = None;
    while dir.starts_with("/sys/fs/cgroup") {
        let max = fs::read_to_string(dir.join("cpu.max")).ok().and_then(|s| share(&s));
        least = [least, max].into_iter().flatten().reduce(f64::min);
        dir.pop();
    }
    least
}

/// The cores that a `cpu.max` grants; none for `max`.
fn share(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.trim().split_once(' ')?;
    Some(quota.parse::<f64>().ok()? / period.parse::<f64>().ok()?)
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn versions_and_shares() {
        assert_eq!(kernel_version("6.18.3-generic"), Some((6, 18)));
        assert_eq!(kernel_version("x"), None);
        assert_eq!(share("150000 100000\n"), Some(1.5));
        assert_eq!(share("max 100000\n"), None);
    }

    #[test]
    fn something_is_found_here() {
        let found = Found::here();
        assert!(found.cores >= 1 && found.modes.contains(&"threads"));
    }
}
