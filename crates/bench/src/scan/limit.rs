//! What memory allows: each element is read, changed and written, by as many threads as there are workers, half of the slice each.
//!
//! Not a scan: the elements are put right afterwards, untimed.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use crate::params::Params;
use crate::record::Outcome;

pub(super) fn run(p: &Params) -> Outcome {
    super::measure(p, |xs| {
        let part = xs.len().div_ceil(p.workers);
        let (ready, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let parts = xs.chunks_mut(part);
        let threads = parts.len();
        // All begin together, when all are there, and the time is until the last one is through: no thread is started in it.
        let wait_for = |count: &AtomicUsize| {
            while count.load(SeqCst) < threads {
                spin_loop();
            }
        };
        let time = thread::scope(|s| {
            let workers: Vec<_> = parts
                .map(|part| {
                    s.spawn(|| {
                        ready.fetch_add(1, SeqCst);
                        wait_for(&ready);
                        let begin = Instant::now();
                        part.iter_mut().for_each(|x| *x = x.wrapping_add(1));
                        done.fetch_add(1, SeqCst);
                        wait_for(&done);
                        begin.elapsed()
                    })
                })
                .collect();
            workers.into_iter().map(|w| w.join().expect("it does not panic")).max()
        });
        let mut sum = 0;
        for x in xs {
            sum += *x - 1;
            *x = sum;
        }
        time.unwrap_or(Duration::ZERO)
    })
}
