//! Waits that lose something elsewhere: a cancelled receive its message, a dropped handle its task,
//! a task its thread.

use crate::common::{Drops, MODES, case, in_both_modes, wait_until};
use myriad::channel::{Receiver, bounded, rendezvous, unbounded};
use myriad::{spawn, spawn_async};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::Poll;
use std::thread;

/// A race of a receive against a yield, written by hand: the loser is dropped. `None`: the yield
/// has won.
async fn recv_or_yield<T>(rx: &Receiver<T>) -> Option<Result<T, myriad::channel::RecvError>> {
    let mut recv = pin!(rx.recv_async());
    let mut polled = false;
    poll_fn(|cx| {
        if let Poll::Ready(result) = recv.as_mut().poll(cx) {
            return Poll::Ready(Some(result));
        }
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(None);
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Elsewhere nine of ten messages are lost in this loop: each was handed to a receive that had just
/// been given up.
#[test]
fn a_cancelled_receive_loses_no_message() {
    const N: u64 = 20_000;
    in_both_modes(|rt| {
        for capacity in [0, 1, 100] {
            let (got, cancelled) = rt.run(|| {
                let (tx, rx) = bounded(capacity);
                let sender = spawn_async(async move {
                    for i in 0..N {
                        tx.send_async(i).await.unwrap();
                    }
                });
                let receiver = spawn_async(async move {
                    let (mut got, mut cancelled) = (0, 0u64);
                    loop {
                        match recv_or_yield(&rx).await {
                            None => cancelled += 1,
                            Some(Ok(i)) => {
                                assert_eq!(i, got, "messages come in order");
                                got += 1;
                            }
                            Some(Err(_)) => return (got, cancelled),
                        }
                    }
                });
                sender.join().unwrap();
                receiver.join().unwrap()
            });
            assert_eq!(got, N, "{cancelled} receives were cancelled");
        }
    });
}

/// The same with senders and other receivers that block, and with time limits instead of dropped
/// futures.
#[test]
fn a_receive_that_timed_out_loses_no_message() {
    in_both_modes(|rt| {
        let got = rt.run(|| {
            let (tx, rx) = rendezvous();
            let senders: Vec<_> = (0..4)
                .map(|_| {
                    let tx = tx.clone();
                    spawn(move || {
                        for i in 0..250usize {
                            tx.send(i).unwrap();
                            if i % 16 == 0 {
                                myriad::time::sleep(std::time::Duration::from_micros(50));
                            }
                        }
                    })
                })
                .collect();
            drop(tx);
            let receivers: Vec<_> = (0..3)
                .map(|k| {
                    let rx = rx.clone();
                    spawn(move || {
                        let mut got = 0;
                        loop {
                            match rx.recv_timeout(std::time::Duration::from_micros(k * 20)) {
                                Ok(_) => got += 1,
                                Err(myriad::channel::RecvTimeoutError::Timeout) => myriad::yield_now(),
                                Err(myriad::channel::RecvTimeoutError::Closed) => return got,
                            }
                        }
                    })
                })
                .collect();
            senders.into_iter().for_each(|h| h.join().unwrap());
            receivers.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
        });
        assert_eq!(got, 1000);
    });
}

/// Elsewhere a dropped handle cancels its task silently. Here the task runs to its end, also one
/// that waits.
#[test]
fn a_dropped_handle_cancels_nothing() {
    in_both_modes(|rt| {
        let (ended, drops) = (Arc::new(AtomicUsize::new(0)), Drops::new());
        let (tx, rx) = unbounded::<()>();
        for i in 0..100 {
            let (rx, ended, token) = (rx.clone(), ended.clone(), drops.one());
            let count = move || {
                drop(token);
                ended.fetch_add(1, SeqCst);
            };
            match i % 4 {
                0 => drop(rt.spawn(move || {
                    rx.recv().unwrap();
                    count();
                })),
                1 => rt.run(|| {
                    drop(spawn_async(async move {
                        rx.recv_async().await.unwrap();
                        count();
                    }))
                }),
                2 => rt.run(|| {
                    let h = spawn(move || {
                        rx.recv().unwrap();
                        count();
                    });
                    (0..70).for_each(|_| myriad::yield_now());
                    // Waits by now, most often.
                    drop(h);
                }),
                _ => {
                    tx.send(()).unwrap();
                    rt.run(|| drop(spawn_async(async move { _ = (rx.recv_async().await, count()) })));
                }
            }
        }
        assert_eq!(drops.made(), 100);
        (0..75).for_each(|_| tx.send(()).unwrap());
        wait_until(|| ended.load(SeqCst) == 100);
        drops.assert_all(100);
    });
}

// -------------------------------------------------------------------------------------------------------
// one thread for a task

thread_local! {
    static SHARED: Rc<Cell<u64>> = Rc::new(Cell::new(0));
    static BORROWED: RefCell<u64> = const { RefCell::new(0) };
}

/// Reference counts without atomics, on the stacks of tasks that wait: elsewhere, where tasks move,
/// they are corrupted from safe code, within a second. Here a closure that has blocked goes on on
/// its thread.
#[test]
fn values_that_are_not_send_live_over_a_wait() {
    in_both_modes(|rt| {
        rt.run(|| {
            let handles: Vec<_> = (0..64)
                .map(|_| {
                    spawn(|| {
                        for i in 0..200 {
                            let mine = SHARED.with(Rc::clone);
                            let before = Rc::strong_count(&mine);
                            if i % 16 == 0 {
                                myriad::time::sleep(std::time::Duration::from_micros(1));
                            } else {
                                myriad::yield_now();
                            }
                            mine.set(mine.get() + 1);
                            assert!(before >= 2 && SHARED.with(|now| Rc::ptr_eq(now, &mine)));
                        }
                    })
                })
                .collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}

/// A running function never finds itself on another thread.
#[test]
fn the_thread_stays_the_same() {
    in_both_modes(|rt| {
        rt.run(|| {
            // One message in advance for each of the four that begin with a receive.
            let (tx, rx) = bounded::<()>(8);
            (0..4).for_each(|_| tx.send(()).unwrap());
            let handles: Vec<_> = (0..16)
                .map(|i| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    spawn(move || {
                        let (me, there) = (thread::current().id(), BORROWED.with(|b| (&raw const *b).addr()));
                        for k in 0..300 {
                            match (i + k) % 4 {
                                0 => myriad::yield_now(),
                                1 => tx.send(()).unwrap(),
                                2 => rx.recv().unwrap(),
                                _ => assert_eq!(spawn(move || k).join().unwrap(), k),
                            }
                            assert_eq!(thread::current().id(), me);
                            assert_eq!(BORROWED.with(|b| (&raw const *b).addr()), there);
                        }
                    })
                })
                .collect();
            handles.into_iter().for_each(|h| h.join().unwrap());
        });
    });
}

/// `std`'s thread-locals may be *borrowed* over a wait where the task has the thread for itself; in
/// fiber mode tasks take turns on a thread, and the neighbour finds the cell borrowed. It says so
/// by a panic: no harm is done.
#[test]
fn a_thread_local_borrowed_over_a_wait() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b,
            |rt| {
                let failed = rt.run(|| {
                    let all_have_tried = Arc::new(myriad::sync::Barrier::new(4));
                    let handles: Vec<_> = (0..4)
                        .map(|_| {
                            let all_have_tried = all_have_tried.clone();
                            spawn(move || {
                                BORROWED.with(|cell| {
                                    let borrowed = cell.try_borrow_mut();
                                    all_have_tried.wait();
                                    usize::from(borrowed.is_err())
                                })
                            })
                        })
                        .collect();
                    handles.into_iter().map(|h| h.join().unwrap()).sum::<usize>()
                });
                assert_eq!(failed, if rt.is_fiber_mode() { 3 } else { 0 });
            },
        );
    }
}
