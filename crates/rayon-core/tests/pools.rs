//! Pools with own threads: that they end, and what rayon's own tests of that look at inside.

use rayon_core::{ThreadPoolBuilder, join};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, channel};

/// A pool of so many threads, and where each says that it has ended.
fn pool(threads: usize) -> (rayon_core::ThreadPool, Receiver<usize>) {
    let (tx, rx) = channel();
    let builder = ThreadPoolBuilder::new().num_threads(threads).exit_handler(move |index| _ = tx.send(index));
    (builder.build().unwrap(), rx)
}

fn all_end(ended: Receiver<usize>, threads: usize) {
    // Until the last sender is gone, with the registry: so that ends too.
    let mut indices: Vec<usize> = ended.iter().collect();
    indices.sort();
    assert!(indices.into_iter().eq(0..threads));
}

fn join_a_lot(depth: usize) {
    if depth > 0 {
        join(|| join_a_lot(depth - 1), || join_a_lot(depth - 1));
    }
}

#[test]
fn threads_end_with_their_pool() {
    let (pool, ended) = pool(22);
    pool.install(|| join_a_lot(12));
    drop(pool);
    all_end(ended, 22);
}

#[test]
fn threads_that_have_done_nothing_end_too() {
    let (pool, ended) = pool(22);
    drop(pool);
    all_end(ended, 22);
}

#[test]
fn a_pool_outlives_its_handle_for_what_was_spawned() {
    let (pool, ended) = pool(1);
    let (tx, rx) = channel();
    let (go, wait) = channel::<()>();
    pool.spawn(move || {
        wait.recv().unwrap();
        rayon_core::spawn(move || tx.send(7).unwrap());
    });
    drop(pool);
    assert!(ended.try_recv().is_err());
    go.send(()).unwrap();
    assert_eq!(rx.recv(), Ok(7));
    all_end(ended, 1);
}

#[test]
fn a_broadcast_reaches_workers_that_are_busy() {
    let (pool, _) = pool(3);
    let (go, wait) = channel::<()>();
    let (busy, is_busy) = channel();
    pool.spawn(move || {
        busy.send(()).unwrap();
        wait.recv().unwrap();
    });
    is_busy.recv().unwrap();
    let calls = std::sync::Arc::new(AtomicUsize::new(0));
    let (all, is_all) = channel();
    let counted = calls.clone();
    pool.spawn_broadcast(move |worker| {
        counted.fetch_add(1, SeqCst);
        all.send(worker.index()).unwrap();
    });
    // The two that are not busy.
    let first = [is_all.recv().unwrap(), is_all.recv().unwrap()];
    assert_eq!(calls.load(SeqCst), 2);
    go.send(()).unwrap();
    let mut indices: Vec<usize> = first.into_iter().chain(is_all.iter()).collect();
    indices.sort();
    assert_eq!(indices, [0, 1, 2]);
}

#[test]
fn a_worker_of_the_global_pool_waits_for_another_pool_and_goes_on() {
    use std::sync::Mutex;
    // Each worker of the global pool waits for the one thread of this pool, and the job there for a
    // task of the global pool.
    let (pool, _ended) = pool(1);
    let n = rayon_core::current_num_threads();
    let (tx, rx) = channel();
    let rx = Mutex::new(rx);
    let (pool, rx) = (&pool, &rx);
    rayon_core::scope(|s| {
        for _ in 0..2 * n {
            s.spawn(move |_| pool.install(|| rx.lock().unwrap().recv().unwrap()));
        }
        s.spawn(move |_| (0..2 * n).for_each(|_| tx.send(()).unwrap()));
    });
}
