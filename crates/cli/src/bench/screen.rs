//! The screen that compares Myriad with the best of the others, a line for each form, in 80
//! columns.
//!
//! ```text
//! name                  threads   ±    fibers  next best        slower|faster
//! relay, closures       950 ns  4 %   5.2 ns   56 ns may          ██|       17× slower
//! ```
//! *threads* is the library's default mode, and what the verdict and the bar are about; *fibers*
//! has a time where the mode matters. A comparison is *level* where the difference is within the
//! spread of the two, and at least within 5 %. A system that ran once, for want of time, may be off
//! by a quarter.

use std::fmt::Write;

use myriad_bench::{Mode, Unit};

use super::overview;
use super::summary::{Medians, Summary};
use crate::style::{Style, short_time};

/// Columns for a name.
pub(super) const NAME: usize = 19;
/// Differences below are no difference, however small the spread is.
const LEVEL: f64 = 1.05;
/// The spread of one run, of which nothing is known.
const UNKNOWN: f64 = 0.25;
/// A block of the bar is a factor of this.
const BLOCK: f64 = 3.0;
/// Blocks to the left and to the right.
const LEFT: usize = 3;
const RIGHT: usize = 4;

/// How ours compares with the best of the others.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    Faster,
    Level,
    Slower,
    /// Nobody else does it.
    Alone,
}

/// What a line says.
#[derive(Debug)]
struct Compared<'a> {
    ours: Option<Medians>,
    fibers: Option<Medians>,
    best: Option<(&'a str, Medians)>,
}

impl<'a> Compared<'a> {
    fn of(summary: &'a Summary<'_>) -> Compared<'a> {
        let group = summary.group;
        let ours = |mode| {
            let mut runs = group.runs.iter().enumerate().filter(|(_, p)| p.is_ours());
            runs.find(|(_, p)| p.mode == mode).and_then(|(i, _)| summary.medians(i))
        };
        let others = group.runs.iter().enumerate().filter(|(_, p)| !p.is_ours() && !group.entry(p).reference);
        let measured = others.filter_map(|(i, p)| Some((p.system.as_str(), summary.medians(i)?)));
        let best = measured.min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds));
        Compared { ours: ours(Mode::Threads), fibers: ours(Mode::Fibers), best }
    }

    /// The best other's time over this of ours, and what that means.
    fn verdict(&self, ours: &Medians) -> (f64, Verdict) {
        let Some((_, best)) = &self.best else { return (1.0, Verdict::Alone) };
        let ratio = best.seconds / ours.seconds;
        let spread = |m: &Medians| if m.runs > 1 { spread(m) } else { spread(m).max(UNKNOWN) };
        let level = LEVEL.max((1.0 + spread(ours)) * (1.0 + spread(best)));
        let verdict = match ratio {
            r if r > level => Verdict::Faster,
            r if r < 1.0 / level => Verdict::Slower,
            _ => Verdict::Level,
        };
        (ratio, verdict)
    }
}

/// How far the shortest time is below the median, as a part of the median. (The longest tells of
/// other programs on the machine: one of a hundred repeats that was interrupted would make every
/// comparison level.)
fn spread(m: &Medians) -> f64 {
    (m.seconds - m.range.0).max(0.0) / m.seconds
}

/// How often ours was the fastest, and so on.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub(super) struct Count {
    faster: usize,
    level: usize,
    slower: usize,
    alone: usize,
}

impl Count {
    fn add(&mut self, verdict: Verdict) {
        *match verdict {
            Verdict::Faster => &mut self.faster,
            Verdict::Level => &mut self.level,
            Verdict::Slower => &mut self.slower,
            Verdict::Alone => &mut self.alone,
        } += 1;
    }

    fn text(self) -> String {
        let Count { faster, level, slower, alone } = self;
        let of = faster + level + slower;
        let rivals = if alone > 0 { format!("; {alone} alone") } else { String::new() };
        format!("fastest in {faster} of {of}, level in {level}, slower in {slower}{rivals}")
    }
}

