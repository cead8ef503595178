//! What a run takes from outside, and no program has said: chance, and how long something took.
//!
//! Two runs of one program differ by which thread the system lets run, by the task's own clock
//! ([`clock`](super::clock)), and by what comes through here. So a simulation, which wants to
//! decide all of that, replaces this file and the clock; nothing above them reads a counter of the
//! processor, or draws a number, by itself (`scripts/layers.py` looks).
//!
//! | what | read by | decides |
//! |---|---|---|
//! | [`ticks`] | a worker that finds nothing (`run_loop`, `spare`) | when it polls, forces a steal, sleeps |
//! | | the monitor (`rescue::watch`) | whether a deque moves |
//! | | a foreign thread that waits (`wait::foreign`) | whether it yields once more before it sleeps |
//! | | a foreign thread at a channel (`channel::look`) | how often it looks before it waits |
//! | | locks (`lock::bias_owner`, `sync`'s `lock::raw`) | whether a lock is biased again, how long one spins |
//! | | [`heavy_ticks`](super::fence::heavy_ticks) | the price of a heavy fence, for all of these |
//! | | parallel loops and scans (`par`) | how much a task takes at a time, how long one spins |
//! | [`random`] | `select` | which arm is attempted first |
//! | [`Dice`] | the policy `DepthFirst` | in which queue a task goes, and from which one comes |
//! | [`entropy`] | random numbers of tasks that nobody has seeded | the first seed of a thread |
//! | | the table of `flow::publish` | in which order topics are let go of |
//! | | checkpoints of `flow` | names of files that are not finished |
//!
//! Not here: the keys of hash tables (`sync`), which are a type that the user may replace. In which
//! order a worker looks at the others is no chance: it begins with the nearest, and of these with
//! the next (`Workers::others`). The seeded generators of tasks (`rng`) are the program's own
//! numbers.
//!
//! Each is a function that is compiled into its caller: `ticks` is one instruction.

mod ticks;

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
// Not through `sys`: numbers that are no part of a protocol.
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
pub use ticks::{ticks, ticks_per_us};

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// A random number: of a generator of its own for each thread (Wang Yi's wyrand), from 1 for the
/// first that asks.
#[inline(always)]
pub fn random() -> u64 {
    STATE.with(|state| {
        let mut s = state.get();
        if s == 0 {
            s = seed();
        }
        s = s.wrapping_add(0xa076_1d64_78bd_642f);
        state.set(s);
        let product = u128::from(s) * u128::from(s ^ 0xe703_7ed1_a0b4_28db);
        (product >> 64) as u64 ^ product as u64
    })
}

#[cold]
fn seed() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    // Relaxed: numbers, each given once.
    THREADS.fetch_add(1, Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A random number from the system, for who wants another one in each run.
pub fn entropy() -> u64 {
    RandomState::new().hash_one(0_u64)
}

/// A generator that threads share, and that is the same in each run (xorshift64).
///
/// Two threads that roll at once may get the same number, and that is all.
#[derive(Debug)]
pub struct Dice(super::atomic::AtomicU64);

impl Dice {
    /// Not with the seed 0.
    pub fn new(seed: u64) -> Dice {
        assert!(seed != 0, "a generator that shifts its own bits needs one that is set");
        Dice(super::atomic::AtomicU64::new(seed))
    }

    /// A number below `n`, which is below `2^32`.
    #[inline]
    pub fn below(&self, n: usize) -> usize {
        // Relaxed: the number is all there is.
        let mut x = self.0.load(Relaxed);
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        self.0.store(x, Relaxed);
        // The upper half, which is the better one, as a fraction.
        (((x >> 32) * n as u64) >> 32) as usize
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    /// What a caller draws as a number below `n` is the upper half of `random() * n`.
    #[test]
    fn all_parts_of_the_range_are_as_likely() {
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[((u128::from(random()) * 6) >> 64) as usize] += 1;
        }
        // Six standard deviations: 6 * sqrt(60_000 * 1/6 * 5/6) = 548.
        assert!(counts.iter().all(|&n| n.abs_diff(10_000) < 548), "{counts:?}");
    }

    #[test]
    fn each_thread_has_numbers_of_its_own() {
        let draw = || std::thread::spawn(|| [random(), random()]).join().unwrap();
        assert_ne!(draw(), draw());
    }
}
