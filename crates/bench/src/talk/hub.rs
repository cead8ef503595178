//! `hub`: one task serves `n` others, each of which asks `m` times and waits for each answer.
//!
//! The hub has one channel for all questions, and a one-slot channel to each task. The hub is the
//! root, and adds 1 to what each question says; the answer is the sum of what the tasks have at the
//! end. However many workers there are, one task has a part in each operation.

use std::time::Instant;

use super::{Closures, Counts, Futures, Message, Pattern, Point, Run, Table, size, sum_below};
use crate::entry::Workload;
use crate::record::Failure;

/// The table.
pub(crate) static WORKLOAD: Workload = Table::<Hub>::workload(
    "hub",
    "one task answers n others, which ask m times each",
    "answer",
    [size(1_000, 100), size(1_000, 10_000)],
);

struct Hub(());

fn answer(n: usize, m: u64) -> u64 {
    sum_below(n as u64) + n as u64 * m
}

impl Pattern for Hub {
    fn counts(n: u64, m: u64) -> Counts {
        Counts { tasks: n, ops: n * m }
    }

    fn closures<S: Closures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let (ask, mut questions) = S::roomy(n);
        let (done, mut results) = S::roomy(n);
        let mut tasks = Vec::with_capacity(n);
        for from in 0..n {
            let (to, mut answers) = S::roomy(1);
            tasks.push(to);
            let (ask, done) = (ask.clone(), done.clone());
            S::spawn(Point { index: from, of: n }, move || {
                let mut value = from as u64;
                for _ in 0..m {
                    S::send(&ask, Message { from, value });
                    value = S::recv(&mut answers).value;
                }
                S::send(&done, Message { from, value });
            });
        }
        for _ in 0..n as u64 * m {
            let Message { from, value } = S::recv(&mut questions);
            S::send(&tasks[from], Message { from, value: value + 1 });
        }
        let sum = (0..n).map(|_| S::recv(&mut results).value).sum();
        let time = begin.elapsed();
        Failure::check(sum, answer(n, m))?;
        Ok(time)
    }

    async fn futures<S: Futures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let (ask, mut questions) = S::channel(n);
        let (done, mut results) = S::channel(n);
        let mut tasks = Vec::with_capacity(n);
        for from in 0..n {
            let (to, mut answers) = S::channel(1);
            tasks.push(to);
            let (ask, done) = (ask.clone(), done.clone());
            S::spawn(async move {
                let mut value = from as u64;
                for _ in 0..m {
                    S::send(&ask, Message { from, value }).await;
                    value = S::recv(&mut answers).await.value;
                }
                S::send(&done, Message { from, value }).await;
            });
        }
        for _ in 0..n as u64 * m {
            let Message { from, value } = S::recv(&mut questions).await;
            S::send(&tasks[from], Message { from, value: value + 1 }).await;
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
