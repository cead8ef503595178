//! Groups, task-locals, scoped values.

use crate::behaviours::{Value, When};
use crate::cell::{Cx, Seen, until, well_after};
use myriad::task::{Builder, Group, ScopedValue};
use myriad::{spawn, spawn_async};
use std::cell::RefCell;
use std::sync::Mutex;

/// A task of a group.
pub(crate) fn group_task(cx: &Cx) -> Seen {
    let group = Group::new(5);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let other = group.clone();
    cx.foe.on_again(move || drop(other.spawn(|local| local.with(|n| *n))));
    let seen = Seen::joined(
        group
            .spawn(move |local| {
                inner.act();
                assert_eq!(local.with(|n| *n), 5);
            })
            .join(),
    );
    wait();
    seen
}

/// What is done with a group's state. (It must not wait there, but for others of the group nothing
/// breaks.)
pub(crate) fn group_state(cx: &Cx) -> Seen {
    let group = Group::new(5);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let other = group.clone();
    cx.foe.on_again(move || drop(other.spawn(|_| ())));
    let seen = Seen::joined(
        group
            .spawn(move |local| {
                local.with(|n| {
                    inner.act();
                    assert_eq!(*n, 5);
                })
            })
            .join(),
    );
    assert!(matches!(group.spawn(|local| local.with(|n| *n)).join(), Ok(5) | Err(_)));
    wait();
    seen
}

/// A group's state goes with its last task.
pub(crate) fn group_dropped(cx: &Cx) -> Seen {
    let group = Group::new(cx.value());
    let wait = cx.last_sender();
    let h = group.spawn(|_| myriad::yield_now());
    drop(group);
    let seen = Seen::joined(h.join());
    wait();
    match seen {
        // It was the joiner's, perhaps.
        Seen::Panic => Seen::Well,
        seen => seen,
    }
}

/// The result of a group's task, which nobody wants.
pub(crate) fn group_result(cx: &Cx) -> Seen {
    let group = Group::new(());
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(group.spawn(move |_| value));
    well_after(wait)
}

myriad::task_local! {
    static SET: RefCell<Vec<Value>> = RefCell::new(Vec::new());
    static MADE: Option<Value> = made();
}

static NEXT: Mutex<Option<Cx>> = Mutex::new(None);

fn made() -> Option<Value> {
    let cx = NEXT.lock().unwrap().take()?;
    cx.act();
    Some(cx.value_when(When::Clone, 0))
}

/// What `Again` does with task-locals.
fn again(cx: &Cx) {
    cx.foe.on_again(|| {
        // At the task's end it may be gone: then that is an error, and no access.
        _ = SET.try_with(|set| set.try_borrow().map(|set| set.len()).ok());
    });
}

/// A task-local goes at its task's end.
pub(crate) fn task_local(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::joined(spawn(move || SET.with_borrow_mut(|set| set.push(value))).join());
    wait();
    seen
}

/// The same in a future.
pub(crate) fn task_local_of_future(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::joined(
        spawn_async(async move {
            SET.with_borrow_mut(|set| set.push(value));
            myriad::time::sleep_async(std::time::Duration::from_micros(10)).await;
        })
        .join(),
    );
    wait();
    seen
}

/// The same in a scoped task that nobody joins.
pub(crate) fn task_local_in_scope(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        myriad::scope(|s| {
            for _ in 0..3 {
                let value = cx.value();
                s.spawn(move || SET.with_borrow_mut(|set| set.push(value)));
            }
        })
    });
    wait();
    seen
}

/// The same in the second side of a `join`.
pub(crate) fn task_local_in_join(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::of(|| myriad::join(|| (), move || SET.with_borrow_mut(|set| set.push(value))));
    SET.take();
    wait();
    seen
}

/// A thread's own task-local, at its end.
pub(crate) fn task_local_of_thread(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let ended = myriad::blocking(move || {
        let thread = std::thread::spawn(move || SET.with_borrow_mut(|set| set.push(value)));
        thread.join().is_ok()
    });
    assert!(ended);
    well_after(wait)
}

/// A task-local that is set anew.
pub(crate) fn task_local_replaced(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::joined(
        spawn(move || {
            SET.set(vec![value]);
            SET.set(Vec::new());
        })
        .join(),
    );
    wait();
    seen
}

/// The initialiser of a task-local.
pub(crate) fn task_local_init(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = SET.with_borrow(|set| set.len()));
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let seen = Seen::joined(
        spawn(move || {
            // (A lock of std, which is not held while the initialiser acts.)
            *NEXT.lock().unwrap() = Some(inner);
            MADE.with(|made| assert!(made.is_some()));
        })
        .join(),
    );
    *NEXT.lock().unwrap_or_else(|e| e.into_inner()) = None;
    wait();
    seen
}

static BOUND: ScopedValue<Option<Mutex<Value>>> = ScopedValue::new(None);

/// A scoped value goes when the call is over.
pub(crate) fn scoped_value(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = BOUND.with(|bound| bound.is_some()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::of(|| BOUND.with_value(Some(Mutex::new(value)), || ()));
    wait();
    seen
}

/// A scoped value goes with the last child.
pub(crate) fn scoped_value_of_child(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = BOUND.with(|bound| bound.is_some()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let (tx, rx) = myriad::channel::bounded::<()>(1);
    let h = BOUND.with_value(Some(Mutex::new(value)), move || spawn(move || _ = rx.recv()));
    drop(tx);
    let seen = Seen::joined(h.join());
    wait();
    seen
}

/// The same, and the child has never begun.
pub(crate) fn scoped_value_of_cancelled(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = BOUND.with(|bound| bound.is_some()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = BOUND.with_value(Some(Mutex::new(value)), move || spawn(|| ()));
    h.cancel();
    let seen = Seen::joined(h.join());
    wait();
    match seen {
        Seen::Cancelled => Seen::Well,
        seen => seen,
    }
}

/// A scoped value of a future, which is dropped with it.
pub(crate) fn scoped_value_of_future(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = BOUND.with(|bound| bound.is_some()));
    let (value, wait) = (cx.value(), cx.last_sender());
    let bound = BOUND.with_value_async(Some(Mutex::new(value)), std::future::pending::<()>());
    let h = spawn_async(bound);
    h.cancel();
    let seen = Seen::joined(h.join());
    wait();
    match seen {
        Seen::Cancelled => Seen::Well,
        seen => seen,
    }
}

/// What is called with the bound value.
pub(crate) fn with_scoped_value(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = BOUND.with(|bound| bound.is_some()));
    let wait = cx.last_sender();
    let value = cx.value_when(When::Clone, 0);
    let seen = Seen::of(|| BOUND.with_value(Some(Mutex::new(value)), || BOUND.with(|_| cx.act())));
    assert!(BOUND.with(|bound| bound.is_none()));
    wait();
    seen
}

/// A task with a token that its own foe cancels while its result is dropped.
pub(crate) fn result_with_token(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let token = myriad::cancel::Token::new();
    let other = token.clone();
    cx.foe.on_cancel(move || other.cancel());
    drop(Builder::new().token(&token).spawn(move || value));
    until("the result is not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    wait();
    Seen::Well
}
