//! Futures that talk take their channels' locks without a read-modify-write, also on two workers.
//! In a process of its own: it counts those that do not.
#![cfg(target_os = "linux")]

use crate::common::{MODES, assert_ok, in_child};
use myriad::channel::unbounded;
use myriad::{block_on, spawn_async};
use myriad_base::lock::bias_owner::operations_by_word;
use myriad_base::sys::fence::membarrier_works;

/// Sends each number through all relays, and returns how many operations there were at least.
async fn relay(relays: u64, numbers: u64) -> u64 {
    let (first, mut last) = unbounded::<u64>();
    for _ in 0..relays {
        let (tx, rx) = unbounded();
        let before = std::mem::replace(&mut last, rx);
        spawn_async(async move {
            while let Ok(n) = before.recv_async().await {
                tx.send_async(n + 1).await.unwrap();
            }
        });
    }
    spawn_async(async move {
        for n in 0..numbers {
            first.send_async(n).await.unwrap();
        }
    });
    for n in 0..numbers {
        assert_eq!(last.recv_async().await, Ok(n + relays));
    }
    // Each is sent and received once more often than it is passed on.
    2 * numbers * (relays + 1)
}

/// A count, so that no noise of a machine hides a change: with biases that do not come back, or
/// leases that do not end by themselves, it is a third of the operations or more, each time. (On a
/// busy machine it is 1 to 5 %, so one of five times must be less than 4 %.)
#[test]
fn few_operations_go_by_the_word() {
    let output = in_child(&[], || {
        if !membarrier_works() {
            return;
        }
        for mode in MODES {
            let rt = mode.runtime(2);
            let are_few = (0..5).any(|_| {
                let before = operations_by_word();
                let operations = rt.run(|| block_on(relay(3000, 800)));
                let by_word = operations_by_word() - before;
                println!("{mode:?}: {by_word} of {operations} operations went by the word");
                by_word * 25 <= operations
            });
            assert!(are_few, "{mode:?}: more than 4 % of the operations went by the word, five times");
        }
    });
    assert_ok(&output);
    print!("{}", String::from_utf8_lossy(&output.stdout));
}
