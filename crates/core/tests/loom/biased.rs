//! Scripts of the biased lock: mutual exclusion, and each holder sees what all earlier ones did.
//!
//! Not here: two that revoke at the same time. One spins on the word and the other on `in_op`, and
//! loom does not come to an end; the second does what the first did, after it.

use super::{SCRIPT, Script};
use loom::thread;
use myriad_base::lock::bias_owner::{find, set_long_turns, set_revoke_all};
use myriad_base::lock::biased::BiasedLock;
use myriad_base::lock::spin::SpinLock;
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::on;
use std::sync::Arc;

/// Two locks, and what each protects.
struct World {
    locks: [BiasedLock; 2],
    counts: [UnsafeCell<u32>; 2],
}

// SAFETY: the cells are watched by loom.
unsafe impl Sync for World {}
// SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
unsafe impl Send for World {}

impl World {
    /// Both locks biased to this worker (from 1), to bias again after `1 << threshold` acquisitions
    /// in a row.
    fn new(bias: u16, threshold: u8) -> Arc<World> {
        set_revoke_all(false);
        set_long_turns(false);
        Arc::new(World {
            locks: std::array::from_fn(|_| BiasedLock::biased_to(bias, threshold)),
            counts: std::array::from_fn(|_| UnsafeCell::new(0)),
        })
    }

    /// Worker `worker` (0: a foreign thread) counts under lock `l`.
    fn count(&self, worker: u16, l: usize) {
        self.count_inside(worker, l, || ());
    }
    /// The same, and does something else inside first.
    fn count_inside(&self, worker: u16, l: usize, inside: impl FnOnce()) {
        // SAFETY: each worker of a script is one thread, and nothing but the cell is touched
        // inside.
        let guard = unsafe { self.locks[l].lock((worker > 0).then(|| find(worker))) };
        inside();
        // SAFETY: loom has checked that nobody else is in the cell.
        self.counts[l].with_mut(|count| unsafe { *count += 1 });
        drop(guard);
    }

    /// Before the threads start: nobody is preferred.
    fn unbias(&self, l: usize) {
        self.locks[l].unbias();
    }

    fn assert_counts(&self, expected: [u32; 2]) {
        // SAFETY: all threads are joined.
        assert_eq!([0, 1].map(|l| self.counts[l].with(|count| unsafe { *count })), expected);
    }
}

fn with(w: &Arc<World>, part: fn(&World)) -> thread::JoinHandle<()> {
    let w = w.clone();
    thread::spawn(move || part(&w))
}

/// The owner is inside, or on its way in or out, while another worker revokes.
fn revoke() {
    let w = World::new(1, 4);
    let other = with(&w, |w| w.count(2, 0));
    w.count(1, 0);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([3, 0]);
}

/// The same by a foreign thread.
fn revoke_foreign() {
    let w = World::new(1, 4);
    let other = with(&w, |w| w.count(0, 0));
    w.count(1, 0);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([3, 0]);
}

/// The owner goes from one lock to another, whose address the revoker of the first may see.
fn two_locks() {
    let w = World::new(1, 4);
    let other = with(&w, |w| w.count(2, 0));
    if on("nested") {
        w.count_inside(1, 0, || w.count(1, 1));
    } else {
        w.count(1, 0);
        w.count(1, 1);
    }
    other.join().unwrap();
    w.assert_counts([2, 1]);
}

/// The bias goes from one worker to the other, and may come back.
fn bias_moves() {
    let w = World::new(1, 0);
    let other = with(&w, |w| {
        w.count(2, 0);
        w.count(2, 0);
        w.count(2, 0);
    });
    w.count(1, 0);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([5, 0]);
}

/// An unbiased lock becomes biased to one worker while another comes in.
fn rebias() {
    let w = World::new(0, 1);
    let other = with(&w, |w| w.count(2, 0));
    w.count(1, 0);
    w.count(1, 0);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([4, 0]);
}

/// A lock is leased to a worker, whose turn ends, while another one comes in.
fn lease_ends() {
    let w = World::new(0, 0);
    let other = with(&w, |w| w.count(2, 0));
    w.count(1, 0);
    w.count(1, 0);
    // SAFETY: this thread plays that worker, and is in no lock.
    unsafe { find(1).end_turn() };
    other.join().unwrap();
    w.assert_counts([3, 0]);
}

/// Its worker meets the lease of an earlier turn again, and the lock becomes biased, while another
/// one comes in.
fn lease_met_again() {
    let w = World::new(0, 0);
    w.count(1, 0);
    // SAFETY: this thread plays that worker, and is in no lock.
    unsafe { find(1).end_turn() };
    let other = with(&w, |w| w.count(2, 0));
    w.count(1, 0);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([4, 0]);
}

/// A turn lasts: the lock becomes biased within it, while another worker comes in.
fn long_turn() {
    let w = World::new(0, 0);
    set_long_turns(true);
    w.count(1, 0);
    let other = with(&w, |w| w.count(2, 0));
    w.count(1, 0);
    w.count(1, 0);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([5, 0]);
}

/// The lease goes to and fro.
fn lease_moves() {
    let w = World::new(0, 0);
    let turn = |w: &World, worker| {
        w.count(worker, 0);
        w.count(worker, 0);
        // SAFETY: this thread plays that worker, and is in no lock.
        unsafe { find(worker).end_turn() };
    };
    let other = {
        let w = w.clone();
        thread::spawn(move || turn(&w, 2))
    };
    turn(&w, 1);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([5, 0]);
}

