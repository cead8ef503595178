//! Peeking at the first message of a channel before taking it: in line, with nothing held up but
//! what must be; and nothing is lost, whatever becomes of who peeks. (`channel_model.rs` has the
//! peeks against a model, operation by operation.)

use crate::channel_common::*;
use myriad::channel::*;
use myriad::sync::Event;
use myriad::time::Instant;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

const PAST: Instant = Instant::from_nanos(0);

#[test]
fn peeking_leaves_it_there() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(2);
            assert_eq!(rx.try_peek(), Err(TryRecvError::Empty));
            assert_eq!(rx.peek_deadline(PAST), Err(RecvTimeoutError::Timeout));
            assert_eq!(rx.wait_ready_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
            tx.send("one".to_string()).unwrap();
            tx.send("two".to_string()).unwrap();
            assert_eq!((rx.peek(), rx.try_peek(), rx.len()), (Ok("one".into()), Ok("one".into()), 2));
            assert_eq!(rx.peek_with(String::len), Ok(3));
            assert_eq!(rx.wait_ready(), Ok(()));
            assert_eq!(rx.recv().unwrap(), "one");
            assert_eq!(myriad::block_on(rx.peek_async()).unwrap(), "two");
            tx.close();
            assert_eq!(rx.peek_timeout(Duration::from_secs(3600)).unwrap(), "two");
            assert_eq!(rx.recv().unwrap(), "two");
            assert_eq!((rx.peek(), rx.try_peek()), (Err(RecvError), Err(TryRecvError::Closed)));
            assert_eq!((rx.wait_ready(), rx.peek_deadline(PAST)), (Err(RecvError), Err(RecvTimeoutError::Closed)));
            assert_eq!(myriad::block_on(rx.wait_ready_async()), Err(RecvError));
        });
    });
}

/// Each waits for a message, of every kind, and is told when one comes, or that none will.
#[test]
fn waits_for_a_message() {
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            for kind in KINDS {
                let (tx, rx) = channel(capacity);
                let (rx2, rx3) = (rx.clone(), rx.clone());
                let peek = start(rt, kind, move || rx2.peek(), async move { rx3.peek_async().await });
                let (rx2, rx3) = (rx.clone(), rx.clone());
                let ready = start(rt, kind, move || rx2.wait_ready(), async move { rx3.wait_ready_async().await });
                tx.send(7).unwrap();
                assert_eq!((peek.join(), ready.join()), (Ok(7), Ok(())));
                assert_eq!(rx.recv(), Ok(7), "it is there still");
                let (rx2, rx3) = (rx.clone(), rx.clone());
                let peek = start(rt, kind, move || rx2.peek(), async move { rx3.peek_async().await });
                drop(tx);
                assert_eq!(peek.join(), Err(RecvError));
            }
        }
    });
}

/// While somebody peeks: sends go on, receivers stand in line behind the peek, and have the
/// messages in order.
#[test]
fn nobody_receives_a_later_one_first() {
    each_runtime(|rt| {
        for take in [false, true] {
            for kind in KINDS {
                let (tx, rx) = bounded(3);
                let (peeks, go_on) = (Arc::new(Event::new()), Arc::new(Event::new()));
                tx.send(1).unwrap();
                let (rx2, peeks2, go_on2) = (rx.clone(), peeks.clone(), go_on.clone());
                // Waits in the closure: other tasks run, also on this worker.
                let peeker = rt.spawn(move || {
                    rx2.recv_if(|n| {
                        peeks2.set();
                        go_on2.wait();
                        assert_eq!(*n, 1);
                        take
                    })
                });
                peeks.wait();
                assert_eq!((tx.len(), rx.is_ready()), (1, false));
                tx.send(2).unwrap();
                tx.send(3).unwrap();
                assert_eq!(tx.try_send(4), Err(TrySendError::Full(4)), "what is lent has its place still");
                assert!(!tx.is_ready());
                assert_eq!((rx.try_recv(), rx.try_peek()), (Err(TryRecvError::Empty), Err(TryRecvError::Empty)));
                assert_eq!(rx.recv_deadline(PAST), Err(RecvTimeoutError::Timeout));
                assert_eq!(myriad::select! { n = rx.recv() => n.unwrap(), default => 0 }, 0);
                let receiver = receive_all(rt, kind, rx.clone());
                let sender = send_all(rt, kind, tx.clone(), 4..=6);
                go_on.set();
                assert_eq!(peeker.join().unwrap(), Ok(take.then_some(1)));
                sender.join();
                tx.close();
                assert_eq!(receiver.join(), if take { vec![2, 3, 4, 5, 6] } else { vec![1, 2, 3, 4, 5, 6] });
            }
        }
    });
}

