//! Pictures of a graph and of its runs.

use super::{Graph, RunError};
use crate::view::{Arrow, Trace, TraceOfRun, dot};

impl Graph<'_> {
    /// Runs the graph once, and writes down when each body began and ended, and where. That costs
    /// some 100 ns a node while the graph runs, and half of that when the run has ended.
    ///
    /// # Blocking
    /// As [`run`](Self::run).
    pub fn run_traced(&self) -> (Result<(), RunError>, Trace) {
        let trace = TraceOfRun::new(self.len());
        let result = self.run_once(Some(&trace));
        (result, trace.finish(&self.names))
    }

    /// The graph in the language of Graphviz, whose `dot -Tsvg` draws it. A choice that has
    /// branches is a diamond, and dashed arrows lead to these.
    pub fn to_dot(&self) -> String {
        let shape = |at: usize| if self.branches(at).is_empty() { "box" } else { "diamond" };
        let nodes = self.names.iter().enumerate().map(|(at, name)| (&**name, shape(at)));
        let arrows = (0..self.len()).flat_map(|from| {
            let plain = self.after(from).iter().map(move |&to| Arrow { from, to: to as usize, label: None });
            let branches = self.branches(from).iter().enumerate();
            plain.chain(branches.map(move |(n, &to)| Arrow { from, to: to as usize, label: Some(n.to_string()) }))
        });
        dot(nodes, arrows)
    }
}
