//! Operations on channels.

use crate::common::wait_until;
use crate::each_runtime;
use myriad::channel::{Receiver, Sender, bounded, rendezvous, unbounded};
use myriad::flow::ops::{Pipeline, Why};
use myriad::flow::{merge, mix, mult, pipe, pipeline, publish, split};
use myriad::sync::{Event, Semaphore};
use myriad::{spawn, time};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);

fn collect<T: Send + 'static>(rx: Receiver<T>) -> myriad::JoinHandle<Vec<T>> {
    spawn(move || rx.into_iter().collect())
}

#[test]
fn a_pipe_gives_all_and_closes() {
    each_runtime(|| {
        let (tx, rx) = bounded(3);
        let ended = pipe(0..1000, tx);
        assert!(rx.iter().eq(0..1000));
        let ended = ended.join();
        assert!(ended.is_complete() && ended.left.is_empty());
        assert_eq!((ended.taken, ended.given), (1000, 1000));
        // Several into one channel.
        let (tx, rx) = bounded(3);
        let pipes: Vec<_> = (0..5).map(|n| pipe(n * 100..(n + 1) * 100, tx.clone())).collect();
        drop(tx);
        let got: HashSet<i32> = rx.into_iter().collect();
        assert_eq!(got.len(), 500);
        assert!(pipes.into_iter().all(|pipe| pipe.join().given == 100));
    });
}

#[test]
fn what_a_pipe_has_in_hand_comes_back() {
    each_runtime(|| {
        let (tx, rx) = bounded(1);
        let ended = pipe(0.., tx);
        assert_eq!(rx.recv(), Ok(0));
        drop(rx);
        let ended = ended.join();
        assert!(matches!(ended.why, Why::TargetClosed), "{}", ended.why);
        assert_eq!((ended.left.as_slice(), ended.given + 1), (&[ended.given as i32][..], ended.taken));
        // Cancelled while it waits for room, and while it waits for an item.
        let (tx, rx) = bounded(1);
        let waits = pipe(0.., tx);
        wait_until(|| rx.is_full());
        waits.cancel();
        let ended = waits.join();
        assert!(matches!(ended.why, Why::Cancelled));
        assert_eq!(rx.into_iter().chain(ended.left).collect::<Vec<_>>(), (0..ended.taken as i32).collect::<Vec<_>>());
        let ((_keep, from), (to, _rx)) = (bounded::<i32>(1), bounded(1));
        let waits = pipe(from, to);
        waits.cancel();
        assert!(matches!(waits.join().why, Why::Cancelled));
        // An iterator that panics.
        let (tx, rx) = unbounded();
        let ended = pipe((0..9).inspect(|n| assert!(*n < 5, "five")), tx).join();
        let Why::Panicked(panic) = ended.why else { panic!() };
        assert!(panic.message().contains("five"));
        assert!(rx.into_iter().eq(0..5));
    });
}

/// 13: the order is that of the items, whoever is quick.
#[test]
fn a_pipeline_keeps_the_order() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(4), bounded(4));
        let source = pipe(0..3000_u64, tx);
        let work = pipeline(5, rx, out_tx, |n| {
            (0..n % 4).for_each(|_| myriad::yield_now());
            n * 2
        });
        assert!(out.iter().eq((0..3000).map(|n| n * 2)));
        let ended = work.join();
        assert!(ended.is_complete() && source.join().is_complete());
        assert_eq!((ended.taken, ended.given, ended.left.len()), (3000, 3000, 0));
    });
}

/// 13: so many are taken ahead and not more: the first item is not done before the window is full.
#[test]
fn a_pipeline_is_ahead_by_its_window() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (unbounded(), rendezvous());
        (0..100).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        let begun = Arc::new(AtomicUsize::new(0));
        let (counts, go) = (begun.clone(), Arc::new(Event::new()));
        let waits = go.clone();
        let work = Pipeline::new(3).window(7).start(rx.clone(), out_tx, move |n: u32| {
            counts.fetch_add(1, SeqCst);
            if n == 0 {
                waits.wait();
            }
            n
        });
        wait_until(|| begun.load(SeqCst) == 7);
        (0..100).for_each(|_| myriad::yield_now());
        assert_eq!((begun.load(SeqCst), rx.len()), (7, 93));
        go.set();
        assert!(out.into_iter().eq(0..100));
        assert_eq!(work.join().given, 100);
    });
}

