//! A cancellation in waits of selects and observables, and in blocking calls: it ends the wait, and
//! nothing is lost or taken.

use crate::cancel_common::*;
use myriad::channel::{bounded, broadcast, promise, unbounded, watch};
use myriad::select::{self, Order};
use myriad::time::{sleep, timeout};
use myriad::{blocking, cancel, yield_now};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

#[test]
fn observables() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (tx, mut rx) = promise::<u32>();
            let mut again = rx.clone();
            cancel_in(move || rx.recv());
            tx.send(1).unwrap();
            assert_eq!(*again.recv().unwrap(), 1);
            let (tx, mut rx) = watch(0);
            let mut again = rx.clone();
            cancel_in(move || rx.recv());
            tx.send(1).unwrap();
            assert_eq!(*again.recv().unwrap(), 1);
            let (tx, mut rx) = broadcast::<u32>(4);
            let mut again = tx.subscribe();
            cancel_in(move || rx.recv_timeout(LONG).is_ok());
            tx.send(1).unwrap();
            assert_eq!(*again.recv().unwrap().message().unwrap(), 1);
        });
    });
}

#[test]
fn select_of_two() {
    in_both_modes(|rt| {
        rt.run(|| {
            let ((tx, rx), (full, rest)) = (unbounded::<u32>(), bounded::<u32>(1));
            full.send(0).unwrap();
            for limit in [false, true] {
                let (rx, full) = (rx.clone(), full.clone());
                cancel_in(move || {
                    let arms = (rx.recv_arm(), full.send_arm(1));
                    match limit {
                        false => drop(select::wait(Order::Fair, arms)),
                        true => drop(select::wait_timeout(Order::Fair, LONG, arms)),
                    }
                });
            }
            tx.send(7).unwrap();
            assert_eq!(rx.try_recv(), Ok(7));
            assert_eq!(rest.try_recv(), Ok(0));
            assert!(rest.try_recv().is_err(), "nothing was sent");
            // With a future among the arms it is a future that is dropped.
            let r = rx.clone();
            cancel_in(move || {
                select::wait(Order::Fair, (r.recv_arm(), select::future(std::future::pending::<()>())));
            });
            tx.send(8).unwrap();
            assert_eq!(rx.try_recv(), Ok(8));
        });
    });
}

/// What borrows is waited for. The closure hears of it where it waits, and where it asks.
#[test]
fn a_blocking_call() {
    in_both_modes(|rt| {
        rt.run(|| {
            let (drops, drops2) = (Drops::new(), Drops::new());
            let (_tx, rx) = unbounded::<u32>();
            let held = drops.one();
            cancel_in(move || {
                let mut local = 0;
                blocking(|| {
                    let _held = &held;
                    local += 1;
                    _ = rx.recv();
                    local += 1;
                });
            });
            drops.assert_all(1);
            let (seen, held) = (Arc::new(AtomicBool::new(false)), drops2.one());
            let says = seen.clone();
            let h = begin(move || {
                let value = blocking(move || {
                    let _held = held;
                    while !cancel::is_cancelled() {
                        std::thread::yield_now();
                    }
                    says.store(true, SeqCst);
                    42
                });
                // It was done in spite of it: so the cancellation arrives here.
                assert_eq!(value, 42);
                sleep(LONG);
            });
            yield_now();
            h.cancel();
            assert!(h.join().unwrap_err().is_cancelled());
            drops2.assert_all(1);
            // (If it never began it has seen nothing.)
            let _ = seen;
            // A limit ends it likewise; and the thread of the pool is as it was.
            for _ in 0..10 {
                assert!(timeout(Duration::from_micros(200), || blocking(|| sleep(LONG))).is_err());
                assert_eq!(blocking(|| (cancel::is_cancelled(), 1)), (false, 1));
            }
        });
    });
}

// -------------------------------------------------------------------------------------------------------
// at the same time
