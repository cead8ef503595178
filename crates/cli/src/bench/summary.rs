//! The runs of a group, and the medians over them.

use myriad_bench::{OURS, Record};

use super::plan::Group;

/// The runs of a group.
#[derive(Debug)]
pub(crate) struct Summary<'a> {
    /// The group.
    pub(crate) group: &'a Group,
    /// For each run of the plan, its records so far.
    records: Vec<Vec<Record>>,
}

/// Medians over the records of a system.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Medians {
    /// Over how many records.
    pub(crate) runs: usize,
    /// Seconds of the whole.
    pub(crate) seconds: f64,
    /// Nanoseconds for each operation.
    pub(crate) ns_per_op: f64,
    /// The shortest and the longest of all repeats of all records, in seconds of the whole.
    pub(crate) range: (f64, f64),
    /// Processor time for `seconds`, if it is known.
    pub(crate) cpu_seconds: Option<f64>,
    /// Memory for each task, if it was measured.
    pub(crate) bytes_per_task: Option<f64>,
}

impl<'a> Summary<'a> {
    /// No records yet.
    pub(crate) fn new(group: &'a Group) -> Self {
        Summary { group, records: vec![Vec::new(); group.runs.len()] }
    }

    /// Adds a record of run `i` of the plan.
    pub(crate) fn add(&mut self, i: usize, record: Record) {
        self.records[i].push(record);
    }

    /// The records of run `i` so far.
    pub(crate) fn records(&self, i: usize) -> &[Record] {
        &self.records[i]
    }

    /// Whether run `i` has failed.
    pub(crate) fn has_failed(&self, i: usize) -> bool {
        self.failure(i).is_some()
    }

    /// The record of run `i` that is not ok, if there is one.
    pub(crate) fn failure(&self, i: usize) -> Option<&Record> {
        self.records[i].iter().find(|r| !r.ok)
    }

    /// The note of run `i`, from its last record.
    pub(crate) fn note(&self, i: usize) -> Option<&str> {
        self.records[i].last().and_then(|r| r.note.as_deref())
    }

    /// The most tasks that were alive at a time in run `i`, where they were counted.
    pub(crate) fn most_alive(&self, i: usize) -> Option<u64> {
        self.records[i].iter().filter_map(|r| r.most_alive).max()
    }

    /// The medians of run `i`, if all its records are ok.
    pub(crate) fn medians(&self, i: usize) -> Option<Medians> {
        let records = &self.records[i];
        if records.is_empty() || self.has_failed(i) {
            return None;
        }
        let over = |f: &dyn Fn(&Record) -> Option<f64>| median(records.iter().filter_map(f).collect());
        Some(Medians {
            runs: records.len(),
            seconds: over(&|r| Some(r.seconds))?,
            ns_per_op: over(&|r| Some(r.ns_per_op))?,
            range: (
                records.iter().map(|r| r.seconds_min).fold(f64::INFINITY, f64::min),
                records.iter().map(|r| r.seconds_max).fold(0.0, f64::max),
            ),
            cpu_seconds: over(&|r| r.cpu_seconds),
            bytes_per_task: over(&|r| r.bytes_per_task),
        })
    }

    /// One line for each system that gave a wrong answer, crashed, or took too long, and whether it
    /// is a fault: ours, or a wrong answer by anybody. That one cannot is no failure.
    pub(crate) fn failures(&self) -> impl Iterator<Item = (String, bool)> + '_ {
        (0..self.records.len()).filter_map(|i| self.failure(i)).filter(|r| r.cannot().is_none()).map(|r| {
            let why = r.error.as_deref().unwrap_or("no reason given");
            (format!("{}: {}: {why}", self.group.title(), r.system), r.system == OURS || r.is_wrong())
        })
    }
}

/// The middle one, or the mean of the middle two.
pub(crate) fn median(mut xs: Vec<f64>) -> Option<f64> {
    xs.sort_unstable_by(f64::total_cmp);
    let mid = xs.len() / 2;
    match xs.len() {
        0 => None,
        n if n % 2 == 1 => Some(xs[mid]),
        _ => Some((xs[mid - 1] + xs[mid]) / 2.0),
    }
}

#[cfg(test)]
pub(crate) mod test {
    use super::*;
    use crate::args::BenchOptions;
    use crate::bench::plan::plan;

    /// The only group of a plan for the workload `threads` with one worker.
    pub(crate) fn group() -> Group {
        let o = BenchOptions {
            workload: Some("threads".into()),
            system: vec!["std".into(), "pthread".into()],
            workers: vec![1],
            ..BenchOptions::default()
        };
        plan(&o, 2).expect("it is possible").remove(0)
    }

    /// A record of run `i` of the group, with this time for each of ten operations.
    pub(crate) fn record(group: &Group, i: usize, ns: f64) -> Record {
        let mut r = Record::failed(&group.runs[i], String::new());
        (r.ok, r.error, r.ops) = (true, None, 10);
        (r.ns_per_op, r.seconds, r.bytes_per_task) = (ns, ns * 1e-8, Some(1536.0));
        (r.seconds_min, r.seconds_max, r.cpu_seconds) = (ns * 0.9e-8, ns * 2e-8, Some(ns * 1.5e-8));
        r
    }

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![3.0, 1.0]), Some(2.0));
        assert_eq!(median(vec![]), None);
    }

    #[test]
    fn the_range_is_that_of_all_records() {
        let group = group();
        let mut s = Summary::new(&group);
        [100.0, 300.0, 200.0].into_iter().for_each(|ns| s.add(0, record(&group, 0, ns)));
        let m = s.medians(0).expect("all are ok");
        assert_eq!(
            (m.ns_per_op, m.range, m.cpu_seconds),
            (200.0, (100.0 * 0.9e-8, 300.0 * 2e-8), Some(200.0 * 1.5e-8))
        );
    }

    #[test]
    fn a_system_that_failed_once_has_no_median_and_is_reported() {
        let group = group();
        let mut s = Summary::new(&group);
        s.add(0, record(&group, 0, 5.0));
        s.add(0, Record::failed(&group.runs[0], "wrong answer: 1 instead of 2".into()));
        s.add(1, Record::failed(&group.runs[1], "cannot: too many".into()));
        assert!(s.medians(0).is_none() && s.has_failed(0) && s.has_failed(1));
        let failures: Vec<_> = s.failures().collect();
        assert_eq!(failures, [("threads join, 1 worker: std: wrong answer: 1 instead of 2".to_owned(), true)]);
        let mut s = Summary::new(&group);
        s.add(0, Record::failed(&group.runs[0], "not done after 5 s, killed".into()));
        assert!(s.failures().all(|(_, is_fault)| !is_fault));
    }
}