#[test]
fn without_order_results_come_as_they_are_ready() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(4), bounded(4));
        let source = pipe(0..100, tx);
        let go = Arc::new(Event::new());
        let waits = go.clone();
        let first_waits = move |n| {
            if n == 0 {
                waits.wait();
            }
            n
        };
        let work = Pipeline::new(3).unordered().start(rx, out_tx, first_waits);
        // All but the first, which is in the hands of one of three.
        let others: HashSet<i32> = out.iter().take(99).collect();
        assert!(!others.contains(&0) && others.len() == 99);
        go.set();
        assert!(out.into_iter().eq([0]));
        assert_eq!((work.join().given, source.join().given), (100, 100));
    });
}

/// 14: a panic ends the pipeline; what was before is given, the rest comes back, or stays.
#[test]
fn a_panic_ends_a_pipeline() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (unbounded(), unbounded());
        (0..100).for_each(|n| tx.send(n).unwrap());
        let work = pipeline(3, rx.clone(), out_tx, |n| {
            assert!(n != 20, "twenty");
            n
        });
        let ended = work.join();
        let Why::Panicked(panic) = ended.why else { panic!("{}", ended.why) };
        assert!(panic.message().contains("twenty"));
        let given: Vec<i32> = out.into_iter().collect();
        assert!(given.iter().copied().eq(0..20));
        let seen: HashSet<i32> = given.into_iter().chain(ended.left).chain(rx.try_iter()).collect();
        assert_eq!(seen.len(), 99);
        assert!(ended.taken < 100 && ended.given == 20);
        assert!(tx.send(1).is_ok(), "who has a clone of the source goes on");
    });
}

/// 14: and with a function for panics it goes on.
#[test]
fn a_pipeline_goes_on_after_panics() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(4), bounded(4));
        let source = pipe(0..100, tx);
        let gaps = |panic: myriad::flow::graph::Panic| panic.message().contains("ten").then_some(-1);
        let work = Pipeline::new(3).on_panic(gaps).start(rx, out_tx, |n| {
            assert!(n % 10 != 0, "ten");
            assert!(n % 10 != 5, "five");
            n
        });
        let want = (0..100).filter(|n| n % 10 != 5).map(|n| if n % 10 == 0 { -1 } else { n });
        assert!(out.into_iter().eq(want));
        let ended = work.join();
        assert!(ended.is_complete() && source.join().is_complete());
        assert_eq!((ended.taken, ended.given), (100, 90));
        // A panic of that function ends it.
        let ((tx, rx), (out_tx, out)) = (unbounded(), unbounded());
        (0..9).for_each(|n| tx.send(n).unwrap());
        let panics = |_| panic!("in the handler");
        let ended = Pipeline::new(2).on_panic(panics).start(rx, out_tx, |n: i32| assert!(n < 3)).join();
        assert!(matches!(ended.why, Why::Panicked(panic) if panic.message() == "in the handler"));
        assert_eq!(out.into_iter().count(), 3);
    });
}

