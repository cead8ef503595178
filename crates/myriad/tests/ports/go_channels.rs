//! Go's channels: `test/chan/*.go` and `runtime/chan_test.go`, written anew from their behaviour
//! (`select`'s part is in `select_semantics.rs`). A nil channel is [`never`], or none.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::sync::Arc;
use myriad::{select, spawn, yield_now};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// `fifo.go`: in order, through a buffer, and through a chain of tasks that hand on one by one.
#[test]
fn fifo() {
    each_runtime(|rt| {
        rt.run(|| {
            const N: usize = 10;
            let (tx, rx) = bounded(N);
            (0..N).for_each(|i| tx.send(i).unwrap());
            assert!((0..N).all(|i| rx.recv() == Ok(i)));
            // Each task waits for the one before it, then takes: so they must be served in order.
            let (tx, rx) = rendezvous();
            let (first, mut before) = rendezvous::<()>();
            let mut tasks = Vec::new();
            for i in 0..N {
                let (out, next) = rendezvous();
                let (rx, mine) = (rx.clone(), before);
                tasks.push(spawn(move || {
                    mine.recv().unwrap();
                    assert_eq!(rx.recv(), Ok(i));
                    out.send(()).unwrap();
                }));
                before = next;
            }
            first.send(()).unwrap();
            (0..N).for_each(|i| tx.send(i).unwrap());
            before.recv().unwrap();
            tasks.into_iter().for_each(|task| task.join().unwrap());
        });
    });
}

/// `goroutines.go`: a value goes through a chain of a thousand tasks, or of ten thousand futures.
#[test]
fn a_long_chain() {
    each_runtime(|rt| {
        rt.run(|| {
            for futures in [false, true] {
                let n = if futures { 10_000 } else { 300 };
                let (leftmost, mut left) = rendezvous();
                for _ in 0..n {
                    let (out, right) = rendezvous();
                    let from = left;
                    if futures {
                        myriad::spawn_async(async move {
                            out.send_async(from.recv_async().await.unwrap() + 1).await.unwrap()
                        });
                    } else {
                        spawn(move || out.send(from.recv().unwrap() + 1).unwrap());
                    }
                    left = right;
                }
                leftmost.send(0).unwrap();
                assert_eq!(left.recv(), Ok(n));
            }
        });
    });
}

/// `sieve1.go`.
#[test]
fn a_prime_sieve() {
    each_runtime(|rt| {
        let primes = rt.run(|| {
            let (tx, mut numbers) = rendezvous::<u32>();
            spawn(move || (2..).try_for_each(|n| tx.send(n)));
            (0..50)
                .map(|_| {
                    let prime = numbers.recv().unwrap();
                    let (tx, rest) = rendezvous();
                    let from = std::mem::replace(&mut numbers, rest);
                    spawn(move || from.iter().filter(|n| n % prime != 0).try_for_each(|n| tx.send(n)));
                    prime
                })
                .collect::<Vec<_>>()
        });
        assert_eq!((primes[0], primes[1], primes[49]), (2, 3, 229));
    });
}

type Receives = fn(&Receiver<usize>) -> Option<usize>;
type Sends = fn(&Sender<usize>) -> usize;

/// `closedchan.go`: every way to receive from, and to send on, a channel that was closed, with and
/// without something in it.
#[test]
fn a_closed_channel() {
    each_runtime(|rt| {
        rt.run(|| {
            for capacity in [0, 1, 2] {
                for in_it in 0..=capacity {
                    let (tx, rx) = bounded(capacity);
                    (0..in_it).for_each(|i| tx.send(i).unwrap());
                    assert!(tx.close());
                    let ways: [Receives; 6] = [
                        |rx| rx.recv().ok(),
                        |rx| match rx.try_recv() {
                            Err(TryRecvError::Empty) => panic!("it would wait"),
                            got => got.ok(),
                        },
                        |rx| rx.recv_timeout(Duration::from_secs(60)).ok(),
                        |rx| select! { n = rx.recv() => n.ok() },
                        |rx| select! { n = rx.recv() => n.ok(), default => panic!("a closed channel is ready") },
                        |rx| myriad::block_on(rx.recv_async()).ok(),
                    ];
                    for (i, way) in ways.iter().cycle().take(12).enumerate() {
                        assert_eq!(way(&rx), (i < in_it).then_some(i), "{i}");
                    }
                    let ways: [Sends; 6] = [
                        |tx| tx.send(7).unwrap_err().into_inner(),
                        |tx| tx.try_send(7).map_err(|error| assert!(error.is_closed())).map_or(7, |()| 0),
                        |tx| tx.send_timeout(7, Duration::from_secs(60)).unwrap_err().into_inner(),
                        |tx| select! { r = tx.send(7) => r.unwrap_err().into_inner() },
                        |tx| select! { r = tx.send(7) => r.unwrap_err().into_inner(), default => 0 },
                        |tx| myriad::block_on(tx.send_async(7)).unwrap_err().into_inner(),
                    ];
                    assert!(ways.iter().all(|way| way(&tx) == 7));
                    assert!(!tx.close() && !rx.close(), "closed once");
                }
            }
        });
    });
}

