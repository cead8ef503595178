//! The global pool in fiber mode, as a program asks for it. (One test: there is one such pool in a
//! process.)

mod common;

use rayon::prelude::*;
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

#[test]
fn a_program_puts_rayon_on_fibers() {
    common::watched("fibers", || {
        // SAFETY: nothing here waits inside a thread-local scope, the initialiser of a
        // thread-local, or in an unwinding destructor.
        unsafe { myriad::Builder::fibers() }.workers(2).install().unwrap();
        // It is what is asked for; anything else comes too late.
        rayon::ThreadPoolBuilder::new().num_threads(2).build_global().unwrap();
        assert_eq!(rayon::current_num_threads(), 2);

        // As many wait as in threads mode would have threads.
        let (event, waiting, threads) = (myriad::sync::Event::new(), AtomicUsize::new(0), Mutex::new(HashSet::new()));
        rayon::scope(|s| {
            for _ in 0..1000 {
                s.spawn(|_| {
                    threads.lock().unwrap().insert(std::thread::current().id());
                    if waiting.fetch_add(1, SeqCst) == 999 {
                        event.set();
                    }
                    event.wait();
                });
            }
        });
        assert!(threads.into_inner().unwrap().len() <= 2);

        // From a thread that is no worker, with frames of rayon's own on small stacks.
        let mut v: Vec<u64> = (0..100_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        v.par_sort();
        assert!(v.is_sorted());
        v.par_sort_unstable_by(|a, b| b.cmp(a));
        assert!(v.is_sorted_by(|a, b| a >= b));
        let sum =
            (0..100_000u64).into_par_iter().filter(|x| x % 3 == 0).map(|x| rayon::join(|| x, || 1)).map(|(a, b)| a + b);
        assert_eq!(sum.sum::<u64>(), (0..100_000).filter(|x| x % 3 == 0).map(|x| x + 1).sum());
        assert_eq!(rayon::broadcast(|worker| worker.index()), [0, 1]);
        assert_eq!((0..1000).par_bridge().map(|x: u64| x * 2).sum::<u64>(), 999_000);
        let caught = std::panic::catch_unwind(|| (0..1000).into_par_iter().for_each(|i| assert_ne!(i, 777)));
        assert!(caught.is_err());
    });
}
