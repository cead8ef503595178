//! Closing: by either side, by the end of a side; who waits then, what is left, how iterators end.

use crate::channel_common::*;
use myriad::Runtime;
use myriad::channel::*;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(1000);

/// How a channel is closed.
#[derive(Debug, Clone, Copy)]
enum How {
    BySender,
    ByReceiver,
    LastGone,
}
const HOWS: [How; 3] = [How::BySender, How::ByReceiver, How::LastGone];

/// A receiver of each kind, blocked without and with a time limit, ends when the channel is closed.
#[test]
fn waiting_receivers_are_woken() {
    each_runtime(|rt| {
        for how in HOWS {
            for capacity in CAPACITIES {
                let (tx, rx) = channel::<String>(capacity);
                let begun = Arc::new(AtomicUsize::new(0));
                let mut waiting = Vec::new();
                for kind in KINDS {
                    for timed in [false, true] {
                        let (rx, rx2) = (rx.clone(), rx.clone());
                        let (begun, begun2) = (begun.clone(), begun.clone());
                        let blocking = move || {
                            begun.fetch_add(1, SeqCst);
                            match timed {
                                false => assert_eq!(rx.recv(), Err(RecvError)),
                                true => assert_eq!(rx.recv_timeout(LONG), Err(RecvTimeoutError::Closed)),
                            }
                        };
                        waiting.push(start(rt, kind, blocking, async move {
                            begun2.fetch_add(1, SeqCst);
                            assert_eq!(rx2.recv_async().await, Err(RecvError));
                        }));
                    }
                }
                wait_until(|| begun.load(SeqCst) == 6);
                match how {
                    How::BySender => assert!(tx.close()),
                    How::ByReceiver => assert!(rx.close()),
                    How::LastGone => drop(tx),
                }
                waiting.into_iter().for_each(Running::join);
                assert!(rx.is_closed() && !rx.close());
            }
        }
    });
}

/// A sender of each kind, blocked without and with a time limit, gets its message back.
#[test]
fn waiting_senders_get_their_message_back() {
    each_runtime(|rt| {
        for how in HOWS {
            for capacity in [0, 1, 5] {
                let (tx, rx) = bounded::<String>(capacity);
                (0..capacity).for_each(|i| tx.send(format!("buffered {i}")).unwrap());
                let begun = Arc::new(AtomicUsize::new(0));
                let mut waiting = Vec::new();
                for kind in KINDS {
                    for timed in [false, true] {
                        let (tx, tx2) = (tx.clone(), tx.clone());
                        let (begun, begun2) = (begun.clone(), begun.clone());
                        let blocking = move || {
                            begun.fetch_add(1, SeqCst);
                            let mine = format!("{kind:?} {timed}");
                            match timed {
                                false => assert_eq!(tx.send(mine.clone()), Err(SendError(mine))),
                                true => {
                                    let error = Err(SendTimeoutError::Closed(mine.clone()));
                                    assert_eq!(tx.send_timeout(mine, LONG), error);
                                }
                            }
                        };
                        waiting.push(start(rt, kind, blocking, async move {
                            begun2.fetch_add(1, SeqCst);
                            assert_eq!(tx2.send_async("mine".into()).await, Err(SendError("mine".into())));
                        }));
                    }
                }
                wait_until(|| begun.load(SeqCst) == 6);
                match how {
                    How::BySender => assert!(tx.close()),
                    How::ByReceiver => assert!(rx.close()),
                    How::LastGone => {
                        drop(rx);
                        waiting.into_iter().for_each(Running::join);
                        assert_eq!(tx.len(), 0);
                        continue;
                    }
                }
                waiting.into_iter().for_each(Running::join);
                let left: Vec<_> = rx.try_iter().collect();
                assert_eq!(left.len(), capacity, "{how:?}: {left:?}");
                assert!(left.iter().all(|m| m.starts_with("buffered")));
            }
        }
    });
}

