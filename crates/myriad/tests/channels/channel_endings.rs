//! `try_`, `_timeout`, `_deadline`, `_async`: what each says when it cannot, and that the message
//! comes back.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::time::{Instant, now};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(2);

#[test]
fn full_and_empty() {
    for capacity in [0, 1, 5] {
        let (tx, rx) = bounded(capacity);
        for i in 0..capacity {
            assert_eq!(tx.try_send(i), Ok(()));
        }
        assert!(tx.is_full());
        assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
        assert_eq!(tx.send_timeout(9, SHORT), Err(SendTimeoutError::Timeout(9)));
        assert_eq!(tx.send_timeout(9, Duration::ZERO), Err(SendTimeoutError::Timeout(9)));
        assert_eq!(tx.send_deadline(9, now()), Err(SendTimeoutError::Timeout(9)));
        assert_eq!(tx.send_deadline(9, Instant::from_nanos(0)), Err(SendTimeoutError::Timeout(9)));
        assert_eq!(tx.len(), capacity);
        for i in 0..capacity {
            assert_eq!(rx.try_recv(), Ok(i));
        }
        assert!(rx.is_empty());
        assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(rx.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
        assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        assert_eq!(rx.recv_deadline(now()), Err(RecvTimeoutError::Timeout));
        assert_eq!(rx.recv_deadline(Instant::from_nanos(0)), Err(RecvTimeoutError::Timeout));
        // Nothing of all that is left in the channel.
        if capacity > 0 {
            assert_eq!(tx.try_send(7), Ok(()));
            assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(7), Err(TryRecvError::Empty)));
        }
    }
}

/// What can be done at once is done, however late it is.
#[test]
fn a_deadline_that_has_passed_takes_what_is_there() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            assert_eq!(tx.send_deadline(1, Instant::from_nanos(0)), Ok(()));
            assert_eq!(rx.recv_deadline(Instant::from_nanos(0)), Ok(1));
            assert_eq!(tx.send_timeout(2, Duration::ZERO), Ok(()));
            assert_eq!(rx.recv_timeout(Duration::ZERO), Ok(2));
            assert_eq!(tx.send_deadline(3, Instant::NEVER), Ok(()));
            assert_eq!(rx.recv_deadline(Instant::NEVER), Ok(3));
            assert_eq!(tx.send_timeout(4, Duration::MAX), Ok(()));
            assert_eq!(rx.recv_timeout(Duration::MAX), Ok(4));
            assert_eq!(rx.recv_deadline(Instant::from_nanos(0)), Err(RecvTimeoutError::Timeout));
            assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
        });
    });
}

/// A rendezvous is tried with success only while somebody waits.
#[test]
fn try_at_a_rendezvous() {
    let (tx, rx) = rendezvous();
    {
        let mut receiving = pin!(rx.recv_async());
        assert!(poll_once(receiving.as_mut()).is_pending());
        assert!(tx.is_full() && tx.is_empty());
        assert_eq!(tx.try_send(1), Ok(()));
        assert_eq!(tx.try_send(2), Err(TrySendError::Full(2)));
        assert_eq!(ready(poll_once(receiving)), 1);
    }
    let mut sending = pin!(tx.send_async(3));
    assert!(poll_once(sending.as_mut()).is_pending());
    assert_eq!(rx.len(), 0);
    assert_eq!(rx.try_recv(), Ok(3));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert!(poll_once(sending).is_ready());
}

#[test]
fn try_meets_every_kind_of_partner() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (tx, rx) = rendezvous::<u32>();
            let receiving = receive_all(rt, kind, rx);
            for i in 0..50 {
                wait_until(|| tx.try_send(i).is_ok());
            }
            drop(tx);
            assert!(receiving.join().into_iter().eq(0..50), "{kind:?}");

            let (tx, rx) = rendezvous::<u32>();
            let sending = send_all(rt, kind, tx, 0..50);
            for i in 0..50 {
                let mut got = None;
                wait_until(|| {
                    got = rx.try_recv().ok();
                    got.is_some()
                });
                assert_eq!(got, Some(i), "{kind:?}");
            }
            sending.join();
            assert_eq!(rx.recv(), Err(RecvError));
        }
    });
}

#[test]
fn errors_say_why() {
    let full = TrySendError::Full(1);
    assert!(full.is_full() && !full.is_closed());
    assert_eq!((full.to_string(), full.into_inner()), ("the channel is full".into(), 1));
    let closed = TrySendError::Closed(2);
    assert!(closed.is_closed() && !closed.is_full());
    assert_eq!(closed.to_string(), SendError(2).to_string());
    let timeout = SendTimeoutError::Timeout(3);
    assert!(timeout.is_timeout() && !timeout.is_closed());
    assert_eq!((timeout.to_string(), timeout.into_inner()), ("the time for a send has passed".into(), 3));
    assert!(SendTimeoutError::Closed(4).is_closed());
    assert_eq!(SendError(5).into_inner(), 5);
    assert_ne!(TryRecvError::Empty.to_string(), TryRecvError::Closed.to_string());
    assert_eq!(RecvTimeoutError::Closed.to_string(), RecvError.to_string());
    // Debug and Error need nothing of the message.
    struct Plain;
    let error: Box<dyn std::error::Error> = Box::new(SendError(Plain));
    assert_eq!(format!("{error:?}"), format!("SendError({error})"));
}