/// Closed while somebody peeks: those who wait for what may come back are told afterwards.
#[test]
fn closed_meanwhile() {
    each_runtime(|rt| {
        rt.run(|| {
            for take in [false, true] {
                let (tx, rx) = bounded(1);
                tx.send(1).unwrap();
                let (mut first, mut second) = (pin!(rx.recv_async()), pin!(rx.recv_async()));
                let mut sending = pin!(tx.send_async(2));
                let peeked = rx.recv_if(|_| {
                    assert!(poll_once(first.as_mut()).is_pending());
                    assert!(poll_once(second.as_mut()).is_pending());
                    assert!(poll_once(sending.as_mut()).is_pending());
                    assert!(tx.close());
                    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "it may come back");
                    assert!(matches!(poll_once(sending.as_mut()), std::task::Poll::Ready(Err(SendError(2)))));
                    assert!(poll_once(first.as_mut()).is_pending());
                    take
                });
                assert_eq!(peeked, Ok(take.then_some(1)));
                let first = myriad::block_on(first);
                assert_eq!(first, if take { Err(RecvError) } else { Ok(1) });
                assert_eq!(myriad::block_on(second), Err(RecvError));
            }
        });
    });
}

/// A panic of the closure, and a cancellation in it or before it, leave the message where it was.
#[test]
fn nothing_is_lost_by_a_panic_or_a_cancellation() {
    each_runtime(|rt| {
        let count = Arc::new(Count::default());
        let (tx, rx) = bounded(2);
        (1..=2).for_each(|id| assert!(tx.try_send(Counted::new(id, &count)).is_ok()));
        let panicked = catch_unwind(AssertUnwindSafe(|| rx.peek_with(|message| assert_eq!(message.id, 7))));
        assert!(panicked.is_err());
        // Cancelled while it peeks, and waits.
        let (peeks, rx2) = (Arc::new(Event::new()), rx.clone());
        let peeks2 = peeks.clone();
        let peeker = rt.spawn(move || {
            _ = rx2.recv_if(|_| {
                peeks2.set();
                Event::new().wait();
                true
            })
        });
        peeks.wait();
        peeker.cancel();
        assert!(peeker.join().unwrap_err().is_cancelled());
        // Cancelled while it waits to peek, behind another peek.
        let rx2 = rx.clone();
        rx.peek_with(|_| {
            let waits = rt.spawn(move || drop(rx2.recv_if(|_| true)));
            waits.cancel();
            assert!(waits.join().unwrap_err().is_cancelled());
        })
        .unwrap();
        assert_eq!((rx.recv().unwrap().id, rx.recv().unwrap().id), (1, 2));
        drop((tx, rx));
        assert_eq!(count.alive(), 0);
    });
}

/// The newest push the oldest out while somebody peeks at it: it may still be taken, and is not put
/// back.
#[test]
fn pushed_out_while_it_is_peeked_at() {
    each_runtime(|rt| {
        rt.run(|| {
            for take in [false, true] {
                let count = Arc::new(Count::default());
                let (tx, rx) = bounded_drop_oldest(1);
                assert!(tx.try_send(Counted::new(1, &count)).is_ok());
                let taken = rx.recv_if(|message| {
                    (2..=3).for_each(|id| assert!(tx.send(Counted::new(id, &count)).is_ok()));
                    assert_eq!((message.id, count.alive(), tx.len()), (1, 2, 1));
                    take
                });
                assert_eq!(taken.unwrap().map(|message| message.id), take.then_some(1));
                assert_eq!((rx.recv().map(|message| message.id), count.alive()), (Ok(3), 0));
            }
        });
    });
}

