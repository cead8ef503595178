//! A cancellation in each wait of a lock: it ends the wait, and leaves the lock as it was.

use crate::cancel_common::*;
use myriad::spawn;
use myriad::sync::{
    Barrier, Condvar, Event, Latch, LazyLock, Mutex, Once, OnceLock, ReentrantLock, RwLock, Semaphore, WaitGroup,
};
use myriad::time::{sleep, timeout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

#[test]
fn mutex() {
    in_both_modes(|rt| {
        rt.run(|| {
            let m = Arc::new(Mutex::new(0));
            let guard = m.lock().unwrap();
            let (a, b) = (m.clone(), m.clone());
            cancel_in(move || drop(a.lock()));
            cancel_in(move || drop(b.lock_timeout(LONG)));
            drop(guard);
            assert!(!m.is_poisoned(), "it was never held");
            *m.try_lock().expect("nobody is in the line") += 1;
        });
    });
}

/// A section that a cancellation interrupts is like one that a panic does.
#[test]
fn a_section_that_is_interrupted_poisons() {
    in_both_modes(|rt| {
        rt.run(|| {
            let m = Arc::new(Mutex::new(0));
            let a = m.clone();
            cancel_in(move || {
                let _guard = a.lock().unwrap();
                sleep(LONG);
            });
            assert!(m.is_poisoned());
            m.clear_poison();
            // A limit within the section is over before the section is.
            let guard = m.lock().unwrap();
            assert!(timeout(Duration::from_micros(10), || sleep(LONG)).is_err());
            drop(guard);
            assert!(!m.is_poisoned());
        });
    });
}

#[test]
fn rwlock() {
    in_both_modes(|rt| {
        rt.run(|| {
            let l = Arc::new(RwLock::new(0));
            let writer = l.write().unwrap();
            let (a, b, c) = (l.clone(), l.clone(), l.clone());
            cancel_in(move || drop(a.read()));
            cancel_in(move || drop(b.write()));
            cancel_in(move || drop(c.read_timeout(LONG)));
            drop(writer);
            let reader = l.read().unwrap();
            let a = l.clone();
            cancel_in(move || drop(a.write()));
            // A writer that waits keeps readers out; one that is gone does not.
            drop(l.try_read().expect("no writer waits"));
            drop(reader);
            drop(l.try_write().expect("nobody is in the line"));
        });
    });
}

#[test]
fn reentrant_lock() {
    in_both_modes(|rt| {
        rt.run(|| {
            let l = Arc::new(ReentrantLock::new(0));
            let guard = l.lock();
            let a = l.clone();
            cancel_in(move || drop(a.lock()));
            drop(guard);
            let a = l.clone();
            assert!(spawn(move || a.try_lock().is_some()).join().unwrap());
        });
    });
}

#[test]
fn condvar() {
    in_both_modes(|rt| {
        rt.run(|| {
            let pair = Arc::new((Mutex::new(false), Condvar::new()));
            let (a, b, c) = (pair.clone(), pair.clone(), pair.clone());
            cancel_in(move || drop(a.1.wait(a.0.lock().unwrap())));
            cancel_in(move || drop(b.1.wait_timeout(b.0.lock().unwrap(), LONG)));
            assert!(!pair.0.is_poisoned(), "it was not held");
            // Nobody is in the line: a notification reaches who comes later.
            let h = begin(move || drop(c.1.wait_while(c.0.lock().unwrap(), |ready| !*ready).unwrap()));
            *pair.0.lock().unwrap() = true;
            pair.1.notify_one();
            h.join().unwrap();
        });
    });
}

#[test]
fn semaphore() {
    in_both_modes(|rt| {
        rt.run(|| {
            let s = Arc::new(Semaphore::new(2));
            let first = s.acquire();
            let (a, b) = (s.clone(), s.clone());
            // It wants much, and stands first in the line. When it goes, the one behind it can go
            // on.
            let big = begin(move || drop(a.acquire_many(2)));
            wait_until(|| s.try_acquire().is_none());
            let small = begin(move || drop(b.acquire()));
            big.cancel();
            assert!(big.join().unwrap_err().is_cancelled());
            small.join().unwrap();
            drop(first);
            assert_eq!(s.available(), 2);
        });
    });
}

#[test]
fn what_is_waited_for_once() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (barrier, event, latch, group) = (
                Arc::new(Barrier::new(2)),
                Arc::new(Event::new()),
                Arc::new(Latch::new(1)),
                Arc::new(WaitGroup::new()),
            );
            group.add(1);
            let (a, b) = (barrier.clone(), barrier.clone());
            cancel_in(move || a.wait().is_leader());
            cancel_in(move || b.wait_timeout(LONG).is_ok());
            assert_eq!(barrier.arrived(), 0, "who has left does not count");
            let (a, b, c) = (event.clone(), latch.clone(), group.clone());
            cancel_in(move || a.wait());
            cancel_in(move || b.wait());
            cancel_in(move || c.wait());
            event.set();
            latch.count_down();
            group.done();
            event.wait();
            latch.wait();
            group.wait();
            let a = barrier.clone();
            let h = begin(move || a.wait().is_leader());
            assert!(barrier.wait().is_leader() ^ h.join().unwrap());
        });
    });
}

/// Who waits for an initialiser leaves it alone; an initialiser that is cancelled has panicked, as
/// far as others see.
#[test]
fn once() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (o, go) = (Arc::new(Once::new()), Arc::new(Event::new()));
            let (a, b, begun) = (o.clone(), go.clone(), Arc::new(AtomicBool::new(false)));
            let says = begun.clone();
            let first = spawn(move || {
                a.call_once(|| {
                    says.store(true, SeqCst);
                    b.wait();
                });
            });
            wait_until(|| begun.load(SeqCst));
            let (a, b) = (o.clone(), o.clone());
            cancel_in(move || a.call_once(|| unreachable!("another one does it")));
            cancel_in(move || b.wait());
            go.set();
            first.join().unwrap();
            assert!(o.is_completed());

            let o = Arc::new(Once::new());
            let a = o.clone();
            cancel_in(move || a.call_once(|| sleep(LONG)));
            assert!(!o.is_completed());
            o.call_once_force(|state| assert!(state.is_poisoned()));

            let cell = Arc::new(OnceLock::new());
            let a = cell.clone();
            cancel_in(move || {
                a.get_or_init(|| {
                    sleep(LONG);
                    1
                });
            });
            assert_eq!(*cell.get_or_init(|| 2), 2);
            let cell = Arc::new(OnceLock::<u32>::new());
            let a = cell.clone();
            cancel_in(move || _ = a.wait());
            static LAZY: LazyLock<u32> = LazyLock::new(|| 42);
            assert_eq!(*LAZY, 42);
        });
    });
}
