use super::*;
use std::fs;
use std::path::PathBuf;

/// The files of a made-up machine, in a folder that goes with it.
struct Machine(PathBuf);

impl Machine {
    fn new(name: &str) -> Machine {
        Machine(std::env::temp_dir().join(format!("myriad-topology-{}-{name}", std::process::id())))
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// Two nodes of two cores with two threads, numbered as most machines do: the second threads of all
/// cores come behind the first ones.
fn two_nodes() -> Machine {
    let machine = Machine::new("two-nodes");
    for cpu in 0..8 {
        let (core, node) = (cpu % 4, cpu % 4 / 2);
        machine.file(&format!("cpu/cpu{cpu}/topology/thread_siblings_list"), &format!("{core},{}\n", core + 4));
        machine.file(&format!("cpu/cpu{cpu}/cache/index0/level"), "1\n");
        machine.file(&format!("cpu/cpu{cpu}/cache/index0/shared_cpu_list"), &format!("{core},{}\n", core + 4));
        machine.file(&format!("cpu/cpu{cpu}/cache/index3/level"), "3\n");
        let shared = format!("{}-{},{}-{}\n", node * 2, node * 2 + 1, node * 2 + 4, node * 2 + 5);
        machine.file(&format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), &shared);
        machine.file(&format!("node/node{node}/cpulist"), &shared);
    }
    machine.file("node/possible", "0-1\n");
    machine
}

#[test]
fn what_linux_says() {
    let machine = two_nodes();
    let topology = Topology::read(&machine.0, &[0, 1, 2, 3, 4, 5, 6, 7]);
    assert!(topology.cpus().eq(0..8));
    assert_eq!(topology.distance(0, 4), Distance::SameCore);
    assert_eq!(topology.distance(3, 3), Distance::SameCore);
    assert_eq!(topology.distance(0, 1), Distance::SameCache);
    assert_eq!(topology.distance(0, 5), Distance::SameCache);
    assert_eq!(topology.distance(1, 2), Distance::Remote);
    assert_eq!(topology.distance(0, 99), Distance::SameNode);
    // Of the processors that a process may use.
    let order = topology.nearest_first(&[1, 2, 5, 6]).unwrap();
    assert_eq!(
        order.iter().map(|order| order.to_vec()).collect::<Vec<_>>(),
        [[2, 1, 3], [3, 2, 0], [0, 3, 1], [1, 0, 2]]
    );
}

/// Two caches of a node, as in processors that are made of several chips.
#[test]
fn caches_of_a_node() {
    let machine = Machine::new("caches");
    for cpu in 0..4 {
        machine.file(&format!("cpu/cpu{cpu}/cache/index3/level"), "3\n");
        machine.file(&format!("cpu/cpu{cpu}/cache/index3/shared_cpu_list"), if cpu < 2 { "0-1\n" } else { "2-3\n" });
    }
    machine.file("node/node0/cpulist", "0-3\n");
    let topology = Topology::read(&machine.0, &[0, 1, 2, 3]);
    assert_eq!(topology.distance(0, 1), Distance::SameCache);
    assert_eq!(topology.distance(0, 2), Distance::SameNode);
    assert_eq!(topology, Topology::read(&machine.0, &[0, 1, 2, 3]));
}

/// A system that tells nothing, or something else, is a flat machine.
#[test]
fn what_is_not_told() {
    let nothing = Machine::new("nothing");
    let topology = Topology::read(&nothing.0, &[0, 1, 2]);
    assert_eq!(topology.distance(0, 2), Distance::SameCache);
    assert_eq!(topology.nearest_first(&[0, 1, 2]), None);
    nothing.file("cpu/cpu0/topology/thread_siblings_list", "what\n");
    nothing.file("cpu/cpu0/cache/indexes/level", "");
    nothing.file("node/node0/cpulist", "\n");
    assert_eq!(Topology::read(&nothing.0, &[0, 1, 2]), topology);
}

#[test]
fn lists() {
    assert_eq!(list("0-2,5,8-9\n"), [0, 1, 2, 5, 8, 9]);
    assert_eq!(list(""), [0usize; 0]);
    assert_eq!(list("x,3-,7"), [7]);
}

/// Two nodes of four cores with two threads: siblings, then the node, then the other one; each
/// worker looks at all others once.
#[test]
fn nearest_first() {
    let machine = Topology::regular(2, 1, 4, 2);
    let cpus: Vec<usize> = machine.cpus().collect();
    let order = machine.nearest_first(&cpus).unwrap();
    assert_eq!(order[3].to_vec(), [2, 4, 5, 6, 7, 0, 1, 8, 9, 10, 11, 12, 13, 14, 15]);
    for (me, order) in order.iter().enumerate() {
        let distances: Vec<_> = order.iter().map(|&other| machine.distance(me, usize::from(other))).collect();
        assert!(distances.is_sorted(), "{me}: {distances:?}");
        assert_eq!(distances[0], Distance::SameCore);
        let mut all: Vec<_> = order.iter().map(|&other| usize::from(other)).chain([me]).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(0..16));
    }
    assert_eq!(Topology::regular(1, 1, 8, 1).nearest_first(&cpus[..8]), None);
    assert_eq!(machine.nearest_first(&cpus[..2]), None);
}

#[test]
fn this_machine() {
    let machine = Topology::of_machine();
    assert!(machine.cpus().eq(crate::sys::thread::processors().cpus.iter().copied()));
    assert!(machine.cpus().all(|cpu| machine.distance(cpu, cpu) == Distance::SameCore));
}