#[test]
fn what_is_buffered_comes_before_the_end() {
    for how in [How::BySender, How::ByReceiver, How::LastGone] {
        for capacity in [Some(5), None] {
            let (tx, rx) = channel(capacity);
            (0..5).for_each(|i| tx.send(i).unwrap());
            match how {
                How::BySender => assert!(tx.close()),
                How::ByReceiver => assert!(rx.close()),
                How::LastGone => drop(tx.clone()),
            }
            if let How::LastGone = how {
                drop(tx);
            } else {
                assert_eq!(tx.send(9), Err(SendError(9)));
                assert_eq!(tx.try_send(9), Err(TrySendError::Closed(9)));
                assert_eq!(tx.send_timeout(9, LONG), Err(SendTimeoutError::Closed(9)));
                assert_eq!(myriad::block_on(tx.send_async(9)), Err(SendError(9)));
                assert!(tx.is_closed() && !tx.close());
            }
            assert!(rx.is_closed());
            assert_eq!(rx.len(), 5);
            assert_eq!(rx.recv(), Ok(0));
            assert_eq!(rx.try_recv(), Ok(1));
            assert_eq!(rx.recv_timeout(LONG), Ok(2));
            assert_eq!(rx.recv_deadline(myriad::time::now()), Ok(3));
            assert_eq!(myriad::block_on(rx.recv_async()), Ok(4));
            assert_eq!(rx.recv(), Err(RecvError));
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
            assert_eq!(rx.recv_timeout(LONG), Err(RecvTimeoutError::Closed));
            assert_eq!(rx.recv_deadline(myriad::time::now()), Err(RecvTimeoutError::Closed));
            assert_eq!(myriad::block_on(rx.recv_async()), Err(RecvError));
        }
    }
}

#[test]
fn iterators_end() {
    let (tx, rx) = unbounded();
    (0..6).for_each(|i| tx.send(i).unwrap());
    assert_eq!(rx.try_iter().take(2).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), [2, 3, 4, 5]);
    // Empty, but open: it ends all the same, and may go on later.
    let mut now = rx.try_iter();
    assert_eq!(now.next(), None);
    tx.send(6).unwrap();
    assert_eq!(now.next(), Some(6));
    (7..10).for_each(|i| tx.send(i).unwrap());
    drop(tx);
    let mut iter = rx.iter();
    assert_eq!(iter.next(), Some(7));
    assert_eq!((&rx).into_iter().next(), Some(8));
    let mut rest = rx.clone().into_iter();
    assert_eq!(rest.next(), Some(9));
    assert_eq!((rest.next(), iter.next(), iter.next(), rest.next()), (None, None, None, None));
}

/// The end of each side counts its last end only.
#[test]
fn clones_keep_it_open() {
    let (tx, rx) = bounded(1);
    let (tx2, rx2) = (tx.clone(), rx.clone());
    drop(tx);
    drop(rx2);
    assert!(!tx2.is_closed() && !rx.is_closed());
    tx2.send(1).unwrap();
    drop(tx2);
    assert!(rx.is_closed());
    assert_eq!(rx.recv(), Ok(1));
    assert_eq!(rx.recv(), Err(RecvError));
}

/// A client waits for its answer, and its request is buffered at a server that has gone: the
/// request is dropped with the last receiver, so the client hears of it.
#[test]
fn the_last_receiver_drops_what_is_buffered() {
    let (requests, server) = unbounded();
    let (answer_to, answer) = rendezvous::<u32>();
    requests.send(answer_to).unwrap();
    assert_eq!(answer.try_recv(), Err(TryRecvError::Empty));
    drop(server);
    assert_eq!(answer.recv_timeout(Duration::from_secs(10)), Err(RecvTimeoutError::Closed));
    drop(requests);
}

