//! Selects that wait: who wakes them, what they meet, and that nothing is lost when they go.

use crate::channel_common::*;
use crate::common::each_with;
use myriad::channel::*;
use myriad::select::{Order, Select, Won};
use myriad::{select, select_async, time};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, ThreadId};
use std::time::Duration;

/// Five kinds of waiting selects, each woken by each of three kinds of partners.
#[test]
fn waiting_ones_are_woken() {
    each_runtime(|rt| {
        for kind in KINDS {
            for partner in KINDS {
                for capacity in CAPACITIES {
                    let (tx, rx) = channel::<u32>(capacity);
                    let (tx2, rx2) = channel::<u32>(capacity);
                    let rx3 = rx2.clone();
                    let rx1 = rx.clone();
                    let select = start(
                        rt,
                        kind,
                        move || {
                            (0..100)
                                .map(|_| {
                                    select! { n = rx.recv() => n.unwrap(), n = rx2.recv() => n.unwrap() }
                                })
                                .sum::<u32>()
                        },
                        async move {
                            let mut sum = 0;
                            for _ in 0..100 {
                                sum += select_async! { n = rx1.recv() => n.unwrap(), n = rx3.recv() => n.unwrap() };
                            }
                            sum
                        },
                    );
                    // `tx` and `tx2` stay: a channel that is closed is ready.
                    let a = send_all(rt, partner, tx.clone(), 0..50);
                    let b = send_all(rt, partner, tx2.clone(), 50..100);
                    assert_eq!(select.join(), 4950);
                    a.join();
                    b.join();
                }
            }
        }
    });
}

#[test]
fn woken_by_a_close() {
    each_runtime(|rt| {
        for kind in KINDS {
            let (tx, rx) = bounded::<u32>(0);
            let (tx2, rx2) = bounded::<u32>(0);
            let (rx1, tx3, tx4) = (rx.clone(), tx2.clone(), tx2.clone());
            let select = start(
                rt,
                kind,
                move || select! { n = rx.recv() => n.is_err(), _ = tx2.send(1) => false },
                async move {
                    select_async! { n = rx1.recv() => n.is_err(), _ = tx3.send(1) => false }
                },
            );
            tx.close();
            assert!(select.join(), "{kind:?}");
            drop((tx4, rx2));
        }
    });
}

/// Two selects meet at a rendezvous, of all kinds; both offer both directions.
#[test]
fn select_meets_select() {
    each_runtime(|rt| {
        for kind in KINDS {
            for partner in KINDS {
                let (tx, rx) = rendezvous::<u32>();
                let (tx2, rx2) = rendezvous::<u32>();
                let there = move |mine: u32| {
                    let (a, b) = (tx.clone(), rx2.clone());
                    let (a2, b2) = (tx.clone(), rx2.clone());
                    let blocking = move || {
                        let (mut sent, mut got) = (0, 0);
                        for i in 0..200 {
                            select! { r = a.send(mine + i) => { r.unwrap(); sent += 1 }, n = b.recv() => got += n.unwrap().min(1) }
                        }
                        (sent, got)
                    };
                    let future = async move {
                        let (mut sent, mut got) = (0, 0);
                        for i in 0..200 {
                            select_async! { r = a2.send(mine + i) => { r.unwrap(); sent += 1 }, n = b2.recv() => got += n.unwrap().min(1) }
                        }
                        (sent, got)
                    };
                    (blocking, future)
                };
                let (blocking, future) = there(1);
                let one = start(rt, kind, blocking, future);
                let blocking = {
                    let (a, b) = (tx2.clone(), rx.clone());
                    move || {
                        let (mut sent, mut got) = (0, 0);
                        for i in 0..200 {
                            select! { r = a.send(1 + i) => { r.unwrap(); sent += 1 }, n = b.recv() => got += n.unwrap().min(1) }
                        }
                        (sent, got)
                    }
                };
                let future = async move {
                    let (mut sent, mut got) = (0, 0);
                    for i in 0..200 {
                        select_async! { r = tx2.send(1 + i) => { r.unwrap(); sent += 1 }, n = rx.recv() => got += n.unwrap().min(1) }
                    }
                    (sent, got)
                };
                let two = start(rt, partner, blocking, future);
                let ((sent, got), (sent2, got2)) = (one.join(), two.join());
                assert_eq!((sent, got, sent + got), (got2, sent2, 200), "{kind:?} {partner:?}");
            }
        }
    });
}

