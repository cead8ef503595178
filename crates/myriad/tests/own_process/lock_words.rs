//! Futures that talk take their channels' locks without a read-modify-write, also on two workers;
//! and with any number of workers they neither move nor wake workers for each message. In processes
//! of their own: they count.
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

/// Steals and sleeps are what a message may cost where there are far more workers than processors:
/// a futex, and a place in another worker's queue. They may grow with the workers, and not with the
/// messages.
#[test]
fn few_messages_cost_a_steal_or_a_sleep_with_any_number_of_workers() {
    let output = in_child(&[], || {
        for (mode, workers) in MODES.into_iter().flat_map(|mode| [2, 8, 64].map(|workers| (mode, workers))) {
            let rt = mode.runtime(workers);
            let count = || {
                let sum = rt.metrics().pools[0].sum();
                sum.stolen + sum.sleeps
            };
            let are_few = (0..5).any(|_| {
                let before = count();
                let operations = rt.run(|| block_on(relay(3000, 300)));
                let dear = count() - before;
                println!("{mode:?}, {workers} workers: {dear} steals and sleeps for {operations} operations");
                // (Each relay is spawned, and so may be stolen.)
                dear.saturating_sub(3000) * 50 <= operations
            });
            assert!(are_few, "{mode:?}, {workers} workers: more than 2 % of the operations, five times");
        }
    });
    assert_ok(&output);
    print!("{}", String::from_utf8_lossy(&output.stdout));
}
