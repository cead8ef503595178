//! `sum`: the sum of `n` floats of 64 bits, and beside it what memory allows.
//!
//! `myriad` gives the same bits on each run. `limit` reads the floats, with as many threads as
//! there are workers, and combines their bits by exclusive or, which waits for nothing: nobody can
//! be faster but by better prefetching. `serial` is the loop that everybody writes; it may not be
//! reordered, so it waits for each addition. `rayon` adds in whatever order its pieces have. All
//! the floats are small whole numbers, so that each order has the same sum, and the answer can be
//! checked.

use std::time::{Duration, Instant};

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::{memory, sample, together};

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "sum",
    about: "the sum of n floats; `limit` only reads them",
    unit: Unit::Per("element"),
    size: Size::n(2_000_000),
    full: Size::n(20_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[Form {
        name: "floats",
        about: "f64, in whatever order the system adds them",
        entries: &[
            Entry::new("myriad", ours!(myriad)),
            Entry::new("limit", Some(limit)).reference(),
            Entry::new("serial", Some(serial)).unbound().reference(),
            Entry::new("rayon", peer!(rayon)),
        ],
    }],
};

/// Element `i`: a small whole number.
fn element(i: u64) -> f64 {
    (i % 7) as f64
}

/// The sum of elements `0..n`.
fn total(n: u64) -> f64 {
    let (weeks, rest) = (n / 7, n % 7);
    (weeks * 21 + rest * rest.saturating_sub(1) / 2) as f64
}

/// The elements.
fn elements(p: &Params) -> Result<Vec<f64>, Failure> {
    let n = usize::try_from(p.n).map_err(|_| Failure::Wrong(format!("{} elements are too many", p.n)))?;
    let mut xs = vec![0.0; n];
    memory::huge_pages(&mut xs);
    xs.iter_mut().zip(0..).for_each(|(x, i)| *x = element(i));
    Ok(xs)
}

/// Measures `sum`.
fn measure(p: &Params, mut sum: impl FnMut(&[f64]) -> f64) -> Outcome {
    let xs = elements(p)?;
    sample::warm(p.n, || {
        let begin = Instant::now();
        let sum = sum(&xs);
        let time = begin.elapsed();
        Failure::check(sum.to_bits(), total(p.n).to_bits())?;
        Ok(time)
    })
}

#[cfg(feature = "ours")]
fn myriad(p: &Params) -> Outcome {
    let rt = crate::host::myriad::start(p)?;
    rt.run(|| measure(p, myriad::par::sum))
}

#[cfg(feature = "peers")]
fn rayon(p: &Params) -> Outcome {
    use rayon::prelude::*;
    let pool = crate::host::rayon::start(p);
    pool.install(|| measure(p, |xs| xs.par_iter().sum()))
}

fn serial(p: &Params) -> Outcome {
    measure(p, |xs| xs.iter().fold(0.0, |sum, x| sum + x))
}

/// Not a sum: all bits, combined.
fn limit(p: &Params) -> Outcome {
    let bits = |xs: &[f64]| xs.iter().fold(0, |bits, x| bits ^ x.to_bits());
    let xs = elements(p)?;
    let expected = bits(&xs);
    sample::warm(p.n, || {
        let found = std::sync::Mutex::new(0);
        let parts = xs.chunks(xs.len().div_ceil(p.workers)).collect();
        let time: Duration =
            together::each(parts, |part| *found.lock().expect("nothing panics under it") ^= bits(part));
        Failure::check(found.into_inner().expect("nothing panicked under it"), expected)?;
        Ok(time)
    })
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_answer_is_the_serial_one() {
        let mut sum = 0.0;
        for n in 1..100 {
            sum += element(n - 1);
            assert_eq!(total(n).to_bits(), f64::to_bits(sum), "{n}");
        }
    }

    #[test]
    fn a_wrong_sum_is_found_out() {
        let p = Params { n: 1000, ..Params::new(&WORKLOAD, &WORKLOAD.forms[0], "serial", 1) };
        assert!(serial(&p).is_ok() && limit(&p).is_ok());
        assert!(measure(&p, |xs| xs[1..].iter().sum::<f64>() - 1.0).is_err());
    }
}
