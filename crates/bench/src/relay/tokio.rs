//! `relay` by tokio, with its own channels. Bounded and unbounded are two types there, hence the
//! macro.

use std::time::{Duration, Instant};

use tokio::spawn;
use tokio::sync::mpsc::{channel, unbounded_channel};

use crate::host;
use crate::params::Params;
use crate::payload::{Message, by_payload, total};
use crate::record::{Failure, Outcome};

pub(super) fn run(p: &Params) -> Outcome {
    if p.buffer == Some(0) {
        return Err(Failure::Cannot("the channels of tokio have no rendezvous (a buffer of 0)".into()));
    }
    by_payload!(p, run_with)
}

fn run_with<P: Message>(p: &Params) -> Outcome {
    let rt = host::tokio::start(p);
    super::measure(p, || match p.buffer {
        None => rt.run(unbounded::<P>(p.n, p.m)),
        Some(slots) => rt.run(bounded::<P>(p.n, p.m, slots)),
    })
}

/// The program: `$channel` makes a channel, `$send` sends and gives a result.
macro_rules! relay {
    ($n:expr, $m:expr, $channel:expr, |$tx:ident, $v:ident| $send:expr) => {{
        let begin = Instant::now();
        let (head, mut rx) = $channel;
        for _ in 0..$m {
            let (tx, next) = $channel;
            let mut rx_here = std::mem::replace(&mut rx, next);
            spawn(async move {
                while let Some($v) = rx_here.recv().await {
                    let $tx = &tx;
                    if $send.is_err() {
                        break;
                    }
                }
            });
        }
        spawn(async move {
            let source = P::source();
            for i in 0..$n {
                let ($tx, $v) = (&head, P::make(&source, i));
                $send.ok();
            }
        });
        let mut sum = 0;
        for _ in 0..$n {
            sum += rx.recv().await.unwrap().sum();
        }
        let time = begin.elapsed();
        Failure::check(sum, total::<P>($n))?;
        Ok(time)
    }};
}

async fn unbounded<P: Message>(n: u64, m: u64) -> Result<Duration, Failure> {
    relay!(n, m, unbounded_channel::<P>(), |tx, v| tx.send(v))
}

async fn bounded<P: Message>(n: u64, m: u64, slots: usize) -> Result<Duration, Failure> {
    relay!(n, m, channel::<P>(slots), |tx, v| tx.send(v).await)
}