/// Both ends of one channel: a select does not meet itself, but others.
#[test]
fn both_ends_in_one_select() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = rendezvous::<u32>();
            select! {
                _ = tx.send(1) => unreachable!("to whom"),
                _ = rx.recv() => unreachable!("from whom"),
                after(Duration::from_millis(1)) => {}
            }
            select! {
                _ = tx.send(1) => unreachable!("to whom"),
                _ = rx.recv() => unreachable!("from whom"),
                default => {}
            }
            // Three that offer both; two of them meet, and the third meets us.
            let all: Vec<_> = (0..3)
                .map(|i| {
                    let (tx, rx) = (tx.clone(), rx.clone());
                    myriad::spawn(
                        move || select! { r = tx.send(i) => { r.unwrap(); None }, n = rx.recv() => Some(n.unwrap()) },
                    )
                })
                .collect();
            let ours = select! { r = tx.send(3) => { r.unwrap(); None }, n = rx.recv() => Some(n.unwrap()) };
            let mut results: Vec<_> = all.into_iter().map(|task| task.join().unwrap()).collect();
            results.push(ours);
            let mut met: Vec<(usize, u32)> =
                results.iter().enumerate().filter_map(|(i, got)| got.map(|n| (i, n))).collect();
            assert_eq!(met.len(), 2, "{results:?}");
            let mut involved: Vec<usize> = met.drain(..).flat_map(|(i, n)| [i, n as usize]).collect();
            involved.sort();
            assert_eq!(involved, [0, 1, 2, 3], "{results:?}");
        });
    });
}

/// A forgotten future of a select leaves its arms in lists; the select takes them out before it
/// does anything else.
#[test]
fn a_forgotten_future_of_a_select() {
    let (tx, rx) = unbounded();
    let (tx2, rx2) = unbounded();
    for (then_used, sent) in [(true, true), (true, false), (false, true), (false, false)] {
        let mut select = Select::new();
        select.recv(&rx, |n| n.unwrap()).recv(&rx2, |n| n.unwrap());
        {
            let mut future = Box::pin(select.wait_async());
            assert!(poll_once(future.as_mut()).is_pending());
            std::mem::forget(future);
        }
        if sent {
            tx.send(5).unwrap();
        }
        if then_used {
            if !sent {
                tx2.send(5).unwrap();
            }
            assert_eq!(select.wait(), 5);
            assert_eq!(select.try_wait(), None);
        } else {
            drop(select);
            assert_eq!(rx.try_recv().is_ok(), sent, "given back");
        }
        assert_eq!((tx.len(), tx2.len()), (0, 0));
    }
}

#[test]
fn an_empty_select_waits_for_ever() {
    let none: Option<Won> = select::wait_timeout(Order::Fair, Duration::from_millis(2), ()).map(|n| match n {});
    assert!(none.is_none());
    let mut select = Select::<()>::new();
    assert_eq!(select.wait_timeout(Duration::from_millis(2)), None);
    let mut future = Box::pin(async {
        select_async! {}
    });
    assert!(poll_once(future.as_mut()).is_pending());
    assert!(poll_once(future.as_mut()).is_pending());
}

#[test]
fn never_too_early() {
    each_runtime(|rt| {
        rt.run(|| {
            let (_tx, rx) = unbounded::<()>();
            for micros in [0, 1, 50, 700, 3_000] {
                let limit = Duration::from_micros(micros);
                let begin = std::time::Instant::now();
                select! { _ = rx.recv() => unreachable!(), after(limit) => {} }
                assert!(begin.elapsed() >= limit);
                let begin = std::time::Instant::now();
                assert!(select::wait_timeout(Order::Fair, limit, (rx.recv_arm(),)).is_none());
                assert!(begin.elapsed() >= limit);
                let begin = std::time::Instant::now();
                myriad::block_on(async {
                    select_async! { _ = rx.recv() => unreachable!(), after(limit) => {} }
                });
                assert!(begin.elapsed() >= limit);
                // With an arm that is polled.
                let begin = std::time::Instant::now();
                select! { _ = std::future::pending::<()>() => unreachable!(), after(limit) => {} }
                assert!(begin.elapsed() >= limit);
            }
        });
    });
}

