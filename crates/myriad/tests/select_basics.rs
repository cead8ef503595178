//! The select of closures, futures and threads: what wins, what it brings, and that nothing else happens.

mod channel_common;

use channel_common::*;
use myriad::channel::*;
use myriad::select::{Order, Select, Won};
use myriad::{select, select_async};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(600);

#[test]
fn what_is_ready_wins() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let (tx2, rx2) = unbounded::<u32>();
            tx.send("one").unwrap();
            let got = select! {
                word = rx.recv() => word.unwrap().len() as u32,
                number = rx2.recv() => number.unwrap(),
            };
            assert_eq!(got, 3);
            tx2.send(7).unwrap();
            let got = select! {
                word = rx.recv() => word.unwrap().len() as u32,
                number = rx2.recv() => number.unwrap(),
                after(LONG) => unreachable!(),
            };
            assert_eq!(got, 7);
            let got = select! {
                _ = rx.recv() => 1,
                _ = rx2.recv() => 2,
                default => 3,
            };
            assert_eq!(got, 3);
        });
    });
}

#[test]
fn every_kind_of_arm() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let (full, _keep) = bounded(1);
            full.send(0).unwrap();
            // Sends.
            select! {
                sent = tx.send(5) => sent.unwrap(),
                sent = full.send(6) => panic!("{sent:?}"),
            }
            assert_eq!(rx.recv(), Ok(5));
            // A task's end.
            let mut task = myriad::spawn(|| 6);
            select! {
                result = task.join() => assert_eq!(result.unwrap(), 6),
                _ = rx.recv() => unreachable!(),
            }
            struct Holder {
                task: Option<myriad::JoinHandle<u32>>,
                rx: Receiver<i32>,
            }
            let mut holder = Holder { task: Some(myriad::spawn(|| 8)), rx };
            select! {
                result = holder.task.as_mut().unwrap().join() => assert_eq!(result.unwrap(), 8),
                _ = holder.rx.recv() => unreachable!(),
            }
            // A future.
            select! {
                n = std::future::ready(9) => assert_eq!(n, 9),
                _ = holder.rx.recv() => unreachable!(),
            }
            async fn ten(n: u32) -> u32 {
                n
            }
            select! {
                n = std::pin::pin!(ten(10)) => assert_eq!(n, 10),
                n = ten(10) => assert_eq!(n, 10),
                Ok(_) | Err(_) = holder.rx.recv() => unreachable!(),
            }
            // Times.
            select! {
                after(Duration::from_millis(1)) => {}
                _ = holder.rx.recv() => unreachable!(),
            }
            let deadline = myriad::time::now();
            select! {
                at(deadline) => {}
                _ = holder.rx.recv() => unreachable!(),
            }
            // A closed channel.
            tx.close();
            select! {
                got = holder.rx.recv() => assert_eq!(got, Err(RecvError)),
            }
            select! {
                sent = tx.send(3) => assert_eq!(sent, Err(SendError(3))),
            }
        });
    });
}

#[test]
fn an_arm_that_has_lost_is_as_it_was() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let (full, taken) = bounded(1);
            full.send(Box::new(1)).unwrap();
            let mut place = Some(Box::new(2));
            let (go, stay) = bounded::<()>(0);
            let mut task = myriad::spawn(move || stay.recv());
            tx.send(1).unwrap();
            select! {
                _ = rx.recv() => {}
                _ = full.send_from(&mut place) => unreachable!(),
                _ = task.join() => unreachable!(),
            }
            assert_eq!(place, Some(Box::new(2)), "not sent");
            // Waiting, too.
            let later = myriad::spawn(move || tx.send(2));
            select! {
                _ = rx.recv() => {}
                _ = full.send_from(&mut place) => unreachable!(),
                _ = task.join() => unreachable!(),
            }
            later.join().unwrap().unwrap();
            assert_eq!((place.is_some(), full.len()), (true, 1));
            assert_eq!(taken.recv(), Ok(Box::new(1)));
            select! {
                _ = rx.recv(), if false => unreachable!(),
                sent = full.send_from(&mut place) => sent.unwrap(),
                _ = task.join() => unreachable!(),
            }
            assert_eq!((place, taken.recv()), (None, Ok(Box::new(2))));
            go.close();
            assert_eq!(task.join().unwrap(), Err(RecvError));
        });
    });
}

#[test]
fn conditions() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let mut seen = Vec::new();
            for i in 0..20 {
                tx.send(i).unwrap();
                select! {
                    n = rx.recv(), if i % 2 == 0 => seen.push(n.unwrap()),
                    after(Duration::ZERO), if i % 2 == 1 => {}
                    _ = std::future::ready(()), if i > 100 => unreachable!(),
                }
            }
            assert_eq!(seen, (0..10).collect::<Vec<_>>());
        });
    });
}

#[test]
fn bodies_may_break_return_and_fail() {
    fn f(rx: &Receiver<u32>) -> Result<u32, RecvError> {
        let mut sum = 0;
        loop {
            select! {
                n = rx.recv() => match n? {
                    0 => break,
                    7 => return Ok(77),
                    n => sum += n,
                },
                after(LONG) => continue,
            }
        }
        Ok(sum)
    }
    let (tx, rx) = unbounded();
    [1, 2, 0, 1, 7, 1].into_iter().for_each(|n| tx.send(n).unwrap());
    assert_eq!(f(&rx), Ok(3));
    assert_eq!(f(&rx), Ok(77));
    drop(tx);
    assert_eq!(f(&rx), Err(RecvError));
}

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

