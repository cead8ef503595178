//! `relay` by may: its own unbounded channels, or bounded ones made from them and a semaphore.

use std::time::{Duration, Instant};

use may::coroutine::spawn;
use may::sync::mpsc;

use crate::params::Params;
use crate::payload::{Message, by_payload, total};
use crate::record::{Failure, Outcome};
use crate::{host, limits};

pub(super) fn run(p: &Params) -> Outcome {
    if p.buffer == Some(0) {
        return Err(Failure::Cannot("may has no rendezvous (a buffer of 0)".into()));
    }
    limits::may(p.m)?;
    by_payload!(p, run_with)
}

fn run_with<P: Message>(p: &Params) -> Outcome {
    let may = host::may::start(p);
    let (n, m, buffer) = (p.n, p.m, p.buffer);
    super::measure(p, || match buffer {
        None => may.run(move || once(n, m, mpsc::channel::<P>, |tx, v| tx.send(v).is_ok(), |rx| rx.recv().ok())),
        Some(slots) => may.run(move || {
            let channel = || host::may::bounded::<P>(slots);
            once(n, m, channel, |tx, v| tx.send(v).is_ok(), |rx| rx.recv())
        }),
    })
}

/// The program; may's two kinds of channel come in as functions.
fn once<P: Message, S: Send + 'static, R: Send + 'static>(
    n: u64,
    m: u64,
    channel: impl Fn() -> (S, R),
    send: impl Fn(&S, P) -> bool + Copy + Send + 'static,
    recv: impl Fn(&R) -> Option<P> + Copy + Send + 'static,
) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (head, mut rx) = channel();
    for _ in 0..m {
        let (tx, next) = channel();
        let relay = move || {
            while let Some(v) = recv(&rx) {
                if !send(&tx, v) {
                    break;
                }
            }
        };
        // SAFETY: no thread-local values, no deep calls (host/may.rs).
        unsafe { spawn(relay) };
        rx = next;
    }
    let feeder = move || {
        let source = P::source();
        for i in 0..n {
            send(&head, P::make(&source, i));
        }
    };
    // SAFETY: no thread-local values, no deep calls (host/may.rs).
    unsafe { spawn(feeder) };
    let mut sum = 0;
    for _ in 0..n {
        sum += recv(&rx).unwrap().sum();
    }
    let time = begin.elapsed();
    Failure::check(sum, total::<P>(n))?;
    Ok(time)
}
