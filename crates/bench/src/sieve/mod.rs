//! `sieve`: Hoare's prime sieve (Communicating Sequential Processes, 6.1): a task per prime.
//!
//! A feeder sends the odd numbers 3, 5, 7, … The first number that a filter receives is its prime;
//! of the rest it sends on what its prime does not divide. Channels have 5 slots. The root is the
//! process of the last of `n` odd primes, and that prime is the answer (17393 for 2,000). The time
//! ends when it arrives; then the channels close one by one.
//!
//! An operation is a message that had to be received for it: 2,027,238 for n = 2,000. (Numbers
//! above the last prime that were on their way are not counted.)

use std::time::Duration;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

#[cfg(feature = "peers")]
mod may;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod smol;
mod std_threads;
#[cfg(feature = "peers")]
mod tokio;

/// Slots of each channel.
const SLOTS: usize = 5;
/// Up to this many primes, the run is repeated in a warm process.
const WARM: u64 = 500;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "sieve",
    about: "Hoare's prime sieve, a task for each of the first n odd primes, channels of 5 slots",
    unit: Unit::Whole,
    size: Size::n(500),
    full: Size::n(2_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form {
            name: "closure",
            about: "filters are closures that block",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::run)),
                Entry::new("std", Some(std_threads::run)).unbound().extra(),
            ],
        },
        Form {
            name: "placed-closure",
            about: "the same, in a block for each worker",
            entries: &[
                Entry::new("myriad", ours!(myriad::closure)).waits(),
                Entry::new("may", peer!(may::run)).extra(),
            ],
        },
        Form {
            name: "future",
            about: "filters are futures",
            entries: &[
                Entry::new("myriad", ours!(myriad::future)),
                Entry::new("tokio", peer!(tokio::run)),
                Entry::new("tokio-current", peer!(tokio::run)).single(),
                Entry::new("smol", peer!(smol::run)),
            ],
        },
    ],
};

/// The numbers that the feeder sends.
fn odd() -> impl Iterator<Item = u64> + Send {
    (3..).step_by(2)
}

/// The last of the first `n` odd primes, and how many messages the tasks must receive to find it.
fn answer(n: u64) -> (u64, u64) {
    let (mut primes, mut messages) = (Vec::new(), 0);
    for x in odd() {
        match primes.iter().position(|p| x % p == 0) {
            // It is received by the filters up to the one whose prime divides it.
            Some(filter) => messages += filter as u64 + 1,
            None => {
                messages += primes.len() as u64 + 1;
                primes.push(x);
            }
        }
        if primes.len() as u64 == n {
            return (x, messages);
        }
    }
    unreachable!("there are infinitely many primes")
}

/// Measures `once`, which returns the time and the last prime.
fn measure(p: &Params, mut once: impl FnMut() -> (Duration, u64)) -> Outcome {
    let (prime, messages) = answer(p.n);
    let once = || {
        let (time, last) = once();
        Failure::check(last, prime)?;
        Ok(time)
    };
    if p.n <= WARM { sample::warm(messages, once) } else { sample::fresh(messages, p.n, once) }
}

#[cfg(test)]
mod test {
    #[test]
    fn the_numbers_of_the_description() {
        assert_eq!(super::answer(1), (3, 1));
        assert_eq!(super::answer(2), (5, 3));
        assert_eq!(super::answer(2_000), (17_393, 2_027_238));
    }
}
