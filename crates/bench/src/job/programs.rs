//! `job`, form `command`: the programs, and how long std takes for them alone.

use std::process::{Command, Stdio};
use std::time::Instant;

use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

/// The program: it does nothing.
pub(super) const PROGRAM: &str = "/bin/true";

/// How many of them.
pub(super) fn number(p: &Params) -> u64 {
    (p.n / 100).max(1)
}

pub(super) fn run(p: &Params) -> Outcome {
    let n = number(p);
    sample::warm(n, || {
        let begin = Instant::now();
        for _ in 0..n {
            let mut program = Command::new(PROGRAM);
            program.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            let status = program.status().map_err(|error| Failure::Cannot(format!("{PROGRAM}: {error}")))?;
            Failure::check(u64::from(status.success()), 1)?;
        }
        Ok(begin.elapsed())
    })
}
