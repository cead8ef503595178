//! Futures that are dropped, forgotten, moved, polled again: no message is lost, none comes twice.

#![allow(clippy::async_yields_async)] // a future that was polled is handed on, not awaited

use crate::channel_common::*;
use crate::common::full_length;
use myriad::channel::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(1000);

#[test]
fn a_receive_dropped_before_it_was_handed_a_message() {
    for capacity in CAPACITIES {
        for polls in 0..4 {
            let (tx, rx) = channel(capacity);
            let mut receiving = Box::pin(rx.recv_async());
            for _ in 0..polls {
                assert!(poll_once(receiving.as_mut()).is_pending());
            }
            drop(receiving);
            // It stands in no line any more.
            assert_eq!(tx.try_send(1).is_ok(), capacity != Some(0));
            assert_eq!(rx.try_recv().is_ok(), capacity != Some(0));
        }
    }
}

#[test]
fn a_receive_dropped_with_its_message() {
    for capacity in CAPACITIES {
        for polls in 1..4 {
            let count = Arc::new(Count::default());
            let (tx, rx) = channel(capacity);
            let mut receiving = Box::pin(rx.recv_async());
            let (wakes, waker) = Wakes::new();
            for _ in 0..polls {
                assert!(poll_with(receiving.as_mut(), &waker).is_pending());
            }
            assert!(tx.try_send(Counted::new(1, &count)).is_ok());
            assert_eq!(wakes.count(), 1);
            assert_eq!(rx.len(), 0);
            drop(receiving);
            assert_eq!((rx.len(), count.alive()), (1, 1), "given back");
            assert_eq!(rx.try_recv().unwrap().id, 1);
            assert!(rx.try_recv().is_err());
            assert_eq!(count.alive(), 0);
        }
    }
}

/// The message that is given back comes before those that were sent later, and a full channel stays
/// full.
#[test]
fn given_back_in_its_place() {
    for capacity in CAPACITIES {
        let (tx, rx) = channel(capacity);
        let mut receiving = Box::pin(rx.recv_async());
        assert!(poll_once(receiving.as_mut()).is_pending());
        tx.try_send(0).unwrap();
        let mut n = 1;
        while n < 8 && tx.try_send(n).is_ok() {
            n += 1;
        }
        let mut sending = Box::pin(tx.send_async(n));
        let waits = poll_once(sending.as_mut()).is_pending();
        assert_eq!(waits, capacity.is_some());
        drop(receiving);
        assert_eq!(rx.len(), n as usize + usize::from(!waits));
        assert_eq!(tx.try_send(99).is_ok(), capacity.is_none());
        for i in 0..=n {
            assert_eq!(rx.try_recv(), Ok(i), "{capacity:?}");
        }
        assert!(!waits || poll_once(sending.as_mut()).is_ready());
        assert_eq!(rx.try_recv().is_ok(), capacity.is_none());
    }
}

/// What is given back goes to the next that waits, of whatever kind.
#[test]
fn given_back_to_the_next() {
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            for kind in KINDS {
                for timed in [false, true] {
                    let (tx, rx) = channel(capacity);
                    let mut first = Box::pin(rx.recv_async());
                    assert!(poll_once(first.as_mut()).is_pending());
                    let begun = Arc::new(AtomicUsize::new(0));
                    let (rx1, rx2, b1, b2) = (rx.clone(), rx.clone(), begun.clone(), begun.clone());
                    let blocking = move || {
                        b1.fetch_add(1, SeqCst);
                        if timed { rx1.recv_timeout(LONG).unwrap() } else { rx1.recv().unwrap() }
                    };
                    let second = start(rt, kind, blocking, async move {
                        b2.fetch_add(1, SeqCst);
                        rx2.recv_async().await.unwrap()
                    });
                    wait_until(|| begun.load(SeqCst) == 1);
                    tx.send(7).unwrap();
                    drop(first);
                    assert_eq!(second.join(), 7, "{capacity:?} {kind:?}");
                }
            }
        }
    });
}

/// A chain: each gives it to the next future, in order.
#[test]
fn given_back_along_the_line() {
    let (tx, rx) = rendezvous();
    let mut line: Vec<_> = (0..10).map(|_| (Box::pin(rx.recv_async()), Wakes::new())).collect();
    for (receiving, (_, waker)) in &mut line {
        assert!(poll_with(receiving.as_mut(), waker).is_pending());
    }
    tx.try_send("message").unwrap();
    for i in 0..9 {
        assert_eq!(
            line.iter().map(|(_, (wakes, _))| wakes.count()).collect::<Vec<_>>(),
            [vec![1], vec![0; 9 - i]].concat()
        );
        drop(line.remove(0));
    }
    assert_eq!(ready(poll_once(line[0].0.as_mut())), "message");
}

