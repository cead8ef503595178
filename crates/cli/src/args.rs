//! What can be asked on the command line.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use myriad_bench::{Mode, Payload, Policy};

/// Examples at the end of `myriad --help`.
const EXAMPLES: &str = "\
Examples:
  myriad                                    how Myriad compares on this machine: one
                                            screen, about 20 s
  myriad bench --all                        the same for every form of every workload
  myriad bench skynet                       one workload
  myriad bench skynet --form join --full    at its published size (takes longer)
  myriad bench relay --n 2000 --m 2000 --buffer 0 --system myriad,tokio-kanal
  myriad bench chain --mode threads --n 1000
  myriad bench --scaling                    1, 2 and all workers beside each other
  myriad bench --json > runs.jsonl          every run as one JSON object a line
  myriad doctor                             what the engine found on this machine";

/// Lightweight tasks: run the benchmarks beside the peers, or show what this machine offers.
#[derive(Debug, Parser)]
#[command(name = "myriad", version, about, after_help = EXAMPLES)]
pub(crate) struct Cli {
    /// Without a command: `bench`.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the workloads and show ours beside the peers
    #[command(after_help = crate::help::of_bench())]
    Bench(BenchOptions),
    /// One run in this process, as one JSON line
    #[command(hide = true)]
    MeasureOne {
        /// The parameters, as JSON.
        params: String,
    },
    /// Tell what the engine found on this machine and what each fallback costs
    Doctor {
        /// Print it as one JSON object
        #[arg(long)]
        json: bool,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Default for Command {
    fn default() -> Self {
        Command::Bench(BenchOptions::default())
    }
}

/// Options of `myriad bench`. What was not asked for is `None` or empty.
#[derive(Clone, Debug, Args)]
pub(crate) struct BenchOptions {
    /// The workload; without one, a screen that compares
    #[arg(value_parser = PossibleValuesParser::new(myriad_bench::workloads().iter().map(|w| w.name)))]
    #[arg(hide_possible_values = true)]
    pub(crate) workload: Option<String>,
    /// Systems to run, separated by commas [default: all that apply]
    #[arg(long, value_delimiter = ',', value_name = "A,B,…")]
    #[arg(value_parser = PossibleValuesParser::new(myriad_bench::systems()), hide_possible_values = true)]
    pub(crate) system: Vec<String>,
    /// Worker threads of the pools [default: 1, and all cores]
    #[arg(long, value_delimiter = ',', value_name = "N")]
    pub(crate) workers: Vec<usize>,
    /// How the tasks of Myriad wait: threads, the default of the library, or fibers [default: both
    /// where closures wait]
    #[arg(long, value_parser = possible::<Mode>(&["fibers", "threads"]), hide_possible_values = true)]
    pub(crate) mode: Option<Mode>,
    /// Which task a worker of Myriad starts next: work-stealing, depth-first, shared-queue or
    /// round-robin
    #[arg(long, value_parser = possible::<Policy>(&["work-stealing", "depth-first", "shared-queue", "round-robin"]))]
    #[arg(hide_possible_values = true)]
    pub(crate) policy: Option<Policy>,
    /// Count how many tasks of Myriad are alive at a time (skynet and fib; the times say little
    /// then)
    #[arg(long)]
    pub(crate) live: bool,
    /// The form of the workload [default: all]
    #[arg(long)]
    pub(crate) form: Option<String>,
    /// The size of the workload
    #[arg(long)]
    pub(crate) n: Option<u64>,
    /// The second size of the workload, where it has one
    #[arg(long)]
    pub(crate) m: Option<u64>,
    /// The messages of `relay`: int, moved20 or shared20 [default: int]
    #[arg(long, value_parser = possible::<Payload>(&["int", "moved20", "shared20"]), hide_possible_values = true)]
    pub(crate) payload: Option<Payload>,
    /// Slots of each channel of `relay` and `lock`: a number, or `unbounded`
    #[arg(long, value_name = "SLOTS", value_parser = parse_buffer)]
    pub(crate) buffer: Option<Buffer>,
    /// Show 1, 2 and all workers beside each other: how much faster a system is with more, and
    /// what that costs in processor time. Without a workload, those in which tasks talk
    #[arg(long)]
    pub(crate) scaling: bool,
    /// Every form of every workload on the screen, which takes some minutes
    #[arg(long)]
    pub(crate) all: bool,
    /// A peer that fails makes the exit status 1, as a run of ours does
    #[arg(long)]
    pub(crate) strict: bool,
    /// The published sizes, which may take minutes
    #[arg(long)]
    pub(crate) full: bool,
    /// How often each system runs, each time in a fresh process; without a workload, less often
    /// if time is short
    #[arg(long, default_value_t = RUNS)]
    pub(crate) runs: usize,
    /// Kill a run after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = TIMEOUT)]
    pub(crate) timeout: u64,
    /// Print every run as one JSON object a line instead of the table
    #[arg(long)]
    pub(crate) json: bool,
}

/// How often each system runs.
const RUNS: usize = 3;
/// Seconds after which a run is killed.
const TIMEOUT: u64 = 120;

impl Default for BenchOptions {
    fn default() -> Self {
        BenchOptions {
            workload: None,
            system: Vec::new(),
            workers: Vec::new(),
            mode: None,
            policy: None,
            live: false,
            form: None,
            n: None,
            m: None,
            payload: None,
            buffer: None,
            scaling: false,
            all: false,
            strict: false,
            full: false,
            runs: RUNS,
            timeout: TIMEOUT,
            json: false,
        }
    }
}

impl BenchOptions {
    /// Is it the screen that compares ours with the best of the others, for one number of workers?
    pub(crate) fn is_screen(&self) -> bool {
        let chosen = !self.system.is_empty() || self.form.is_some() || self.m.is_some() || self.payload.is_some();
        let ours = self.mode.is_some() || self.policy.is_some() || self.live || self.buffer.is_some();
        self.workload.is_none() && !chosen && !ours && self.workers.len() <= 1 && !self.json && !self.scaling
    }

    /// Does a person wait for an overview, who has said nothing of size or number of runs?
    pub(crate) fn is_hasty(&self) -> bool {
        self.workload.is_none() && self.n.is_none() && !self.full && !self.json && self.runs == RUNS
    }
}

/// The slots of a channel as asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Buffer(pub(crate) Option<usize>);

fn parse_buffer(s: &str) -> Result<Buffer, String> {
    match s {
        "unbounded" => Ok(Buffer(None)),
        _ => s.parse().map(|slots| Buffer(Some(slots))).map_err(|_| "give a number, or `unbounded`".into()),
    }
}

/// A parser that knows its values, for completions, and makes a `T` of them.
fn possible<T>(names: &'static [&'static str]) -> impl clap::builder::TypedValueParser<Value = T>
where
    T: std::str::FromStr<Err = String> + Clone + Send + Sync + 'static,
{
    use clap::builder::TypedValueParser;
    PossibleValuesParser::new(names).try_map(|s| s.parse::<T>())
}

/// Why there is nothing to run: help was asked for, or the command line makes no sense.
#[derive(Debug)]
pub(crate) struct Refusal(clap::Error);

/// Parses a command line.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Cli, Refusal> {
    Cli::try_parse_from(args).map_err(Refusal)
}

