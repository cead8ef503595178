//! `timers`: `n` timers that are pending at the same time.
//!
//! In the form `insert` one task polls `n` sleeping futures for the first time, one after another;
//! in `cancel` it drops them, as they were set; in `shuffled` in another order, so that hardly
//! anything is in a cache. Their deadlines are spread over ten seconds to come, so none is due. An
//! operation is a timer. (Memory for the futures is allocated before and freed after.) In the form
//! `fire` `n` tasks sleep until deadlines that are spread over a second, and the time shown is how
//! late they went on: 99 of 100 were not later.
//!
//! The answer is how many timers were pending, or have fired; none may have fired too early.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Measured, Outcome};
use crate::sample;

#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod smol;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "timers",
    about: "n timers that are pending at the same time",
    unit: Unit::Per("timer"),
    size: Size::n(100_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "insert",
            about: "setting them",
            entries: &[
                Entry::new("myriad", ours!(myriad::insert)),
                Entry::new("tokio", peer!(tokio::insert)),
                Entry::new("smol", peer!(smol::insert)),
            ],
        },
        Form {
            name: "cancel",
            about: "taking them back, in the same order",
            entries: &[
                Entry::new("myriad", ours!(myriad::cancel)),
                Entry::new("tokio", peer!(tokio::cancel)),
                Entry::new("smol", peer!(smol::cancel)),
            ],
        },
        Form {
            name: "shuffled",
            about: "taking them back, in another order",
            entries: &[
                Entry::new("myriad", ours!(myriad::shuffled)).extra(),
                Entry::new("tokio", peer!(tokio::shuffled)).extra(),
                Entry::new("smol", peer!(smol::shuffled)).extra(),
            ],
        },
        Form {
            name: "fire",
            about: "how late 99 of 100 tasks go on that sleep until times spread over a second",
            entries: &[
                Entry::new("myriad", ours!(myriad::fire)).extra(),
                Entry::new("tokio", peer!(tokio::fire)).extra(),
                Entry::new("smol", peer!(smol::fire)).extra(),
            ],
        },
    ],
};

/// What the programs need of a system.
trait Timers: Send + 'static {
    /// A future that sleeps.
    type Sleep: Future + Send + 'static;
    /// It is ready so long after this call.
    fn after(duration: Duration) -> Self::Sleep;
    /// Starts a task.
    fn spawn(task: impl Future<Output = ()> + Send + 'static);
}

/// The deadline of timer `i`, from now on: as if by chance, in the second ten seconds.
fn later(i: u64) -> Duration {
    Duration::from_secs(10) + Duration::from_nanos((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % 10_000_000_000)
}

/// What [`pending`] takes the time of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Insert,
    Cancel,
    Shuffled,
}

/// Sets `n` timers, and takes them back: the time for one or the other, and how many were pending.
async fn pending<T: Timers>(n: u64, part: Part) -> (Duration, u64) {
    let mut sleeps: Vec<Pin<Box<Option<T::Sleep>>>> = (0..n).map(|i| Box::pin(Some(T::after(later(i))))).collect();
    let begin = Instant::now();
    let count = poll_fn(|cx| {
        let polls = sleeps.iter_mut().filter_map(|sleep| sleep.as_mut().as_pin_mut()).map(|sleep| sleep.poll(cx));
        Poll::Ready(polls.filter(Poll::is_pending).count() as u64)
    })
    .await;
    let mut time = begin.elapsed();
    if part != Part::Insert {
        // Every index once: the step has no factor in common with n.
        let start = if part == Part::Cancel { 1 } else { n * 6 / 10 };
        let step = (start..).find(|step| common_factor(*step, n) == 1).expect("a prime is among them");
        let begin = Instant::now();
        (0..n).for_each(|i| sleeps[(i * step % n) as usize].set(None));
        time = begin.elapsed();
    }
    (time, count)
}

fn common_factor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_factor(b, a % b) }
}

/// Tasks that sleep: how late 99 of 100 were at most, and how many were not too early.
async fn lateness<T: Timers>(n: u64) -> (Duration, u64) {
    let late: Arc<[AtomicU64]> = (0..n).map(|_| AtomicU64::new(u64::MAX)).collect();
    let left = Arc::new(AtomicUsize::new(n as usize));
    // All sleep before the first is due.
    let begin = Instant::now() + Duration::from_millis(200) + Duration::from_nanos(n * 2_000);
    for i in 0..n {
        let (late, left) = (late.clone(), left.clone());
        T::spawn(async move {
            let due = begin + Duration::from_nanos((i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % 1_000_000_000);
            T::after(due.saturating_duration_since(Instant::now())).await;
            if let Some(nanos) = Instant::now().checked_duration_since(due) {
                late[i as usize].store(nanos.as_nanos() as u64, Relaxed);
            }
            left.fetch_sub(1, Relaxed);
        });
    }
    while left.load(Relaxed) > 0 {
        T::after(Duration::from_millis(50)).await;
    }
    let mut late: Vec<u64> = late.iter().map(|nanos| nanos.load(Relaxed)).filter(|nanos| *nanos < u64::MAX).collect();
    late.sort_unstable();
    let good = late.len() as u64;
    (Duration::from_nanos(late.get(late.len() * 99 / 100).copied().unwrap_or(0)), good)
}

/// Measures [`pending`].
#[cfg(any(feature = "ours", feature = "peers"))]
fn measure(p: &Params, mut once: impl FnMut(u64) -> (Duration, u64)) -> Outcome {
    sample::warm(p.n, || {
        let (time, count) = once(p.n);
        Failure::check(count, p.n)?;
        Ok(time)
    })
}

/// Measures [`lateness`].
#[cfg(any(feature = "ours", feature = "peers"))]
fn measure_lateness(p: &Params, once: impl FnOnce(u64) -> (Duration, u64)) -> Outcome {
    let (time, count) = once(p.n);
    Failure::check(count, p.n)?;
    Ok(Measured { ops: 1, repeats: 1, quartiles: None, time, bytes_per_task: None, most_alive: None, note: None })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn deadlines_are_spread_over_the_second_ten_seconds() {
        let all: Vec<_> = (0..1000).map(later).collect();
        assert!(all.iter().all(|d| (10..20).contains(&d.as_secs())));
        assert!((10..20).all(|second| all.iter().filter(|d| d.as_secs() == second).count() > 50));
    }

    #[test]
    fn factors() {
        assert_eq!((common_factor(12, 18), common_factor(7, 1), common_factor(6, 35)), (6, 1, 1));
    }
}
