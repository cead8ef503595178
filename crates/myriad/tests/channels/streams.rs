//! Channels as streams and sinks, with the combinators of the futures crates: order, back-pressure,
//! closing, dropping in every state.

use crate::channel_common::*;
use futures_util::{Sink, SinkExt, Stream, StreamExt, future, stream};
use myriad::channel::*;
use myriad::{block_on, spawn, spawn_async};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

type Fed<T> = Result<(), SendError<T>>;

fn with_waker<R>(waker: &Waker, f: impl FnOnce(&mut Context<'_>) -> R) -> R {
    f(&mut Context::from_waker(waker))
}

/// The next message of a stream, if it is there now.
fn next_now<S: Stream + ?Sized>(stream: Pin<&mut S>, waker: &Waker) -> Poll<Option<S::Item>> {
    with_waker(waker, |cx| stream.poll_next(cx))
}

/// All owning forms can be moved, sent and shared, so they go wherever combinators want them.
#[test]
fn shaped_for_combinators() {
    fn all<S: Unpin + Send + Sync + 'static>(_: &S) {}
    let (tx, rx) = bounded::<u32>(1);
    let (stream, sink) = (rx.into_stream(), tx.into_sink());
    all(&stream);
    all(&sink);
    assert!(format!("{stream:?} {sink:?}").contains("IntoStream"));
    fn borrowing<S: Send + Sync>(_: &S) {}
    let (tx, rx) = bounded::<u32>(1);
    borrowing(&rx.stream());
    borrowing(&tx.sink());
}

#[test]
fn a_pipeline_of_combinators() {
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            let sum = rt.run(|| {
                let (tx, rx) = channel::<u64>(capacity);
                let (tx2, rx2) = channel::<u64>(capacity);
                // A task that forwards what it makes of each; its end closes the second channel.
                let middle = spawn_async(async move {
                    let squares = rx.into_stream().filter(|n| future::ready(n % 3 != 0)).map(|n| Ok(n * n));
                    squares.forward(tx2.into_sink()).await
                });
                let first = spawn(move || (0..300).for_each(|n| tx.send(n).unwrap()));
                let sum = block_on(rx2.into_stream().fold(0, |sum, n| future::ready(sum + n)));
                first.join().unwrap();
                assert_eq!(middle.join().unwrap(), Ok(()));
                sum
            });
            assert_eq!(sum, (0..300).filter(|n| n % 3 != 0).map(|n| n * n).sum::<u64>());
        }
    });
}

/// In order for each sink, all of them, whatever partners there are.
#[test]
fn streams_meet_every_kind_of_sender() {
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            for kind in KINDS {
                let (tx, rx) = channel(capacity);
                let sender = send_all(rt, kind, tx, 0..100);
                let got = rt.run(|| spawn_async(rx.into_stream().collect::<Vec<_>>()).join().unwrap());
                assert!(got.into_iter().eq(0..100), "{kind:?} {capacity:?}");
                sender.join();
                let (tx, rx) = channel(capacity);
                let receiver = receive_all(rt, kind, rx);
                let sent = rt.run(|| {
                    spawn_async(async move {
                        let mut sink = tx.into_sink();
                        sink.send_all(&mut stream::iter(0..100).map(Ok)).await
                    })
                    .join()
                    .unwrap()
                });
                assert_eq!(sent, Ok(()));
                assert!(receiver.join().into_iter().eq(0..100), "{kind:?} {capacity:?}");
            }
        }
    });
}

