//! Operations that lose, at channels of all kinds: selects, time limits, futures that are dropped
//! in every state, ends that close at random. No message may be lost or doubled, and what lost has
//! had no effect.
//!
//! Runs for 2 seconds, or `MYRIAD_STRESS_SECONDS`; [`a_million_lost`] until a million operations
//! have lost. `MYRIAD_TEST_SEED=n` repeats the random numbers (not the interleaving).

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select::Select;
use myriad::time::sleep_async;
use myriad::{select, select_async, yield_now};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::{Duration, Instant};

/// What became of a message on the sender's side.
const UNSENT: u8 = 0;
const SENT: u8 = 1;
/// Its future was dropped while it waited: it was taken just before, or not.
const PERHAPS: u8 = 2;

/// Two channels, and what is known of all messages.
struct Round {
    tx: [Sender<Counted>; 2],
    rx: [Receiver<Counted>; 2],
    book: Arc<Book>,
}

struct Book {
    count: Arc<Count>,
    fate: Vec<AtomicU8>,
    seen: Vec<AtomicU8>,
    lost: AtomicUsize,
}

impl Book {
    fn lose(&self) {
        self.lost.fetch_add(1, Relaxed);
    }
    fn take(&self, message: Counted) {
        assert_eq!(self.seen[message.id].fetch_add(1, SeqCst), 0, "message {} is doubled", message.id);
    }
}

/// The message is gone (true), or is in its place again.
fn sent(book: &Book, place: &mut Option<Counted>, result: Result<(), Counted>) -> bool {
    match result {
        Ok(()) => true,
        Err(back) => {
            assert!(place.replace(back).is_none(), "it came back twice");
            book.lose();
            false
        }
    }
}

fn limit(random: &mut Random) -> Duration {
    Duration::from_nanos([0, 1, 1_000, 20_000, 100_000][random.below(5)])
}

fn send_all(round: Round, ids: std::ops::Range<usize>, mut random: Random) {
    let Round { tx, rx, book } = round;
    drop(rx);
    let nothing = never();
    for id in ids {
        let tx = &tx[random.below(2)];
        let mut place = Some(Counted::new(id, &book.count));
        for _ in 0..1 + random.below(8) {
            let gone = match random.below(7) {
                0 => {
                    let result = tx.try_send(place.take().unwrap());
                    sent(&book, &mut place, result.map_err(TrySendError::into_inner))
                }
                1 => {
                    let result = tx.send_timeout(place.take().unwrap(), limit(&mut random));
                    sent(&book, &mut place, result.map_err(SendTimeoutError::into_inner))
                }
                2 => {
                    let result = select! {
                        r = tx.send_from(&mut place) => Some(r),
                        _ = nothing.recv() => unreachable!(),
                        after(limit(&mut random)) => None,
                    };
                    match result {
                        Some(result) => sent(&book, &mut place, result.map_err(SendError::into_inner)),
                        None => (book.lose(), false).1,
                    }
                }
                3 => match select! { r = tx.send_from(&mut place) => Some(r), default => None } {
                    Some(result) => sent(&book, &mut place, result.map_err(SendError::into_inner)),
                    None => (book.lose(), false).1,
                },
                4 => {
                    // Polled, perhaps taken, dropped. Its place says which.
                    let mut came_back = None;
                    {
                        let mut selecting = pin!(async {
                            select_async! { r = tx.send_from(&mut place) => r.err(), _ = nothing.recv() => unreachable!() }
                        });
                        for _ in 0..1 + random.below(2) {
                            match poll_once(selecting.as_mut()) {
                                Poll::Ready(error) => {
                                    came_back = error;
                                    break;
                                }
                                Poll::Pending => yield_now(),
                            }
                        }
                    }
                    if let Some(SendError(back)) = came_back {
                        assert!(place.replace(back).is_none(), "it came back twice");
                    }
                    if place.is_some() {
                        book.lose();
                    }
                    place.is_none()
                }
                5 => {
                    let mut sending = pin!(tx.send_async(place.take().unwrap()));
                    let mut polled = poll_once(sending.as_mut());
                    if polled.is_pending() && random.below(2) == 0 {
                        yield_now();
                        polled = poll_once(sending.as_mut());
                    }
                    match polled {
                        Poll::Ready(result) => sent(&book, &mut place, result.map_err(SendError::into_inner)),
                        Poll::Pending => {
                            book.fate[id].store(PERHAPS, SeqCst);
                            book.lose();
                            break;
                        }
                    }
                }
                _ => {
                    let mut select = Select::new();
                    let result = {
                        select.send_from(tx, &mut place, |r| r.map_err(SendError::into_inner));
                        select.wait_timeout(limit(&mut random))
                    };
                    drop(select);
                    match result {
                        Some(result) => sent(&book, &mut place, result),
                        None => (book.lose(), false).1,
                    }
                }
            };
            if gone {
                book.fate[id].store(SENT, SeqCst);
                break;
            }
            assert!(place.is_some(), "what was not sent is still there");
        }
    }
}

