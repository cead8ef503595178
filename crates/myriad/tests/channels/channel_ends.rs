//! Ends that are counted, ends that are weak, waiting for the close, and sends that push the oldest
//! message out.

use crate::channel_common::*;
use myriad::channel::*;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::task::Poll;

#[test]
fn ends_are_counted() {
    let (tx, rx) = bounded::<u32>(1);
    let counts = |tx: &Sender<u32>| (tx.sender_count(), tx.receiver_count());
    assert_eq!(counts(&tx), (1, 1));
    let (tx2, rx2) = (tx.clone(), rx.clone());
    assert_eq!((counts(&tx), rx.sender_count(), rx2.receiver_count()), ((2, 2), 2, 2));
    drop(rx2);
    let weak = tx.downgrade();
    assert_eq!((counts(&tx), weak.sender_count(), weak.receiver_count()), ((2, 1), 2, 1));
    drop((rx, tx2));
    assert_eq!(counts(&tx), (1, 0));
    drop(tx);
    assert_eq!((weak.sender_count(), weak.receiver_count()), (0, 0));
}

#[test]
fn is_full_on_both_sides() {
    for capacity in [0, 1, 3] {
        let (tx, rx) = bounded(capacity);
        for n in 0..capacity {
            assert!(!tx.is_full() && !rx.is_full(), "{n} of {capacity}");
            tx.send(n).unwrap();
        }
        assert!(tx.is_full() && rx.is_full());
    }
    let (tx, rx) = unbounded();
    (0..100).for_each(|n| tx.send(n).unwrap());
    assert!(!tx.is_full() && !rx.is_full());
}

/// Weak ends open nothing: the last real end closes, and drops what is buffered.
#[test]
fn weak_ends_keep_nothing_open() {
    let count = Arc::new(Count::default());
    for receiver_first in [true, false] {
        let (tx, rx) = bounded(2);
        let (weak_tx, weak_rx) = (tx.downgrade(), rx.downgrade());
        let (weak_tx2, weak_rx2) = (weak_tx.clone(), weak_rx.clone());
        assert!(tx.send(Counted::new(1, &count)).is_ok());
        // An end that was made of a weak one counts.
        let again = weak_tx.upgrade().unwrap();
        assert!(again.same_channel(&tx));
        if receiver_first {
            drop(rx);
            assert_eq!(count.alive(), 0, "dropped with the last receiver");
            assert!(weak_rx.upgrade().is_none() && tx.is_closed());
            drop(tx);
            assert!(weak_tx.upgrade().is_some());
            drop(again);
        } else {
            drop(tx);
            assert!(!rx.is_closed());
            drop(again);
            assert!(rx.is_closed());
            let rx2 = weak_rx.upgrade().unwrap();
            drop(rx);
            assert_eq!(rx2.recv().unwrap().id, 1);
            drop(rx2);
        }
        assert!(weak_tx.upgrade().is_none() && weak_tx2.upgrade().is_none());
        assert!(weak_rx.upgrade().is_none() && weak_rx2.upgrade().is_none());
        assert_eq!(count.alive(), 0);
    }
}

/// Ends that go and weak ends that become ends, at the same time: whoever has got an end has a
/// channel that its side keeps open.
#[test]
fn upgrades_against_the_last_end() {
    each_runtime(|rt| {
        for round in 0..200 {
            let (tx, rx) = bounded::<u32>(1);
            let weak = tx.downgrade();
            let go = Arc::new(AtomicBool::new(false));
            let go2 = go.clone();
            let upgrades = rt.spawn(move || {
                while !go2.load(SeqCst) {
                    myriad::yield_now();
                }
                let Some(tx) = weak.upgrade() else { return false };
                assert_eq!(tx.send(7), Ok(()), "open: there is a receiver, and this sender");
                true
            });
            go.store(true, SeqCst);
            (0..round % 50).for_each(|_| std::hint::spin_loop());
            drop(tx);
            let upgraded = upgrades.join().unwrap();
            assert_eq!(rx.recv(), if upgraded { Ok(7) } else { Err(RecvError) });
            assert_eq!(rx.recv(), Err(RecvError));
            assert_eq!(rx.sender_count(), 0);
        }
    });
}

