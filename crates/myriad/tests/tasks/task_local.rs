//! Task-locals: each task has its own, whoever runs it, and they end with it.

use crate::common::{Drops, case, catch_planned, each, in_both_modes, plan, quiet, watch};
use myriad::channel::{bounded, rendezvous};
use myriad::{block_on, join, scope, spawn, spawn_async, task_local, yield_now};
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};

task_local! {
    static COUNT: Cell<u32> = Cell::new(10);
    /// Documented, and visible outside.
    pub(crate) static WORDS: RefCell<Vec<&'static str>> = RefCell::new(Vec::new());
}

fn bump() -> u32 {
    COUNT.set(COUNT.get() + 1);
    COUNT.get()
}

#[test]
fn each_task_has_its_own() {
    in_both_modes(|rt| {
        rt.run(|| {
            assert_eq!((bump(), bump()), (11, 12));
            let tasks: Vec<_> = (0..50).map(|_| spawn(|| (bump(), yield_now(), bump()))).collect();
            for task in tasks {
                assert_eq!(task.join().unwrap(), (11, (), 12));
            }
            assert_eq!(bump(), 13);
            // The next task of the same worker, and the same memory, begins anew.
            assert_eq!(spawn(bump).join().unwrap(), 11);
        });
    });
}

#[test]
fn the_other_side_of_a_join_is_a_task_of_its_own() {
    in_both_modes(|rt| {
        // Called, by a task without anything; with a value made before, or on the first side; and
        // stolen, or not.
        for made_before in [false, true] {
            rt.run(move || {
                if made_before {
                    COUNT.set(20);
                }
                for _ in 0..100 {
                    let (_, b) = join(|| (), bump);
                    assert_eq!(b, 11, "made before: {made_before}");
                }
                let (a, b) = join(bump, || (bump(), join(bump, bump), bump()));
                assert_eq!(a, if made_before { 21 } else { 11 });
                // On a side, the first side is that side's task.
                assert_eq!(b, (11, (12, 11), 13));
                assert_eq!(bump(), a + 1);
            });
        }
    });
}

#[test]
fn a_side_that_is_stolen_has_its_own() {
    each(&[2, 4], |rt| {
        rt.run(|| {
            for _ in 0..50 {
                let (tx, rx) = rendezvous();
                // The first side waits for the second, so that another worker or another stack runs
                // it.
                let (a, b) = join(
                    || (bump(), rx.recv().unwrap(), bump()),
                    || {
                        let n = bump();
                        tx.send(()).unwrap();
                        (n, bump())
                    },
                );
                assert_eq!(b, (11, 12));
                assert_eq!(a.2, a.0 + 1);
            }
        });
    });
}

#[test]
fn in_scopes() {
    in_both_modes(|rt| {
        rt.run(|| {
            COUNT.set(1);
            let seen = AtomicUsize::new(0);
            scope(|s| {
                for _ in 0..100 {
                    s.spawn(|| seen.fetch_add(bump() as usize, Relaxed));
                }
                assert_eq!(s.spawn(|| (bump(), bump())).join().unwrap(), (11, 12));
            });
            assert_eq!((seen.load(Relaxed), COUNT.get()), (1100, 1));
        });
    });
}

#[test]
fn each_poll_sees_its_futures_own() {
    in_both_modes(|rt| {
        rt.run(|| {
            COUNT.set(0);
            let (tx, rx) = bounded(1);
            let futures: Vec<_> = (0..20)
                .map(|i| {
                    let rx = rx.clone();
                    spawn_async(async move {
                        COUNT.set(i);
                        for n in 1..=30 {
                            rx.recv_async().await.unwrap();
                            assert_eq!(bump(), i + n);
                            // A poll that blocks, and one that has a task run on top of it.
                            if n % 10 == 0 {
                                yield_now();
                                assert_eq!(spawn(bump).join().unwrap(), 11);
                                assert_eq!(join(|| (), bump).1, 11);
                            }
                            assert_eq!(COUNT.get(), i + n);
                        }
                        COUNT.get()
                    })
                })
                .collect();
            for _ in 0..20 * 30 {
                tx.send(()).unwrap();
            }
            drop(tx);
            // Each takes exactly thirty of the messages.
            for (i, future) in futures.into_iter().enumerate() {
                assert_eq!(future.join().unwrap(), i as u32 + 30);
            }
            assert_eq!(COUNT.get(), 0);
        });
    });
}

