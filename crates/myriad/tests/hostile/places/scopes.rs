//! Scopes of all kinds.

use crate::behaviours::{Value, When};
use crate::cell::{Cx, Seen, until};
use crate::common::plan;
use myriad::task::{self, local_scope};
use myriad::{race, scope, try_scope};
use std::cell::Cell;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

/// Uses all scopes again, with tasks that do nothing.
fn again() {
    scope(|s| _ = s.spawn(|| ()));
    assert!(
        try_scope(|s| -> Result<(), ()> {
            s.spawn(|| Ok(()));
            Ok(())
        })
        .is_ok()
    );
    local_scope(|s| _ = s.spawn(|| ()));
}

/// After a place: a scope that is cancelled, for what the place has left in the lists of
/// cancellation.
fn cancelled_scope() {
    scope(|s| {
        for _ in 0..4 {
            s.spawn(|| myriad::time::sleep(std::time::Duration::from_secs(3600)));
        }
        s.cancel();
    });
}

/// Results of tasks that nobody joins: A1 of the findings.
pub(crate) fn result(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        scope(|s| {
            for _ in 0..4 {
                let value = cx.value();
                s.spawn(move || value);
            }
        });
        cancelled_scope();
    });
    wait();
    seen
}

/// The handle is dropped after the task has ended.
pub(crate) fn result_of_ended(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        scope(|s| {
            let value = cx.value();
            let h = s.spawn(move || value);
            until("a task does not come so far", || h.is_finished());
            drop(h);
        });
        cancelled_scope();
    });
    wait();
    seen
}

/// The payload of a second panic: A2 of the findings.
pub(crate) fn payload(cx: &Cx) -> Seen {
    cx.foe.strict();
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        scope(|s| {
            s.spawn(|| plan("hostile")).join().unwrap_err();
            // Nobody joins it: the first of these panics goes on at the scope's end.
            for _ in 0..4 {
                let value = cx.value();
                s.spawn(move || panic_any(value));
            }
        })
    });
    cancelled_scope();
    wait();
    seen
}

/// The payload of a task when the scope's body panics: B11 of the findings.
pub(crate) fn payload_and_body(cx: &Cx) -> Seen {
    cx.foe.strict();
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        scope(|s| {
            let value = cx.value();
            let h = s.spawn(move || panic_any(value));
            until("a task does not come so far", || h.is_finished());
            drop(h);
            plan("hostile")
        })
    });
    cancelled_scope();
    wait();
    seen
}

/// What a task has captured.
pub(crate) fn captures(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        scope(|s| {
            for _ in 0..4 {
                let value = cx.value();
                s.spawn(move || _ = &value);
            }
        });
        cancelled_scope();
    });
    wait();
    seen
}

/// What a task has captured that never begins.
pub(crate) fn captures_of_cancelled(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        scope(|s| {
            s.cancel();
            for _ in 0..4 {
                let value = cx.value();
                s.spawn(move || _ = &value);
            }
        });
        cancelled_scope();
    });
    wait();
    seen
}

/// The body, while tasks borrow.
pub(crate) fn body(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let (data, value) = (vec![7_u64; 64], cx.value());
    let seen = Seen::of(|| {
        scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    myriad::yield_now();
                    assert!(data.iter().all(|x| *x == 7));
                });
            }
            drop(value);
        })
    });
    wait();
    seen
}

/// A task of the scope, while others borrow.
pub(crate) fn task(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let data = vec![7_u64; 64];
    let seen = Seen::of(|| {
        scope(|s| {
            for i in 0..4 {
                let data = &data;
                s.spawn(move || {
                    if i == 1 {
                        cx.act();
                    }
                    assert!(data.iter().all(|x| *x == 7));
                });
            }
        })
    });
    wait();
    seen
}

/// Errors of a scope that fails fast, which the caller drops.
pub(crate) fn errors(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let result = try_scope(|s| {
            for _ in 0..3 {
                let value = cx.value();
                s.spawn(move || -> Result<(), Value> { Err(value) });
            }
            Ok(())
        });
        // In a runtime that ends no task has run, perhaps.
        drop(result);
    });
    wait();
    seen
}

/// Results of such a scope's tasks, which nobody joins.
pub(crate) fn try_result(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let result = try_scope(|s| -> Result<(), ()> {
            for _ in 0..3 {
                let value = cx.value();
                s.spawn(move || Ok(value));
            }
            Ok(())
        });
        assert!(result.is_ok());
        cancelled_scope();
    });
    wait();
    seen
}

/// The result of such a scope's body, when a task fails.
pub(crate) fn try_body(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let value = cx.value();
    let seen = Seen::of(|| {
        let result = try_scope(|s| {
            s.spawn(|| -> Result<(), u32> { Err(5) });
            Ok(value)
        });
        assert!(result.is_err());
    });
    wait();
    seen
}

/// Results that come too late in a race.
pub(crate) fn late_results(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        let winner = race((0..4).map(|_| {
            let value = cx.value();
            move || value
        }));
        drop(winner);
        cancelled_scope();
    });
    wait();
    seen
}

/// The function of `map_concurrent`.
pub(crate) fn mapped(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        task::map_concurrent(2, 0..6, |i| {
            if i == 3 {
                cx.act();
            }
        })
    });
    wait();
    seen
}

/// The results of `map_concurrent`, when the function panics for another item.
pub(crate) fn mapped_results(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        task::map_concurrent(2, 0..6, |i| match i {
            5 => plan("hostile"),
            _ => cx.value(),
        })
    });
    cancelled_scope();
    wait();
    seen
}

/// The items of `map_concurrent`.
pub(crate) fn mapped_items(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let items: Vec<Value> = (0..6).map(|_| cx.value()).collect();
    let seen = Seen::of(|| task::map_concurrent(2, items, |_value| ()));
    wait();
    seen
}

