//! `dataflow` by a loop.

use std::time::Instant;

use crate::graph::{Work, value};
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let work = Work::new(p);
    let shape = &work.shape;
    super::measure(&work, || {
        let begin = Instant::now();
        let mut values = Vec::with_capacity(shape.len());
        for node in 0..shape.len() {
            let before = shape.before(node).iter().map(|&before| values[before as usize]);
            values.push(value(shape.computes, before));
        }
        Ok((begin.elapsed(), values.last().copied().unwrap_or(0)))
    })
}
