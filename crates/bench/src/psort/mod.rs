//! `psort`: sorting `n` elements in place.
//!
//! Forms: `stable` and `unstable` sort random `f64` by `total_cmp`, through a comparator; `floats`
//! the same by the fastest that a system has for them (ours may know that they are numbers, which a
//! comparator hides); `records` sorts pairs of a key and 24 bytes, stably; `nested` sorts 16 parts,
//! each in a task of its own, stably.
//!
//! `m` says what the keys are: 0, the default, is random; 1 is in order but for 1 % of them; more
//! is so many different values.
//!
//! The system `std` is the serial sort of std, of the same kind. Each repeat sorts a fresh copy,
//! made untimed; afterwards the elements must be in order, and must be the same ones (their sum and
//! their exclusive or); records of equal keys must be in their old order. An operation is an
//! element.

use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::{processor, sample};

#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
mod rayon;
mod std_serial;

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "psort",
    about: "sorting n elements; m is 0 for random keys, 1 for nearly sorted ones, else how many different ones; `std` is serial",
    unit: Unit::Per("element"),
    size: Size::n(500_000),
    full: Size::n(20_000_000),
    takes: Takes { m: true, payload: false, buffer: false },
    check: at_least_one,
    forms: &[
        Form {
            name: "stable",
            about: "f64 by a comparator, stable",
            entries: &[
                Entry::new("myriad", ours!(myriad::stable)),
                Entry::new("rayon", peer!(rayon::stable)),
                Entry::new("std", Some(std_serial::stable)).unbound().reference(),
            ],
        },
        Form {
            name: "unstable",
            about: "f64 by a comparator, unstable, in place",
            entries: &[
                Entry::new("myriad", ours!(myriad::unstable)),
                Entry::new("rayon", peer!(rayon::unstable)),
                Entry::new("std", Some(std_serial::unstable)).unbound().reference(),
            ],
        },
        Form {
            name: "floats",
            about: "f64 by the fastest way there is",
            entries: &[
                Entry::new("myriad", ours!(myriad::floats)),
                Entry::new("rayon", peer!(rayon::unstable)),
                Entry::new("std", Some(std_serial::unstable)).unbound().reference(),
            ],
        },
        Form {
            name: "records",
            about: "a key of 8 bytes and 24 bytes with it, stable",
            entries: &[
                Entry::new("myriad", ours!(myriad::records)),
                Entry::new("rayon", peer!(rayon::records)),
                Entry::new("std", Some(std_serial::records)).unbound().reference(),
            ],
        },
        Form {
            name: "nested",
            about: "16 parts, each sorted in a task of its own, stable",
            entries: &[
                Entry::new("myriad", ours!(myriad::nested)),
                Entry::new("rayon", peer!(rayon::nested)),
                Entry::new("std", Some(std_serial::nested)).unbound().reference(),
            ],
        },
    ],
};

/// Parts of the form `nested`.
const PARTS: usize = 16;

/// An element of the form `records`: 32 bytes.
#[derive(Clone, Copy)]
struct Record {
    key: u64,
    /// Where it stood; the rest of the payload is derived from it.
    payload: [u64; 3],
}

/// The keys, as random numbers of 53 bits (splitmix64).
fn keys(p: &Params) -> Vec<u64> {
    let mut state = p.seed;
    let mut random = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) >> 11
    };
    match p.m {
        0 => (0..p.n).map(|_| random()).collect(),
        1 => {
            let mut keys: Vec<u64> = (0..p.n).collect();
            for _ in 0..p.n / 200 {
                keys.swap((random() % p.n) as usize, (random() % p.n) as usize);
            }
            keys
        }
        values => (0..p.n).map(|_| random() % values).collect(),
    }
}

/// Measures a sort of floats, in `parts` parts.
fn floats(p: &Params, parts: usize, sort: impl FnMut(&mut [f64])) -> Outcome {
    // Half of them negative.
    let middle = if p.m == 0 { 2_f64.powi(52) } else { p.n.min(p.m.max(2)) as f64 / 2.0 };
    let base: Vec<f64> = keys(p).into_iter().map(|key| key as f64 - middle).collect();
    measure(p, &base, parts, |x| x.to_bits(), |a, b| a.total_cmp(b).is_le(), sort)
}

/// Measures a stable sort of records.
fn records(p: &Params, sort: impl FnMut(&mut [Record])) -> Outcome {
    let base: Vec<Record> =
        keys(p).into_iter().zip(0..).map(|(key, i)| Record { key, payload: [i, !i, i.rotate_left(32)] }).collect();
    let digest = |r: &Record| r.key ^ r.payload[0].wrapping_mul(3) ^ r.payload[1] ^ r.payload[2];
    measure(p, &base, 1, digest, |a, b| (a.key, a.payload[0]) <= (b.key, b.payload[0]), sort)
}

/// Measures a sort of copies of `base`.
fn measure<T: Copy>(
    p: &Params,
    base: &[T],
    parts: usize,
    digest: impl Fn(&T) -> u64,
    in_order: impl Fn(&T, &T) -> bool,
    mut sort: impl FnMut(&mut [T]),
) -> Outcome {
    let digests = |v: &[T]| {
        v.iter().map(&digest).fold((0_u64, 0_u64), |(sum, xor), d| (sum.wrapping_add(d.wrapping_mul(d | 1)), xor ^ d))
    };
    let (sum, xor) = digests(base);
    let mut v = base.to_vec();
    sample::warm(p.n, || {
        processor::untimed(|| v.copy_from_slice(base));
        let begin = Instant::now();
        sort(&mut v);
        let time: Duration = begin.elapsed();
        processor::untimed(|| {
            let part = v.len().div_ceil(parts);
            let unsorted = v.chunks(part).map(|part| part.windows(2).filter(|w| !in_order(&w[0], &w[1])).count()).sum();
            Failure::check::<usize>(unsorted, 0)?;
            let after = digests(&v);
            Failure::check(after.0, sum)?;
            Failure::check(after.1, xor)
        })?;
        Ok(time)
    })
}

#[cfg(test)]
mod test {
    use super::*;

    fn params(n: u64, m: u64) -> Params {
        Params { n, m, ..Params::new(&WORKLOAD, &WORKLOAD.forms[0], "std", 1) }
    }

    #[test]
    fn a_sort_that_is_none_is_found_out() {
        let p = params(1000, 0);
        assert!(floats(&p, 1, |v| v.sort_by(f64::total_cmp)).is_ok());
        assert!(floats(&p, 1, |_| ()).is_err(), "not sorted");
        assert!(floats(&p, 1, |v| v.fill(1.0)).is_err(), "other elements");
        assert!(floats(&p, 4, |v| v.chunks_mut(250).for_each(|part| part.sort_by(f64::total_cmp))).is_ok());
        let p = params(1000, 10);
        assert!(records(&p, |v| v.sort_by_key(|r| r.key)).is_ok());
        assert!(records(&p, |v| v.sort_by_key(|r| (r.key, !r.payload[0]))).is_err(), "not stable");
    }

    #[test]
    fn keys_are_as_asked() {
        assert!(keys(&params(1000, 16)).iter().all(|&key| key < 16));
        let nearly = keys(&params(1000, 1));
        let moved = nearly.iter().zip(0..).filter(|&(&key, i)| key != i).count();
        assert!((1..=10).contains(&moved), "{moved}");
    }
}
