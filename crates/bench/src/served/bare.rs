//! A server that is a loop around `epoll_wait` on one thread, and nothing else: as fast as the
//! kernel allows.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::time::Duration;

use super::Set;

/// Serves for ever. `answer` takes out of its first argument what it answers, and appends the
/// answers to the second.
pub(crate) fn answer_all(listener: &TcpListener, answer: fn(&mut Vec<u8>, &mut Vec<u8>)) -> io::Result<()> {
    const NEW: u64 = u64::MAX;
    let set = Set::new()?;
    set.add(listener.as_raw_fd(), NEW)?;
    let mut streams: HashMap<u64, (TcpStream, Vec<u8>)> = HashMap::new();
    let (mut ready, mut bytes, mut answers) = (Vec::new(), [0; 1024], Vec::new());
    loop {
        set.wait(&mut ready, Duration::from_secs(3600))?;
        for number in ready.drain(..) {
            if number == NEW {
                let stream = listener.accept()?.0;
                stream.set_nodelay(true)?;
                let number = stream.as_raw_fd() as u64;
                set.add(stream.as_raw_fd(), number)?;
                streams.insert(number, (stream, Vec::new()));
                continue;
            }
            let (stream, read) = streams.get_mut(&number).expect("a stream that was added");
            match stream.read(&mut bytes)? {
                0 => _ = streams.remove(&number),
                n => {
                    read.extend_from_slice(&bytes[..n]);
                    answer(read, &mut answers);
                    stream.write_all(&answers)?;
                    answers.clear();
                }
            }
        }
    }
}
