//! The table of workloads whose client is another process: what a request takes of the server, how
//! long it takes, and what a server does while nobody asks. It fits 80 columns.
//!
//! The column of the time has the workload's unit for its title, because there is no room for it in
//! each line.

use myriad_bench::{Record, Served, Silent, Unit};

use super::summary::{Medians, Summary, median};
use super::table::{Footnotes, ratio, shown_memory, system, title, why};
use crate::grid::{Cell, Grid};
use crate::style::{Style, digits, short_time, thousands};

/// Seconds of a percentile.
type Percentile = fn(&Served) -> f64;

const SLOWEST: [(&str, Percentile); 3] = [("p50", |s| s.p50), ("p99", |s| s.p99), ("p99.9", |s| s.p999)];
/// Where most requests find a worker that has time.
const SLOWER: [(&str, Percentile); 3] = [("p75", |s| s.p75), ("p99", |s| s.p99), ("worst", |s| s.worst)];

/// Whether these are such workloads.
pub(super) fn is_for(summaries: &[Summary<'_>]) -> bool {
    let has = |record: &Record| record.served.is_some() || record.silent.is_some();
    summaries.iter().any(|s| (0..s.group.runs.len()).any(|i| s.records(i).iter().any(has)))
}

/// What stands in a column for a run of a group.
type Line<'a> = Box<dyn Fn(&Summary<'_>, usize, &Medians) -> String + 'a>;

/// A column: its title, and a line for each run of a group.
struct Column<'a> {
    title: &'static str,
    line: Line<'a>,
}

/// The table of all groups, with what its columns mean.
pub(super) fn render(summaries: &[Summary<'_>], style: Style) -> String {
    let mut notes = Footnotes::default();
    let unit = match summaries.first().map(|s| s.group.workload.unit) {
        Some(Unit::Per(unit)) => unit,
        _ => "time",
    };
    let columns = columns(summaries, unit, style);
    let mut header = vec!["workload", "system"];
    header.extend(columns.iter().map(|column| column.title));
    let mut table = Grid::new(header.into_iter().map(|title| style.bold(title)));
    for summary in summaries {
        let mut cells = vec![Vec::new(); columns.len() + 1];
        for i in 0..summary.group.runs.len() {
            cells[0].push(system(summary, i, style, &mut notes));
            let mut lines = match (summary.medians(i), summary.failure(i)) {
                (Some(medians), _) => columns.iter().map(|column| (column.line)(summary, i, &medians)).collect(),
                (None, Some(failed)) => {
                    let word = if failed.cannot().is_some() { style.dim("cannot") } else { style.bad("FAILED") };
                    vec![word + &notes.mark(why(failed))]
                }
                (None, None) => vec!["–".into()],
            };
            lines.resize(columns.len(), String::new());
            cells[1..].iter_mut().zip(lines).for_each(|(cell, line)| cell.push(line));
        }
        let mut row = vec![Cell::text(&title(summary, style)), Cell::left(&cells[0])];
        row.extend(cells[1..].iter().map(|lines| Cell::right(lines)));
        table.push(row);
    }
    let late = late(summaries).unwrap_or_default();
    format!("{table}\n{}{late}{}", legend(&columns, unit), notes.text(style))
}

/// The columns that say something.
fn columns<'a>(summaries: &[Summary<'_>], unit: &'static str, style: Style) -> Vec<Column<'a>> {
    fn time(seconds: Option<f64>) -> String {
        // (Nothing is 0 of any unit.)
        seconds.map_or_else(String::new, |s| if s == 0.0 { "0".into() } else { short_time(s * 1e9) })
    }
    let mut all = Vec::new();
    let mut add = |title, line: Line<'a>| {
        all.push(Column { title, line });
    };
    add(unit, Box::new(|_, _, m| short_time(m.ns_per_op)));
    for (title, percentile) in if unit == "p90" { SLOWER } else { SLOWEST } {
        add(title, Box::new(move |s, i, _| time(served(s, i, percentile))));
    }
    if unit == "request" {
        let tail = |s: &Summary<'_>, i| Some(served(s, i, |s| s.p99)? / served(s, i, |s| s.p50)?);
        add("tail", Box::new(move |s, i, _| tail(s, i).map_or_else(String::new, digits)));
        let each = |r: &Record| r.served.as_ref()?.cpu_seconds_per_request;
        add("cpu", Box::new(move |s, i, _| time(over(s, i, each))));
    }
    add("beside", Box::new(|s, i, _| over(s, i, |r| r.background_per_second).map_or_else(String::new, rate)));
    let runs = |s: &Summary<'_>, i| silent(s, i, |s| s.wakes as f64);
    add("ran", Box::new(move |s, i, _| runs(s, i).map_or_else(String::new, |x| thousands(x as u64))));
    add("for", Box::new(|s, i, _| time(silent(s, i, |s| s.cpu_seconds))));
    add("memory", Box::new(|_, _, m| m.bytes_per_task.map_or_else(String::new, shown_memory)));
    let of = move |m: &Medians| if unit == "connection" { m.bytes_per_task } else { Some(m.seconds) };
    add("ratio", Box::new(move |s, i, _| ratio(s, i, of, style).unwrap_or_default()));
    all.retain(|column| {
        let mut lines = summaries.iter().flat_map(|s| (0..s.group.runs.len()).map(move |i| (s, i)));
        lines.any(|(s, i)| s.medians(i).is_some_and(|m| !(column.line)(s, i, &m).is_empty()))
    });
    all
}