/// The owner is inside one lock or the other while another worker, for the one, ends all its
/// biases, and then finds the other one free.
fn revoke_all() {
    let w = World::new(1, 4);
    set_revoke_all(true);
    let other = with(&w, |w| {
        w.count(2, 0);
        w.count(2, 1);
    });
    w.count(1, 1);
    w.count(1, 0);
    other.join().unwrap();
    w.assert_counts([2, 2]);
}

/// One worker ends all biases of the owner, and a third finds an old key in another lock. (Only
/// then it takes part: two that wait for the owner would not come to an end.)
fn revoke_all_seen_by_a_third() {
    let w = World::new(1, 4);
    third_party(&w, |w| w.count(1, 1), 1);
}

/// The same, but the owner becomes biased just then.
fn bias_while_swept() {
    let w = World::new(1, 0);
    w.unbias(1);
    // Alone yet, the owner leases the lock, so that it is biased at the next count.
    w.count(1, 1);
    // SAFETY: this thread plays that worker, and is in no lock.
    unsafe { find(1).end_turn() };
    third_party(
        &w,
        |w| {
            w.count(1, 1);
            w.count(1, 1);
        },
        3,
    );
}

fn third_party(w: &Arc<World>, owner: fn(&World), counts: u32) {
    set_revoke_all(true);
    let other = with(w, |w| w.count(2, 0));
    let third = {
        let w = w.clone();
        thread::spawn(move || {
            let takes_part = w.locks[1].bears_old_key();
            if takes_part {
                w.count(0, 1);
            }
            takes_part
        })
    };
    owner(w);
    other.join().unwrap();
    let more = third.join().unwrap();
    w.assert_counts([1, counts + u32::from(more)]);
}

/// The spin lock: two count under it.
fn spin() {
    struct Spun(SpinLock, UnsafeCell<u32>);
    // SAFETY: the cell is watched by loom.
    unsafe impl Sync for Spun {}
    // SAFETY: nothing in it belongs to the thread that made it: loom watches the cells there too.
    unsafe impl Send for Spun {}
    fn count(w: &Spun) {
        // SAFETY: nothing but the cell is touched inside.
        let guard = unsafe { w.0.lock() };
        // SAFETY: loom has checked that nobody else is in the cell.
        w.1.with_mut(|count| unsafe { *count += 1 });
        drop(guard);
    }
    let w = Arc::new(Spun(SpinLock::new(), UnsafeCell::new(0)));
    let other = {
        let w = w.clone();
        thread::spawn(move || count(&w))
    };
    count(&w);
    other.join().unwrap();
    // SAFETY: the other thread is joined.
    assert_eq!(w.1.with(|count| unsafe { *count }), 2);
}

pub static SCRIPTS: &[Script] = &[
    Script { name: "spin.count", run: spin, mutants: &["spin-acquire", "spin-release"], ..SCRIPT },
    Script {
        name: "biased.revoke",
        run: revoke,
        owners: 2,
        bound: (Some(5), None),
        mutants: &["enter-light", "leave-release", "revoke-no-heavy", "revoke-no-wait", "revoke-acquire"],
        ..SCRIPT
    },
    Script {
        name: "biased.revoke_foreign",
        run: revoke_foreign,
        owners: 2,
        foreign: true,
        bound: (Some(5), None),
        mutants: &["revoke-no-heavy"],
        ..SCRIPT
    },
    Script {
        name: "biased.two_locks",
        run: two_locks,
        owners: 2,
        bound: (Some(5), None),
        mutants: &["enter-release", "nested"],
        ..SCRIPT
    },
    Script {
        name: "biased.bias_moves",
        run: bias_moves,
        owners: 2,
        bound: (Some(4), Some(5)),
        mutants: &["enter-light", "revoke-no-heavy", "revoke-no-wait"],
        ..SCRIPT
    },
    Script {
        name: "biased.rebias",
        run: rebias,
        owners: 2,
        bound: (Some(4), Some(6)),
        mutants: &["word-acquire", "word-release", "enter-light"],
        ..SCRIPT
    },
    Script {
        name: "biased.lease_ends",
        run: lease_ends,
        owners: 2,
        bound: (Some(5), None),
        mutants: &["lease-release", "lease-acquire", "lease-ends-at-once", "enter-light", "revoke-no-heavy"],
        ..SCRIPT
    },
    Script {
        name: "biased.lease_met_again",
        run: lease_met_again,
        owners: 2,
        bound: (Some(4), Some(6)),
        mutants: &["revoke-no-heavy", "revoke-no-wait"],
        ..SCRIPT
    },
    Script {
        name: "biased.long_turn",
        run: long_turn,
        owners: 2,
        bound: (Some(3), Some(5)),
        mutants: &["revoke-no-heavy", "revoke-no-wait"],
        ..SCRIPT
    },
    Script {
        name: "biased.lease_moves",
        run: lease_moves,
        owners: 2,
        bound: (Some(3), Some(4)),
        mutants: &["lease-ends-at-once", "revoke-no-wait"],
        ..SCRIPT
    },
    Script {
        name: "biased.revoke_all",
        run: revoke_all,
        owners: 2,
        bound: (Some(4), Some(5)),
        mutants: &["revoke-all-no-heavy", "revoke-all-no-wait", "settled-always", "revoke-all-acquire"],
        ..SCRIPT
    },
    Script {
        name: "biased.revoke_all_seen_by_a_third",
        threads: 3,
        run: revoke_all_seen_by_a_third,
        owners: 2,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["settled-acquire", "settled-release"],
        ..SCRIPT
    },
    Script {
        name: "biased.bias_while_swept",
        threads: 3,
        run: bias_while_swept,
        owners: 2,
        foreign: true,
        bound: (Some(3), Some(4)),
        mutants: &["bias-unsettled"],
        ..SCRIPT
    },
];
