//! Which of several ready arms wins: each as likely, or the first where that is asked for.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select::Select;
use myriad::{select, select_async};

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

/// Within six standard deviations of the same for each.
#[track_caller]
fn check(counts: &[u32], rounds: u32) {
    let n = counts.len() as f64;
    let sigma = (f64::from(rounds) * (1.0 / n) * (1.0 - 1.0 / n)).sqrt();
    for count in counts {
        assert!((f64::from(*count) - f64::from(rounds) / n).abs() < 6.0 * sigma, "{counts:?}");
    }
}

/// Go: about a half each (506 of 1,000 there). Here: within six standard deviations.
#[test]
fn fair_by_chance() {
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

/// The same of arms that wait in one line: each is as often the first of them there.
#[test]
fn fair_while_waiting() {
    each_runtime(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded::<()>(0);
            let (_never, other) = unbounded::<()>();
            let rounds = 2_000;
            // Room only for who waits.
            let give = |tx: Sender<()>| {
                move || {
                    for _ in 0..rounds {
                        while tx.try_send(()).is_err() {
                            myriad::yield_now();
                        }
                    }
                }
            };
            let sends = myriad::spawn(give(tx.clone()));
            let mut two = [0; 2];
            for _ in 0..rounds {
                two[select! { _ = rx.recv() => 0, _ = rx.recv() => 1 }] += 1;
            }
            sends.join().unwrap();
            check(&two, rounds);
            // Another one between them: to begin at any arm, and go round, would not do.
            let sends = myriad::spawn(give(tx.clone()));
            let mut two = [0; 2];
            myriad::block_on(async {
                for _ in 0..rounds {
                    two[select_async! { _ = rx.recv() => 0, _ = other.recv() => 2, _ = other.recv() => 3, _ = rx.recv() => 1 }] += 1;
                }
            });
            sends.join().unwrap();
            check(&two, rounds);
            let sends = myriad::spawn(give(tx.clone()));
            let mut many = Select::new();
            (0..40).for_each(|i| _ = many.recv(&rx, move |_| i));
            let mut counts = [0; 40];
            for _ in 0..rounds {
                counts[many.wait()] += 1;
            }
            sends.join().unwrap();
            check(&counts, rounds);
            let sends = myriad::spawn(give(tx));
            for _ in 0..rounds {
                select! { biased; _ = rx.recv() => (), _ = rx.recv() => panic!("the second") }
            }
            sends.join().unwrap();
        });
    });
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