/// Given back after the close: whoever comes still gets it.
#[test]
fn given_back_to_a_closed_channel() {
    for capacity in CAPACITIES {
        let (tx, rx) = channel(capacity);
        let mut receiving = Box::pin(rx.recv_async());
        assert!(poll_once(receiving.as_mut()).is_pending());
        tx.try_send(1).unwrap();
        assert!(tx.close());
        drop(receiving);
        assert_eq!(rx.recv(), Ok(1));
        assert_eq!(rx.recv(), Err(RecvError));
        // The same, received.
        let (tx, rx) = channel(capacity);
        let mut receiving = Box::pin(rx.recv_async());
        assert!(poll_once(receiving.as_mut()).is_pending());
        tx.try_send(1).unwrap();
        drop(tx);
        assert_eq!(ready(poll_once(receiving.as_mut())), 1);
        assert_eq!(poll_once(receiving.as_mut()), Poll::Ready(Err(RecvError)));
    }
}

#[test]
fn a_send_dropped_before_it_was_taken() {
    for polls in 0..4 {
        for capacity in [0, 1, 5] {
            let count = Arc::new(Count::default());
            let (tx, rx) = bounded(capacity);
            for id in 0..capacity {
                tx.send(Counted::new(id, &count)).unwrap();
            }
            let mut sending = Box::pin(tx.send_async(Counted::new(99, &count)));
            let mut next = Box::pin(tx.send_async(Counted::new(capacity, &count)));
            for _ in 0..polls {
                assert!(poll_once(sending.as_mut()).is_pending());
            }
            assert!(poll_once(next.as_mut()).is_pending());
            drop(sending);
            assert_eq!(count.alive(), capacity + 1);
            let received: Vec<_> = rx.try_iter().map(|m| m.id).collect();
            assert!(received.into_iter().eq(0..=capacity));
            assert!(poll_once(next.as_mut()).is_ready());
            drop(next);
            assert_eq!(count.alive(), 0);
        }
    }
}

#[test]
fn a_send_dropped_after_it_was_taken() {
    for capacity in [0, 1, 5] {
        let count = Arc::new(Count::default());
        let (tx, rx) = bounded(capacity);
        for id in 0..capacity {
            tx.send(Counted::new(id, &count)).unwrap();
        }
        let (wakes, waker) = Wakes::new();
        let mut sending = Box::pin(tx.send_async(Counted::new(capacity, &count)));
        assert!(poll_with(sending.as_mut(), &waker).is_pending());
        assert_eq!(rx.try_recv().unwrap().id, 0);
        assert_eq!(wakes.count(), 1);
        drop(sending);
        // It was sent: what is left is received, this one as well.
        assert!(rx.try_iter().map(|m| m.id).eq(1..capacity + usize::from(capacity > 0)));
        assert_eq!(count.alive(), 0);
    }
}

#[test]
fn a_send_that_is_closed_or_dropped_closed() {
    let count = Arc::new(Count::default());
    let (tx, rx) = rendezvous();
    let mut kept = Box::pin(tx.send_async(Counted::new(0, &count)));
    let mut gone = Box::pin(tx.send_async(Counted::new(1, &count)));
    let fresh = Box::pin(tx.send_async(Counted::new(2, &count)));
    assert!(poll_once(kept.as_mut()).is_pending() && poll_once(gone.as_mut()).is_pending());
    drop(rx);
    drop(gone);
    drop(fresh);
    assert_eq!(count.alive(), 1);
    let Poll::Ready(Err(SendError(message))) = poll_once(kept.as_mut()) else { panic!() };
    assert_eq!(message.id, 0);
    drop(kept);
    drop(message);
    assert_eq!(count.alive(), 0);
}

#[test]
#[should_panic(expected = "polled again")]
fn a_send_that_is_done_cannot_be_polled() {
    let (tx, _rx) = unbounded();
    let mut sending = pin!(tx.send_async(1));
    assert_eq!(poll_once(sending.as_mut()), Poll::Ready(Ok(())));
    _ = poll_once(sending);
}

#[test]
fn a_receive_that_is_done_receives_again() {
    let (tx, rx) = unbounded();
    let mut receiving = pin!(rx.recv_async());
    for i in 0..5 {
        assert!(poll_once(receiving.as_mut()).is_pending());
        tx.send(2 * i).unwrap();
        assert_eq!(ready(poll_once(receiving.as_mut())), 2 * i);
        tx.send(2 * i + 1).unwrap();
        assert_eq!(ready(poll_once(receiving.as_mut())), 2 * i + 1);
    }
    assert!(poll_once(receiving.as_mut()).is_pending());
}

