//! A million selects that lose, time out or are dropped, and selects of all kinds against each
//! other: no message is lost, none doubled.
//!
//! `MYRIAD_TEST_SEED=n` repeats the random decisions (not the schedule) of one run.

use crate::channel_common::*;
use crate::common::full_length;
use myriad::channel::*;
use myriad::select::{Order, Select, Won};
use myriad::{select, select_async};
use std::collections::HashSet;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// (In an unoptimized build a fifth of it.)
fn many() -> usize {
    if full_length() { 1_000_000 } else { 200_000 }
}

/// One thread: selects that lose against a time that has come, by trying, by blocking, and as
/// dropped futures, while messages are there and are not. At the end all messages are where they
/// should be.
#[test]
fn a_million_that_lose() {
    let _watch = watch_for("a million selects", Duration::from_secs(300));
    for mode in modes() {
        let rt = mode.builder().workers(1).pin_workers(false).build().unwrap();
        rt.run(|| {
            let count = Arc::new(Count::default());
            let (tx, rx) = bounded::<Counted>(2);
            let (full, taken) = bounded::<Counted>(1);
            full.send(Counted::new(0, &count)).unwrap();
            let mut place = Some(Counted::new(1, &count));
            let mut random = Random::new(seed());
            let (mut next, mut expected, mut lost) = (2, 2, 0);
            while lost < many() {
                let is_there = !rx.is_empty();
                match random.below(8) {
                    0 if rx.len() < 2 => {
                        tx.send(Counted::new(next, &count)).unwrap();
                        next += 1;
                    }
                    // Loses unless a message is there.
                    1..=3 => select! {
                        m = rx.recv() => {
                            assert!(is_there);
                            assert_eq!(m.unwrap().id, expected);
                            expected += 1;
                        }
                        r = full.send_from(&mut place) => panic!("{r:?}"),
                        default => { assert!(!is_there); lost += 1 }
                    },
                    4 => select! {
                        biased;
                        _ = std::future::ready(()) => lost += 1,
                        _ = rx.recv() => unreachable!(),
                        _ = full.send_from(&mut place) => unreachable!(),
                    },
                    5 => {
                        // Polled, linked, polled again, dropped.
                        let mut future = pin!(async {
                            select_async! { m = rx.recv() => Some(m.unwrap().id), _ = full.send_from(&mut place) => None }
                        });
                        for _ in 0..random.below(3) {
                            if let std::task::Poll::Ready(id) = poll_once(future.as_mut()) {
                                assert!(is_there);
                                assert_eq!(id, Some(expected));
                                expected += 1;
                                break;
                            }
                        }
                        lost += 1;
                    }
                    6 => {
                        // Handed over, and dropped.
                        let mut future = pin!(async {
                            select_async! { m = rx.recv() => drop(m), _ = full.send_from(&mut place) => () }
                        });
                        if !is_there {
                            assert!(poll_once(future.as_mut()).is_pending());
                            tx.try_send(Counted::new(next, &count)).unwrap();
                            next += 1;
                        }
                        lost += 1;
                    }
                    _ => {
                        let won = myriad::select::wait_timeout(
                            Order::Fair,
                            Duration::ZERO,
                            (rx.recv_arm(), full.send_from_arm(&mut place)),
                        );
                        match won {
                            None => lost += 1,
                            Some(Won::A0(m)) => {
                                assert_eq!(m.unwrap().id, expected);
                                expected += 1;
                            }
                            Some(Won::A1(r)) => panic!("{r:?}"),
                        }
                    }
                }
                assert_eq!(place.as_ref().map(|m| m.id), Some(1));
                assert_eq!((full.len(), rx.len()), (1, next - expected));
            }
            assert_eq!(taken.recv().unwrap().id, 0);
            drop((tx, rx, full, taken, place));
            assert_eq!(count.alive(), 0);
        });
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}

/// Who has sent and received what.
#[derive(Default)]
struct Ledger {
    next: AtomicUsize,
    sent: Mutex<Vec<usize>>,
    received: Mutex<Vec<usize>>,
}

/// One participant: closures and threads run it in `block_on`-free code, so both forms of each
/// select stand here.
fn participant(
    ledger: Arc<Ledger>,
    count: Arc<Count>,
    ends: Vec<(Sender<Counted>, Receiver<Counted>)>,
    seed: u64,
    rounds: usize,
) -> (impl FnOnce() + Send + 'static, impl Future<Output = ()> + Send + 'static) {
    let (ledger2, count2, ends2) = (ledger.clone(), count.clone(), ends.clone());
    let blocking = move || {
        let mut random = Random::new(seed);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        let mut got = |m: Result<Counted, RecvError>| received.push(m.unwrap().id);
        for _ in 0..rounds {
            let (a, b, c) = (random.below(ends.len()), random.below(ends.len()), random.below(ends.len()));
            let id = ledger.next.fetch_add(1, Relaxed);
            let mut place = Some(Counted::new(id, &count));
            let limit = Duration::from_micros(random.below(60) as u64);
            match random.below(6) {
                0 | 1 => select! {
                    r = ends[a].0.send_from(&mut place) => r.unwrap(),
                    m = ends[b].1.recv() => got(m),
                    m = ends[c].1.recv() => got(m),
                    after(limit) => {}
                },
                2 => select! {
                    r = ends[a].0.send_from(&mut place) => r.unwrap(),
                    m = ends[a].1.recv() => got(m),
                    default => {}
                },
                3 => {
                    let mut select = Select::new();
                    select.send_from(&ends[a].0, &mut place, |r| {
                        r.unwrap();
                        None
                    });
                    select.recv(&ends[b].1, Some);
                    select.recv(&ends[c].1, Some);
                    if let Some(Some(m)) = select.wait_timeout(limit) {
                        got(m);
                    }
                }
                4 => {
                    // The plain operations.
                    if random.below(2) == 0 {
                        if let Ok(m) = ends[a].1.recv_timeout(limit) {
                            got(Ok(m));
                        }
                    } else if let Err(error) = ends[a].0.send_timeout(place.take().unwrap(), limit) {
                        place = Some(error.into_inner());
                    }
                }
                _ => select! {
                    biased;
                    m = ends[b].1.recv() => got(m),
                    _ = myriad::time::sleep_async(limit) => {}
                    r = ends[a].0.send_from(&mut place) => r.unwrap(),
                },
            }
            if place.is_none() {
                sent.push(id);
            }
        }
        ledger.sent.lock().unwrap().extend(sent);
        ledger.received.lock().unwrap().extend(received);
    };
    let future = async move {
        let (ledger, count, ends) = (ledger2, count2, ends2);
        let mut random = Random::new(seed);
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let (a, b) = (random.below(ends.len()), random.below(ends.len()));
            let id = ledger.next.fetch_add(1, Relaxed);
            let mut place = Some(Counted::new(id, &count));
            let limit = Duration::from_micros(random.below(60) as u64);
            let got: Option<Result<Counted, RecvError>> = match random.below(3) {
                0 => select_async! {
                    r = ends[a].0.send_from(&mut place) => { r.unwrap(); None }
                    m = ends[b].1.recv() => Some(m),
                    after(limit) => None,
                },
                1 => {
                    // Dropped by an outer select after some polls. What the inner one has brought
                    // is not lost with it.
                    let mut brought = None;
                    select_async! {
                        _ = pin!(async {
                            select_async! {
                                m = ends[b].1.recv() => brought = Some(m),
                                r = ends[a].0.send_from(&mut place) => r.unwrap(),
                            }
                        }) => {}
                        _ = myriad::time::sleep_async(limit) => {}
                    }
                    brought
                }
                _ => {
                    let mut select = Select::biased();
                    select.recv(&ends[a].1, Some).recv(&ends[b].1, Some).add(myriad::select::after(limit), |()| None);
                    select.wait_async().await
                }
            };
            received.extend(got.map(|m| m.unwrap().id));
            if place.is_none() {
                sent.push(id);
            }
        }
        ledger.sent.lock().unwrap().extend(sent);
        ledger.received.lock().unwrap().extend(received);
    };
    (blocking, future)
}