#[test]
fn the_close_is_awaited() {
    each_runtime(|rt| {
        for by_drop in [true, false] {
            let (tx, rx) = bounded::<u32>(1);
            tx.send(0).unwrap();
            let (tx1, tx2) = (tx.clone(), tx.clone());
            let kinds: Vec<_> = KINDS
                .into_iter()
                .map(|kind| {
                    let (tx1, tx2) = (tx1.clone(), tx2.clone());
                    start(rt, kind, move || tx1.closed(), async move { tx2.closed_async().await })
                })
                .collect();
            let mut dropped = Box::pin(tx.closed_async());
            assert!(poll_once(dropped.as_mut()).is_pending());
            let (wakes, waker) = Wakes::new();
            let mut pending = pin!(tx.closed_async());
            assert!(poll_once(pending.as_mut()).is_pending());
            assert!(poll_with(pending.as_mut(), &waker).is_pending(), "with another waker");
            drop(dropped);
            // What else happens to the channel is not the close.
            assert_eq!(rx.try_recv(), Ok(0));
            assert_eq!(wakes.count(), 0);
            if by_drop {
                drop(rx)
            } else {
                assert!(rx.close())
            }
            assert_eq!(wakes.count(), 1);
            assert!(poll_once(pending.as_mut()).is_ready());
            kinds.into_iter().for_each(Running::join);
            tx.closed();
            assert_eq!(poll_once(pin!(tx.closed_async())), Poll::Ready(()));
        }
        // A sender of one message.
        let (tx, rx) = oneshot::<u32>();
        let waits = rt.run(|| myriad::spawn_async(async move { tx.closed_async().await }));
        drop(rx);
        waits.join().unwrap();
    });
}

/// Who waits for the close and is cancelled is off the list.
#[test]
fn waiting_for_the_close_is_cancelled() {
    each_runtime(|rt| {
        let (tx, rx) = bounded::<u32>(1);
        let (begun, begun2) = {
            let begun = Arc::new(AtomicBool::new(false));
            (begun.clone(), begun)
        };
        let tx2 = tx.clone();
        let waits = rt.spawn(move || {
            begun2.store(true, SeqCst);
            tx2.closed();
        });
        wait_until(|| begun.load(SeqCst));
        waits.cancel();
        assert!(waits.join().unwrap_err().is_cancelled());
        drop(rx);
        tx.closed();
    });
}

#[test]
fn a_send_by_force() {
    everywhere(|| {
        let (tx, rx) = bounded(2);
        assert_eq!((tx.force_send(1), tx.force_send(2)), (Ok(None), Ok(None)));
        assert_eq!(tx.force_send(3), Ok(Some(1)));
        // Senders that wait stay in line, behind it.
        let mut waits = pin!(tx.send_async(4));
        assert!(poll_once(waits.as_mut()).is_pending());
        assert_eq!(tx.force_send(5), Ok(Some(2)));
        assert_eq!(rx.recv(), Ok(3));
        assert!(poll_once(waits.as_mut()).is_ready());
        assert_eq!(rx.try_iter().collect::<Vec<_>>(), [5, 4]);
        // A receiver that waits gets it.
        let mut receives = pin!(rx.recv_async());
        assert!(poll_once(receives.as_mut()).is_pending());
        assert_eq!(tx.force_send(6), Ok(None));
        assert_eq!(ready(poll_once(receives.as_mut())), 6);
        assert!(tx.is_empty());
        assert!(tx.close());
        assert_eq!(tx.force_send(7), Err(SendError(7)));

        // At a rendezvous nothing is pushed out but itself.
        let (tx, rx) = rendezvous();
        assert_eq!(tx.force_send(1), Ok(Some(1)));
        let mut receives = pin!(rx.recv_async());
        assert!(poll_once(receives.as_mut()).is_pending());
        assert_eq!(tx.force_send(2), Ok(None));
        assert_eq!(ready(poll_once(receives.as_mut())), 2);

        // While somebody looks.
        let (tx, rx) = bounded(1);
        tx.send(1).unwrap();
        let looked = rx.peek_with(|&n| {
            assert_eq!(tx.force_send(2), Ok(None), "the one that is looked at goes, when it is not taken");
            assert_eq!(tx.force_send(3), Ok(Some(2)));
            n
        });
        assert_eq!((looked, rx.try_recv(), rx.try_recv()), (Ok(1), Ok(3), Err(TryRecvError::Empty)));
        let (tx, rx) = rendezvous::<u32>();
        let mut sends = pin!(tx.send_async(1));
        assert!(poll_once(sends.as_mut()).is_pending());
        assert_eq!(rx.peek_with(|_| tx.force_send(2)), Ok(Ok(Some(2))));
        assert_eq!(rx.try_recv(), Ok(1));
    });
}

fn everywhere(body: impl Fn() + Sync) {
    body();
    each_runtime(|rt| rt.run(&body));
}
