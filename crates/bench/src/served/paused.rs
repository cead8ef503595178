//! One connection, one request at a time, and a pause after each answer. A tenth more comes before,
//! and does not count.

use std::io;
use std::time::{Duration, Instant};

use super::client::Result;
use super::connection::Connection;
use super::traffic::Place;
use super::{Protocol, Set};

/// It divides none of the times that neighbours have, so that requests meet all of their phases.
const PAUSE: Duration = Duration::from_millis(7);

pub(super) fn run(n: u64, protocol: impl Protocol, place: &mut Place) -> io::Result<Result> {
    let set = Set::new()?;
    let mut connection = Connection::new(place, &set, 0)?;
    let warm = (n / 10).max(1);
    let mut begin = Instant::now();
    let mut times = Vec::with_capacity(n as usize);
    for number in 0..warm + n {
        if number == warm {
            place.begin()?;
            begin = Instant::now();
        }
        let took = connection.ask(protocol, &set, number)?;
        if number >= warm {
            times.push(took);
        }
        std::thread::sleep(PAUSE);
    }
    Ok(Result::new(times, begin.elapsed()))
}
