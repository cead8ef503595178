//! A bound on nodes that could run and do not: who spawns faster than they run helps.
//!
//! After so many nodes that a thread has spawned, the spawner lets the others of this worker go
//! first; a thread that is no worker waits until the workers have come to what it has spawned. So
//! nodes that are ready do not pile up, and the memory of those that have run is used again while
//! it is in the cache. Nodes that wait for something else than a worker are not bounded: the
//! spawner may be the one who brings it about.
//!
//! Rejected: a count of all nodes that have not begun. Each node would change it twice, from all
//! workers; and where they wait for the spawner it would have to be ignored.

use myriad_core::cancel;
use myriad_core::engine::{home, running};
use std::cell::Cell;

/// So many in a row.
const BURST: u32 = 1024;

thread_local! {
    static SPAWNED: Cell<u32> = const { Cell::new(0) };
}

/// One more was spawned.
#[inline]
pub(super) fn keep() {
    // (At the very end of a thread nothing is counted.)
    _ = SPAWNED.try_with(|spawned| {
        spawned.set(spawned.get() + 1);
        if spawned.get() == BURST {
            spawned.set(0);
            help();
        }
    });
}

#[cold]
fn help() {
    let home = home();
    cancel::shield(|| {
        if running::has_room(home) {
            myriad_core::yield_now();
        } else if !std::thread::panicking() {
            // What was spawned before comes before this.
            _ = home.spawn(|| ()).join();
        }
    });
}
