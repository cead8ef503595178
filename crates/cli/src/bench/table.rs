//! The table that people read.
//!
//! One row for a group, one line in it for a system, ours first. What needs a sentence stands below
//! the table with a number. The ratio of a system that makes no task per node stands in brackets,
//! because that system does less.

use myriad_bench::{Form, OURS, Policy, Published, Record, Unit};

use super::plan::pool;
use super::screen::wrapped;
use super::summary::{Medians, Summary};
use crate::grid::{Cell, Grid};
use crate::style::{Style, bytes, digits, nanoseconds, thousands, time};

/// Columns for a note that is broken: with its mark it has 80.
const NOTE: usize = 75;

/// The lines of a group, column by column.
#[derive(Debug, Default)]
struct Lines {
    systems: Vec<String>,
    times: Vec<String>,
    ranges: Vec<String>,
    processors: Vec<String>,
    ratios: Vec<String>,
    memory: Vec<String>,
    splits: bool,
}

/// Sentences below the table, each once.
#[derive(Debug, Default)]
pub(super) struct Footnotes {
    texts: Vec<String>,
}

impl Footnotes {
    /// The mark for this text.
    pub(super) fn mark(&mut self, text: String) -> String {
        let at = self.texts.iter().position(|t| *t == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        format!("[{}]", at + 1)
    }

    /// All of them, each on a line of its own.
    pub(super) fn text(&self, style: Style) -> String {
        let line = |(i, note)| format!("\n{}", style.dim(&format!("[{}] {note}", i + 1)));
        self.texts.iter().enumerate().map(line).collect()
    }
}

/// The table of all groups, with the footnotes.
pub(crate) fn render(summaries: &[Summary<'_>], style: Style) -> String {
    let mut notes = Footnotes::default();
    let groups: Vec<_> = summaries.iter().map(|s| lines(s, style, &mut notes)).collect();
    let memory = groups.iter().any(|g| g.memory.iter().any(|m| !m.is_empty()));
    let mut header = vec!["workload", "system", "time", "min–max", "cpus", "ratio"];
    if memory {
        header.push("memory");
    }

    let mut table = Grid::new(header.into_iter().map(|h| style.bold(h)));
    for (summary, lines) in summaries.iter().zip(&groups) {
        let mut row = vec![
            Cell::text(&title(summary, style)),
            Cell::left(&lines.systems),
            Cell::right(&lines.times),
            Cell::right(&lines.ranges),
            Cell::right(&lines.processors),
            Cell::right(&lines.ratios),
        ];
        if memory {
            row.push(Cell::right(&lines.memory));
        }
        table.push(row);
    }
    let mut text = table.to_string();
    text += "\nmin–max: of all repeats; cpus: processors in use on average; ratio: peer / ours.";
    if groups.iter().any(|g| g.splits) {
        text += "\n(…) stands apart: a splitter makes a task only when a worker is idle, or none\n(serial), not one for every node.";
    }
    text + &notes.text(style)
}

pub(super) fn title(summary: &Summary<'_>, style: Style) -> String {
    let group = summary.group;
    let sizes = super::sizes(&group.runs[0], group.workload.takes);
    let sizes: Vec<_> = sizes.lines().map(|line| style.dim(line)).collect();
    let name = style.bold(group.workload.name);
    format!("{name}\n{}\n{}\n{}", broken(group.form), pool(group.workers), sizes.join("\n"))
}

/// The name of a form, in lines that are short.
pub(super) fn broken(form: &Form) -> String {
    form.name.replace('-', "-\n")
}

fn lines(summary: &Summary<'_>, style: Style, notes: &mut Footnotes) -> Lines {
    let group = summary.group;
    let mut lines = Lines::default();
    for (i, params) in group.runs.iter().enumerate() {
        lines.systems.push(system(summary, i, style, notes));

        let (mut range, mut processors, mut ratio, mut memory) = Default::default();
        match (summary.medians(i), summary.failure(i)) {
            (Some(m), _) => {
                lines.times.push(shown_time(m.ns_per_op, m.seconds, group.workload.unit));
                range = shown_range(&m, group.workload.unit);
                processors = m.cpu_seconds.map_or(String::new(), |cpu| digits(cpu / m.seconds));
                memory = m.bytes_per_task.map_or(String::new(), shown_memory);
                if let Some(shown) = self::ratio(summary, i, |m| Some(m.seconds), style) {
                    ratio = shown;
                    lines.splits |= group.entry(params).lazy;
                }
            }
            (None, Some(failed)) => {
                let word = if failed.cannot().is_some() { style.dim("cannot") } else { style.bad("FAILED") };
                lines.times.push(word + &notes.mark(why(failed)));
            }
            (None, None) => lines.times.push("–".into()),
        }
        lines.ranges.push(range);
        lines.processors.push(processors);
        lines.ratios.push(ratio);
        lines.memory.push(memory);
    }
    for figure in &group.published {
        lines.published(figure, group.workload.unit, style, notes);
    }
    lines
}

impl Lines {
    /// A figure of others: where a measured one has its range it says so, and it has no ratio.
    fn published(&mut self, figure: &Published, unit: Unit, style: Style, notes: &mut Footnotes) {
        let Published { system, n, machine, source, differs, .. } = figure;
        let of = format!("not measured here: {source}; n = {}; {machine}", thousands(*n));
        let mut marks = notes.mark(wrapped(&of, NOTE).join("\n"));
        if let Some(differs) = differs {
            marks += &notes.mark(format!("{system}: {differs}"));
        }
        self.systems.push(style.dim(system) + &marks);
        self.times.push(style.dim(&shown_time(figure.ns_per_op(), figure.seconds, unit)));
        self.ranges.push(style.dim("published"));
        for column in [&mut self.processors, &mut self.ratios, &mut self.memory] {
            column.push(String::new());
        }
    }
}

/// The name of the system of run `i`, with marks of what is to be said of it.
pub(super) fn system(summary: &Summary<'_>, i: usize, style: Style, notes: &mut Footnotes) -> String {
    let (group, params) = (summary.group, &summary.group.runs[i]);
    let mut name = params.system.clone();
    if params.is_ours() {
        let policy = if params.policy == Policy::default() { String::new() } else { format!(", {}", params.policy) };
        name = style.bold(&format!("{OURS} ({}{policy})", params.mode));
    }
    if group.entry(params).unbound {
        name += &notes.mark("not a pool: the number of workers does not bind it".into());
    }
    if let Some(alive) = summary.most_alive(i) {
        name += &notes.mark(format!("{}: {} tasks were alive at a time at most", group.title(), thousands(alive)));
    }
    if let Some(note) = summary.note(i) {
        name += &notes.mark(format!("{}: {}: {note}", group.title(), params.system));
    }
    name
}

/// What a peer needs over what ours needs, in brackets where the peer does less. Ours has none.
pub(super) fn ratio(
    summary: &Summary<'_>,
    i: usize,
    of: impl Fn(&Medians) -> Option<f64>,
    style: Style,
) -> Option<String> {
    let (group, params) = (summary.group, &summary.group.runs[i]);
    let ours = group.runs.iter().position(|p| p.is_ours() && !params.is_ours())?;
    let shown = shown_ratio(of(&summary.medians(i)?)? / of(&summary.medians(ours)?)?, style);
    Some(if group.entry(params).lazy { format!("({shown})") } else { shown })
}

pub(super) fn shown_memory(b: f64) -> String {
    format!("{}/task", bytes(b))
}

/// Why a system has no time.
pub(super) fn why(failed: &Record) -> String {
    let why = failed.cannot().or(failed.error.as_deref()).unwrap_or_default();
    format!("{}: {why}", failed.system)
}

fn shown_time(ns_per_op: f64, seconds: f64, unit: Unit) -> String {
    match unit {
        Unit::Per(what) => format!("{}/{what}", nanoseconds(ns_per_op)),
        Unit::Whole => time(seconds * 1e9),
    }
}

/// The shortest and the longest time, where there were several: nanoseconds for an operation, or in
/// a unit that suits the longest.
pub(super) fn shown_range(m: &Medians, unit: Unit) -> String {
    if m.range.0 == m.range.1 {
        return String::new();
    }
    let (min, max) = match unit {
        Unit::Per(_) => {
            let each = m.ns_per_op / m.seconds;
            (nanoseconds(m.range.0 * each), nanoseconds(m.range.1 * each))
        }
        Unit::Whole => (time(m.range.0 * 1e9), time(m.range.1 * 1e9)),
    };
    let (number, unit) = max.rsplit_once(' ').unwrap_or((&max, ""));
    match min.rsplit_once(' ') {
        Some((shortest, same)) if same == unit => format!("{shortest}–{number}"),
        _ => format!("{min}–{max}"),
    }
}

fn shown_ratio(ratio: f64, style: Style) -> String {
    let text = format!("{} ×", digits(ratio));
    if ratio < 1.0 { style.bad(&text) } else { style.good(&text) }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::args::BenchOptions;
    use crate::bench::plan::plan;
    use crate::bench::summary::test::{group, record};

    #[test]
    fn a_ratio_is_peer_over_ours_and_a_peer_that_cannot_says_why_below() {
        let mut group = group();
        // Whatever is in this build: the first run is made ours.
        group.runs[0].system = OURS.into();
        let mut s = Summary::new(&group);
        for ns in [90.0, 100.0, 110.0] {
            s.add(0, record(&group, 0, ns));
            s.add(1, record(&group, 1, 3.0 * ns));
        }
        let text = render(&[s], Style::PLAIN);
        assert!(text.contains("myriad (threads)") && text.contains("100 ns/join"), "{text}");
        assert!(text.contains("3.00 ×") && text.contains("1536 B/task"), "{text}");
        assert!(text.contains("81.0–220") && text.contains("1.50"), "{text}");
        assert!(text.contains("n = 1,000") && !text.contains('\x1b') && !text.contains("splitter"), "{text}");
        assert!(text.contains("1 worker\n") || text.contains("1 worker "), "{text}");

        let mut s = Summary::new(&group);
        s.add(0, record(&group, 0, 100.0));
        s.add(1, Record::failed(&group.runs[1], "cannot: too many threads".into()));
        let text = render(&[s], Style::PLAIN);
        assert!(text.contains("cannot[2]") && text.contains("[2] pthread: too many threads"), "{text}");
    }

    /// It is marked, stands in no ratio, and the page has 80 columns.
    #[test]
    fn what_others_have_published_stands_below_what_is_measured() {
        let options = |system: &[&str]| BenchOptions {
            workload: Some("job".into()),
            system: system.iter().map(|s| (*s).into()).collect(),
            ..BenchOptions::default()
        };
        // (Where nothing of ours is built, what was asked for by name is.)
        let groups = plan(&options(&[]), 2).expect("it is possible");
        for group in groups.iter().filter(|group| group.form.name == "held" && !group.runs.is_empty()) {
            let mut s = Summary::new(group);
            let of = |i| Record { bytes_per_task: None, ..record(group, i, 400.0) };
            (0..group.runs.len()).for_each(|i| s.add(i, of(i)));
            let text = render(&[s], Style::PLAIN);
            let line = |system: &str| text.lines().find(|line| line.contains(system)).expect("it has a line");
            let words = |system| line(system).split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(words("JobSchedulers.jl").ends_with("2,380 ns/job published"), "{text}");
            assert!(words("Dagger.jl").ends_with("97,000 ns/job published"), "{text}");
            assert!(words("Base.Threads").ends_with("16.0 ns/job published"), "{text}");
            assert!(text.contains("not measured here: ") && text.contains("7985WX"), "{text}");
            assert!(text.contains("Base.Threads: `Threads.@threads`, a loop in chunks"), "{text}");
            assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        }
        let named = plan(&options(&["myriad"]), 2).unwrap_or_default();
        assert!(named.iter().all(|group| group.published.is_empty()));
    }

    #[test]
    fn a_wrong_answer_stands_out() {
        let group = group();
        let mut s = Summary::new(&group);
        s.add(0, Record::failed(&group.runs[0], "wrong answer: 1 instead of 2".into()));
        let text = render(&[s], Style::PLAIN);
        assert!(text.contains("FAILED") && text.contains("std: wrong answer: 1 instead of 2"), "{text}");
    }
}
