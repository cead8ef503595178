//! Scripts of takeovers: ready tasks of a worker that is stuck go on elsewhere, once, and none is
//! forgotten.

use super::pool::{TestPool, spawn_part};
use super::{SCRIPT, Script};
use crate::queue::parked::{Home, Parked, Resumable};
use crate::sched::idle::WorkerShared;
use loom::thread;
use myriad_base::stack::threads::{Baton, Order};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::fence::Fence;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A pool in threads mode, and blocked tasks of worker 0.
struct Ward {
    w: Arc<TestPool>,
    nodes: Vec<*mut Parked>,
    /// Nodes that went on. (Std's: orders nothing in a model.)
    taken: AtomicUsize,
}

// SAFETY: nodes go from thread to thread through the queues under test.
unsafe impl Sync for Ward {}
// SAFETY: the nodes belong to the script, and outlive all its threads.
unsafe impl Send for Ward {}

impl Ward {
    fn new(workers: usize, nodes: usize) -> Arc<Ward> {
        let w = TestPool::new(workers, 0);
        w.workers.all().iter().for_each(|shared| shared.ready.set_mode(true, false));
        let nodes = (0..nodes).map(|_| Box::into_raw(Box::new(Parked::new(Some(Home::of(w.shared(0))))))).collect();
        Arc::new(Ward { w, nodes, taken: AtomicUsize::new(0) })
    }
    /// A waker on another worker, or a foreign thread.
    fn wake(&self, node: usize, fence: &Fence) {
        // SAFETY: the node is in no list, and this is its only waker.
        unsafe { self.w.workers.send(self.w.shared(0), Resumable::from_raw(self.nodes[node]), fence) };
    }
    /// The task goes on.
    fn go_on(&self, node: Resumable) {
        let node = node.into_raw();
        assert!(self.nodes.contains(&node));
        // SAFETY: loom has checked that nobody else is at it.
        unsafe { (*node).saved.with_mut(|saved| *saved = saved.cast()) };
        self.taken.fetch_add(1, Relaxed);
    }
    /// Worker 0's own turn: first the slot and the ring, then the inbox. False: nothing was ready.
    fn own_turn(&self) -> bool {
        let me = self.w.shared(0);
        let node = me.ready.locked(|ring| ring.pop_next());
        if let Some(node) = node {
            self.go_on(node);
        } else if !me.remote.inbox.is_empty() {
            me.remote.inbox.take(|node| me.push_ready(node));
        } else {
            return false;
        }
        true
    }
    /// Worker 1 goes on with a ready task of worker 0. False: there is none.
    fn help(&self) -> bool {
        let Some((next_task, node)) = self.w.workers.take_over(self.w.shared(1)) else { return false };
        assert!(std::ptr::eq(next_task, self.w.shared(0)));
        self.go_on(node);
        true
    }
    /// Worker 1 looks for such a task until it has one, and sleeps in between.
    fn help_once(&self) {
        while !self.help() {
            if !self.w.workers.sleep(self.w.shared(1), || None).has_slept() {
                thread::yield_now();
            }
        }
    }
    fn open(&self) {
        self.w.workers.allow_takeover(self.w.shared(0));
    }
    fn taken(&self) -> usize {
        self.taken.load(Relaxed)
    }
}

impl Drop for Ward {
    fn drop(&mut self) {
        for &node in &self.nodes {
            // SAFETY: from a box, and the script is over.
            drop(unsafe { Box::from_raw(node) });
        }
    }
}

fn ready(shared: &WorkerShared) -> bool {
    !shared.remote.inbox.is_empty() || !shared.ready.locked(|ring| ring.is_all_empty())
}

/// A helper and the worker itself, which has come back, take what is ready: each task goes on once.
fn taken_once() {
    let ward = Ward::new(2, 2);
    ward.open();
    ward.wake(0, &Fence::foreign());
    ward.wake(1, &Fence::foreign());
    let helper = spawn_part(&ward, |ward| _ = ward.help());
    ward.own_turn();
    helper.join().unwrap();
    while ward.own_turn() {}
    assert_eq!(ward.taken(), 2);
}

/// A waker sends to a worker that allows takeovers, while the only helper is going to sleep.
fn helper_told() {
    let ward = Ward::new(2, 1);
    ward.open();
    let helper = spawn_part(&ward, Ward::help_once);
    ward.wake(0, &Fence::foreign());
    helper.join().unwrap();
    assert_eq!(ward.taken(), 1);
}

/// The stuck worker itself wakes one of its tasks, and computes on.
fn helper_told_by_the_ward() {
    let ward = Ward::new(2, 1);
    ward.open();
    let helper = spawn_part(&ward, Ward::help_once);
    let me = ward.w.shared(0);
    // SAFETY: the node is in no list, and stands to the end of the script.
    me.push_ready(unsafe { Resumable::from_raw(ward.nodes[0]) });
    helper.join().unwrap();
    assert_eq!(ward.taken(), 1);
}

/// The same by the slot: both tasks were to go on next, the second one before the first. The helper
/// takes both.
fn taken_from_the_slot() {
    let ward = Ward::new(2, 2);
    ward.open();
    let helper = spawn_part(&ward, |ward| (0..2).for_each(|_| ward.help_once()));
    let me = ward.w.shared(0);
    for &node in &ward.nodes {
        // SAFETY: the node is in no list, and stands to the end of the script.
        me.push_next(unsafe { Resumable::from_raw(node) });
    }
    helper.join().unwrap();
    assert_eq!(ward.taken(), 2);
}

