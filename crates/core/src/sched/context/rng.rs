//! Random numbers of the running task: results that do not depend on the schedule. Example:
//! [`rng()`].

pub use super::generator::{Generator, Span};
use super::{find, find_or_make, generator};
use myriad_base::sys::choice::entropy;
use std::cell::UnsafeCell;

/// The running task's generator; see [`rng()`].
///
/// # Examples
/// ```
/// use myriad::rng::{rng, seed};
/// seed(1);
/// let (mut key, mut order) = ([0; 32], [1, 2, 3, 4]);
/// rng().fill(&mut key);
/// rng().shuffle(&mut order);
/// let dice = rng().range(1..=6) + rng().range(1..=6);
/// assert!((2..=12).contains(&dice) && rng().f64() < 1.0);
/// let mut mine = rng().fork(); // for a tight loop
/// assert_ne!(mine.next_u64(), rng().next_u64());
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Rng;

/// The random numbers of the running task.
///
/// Below a task that was seeded ([`seed`], or
/// [`Builder::rng_seed`](crate::task::Builder::rng_seed)) each task has a stream of its own, forked
/// from its parent's when it is spawned, be it by `spawn`, `spawn_async`, a scope or `join`. So
/// what a task draws depends on the seed, on its place in the tree of tasks, and on what its
/// ancestors drew and spawned before: not on how many workers there are, on who ran what, or in
/// which order. A spawn does not disturb the numbers of the one who spawns.
///
/// Without a seed the numbers are the thread's, seeded by the system, and cost nothing to those who
/// spawn.
///
/// An access costs some nanoseconds; for a tight loop take a generator into your hands:
/// `rng().fork()`. Not for secrets.
///
/// Source: xoshiro256++ by Blackman and Vigna; see [`Generator`]. The semantics are those of Julia
/// since 1.10.
///
/// # Examples
/// ```
/// use myriad::rng::{rng, seed};
///
/// /// Estimates pi from 16 × 1000 points, in parallel.
/// fn estimate() -> u64 {
///     seed(42);
///     let tasks: Vec<_> = (0..16)
///         .map(|_| {
///             myriad::spawn(|| (0..1000).filter(|_| rng().f64().hypot(rng().f64()) < 1.0).count() as u64)
///         })
///         .collect();
///     tasks.into_iter().map(|task| task.join().unwrap()).sum()
/// }
/// // However many workers there are.
/// assert_eq!(myriad::run(estimate), myriad::run(estimate));
/// ```
pub fn rng() -> Rng {
    Rng
}

/// Seeds the running task: its numbers, and those of all tasks that it spawns from here on, are
/// determined by the seed.
///
/// On a foreign thread seeds that thread, and what it spawns. Example: [`rng()`].
pub fn seed(seed: u64) {
    let context = find_or_make();
    if context.is_null() {
        // A thread at its end, which has no context any more: nothing is spawned below it.
        // SAFETY: the value is this thread's, and nobody uses it meanwhile: to drop a generator
        // runs no foreign code.
        OWN.with(|own| unsafe { *own.get() = Some(Generator::from_seed(seed)) });
        return;
    }
    // SAFETY: what `find_or_make` returns is the caller's own context.
    unsafe { &*context }.with_rng(|rng| *rng = Some(Generator::from_seed(seed)));
}

thread_local! {
    /// For all who are not seeded.
    static OWN: UnsafeCell<Option<Generator>> = const { UnsafeCell::new(None) };
}

/// Calls `f`, which is no foreign code, with the caller's generator.
#[inline]
fn with<R>(f: impl FnOnce(&mut Generator) -> R) -> R {
    let context = find();
    // SAFETY: what `find` returns is the caller's own context.
    if !context.is_null() && unsafe { (*context).with_rng(|rng| rng.is_some()) } {
        // SAFETY: what `find` returns is the caller's own context, which no other thread touches
        // (C1), and `f` is no foreign code.
        return unsafe { &*context }.with_rng(|rng| f(rng.as_mut().expect("it is there")));
    }
    // SAFETY: this thread's, and `f` is no foreign code: nobody else uses it meanwhile.
    OWN.with(|own| f(unsafe { &mut *own.get() }.get_or_insert_with(from_system)))
}

#[cold]
fn from_system() -> Generator {
    // Its keys come from the system, and differ from call to call.
    Generator::from_seed(entropy())
}

impl Rng {
    /// As [`Generator::next_u64`].
    #[inline]
    pub fn next_u64(self) -> u64 {
        with(Generator::next_u64)
    }
    /// As [`Generator::f64`].
    #[inline]
    pub fn f64(self) -> f64 {
        with(Generator::f64)
    }
    /// As [`Generator::range`].
    ///
    /// # Panics
    /// If the range is empty.
    #[inline]
    #[track_caller]
    pub fn range<R: generator::Span>(self, range: R) -> R::Item {
        range.check();
        with(|generator| range.pick(generator))
    }
    /// As [`Generator::fill`].
    pub fn fill(self, bytes: &mut [u8]) {
        with(|generator| generator.fill(bytes));
    }
    /// As [`Generator::shuffle`].
    pub fn shuffle<T>(self, slice: &mut [T]) {
        with(|generator| generator.shuffle(slice));
    }
    /// A generator of its own, forked from the task's as for a child; the task's numbers are not
    /// disturbed.
    pub fn fork(self) -> Generator {
        with(Generator::fork)
    }
}
