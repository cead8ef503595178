//! Destructors of results, payloads, errors and task-locals that wait, lock, send, spawn and set
//! limits.

use crate::common::{
    MODES, assert_ok, catch_planned, each, each_with, full_length, in_child, plan, quiet, text, wait_until,
};
use myriad::sync::{Mutex, OnceLock, ReentrantLock};
use myriad::{block_on, channel, race, scope, spawn, task, time, try_scope};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// What destructors share.
struct Shared {
    table: Mutex<usize>,
    tx: channel::Sender<u8>,
    made: AtomicUsize,
    dropped: AtomicUsize,
    act: fn(&Shared),
}

/// What a destructor may do that waits.
const KINDS: [fn(&Shared); 5] = [
    |_| time::sleep(Duration::from_micros(200)),
    |shared| {
        let mut table = shared.table.lock().unwrap();
        *table += 1;
        time::sleep(Duration::from_micros(100));
    },
    // The 256th operation gives way to others.
    |shared| (0..300).for_each(|_| *shared.table.lock().unwrap() += 1),
    |shared| _ = shared.tx.send(1),
    |_| spawn(myriad::yield_now).join().unwrap(),
];

/// Its destructor waits.
struct Value(Arc<Shared>);

impl Value {
    fn new(shared: &Arc<Shared>) -> Value {
        shared.made.fetch_add(1, SeqCst);
        Value(shared.clone())
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        (self.0.act)(&self.0);
        self.0.dropped.fetch_add(1, SeqCst);
    }
}

/// A scope that is cancelled looks through all frames of its runtime.
fn cancelled_scope() {
    let slow = || scope(|s| (0..4).for_each(|_| drop(s.spawn(|| time::sleep(ms(3_600_000))))));
    assert!(time::timeout(ms(1), slow).is_err());
}

/// Runs `body` again and again with each kind of destructor; each value that it makes is dropped,
/// once.
fn with_each_kind(body: impl Fn(&Arc<Shared>)) {
    for act in KINDS {
        let (tx, rx) = channel::bounded::<u8>(1);
        let (made, dropped) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let shared = Arc::new(Shared { table: Mutex::new(0), tx, made, dropped, act });
        let drain = spawn(move || rx.iter().count());
        for _ in 0..10 {
            body(&shared);
            cancelled_scope();
        }
        wait_until(|| shared.dropped.load(SeqCst) == shared.made.load(SeqCst));
        wait_until(|| Arc::strong_count(&shared) == 1);
        drop(shared);
        drain.join().unwrap();
    }
}

#[test]
fn results_of_a_scope_that_nobody_joins() {
    each(&[1, 2], |rt| {
        rt.run(|| with_each_kind(|shared| scope(|s| (0..8).for_each(|_| drop(s.spawn(|| Value::new(shared)))))));
    });
}

#[test]
fn results_and_errors_of_a_scope_that_fails() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            with_each_kind(|shared| {
                drop(try_scope(|s| {
                    (0..4).for_each(|_| drop(s.spawn(|| Ok(Value::new(shared)))));
                    (0..2).for_each(|_| drop(s.spawn(|| Err::<(), _>(Value::new(shared)))));
                    Ok(())
                }));
            });
        });
    });
}

#[test]
fn results_of_those_that_lose_a_race() {
    each(&[1, 2], |rt| {
        rt.run(|| with_each_kind(|shared| drop(race((0..4).map(|_| || Value::new(shared))))));
    });
}

#[test]
fn results_of_detached_tasks() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            with_each_kind(|shared| {
                for _ in 0..4 {
                    let shared = shared.clone();
                    drop(spawn(move || Value::new(&shared)));
                }
                let shared = shared.clone();
                drop(myriad::spawn_async(async move { Value::new(&shared) }));
            });
        });
    });
}

/// Payloads that wait where they are dropped. (A destructor that runs *because of* a panic does not
/// wait here: the payload is dropped when the unwinding is over.)
#[test]
fn payloads_of_a_scope() {
    each(&[1, 2], |rt| {
        rt.run(|| {
            with_each_kind(|shared| {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    scope(|s| (0..8).for_each(|_| drop(s.spawn(|| panic_any(Value::new(shared))))));
                }));
                assert!(result.is_err());
            });
        });
    });
}

/// The program of the finding: tasks begin and end while payloads are dropped.
#[test]
fn payloads_that_wait_while_the_scope_goes_on() {
    each(&[2], |rt| {
        struct Waits;
        impl Drop for Waits {
            fn drop(&mut self) {
                time::sleep(ms(10));
            }
        }
        for _ in 0..5 {
            rt.run(|| {
                let result = catch_unwind(|| {
                    scope(|s| {
                        (0..100).for_each(|_| drop(s.spawn(|| panic_any(Waits))));
                        time::sleep(ms(2));
                        let began = std::time::Instant::now();
                        while began.elapsed() < ms(30) {
                            drop(s.spawn(|| ()));
                        }
                    });
                });
                assert!(result.is_err());
            });
        }
    });
}

