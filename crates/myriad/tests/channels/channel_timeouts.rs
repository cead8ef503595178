//! Time limits that run out just when the partner comes: nothing is lost, doubled or out of order.
//!
//! At full length some 100,000 operations in each test.

use crate::channel_common::*;
use crate::common::full_length;
use myriad::Runtime;
use myriad::channel::*;
use std::time::Duration;

fn messages() -> u32 {
    if full_length() { 1_400 } else { 600 }
}

/// Pauses of a partner that is sometimes in time and sometimes late.
fn pause(random: &mut Random) {
    for _ in 0..random.below(400) {
        std::hint::spin_loop();
    }
}

fn limit(random: &mut Random) -> Duration {
    Duration::from_nanos([0, 1, 500, 2_000, 10_000, 40_000][random.below(6)])
}

/// Receives with tiny time limits until the channel is closed. Says how many ran out.
fn impatient_receiver(rx: Receiver<u32>, mut random: Random) -> (Vec<u32>, usize) {
    let (mut all, mut late) = (Vec::new(), 0);
    loop {
        match rx.recv_timeout(limit(&mut random)) {
            Ok(message) => all.push(message),
            Err(RecvTimeoutError::Timeout) => late += 1,
            Err(RecvTimeoutError::Closed) => return (all, late),
        }
        pause(&mut random);
    }
}

/// Sends with tiny time limits, each message until it has gone.
fn impatient_sender(tx: Sender<u32>, messages: std::ops::Range<u32>, mut random: Random) -> usize {
    let mut late = 0;
    for mut message in messages {
        while let Err(error) = tx.send_timeout(message, limit(&mut random)) {
            assert!(error.is_timeout());
            message = error.into_inner();
            late += 1;
        }
        pause(&mut random);
    }
    late
}

/// Blocking kinds only: futures have no time limits of their own.
const BLOCKING: [Kind; 2] = [Kind::Closure, Kind::Thread];

fn start_blocking<T: Send + 'static>(
    rt: &Runtime,
    kind: Kind,
    body: impl FnOnce() -> T + Send + 'static,
) -> Running<T> {
    match kind {
        Kind::Thread => Running::Thread(std::thread::spawn(body)),
        _ => Running::Task(rt.spawn(body)),
    }
}

#[test]
fn impatient_receivers() {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    each_runtime(|rt| {
        for capacity in CAPACITIES {
            for receiver in BLOCKING {
                for sender in KINDS {
                    let (tx, rx) = channel(capacity);
                    let random = Random::new(seed);
                    let receiving = start_blocking(rt, receiver, move || impatient_receiver(rx, random));
                    let mut random = Random::new(seed + 1);
                    let sent = (0..messages()).inspect(move |_| pause(&mut random));
                    send_all(rt, sender, tx, sent).join();
                    let (all, _) = receiving.join();
                    assert!(all.iter().copied().eq(0..messages()), "{receiver:?} {sender:?} {capacity:?}: {all:?}");
                }
            }
        }
    });
}

#[test]
fn impatient_senders() {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    each_runtime(|rt| {
        for capacity in [Some(0), Some(1), Some(5)] {
            for sender in BLOCKING {
                for receiver in KINDS {
                    let (tx, rx) = channel(capacity);
                    let random = Random::new(seed);
                    let sending = start_blocking(rt, sender, move || impatient_sender(tx, 0..messages(), random));
                    let all = receive_all(rt, receiver, rx).join();
                    assert!(all.iter().copied().eq(0..messages()), "{sender:?} {receiver:?} {capacity:?}: {all:?}");
                    sending.join();
                }
            }
        }
    });
}

/// Two impatient ones on each side.
#[test]
fn impatient_everywhere() {
    let seed = seed();
    println!("MYRIAD_TEST_SEED={seed}");
    each_runtime(|rt| {
        for capacity in [Some(0), Some(1), Some(5)] {
            let (tx, rx) = channel(capacity);
            let receiving: Vec<_> = BLOCKING
                .into_iter()
                .zip(0..)
                .map(|(kind, i)| {
                    let (rx, random) = (rx.clone(), Random::new(seed + i));
                    start_blocking(rt, kind, move || impatient_receiver(rx, random))
                })
                .collect();
            drop(rx);
            let sending: Vec<_> = BLOCKING
                .into_iter()
                .zip(0..)
                .map(|(kind, i)| {
                    let (tx, random) = (tx.clone(), Random::new(seed + 10 + u64::from(i)));
                    let messages = i * messages()..(i + 1) * messages();
                    start_blocking(rt, kind, move || impatient_sender(tx, messages, random))
                })
                .collect();
            drop(tx);
            let late: usize = sending.into_iter().map(Running::join).sum();
            let mut all = Vec::new();
            for (received, _) in receiving.into_iter().map(Running::join) {
                for sender in 0..2 {
                    assert!(received.iter().filter(|&m| m / messages() == sender).is_sorted(), "{capacity:?}");
                }
                all.extend(received);
            }
            all.sort_unstable();
            assert!(all.into_iter().eq(0..2 * messages()), "{capacity:?}, {late} sends late");
        }
    });
}
