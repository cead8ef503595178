//! Finding a library and what is in it.

use libloading::Library;
use std::error::Error;
use std::ffi::{OsStr, c_void};
use std::fmt;
#[cfg(unix)]
use std::mem::MaybeUninit;
use std::path::PathBuf;

/// A library cannot be used: it is not there, or it lacks what is needed. The text says what to do.
///
/// # Examples
/// ```
/// use myriad_foreign::fftw::{Fftw, Precision};
/// if let Err(error) = Fftw::load(Precision::Double) {
///     eprintln!("{error}"); // such as: install Debian's libfftw3-double3
/// }
/// ```
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
    /// It is the process, so each thing that it has may be in a library that somebody else has
    /// loaded, and may close.
    is_process: bool,
}

impl Found {
    fn new(library: Library, name: String) -> Found {
        Found { library: std::mem::ManuallyDrop::new(library), name, is_process: false }
    }

    /// This very process, with what it is linked with.
    pub(crate) fn this_process() -> Found {
        #[cfg(unix)]
        let this: Library = libloading::os::unix::Library::this().into();
        #[cfg(windows)]
        let this: Library = libloading::os::windows::Library::this().expect("the process has a module").into();
        Found { is_process: true, ..Found::new(this, "this process".into()) }
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
        // unloaded: it is ours, or `keep_loaded` sees to that.
        unsafe {
            let symbol = self.library.get::<T>(name.as_bytes()).ok()?;
            let value = *symbol;
            if self.is_process {
                keep_loaded(symbol.try_as_raw_ptr()?);
            }
            Some(value)
        }
    }
}

/// Keeps the library that this address is in, whoever else closes it: opens it once more.
#[cfg(unix)]
fn keep_loaded(address: *const c_void) {
    let mut info = MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: `dladdr` accepts any address, and fills `info` if it returns more than 0; all zeros
    // are a `Dl_info` too. The name is then null or a string. `RTLD_NOLOAD` loads nothing, so no
    // foreign code runs. (Of the program itself the name is that by which it was started, and
    // nothing is found or nothing changes.)
    unsafe {
        if libc::dladdr(address, info.as_mut_ptr()) != 0 && !info.assume_init().dli_fname.is_null() {
            libc::dlopen(info.assume_init().dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        }
    }
}

/// (Of the process itself nothing is found here that somebody could close.)
#[cfg(not(unix))]
fn keep_loaded(_address: *const c_void) {}

#[cfg(all(test, unix))]
mod test {
    use super::Found;
    use std::ffi::CString;
    use std::process::Command;

    /// A library that somebody else has loaded for all, and closes after we have found something in
    /// it.
    #[test]
    fn what_the_process_has_stays() {
        let folder = std::env::temp_dir().join(format!("myriad-closed-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, library) = (folder.join("closed.c"), folder.join("closed.so"));
        std::fs::write(&source, "int myriad_closed_probe(void) { return 42; }").unwrap();
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".into());
        let built = Command::new(compiler).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
        assert!(built.expect("a C compiler").success());
        let path = CString::new(library.to_str().unwrap()).unwrap();

        let process = Found::this_process();
        // SAFETY: a library and a function of this test's.
        let probe = unsafe {
            assert!(process.symbol::<extern "C" fn() -> i32>("myriad_closed_probe").is_none());
            let theirs = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL);
            assert!(!theirs.is_null());
            let probe = process.symbol::<extern "C" fn() -> i32>("myriad_closed_probe").unwrap();
            assert_eq!(libc::dlclose(theirs), 0);
            let still = libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD);
            assert!(!still.is_null(), "it was unloaded");
            probe
        };
        assert_eq!(probe(), 42);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