/// 16: when nobody receives, nothing more is taken, and what was made comes back.
#[test]
fn a_pipeline_whose_target_is_closed() {
    each_runtime(|| {
        for settings in [Pipeline::new(3), Pipeline::new(3).unordered()] {
            let ((tx, rx), (out_tx, out)) = (unbounded(), bounded(2));
            (0..1000).for_each(|n| tx.send(n).unwrap());
            let work = settings.start(rx.clone(), out_tx, |n: i32| n);
            let mut got: Vec<i32> = out.iter().take(10).collect();
            drop(out);
            let ended = work.join();
            assert!(matches!(ended.why, Why::TargetClosed), "{}", ended.why);
            assert!(ended.taken < 100, "{}", ended.taken);
            // (What stood in the channel is gone with it.)
            got.extend(ended.left);
            got.extend(rx.try_iter());
            let all: HashSet<i32> = got.iter().copied().collect();
            assert!(all.len() == got.len() && all.len() >= 1000 - 2, "{}", all.len());
        }
    });
    // Those that wait for an item see it at the next one.
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(1), bounded(1));
        let work = pipeline(3, rx, out_tx, |n: i32| n);
        drop(out);
        while tx.send(1).is_ok() {}
        assert!(matches!(work.join().why, Why::TargetClosed));
    });
}

/// 23: a cancelled pipeline ends its calls, and both neighbours.
#[test]
fn a_pipeline_is_cancelled() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (bounded(2), bounded(2));
        let source = pipe(0.., tx);
        let begun = Arc::new(Semaphore::new(0));
        let says = begun.clone();
        let work = pipeline(3, rx, out_tx, move |n: i32| {
            if n >= 10 {
                says.add_permits(1);
                time::sleep(LONG);
            }
            n
        });
        let got = collect(out);
        drop(begun.acquire_many(3));
        work.cancel();
        let ended = work.join();
        assert!(matches!(ended.why, Why::Cancelled));
        assert_eq!((ended.taken, ended.given), (13, 10));
        assert_eq!(got.join().unwrap().len(), 10);
        assert!(matches!(source.join().why, Why::TargetClosed));
    });
}

/// 22: nobody is ahead by more than the buffers and hands between.
#[test]
fn back_pressure_from_end_to_end() {
    each_runtime(|| {
        const N: usize = 3000;
        let (made, seen) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (makes, sees) = (made.clone(), seen.clone());
        // Buffers 1 + 2 + 3 + 4, hands 1 + 6 + 1 + 1 + 1, and the one that the sink has.
        let bound = 10 + 10 + 1;
        let source = (0..N).inspect(move |_| {
            let ahead = makes.fetch_add(1, SeqCst) + 1 - sees.load(SeqCst);
            assert!(ahead <= bound, "{ahead} items are under way");
        });
        let ((a_tx, a), (b_tx, b), (c_tx, c), (d_tx, d)) = (bounded(1), bounded(2), bounded(3), bounded(4));
        let stages = [pipe(source, a_tx), pipeline(3, a, b_tx, |n| n)];
        let all = mult(b);
        all.tap(c_tx);
        let topics = publish(c, |_| 0);
        topics.subscribe(0, d_tx);
        for n in d {
            seen.fetch_add(1, SeqCst);
            if n % 100 == 0 {
                time::sleep(Duration::from_micros(50));
            }
        }
        assert_eq!(seen.load(SeqCst), N);
        for stage in stages {
            let ended = stage.join();
            assert!(ended.is_complete(), "{}", ended.why);
        }
        assert!(all.join().is_complete() && topics.join().is_complete());
    });
}

/// 23: of a chain of stages any one is cancelled: those behind it end, and those in front of it, up
/// to a `mult` or `publish`.
#[test]
fn any_stage_is_cancelled() {
    for cancelled in 0..5 {
        each_runtime(|| {
            let ((a_tx, a), (b_tx, b), (c_tx, c), (d_tx, d)) = (bounded(1), bounded(2), bounded(3), bounded(4));
            let source = pipe(0.., a_tx);
            let work = pipeline(3, a, b_tx, |n: u64| n);
            let all = mult(b);
            all.tap(c_tx);
            let topics = publish(c, |_| 0);
            topics.subscribe(0, d_tx);
            assert!(d.recv().is_ok());
            let is_above = cancelled <= 2;
            match cancelled {
                0 => source.cancel(),
                1 => work.cancel(),
                2 => all.cancel(),
                3 => topics.cancel(),
                _ => {}
            }
            if is_above {
                d.iter().for_each(drop);
            } else {
                // A `mult` without taps, as a `publish`, goes on, and drops what nobody wants.
                drop(d);
                source.cancel();
            }
            _ = (source.join(), work.join(), all.join(), topics.join());
        });
    }
}

