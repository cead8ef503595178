//! `ops` by hand, with tokio's tasks and channels.

use std::collections::HashMap;
use std::time::Instant;

use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::task::JoinHandle;

use super::{INPUTS, SLOTS, TAPS, TASKS, TOPICS, sum};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

/// Measures `program`, which gets the number of items and returns the sum, in a warm runtime.
fn measure<F>(p: &Params, want: u64, program: fn(u64) -> F) -> Outcome
where
    F: Future<Output = u64> + Send + 'static,
{
    let host = host::tokio::start(p);
    let n = p.n;
    sample::warm(n, || {
        let (sum, time) = host.run(async move {
            let begin = Instant::now();
            let sum = program(n).await;
            (sum, begin.elapsed())
        });
        Failure::check(sum, want)?;
        Ok(time)
    })
}

/// A channel, and the sum of what comes out of it.
fn reader() -> (Sender<u64>, JoinHandle<u64>) {
    let (tx, mut rx) = channel(SLOTS);
    let sums = async move {
        let mut sum = 0;
        while let Some(x) = rx.recv().await {
            sum += x;
        }
        sum
    };
    (tx, tokio::spawn(sums))
}

/// What a task sends that makes these numbers.
fn source(numbers: impl Iterator<Item = u64> + Send + 'static) -> Receiver<u64> {
    let (tx, rx) = channel(SLOTS);
    tokio::spawn(async move {
        for x in numbers {
            tx.send(x).await.ok();
        }
    });
    rx
}

/// The sum of all readers' sums.
async fn total(readers: Vec<JoinHandle<u64>>) -> u64 {
    let mut sum = 0;
    for reader in readers {
        sum += reader.await.unwrap_or(0);
    }
    sum
}

pub(super) fn mult(p: &Params) -> Outcome {
    measure(p, TAPS * sum(p.n), |n| async move {
        let (taps, readers): (Vec<_>, Vec<_>) = (0..TAPS).map(|_| reader()).unzip();
        let mut rx = source(0..n);
        tokio::spawn(async move {
            while let Some(x) = rx.recv().await {
                for tap in &taps {
                    tap.send(x).await.ok();
                }
            }
        });
        total(readers).await
    })
}

pub(super) fn pipeline(p: &Params) -> Outcome {
    measure(p, sum(p.n) + p.n, |n| async move {
        // So many are at work at a time, as one is awaited, and one waits for room.
        let (tasks, mut handles) = channel(TASKS - 2);
        let mut rx = source(0..n);
        tokio::spawn(async move {
            while let Some(x) = rx.recv().await {
                tasks.send(tokio::spawn(async move { x + 1 })).await.ok();
            }
        });
        let (tx, sum) = reader();
        tokio::spawn(async move {
            while let Some(handle) = handles.recv().await {
                if let Ok(x) = handle.await {
                    tx.send(x).await.ok();
                }
            }
        });
        total(vec![sum]).await
    })
}

pub(super) fn publish(p: &Params) -> Outcome {
    measure(p, sum(p.n), |n| async move {
        let (mut topics, mut readers) = (HashMap::new(), Vec::new());
        for topic in 0..TOPICS {
            let (tx, sum) = reader();
            topics.insert(topic, vec![tx]);
            readers.push(sum);
        }
        let mut rx = source(0..n);
        tokio::spawn(async move {
            while let Some(x) = rx.recv().await {
                for tx in topics.get(&(x % TOPICS)).into_iter().flatten() {
                    tx.send(x).await.ok();
                }
            }
        });
        total(readers).await
    })
}

/// An item of an input, or what is to be done with an input from now on.
enum Taken {
    Item(usize, u64),
    Mute(usize, bool),
}

pub(super) fn mix(p: &Params) -> Outcome {
    measure(p, sum(p.n), |n| async move {
        let (tx, sum) = reader();
        let [mut a, mut b, mut c, mut d] = [0, 1, 2, 3].map(|input| source((input..n).step_by(INPUTS as usize)));
        let (changes, mut change) = channel(1);
        tokio::spawn(async move {
            let mut is_muted = [false; INPUTS as usize];
            loop {
                let taken = tokio::select! {
                    Some((input, mute)) = change.recv() => Taken::Mute(input, mute),
                    Some(x) = a.recv() => Taken::Item(0, x),
                    Some(x) = b.recv() => Taken::Item(1, x),
                    Some(x) = c.recv() => Taken::Item(2, x),
                    Some(x) = d.recv() => Taken::Item(3, x),
                    else => break,
                };
                match taken {
                    Taken::Mute(input, mute) => is_muted[input] = mute,
                    Taken::Item(input, _) if is_muted[input] => {}
                    Taken::Item(_, x) => tx.send(x).await.unwrap_or(()),
                }
            }
        });
        // Nobody is muted; but nobody knows that before.
        drop(changes);
        total(vec![sum]).await
    })
}