/// `stream::select`, `take`, `chunks`, and a fan-out by clones of a receiver: nothing lost, nothing
/// twice.
#[test]
fn merged_and_shared() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(3);
            let (tx2, rx2) = rendezvous();
            let senders = [
                spawn(move || (0..200).for_each(|n| tx.send(n).unwrap())),
                spawn(move || (200..400).for_each(|n| tx2.send(n).unwrap())),
            ];
            let both = stream::select(rx.into_stream(), rx2.into_stream());
            let mut all: Vec<_> = block_on(both.chunks(7).concat());
            all.sort();
            assert!(all.into_iter().eq(0..400));
            senders.into_iter().for_each(|sender| sender.join().unwrap());
            // Some readers that stop early.
            let (tx, rx) = bounded(1);
            let readers: Vec<_> = (0..4)
                .map(|i| {
                    let rx = rx.clone();
                    spawn_async(rx.into_stream().take(10 * (i + 1)).collect::<Vec<u32>>())
                })
                .collect();
            let sender = spawn_async(async move { stream::iter(0..200).map(Ok).forward(tx.into_sink()).await });
            let mut all: Vec<_> = readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect();
            assert_eq!(all.len(), 100);
            all.extend(rx.iter());
            all.sort();
            assert!(all.into_iter().eq(0..200));
            assert_eq!(sender.join().unwrap(), Ok(()));
        });
    });
}

/// A sink holds one message more than its channel, and is woken when there is room.
#[test]
fn a_sink_pushes_back() {
    fn check<S: Sink<usize, Error = SendError<usize>>>(mut sink: Pin<&mut S>, rx: &Receiver<usize>, capacity: usize) {
        let (wakes, waker) = Wakes::new();
        let ready = |sink: Pin<&mut S>| with_waker(&waker, |cx| sink.poll_ready(cx));
        for n in 0..=capacity {
            assert_eq!(ready(sink.as_mut()), Poll::Ready(Ok(())), "message {n} of {capacity}");
            sink.as_mut().start_send(n).unwrap();
        }
        assert_eq!(ready(sink.as_mut()), Poll::Pending);
        assert_eq!(with_waker(&waker, |cx| sink.as_mut().poll_flush(cx)), Poll::Pending);
        assert_eq!((rx.len(), wakes.count()), (capacity, 0));
        // The oldest is taken, and the one that waits comes in.
        assert_eq!(rx.try_recv(), Ok(0));
        assert_eq!((rx.len(), wakes.count()), (capacity, 1));
        assert_eq!(ready(sink.as_mut()), Poll::Ready(Ok(())));
        assert!(rx.try_iter().eq(1..=capacity));
        let out_of_turn = catch_unwind(AssertUnwindSafe(|| {
            sink.as_mut().start_send(7).unwrap();
            sink.as_mut().start_send(8)
        }));
        let text = out_of_turn.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("poll_ready"), "it says what to do: {text}");
        // The first of the two is there yet.
        assert_eq!(with_waker(&waker, |cx| sink.as_mut().poll_flush(cx)).is_ready(), capacity > 0);
        assert_eq!(rx.try_recv(), Ok(7));
    }
    for capacity in [0, 1, 5] {
        let (tx, rx) = bounded(capacity);
        check(pin!(tx.sink()), &rx, capacity);
        check(pin!(tx.into_sink()), &rx, capacity);
        assert!(rx.is_closed(), "the last sender went with its sink");
    }
}

/// Closing a borrowing sink leaves the channel open; closing an owning one drops its sender, when
/// all that it was fed is sent.
#[test]
fn closing_a_sink() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            block_on(async {
                let mut sink = pin!(tx.sink());
                sink.send(1).await.unwrap();
                sink.close().await.unwrap();
            });
            assert!(!rx.is_closed());
            let tx2 = tx.clone();
            let closing = spawn_async(async move {
                let mut sink = tx2.into_sink();
                sink.feed(2).await.unwrap();
                sink.close().await.unwrap();
                assert_eq!(sink.flush().await, Ok(()));
                sink.send(3).await
            });
            assert_eq!((rx.recv(), rx.recv()), (Ok(1), Ok(2)));
            assert_eq!(closing.join().unwrap(), Err(SendError(3)), "fed after its end, it comes back");
            assert!(!rx.is_closed(), "there is another sender");
            let mut sink = tx.into_sink();
            block_on(sink.close()).unwrap();
            assert_eq!(rx.recv(), Err(RecvError));
        });
    });
}