/// A takeover is allowed while one of its tasks is woken: a helper that sleeps hears of it.
fn allowed_meanwhile() {
    let ward = Ward::new(2, 1);
    ward.w.put_to_sleep(1);
    let waker = spawn_part(&ward, |ward| ward.wake(0, &Fence::foreign()));
    ward.open();
    waker.join().unwrap();
    assert!(!ward.w.workers.has_sleepers(), "the helper is forgotten");
}

/// A helper moves two tasks from the inbox to the ring and takes one, while the worker itself comes
/// back and goes to sleep, if it finds nothing.
fn left_while_it_sleeps(finds_nothing: impl FnOnce(&Ward) -> bool) {
    let ward = Ward::new(2, 2);
    ward.open();
    ward.wake(0, &Fence::foreign());
    ward.wake(1, &Fence::foreign());
    let helper = spawn_part(&ward, |ward| _ = ward.help());
    let me = ward.w.shared(0);
    let sleeps = finds_nothing(&ward) && ward.w.workers.fall_asleep(me);
    helper.join().unwrap();
    assert!(!sleeps || !ready(me), "it sleeps beside a task that is ready");
}

fn left_in_the_ring() {
    left_while_it_sleeps(|ward| !ward.own_turn());
}

/// It has not seen what is in the ring: its look without the lock was too early.
fn left_in_the_ring_unseen() {
    left_while_it_sleeps(|ward| ward.w.shared(0).remote.inbox.is_empty());
}

/// A thread of a stuck worker, what two roles may touch, and who waits for its turn.
struct Roles {
    ward: Arc<Ward>,
    /// Of worker 0, and of the helper.
    workers: [UnsafeCell<u32>; 2],
    /// The blocked task's thread, and one that goes on with the loop of worker 0.
    turns: [Baton; 2],
}
// SAFETY: the cells are watched by loom.
unsafe impl Sync for Roles {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for Roles {}

impl Roles {
    fn touch(&self, worker: usize) {
        // SAFETY: loom has checked that nobody else is in the cell.
        self.workers[worker].with_mut(|worker| unsafe { *worker += 1 });
    }
    fn give(&self, to: usize) {
        // SAFETY: the turns live to the end of the script.
        unsafe { Baton::give(&raw const self.turns[to], Order::Go) };
    }
}

/// A helper takes a task whose thread has not yet handed its worker's role over: it gives it the
/// helper's, which waits.
fn early_baton() {
    let ward = Ward::new(2, 1);
    ward.open();
    // The task publishes its node, and is woken ...
    ward.wake(0, &Fence::foreign());
    let roles = Arc::new(Roles { ward, workers: Default::default(), turns: Default::default() });
    let helper = spawn_part(&roles, |roles| {
        roles.touch(1);
        assert!(roles.ward.help());
        roles.give(0);
    });
    let other = spawn_part(&roles, |roles| {
        assert_eq!(roles.turns[1].wait(), Order::Go);
        roles.touch(0);
    });
    // ... and only then hands its role over.
    roles.touch(0);
    roles.give(1);
    assert_eq!(roles.turns[0].wait(), Order::Go);
    roles.touch(1);
    helper.join().unwrap();
    other.join().unwrap();
    assert_eq!(roles.ward.taken(), 1);
}

pub static SCRIPTS: &[Script] = &[
    Script {
        name: "takeover.taken_once",
        run: taken_once,
        owners: 2,
        foreign: true,
        bound: (Some(4), None),
        mutants: &["ready-unlocked", "ready-acquire", "ready-release"],
        ..SCRIPT
    },
    Script {
        name: "takeover.helper_told",
        run: helper_told,
        owners: 2,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["inbox-light", "helper-not-told"],
        ..SCRIPT
    },
    Script {
        name: "takeover.helper_told_by_the_ward",
        run: helper_told_by_the_ward,
        owners: 2,
        bound: (Some(3), Some(4)),
        mutants: &["helper-not-told", "ready-acquire", "ready-release"],
        ..SCRIPT
    },
    Script {
        name: "takeover.taken_from_the_slot",
        run: taken_from_the_slot,
        owners: 2,
        bound: (Some(3), Some(4)),
        mutants: &["helper-not-told", "slot-kept", "slot-lost"],
        ..SCRIPT
    },
    Script {
        name: "takeover.allowed_meanwhile",
        run: allowed_meanwhile,
        owners: 2,
        foreign: true,
        mutants: &["takeover-no-heavy"],
        ..SCRIPT
    },
    Script {
        name: "takeover.left_in_the_ring",
        run: left_in_the_ring,
        owners: 2,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["sleep-no-ring"],
        ..SCRIPT
    },
    Script {
        name: "takeover.left_in_the_ring_unseen",
        run: left_in_the_ring_unseen,
        owners: 2,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["sleep-no-ring"],
        ..SCRIPT
    },
    Script {
        name: "takeover.early_baton",
        run: early_baton,
        threads: 3,
        owners: 2,
        foreign: true,
        spins: true,
        bound: (Some(3), Some(4)),
        mutants: &["hand-over-release", "turn-acquire"],
        ..SCRIPT
    },
];
