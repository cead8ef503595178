//! Once, OnceLock, LazyLock: one does it, the others wait, and hear if it went wrong.

use crate::lock_common::*;
use myriad::sync::{Arc, LazyLock, Once, OnceLock, TimeoutError};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

#[test]
fn one_does_it_and_the_others_wait() {
    each_runtime(|rt| {
        let once = Arc::new(Once::new());
        let done = Arc::new(AtomicUsize::new(0));
        let (o, d) = (once.clone(), done.clone());
        let (o2, d2) = (once.clone(), done.clone());
        all_kinds(
            rt,
            5,
            move || {
                o.call_once(|| {
                    // It may block.
                    myriad::time::sleep(Duration::from_millis(1));
                    d.fetch_add(1, Relaxed);
                });
                assert_eq!(d.load(Relaxed), 1);
            },
            move || {
                let (o, d) = (o2.clone(), d2.clone());
                async move {
                    o.wait_async().await;
                    assert_eq!(d.load(Relaxed), 1);
                }
            },
        );
        assert!(once.is_completed());
        once.wait();
        once.call_once(|| unreachable!());
    });
}

#[test]
fn a_panic_poisons_and_force_tries_again() {
    each_runtime(|rt| {
        let once = Arc::new(Once::new());
        let (o, o2, o3) = (once.clone(), once.clone(), once.clone());
        let panics = rt.spawn(move || {
            o.call_once(|| {
                myriad::time::sleep(Duration::from_millis(2));
                std::panic::resume_unwind(Box::new("on purpose"));
            })
        });
        let also = rt.spawn(move || o2.wait());
        assert!(panics.join().is_err());
        let told = refusal(|| once.call_once(|| ()));
        assert!(told.contains("poisoned") && told.contains("call_once_force"), "{told}");
        assert!(refusal(|| once.wait()).contains("poisoned"));
        assert!(also.join().is_err(), "who waited hears of it");
        let waits_on = rt.spawn(move || o3.wait_force());
        assert_eq!(refusal(|| myriad::block_on(once.wait_async())), told);
        once.call_once_force(|state| assert!(state.is_poisoned()));
        waits_on.join().unwrap();
        once.call_once(|| unreachable!());
    });
}

#[test]
fn a_call_inside_itself_is_told() {
    let once = Once::new();
    let told = refusal(|| once.call_once(|| once.call_once(|| ())));
    assert!(told.contains("inside its own initialisation"), "{told}");
    let lock = OnceLock::new();
    assert!(refusal(|| lock.get_or_init(|| *lock.get_or_init(|| 1)).to_string()).contains("inside its own"));
    static LOOP: LazyLock<u32> = LazyLock::new(|| *LOOP + 1);
    assert!(refusal(|| *LOOP).contains("inside its own"));
    // Another task, on the same worker, only waits.
    each_runtime(|rt| {
        let lock = Arc::new(OnceLock::new());
        let l = lock.clone();
        let value = rt.run(move || {
            let l2 = l.clone();
            *l.get_or_init(move || {
                let other = myriad::spawn(move || *l2.get_or_init(|| 2));
                myriad::yield_now();
                myriad::spawn(move || assert_eq!(other.join().unwrap(), 1));
                1
            })
        });
        assert_eq!(value, 1);
    });
}

#[test]
fn a_value_is_made_once() {
    each_runtime(|rt| {
        let cell = Arc::new(OnceLock::new());
        let made = Arc::new(AtomicUsize::new(0));
        let (c, m) = (cell.clone(), made.clone());
        let (c2, m2) = (cell.clone(), made.clone());
        all_kinds(
            rt,
            5,
            move || {
                let value = c.get_or_init(|| {
                    myriad::yield_now();
                    m.fetch_add(1, SeqCst);
                    String::from("made")
                });
                assert_eq!(value, "made");
            },
            move || {
                let (c, m) = (c2.clone(), m2.clone());
                async move {
                    let value = c.get_or_init_async(|| async {
                        myriad::time::sleep_async(Duration::from_micros(100)).await;
                        m.fetch_add(1, SeqCst);
                        String::from("made")
                    });
                    assert_eq!(value.await, "made");
                }
            },
        );
        assert_eq!(made.load(SeqCst), 1);
        assert_eq!(cell.set("other".into()), Err("other".into()));
    });
}

#[test]
fn failing_leaves_the_place_empty() {
    let cell = OnceLock::new();
    assert_eq!(cell.get_or_try_init(|| Err("no")), Err("no"));
    assert!(refusal(|| cell.get_or_init(|| panic!("on purpose"))).contains("on purpose"));
    assert_eq!(cell.get(), None);
    // A future that is dropped while it makes the value: the next one makes it.
    let mut first = Box::pin(cell.get_or_init_async(std::future::pending));
    assert!(poll_once(first.as_mut()).is_pending());
    let (wakes, waker) = Wakes::new();
    let mut second = Box::pin(cell.get_or_init_async(|| async { 2 }));
    assert!(poll_with(second.as_mut(), &waker).is_pending());
    drop(first);
    assert_eq!(wakes.count(), 1);
    assert_eq!(now(poll_with(second.as_mut(), &waker)), &2);
}

#[test]
fn waiting_for_a_value() {
    each_runtime(|rt| {
        let cell = Arc::new(OnceLock::new());
        assert_eq!(cell.wait_timeout(Duration::from_millis(1)), Err(TimeoutError));
        let waiters: Vec<_> = (0..9)
            .map(|i| {
                let (c, c2) = (cell.clone(), cell.clone());
                start(rt, KINDS[i % 3], move || *c.wait(), async move { *c2.wait_async().await })
            })
            .collect();
        cell.set(7).unwrap();
        waiters.into_iter().for_each(|w| assert_eq!(w.join(), 7));
        assert_eq!(cell.wait_timeout(Duration::ZERO), Ok(&7));
    });
}

#[test]
fn a_lazy_value() {
    each_runtime(|rt| {
        let made = Arc::new(AtomicUsize::new(0));
        let m = made.clone();
        let lazy = Arc::new(LazyLock::new(move || {
            myriad::yield_now();
            m.fetch_add(1, SeqCst)
        }));
        let tasks: Vec<_> = (0..10)
            .map(|_| {
                let lazy = lazy.clone();
                rt.spawn(move || **lazy)
            })
            .collect();
        tasks.into_iter().for_each(|t| assert_eq!(t.join().unwrap(), 0));
        assert_eq!(made.load(SeqCst), 1);
    });
    let broken: LazyLock<u32> = LazyLock::new(|| panic!("on purpose"));
    assert!(refusal(|| *broken).contains("on purpose"));
    assert!(refusal(|| *broken).contains("poisoned"));
}

#[test]
fn shaped_as_std() {
    static ONCE: OnceLock<Vec<u8>> = OnceLock::new();
    assert!(ONCE.get().is_none());
    ONCE.set(vec![1]).unwrap();
    assert_eq!(format!("{ONCE:?}"), "OnceLock([1])");
    let value = Arc::new(());
    let mut cell = OnceLock::from(value.clone());
    assert_eq!(cell.clone(), cell);
    assert!(cell.get_mut().is_some());
    assert!(cell.take().is_some() && cell.take().is_none());
    cell.set(value.clone()).unwrap();
    drop(cell);
    assert_eq!(Arc::strong_count(&value), 1, "dropped with its place");
    assert!(OnceLock::<Arc<()>>::new().into_inner().is_none());
}
