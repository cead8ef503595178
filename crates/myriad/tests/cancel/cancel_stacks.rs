//! A cancellation of a task that is more than one closure on one stack: with a context, in deep
//! recursions, in another runtime.

use crate::cancel_common::*;
use myriad::time::{sleep, timeout};
use myriad::{join, spawn, spawn_async, task_local, yield_now};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

task_local! {
    static LOCAL: Cell<u32> = Cell::new(0);
}

/// With a context, which a future leaves with its record between polls, and which says in what
/// stack it waits.
#[test]
fn tasks_with_locals() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            cancel_in(|| {
                LOCAL.set(1);
                sleep(LONG);
            });
            // On top of another, and with an own context there.
            let held = drops.one();
            cancel_in(move || {
                LOCAL.set(1);
                spawn(move || {
                    LOCAL.set(2);
                    (sleep(LONG), held)
                })
                .join()
            });
            drops.assert_all(1);
            // The second closure of a join is a task of its own where contexts are in use.
            let (a, b) = (drops.one(), drops.one());
            cancel_in(move || {
                LOCAL.set(1);
                join(move || drop(a), move || (LOCAL.set(3), sleep(LONG), b))
            });
            drops.assert_all(3);
            // A future that has one, pending, and blocked in a poll.
            for blocks in [false, true] {
                let (held, begun) = (drops.one(), Arc::new(AtomicBool::new(false)));
                let says = begun.clone();
                let h = spawn_async(async move {
                    let _held = held;
                    LOCAL.set(4);
                    myriad::time::sleep_async(Duration::from_micros(10)).await;
                    assert_eq!(LOCAL.get(), 4);
                    sleep(Duration::from_micros(10));
                    assert_eq!(LOCAL.get(), 4);
                    says.store(true, SeqCst);
                    if blocks {
                        sleep(LONG);
                    }
                    std::future::pending::<()>().await;
                });
                wait_until(|| begun.load(SeqCst));
                yield_now();
                h.cancel();
                assert!(h.join().unwrap_err().is_cancelled());
            }
            drops.assert_all(5);
        });
    });
}

/// Deep recursions go on on fresh stacks, perhaps of other workers: as part of their task.
#[test]
fn deep_recursions() {
    fn down(depth: usize, begun: &AtomicBool, local: bool) -> usize {
        if depth == 0 {
            begun.store(true, SeqCst);
            sleep(LONG);
        }
        if local {
            LOCAL.set(depth as u32);
        }
        let room = std::hint::black_box([0u8; 512]);
        let (a, b) = join(|| down(depth - 1, begun, local), || room.len());
        a + b
    }
    fn spawned(depth: usize, begun: Arc<AtomicBool>) {
        if depth == 0 {
            begun.store(true, SeqCst);
            sleep(LONG);
        }
        _ = spawn(move || spawned(depth - 1, begun)).join().map_err(|e| assert!(e.is_cancelled()));
    }
    each_with(
        &[1, 2],
        |b| b,
        |mode, rt| {
            rt.run(|| {
                for way in 0..3 {
                    let begun = Arc::new(AtomicBool::new(false));
                    let says = begun.clone();
                    let depth = if mode == Mode::Fibers { 3000 } else { 20_000 };
                    let h = spawn(move || match way {
                        0 => _ = down(depth, &says, false),
                        1 => _ = down(depth / 4, &says, true),
                        _ => spawned(depth, says),
                    });
                    wait_until(|| begun.load(SeqCst));
                    yield_now();
                    h.cancel();
                    assert!(h.join().unwrap_err().is_cancelled(), "way {way}");
                }
            });
        },
    );
}

/// What runs in another runtime is cancelled with who waits for it.
#[test]
fn in_another_runtime() {
    each_with(
        &[1],
        |b| b,
        |_, rt| {
            let other = Mode::Threads.runtime(1);
            let handle = other.handle();
            rt.run(|| cancel_in(move || handle.run(|| sleep(LONG))));
            assert!(timeout(Duration::from_millis(1), || other.run(|| sleep(LONG))).is_err());
            assert_eq!(other.run(|| 42), 42);
            assert!(other.shutdown(PATIENCE).is_clean());
        },
    );
}

/// Destructors of task-locals run when the task has ended: no cancellation arrives in them.
#[test]
fn destructors_of_locals_wait() {
    struct Waits(Option<Arc<AtomicBool>>);
    impl Drop for Waits {
        fn drop(&mut self) {
            if let Some(done) = self.0.take() {
                sleep(Duration::from_micros(50));
                done.store(true, SeqCst);
            }
        }
    }
    task_local! {
        static WAITS: std::cell::RefCell<Waits> = std::cell::RefCell::new(Waits(None));
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let done = Arc::new(AtomicBool::new(false));
            let says = done.clone();
            cancel_in(move || {
                WAITS.with(|waits| waits.borrow_mut().0 = Some(says));
                sleep(LONG);
            });
            assert!(done.load(SeqCst));
        });
    });
}
