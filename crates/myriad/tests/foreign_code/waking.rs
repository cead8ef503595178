//! Wakers that wait, panic, or have destructors that do.

use crate::common::{MODES, case, each, each_with, plan, wait_until};
use myriad::cancel::Token;
use myriad::{channel, spawn, spawn_async, task, time};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Calls functions where it is woken and where it is dropped.
struct Hostile {
    wake: Box<dyn Fn() + Send + Sync>,
    drop: Box<dyn Fn() + Send + Sync>,
}

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        (self.wake)();
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        (self.drop)();
    }
}

fn wakes(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Hostile { wake: Box::new(f), drop: Box::new(|| ()) }))
}

fn drops(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Hostile { wake: Box::new(|| ()), drop: Box::new(f) }))
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

fn panics() -> Waker {
    wakes(|| plan("a waker"))
}

/// The last reference to a waker goes within `join`, and its destructor waits.
#[test]
fn a_waker_whose_destructor_waits_in_a_join() {
    each(&[1, 2], |rt| {
        for _ in 0..10 {
            let h = rt.spawn(|| {
                let (tx, rx) = channel::bounded::<()>(1);
                let mut h = spawn(move || {
                    _ = rx.recv();
                    7
                });
                time::sleep(ms(1));
                let waker = drops(|| time::sleep(ms(2)));
                assert!(poll(&mut h, &waker).is_pending());
                drop(waker);
                // Keeps this worker busy, so that the joiner goes on with another one.
                drop(spawn(|| {
                    let began = Instant::now();
                    while began.elapsed() < ms(20) {
                        drop(spawn(|| ()));
                    }
                }));
                drop(spawn(move || {
                    std::thread::sleep(ms(25));
                    drop(tx);
                }));
                h.join().unwrap()
            });
            assert_eq!(h.join().unwrap(), 7);
        }
    });
}

/// Its clones are all gone, whatever became of the handle.
#[test]
fn a_handle_that_was_polled_keeps_no_waker() {
    // (A spare would run what is to wait behind this task.)
    each_with(
        &[1],
        |b| b.spare_workers(0),
        |_, rt| {
            rt.run(|| {
                let waker = Arc::new(Hostile { wake: Box::new(|| ()), drop: Box::new(|| ()) });
                let polled = |mut h: myriad::JoinHandle<u8>| {
                    assert!(poll(&mut h, &Waker::from(waker.clone())).is_pending());
                    assert_eq!(Arc::strong_count(&waker), 2);
                    h
                };
                // Joined before it begins.
                assert_eq!(polled(spawn(|| 7)).join().unwrap(), 7);
                assert_eq!(Arc::strong_count(&waker), 1);
                let cancelled = polled(spawn(|| 7));
                cancelled.cancel();
                assert!(cancelled.join().unwrap_err().is_cancelled());
                assert_eq!(Arc::strong_count(&waker), 1);
                drop(polled(spawn(|| 7)));
                assert_eq!(Arc::strong_count(&waker), 1);
                let h = polled(spawn(|| 7));
                myriad::yield_now();
                wait_until(|| h.is_finished());
                assert_eq!(Arc::strong_count(&waker), 1);
            });
        },
    );
}

/// While a waker of an ended future waits, somebody takes the result: the waker must not run as
/// that task's record.
#[test]
fn a_waker_that_outlives_its_task() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            for _ in 0..10 {
                let ((go, start), (taken, is_taken), (over, is_over)) =
                    (channel::bounded::<()>(1), channel::bounded::<()>(1), channel::bounded::<()>(1));
                let mut h = spawn_async(async move {
                    _ = start.recv_async().await;
                    7
                });
                let waker = wakes(move || {
                    _ = task::current().map(|task| task.id());
                    // Waits until somebody else has taken the result.
                    _ = is_taken.recv();
                    time::sleep(ms(5));
                    _ = task::current().map(|task| task.id());
                    _ = over.send(());
                });
                assert!(poll(&mut h, &waker).is_pending());
                go.send(()).unwrap();
                wait_until(|| h.is_finished());
                assert!(poll(&mut h, Waker::noop()).is_ready());
                // Their records are those that are free now.
                let others: Vec<_> = (0..8).map(|_| spawn(|| time::sleep(ms(3_600_000)))).collect();
                taken.send(()).unwrap();
                myriad::yield_now();
                others.iter().for_each(|other| other.cancel());
                others.into_iter().for_each(|other| assert!(other.join().unwrap_err().is_cancelled()));
                is_over.recv().unwrap();
            }
        });
        assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
    });
}