/// The channel is closed under a sink that waits: its message comes back, once, and so does what it
/// is fed later.
#[test]
fn a_channel_that_closes_under_its_sink() {
    each_runtime(|rt| {
        let count = Arc::new(Count::default());
        rt.run(|| {
            for by_drop in [false, true] {
                let (tx, rx) = rendezvous();
                let (count2, waits) = (count.clone(), tx.clone());
                let sending = spawn_async(async move {
                    let mut sink = tx.into_sink();
                    let SendError(back) = sink.send(Counted::new(1, &count2)).await.unwrap_err();
                    assert_eq!(back.id, 1);
                    assert!(sink.flush().await.is_ok(), "nothing is left in it");
                    let SendError(back) = sink.send(Counted::new(2, &count2)).await.unwrap_err();
                    back.id
                });
                wait_until(|| rx.is_ready());
                if by_drop {
                    drop(rx)
                } else {
                    assert!(waits.close())
                }
                assert_eq!(sending.join().unwrap(), 2);
            }
        });
        assert_eq!((count.made.load(std::sync::atomic::Ordering::SeqCst), count.alive()), (4, 0));
    });
}

/// A stream that waits in line and is dropped gives its message to the next, or back; polled again,
/// it goes on.
#[test]
fn a_dropped_stream_loses_nothing() {
    for owning in [false, true] {
        let (tx, rx) = bounded(2);
        let (wakes, waker) = Wakes::new();
        let mut first: Pin<Box<dyn Stream<Item = u32> + '_>> =
            if owning { Box::pin(rx.clone().into_stream()) } else { Box::pin(rx.stream()) };
        assert_eq!(next_now(first.as_mut(), &waker), Poll::Pending);
        let mut second = rx.clone().into_stream();
        assert_eq!(next_now(Pin::new(&mut second), Waker::noop()), Poll::Pending);
        tx.send(1).unwrap();
        assert_eq!((wakes.count(), rx.len()), (1, 0), "handed over");
        drop(first);
        // Moved while it is in line: what is linked stays where it is.
        let mut second = Box::new(second);
        assert_eq!(next_now(Pin::new(&mut *second), Waker::noop()), Poll::Ready(Some(1)));
        assert_eq!(next_now(Pin::new(&mut *second), Waker::noop()), Poll::Pending);
        tx.send(2).unwrap();
        drop(second);
        assert_eq!((rx.len(), rx.try_recv()), (1, Ok(2)));
    }
}

/// The end of a stream, and its drop, as those of its receiver.
#[test]
fn the_last_stream_closes() {
    let count = Arc::new(Count::default());
    let (tx, rx) = unbounded();
    let mut stream = rx.into_stream();
    assert!(next_now(Pin::new(&mut stream), Waker::noop()).is_pending());
    tx.send(Counted::new(1, &count)).unwrap();
    tx.send(Counted::new(2, &count)).unwrap();
    assert!(!stream.receiver().is_closed());
    drop(stream);
    assert_eq!(count.alive(), 0, "handed over, and buffered");
    assert!(tx.send(Counted::new(3, &count)).is_err());
    assert_eq!(count.alive(), 0);
    let (tx, rx) = unbounded();
    let mut stream = rx.into_stream();
    tx.send(5).unwrap();
    drop(tx);
    let mut all = || next_now(Pin::new(&mut stream), Waker::noop());
    assert_eq!((all(), all(), all()), (Poll::Ready(Some(5)), Poll::Ready(None), Poll::Ready(None)));
}

/// A sink that is dropped before it is flushed: what it holds is dropped, or was taken, once.
#[test]
fn a_dropped_sink() {
    let count = Arc::new(Count::default());
    for capacity in [0, 1] {
        for taken in [false, true] {
            let (tx, rx) = bounded(capacity);
            let mut sink = tx.clone().into_sink();
            for n in 0..=capacity {
                sink.start_send_unpin(Counted::new(n, &count)).unwrap();
                let polled = with_waker(Waker::noop(), |cx| sink.poll_flush_unpin(cx));
                assert_eq!(polled.is_ready(), n < capacity);
            }
            if taken {
                assert_eq!(rx.try_recv().unwrap().id, 0);
            }
            drop(sink);
            let expected: Vec<usize> = if capacity == 0 { vec![] } else { vec![usize::from(taken)] };
            let left: Vec<_> = rx.try_iter().map(|message| message.id).collect();
            assert_eq!(left, expected, "capacity {capacity}, taken {taken}");
            assert_eq!(count.alive(), 0);
        }
    }
}

