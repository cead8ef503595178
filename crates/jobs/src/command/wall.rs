//! A wall for memory: a control group of Linux, where the system lets this process make one.
//!
//! A program's memory is looked at every tenth of a second; a wall also ends one that takes all at
//! once. It stands above the limit, as it counts more than the limit does: page tables, buffers of
//! files and pipes.
//!
//! Version 1: a group of the controller `memory` inside of our own. Version 2: one beside our own,
//! since a group with processes of its own lends nothing to groups inside; so the group around ours
//! must be ours to write, and lend `memory`, as a session of systemd's does to its user.
//!
//! **Not done.** The program begins outside, and is put in when it has started: what it takes and
//! forks in these microseconds is not counted. (The other way runs code between `fork` and `exec`,
//! for which std's slow way to start a program is taken.)

use myriad_base::sys::mutex::Mutex;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Dropped, the group is gone; processes that are left in it go on in our own.
#[derive(Debug)]
pub(super) struct Wall {
    path: PathBuf,
    site: &'static Site,
}

/// Where groups can be made.
#[derive(Debug, PartialEq, Eq, Clone)]
struct Site {
    version: Version,
    /// Our own group.
    own: PathBuf,
    /// That in which new ones are made.
    parent: PathBuf,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Version {
    V1,
    V2,
}

impl Version {
    fn limit(self) -> &'static str {
        match self {
            Version::V1 => "memory.limit_in_bytes",
            Version::V2 => "memory.max",
        }
    }
    fn peak(self) -> &'static str {
        match self {
            Version::V1 => "memory.max_usage_in_bytes",
            Version::V2 => "memory.peak",
        }
    }
    /// The file with the line `oom_kill N`.
    fn kills(self) -> &'static str {
        match self {
            Version::V1 => "memory.oom_control",
            Version::V2 => "memory.events",
        }
    }
}

/// Groups that could not be removed: a process of theirs had not quite ended.
static LEFT: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

impl Wall {
    /// For a program that may use so much memory. `None`: the system does not let us.
    pub(super) fn new(memory: u64) -> Option<Wall> {
        static SITE: OnceLock<Option<Site>> = OnceLock::new();
        let works = |site: &Site| site.make(u64::MAX >> 1).is_ok_and(|path| fs::remove_dir(path).is_ok());
        let find = || Site::all(&read("/proc/self/cgroup"), &read("/proc/self/mountinfo")).into_iter().find(works);
        let site = SITE.get_or_init(find).as_ref()?;
        LEFT.lock().retain(|path| fs::remove_dir(path).is_err());
        let more = (memory / 8).saturating_add(16 << 20);
        let path = site.make(memory.saturating_add(more)).ok()?;
        Some(Wall { path, site })
    }
    /// The process, and all that it forks from now on.
    pub(super) fn put_in(&self, process: libc::pid_t) -> io::Result<()> {
        write(&self.path.join("cgroup.procs"), &process.to_string())
    }
    /// Has the system killed one of its processes, because together they have too much? Then how
    /// much that was.
    pub(super) fn killed_at(&self) -> Option<u64> {
        let kills = read(self.path.join(self.site.version.kills()));
        let kills = kills.lines().find_map(|line| line.strip_prefix("oom_kill "));
        kills.filter(|kills| kills.trim() != "0")?;
        Some(read(self.path.join(self.site.version.peak())).trim().parse().unwrap_or(0))
    }
}

impl Drop for Wall {
    fn drop(&mut self) {
        for process in read(self.path.join("cgroup.procs")).lines() {
            // (It may have ended.)
            _ = write(&self.site.own.join("cgroup.procs"), process);
        }
        if fs::remove_dir(&self.path).is_err() {
            LEFT.lock().push(std::mem::take(&mut self.path));
        }
    }
}

