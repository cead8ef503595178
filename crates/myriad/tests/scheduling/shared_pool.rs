//! The pool: objects are used again, by one at a time, and no more are kept than the limit says.

use crate::common::each;
use myriad::sync::{Arc, Pool, Pooled};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// Counts those that are made and dropped; and is used by one at a time.
struct Counted {
    used: AtomicUsize,
    counts: Arc<[AtomicUsize; 2]>,
}
impl Drop for Counted {
    fn drop(&mut self) {
        self.counts[1].fetch_add(1, SeqCst);
    }
}

fn pool() -> (Arc<[AtomicUsize; 2]>, impl Fn() -> Counted + Send + Sync + 'static) {
    let counts = Arc::new([const { AtomicUsize::new(0) }; 2]);
    let c = counts.clone();
    (counts, move || {
        c[0].fetch_add(1, SeqCst);
        Counted { used: AtomicUsize::new(0), counts: c.clone() }
    })
}

/// One thread has the same one again, the last first; a panic brings it back, too; detached it does
/// not come back.
#[test]
fn used_again() {
    let (counts, make) = pool();
    let pool = Pool::new(make);
    assert!(pool.try_get().is_none() && pool.is_empty());
    for _ in 0..5 {
        let (a, b) = (pool.get(), pool.get());
        assert_eq!(counts[0].load(SeqCst), 2);
        drop((a, b));
        assert_eq!(pool.len(), 2);
    }
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _object = pool.get();
        panic!("on purpose");
    }));
    assert!(panicked.is_err() && pool.len() == 2);
    let detached = Pooled::detach(pool.get());
    assert_eq!((pool.len(), counts[1].load(SeqCst)), (1, 0));
    pool.put(detached);
    pool.clear();
    assert_eq!((pool.len(), counts[1].load(SeqCst)), (0, 2));
}

/// No more are kept than the limit says; what is refused when it comes back is dropped, also by a
/// panic.
#[test]
fn limits() {
    let (counts, make) = pool();
    let pool = Pool::new(make).limit(3);
    drop((0..10).map(|_| pool.get()).collect::<Vec<_>>());
    assert_eq!((pool.len(), counts[1].load(SeqCst)), (3, 7));
    drop(pool);
    assert_eq!(counts[1].load(SeqCst), 10);
    let pool = Pool::new(|| 0_u32).on_return(|n| {
        assert!(*n < 10, "on purpose");
        *n += 1;
        *n < 3
    });
    let next = || *pool.get();
    assert_eq!([next(), next(), next(), next()], [0, 1, 2, 0], "used three times");
    let mut object = pool.get();
    *object = 20;
    assert!(catch_unwind(AssertUnwindSafe(|| drop(object))).is_err());
    assert!(pool.is_empty());
}

/// Of many tasks, which hold objects over waits and hand them on: each is used by one at a time,
/// and far fewer are made than used.
#[test]
fn by_many() {
    each(&[1, 2, 4], |rt| {
        let (counts, make) = pool();
        let pool = Arc::new(Pool::new(make));
        let tasks: Vec<_> = (0..16)
            .map(|i| {
                let pool = pool.clone();
                rt.spawn(move || {
                    for k in 0..200 {
                        let object = pool.get();
                        assert_eq!(object.used.swap(1, SeqCst), 0, "used by two");
                        if k % 16 == i {
                            myriad::yield_now();
                        }
                        object.used.store(0, SeqCst);
                    }
                })
            })
            .collect();
        tasks.into_iter().for_each(|task| task.join().unwrap());
        // Shelves are not waited for, so two that meet may make one too many: not as many as were
        // used.
        let made = counts[0].load(SeqCst);
        assert!(made < 16 * 200 / 2, "{made}");
        assert_eq!(made, pool.len() + counts[1].load(SeqCst));
        drop(pool);
        assert_eq!(counts[0].load(SeqCst), counts[1].load(SeqCst));
    });
}

/// What is put back on one thread is found from another.
#[test]
fn across_threads() {
    let (counts, make) = pool();
    let pool = Arc::new(Pool::new(make));
    for _ in 0..10 {
        let pool = pool.clone();
        std::thread::spawn(move || drop(pool.get())).join().unwrap();
    }
    assert_eq!(counts[0].load(SeqCst), 1);
}
