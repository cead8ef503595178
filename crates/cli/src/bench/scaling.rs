//! `myriad bench --scaling`: how each workload in which tasks talk counts with 1, 2 and all
//! workers.
//!
//! One row for a workload and form, one line in it for a system, as in the other table; but the
//! numbers of workers stand beside each other, and what is compared is a system with itself.

use super::plan::{Group, pool};
use super::summary::{Medians, Summary};
use super::table::{Footnotes, broken, shown_range};
use crate::grid::{Cell, Grid};
use crate::style::{Style, digits, thousands};

/// What is shown if no workload is named: with its form.
const ROWS: [(&str, &str); 18] = [
    ("relay", "closure"),
    ("relay", "future"),
    ("pingpong", "natural-closure"),
    ("pingpong", "natural-future"),
    ("pairs", "closure"),
    ("pairs", "future"),
    ("hub", "closure"),
    ("hub", "future"),
    ("pipeline", "closure"),
    ("pipeline", "future"),
    ("tree", "closure"),
    ("tree", "future"),
    ("alltoall", "closure"),
    ("alltoall", "future"),
    ("sieve", "closure"),
    ("sieve", "future"),
    ("chain", "future"),
    ("skynet", "channel"),
];

/// The systems that are shown if neither they nor a workload are named: in each form the peers that
/// were ahead of the others.
const SYSTEMS: [&str; 4] = [myriad_bench::OURS, "may", "tokio", "tokio-kanal"];

/// Whether this form is in the table if no workload is named.
pub(crate) fn has_form(workload: &str, form: &str) -> bool {
    ROWS.contains(&(workload, form))
}

/// Whether this system is in the table if none is named.
pub(crate) fn has_system(system: &str) -> bool {
    SYSTEMS.contains(&system)
}

/// The numbers of workers: 1, 2 and one for each of the machine's `cores`.
pub(crate) fn workers(cores: usize) -> Vec<usize> {
    let mut all = vec![1, 2, cores];
    all.retain(|&workers| workers <= cores);
    all.dedup();
    all
}

/// The table of all groups, with an explanation below. Groups that differ in the number of workers
/// only stand behind each other, as the plan has them.
pub(crate) fn render(summaries: &[Summary<'_>], style: Style) -> String {
    let mut workers: Vec<_> = summaries.iter().map(|s| s.group.workers).collect();
    workers.sort_unstable();
    workers.dedup();
    let (first, more) = workers.split_first().expect("a plan has groups");
    let most = more.last().unwrap_or(first);

    let mut header = vec!["workload".into(), "system".into()];
    header.extend(workers.iter().map(|w| format!("w{w}")));
    header.extend(more.iter().map(|w| format!("{first}/{w}")));
    header.extend(["min–max".into(), "cpu".into()]);
    let mut table = Grid::new(header.iter().map(|h| style.bold(h)));
    let mut notes = Footnotes::default();
    for same in summaries.chunk_by(|a, b| title(a.group) == title(b.group)) {
        let mut columns = vec![Vec::new(); header.len() - 1];
        for system in systems(same) {
            line(same, system, &workers, style, &mut notes)
                .into_iter()
                .zip(&mut columns)
                .for_each(|(c, to)| to.push(c));
        }
        let (name, _) = title(same[0].group);
        let title = format!("{}\n{}", style.bold(name), broken(same[0].group.form));
        let mut cells = vec![Cell::text(&title), Cell::left(&columns[0])];
        cells.extend(columns[1..].iter().map(|lines| Cell::right(lines)));
        table.push(cells);
    }
    let mut text = table.to_string();
    text += &format!("\nw{most}: nanoseconds for an operation (hop, trip, message, task) with {}.", pool(*most));
    text += &format!("\nmin–max: of all repeats, with {}.", pool(*most));
    if !more.is_empty() {
        text += &format!(
            "\n{first}/{most}: the time with {} over that with {most}; above 1 it is faster with {most}.",
            pool(*first)
        );
        text += &format!("\ncpu: processor time for an operation, with {most} over that with {first}.");
    }
    text + &notes.text(style)
}

fn title(group: &Group) -> (&'static str, &'static str) {
    (group.workload.name, group.form.name)
}

/// The systems of these groups, each once.
fn systems<'a>(groups: &'a [Summary<'_>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for params in groups.iter().flat_map(|s| &s.group.runs) {
        if !names.contains(&params.system.as_str()) {
            names.push(&params.system);
        }
    }
    names
}