/// At a rendezvous peeking ends the send; what is not taken is the next receiver's.
#[test]
fn at_a_rendezvous() {
    each_runtime(|rt| {
        let (tx, rx) = rendezvous();
        let sender = rt.spawn(move || {
            tx.send(1).unwrap();
            tx.send(2).unwrap();
        });
        assert_eq!(rx.peek(), Ok(1));
        wait_until(|| rx.len() == 1);
        assert_eq!((rx.recv_if(|n| *n == 7), rx.recv_if(|n| *n == 1)), (Ok(None), Ok(Some(1))));
        assert_eq!(rx.iter().collect::<Vec<_>>(), [2]);
        sender.join().unwrap();
    });
}

/// Who waits to peek stands in line with those who receive, and each peek is followed by the next.
#[test]
fn in_line() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let mut first = pin!(rx.recv_async());
            let mut peek = pin!(rx.peek_async());
            let mut peek2 = pin!(rx.recv_if_async(|n| *n == 7));
            let mut second = pin!(rx.recv_async());
            assert!(poll_once(first.as_mut()).is_pending());
            assert!(poll_once(peek.as_mut()).is_pending());
            assert!(poll_once(peek2.as_mut()).is_pending());
            assert!(poll_once(second.as_mut()).is_pending());
            (1..=3).for_each(|n| tx.send(n).unwrap());
            assert!(poll_once(second.as_mut()).is_pending(), "it is lent to those before it");
            assert_eq!(ready(poll_once(first.as_mut())), 1);
            assert_eq!(ready(poll_once(peek.as_mut())), 2);
            assert_eq!(ready(poll_once(peek2.as_mut())), None);
            assert_eq!(ready(poll_once(second.as_mut())), 2);
            assert_eq!(rx.try_recv(), Ok(3));
        });
    });
}

/// A select whose both arms wait at a channel that is lent: it is served once, as ever.
#[test]
fn selects_wait_behind_a_peek() {
    each_runtime(|rt| {
        let ((tx, rx), (tx2, rx2)) = (bounded(1), bounded(1));
        tx.send(1).unwrap();
        tx2.send(10).unwrap();
        let (ready, results) = (Arc::new(Event::new()), unbounded());
        let selecting = rx.peek_with(|_| {
            let (rx, tx2, begun, result) = (rx.clone(), tx2.clone(), ready.clone(), results.0.clone());
            let selecting = rt.spawn(move || {
                begun.set();
                let done = myriad::select! {
                    n = rx.recv() => n.unwrap(),
                    sent = tx2.send(11) => { sent.unwrap(); 0 }
                };
                result.send(done).unwrap();
            });
            ready.wait();
            assert_eq!(results.1.recv_timeout(Duration::from_millis(1)), Err(RecvTimeoutError::Timeout), "it waits");
            selecting
        });
        assert_eq!(results.1.recv(), Ok(1), "the room in the other never came");
        selecting.unwrap().join().unwrap();
        assert_eq!((rx2.try_recv(), rx2.try_recv().is_err(), rx.try_recv().is_err()), (Ok(10), true, true));
    });
}

/// Many of all kinds: what is taken by peeks and by receives is all that was sent, and each has its
/// part in order.
#[test]
fn many_at_once() {
    each_runtime(|rt| {
        for capacity in [Some(0), Some(1), Some(7), None] {
            let n = 400;
            let (tx, rx) = channel(capacity);
            let senders: Vec<_> =
                (0..3).map(|i| send_all(rt, KINDS[i], tx.clone(), (0..n).map(move |k| (i, k)))).collect();
            drop(tx);
            let takers: Vec<_> = (0..4)
                .map(|i| {
                    let (rx, rx2) = (rx.clone(), rx.clone());
                    let even = move |message: &(usize, usize)| message.1 % 2 == i % 2;
                    let blocking = move || {
                        let mut all = Vec::new();
                        loop {
                            let taken = if i < 2 { rx.recv_if(even) } else { rx.recv().map(Some) };
                            match taken {
                                Ok(Some(message)) => all.push(message),
                                Ok(None) => {}
                                Err(RecvError) => return all,
                            }
                            // So that others have the one that it does not want.
                            myriad::yield_now();
                        }
                    };
                    let future = async move {
                        let mut all = Vec::new();
                        loop {
                            match rx2.recv_if_async(even).await {
                                Ok(Some(message)) => all.push(message),
                                Ok(None) => {}
                                Err(RecvError) => return all,
                            };
                            myriad::time::sleep_async(Duration::from_micros(1)).await;
                        }
                    };
                    start(rt, KINDS[i % 3], blocking, future)
                })
                .collect();
            senders.into_iter().for_each(Running::join);
            let mut all: Vec<_> = Vec::new();
            for taken in takers.into_iter().map(Running::join) {
                for sender in 0..3 {
                    let part: Vec<_> = taken.iter().filter(|message| message.0 == sender).collect();
                    assert!(part.is_sorted(), "of one sender, in order: {part:?}");
                }
                all.extend(taken);
            }
            all.sort_unstable();
            assert!(all.into_iter().eq((0..3).flat_map(|i| (0..n).map(move |k| (i, k)))));
        }
    });
}