/// `TestChan`: an empty one makes receivers wait, a full one senders, and neither waits in vain.
#[test]
fn what_waits() {
    each_runtime(|rt| {
        for capacity in 0..6 {
            let (tx, rx) = bounded::<usize>(capacity);
            let received = Arc::new(AtomicUsize::new(0));
            let receivers: Vec<_> = (0..2)
                .map(|_| {
                    let (rx, received) = (rx.clone(), received.clone());
                    rt.spawn(move || {
                        let n = rx.recv().unwrap();
                        received.fetch_add(1, SeqCst);
                        n
                    })
                })
                .collect();
            // A rendezvous or not: with a receiver in line a send goes at once.
            wait_until(|| tx.is_ready());
            assert_eq!(received.load(SeqCst), 0);
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
            rt.run({
                let tx = tx.clone();
                move || [1, 2].into_iter().for_each(|n| tx.send(n).unwrap())
            });
            assert_eq!(receivers.into_iter().map(|task| task.join().unwrap()).sum::<usize>(), 3);
            (0..capacity).for_each(|n| tx.try_send(n).unwrap());
            let sent = Arc::new(AtomicUsize::new(0));
            let sender = rt.spawn({
                let (tx, sent) = (tx.clone(), sent.clone());
                move || {
                    tx.send(100).unwrap();
                    sent.fetch_add(1, SeqCst);
                }
            });
            wait_until(|| rx.is_ready());
            assert_eq!((tx.len(), tx.try_send(7).is_err(), sent.load(SeqCst)), (capacity, true, 0));
            assert_eq!(rx.iter().take(capacity + 1).last(), Some(100));
            sender.join().unwrap();
        }
    });
}

/// G4: messages go straight to who waits, so whoever comes later does not get in before: neither at
/// an empty channel nor at a full one.
#[test]
fn nobody_barges_in() {
    for capacity in [0, 1, 3] {
        let (tx, rx) = bounded(capacity);
        let mut line: Vec<_> = (1..=3).map(|_| Box::pin(rx.recv_async())).collect();
        assert!(line.iter_mut().all(|receive| poll_once(receive.as_mut()).is_pending()));
        for n in 1..=3 {
            tx.try_send(n).unwrap();
            assert_eq!((rx.try_recv(), rx.len()), (Err(TryRecvError::Empty), 0), "capacity {capacity}");
        }
        assert!(line.iter_mut().map(|receive| ready(poll_once(receive.as_mut()))).eq(1..=3));
        // Full, with a sender in line: who takes makes no room for another.
        (0..capacity).for_each(|n| tx.try_send(n).unwrap());
        let mut waiting = Box::pin(tx.send_async(100));
        assert!(poll_once(waiting.as_mut()).is_pending());
        assert_eq!(rx.try_recv(), Ok(if capacity == 0 { 100 } else { 0 }));
        assert!(tx.try_send(7).is_err(), "capacity {capacity}");
        assert!(poll_once(waiting.as_mut()).is_ready());
    }
    // Those who block are in the same line.
    each_runtime(|rt| {
        for kind in KINDS {
            let (tx, rx) = rendezvous();
            let (a, b) = (rx.clone(), rx.clone());
            let first = start(rt, kind, move || a.recv(), async move { b.recv_async().await });
            wait_until(|| tx.is_ready());
            let mut second = Box::pin(rx.recv_async());
            assert!(poll_once(second.as_mut()).is_pending());
            tx.try_send(1).unwrap();
            assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "{kind:?}");
            tx.try_send(2).unwrap();
            assert_eq!((first.join(), ready(poll_once(second.as_mut()))), (Ok(1), 2), "{kind:?}");
        }
    });
}

/// `TestNonblockRecvRace`: a message that is there, and then the end, are both seen by one that
/// only tries.
#[test]
fn trying_beside_a_close() {
    each_runtime(|rt| {
        rt.run(|| {
            for _ in 0..500 {
                let (tx, rx) = bounded(1);
                tx.send(1).unwrap();
                let trying =
                    spawn(move || select! { n = rx.recv() => n, default => panic!("the channel is not ready") });
                tx.close();
                drop(tx);
                assert_eq!(trying.join().unwrap(), Ok(1));
            }
        });
    });
}

/// `TestNonblockSelectRace`: of two channels one is always ready, and a select with a default never
/// misses that; both become ready in whatever order, by a send or by a close.
#[test]
fn a_default_beside_one_that_is_ready() {
    each_runtime(|rt| {
        rt.run(|| {
            for by_close in [false, true] {
                for _ in 0..500 {
                    let ((tx, rx), (tx2, rx2)) = (bounded::<()>(1), bounded::<()>(1));
                    tx.send(()).unwrap();
                    let (first, _second) = (rx.clone(), rx2.clone());
                    let selecting = spawn(move || select! { _ = rx.recv() => 1, _ = rx2.recv() => 2, default => 0 });
                    // Ready before the other one is emptied, so at each moment one of them is.
                    if by_close {
                        _ = tx2.close()
                    } else {
                        tx2.send(()).unwrap()
                    }
                    _ = first.try_recv();
                    assert_ne!(selecting.join().unwrap(), 0, "closes: {by_close}");
                }
            }
        });
    });
}

