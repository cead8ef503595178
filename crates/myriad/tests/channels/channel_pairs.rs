//! Every pairing of sender and receiver: closures that block, futures, foreign threads; every kind
//! of channel.

use crate::channel_common::*;
use myriad::channel::{Receiver, Sender, rendezvous};
use std::sync::Arc;

#[test]
fn one_to_one_in_order() {
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            for sender in KINDS {
                for receiver in KINDS {
                    let (tx, rx) = channel(capacity);
                    let receiving = receive_all(rt, receiver, rx);
                    let sending = send_all(rt, sender, tx, 0..200);
                    sending.join();
                    let expected: Vec<i32> = (0..200).collect();
                    assert_eq!(receiving.join(), expected, "{sender:?} to {receiver:?}, {capacity:?}");
                }
            }
        }
    });
}

/// Both sides block at each message.
#[test]
fn ping_pong() {
    each_runtime(|rt| {
        for near in KINDS {
            for far in KINDS {
                let ((tx, far_rx), (far_tx, rx)) = (rendezvous::<u32>(), rendezvous::<u32>());
                let echo = player(rt, far, far_tx, far_rx, None);
                let begin = player(rt, near, tx, rx, Some(0));
                assert_eq!((begin.join(), echo.join()), (99, 100), "{near:?} with {far:?}");
            }
        }
    });
}

/// Sends back each number plus one, up to 100; ends when the other has gone.
fn player(rt: &myriad::Runtime, kind: Kind, tx: Sender<u32>, rx: Receiver<u32>, first: Option<u32>) -> Running<u32> {
    let (tx2, rx2) = (tx.clone(), rx.clone());
    start(
        rt,
        kind,
        move || {
            let mut last = 0;
            if let Some(first) = first {
                tx.send(first).unwrap();
            }
            while let Ok(n) = rx.recv() {
                last = n;
                if n == 100 || tx.send(n + 1).is_err() {
                    break;
                }
            }
            last
        },
        async move {
            let mut last = 0;
            if let Some(first) = first {
                tx2.send_async(first).await.unwrap();
            }
            while let Ok(n) = rx2.recv_async().await {
                last = n;
                if n == 100 || tx2.send_async(n + 1).await.is_err() {
                    break;
                }
            }
            last
        },
    )
}

/// Three senders and three receivers, one of each kind: each message exactly once, each sender's in
/// order, none left.
#[test]
fn many_to_many_exactly_once() {
    const EACH: usize = 300;
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            let count = Arc::new(Count::default());
            let (tx, rx) = channel(capacity);
            let receiving: Vec<_> = KINDS.iter().map(|&kind| receive_all(rt, kind, rx.clone())).collect();
            drop(rx);
            let sending: Vec<_> = KINDS
                .iter()
                .enumerate()
                .map(|(i, &kind)| {
                    let count = count.clone();
                    let messages = (i * EACH..(i + 1) * EACH).map(move |id| Counted::new(id, &count));
                    send_all(rt, kind, tx.clone(), messages)
                })
                .collect();
            drop(tx);
            sending.into_iter().for_each(Running::join);
            let received: Vec<Vec<Counted>> = receiving.into_iter().map(Running::join).collect();
            for of_one in &received {
                for sender in 0..KINDS.len() {
                    let ids: Vec<_> = of_one.iter().map(|m| m.id).filter(|id| id / EACH == sender).collect();
                    assert!(ids.is_sorted(), "{capacity:?}: out of order: {ids:?}");
                }
            }
            let mut ids: Vec<_> = received.iter().flatten().map(|m| m.id).collect();
            ids.sort_unstable();
            assert!(ids.iter().copied().eq(0..3 * EACH), "{capacity:?}: lost or doubled");
            assert_eq!(count.alive(), 3 * EACH);
            drop(received);
            assert_eq!(count.alive(), 0);
        }
    });
}

/// A pipeline through all kinds, back and forth: each stage both receives and sends.
#[test]
fn pipeline() {
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            let (tx, mut rx) = channel::<u64>(capacity);
            let source = send_all(rt, Kind::Closure, tx, 0..100);
            let mut stages = Vec::new();
            for kind in KINDS.into_iter().chain(KINDS).chain(KINDS) {
                let (tx, next) = channel(capacity);
                let (tx2, rx2) = (tx.clone(), rx.clone());
                let blocking = move || rx.iter().for_each(|n| tx.send(n + 1).unwrap());
                stages.push(start(rt, kind, blocking, async move {
                    while let Ok(n) = rx2.recv_async().await {
                        tx2.send_async(n + 1).await.unwrap();
                    }
                }));
                rx = next;
            }
            let sum: u64 = rx.iter().sum();
            assert_eq!(sum, 100 * 99 / 2 + 100 * 9, "{capacity:?}");
            source.join();
            stages.into_iter().for_each(Running::join);
        }
    });
}
