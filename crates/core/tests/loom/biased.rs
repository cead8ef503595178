//! Scripts of the biased lock: mutual exclusion, and each holder sees what all earlier ones did.
//!
//! Not here: two that revoke at the same time. One spins on the word and the other on `in_op`, and loom does not come to an
//! end; the second does what the first did, after it.

use super::{SCRIPT, Script};
use loom::thread;
use myriad_core::lock::biased::{BiasedLock, find};
use myriad_core::sys::cell::UnsafeCell;
use myriad_core::sys::mutant::on;
use std::sync::Arc;

/// Two locks, and what each protects.
struct World {
    locks: [BiasedLock; 2],
    counts: [UnsafeCell<u32>; 2],
}

// SAFETY: the cells are watched by loom.
unsafe impl Sync for World {}
// SAFETY: as above.
unsafe impl Send for World {}

impl World {
    /// Both locks biased to this worker (from 1), to bias again after `1 << threshold` acquisitions in a row.
    fn new(bias: u16, threshold: u8) -> Arc<World> {
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
        // SAFETY: each worker of a script is one thread, and nothing but the cell is touched inside.
        let guard = unsafe { self.locks[l].lock((worker > 0).then(|| find(worker))) };
        inside();
        // SAFETY: loom has checked that nobody else is in the cell.
        self.counts[l].with_mut(|count| unsafe { *count += 1 });
        drop(guard);
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

pub static SCRIPTS: &[Script] = &[
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
];