/// The cells of a system.
fn line(same: &[Summary<'_>], system: &str, workers: &[usize], style: Style, notes: &mut Footnotes) -> Vec<String> {
    let ours = system == myriad_bench::OURS;
    let mut cells = vec![if ours { style.bold(system) } else { system.into() }];
    let medians: Vec<Option<Medians>> = workers
        .iter()
        .map(|&w| {
            let summary = same.iter().find(|s| s.group.workers == w)?;
            let i = summary.group.runs.iter().position(|p| p.system == system)?;
            if let Some(failed) = summary.failure(i) {
                cells[0] += &notes.mark(format!("{}: {}", summary.group.title(), super::table::why(failed)));
            }
            summary.medians(i)
        })
        .collect();
    let shown = |value: Option<String>| value.unwrap_or_else(|| "–".into());
    cells.extend(medians.iter().map(|m| shown(m.as_ref().map(|m| plain(m.ns_per_op)))));
    let first = medians[0].as_ref();
    for m in &medians[1..] {
        cells.push(shown(first.zip(m.as_ref()).map(|(one, m)| {
            let ratio = one.ns_per_op / m.ns_per_op;
            let text = digits(ratio);
            match ratio {
                r if ours && r < 0.95 => style.bad(&text),
                r if ours && r > 1.05 => style.good(&text),
                _ => text,
            }
        })));
    }
    let last = medians.last().and_then(Option::as_ref);
    cells.push(shown(last.map(|m| shown_range(m, myriad_bench::Unit::Per("")))));
    cells.push(shown(first.zip(last).and_then(|(one, m)| Some(digits(m.cpu_seconds? / one.cpu_seconds?)))));
    cells
}

/// Nanoseconds without their unit.
fn plain(ns: f64) -> String {
    if ns < 999.5 { digits(ns) } else { thousands(ns.round() as u64) }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::args::BenchOptions;
    use crate::bench::plan::plan;
    use myriad_bench::Record;

    #[test]
    fn what_it_shows_exists() {
        for (workload, form) in ROWS {
            let workload = myriad_bench::workload(workload).expect("it is in the table");
            assert!(workload.form(form).is_ok());
        }
        assert!(SYSTEMS.iter().all(|system| myriad_bench::systems().contains(system)));
    }

    #[test]
    fn one_two_and_all() {
        assert_eq!(workers(1), [1]);
        assert_eq!(workers(2), [1, 2]);
        assert_eq!(workers(8), [1, 2, 8]);
    }

    #[cfg(all(feature = "ours", feature = "peers"))]
    #[test]
    fn it_compares_a_system_with_itself_and_fits_80_columns() {
        let o = BenchOptions { scaling: true, ..BenchOptions::default() };
        let groups = plan(&o, 16).expect("it is possible");
        assert_eq!(groups.len(), 3 * ROWS.len());
        let summaries: Vec<_> = groups
            .iter()
            .map(|group| {
                let mut s = Summary::new(group);
                for (i, p) in group.runs.iter().enumerate() {
                    let ns = if p.is_ours() { 60.0 / p.workers as f64 } else { 12_345.0 };
                    let mut r = Record::failed(p, String::new());
                    (r.ok, r.error, r.ops, r.ns_per_op, r.seconds) = (true, None, 10, ns, ns * 1e-8);
                    (r.seconds_min, r.seconds_max, r.cpu_seconds) = (ns * 0.9e-8, ns * 2e-8, Some(p.workers as f64));
                    s.add(i, r);
                }
                s
            })
            .collect();
        let text = render(&summaries, Style::PLAIN);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let relay: Vec<&str> =
            text.lines().find(|l| l.starts_with("relay")).expect("ours").split_whitespace().collect();
        assert_eq!(relay, ["relay", "myriad", "60.0", "30.0", "3.75", "2.00", "16.0", "3.38–7.50", "16.0"], "{text}");
        assert!(text.contains("1/16: the time with 1 worker over that with 16"), "{text}");
        let all: Vec<_> = text.lines().filter(|l| l.contains("tokio-kanal")).collect();
        assert!(all.iter().all(|l| l.contains("12,345") && l.contains("11,110–24,690")), "{text}");
    }

    #[test]
    fn what_was_not_run_is_a_dash() {
        let o = BenchOptions {
            workload: Some("threads".into()),
            system: vec!["std".into()],
            scaling: true,
            ..BenchOptions::default()
        };
        let groups = plan(&o, 2).expect("it is possible");
        let summaries: Vec<_> = groups.iter().map(Summary::new).collect();
        let text = render(&summaries, Style::PLAIN);
        assert!(text.lines().any(|l| l.contains("std") && l.matches('–').count() == 5), "{text}");
    }
}
