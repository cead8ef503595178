//! The rows of the screen that `myriad` shows without a word: which workloads, under which names.

use myriad_bench::{Form, Workload};

/// A form of a workload, as a newcomer reads it.
#[derive(Debug)]
pub(super) struct Row {
    workload: &'static str,
    form: &'static str,
    /// What stands on the screen.
    pub(super) label: &'static str,
    /// Another size than the workload's own.
    pub(super) n: Option<u64>,
    /// Only with `--all`.
    pub(super) rest: bool,
}

/// A heading, and what stands below.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) rows: &'static [Row],
}

const fn row(workload: &'static str, form: &'static str, label: &'static str) -> Row {
    Row { workload, form, label, n: None, rest: false }
}

const fn rest(workload: &'static str, form: &'static str, label: &'static str) -> Row {
    Row { rest: true, ..row(workload, form, label) }
}

/// They take seconds for each system, whatever their size is: they run where they are named.
const LONG: [&str; 3] = ["echo-rate", "echo-busy", "echo-idle"];

/// All forms of all workloads but those, each once.
pub(super) static SECTIONS: [Section; 5] = [
    Section {
        title: "TASKS",
        rows: &[
            row("overhead", "spawn", "spawn and wait"),
            rest("overhead", "nested", "spawn, nested"),
            rest("overhead", "job", "jobs of a queue"),
            row("skynet", "join", "tree of joins"),
            row("skynet", "future", "tree of futures"),
            rest("skynet", "channel", "tree with channels"),
            row("fib", "join", "fork and join, fib"),
            rest("threads", "join", "OS threads"),
        ],
    },
    Section {
        title: "PARALLEL LOOPS",
        rows: &[
            row("overhead", "loop", "loop, empty body"),
            row("psort", "unstable", "sort"),
            rest("psort", "stable", "sort, stable"),
            rest("psort", "floats", "sort floats"),
            rest("psort", "records", "sort records"),
            rest("psort", "nested", "sorts in tasks"),
            row("scan", "generic", "prefix sums"),
            rest("scan", "sum", "prefix sums, fixed"),
            rest("sum", "floats", "sum of floats"),
            row("graph", "random", "graph, random"),
            rest("graph", "diamond", "graph, diamond"),
            rest("graph", "chain", "graph, chain"),
            rest("graph", "cholesky", "graph, Cholesky"),
            rest("graph", "wavefront", "graph, wavefront"),
            rest("overhead", "dataflow", "nodes, spawned"),
            rest("dataflow", "random", "dataflow, random"),
            rest("dataflow", "diamond", "dataflow, diamond"),
            rest("dataflow", "chain", "dataflow, chain"),
            rest("dataflow", "cholesky", "dataflow, Cholesky"),
            rest("dataflow", "stream", "dataflow, stream"),
        ],
    },
    Section {
        title: "MESSAGES",
        rows: &[
            row("relay", "closure", "relay, closures"),
            rest("relay", "placed-closure", "relay, placed"),
            row("relay", "future", "relay, futures"),
            row("pingpong", "closure", "ping-pong, closures"),
            rest("pingpong", "natural-closure", "ping-pong, natural"),
            rest("pingpong", "placed-closure", "ping-pong, placed"),
            row("pingpong", "future", "ping-pong, futures"),
            rest("pingpong", "natural-future", "ping-pong nat. fut."),
            row("sieve", "closure", "sieve, closures"),
            rest("sieve", "placed-closure", "sieve, placed"),
            rest("sieve", "future", "sieve, futures"),
            rest("pairs", "closure", "pairs, closures"),
            rest("pairs", "placed-closure", "pairs, placed"),
            rest("pairs", "future", "pairs, futures"),
            rest("hub", "closure", "hub, closures"),
            rest("hub", "placed-closure", "hub, placed"),
            rest("hub", "future", "hub, futures"),
            rest("pipeline", "closure", "pipeline, closures"),
            rest("pipeline", "placed-closure", "pipeline, placed"),
            rest("pipeline", "future", "pipeline, futures"),
            rest("tree", "closure", "tree, closures"),
            rest("tree", "placed-closure", "tree, placed"),
            rest("tree", "future", "tree, futures"),
            rest("alltoall", "closure", "alltoall, closures"),
            rest("alltoall", "placed-closure", "alltoall, placed"),
            rest("alltoall", "future", "alltoall, futures"),
            row("lock", "tasks", "task to task"),
            row("lock", "threads", "thread to thread"),
            rest("select", "two", "select of two"),
            row("select", "eight", "select of eight"),
            rest("select", "dynamic", "select, dynamic"),
            rest("select", "waiting", "select that waits"),
            rest("ops", "mult", "one to four"),
            rest("ops", "pipeline", "eight at a time"),
            rest("ops", "publish", "1,000 topics"),
            rest("ops", "mix", "four to one"),
        ],
    },
    Section {
        title: "WAITING",
        rows: &[
            Row { n: Some(5_000), ..row("idle", "closure", "closures that wait") },
            row("idle", "future", "futures that wait"),
            rest("chain", "closure", "chain, closures"),
            rest("chain", "future", "chain, futures"),
            rest("mutex", "uncontended", "mutex, free"),
            row("mutex", "contended", "mutex, contended"),
            rest("mutex", "threads", "mutex, a thread"),
            rest("mutex", "contended-threads", "mutex, threads"),
            row("timers", "insert", "insert a timer"),
            rest("timers", "cancel", "cancel a timer"),
            rest("cancel", "closure", "cancel a closure"),
            row("cancel", "future", "cancel a future"),
        ],
    },
    Section {
        title: "LATENCY WHILE ALL COMPUTE, 99th percentile",
        rows: &[row("interactive", "pool", "own pool"), row("interactive", "shared", "priority")],
    },
];