#[test]
fn a_future_that_first_uses_it_in_a_later_poll() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let held = drops.clone();
            task_local! { static HELD: RefCell<Vec<crate::common::Counted>> = RefCell::new(Vec::new()); }
            let future = spawn_async(async move {
                myriad::time::sleep_async(std::time::Duration::from_micros(10)).await;
                HELD.with_borrow_mut(|all| all.push(held.one()));
                myriad::time::sleep_async(std::time::Duration::from_micros(10)).await;
                HELD.with_borrow(Vec::len)
            });
            assert_eq!(block_on(future).unwrap(), 1);
            // Dropped before the end can be seen.
            drops.assert_all(1);
        });
    });
}

#[test]
fn foreign_threads_have_their_own() {
    let _watch = watch("foreign threads");
    let drops = Drops::new();
    let held = drops.clone();
    task_local! { static HELD: RefCell<Option<crate::common::Counted>> = RefCell::new(None); }
    std::thread::spawn(move || {
        assert_eq!((bump(), bump()), (11, 12));
        assert_eq!(spawn(bump).join().unwrap(), 11);
        HELD.set(Some(held.one()));
        assert_eq!(held.dropped(), 0);
    })
    .join()
    .unwrap();
    drops.assert_all(1);
    assert_eq!(bump(), 11);
}

#[test]
fn the_shape_of_stds() {
    in_both_modes(|rt| {
        rt.run(|| {
            assert_eq!(COUNT.with(Cell::get), 10);
            assert_eq!((COUNT.replace(5), COUNT.take(), COUNT.get()), (10, 5, 0));
            WORDS.with_borrow_mut(|words| words.push("a"));
            assert_eq!(WORDS.replace(vec!["b", "c"]), ["a"]);
            assert_eq!(WORDS.with_borrow(Vec::len), 2);
            WORDS.set(vec!["d"]);
            assert_eq!((WORDS.take(), WORDS.take()), (vec!["d"], vec![]));
            assert_eq!(COUNT.try_with(Cell::get), Ok(0));
        });
    });
}

#[test]
fn setting_does_not_call_the_initialiser() {
    task_local! { static NEVER: Cell<u8> = plan("initialised"); }
    in_both_modes(|rt| {
        rt.run(|| {
            NEVER.set(3);
            assert_eq!(NEVER.get(), 3);
        });
    });
}

#[test]
fn an_initialiser_that_panics_is_tried_again() {
    static TRIES: AtomicUsize = AtomicUsize::new(0);
    task_local! {
        static HARD: usize = match TRIES.fetch_add(1, SeqCst) % 2 {
            0 => plan("not yet"),
            n => n,
        };
    }
    quiet();
    each(&[1], |rt| {
        rt.run(|| {
            catch_planned("not yet", || HARD.with(|n| *n));
            assert_eq!(HARD.with(|n| *n), 1);
        });
    });
}

#[test]
fn an_initialiser_may_block_and_use_itself() {
    task_local! {
        static DEPTH: Cell<u32> = Cell::new(0);
        static INNER: u32 = {
            yield_now();
            spawn(yield_now).join().unwrap();
            DEPTH.set(DEPTH.get() + 1);
            // The first value made stays.
            if DEPTH.get() < 3 { INNER.with(|n| *n) + 100 } else { 7 }
        };
    }
    in_both_modes(|rt| {
        rt.run(|| {
            assert_eq!(INNER.with(|n| *n), 7);
            assert_eq!(DEPTH.get(), 3);
        });
    });
}

/// Recursion through `join` goes on on other stacks, where it is still the same task.
#[test]
fn the_same_task_on_another_stack() {
    fn down(depth: u32) -> u32 {
        // A frame of some size, so that several stacks are needed.
        let frame = std::hint::black_box([depth as u8; 256]);
        COUNT.set(COUNT.get() + 1);
        if depth > 0 {
            join(|| down(depth - 1), || ());
        }
        COUNT.get() + u32::from(frame[0] & !frame[255])
    }
    in_both_modes(|rt| {
        for made_before in [true, false] {
            rt.run(move || {
                if made_before {
                    COUNT.set(0);
                }
                let begin = if made_before { 0 } else { 10 };
                assert_eq!(down(2_000), begin + 2_001);
                assert_eq!(COUNT.get(), begin + 2_001);
            });
        }
        // While it has a reference to one of its own, others stand for them there; afterwards it
        // has its own again.
        rt.run(|| {
            COUNT.with(|count| {
                down(2_000);
                // (How many levels fit on its own stack depends on the build.)
                assert!((11..=2_011).contains(&count.get()), "{}", count.get());
            });
            let before = COUNT.get();
            assert_eq!(bump(), before + 1);
        });
    });
}

