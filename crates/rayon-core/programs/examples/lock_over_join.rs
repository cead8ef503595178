//! Prints: 1000 of 1000
//!
//! A lock that is held over a `join`, in a program that knows only rayon and std. With rayon on
//! itself it hangs, most often at once: the worker that waits in `join` takes another job, which
//! wants the lock that is held below on the same stack. On Myriad the job that waits is set aside;
//! when a worker is stuck in the lock, another one goes on with its owner.

use std::sync::Mutex;
use std::time::{Duration, Instant};

fn compute() {
    let began = Instant::now();
    while began.elapsed() < Duration::from_micros(100) {}
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(4).build_global().unwrap();
    let done = Mutex::new(0);
    rayon::scope(|s| {
        for _ in 0..1000 {
            s.spawn(|_| {
                let mut done = done.lock().unwrap();
                rayon::join(compute, compute);
                *done += 1;
            });
        }
    });
    println!("{} of 1000", done.lock().unwrap());
}