/// 6: the slowest tap holds up the others; each gets each item once.
#[test]
fn taps_get_each_item_once() {
    each_runtime(|| {
        let ((tx, rx), (x_tx, x), (y_tx, y)) = (rendezvous(), unbounded(), rendezvous());
        let all = mult(rx);
        all.tap(x_tx.clone());
        all.tap(x_tx);
        all.tap(y_tx);
        tx.send(0).unwrap();
        assert_eq!(x.recv(), Ok(0));
        // It has the next item when `y` has the last one.
        assert!(tx.try_send(1).is_err() && x.is_empty());
        assert_eq!(y.recv(), Ok(0));
        let rest = collect(y);
        (1..100).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        assert!(x.into_iter().eq(1..100) && rest.join().unwrap().into_iter().eq(1..100));
        assert_eq!(all.join().given, 100);
    });
}

/// 7 and 9: without taps items are dropped; a tap gets what is taken after it; one that comes too
/// late is closed.
#[test]
fn taps_come_when_they_like() {
    each_runtime(|| {
        let (tx, rx) = rendezvous();
        let all = mult(rx);
        (0..10).for_each(|n| tx.send(n).unwrap());
        let (a_tx, a) = unbounded();
        all.tap(a_tx);
        (10..20).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        let got: Vec<i32> = a.into_iter().collect();
        assert!(got.ends_with(&(10..20).collect::<Vec<_>>()) && got.len() <= 11, "{got:?}");
        let (late_tx, late) = bounded::<i32>(1);
        all.tap(late_tx);
        assert!(late.recv().is_err());
        let ended = all.join();
        assert_eq!((ended.taken, ended.given), (20, got.len() as u64));
    });
}

/// 8 and 10: a tap that is closed goes, also while an item waits for it; the others lose nothing.
#[test]
fn taps_go_when_they_like() {
    each_runtime(|| {
        let ((tx, rx), (a_tx, a), (b_tx, b)) = (unbounded(), bounded(1), unbounded());
        let all = mult(rx);
        all.tap(a_tx);
        all.tap(b_tx);
        (0..100).for_each(|n| tx.send(n).unwrap());
        // It waits for `a`, who leaves.
        wait_until(|| a.is_full() && b.len() == 1);
        drop(a);
        drop(tx);
        assert!(b.into_iter().eq(0..100));
        assert_eq!(all.join().given, 100);
    });
}

/// A clone that panics ends it, and the item comes back.
#[test]
fn a_clone_that_panics() {
    struct Item(u32, Arc<AtomicBool>);
    impl Clone for Item {
        fn clone(&self) -> Item {
            assert!(!self.1.load(SeqCst), "no copy");
            Item(self.0, self.1.clone())
        }
    }
    each_runtime(|| {
        let ((tx, rx), (a_tx, a), (b_tx, b)) = (rendezvous(), unbounded(), unbounded());
        let all = mult(rx);
        all.tap(a_tx);
        all.tap(b_tx);
        let refuses = Arc::new(AtomicBool::new(false));
        tx.send(Item(1, refuses.clone())).unwrap();
        // (A send of a rendezvous may return before the clone is made.)
        wait_until(|| a.len() == 1 && b.len() == 1);
        refuses.store(true, SeqCst);
        tx.send(Item(2, refuses.clone())).unwrap();
        let ended = all.join();
        assert!(matches!(&ended.why, Why::Panicked(panic) if panic.message() == "no copy"), "{}", ended.why);
        assert_eq!((ended.given, ended.left[0].0), (1, 2));
        assert_eq!((a.into_iter().count(), b.into_iter().count()), (1, 1));
    });
}

