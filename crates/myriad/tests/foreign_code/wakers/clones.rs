//! A waker whose clone panics, where the future has been woken already: what it was woken for goes
//! to the next.

use super::{Count, Waiter, poll};
use crate::common::{catch_planned, in_both_modes, plan, wait_until};
use myriad::sync::{Mutex, Semaphore};
use std::sync::Arc;
use std::task::{Context, RawWaker, RawWakerVTable, Waker};

/// A waker that cannot be cloned.
fn unique() -> Waker {
    fn clone(_: *const ()) -> RawWaker {
        plan("a clone")
    }
    static TABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());
    // SAFETY: the functions do nothing with the data, from any thread.
    unsafe { Waker::from_raw(RawWaker::new(std::ptr::null(), &TABLE)) }
}

#[test]
fn of_one_who_was_woken_for_a_mutex() {
    in_both_modes(|rt| {
        rt.run(|| {
            let mutex = Arc::new(Mutex::new(()));
            let waits = || -> Waiter {
                let mutex = mutex.clone();
                Box::pin(async move { drop(mutex.lock_async().await) })
            };
            let (mut one, mut two) = (waits(), waits());
            let (first, second) = (Arc::new(Count::default()), Arc::new(Count::default()));
            let guard = mutex.lock().unwrap();
            assert!(poll(&mut one, &first).is_pending() && poll(&mut two, &second).is_pending());
            drop(guard);
            wait_until(|| first.was_woken());
            // It was woken to try its luck, has none, and cannot wait on.
            let guard = mutex.lock().unwrap();
            catch_planned("a clone", || one.as_mut().poll(&mut Context::from_waker(&unique())));
            drop(one);
            drop(guard);
            wait_until(|| second.was_woken());
            assert!(poll(&mut two, &second).is_ready());
        });
    });
}

#[test]
fn of_one_who_begins_to_wait() {
    in_both_modes(|rt| {
        rt.run(|| {
            let semaphore = Semaphore::new(1);
            let permit = semaphore.acquire();
            let mut future = Box::pin(semaphore.acquire_async());
            catch_planned("a clone", || future.as_mut().poll(&mut Context::from_waker(&unique())));
            drop((future, permit));
            assert_eq!(semaphore.available(), 1);
        });
    });
}
