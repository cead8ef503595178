//! Scopes: tasks that borrow, and their end.

use crate::common::{Drops, in_both_modes, wait_until};
use myriad::{Scope, scope, spawn};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

#[test]
fn tasks_borrow() {
    in_both_modes(|rt| {
        let mut xs = vec![1u64; 1000];
        let total = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                for (i, x) in xs.iter_mut().enumerate() {
                    let total = &total;
                    s.spawn(move || {
                        *x += i as u64;
                        total.fetch_add(1, Relaxed);
                    });
                }
            });
            assert_eq!(xs.iter().sum::<u64>(), 1000 + 499_500);
        });
        assert_eq!(total.load(Relaxed), 1000);
    });
}

#[test]
fn an_empty_scope_and_its_result() {
    in_both_modes(|rt| {
        assert_eq!(rt.run(|| scope(|_| 7)), 7);
        let word = String::from("word");
        assert_eq!(rt.run(|| scope(|s| s.spawn(|| word.len()).join().unwrap())), 4);
    });
}

#[test]
fn handles_are_joined_inside() {
    in_both_modes(|rt| {
        rt.run(|| {
            let xs = [3, 1, 2];
            let doubled: Vec<i32> = scope(|s| {
                let handles: Vec<_> = xs.iter().map(|x| s.spawn(move || x * 2)).collect();
                handles.into_iter().map(|h| h.join().unwrap()).collect()
            });
            assert_eq!(doubled, [6, 2, 4]);
        });
    });
}

/// At the end of the scope all have ended, also those that block, and those that were taken by
/// other workers.
#[test]
fn the_end_waits_for_all() {
    in_both_modes(|rt| {
        rt.run(|| {
            for _ in 0..20 {
                let ended = AtomicUsize::new(0);
                let (tx, rx) = myriad::channel::unbounded();
                scope(|s| {
                    for i in 0..50 {
                        let (ended, tx, rx) = (&ended, tx.clone(), &rx);
                        s.spawn(move || {
                            if i % 2 == 0 {
                                assert_eq!(rx.recv(), Ok(()));
                            } else {
                                myriad::yield_now();
                                tx.send(()).unwrap();
                            }
                            ended.fetch_add(1, Relaxed);
                        });
                    }
                });
                assert_eq!(ended.load(Relaxed), 50);
            }
        });
    });
}

#[test]
fn children_spawn_into_the_scope() {
    fn grow<'s>(s: &'s Scope<'s, '_>, n: &'s AtomicUsize, depth: usize) {
        n.fetch_add(1, Relaxed);
        if depth > 0 {
            for _ in 0..3 {
                s.spawn(move || grow(s, n, depth - 1));
            }
        }
    }
    in_both_modes(|rt| {
        let n = AtomicUsize::new(0);
        rt.run(|| scope(|s| grow(s, &n, 7)));
        assert_eq!(n.load(Relaxed), (3usize.pow(8) - 1) / 2);
    });
}

/// The owner has come to its end long before the last task is spawned.
#[test]
fn a_child_spawns_while_the_owner_waits() {
    in_both_modes(|rt| {
        let n = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                let n = &n;
                s.spawn(move || {
                    (0..100).for_each(|_| myriad::yield_now());
                    s.spawn(move || {
                        (0..100).for_each(|_| myriad::yield_now());
                        s.spawn(move || n.fetch_add(1, Relaxed));
                    });
                });
            });
            assert_eq!(n.load(Relaxed), 1);
        });
    });
}

#[test]
fn scopes_in_scopes() {
    fn sum(depth: usize, xs: &[u64]) -> u64 {
        if depth == 0 || xs.len() < 4 {
            return xs.iter().sum();
        }
        let total = AtomicUsize::new(0);
        scope(|s| {
            for part in xs.chunks(xs.len().div_ceil(3)) {
                let total = &total;
                s.spawn(move || total.fetch_add(sum(depth - 1, part) as usize, Relaxed));
            }
        });
        total.into_inner() as u64
    }
    in_both_modes(|rt| {
        let xs: Vec<u64> = (0..3000).collect();
        assert_eq!(rt.run(|| sum(5, &xs)), 4_498_500);
    });
}

