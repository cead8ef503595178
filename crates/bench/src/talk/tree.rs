//! `tree`: sums go up a binary tree with `n` leaves, `m` times.
//!
//! Each leaf sends `m` numbers to its parent; a parent receives one from each of its two children
//! and sends their sum up. The channels have [`SLOTS`] slots. The root of the tree sends to the
//! task that made it, which checks each sum. An operation is a message: `(2n - 1) × m`.

use std::time::Instant;

use super::{Closures, Counts, Futures, Message, Pattern, Point, Run, Table, size, sum_below};
use crate::entry::Workload;
use crate::record::Failure;

/// The table.
pub(crate) static WORKLOAD: Workload = Table::<Tree>::workload(
    "tree",
    "sums up a binary tree with n leaves (a power of two), m times, channels of 4 slots",
    "message",
    [size(256, 200), size(256, 20_000)],
);

/// Slots of each channel.
const SLOTS: usize = 4;

struct Tree(());

/// What leaf `i` sends in round `round`.
fn leaf(i: usize, round: u64) -> Message {
    Message { from: i, value: i as u64 + round }
}

/// What comes out of the tree in round `round`.
fn answer(n: usize, round: u64) -> u64 {
    sum_below(n as u64) + n as u64 * round
}

/// The sum of what two children say.
fn add(a: Message, b: Message) -> Message {
    Message { from: a.from, value: a.value + b.value }
}

/// The node number `i` of those that have so many of the `n` leaves below them: it stands between
/// its two halves of them.
fn point(i: usize, leaves: usize, n: usize) -> Point {
    Point { index: (2 * i + 1) * leaves - 1, of: 2 * n - 1 }
}

impl Pattern for Tree {
    fn counts(n: u64, m: u64) -> Counts {
        Counts { tasks: 2 * n - 1, ops: (2 * n - 1) * m }
    }

    fn closures<S: Closures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let mut level = Vec::with_capacity(n);
        for i in 0..n {
            let (tx, rx) = S::channel(SLOTS);
            level.push(rx);
            S::spawn(point(i, 1, n), move || (0..m).for_each(|round| S::send(&tx, leaf(i, round))));
        }
        let mut leaves = 1;
        while level.len() > 1 {
            let mut above = Vec::with_capacity(level.len() / 2);
            let mut children = level.into_iter();
            leaves *= 2;
            while let (Some(mut left), Some(mut right)) = (children.next(), children.next()) {
                let (tx, rx) = S::channel(SLOTS);
                let at = point(above.len(), leaves, n);
                above.push(rx);
                S::spawn(at, move || (0..m).for_each(|_| S::send(&tx, add(S::recv(&mut left), S::recv(&mut right)))));
            }
            level = above;
        }
        let wrong = (0..m).filter(|&round| S::recv(&mut level[0]).value != answer(n, round)).count();
        let time = begin.elapsed();
        Failure::check(wrong, 0)?;
        Ok(time)
    }

    async fn futures<S: Futures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let mut level = Vec::with_capacity(n);
        for i in 0..n {
            let (tx, rx) = S::channel(SLOTS);
            level.push(rx);
            S::spawn(async move {
                for round in 0..m {
                    S::send(&tx, leaf(i, round)).await;
                }
            });
        }
        while level.len() > 1 {
            let mut above = Vec::with_capacity(level.len() / 2);
            let mut children = level.into_iter();
            while let (Some(mut left), Some(mut right)) = (children.next(), children.next()) {
                let (tx, rx) = S::channel(SLOTS);
                above.push(rx);
                S::spawn(async move {
                    for _ in 0..m {
                        let (a, b) = (S::recv(&mut left).await, S::recv(&mut right).await);
                        S::send(&tx, add(a, b)).await;
                    }
                });
            }
            level = above;
        }
        let mut wrong = 0;
        for round in 0..m {
            wrong += u64::from(S::recv(&mut level[0]).await.value != answer(n, round));
        }
        let time = begin.elapsed();
        Failure::check(wrong, 0)?;
        Ok(time)
    }
}
