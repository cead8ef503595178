//! Go: its command, which builds a program of one file by the standard library alone.

use std::fs;
use std::net::TcpListener;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::built::{built, does_not_compile};
use super::{Program, in_path};
use crate::record::Failure;

/// Its name among the systems.
pub(crate) const NAME: &str = "go";

/// What was found.
#[derive(Debug, Hash)]
pub(crate) struct Found {
    go: PathBuf,
    version: Vec<u8>,
}

/// Looks for the command.
pub(crate) fn find() -> Result<Found, Failure> {
    let go = in_path("go")
        .ok_or_else(|| Failure::Cannot("there is no Go: install it (Debian: golang-go), or put it into PATH".into()))?;
    let version = Command::new(&go).arg("version").output().map_err(|e| Failure::Wrong(format!("Go is lost: {e}")))?;
    Ok(Found { go, version: version.stdout })
}

/// Starts the server of this source, which is built if it has not been. It takes the descriptor of
/// the listener, how many threads it has, and `form`.
pub(crate) fn serve(source: &str, listener: &TcpListener, workers: usize, form: &str) -> Result<Program, Failure> {
    let found = find()?;
    let program = built(NAME, (&found, source), |path| build(&found, source, path))?;
    // SAFETY: takes no pointers; the descriptor is the listener's, and stays open in the program.
    unsafe { libc::fcntl(listener.as_raw_fd(), libc::F_SETFD, 0) };
    let mut command = Command::new(program);
    command.args([listener.as_raw_fd().to_string(), workers.to_string(), form.into()]);
    Program::start(NAME, command)
}

fn build(found: &Found, source: &str, path: &Path) -> Result<(), Failure> {
    let unusable = |e| Failure::Cannot(format!("{}: {e}", path.display()));
    let file = path.with_extension("go");
    fs::write(&file, source).map_err(unusable)?;
    let mut command = Command::new(&found.go);
    // (It needs no network, and no module that somebody has around.)
    command.env("GOTOOLCHAIN", "local").env("GO111MODULE", "off").arg("build").arg("-o").arg(path).arg(&file);
    let out = command.stdin(Stdio::null()).output().map_err(|e| Failure::Wrong(format!("Go is lost: {e}")))?;
    fs::remove_file(&file).map_err(unusable)?;
    if out.status.success() { Ok(()) } else { Err(does_not_compile(NAME, &out.stderr)) }
}