impl Site {
    /// Those that there may be, by what the system says of our groups and of what is mounted.
    fn all(groups: &str, mounts: &str) -> Vec<Site> {
        let site = |mount: &str| {
            let (before, after) = mount.split_once(" - ")?;
            let (before, mut after) = (before.split(' ').collect::<Vec<_>>(), after.split(' '));
            let (root, point) = (*before.get(3)?, Path::new(*before.get(4)?));
            let (version, options) = match after.next()? {
                "cgroup" => (Version::V1, after.nth(1)?),
                "cgroup2" => (Version::V2, ""),
                _ => return None,
            };
            let is_it = |controllers: &str| match version {
                Version::V1 => [controllers, options].iter().all(|all| all.split(',').any(|one| one == "memory")),
                Version::V2 => controllers.is_empty(),
            };
            let path = groups.lines().find_map(|line| {
                let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
                is_it(controllers).then_some(path)
            })?;
            let path = Path::new(path).strip_prefix(root).ok()?;
            let own = point.join(path);
            let parent = match version {
                Version::V2 if !path.as_os_str().is_empty() => own.parent()?.to_owned(),
                _ => own.clone(),
            };
            Some(Site { version, own, parent })
        };
        mounts.lines().filter_map(site).collect()
    }

    /// A new group in which processes may have so much memory.
    fn make(&self, memory: u64) -> io::Result<PathBuf> {
        static LAST: AtomicU64 = AtomicU64::new(0);
        let name = format!("myriad-{}-{}", std::process::id(), LAST.fetch_add(1, Relaxed));
        let path = self.parent.join(name);
        // (A process that was killed may have left one with this name.)
        _ = fs::remove_dir(&path);
        fs::create_dir(&path)?;
        let is_set = write(&path.join(self.version.limit()), &memory.to_string());
        is_set.inspect_err(|_| _ = fs::remove_dir(&path)).map(|()| path)
    }
}

/// What is not there is empty.
fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// To a file that is there.
fn write(path: &Path, text: &str) -> io::Result<()> {
    io::Write::write_all(&mut fs::File::options().write(true).open(path)?, text.as_bytes())
}

#[cfg(test)]
mod test {
    use super::super::process::{Processes, test::until_ended};
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    fn site(version: Version, own: &str, parent: &str) -> Vec<Site> {
        vec![Site { version, own: own.into(), parent: parent.into() }]
    }

    #[test]
    fn where_groups_can_be_made() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
                      32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
        let groups = "4:memory:/a/b\n2:cpu,cpuacct:/c\n0::/\n";
        assert_eq!(
            Site::all(groups, mounts),
            site(Version::V1, "/sys/fs/cgroup/memory/a/b", "/sys/fs/cgroup/memory/a/b")
        );
        // A container sees a part of the groups.
        let inside = "35 31 0:32 /docker/1 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n";
        let root = "/sys/fs/cgroup/memory";
        assert_eq!(Site::all("4:memory:/docker/1\n", inside), site(Version::V1, root, root));
        assert_eq!(Site::all("4:memory:/docker/2\n", inside), []);
        let second = "30 23 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let session = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-7.scope\n";
        let slice = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice";
        assert_eq!(Site::all(session, second), site(Version::V2, &format!("{slice}/run-7.scope"), slice));
        assert_eq!(Site::all("0::/\n", second), site(Version::V2, "/sys/fs/cgroup", "/sys/fs/cgroup"));
        assert_eq!(Site::all("", second), []);
        assert_eq!(Site::all("\n::\n1:\n", "\n - \n1 2 - cgroup2\n"), []);
    }

    /// A program that takes all at once is ended, and nothing is left of its group. (Where the
    /// system lets us make none, there is nothing to see.)
    #[test]
    fn a_wall_ends_who_takes_all_at_once() {
        let Some(wall) = Wall::new(1 << 20) else { return };
        let path = wall.path.clone();
        assert_eq!(wall.killed_at(), None);
        let group = Processes::default();
        // (It takes nothing before it is in the group.)
        let mut shell = Command::new("sh");
        let text = format!("until grep -q $$ {}/cgroup.procs; do :; done; exec tail /dev/zero", path.display());
        let leader = group.spawn(shell.args(["-c", &text])).unwrap();
        wall.put_in(leader).unwrap();
        until_ended(leader);
        let (status, _) = group.reap().unwrap();
        assert_eq!(status.signal(), Some(libc::SIGKILL));
        let most = wall.killed_at().unwrap();
        assert!((16 << 20..20 << 20).contains(&most), "{most}");
        drop(wall);
        while path.exists() {
            LEFT.lock().retain(|path| fs::remove_dir(path).is_err());
        }
    }
}
