//! Files of values that do not fit, in a folder of their own that goes with its last file.
//!
//! Nothing is synchronized, and nothing summed up: the files are for this process only, whose
//! folder other users of the system do not reach.

use crate::stored::Stored;
use myriad_base::sys::mutex::Mutex;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const BLOCK: usize = 1 << 16;

/// Where files go, once there are any.
#[derive(Debug)]
pub(super) struct SpillFolder {
    parent: PathBuf,
    /// Held while it is made, on threads that may block.
    path: Mutex<Option<PathBuf>>,
    files: AtomicU64,
}

/// A value in a file.
#[derive(Debug)]
pub(super) struct SpillFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    _folder: Arc<SpillFolder>,
}

impl SpillFolder {
    pub(super) fn new(parent: PathBuf) -> Arc<Self> {
        Arc::new(SpillFolder { parent, path: Mutex::new(None), files: AtomicU64::new(0) })
    }

    pub(super) fn parent(&self) -> &Path {
        &self.parent
    }

    fn path(&self) -> io::Result<PathBuf> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let mut path = self.path.lock();
        if let Some(path) = &*path {
            return Ok(path.clone());
        }
        loop {
            // Relaxed: a count.
            let name = format!("myriad-spill-{}-{}", std::process::id(), MADE.fetch_add(1, Relaxed));
            let new = self.parent.join(name);
            match make(&new) {
                // Of a process that had this number before, and was killed.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                result => return result.map(|()| path.insert(new).clone()),
            }
        }
    }

    /// Writes a value to a file.
    pub(super) fn write<T: Stored>(self: &Arc<Self>, value: &T) -> io::Result<SpillFile> {
        let path = self.path()?.join(self.files.fetch_add(1, Relaxed).to_string());
        let file = File::create_new(&path)?;
        // (It goes, if it does not become whole.)
        let mut spilled = SpillFile { path, bytes: 0, _folder: self.clone() };
        let mut to = BufWriter::with_capacity(BLOCK, file);
        value.write(&mut to)?;
        to.flush()?;
        spilled.bytes = to.get_ref().metadata()?.len();
        Ok(spilled)
    }
}

/// For nobody else.
fn make(folder: &Path) -> io::Result<()> {
    let mut new = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut new, 0o700);
    new.create(folder)
}

impl SpillFile {
    pub(super) fn read<T: Stored>(&self) -> io::Result<T> {
        let mut from = BufReader::with_capacity(BLOCK, File::open(&self.path)?);
        let value = T::read(&mut from)?;
        match from.fill_buf()? {
            [] => Ok(value),
            _ => Err(io::Error::new(io::ErrorKind::InvalidData, "`Stored::read` has left a part unread")),
        }
    }
}

impl Drop for SpillFile {
    /// (By whoever drops the value: nothing is read or written for it, and the next program that
    /// looks must not find it.)
    fn drop(&mut self) {
        _ = fs::remove_file(&self.path);
    }
}

impl Drop for SpillFolder {
    fn drop(&mut self) {
        if let Some(path) = self.path.get_mut() {
            _ = fs::remove_dir(path);
        }
    }
}
