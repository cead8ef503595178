//! Results, payloads, captures, futures of tasks, and what waits for their ends.

use crate::behaviours::When;
use crate::cell::{Cx, Seen, until, well_after};
use crate::common::plan;
use myriad::channel::{Sender, bounded};
use myriad::task::{self, JoinSet};
use myriad::{JoinHandle, blocking, blocking_async, compute, compute_async, spawn, spawn_async};
use std::future::{Future, pending, poll_fn};
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// The result of a task whose handle is gone before it ends.
pub(crate) fn result_of_detached(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(spawn(move || value));
    well_after(wait)
}

/// The handle is dropped after the task has ended.
pub(crate) fn result_of_ended(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = spawn(move || value);
    until("a task does not come so far", || h.is_finished());
    let seen = Seen::of(|| drop(h));
    wait();
    seen
}

/// The result is the joiner's, who drops it.
pub(crate) fn result_joined(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let result = spawn(move || value).join();
    let seen = match result {
        Ok(value) => Seen::of(|| drop(value)),
        Err(error) => Seen::joined::<()>(Err(error)),
    };
    wait();
    seen
}

/// A panic's payload that nobody takes.
pub(crate) fn payload_of_detached(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(spawn(move || panic_any(value)));
    well_after(wait)
}

/// The error of a join is dropped, and with it the payload.
pub(crate) fn payload_joined(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let error = spawn(move || -> () { panic_any(value) }).join().unwrap_err();
    if error.is_shutdown() {
        return Seen::Shutdown;
    }
    let seen = Seen::of(|| drop(error));
    wait();
    seen
}

/// The handle of a task that has panicked is dropped.
pub(crate) fn payload_of_ended(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = spawn(move || panic_any(value));
    until("a task does not come so far", || h.is_finished());
    let seen = Seen::of(|| drop(h));
    wait();
    seen
}

/// What a closure has captured is dropped at its end, as part of it.
pub(crate) fn captures(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = Seen::joined(spawn(move || _ = &value).join());
    wait();
    seen
}

/// A task is cancelled before it begins: its captures are dropped.
pub(crate) fn captures_of_cancelled(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = spawn(move || _ = &value);
    h.cancel();
    let seen = match Seen::joined(h.join()) {
        // Its own cancellation, and not the caller's.
        Seen::Cancelled => Seen::Well,
        seen => seen,
    };
    wait();
    seen
}

/// A future that waits is cancelled, and dropped with what it holds.
pub(crate) fn future_cancelled(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = spawn_async(async move {
        let _value = value;
        pending::<()>().await
    });
    h.cancel();
    let seen = match Seen::joined(h.join()) {
        Seen::Cancelled => Seen::Well,
        seen => seen,
    };
    wait();
    seen
}

/// The same of a future whose handle is gone: who drops it is a worker.
pub(crate) fn future_ends(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(spawn_async(async move {
        let _value = value;
        task_yields().await
    }));
    well_after(wait)
}

