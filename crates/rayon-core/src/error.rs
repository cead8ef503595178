//! Why a pool could not be built.

use std::error::Error;
use std::fmt;
use std::io;

/// Why a pool could not be built.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    GlobalPoolAlreadyInitialized,
    CurrentThreadAlreadyInPool,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    /// `build_global` came too late.
    pub(crate) fn is_global_already() -> Self {
        ThreadPoolBuildError { kind: ErrorKind::GlobalPoolAlreadyInitialized }
    }

    /// `use_current_thread` on a worker.
    pub(crate) fn is_in_pool_already() -> Self {
        ThreadPoolBuildError { kind: ErrorKind::CurrentThreadAlreadyInPool }
    }

    /// What the system, or Myriad, says.
    pub(crate) fn io(error: io::Error) -> Self {
        ThreadPoolBuildError { kind: ErrorKind::Io(error) }
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            // Word for word: programs and tests compare these two.
            ErrorKind::GlobalPoolAlreadyInitialized => {
                f.write_str("The global thread pool has already been initialized.")
            }
            ErrorKind::CurrentThreadAlreadyInPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            ErrorKind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.kind {
            ErrorKind::Io(error) => Some(error),
            _ => None,
        }
    }
}
