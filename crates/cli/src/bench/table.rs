//! The table that people read.
//!
//! One row for a group, one line in it for a system, ours first. What needs a sentence stands below
//! the table with a number. Systems that make no task per node have their ratio in a column of
//! their own, because they do less.

use comfy_table::presets::UTF8_HORIZONTAL_ONLY;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table};
use myriad_bench::{OURS, Policy, Unit};

use super::summary::{Medians, Summary};
use crate::style::{Style, bytes, digits, nanoseconds, time};

/// The lines of a group, column by column.
#[derive(Debug, Default)]
struct Lines {
    systems: Vec<String>,
    times: Vec<String>,
    ratios: Vec<String>,
    splitters: Vec<String>,
    memory: Vec<String>,
}

/// Sentences below the table, each once.
#[derive(Debug, Default)]
struct Footnotes {
    texts: Vec<String>,
}

impl Footnotes {
    /// The mark for this text.
    fn mark(&mut self, text: String) -> String {
        let at = self.texts.iter().position(|t| *t == text).unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        });
        format!(" [{}]", at + 1)
    }
}

/// The table of all groups, with the footnotes.
pub(crate) fn render(summaries: &[Summary<'_>], style: Style) -> String {
    let mut notes = Footnotes::default();
    let groups: Vec<_> = summaries.iter().map(|s| lines(s, style, &mut notes)).collect();
    let lazy = groups.iter().any(|g| g.splitters.iter().any(|s| !s.is_empty()));
    let mut header = vec!["workload", "workers", "system", "time", "peer / ours"];
    if lazy {
        header.push("splitter");
    }
    header.push("memory");

    let mut table = Table::new();
    table.load_style(UTF8_HORIZONTAL_ONLY).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.into_iter().map(|h| style.bold(h)));
    for (summary, lines) in summaries.iter().zip(&groups) {
        let mut row = vec![
            Cell::new(title(summary, style)),
            right(&[summary.group.workers.to_string()]),
            Cell::new(lines.systems.join("\n")),
            right(&lines.times),
            right(&lines.ratios),
        ];
        if lazy {
            row.push(right(&lines.splitters));
        }
        row.push(right(&lines.memory));
        table.add_row(row);
    }
    // Without vertical lines: most tables fit into 80 columns then.
    let last = table.column_count() - 1;
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, if i < last { 1 } else { 0 }));
    }
    let mut text = table.to_string();
    if lazy {
        text += "\nsplitter / ours stands apart: it makes a task only when a worker is idle, or none (serial), not one for every node.";
    }
    for (i, note) in notes.texts.iter().enumerate() {
        text += &format!("\n{}", style.dim(&format!("[{}] {note}", i + 1)));
    }
    text
}

fn right(lines: &[String]) -> Cell {
    Cell::new(lines.join("\n")).set_alignment(CellAlignment::Right)
}

fn title(summary: &Summary<'_>, style: Style) -> String {
    let group = summary.group;
    let sizes = super::sizes(&group.runs[0], group.workload.takes);
    let sizes: Vec<_> = sizes.lines().map(|line| style.dim(line)).collect();
    format!("{}\n{}\n{}", style.bold(group.workload.name), group.form.name, sizes.join("\n"))
}

fn lines(summary: &Summary<'_>, style: Style, notes: &mut Footnotes) -> Lines {
    let group = summary.group;
    let ours = group.runs.iter().position(|p| p.is_ours()).and_then(|i| summary.medians(i));
    let mut lines = Lines::default();
    for (i, params) in group.runs.iter().enumerate() {
        let mut system = params.system.clone();
        if params.is_ours() {
            let policy =
                if params.policy == Policy::default() { String::new() } else { format!(", {}", params.policy) };
            system = style.bold(&format!("{OURS} ({}{policy})", params.mode));
        }
        if group.entry(params).unbound {
            system += &notes.mark("not a pool: the number of workers does not bind it".into());
        }
        if let Some(note) = summary.note(i) {
            system += &notes.mark(format!("{}: {}: {note}", group.title(), params.system));
        }
        lines.systems.push(system);

        let (mut ratio, mut memory) = (String::new(), String::new());
        match (summary.medians(i), summary.failure(i)) {
            (Some(m), _) => {
                lines.times.push(shown_time(&m, group.workload.unit));
                memory = shown_memory(&m);
                if let Some(ours) = ours.as_ref().filter(|_| !params.is_ours()) {
                    ratio = shown_ratio(m.seconds / ours.seconds, style);
                }
            }
            (None, Some(failed)) => {
                let (word, why) = match failed.cannot() {
                    Some(why) => (style.dim("cannot"), why),
                    None => (style.bad("FAILED"), failed.error.as_deref().unwrap_or_default()),
                };
                lines.times.push(word + &notes.mark(format!("{}: {why}", failed.system)));
            }
            (None, None) => lines.times.push("–".into()),
        }
        let lazy = group.entry(params).lazy;
        lines.splitters.push(if lazy { std::mem::take(&mut ratio) } else { String::new() });
        lines.ratios.push(ratio);
        lines.memory.push(memory);
    }
    lines
}

fn shown_time(m: &Medians, unit: Unit) -> String {
    match unit {
        Unit::Per(what) => format!("{}/{what}", nanoseconds(m.ns_per_op)),
        Unit::Whole => time(m.seconds * 1e9),
    }
}

fn shown_memory(m: &Medians) -> String {
    match (m.bytes_per_task, m.max_rss) {
        (Some(b), _) => format!("{}/task", bytes(b)),
        (None, Some(b)) => format!("{} peak", bytes(b)),
        (None, None) => String::new(),
    }
}

fn shown_ratio(ratio: f64, style: Style) -> String {
    let text = format!("{} ×", digits(ratio));
    if ratio < 1.0 { style.bad(&text) } else { style.good(&text) }
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::bench::summary::test::{group, record};
    use myriad_bench::Record;

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
        assert!(text.contains("myriad (fibers)") && text.contains("100 ns/join"), "{text}");
        assert!(text.contains("3.00 ×") && text.contains("1.00 MiB peak"), "{text}");
        assert!(text.contains("n = 1,000") && !text.contains('\x1b') && !text.contains("splitter"), "{text}");

        let mut s = Summary::new(&group);
        s.add(0, record(&group, 0, 100.0));
        s.add(1, Record::failed(&group.runs[1], "cannot: too many threads".into()));
        let text = render(&[s], Style::PLAIN);
        assert!(text.contains("cannot [2]") && text.contains("[2] pthread: too many threads"), "{text}");
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
