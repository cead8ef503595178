//! When jobs ran, as a chart: of text, and as a picture.

use super::error::one_line;
use super::queue::Queue;
use super::view::seconds;
use crate::machine::{Row, State, Time};
use std::fmt::Write;
use std::time::Duration;

const SECOND: Time = 1_000_000_000;

pub(super) fn has_begun(row: &Row) -> bool {
    row.started > 0
}

/// From its begin to its end, or to now.
pub(super) fn ran(row: &Row, now: Time) -> Time {
    match (has_begun(row), row.state) {
        (false, _) | (_, State::Pending) => 0,
        (true, state) if state.is_final() => row.ended.saturating_sub(row.started),
        (true, _) => now.saturating_sub(row.started),
    }
}

impl Queue {
    /// When the last runs of jobs were, as a chart of so many columns: one line for each job that
    /// has begun. Jobs of which the queue [knows](Self::jobs) nothing any more are not in it. More
    /// than 10,000 columns are 10,000.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().keep_unnamed().start();
    /// q.submit(Job::new(|| ()).name("prep"))?.join()?;
    /// assert!(q.gantt(20).ends_with("| prep\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gantt(&self, columns: usize) -> String {
        let columns = columns.min(10_000);
        let (rows, now) = self.rows();
        let rows: Vec<&Row> = rows.iter().filter(|row| has_begun(row)).collect();
        let Some(first) = rows.iter().map(|row| row.started).min() else { return String::new() };
        let last = rows.iter().map(|row| row.started + ran(row, now)).max().unwrap_or(first).max(first + 1);
        let column = |at: Time| ((at - first) as u128 * columns as u128 / (last - first) as u128) as usize;
        let mut text = String::new();
        for row in rows {
            let from = column(row.started).min(columns.saturating_sub(1));
            let to = column(row.started + ran(row, now)).clamp(from + 1, columns.max(1));
            let name = one_line(row.name.as_deref().unwrap_or("-"));
            _ = writeln!(
                text,
                "{:>5} |{}{}{}| {name}",
                row.id.as_u64(),
                " ".repeat(from),
                "#".repeat(to - from),
                " ".repeat(columns - to.min(columns))
            );
        }
        text
    }

    /// The same as a picture, in SVG: a thin line from a job's submission to its begin, then a bar
    /// whose colour says how it ended. A pointer on a job shows its times and what went wrong.
    ///
    /// The picture is complete in itself: a browser shows the file, and a page may contain it.
    ///
    /// # Examples
    /// ```
    /// use myriad::jobs::{Job, Local};
    /// let q = Local::new().keep_unnamed().start();
    /// q.submit(Job::new(|| ()).name("prep"))?.join()?;
    /// let picture = q.gantt_svg();
    /// assert!(picture.starts_with("<svg ") && picture.contains("prep"));
    /// // std::fs::write("jobs.svg", picture)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gantt_svg(&self) -> String {
        let (rows, now) = self.rows();
        let begun: Vec<Row> = rows.into_iter().filter(has_begun).collect();
        svg(&begun, now)
    }
}

/// The width of the names, of the chart, and the height of a line.
const NAMES: u64 = 170;
const CHART: u64 = 760;
const LINE: u64 = 20;
/// Above the first line: the axis.
const TOP: u64 = 30;

fn svg(rows: &[Row], now: Time) -> String {
    let first = rows.iter().map(|row| row.submitted.min(row.started)).min().unwrap_or(0);
    let last = rows.iter().map(|row| row.started + ran(row, now)).max().unwrap_or(0).max(first + 1);
    let x = |at: Time| NAMES as f64 + (at - first) as f64 / (last - first) as f64 * CHART as f64;
    let (width, bottom) = (NAMES + CHART + 20, TOP + LINE * rows.len() as u64);
    let height = bottom + 30;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n"
    );
    for tick in ticks(last - first) {
        let at = x(first + tick);
        _ = writeln!(
            text,
            "<path d=\"M{at:.1} {}V{bottom}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\" \
             fill=\"#555\">{}</text>",
            TOP - 6,
            TOP - 12,
            axis(tick, last - first)
        );
    }
    for (i, row) in rows.iter().enumerate() {
        let top = TOP + LINE * i as u64;
        let middle = top + LINE / 2;
        let (submitted, from) = (x(row.submitted.min(row.started)), x(row.started));
        // (A bar that nobody could see is a pixel wide.)
        let wide = (x(row.started + ran(row, now)) - from).max(1.0);
        let id = row.id.as_u64();
        let name: String = row.name.as_deref().unwrap_or("").chars().take(22).collect();
        _ = writeln!(
            text,
            "<g><title>{}</title><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{} ({id})</text>\
             <path d=\"M{submitted:.1} {middle}H{from:.1}\" stroke=\"#999\"/>\
             <rect x=\"{from:.1}\" y=\"{}\" width=\"{wide:.1}\" height=\"{}\" rx=\"2\" fill=\"{}\"/></g>",
            escaped(&title(row, now)),
            NAMES - 8,
            middle + 4,
            escaped(&name),
            top + 3,
            LINE - 6,
            colour(row.state)
        );
    }
    let mut at = NAMES;
    for state in [State::Running, State::Done, State::Failed, State::TimedOut, State::Cancelled] {
        let (y, word) = (bottom + 10, state.word());
        _ = writeln!(
            text,
            "<rect x=\"{at}\" y=\"{y}\" width=\"10\" height=\"10\" fill=\"{}\"/><text x=\"{}\" y=\"{}\">{word}</text>",
            colour(state),
            at + 15,
            y + 9
        );
        at += 110;
    }
    text + "</svg>\n"
}

