//! The global pool is Myriad's global runtime, with what `build_global` was told. (One test: there
//! is one such pool in a process.)

mod common;

use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;

#[test]
fn build_global_builds_the_global_runtime() {
    common::watched("global", || {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let (tx, panics) = channel();
        let builder = || rayon::ThreadPoolBuilder::new().num_threads(3);
        builder()
            .thread_name(|i| format!("mill-{i}"))
            .stack_size(1 << 20)
            .start_handler(|index| {
                assert!(index < 3);
                STARTED.fetch_add(1, SeqCst);
            })
            .panic_handler(move |payload| tx.send(*payload.downcast::<&str>().unwrap()).unwrap())
            .build_global()
            .unwrap();
        assert!(STARTED.load(SeqCst) >= 3);
        assert!(builder().build_global().is_err());

        // Myriad's tasks run there, too.
        assert_eq!(myriad::run(|| myriad::Handle::current().unwrap().workers()), 3);
        assert_eq!(myriad::spawn(rayon::current_num_threads).join().unwrap(), 3);
        let name = || std::thread::current().name().unwrap_or_default().to_owned();
        let names: HashSet<String> = (0..1000).into_par_iter().map(|_| name()).collect();
        assert!(names.iter().all(|name| name.starts_with("mill-")), "{names:?}");
        // The caller is no worker.
        assert_eq!(rayon::current_thread_index(), None);
        assert_eq!(rayon::join_context(|a| a.migrated(), |b| b.migrated()), (true, true));

        rayon::spawn(|| panic!("one"));
        assert_eq!(panics.recv(), Ok("one"));
        rayon::spawn_broadcast(|_| panic!("each"));
        assert!((0..3).all(|_| panics.recv() == Ok("each")));
        // A task that was cancelled has not panicked.
        rayon::spawn(|| {
            _ = myriad::time::timeout(std::time::Duration::ZERO, || myriad::time::sleep(std::time::Duration::MAX))
        });
        let mut sum = 0;
        rayon::in_place_scope(|s| s.spawn(|_| sum += 1));
        assert_eq!(sum, 1);
        assert!(panics.try_recv().is_err());
    });
}