/// The verdict over all lines: in the default mode, and with fibers where closures wait.
pub(super) fn verdict(summaries: &[Summary<'_>]) -> [String; 2] {
    let (mut threads, mut fibers) = (Count::default(), Count::default());
    for compared in summaries.iter().map(Compared::of) {
        if let Some(ours) = &compared.ours {
            threads.add(compared.verdict(ours).1);
        }
        if let Some(ours) = compared.fibers.as_ref().or(compared.ours.as_ref()) {
            fibers.add(compared.verdict(ours).1);
        }
    }
    [format!("threads (the default): {}", threads.text()), format!("fibers (opt-in):       {}", fibers.text())]
}

/// The line above the rows.
pub(super) fn header(width: usize, style: Style) -> String {
    let mut line = format!("{:<NAME$} {:>9} {:>5} {:>9}  {:<16}", "", "threads", "min", "fibers", "next best");
    if has_bar(width) {
        line += "slower|faster";
    }
    style.bold(line.trim_end())
}

/// A heading, if this line begins a section.
pub(super) fn heading(summary: &Summary<'_>, before: Option<&Summary<'_>>, style: Style) -> Option<String> {
    let section = |s: &Summary<'_>| overview::section(s.group.workload, s.group.form);
    let title = section(summary);
    (before.map(section) != Some(title)).then(|| style.bold(title))
}

fn has_bar(width: usize) -> bool {
    width >= 79
}

/// The line of a group.
pub(super) fn line(summary: &Summary<'_>, width: usize, style: Style) -> String {
    let group = summary.group;
    let compared = Compared::of(summary);
    let mut name = overview::label(group.workload, group.form);
    if name.chars().count() > NAME {
        name = name.chars().take(NAME - 1).chain(['…']).collect();
    }
    let time = |m: &Medians| match group.workload.unit {
        Unit::Per(_) => short_time(m.ns_per_op),
        Unit::Whole => short_time(m.seconds * 1e9),
    };
    let shown = |m: &Option<Medians>| m.as_ref().map_or(String::new(), time);
    let ours = match &compared.ours {
        Some(ours) => time(ours),
        None => why_not(summary).into(),
    };
    let percent = compared.ours.as_ref().map_or(String::new(), |m| match m.runs {
        1 => "1 run".into(),
        _ => format!("-{:.0} %", spread(m) * 100.0),
    });
    let best = match &compared.best {
        Some((system, m)) => format!("{:>8} {:.9}", time(m), system),
        None => format!("{:>8}", "–"),
    };
    let mut line = format!("{name:<NAME$} {ours:>9} {percent:>5} {:>9}  {best:<18}", shown(&compared.fibers));
    if let Some(ours) = &compared.ours {
        let (ratio, verdict) = compared.verdict(ours);
        if has_bar(width) {
            line += &bar(ratio, verdict, style);
        } else if verdict != Verdict::Alone {
            _ = write!(line, " {}", factor(ratio, verdict));
        }
    }
    line.trim_end().to_owned()
}

/// Why there is no time of ours.
fn why_not(summary: &Summary<'_>) -> &'static str {
    let ours = summary.group.runs.iter().position(|p| p.is_ours() && p.mode == Mode::Threads);
    match ours.and_then(|i| summary.failure(i)) {
        Some(record) if record.cannot().is_some() => "cannot",
        Some(_) => "FAILED",
        None => "",
    }
}

/// Blocks to the left where ours is slower, to the right where it is faster, and the factor.
fn bar(ratio: f64, verdict: Verdict, style: Style) -> String {
    let blocks = |factor: f64, most: usize| ((factor.ln() / BLOCK.ln()).ceil() as usize).clamp(1, most);
    let (left, right) = match verdict {
        Verdict::Faster => (0, blocks(ratio, RIGHT)),
        Verdict::Slower => (blocks(1.0 / ratio, LEFT), 0),
        Verdict::Level | Verdict::Alone => (0, 0),
    };
    let pad = " ".repeat(LEFT - left);
    let (left, right) = ("█".repeat(left), "█".repeat(right));
    let text = factor(ratio, verdict);
    format!(" {pad}{}|{} {text}", style.bad(&left), style.good(&format!("{right:<RIGHT$}")))
}

/// "2.1×", with the word where ours is slower.
fn factor(ratio: f64, verdict: Verdict) -> String {
    let digits = |x: f64| if x < 9.95 { format!("{x:.1}×") } else { format!("{x:.0}×") };
    match verdict {
        Verdict::Faster => digits(ratio),
        Verdict::Slower => format!("÷{}", digits(1.0 / ratio).trim_end_matches('×')),
        Verdict::Level => "level".into(),
        Verdict::Alone => String::new(),
    }
}

/// What stands below: the slower rows by name, and what was not compared, in lines of `width`.
pub(super) fn below(summaries: &[Summary<'_>], width: usize) -> Vec<String> {
    let mut slower = Vec::new();
    let mut missing = Vec::new();
    for summary in summaries {
        let compared = Compared::of(summary);
        let label = overview::label(summary.group.workload, summary.group.form);
        if let Some(ours) = &compared.ours
            && compared.verdict(ours).1 == Verdict::Slower
        {
            slower.push(label.clone());
        }
        for (i, params) in summary.group.runs.iter().enumerate().filter(|(_, p)| !p.is_ours()) {
            if let Some(failure) = summary.failure(i).filter(|f| f.cannot().is_none()) {
                let why = failure.error.as_deref().unwrap_or("no reason given");
                missing.push(format!("Not compared: {label}/{}: {why}", params.system));
            }
        }
    }
    let mut lines = Vec::new();
    if !slower.is_empty() {
        // Commas inside of a name stay with it.
        lines.extend(wrapped(&format!("Slower: {}", slower.join("; ")), width));
    }
    missing.iter().for_each(|text| lines.extend(wrapped(text, width)));
    lines
}

/// Broken at spaces.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > width {
            lines.push(format!("  {word}"));
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::bench::plan::Group;
    use crate::bench::summary::test::{group, record};
    use myriad_bench::OURS;

    /// A group in which the first run is ours.
    fn compared_group() -> Group {
        let mut group = group();
        group.runs[0].system = OURS.into();
        group.runs[0].mode = Mode::Threads;
        group
    }

    fn summary(group: &Group, ours: f64, other: f64) -> Summary<'_> {
        let mut s = Summary::new(group);
        for i in 0..2 {
            let mut r = record(group, i, if i == 0 { ours } else { other });
            (r.seconds_min, r.seconds_max) = (r.seconds * 0.99, r.seconds * 1.01);
            s.add(i, r);
        }
        s
    }

    #[test]
    fn faster_level_and_slower() {
        let group = compared_group();
        let cases = [(100.0, 250.0, "2.5×"), (100.0, 103.0, "level"), (300.0, 100.0, "÷3.0")];
        for (ours, other, said) in cases {
            let s = summary(&group, ours, other);
            let line = line(&s, 80, Style::PLAIN);
            assert!(line.contains(said) && line.chars().count() <= 80, "{line}");
            assert!(line.contains("OS threads") && line.contains("pthread"), "{line}");
        }
        let all = [summary(&group, 100.0, 250.0), summary(&group, 100.0, 101.0), summary(&group, 300.0, 100.0)];
        let [threads, fibers] = verdict(&all);
        assert!(threads.ends_with("fastest in 1 of 3, level in 1, slower in 1"), "{threads}");
        assert!(fibers.ends_with("fastest in 1 of 3, level in 1, slower in 1"), "{fibers}");
        assert_eq!(below(&all, 80), ["Slower: OS threads"]);
    }

    #[test]
    fn a_wide_spread_is_level() {
        let group = compared_group();
        let mut s = summary(&group, 100.0, 130.0);
        let mut wild = record(&group, 1, 130.0);
        wild.seconds_min = wild.seconds * 0.5;
        s.add(1, wild);
        assert!(line(&s, 80, Style::PLAIN).contains("level"));
    }

    #[test]
    fn one_run_says_little_and_says_so() {
        let group = compared_group();
        let s = summary(&group, 100.0, 140.0);
        assert!(line(&s, 80, Style::PLAIN).contains("1 run") && line(&s, 80, Style::PLAIN).contains("level"));
        let mut s = summary(&group, 100.0, 140.0);
        for i in 0..2 {
            let again = s.records(i)[0].clone();
            s.add(i, again);
        }
        let line = line(&s, 80, Style::PLAIN);
        assert!(line.contains("-1 %") && line.contains("1.4×"), "{line}");
    }

    #[test]
    fn narrow_terminals_have_no_bar_and_nothing_wraps() {
        let group = compared_group();
        let s = summary(&group, 300.0, 100.0);
        for (width, bar) in [(120, true), (80, true), (78, false)] {
            assert_eq!(line(&s, width, Style::PLAIN).contains('|'), bar);
            assert_eq!(header(width, Style::PLAIN).contains('|'), bar);
        }
        let bar = |line: &str| line.chars().position(|c| c == '|');
        assert_eq!(bar(&header(80, Style::PLAIN)), bar(&line(&s, 80, Style::PLAIN)));
        assert_eq!(wrapped("a bb ccc", 5), ["a bb", "  ccc"]);
    }

    #[test]
    fn a_peer_that_fails_is_not_compared() {
        let group = compared_group();
        let mut s = Summary::new(&group);
        s.add(0, record(&group, 0, 100.0));
        s.add(1, myriad_bench::Record::failed(&group.runs[1], "not done after 5 s, killed".into()));
        assert!(line(&s, 80, Style::PLAIN).contains('–'));
        assert_eq!(below(&[s], 58), ["Not compared: OS threads/pthread: not done after 5 s,", "  killed"]);
    }
}
