//! With a runtime: where futures that wake each other are polled, and that nothing waits for long.

use super::*;
use crate::sched::wait::Caller;
use crate::sched::worker;
use crate::{Builder, Policy, spawn_async};
use myriad_base::sys::mutex::Mutex;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// Long enough on any machine.
const LONG: Duration = Duration::from_secs(30);

fn here() -> usize {
    worker::current().unwrap().shared.index
}

/// From now on futures of the calling worker's pool are gathered at this worker, or spread.
fn gather(at: Option<usize>) {
    worker::current().unwrap().pool.gather.force(at);
}

/// Where a future waits for another one.
type Gate = Mutex<Option<Waker>>;

fn open(gate: &Gate) {
    gate.lock().take().into_iter().for_each(Waker::wake);
}

/// (As one that has sent or received something.)
async fn lets_others_go() {
    let mut first = true;
    poll_fn(|cx| {
        if !std::mem::take(&mut first) {
            return Poll::Ready(());
        }
        Caller::get().poll_spend(cx.waker());
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[derive(Default)]
struct Ring {
    gates: Vec<Gate>,
    ends: AtomicBool,
    /// Polls in a row at the same worker ...
    in_a_row: AtomicUsize,
    /// ... which is this one.
    last: AtomicUsize,
}

impl Ring {
    /// A future that waits, and wakes others, again and again.
    async fn member(self: Arc<Self>, i: usize) {
        while !self.ends.load(Relaxed) {
            if self.last.swap(here(), Relaxed) == here() {
                self.in_a_row.fetch_add(1, Relaxed);
            } else {
                self.in_a_row.store(0, Relaxed);
            }
            let mut first = true;
            poll_fn(|cx| {
                if !std::mem::take(&mut first) {
                    return Poll::Ready(());
                }
                *self.gates[i].lock() = Some(cx.waker().clone());
                // Two, so that most of them are always awake.
                [1, 32].into_iter().for_each(|far| open(&self.gates[(i + far) % self.gates.len()]));
                Poll::Pending
            })
            .await;
        }
        self.gates.iter().for_each(open);
    }
}

#[test]
fn all_that_wakes_each_other_comes_to_one_worker() {
    let rt = Builder::new().workers(2).policy(Policy::WorkStealing).build().unwrap();
    rt.run(|| {
        let ring = Arc::new(Ring { gates: (0..64).map(|_| Gate::default()).collect(), ..Ring::default() });
        let members: Vec<_> = (0..64).map(|i| spawn_async(ring.clone().member(i))).collect();
        let driver = {
            let ring = ring.clone();
            // (It asks at each poll, and is one of those that are gathered.)
            spawn_async(async move {
                for at in [Some(0), Some(1), None, Some(0)] {
                    let began = Instant::now();
                    ring.in_a_row.store(0, Relaxed);
                    let is_there = || {
                        let n = ring.in_a_row.load(Relaxed);
                        at.is_none_or(|at| n > 20_000 && ring.last.load(Relaxed) == at)
                    };
                    while !is_there() {
                        // (Again: who gives its tasks away does not wait for long.)
                        gather(at);
                        assert!(began.elapsed() < LONG, "{:?} {:?} in a row at {at:?}", ring.last, ring.in_a_row);
                        open(&ring.gates[0]);
                        lets_others_go().await;
                    }
                }
            })
        };
        driver.join().unwrap();
        ring.ends.store(true, Relaxed);
        ring.gates.iter().for_each(open);
        members.into_iter().for_each(|member| member.join().unwrap());
    });
}

/// A worker at which futures are gathered computes, with some that it has woken behind it.
#[test]
fn who_waits_behind_a_long_turn_is_found() {
    let rt = Builder::new().workers(2).policy(Policy::WorkStealing).build().unwrap();
    rt.run(|| {
        let gates: Arc<Vec<Gate>> = Arc::new((0..100).map(|_| Gate::default()).collect());
        let elsewhere = Arc::new(AtomicUsize::new(0));
        let waiting: Vec<_> = (0..gates.len())
            .map(|i| {
                let (gates, elsewhere) = (gates.clone(), elsewhere.clone());
                spawn_async(async move {
                    let mut first = true;
                    poll_fn(|cx| {
                        *gates[i].lock() = Some(cx.waker().clone());
                        if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
                    })
                    .await;
                    elsewhere.fetch_add(1, Relaxed);
                })
            })
            .collect();
        while gates.iter().any(|gate| gate.lock().is_none()) {
            crate::yield_now();
        }
        gather(Some(here()));
        worker::current().unwrap().deque().set_keeps(Keeps::All);
        gates.iter().for_each(open);
        let began = Instant::now();
        while elsewhere.load(Relaxed) < gates.len() {
            assert!(began.elapsed() < LONG, "nobody has come for {} futures", gates.len());
            std::hint::spin_loop();
        }
        waiting.into_iter().for_each(|waiting| waiting.join().unwrap());
    });
}

#[test]
fn a_new_runtime_knows_nothing_of_the_last_one() {
    let build = || Builder::new().workers(3).policy(Policy::WorkStealing).build().unwrap();
    let rt = build();
    rt.run(|| gather(Some(1)));
    drop(rt);
    assert_eq!(build().metrics().pools[0].gathered_at, None);
}
