//! The situations in which a model of core.async goes wrong most easily: what comes out of each
//! stands in `as_core_async/outcomes.txt`, beside what comes out there. (`scripts/core-async.sh`
//! asks core.async itself.)

use crate::common::wait_until;
use crate::each_runtime;
use myriad::channel::{Receiver, Sender, after, bounded, oneshot, rendezvous, unbounded};
use myriad::flow::ops::{Mode, Pipeline, Timed, Why};
use myriad::flow::{mix, mult, pipe, pipeline, pipeline_async, publish};
use myriad::{select, spawn, yield_now};
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::task::{Context, Waker};
use std::time::Duration;

/// What has to come out: in the last column, or in that of core.async where there is no other.
fn expected(number: u32) -> &'static str {
    let rows = include_str!("as_core_async/outcomes.txt").lines().filter(|line| !line.starts_with('#'));
    let mut rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let row = rows.find(|row| row[0] == number.to_string()).expect("it is in the table");
    row.get(3).unwrap_or(&row[2])
}

/// Runs a situation in each runtime.
#[track_caller]
fn check(number: u32, situation: impl Fn() -> Vec<String> + Send + Sync) {
    each_runtime(|| assert_eq!(format!("[{}]", situation().join(" ")), expected(number)));
}

/// As Clojure writes it.
fn value<T: Debug, E>(x: Result<T, E>) -> String {
    x.map_or("nil".into(), |x| format!("{x:?}").replace(',', ""))
}

fn all<T: Debug>(xs: impl IntoIterator<Item = T>) -> String {
    format!("{:?}", xs.into_iter().collect::<Vec<_>>()).replace(',', "")
}

fn of<const N: usize>(xs: [i32; N]) -> Receiver<i32> {
    let (tx, rx) = bounded(N);
    xs.into_iter().for_each(|x| tx.send(x).unwrap());
    rx
}

/// For what must not happen.
fn for_a_while() {
    (0..100).for_each(|_| yield_now());
}

