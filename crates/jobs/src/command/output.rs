//! Where the output of a program goes: to this process, which keeps it, or to a file of the user.

use super::capture::Capture;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Where one of the two outputs goes.
#[derive(Debug, Clone, Default)]
pub(super) enum Target {
    /// Kept, for the result.
    #[default]
    Kept,
    /// To this file.
    File(PathBuf),
}

impl Target {
    /// What is kept of it, at most so many bytes; and what the program gets.
    pub(super) fn open(&self, append: bool, most: u64) -> io::Result<(Capture, Stdio)> {
        match self {
            Target::Kept => match Capture::new(most) {
                Ok((capture, writer)) => Ok((capture, writer.into())),
                Err(error) => {
                    let why = format!("no pipe for its output (see `ulimit -n`): {error}");
                    Err(io::Error::new(error.kind(), why))
                }
            },
            Target::File(path) => {
                let file = File::options().append(true).create(true).open(path).map_err(|error| named(path, error))?;
                // (Both outputs may go to one file: it is emptied before the program begins. A
                // device, or a pipe, is what it is.)
                if !append && file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                Ok((Capture::default(), file.into()))
            }
        }
    }
}

/// The error, with the name of what it is about.
pub(super) fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