/// Many wakers are in the middle of their own limits at a time, on one worker, and end in another
/// order.
#[test]
fn limits_in_wakers() {
    each(&[1, 2], |rt| {
        let done = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            let mut sleeps: Vec<_> = (0..20)
                .map(|i| {
                    let done = done.clone();
                    let mut sleep = Box::pin(time::sleep_async(ms(1)));
                    let waker = wakes(move || {
                        assert!(time::timeout(ms(60_000), || time::sleep(ms(1 + i * 7 % 13))).is_ok());
                        assert!(time::timeout(ms(1 + i), || time::sleep(ms(3_600_000))).is_err());
                        done.fetch_add(1, SeqCst);
                    });
                    // A machine that stands still for 1 ms makes a sleep ready at its first look.
                    while poll(&mut sleep, &waker).is_ready() {
                        sleep = Box::pin(time::sleep_async(ms(1)));
                    }
                    sleep
                })
                .collect();
            wait_until(|| done.load(SeqCst) == 20);
            assert!(sleeps.iter_mut().all(|sleep| poll(sleep, Waker::noop()).is_ready()));
        });
    });
}

/// With no stack left, who waits at a scope's end fires timers itself; a waker that panics there
/// must not end that wait.
#[test]
fn a_waker_that_panics_where_a_scope_waits_without_a_stack() {
    for mode in MODES {
        case(
            mode,
            2,
            |b| b.spare_workers(0).max_stacks(2),
            |rt| {
                let (tx, rx) = channel::bounded::<()>(1);
                let here = Arc::new(AtomicUsize::new(0));
                // One blocked closure on each worker: the second stack of each is the last.
                let blocked: Vec<_> = (0..2)
                    .map(|_| {
                        let (rx, here) = (rx.clone(), here.clone());
                        rt.spawn(move || {
                            here.fetch_add(1, SeqCst);
                            while here.load(SeqCst) < 2 {
                                std::hint::spin_loop();
                            }
                            _ = rx.recv();
                        })
                    })
                    .collect();
                wait_until(|| here.load(SeqCst) == 2);
                let h = rt.spawn(|| {
                    let (ended, woken) = (AtomicBool::new(false), Arc::new(AtomicBool::new(false)));
                    let mut sleep = Box::pin(time::sleep_async(ms(20)));
                    let waker = {
                        let woken = woken.clone();
                        wakes(move || {
                            woken.store(true, SeqCst);
                            plan("a waker");
                        })
                    };
                    myriad::scope(|s| {
                        drop(s.spawn(|| {
                            // Ends some time after the waker has panicked. (No stack: it keeps its
                            // worker.)
                            while !woken.load(SeqCst) {
                                std::thread::sleep(ms(1));
                            }
                            std::thread::sleep(ms(20));
                            ended.store(true, SeqCst);
                        }));
                        if poll(&mut sleep, &waker).is_ready() {
                            woken.store(true, SeqCst);
                        }
                    });
                    ended.load(SeqCst)
                });
                assert!(h.join().unwrap(), "the scope was left before its task had ended");
                drop(tx);
                blocked.into_iter().for_each(|blocked| blocked.join().unwrap());
            },
        );
    }
}

/// A worker survives what wakers do; so does whoever waits beside them.
#[test]
fn wakers_that_panic_at_handles() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.spare_workers(0),
            |rt| {
                for _ in 0..3 {
                    let (go, start) = channel::bounded::<()>(1);
                    let also = start.clone();
                    let mut closure = rt.spawn(move || _ = start.recv());
                    let mut future = rt.spawn_async(async move { _ = also.recv_async().await });
                    let mut sleep = rt.run(|| Box::pin(time::sleep_async(ms(1))));
                    rt.run(|| {
                        myriad::yield_now();
                        assert!(poll(&mut closure, &panics()).is_pending());
                        assert!(poll(&mut future, &panics()).is_pending());
                        _ = poll(&mut sleep, &panics());
                    });
                    drop(go);
                    closure.join().unwrap();
                    future.join().unwrap();
                    assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
                }
            },
        );
    }
}

