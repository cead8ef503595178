//! `graph`: about `n` nodes in an order, built once, and run.
//!
//! Forms: `random`, each node after up to three of the thousand before it; `diamond`, one node,
//! then all others, then one; `chain`, one after the other; `cholesky`, the factorization of a
//! matrix of tiles, whose bodies compute for half a microsecond each; `wavefront`, a square of
//! which each node comes after those above and to the left of it.
//!
//! Each body reads the values of the nodes that it comes after and writes its own. The answer is
//! the value of the last node. An operation is a node; building is not timed.
//!
//! `rayon` has no graphs: its program is what one writes by hand, a count for each node and a task
//! of a scope for each that is ready. `tbb` is a flow graph of `continue_node`s, `taskflow` a
//! `tf::Taskflow`: both are outside of this process, and are given the same graph. `serial` calls
//! the bodies in a loop.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::entry::{Entry, Form, Size, Takes, Unit, Workload, at_least_one, ours, peer};
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::{processor, sample};

#[cfg(feature = "peers")]
mod dag_exec;
#[cfg(feature = "ours")]
mod myriad;
#[cfg(feature = "peers")]
pub(crate) mod outside;
#[cfg(feature = "peers")]
mod rayon;
mod serial;
mod shape;

pub(crate) use shape::Shape;

/// The systems of each form.
const ENTRIES: &[Entry] = &[
    Entry::new("myriad", ours!(myriad::run)),
    Entry::new("rayon", peer!(rayon::run)),
    Entry::new("tbb", peer!(outside::tbb)).outside(),
    Entry::new("taskflow", peer!(outside::taskflow)).outside(),
    Entry::new("dag_exec", peer!(dag_exec::run)),
    Entry::new("serial", Some(serial::run)).unbound().reference(),
];

/// The table.
pub(crate) static WORKLOAD: Workload = Workload {
    name: "graph",
    about: "a graph of about n nodes, built once and run; `serial` calls their bodies in a loop",
    unit: Unit::Per("node"),
    size: Size::n(100_000),
    full: Size::n(1_000_000),
    takes: Takes::N,
    check: at_least_one,
    forms: &[
        Form { name: "random", about: "each after up to three of the thousand before it", entries: ENTRIES },
        Form { name: "diamond", about: "one, then all, then one", entries: ENTRIES },
        Form { name: "chain", about: "one after the other", entries: ENTRIES },
        Form { name: "cholesky", about: "tiles of a matrix, bodies of half a microsecond", entries: ENTRIES },
        Form {
            name: "wavefront",
            about: "a square, each after the one above and the one to the left",
            entries: ENTRIES,
        },
    ],
};

/// The nodes of a form, and the value of each, which a run leaves.
pub(crate) struct Work {
    pub(crate) shape: Shape,
    values: Vec<AtomicU64>,
}

impl Work {
    pub(crate) fn new(p: &Params) -> Work {
        let shape = Shape::new(p);
        let values = (0..shape.len()).map(|_| AtomicU64::new(0)).collect();
        Work { shape, values }
    }

    /// The body of a node.
    #[inline]
    fn body(&self, node: usize) {
        let before = self.shape.before(node).iter();
        let value = value(self.shape.computes, before.map(|&before| self.values[before as usize].load(Relaxed)));
        self.values[node].store(value, Relaxed);
    }

    /// The answer, by a loop.
    pub(crate) fn want(&self) -> Result<u64, Failure> {
        (0..self.shape.len()).for_each(|node| self.body(node));
        let last = self.values.last().ok_or_else(|| Failure::Cannot("it has no nodes".into()))?;
        Ok(last.swap(0, Relaxed))
    }

    /// Measures what runs all bodies, in their order.
    fn measure(&self, mut run: impl FnMut()) -> Outcome {
        let want = self.want()?;
        let last = &self.values[self.shape.len() - 1];
        sample::warm(self.shape.len() as u64, || {
            let begin = Instant::now();
            run();
            let time = begin.elapsed();
            processor::untimed(|| Failure::check(last.swap(0, Relaxed), want))?;
            Ok(time)
        })
    }
}

/// The value of a node, by those of the nodes that it comes after.
#[inline]
pub(crate) fn value(computes: bool, before: impl Iterator<Item = u64>) -> u64 {
    let value = before.fold(1_u64, |value, before| value.wrapping_mul(31).wrapping_add(before));
    if computes { value.wrapping_add(compute(value) & 1) } else { value }
}

/// About half a microsecond.
#[inline(never)]
fn compute(seed: u64) -> u64 {
    let mut x = (seed >> 40) as f64;
    for _ in 0..325 {
        x = x * 1.000_000_1 + 1e-9;
    }
    x.to_bits()
}

#[cfg(test)]
mod test {
    use super::*;

    fn work(form: usize, n: u64) -> Work {
        Work::new(&Params { n, ..Params::new(&WORKLOAD, &WORKLOAD.forms[form], "serial", 1) })
    }

    #[test]
    fn a_run_that_leaves_the_order_is_found_out() {
        for form in 0..WORKLOAD.forms.len() {
            let work = work(form, 200);
            let nodes = work.shape.len();
            assert!(work.measure(|| (0..nodes).for_each(|node| work.body(node))).is_ok());
            let wrong = || {
                work.values.iter().for_each(|value| value.store(7, Relaxed));
                (0..nodes).rev().for_each(|node| work.body(node));
            };
            assert!(work.measure(wrong).is_err(), "form {form}");
        }
    }

    #[test]
    fn shapes_have_about_as_many_nodes_as_asked() {
        for form in 0..WORKLOAD.forms.len() {
            for n in [1, 2, 5, 100, 5_000] {
                let shape = work(form, n).shape;
                assert!((1..=n as usize + 2).contains(&shape.len()) && shape.len() * 2 >= n as usize, "{form} {n}");
                assert!((0..shape.len()).all(|node| shape.before(node).iter().all(|&b| (b as usize) < node)));
            }
        }
        assert_eq!(work(3, 4_960).shape.len(), 4_960);
    }
}
