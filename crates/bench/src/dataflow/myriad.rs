//! `dataflow` by Myriad.

use std::time::Instant;

use myriad::channel::bounded;
use myriad::flow::{self, All, Handle};
use myriad::{JoinHandle, spawn};

use super::{SLOTS, first, second};
use crate::graph::{Shape, Work, value};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};

pub(super) fn nodes(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let work = Work::new(p);
    super::measure(&work, || {
        rt.run(|| {
            let begin = Instant::now();
            let last = spawn_all(&work.shape).join().map_err(|error| Failure::Wrong(error.to_string()))?;
            Ok((begin.elapsed(), last))
        })
    })
}

/// The last node.
fn spawn_all(shape: &Shape) -> Handle<u64> {
    let computes = shape.computes;
    let mut nodes: Vec<Handle<u64>> = Vec::with_capacity(shape.len());
    for node in 0..shape.len() {
        let handle = |at: u32| &nodes[at as usize];
        let spawned = match *shape.before(node) {
            [] => flow::spawn(move || value(computes, [].into_iter()), ()),
            [a] => flow::spawn(move |a: &u64| value(computes, [*a].into_iter()), (handle(a),)),
            [a, b] => {
                flow::spawn(move |a: &u64, b: &u64| value(computes, [*a, *b].into_iter()), (handle(a), handle(b)))
            }
            [a, b, c] => flow::spawn(
                move |a: &u64, b: &u64, c: &u64| value(computes, [*a, *b, *c].into_iter()),
                (handle(a), handle(b), handle(c)),
            ),
            ref all => {
                let all: Vec<_> = all.iter().map(|&at| handle(at)).collect();
                flow::spawn(move |all: All<u64>| value(computes, all.iter().copied()), (all,))
            }
        };
        nodes.push(spawned);
    }
    nodes.pop().unwrap_or_else(|| flow::spawn(|| 0, ()))
}

pub(super) fn stream(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    let n = p.n;
    super::measure_stream(p, || {
        rt.run(|| {
            let begin = Instant::now();
            let ((tx, numbers), (to_third, firsts)) = (bounded(SLOTS), bounded(SLOTS));
            let third: JoinHandle<u64> = spawn(move || firsts.into_iter().fold(0, u64::wrapping_add));
            flow::pipe(numbers.into_iter().map(second), to_third).detach();
            flow::pipe((0..n).map(first), tx).detach();
            let sum = third.join().unwrap_or(0);
            (begin.elapsed(), sum)
        })
    })
}