/// The inner scope's tasks hold the outer one, and spawn into it.
#[test]
fn an_inner_task_spawns_into_the_outer_scope() {
    in_both_modes(|rt| {
        let n = AtomicUsize::new(0);
        rt.run(|| {
            scope(|outer| {
                let n = &n;
                scope(|inner| {
                    for _ in 0..20 {
                        inner.spawn(move || {
                            n.fetch_add(1, Relaxed);
                            outer.spawn(move || n.fetch_add(100, Relaxed));
                        });
                    }
                });
                assert_eq!(n.load(Relaxed) % 100, 20);
            });
            assert_eq!(n.load(Relaxed), 2020);
        });
    });
}

/// Results of tasks that nobody joined are dropped before the scope ends, once: they may borrow
/// from what comes next.
#[test]
fn results_that_nobody_takes_are_dropped_inside() {
    struct Writes<'a>(&'a AtomicUsize, &'a AtomicBool);
    impl Drop for Writes<'_> {
        fn drop(&mut self) {
            assert!(self.1.load(SeqCst), "dropped after the scope has ended");
            self.0.fetch_add(1, SeqCst);
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            for _ in 0..50 {
                let (n, open) = (AtomicUsize::new(0), AtomicBool::new(true));
                scope(|s| {
                    for i in 0..20 {
                        let (n, open) = (&n, &open);
                        let h = s.spawn(move || Writes(n, open));
                        if i % 3 == 0 {
                            myriad::yield_now();
                        }
                        if i % 4 == 0 {
                            drop(h.join().unwrap());
                        }
                    }
                });
                open.store(false, SeqCst);
                assert_eq!(n.load(SeqCst), 20);
            }
        });
    });
}

#[test]
fn what_closures_hold_is_dropped_inside() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        rt.run(|| {
            for i in 0..100 {
                scope(|s| {
                    for _ in 0..10 {
                        let (token, padding) = (drops.one(), [0u8; 600]);
                        if i % 2 == 0 {
                            s.spawn(move || drop(token))
                        } else {
                            s.spawn(move || _ = (&token, padding))
                        };
                    }
                });
                drops.assert_all((i + 1) * 10);
            }
        });
    });
}

#[test]
fn is_finished_in_a_scope() {
    in_both_modes(|rt| {
        rt.run(|| {
            scope(|s| {
                let h = s.spawn(|| 1);
                wait_until(|| h.is_finished());
                assert_eq!(h.join().unwrap(), 1);
            });
        });
    });
}

/// Tasks of a scope and free ones lie in the queue one upon the other; the end of the scope must
/// not take the free ones.
#[test]
fn free_tasks_among_those_of_the_scope() {
    in_both_modes(|rt| {
        let free = AtomicUsize::new(0);
        let free: &'static AtomicUsize = Box::leak(Box::new(free));
        rt.run(|| {
            let n = AtomicUsize::new(0);
            scope(|s| {
                for i in 0..200 {
                    if i % 3 == 0 {
                        drop(spawn(move || free.fetch_add(1, SeqCst)));
                    }
                    s.spawn(|| n.fetch_add(1, Relaxed));
                }
            });
            assert_eq!(n.load(Relaxed), 200);
        });
        wait_until(|| free.load(SeqCst) == 67);
    });
}

/// A task of the scope is handed to another runtime's task, which spawns there.
#[test]
fn a_scope_is_used_from_another_runtime() {
    in_both_modes(|rt| {
        let other = crate::common::Mode::Threads.runtime(1);
        let n = AtomicUsize::new(0);
        rt.run(|| {
            scope(|s| {
                let n = &n;
                other.run(|| {
                    for _ in 0..10 {
                        s.spawn(move || n.fetch_add(1, Relaxed));
                    }
                });
            });
        });
        assert_eq!(n.load(Relaxed), 10);
        assert!(other.shutdown(crate::common::PATIENCE).is_clean());
    });
}

/// On a foreign thread the tasks go to the global runtime, and the thread sleeps until they have
/// ended.
#[test]
fn on_a_foreign_thread() {
    let _watch = crate::common::watch("global runtime");
    let mut xs = [1, 2, 3];
    let n = scope(|s| {
        for x in &mut xs {
            s.spawn(move || *x *= 2);
        }
        let words = s.spawn(|| vec!["a", "b"]);
        words.join().unwrap().len()
    });
    assert_eq!((xs, n), ([2, 4, 6], 2));
}
