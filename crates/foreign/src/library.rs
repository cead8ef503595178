//! Finding a library and what is in it.

use libloading::Library;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt;
use std::path::PathBuf;

/// A library cannot be used: it is not there, or it lacks what is needed. The text says what to do.
#[derive(Debug)]
pub struct LoadError {
    text: String,
    source: Option<libloading::Error>,
}

impl LoadError {
    pub(crate) fn new(text: String, source: Option<libloading::Error>) -> LoadError {
        LoadError { text, source }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for LoadError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|error| error as _)
    }
}

/// A library, and where it was found. It is never unloaded: its threads and its callbacks would be
/// left without code.
#[derive(Debug)]
pub(crate) struct Found {
    library: std::mem::ManuallyDrop<Library>,
    pub(crate) name: String,
}

impl Found {
    fn new(library: Library, name: String) -> Found {
        Found { library: std::mem::ManuallyDrop::new(library), name }
    }

    /// This very process, with what it is linked with.
    pub(crate) fn this_process() -> Found {
        #[cfg(unix)]
        let this: Library = libloading::os::unix::Library::this().into();
        #[cfg(windows)]
        let this: Library = libloading::os::windows::Library::this().expect("the process has a module").into();
        Found::new(this, "this process".into())
    }

    /// The first of these that the system finds; or the last one's error.
    pub(crate) fn first<S: AsRef<OsStr>>(names: &[S]) -> Result<Found, Option<libloading::Error>> {
        let mut last = None;
        for name in names {
            let name = name.as_ref();
            // SAFETY: names of well-known libraries, or what the user has named: their initialisers
            // run as if the program had been linked with them.
            match unsafe { Library::new(name) } {
                Ok(library) => return Ok(Found::new(library, PathBuf::from(name).display().to_string())),
                Err(error) => last = Some(error),
            }
        }
        Err(last)
    }

    /// What has this name.
    ///
    /// # Safety
    /// What has this name is a `T`: a function pointer of the right type.
    pub(crate) unsafe fn symbol<T: Copy>(&self, name: &str) -> Option<T> {
        // SAFETY: what has this name is a `T` (this function's contract); the library is never
        // unloaded.
        unsafe { self.library.get::<T>(name.as_bytes()).ok().map(|symbol| *symbol) }
    }
}