#[test]
fn a_close_ends_puts_that_wait() {
    check(1, || {
        let (tx, rx) = bounded(1);
        tx.send(1).unwrap();
        let mut waits = pin!(tx.send_async(2));
        assert!(waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        tx.close();
        let before = [value(rx.recv()), value(rx.recv())];
        let puts = [myriad::block_on(waits).is_ok(), tx.send(3).is_ok()].map(|done| done.to_string());
        before.into_iter().chain(puts).chain([value(rx.recv())]).collect()
    });
}

#[test]
fn what_a_put_expands_to_waits_for_room() {
    check(2, || {
        let (tx, rx) = bounded(1);
        let tx = tx.transform(|n: i32| 0..n);
        let put = spawn(move || tx.send(5).unwrap());
        wait_until(|| rx.is_full());
        for_a_while();
        let done = put.is_finished().to_string();
        let outcome = [done].into_iter().chain((0..5).map(|_| value(rx.recv()))).collect();
        put.join().unwrap();
        outcome
    });
}

#[test]
fn a_transformation_that_closes() {
    check(3, || {
        let (tx, rx) = bounded(10);
        let (end, taken) = (tx.clone(), AtomicUsize::new(0));
        let tx = tx.transform(move |n: i32| {
            let more = taken.fetch_add(1, SeqCst) < 2;
            if !more {
                end.close();
            }
            more.then_some(n)
        });
        let puts = [1, 2, 3].map(|n| (tx.send(n).is_ok() && !tx.inner().is_closed()).to_string());
        puts.into_iter().chain((0..3).map(|_| value(rx.recv()))).collect()
    });
}

#[test]
fn a_failure_becomes_a_value_or_nothing() {
    check(4, || {
        let ((c_tx, c), (d_tx, d)) = (bounded(3), bounded(3));
        let c_tx = c_tx.transform(|n: i32| Some(10_i32.checked_div(n).unwrap_or(-1)));
        let d_tx = d_tx.transform(|n: i32| 10_i32.checked_div(n));
        for n in [5, 0] {
            c_tx.send(n).unwrap();
            d_tx.send(n).unwrap();
        }
        drop(d_tx);
        [c.recv(), c.recv(), d.recv(), d.recv()].map(value).into()
    });
}

#[test]
fn the_last_batch_may_be_short() {
    check(5, || {
        let mut batches = of([1, 2]).batches(3, Duration::from_secs(3600));
        [batches.next(), batches.next()].map(|batch| value(batch.ok_or(()))).into()
    });
}

#[test]
fn the_slowest_tap_holds_up_the_others() {
    check(6, || {
        let ((tx, rx), (x_tx, x), (y_tx, y)) = (unbounded(), bounded(10), rendezvous());
        let m = mult(rx);
        m.tap(x_tx);
        m.tap(y_tx);
        (0..3).for_each(|n| tx.send(n).unwrap());
        let first = value(x.recv());
        for_a_while();
        let second = x.try_recv().map_or(":timeout".into(), |x| x.to_string());
        let outcome = vec![first, second, value(y.recv()), value(x.recv())];
        drop((tx, y));
        outcome
    });
}

#[test]
fn without_taps_items_are_dropped() {
    check(7, || {
        let (tx, rx) = rendezvous();
        let _m = mult(rx);
        (0..3).map(|n| tx.send(n).is_ok().to_string()).collect()
    });
}

#[test]
fn a_closed_tap_goes_and_one_that_taps_twice_gets_once() {
    check(8, || {
        let ((tx, rx), (x_tx, x), (y_tx, y)) = (rendezvous(), bounded(10), bounded(10));
        let m = mult(rx);
        [x_tx.clone(), x_tx, y_tx].into_iter().for_each(|tap| m.tap(tap));
        tx.send(0).unwrap();
        y.recv().unwrap();
        y.close();
        (1..3).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        x.into_iter().map(|n: i32| n.to_string()).collect()
    });
}

#[test]
fn a_late_tap_is_closed() {
    check(9, || {
        let ((tx, rx), (x_tx, x), (late_tx, late)) = (rendezvous::<i32>(), rendezvous(), rendezvous());
        let m = mult(rx);
        m.tap(x_tx);
        drop(tx);
        let first = value(x.recv());
        m.tap(late_tx);
        vec![first, value(late.recv())]
    });
}

#[test]
fn a_tap_that_goes_holds_up_nobody() {
    check(10, || {
        let ((tx, rx), (x_tx, x), (y_tx, y)) = (unbounded(), bounded(10), rendezvous());
        let m = mult(rx);
        m.tap(x_tx);
        m.tap(y_tx);
        tx.send(0).unwrap();
        let before = value(x.recv());
        // (To untap is to let go of the receiver.)
        drop(y);
        tx.send(1).unwrap();
        let outcome = vec![before, value(x.recv())];
        drop(tx);
        assert_eq!(m.join().given, 2);
        outcome
    });
}

#[test]
fn a_slow_subscriber_holds_up_all_topics_without_a_buffer() {
    let ways = |buffer: usize| {
        let ((tx, rx), (slow_tx, slow), (fast_tx, fast)) = (unbounded(), bounded(buffer), bounded(10));
        let even = publish(rx, |n: &i32| n % 2 == 0);
        even.subscribe(true, slow_tx);
        even.subscribe(false, fast_tx);
        [0, 2, 1].into_iter().for_each(|n| tx.send(n).unwrap());
        if buffer > 1 {
            return value(fast.recv());
        }
        wait_until(|| slow.is_full() && tx.len() == 1);
        for_a_while();
        fast.try_recv().map_or(":timeout".into(), |x| x.to_string())
    };
    check(11, || {
        let (tx, rx) = rendezvous();
        let _nobody = publish(rx, |n: &i32| n % 2 == 0);
        vec![ways(1), ways(2), tx.send(1).is_ok().to_string()]
    });
}

#[test]
fn muted_is_taken_and_paused_is_not() {
    check(12, || {
        let (to, out) = bounded(10);
        let m = mix(to);
        let add = |mode| {
            let (tx, rx) = rendezvous();
            (tx, m.add_as(rx, mode))
        };
        let ((x, _), (y, paused), (z, played)) = (add(Mode::Mute), add(Mode::Pause), add(Mode::Play));
        let muted = x.send(1).is_ok().to_string();
        let mut waits = pin!(y.send_async(2));
        let mut look = || waits.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        assert!(!look());
        for_a_while();
        let not_taken = if look() { "true" } else { ":timeout" };
        let heard = z.send(3).is_ok().to_string();
        let first = value(out.recv());
        m.set([(played, Mode::Solo), (paused, Mode::Play)]);
        while !look() {
            yield_now();
        }
        for_a_while();
        let second = out.try_recv().map_or(":timeout".into(), |x: i32| x.to_string());
        vec![muted, not_taken.into(), heard, first, second]
    });
}

#[test]
fn a_pipeline_keeps_the_order() {
    check(13, || {
        let ((out_tx, out), done) = (rendezvous(), Arc::new(AtomicUsize::new(0)));
        // The first waits for the second.
        let work = move |n: i32| {
            wait_until(|| n > 0 || done.load(SeqCst) > 0);
            done.fetch_add(1, SeqCst);
            n
        };
        pipeline(2, of([0, 1, 2, 3]), out_tx, work).detach();
        out.into_iter().map(|n: i32| n.to_string()).collect()
    });
}

#[test]
fn a_pipeline_goes_on_after_failures() {
    check(14, || {
        let through = |instead: Option<i32>| {
            let (out_tx, out) = rendezvous();
            let work = Pipeline::new(2).on_panic(move |_| instead);
            let fails = |n| 6_i32.checked_div(n).unwrap_or_else(|| crate::common::plan("no quotient"));
            work.start(of([1, 0, 2]), out_tx, fails).detach();
            all(out)
        };
        vec![through(None), through(Some(-1))]
    });
}

#[test]
fn nothing_is_kept_from_item_to_item() {
    check(15, || {
        let (out_tx, out) = rendezvous();
        pipeline(2, of([1, 2, 3, 4]), out_tx, |n| vec![n]).detach();
        out.into_iter().map(all).collect()
    });
}

#[test]
fn a_pipeline_whose_target_is_closed_leaves_the_rest() {
    check(16, || {
        let ((from_tx, from), (to_tx, _)) = (bounded(100), bounded::<i32>(1));
        (0..100).for_each(|n| from_tx.send(n).unwrap());
        let ended = pipeline(2, from.clone(), to_tx, |n| n + 1).join();
        assert!(matches!(ended.why, Why::TargetClosed));
        vec![from.try_recv().is_ok().to_string()]
    });
}

#[test]
fn who_answers_for_nothing_ends_its_item() {
    check(17, || {
        let (tx, rx) = bounded(10);
        let answer = async |n: i32| {
            let (answer, answered) = oneshot();
            match n {
                1 => drop(answer),
                _ => answer.send(n).unwrap(),
            }
            answered.recv_async().await
        };
        let pipeline = pipeline_async(2, of([1, 2]), tx, answer);
        let outcome = [rx.recv().unwrap(), rx.recv().unwrap()].map(value).into();
        assert_eq!(pipeline.join().given, 2);
        outcome
    });
}

#[test]
fn any_number_of_takes_may_wait() {
    check(18, || {
        let (tx, rx) = rendezvous::<i32>();
        (0..1025).for_each(|_| rx.recv_then(drop));
        drop(tx);
        vec!["true".into()]
    });
}

#[test]
fn two_timeouts_are_two() {
    check(19, || {
        let [x, y] = [(); 2].map(|()| after(Duration::from_millis(1)));
        // Each brings its message, so they are not one.
        let one = !(x.recv().is_ok() && y.recv().is_ok());
        vec![one.to_string()]
    });
}

#[test]
fn of_a_put_and_a_take_one_is_done() {
    check(20, || {
        let ((x_tx, x), (y_tx, y)) = (bounded(1), bounded(1));
        y_tx.send(5).unwrap();
        select! {
            biased;
            sent = x_tx.send(1) => sent.unwrap(),
            _ = y.recv() => unreachable!("the first is possible"),
        }
        [x.try_recv(), y.try_recv()].map(value).into()
    });
}

#[test]
fn merged_reduced_and_split() {
    check(21, || {
        let (tx, rx) = bounded(1);
        [of([1, 2]), of([3, 4])].into_iter().for_each(|from| pipe(from, Sender::clone(&tx)).detach());
        drop(tx);
        let mut merged: Vec<i32> = rx.into_iter().collect();
        merged.sort_unstable();
        let sum: i32 = of([1, 2, 3, 4]).into_iter().sum();
        let (even, odd): (Vec<i32>, Vec<i32>) = of([1, 2, 3, 4]).into_iter().partition(|n| n % 2 == 0);
        vec![all(merged), sum.to_string(), all(even), all(odd)]
    });
}
