//! Futures as tasks, handles as futures, and waiting for futures from blocking code.

use crate::common::{Drops, Mode, each, in_both_modes, wait_until};
use myriad::channel::{bounded, unbounded};
use myriad::{block_on, spawn, spawn_async};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

/// Pending once, having woken itself.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test]
fn a_future_runs_as_a_task() {
    in_both_modes(|rt| {
        let sum = rt.run(|| {
            let handles: Vec<_> = (0..1000u64)
                .map(|i| {
                    spawn_async(async move {
                        for _ in 0..i % 5 {
                            yield_once().await;
                        }
                        i
                    })
                })
                .collect();
            handles.into_iter().map(|h| h.join().unwrap()).sum::<u64>()
        });
        assert_eq!(sum, 499_500);
    });
}

#[test]
fn futures_wait_for_futures() {
    fn fib(n: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
        Box::pin(async move {
            if n < 2 {
                return n;
            }
            let (a, b) = (spawn_async(fib(n - 1)), spawn_async(fib(n - 2)));
            a.await.unwrap() + b.await.unwrap()
        })
    }
    in_both_modes(|rt| assert_eq!(rt.run(|| spawn_async(fib(15)).join().unwrap()), 610));
}

/// A closure's handle is awaited by a future, and a future's handle joined by a closure.
#[test]
fn closures_and_futures_wait_for_each_other() {
    in_both_modes(|rt| {
        let n = rt.run(|| {
            let inner = spawn(|| {
                myriad::yield_now();
                1
            });
            let middle = spawn_async(async { inner.await.unwrap() + 10 });
            let outer = spawn(|| middle.join().unwrap() + 100);
            block_on(outer).unwrap()
        });
        assert_eq!(n, 111);
    });
}

