//! The client's connections.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use super::traffic::Place;
use super::{Protocol, Set};

/// An answer that takes longer does not come.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A connection, over which one request at a time is on its way.
pub(super) struct Connection {
    stream: TcpStream,
    request: Vec<u8>,
    /// What has come back.
    answer: Vec<u8>,
}

impl Connection {
    /// The connection of this number in the set.
    pub(super) fn new(place: &Place, set: &Set, number: u64) -> io::Result<Connection> {
        let stream = TcpStream::connect(place.address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        set.add(stream.as_raw_fd(), number)?;
        Ok(Connection { stream, request: Vec::new(), answer: Vec::new() })
    }

    /// As many as are asked for, by their numbers.
    pub(super) fn several(place: &Place, set: &Set, m: u64) -> io::Result<Vec<Connection>> {
        (0..m).map(|number| Connection::new(place, set, number)).collect()
    }

    pub(super) fn send(&mut self, protocol: impl Protocol, number: u64) -> io::Result<()> {
        self.request.clear();
        protocol.request(number, &mut self.request);
        self.answer.clear();
        // (It has room: all that was sent before has come back.)
        (&self.stream).write_all(&self.request)
    }

    /// Whether the answer is there, and whole. A wrong one is an error.
    pub(super) fn receive(&mut self, protocol: impl Protocol) -> io::Result<bool> {
        let mut room = [0; 4096];
        match (&self.stream).read(&mut room) {
            Ok(0) => Err(io::Error::other("the server has closed a connection")),
            Ok(read) => {
                self.answer.extend_from_slice(&room[..read]);
                protocol.is_answered(&self.request, &self.answer).map_err(io::Error::other)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Sends a request, and waits for its answer; nothing else of the set is on its way.
    pub(super) fn ask(&mut self, protocol: impl Protocol, set: &Set, number: u64) -> io::Result<Duration> {
        let begin = Instant::now();
        self.send(protocol, number)?;
        let mut ready = Vec::new();
        while !self.receive(protocol)? {
            ready.clear();
            wait(set, &mut ready)?;
        }
        Ok(begin.elapsed())
    }
}

/// Waits until something comes; that nothing does is an error.
pub(super) fn wait(set: &Set, ready: &mut Vec<u64>) -> io::Result<()> {
    set.wait(ready, PATIENCE)?;
    if ready.is_empty() {
        return Err(io::Error::other(format!("no answer came within {PATIENCE:?}")));
    }
    Ok(())
}
