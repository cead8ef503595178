//! `fork`: what a child finds that is forked while other threads are in this crate. One test, for
//! there is one global pool.
#![cfg(unix)]

use rayon_core::{ThreadPoolBuilder, join, scope, spawn_fifo};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;

/// Runs `body` in a child, which an alarm ends if it hangs; returns how the child has ended: 0 is
/// well.
fn in_fork(body: impl FnOnce()) -> i32 {
    // SAFETY: the child ends by `_exit`.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::alarm(20);
            let well = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)).is_ok();
            libc::_exit(if well { 0 } else { 1 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        status
    }
}

#[test]
fn children_of_a_busy_process() {
    // While the pool is made.
    let (begun, has_begun) = channel();
    let (go_on, goes_on) = channel::<()>();
    let (begun, goes_on) = (Mutex::new(begun), Mutex::new(goes_on));
    let makes = std::thread::spawn(move || {
        let handler = move |_| {
            // (A spare thread may begin when the test is over.)
            _ = begun.lock().unwrap().send(());
            _ = goes_on.lock().unwrap().recv();
        };
        ThreadPoolBuilder::new().num_threads(2).start_handler(handler).build_global().unwrap();
    });
    has_begun.recv().unwrap();
    assert_eq!(in_fork(|| assert_eq!(join(|| 1, || 2), (1, 2))), 0, "while the pool is made (14 is a hang)");
    drop(go_on);
    makes.join().unwrap();

    // While another worker looks for its queue.
    let over = AtomicBool::new(false);
    std::panic::set_hook(Box::new(|_| ()));
    let said = scope(|s| {
        s.spawn(|_| {
            while !over.load(SeqCst) {
                (0..100).for_each(|_| spawn_fifo(|| ()));
            }
        });
        // The child is on a thread that is no worker: the pool is the parent's, which says so by a
        // panic; a runtime of its own has queues.
        let child = || {
            assert!(std::panic::catch_unwind(|| spawn_fifo(|| ())).is_err());
            let own = myriad_core::Builder::new().workers(1).build().unwrap();
            own.run(|| spawn_fifo(|| ()));
        };
        let said = (0..40).map(|_| in_fork(child)).find(|status| *status != 0);
        over.store(true, SeqCst);
        said
    });
    drop(std::panic::take_hook());
    assert_eq!(said, None, "14 is a hang");
}
