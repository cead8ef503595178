//! Everything at once on one channel after another, for 2 seconds or `MYRIAD_STRESS_SECONDS`:
//! partners of all kinds that send, try, run out of time, cancel, clone, drop and close at random.
//! Each message must be received, come back, or be left, once; each sender's come in order to a
//! single receiver; nothing hangs.
//!
//! `MYRIAD_TEST_SEED=n` repeats the random numbers (not the interleaving).

use crate::channel_common::*;
use myriad::channel::*;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::{Duration, Instant};

/// What became of the messages of one round.
#[derive(Default)]
struct Tally {
    sent: AtomicUsize,
    received: AtomicUsize,
    /// There is one receiver.
    ordered: bool,
}

fn limit(random: &mut Random) -> Duration {
    Duration::from_nanos([0, 1, 1_000, 20_000, 300_000][random.below(5)])
}

/// One random send; the message comes back if it has not gone. Must know: so no send is cancelled
/// here.
fn send_somehow(tx: &Sender<Counted>, message: Counted, random: &mut Random) -> Result<(), Counted> {
    match random.below(4) {
        0 => tx.try_send(message).map_err(TrySendError::into_inner),
        1 => tx.send_timeout(message, limit(random)).map_err(SendTimeoutError::into_inner),
        2 => myriad::block_on(tx.send_async(message)).map_err(SendError::into_inner),
        _ => tx.send(message).map_err(SendError::into_inner),
    }
}

fn send_blocking(tx: Sender<Counted>, who: usize, n: usize, count: Arc<Count>, tally: Arc<Tally>, mut random: Random) {
    let mut tx = tx;
    for id in 0..n {
        let mut message = Counted::new(who << 32 | id, &count);
        // Until it has gone, at most so often.
        for _ in 0..random.below(20) + 1 {
            match send_somehow(&tx, message, &mut random) {
                Ok(()) => {
                    tally.sent.fetch_add(1, SeqCst);
                    break;
                }
                Err(back) => message = back,
            }
            if tx.is_closed() {
                return;
            }
        }
        if random.below(16) == 0 {
            tx = tx.clone();
        }
    }
}

async fn send_async(
    tx: Sender<Counted>,
    who: usize,
    n: usize,
    count: Arc<Count>,
    tally: Arc<Tally>,
    mut random: Random,
) {
    for id in 0..n {
        let message = Counted::new(who << 32 | id, &count);
        let sent = match random.below(3) {
            0 => tx.try_send(message).is_ok(),
            _ => tx.send_async(message).await.is_ok(),
        };
        if sent {
            tally.sent.fetch_add(1, SeqCst);
        } else if tx.is_closed() {
            return;
        }
        if random.below(8) == 0 {
            yield_once().await;
        }
    }
}

/// Checks the order, and counts. (What another receiver was handed and gave back may come after
/// later messages.)
fn take(message: Counted, last: &mut [Option<usize>], tally: &Tally) {
    let (who, id) = (message.id >> 32, message.id & 0xFFFF_FFFF);
    let in_order = last[who].is_none_or(|last| last < id);
    assert!(in_order || !tally.ordered, "{id} of sender {who} after {:?}", last[who]);
    last[who] = Some(id);
    tally.received.fetch_add(1, SeqCst);
}

fn receive_blocking(rx: Receiver<Counted>, tally: Arc<Tally>, mut random: Random) {
    let mut last = [None; 8];
    let mut rx = rx;
    loop {
        let closed = match random.below(5) {
            0 => match rx.try_recv() {
                Ok(message) => {
                    take(message, &mut last, &tally);
                    false
                }
                Err(error) => error == TryRecvError::Closed,
            },
            1 => match rx.recv_timeout(limit(&mut random)) {
                Ok(message) => {
                    take(message, &mut last, &tally);
                    false
                }
                Err(error) => error == RecvTimeoutError::Closed,
            },
            2 => {
                // Polled once and dropped: it may have been handed a message meanwhile, which goes
                // on to another.
                let mut receiving = pin!(rx.recv_async());
                match poll_once(receiving.as_mut()) {
                    Poll::Ready(Ok(message)) => take(message, &mut last, &tally),
                    Poll::Ready(Err(RecvError)) => return,
                    Poll::Pending => myriad::yield_now(),
                }
                false
            }
            3 => match myriad::block_on(rx.recv_async()) {
                Ok(message) => {
                    take(message, &mut last, &tally);
                    false
                }
                Err(RecvError) => true,
            },
            _ => match rx.recv() {
                Ok(message) => {
                    take(message, &mut last, &tally);
                    false
                }
                Err(RecvError) => true,
            },
        };
        if closed {
            return;
        }
        if random.below(16) == 0 {
            rx = rx.clone();
        }
    }
}