/// Sinks and streams that are made, used a little and dropped at random, with plain partners among
/// them.
#[test]
fn dropped_at_random() {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    each_runtime(|rt| {
        let mut random = Random::new(seed);
        for capacity in CAPACITIES {
            let count = Arc::new(Count::default());
            let (tx, rx) = channel::<Counted>(capacity);
            let sending: Vec<_> = (0..3)
                .map(|_| {
                    let (tx, count, mut random) = (tx.clone(), count.clone(), Random::new(random.next()));
                    rt.run(|| {
                        spawn_async(async move {
                            let mut sent = 0;
                            while sent < 200 {
                                let mut sink = tx.clone().into_sink();
                                // All of these are sent; a sink that is dropped unflushed may lose
                                // its last.
                                for _ in 0..random.below(5) {
                                    if sink.feed(Counted::new(sent, &count)).await.is_err() {
                                        return sent;
                                    }
                                    sent += 1;
                                }
                                let flushed: Fed<Counted> = sink.flush().await;
                                if flushed.is_err() {
                                    return sent;
                                }
                            }
                            sent
                        })
                    })
                })
                .collect();
            drop(tx);
            let receiving: Vec<_> = (0..3)
                .map(|i| {
                    let (rx, mut random) = (rx.clone(), Random::new(random.next()));
                    rt.run(|| {
                        spawn_async(async move {
                            let mut got = 0;
                            loop {
                                if i == 0 && random.below(4) == 0 {
                                    match rx.recv_async().await {
                                        Ok(_) => got += 1,
                                        Err(RecvError) => return got,
                                    }
                                    continue;
                                }
                                let mut stream = rx.clone().into_stream();
                                for _ in 0..random.below(3) {
                                    match stream.next().await {
                                        Some(_) => got += 1,
                                        None => return got,
                                    }
                                }
                                // In line, perhaps handed a message, and dropped.
                                match next_now(Pin::new(&mut stream), Waker::noop()) {
                                    Poll::Ready(Some(_)) => got += 1,
                                    Poll::Ready(None) => return got,
                                    Poll::Pending => {}
                                }
                            }
                        })
                    })
                })
                .collect();
            let sent: usize = sending.into_iter().map(|task| task.join().unwrap()).sum();
            let got: usize = receiving.into_iter().map(|task| task.join().unwrap()).sum();
            // What was given back when all others had gone.
            let left = rx.try_iter().count();
            drop(rx);
            assert_eq!(got + left, sent, "seed {seed}, {capacity:?}");
            assert_eq!(count.alive(), 0, "seed {seed}, {capacity:?}");
        }
    });
}

/// A message that was handed to one stream comes back when that is dropped, and another one, which
/// has heard the close, brings it.
#[test]
fn what_comes_back_after_the_close() {
    for capacity in [0, 1] {
        let (tx, rx) = bounded::<u32>(capacity);
        let (mut first, mut second) = (Box::pin(rx.stream()), Box::pin(rx.stream()));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(first.as_mut().poll_next(&mut cx).is_pending() && second.as_mut().poll_next(&mut cx).is_pending());
        tx.try_send(1).unwrap();
        drop(tx);
        assert_eq!(second.as_mut().poll_next(&mut cx), Poll::Ready(None));
        drop(first);
        assert_eq!(second.as_mut().poll_next(&mut cx), Poll::Ready(Some(1)), "capacity {capacity}");
        assert_eq!(second.as_mut().poll_next(&mut cx), Poll::Ready(None));
    }
}
