//! Connecting to the first of several addresses that answers (RFC 8305, "Happy Eyeballs").
//!
//! ```text
//!  v6 a   |--------------------- no answer                    (closed when another one answers)
//!  v4 b          |-- refused                                  the next begins at once
//!  v6 c             |------------- answers
//!         0     250 ms                                        else each begins so long after the last
//! ```

use super::error::{Failures, operation};
use myriad_core::time::{self, Instant, Sleep};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// So long after an address the next one is tried, too: RFC 8305, section 8.
const DELAY: Duration = Duration::from_millis(250);

/// The addresses in the order in which they are tried: the families take turns, the first one's
/// first. Among those of a family the order stays.
pub(super) fn interleave(addresses: Vec<SocketAddr>) -> VecDeque<SocketAddr> {
    let first = addresses.first().is_some_and(SocketAddr::is_ipv4);
    let (mut one, mut two): (VecDeque<_>, VecDeque<_>) =
        addresses.into_iter().partition(|address| address.is_ipv4() == first);
    let mut all = VecDeque::with_capacity(one.len() + two.len());
    while let Some(next) = one.pop_front() {
        all.push_back(next);
        all.extend(two.pop_front());
    }
    all.extend(two);
    all
}

/// The error of these addresses, all of which failed.
pub(super) fn failed(mut failures: Vec<(SocketAddr, io::Error)>) -> io::Error {
    let (address, reason) = failures.pop().expect("a look-up has at least one address");
    if failures.is_empty() {
        return operation("connect to", Some(address), reason);
    }
    let (count, kind) = (failures.len() + 1, reason.kind());
    failures.push((address, reason));
    operation("connect to", Some(format!("any of {count} addresses")), io::Error::new(kind, Failures(failures)))
}

/// Of `left` addresses that are to be tried until the deadline, when the first has had its share.
pub(super) fn share(deadline: Option<Instant>, left: usize) -> Option<Instant> {
    deadline.map(|deadline| {
        let now = time::now();
        now + (deadline - now) / u32::try_from(left).unwrap_or(u32::MAX)
    })
}

/// Attempts under way.
struct Race<F> {
    attempts: Vec<(SocketAddr, Pin<Box<F>>)>,
    failures: Vec<(SocketAddr, io::Error)>,
}

impl<T, F: Future<Output = io::Result<T>>> Race<F> {
    /// The first that has answered; else forgets those that have failed.
    fn poll(&mut self, cx: &mut Context<'_>) -> Option<T> {
        let mut at = 0;
        while let Some((address, attempt)) = self.attempts.get_mut(at) {
            match attempt.as_mut().poll(cx) {
                Poll::Pending => at += 1,
                Poll::Ready(Ok(value)) => return Some(value),
                Poll::Ready(Err(reason)) => {
                    self.failures.push((*address, reason));
                    drop(self.attempts.remove(at));
                }
            }
        }
        None
    }
}

/// Begins to connect to one address after the other; the first that answers wins, and the others
/// are dropped.
pub(super) async fn first<T, F: Future<Output = io::Result<T>>>(
    addresses: Vec<SocketAddr>,
    deadline: Option<Instant>,
    attempt: impl Fn(SocketAddr) -> F,
) -> io::Result<T> {
    let mut left = interleave(addresses);
    let mut race = Race { attempts: Vec::new(), failures: Vec::new() };
    let mut next: Option<Pin<Box<Sleep>>> = None;
    poll_fn(|cx| {
        loop {
            let failures = race.failures.len();
            if let Some(value) = race.poll(cx) {
                return Poll::Ready(Ok(value));
            }
            // One has failed, or (in the beginning) there is none.
            let at_once = race.attempts.is_empty() || race.failures.len() > failures;
            if !at_once && next.as_mut().is_none_or(|next| next.as_mut().poll(cx).is_pending()) {
                return Poll::Pending;
            }
            let Some(address) = left.pop_front() else {
                if race.attempts.is_empty() {
                    return Poll::Ready(Err(failed(std::mem::take(&mut race.failures))));
                }
                return Poll::Pending;
            };
            race.attempts.push((address, Box::pin(attempt(address))));
            // (With little time the next ones come sooner, so that each has its share.)
            let at = share(deadline, left.len() + 1).into_iter().chain([time::now() + DELAY]).min();
            next = at.filter(|_| !left.is_empty()).map(|at| Box::pin(time::sleep_until_async(at)));
        }
    })
    .await
}

#[cfg(test)]
mod test {
    use super::*;

    fn parse(addresses: &str) -> Vec<SocketAddr> {
        addresses.split(' ').map(|address| address.parse().unwrap()).collect()
    }

    #[test]
    fn families_take_turns() {
        let mixed = parse("[::1]:1 [::2]:1 [::3]:1 0.0.0.1:1 0.0.0.2:1");
        let expected = parse("[::1]:1 0.0.0.1:1 [::2]:1 0.0.0.2:1 [::3]:1");
        assert_eq!(interleave(mixed), expected);
        let mixed = parse("0.0.0.1:1 [::1]:1 [::2]:1 [::3]:1");
        let expected = parse("0.0.0.1:1 [::1]:1 [::2]:1 [::3]:1");
        assert_eq!(interleave(mixed), expected);
    }
}