/// How late the client itself was, if that is a good part of a percentile: then the machine does
/// something else, too.
fn late(summaries: &[Summary<'_>]) -> Option<String> {
    let records = summaries.iter().flat_map(|s| (0..s.group.runs.len()).flat_map(|i| s.records(i)));
    let of = records.filter_map(|r| r.served.as_ref()).filter_map(|s| s.client_late.filter(|late| *late > s.p99 / 4.0));
    let most = of.max_by(f64::total_cmp)?;
    Some(format!(
        "\nThe client itself saw planned times up to {} late (p99):\nthe machine is busy, and the percentiles say little.",
        short_time(most * 1e9)
    ))
}

/// What the columns mean, in lines that are short.
fn legend(columns: &[Column<'_>], unit: &str) -> String {
    let mut text = match unit {
        "cpu" => "cpu: the server's processor time for a request, in which it has time to sleep.".into(),
        "p90" => "p90: of 100 round trips 90 took no longer; p75, p99 likewise.".into(),
        "connection" => "connection: the time to make it, and of its first answer.".into(),
        _ => format!("{unit}: the time of all over how many there were."),
    };
    for column in columns {
        text += match column.title {
            "p50" if unit == "cpu" => "\np50, p99, p99.9: of the time from when a request was due to its answer.",
            "p50" => "\np50, p99, p99.9: of the time of a round trip.",
            "tail" => "\ntail: p99 / p50.",
            "cpu" if unit != "cpu" => "\ncpu: the server's processor time for a request.",
            "beside" => "\nbeside: bursts of computing (25 for each worker at most), or yields, in a second.",
            "ran" => "\nran, for: how often a thread of the server ran in the silence, and how long.",
            "memory" => "\nmemory: resident, of the server's process, without the kernel's sockets.",
            "ratio" if unit == "connection" => "\nratio: memory, peer / ours.",
            "ratio" => "\nratio: peer / ours, in the first of these columns.",
            _ => "",
        };
    }
    text
}

/// The median of what the records have.
fn over(s: &Summary<'_>, i: usize, of: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    median(s.records(i).iter().filter_map(of).collect())
}

fn served(s: &Summary<'_>, i: usize, of: impl Fn(&Served) -> f64) -> Option<f64> {
    over(s, i, |r| r.served.as_ref().map(&of))
}

fn silent(s: &Summary<'_>, i: usize, of: impl Fn(&Silent) -> f64) -> Option<f64> {
    over(s, i, |r| r.silent.as_ref().map(&of))
}

/// So many a second, in few characters.
fn rate(x: f64) -> String {
    match x {
        x if x < 9_999.5 => digits(x),
        x if x < 999_500.0 => format!("{:.0} k", x / 1e3),
        x => format!("{} M", digits(x / 1e6)),
    }
}

#[cfg(test)]
mod test {
    use console::measure_text_width;

    use super::*;
    use crate::bench::summary::test::{group, record};

    fn of_a_server(mut record: Record) -> Record {
        record.served = Some(Served {
            requests: 10,
            cpu_seconds_per_request: Some(123e-6),
            p50: 0.5e-3,
            p75: 0.6e-3,
            p90: 0.7e-3,
            p99: 1.5e-3,
            p999: 0.123,
            worst: 0.125,
            client_late: None,
        });
        record
    }

    #[test]
    fn a_server_has_percentiles_and_its_lines_fit() {
        let mut group = group();
        group.runs[0].system = myriad_bench::OURS.into();
        let mut s = Summary::new(&group);
        s.add(0, of_a_server(record(&group, 0, 123_456.0)));
        s.add(1, of_a_server(record(&group, 1, 3.0 * 123_456.0)));
        let text = render(std::slice::from_ref(&s), Style::PLAIN);
        assert!(is_for(&[s]), "{text}");
        for part in ["500 µs", "1.5 ms", "123 ms", "3.00 ×", "peer / ours"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.lines().all(|line| measure_text_width(line) <= 80), "{text}");
    }

    #[test]
    fn silence_is_shown_and_a_failure_says_why() {
        let group = group();
        let mut s = Summary::new(&group);
        let mut quiet = record(&group, 0, 1e5);
        quiet.silent = Some(Silent { seconds: 2.0, wakes: 17, cpu_seconds: 0.0 });
        s.add(0, quiet);
        s.add(1, Record::failed(&group.runs[1], "wrong answer: 1 instead of 2".into()));
        let text = render(&[s], Style::PLAIN);
        assert!(text.contains(" 17 ") && text.contains("1536 B/task") && text.contains("FAILED[2]"), "{text}");
        assert!(!text.contains("tail"), "{text}");
    }

    #[test]
    fn rates_are_short() {
        assert_eq!([24.6, 12_345.0, 3_456_000.0].map(rate), ["24.6", "12 k", "3.46 M"]);
    }
}