/// A waker that passes wakes on to the engine's own is foreign all the same: it waits, has limits
/// of its own, and panics, and is called through the door.
#[test]
fn a_waker_around_one_of_ours() {
    each(&[1, 2], |rt| {
        let called = Arc::new(AtomicUsize::new(0));
        let around = |waker: &Waker, called: &Arc<AtomicUsize>| {
            let (waker, called) = (waker.clone(), called.clone());
            wakes(move || {
                assert!(time::timeout(ms(1), || time::sleep(ms(3_600_000))).is_err());
                called.fetch_add(1, SeqCst);
                waker.wake_by_ref();
                plan("a waker around another");
            })
        };
        let called = &called;
        rt.run(|| {
            for round in 1..=3 {
                let mut closure = spawn(|| time::sleep(ms(1)));
                myriad::block_on(std::future::poll_fn(|cx| poll(&mut closure, &around(cx.waker(), called)))).unwrap();
                let (also, mut closure) = (called.clone(), spawn(|| time::sleep(ms(1))));
                let awaits = spawn_async(async move {
                    std::future::poll_fn(|cx| poll(&mut closure, &around(cx.waker(), &also))).await
                });
                awaits.join().unwrap().unwrap();
                wait_until(|| called.load(SeqCst) >= 2 * round);
            }
        });
        assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
    });
}

/// A runtime has given up on a task that computes, so its idle futures are still there. One of them
/// is woken by the end of another runtime's task, and its destructor waits.
#[test]
fn a_wake_of_a_future_whose_runtime_has_given_up() {
    struct Waits(Arc<AtomicUsize>);
    impl Drop for Waits {
        fn drop(&mut self) {
            time::sleep(ms(3));
            self.0.fetch_add(1, SeqCst);
        }
    }
    for mode in MODES {
        case(
            mode,
            2,
            |b| b,
            |rt| {
                for _ in 0..3 {
                    let late = mode.builder().workers(1).spare_workers(0).build().unwrap();
                    let (go, start) = channel::bounded::<()>(1);
                    let (begun, done, dropped) = (Arc::default(), Arc::default(), Arc::<AtomicUsize>::default());
                    let awaited = rt.spawn(move || _ = start.recv());
                    let (polled, waits) = (Arc::<AtomicBool>::clone(&begun), Waits(dropped.clone()));
                    drop(late.spawn_async(async move {
                        let _waits = waits;
                        polled.store(true, SeqCst);
                        _ = awaited.await;
                    }));
                    wait_until(|| begun.load(SeqCst));
                    let (computes, over) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::clone(&done));
                    let computing = computes.clone();
                    drop(late.spawn(move || {
                        computing.store(true, SeqCst);
                        while !over.load(SeqCst) {
                            std::hint::spin_loop();
                        }
                    }));
                    wait_until(|| computes.load(SeqCst));
                    assert!(!late.shutdown(ms(1)).is_clean());
                    go.send(()).unwrap();
                    wait_until(|| dropped.load(SeqCst) == 1);
                    assert_eq!(rt.spawn(|| 5).join().unwrap(), 5);
                    done.store(true, SeqCst);
                }
            },
        );
    }
}

/// Ten that are due together; all but the last have wakers that panic.
#[test]
fn timers_whose_wakers_panic() {
    each(&[1, 2], |rt| {
        // More time, until it is enough for all to be polled before it is over.
        for limit in (0..).map(|n| ms(20 << n)) {
            let woken = Arc::new(AtomicUsize::new(0));
            let at = rt.run(time::now) + limit;
            let mut sleeps: Vec<_> = (0..10).map(|_| Box::pin(time::sleep_until_async(at))).collect();
            let all_wait = rt.run(|| {
                sleeps.iter_mut().enumerate().all(|(i, sleep)| {
                    let woken = woken.clone();
                    let waker = wakes(move || {
                        woken.fetch_add(1, SeqCst);
                        if i % 2 == 0 {
                            plan("a waker");
                        }
                    });
                    poll(sleep, &waker).is_pending()
                })
            });
            if all_wait {
                wait_until(|| woken.load(SeqCst) == 10);
                return;
            }
        }
    });
}

