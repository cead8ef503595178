//! `graph` by hand, on rayon's scopes.

use super::Work;
use crate::host;
use crate::params::Params;
use crate::record::Outcome;
use rayon::Scope;
use std::sync::atomic::{AtomicU32, Ordering::*};

/// Counts and successors, in rows.
struct Graph<'a> {
    bodies: Vec<Box<dyn Fn() + Send + Sync + 'a>>,
    counts: Vec<u32>,
    pending: Vec<AtomicU32>,
    rows: Vec<usize>,
    successors: Vec<u32>,
}

impl<'a> Graph<'a> {
    fn new(work: &'a Work) -> Graph<'a> {
        let n = work.shape.len();
        let mut rows = vec![0; n + 1];
        (0..n).flat_map(|at| work.shape.before(at)).for_each(|&before| rows[before as usize + 1] += 1);
        (0..n).for_each(|at| rows[at + 1] += rows[at]);
        let (mut next, mut successors) = (rows.clone(), vec![0; rows[n]]);
        for at in 0..n {
            for &before in work.shape.before(at) {
                successors[next[before as usize]] = at as u32;
                next[before as usize] += 1;
            }
        }
        let bodies = (0..n).map(|at| -> Box<dyn Fn() + Send + Sync + 'a> { Box::new(move || work.body(at)) }).collect();
        let counts: Vec<u32> = (0..n).map(|at| work.shape.before(at).len() as u32).collect();
        let pending = counts.iter().map(|&count| AtomicU32::new(count)).collect();
        Graph { bodies, counts, pending, rows, successors }
    }

    /// Runs a node and one after the other that is ready by that; a task for each further one.
    fn go<'s>(&'s self, scope: &Scope<'s>, first: usize) {
        let mut next = Some(first);
        while let Some(at) = next.take() {
            self.pending[at].store(self.counts[at], Relaxed);
            (self.bodies[at])();
            for &after in &self.successors[self.rows[at]..self.rows[at + 1]] {
                let after = after as usize;
                if self.counts[after] > 1 && self.pending[after].fetch_sub(1, AcqRel) > 1 {
                    continue;
                }
                match next {
                    None => next = Some(after),
                    Some(_) => scope.spawn(move |scope| self.go(scope, after)),
                }
            }
        }
    }
}

pub(super) fn run(p: &Params) -> Outcome {
    let pool = host::rayon::start(p);
    let work = Work::new(p);
    let graph = Graph::new(&work);
    work.measure(|| pool.scope(|scope| graph.go(scope, 0)))
}