/// The arms stand in line like anybody else.
#[test]
fn in_line_with_others() {
    let (tx, rx) = unbounded();
    let (_tx2, rx2) = unbounded::<u32>();
    let mut first = Box::pin(rx.recv_async());
    assert!(poll_once(first.as_mut()).is_pending());
    let mut second = Box::pin(async {
        select_async! { n = rx.recv() => n.unwrap(), _ = rx2.recv() => 0 }
    });
    assert!(poll_once(second.as_mut()).is_pending());
    let mut third = Box::pin(rx.recv_async());
    assert!(poll_once(third.as_mut()).is_pending());
    // Polled again, it keeps its place, and its newest waker is woken.
    let (wakes, waker) = Wakes::new();
    assert!(poll_with(second.as_mut(), &waker).is_pending());
    (1..=3).for_each(|i| tx.send(i).unwrap());
    assert_eq!(ready(poll_once(first.as_mut())), 1);
    assert_eq!(wakes.count(), 1);
    assert!(matches!(poll_once(second.as_mut()), std::task::Poll::Ready(2)));
    assert_eq!(ready(poll_once(third.as_mut())), 3);
}

/// Dropped after a message was handed to it: the message goes to the next, or back.
#[test]
fn dropped_it_gives_back() {
    let count = std::sync::Arc::new(Count::default());
    let (tx, rx) = bounded(1);
    let (tx2, rx2) = bounded(1);
    {
        let mut waiting = Box::pin(async {
            select_async! { m = rx.recv() => m.unwrap(), m = rx2.recv() => m.unwrap() }
        });
        assert!(poll_once(waiting.as_mut()).is_pending());
        tx2.send(Counted::new(1, &count)).unwrap();
        tx.send(Counted::new(2, &count)).unwrap();
        assert_eq!((tx.len(), tx2.len()), (1, 0), "handed over");
    }
    assert_eq!((tx.len(), tx2.len(), count.alive()), (1, 1, 2), "given back");
    // A send that is dropped has not sent, and drops its message.
    {
        let message = Counted::new(3, &count);
        let mut waiting = Box::pin(async {
            select_async! { _ = tx.send(message) => (), m = rx2.recv(), if false => drop(m) }
        });
        assert!(poll_once(waiting.as_mut()).is_pending());
    }
    assert_eq!((tx.len(), count.alive()), (1, 2));
    drop((tx, tx2, rx, rx2));
    assert_eq!(count.alive(), 0);
}

/// A time that passes in the middle of a poll ends that poll; no waker, which is user code, runs in
/// it. (Another worker, idle, may fire the timer that the poll before has set: it counts for
/// nothing.)
#[test]
fn a_time_that_passes_during_the_poll_wakes_nobody() {
    struct Wakes(ThreadId, AtomicUsize);
    impl Wake for Wakes {
        fn wake(self: Arc<Self>) {
            self.1.fetch_add(usize::from(self.0 == thread::current().id()), Relaxed);
        }
    }
    each_with(
        &[1, 2],
        |b| b.manual_clock(),
        |_, rt| {
            rt.run(|| {
                for polled_before in [false, true] {
                    let polls = AtomicUsize::new(0);
                    let passes = std::future::poll_fn(|_| {
                        if polls.fetch_add(1, Relaxed) == usize::from(polled_before) {
                            rt.advance(Duration::from_millis(20));
                        }
                        Poll::<()>::Pending
                    });
                    let mut select = pin!(async {
                        select_async! { biased; at(time::now() + Duration::from_millis(10)) => true, _ = passes => false }
                    });
                    let wakes = Arc::new(Wakes(thread::current().id(), AtomicUsize::new(0)));
                    let waker = Waker::from(wakes.clone());
                    let cx = &mut Context::from_waker(&waker);
                    if polled_before {
                        assert!(select.as_mut().poll(cx).is_pending());
                    }
                    assert_eq!(select.as_mut().poll(cx), Poll::Ready(true), "polled before: {polled_before}");
                    assert_eq!(wakes.1.load(Relaxed), 0, "polled before: {polled_before}");
                }
            });
        },
    );
}
