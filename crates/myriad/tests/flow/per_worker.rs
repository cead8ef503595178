//! A value for each worker: nobody shares one, and none is lost.

use crate::common::{PLANNED, each};
use crate::each_runtime;
use myriad::channel::rendezvous;
use myriad::flow::{self, PerWorker};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::thread;

/// Calls that do not wait: one value for each worker, and all that was counted is there.
#[test]
fn one_for_each_worker() {
    for workers in [1, 2] {
        each(&[workers], |rt| {
            rt.run(|| {
                let made = Arc::new(AtomicUsize::new(0));
                let makes = made.clone();
                let sums = Arc::new(PerWorker::new(move || {
                    makes.fetch_add(1, SeqCst);
                    0_u64
                }));
                for round in 1..4 {
                    let nodes = (0..3000_u64).map(|n| {
                        let sums = sums.clone();
                        flow::spawn(move || sums.with(|sum| *sum += n), ())
                    });
                    flow::all(nodes.collect()).join().unwrap();
                    // (Workers beside those asked for may have helped, where the machine is slow.)
                    assert!((1..=30).contains(&made.load(SeqCst)), "{made:?}");
                    let all = sums.take_all();
                    assert_eq!(all.iter().sum::<u64>(), 3000 * 2999 / 2, "{round}");
                    assert!(sums.take_all().is_empty());
                    made.store(0, SeqCst);
                }
            });
        });
    }
}

/// A call that waits keeps its value for itself; later calls use the values that are there.
#[test]
fn calls_that_wait_have_values_of_their_own() {
    each_runtime(|| {
        let lists = Arc::new(PerWorker::new(Vec::new));
        let (go_on, waits) = rendezvous::<()>();
        let nodes: Vec<_> = (0..20)
            .map(|n| {
                let (lists, waits) = (lists.clone(), waits.clone());
                let body = move |list: &mut Vec<usize>| {
                    let before = list.len();
                    list.push(n);
                    _ = waits.recv();
                    assert_eq!((list.len(), list[before]), (before + 1, n));
                };
                flow::spawn(move || lists.with(body), ())
            })
            .collect();
        drop(waits);
        while go_on.send(()).is_ok() {}
        flow::all(nodes).join().unwrap();
        let mut all: Vec<_> = lists.take_all().concat();
        all.sort_unstable();
        assert_eq!(all, Vec::from_iter(0..20));
        // One within another one, and a thread that is no worker.
        let nested = lists.with(|outer| {
            outer.push(1);
            lists.with(|inner| inner.push(2));
            thread::scope(|s| s.spawn(|| lists.with(|list| list.push(3))).join().unwrap());
            outer.len()
        });
        let mut all = lists.take_all();
        all.sort_unstable();
        assert_eq!((nested, all), (1, vec![vec![1], vec![2], vec![3]]));
    });
}

/// A panic, or a cancellation, leaves the value; each is dropped once.
#[test]
fn values_stay_whatever_happens() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
            assert!(thread::panicking() || self.0.load(SeqCst) != 1, "{PLANNED}a destructor");
        }
    }
    each_runtime(|| {
        let there = Arc::new(AtomicUsize::new(0));
        let counts = there.clone();
        let values = Arc::new(PerWorker::new(move || {
            counts.fetch_add(1, SeqCst);
            (Counted(counts.clone()), 0)
        }));
        let (used, (began, has_began)) = (values.clone(), rendezvous());
        let (_never, waits) = rendezvous::<()>();
        let cancelled = flow::spawn(
            move || {
                used.with(|(_, n)| {
                    *n += 1;
                    began.send(()).unwrap();
                    _ = waits.recv();
                });
            },
            (),
        );
        has_began.recv().unwrap();
        cancelled.cancel();
        let used = values.clone();
        let panics = flow::spawn(
            move || {
                used.with(|(_, n)| {
                    *n += 10;
                    panic!("{PLANNED}a body");
                })
            },
            (),
        );
        assert!(panics.map(|()| ()).join().is_err() && cancelled.join().is_err());
        while Arc::strong_count(&values) > 1 {
            myriad::yield_now();
        }
        let all = values.take_all();
        assert_eq!((all.iter().map(|(_, n)| n).sum::<i32>(), all.len()), (11, there.load(SeqCst)));
        there.store(100, SeqCst);
        drop(all);
        // A destructor panics, at the end of all: all are dropped, and the panic goes on.
        there.store(0, SeqCst);
        values.with(|_| values.with(|_| values.with(|_| ())));
        let values = Arc::into_inner(values).unwrap();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || drop(values))).unwrap_err();
        assert_eq!(there.load(SeqCst), 0);
    });
}