pub(super) async fn task_yields() {
    let mut again = true;
    poll_fn(|cx| {
        if std::mem::take(&mut again) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await
}

/// The result of a future whose handle is gone.
pub(crate) fn result_of_detached_future(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(spawn_async(async move {
        task_yields().await;
        value
    }));
    well_after(wait)
}

/// In a poll.
pub(crate) fn poll(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let seen = Seen::joined(
        spawn_async(async move {
            task_yields().await;
            inner.act();
            task_yields().await;
        })
        .join(),
    );
    wait();
    seen
}

/// In the closure of a task.
pub(crate) fn closure(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let seen = Seen::joined(spawn(move || inner.act()).join());
    wait();
    seen
}

/// In a closure that was dispatched.
pub(crate) fn dispatched(cx: &Cx) -> Seen {
    let (inner, value, wait) = (cx.clone(), cx.value(), cx.last_sender());
    let h = task::dispatch(move || {
        inner.act();
        value
    });
    let seen = match h.join() {
        Ok(value) => Seen::of(|| drop(value)),
        Err(error) => Seen::joined::<()>(Err(error)),
    };
    wait();
    seen
}

/// The result of a task that was dispatched, and is wanted by nobody.
pub(crate) fn result_of_dispatched(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(task::dispatch(move || value));
    well_after(wait)
}

/// A task that has begun, and ends when the sender is dropped.
fn begun_task() -> (Sender<()>, myriad::JoinHandle<()>) {
    let (tx, rx) = bounded::<()>(1);
    let begun = Arc::new(AtomicBool::new(false));
    let h = spawn({
        let begun = begun.clone();
        move || {
            begun.store(true, Release);
            _ = rx.recv();
        }
    });
    until("a task does not come so far", || begun.load(Acquire) || h.is_finished());
    (tx, h)
}

/// The handle was polled, and is given up: the waker is dropped by who gives up, or woken.
fn polled_handle(cx: &Cx, when: When, end: impl FnOnce(myriad::JoinHandle<()>) -> Seen) -> Seen {
    let wait = cx.last_sender();
    let (tx, mut h) = begun_task();
    let seen = Seen::of(|| assert!(cx.poll(Pin::new(&mut h), when).is_pending()));
    drop(tx);
    let seen = if seen == Seen::Well { end(h) } else { seen };
    wait();
    seen
}

/// A handle's waker is woken at the task's end.
pub(crate) fn handle_wake(cx: &Cx) -> Seen {
    polled_handle(cx, When::Wake, |h| {
        until("a task does not come so far", || h.is_finished() && cx.foe.acted() > 0);
        Seen::joined(h.join())
    })
}

/// A handle's waker is cloned in a poll.
pub(crate) fn handle_clone(cx: &Cx) -> Seen {
    polled_handle(cx, When::Clone, |h| Seen::joined(h.join()))
}

/// A handle's waker is dropped, because it is joined: A3 of the findings.
pub(crate) fn handle_drop(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let (tx, mut h) = begun_task();
    assert!(cx.poll(Pin::new(&mut h), When::Drop).is_pending());
    // The task ends some time after the waker was dropped, so that the joiner does wait.
    let foe = cx.foe.clone();
    let ends = std::thread::spawn(move || {
        while foe.over() == 0 && foe.counts().0 > foe.counts().1 {
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(Duration::from_millis(2));
        drop(tx);
    });
    let seen = Seen::of(|| match h.join() {
        Err(error) if error.is_panic() => error.resume(),
        result => Seen::joined(result),
    });
    ends.join().unwrap();
    wait();
    seen
}

/// A future's handle has its result while the waker that its end woke is still at work, and new
/// tasks come to life in the same memory: A6 of the findings.
pub(crate) fn handle_wake_late(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let (tx, rx) = bounded::<()>(1);
    let (taken, is_taken) = bounded::<()>(1);
    cx.foe.on_wait(move || _ = is_taken.recv());
    let mut h = spawn_async(async move { _ = rx.recv_async().await });
    assert!(cx.poll(Pin::new(&mut h), When::Wake).is_pending());
    drop(tx);
    until("the waker is not woken", || cx.foe.acted() > 0 || cx.foe.is_outside());
    let seen = match Pin::new(&mut h).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => Seen::joined(result),
        // The waker is woken before the end can be seen, and is not over.
        Poll::Pending => Seen::joined(h.join()),
    };
    /// A cancellation of the caller may come at any of its waits: nobody sleeps on then.
    struct Sleepers(Vec<JoinHandle<()>>);
    impl Drop for Sleepers {
        fn drop(&mut self) {
            self.0.iter().for_each(|sleeper| sleeper.cancel());
        }
    }
    let mut others = Sleepers((0..4).map(|_| spawn(|| myriad::time::sleep(Duration::from_secs(3600)))).collect());
    drop(taken);
    until("the waker does not end", || cx.foe.over() > 0 || cx.foe.is_outside());
    others.0.iter().for_each(|other| other.cancel());
    for other in others.0.drain(..) {
        assert!(other.join().is_err());
    }
    wait();
    seen
}

/// A handle that was polled is joined by one whose worker runs the task in place: B11 of the
/// findings.
pub(crate) fn handle_inline(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let mut h = spawn(|| ());
    let seen = Seen::of(|| match cx.poll(Pin::new(&mut h), When::Drop) {
        // It was faster; nothing was kept.
        Poll::Ready(result) => result.unwrap(),
        Poll::Pending => h.join().unwrap(),
    });
    // It was woken, and not dropped, if somebody else has run the task.
    if cx.foe.acted() == 0 {
        _ = Seen::of(|| cx.act());
    }
    wait();
    seen
}

/// A handle that was polled is detached.
pub(crate) fn handle_detached(cx: &Cx) -> Seen {
    polled_handle(cx, When::Drop, |h| {
        let seen = Seen::of(|| drop(h));
        // It was woken, and not dropped, if the task was faster.
        if cx.foe.acted() == 0 {
            _ = Seen::of(|| cx.act());
        }
        seen
    })
}

/// The closure of `join`'s first side.
pub(crate) fn join_first(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = myriad::join(|| (), || ()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| myriad::join(|| cx.act(), || ()));
    wait();
    seen
}

/// The closure of `join`'s second side.
pub(crate) fn join_second(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = myriad::join(|| (), || ()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| myriad::join(|| (), || cx.act()));
    wait();
    seen
}

/// The result of `join`'s second side, when the first has panicked.
pub(crate) fn join_result(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let value = cx.value();
    let seen = Seen::of(|| myriad::join(|| plan("hostile"), move || value));
    wait();
    seen
}

/// The payload of `join`'s second side, when the first has panicked too.
pub(crate) fn join_payload(cx: &Cx) -> Seen {
    cx.foe.strict();
    let wait = cx.last_sender();
    let value = cx.value();
    let seen = Seen::of(|| myriad::join(|| plan("hostile"), move || panic_any(value)));
    wait();
    seen
}

/// A set is dropped while its tasks have results that nobody takes.
pub(crate) fn set_dropped(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let mut set = JoinSet::new();
    for _ in 0..3 {
        let value = cx.value();
        set.spawn(move || value);
    }
    let seen = Seen::of(|| drop(set));
    wait();
    seen
}

/// The tasks of a set end while it is cancelled; their futures are dropped.
pub(crate) fn set_cancelled(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let set = Arc::new(Mutex::new(JoinSet::new()));
    for _ in 0..3 {
        let value = cx.value();
        set.lock().unwrap().spawn_async(async move {
            let _value = value;
            pending::<()>().await
        });
    }
    let weak = Arc::downgrade(&set);
    cx.foe.on_again(move || {
        if let Some(set) = weak.upgrade() {
            set.lock().unwrap().cancel_all();
        }
    });
    let set = &set;
    let seen = Seen::of(|| {
        set.lock().unwrap().cancel_all();
        let mut seen = Seen::Well;
        loop {
            // A std lock must not be held over a wait.
            let mut own = std::mem::take(&mut *set.lock().unwrap());
            let Some(result) = own.join_next() else { return seen };
            if let panicked @ Seen::Panic = Seen::joined(result) {
                seen = panicked;
            }
            *set.lock().unwrap() = own;
        }
    });
    wait();
    // A future's destructor that panics is the task's panic, which the set brings.
    seen
}

/// A set lets its tasks go.
pub(crate) fn set_detached(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let mut set = JoinSet::new();
    for _ in 0..3 {
        let value = cx.value();
        set.spawn(move || value);
    }
    let seen = Seen::of(|| set.detach_all());
    wait();
    seen
}

/// The closure of a blocking call.
pub(crate) fn blocking_call(cx: &Cx) -> Seen {
    cx.foe.on_again(|| blocking(|| ()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| blocking(|| cx.act()));
    wait();
    seen
}

/// The closure of a computation.
pub(crate) fn compute_call(cx: &Cx) -> Seen {
    cx.foe.on_again(|| compute(|| ()));
    let wait = cx.last_sender();
    let seen = Seen::of(|| compute(|| cx.act()));
    wait();
    seen
}

/// The future of a blocking call is gone before its result.
pub(crate) fn blocking_result(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(blocking_async(move || value));
    well_after(wait)
}

/// The same of a computation.
pub(crate) fn compute_result(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(compute_async(move || value));
    well_after(wait)
}

/// A task with a thread of its own; its result is nobody's.
pub(crate) fn dedicated_result(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(task::dedicated(move || value));
    well_after(wait)
}

/// The waker of such a task's handle.
pub(crate) fn dedicated_wake(cx: &Cx) -> Seen {
    let wait = cx.last_sender();
    let (tx, rx) = bounded::<()>(1);
    let mut h = task::dedicated(move || _ = rx.recv());
    assert!(cx.poll(Pin::new(&mut h), When::Wake).is_pending());
    drop(tx);
    until("a task does not come so far", || h.is_finished() && cx.foe.acted() > 0);
    let seen = Seen::joined(h.join());
    wait();
    seen
}

/// Code that keeps its thread.
pub(crate) fn keep_thread(cx: &Cx) -> Seen {
    cx.foe.on_again(|| task::keep_thread(|| ()));
    Seen::of(|| task::keep_thread(|| cx.act()))
}

/// A job of a gang.
pub(crate) fn gang_job(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = task::try_gang(2, |_| ()));
    Seen::of(|| {
        task::gang(2, |i| {
            if i == 1 {
                cx.act()
            }
        })
    })
}

/// The caller's own job of a gang.
pub(crate) fn gang_first(cx: &Cx) -> Seen {
    cx.foe.on_again(|| _ = task::try_gang(2, |_| ()));
    Seen::of(|| {
        task::gang(2, |i| {
            if i == 0 {
                cx.act()
            }
        })
    })
}

/// The payload of a gang's job that is not the first to panic.
pub(crate) fn gang_payload(cx: &Cx) -> Seen {
    cx.foe.strict();
    let values = Mutex::new(vec![cx.value()]);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        task::gang(2, |i| match i {
            0 => plan("hostile"),
            _ => {
                let value = values.lock().unwrap().pop().unwrap();
                panic_any(value)
            }
        })
    });
    wait();
    seen
}

/// A future that `block_on` polls.
pub(crate) fn block_on(cx: &Cx) -> Seen {
    cx.foe.on_again(|| myriad::block_on(task_yields()));
    let wait = cx.last_sender();
    let value = cx.value();
    let seen = Seen::of(|| {
        myriad::block_on(async {
            let _value = value;
            task_yields().await;
        })
    });
    wait();
    seen
}

/// In a closure that its joiner yields to.
pub(crate) fn yielded_to(cx: &Cx) -> Seen {
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let h = spawn(move || inner.act());
    let yielded = Seen::of(|| _ = h.yield_to());
    let seen = Seen::joined(h.join());
    wait();
    if yielded == Seen::Well { seen } else { yielded }
}

/// What such a closure has captured, and its result, which nobody wants.
pub(crate) fn result_of_yielded_to(cx: &Cx) -> Seen {
    let (value, wait) = (cx.value(), cx.last_sender());
    let h = spawn(move || value);
    let seen = Seen::of(|| {
        _ = h.yield_to();
        drop(h);
    });
    wait();
    seen
}
