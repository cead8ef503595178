//! Values of nodes in files, for the next time that the program runs.
//!
//! **What is there decides.** A file of ours that is damaged is as none: its content is lost, and
//! to run the body is what would have been done without it. A file that was not written for this
//! key and type is an error: to write over it could destroy what somebody needs, and to read it
//! could give a wrong value. An error of `Stored::read` is one, too: the checksum was right, so the
//! program has changed, and somebody has to say which of both is wanted.
//!
//! **A value that cannot be written fails its node.** The program has asked for it to be there the
//! next time. Rejected: to go on with the value; that the file is missing would be seen when it is
//! needed.

use super::recall::Recall;
use crate::graph::Cause;
use crate::stored::file::{self, Found};
use crate::stored::{StoreError, Stored};
use myriad_base::sys::choice::entropy;
use myriad_core::blocking;
use myriad_sync::lock::SingleFlight;
use std::any::type_name;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

/// A folder with values of nodes, by key: a program that was killed goes on where it was.
///
/// A node with a [checkpoint](super::Options::checkpoint) whose file is there does not call its
/// body, but reads the file. Else the body runs, and its value is written before the node ends. A
/// file is whole or not there: it gets its name when its content is on the disk.
///
/// **The key** says all that the value depends on: which function, in which version, with which
/// arguments. What is found under a key is not compared with the arguments.
///
/// A file that is damaged is as none. A file that Myriad has not written for this key and this type
/// is never read nor written over: the node fails.
///
/// A clone is the same folder. Nodes of one folder with the same key run one after the other, so
/// that the later ones find the file. (Processes that share a folder do not wait for each other:
/// the last file stays.) Files are never deleted: that is for whoever knows that nobody needs them.
/// Names of unfinished files, of processes that were killed, end in `.tmp`. What a node needs runs,
/// or is read, also where the node's own file is there.
///
/// # Blocking
/// Files are read and written on a thread that may block, and the node's task is set aside
/// meanwhile.
///
/// # Errors
/// Those of nodes: [`StoreError`], if a file cannot be read, or the value cannot be written.
/// Retries are for the body, and not for these.
///
/// # Cancellation
/// A node that is cancelled while it writes leaves no file, or the whole.
///
/// # Examples
/// ```
/// use myriad::flow::{self, Checkpoints};
/// # let folder = std::env::temp_dir().join(format!("myriad-doc-{}", myriad::rng().next_u64()));
/// let saved = Checkpoints::new(&folder);
/// let load = |seed: u32| {
///     let load = flow::named("load").checkpoint(&saved, format!("load v1 {seed}"));
///     load.spawn(|seed: u32| (0..seed).collect::<Vec<_>>(), (seed,))
/// };
/// let sum = flow::spawn(|xs: &Vec<u32>| xs.iter().sum::<u32>(), (&load(4),));
/// assert_eq!(sum.join()?, 6);
/// // The next time, in this process or in another one:
/// let again = flow::Options::new().checkpoint(&saved, "load v1 4").spawn(|| -> Vec<u32> { unreachable!() }, ());
/// assert_eq!(again.join()?, [0, 1, 2, 3]);
/// # std::fs::remove_dir_all(&folder).unwrap();
/// # Ok::<(), flow::NodeError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Checkpoints(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// By key: one node at a time.
    running: SingleFlight<String, ()>,
}

impl Checkpoints {
    /// Values in this folder, which is made when the first one is written.
    pub fn new(folder: impl AsRef<Path>) -> Self {
        Checkpoints(Arc::new(Folder { path: folder.as_ref().to_owned(), running: SingleFlight::new() }))
    }

    /// The file of this key, be it there or not: for a program that deletes values.
    ///
    /// # Examples
    /// ```
    /// let saved = myriad::flow::Checkpoints::new("values");
    /// assert_eq!(saved.path_of("load 3").parent().unwrap().to_str(), Some("values"));
    /// ```
    pub fn path_of(&self, key: &str) -> PathBuf {
        self.0.path.join(file::name_of(key))
    }

    /// The end of the name of a file that is being written, by one of many processes. (In
    /// containers that share a folder each process may have the same number.)
    fn unique() -> String {
        static WRITTEN: AtomicU64 = AtomicU64::new(0);
        static OF_THIS_RUN: OnceLock<u64> = OnceLock::new();
        let run = OF_THIS_RUN.get_or_init(entropy);
        // Relaxed: a count.
        format!("{}-{run:016x}-{}.tmp", std::process::id(), WRITTEN.fetch_add(1, Relaxed))
    }

    pub(super) fn at(&self, key: String) -> AtCheckpoint {
        AtCheckpoint { folder: self.clone(), key }
    }
}

/// One value in a folder: see [`Options::checkpoint`](super::Options::checkpoint).
#[derive(Debug)]
pub struct AtCheckpoint {
    folder: Checkpoints,
    key: String,
}

impl<T: Stored + Send> Recall<T> for AtCheckpoint {
    fn call(self, body: impl FnOnce() -> Result<T, Cause>) -> Result<T, Cause> {
        let mut body = Some(body);
        loop {
            // Without waiting for others that read it.
            if let Some(value) = self.read()? {
                return Ok(value);
            }
            let mut mine = None;
            self.folder.0.running.run(self.key.clone(), || {
                mine = body.take().map(|body| match self.read()? {
                    Some(value) => Ok(value),
                    None => self.write(body()?),
                });
            });
            if let Some(result) = mine {
                return result;
            }
            // Another one has run: its file is there, unless it has failed.
        }
    }
}

impl AtCheckpoint {
    fn label<T>(&self) -> String {
        format!("{}\0{}", self.key, type_name::<T>())
    }

    fn read<T: Stored + Send>(&self) -> Result<Option<T>, Cause> {
        let (path, label) = (self.folder.path_of(&self.key), self.label::<T>());
        let found = blocking(|| match file::read(&path, &label)? {
            Found::Value(value) => Ok(Some(value)),
            Found::Nothing => Ok(None),
            Found::Other(what) => Err(io::Error::new(io::ErrorKind::InvalidData, what)),
        });
        found.map_err(|error| self.failed("read", &path, error, "delete the file, or choose another key"))
    }

    fn write<T: Stored + Send>(&self, value: T) -> Result<T, Cause> {
        let (path, label) = (self.folder.path_of(&self.key), self.label::<T>());
        // (The value goes along, for a reference to it could go only if it were `Sync`.)
        let (value, written) = blocking(|| {
            let written = fs::create_dir_all(&self.folder.0.path)
                .and_then(|()| file::write(&path, Checkpoints::unique, &label, &value));
            (value, written)
        });
        match written {
            Ok(()) => Ok(value),
            Err(error) => Err(self.failed("write", &path, error, "make room there, or choose another folder")),
        }
    }

    #[cold]
    fn failed(&self, what: &str, path: &Path, error: io::Error, to_do: &'static str) -> Cause {
        Cause::of(StoreError::new(format!("cannot {what} the checkpoint '{}'", self.key), path, error, to_do))
    }
}
