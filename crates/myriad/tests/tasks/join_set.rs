//! A set of tasks: each result comes once, whatever is added, cancelled or let go in between.

use crate::common::{Drops, in_both_modes, wait_until};
use myriad::block_on;
use myriad::channel::bounded;
use myriad::task::JoinSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

/// Places of tasks whose results were taken are used again, and no result comes for another one.
#[test]
fn results_come_once_while_tasks_are_added() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mut set = JoinSet::new();
            let mut seen = [false; 3000];
            let mut take = |set: &mut JoinSet<usize>| {
                let i = set.join_next().expect("the set is not empty").unwrap();
                assert!(!std::mem::replace(&mut seen[i], true), "result {i} has come twice");
            };
            for i in 0..3000 {
                if i % 3 == 0 {
                    set.spawn(move || i);
                } else {
                    set.spawn_async(async move { i });
                }
                // More are added than taken in one thousand, and fewer in the next.
                if i / 1000 % 2 == 1 || i % 2 == 0 {
                    take(&mut set);
                }
                if i / 1000 == 1 && !set.is_empty() {
                    take(&mut set);
                }
            }
            while !set.is_empty() {
                take(&mut set);
            }
            assert!(set.join_next().is_none());
            assert!(seen.iter().all(|seen| *seen));
        });
    });
}

/// As many as wait are dropped, each once; and the set is used again.
#[test]
fn waiting_futures_are_cancelled() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mut set = JoinSet::new();
            for _ in 0..2 {
                let drops = Drops::new();
                let polled = Arc::new(AtomicUsize::new(0));
                let senders: Vec<_> = (0..2000)
                    .map(|_| {
                        let (tx, rx) = bounded::<()>(1);
                        let (held, polled) = (drops.one(), polled.clone());
                        set.spawn_async(async move {
                            let _held = held;
                            polled.fetch_add(1, SeqCst);
                            _ = rx.recv_async().await;
                        });
                        tx
                    })
                    .collect();
                wait_until(|| polled.load(SeqCst) == 2000);
                set.cancel_all();
                let cancelled = block_on(async {
                    let mut cancelled = 0;
                    while let Some(result) = set.join_next_async().await {
                        cancelled += usize::from(result.is_err_and(|e| e.is_cancelled()));
                    }
                    cancelled
                });
                assert_eq!(cancelled, 2000);
                drops.assert_all(2000);
                assert!(senders.iter().all(|tx| tx.is_closed()));
            }
        });
    });
}

#[test]
fn what_was_let_go_brings_no_result() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let mut set = JoinSet::new();
            let (tx, rx) = bounded::<()>(1);
            for _ in 0..10 {
                let (held, rx) = (drops.one(), rx.clone());
                set.spawn_async(async move {
                    assert!(rx.recv_async().await.is_err());
                    Some(held)
                });
            }
            set.spawn(|| None);
            assert!(set.join_next().unwrap().unwrap().is_none());
            set.detach_all();
            assert_eq!(set.len(), 0);
            // They run on, beside others in their places.
            let held = drops.one();
            set.spawn(move || Some(held));
            drop(tx);
            assert!(set.join_next().unwrap().unwrap().is_some());
            assert!(set.join_next().is_none());
            drops.wait_all(11);
        });
    });
}