/// 11: topics; a slow subscriber holds up all, unless it has a buffer.
#[test]
fn topics() {
    each_runtime(|| {
        let (tx, rx) = rendezvous();
        let by_rest = publish(rx, |n: &u32| n % 3);
        let ends: Vec<Receiver<u32>> = (0..2)
            .map(|topic| {
                let (tx, rx) = unbounded();
                by_rest.subscribe(topic, tx);
                rx
            })
            .collect();
        let (both_tx, both) = unbounded();
        by_rest.subscribe(0, both_tx.clone());
        by_rest.subscribe(1, both_tx);
        let (slow_tx, slow): (Sender<u32>, _) = bounded(1);
        by_rest.subscribe(0, slow_tx);
        (0..4).for_each(|n| tx.send(n).unwrap());
        // 0 and 3 are for the slow one: one fits.
        assert!(slow.is_full() && tx.try_send(1).is_err());
        assert_eq!((slow.recv(), slow.recv()), (Ok(0), Ok(3)));
        drop(slow);
        (4..30).for_each(|n| tx.send(n).unwrap());
        drop(tx);
        for (topic, end) in (0..).zip(ends) {
            assert!(end.into_iter().eq((0..30).filter(|n| n % 3 == topic)));
        }
        assert!(both.into_iter().eq((0..30).filter(|n| n % 3 < 2)));
        let ended = by_rest.join();
        assert_eq!((ended.taken, ended.given), (30, 20));
    });
}

#[test]
fn a_topic_function_that_panics() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, out)) = (unbounded(), unbounded());
        (0..10).for_each(|n| tx.send(n).unwrap());
        let topics = publish(rx.clone(), |n: &i32| assert!(*n != 5, "five"));
        topics.subscribe((), out_tx);
        let ended = topics.join();
        assert!(matches!(&ended.why, Why::Panicked(panic) if panic.message() == "five"));
        assert_eq!((ended.taken, ended.left.as_slice(), rx.len()), (6, &[5][..], 4));
        assert!(out.into_iter().count() <= 5);
    });
}

#[test]
fn channels_merge_and_split() {
    each_runtime(|| {
        let (inputs, sources): (Vec<_>, Vec<_>) = (0..4)
            .map(|k| {
                let (tx, rx) = bounded(2);
                (rx, pipe(k * 100..k * 100 + 100, tx))
            })
            .unzip();
        let ((merged_tx, merged), (even_tx, even), (odd_tx, odd)) = (bounded(2), bounded(2), bounded(2));
        let (merge, split) = (merge(inputs, merged_tx), split(merged, |n| n % 2 == 0, even_tx, odd_tx));
        let (even, odd) = (collect(even), collect(odd));
        let mut all = even.join().unwrap();
        assert!(all.len() == 200 && all.iter().all(|n| n % 2 == 0));
        all.extend(odd.join().unwrap());
        all.sort_unstable();
        assert!(all.into_iter().eq(0..400));
        assert_eq!((merge.join().given, split.join().given), (400, 400));
        assert!(sources.into_iter().all(|source| source.join().is_complete()));
    });
}

/// The item for which nobody is there comes back, also from a function that panics.
#[test]
fn ends_of_a_split() {
    each_runtime(|| {
        let ((tx, rx), (even_tx, even), (odd_tx, odd)) = (unbounded(), unbounded(), unbounded());
        (0..4).for_each(|n| tx.send(n).unwrap());
        drop(odd);
        let ended = split(rx.clone(), |n| n % 2 == 0, even_tx.clone(), odd_tx.clone()).join();
        assert!(matches!(ended.why, Why::TargetClosed));
        assert_eq!((ended.given, ended.left, even.recv(), rx.len()), (1, vec![1], Ok(0), 2));
        let ended = split(rx, |n| *n < 3 || panic!("planned: no more"), even_tx, odd_tx).join();
        assert!(matches!(ended.why, Why::Panicked(panic) if panic.message() == "planned: no more"));
        assert_eq!((ended.given, ended.left, even.into_iter().count()), (1, vec![3], 1));
    });
}

