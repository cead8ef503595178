//! What is kept of the outputs of a program: it is read from pipes while the program runs.
//!
//! **Rejected.** Files without names, which need nobody who reads: a program that opens its output
//! by its name (`/dev/stderr`) empties such a file, and writes at a place of its own. A limit of
//! files counts what is printed there, too.

use super::drain::drain;
use super::pipe::{self, Got, PIECE};
use crate::machine::memory;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

/// More than this is not in memory, but in a file without a name.
const IN_MEMORY: usize = 64 << 20;
/// Then it goes there in parts of this size.
const PART: usize = 1 << 20;
/// So much of one output is read at most before the watcher looks at something else.
const TURN: usize = 1 << 20;

/// What is kept of one output.
#[derive(Debug, Default)]
pub(super) struct Capture {
    /// `None`: nothing of it is kept, or nobody can write to it any more.
    pipe: Option<PipeReader>,
    /// So many bytes are kept at most.
    most: u64,
    /// So many have come.
    written: u64,
    /// The last ones that are kept.
    bytes: Vec<u8>,
    /// Those before them, if there are many: so many.
    filed: u64,
    file: Option<File>,
    /// Why it could not be kept.
    lost: Option<io::Error>,
}

impl Capture {
    /// And the end for the program.
    pub(super) fn new(most: u64) -> io::Result<(Capture, PipeWriter)> {
        let (reader, writer) = pipe::pipe()?;
        Ok((Capture { pipe: Some(reader), most, ..Capture::default() }, writer))
    }

    /// Reads so much, or a piece more; less, if there is less.
    fn read(&mut self, mut most: usize, piece: &mut [u8]) {
        while most > 0
            && let Some(pipe) = &self.pipe
        {
            match pipe::read(pipe, piece) {
                Got::Bytes(bytes) => {
                    most = most.saturating_sub(bytes);
                    self.keep(&piece[..bytes]);
                }
                Got::Nothing => return,
                Got::End => self.pipe = None,
            }
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.written += bytes.len() as u64;
        let room = self.most.saturating_sub(self.filed + self.bytes.len() as u64);
        if room == 0 || self.lost.is_some() {
            return;
        }
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(usize::try_from(room).unwrap_or(usize::MAX))]);
        let full = if self.file.is_some() { PART } else { IN_MEMORY };
        if self.most > IN_MEMORY as u64 && self.bytes.len() >= full {
            self.lost = self.put_in_file().err();
        }
    }

    fn put_in_file(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(unnamed_file()?),
        };
        file.write_all(&self.bytes)?;
        self.filed += self.bytes.len() as u64;
        self.bytes.clear();
        self.bytes.shrink_to(2 * PART);
        Ok(())
    }

    /// All that is kept. Who still writes is not held up, and not heard.
    fn take(&mut self) -> Vec<u8> {
        self.pipe.take().into_iter().for_each(drain);
        let mut bytes = std::mem::take(&mut self.bytes);
        let Some(mut file) = self.file.take() else {
            bytes.shrink_to_fit();
            return bytes;
        };
        let mut all = Vec::with_capacity(self.filed as usize + bytes.len());
        match file.rewind().and_then(|()| file.take(self.filed).read_to_end(&mut all)) {
            Ok(_) => all.append(&mut bytes),
            Err(error) => self.lost = Some(error),
        }
        all
    }
}

/// What is kept of both.
#[derive(Debug)]
pub(super) struct Captures {
    out: Capture,
    err: Capture,
    /// What is read goes here first. Empty, as long as nothing was read.
    piece: Vec<u8>,
}

impl Captures {
    pub(super) fn new(out: Capture, err: Capture) -> Captures {
        Captures { out, err, piece: Vec::new() }
    }

    /// Waits so long at most, until something is written or that file is ready; and keeps what was
    /// written. True: the file is ready.
    pub(super) fn wait(&mut self, file: Option<BorrowedFd<'_>>, most: Duration) -> bool {
        self.read(file, most, |_| TURN)
    }
    /// Keeps what is written now. (What comes meanwhile is of others than the program, which has
    /// ended; they may go on for ever.)
    pub(super) fn read_rest(&mut self) {
        self.read(None, Duration::ZERO, |pipe| pipe::bytes_in(pipe).saturating_add(1));
    }

