//! `alltoall`: `n` tasks; in each of `m` rounds each sends a message to every other one, and
//! receives as many.
//!
//! A task has one channel, for all others. Nobody waits to send: to end a round, a task needs a
//! message of each, so another one is at most a round ahead, and no channel ever has more than
//! `2 (n - 1)` messages. The answer is the sum of all that was received. An operation is a message:
//! `n (n - 1) × m`. The time does not include making the channels.

use std::time::Instant;

use super::{Closures, Counts, Futures, Message, Pattern, Point, Run, Table, size, sum_below};
use crate::entry::Workload;
use crate::record::Failure;

/// The table.
pub(crate) static WORKLOAD: Workload = Table::<AllToAll>::workload(
    "alltoall",
    "n tasks, each sends to each other one, m rounds",
    "message",
    [size(64, 25), size(64, 2_500)],
);

struct AllToAll(());

/// The others, in the order in which task `i` of `n` sends to them: not all begin with the first.
fn others(i: usize, n: usize) -> impl Iterator<Item = usize> + Send {
    (1..n).map(move |k| (i + k) % n)
}

/// What each sends in a round.
fn message(from: usize, round: u64) -> Message {
    Message { from, value: round + from as u64 }
}

/// The sum of all that all receive: each number of a task, and of a round, to all others.
fn answer(n: usize, m: u64) -> u64 {
    let n = n as u64;
    (n - 1) * (m * sum_below(n) + n * sum_below(m))
}

impl Pattern for AllToAll {
    fn counts(n: u64, m: u64) -> Counts {
        Counts { tasks: n, ops: n * (n - 1) * m }
    }

    fn closures<S: Closures>(n: usize, m: u64) -> Run {
        let (to, inboxes): (Vec<_>, Vec<_>) = (0..n).map(|_| S::roomy(2 * (n - 1))).unzip();
        let (done, mut results) = S::roomy(n);
        let ends: Vec<_> = inboxes.into_iter().map(|inbox| (inbox, to.clone(), done.clone())).collect();
        let begin = Instant::now();
        for (i, (mut inbox, to, done)) in ends.into_iter().enumerate() {
            S::spawn(Point { index: i, of: n }, move || {
                let mut value = 0;
                for round in 0..m {
                    others(i, n).for_each(|other| S::send(&to[other], message(i, round)));
                    value += others(i, n).map(|_| S::recv(&mut inbox).value).sum::<u64>();
                }
                S::send(&done, Message { from: i, value });
            });
        }
        let sum = (0..n).map(|_| S::recv(&mut results).value).sum();
        let time = begin.elapsed();
        Failure::check(sum, answer(n, m))?;
        Ok(time)
    }

    async fn futures<S: Futures>(n: usize, m: u64) -> Run {
        let (to, inboxes): (Vec<_>, Vec<_>) = (0..n).map(|_| S::channel(2 * (n - 1))).unzip();
        let (done, mut results) = S::channel(n);
        let ends: Vec<_> = inboxes.into_iter().map(|inbox| (inbox, to.clone(), done.clone())).collect();
        let begin = Instant::now();
        for (i, (mut inbox, to, done)) in ends.into_iter().enumerate() {
            S::spawn(async move {
                let mut value = 0;
                for round in 0..m {
                    for other in others(i, n) {
                        S::send(&to[other], message(i, round)).await;
                    }
                    for _ in 1..n {
                        value += S::recv(&mut inbox).await.value;
                    }
                }
                S::send(&done, Message { from: i, value }).await;
            });
        }
        let mut sum = 0;
        for _ in 0..n {
            sum += S::recv(&mut results).await.value;
        }
        let time = begin.elapsed();
        Failure::check(sum, answer(n, m))?;
        Ok(time)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn the_answer_is_what_all_are_sent() {
        let sent = |n: usize, m| {
            let of = |i| others(i, n).map(move |_| i);
            (0..m).flat_map(|round| (0..n).flat_map(of).map(move |i| message(i, round).value)).sum::<u64>()
        };
        assert_eq!(answer(2, 1), 1);
        assert_eq!((answer(5, 7), answer(8, 3)), (sent(5, 7), sent(8, 3)));
    }
}
