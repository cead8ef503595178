//! Those who still write when their job is over: what they write is read, and thrown away.
//!
//! A program may leave processes behind that have its outputs. If the other end of such a pipe were
//! closed, the system would kill them when they write. If nobody read, they would wait once the
//! pipe is full. So one thread of this process reads from all of these pipes. It is there as long
//! as there are some.

use super::pipe::{self, Got, PIECE};
use myriad_base::sys::clock;
use myriad_base::sys::fork;
use myriad_base::sys::mutex::Mutex;
use myriad_base::sys::passing::passing;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;

/// After so many bytes ...
const PORTION: usize = 1 << 20;
/// ... the thread pauses: who prints for ever does not take two processors for that.
const PAUSE: Duration = Duration::from_millis(5);

/// What the thread is told.
struct Drain {
    /// The process whose thread it is: a fork has a copy of this, and no such thread.
    era: u32,
    /// It is there, or about to be started.
    runs: bool,
    /// Those that the thread has not taken yet.
    new: Vec<PipeReader>,
    /// Wakes the thread. It is here before the thread is.
    wake: Option<PipeWriter>,
}

impl Drain {
    const fn new(era: u32) -> Drain {
        Drain { era, runs: false, new: Vec::new(), wake: None }
    }
}

/// No thread is started under this lock: a fork waits for threads that begin.
static DRAIN: Mutex<Drain> = Mutex::new(Drain::new(0));

/// From now on this pipe is read until nobody can write to it. (If there can be no thread, it is
/// closed.)
pub(super) fn drain(pipe: PipeReader) {
    let mut all = DRAIN.lock();
    if all.era != fork::era() {
        *all = Drain::new(fork::era());
    }
    all.new.push(pipe);
    if let Some(wake) = &mut all.wake {
        _ = wake.write(&[0]);
    }
    let is_first = !std::mem::replace(&mut all.runs, true);
    drop(all);
    if is_first && start().is_err() {
        let none = Drain::new(fork::era());
        drop(std::mem::replace(&mut *DRAIN.lock(), none));
    }
}

fn start() -> io::Result<()> {
    let (woken, wake) = pipe::pipe()?;
    DRAIN.lock().wake = Some(wake);
    let thread = std::thread::Builder::new().name("myriad-drain".into()).stack_size(64 << 10);
    thread.spawn(passing(move || run(woken))).map(drop)
}

fn run(woken: PipeReader) {
    let (mut pipes, mut entries) = (Vec::new(), Vec::new());
    let mut piece = vec![0; PIECE];
    let mut thrown_away = 0;
    loop {
        let mut all = DRAIN.lock();
        pipes.append(&mut all.new);
        if pipes.is_empty() {
            (all.runs, all.wake) = (false, None);
            return;
        }
        drop(all);
        entries.clear();
        entries.extend([&woken].into_iter().chain(&pipes).map(|pipe| pipe::entry(Some(pipe.as_fd()))));
        pipe::wait(&mut entries, None);
        if entries[0].revents != 0 {
            _ = (&woken).read(&mut piece);
        }
        let mut marks = entries[1..].iter().map(|entry| entry.revents != 0);
        // (One piece of each: no one waits for one that writes for ever.)
        pipes.retain(|pipe| {
            if !marks.next().unwrap_or(false) {
                return true;
            }
            let got = pipe::read(pipe, &mut piece);
            if let Got::Bytes(bytes) = got {
                thrown_away += bytes;
            }
            !matches!(got, Got::End)
        });
        if thrown_away >= PORTION {
            thrown_away = 0;
            clock::sleep(PAUSE);
        }
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// Who writes more than a pipe holds is not held up; and the thread ends with the last of them.
    #[test]
    fn all_is_read_until_nobody_writes() {
        let mut writers = Vec::new();
        for _ in 0..3 {
            let (reader, writer) = pipe::pipe().unwrap();
            drain(reader);
            writers.push(writer);
        }
        assert!(DRAIN.lock().runs);
        while let Some(mut writer) = writers.pop() {
            writer.write_all(&[7; 1 << 20]).unwrap();
        }
        while DRAIN.lock().runs {
            std::thread::yield_now();
        }
        // The next one has a thread again.
        let (reader, mut writer) = pipe::pipe().unwrap();
        drain(reader);
        writer.write_all(&[7; 1 << 20]).unwrap();
    }
}