/// A message that holds an end of its own channel is no leak.
#[test]
fn a_channel_in_itself_is_freed() {
    struct Message(#[allow(dead_code)] Counted, #[allow(dead_code)] Option<Sender<Message>>);
    let count = Arc::new(Count::default());
    let (tx, rx) = unbounded();
    for i in 0..3 {
        assert!(tx.send(Message(Counted::new(i, &count), Some(tx.clone()))).is_ok());
    }
    drop(tx);
    assert_eq!(count.alive(), 3);
    drop(rx);
    assert_eq!(count.alive(), 0);
}

/// Close runs against sends and receives of all kinds: what was sent is received or left; what was
/// not comes back.
#[test]
fn close_in_the_middle() {
    each_runtime(|rt| {
        for round in 0..40 {
            let capacity = CAPACITIES[round % 4];
            let count = Arc::new(Count::default());
            let (tx, rx) = channel(capacity);
            let mut sending = Vec::new();
            let mut receiving = Vec::new();
            for kind in KINDS {
                let (tx1, tx2, c1, c2) = (tx.clone(), tx.clone(), count.clone(), count.clone());
                let blocking = move || (0..).take_while(|&id| sent(tx1.send(Counted::new(id, &c1)))).count();
                sending.push(start(rt, kind, blocking, async move {
                    let mut n = 0;
                    while sent(tx2.send_async(Counted::new(n, &c2)).await) {
                        n += 1;
                    }
                    n
                }));
                receiving.push(receive_some(rt, kind, rx.clone(), 200));
            }
            let (tx2, rx2) = (tx.clone(), rx.clone());
            let kind = [Kind::Closure, Kind::Thread][round / 4 % 2];
            let closing = start(rt, kind, move || rx2.close(), async move { tx2.close() });
            assert!(closing.join());
            let sent: usize = sending.into_iter().map(Running::join).sum();
            let received: usize = receiving.into_iter().map(Running::join).sum();
            let left = rx.try_iter().count();
            assert_eq!(sent, received + left, "{capacity:?}");
            assert_eq!(count.alive(), 0);
        }
    });
}

fn sent(result: Result<(), SendError<Counted>>) -> bool {
    // The message comes back alive, and is dropped here.
    result.map_err(|SendError(message)| drop(message)).is_ok()
}

/// Receives at most so many messages; says how many it were.
fn receive_some(rt: &Runtime, kind: Kind, rx: Receiver<Counted>, most: usize) -> Running<usize> {
    let rx2 = rx.clone();
    start(rt, kind, move || rx.iter().take(most).count(), async move {
        let mut n = 0;
        while n < most && rx2.recv_async().await.is_ok() {
            n += 1;
        }
        n
    })
}

/// A waker that closes and drops ends itself, within the close that wakes it.
#[test]
fn a_waker_may_use_the_channel() {
    struct Meddler(std::sync::Mutex<Option<(Sender<u8>, Receiver<u8>)>>);
    impl std::task::Wake for Meddler {
        fn wake(self: Arc<Self>) {
            let ends = self.0.lock().unwrap().take();
            if let Some((tx, rx)) = ends {
                assert!(!tx.close());
                assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
                assert_eq!(tx.try_send(1), Err(TrySendError::Closed(1)));
            }
        }
    }
    let (tx, rx) = bounded::<u8>(1);
    let meddler = Arc::new(Meddler(std::sync::Mutex::new(Some((tx.clone(), rx.clone())))));
    let waker = std::task::Waker::from(meddler);
    let (wakes, plain) = Wakes::new();
    let mut first = pin!(rx.recv_async());
    let mut second = pin!(rx.recv_async());
    assert!(poll_with(first.as_mut(), &waker).is_pending());
    assert!(poll_with(second.as_mut(), &plain).is_pending());
    assert!(tx.close());
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll_once(first), Poll::Ready(Err(RecvError)));
    assert_eq!(poll_once(second), Poll::Ready(Err(RecvError)));
}

/// A waker that panics in a close does not keep the others waiting.
#[test]
fn a_panicking_waker_does_not_stop_a_close() {
    struct Bad;
    impl std::task::Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    let (tx, rx) = bounded::<u8>(1);
    let (wakes, plain) = Wakes::new();
    let mut first = pin!(rx.recv_async());
    let mut second = pin!(rx.recv_async());
    assert!(poll_with(first.as_mut(), &Arc::new(Bad).into()).is_pending());
    assert!(poll_with(second.as_mut(), &plain).is_pending());
    assert!(tx.close());
    assert_eq!(wakes.count(), 1);
    assert_eq!(poll_once(first), Poll::Ready(Err(RecvError)));
    assert_eq!(poll_once(second), Poll::Ready(Err(RecvError)));
}
