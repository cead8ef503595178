//! Who is running: a number for each task and each foreign thread, never used again.
//!
//! For locks that know their owner. A record's address will not do: it is used again when its task has ended, and an owner
//! that has leaked its guard must never be taken for another task. Numbers are given out when they are first asked for, so a
//! task that never asks pays one store. A worker holds that of its running task; where a task is set aside, or another runs on
//! top of it, the number goes with its stack.
//!
//! A future has a number for each poll: what belongs to an owner cannot be kept over an `await` there, for it is not `Send`.
//! The two sides of `join(a, b)` may have their caller's number, or their own, according to where they run.

use crate::sched::worker;
use std::cell::Cell;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

static LAST: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// A foreign thread's.
    static OWN: Cell<u64> = const { Cell::new(0) };
}

/// The number of the calling task, or of the calling foreign thread.
#[inline]
pub fn identity() -> NonZeroU64 {
    if cfg!(loom) {
        // All threads of a model run on one: each asks as somebody else.
        return fresh(&Cell::new(0));
    }
    match worker::current() {
        Some(w) => of(&w.identity),
        None => OWN.with(of),
    }
}

#[inline(always)]
fn of(cell: &Cell<u64>) -> NonZeroU64 {
    NonZeroU64::new(cell.get()).unwrap_or_else(|| fresh(cell))
}

#[cold]
fn fresh(cell: &Cell<u64>) -> NonZeroU64 {
    // Relaxed: only that no number comes twice; 64 bits do not wrap.
    let number = LAST.fetch_add(1, Relaxed) + 1;
    cell.set(number);
    NonZeroU64::new(number).expect("counted from 1")
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::identity;

    #[test]
    fn each_its_own() {
        let here = identity();
        assert_eq!(here, identity());
        assert_ne!(here, std::thread::spawn(identity).join().unwrap());
        let (outer, inner, again) = crate::run(|| (identity(), crate::spawn(identity).join().unwrap(), identity()));
        assert_ne!(outer, inner);
        assert_eq!(outer, again);
        assert_ne!(outer, here);
    }
}
