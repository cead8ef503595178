//! `threads` by the standard library.

use std::thread::spawn;
use std::time::Instant;

use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure(p, || {
        let begin = Instant::now();
        let sum = (0..p.n).map(|i| spawn(move || i).join().unwrap()).sum();
        (begin.elapsed(), sum)
    })
}
