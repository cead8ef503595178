//! Each connection is made, and has one answer. Then the client is silent, until its parent says
//! go: it asks over each once more, so all of them are still served.

use std::io::{self, Read};
use std::time::Instant;

use super::client::Result;
use super::connection::Connection;
use super::traffic::Place;
use super::{Protocol, Set};

pub(super) fn run(m: u64, protocol: impl Protocol, place: &mut Place) -> io::Result<Result> {
    let set = Set::new()?;
    let begin = Instant::now();
    let (mut connections, mut times) = (Vec::new(), Vec::new());
    for number in 0..m {
        let mut connection = Connection::new(place, &set, number)?;
        times.push(connection.ask(protocol, &set, number)?);
        connections.push(connection);
    }
    let result = Result::new(times, begin.elapsed());
    place.begin()?;
    place.go.read_exact(&mut [0])?;
    for (number, connection) in (m..).zip(&mut connections) {
        connection.ask(protocol, &set, number)?;
    }
    Ok(result)
}
