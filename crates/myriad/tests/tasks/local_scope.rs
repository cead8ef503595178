//! Local tasks: what is not `Send` stays on its stack, in both modes and on foreign threads.

use crate::common::{Drops, MODES, case, catch_planned, in_both_modes, plan, quiet};
use myriad::channel::{bounded, rendezvous};
use myriad::task::{LocalScope, local_scope};
use myriad::{Runtime, spawn, spawn_async, yield_now};
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::task::Poll;
use std::time::Duration;

/// In a task of both modes, and on a foreign thread.
fn everywhere(body: impl Fn(&Runtime) + Sync) {
    in_both_modes(|rt| {
        rt.run(|| body(rt));
        body(rt);
    });
}

/// Pending once.
async fn again() {
    let mut first = true;
    poll_fn(move |cx| {
        if std::mem::take(&mut first) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

#[test]
fn futures_that_are_not_send_take_turns() {
    everywhere(|_| {
        let log = Rc::new(RefCell::new(Vec::new()));
        local_scope(|s| {
            for name in ["a", "b", "c"] {
                let log = log.clone();
                s.spawn_async(async move {
                    for i in 0..3 {
                        log.borrow_mut().push((i, name));
                        again().await;
                    }
                });
            }
        });
        let expected: Vec<_> = (0..3).flat_map(|i| ["a", "b", "c"].map(|name| (i, name))).collect();
        assert_eq!(*log.borrow(), expected);
    });
}

#[test]
#[allow(clippy::await_holding_lock, reason = "it is what is shown: nobody else wants the lock")]
fn they_borrow_and_stay_on_the_thread() {
    thread_local! { static SHARED: Rc<Cell<u32>> = Rc::new(Cell::new(0)); }
    everywhere(|_| {
        SHARED.with(|shared| shared.set(0));
        let (mut text, lock, here) = (String::new(), std::sync::Mutex::new(0), std::thread::current().id());
        let shared = SHARED.with(Rc::clone);
        let lengths = local_scope(|s| {
            let first = s.spawn(|| {
                text.push_str("abc");
                text.len()
            });
            let second = s.spawn_async(async {
                // Of std: it must be given back by the thread that took it.
                let mut guard = lock.lock().unwrap();
                spawn_async(async { yield_now() }).await.unwrap();
                *guard += 1;
                // A thread-local's own value, of which the task has a share.
                shared.set(shared.get() + 1);
                assert_eq!(std::thread::current().id(), here);
                SHARED.with(|own| own.get())
            });
            (first.join().unwrap(), second.join().unwrap())
        });
        assert_eq!((lengths, &*text, lock.into_inner().unwrap()), ((3, 1), "abc", 1));
    });
}

#[test]
fn they_wait_for_everything() {
    everywhere(|rt| {
        let (to, from) = rendezvous::<u64>();
        let echo = rt.spawn(move || from.iter().sum::<u64>());
        let (back, answers) = bounded::<u64>(2);
        let sum = Rc::new(Cell::new(0));
        local_scope(|s| {
            s.spawn_async(async move {
                for n in 0..100 {
                    to.send_async(n).await.unwrap();
                }
            });
            s.spawn_async(async move {
                for n in 0..100 {
                    back.send_async(n).await.unwrap();
                    myriad::time::sleep_async(Duration::from_micros(10)).await;
                }
            });
            let sum = sum.clone();
            s.spawn_async(async move {
                while let Ok(n) = answers.recv_async().await {
                    sum.set(sum.get() + n);
                }
            });
            // The owner's wait is a future as any other.
            assert_eq!(s.wait(spawn_async(async { 7 })).unwrap(), 7);
        });
        assert_eq!((sum.get(), echo.join().unwrap()), (4950, 4950));
    });
}

#[test]
fn wakers_are_called_from_other_threads() {
    everywhere(|_| {
        let done = local_scope(|s| {
            let all: Vec<_> = (0..50)
                .map(|i| {
                    let mut thread = None;
                    s.spawn_async(poll_fn(move |cx| match thread.take() {
                        None => {
                            let waker = cx.waker().clone();
                            thread = Some(std::thread::spawn(move || waker.wake()));
                            Poll::Pending
                        }
                        Some(thread) => {
                            thread.join().unwrap();
                            Poll::Ready(i)
                        }
                    }))
                })
                .collect();
            all.into_iter().map(|h| h.join().unwrap()).sum::<u32>()
        });
        assert_eq!(done, 49 * 50 / 2);
    });
}

#[test]
fn they_spawn_further_ones() {
    async fn tree(s: LocalScope<'static>, depth: u32, count: Rc<Cell<u32>>) -> u32 {
        count.set(count.get() + 1);
        if depth == 0 {
            return 1;
        }
        let child =
            || -> std::pin::Pin<Box<dyn Future<Output = u32>>> { Box::pin(tree(s.clone(), depth - 1, count.clone())) };
        let (a, b) = (s.spawn_async(child()), s.spawn_async(child()));
        a.await.unwrap() + b.await.unwrap()
    }
    everywhere(|_| {
        let count = Rc::new(Cell::new(0));
        let leaves = local_scope(|s| s.spawn_async(tree(s.clone(), 8, count.clone())).join().unwrap());
        assert_eq!((leaves, count.get()), (256, 511));
    });
}

#[test]
fn panics_reach_the_joiner_or_the_end() {
    quiet();
    everywhere(|_| {
        local_scope(|s| {
            let error = s.spawn(|| plan("joined")).join().unwrap_err();
            assert!(error.is_panic() && error.to_string().contains("joined"), "{error}");
            let h = s.spawn_async(async {
                again().await;
                plan("awaited")
            });
            s.wait(async { assert!(h.await.unwrap_err().is_panic()) });
        });
        // Of two that nobody joins the first goes on, after all have ended.
        let ended = Cell::new(0);
        catch_planned("first", || {
            local_scope(|s| {
                drop(s.spawn(|| plan("first")));
                let h = s.spawn(|| plan("second"));
                s.wait(again());
                assert!(h.is_finished());
                drop(h);
                s.spawn_async(async {
                    again().await;
                    ended.set(ended.get() + 1);
                });
            })
        });
        catch_planned("the scope's own", || {
            local_scope(|s| {
                s.spawn(|| ended.set(ended.get() + 1));
                plan("the scope's own")
            })
        });
        assert_eq!(ended.get(), 2);
    });
}

/// A closure waits for another local task, which runs on top of it; what was woken meanwhile is not
/// forgotten.
#[test]
fn closures_wait_for_each_other() {
    everywhere(|_| {
        let sum = local_scope(|s| {
            let (outer, inner) = (s.clone(), s.clone());
            let mut waker = None;
            let woken = Rc::new(Cell::new(false));
            let sees = woken.clone();
            let slow = s.spawn_async(poll_fn(move |cx| {
                if sees.get() {
                    return Poll::Ready(4);
                }
                waker.get_or_insert_with(|| cx.waker().clone()).wake_by_ref();
                // In the middle of this poll another wait finds its wake.
                assert_eq!(inner.spawn(|| 3).join().unwrap(), 3);
                sees.set(true);
                Poll::Pending
            }));
            let first = s.spawn(move || {
                let second = outer.spawn(|| 2);
                second.join().unwrap() + 1
            });
            first.join().unwrap() + slow.join().unwrap()
        });
        assert_eq!(sum, 7);
    });
}

#[test]
fn one_that_waits_for_itself_is_told() {
    everywhere(|_| {
        local_scope(|s| {
            let own: Rc<RefCell<Option<myriad::task::LocalJoinHandle<'_, bool>>>> = Rc::default();
            let inside = own.clone();
            let h = s.spawn(move || {
                let own = inside.borrow_mut().take().unwrap();
                let error = own.join().unwrap_err().to_string();
                assert!(error.contains("itself"), "{error}");
                true
            });
            *own.borrow_mut() = Some(h);
            let told = Rc::new(Cell::new(false));
            let says = told.clone();
            s.spawn_async(async move { says.set(true) });
            s.wait(async {
                while !told.get() {
                    again().await;
                }
            });
        });
    });
}

#[test]
#[should_panic(expected = "this `local_scope` is over")]
fn after_its_end() {
    let kept = local_scope(|s| s.clone());
    kept.spawn(|| ());
}

#[test]
fn all_is_dropped_once() {
    everywhere(|_| {
        let drops = Drops::new();
        local_scope(|s| {
            for i in 0..100 {
                let (one, result) = (drops.one(), drops.one());
                let h = s.spawn_async(async move {
                    again().await;
                    drop(one);
                    result
                });
                if i % 2 == 0 {
                    drop(h.join());
                }
            }
        });
        drops.assert_all(200);
    });
}

#[test]
fn many() {
    everywhere(|_| {
        let count = Cell::new(0_u64);
        local_scope(|s| {
            for i in 0..10_000 {
                let count = &count;
                s.spawn_async(async move {
                    again().await;
                    count.set(count.get() + i);
                });
            }
        });
        assert_eq!(count.get(), 10_000 * 9_999 / 2);
    });
}

/// Local tasks that are always ready do not keep the worker for themselves.
#[test]
fn other_tasks_have_their_turns() {
    for mode in MODES {
        case(
            mode,
            1,
            |b| b.spare_workers(0),
            |rt| {
                let (go, polls) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
                let says = go.clone();
                rt.run(|| {
                    let other = spawn(move || says.store(true, SeqCst));
                    local_scope(|s| {
                        s.spawn_async(async {
                            while !go.load(SeqCst) {
                                polls.fetch_add(1, SeqCst);
                                again().await;
                            }
                        });
                    });
                    other.join().unwrap();
                });
            },
        );
    }
}
