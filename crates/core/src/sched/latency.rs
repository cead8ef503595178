//! How long tasks wait from the moment when they could run until they run, where the runtime
//! measures that ([`Builder::measure_latency`](crate::Builder::measure_latency)).
//!
//! ```text
//!  a task is queued, a blocked closure woken:   stamps[hash(address)] = (address, now)
//!  it is begun, it goes on:                     the same address there? the histogram counts now - then
//! ```
//! The address is that of the record, or of the node. A place of the table has one stamp: where two
//! addresses meet, the one that comes later is not measured, unless the older stamp has stood for
//! [`STALE`] (its task was claimed by its joiner, which is not seen here). So what is measured does
//! not depend on how long it waits, up to that time.
//!
//! **What it costs who does not measure:** nothing. A pool that measures is one for good. There the
//! ready ring is always reached under its lock, where a flag is looked at anyway
//! ([`ReadyQueue`](crate::queue::ready::ReadyQueue)); each push finds that somebody asks for work,
//! and comes to `Worker::serve_requests_for`; and workers run a copy of the loop that tells of each
//! beginning ([`run_loop::of`](super::run_loop::of)). Nothing moves there in batches, whose tasks
//! would be queued twice.
//!
//! **Not measured:** a future that wakes itself; what a joiner, a scope's end or another task
//! enters.
//!
//! **Rejected.** A time in the record or the node: records have 40 bytes of header, and one more
//! word moves the payload. A look at a flag in each push, wake and start: one to two per cent.

use crate::queue::parked::Parked;
use crate::record::header::Header;
use myriad_base::hash::spread_twice;
use myriad_base::sys::choice::{ticks, ticks_per_us};
// Std's, and no part of a protocol: a stamp that two write at a time is a measurement lost, or off.
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Places for stamps.
const PLACES: usize = 4096;
/// A stamp that has stood for so long may be overwritten, in microseconds.
const STALE: u64 = 1_000_000;
/// The first bucket of the histogram is for waits up to so many nanoseconds, each next one for up
/// to twice as much.
const FIRST: u64 = 250;
/// The last one is for up to 8 s.
pub(crate) const BUCKETS: usize = 26;

/// See the module's header.
pub(crate) struct Latency {
    stamps: Box<[Stamp]>,
    /// The last one is for all that is longer.
    buckets: [AtomicU64; BUCKETS + 1],
    /// Of all waits, in nanoseconds.
    sum: AtomicU64,
}

#[derive(Default)]
struct Stamp {
    /// 0: none.
    of: AtomicUsize,
    /// In ticks.
    at: AtomicU64,
}

impl Default for Latency {
    fn default() -> Self {
        Latency {
            stamps: (0..PLACES).map(|_| Stamp::default()).collect(),
            buckets: [const { AtomicU64::new(0) }; BUCKETS + 1],
            sum: AtomicU64::new(0),
        }
    }
}

impl Latency {
    /// A task is queued: from now on it could run.
    pub(crate) fn queued(&self, task: *const Header) {
        // (A stamp of the same record is that of an earlier task.)
        self.stamp(task.addr(), true);
    }

    /// A blocked closure is ready, or was so before another worker has come to know of it.
    pub(crate) fn ready(&self, node: *const Parked) {
        self.stamp(node.addr(), false);
    }

    /// A task begins, or a future is polled.
    pub(crate) fn begins(&self, task: *const Header) {
        self.measure(task.addr());
    }

    /// A blocked closure goes on.
    pub(crate) fn goes_on(&self, node: *const Parked) {
        self.measure(node.addr());
    }

    fn place(&self, address: usize) -> &Stamp {
        // (Stacks are powers of two apart, and records 64 bytes.)
        let hash = spread_twice(address as u64);
        &self.stamps[(hash >> (u64::BITS - PLACES.trailing_zeros())) as usize]
    }