/// Closures, futures and threads, each with selects of all forms over channels of several kinds.
#[test]
fn everybody_against_everybody() {
    let _watch = watch_for("selects of all kinds", Duration::from_secs(300));
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    for mode in modes() {
        for workers in [1, 2] {
            let rt = mode.builder().workers(workers).pin_workers(false).build().unwrap();
            let (ledger, count) = (Arc::new(Ledger::default()), Arc::new(Count::default()));
            let ends: Vec<_> = [Some(0), Some(0), Some(1), Some(3)].into_iter().map(channel::<Counted>).collect();
            let all: Vec<_> = (0..9)
                .map(|i| {
                    let (blocking, future) = participant(ledger.clone(), count.clone(), ends.clone(), seed + i, 2_000);
                    start(&rt, KINDS[i as usize % 3], blocking, future)
                })
                .collect();
            all.into_iter().for_each(Running::join);
            let sent: Vec<_> = std::mem::take(&mut *ledger.sent.lock().unwrap());
            let mut received: Vec<_> = std::mem::take(&mut *ledger.received.lock().unwrap());
            ends.iter().for_each(|(_, rx)| received.extend(rx.try_iter().map(|m| m.id)));
            let (sent_set, received_set): (HashSet<_>, HashSet<_>) =
                (sent.iter().copied().collect(), received.iter().copied().collect());
            assert_eq!((sent_set.len(), received_set.len()), (sent.len(), received.len()), "doubled");
            assert_eq!(sent_set, received_set, "sent, and received");
            assert!(sent.len() > 1_000, "they did meet: {}", sent.len());
            drop(ends);
            assert_eq!(count.alive(), 0);
            assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
        }
    }
}

/// Two selects on each side of two rendezvous, very often: each meeting has exactly two sides.
#[test]
fn meetings_by_the_hundred_thousand() {
    let _watch = watch_for("meetings", Duration::from_secs(300));
    for mode in modes() {
        let rt = mode.builder().workers(2).pin_workers(false).build().unwrap();
        const N: usize = 50_000;
        let (a, b) = (rendezvous::<usize>(), rendezvous::<usize>());
        let party = |a: &(Sender<usize>, Receiver<usize>), b: &(Sender<usize>, Receiver<usize>)| {
            let (tx, rx) = (a.0.clone(), b.1.clone());
            move || {
                let (mut sent, mut got) = (0, 0);
                for i in 0..N {
                    select! { r = tx.send(i) => { r.unwrap(); sent += 1 } m = rx.recv() => { m.unwrap(); got += 1 } }
                }
                (sent, got)
            }
        };
        let one = rt.spawn(party(&a, &b));
        let two = std::thread::spawn(party(&b, &a));
        let ((sent, got), (sent2, got2)) = (one.join().unwrap(), two.join().unwrap());
        assert_eq!((sent, got, sent + got), (got2, sent2, N));
        assert!(rt.shutdown(crate::common::PATIENCE).is_clean());
    }
}