#[test]
fn handles_are_awaited_on_foreign_threads() {
    in_both_modes(|rt| {
        let handles: Vec<_> = (0..200).map(|i| rt.spawn(move || i)).collect();
        let sum = block_on(async move {
            let mut sum = 0;
            for h in handles {
                sum += h.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 19_900);
    });
}

#[test]
fn block_on_in_a_task_in_a_poll_and_in_itself() {
    in_both_modes(|rt| {
        let n = rt.run(|| {
            let h = spawn_async(async {
                // In a poll, which blocks its stack.
                let (tx, rx) = bounded(1);
                let sender = spawn(move || tx.send(5).unwrap());
                let five = block_on(async { block_on(rx.recv_async()).unwrap() });
                sender.await.unwrap();
                yield_once().await;
                five
            });
            block_on(h).unwrap()
        });
        assert_eq!(n, 5);
    });
}

#[test]
fn block_on_a_ready_future_and_one_that_wakes_itself() {
    in_both_modes(|rt| {
        rt.run(|| {
            assert_eq!(block_on(async { 1 }), 1);
            for _ in 0..1000 {
                block_on(yield_once());
            }
        });
        assert_eq!(block_on(async { 2 }), 2);
    });
}

/// The waker is called by threads that have nothing to do with us, often and late.
#[test]
fn wakers_are_called_from_anywhere() {
    in_both_modes(|rt| {
        let n = rt.run(|| {
            let handles: Vec<_> = (0..40)
                .map(|i| {
                    spawn_async(async move {
                        let mut left = 20;
                        poll_fn(move |cx| {
                            if left == 0 {
                                return Poll::Ready(i);
                            }
                            left -= 1;
                            let waker = cx.waker().clone();
                            match left % 3 {
                                0 => drop(spawn(move || waker.wake())),
                                1 => waker.wake(),
                                _ => {
                                    let again = waker.clone();
                                    drop(std::thread::spawn(move || {
                                        again.wake_by_ref();
                                        again.wake_by_ref();
                                        drop(waker);
                                    }));
                                }
                            }
                            Poll::Pending
                        })
                        .await
                    })
                })
                .collect();
            handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
        });
        assert_eq!(n, 780);
    });
}

/// Wakers that outlive their tasks wake nobody, whatever the memory is used for by then.
#[test]
fn stale_wakers_do_nothing() {
    in_both_modes(|rt| {
        let stale = Arc::new(Mutex::new(Vec::<Waker>::new()));
        rt.run(|| {
            for round in 0..50 {
                let handles: Vec<_> = (0..20)
                    .map(|i| {
                        let stale = stale.clone();
                        let mut polls = 0;
                        spawn_async(poll_fn(move |cx| {
                            polls += 1;
                            stale.lock().unwrap().push(cx.waker().clone());
                            if polls == 1 {
                                cx.waker().wake_by_ref();
                                return Poll::Pending;
                            }
                            assert_eq!(polls, 2, "polled after it was ready");
                            Poll::Ready(i)
                        }))
                    })
                    .collect();
                for (i, h) in handles.into_iter().enumerate() {
                    assert_eq!(h.join().unwrap(), i);
                }
                if round % 5 == 0 {
                    stale.lock().unwrap().drain(..).for_each(Waker::wake);
                }
            }
        });
        let wakers: Vec<_> = std::mem::take(&mut *stale.lock().unwrap());
        wakers.into_iter().for_each(Waker::wake);
    });
}

/// Polls happen one at a time, and each wake is followed by a poll, whoever wakes.
#[test]
fn many_wakes_at_once_lose_none() {
    each(&[2, 4], |rt| {
        struct Shared {
            waker: Mutex<Option<Waker>>,
            posted: AtomicUsize,
            inside: AtomicUsize,
        }
        let shared =
            Arc::new(Shared { waker: Mutex::new(None), posted: AtomicUsize::new(0), inside: AtomicUsize::new(0) });
        let future = {
            let shared = shared.clone();
            poll_fn(move |cx| {
                assert_eq!(shared.inside.fetch_add(1, SeqCst), 0, "two polls at once");
                *shared.waker.lock().unwrap() = Some(cx.waker().clone());
                let done = shared.posted.load(SeqCst) == 4000;
                shared.inside.fetch_sub(1, SeqCst);
                if done { Poll::Ready(()) } else { Poll::Pending }
            })
        };
        rt.run(|| {
            let waits = spawn_async(future);
            let wakers: Vec<_> = (0..4)
                .map(|_| {
                    let shared = shared.clone();
                    spawn(move || {
                        for _ in 0..1000 {
                            shared.posted.fetch_add(1, SeqCst);
                            let waker = shared.waker.lock().unwrap().clone();
                            if let Some(waker) = waker {
                                waker.wake();
                            }
                        }
                    })
                })
                .collect();
            wakers.into_iter().for_each(|h| h.join().unwrap());
            waits.join().unwrap();
        });
    });
}

/// A handle is polled by one waker, then by another: the last one is woken.
#[test]
fn the_last_waker_counts() {
    struct Count(AtomicUsize);
    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    in_both_modes(|rt| {
        let (go_tx, go_rx) = bounded::<()>(1);
        let mut h = rt.spawn(move || go_rx.recv());
        let counts: Vec<_> = (0..3).map(|_| Arc::new(Count(AtomicUsize::new(0)))).collect();
        for count in &counts {
            let waker = Waker::from(count.clone());
            assert!(Pin::new(&mut h).poll(&mut Context::from_waker(&waker)).is_pending());
        }
        go_tx.send(()).unwrap();
        wait_until(|| counts[2].0.load(SeqCst) == 1);
        assert_eq!([counts[0].0.load(SeqCst), counts[1].0.load(SeqCst)], [0, 0]);
        assert_eq!(Arc::strong_count(&counts[0]), 1, "a waker that was replaced is dropped");
        assert_eq!(h.join().unwrap(), Ok(()));
        // Polled, and then dropped: the waker goes, and the task runs on.
        let (go_tx, go_rx) = bounded::<()>(1);
        let (done_tx, done_rx) = bounded(1);
        let mut h = rt.spawn(move || done_tx.send(go_rx.recv()).unwrap());
        let waker = Waker::from(counts[0].clone());
        assert!(Pin::new(&mut h).poll(&mut Context::from_waker(&waker)).is_pending());
        drop((h, waker));
        assert_eq!(Arc::strong_count(&counts[0]), 1);
        go_tx.send(()).unwrap();
        assert_eq!(done_rx.recv(), Ok(Ok(())));
        assert_eq!(counts[0].0.load(SeqCst), 0);
        // Polled, and then joined.
        let (go_tx, go_rx) = bounded::<()>(1);
        let mut h = rt.spawn(move || go_rx.recv());
        let waker = Waker::from(counts[0].clone());
        assert!(Pin::new(&mut h).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        rt.spawn(move || go_tx.send(()).unwrap());
        assert_eq!(h.join().unwrap(), Ok(()));
        assert_eq!(Arc::strong_count(&counts[0]), 1);
    });
}

/// Futures of all sizes and alignments; each is dropped once: ready, or with its handle gone.
#[test]
fn what_futures_hold_is_dropped_once() {
    #[repr(align(64))]
    struct Line(#[expect(dead_code)] u8);
    in_both_modes(|rt| {
        let (held, given) = (Drops::new(), Drops::new());
        rt.run(|| {
            for i in 0..200 {
                let (token, result) = (held.one(), given.clone());
                let future = async move {
                    let _token = token;
                    yield_once().await;
                    result.one()
                };
                match i % 4 {
                    0 => drop(spawn_async(future).join().unwrap()),
                    1 => drop(spawn_async(future)),
                    2 => {
                        let big = [0u8; 1000];
                        drop(
                            spawn_async(async move {
                                let counted = future.await;
                                (counted, big)
                            })
                            .join()
                            .unwrap(),
                        );
                    }
                    _ => drop(spawn_async(async move {
                        let line = Line(0);
                        assert_eq!((&raw const line).addr() % 64, 0);
                        let counted = future.await;
                        let _ = line;
                        counted
                    })),
                }
            }
        });
        held.wait_all(200);
        given.wait_all(200);
    });
}

/// The future goes as soon as it is ready, before its result is joined.
#[test]
fn a_ready_future_is_dropped_at_once() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let token = drops.one();
            let mut held = Some(token);
            let h = spawn_async(poll_fn(move |_| {
                let _still_there = &mut held;
                Poll::Ready(1)
            }));
            wait_until(|| h.is_finished());
            drops.assert_all(1);
            assert_eq!(h.join().unwrap(), 1);
        });
    });
}