/// What a pointer on a job shows.
fn title(row: &Row, now: Time) -> String {
    let time = |time: Time| seconds(Duration::from_nanos(time));
    let name = row.name.as_deref().map_or(String::new(), |name| format!(" '{name}'"));
    let (waited, ran) = (time(row.started.saturating_sub(row.submitted)), time(ran(row, now)));
    let reason = row.report.text.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
    format!("job {}{name}: {}{reason}; waited {waited}, ran {ran}", row.id, row.state)
}

/// (Told apart also by who does not see red and green: they differ in lightness.)
fn colour(state: State) -> &'static str {
    match state {
        State::Done => "#7fbf7f",
        State::Failed => "#c0392b",
        State::TimedOut => "#e08e0b",
        State::Cancelled | State::Skipped(_) => "#b0b0b0",
        State::Pending | State::Running | State::Suspended | State::Overdue => "#3b6fb6",
    }
}

/// The places of the axis' lines in a span: at most nine, at round times.
fn ticks(span: Time) -> impl Iterator<Item = Time> {
    let steps = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_u64.pow(power)));
    let step = steps.into_iter().find(|step| span / step <= 8).unwrap_or(Time::MAX);
    (0..=span / step).map(move |i| i * step)
}

/// A time on an axis of such a length.
fn axis(at: Time, span: Time) -> String {
    match span {
        0..10_000 => format!("{at} ns"),
        10_000..10_000_000 => format!("{} µs", at / 1_000),
        10_000_000..SECOND => format!("{} ms", at / 1_000_000),
        _ => format!("{} s", at as f64 / SECOND as f64),
    }
}

/// As text in XML, in which control characters may not stand.
fn escaped(text: &str) -> String {
    let mut to = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => to += "&amp;",
            '<' => to += "&lt;",
            '>' => to += "&gt;",
            '"' => to += "&quot;",
            c if c.is_control() || matches!(c, '\u{FFFE}' | '\u{FFFF}') => to.push(' '),
            c => to.push(c),
        }
    }
    to
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::machine::{JobId, Report};
    use std::sync::Arc;

    fn row(id: u64, name: &str, state: State, [submitted, started, ended]: [Time; 3]) -> Row {
        Row {
            id: JobId(id),
            name: (!name.is_empty()).then(|| Arc::from(name)),
            user: None,
            state,
            priority: 0,
            attempts: 1,
            submitted,
            started,
            ended,
            after: Vec::new(),
            array: None,
            elements: None,
            group: "".into(),
            cpu: 0,
            memory: 0,
            resources: Vec::new(),
            wall: None,
            begin: None,
            retries: 0,
            report: Report::default(),
        }
    }

    #[test]
    fn a_picture_has_a_bar_in_its_place_for_each_job() {
        let jobs = [
            row(1, "a<b & \"c\"\u{1}", State::Done, [0, SECOND, 2 * SECOND]),
            row(2, "", State::Running, [SECOND, 2 * SECOND, 0]),
        ];
        let picture = svg(&jobs, 4 * SECOND);
        // A second of four is a quarter of the chart.
        assert!(picture.contains("<rect x=\"360.0\" y=\"33\" width=\"190.0\""), "{picture}");
        assert!(picture.contains("<rect x=\"550.0\" y=\"53\" width=\"380.0\""), "{picture}");
        assert!(picture.contains("a&lt;b &amp; &quot;c&quot; "), "{picture}");
        assert!(picture.contains("job 2: running; waited 1.00 s, ran 2.00 s"), "{picture}");
        assert!(picture.contains(">0.5 s</text>") && picture.contains(">4 s</text>"), "{picture}");
        assert_eq!(picture.matches("<g>").count(), 2);
        assert!(svg(&[], 5).ends_with("</svg>\n"));
    }

    #[test]
    fn an_axis_has_a_few_round_times() {
        for span in [1, 7, 99, 12_345, SECOND, 3_599 * SECOND, Time::MAX] {
            let all: Vec<_> = ticks(span).collect();
            assert!((1..=9).contains(&all.len()) && all.iter().all(|&at| at <= span), "{span}: {all:?}");
        }
        assert_eq!(ticks(SECOND).map(|at| axis(at, SECOND)).nth(1).unwrap(), "0.2 s");
        assert_eq!(axis(20_000_000, SECOND - 1), "20 ms");
    }
}