impl Refusal {
    /// Prints it, and gives the exit status.
    pub(crate) fn report(&self) -> ExitCode {
        match self.line() {
            Some(line) => eprintln!("error: {line}"),
            None => {
                if let Err(error) = self.0.print() {
                    crate::out::end(&error);
                }
            }
        }
        ExitCode::from(u8::try_from(self.0.exit_code()).unwrap_or(crate::USAGE))
    }

    /// A value that is none of the possible ones, in one line that lists them.
    fn line(&self) -> Option<String> {
        let get = |kind| match self.0.get(kind) {
            Some(ContextValue::String(s)) => Some(s.clone()),
            Some(ContextValue::Strings(list)) => Some(list.join(", ")),
            _ => None,
        };
        if self.0.kind() != ErrorKind::InvalidValue {
            return None;
        }
        let (argument, value) = (get(ContextKind::InvalidArg)?, get(ContextKind::InvalidValue)?);
        let possible = get(ContextKind::ValidValue).filter(|list| !list.is_empty())?;
        let argument = argument.split(' ').next().unwrap_or_default().trim_matches(['[', ']', '<', '>']).to_lowercase();
        let meant = get(ContextKind::SuggestedValue).filter(|meant| !meant.is_empty());
        let meant = meant.map_or(String::new(), |meant| format!("did you mean `{meant}`? "));
        Some(format!("there is no {} `{value}`; {meant}there are: {possible}", argument.trim_start_matches('-')))
    }
}

#[cfg(test)]
mod test {
    use super::*;
    use clap::CommandFactory;

    fn refused(args: &[&str]) -> String {
        let args = ["myriad"].iter().chain(args).map(OsString::from);
        parse(args).expect_err("it makes no sense").line().expect("it is one line")
    }

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn nothing_means_bench() {
        let cli = parse([OsString::from("myriad")]).expect("it is allowed");
        assert!(matches!(cli.command.unwrap_or_default(), Command::Bench(o) if o.workload.is_none() && o.runs == RUNS));
    }

    #[test]
    fn the_defaults_are_those_of_the_command_line() {
        let parsed = parse(["myriad", "bench"].map(OsString::from)).expect("it is allowed");
        let Some(Command::Bench(parsed)) = parsed.command else { panic!("it is bench") };
        assert_eq!(format!("{parsed:?}"), format!("{:?}", BenchOptions::default()));
    }

    #[test]
    fn unknown_values_are_answered_with_the_list_in_one_line() {
        assert!(
            refused(&["bench", "chian"])
                .starts_with("there is no workload `chian`; did you mean `chain`? there are: chain, relay")
        );
        assert!(refused(&["bench", "--system", "zz"]).starts_with("there is no system `zz`; there are: myriad, "));
        assert_eq!(refused(&["bench", "--mode", "x"]), "there is no mode `x`; there are: fibers, threads");
        assert_eq!(
            refused(&["bench", "--policy", "fifo"]),
            "there is no policy `fifo`; there are: work-stealing, depth-first, shared-queue, round-robin"
        );
        assert_eq!(refused(&["bench", "--payload", "x"]), "there is no payload `x`; there are: int, moved20, shared20");
    }

    #[test]
    fn buffers() {
        assert_eq!(parse_buffer("0"), Ok(Buffer(Some(0))));
        assert_eq!(parse_buffer("unbounded"), Ok(Buffer(None)));
        assert!(parse_buffer("-1").is_err());
    }

    #[test]
    fn without_a_selection_it_is_the_screen() {
        let none = BenchOptions::default;
        assert!(none().is_screen() && none().is_hasty());
        assert!(BenchOptions { all: true, workers: vec![1], ..none() }.is_screen());
        assert!(!BenchOptions { workload: Some("chain".into()), ..none() }.is_screen());
        assert!(!BenchOptions { workers: vec![1, 2], ..none() }.is_screen());
        assert!(!BenchOptions { scaling: true, ..none() }.is_screen());
        assert!(!BenchOptions { json: true, ..none() }.is_screen());
        assert!(!BenchOptions { runs: 5, ..none() }.is_hasty());
        assert!(!BenchOptions { full: true, ..none() }.is_hasty());
    }
}