    fn read(&mut self, file: Option<BorrowedFd<'_>>, most: Duration, amount: impl Fn(&PipeReader) -> usize) -> bool {
        let entry = |of: &Capture| pipe::entry(of.pipe.as_ref().map(AsFd::as_fd));
        let mut entries = [pipe::entry(file), entry(&self.out), entry(&self.err)];
        pipe::wait(&mut entries, Some(most));
        for (of, entry) in [&mut self.out, &mut self.err].into_iter().zip(&entries[1..]) {
            match &of.pipe {
                Some(pipe) if entry.revents & libc::POLLIN != 0 => {
                    if self.piece.is_empty() {
                        self.piece = vec![0; PIECE];
                    }
                    of.read(amount(pipe), &mut self.piece);
                }
                // (It has ended, and is empty.)
                _ if entry.revents != 0 => of.pipe = None,
                _ => {}
            }
        }
        entries[0].revents != 0
    }

    fn both(&self) -> [(&'static str, &Capture); 2] {
        [("output", &self.out), ("error", &self.err)]
    }
    /// What is too much: "output 2.0 MB of 1.0 MB".
    pub(super) fn over(&self) -> Option<String> {
        let (name, of) = self.both().into_iter().find(|(_, of)| of.written > of.most)?;
        Some(format!("{name} {} of {}", memory(of.written), memory(of.most)))
    }
    /// What is not kept, though it should be: "its output could not be kept: no space left".
    pub(super) fn lost(&self) -> Option<String> {
        let lost = |(name, of): (&str, &Capture)| Some((name.to_owned(), of.lost.as_ref()?.to_string()));
        let (name, error) = self.both().into_iter().find_map(lost)?;
        Some(format!("its {name} could not be kept in {}: {error}", std::env::temp_dir().display()))
    }
    /// All that is kept, of the output and of the error.
    pub(super) fn take(&mut self) -> [Vec<u8>; 2] {
        [self.out.take(), self.err.take()]
    }
}

/// In the folder for temporary files.
fn unnamed_file() -> io::Result<File> {
    let folder = std::env::temp_dir();
    let open = |flags: i32, path: &Path| {
        File::options().read(true).write(true).create_new(flags == 0).custom_flags(flags).mode(0o600).open(path)
    };
    #[cfg(target_os = "linux")]
    if let Ok(file) = open(libc::O_TMPFILE, &folder) {
        return Ok(file);
    }
    // A file system without such files, or another system.
    let name = format!("myriad-{}-{:x}", std::process::id(), myriad_core::task::rng::rng().next_u64());
    let path = folder.join(name);
    let file = open(0, &path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

#[cfg(test)]
mod test {
    use super::*;

    /// Fills a capture in pieces, as a program that writes does. Returns what is kept, and if a
    /// file was used.
    fn kept(most: u64, bytes: &[u8], piece: usize) -> (Vec<u8>, bool) {
        let mut capture = Capture { most, ..Capture::default() };
        bytes.chunks(piece).for_each(|piece| capture.keep(piece));
        assert_eq!(capture.written, bytes.len() as u64);
        let is_filed = capture.file.is_some();
        (capture.take(), is_filed)
    }

    /// The limit is exact, in memory and on a disk; little needs no file, whatever the limit is.
    #[test]
    fn as_much_is_kept_as_may_be() {
        assert_eq!(kept(5, b"1234567", 2), (b"12345".to_vec(), false));
        assert_eq!(kept(0, b"1", 1), (Vec::new(), false));
        assert_eq!(kept(u64::MAX, b"1234567", 3), (b"1234567".to_vec(), false));
        let much: Vec<u8> = b"0123456".repeat((IN_MEMORY + 2 * PART) / 7 + 11);
        for (most, is_filed) in [(IN_MEMORY, false), (IN_MEMORY + PART + 3, true), (much.len(), true)] {
            assert!(kept(most as u64, &much, PIECE) == (much[..most].to_vec(), is_filed), "{most}");
        }
    }

    /// What is there when the program has ended is read to its end, and no more: others may write
    /// on and on.
    #[test]
    fn the_rest_has_an_end() {
        let (capture, mut writer) = Capture::new(1 << 20).unwrap();
        let mut captures = Captures::new(capture, Capture::default());
        captures.read_rest();
        writer.write_all(&[7; 1000]).unwrap();
        captures.read_rest();
        assert!(captures.out.pipe.is_some(), "somebody may write");
        writer.write_all(&[7; 1000]).unwrap();
        drop(writer);
        // (A program that another test starts just now may have the other end for a moment.)
        while captures.out.pipe.is_some() {
            captures.read_rest();
        }
        assert_eq!(captures.take(), [vec![7; 2000], Vec::new()]);
    }
}
