//! What memory allows: threads that begin together, each with its part.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// Calls `f` for each part, on a thread of its own. They begin when all are there, and the time is
/// until the last one is through: no thread is started in it.
pub(crate) fn each<P: Send>(parts: Vec<P>, f: impl Fn(P) + Sync) -> Duration {
    let (ready, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let threads = parts.len();
    let wait_for = |count: &AtomicUsize| {
        while count.load(SeqCst) < threads {
            spin_loop();
        }
    };
    let time = thread::scope(|s| {
        let workers: Vec<_> = parts
            .into_iter()
            .map(|part| {
                s.spawn(|| {
                    ready.fetch_add(1, SeqCst);
                    wait_for(&ready);
                    let begin = Instant::now();
                    f(part);
                    done.fetch_add(1, SeqCst);
                    wait_for(&done);
                    begin.elapsed()
                })
            })
            .collect();
        workers.into_iter().map(|w| w.join().expect("it does not panic")).max()
    });
    time.unwrap_or(Duration::ZERO)
}