/// A future may block like a closure, in the middle of a poll, and moves on afterwards.
#[test]
fn a_poll_that_blocks() {
    in_both_modes(|rt| {
        let n: u64 = rt.run(|| {
            let (tx, rx) = bounded(1);
            let handles: Vec<_> = (0..20)
                .map(|_| {
                    let rx = rx.clone();
                    spawn_async(async move {
                        let a: u64 = rx.recv().unwrap();
                        yield_once().await;
                        let b = rx.recv_async().await.unwrap();
                        a + b
                    })
                })
                .collect();
            (0..40).for_each(|i| tx.send(i).unwrap());
            handles.into_iter().map(|h| h.join().unwrap()).sum()
        });
        assert_eq!(n, 780);
    });
}

#[test]
fn futures_on_the_global_runtime() {
    let _watch = crate::common::watch("global runtime");
    let (tx, rx) = unbounded();
    let h = spawn_async(async move { rx.recv_async().await.unwrap() + 1 });
    tx.send(41).unwrap();
    assert_eq!(block_on(h).unwrap(), 42);
}

/// Into a runtime, from outside, from its own tasks and from another one's.
#[test]
fn into_a_runtime() {
    in_both_modes(|rt| {
        let other = Mode::Fibers.runtime(1);
        let (tx, rx) = bounded(1);
        let outside = rt.spawn_async(async move { rx.recv_async().await.unwrap() + 1 });
        let here = rt.handle();
        let inside = rt.run(|| here.spawn_async(async { std::thread::current().name().unwrap().to_owned() }));
        let beside = other.run(|| here.spawn_async(async { std::thread::current().name().unwrap().to_owned() }));
        assert_eq!(inside.join().unwrap().split('-').next(), beside.join().unwrap().split('-').next());
        tx.send(41).unwrap();
        assert_eq!(outside.join().unwrap(), 42);
    });
}