async fn receive_async(rx: Receiver<Counted>, tally: Arc<Tally>, mut random: Random) {
    let mut last = [None; 8];
    loop {
        if random.below(2) == 0 {
            match rx.recv_async().await {
                Ok(message) => take(message, &mut last, &tally),
                Err(RecvError) => return,
            }
            continue;
        }
        // Raced with a yield.
        let (mut receiving, mut pause) = (pin!(rx.recv_async()), pin!(yield_once()));
        let raced = std::future::poll_fn(|cx| match receiving.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending => pause.as_mut().poll(cx).map(|()| None),
        });
        match raced.await {
            Some(Ok(message)) => take(message, &mut last, &tally),
            Some(Err(RecvError)) => return,
            None => {}
        }
    }
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

#[test]
fn everything_at_once() {
    let seconds = std::env::var("MYRIAD_STRESS_SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let end = Instant::now() + Duration::from_secs_f64(seconds);
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    let mut random = Random::new(seed);
    let (mut rounds, mut messages) = (0, 0);
    while Instant::now() < end {
        let modes: Vec<Mode> = modes().collect();
        let builder = modes[random.below(modes.len())].builder();
        let rt = builder.workers(1 + random.below(3)).pin_workers(false).build().unwrap();
        for _ in 0..20 {
            let what = format!("seed {seed}, round {rounds}");
            let _watch = watch_for(&what, Duration::from_secs(60));
            messages += round(&rt, &mut random, &what);
            rounds += 1;
        }
        let report = rt.shutdown(Duration::from_secs(60));
        assert!(report.is_clean(), "seed {seed}: {report}");
    }
    println!("{rounds} rounds, {messages} messages");
}

/// One channel's life. Returns how many messages were sent.
fn round(rt: &myriad::Runtime, random: &mut Random, what: &str) -> usize {
    let capacity = CAPACITIES[random.below(4)];
    let receivers = 1 + random.below(4);
    let count = Arc::new(Count::default());
    let tally = Arc::new(Tally { ordered: receivers == 1, ..Tally::default() });
    let (tx, rx) = channel(capacity);
    let n = 1 + random.below(100);
    let sending: Vec<_> = (0..1 + random.below(5))
        .map(|who| {
            let (tx, tx2) = (tx.clone(), tx.clone());
            let (count, tally, mine) = (count.clone(), tally.clone(), Random::new(random.next()));
            let (count2, tally2, mine2) = (count.clone(), tally.clone(), mine.clone());
            let blocking = move || send_blocking(tx, who, n, count, tally, mine);
            start(rt, KINDS[random.below(3)], blocking, send_async(tx2, who, n, count2, tally2, mine2))
        })
        .collect();
    let receiving: Vec<_> = (0..receivers)
        .map(|_| {
            let (rx, rx2, tally, tally2) = (rx.clone(), rx.clone(), tally.clone(), tally.clone());
            let mine = Random::new(random.next());
            let mine2 = mine.clone();
            let blocking = move || receive_blocking(rx, tally, mine);
            start(rt, KINDS[random.below(3)], blocking, receive_async(rx2, tally2, mine2))
        })
        .collect();
    // Now and then closed in the middle; else by the last sender.
    let early = random.below(3) == 0;
    if early {
        std::thread::sleep(Duration::from_micros(random.below(500) as u64));
        tx.close();
    }
    drop(tx);
    sending.into_iter().for_each(Running::join);
    receiving.into_iter().for_each(Running::join);
    // A receive that was cancelled last may have given a message back when all others had gone.
    let left = rx.try_iter().count();
    drop(rx);
    let (sent, received) = (tally.sent.load(SeqCst), tally.received.load(SeqCst));
    assert_eq!(sent, received + left, "{what}: {capacity:?}, closed early: {early}");
    assert_eq!(count.alive(), 0, "{what}");
    sent
}
