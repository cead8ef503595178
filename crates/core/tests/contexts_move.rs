//! What a worker knows of its tasks' contexts when a thread with a blocked task goes on with its
//! role, in threads mode.

use myriad_core::task_local;
use myriad_core::{Builder, spawn, time};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;

task_local! {
    static USED: Cell<bool> = const { Cell::new(false) };
}

/// Its address, and does it leave the shortest paths because of contexts?
fn here() -> (usize, bool) {
    myriad_core::engine::testing::contexts().unwrap()
}

/// A task that waits and goes on with another worker, since its own is held up. Has that one
/// contexts then? `None`: it did not move, as the system was so slow that a spare began what was to
/// hold the worker up.
fn moves(with_context: bool) -> Option<bool> {
    // (Measured, as no other runtime of this program is: so its worker has been nobody else's,
    // whose tasks may have had contexts.)
    let rt = Builder::new().workers(1).measure_latency(true).build().unwrap();
    let waits = rt.spawn(move || {
        if with_context {
            USED.set(true);
        }
        let before = here();
        assert_eq!(before.1, with_context);
        let over = Arc::new(AtomicBool::new(false));
        let holds_up = over.clone();
        let stuck = spawn(move || {
            while !holds_up.load(SeqCst) {
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        time::sleep(Duration::from_millis(1));
        let after = here();
        // (To ask makes a context.)
        assert!(!with_context || USED.get());
        over.store(true, SeqCst);
        stuck.join().unwrap();
        (after.0 != before.0).then_some(after.1)
    });
    waits.join().unwrap()
}

/// Else each `join` of each worker would leave its shortest path for ever, half as fast, as soon as
/// one has waited.
#[test]
fn only_tasks_that_have_one_bring_it_along() {
    let each = |with_context| (0..100).find_map(|_| moves(with_context)).expect("it moves sometimes");
    assert!(!each(false));
    assert!(each(true));
}
