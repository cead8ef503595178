//! Operations that look at the clock.

use crate::common::{MODES, case, wait_until};
use myriad::channel::{Sender, bounded, unbounded};
use myriad::flow::ops::Timed;
use myriad::sync::Event;
use myriad::{Runtime, block_on, time};
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// In each mode, with a clock that only the test moves.
#[track_caller]
fn each_clock(body: impl Fn(&Runtime)) {
    for mode in MODES {
        for workers in [1, 2] {
            case(mode, workers, |b| b.manual_clock().spare_workers(0), &body);
        }
    }
}

/// Sends, and waits until all was taken.
fn feed<T>(tx: &Sender<T>, items: impl IntoIterator<Item = T>) {
    items.into_iter().for_each(|item| tx.send(item).unwrap());
    wait_until(|| tx.is_empty());
}

/// 5, too: what is there at the end of the channel is a batch.
#[test]
fn batches_by_number_by_time_and_by_the_end() {
    each_clock(|rt| {
        let ((tx, rx), (out_tx, out)) = (unbounded(), unbounded());
        let task = rt.spawn(move || rx.batches(3, SECOND).for_each(|batch| out_tx.send(batch).unwrap()));
        feed(&tx, 0..7);
        assert_eq!((out.recv(), out.recv()), (Ok(vec![0, 1, 2]), Ok(vec![3, 4, 5])));
        assert!(out.is_empty());
        // (It may not wait yet, but then its time ends later.)
        wait_until(|| {
            rt.advance(SECOND / 2);
            !out.is_empty()
        });
        assert_eq!(out.recv(), Ok(vec![6]));
        feed(&tx, 7..9);
        drop(tx);
        assert_eq!(out.recv(), Ok(vec![7, 8]));
        task.join().unwrap();
        assert!(out.is_empty());
    });
}

#[test]
fn a_batch_that_is_given_up_stays() {
    each_clock(|rt| {
        let (tx, rx) = unbounded();
        let given_up = Arc::new(Event::new());
        let says = given_up.clone();
        let task = rt.spawn(move || {
            let mut batches = rx.batches(10, SECOND * 1_000_000_000);
            assert!(time::timeout(SECOND, || batches.next()).is_err());
            let limited = async { time::timeout_async(SECOND, batches.next_async()).await };
            assert!(block_on(limited).is_err());
            says.set();
            batches.collect::<Vec<_>>()
        });
        feed(&tx, 0..3);
        wait_until(|| {
            rt.advance(SECOND);
            given_up.is_set()
        });
        feed(&tx, 3..5);
        drop(tx);
        assert_eq!(task.join().unwrap().concat(), [0, 1, 2, 3, 4]);
    });
}

#[test]
fn the_last_of_each_burst() {
    each_clock(|rt| {
        let ((tx, rx), (out_tx, out)) = (unbounded(), unbounded());
        let task = rt.spawn_async(async move {
            let mut debounced = rx.debounced(SECOND);
            while let Some(item) = debounced.next_async().await {
                out_tx.send(item).unwrap();
            }
        });
        for burst in [0..5, 5..6, 6..9] {
            let last = burst.end - 1;
            for item in burst {
                feed(&tx, [item]);
                rt.advance(SECOND / 2);
            }
            wait_until(|| {
                rt.advance(SECOND / 2);
                !out.is_empty()
            });
            assert_eq!(out.recv(), Ok(last));
        }
        // Closed, the last one comes at once.
        feed(&tx, [9]);
        drop(tx);
        assert_eq!(out.recv(), Ok(9));
        task.join().unwrap();
    });
}

#[test]
fn no_faster_than_that() {
    each_clock(|rt| {
        let ((tx, rx), (out_tx, out)) = (bounded(100), unbounded());
        (0..4).for_each(|n| tx.send(n).unwrap());
        let task = rt.spawn(move || {
            rx.throttled(SECOND).for_each(|item| out_tx.send(item).unwrap());
        });
        for n in 0..4 {
            let quarters = Cell::new(0);
            wait_until(|| {
                if n > 0 {
                    rt.advance(SECOND / 4);
                    quarters.set(quarters.get() + 1);
                }
                !out.is_empty()
            });
            assert_eq!(out.recv(), Ok(n));
            // (The clock may have moved once between the moment of the item before and its receipt
            // here.)
            assert!(n == 0 || quarters.get() >= 3, "{n} came after {quarters:?} quarters of a second");
            // No item is taken before its time.
            assert!(tx.len() >= 3 - n && out.is_empty());
        }
        drop(tx);
        wait_until(|| {
            rt.advance(SECOND / 4);
            task.is_finished()
        });
        task.join().unwrap();
    });
}

#[test]
#[should_panic(expected = "at least one item")]
fn batches_of_nothing() {
    drop(unbounded::<()>().1.batches(0, SECOND));
}
