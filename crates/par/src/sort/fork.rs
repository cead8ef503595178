//! Forking over slices: `join` by halves.

use myriad_core::{Handle, join, run};
use std::ops::Range;

/// Runs `f`, with the number of workers, in the caller's pool; of a foreign thread, on the global
/// runtime.
///
/// `join` would move to a worker by itself; here that happens once, not at each fork.
#[track_caller]
pub(super) fn on_workers<R: Send>(f: impl FnOnce(usize) -> R + Send) -> R {
    match Handle::current() {
        Some(pool) => {
            let workers = pool.workers();
            pool.run(|| f(workers))
        }
        None => run(|| f(Handle::current().map_or(1, |pool| pool.workers()))),
    }
}

/// Calls `f` for each job.
///
/// If one panics, all others run all the same (or, if the task is cancelled, perhaps not any more),
/// then the first panic goes on.
pub(super) fn each<J: Send>(jobs: &mut [J], f: &(impl Fn(&mut J) + Sync)) {
    match jobs {
        [] => {}
        [job] => f(job),
        _ => {
            let (left, right) = jobs.split_at_mut(jobs.len() / 2);
            join(|| each(left, f), || each(right, f));
        }
    }
}

/// Calls `f` for parts of the range that are `grain` long, but for the last.
pub(super) fn ranges(all: Range<usize>, grain: usize, f: &(impl Fn(Range<usize>) + Sync)) {
    if all.len() <= grain {
        return f(all);
    }
    let parts = all.len().div_ceil(grain);
    let mid = all.start + parts / 2 * grain;
    join(|| ranges(all.start..mid, grain, f), || ranges(mid..all.end, grain, f));
}

/// Some length for parts: so many a worker that one who is late does not hold up the others, and
/// none smaller than worth a fork.
pub(super) fn grain(len: usize, workers: usize, least: usize) -> usize {
    len.div_ceil(PARTS * workers).max(least)
}

/// Parts for each worker.
const PARTS: usize = 8;

/// An address that several workers write through, each in its own part.
#[derive(Debug)]
pub(super) struct Shared<T>(*mut T);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Shared<T> {}

// SAFETY: only an address; who uses it says why the element is its own, and `T: Send` lets another
// thread have it.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: only an address; who uses a shared one says why the element is its own.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    pub(super) fn new(at: *mut T) -> Self {
        Shared(at)
    }
    /// (A method, so that closures capture the whole, which is `Send`.)
    pub(super) fn get(self) -> *mut T {
        self.0
    }
}
