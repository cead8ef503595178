//! `graph` by a loop.

use super::Work;
use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    let work = Work::new(p);
    // Called as the others call them.
    let bodies: Vec<Box<dyn Fn() + '_>> = (0..work.shape.len())
        .map(|node| -> Box<dyn Fn() + '_> {
            let work = &work;
            Box::new(move || work.body(node))
        })
        .collect();
    work.measure(|| bodies.iter().for_each(|body| body()))
}
