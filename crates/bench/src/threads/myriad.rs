//! `threads` by Myriad: tasks instead of threads.

use std::time::Instant;

use myriad::spawn;

use crate::host;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure(p, || {
        rt.run(move || {
            let begin = Instant::now();
            let sum = (0..n).map(|i| spawn(move || i).join().unwrap()).sum();
            (begin.elapsed(), sum)
        })
    })
}