/// Only the last waker is woken, once; none is kept.
#[test]
fn polled_with_another_waker() {
    let (tx, rx) = bounded(1);
    let all: Vec<_> = (0..4).map(|_| Wakes::new()).collect();
    let used = |i: usize| Arc::strong_count(&all[i].0) > 2;
    {
        let mut receiving = pin!(rx.recv_async());
        for (i, (_, waker)) in all.iter().enumerate() {
            for _ in 0..3 {
                assert!(poll_with(receiving.as_mut(), waker).is_pending());
            }
            assert!((0..4).all(|j| used(j) == (i == j)));
        }
        tx.send(1).unwrap();
        assert!((0..4).all(|j| !used(j)), "a waker is kept after the wake");
        assert_eq!(all.iter().map(|(wakes, _)| wakes.count()).collect::<Vec<_>>(), [0, 0, 0, 1]);
        assert_eq!(ready(poll_with(receiving, &all[0].1)), 1);
    }
    tx.send(1).unwrap();
    {
        let mut sending = pin!(tx.send_async(2));
        for (i, (_, waker)) in all.iter().enumerate() {
            for _ in 0..3 {
                assert!(poll_with(sending.as_mut(), waker).is_pending());
            }
            assert!((0..4).all(|j| used(j) == (i == j)));
        }
        assert_eq!(rx.recv(), Ok(1));
        assert!((0..4).all(|j| !used(j)), "a waker is kept after the wake");
        assert_eq!(all.iter().map(|(wakes, _)| wakes.count()).collect::<Vec<_>>(), [0, 0, 0, 2]);
        assert_eq!(poll_once(sending), Poll::Ready(Ok(())));
    }
    // Dropped while it waits.
    let mut receiving = Box::pin(rx.recv_async());
    assert_eq!(ready(poll_with(receiving.as_mut(), &all[0].1)), 2);
    assert!(poll_with(receiving.as_mut(), &all[0].1).is_pending() && used(0));
    drop(receiving);
    assert!(!used(0));
}

/// A future that was polled by one task and goes on in another.
#[test]
fn moved_between_tasks() {
    each_runtime(|rt| {
        let (tx, rx) = rendezvous::<u32>();
        for round in 0..50 {
            let rx = rx.clone();
            let first: Pin<Box<dyn Future<Output = _> + Send>> = Box::pin(async move { rx.recv_async().await });
            // Its waker is that of a task that has ended when the message comes.
            let mut moved = rt
                .run(move || {
                    myriad::spawn_async(async move {
                        let mut first = first;
                        let polled = std::future::poll_fn(|cx| Poll::Ready(first.as_mut().poll(cx).is_pending())).await;
                        assert!(polled);
                        first
                    })
                })
                .join()
                .unwrap();
            if round % 2 == 0 {
                tx.send(round).unwrap();
                let received = rt.run(move || myriad::spawn_async(moved)).join().unwrap();
                assert_eq!(received, Ok(round));
            } else {
                if round % 3 == 0 {
                    assert!(poll_once(moved.as_mut()).is_pending());
                }
                let tx = tx.clone();
                let going_on = rt.run(move || myriad::spawn_async(moved));
                let sending = rt.spawn(move || tx.send(round));
                assert_eq!(going_on.join().unwrap(), Ok(round));
                sending.join().unwrap().unwrap();
            }
        }
    });
}

/// A future in a box that is forgotten while it waits: the others go on, the channel can be freed.
#[test]
fn forgotten() {
    let (tx, rx) = bounded(1);
    let mut before = Box::pin(rx.recv_async());
    let mut forgotten = Box::pin(rx.recv_async());
    let mut after = Box::pin(rx.recv_async());
    for receiving in [&mut before, &mut forgotten, &mut after] {
        assert!(poll_once(receiving.as_mut()).is_pending());
    }
    std::mem::forget(forgotten);
    tx.send(1).unwrap();
    assert_eq!(ready(poll_once(before.as_mut())), 1);
    // This one is handed to it, and with it forgotten.
    tx.send(2).unwrap();
    tx.send(3).unwrap();
    assert_eq!(ready(poll_once(after.as_mut())), 3);
    let mut forgotten = Box::pin(rx.recv_async());
    assert!(poll_once(forgotten.as_mut()).is_pending());
    std::mem::forget(forgotten);
    drop((before, after));
    drop(rx);
    assert_eq!(tx.send(4), Err(SendError(4)));

    let (tx, rx) = rendezvous();
    let mut forgotten = Box::pin(tx.send_async(1));
    assert!(poll_once(forgotten.as_mut()).is_pending());
    std::mem::forget(forgotten);
    assert_eq!(rx.recv(), Ok(1));
    let mut forgotten = Box::pin(tx.send_async(2));
    assert!(poll_once(forgotten.as_mut()).is_pending());
    std::mem::forget(forgotten);
    drop(tx);
    assert_eq!(rx.recv(), Err(RecvError));
}

