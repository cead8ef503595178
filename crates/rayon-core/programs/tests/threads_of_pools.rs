//! Threads that are a pool's own for a while, or for good: lent by a job of another pool, by a
//! task, by a thread that is not theirs.

mod common;

use common::{each, watched};
use rayon::{ThreadBuilder, ThreadPool, ThreadPoolBuilder};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).panic_handler(|_| ()).build().unwrap()
}

/// The seat of a pool of one thread, and the pool.
fn seat() -> (ThreadBuilder, ThreadPool) {
    let seat = Mutex::new(None);
    let builder = ThreadPoolBuilder::new().num_threads(1).spawn_handler(|thread| {
        *seat.lock().unwrap() = Some(thread);
        Ok(())
    });
    let pool = builder.build().unwrap();
    (seat.into_inner().unwrap().unwrap(), pool)
}

#[test]
fn a_job_that_lends_its_thread_to_another_pool_is_a_job_of_its_own_pool_afterwards() {
    watched("lent", || {
        let outer = pool(2);
        outer.install(|| {
            let index = rayon::current_thread_index();
            let (thread, inner) = seat();
            let done = Arc::new(AtomicBool::new(false));
            let ran = done.clone();
            inner.spawn(move || {
                assert_eq!(rayon::current_num_threads(), 1);
                ran.store(true, SeqCst);
            });
            drop(inner);
            thread.run();
            assert!(done.load(SeqCst));
            assert_eq!((rayon::current_num_threads(), rayon::current_thread_index()), (2, index));
        });
    });
}

/// The thread forgot that it was a worker, so the scope's end panicked while a job of it ran.
#[test]
fn a_scope_in_which_a_thread_was_lent_waits_for_its_jobs() {
    watched("lent in a scope", || {
        let (go, wait) = channel::<()>();
        let wait = Mutex::new(wait);
        let (begun, has_begun) = channel();
        let has_begun = Mutex::new(has_begun);
        let ended = AtomicBool::new(false);
        let outer = pool(2);
        let result = catch_unwind(AssertUnwindSafe(|| {
            outer.install(|| {
                rayon::scope(|s| {
                    s.spawn(|_| {
                        begun.send(()).unwrap();
                        wait.lock().unwrap().recv().unwrap();
                        ended.store(true, SeqCst);
                    });
                    // On the other thread.
                    has_begun.lock().unwrap().recv().unwrap();
                    let (thread, inner) = seat();
                    drop(inner);
                    thread.run();
                    // On this one, while it waits at the end of the scope.
                    s.spawn(|_| go.send(()).unwrap());
                });
                ended.load(SeqCst)
            })
        }));
        if !matches!(result, Ok(true)) {
            eprintln!("the scope was left while a job of it ran: {:?}", result.map_err(|_| "by a panic"));
            // Not by unwinding: the job borrows from this frame.
            std::process::abort();
        }
    });
}

fn text(payload: &(dyn std::any::Any + Send)) -> &str {
    payload.downcast_ref::<&str>().copied().or_else(|| payload.downcast_ref::<String>().map(|s| &**s)).unwrap_or("")
}

/// It was taken for a worker of both kinds, and its scopes waited without working.
#[test]
fn a_task_is_no_thread_for_a_pool() {
    each("a task as a thread", |rt| {
        rt.run(|| {
            let (thread, _pool) = seat();
            let refused = catch_unwind(AssertUnwindSafe(|| thread.run())).unwrap_err();
            assert!(text(&*refused).contains("myriad::blocking(|| thread.run())"), "{}", text(&*refused));
        });
    });
    watched("a job as a thread", || {
        let (thread, _pool) = seat();
        let (tx, rx) = channel();
        rayon::spawn(move || tx.send(catch_unwind(AssertUnwindSafe(|| thread.run()))).unwrap());
        let refused = rx.recv().unwrap().unwrap_err();
        assert!(text(&*refused).contains("std::thread::spawn(|| thread.run())"), "{}", text(&*refused));
    });
}

/// As the message says.
#[test]
fn a_blocking_call_of_a_task_is_a_thread_for_a_pool() {
    each("a blocking call as a thread", |rt| {
        rt.run(|| {
            let (thread, pool) = seat();
            let run = myriad::spawn(|| myriad::blocking(|| thread.run()));
            assert_eq!(
                pool.scope(|s| {
                    s.spawn(|_| ());
                    rayon::join(|| 1, || 2)
                }),
                (1, 2)
            );
            drop(pool);
            run.join().unwrap();
        });
    });
}

/// The thread would be another's when the caller has ended, with the pool's number.
#[test]
fn a_pool_does_not_take_a_thread_of_ours_for_good() {
    let take = || ThreadPoolBuilder::new().num_threads(1).use_current_thread().build().map(drop);
    let refused = |result: Result<(), rayon::ThreadPoolBuildError>| {
        assert_eq!(result.unwrap_err().to_string(), "The current thread is already part of another thread pool.");
    };
    each("for good", |rt| {
        rt.run(|| {
            refused(take());
            refused(myriad::blocking(take));
            refused(myriad::task::keep_thread(take));
        });
    });
    refused(pool(1).install(take));
    // A thread of the program's own.
    std::thread::spawn(move || take().unwrap()).join().unwrap();
}

/// What a worker runs while it waits is none of the waiter's business, also not its time limit.
#[test]
fn a_cancelled_wait_does_not_cancel_the_jobs_on_top_of_it() {
    watched("apart", || {
        let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let (tx, rx) = channel();
        pool.install(|| {
            let token = myriad::cancel::Token::new();
            let job = |what: &'static str| {
                let tx = tx.clone();
                move || {
                    // It waits, on a thread.
                    myriad::time::sleep(std::time::Duration::from_millis(1));
                    tx.send(what).unwrap();
                }
            };
            _ = token.run(|| {
                token.cancel();
                rayon::spawn(job("a yield"));
                rayon::yield_now();
                rayon::scope(|s| s.spawn(|_| rayon::spawn(job("a scope"))));
                rayon::join(|| rayon::spawn(job("a join")), || ());
            });
        });
        drop(tx);
        drop(pool);
        let mut ran: Vec<&str> = rx.iter().collect();
        ran.sort();
        assert_eq!(ran, ["a join", "a scope", "a yield"]);
    });
}
