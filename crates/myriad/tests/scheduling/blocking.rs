//! Calls that hold up their thread, on threads for them.

use crate::common::in_both_modes;
use myriad::channel::{Sender, bounded, rendezvous};
use myriad::{blocking, blocking_async, spawn, spawn_async};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};

/// The worker goes on with other tasks while the call holds up its thread.
#[test]
fn the_worker_goes_on() {
    in_both_modes(|rt| {
        let (to_call, from_task) = mpsc::channel();
        let call = rt.spawn(move || blocking(move || from_task.recv().unwrap()));
        let task = rt.spawn(move || to_call.send(7).unwrap());
        task.join().unwrap();
        assert_eq!(call.join().unwrap(), 7);
    });
}

/// It borrows from its caller, and writes there.
#[test]
fn borrows() {
    in_both_modes(|rt| {
        let text = rt.run(|| {
            let mut text = String::from("a");
            let length = blocking(|| {
                text.push('b');
                text.len()
            });
            assert_eq!(length, 2);
            text
        });
        assert_eq!(text, "ab");
    });
}

/// As many at a time as are there: they all wait for each other.
#[test]
fn many_at_a_time() {
    in_both_modes(|rt| {
        let barrier = Barrier::new(100);
        rt.run(|| {
            myriad::scope(|s| {
                for _ in 0..100 {
                    s.spawn(|| blocking(|| _ = barrier.wait()));
                }
            });
        });
    });
}

/// More than there may be threads: the others have their turn.
#[test]
fn more_than_there_are_threads() {
    in_both_modes(|rt| {
        let count = AtomicUsize::new(0);
        rt.run(|| {
            myriad::scope(|s| {
                for _ in 0..2_000 {
                    s.spawn(|| {
                        blocking(|| {
                            std::thread::yield_now();
                            count.fetch_add(1, SeqCst)
                        })
                    });
                }
            });
        });
        assert_eq!(count.load(SeqCst), 2_000);
    });
}

/// A panic goes on in the caller, and the thread is used again.
#[test]
fn a_panic_goes_on_in_the_caller() {
    in_both_modes(|rt| {
        for _ in 0..10 {
            let error =
                rt.spawn(|| blocking(|| -> u32 { std::panic::resume_unwind(Box::new("no")) })).join().unwrap_err();
            assert_eq!(*error.into_panic().downcast::<&str>().unwrap(), "no");
        }
    });
}

/// On a thread that is no worker the call is just made; so it is inside of another.
#[test]
fn on_a_foreign_thread_and_inside_of_another() {
    let here = std::thread::current().id();
    assert_eq!(blocking(|| std::thread::current().id()), here);
    in_both_modes(|rt| {
        rt.run(|| {
            blocking(|| {
                let outer = std::thread::current().id();
                assert_eq!(blocking(|| std::thread::current().id()), outer);
            });
        });
    });
}

/// Inside, whatever Myriad has works as on any foreign thread.
#[test]
fn waits_for_tasks() {
    in_both_modes(|rt| {
        let (tx, rx) = rendezvous();
        let sender = rt.spawn(move || (0..100).for_each(|i| tx.send(i).unwrap()));
        assert_eq!(rt.run(move || blocking(move || rx.iter().sum::<u32>())), 4_950);
        sender.join().unwrap();
    });
}

#[test]
fn as_a_future() {
    in_both_modes(|rt| {
        let (to_call, from_task) = mpsc::channel();
        let sum = rt.run(|| {
            spawn_async(async move {
                let call = blocking_async(move || from_task.recv().unwrap());
                let other = spawn_async(async move { to_call.send(40).unwrap() });
                other.await.unwrap();
                call.await + blocking_async(|| 2).await
            })
        });
        assert_eq!(sum.join().unwrap(), 42);
        let failing = async { blocking_async(|| std::panic::resume_unwind(Box::new(1_u8))).await };
        assert!(rt.spawn_async(failing).join().is_err_and(|e| e.is_panic()));
    });
}

/// A future that nobody wants: the call is made all the same, and its result is dropped.
#[test]
fn a_dropped_future() {
    struct Told(Sender<&'static str>);
    impl Drop for Told {
        fn drop(&mut self) {
            self.0.send("dropped").unwrap();
        }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, rx) = bounded(2);
            drop(blocking_async(move || {
                tx.send("called").unwrap();
                Told(tx)
            }));
            assert_eq!((rx.recv(), rx.recv()), (Ok("called"), Ok("dropped")));
        });
    });
}

/// Thousands of calls after one another do not need thousands of threads.
#[test]
fn threads_are_used_again() {
    in_both_modes(|rt| {
        let names = Arc::new(std::sync::Mutex::new(std::collections::HashSet::new()));
        rt.run({
            let names = names.clone();
            move || {
                let caller = spawn(move || {
                    for _ in 0..1_000 {
                        let name = blocking(|| std::thread::current().name().unwrap().to_owned());
                        assert!(name.starts_with("myriad-blocking-"), "{name}");
                        names.lock().unwrap().insert(name);
                    }
                });
                caller.join().unwrap();
            }
        });
        // Other tests of this process may have left all 512 threads idle, which then take turns.
        assert!(names.lock().unwrap().len() < 750);
    });
}