async fn send_all_async(round: Round, ids: std::ops::Range<usize>, mut random: Random) {
    let Round { tx, rx, book } = round;
    drop(rx);
    for id in ids {
        let tx = &tx[random.below(2)];
        let mut place = Some(Counted::new(id, &book.count));
        for _ in 0..1 + random.below(8) {
            let result = select_async! {
                r = tx.send_from(&mut place) => Some(r),
                _ = sleep_async(limit(&mut random)) => None,
            };
            match result {
                Some(result) => {
                    if sent(&book, &mut place, result.map_err(SendError::into_inner)) {
                        book.fate[id].store(SENT, SeqCst);
                        break;
                    }
                }
                None => book.lose(),
            }
            assert!(place.is_some(), "what was not sent is still there");
        }
    }
}

fn receive_all(round: Round, mut random: Random) {
    let Round { tx, rx, book } = round;
    drop(tx);
    let mut ended = [false; 2];
    while ended != [true; 2] {
        let i = random.below(2);
        // Of one channel, or of both; `None` is lost.
        let got = match random.below(7) {
            0 => match rx[i].try_recv() {
                Ok(message) => Some((i, Ok(message))),
                Err(TryRecvError::Closed) => Some((i, Err(RecvError))),
                Err(TryRecvError::Empty) => None,
            },
            1 => match rx[i].recv_timeout(limit(&mut random)) {
                Ok(message) => Some((i, Ok(message))),
                Err(RecvTimeoutError::Closed) => Some((i, Err(RecvError))),
                Err(RecvTimeoutError::Timeout) => None,
            },
            2 => {
                let mut receiving = pin!(rx[i].recv_async());
                let mut polled = poll_once(receiving.as_mut());
                if polled.is_pending() && random.below(2) == 0 {
                    yield_now();
                    polled = poll_once(receiving.as_mut());
                }
                match polled {
                    Poll::Ready(result) => Some((i, result)),
                    Poll::Pending => None,
                }
            }
            3 => select! {
                m = rx[0].recv(), if !ended[0] => Some((0, m)),
                m = rx[1].recv(), if !ended[1] => Some((1, m)),
                after(limit(&mut random)) => None,
            },
            4 => select! { m = rx[0].recv() => Some((0, m)), m = rx[1].recv() => Some((1, m)), default => None },
            5 => {
                let mut selecting = pin!(async {
                    select_async! {
                        m = rx[0].recv(), if !ended[0] => (0, m),
                        m = rx[1].recv(), if !ended[1] => (1, m),
                    }
                });
                let mut polled = poll_once(selecting.as_mut());
                if polled.is_pending() && random.below(2) == 0 {
                    yield_now();
                    polled = poll_once(selecting.as_mut());
                }
                match polled {
                    Poll::Ready(got) => Some(got),
                    Poll::Pending => None,
                }
            }
            _ => {
                let mut select = Select::new();
                for (i, rx) in rx.iter().enumerate().filter(|(i, _)| !ended[*i]) {
                    select.recv(rx, move |m| (i, m));
                }
                select.wait_timeout(limit(&mut random))
            }
        };
        match got {
            Some((_, Ok(message))) => book.take(message),
            Some((i, Err(RecvError))) => ended[i] = true,
            None => book.lose(),
        }
    }
}