/// Destructors of results run as their task: in fiber mode many are under way on one thread, each
/// with limits of its own.
#[test]
fn limits_in_destructors_of_results() {
    struct Limited(u64, Arc<AtomicUsize>);
    impl Drop for Limited {
        fn drop(&mut self) {
            // Ends in another order than it began.
            assert!(time::timeout(ms(60_000), || time::sleep(ms(self.0))).is_ok());
            assert!(time::timeout(ms(1 + self.0), || time::sleep(ms(3_600_000))).is_err());
            assert!(task::current().is_some());
            self.1.fetch_add(1, SeqCst);
        }
    }
    each(&[1, 2], |rt| {
        let dropped = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            for i in 0..40 {
                let dropped = dropped.clone();
                drop(spawn(move || Limited(1 + i * 7 % 23, dropped)));
            }
            wait_until(|| dropped.load(SeqCst) == 40);
            cancelled_scope();
        });
    });
}

/// As above, of task-locals, whose destructors run at their task's end.
#[test]
fn limits_in_destructors_of_task_locals() {
    struct Limited(u64, Arc<AtomicUsize>);
    impl Drop for Limited {
        fn drop(&mut self) {
            assert!(time::timeout(ms(1 + self.0), || time::sleep(ms(3_600_000))).is_err());
            self.1.fetch_add(1, SeqCst);
        }
    }
    myriad::task_local!(static LIMITED: std::cell::RefCell<Option<Limited>> = std::cell::RefCell::new(None));
    each(&[1, 2], |rt| {
        let dropped = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            let tasks: Vec<_> = (0..40)
                .map(|i| {
                    let limited = Limited(1 + i * 7 % 23, dropped.clone());
                    spawn(move || LIMITED.set(Some(limited)))
                })
                .collect();
            // Half of them are cancelled while their destructors wait, which changes nothing.
            tasks.iter().step_by(2).for_each(|task| task.cancel());
            tasks.into_iter().for_each(|task| drop(task.join()));
        });
        assert_eq!(dropped.load(SeqCst), 40);
    });
}

/// What such destructors make of task-locals ends with them.
#[test]
fn task_locals_in_destructors_of_results() {
    struct Counts(Arc<AtomicUsize>);
    impl Drop for Counts {
        fn drop(&mut self) {
            self.0.fetch_add(1, SeqCst);
        }
    }
    myriad::task_local!(static COUNTS: std::cell::RefCell<Option<Counts>> = std::cell::RefCell::new(None));
    struct Uses(Arc<AtomicUsize>);
    impl Drop for Uses {
        fn drop(&mut self) {
            COUNTS.set(Some(Counts(self.0.clone())));
        }
    }
    each(&[1, 2], |rt| {
        let dropped = Arc::new(AtomicUsize::new(0));
        rt.run(|| {
            for _ in 0..10 {
                let (a, b) = (dropped.clone(), dropped.clone());
                drop(spawn(move || Uses(a)));
                drop(myriad::spawn_async(async move { Uses(b) }));
                scope(|s| drop(s.spawn(|| Uses(dropped.clone()))));
            }
        });
        wait_until(|| dropped.load(SeqCst) == 30);
    });
}

/// A lock that knows its owner, and initialisation that knows who runs it, take each destructor for
/// a task of its own.
#[test]
fn owners_in_destructors_of_results() {
    static INSIDE: AtomicUsize = AtomicUsize::new(0);
    struct Owner(Arc<(ReentrantLock<()>, OnceLock<u8>, AtomicUsize)>);
    impl Drop for Owner {
        fn drop(&mut self) {
            let (lock, once, done) = &*self.0;
            {
                let _guard = lock.lock();
                assert_eq!(INSIDE.fetch_add(1, SeqCst), 0, "two owners at a time");
                time::sleep(ms(1));
                INSIDE.fetch_sub(1, SeqCst);
            }
            _ = once.get_or_init(|| {
                time::sleep(ms(2));
                1
            });
            done.fetch_add(1, SeqCst);
        }
    }
    each(&[1, 2], |rt| {
        let shared = Arc::new((ReentrantLock::new(()), OnceLock::new(), AtomicUsize::new(0)));
        for _ in 0..4 {
            let shared = shared.clone();
            drop(rt.spawn(move || Owner(shared)));
        }
        wait_until(|| shared.2.load(SeqCst) == 4);
    });
}

/// The body of a scope panics, and so does a task, with a payload whose destructor panics: the
/// first one goes on.
#[test]
fn a_second_payload_that_panics() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            plan("the payload");
        }
    }
    each(&[1, 2], |rt| {
        rt.run(|| {
            let result = catch_unwind(|| {
                scope(|s| {
                    drop(s.spawn(|| panic_any(Bomb)));
                    time::sleep(ms(1));
                    panic_any(7);
                });
            });
            assert_eq!(*result.unwrap_err().downcast::<i32>().unwrap(), 7);
            let result = catch_unwind(|| {
                task::local_scope(|s| {
                    drop(s.spawn(|| panic_any(Bomb)));
                    s.wait(async { myriad::time::sleep_async(ms(1)).await });
                    panic_any(7);
                });
            });
            assert_eq!(*result.unwrap_err().downcast::<i32>().unwrap(), 7);
        });
    });
}

