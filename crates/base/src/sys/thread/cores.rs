//! How many processors the process may use: its affinity mask, and what its control groups leave of
//! them.
//!
//! A container's limit is a *quota* of processor time (2.5 processors' worth in each 100 ms, say)
//! that the affinity mask does not show. Each group above limits too, so the walk goes up to the
//! root and takes the least; version 2 (`cpu.max`) and version 1 (`cpu.cfs_quota_us`).
//!
//! Everything is read afresh at each call: 0.1 ms.

#[cfg(any(target_os = "linux", target_os = "android", test))]
use crate::sys::fact::Fact;
use std::path::{Path, PathBuf};

/// What the process may use.
#[derive(Debug, Clone, PartialEq)]
pub struct Cores {
    /// The processors that the calling thread may run on, ascending; never empty.
    pub cpus: Vec<usize>,
    /// How many processors' worth of time the control groups allow, if they limit it.
    pub quota: Option<f64>,
    /// How many workers make sense: the processors, at most the quota rounded up, at least 1.
    pub workers: usize,
}

/// What the process may use, now.
pub fn available() -> Cores {
    let cpus = cpus();
    let quota = quota();
    let workers = workers(cpus.len(), quota);
    Cores { cpus, quota, workers }
}

/// Up, not down: with 1.5 processors' worth, one worker could not use them all.
fn workers(cpus: usize, quota: Option<f64>) -> usize {
    quota.map_or(cpus, |q| cpus.min(q.ceil() as usize)).max(1)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) const BITS: usize = libc::c_ulong::BITS as usize;

#[cfg(any(target_os = "linux", target_os = "android"))]
fn cpus() -> Vec<usize> {
    // The kernel refuses a mask that is shorter than its own.
    for words in [16, 64, 256, 1024] {
        let mut mask = vec![0 as libc::c_ulong; words];
        // SAFETY: the kernel writes at most as many bytes as we say, and the mask has them.
        if unsafe { libc::sched_getaffinity(0, size_of_val(&mask[..]), mask.as_mut_ptr().cast()) } == 0 {
            return (0..words * BITS).filter(|cpu| mask[cpu / BITS] >> (cpu % BITS) & 1 == 1).collect();
        }
    }
    counted()
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn cpus() -> Vec<usize> {
    counted()
}

/// As many as std says, if we cannot say which.
fn counted() -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(1, usize::from)).collect()
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn quota() -> Option<f64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    quota_in(&groups, &mounts, &|path| std::fs::read_to_string(path).ok())
}
#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn quota() -> Option<f64> {
    None
}

/// The least quota of the process's groups. `groups` is the text of `/proc/self/cgroup`, `mounts`
/// of `/proc/self/mountinfo`.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn quota_in(groups: &str, mounts: &str, read: &dyn Fn(&Path) -> Option<String>) -> Option<f64> {
    let mut least: Option<f64> = None;
    for line in groups.lines() {
        // "0::/user.slice" is version 2, "4:cpu,cpuacct:/docker/3f" version 1.
        let mut fields = line.splitn(3, ':');
        let (Some(id), Some(controllers), Some(group)) = (fields.next(), fields.next(), fields.next()) else {
            continue;
        };
        let v2 = id == "0" && controllers.is_empty();
        if !v2 && !controllers.split(',').any(|c| c == "cpu") {
            continue;
        }
        let Some((mount, mut inside)) = mounts.lines().find_map(|line| mounted(line, v2, group)) else { continue };
        loop {
            let folder = mount.join(&inside);
            let quota = if v2 {
                read(&folder.join("cpu.max")).and_then(|text| quota_v2(&text))
            } else {
                read(&folder.join("cpu.cfs_quota_us"))
                    .zip(read(&folder.join("cpu.cfs_period_us")))
                    .and_then(|(quota, period)| ratio(&quota, &period))
            };
            least = match (least, quota) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
            if !inside.pop() {
                break;
            }
        }
    }
    least
}

/// If this line of mountinfo mounts the hierarchy: where, and where in it the group lies
/// (relative). In a container the mount often begins at the group itself, or the group is told from
/// a root that the mount does not show.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn mounted(line: &str, v2: bool, group: &str) -> Option<(PathBuf, PathBuf)> {
    // 36 35 98:0 /root /mount/point rw,noatime shared:1 - cgroup cgroup rw,cpu,cpuacct
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(3);
    let (root, point) = (front.next()?, front.next()?);
    let mut back = back.split(' ');
    let is_it = match back.next()? {
        "cgroup2" => v2,
        "cgroup" => !v2 && back.nth(1)?.split(',').any(|c| c == "cpu"),
        _ => false,
    };
    let inside = Path::new(group).strip_prefix(root).unwrap_or(Path::new("")).to_path_buf();
    let inside = inside.strip_prefix("/").map_or(inside.clone(), Path::to_path_buf);
    let escapes = inside.components().any(|c| c == std::path::Component::ParentDir);
    is_it.then(|| (unescape(point).into(), if escapes { PathBuf::new() } else { inside }))
}

/// mountinfo writes a blank as `\040`.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn unescape(path: &str) -> String {
    path.replace("\\040", " ").replace("\\011", "\t").replace("\\012", "\n").replace("\\134", "\\")
}

/// "150000 100000", or "max 100000".
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn quota_v2(text: &str) -> Option<f64> {
    let (quota, period) = text.trim().split_once(' ')?;
    ratio(quota, period)
}

/// None for "max", -1 and nonsense.
#[cfg(any(target_os = "linux", target_os = "android", test))]
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period): (f64, f64) = (quota.trim().parse().ok()?, period.trim().parse().ok()?);
    (quota > 0.0 && period > 0.0).then_some(quota / period)
}

/// The answer to the first question.
static CORES: Fact<Cores> = Fact::new();

/// What the process may use, as it was at the first question.
pub fn processors() -> &'static Cores {
    CORES.get(available)
}

/// What the calling thread may use now; the first answer is that of [`processors`].
pub fn processors_now() -> Cores {
    let now = available();
    CORES.get(|| now.clone());
    now
}

#[cfg(all(test, not(loom)))]
mod test;
