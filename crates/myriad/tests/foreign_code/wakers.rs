//! Wakers that are not the engine's own, at every kind of future: they panic, are replaced, are
//! left behind.
//!
//! ```text
//!  kinds.rs      each kind of future: three that wait, and what makes them ready
//!  panicking     the first two wakers panic: the third is woken all the same, and nothing aborts
//!  leaks         whatever becomes of a future, its waker is dropped
//!  clones        a waker whose clone panics
//! ```

use crate::common::{Mode, PLANNED, assert_ok, each_with, in_child, plan, quiet, stderr, wait_until};
use kinds::{Case, Kind, Waiter};
use myriad::{Builder, Runtime, Unhandled};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Poll, Wake, Waker};

mod clones;
mod kinds;

/// Panics when it wakes.
struct Bomb;

impl Wake for Bomb {
    fn wake(self: Arc<Self>) {
        plan("a waker of a test");
    }
}

/// Counts how often it wakes; the count of its `Arc` is that of its clones.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Count {
    fn was_woken(&self) -> bool {
        self.0.load(SeqCst) > 0
    }
    /// Is no clone left? (Who wakes it may still be on the way.)
    fn assert_free(self: &Arc<Self>) {
        wait_until(|| Arc::strong_count(self) == 1);
    }
}

fn poll(future: &mut Waiter, waker: &Arc<impl Wake + Send + Sync + 'static>) -> Poll<()> {
    future.as_mut().poll(&mut Context::from_waker(&Waker::from(waker.clone())))
}

/// A case whose three wait, with these wakers. (What waits for a time may be too late for that:
/// then it is another one.)
fn waiting<const N: usize>(kind: Kind, rt: &Runtime, wakers: [[Waker; 3]; N]) -> Case {
    loop {
        let mut case = kind(rt);
        let mut all_wait = true;
        for wakers in &wakers {
            for (waiter, waker) in case.waiters.iter_mut().zip(wakers) {
                all_wait &= waiter.as_mut().poll(&mut Context::from_waker(waker)).is_pending();
            }
            if !all_wait {
                break;
            }
        }
        if all_wait {
            return case;
        }
        assert!(case.has_a_time, "one is ready at once");
        (case.go)();
    }
}

/// It becomes ready. (A turn that was given up may come back a moment after the wake.)
fn wait_ready(waiter: Waiter, waker: &Arc<Count>) {
    let waiter = RefCell::new(waiter);
    wait_until(|| poll(&mut waiter.borrow_mut(), waker).is_ready());
}

/// Panics of wakers are expected.
fn silent(builder: Builder) -> Builder {
    builder.on_unhandled_panic(Unhandled::Ignore)
}

/// Two whose wakers panic, and one to be woken after them.
fn the_third_is_woken(kind: Kind, rt: &Runtime) {
    let third = Arc::new(Count::default());
    let case = waiting(kind, rt, [[Arc::new(Bomb).into(), Arc::new(Bomb).into(), third.clone().into()]]);
    (case.go)();
    // What was handed to the first two, or kept for them, goes on to the third.
    let [a, b, c] = case.waiters;
    drop((a, b));
    wait_until(|| third.was_woken());
    wait_ready(c, &third);
}

/// Whatever becomes of them, their wakers are dropped.
fn no_waker_leaks(kind: Kind, rt: &Runtime) {
    let wakers: [Arc<Count>; 6] = Default::default();
    let [one, two, ..] = &wakers;
    // Ready at once, or not any more.
    let mut case = kind(rt);
    (case.go)();
    for waiter in &mut case.waiters {
        _ = poll(waiter, one);
    }
    drop(case.waiters);
    one.assert_free();
    // Another waker, each time, and then dropped while it waits.
    let three = |from: usize| [from, from + 1, from + 2].map(|i| Waker::from(wakers[i].clone()));
    let case = waiting(kind, rt, [three(0), three(3)]);
    wakers[..3].iter().for_each(Count::assert_free);
    drop(case.waiters);
    // (A call on another thread keeps its waker until it ends.)
    (case.go)();
    wakers.iter().for_each(Count::assert_free);
    // Woken, one after the other, and polled by another waker.
    wakers.iter().for_each(|waker| waker.0.store(0, SeqCst));
    let case = waiting(kind, rt, [three(0)]);
    (case.go)();
    for (waiter, waker) in case.waiters.into_iter().zip(&wakers) {
        wait_until(|| waker.was_woken());
        wait_ready(waiter, two);
    }
    wakers.iter().for_each(Count::assert_free);
    // In tasks that are cancelled while they wait.
    let case = kind(rt);
    let has_a_time = case.has_a_time;
    let cancelled = Arc::new(Count::default());
    let tasks = case.waiters.map(|mut waiter| {
        let (waker, began) = (cancelled.clone(), Arc::new(AtomicUsize::new(0)));
        let mark = began.clone();
        let task = rt.spawn_async(std::future::poll_fn(move |_| {
            let polled = poll(&mut waiter, &waker);
            mark.store(1, SeqCst);
            polled
        }));
        wait_until(|| began.load(SeqCst) == 1);
        task
    });
    for task in tasks {
        task.cancel();
        // (One that waits for a time may have come to its end on a busy machine.)
        assert!(task.join().is_err() || has_a_time);
    }
    (case.go)();
    cancelled.assert_free();
}

/// Runs a case in tasks of runtimes of both modes.
fn in_tasks(test: fn(Kind, &Runtime), kind: Kind) {
    each_with(&[1, 2], silent, |_, rt| rt.run(|| test(kind, rt)));
}

macro_rules! for_each_kind {
    ($($name:ident)*) => {
        mod panicking {
            $(#[test]
            fn $name() {
                super::in_tasks(super::the_third_is_woken, super::kinds::$name);
            })*
        }
        mod leaks {
            $(#[test]
            fn $name() {
                super::in_tasks(super::no_waker_leaks, super::kinds::$name);
            })*
        }
        const KINDS: &[Kind] = &[$(kinds::$name),*];
    };
}
kinds::all!(for_each_kind);

/// All kinds on a plain thread, where the standard error hears of the panics.
#[test]
fn on_a_plain_thread() {
    let output = in_child(&[], || {
        quiet();
        let rt = silent(Mode::Threads.builder()).workers(1).build().unwrap();
        for kind in KINDS {
            the_third_is_woken(*kind, &rt);
            no_waker_leaks(*kind, &rt);
        }
    });
    assert_ok(&output);
    let report = format!("myriad: a waker panicked: {PLANNED}a waker of a test");
    let told = stderr(&output).matches(&report).count();
    assert!(told >= KINDS.len(), "only {told} reports:\n{}", stderr(&output));
}
