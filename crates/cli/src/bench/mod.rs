//! `myriad bench`: every run in a fresh process, the systems of a group in turn (A B C A B C), and
//! the medians shown.
//!
//! ```text
//! plan  options -> groups of runs           overview  which rows the screen has
//! child a run in a fresh process            summary   the medians of a group
//! show  what is printed, and when           screen, table, served, scaling   how it looks
//! ```

pub(crate) mod child;
mod overview;
pub(crate) mod plan;
pub(crate) mod scaling;
mod screen;
mod served;
mod show;
mod summary;
mod table;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use myriad_bench::{Params, Record};

use crate::args::BenchOptions;
use crate::interrupt;
use crate::style::thousands;
use plan::Group;
use show::Show;
use summary::Summary;

/// The screen takes about so long, also on a slow machine: a newcomer waits for it. Where a group's
/// share of the time is over its systems do not run again; once is the least.
const SCREEN: Duration = Duration::from_secs(20);
/// The same for all workloads, or all forms.
const ALL: Duration = Duration::from_secs(55);

/// The exit status after Ctrl-C, as shells have it.
const INTERRUPTED: u8 = 130;

/// The cores that this process may use.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// Does all runs of all groups and shows them.
///
/// The progress bar is on standard error, and only there if that is a terminal; results are on
/// standard output.
pub(crate) fn run(groups: &[Group], options: &BenchOptions) -> ExitCode {
    let timeout = Duration::from_secs(options.timeout);
    let limit = if options.is_screen() && !options.all { SCREEN } else { ALL };
    let total: usize = groups.iter().map(|g| g.runs.len() * options.runs).sum();
    let bar = progress_bar(total as u64);
    let mut show = Show::begin(options, groups);
    let mut summaries = Vec::new();
    let (began, mut left_out) = (Instant::now(), 0);
    interrupt::listen();
    let _no_echo = interrupt::NoEcho::begin();
    'runs: for (number, group) in groups.iter().enumerate() {
        summaries.push(Summary::new(group));
        let summary = summaries.last_mut().expect("one was pushed");
        for round in 0..options.runs {
            let share = (number + 1) as f64 / groups.len() as f64;
            if round > 0 && options.is_hasty() && began.elapsed() > limit.mul_f64(share) {
                let rest = group.runs.len() * (options.runs - round);
                left_out += rest;
                bar.inc(rest as u64);
                break;
            }
            for (i, params) in group.runs.iter().enumerate() {
                bar.set_message(format!("{}: {}", group.title(), params.system));
                // A system that failed once is not asked again: it may be one that hangs until the
                // watchdog.
                if summary.has_failed(i) {
                    bar.inc(1);
                    continue;
                }
                let record = attempt(params, timeout);
                // Ctrl-C has ended that process too: it is no failed run.
                if interrupt::asked() {
                    break 'runs;
                }
                bar.suspend(|| show.record(&record));
                summary.add(i, record);
                bar.inc(1);
            }
        }
        bar.suspend(|| show.group(&summaries));
    }
    let done = bar.position();
    bar.finish_and_clear();
    show.end(&summaries, began.elapsed(), left_out, total);
    if interrupt::asked() {
        eprintln!("interrupted after {done} of {total} runs");
    }
    let failures: Vec<_> = summaries.iter().flat_map(Summary::failures).collect();
    // Below the table they stand already; whoever keeps only one of the two outputs wants them
    // there too.
    if options.json || !std::io::stdout().is_terminal() || !std::io::stderr().is_terminal() {
        for (failure, is_fault) in &failures {
            eprintln!("{}: {failure}", if *is_fault { "error" } else { "not compared" });
        }
    }
    if interrupt::asked() {
        return ExitCode::from(INTERRUPTED);
    }
    let failed = failures.iter().any(|(_, is_fault)| *is_fault || options.strict);
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// A run. A peer that crashes or hangs may do better the second time; what gives a wrong answer, or
/// is ours, must not need that.
fn attempt(params: &Params, timeout: Duration) -> Record {
    let record = child::run(params, timeout);
    let again = !record.ok && !params.is_ours() && record.cannot().is_none() && !record.is_wrong();
    if again && !interrupt::asked() { child::run(params, timeout) } else { record }
}

fn progress_bar(total: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{wide_bar} {pos}/{len} {elapsed} {msg}").expect("the template is right");
    ProgressBar::new(total).with_style(style)
}

/// The sizes of a run, for people, one a line: tables must not be wider than needed.
fn sizes(p: &myriad_bench::Params, takes: myriad_bench::Takes) -> String {
    let mut lines = vec![format!("n = {}", thousands(p.n))];
    if takes.m {
        lines.push(format!("m = {}", thousands(p.m)));
    }
    if takes.payload && p.payload != myriad_bench::Payload::Int {
        lines.push(p.payload.to_string());
    }
    if takes.buffer {
        lines.push(p.buffer.map_or("unbounded".into(), |slots| format!("{} slots", thousands(slots as u64))));
    }
    lines.join("\n")
}