async fn receive_all_async(round: Round, mut random: Random) {
    let Round { tx, rx, book } = round;
    drop(tx);
    let mut ended = [false; 2];
    while ended != [true; 2] {
        let got = select_async! {
            m = rx[0].recv(), if !ended[0] => Some((0, m)),
            m = rx[1].recv(), if !ended[1] => Some((1, m)),
            _ = sleep_async(limit(&mut random)) => None,
        };
        match got {
            Some((_, Ok(message))) => book.take(message),
            Some((i, Err(RecvError))) => ended[i] = true,
            None => book.lose(),
        }
    }
}

/// One life of two channels; how many operations have lost.
fn round(rt: &myriad::Runtime, random: &mut Random, what: &str) -> usize {
    // A send to the last two loses messages on purpose.
    let kinds = [random.below(6), random.below(6)];
    let [(tx, rx), (tx2, rx2)] = kinds.map(|kind| match kind {
        0 => rendezvous(),
        1 => bounded(1),
        2 => bounded(4),
        3 => unbounded(),
        4 => bounded_drop_oldest(2),
        _ => bounded_drop_newest(2),
    });
    let keeps_all = kinds.map(|kind| kind < 4) == [true; 2];
    let (senders, each) = (1 + random.below(4), 1 + random.below(150));
    let book = Arc::new(Book {
        count: Arc::default(),
        fate: (0..senders * each).map(|_| AtomicU8::new(UNSENT)).collect(),
        seen: (0..senders * each).map(|_| AtomicU8::new(0)).collect(),
        lost: AtomicUsize::new(0),
    });
    let share = || Round { tx: [tx.clone(), tx2.clone()], rx: [rx.clone(), rx2.clone()], book: book.clone() };
    let mut running: Vec<_> = (0..senders)
        .map(|who| {
            let (ids, mine) = (who * each..(who + 1) * each, Random::new(random.next()));
            let (a, b, ids2, mine2) = (share(), share(), ids.clone(), mine.clone());
            start(rt, KINDS[random.below(3)], move || send_all(a, ids, mine), send_all_async(b, ids2, mine2))
        })
        .collect();
    running.extend((0..1 + random.below(4)).map(|_| {
        let (a, b, mine) = (share(), share(), Random::new(random.next()));
        let mine2 = mine.clone();
        start(rt, KINDS[random.below(3)], move || receive_all(a, mine), receive_all_async(b, mine2))
    }));
    if random.below(3) == 0 {
        std::thread::sleep(Duration::from_micros(random.below(500) as u64));
        if random.below(2) == 0 {
            tx.close()
        } else {
            rx2.close()
        };
    }
    drop((tx, tx2));
    running.into_iter().for_each(Running::join);
    // What a receive that was dropped last has given back.
    rx.try_iter().chain(rx2.try_iter()).for_each(|message| book.take(message));
    drop((rx, rx2));
    for (id, (fate, seen)) in book.fate.iter().zip(&book.seen).enumerate() {
        let (fate, seen) = (fate.load(SeqCst), seen.load(SeqCst));
        assert!(fate != UNSENT || seen == 0, "{what}: message {id} came back, and was received");
        assert!(fate != SENT || seen == 1 || !keeps_all, "{what}: message {id} is lost");
    }
    assert_eq!(book.count.alive(), 0, "{what}: a message is not dropped");
    book.lost.load(SeqCst)
}

/// Rounds until the end says so.
fn rounds(end: impl Fn(usize) -> bool) {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut n, mut lost) = (0, 0);
    while !end(lost) {
        let modes: Vec<Mode> = modes().collect();
        let builder = modes[random.below(modes.len())].builder();
        let rt = builder.workers(1 + random.below(3)).pin_workers(false).build().unwrap();
        for _ in 0..20 {
            let what = format!("seed {seed}, round {n}");
            let _watch = watch_for(&what, Duration::from_secs(60));
            lost += round(&rt, &mut random, &what);
            n += 1;
        }
        let report = rt.shutdown(Duration::from_secs(60));
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
    println!("{n} rounds, {lost} operations have lost");
    assert!(lost > 0);
}

#[test]
fn lost_operations_lose_nothing() {
    let seconds = std::env::var("MYRIAD_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    rounds(|lost| lost > 0 && Instant::now() >= end);
}

#[test]
#[ignore = "takes up to a minute"]
fn a_million_lost() {
    rounds(|lost| lost >= 1_000_000);
}
