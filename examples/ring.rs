//! Prints: 50 rounds through 1000 tasks
//!
//! Erlang's ring: each task waits for the token and passes it on. In threads mode, which is the
//! default, each waiting task keeps an OS thread; see `fibers.rs` for the other mode. As futures
//! the tasks take some hundred bytes each instead, so that is what we use here.

use myriad::channel::{Receiver, Sender, bounded};

/// Passes on whatever comes, until the one before it is gone.
async fn member(from: Receiver<u32>, to: Sender<u32>) {
    while let Ok(token) = from.recv_async().await {
        if to.send_async(token).await.is_err() {
            return;
        }
    }
}

fn main() {
    const TASKS: usize = 1_000;
    const ROUNDS: u32 = 50;

    let (start, mut last) = bounded(1);
    for _ in 0..TASKS {
        let (tx, rx) = bounded(1);
        myriad::spawn_async(member(last, tx));
        last = rx;
    }
    // The main thread is no task. It may use the same channels all the same: it sleeps while it
    // waits.
    let mut rounds = 0;
    while rounds < ROUNDS {
        start.send(rounds + 1).unwrap();
        rounds = last.recv().unwrap();
    }
    println!("{rounds} rounds through {TASKS} tasks");
}
