//! The next request follows the answer: as many at a time as there are connections. A tenth more
//! comes before, and does not count.

use std::io;
use std::time::Instant;

use super::client::Result;
use super::connection::{Connection, wait};
use super::traffic::Place;
use super::{Protocol, Set};

pub(super) fn run(n: u64, m: u64, protocol: impl Protocol, place: &mut Place) -> io::Result<Result> {
    let set = Set::new()?;
    let mut connections = Connection::several(place, &set, m)?;
    let warm = (n / 10).max(m);
    let (mut number, mut done) = (0, 0);
    let mut sent = vec![Instant::now(); connections.len()];
    let mut times = Vec::with_capacity(n as usize);
    let mut begin = None;
    for (connection, sent) in connections.iter_mut().zip(&mut sent) {
        number += 1;
        *sent = Instant::now();
        connection.send(protocol, number)?;
    }
    let mut ready = Vec::new();
    while done < warm + n {
        wait(&set, &mut ready)?;
        for i in ready.drain(..) {
            let (connection, sent) = (&mut connections[i as usize], &mut sent[i as usize]);
            if !connection.receive(protocol)? {
                continue;
            }
            done += 1;
            if begin.is_some() {
                times.push(sent.elapsed());
            }
            if done == warm {
                place.begin()?;
                begin = Some(Instant::now());
            }
            number += 1;
            *sent = Instant::now();
            connection.send(protocol, number)?;
        }
    }
    Ok(Result::new(times, begin.expect("n is at least 1").elapsed()))
}
