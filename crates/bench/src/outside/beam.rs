//! Erlang and Elixir: a compiler, and the emulator, which both run on.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::SystemTime;

use super::built::{built, does_not_compile};
use super::{Program, in_path};
use crate::record::Failure;

/// What there is to know about a language.
#[derive(Debug)]
pub(crate) struct Language {
    pub(crate) name: &'static str,
    runs: &'static str,
    compiles: &'static str,
    /// How the name of a source ends.
    ends: &'static str,
    /// How one gets it.
    get: &'static str,
}

/// Erlang.
pub(crate) static ERLANG: Language = Language {
    name: "erlang",
    runs: "erl",
    compiles: "erlc",
    ends: "erl",
    get: "there is no Erlang: install it (Debian: erlang-base)",
};

/// Elixir.
pub(crate) static ELIXIR: Language = Language {
    name: "elixir",
    runs: "elixir",
    compiles: "elixirc",
    ends: "ex",
    get: "there is no Elixir: install it (Debian: elixir)",
};

/// What was found.
#[derive(Debug, Hash)]
pub(crate) struct Found {
    runs: PathBuf,
    compiles: PathBuf,
    /// When the compiler was installed: to ask for its version takes half a second.
    since: Option<SystemTime>,
}

/// Looks for the two commands.
pub(crate) fn find(language: &Language) -> Result<Found, Failure> {
    let missing = || Failure::Cannot(language.get.into());
    let runs = in_path(language.runs).ok_or_else(missing)?;
    let compiles = in_path(language.compiles).ok_or_else(missing)?;
    let since = fs::metadata(&compiles).and_then(|data| data.modified()).ok();
    Ok(Found { runs, compiles, since })
}

/// Starts `main` of the module of this name, which is compiled if it has not been. The emulator has
/// room for `processes`.
pub(crate) fn start(
    language: &'static Language,
    module: &str,
    source: &str,
    workers: usize,
    processes: u64,
    arguments: &[&str],
) -> Result<Program, Failure> {
    let found = find(language)?;
    let of = (&found, source);
    let folder =
        built(&format!("{}-{module}", language.name), of, |path| build(language, &found, module, source, path))?;
    let mut command = Command::new(&found.runs);
    // A dump of a crash would be written where the user is.
    command.env("ERL_CRASH_DUMP_SECONDS", "0").arg("-pa").arg(folder);
    // (So many are the emulator's default.)
    let limits = format!("+S {workers}:{workers} +P {}", processes.max(1 << 18));
    if language.ends == "ex" {
        command.args(["--erl", &limits, "-e", &format!("{module}.main(System.argv())"), "--"]);
    } else {
        command.args(limits.split(' ')).args(["-noshell", "-run", module, "main"]);
    }
    command.args(arguments);
    Program::start(language.name, command)
}

fn build(language: &Language, found: &Found, module: &str, source: &str, path: &Path) -> Result<(), Failure> {
    let unusable = |e| Failure::Cannot(format!("{}: {e}", path.display()));
    let file = path.join(format!("{module}.{}", language.ends));
    fs::create_dir_all(path).map_err(unusable)?;
    fs::write(&file, source).map_err(unusable)?;
    let mut command = Command::new(&found.compiles);
    command.arg("-o").arg(path).arg(&file).stdin(Stdio::null());
    let out = command.output().map_err(|e| Failure::Wrong(format!("{} is lost: {e}", language.compiles)))?;
    if out.status.success() {
        return Ok(());
    }
    // (One of the two says its errors as output.)
    Err(does_not_compile(language.name, &[out.stdout, out.stderr].concat()))
}