/// A receive raced with a yield, and given up when it loses, which it does nearly always.
#[test]
fn raced_with_a_yield() {
    let messages = if full_length() { 10_000 } else { 2_000 };
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            for kind in KINDS {
                let (tx, rx) = channel(capacity);
                let sending = send_all(rt, kind, tx, 0..messages);
                let receiving = rt.run(move || {
                    myriad::spawn_async(async move {
                        let mut got = 0;
                        loop {
                            match race(yield_once(), rx.recv_async()).await {
                                None => {}
                                Some(Ok(message)) => {
                                    assert_eq!(message, got);
                                    got += 1;
                                }
                                Some(Err(RecvError)) => return got,
                            }
                        }
                    })
                });
                sending.join();
                assert_eq!(receiving.join().unwrap(), messages, "{capacity:?} {kind:?}");
            }
        }
    });
}

/// Sends raced with a yield, and sent again if they lose: none is lost, and doubled is only what
/// was taken between the last poll and the drop.
#[test]
fn sends_raced_with_a_yield() {
    const MESSAGES: u32 = 5_000;
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            let (tx, rx) = channel(capacity);
            let sending = rt.run(move || {
                myriad::spawn_async(async move {
                    let mut next = 0;
                    while next < MESSAGES {
                        let mut sending = pin!(tx.send_async(next));
                        let mut pause = pin!(yield_once());
                        let sent = std::future::poll_fn(|cx| match sending.as_mut().poll(cx) {
                            Poll::Ready(sent) => Poll::Ready(sent.is_ok()),
                            Poll::Pending => pause.as_mut().poll(cx).map(|()| false),
                        });
                        if sent.await {
                            next += 1;
                        }
                    }
                })
            });
            let mut all = receive_all(rt, Kind::Future, rx).join();
            all.dedup();
            assert!(all.into_iter().eq(0..MESSAGES), "{capacity:?}");
            sending.join().unwrap();
        }
    });
}

/// `None`: the first was ready first. As a biased `select!`.
async fn race<T>(first: impl Future<Output = ()>, second: impl Future<Output = T>) -> Option<T> {
    let (mut first, mut second) = (pin!(first), pin!(second));
    std::future::poll_fn(|cx| match first.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(None),
        Poll::Pending => second.as_mut().poll(cx).map(Some),
    })
    .await
}

async fn yield_once() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await
}

/// Futures on foreign threads, dropped at random while senders of all kinds are at work.
#[test]
fn dropped_at_random() {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            let count = Arc::new(Count::default());
            let (tx, rx) = channel(capacity);
            let receiving: Vec<_> = (0..2)
                .map(|i| {
                    let (rx, mut random) = (rx.clone(), Random::new(seed + i));
                    std::thread::spawn(move || random_receiver(&rx, &mut random))
                })
                .collect();
            drop(rx);
            let sending: Vec<_> = KINDS
                .into_iter()
                .zip(0..)
                .map(|(kind, i)| {
                    let count = count.clone();
                    send_all(rt, kind, tx.clone(), (0..500).map(move |id| Counted::new(1_000 * i + id, &count)))
                })
                .collect();
            drop(tx);
            sending.into_iter().for_each(Running::join);
            let mut ids: Vec<usize> = receiving.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            ids.sort_unstable();
            assert!(ids.into_iter().eq((0..3).flat_map(|i| 1_000 * i..1_000 * i + 500)), "{capacity:?}");
            assert_eq!(count.alive(), 0);
        }
    });
}

/// Several receives at a time; each is polled, dropped or waited for at random.
fn random_receiver(rx: &Receiver<Counted>, random: &mut Random) -> Vec<usize> {
    let mut ids = Vec::new();
    let mut line = Vec::new();
    loop {
        match random.below(4) {
            0 => line.push(Box::pin(rx.recv_async())),
            1 if !line.is_empty() => drop(line.swap_remove(random.below(line.len()))),
            2 if !line.is_empty() => {
                let i = random.below(line.len());
                match line[i].as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    Poll::Pending => std::thread::yield_now(),
                    Poll::Ready(Ok(message)) => ids.push(message.id),
                    Poll::Ready(Err(RecvError)) => {
                        line.clear();
                        // What was given back meanwhile.
                        ids.extend(rx.iter().map(|message| message.id));
                        return ids;
                    }
                }
            }
            _ => ids.extend(rx.recv_timeout(Duration::from_nanos(random.below(10_000) as u64)).map(|m| m.id)),
        }
    }
}
