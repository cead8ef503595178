//! A panic in every position: it stops at its task, reaches whoever waits for it, unchanged, and
//! takes nothing else down.

use crate::common::{Drops, catch, catch_planned, each, in_both_modes, plan, text, wait_until};
use myriad::channel::{bounded, rendezvous};
use myriad::{block_on, join, scope, spawn, spawn_async};
use std::future::poll_fn;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::task::Poll;

/// A payload of a type of our own.
#[derive(Debug)]
struct Special {
    number: u32,
    _counted: crate::common::Counted,
}

#[test]
fn the_payload_comes_through_unchanged() {
    crate::common::quiet();
    in_both_modes(|rt| {
        let drops = Drops::new();
        rt.run(|| {
            for (number, later) in [(1, false), (2, true)] {
                let counted = drops.one();
                // `resume_unwind` panics without a message.
                let h = spawn(move || std::panic::resume_unwind(Box::new(Special { number, _counted: counted })));
                wait_until(|| !later || h.is_finished());
                let error = h.join().unwrap_err();
                assert!(error.is_panic());
                assert!(error.to_string().ends_with("panicked: (a payload that is not text)"), "{error}");
                let special = error.into_panic().downcast::<Special>().unwrap();
                assert_eq!((special.number, drops.dropped()), (number, number as usize - 1));
            }
        });
        drops.assert_all(2);
        // And through `run`, to a foreign thread.
        let payload = catch(|| rt.run(|| std::panic::resume_unwind(Box::new(7u8))));
        assert_eq!(*payload.downcast::<u8>().unwrap(), 7);
    });
}

#[test]
fn what_an_error_says() {
    in_both_modes(|rt| {
        rt.run(|| {
            let error = spawn(|| plan("a text")).join().unwrap_err();
            let line = line!() - 1;
            assert_eq!(error.spawned_at().line(), line);
            assert!(!error.is_shutdown() && !error.is_self_join() && error.name().is_none());
            assert!(error.to_string().starts_with("the task spawned at "), "{error}");
            assert!(format!("{error:?}").contains("panicked: planned: a text"));
            let payload = error.try_into_panic().unwrap();
            assert_eq!(text(&*payload), "planned: a text");
            catch_planned("goes on", || spawn(|| plan("goes on")).join().unwrap_err().resume());
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// spawn

/// Run on top of the joiner.
#[test]
fn an_inline_child() {
    each(&[1], |rt| {
        rt.run(|| {
            for _ in 0..1000 {
                assert!(spawn(|| plan("inline")).join().unwrap_err().is_panic());
            }
        });
    });
}

/// Run elsewhere: on another worker, or on this one from its loop.
#[test]
fn a_child_that_is_not_inline() {
    in_both_modes(|rt| {
        rt.run(|| {
            for _ in 0..100 {
                let h = spawn(|| plan("elsewhere"));
                wait_until(|| h.is_finished());
                assert!(h.join().unwrap_err().is_panic());
            }
        });
    });
}

#[test]
fn after_a_block() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = rendezvous::<()>();
            let handles: Vec<_> = (0..50)
                .map(|_| {
                    let rx = rx.clone();
                    spawn(move || {
                        rx.recv().unwrap();
                        plan("after a block")
                    })
                })
                .collect();
            (0..50).for_each(|_| tx.send(()).unwrap());
            for h in handles {
                catch_planned("after a block", || h.join().unwrap_err().resume());
            }
        });
    });
}

/// From the innermost of nested joins to the outside, task by task.
#[test]
fn through_many_tasks() {
    fn nest(depth: usize) {
        if depth == 0 {
            plan("innermost");
        }
        if let Err(error) = spawn(move || nest(depth - 1)).join() {
            error.resume()
        }
    }
    in_both_modes(|rt| catch_planned("innermost", || rt.run(|| nest(100))));
}

#[test]
fn locals_are_dropped_on_the_way() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        rt.run(|| {
            for i in 0..100 {
                let (held, drops) = (drops.one(), drops.clone());
                let h = spawn(move || {
                    let _local = drops.one();
                    let _held = held;
                    if i % 2 == 0 {
                        myriad::yield_now();
                    }
                    plan("with locals")
                });
                assert!(h.join().is_err());
            }
        });
        drops.assert_all(200);
    });
}

// -------------------------------------------------------------------------------------------------------
// join

#[test]
fn on_either_side_of_join() {
    in_both_modes(|rt| {
        rt.run(|| {
            for _ in 0..100 {
                let other = AtomicUsize::new(0);
                let count = || _ = other.fetch_add(1, Relaxed);
                catch_planned("a", || join(|| plan("a"), count));
                catch_planned("b", || join(count, || plan("b")));
                // Both: the first one's goes on.
                catch_planned("a", || join(|| plan("a"), || plan("b")));
                assert_eq!(other.load(Relaxed), 2, "the other side has run");
            }
        });
    });
}

/// `b` is under way elsewhere, or blocked, when `a` panics: it is awaited first, because it
/// borrows.
#[test]
fn the_other_side_is_awaited() {
    each(&[1, 2, 4], |rt| {
        rt.run(|| {
            for _ in 0..50 {
                let (started_tx, started_rx) = bounded(1);
                let (go_tx, go_rx) = bounded::<()>(1);
                let ended = AtomicBool::new(false);
                let releases = spawn(move || {
                    (0..10).for_each(|_| myriad::yield_now());
                    go_tx.send(()).unwrap();
                });
                catch_planned("a", || {
                    join(
                        || {
                            started_rx.recv().unwrap();
                            plan("a")
                        },
                        || {
                            started_tx.send(()).unwrap();
                            go_rx.recv().unwrap();
                            ended.store(true, SeqCst);
                        },
                    )
                });
                assert!(ended.load(SeqCst));
                releases.join().unwrap();
            }
        });
    });
}