    fn stamp(&self, address: usize, anew: bool) {
        let (place, now) = (self.place(address), ticks());
        let before = place.of.load(Relaxed);
        let is_free = match before {
            0 => true,
            same if same == address => anew,
            _ => now.saturating_sub(place.at.load(Relaxed)) > STALE * ticks_per_us(),
        };
        if is_free {
            place.at.store(now, Relaxed);
            place.of.store(address, Relaxed);
        }
    }

    fn measure(&self, address: usize) {
        let place = self.place(address);
        if place.of.load(Relaxed) == address {
            let waited = ticks().saturating_sub(place.at.load(Relaxed));
            place.of.store(0, Relaxed);
            self.count(waited * 1000 / ticks_per_us());
        }
    }

    fn count(&self, nanos: u64) {
        let index = (0..BUCKETS).find(|&i| nanos <= FIRST << i).unwrap_or(BUCKETS);
        self.buckets[index].fetch_add(1, Relaxed);
        self.sum.fetch_add(nanos, Relaxed);
    }

    /// Another runtime begins to use the pool.
    pub(crate) fn restart(&self) {
        self.buckets.iter().chain([&self.sum]).for_each(|number| number.store(0, Relaxed));
        self.stamps.iter().for_each(|stamp| stamp.of.store(0, Relaxed));
    }

    /// How many waits there were up to each time, longer than the time before; how many longer
    /// ones; and the sum of all.
    pub(crate) fn read(&self) -> (Vec<(Duration, u64)>, u64, Duration) {
        let bound = |i: usize| Duration::from_nanos(FIRST << i);
        let counts = self.buckets[..BUCKETS].iter().enumerate();
        let buckets = counts.map(|(i, count)| (bound(i), count.load(Relaxed))).collect();
        (buckets, self.buckets[BUCKETS].load(Relaxed), Duration::from_nanos(self.sum.load(Relaxed)))
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    fn counted(latency: &Latency) -> u64 {
        latency.buckets.iter().map(|count| count.load(Relaxed)).sum()
    }

    #[test]
    fn each_wait_is_in_its_bucket() {
        let latency = Latency::default();
        for (nanos, index) in [
            (0, 0),
            (250, 0),
            (251, 1),
            (500, 1),
            (501, 2),
            (8_388_608_000, 25),
            (8_388_608_001, 26),
            (u64::MAX / 4, 26),
        ] {
            let before = latency.buckets[index].load(Relaxed);
            latency.count(nanos);
            assert_eq!(latency.buckets[index].load(Relaxed), before + 1, "{nanos}");
        }
        let (buckets, longer, _) = latency.read();
        assert_eq!((buckets.len(), buckets[2], longer), (BUCKETS, (Duration::from_micros(1), 1), 2));
        latency.restart();
        assert_eq!(counted(&latency), 0);
    }

    /// What is queued is measured once, when it begins; a stamp of another one stays.
    #[test]
    fn a_wait_is_measured_once() {
        let latency = Latency::default();
        let task = |n: usize| std::ptr::without_provenance::<Header>(0x7f00_0000_0000 + 64 * n);
        latency.begins(task(0));
        assert_eq!(counted(&latency), 0);
        latency.queued(task(0));
        let other =
            (1..).map(task).find(|other| std::ptr::eq(latency.place(other.addr()), latency.place(task(0).addr())));
        latency.queued(other.unwrap());
        latency.begins(other.unwrap());
        assert_eq!(counted(&latency), 0, "the older one stays");
        latency.begins(task(0));
        latency.begins(task(0));
        assert_eq!(counted(&latency), 1);
    }

    /// Who is woken by another thread is ready from then on, and not from the worker's next look.
    #[test]
    fn the_first_stamp_of_a_node_counts() {
        let latency = Latency::default();
        let node = std::ptr::without_provenance::<Parked>(0x7f00_1234_5670);
        latency.ready(node);
        let first = latency.place(node.addr()).at.load(Relaxed);
        while ticks() == first {}
        latency.ready(node);
        assert_eq!(latency.place(node.addr()).at.load(Relaxed), first);
        latency.goes_on(node);
        assert_eq!(counted(&latency), 1);
    }
}
