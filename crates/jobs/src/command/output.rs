//! Where the output of a program goes: to files without names, or of the user.
//!
//! Files without names are in memory: on a disk each costs up to 50 µs, twice for each program.
//! **Rejected.** Files that are used again: a grandchild may have the last one open. Pipes: see
//! `command/mod.rs`.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Of a program of which more is kept the output goes to a disk: it may write much more than that
/// before it is looked at.
#[cfg(target_os = "linux")]
const IN_MEMORY: u64 = 64 << 20;

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
    /// At most so many bytes of it are kept.
    pub(super) fn open(&self, append: bool, most: u64) -> io::Result<File> {
        match self {
            Target::Kept => unnamed_file(most),
            Target::File(path) => {
                let file = File::options().append(true).create(true).open(path).map_err(|error| named(path, error))?;
                // (Both outputs may go to one file: it is emptied before the program begins. A
                // device, or a pipe, is what it is.)
                if !append && file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                Ok(file)
            }
        }
    }
    /// What is kept of it for the result.
    pub(super) fn contents(&self, file: &mut File, most: u64) -> Vec<u8> {
        match self {
            Target::Kept => contents(file, most),
            Target::File(_) => Vec::new(),
        }
    }
    /// Nobody looks at it any more. What the program has left behind, and still has the file open,
    /// can write no more, as with a pipe that nobody reads. (A file on a disk has no such seal.)
    pub(super) fn close(&self, file: &File) {
        if matches!(self, Target::Kept) {
            seal(file);
        }
    }
    /// How much is written there; of a file of the user nothing counts.
    pub(super) fn written(&self, file: &File) -> u64 {
        match self {
            Target::Kept => file.metadata().map_or(0, |of| of.len()),
            Target::File(_) => 0,
        }
    }
}

/// The error, with the name of what it is about.
pub(super) fn named(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// In memory, if little is kept and the system has such files; else in the folder for temporary
/// files.
fn unnamed_file(most: u64) -> io::Result<File> {
    #[cfg(target_os = "linux")]
    if most <= IN_MEMORY
        && let Some(file) = file_in_memory()
    {
        return Ok(file);
    }
    let folder = std::env::temp_dir();
    let open = |flags: i32, path: &Path| {
        File::options().read(true).append(true).create_new(flags == 0).custom_flags(flags).mode(0o600).open(path)
    };
    #[cfg(target_os = "linux")]
    if let Ok(file) = open(libc::O_TMPFILE, &folder) {
        return Ok(file);
    }
    // A file system without such files, or another system.
    for _ in 0..100 {
        let path = folder.join(format!("myriad-{}-{:x}", std::process::id(), myriad_core::task::rng::rng().next_u64()));
        if let Ok(file) = open(0, &path) {
            std::fs::remove_file(&path)?;
            return Ok(file);
        }
    }
    Err(io::Error::other("no file for the output in the folder for temporary files"))
}

/// `None`: the system has none, or lends no more.
#[cfg(target_os = "linux")]
fn file_in_memory() -> Option<File> {
    use std::os::fd::FromRawFd;
    // SAFETY: the name is a string with an end; the call returns a file of ours or -1.
    let fd = unsafe { libc::memfd_create(c"output of a job".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
    // SAFETY: a number that is not negative is a file that was just opened, and nobody else's.
    let file = (fd >= 0).then(|| unsafe { File::from_raw_fd(fd) })?;
    // (All that is written comes at the end, wherever we read.)
    // SAFETY: the file is open, and the call sets flags of it.
    let is_set = unsafe { libc::fcntl(fd, libc::F_SETFL, libc::O_APPEND) } == 0;
    is_set.then_some(file)
}

#[cfg(target_os = "linux")]
fn seal(file: &File) {
    use std::os::fd::AsRawFd;
    _ = file.set_len(0);
    // SAFETY: the file is open, and the call takes numbers.
    _ = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, libc::F_SEAL_GROW) };
}

#[cfg(not(target_os = "linux"))]
fn seal(_: &File) {}

fn contents(file: &mut File, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    // (An output that cannot be read is none: the program's end says more.)
    _ = file.rewind().and_then(|()| file.take(most).read_to_end(&mut bytes));
    bytes
}
