//! Cancellation against everything else: operations are cancelled at random moments, by handles,
//! limits and tokens, and no message is lost or doubled.
//!
//! `MYRIAD_STRESS_SEED` repeats a run, `MYRIAD_STRESS_OPS` sets how many operations are cancelled
//! (a million in full length).

use crate::common::{MODES, Mode, Rng, case};
use myriad::cancel::Token;
use myriad::channel::{Receiver, Sender, bounded, rendezvous, unbounded};
use myriad::time::timeout;
use myriad::{JoinHandle, cancel, scope, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::*};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

fn from_env(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|v| v.parse().unwrap_or_else(|_| panic!("{name} must be a number, not '{v}'")))
}

fn seed() -> u64 {
    let seed = from_env("MYRIAD_STRESS_SEED")
        .unwrap_or_else(|| SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64);
    println!("MYRIAD_STRESS_SEED={seed}");
    seed
}

/// How many operations are to be cancelled.
fn goal() -> u64 {
    from_env("MYRIAD_STRESS_OPS").unwrap_or(20_000)
}

/// What each side has really done. A send counts when it says so; what was received is summed up.
#[derive(Default)]
struct Books {
    sent: AtomicU64,
    sent_sum: AtomicU64,
    got: AtomicU64,
    got_sum: AtomicU64,
    cancelled: AtomicU64,
}

/// One operation, which may be cancelled anywhere.
fn one(rng: &mut Rng, tx: &Sender<u64>, rx: &Receiver<u64>, books: &Books) {
    if rng.below(2) == 0 {
        let message = rng.below(1 << 30);
        let sent = match rng.below(3) {
            0 => tx.send_timeout(message, Duration::from_micros(rng.below(200))).is_ok(),
            _ => tx.send(message).is_ok(),
        };
        if sent {
            books.sent.fetch_add(1, Relaxed);
            books.sent_sum.fetch_add(message, Relaxed);
        }
    } else {
        let got = match rng.below(3) {
            0 => rx.recv_timeout(Duration::from_micros(rng.below(200))).ok(),
            _ => rx.recv().ok(),
        };
        if let Some(message) = got {
            books.got.fetch_add(1, Relaxed);
            books.got_sum.fetch_add(message, Relaxed);
        }
    }
}

fn channel(kind: u64) -> (Sender<u64>, Receiver<u64>) {
    match kind {
        0 => rendezvous(),
        1 => bounded(1),
        2 => bounded(8),
        _ => unbounded(),
    }
}

fn stress(workers: usize, mode: Mode, goal: u64, rng: &mut Rng) {
    case(
        mode,
        workers,
        |b| b,
        |rt| {
            let books = Arc::new(Books::default());
            let begun = std::time::Instant::now();
            while books.cancelled.load(Relaxed) < goal && begun.elapsed() < Duration::from_secs(15) {
                let (tx, rx) = channel(rng.below(4));
                let how = rng.below(3);
                let token = Token::new();
                let tasks: Vec<JoinHandle<()>> = (0..32)
                    .map(|_| {
                        let (mut rng, tx, rx, books, token) =
                            (rng.fork(), tx.clone(), rx.clone(), books.clone(), token.child());
                        rt.spawn(move || match how {
                            0 => loop {
                                one(&mut rng, &tx, &rx, &books);
                            },
                            1 => {
                                for _ in 0..20 {
                                    let limit = Duration::from_micros(rng.below(100));
                                    if timeout(limit, || one(&mut rng, &tx, &rx, &books)).is_err() {
                                        books.cancelled.fetch_add(1, Relaxed);
                                    }
                                }
                            }
                            _ => {
                                _ = token.run(|| {
                                    loop {
                                        one(&mut rng, &tx, &rx, &books);
                                    }
                                });
                                books.cancelled.fetch_add(1, Relaxed);
                            }
                        })
                    })
                    .collect();
                rt.run(|| {
                    for _ in 0..rng.below(50) {
                        yield_now();
                    }
                });
                match how {
                    0 => tasks.iter().for_each(JoinHandle::cancel),
                    2 => token.cancel(),
                    _ => {}
                }
                for task in tasks {
                    match task.join() {
                        Ok(()) => {}
                        Err(e) if e.is_cancelled() => _ = books.cancelled.fetch_add(1, Relaxed),
                        Err(e) => panic!("{e}"),
                    }
                }
                // Whatever was sent, and not received, is still there.
                for message in rx.try_iter() {
                    books.got.fetch_add(1, Relaxed);
                    books.got_sum.fetch_add(message, Relaxed);
                }
                let (sent, got) = (books.sent.load(Relaxed), books.got.load(Relaxed));
                assert_eq!(sent, got, "messages sent, received; {mode}, {workers} workers, by {how}");
                assert_eq!(books.sent_sum.load(Relaxed), books.got_sum.load(Relaxed), "their sums");
            }
            println!(
                "{mode}, {workers} workers: {} operations cancelled, {} messages",
                books.cancelled.load(Relaxed),
                books.sent.load(Relaxed)
            );
        },
    );
}

#[test]
fn no_message_is_lost_or_doubled() {
    let mut rng = Rng(seed());
    for mode in MODES {
        for workers in [1, 2, 4] {
            stress(workers, mode, goal() / 6, &mut rng);
        }
    }
}

/// Scopes that are cancelled while their tasks begin, block, end, spawn and are joined.
#[test]
fn scopes_come_and_go() {
    let mut rng = Rng(seed());
    for mode in MODES {
        for workers in [1, 2, 4] {
            case(
                mode,
                workers,
                |b| b,
                |rt| {
                    for _ in 0..goal() / 200 {
                        let mut rng = rng.fork();
                        let alive = AtomicU64::new(0);
                        rt.run(|| {
                            scope(|s| {
                                let (tx, rx) = bounded::<u64>(1);
                                for _ in 0..rng.below(20) {
                                    let (mut rng, tx, rx, alive) = (rng.fork(), tx.clone(), rx.clone(), &alive);
                                    s.spawn(move || {
                                        struct Alive<'a>(&'a AtomicU64);
                                        impl Drop for Alive<'_> {
                                            fn drop(&mut self) {
                                                self.0.fetch_sub(1, Relaxed);
                                            }
                                        }
                                        alive.fetch_add(1, Relaxed);
                                        let _alive = Alive(alive);
                                        match rng.below(5) {
                                            0 => _ = tx.send(1),
                                            1 => _ = rx.recv(),
                                            2 => _ = spawn(move || rx.recv()).join(),
                                            3 => scope(|s| {
                                                s.spawn(|| tx.send(1));
                                            }),
                                            _ => yield_now(),
                                        }
                                    });
                                }
                                for _ in 0..rng.below(5) {
                                    yield_now();
                                }
                                s.cancel();
                            });
                            assert!(!cancel::is_cancelled());
                        });
                        assert_eq!(alive.load(Relaxed), 0);
                    }
                },
            );
        }
    }
}

/// Futures that are cancelled about when their first poll begins. (By a mark that neither the poll
/// saw nor anybody looked for again, one of some 100,000 was pending for ever.)
#[test]
fn futures_in_their_first_poll() {
    let mut rng = Rng(seed());
    for mode in MODES {
        for workers in [1, 2] {
            case(
                mode,
                workers,
                |b| b,
                |rt| {
                    for _ in 0..goal() {
                        let task = rt.spawn_async(std::future::pending::<()>());
                        (0..rng.below(700)).for_each(|_| std::hint::spin_loop());
                        task.cancel();
                        assert!(task.join().unwrap_err().is_cancelled());
                    }
                },
            );
        }
    }
}
