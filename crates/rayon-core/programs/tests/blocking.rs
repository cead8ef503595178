//! In closures of rayon, what blocks in Myriad blocks a task, not a worker. In both modes.

mod common;

use common::{each, one};
use myriad::channel;
use myriad::sync::Event;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Three stages with one place between them, on a pool of one worker even: under rayon this hangs
/// with as many workers as stages less one.
#[test]
fn a_pipeline_in_a_scope() {
    each("pipeline", |rt| {
        let sum = rt.run(|| {
            let ((tx0, rx0), (tx1, rx1)) = (channel::bounded::<u32>(1), channel::bounded::<u32>(1));
            let mut sum = 0;
            let out = &mut sum;
            rayon::scope(|s| {
                s.spawn(move |_| (0..100).for_each(|i| tx0.send(i).unwrap()));
                s.spawn(move |_| rx0.into_iter().for_each(|i| tx1.send(i + 1).unwrap()));
                s.spawn(move |_| *out = rx1.into_iter().sum::<u32>());
            });
            sum
        });
        assert_eq!(sum, (1..=100).sum());
    });
}

/// The guard is held over a `join`: under rayon the worker that waits takes another item, which
/// wants the lock that its own stack holds.
fn lock_over_join(n: usize, lock: impl Fn(&dyn Fn()) + Sync) {
    (0..n).into_par_iter().with_max_len(1).for_each(|_| {
        lock(&|| {
            rayon::join(std::thread::yield_now, std::thread::yield_now);
        });
    });
}

#[test]
fn our_lock_is_held_over_a_join() {
    each("our lock", |rt| {
        let count = myriad::sync::Mutex::new(0);
        rt.run(|| {
            lock_over_join(200, |join| {
                let mut count = count.lock().unwrap();
                join();
                *count += 1;
            });
        });
        assert_eq!(*count.lock().unwrap(), 200);
    });
}

/// In threads mode, where others go on with the owner of the lock when its worker is stuck in it.
#[test]
fn a_lock_of_std_is_held_over_a_join() {
    for workers in [1, 2, 4] {
        one("std's lock", false, workers, |rt| {
            let count = std::sync::Mutex::new(0);
            rt.run(|| {
                lock_over_join(100, |join| {
                    let mut count = count.lock().unwrap();
                    join();
                    *count += 1;
                });
            });
            assert_eq!(*count.lock().unwrap(), 100);
        });
    }
}

#[test]
fn a_thousand_items_wait_for_one_that_comes_last() {
    each("late event", |rt| {
        let (event, waited) = (Event::new(), AtomicUsize::new(0));
        rt.run(|| {
            rayon::scope(|s| {
                for _ in 0..1000 {
                    s.spawn(|_| {
                        event.wait();
                        waited.fetch_add(1, SeqCst);
                    });
                }
                s.spawn(|_| event.set());
            });
        });
        assert_eq!(waited.into_inner(), 1000);
    });
}

#[test]
fn an_iterator_spawns_and_joins_tasks_and_futures() {
    each("tasks", |rt| {
        let sum: usize = rt.run(|| {
            (0..300usize)
                .into_par_iter()
                .map(|i| {
                    let task = myriad::spawn(move || (0..i).into_par_iter().sum::<usize>());
                    let future = myriad::spawn_async(async move { i });
                    task.join().unwrap() + future.join().unwrap()
                })
                .sum()
        });
        assert_eq!(sum, (0..300).map(|i| (0..i).sum::<usize>() + i).sum());
    });
}

#[test]
fn a_future_calls_an_iterator_that_waits_for_futures() {
    each("futures", |rt| {
        let task = rt.spawn_async(async {
            let (tx, rx) = channel::bounded::<usize>(1);
            let sender = myriad::spawn_async(async move {
                for i in 0..50 {
                    tx.send_async(i).await.unwrap();
                }
            });
            let sum: usize = (0..50usize).into_par_iter().map(|_| rx.recv().unwrap()).sum();
            sender.await.unwrap();
            sum
        });
        assert_eq!(task.join().unwrap(), (0..50).sum());
    });
}

#[test]
fn a_wait_for_a_pool_with_own_threads_holds_no_worker() {
    each("another pool", |rt| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (tx, rx) = std::sync::mpsc::channel();
        let rx = std::sync::Mutex::new(rx);
        rt.run(|| {
            rayon::scope(|s| {
                // More waiters than workers; what they wait for comes last.
                for _ in 0..8 {
                    s.spawn(|_| pool.install(|| rx.lock().unwrap().recv().unwrap()));
                }
                s.spawn(move |_| (0..8).for_each(|_| tx.send(()).unwrap()));
            });
        });
    });
}

#[test]
fn scopes_within_iterators_within_scopes() {
    each("nested", |rt| {
        let leaves = AtomicUsize::new(0);
        rt.run(|| {
            rayon::scope(|s| {
                for _ in 0..10 {
                    s.spawn(|s| {
                        (0..10).into_par_iter().for_each(|_| {
                            rayon::scope_fifo(|s| {
                                (0..10).for_each(|_| s.spawn_fifo(|_| _ = leaves.fetch_add(1, SeqCst)))
                            });
                        });
                        s.spawn(|_| _ = leaves.fetch_add(1, SeqCst));
                    });
                }
            });
        });
        assert_eq!(leaves.into_inner(), 1010);
    });
}

#[test]
fn a_panic_comes_out_when_all_have_ended() {
    each("panic", |rt| {
        let ended = AtomicUsize::new(0);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            rt.run(|| {
                rayon::scope(|s| {
                    for i in 0..20 {
                        let ended = &ended;
                        s.spawn(move |_| {
                            myriad::task::yield_now();
                            if i == 7 {
                                panic!("the seventh");
                            }
                            ended.fetch_add(1, SeqCst);
                        });
                    }
                });
            });
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"the seventh"));
        assert_eq!(ended.into_inner(), 19);
    });
}

#[test]
fn a_cancelled_task_leaves_its_iterator() {
    each("cancel", |rt| {
        let (event, waiting) = (std::sync::Arc::new(Event::new()), channel::unbounded());
        let (never, tx) = (event.clone(), waiting.0);
        let task = rt.spawn(move || {
            rayon::join(
                || {
                    tx.send(()).unwrap();
                    never.wait();
                },
                || (),
            );
        });
        waiting.1.recv().unwrap();
        task.cancel();
        assert!(task.join().unwrap_err().is_cancelled());
        assert!(!event.is_set());
    });
}
