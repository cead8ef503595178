//! `pairs`: `n` pairs of tasks, each with two one-slot channels and a ball that goes there and back
//! `m` times.
//!
//! The answerer adds 1 to the ball; the answer is the sum of the balls. (`pingpong` is one pair,
//! with a say on where it plays.)

use std::time::Instant;

use super::{Closures, Counts, Futures, Message, Pattern, Point, Run, Table, size, sum_below};
use crate::entry::Workload;
use crate::record::Failure;

/// The table.
pub(crate) static WORKLOAD: Workload = Table::<Pairs>::workload(
    "pairs",
    "n pairs of tasks, m round trips in each",
    "trip",
    [size(1_000, 100), size(1_000, 10_000)],
);

struct Pairs(());

fn answer(n: usize, m: u64) -> u64 {
    sum_below(n as u64) + n as u64 * m
}

impl Pattern for Pairs {
    fn counts(n: u64, m: u64) -> Counts {
        Counts { tasks: 2 * n, ops: n * m }
    }

    fn closures<S: Closures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let (done, mut results) = S::roomy(n);
        for from in 0..n {
            let (ping, mut pings) = S::roomy(1);
            let (pong, mut pongs) = S::roomy(1);
            S::spawn(Point { index: from, of: n }, move || {
                for _ in 0..m {
                    let Message { from, value } = S::recv(&mut pings);
                    S::send(&pong, Message { from, value: value + 1 });
                }
            });
            let done = done.clone();
            S::spawn(Point { index: from, of: n }, move || {
                let mut ball = Message { from, value: from as u64 };
                for _ in 0..m {
                    S::send(&ping, ball);
                    ball = S::recv(&mut pongs);
                }
                S::send(&done, ball);
            });
        }
        let sum = (0..n).map(|_| S::recv(&mut results).value).sum();
        let time = begin.elapsed();
        Failure::check(sum, answer(n, m))?;
        Ok(time)
    }

    async fn futures<S: Futures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let (done, mut results) = S::channel(n);
        for from in 0..n {
            let (ping, mut pings) = S::channel(1);
            let (pong, mut pongs) = S::channel(1);
            S::spawn(async move {
                for _ in 0..m {
                    let Message { from, value } = S::recv(&mut pings).await;
                    S::send(&pong, Message { from, value: value + 1 }).await;
                }
            });
            let done = done.clone();
            S::spawn(async move {
                let mut ball = Message { from, value: from as u64 };
                for _ in 0..m {
                    S::send(&ping, ball).await;
                    ball = S::recv(&mut pongs).await;
                }
                S::send(&done, ball).await;
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