#[test]
fn the_same_channel_several_times() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(1);
            let sender = myriad::spawn(move || (0..1_000).for_each(|i| tx.send(i).unwrap()));
            let mut won = [0; 3];
            for i in 0..1_000 {
                select! {
                    n = rx.recv() => { assert_eq!(n, Ok(i)); won[0] += 1 }
                    n = rx.recv() => { assert_eq!(n, Ok(i)); won[1] += 1 }
                    n = rx.recv() => { assert_eq!(n, Ok(i)); won[2] += 1 }
                }
            }
            sender.join().unwrap();
            assert_eq!(won.iter().sum::<u32>(), 1_000);
        });
    });
}

/// Go: about a half each (506 of 1,000 there). Here: within six standard deviations.
#[test]
fn fair_by_chance() {
    fn check(counts: &[u32], rounds: u32) {
        let n = counts.len() as f64;
        let sigma = (f64::from(rounds) * (1.0 / n) * (1.0 - 1.0 / n)).sqrt();
        for count in counts {
            assert!((f64::from(*count) - f64::from(rounds) / n).abs() < 6.0 * sigma, "{counts:?}");
        }
    }
    let channels: Vec<_> = (0..40).map(|_| unbounded::<()>()).collect();
    channels.iter().for_each(|(tx, _)| tx.close().then_some(()).unwrap());
    let rx = |i: usize| &channels[i].1;
    let mut two = [0; 2];
    let mut three = [0; 3];
    for _ in 0..10_000 {
        two[select! { _ = rx(0).recv() => 0, _ = rx(1).recv() => 1 }] += 1;
        // Two that are not ready beside them, so that a start at a random arm would not do.
        let (_a, never) = unbounded::<()>();
        three[select! {
            _ = rx(0).recv() => 0, _ = rx(1).recv() => 1, _ = rx(2).recv() => 2, _ = never.recv() => unreachable!(),
            _ = never.recv() => unreachable!(),
        }] += 1;
    }
    check(&two, 10_000);
    check(&three, 10_000);
    let mut many = Select::new();
    channels.iter().enumerate().for_each(|(i, (_, rx))| _ = many.recv(rx, move |_| i));
    let mut counts = [0; 40];
    for _ in 0..40_000 {
        counts[many.wait()] += 1;
    }
    check(&counts, 40_000);
}

#[test]
fn biased_takes_the_first() {
    let (tx, rx) = unbounded();
    let (tx2, rx2) = unbounded();
    for i in 0..100 {
        tx.send(i).unwrap();
        tx2.send(i).unwrap();
    }
    let mut order = Vec::new();
    loop {
        select! {
            biased;
            Ok(n) | Err(n) = std::future::ready::<Result<i32, i32>>(Ok(1)), if false => order.push(n),
            n = rx.recv(), if !rx.is_empty() => order.push(n.unwrap()),
            n = rx2.recv() => order.push(1_000 + n.unwrap()),
            default => break,
        }
    }
    assert_eq!(order, (0..100).chain(1_000..1_100).collect::<Vec<_>>());
}

#[test]
fn a_dynamic_select() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = unbounded();
            let (full, taken) = bounded(0);
            let mut place = Some(String::from("kept"));
            {
                let mut select = Select::new();
                select.recv(&rx, |n| format!("{n:?}")).send_from(&full, &mut place, |r| format!("{r:?}"));
                select.add(select::after(LONG), |()| "late".into());
                assert_eq!((select.len(), select.try_wait()), (3, None));
                tx.send(1).unwrap();
                assert_eq!(select.wait(), "Ok(1)");
                let receiver = myriad::spawn(move || taken.recv());
                assert_eq!(select.wait(), "Ok(())", "the receiver's");
                assert_eq!(receiver.join().unwrap().unwrap(), "kept");
                tx.send(2).unwrap();
                assert_eq!(select.wait(), "Ok(2)", "the other arm is used up");
                assert_eq!(select.wait_timeout(Duration::from_millis(1)), None);
                tx.close();
                assert_eq!(select.wait(), "Err(RecvError)");
            }
            assert_eq!(place, None);
        });
    });
}

/// A forgotten future of a select leaves its arms in lists; the select takes them out before it does anything else.
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

/// A future that is ready has its turn like all arms. (Once channels were looked at first.)
#[test]
fn a_ready_future_beside_a_ready_channel() {
    let (tx, rx) = unbounded();
    tx.send(1).unwrap();
    for _ in 0..100 {
        select! {
            biased;
            _ = std::future::ready(()) => {}
            _ = rx.recv() => unreachable!("the second"),
        }
    }
    tx.close();
    rx.recv().unwrap();
    let (mut futures, mut channels) = (0, 0);
    for _ in 0..10_000 {
        select! { _ = std::future::ready(()) => futures += 1, _ = rx.recv() => channels += 1 }
    }
    assert!(futures.min(channels) > 4_700, "{futures} {channels}");
}
