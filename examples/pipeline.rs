//! Prints: 332833500
//!
//! Go's pipeline: a source, a stage of several workers, a sink, with bounded channels between them.
//! A stage ends when its channel is closed and drained, and closes the next one by dropping its
//! ends. A full channel makes its senders wait, so no stage runs ahead by more than ten messages.

use myriad::channel::{Receiver, bounded};

/// Sends 0, 1, .., n - 1.
fn source(n: u64) -> Receiver<u64> {
    let (tx, rx) = bounded(10);
    myriad::spawn(move || {
        for i in 0..n {
            if tx.send(i).is_err() {
                return; // nobody listens any more
            }
        }
    });
    rx
}

/// Squares what comes in, with so many workers: they share both ends.
fn square(numbers: Receiver<u64>, workers: usize) -> Receiver<u64> {
    let (tx, rx) = bounded(10);
    for _ in 0..workers {
        let (numbers, tx) = (numbers.clone(), tx.clone());
        myriad::spawn(move || {
            for n in &numbers {
                if tx.send(n * n).is_err() {
                    return;
                }
            }
        });
    }
    rx
}

fn main() {
    let sum: u64 = myriad::run(|| square(source(1_000), 4).iter().sum());
    println!("{sum}");
}