#[test]
fn a_token_whose_wakers_panic() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let token = Token::new();
            let child = token.child();
            let called = Arc::new(AtomicUsize::new(0));
            let mut waits: Vec<_> = (0..8).map(|_| Box::pin(token.cancelled())).collect();
            for (i, wait) in waits.iter_mut().enumerate() {
                let called = called.clone();
                let waker = wakes(move || {
                    called.fetch_add(1, SeqCst);
                    if i != 3 {
                        plan("a waker");
                    }
                });
                assert!(poll(wait, &waker).is_pending());
            }
            let says = called.clone();
            drop(token.on_cancel(move || _ = says.fetch_add(100, SeqCst)));
            token.cancel();
            assert!(child.is_cancelled());
            wait_until(|| called.load(SeqCst) == 108);
        });
    });
}

#[test]
fn a_local_handle_whose_waker_panics() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            task::local_scope(|s| {
                let mut h = s.spawn(|| 7);
                assert!(poll(&mut h, &panics()).is_pending());
                drop(s.spawn(|| ()));
                while !h.is_finished() {
                    s.wait(time::sleep_async(ms(1)));
                }
            });
        });
    });
}

#[test]
fn calls_of_other_threads_whose_wakers_panic() {
    each(&[1], |rt| {
        rt.run(|| {
            let mut calls: Vec<_> = (0..4).map(|_| myriad::compute_async(|| std::thread::sleep(ms(2)))).collect();
            calls.iter_mut().for_each(|call| _ = poll(call, &panics()));
            assert_eq!(myriad::compute(|| 5), 5);
        });
    });
}

/// The lock of a list of wakers is not held while one is cloned or dropped.
#[test]
fn wakers_that_look_at_what_keeps_them() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let token = Token::new();
            let kept: Arc<Mutex<Vec<Token>>> = Arc::default();
            let mut wait = Box::pin(token.cancelled());
            for _ in 0..3 {
                let (token, kept) = (token.clone(), kept.clone());
                let waker = drops(move || kept.lock().unwrap().push(token.child()));
                assert!(poll(&mut wait, &waker).is_pending());
            }
            drop(wait);
            assert_eq!(kept.lock().unwrap().len(), 3);
        });
    });
}

/// The waker of a token joins a task that waits in a child of that token: the child was told
/// before. So was a call that the task waits for.
#[test]
fn a_waker_of_a_token_that_waits_for_its_child() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            let (token, called) = (Token::new(), channel::bounded::<()>(1));
            let child = token.child().child();
            let (inside, is_inside) = channel::bounded::<()>(1);
            let task = spawn(move || {
                child.run(|| {
                    inside.send(()).unwrap();
                    time::sleep(ms(3_600_000));
                })
            });
            is_inside.recv().unwrap();
            drop(token.on_cancel(move || called.0.send(()).unwrap()));
            let (task, ended) = (Mutex::new(Some(task)), Arc::new(AtomicBool::new(false)));
            let says = ended.clone();
            let waker = wakes(move || {
                let task = task.lock().unwrap().take().unwrap();
                assert!(task.join().unwrap().is_err());
                says.store(true, SeqCst);
            });
            let mut wait = Box::pin(token.cancelled());
            assert!(poll(&mut wait, &waker).is_pending());
            token.cancel();
            assert!(ended.load(SeqCst));
            called.1.recv().unwrap();
        });
    });
}

/// A child was cancelled before, and its last handle goes with the cancellation of its parent: the
/// destructor of its cause panics, and the others are told all the same.
#[test]
fn a_cause_whose_destructor_panics() {
    #[derive(Debug)]
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            plan("the cause");
        }
    }
    impl std::fmt::Display for Bomb {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("a bomb")
        }
    }
    impl std::error::Error for Bomb {}
    each(&[1, 2], |rt| {
        rt.run(|| {
            let token = Token::new();
            let armed = token.child();
            armed.cancel_with(Bomb);
            let (armed, woken) = (Arc::new(Mutex::new(Some(armed))), Arc::new(AtomicUsize::new(0)));
            let children: Vec<_> = (0..16).map(|_| token.child()).collect();
            let mut waits: Vec<_> = children.iter().map(|child| Box::pin(child.cancelled())).collect();
            for wait in &mut waits {
                let (armed, woken) = (armed.clone(), woken.clone());
                let waker = wakes(move || {
                    woken.fetch_add(1, SeqCst);
                    // (Without the lock: if it is the last handle the cause goes here.)
                    let armed = armed.lock().unwrap().take();
                    drop(armed);
                });
                assert!(poll(wait, &waker).is_pending());
            }
            token.cancel();
            assert_eq!(woken.load(SeqCst), 16);
            assert!(armed.lock().unwrap().is_none());
        });
    });
}