/// While the panicking side of `join` waits for the other one, it is no business of other tasks on
/// that worker: for them no panic is under way, so their locks are not poisoned.
#[test]
fn a_panic_that_waits_is_not_seen_by_others() {
    each(&[1], |rt| {
        rt.run(|| {
            let (go_tx, go_rx) = bounded::<()>(0);
            let (started_tx, started_rx) = bounded::<()>(0);
            let waits = spawn(move || {
                let side_a = move || {
                    started_rx.recv().unwrap();
                    plan("a")
                };
                let side_b = move || {
                    started_tx.send(()).unwrap();
                    go_rx.recv().unwrap();
                };
                catch_planned("a", || join(side_a, side_b))
            });
            let mut seen = 0;
            let mutex = Mutex::new(());
            for _ in 0..500 {
                let guard = mutex.lock();
                myriad::yield_now();
                seen += usize::from(std::thread::panicking());
                drop(guard);
            }
            go_tx.send(()).unwrap();
            waits.join().unwrap();
            assert_eq!((seen, mutex.is_poisoned()), (0, false));
        });
    });
}

#[test]
fn deep_inside_joins() {
    fn walk(depth: usize, bad: usize) -> usize {
        if depth == 0 {
            if bad == 0 {
                plan("leaf");
            }
            return 1;
        }
        let half = 1 << (depth - 1);
        let (a, b) = join(|| walk(depth - 1, bad), || walk(depth - 1, bad.wrapping_sub(half)));
        a + b
    }
    in_both_modes(|rt| {
        rt.run(|| {
            for bad in [0, 100, 255] {
                catch_planned("leaf", || walk(8, bad));
            }
            assert_eq!(walk(8, 1000), 256);
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// scope

#[test]
fn in_a_scope() {
    in_both_modes(|rt| {
        rt.run(|| {
            let n = AtomicUsize::new(0);
            let count = || _ = n.fetch_add(1, Relaxed);
            // In a task that nobody joins: goes on at the end, after all others have ended.
            catch_planned("task", || {
                scope(|s| {
                    s.spawn(|| plan("task"));
                    (0..10).for_each(|_| drop(s.spawn(count)));
                })
            });
            // Joined: it goes to the joiner, and nowhere else.
            let error = scope(|s| s.spawn(|| plan("joined")).join().unwrap_err());
            assert!(error.is_panic());
            // In the closure itself: after the tasks have ended, also if one of them panicked as
            // well.
            catch_planned("closure", || {
                scope(|s| {
                    s.spawn(|| plan("task"));
                    (0..10).for_each(|_| drop(s.spawn(count)));
                    plan("closure")
                })
            });
            assert_eq!(n.load(Relaxed), 20);
        });
    });
}

/// The handle is dropped *after* the task has panicked: nobody has joined it, so the panic goes on
/// at the scope's end.
#[test]
fn in_a_scope_with_a_handle_that_is_dropped_late() {
    in_both_modes(|rt| {
        rt.run(|| {
            for _ in 0..20 {
                catch_planned("late", || {
                    scope(|s| {
                        let h = s.spawn(|| plan("late"));
                        wait_until(|| h.is_finished());
                        drop(h);
                    })
                });
            }
            catch_planned("leaked", || {
                scope(|s| {
                    let h = s.spawn(|| plan("leaked"));
                    wait_until(|| h.is_finished());
                    let other = s.spawn(move || drop(h));
                    other.join().unwrap();
                })
            });
        });
    });
}

#[test]
fn many_panics_in_one_scope() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let payload = catch(|| {
                scope(|s| {
                    for _ in 0..50 {
                        let counted = drops.one();
                        s.spawn(move || -> () {
                            let payload: Box<dyn std::any::Any + Send> =
                                Box::new(Special { number: 1, _counted: counted });
                            std::panic::resume_unwind(payload)
                        });
                    }
                })
            });
            // The first one is here; the others were dropped.
            assert_eq!((drops.made(), drops.dropped()), (50, 49));
            drop(payload);
            drops.assert_all(50);
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// futures

#[test]
fn in_a_poll() {
    in_both_modes(|rt| {
        let drops = Drops::new();
        rt.run(|| {
            for polls in [1, 2, 5] {
                let (token, mut left) = (drops.one(), polls);
                let h = spawn_async(async move {
                    let _token = token;
                    poll_fn(move |cx| {
                        left -= 1;
                        if left == 0 {
                            plan("poll");
                        }
                        cx.waker().wake_by_ref();
                        Poll::<()>::Pending
                    })
                    .await
                });
                catch_planned("poll", || h.join().unwrap_err().resume());
            }
            catch_planned("block_on", || block_on(async { plan("block_on") }));
            // Awaited by a future.
            let h = spawn_async(async { spawn_async(async { plan("inner") }).await.unwrap_err().is_panic() });
            assert!(h.join().unwrap());
        });
        drops.assert_all(3);
    });
}

/// The destructor of a future that is ready: there is a result, but the panic prevails. After a
/// panic: the first prevails.
#[test]
fn in_the_destructor_of_a_future() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            plan("destructor")
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            for panics_before in [false, true] {
                let bad = Bad;
                let h = spawn_async(poll_fn(move |_| {
                    let _bad = &bad;
                    if panics_before {
                        plan("poll");
                    }
                    Poll::Ready(1)
                }));
                let expected = if panics_before { "poll" } else { "destructor" };
                catch_planned(expected, || h.join().unwrap_err().resume());
            }
        });
    });
}
