//! What `myriad bench` prints, and when: records at once, rows of the screen as they are done, a
//! table at the end.

use std::io::IsTerminal;
use std::time::Duration;

use console::Term;
use myriad_bench::Record;

use super::plan::{Group, pool};
use super::summary::Summary;
use super::{scaling, screen, served, table};
use crate::args::BenchOptions;
use crate::out::{print_line, write};
use crate::style::Style;

/// Above that other programs take time that is measured.
const BUSY: f64 = 0.5;

/// What is printed.
pub(super) struct Show<'a> {
    options: &'a BenchOptions,
    style: Style,
    /// Columns.
    width: usize,
    /// Lines of the screen so far, below the place for the verdict.
    lines: usize,
}

impl<'a> Show<'a> {
    /// Prints what stands above all results.
    pub(super) fn begin(options: &'a BenchOptions, groups: &[Group]) -> Show<'a> {
        let width = Term::stdout().size_checked().map_or(80, |(_, columns)| usize::from(columns));
        let mut show = Show { options, style: Style::of_stdout(), width, lines: 0 };
        if options.is_screen() {
            let workers = groups.first().map_or(1, |group| group.workers);
            print_line(&show.style.bold(&format!("myriad {} · {}", env!("CARGO_PKG_VERSION"), machine())));
            print_line(&format!("{}, a fresh process each; the library's default mode first.", pool(workers)));
            // The verdict's place.
            if show.rewrites() {
                print_line(&show.style.dim("measuring …"));
                print_line("");
            }
            show.line(&screen::header(width, show.style));
        }
        show
    }

    /// A run has ended.
    pub(super) fn record(&self, record: &Record) {
        if self.options.json {
            print_line(&record.to_json());
        }
    }

    /// The last group is done.
    pub(super) fn group(&mut self, summaries: &[Summary<'_>]) {
        if self.options.json {
            let published = summaries.last().map(|last| (last.group, &last.group.published));
            for (group, figure) in
                published.into_iter().flat_map(|(group, all)| all.iter().map(move |one| (group, one)))
            {
                print_line(&figure.to_json(group.workload, group.form));
            }
        }
        if !self.options.is_screen() {
            return;
        }
        let [before @ .., last] = summaries else { return };
        if let Some(heading) = screen::heading(last, before.last(), self.style) {
            self.line(&heading);
        }
        self.line(&screen::line(last, self.width, self.style));
    }

    /// All is done, or was interrupted.
    pub(super) fn end(mut self, summaries: &[Summary<'_>], took: Duration, left_out: usize, total: usize) {
        if self.options.json {
            return;
        }
        if !self.options.is_screen() {
            let render = match () {
                () if self.options.scaling => scaling::render,
                () if served::is_for(summaries) => served::render,
                () => table::render,
            };
            print_line(&render(summaries, self.style));
            if left_out > 0 {
                print_line(&format!(
                    "{left_out} of {total} runs were left out, to keep to a minute: `myriad bench WORKLOAD` does all"
                ));
            }
            return;
        }
        let verdict = screen::verdict(summaries);
        for line in screen::below(summaries, self.width) {
            self.line(&line);
        }
        let left_out = match left_out {
            0 => String::new(),
            n => format!("; {n} of {total} runs were left out for that"),
        };
        self.line(&format!("{} s{left_out}. More, by `{}`:", took.as_secs(), command()));
        self.line("  bench pingpong    one workload: every system, 1 and all workers, memory");
        self.line("  bench --all       every form          bench --scaling   more workers");
        self.line("  doctor            what this machine offers, and what is missing");
        let height = Term::stdout().size_checked().map_or(0, |(rows, _)| usize::from(rows));
        let [threads, fibers] = verdict.map(|line| self.style.bold(&line));
        if self.rewrites() && self.lines + 3 < height {
            let up = self.lines + 2;
            write(format!("\x1b[{up}A\r\x1b[2K{threads}\n\x1b[2K{fibers}\n\x1b[{}B\r", self.lines).as_bytes());
        } else {
            print_line(&threads);
            print_line(&fibers);
        }
    }

    /// Whether the verdict can stand above the rows.
    fn rewrites(&self) -> bool {
        std::io::stdout().is_terminal() && self.style.has_colour()
    }

    fn line(&mut self, text: &str) {
        print_line(text);
        self.lines += 1;
    }
}

/// How this program is called: cargo sets a variable for what it runs.
fn command() -> &'static str {
    if std::env::var_os("CARGO").is_some() { "cargo run --release --" } else { "myriad" }
}

/// The machine in a few words, and a warning if it is busy.
fn machine() -> String {
    let cores = super::cores();
    let mut text = format!("{cores} core{}, {}", if cores == 1 { "" } else { "s" }, std::env::consts::OS);
    let load = std::fs::read_to_string("/proc/loadavg");
    if let Some(load) = load.ok().and_then(|text| text.split(' ').next()?.parse::<f64>().ok()) {
        text += &format!(", load {load:.1}");
        if load > BUSY {
            text += " (busy: the figures are worth less)";
        }
    }
    text
}