/// `TestSelfSelect`: tasks that select between both ends of the same channel never meet themselves.
#[test]
fn a_select_with_both_ends_meets_others() {
    each_runtime(|rt| {
        for capacity in [0, 10] {
            let (tx, rx) = bounded::<usize>(capacity);
            let tasks: Vec<_> = (0..2)
                .map(|me| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    rt.spawn(move || {
                        for round in 0..1_000 {
                            // The one that is ready to end last would wait for nobody: a limit, and
                            // the other one's end is seen.
                            let met = if (me + round) % 2 == 0 {
                                select! { r = tx.send(me) => r.map(|()| 1 - me), n = rx.recv() => n.map_err(|_| SendError(0)) }
                            } else {
                                select! { n = rx.recv() => n.map_err(|_| SendError(0)), r = tx.send(me) => r.map(|()| 1 - me) }
                            };
                            match met {
                                Ok(from) => assert!(capacity > 0 || from != me, "it has met itself"),
                                Err(_) => return,
                            }
                        }
                        tx.close();
                    })
                })
                .collect();
            tasks.into_iter().for_each(|task| task.join().unwrap());
        }
    });
}

/// `TestMultiConsumer`: primes are handed from one to many and back to one; the sum and the number
/// are right.
#[test]
fn many_consumers() {
    each_runtime(|rt| {
        rt.run(|| {
            const N: usize = 3_000;
            let primes = [2, 3, 7, 31, 61, 127, 251];
            for capacity in [0, 7] {
                let (tx, rx) = bounded(capacity);
                let (out, results) = bounded(capacity);
                for i in 0..23 {
                    let (rx, out) = (rx.clone(), out.clone());
                    spawn(move || {
                        for prime in &rx {
                            // Some are slower.
                            if primes[i % 7] == prime {
                                yield_now();
                            }
                            out.send(prime).unwrap();
                        }
                    });
                }
                drop((rx, out));
                let expected: usize = (0..N).map(|i| primes[i % 7]).sum();
                spawn(move || (0..N).for_each(|i| tx.send(primes[i % 7]).unwrap()));
                let (n, sum) = results.iter().fold((0, 0), |(n, sum), prime| (n + 1, sum + prime));
                assert_eq!((n, sum), (N, expected), "capacity {capacity}");
            }
        });
    });
}

/// `TestPseudoRandomSend`: of two sends on one channel each is made sometimes, when there is room,
/// and when a receiver waits. (While the select itself waits, its arms stand in the channel's line
/// in the order in which they are written.)
#[test]
fn both_sends_of_a_select() {
    const ROUNDS: usize = 1_000;
    let buffered = {
        let (tx, rx) = bounded::<bool>(ROUNDS);
        for _ in 0..ROUNDS {
            select! { r = tx.send(false) => r.unwrap(), r = tx.send(true) => r.unwrap() }
        }
        rx.try_iter().filter(|one| *one).count()
    };
    let (tx, rx) = rendezvous::<bool>();
    let met = (0..ROUNDS)
        .filter(|_| {
            let mut receiving = Box::pin(rx.recv_async());
            assert!(poll_once(receiving.as_mut()).is_pending());
            select! { r = tx.send(false) => r.unwrap(), r = tx.send(true) => r.unwrap(), default => panic!("somebody waits") }
            ready(poll_once(receiving.as_mut()))
        })
        .count();
    // Seven standard deviations.
    assert!((390..=610).contains(&buffered) && (390..=610).contains(&met), "{buffered}, {met} of {ROUNDS}");
}

/// `TestSelectStackAdjust` and its like in spirit: what waits in a select stands on a stack that
/// others write to; deep calls around it.
#[test]
fn values_on_stacks_that_wait() {
    fn deep(depth: usize, rx: &Receiver<[usize; 9]>, other: &Receiver<[usize; 9]>) -> usize {
        let padding = [depth; 16];
        if depth > 0 {
            return deep(depth - 1, rx, other) + std::hint::black_box(padding)[3] - depth;
        }
        (0..100).map(|_| select! { n = rx.recv() => n.unwrap()[8], n = other.recv() => n.unwrap()[0] }).sum()
    }
    each_runtime(|rt| {
        rt.run(|| {
            let ((tx, rx), (tx2, rx2)) = (rendezvous(), bounded(1));
            let waiting = spawn(move || deep(30, &rx, &rx2));
            for n in 0..50 {
                tx.send([n; 9]).unwrap();
                tx2.send([n; 9]).unwrap();
            }
            assert_eq!(waiting.join().unwrap(), 2 * 49 * 50 / 2);
        });
    });
}
