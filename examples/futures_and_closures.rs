//! Prints: 1 + 2 + 4 + 8 = 15
//!
//! Closures and futures in one program, on the same workers: a closure waits for a future
//! (`block_on`), a future for a closure (a `JoinHandle` is a future too), and a channel has one end
//! in each world. Nothing here is "inside" or "outside" of a runtime.

use myriad::channel::{Receiver, bounded};

/// Async code: a task that waits takes some hundred bytes.
async fn doubled(n: u32) -> u32 {
    // Computing in a closure keeps futures short: it is a task of its own, which another worker may
    // take.
    myriad::spawn(move || 2 * n).await.expect("it does not panic")
}

/// Blocking code: an iterator adapter cannot `.await`, but it can wait.
fn doubled_again(numbers: &[u32]) -> Vec<u32> {
    numbers.iter().map(|&n| myriad::block_on(doubled(n))).collect()
}

async fn add_up(numbers: Receiver<u32>) -> u32 {
    let mut sum = 0;
    while let Ok(n) = numbers.recv_async().await {
        sum += n;
    }
    sum
}

fn main() {
    let (tx, rx) = bounded(1);
    let sum = myriad::spawn_async(add_up(rx));
    // `run` makes us a closure; the receiver of the channel is a future.
    let terms = myriad::run(move || {
        let mut terms = vec![1];
        terms.extend(doubled_again(&[1, 2, 4]));
        terms.iter().for_each(|&n| tx.send(n).unwrap());
        terms
    });
    let terms: Vec<_> = terms.iter().map(u32::to_string).collect();
    // The main thread waits for a future as well.
    let sum = myriad::block_on(sum).unwrap();
    println!("{} = {sum}", terms.join(" + "));
}