#[test]
fn a_timeout_is_never_early() {
    each_runtime(|rt| {
        let check = || {
            let (tx, rx) = bounded(1);
            tx.send(0).unwrap();
            let (_tx, empty) = rendezvous::<u8>();
            for nanos in [1, 1_000, 100_000, 3_000_000] {
                let time = Duration::from_nanos(nanos);
                let start = now();
                assert_eq!(tx.send_timeout(1, time), Err(SendTimeoutError::Timeout(1)));
                assert!(now() - start >= time);
                let start = now();
                assert_eq!(empty.recv_timeout(time), Err(RecvTimeoutError::Timeout));
                assert!(now() - start >= time);
            }
            assert_eq!(rx.try_iter().collect::<Vec<_>>(), [0]);
        };
        rt.run(check);
        check();
    });
}

/// Time limits by a clock that only the test moves.
#[test]
fn a_day_passes() {
    for workers in [1, 2] {
        for mode in modes() {
            let rt = mode.builder().workers(workers).pin_workers(false).manual_clock().build().unwrap();
            let (tx, rx) = rendezvous::<u32>();
            let day = Duration::from_secs(24 * 3600);
            let (rx2, begun) = (rx.clone(), Arc::new(AtomicUsize::new(0)));
            let (b1, b2) = (begun.clone(), begun.clone());
            let receiver = rt.spawn(move || {
                let start = now();
                b1.fetch_add(1, SeqCst);
                (rx2.recv_timeout(day), now() - start)
            });
            let (tx2, rx3) = rendezvous::<u32>();
            let sender = rt.spawn(move || {
                let start = now();
                b2.fetch_add(1, SeqCst);
                (tx2.send_timeout(7, 2 * day), now() - start)
            });
            // Not yet: they may not have begun to wait; but then they wait so much longer.
            wait_until(|| begun.load(SeqCst) == 2);
            rt.advance(day / 2);
            wait_until(|| {
                rt.advance(Duration::from_secs(60));
                receiver.is_finished()
            });
            assert!(!sender.is_finished());
            let (result, waited) = receiver.join().unwrap();
            assert_eq!(result, Err(RecvTimeoutError::Timeout));
            assert!(waited >= day, "{waited:?}");
            wait_until(|| {
                rt.advance(Duration::from_secs(600));
                sender.is_finished()
            });
            let (result, waited) = sender.join().unwrap();
            assert_eq!(result, Err(SendTimeoutError::Timeout(7)));
            assert!(waited >= 2 * day, "{waited:?}");
            assert_eq!(rx3.recv(), Err(RecvError));
            drop((tx, rx));
        }
    }
}

/// A wait whose time is over is skipped, and the next in line gets the message.
#[test]
fn who_has_gone_is_skipped() {
    each_runtime(|rt| {
        let (tx, rx) = rendezvous::<u32>();
        for round in 0..20 {
            let gone = Arc::new(AtomicBool::new(false));
            let early = {
                let (rx, gone) = (rx.clone(), gone.clone());
                rt.spawn(move || {
                    assert_eq!(rx.recv_timeout(Duration::from_micros(50)), Err(RecvTimeoutError::Timeout));
                    gone.store(true, SeqCst);
                })
            };
            wait_until(|| gone.load(SeqCst));
            early.join().unwrap();
            let rx = rx.clone();
            let late = rt.spawn(move || rx.recv_timeout(Duration::from_secs(100)));
            assert_eq!(tx.send_timeout(round, Duration::from_secs(100)), Ok(()));
            assert_eq!(late.join().unwrap(), Ok(round));
        }
    });
}

/// Without a stack to wait with, an operation panics only if it must wait.
#[test]
fn without_a_stack() {
    for mode in modes() {
        let rt = mode.builder().workers(1).pin_workers(false).max_stacks(2).build().unwrap();
        let (release, blocked) = rendezvous::<()>();
        let holder = rt.spawn(move || blocked.recv());
        let (tx, rx) = bounded(1);
        let begun = Arc::new(AtomicBool::new(false));
        let mark = begun.clone();
        // Runs on the second stack, while the first is blocked.
        let user = rt.spawn(move || {
            mark.store(true, SeqCst);
            let long = Duration::from_secs(1000);
            tx.send(1).unwrap();
            assert_eq!(rx.recv(), Ok(1));
            assert_eq!(tx.send_timeout(2, long), Ok(()));
            assert_eq!(tx.try_send(3), Err(TrySendError::Full(3)));
            assert_eq!(rx.recv_timeout(long), Ok(2));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            let (nobody, _keep) = rendezvous();
            let must_wait: [&dyn Fn(); 4] =
                [&|| _ = rx.recv(), &|| _ = rx.recv_timeout(long), &|| _ = nobody.send(1), &|| {
                    _ = nobody.send_timeout(1, long)
                }];
            for operation in must_wait {
                let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(operation)).unwrap_err();
                let message = panic.downcast_ref::<String>().unwrap();
                assert!(message.contains("no stack for another blocked task"), "{message}");
            }
            tx.send(4).unwrap();
        });
        wait_until(|| begun.load(SeqCst));
        user.join().unwrap();
        release.send(()).unwrap();
        holder.join().unwrap().unwrap();
    }
}
