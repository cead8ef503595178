//! Requests are due at fixed times, over the connections in turn, whether or not the server keeps
//! up. A time counts from when the request was *due*: while one takes long, those that are due
//! behind it wait too, and a client that sends nothing meanwhile would leave them out ("coordinated
//! omission").
//!
//! The first fifth does not count.

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use super::client::{Result, at};
use super::connection::{Connection, PATIENCE};
use super::traffic::Place;
use super::{Protocol, Set};

/// How long, of which the first fifth does not count.
const SECONDS: f64 = 2.5;

pub(super) fn run(per_second: u64, m: u64, protocol: impl Protocol, place: &mut Place) -> io::Result<Result> {
    let set = Set::new()?;
    set.wakes_on_time();
    let mut connections = Connection::several(place, &set, m)?;
    // Those that are due and have no answer yet, of each connection. The first of them is sent.
    let mut waiting = vec![VecDeque::new(); connections.len()];
    let all = ((per_second as f64 * SECONDS) as u64).max(2);
    let warm = all / 5;
    let gap = 1.0 / per_second as f64;
    let (mut next, mut done) = (0, 0);
    let mut times = Vec::with_capacity(all as usize);
    let mut late = Vec::with_capacity(all as usize);
    let begin = Instant::now();
    let due = |number: u64| begin + Duration::from_secs_f64(number as f64 * gap);
    let (mut ready, mut last) = (Vec::new(), begin);
    while done < all {
        let now = Instant::now();
        while next < all && due(next) <= now {
            if next == warm {
                place.begin()?;
            }
            late.push((now - due(next)).as_nanos() as u64);
            let i = (next % m) as usize;
            if waiting[i].is_empty() {
                connections[i].send(protocol, next)?;
            }
            waiting[i].push_back(next);
            next += 1;
        }
        let patience = if next < all { due(next).saturating_duration_since(Instant::now()) } else { PATIENCE };
        // (To sleep and to be woken takes longer than the time between two requests.)
        set.wait_exactly(&mut ready, if place.apart { Duration::ZERO } else { patience })?;
        if last.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("no answer came within {PATIENCE:?}")));
        }
        for i in ready.drain(..) {
            let (connection, waiting) = (&mut connections[i as usize], &mut waiting[i as usize]);
            if !connection.receive(protocol)? {
                continue;
            }
            last = Instant::now();
            let number = waiting.pop_front().ok_or_else(|| io::Error::other("an answer to no request"))?;
            if number >= warm {
                times.push(last - due(number));
            }
            done += 1;
            if let Some(&number) = waiting.front() {
                connection.send(protocol, number)?;
            }
        }
    }
    late.sort_unstable();
    let late = at(&late, 990);
    Ok(Result { late, ..Result::new(times, due(warm).elapsed()) })
}