/// The iterator of `map_concurrent`.
pub(crate) fn mapped_iterator(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let items = (0..6).inspect(|i| {
        if *i == 4 {
            cx.act();
        }
    });
    let seen = Seen::of(|| task::map_concurrent(2, items, |i| i));
    wait();
    seen
}

/// What gets each result as it comes.
pub(crate) fn mapped_each(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        task::map_concurrent_unordered(
            2,
            0..6,
            |i| i,
            |i| {
                if i == 3 {
                    cx.act();
                }
            },
        )
    });
    wait();
    seen
}

/// Errors of `try_map_concurrent`.
pub(crate) fn mapped_errors(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        // (Results beside them would be dropped while the errors are returned; if that panics, Rust
        // itself leaks these.)
        let result = task::try_map_concurrent(2, 0..6, |_| -> Result<(), Value> { Err(cx.value()) });
        drop(result);
    });
    wait();
    seen
}

/// Results of local tasks that nobody joins.
pub(crate) fn local_result(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        local_scope(|s| {
            for _ in 0..3 {
                let value = cx.value();
                drop(s.spawn(move || value));
            }
        })
    });
    wait();
    seen
}

/// The payload of a local task when the body panics.
pub(crate) fn local_payload(cx: &Cx) -> Seen {
    cx.foe.strict();
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        local_scope(|s| {
            let value = cx.value();
            drop(s.spawn(move || panic_any(value)));
            plan("hostile")
        })
    });
    wait();
    seen
}

/// Payloads of local tasks, of which the first goes on.
pub(crate) fn local_payloads(cx: &Cx) -> Seen {
    cx.foe.strict();
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        local_scope(|s| {
            drop(s.spawn(|| plan("hostile")));
            for _ in 0..3 {
                let value = cx.value();
                drop(s.spawn(move || panic_any(value)));
            }
        })
    });
    wait();
    seen
}

/// The future of a local task, at its end.
pub(crate) fn local_future(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        local_scope(|s| {
            let value = cx.value();
            s.spawn_async(async move {
                let _value = value;
                myriad::time::sleep_async(std::time::Duration::from_micros(10)).await;
            })
            .join()
            .unwrap_or_else(|error| error.resume())
        })
    });
    wait();
    seen
}

/// The waker of a local task's handle: B9 of the findings.
fn local_waker(cx: &Cx, when: When) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let ended = Cell::new(false);
    let seen = Seen::of(|| {
        local_scope(|s| {
            let mut h = s.spawn(|| ended.set(true));
            assert!(cx.poll(Pin::new(&mut h), when).is_pending());
            s.spawn(|| ()).join().unwrap();
            s.wait(async {});
            drop(h);
        })
    });
    assert!(ended.get() || seen != Seen::Well, "the scope has ended before its task");
    wait();
    seen
}

pub(crate) fn local_wake(cx: &Cx) -> Seen {
    local_waker(cx, When::Wake)
}

pub(crate) fn local_waker_dropped(cx: &Cx) -> Seen {
    cx.foe.on_again(again);
    let wait = cx.last_sender();
    let seen = Seen::of(|| {
        local_scope(|s| {
            let (tx, rx) = myriad::channel::bounded::<()>(1);
            let mut h = s.spawn_async(async move { _ = rx.recv_async().await });
            assert!(cx.poll(Pin::new(&mut h), When::Drop).is_pending());
            drop(h);
            drop(tx);
        })
    });
    wait();
    seen
}

/// A timer's waker, which a scope's end calls that has no stack left to wait on: A4 of the
/// findings.
pub(crate) fn no_stack(cx: &Cx) -> Seen {
    let rt = cx.mode.builder().workers(2).spare_workers(0).max_stacks(2).build().unwrap();
    let (tx, rx) = myriad::channel::bounded::<()>(1);
    let here = Arc::new(AtomicUsize::new(0));
    let blocked: Vec<_> = (0..2)
        .map(|_| {
            let (rx, here) = (rx.clone(), here.clone());
            rt.spawn(move || {
                // Each on a worker of its own, whose last stack but one it keeps.
                here.fetch_add(1, AcqRel);
                while here.load(Acquire) < 2 {
                    std::thread::yield_now();
                }
                _ = rx.recv();
            })
        })
        .collect();
    until("not all workers are held", || here.load(Acquire) == 2);
    let inner = cx.clone();
    let h = rt.spawn(move || {
        let data = vec![7_u64; 64];
        let new_sleep = || Box::pin(myriad::time::sleep_async(Duration::from_micros(500)));
        let mut sleep = new_sleep();
        let (begun, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let seen = Seen::of(|| {
            scope(|s| {
                s.spawn(|| {
                    begun.store(1, Release);
                    while inner.foe.acted() == 0 {
                        std::thread::yield_now();
                    }
                    std::thread::sleep(Duration::from_millis(2));
                    assert!(data.iter().all(|x| *x == 7));
                    ended.store(1, Release);
                });
                // On the other worker.
                while begun.load(Acquire) == 0 {
                    std::thread::yield_now();
                }
                // Until it is not late already.
                while inner.poll(sleep.as_mut(), When::Wake).is_ready() {
                    sleep = new_sleep();
                }
            })
        });
        assert_eq!(ended.load(Acquire), 1, "the scope was left before its task has ended");
        seen
    });
    let seen = match h.join() {
        Ok(seen) => seen,
        Err(error) => Seen::joined::<()>(Err(error)),
    };
    drop(tx);
    blocked.into_iter().for_each(|task| _ = task.join());
    drop(myriad::blocking(move || rt.shutdown(Duration::from_secs(60))));
    seen
}