/// Panics when it is dropped: the output of [`Ready`].
struct Output;

impl Drop for Output {
    fn drop(&mut self) {
        plan("the output");
    }
}

/// Is ready, and panics when it is dropped.
struct Ready;

impl Drop for Ready {
    fn drop(&mut self) {
        plan("the future");
    }
}

impl Future for Ready {
    type Output = Output;
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Output> {
        Poll::Ready(Output)
    }
}

/// A future that is ready panics when it is dropped, and so does its output then: the joiner gets
/// the first panic, and the worker goes on.
#[test]
fn an_output_that_panics_after_its_future() {
    each(&[1, 2], |rt| {
        let Err(error) = rt.spawn_async(Ready).join() else { panic!("the future's destructor has panicked") };
        assert!(text(&*error.into_panic()).ends_with("the future"));
        assert_eq!(rt.run(|| 7), 7);
    });
}

/// The same of a future within a time limit, or a token, or in `block_on`: who polls gets the
/// future's panic. (Two panics at a time would end the process.)
#[test]
fn an_output_that_panics_after_its_future_within_a_limit() {
    let output = in_child(&[], || {
        quiet();
        let token = myriad::cancel::Token::new;
        let both = || {
            catch_planned("the future", || block_on(time::timeout_async(ms(3_600_000), Ready)).is_ok());
            catch_planned("the future", || block_on(token().run_async(Ready)).is_ok());
            catch_planned("the future", || drop(block_on(Ready)));
        };
        both();
        each(&[1, 2], |rt| {
            rt.run(both);
            for failed in [
                rt.spawn_async(async { time::timeout_async(ms(3_600_000), Ready).await.is_ok() }),
                rt.spawn_async(async move { token().run_async(Ready).await.is_ok() }),
            ] {
                let error = failed.join().unwrap_err();
                assert!(text(&*error.into_panic()).ends_with("the future"));
            }
            assert_eq!(rt.run(|| 7), 7);
        });
    });
    assert_ok(&output);
}

/// A cancelled `local_scope` drops its tasks; it does not wait for what they wait for.
#[test]
fn a_local_scope_that_is_cancelled() {
    each_with(
        &[1, 2],
        |b| b,
        |mode, rt| {
            assert!(MODES.contains(&mode));
            for at_the_end in [true, false] {
                let dropped = Arc::new(AtomicUsize::new(0));
                struct Counts(Arc<AtomicUsize>);
                impl Drop for Counts {
                    fn drop(&mut self) {
                        self.0.fetch_add(1, SeqCst);
                    }
                }
                let (begun, has_begun) = channel::bounded::<()>(1);
                let task = {
                    let dropped = dropped.clone();
                    rt.spawn(move || {
                        task::local_scope(|s| {
                            for _ in 0..3 {
                                let counts = Counts(dropped.clone());
                                drop(s.spawn_async(async move {
                                    let _counts = counts;
                                    time::sleep_async(ms(3_600_000)).await;
                                }));
                            }
                            let begun = begun.clone();
                            drop(s.spawn(move || begun.send(()).unwrap()));
                            if !at_the_end {
                                s.wait(time::sleep_async(ms(3_600_000)));
                            }
                        });
                    })
                };
                has_begun.recv().unwrap();
                task.cancel();
                assert!(task.join().unwrap_err().is_cancelled());
                assert_eq!(dropped.load(SeqCst), 3);
            }
        },
    );
}

/// Each task's result has the handle of the task before: the last handle's end drops them all, and
/// needs no deep stack: in a task, also where that keeps its thread, or on a foreign thread, also
/// one with a small stack.
#[test]
fn a_chain_of_handles() {
    // The stacks have no room for either.
    let n = if full_length() { 100_000 } else { 20_000 };
    struct Link {
        _before: Option<myriad::JoinHandle<Link>>,
        dropped: Arc<AtomicUsize>,
    }
    impl Drop for Link {
        fn drop(&mut self) {
            self.dropped.fetch_add(1, SeqCst);
        }
    }
    each(&[1, 2], |rt| {
        for place in 0..4 {
            let dropped = Arc::new(AtomicUsize::new(0));
            let last = rt.run(|| {
                let last = (0..n).fold(None, |_before, _| {
                    let dropped = dropped.clone();
                    Some(spawn(move || Link { _before, dropped }))
                });
                let last = last.unwrap();
                wait_until(|| last.is_finished());
                last
            });
            match place {
                0 => rt.run(|| drop(last)),
                1 => rt.run(|| task::keep_thread(|| drop(last))),
                2 => drop(last),
                _ => {
                    let small = std::thread::Builder::new().stack_size(64 << 10);
                    small.spawn(|| drop(last)).unwrap().join().unwrap();
                }
            }
            wait_until(|| dropped.load(SeqCst) == n);
        }
    });
}
