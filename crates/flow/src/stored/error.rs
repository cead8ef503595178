//! What has gone wrong with a file.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The file of a value cannot be written or read. It is the
/// [cause](crate::dataflow::NodeError::cause) of the error of a node.
///
/// # Examples
/// ```
/// use myriad::flow::{self, Checkpoints, StoreError, graph::Cause};
/// let saved = Checkpoints::new("/dev/null/no-folder");
/// let error = flow::named("n").checkpoint(&saved, "n").spawn(|| 1, ()).join().unwrap_err();
/// let Cause::Error(cause) = error.cause() else { panic!("{error}") };
/// assert!(cause.downcast_ref::<StoreError>().unwrap().path().starts_with("/dev/null/no-folder"));
/// ```
#[derive(Debug)]
pub struct StoreError {
    what: String,
    path: PathBuf,
    error: io::Error,
    to_do: &'static str,
}

impl StoreError {
    #[cold]
    pub(crate) fn new(what: String, path: &Path, error: io::Error, to_do: &'static str) -> Self {
        StoreError { what, path: path.to_owned(), error, to_do }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The kind of the system's error; `InvalidData` for a file that is not what was expected.
    pub fn kind(&self) -> io::ErrorKind {
        self.error.kind()
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}; {}", self.what, self.path.display(), self.error, self.to_do)
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}