#[test]
fn many_of_them() {
    macro_rules! many {
        ($($name:ident)*) => {
            task_local! { $(static $name: Cell<usize> = Cell::new(0);)* }
            fn sum() -> usize {
                let mut n = 0;
                $(n += 1; $name.set($name.get() + n);)*
                0 $(+ $name.get())*
            }
        };
    }
    many!(A B C D E F G H I J K L M N O P Q R S T);
    in_both_modes(|rt| {
        rt.run(|| {
            assert_eq!((sum(), sum()), (210, 420));
            assert_eq!(join(|| (), sum).1, 210);
        });
    });
}

/// The context that stands for a future's on another stack does not take its place.
#[test]
fn a_future_on_another_stack() {
    use myriad::task::ScopedValue;
    static DEPTH: ScopedValue<u32> = ScopedValue::new(0);
    fn down(depth: u32) -> u32 {
        let frame = std::hint::black_box([depth as u8; 256]);
        DEPTH.with_value(depth, || assert_eq!(DEPTH.get(), depth));
        bump();
        if depth > 0 { join(|| down(depth - 1), || ()).0 } else { u32::from(frame[3]) }
    }
    in_both_modes(|rt| {
        rt.run(|| {
            let future = spawn_async(async {
                COUNT.set(100);
                COUNT.with(|_| down(1_000));
                let here = COUNT.get();
                myriad::time::sleep_async(std::time::Duration::from_nanos(1)).await;
                COUNT.with(|_| down(1_000));
                assert!(COUNT.get() > here, "{} {here}", COUNT.get());
                down(1_000);
                (COUNT.get(), down(1_000), COUNT.get())
            });
            let (before, _, after) = future.join().unwrap();
            assert_eq!(after, before + 1_001);
        });
    });
}

#[test]
fn on_threads_for_blocking_calls() {
    use myriad::{blocking, blocking_async};
    in_both_modes(|rt| {
        // A task without any, one that has one, and one that has a reference to one.
        rt.run(|| {
            assert_eq!((blocking(bump), blocking(bump), bump()), (11, 12, 13));
            let (a, b) = COUNT.with(|_| (blocking(bump), blocking(bump)));
            assert_eq!((a, b, bump()), (11, 11, 14));
            // In a call that does not hold up its caller it is another task's.
            assert_eq!(blocking_async(|| (bump(), bump())).join_here(), (11, 12));
            assert_eq!(blocking_async(bump).join_here(), 11);
            catch_planned("there", || {
                blocking(|| {
                    bump();
                    plan("there")
                })
            });
            assert_eq!(bump(), 16);
        });
        rt.run(|| {
            let future = spawn_async(async {
                (blocking(bump), myriad::time::sleep_async(std::time::Duration::from_nanos(1)).await, bump())
            });
            assert_eq!(future.join().unwrap(), (11, (), 12));
        });
        // What a call leaves on its thread is dropped with the task, or with the call.
        let drops = Drops::new();
        task_local! { static HELD: RefCell<Vec<crate::common::Counted>> = RefCell::new(Vec::new()); }
        let (one, other) = (drops.clone(), drops.clone());
        rt.run(move || blocking(|| HELD.with_borrow_mut(|all| all.push(one.one()))));
        rt.run(move || blocking_async(move || HELD.with_borrow_mut(|all| all.push(other.one()))).join_here());
        drops.assert_all(2);
    });
}

trait JoinHere: Future + Sized {
    fn join_here(self) -> Self::Output {
        block_on(self)
    }
}
impl<F: Future> JoinHere for F {}

/// In threads mode a task goes on with another worker's role when its own is stuck; what belongs to
/// it goes along.
#[test]
fn on_another_worker_after_a_wait() {
    use std::sync::atomic::AtomicBool;
    case(
        crate::common::Mode::Threads,
        1,
        |b| b,
        |rt| {
            for made_before in [true, false] {
                let over = Arc::new(AtomicBool::new(false));
                let (tx, rx) = rendezvous();
                let done = over.clone();
                let waits = rt.spawn(move || {
                    if made_before {
                        COUNT.set(20);
                    }
                    rx.recv().unwrap();
                    let seen = [bump(), bump(), join(|| (), bump).1, join(bump, bump).1, spawn(bump).join().unwrap()];
                    done.store(true, SeqCst);
                    (seen, bump())
                });
                let stuck = rt.spawn(move || {
                    tx.send(()).unwrap();
                    // Holds up the only worker until the other task is through.
                    while !over.load(SeqCst) {
                        std::thread::sleep(std::time::Duration::from_micros(100));
                    }
                });
                stuck.join().unwrap();
                let n = if made_before { 21 } else { 11 };
                assert_eq!(waits.join().unwrap(), ([n, n + 1, 11, 11, 11], n + 3));
            }
        },
    );
}
