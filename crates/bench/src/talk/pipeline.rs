//! `pipeline`: `m` messages through `n` stages, with channels of [`SLOTS`] slots between them.
//!
//! Each stage adds its number to a message. A feeder sends, the root takes. The answer is the sum
//! of the messages, which must come in the order in which they were sent. An operation is a send:
//! there are `(n + 1) × m`. (`relay` has a thousand stages, and by default no bound.)

use std::time::Instant;

use super::{Closures, Counts, Futures, Message, Pattern, Point, Run, Table, size, sum_below};
use crate::entry::Workload;
use crate::record::Failure;

/// The table.
pub(crate) static WORKLOAD: Workload = Table::<Pipeline>::workload(
    "pipeline",
    "m messages through a pipeline of n stages, channels of 64 slots",
    "hop",
    [size(16, 10_000), size(16, 1_000_000)],
);

/// Slots of each channel.
const SLOTS: usize = 64;

struct Pipeline(());

/// Adds up messages, and finds those that are not in order.
#[derive(Default)]
struct Sum {
    seen: usize,
    sum: u64,
    out_of_order: u64,
}

impl Sum {
    fn add(&mut self, message: Message) {
        self.out_of_order += u64::from(message.from != self.seen);
        self.seen += 1;
        self.sum += message.value;
    }

    fn check(&self, n: usize, m: u64) -> Result<(), Failure> {
        Failure::check(self.out_of_order, 0)?;
        // Stage `i` adds i.
        Failure::check(self.sum, sum_below(m) + m * sum_below(n as u64))
    }
}

impl Pattern for Pipeline {
    fn counts(n: u64, m: u64) -> Counts {
        Counts { tasks: n + 1, ops: (n + 1) * m }
    }

    fn closures<S: Closures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let (head, mut rx) = S::channel(SLOTS);
        for stage in 0..n as u64 {
            let (tx, next) = S::channel(SLOTS);
            let mut here = std::mem::replace(&mut rx, next);
            S::spawn(Point { index: stage as usize, of: n }, move || {
                for _ in 0..m {
                    let Message { from, value } = S::recv(&mut here);
                    S::send(&tx, Message { from, value: value + stage });
                }
            });
        }
        let first = Point { index: 0, of: n };
        S::spawn(first, move || (0..m).for_each(|i| S::send(&head, Message { from: i as usize, value: i })));
        let mut sum = Sum::default();
        (0..m).for_each(|_| sum.add(S::recv(&mut rx)));
        let time = begin.elapsed();
        sum.check(n, m)?;
        Ok(time)
    }

    async fn futures<S: Futures>(n: usize, m: u64) -> Run {
        let begin = Instant::now();
        let (head, mut rx) = S::channel(SLOTS);
        for stage in 0..n as u64 {
            let (tx, next) = S::channel(SLOTS);
            let mut here = std::mem::replace(&mut rx, next);
            S::spawn(async move {
                for _ in 0..m {
                    let Message { from, value } = S::recv(&mut here).await;
                    S::send(&tx, Message { from, value: value + stage }).await;
                }
            });
        }
        S::spawn(async move {
            for i in 0..m {
                S::send(&head, Message { from: i as usize, value: i }).await;
            }
        });
        let mut sum = Sum::default();
        for _ in 0..m {
            sum.add(S::recv(&mut rx).await);
        }
        let time = begin.elapsed();
        sum.check(n, m)?;
        Ok(time)
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn what_is_out_of_order_is_found() {
        let sum_of = |order: [u64; 3]| {
            let mut sum = Sum::default();
            order.iter().for_each(|&i| sum.add(Message { from: i as usize, value: i + 1 }));
            sum.check(2, 3)
        };
        assert!(sum_of([0, 1, 2]).is_ok() && sum_of([1, 0, 2]).is_err());
    }
}
