//! Destructors of scoped values: of many that end together, because of a panic, and such as make
//! task-locals.

use crate::common::{Counted, Drops, MODES, case, catch_planned, in_both_modes, locked, plan};
use myriad::task::ScopedValue;
use myriad::{Runtime, Unhandled, block_on, blocking_async, spawn, spawn_async};
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

/// A value that is counted, and whose destructor does something.
struct Value {
    does: Box<dyn Fn() + Send + Sync>,
    _counted: Counted,
}

impl Drop for Value {
    fn drop(&mut self) {
        (self.does)();
    }
}

static VALUE: ScopedValue<Option<Value>> = ScopedValue::new(None);

/// Calls `f` with so many values bound, one within the other, whose destructors panic.
fn bound(drops: &Drops, many: usize, f: &mut dyn FnMut()) {
    if many == 0 {
        return f();
    }
    let value = Value { does: Box::new(move || plan(&format!("value {many}"))), _counted: drops.one() };
    VALUE.with_value(Some(value), || bound(drops, many - 1, f));
}

const N: usize = 5;

/// In both modes, with what was reported of panics that nobody has received.
fn each_heard(body: impl Fn(&Runtime, &dyn Fn() -> Vec<String>)) {
    for mode in MODES {
        for workers in [1, 2] {
            let heard = Arc::new(Mutex::new(Vec::new()));
            let theirs = heard.clone();
            let hook = Unhandled::Hook(Arc::new(move |text: &str| locked(&theirs).push(text.to_owned())));
            case(
                mode,
                workers,
                |b| b.on_unhandled_panic(hook),
                |rt| body(rt, &|| std::mem::take(&mut *locked(&heard))),
            );
        }
    }
}

/// A task that ends has the last handle of a list of values, whose destructors all panic: all are
/// dropped, the first panic is reported, and the task's result is not touched.
#[test]
fn a_list_at_the_end_of_a_task() {
    each_heard(|rt, heard| {
        for future in [false, true] {
            let drops = Drops::new();
            let (tx, rx) = myriad::channel::rendezvous::<()>();
            let task = rt.run(|| {
                let mut task = None;
                bound(&drops, N, &mut || {
                    let rx = rx.clone();
                    task = Some(match future {
                        true => spawn_async(async move { rx.recv_async().await.is_err() }),
                        false => spawn(move || rx.recv().is_err()),
                    });
                });
                task.unwrap()
            });
            assert_eq!(drops.dropped(), 0);
            drop(tx);
            assert!(task.join().unwrap());
            drops.assert_all(N);
            let heard = heard();
            assert!(heard.len() == 1 && heard[0].ends_with("value 1"), "{heard:?}");
        }
    });
}

/// The same at the end of a call on a thread for such calls.
#[test]
fn a_list_at_the_end_of_a_call() {
    each_heard(|rt, _| {
        let drops = Drops::new();
        let (tx, rx) = myriad::channel::rendezvous::<()>();
        let call = rt.run(|| {
            let mut call = None;
            bound(&drops, N, &mut || {
                let rx = rx.clone();
                call = Some(blocking_async(move || rx.recv().is_err()));
            });
            call.unwrap()
        });
        drop(tx);
        assert!(block_on(call));
        drops.wait_all(N);
    });
}

/// What has values bound panics, and so do their destructors: the first panic goes on.
#[test]
fn because_of_a_panic() {
    in_both_modes(|rt| {
        let ends = || {
            let drops = Drops::new();
            catch_planned("the call", || bound(&drops, N, &mut || plan("the call")));
            drops.assert_all(N);
            // Without one, the first of the values does.
            catch_planned("value 1", || bound(&drops, N, &mut || ()));
            drops.assert_all(2 * N);
        };
        rt.run(ends);
        ends();
    });
}

/// The same, of a future: its binding of the last poll goes with it.
#[test]
fn a_future_with_values() {
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let value = |name: &'static str| Some(Value { does: Box::new(move || plan(name)), _counted: drops.one() });
            let inner = VALUE.with_value_async(value("inner"), async { plan("the future") });
            let task = spawn_async(VALUE.with_value_async(value("outer"), inner));
            let Err(error) = task.join();
            catch_planned("the future", || std::panic::resume_unwind(error.into_panic()));
            drops.assert_all(2);
        });
    });
}

/// What the destructor of a scoped value makes of task-locals at a task's end ends with the task.
#[test]
fn one_that_makes_a_task_local() {
    myriad::task_local!(static MADE: RefCell<Option<Counted>> = RefCell::new(None));
    in_both_modes(|rt| {
        rt.run(|| {
            let drops = Drops::new();
            let theirs = drops.clone();
            let does = Box::new(move || MADE.set(Some(theirs.one())));
            let value = Value { does, _counted: drops.one() };
            let (tx, rx) = myriad::channel::rendezvous::<()>();
            let task = VALUE.with_value(Some(value), || spawn(move || rx.recv().is_err()));
            drop(tx);
            assert!(task.join().unwrap());
            drops.assert_all(2);
        });
    });
}
