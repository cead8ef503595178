//! Files that are whole or not there.
//!
//! ```text
//!  MAGIC | length of the label, label, value, all in blocks | length of the blocks, their checksum
//! ```
//! A file is written under another name, synchronized, and renamed; so a process that is killed
//! leaves no part of it under its own name. The checksum is for what comes after: a damaged disk, a
//! file that was copied in part. It is compared before `Stored::read` sees anything.
//!
//! The label says of what the file is. It is compared, because a file's name is a hash, and
//! because bytes of one type can often be read as another.

use super::Stored;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"myriad\0\x01";
/// What is summed up, and written, in one go.
const BLOCK: usize = 1 << 16;
/// Beside the blocks.
const FRAME: u64 = 24;

/// What is there of a value.
pub(crate) enum Found<T> {
    Value(T),
    /// Nothing, or a file of ours that is damaged.
    Nothing,
    /// A file that is no such value's.
    Other(&'static str),
}

/// Writes a value with its label, under a name where there may be a file already. `unique` is
/// asked for ends of names until there is no file of that name.
pub(crate) fn write<T: Stored>(path: &Path, unique: impl FnMut() -> String, label: &str, value: &T) -> io::Result<()> {
    let (temporary, mut file) = Temporary::new(path, unique)?;
    file.write_all(MAGIC)?;
    let mut blocks = Blocks { file: &mut file, block: Vec::with_capacity(BLOCK), length: 0, sum: 0 };
    label.to_owned().write(&mut blocks)?;
    value.write(&mut blocks)?;
    blocks.end_block()?;
    let (length, sum) = (blocks.length, blocks.sum);
    length.write(&mut file)?;
    sum.write(&mut file)?;
    file.sync_all()?;
    fs::rename(&temporary.0, path)?;
    // A file system that cannot do this may lose the file when the power fails, but not damage it.
    if let Some(Ok(folder)) = path.parent().map(File::open) {
        _ = folder.sync_all();
    }
    Ok(())
}

/// Reads a value with this label.
pub(crate) fn read<T: Stored>(path: &Path, label: &str) -> io::Result<Found<T>> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::Nothing),
        file => file?,
    };
    let mut magic = Vec::new();
    (&file).take(8).read_to_end(&mut magic)?;
    if !MAGIC.starts_with(&magic) {
        return Ok(Found::Other("the file was not written by Myriad"));
    }
    let Some(length) = file.metadata()?.len().checked_sub(FRAME) else { return Ok(Found::Nothing) };
    let sum = sum_of((&file).take(length))?;
    if (u64::read(&mut file)?, u64::read(&mut file)?) != (length, sum) {
        return Ok(Found::Nothing);
    }
    file.seek(SeekFrom::Start(8))?;
    let mut blocks = io::BufReader::with_capacity(BLOCK, file).take(length);
    if String::read(&mut blocks)? != label {
        return Ok(Found::Other("the file is of another key, or another type"));
    }
    let value = T::read(&mut blocks)?;
    Ok(match blocks.limit() {
        0 => Found::Value(value),
        _ => Found::Other("`Stored::read` has left a part unread"),
    })
}

/// A file that this process has made, and that goes if it does not get its own name.
struct Temporary(PathBuf);

impl Temporary {
    fn new(path: &Path, mut unique: impl FnMut() -> String) -> io::Result<(Temporary, File)> {
        loop {
            let name = path.with_extension(unique());
            match File::create_new(&name) {
                // Of another process: one that was killed, or one that writes.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                file => return file.map(|file| (Temporary(name), file)),
            }
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        _ = fs::remove_file(&self.0);
    }
}

/// Writes in blocks, each of which is summed up.
struct Blocks<'a> {
    file: &'a mut File,
    block: Vec<u8>,
    length: u64,
    sum: u64,
}

impl Blocks<'_> {
    fn end_block(&mut self) -> io::Result<()> {
        self.sum = summed(self.sum, &self.block);
        self.length += self.block.len() as u64;
        self.file.write_all(&self.block)?;
        self.block.clear();
        Ok(())
    }
}

impl Write for Blocks<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(&bytes[..n]);
        if self.block.len() == BLOCK {
            self.end_block()?;
        }
        Ok(n)
    }

    /// (Each block but the last one is full.)
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn sum_of(mut from: impl Read) -> io::Result<u64> {
    let (mut block, mut sum) = (Vec::with_capacity(BLOCK), 0);
    loop {
        block.clear();
        if from.by_ref().take(BLOCK as u64).read_to_end(&mut block)? == 0 {
            return Ok(sum);
        }
        sum = summed(sum, &block);
    }
}

/// One more block. Each step can be undone, so one word that is different gives another sum.
fn summed(sum: u64, block: &[u8]) -> u64 {
    let (words, rest) = block.as_chunks();
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let words = words.iter().chain([&last]).map(|word| u64::from_le_bytes(*word));
    words.chain([block.len() as u64]).fold(sum, hashed)
}

/// (What files and their names are made of: not to be changed.)
fn hashed(sum: u64, word: u64) -> u64 {
    (sum ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29)
}

/// The name of the file for this key: what can be read of the key, and its hash.
pub(crate) fn name_of(key: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let readable: String = key.chars().take(40).map(|c| if is_plain(c) { c } else { '-' }).collect();
    format!("{readable}-{:016x}.value", summed(0, key.as_bytes()))
}

#[cfg(test)]
mod test {
    use super::*;
    use std::process;

    struct Fails;

    impl Stored for Fails {
        fn write(&self, _: &mut dyn Write) -> io::Result<()> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn read(_: &mut dyn Read) -> io::Result<Self> {
            Ok(Fails)
        }
        fn bytes(&self) -> usize {
            0
        }
    }

    /// An unfinished file of another process stays, be the value written or not.
    #[test]
    fn a_name_that_is_taken_is_passed_over() {
        let folder = std::env::temp_dir().join(format!("myriad-test-stored-{}", process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("n.value");
        let of_another = path.with_extension("1.tmp");
        fs::write(&of_another, "half of a value").unwrap();
        let names = || {
            let mut count = 0;
            move || {
                count += 1;
                format!("{count}.tmp")
            }
        };
        write(&path, names(), "label", &7_u32).unwrap();
        assert!(matches!(read(&path, "label").unwrap(), Found::Value(7_u32)));
        let error = write(&path, names(), "label", &Fails).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&of_another).unwrap(), b"half of a value");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
