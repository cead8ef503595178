//! The command `myriad`: runs the workloads beside the peers, and tells what the engine found on
//! this machine.
//!
//! ```text
//! args.rs      what can be asked on the command line
//! bench/       plan (options → runs) → child (a run in a fresh process) → summary (medians) → screen
//!              (ours and the best other), table, or scaling (1, 2 and all workers beside each other)
//! doctor/      what was found on this machine
//! help.rs      the list of workloads in the help
//! interrupt.rs Ctrl-C
//! out.rs       standard output: what if nobody takes it
//! style.rs     colours, and numbers for people
//! ```
//!
//! Exit status: 0 when all went well, 1 when a run of ours failed or anybody gave a wrong answer
//! (with `--strict`: when any run failed), 2 when the command line makes no sense, 130 when Ctrl-C
//! ended the runs.

mod args;
mod bench;
mod doctor;
mod grid;
mod help;
mod interrupt;
mod out;
mod style;

use std::process::ExitCode;

use clap::CommandFactory;

use args::{Cli, Command};

/// The exit status of a command line that makes no sense.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let cli = match args::parse(std::env::args_os()) {
        Ok(cli) => cli,
        Err(refusal) => return refusal.report(),
    };
    match cli.command.unwrap_or_default() {
        Command::Bench(options) => match bench::plan::plan(&options, bench::cores()) {
            Ok(groups) => bench::run(&groups, &options),
            Err(line) => {
                eprintln!("error: {line}");
                ExitCode::from(USAGE)
            }
        },
        Command::MeasureOne { params } => bench::child::be(&params),
        Command::Doctor { json } => {
            let peers = doctor::external::find();
            let report = if json { doctor::json(&peers) } else { doctor::report(&doctor::engine(), &peers) };
            out::write(report.as_bytes());
            ExitCode::SUCCESS
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "myriad", &mut script);
            out::write(&script);
            ExitCode::SUCCESS
        }
    }
}
