//! Joins that begin to wait just when they are cancelled, and pass it on, while others look at the
//! frames of the same workers.

use crate::common::{each, full_length, wait_until};
use myriad::{Runtime, join, time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

/// What the leaves of a tree of joins do together.
#[derive(Default)]
struct Together {
    here: AtomicUsize,
    go: AtomicBool,
}

impl Together {
    fn tree(&self, depth: u32, number: usize) {
        if depth > 0 {
            join(|| self.tree(depth - 1, 2 * number), || self.tree(depth - 1, 2 * number + 1));
            return;
        }
        self.here.fetch_add(1, SeqCst);
        while !self.go.load(SeqCst) {
            std::thread::yield_now();
        }
        // Some end, so that their joins begin to wait for those that were stolen; others wait for
        // the cancellation.
        if number % 4 == 3 {
            time::sleep(Duration::from_secs(3600));
        }
    }
}

fn cancelled_once(rt: &Runtime, workers: usize) {
    let together = Arc::new(Together::default());
    let theirs = together.clone();
    let h = rt.spawn(move || theirs.tree(5, 0));
    wait_until(|| together.here.load(SeqCst) >= workers);
    together.go.store(true, SeqCst);
    h.cancel();
    assert!(h.join().unwrap_err().is_cancelled());
}

/// A join that was about to block passed its cancellation on while it held its own place, and
/// waited for the lock of a list of frames, whose holder waited for that place: for ever, in
/// threads mode.
#[test]
fn as_they_begin_to_wait() {
    let rounds = if full_length() { 1000 } else { 200 };
    for workers in [2, 4] {
        each(&[workers], |rt| (0..rounds).for_each(|_| cancelled_once(rt, workers)));
    }
}
