//! Figures that others have published: measured on their machines, by their programs, and never
//! here. They stand beside the rows of a form to be looked at, and no ratio or verdict counts them.

use serde::Serialize;

use crate::entry::{Form, Workload};

/// What a system took, as it was published.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Published {
    /// The name of the system.
    pub system: &'static str,
    /// How many operations.
    pub n: u64,
    /// The time of all of them.
    pub seconds: f64,
    /// Where it was measured.
    pub machine: &'static str,
    /// Who says so, and of which versions.
    pub source: &'static str,
    /// In what its program is another one than those of the form.
    pub differs: Option<&'static str>,
}

impl Published {
    /// Nanoseconds for each operation.
    pub fn ns_per_op(&self) -> f64 {
        self.seconds * 1e9 / self.n as f64
    }

    /// This as one line of JSON, with the form beside which it stands. A record of a run has no key
    /// `published`.
    pub fn to_json(&self, workload: &Workload, form: &Form) -> String {
        #[derive(Serialize)]
        struct Line<'a> {
            published: bool,
            workload: &'a str,
            form: &'a str,
            ns_per_op: f64,
            #[serde(flatten)]
            figure: &'a Published,
        }
        let ns_per_op = self.ns_per_op();
        let line = Line { published: true, workload: workload.name, form: form.name, ns_per_op, figure: self };
        serde_json::to_string(&line).expect("it has only strings and numbers")
    }
}

/// What was published of each system for this form: the figure whose size is nearest to `n`.
pub fn published(workload: &Workload, form: &Form, n: u64) -> Vec<&'static Published> {
    let rows = TABLE.iter().filter(|row| row.0 == workload.name && row.1.contains(&form.name));
    let factor = |size: u64| (size.max(n) as f64) / (size.min(n).max(1) as f64);
    let nearest = |figures: &'static [Published]| figures.iter().min_by(|a, b| factor(a.n).total_cmp(&factor(b.n)));
    rows.flat_map(|row| row.2).filter_map(|figures| nearest(figures)).collect()
}

/// A workload, some of its forms, and for each system its figures.
type Row = (&'static str, &'static [&'static str], &'static [&'static [Published]]);

/// (Jobs that are chained or blocked, and programs, are in no figure of theirs.)
static TABLE: &[Row] = &[
    ("job", &["submit", "held"], &[JOB_SCHEDULERS, DAGGER, BASE_THREADS]),
    ("overhead", &["job"], &[JOB_SCHEDULERS, DAGGER, BASE_THREADS]),
    ("overhead", &["dataflow"], &[DAGGER]),
    ("overhead", &["loop"], &[BASE_THREADS]),
];

const JOB_SCHEDULERS: &[Published] =
    &[of_julia("JobSchedulers.jl", 10_000, 0.017), of_julia("JobSchedulers.jl", 100_000, 0.238)];
const DAGGER: &[Published] = &[of_julia("Dagger.jl", 10_000, 0.85), of_julia("Dagger.jl", 100_000, 9.7)];
const BASE_THREADS: &[Published] = &[
    Published { differs: LOOP, ..of_julia("Base.Threads", 10_000, 0.48e-3) },
    Published { differs: LOOP, ..of_julia("Base.Threads", 100_000, 1.6e-3) },
];
const LOOP: Option<&str> = Some("`Threads.@threads`, a loop in chunks and not a task each");

/// A line of the table that JobSchedulers.jl publishes: tasks that do `x += a`.
const fn of_julia(system: &'static str, n: u64, seconds: f64) -> Published {
    Published {
        system,
        n,
        seconds,
        machine: "AMD Threadripper 7985WX, Julia 1.11.6 -t 24,1",
        source: "JobSchedulers.jl 0.11.11's own table, with Dagger.jl 0.19.1",
        differs: None,
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::workload;

    #[test]
    fn each_row_names_forms_and_no_system_that_is_measured() {
        for (name, forms, systems) in TABLE {
            let workload = workload(name).expect("it is a workload");
            for form in *forms {
                let form = workload.form(form).expect("it is a form of it");
                for figure in systems.iter().flat_map(|figures| *figures) {
                    assert!(form.entries.iter().all(|entry| entry.system != figure.system), "{figure:?}");
                }
            }
        }
    }

    #[test]
    fn the_figure_of_the_nearest_size() {
        let job = workload("job").expect("it is a workload");
        let sizes = |form, n| {
            let figures = published(job, job.form(form).expect("it is a form"), n);
            figures.iter().map(|figure| (figure.system, figure.n)).collect::<Vec<_>>()
        };
        let all = |n| vec![("JobSchedulers.jl", n), ("Dagger.jl", n), ("Base.Threads", n)];
        assert_eq!(
            [sizes("submit", 0), sizes("held", 31_000), sizes("held", 1 << 40)],
            [10_000, 10_000, 100_000].map(all)
        );
        assert_eq!((sizes("command", 10), sizes("chained", 10)), (vec![], vec![]));
    }

    #[test]
    fn json_says_that_it_is_published() {
        let job = workload("job").expect("it is a workload");
        let line = JOB_SCHEDULERS[1].to_json(job, &job.forms[0]);
        let line: serde_json::Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!((&line["published"], &line["form"]), (&true.into(), &"submit".into()));
        assert_eq!(line["ns_per_op"].as_f64().map(f64::round), Some(2380.0));
        assert!(line["ok"].is_null() && line["machine"].as_str().is_some_and(|machine| machine.contains("7985WX")));
    }
}