/// What comes back was pushed out meanwhile, and its destructor panics: those who wait at the
/// closed channel hear of it all the same.
#[test]
fn a_panicking_destructor_does_not_stop_a_close() {
    struct Bad(bool);
    impl Drop for Bad {
        fn drop(&mut self) {
            assert!(!self.0, "a bad destructor");
        }
    }
    let (tx, rx) = bounded_drop_oldest(1);
    let (mut first, mut second) = (pin!(rx.recv_async()), pin!(rx.recv_async()));
    tx.send(Bad(true)).unwrap();
    let peeked = catch_unwind(AssertUnwindSafe(|| {
        rx.peek_with(|_| {
            tx.send(Bad(false)).unwrap();
            assert!(poll_once(first.as_mut()).is_pending() && poll_once(second.as_mut()).is_pending());
            tx.close();
        })
    }));
    assert!(peeked.is_err());
    assert!(matches!(poll_once(first), Poll::Ready(Ok(Bad(false)))));
    assert!(matches!(poll_once(second), Poll::Ready(Err(RecvError))), "closed");
}

/// The message is lent to a future that was forgotten: the channel ends in order.
#[test]
fn a_forgotten_peek() {
    let (wakes, waker) = Wakes::new();
    let (tx, rx) = bounded(3);
    let mut peek = Box::pin(rx.peek_async());
    assert!(poll_with(peek.as_mut(), &waker).is_pending());
    tx.send("lent".to_string()).unwrap();
    let mut behind = Box::pin(rx.recv_async());
    assert!(poll_with(behind.as_mut(), &waker).is_pending());
    tx.send("buffered".to_string()).unwrap();
    std::mem::forget((peek, behind));
    drop(rx);
    assert_eq!(wakes.count(), 2);
    assert!(tx.is_closed() && tx.send(String::new()).is_err());
}

/// At a rendezvous a send ends when another receives: not by the receive that waits in the same
/// select.
#[test]
fn a_rendezvous_after_a_peek() {
    let (tx, rx) = rendezvous();
    let both = |n| {
        let (tx, rx) = (&tx, &rx);
        Box::pin(async move {
            myriad::select_async! {
                sent = tx.send(n) => { sent.unwrap(); 0 }
                received = rx.recv() => received.unwrap(),
            }
        })
    };
    let mut first = pin!(tx.send_async(1));
    assert!(poll_once(first.as_mut()).is_pending());
    let mut two = both(2);
    assert_eq!(rx.recv_if(|_| poll_once(two.as_mut()).is_pending()), Ok(Some(1)));
    assert_eq!(poll_once(first), Poll::Ready(Ok(())));
    assert_eq!((rx.len(), poll_once(two.as_mut())), (0, Poll::Pending), "it does not meet itself");
    // Two that meet each other, once: who came first sends.
    let mut first = pin!(tx.send_async(1));
    let mut three = both(3);
    drop(two);
    assert!(poll_once(first.as_mut()).is_pending());
    let mut two = both(2);
    let peeked = rx.recv_if(|_| poll_once(two.as_mut()).is_pending() && poll_once(three.as_mut()).is_pending());
    assert_eq!(peeked, Ok(Some(1)));
    assert_eq!((poll_once(two.as_mut()), poll_once(three.as_mut())), (Poll::Ready(0), Poll::Ready(2)));
    assert_eq!((rx.len(), rx.try_recv()), (0, Err(TryRecvError::Empty)));
}
