//! `select`: waiting for one of several channels: `n` messages, each to another of them.
//!
//! In the forms `two` and `eight` one task (or thread) sends a message to one of so many unbounded
//! channels, and receives it by a select over all: one of them is ready, nobody waits. In the form
//! `waiting` one task sends to two one-slot channels by turns, another receives by a select that
//! mostly has to wait. An operation is a message, with its send.
//!
//! The answer is the sum of the messages, each checked to have come out of the channel that it was
//! sent to.

use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod crossbeam;
#[cfg(feature = "peers")]
mod flume;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod tokio;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "select",
    about: "waiting for one of several channels, n messages",
    unit: Unit::Per("message"),
    size: Size::n(10_000),
    full: Size::n(5_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "two",
            about: "two channels, one of them ready",
            entries: &[
                Entry::new("myriad", ours!(myriad::two)),
                Entry::new("crossbeam", peer!(crossbeam::two)).unbound(),
                Entry::new("flume", peer!(flume::two)).unbound(),
                Entry::new("tokio", peer!(tokio::two)),
            ],
        },
        Form {
            name: "eight",
            about: "eight channels, one of them ready",
            entries: &[
                Entry::new("myriad", ours!(myriad::eight)),
                Entry::new("crossbeam", peer!(crossbeam::eight)).unbound(),
                Entry::new("flume", peer!(flume::eight)).unbound(),
                Entry::new("tokio", peer!(tokio::eight)),
            ],
        },
        Form {
            name: "dynamic",
            about: "eight channels in a list made at run time, one of them ready",
            entries: &[
                Entry::new("myriad", ours!(myriad::dynamic)),
                Entry::new("crossbeam", peer!(crossbeam::dynamic)).unbound(),
            ],
        },
        Form {
            name: "waiting",
            about: "two one-slot channels, and a sender that fills them by turns",
            entries: &[
                Entry::new("myriad", ours!(myriad::waiting)).waits(),
                Entry::new("crossbeam", peer!(crossbeam::waiting)).unbound(),
                Entry::new("tokio", peer!(tokio::waiting)),
            ],
        },
    ],
};

/// Adds up messages.
struct Sum {
    begin: Instant,
    sum: u64,
    wrong: u64,
}

impl Sum {
    fn start() -> Sum {
        Sum { begin: Instant::now(), sum: 0, wrong: 0 }
    }
    /// Message `i` has come out of channel `from` of `channels`.
    #[inline(always)]
    fn add(&mut self, i: u64, from: usize, channels: usize) {
        self.sum += i;
        self.wrong += u64::from(channel(i, channels) != from);
    }
    fn end(self) -> (Duration, u64) {
        // A message out of the wrong channel makes the answer wrong.
        (self.begin.elapsed(), self.sum.wrapping_add(self.wrong << 40))
    }
}

/// The channel of message `i`: as if by chance, so that no system can guess it.
#[inline(always)]
fn channel(i: u64, channels: usize) -> usize {
    (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 61) as usize % channels
}

/// Measures `once`, which returns the time and the sum.
#[cfg(any(feature = "ours", feature = "peers"))]
fn measure(p: &Params, mut once: impl FnMut(u64) -> (Duration, u64)) -> Outcome {
    sample::warm(p.n, || {
        let (time, sum) = once(p.n);
        Failure::check(sum, p.n * (p.n - 1) / 2)?;
        Ok(time)
    })
}
