//! Code of the user's that runs where nobody expects it: destructors of payloads, results and
//! handlers, which use rayon in their turn.

mod common;

use common::{each, watched};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::sleep;
use std::time::Duration;

/// A pool with own threads.
fn own(threads: usize) -> rayon::ThreadPool {
    rayon::ThreadPoolBuilder::new().num_threads(threads).panic_handler(|_| ()).build().unwrap()
}

/// Calls `f` on Myriad's workers; says nothing of panics.
fn on_workers(name: &str, f: fn()) {
    std::panic::set_hook(Box::new(|_| ()));
    each(name, |rt| rt.run(f));
    watched(&format!("{name}, global"), f);
}

/// The same in pools with own threads.
fn in_own_pools(name: &str, f: fn()) {
    std::panic::set_hook(Box::new(|_| ()));
    for threads in [1, 2] {
        watched(&format!("{name}, {threads} own threads"), || own(threads).install(f));
    }
}

/// Two tests of a function.
macro_rules! everywhere {
    ($($(#[$doc:meta])* $name:ident $f:block)*) => {$(
        $(#[$doc])*
        mod $name {
            use super::*;

            fn program() $f

            #[test]
            fn on_workers() {
                super::on_workers(stringify!($name), program);
            }

            #[test]
            fn in_own_pools() {
                super::in_own_pools(stringify!($name), program);
            }
        }
    )*};
}

fn caught(f: impl FnOnce()) {
    assert!(catch_unwind(AssertUnwindSafe(f)).is_err());
}

everywhere! {
    /// Only the first panic of a scope goes on; the other payloads are dropped in its jobs.
    a_payload_whose_destructor_waits {
        struct Waits;
        impl Drop for Waits {
            fn drop(&mut self) {
                rayon::join(|| sleep(Duration::from_micros(50)), || sleep(Duration::from_micros(50)));
            }
        }
        for _ in 0..20 {
            caught(|| rayon::scope(|s| (0..8).for_each(|_| s.spawn(|_| panic_any(Waits)))));
        }
    }
}

/// The thread that waits is none of ours, and the destructors have time to meet.
#[test]
fn a_payload_whose_destructor_waits_outside_of_all() {
    struct Waits;
    impl Drop for Waits {
        fn drop(&mut self) {
            rayon::join(|| sleep(Duration::from_millis(1)), || sleep(Duration::from_millis(1)));
        }
    }
    std::panic::set_hook(Box::new(|_| ()));
    watched("a payload that waits, from outside", || {
        for _ in 0..100 {
            caught(|| rayon::scope(|s| (0..8).for_each(|_| s.spawn(|_| panic_any(Waits)))));
        }
    });
}

everywhere! {
    /// It was dropped under the lock in which the first one is kept, and ran the next job on top,
    /// which wanted that lock.
    a_payload_whose_destructor_runs_the_next_job {
        struct Yields;
        impl Drop for Yields {
            fn drop(&mut self) {
                rayon::yield_now();
            }
        }
        caught(|| rayon::scope(|s| (0..10).for_each(|_| s.spawn(|_| panic_any(Yields)))));
        caught(|| rayon::scope_fifo(|s| (0..10).for_each(|_| s.spawn_fifo(|_| panic_any(Yields)))));
        caught(|| rayon::scope(|s| s.spawn_broadcast(|_, _| panic_any(Yields))));
        caught(|| _ = rayon::broadcast(|_| panic_any(Yields)));
        caught(|| _ = rayon::join(|| panic_any(Yields), || panic_any(Yields)));
    }
}

/// A second panic, in the destructor of the first one's payload.
struct PanicsWhenDropped;
impl Drop for PanicsWhenDropped {
    fn drop(&mut self) {
        panic!("a destructor");
    }
}

/// What is caught is the first one, which is not dropped here: the test is about the others.
fn forgotten(f: impl FnOnce()) {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => panic!("it has not panicked"),
        Err(payload) => std::mem::forget(payload),
    }
}

everywhere! {
    a_payload_whose_destructor_panics {
        forgotten(|| rayon::scope(|s| (0..10).for_each(|_| s.spawn(|_| panic_any(PanicsWhenDropped)))));
        forgotten(|| rayon::scope(|s| s.spawn_broadcast(|_, _| panic_any(PanicsWhenDropped))));
        forgotten(|| _ = rayon::broadcast(|_| panic_any(PanicsWhenDropped)));
        forgotten(|| _ = rayon::join(|| panic_any(PanicsWhenDropped), || panic_any(PanicsWhenDropped)));
    }
}

everywhere! {
    /// Under rayon itself two panics at once end the process.
    a_result_that_nobody_takes_panics_when_dropped {
        forgotten(|| _ = rayon::join(|| panic_any("a"), || PanicsWhenDropped));
        forgotten(|| {
            let results = rayon::broadcast(|worker| {
                if worker.index() == 0 {
                    panic_any("a call");
                }
                PanicsWhenDropped
            });
            std::mem::forget(results);
        });
    }
}

everywhere! {
    a_scope_drops_what_gives_way_before_it_unwinds {
        forgotten(|| {
            rayon::scope(|s| {
                s.spawn(|_| panic_any(PanicsWhenDropped));
                panic_any(PanicsWhenDropped)
            })
        });
        forgotten(|| {
            std::mem::forget(rayon::scope(|s| {
                s.spawn(|_| panic_any("a job"));
                PanicsWhenDropped
            }));
        });
    }
}

/// Handlers are dropped by whoever comes last.
#[test]
fn handlers_whose_destructors_panic_or_use_rayon() {
    struct Tells(Arc<AtomicUsize>);
    impl Drop for Tells {
        fn drop(&mut self) {
            rayon::join(|| (), || ());
            self.0.fetch_add(1, SeqCst);
            panic!("a handler's destructor");
        }
    }
    std::panic::set_hook(Box::new(|_| ()));
    watched("handlers", || {
        const POOLS: usize = 50;
        let dropped = Arc::new(AtomicUsize::new(0));
        for _ in 0..POOLS {
            let tells = || Tells(dropped.clone());
            let (on_start, on_exit, on_panic) = (tells(), tells(), tells());
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(2)
                .start_handler(move |_| _ = &on_start)
                .exit_handler(move |_| _ = &on_exit)
                .panic_handler(move |_| _ = &on_panic)
                .build()
                .unwrap();
            pool.spawn(|| panic!("a job"));
            pool.install(|| ());
        }
        while dropped.load(SeqCst) < 3 * POOLS {
            std::thread::yield_now();
        }
    });
}

/// They run because a call of the broadcast has panicked. The caller's cancellation does not cut
/// them short.
#[test]
fn results_that_nobody_takes_in_a_cancelled_task() {
    struct Waits<'a>(&'a AtomicUsize);
    impl Drop for Waits<'_> {
        fn drop(&mut self) {
            myriad::time::sleep(Duration::from_millis(1));
            self.0.fetch_add(1, SeqCst);
        }
    }
    std::panic::set_hook(Box::new(|_| ()));
    each("results in a cancelled task", |rt| {
        let dropped = Arc::new(AtomicUsize::new(0));
        let counts = dropped.clone();
        let (tx, rx) = myriad::channel::unbounded();
        let task = rt.spawn(move || {
            tx.send(()).unwrap();
            // So the destructors run in a task that is cancelled already.
            let cancelled = || myriad::time::sleep(Duration::MAX);
            assert!(catch_unwind(AssertUnwindSafe(cancelled)).is_err());
            let broadcast = || {
                rayon::broadcast(|worker| match worker.index() {
                    0 => panic_any("a call"),
                    _ => Waits(&counts),
                })
            };
            assert_eq!(*catch_unwind(AssertUnwindSafe(broadcast)).err().unwrap().downcast::<&str>().unwrap(), "a call");
        });
        rx.recv().unwrap();
        task.cancel();
        _ = task.join();
        assert_eq!(dropped.load(SeqCst), rt.workers() - 1);
    });
}
