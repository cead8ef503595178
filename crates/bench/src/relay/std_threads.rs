//! `relay` by OS threads and the channels of the standard library, whose two kinds come in as
//! functions.

use std::sync::mpsc;
use std::thread::spawn;
use std::time::{Duration, Instant};

use crate::limits;
use crate::params::Params;
use crate::payload::{Message, by_payload, total};
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    limits::threads(p.m)?;
    by_payload!(p, run_with)
}

fn run_with<P: Message>(p: &Params) -> Outcome {
    super::measure(p, || match p.buffer {
        None => once(p, mpsc::channel::<P>, |tx, v| tx.send(v).is_ok(), |rx| rx.recv().ok()),
        Some(slots) => once(p, || mpsc::sync_channel::<P>(slots), |tx, v| tx.send(v).is_ok(), |rx| rx.recv().ok()),
    })
}

fn once<P: Message, S: Send + 'static, R: Send + 'static>(
    p: &Params,
    channel: impl Fn() -> (S, R),
    send: impl Fn(&S, P) -> bool + Copy + Send + 'static,
    recv: impl Fn(&R) -> Option<P> + Copy + Send + 'static,
) -> Result<Duration, Failure> {
    let (n, m) = (p.n, p.m);
    let begin = Instant::now();
    let (head, mut rx) = channel();
    for _ in 0..m {
        let (tx, next) = channel();
        spawn(move || {
            while let Some(v) = recv(&rx) {
                if !send(&tx, v) {
                    break;
                }
            }
        });
        rx = next;
    }
    spawn(move || {
        let source = P::source();
        for i in 0..n {
            send(&head, P::make(&source, i));
        }
    });
    let mut sum = 0;
    for _ in 0..n {
        sum += recv(&rx).unwrap().sum();
    }
    let time = begin.elapsed();
    Failure::check(sum, total::<P>(n))?;
    Ok(time)
}