/// Awaited, from futures.
#[test]
fn operations_are_awaited() {
    each_runtime(|| {
        let (tx, rx) = bounded(3);
        let task = myriad::spawn_async(async move { pipe(0..100, tx).await });
        assert_eq!(rx.into_iter().count(), 100);
        assert!(task.join().unwrap().is_complete());
        let numbers = || {
            let (tx, rx) = bounded(3);
            pipe(0..10, tx).detach();
            rx
        };
        let task = myriad::spawn_async(async move {
            let (all, topics, news) = (mult(numbers()), publish(numbers(), |n| n % 3), mix(unbounded().0));
            news.add(numbers());
            [all.await.taken, topics.await.taken, news.await.taken]
        });
        assert_eq!(task.join().unwrap()[..2], [10, 10]);
    });
}

/// Panics in its destructor, once.
#[derive(Clone, Debug)]
struct Bad(Arc<AtomicBool>);

impl Bad {
    fn new() -> Bad {
        Bad(Arc::new(AtomicBool::new(true)))
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        assert!(!self.0.swap(false, SeqCst), "in a destructor");
    }
}

/// Of what an operation holds when it is cancelled: the process goes on, and the handle says so.
#[test]
fn destructors_that_panic_while_an_operation_is_cancelled() {
    each_runtime(|| {
        // An iterator.
        let bad = Bad::new();
        let (tx, rx) = bounded(1);
        let work = pipe((0..).inspect(move |_| _ = &bad), tx);
        wait_until(|| rx.is_full());
        work.cancel();
        let ended = work.join();
        assert!(matches!(&ended.why, Why::Panicked(panic) if panic.message() == "in a destructor"));
        assert_eq!(ended.left.len() as u64 + ended.given, ended.taken);
        // A message that is left in the source; the function; a clone that waits for room.
        let ((tx, rx), (out_tx, _out)) = (unbounded(), bounded::<u32>(1));
        (0..20).for_each(|_| tx.send(Bad::new()).unwrap());
        let (begun, bad) = (Arc::new(Event::new()), Bad::new());
        let says = begun.clone();
        let work = pipeline(1, rx, out_tx, move |item: Bad| {
            _ = &bad;
            item.0.store(false, SeqCst);
            says.set();
            time::sleep(LONG);
            1
        });
        begun.wait();
        work.cancel();
        assert!(matches!(work.join().why, Why::Panicked(_)));
        let ((tx, rx), (a_tx, a), (b_tx, _b)) = (unbounded(), bounded(1), bounded(1));
        let all = mult(rx);
        all.tap(a_tx);
        all.tap(b_tx);
        let items: Vec<Bad> = (0..2).map(|_| Bad::new()).collect();
        items.iter().for_each(|item| tx.send(item.clone()).unwrap());
        wait_until(|| a.is_full() && tx.is_empty());
        all.cancel();
        let ended = all.join();
        ended.left.iter().chain(&items).for_each(|item| item.0.store(false, SeqCst));
    });
}

/// Of several things that an operation lets go of at its end: each is dropped, one panic after the
/// other.
#[test]
fn destructors_that_all_panic_at_the_end() {
    each_runtime(|| {
        let ((tx, rx), (out_tx, _out)) = (unbounded::<u32>(), unbounded());
        let (f, on_panic) = (Bad::new(), Bad::new());
        let (seen, also) = (f.0.clone(), on_panic.0.clone());
        let settings = Pipeline::new(1).on_panic(move |_| {
            _ = &on_panic;
            None
        });
        let work = settings.start(rx, out_tx, move |n| {
            _ = &f;
            n
        });
        drop(tx);
        assert!(matches!(&work.join().why, Why::Panicked(panic) if panic.message() == "in a destructor"));
        assert!(!seen.load(SeqCst) && !also.load(SeqCst));
    });
}
