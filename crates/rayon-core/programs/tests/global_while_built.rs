//! Functions that `build_global` was given, and that use rayon while it builds: no lock is held
//! around them. (One test: there is one such pool in a process.)

mod common;

use std::panic::catch_unwind;
use std::sync::Mutex;
use std::sync::mpsc::channel;

#[test]
fn what_build_global_calls_asks_for_the_global_pool() {
    common::watched("asks while it is built", || {
        let ask = || catch_unwind(rayon::current_num_threads);
        let refused = |answer: std::thread::Result<usize>| {
            let payload = answer.expect_err("it is not yet built");
            assert!(payload.downcast_ref::<&str>().is_some_and(|text| text.contains("not yet built it")));
        };
        let (tx, asked) = channel();
        let (begins, has_begun) = channel();
        let tx = Mutex::new(tx);
        let another = std::thread::spawn(move || {
            has_begun.recv().unwrap();
            // It comes while the pool is built, or afterwards, and is told of the one.
            rayon::join(rayon::current_num_threads, || ()).0
        });
        rayon::ThreadPoolBuilder::new()
            .num_threads(3)
            .thread_name(move |i| {
                refused(ask());
                assert!(rayon::ThreadPoolBuilder::new().build_global().is_err());
                _ = begins.send(());
                format!("mill-{i}")
            })
            .start_handler(move |index| {
                // A thread that is started later is told, too.
                _ = tx.lock().unwrap().send((index, ask().unwrap_or(3)));
            })
            .build_global()
            .unwrap();
        assert_eq!(another.join().unwrap(), 3);
        assert!(asked.iter().take(3).all(|(index, threads)| index < 3 && threads == 3));
        assert_eq!(ask().unwrap(), 3);
    });
}
