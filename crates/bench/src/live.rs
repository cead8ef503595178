//! How many tasks are alive at a time, on request: an [`Alive`] is made where a task is spawned,
//! and goes where it ends.
//!
//! It counts in one word for the whole process, which costs some nanoseconds a task: times of such
//! a run say little. `C` is false in all others, and then it is nothing at all.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

use crate::params::Params;
use crate::record::Measured;

static ALIVE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

/// A task that has been spawned and has not ended, begun or not.
#[derive(Debug)]
pub(crate) struct Alive<const C: bool>(());

impl<const C: bool> Alive<C> {
    pub(crate) fn new() -> Self {
        if C {
            let now = ALIVE.fetch_add(1, Relaxed) + 1;
            // A load first: it seldom rises.
            if now > MOST.load(Relaxed) {
                MOST.fetch_max(now, Relaxed);
            }
        }
        Alive(())
    }
}

impl<const C: bool> Drop for Alive<C> {
    fn drop(&mut self) {
        if C {
            ALIVE.fetch_sub(1, Relaxed);
        }
    }
}

/// Adds to a run that counted how many there were at most.
pub(crate) fn counted(p: &Params, mut measured: Measured) -> Measured {
    if p.live {
        measured.most_alive = Some(MOST.load(Relaxed).unsigned_abs());
    }
    measured
}
