//! A `Caller` is a copy of who called: it may be used inside code that hides the worker. Nothing is
//! set aside there.

use myriad_core::engine::wait::Caller;
use myriad_core::task::keep_thread;
use myriad_core::{Builder, spawn, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

fn modes() -> [Builder; 2] {
    // SAFETY: no task blocks in a thread-local scope, an initialiser, or a destructor that runs
    // because of a panic.
    [unsafe { Builder::fibers() }, Builder::new()]
}

/// A budget has 256 operations, or 4096: the loops below use up several.
const OPERATIONS: usize = 20_000;

/// Does another task of the worker go on while this runs in a task, with a `Caller` of before?
fn others_go_on_in(code: fn(Caller)) {
    for mode in modes() {
        let rt = mode.workers(1).spare_workers(0).build().unwrap();
        rt.run(move || {
            let here = Caller::get();
            let (turns, stop) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
            let other = spawn({
                let (turns, stop) = (turns.clone(), stop.clone());
                move || {
                    while !stop.load(SeqCst) {
                        turns.fetch_add(1, SeqCst);
                        yield_now();
                    }
                }
            });
            let count = || turns.load(SeqCst);
            while count() == 0 {
                yield_now();
            }
            let inside = keep_thread(|| {
                let before = count();
                code(here);
                count() - before
            });
            assert_eq!(inside, 0, "the worker was left in the middle of keep_thread");
            // Where nothing is hidden others do go on: with so many operations one is sure to.
            let before = count();
            code(here);
            assert_ne!(count(), before);
            stop.store(true, SeqCst);
            other.join().unwrap();
        });
    }
}

#[test]
fn no_operation_leaves_a_hidden_worker() {
    others_go_on_in(|here| (0..OPERATIONS).for_each(|_| here.spend()));
}

#[test]
fn no_failed_operation_leaves_a_hidden_worker() {
    others_go_on_in(|here| (0..OPERATIONS).for_each(|_| here.spend_in_vain()));
}
