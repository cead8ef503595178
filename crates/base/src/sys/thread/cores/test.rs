use super::*;

/// Quota of a made-up machine: the files are (path, content).
fn quota(groups: &str, mounts: &str, files: &[(&str, &str)]) -> Option<f64> {
    quota_in(groups, mounts, &|path| {
        files.iter().find(|(p, _)| Path::new(p) == path).map(|(_, content)| content.to_string())
    })
}

const V2: &str = "25 21 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
const V1: &str = "\
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
";

#[test]
fn version_2_takes_the_least_on_the_way_up() {
    let files = [
        ("/sys/fs/cgroup/a.slice/b.scope/cpu.max", "max 100000\n"),
        ("/sys/fs/cgroup/a.slice/cpu.max", "150000 100000\n"),
        ("/sys/fs/cgroup/cpu.max", "800000 100000\n"),
    ];
    assert_eq!(quota("0::/a.slice/b.scope\n", V2, &files), Some(1.5));
    assert_eq!(quota("0::/\n", V2, &files), Some(8.0));
    assert_eq!(quota("0::/elsewhere\n", V2, &files), Some(8.0));
    assert_eq!(quota("0::/a.slice/b.scope\n", V2, &files[..1]), None);
}

#[test]
fn version_1() {
    let files = [
        ("/sys/fs/cgroup/cpu,cpuacct/docker/3f/cpu.cfs_quota_us", "50000\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/docker/3f/cpu.cfs_period_us", "20000\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n"),
        ("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n"),
    ];
    let groups = "9:cpuset:/docker/3f\n4:cpu,cpuacct:/docker/3f\n1:name=systemd:/x:y\n0::/\n";
    assert_eq!(quota(groups, V1, &files), Some(2.5));
    assert_eq!(quota("4:cpu,cpuacct:/docker\n", V1, &files), None);
}

/// The container sees its own group as the mount's root, but /proc/self/cgroup tells the host's
/// path.
#[test]
fn a_mount_that_begins_below_the_root() {
    let mounts = "25 21 0:22 /docker/3f /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
    let files = [("/sys/fs/cgroup/cpu.max", "300000 100000\n"), ("/sys/fs/cgroup/in/cpu.max", "100000 100000\n")];
    assert_eq!(quota("0::/docker/3f\n", mounts, &files), Some(3.0));
    assert_eq!(quota("0::/docker/3f/in\n", mounts, &files), Some(1.0));
    assert_eq!(quota("0::/../other\n", mounts, &files), Some(3.0));
}

#[test]
fn nonsense_is_no_limit() {
    assert_eq!(quota("", "", &[]), None);
    assert_eq!(quota("0::/\n", "what?\n - \n1 2 3 4 5 - cgroup2\n", &[]), None);
    for text in ["", "max", "x y", "0 100000", "-1 100000", "100000 0"] {
        assert_eq!(quota("0::/\n", V2, &[("/sys/fs/cgroup/cpu.max", text)]), None, "{text:?}");
    }
}

#[test]
fn the_quota_is_rounded_up() {
    for (cpus, quota, expected) in
        [(8, None, 8), (8, Some(0.2), 1), (8, Some(1.5), 2), (8, Some(2.0), 2), (4, Some(16.0), 4)]
    {
        assert_eq!(workers(cpus, quota), expected);
    }
}

#[test]
#[cfg_attr(miri, ignore)]
fn this_machine() {
    let cores = available();
    assert!(!cores.cpus.is_empty() && cores.cpus.is_sorted());
    assert!(cores.workers >= 1 && cores.workers <= cores.cpus.len());
}
