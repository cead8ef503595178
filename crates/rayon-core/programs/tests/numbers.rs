//! The numbers of workers, on which arrays with a place for each are built.

mod common;

use common::each;
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

fn compute(time: Duration) {
    let began = Instant::now();
    while began.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// Long jobs, beside which Myriad would call a spare worker: not for jobs of rayon.
fn numbers_are_unique(job: fn()) {
    each("unique", |rt| {
        let n = rt.workers();
        rt.run(|| {
            assert_eq!(rayon::current_num_threads(), n);
            let taken: Vec<AtomicBool> = (0..n).map(|_| AtomicBool::new(false)).collect();
            (0..8 * n).into_par_iter().with_max_len(1).for_each(|_| {
                let index = rayon::current_thread_index().unwrap();
                assert!(index < n, "{index} of {n}");
                assert!(!taken[index].swap(true, SeqCst), "{index} twice");
                job();
                assert_eq!(rayon::current_thread_index(), Some(index));
                taken[index].store(false, SeqCst);
            });
        });
    });
}

#[test]
fn they_are_unique_while_jobs_compute() {
    numbers_are_unique(|| compute(Duration::from_millis(30)));
}

#[test]
fn they_are_unique_while_jobs_wait_in_the_system() {
    numbers_are_unique(|| std::thread::sleep(Duration::from_millis(30)));
}

#[test]
fn a_broadcast_reaches_each_worker_once() {
    each("broadcast", |rt| {
        let (n, calls) = (rt.workers(), AtomicUsize::new(0));
        rt.run(|| {
            let numbers = rayon::broadcast(|worker| {
                calls.fetch_add(1, SeqCst);
                assert_eq!(rayon::current_thread_index(), Some(worker.index()));
                assert_eq!(worker.num_threads(), n);
                worker.index()
            });
            assert!(numbers.into_iter().eq(0..n));
            // Each call broadcasts, and waits for itself too.
            rayon::broadcast(|_| rayon::broadcast(|_| _ = calls.fetch_add(1, SeqCst)));
            rayon::scope(|s| s.spawn_broadcast(|_, _| _ = calls.fetch_add(1, SeqCst)));
        });
        assert_eq!(calls.into_inner(), n + n * n + n);
    });
}

#[test]
fn migrated_says_whether_it_is_another_worker() {
    each("migrated", |rt| {
        rt.run(|| {
            for _ in 0..200 {
                let here = rayon::current_thread_index();
                rayon::join_context(
                    |a| assert!(!a.migrated()),
                    |b| assert_eq!(b.migrated(), rayon::current_thread_index() != here),
                );
            }
        });
    });
}

#[test]
fn a_yield_runs_a_job() {
    each("yield", |rt| {
        rt.run(|| {
            let done = AtomicBool::new(false);
            rayon::scope(|s| {
                s.spawn(|_| done.store(true, SeqCst));
                while !done.load(SeqCst) {
                    assert!(rayon::yield_now().is_some());
                }
            });
            assert_eq!(rayon::yield_local(), Some(rayon::Yield::Idle));
        });
        assert!(rayon::yield_now().is_none());
    });
}

#[test]
fn what_a_worker_spawns_fifo_runs_oldest_first() {
    common::one("fifo", false, 1, |rt| {
        let (tx, rx) = std::sync::mpsc::channel();
        rt.run(|| {
            (0..50).for_each(|i| {
                let tx = tx.clone();
                rayon::spawn_fifo(move || tx.send(i).unwrap())
            })
        });
        drop(tx);
        assert!(rx.iter().eq(0..50));
        let order = std::sync::Mutex::new(Vec::new());
        rt.run(|| {
            rayon::scope_fifo(|s| {
                (0..50).for_each(|i| {
                    let order = &order;
                    s.spawn_fifo(move |_| order.lock().unwrap().push(i))
                })
            })
        });
        assert!(order.into_inner().unwrap().into_iter().eq(0..50));
    });
}