impl Row {
    /// The workload and the form.
    pub(super) fn find(&self) -> (&'static Workload, &'static Form) {
        let workload = myriad_bench::workload(self.workload).expect("the rows are tested");
        (workload, workload.form(self.form).expect("the rows are tested"))
    }

    fn is_of(&self, workload: &Workload, form: &Form) -> bool {
        self.workload == workload.name && self.form == form.name
    }
}

/// What a form is called, and how wide the longest name is.
pub(super) fn label(workload: &Workload, form: &Form) -> String {
    let row = SECTIONS.iter().flat_map(|section| section.rows).find(|row| row.is_of(workload, form));
    row.map_or_else(|| format!("{} {}", workload.name, form.name), |row| row.label.into())
}

/// The title of the section in which a form stands.
pub(super) fn section(workload: &Workload, form: &Form) -> &'static str {
    SECTIONS.iter().find(|section| section.rows.iter().any(|row| row.is_of(workload, form))).map_or("MORE", |s| s.title)
}

/// The forms of the overview, or all forms, in the order of the screen.
pub(super) fn rows(all: bool) -> Vec<(&'static Workload, &'static Form, Option<u64>)> {
    let named = || SECTIONS.iter().flat_map(|section| section.rows);
    let mut rows: Vec<_> = named()
        .filter(|row| all || !row.rest)
        .map(|row| {
            let (workload, form) = row.find();
            (workload, form, row.n)
        })
        .collect();
    if all {
        for workload in myriad_bench::workloads().iter().filter(|w| !LONG.contains(&w.name)) {
            let unnamed = workload.forms.iter().filter(|form| !named().any(|row| row.is_of(workload, form)));
            // (What runs only on request has one system here, and is no comparison.)
            rows.extend(unnamed.map(|form| (*workload, form, None)));
        }
    }
    rows
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn each_row_is_a_form_and_stands_once() {
        let mut seen = Vec::new();
        for row in SECTIONS.iter().flat_map(|section| section.rows) {
            let (workload, form) = row.find();
            assert!(!seen.contains(&(workload.name, form.name)), "{row:?}");
            assert!(row.label.len() <= super::super::screen::NAME, "{row:?}");
            seen.push((workload.name, form.name));
        }
        let shown = myriad_bench::workloads().iter().filter(|w| !LONG.contains(&w.name));
        assert_eq!(rows(true).len(), shown.map(|w| w.forms.len()).sum::<usize>());
        assert!(!cfg!(target_os = "linux") || LONG.iter().all(|name| myriad_bench::workload(name).is_some()));
        // The screen is to fit 40 lines.
        assert!((15..=24).contains(&rows(false).len()), "{}", rows(false).len());
    }
}
