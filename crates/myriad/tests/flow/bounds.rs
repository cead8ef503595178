//! How many items are under way.

use crate::common::wait_until;
use crate::each_runtime;
use myriad::channel::{Receiver, Sender, bounded, bounded_drop_oldest};
use myriad::flow::ops::{Ended, Operation, Pipeline, Timed};
use myriad::flow::{merge, mix, mult, pipe, publish, split};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(3600);
/// The buffers in front of the operation and behind it.
const BUFFERS: usize = 2 + 3;

/// How many there are, and how many there were at most.
#[derive(Debug, Default)]
struct Count {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// One that is counted as long as it lives.
#[derive(Debug)]
struct Item(Arc<Count>);

impl Item {
    fn new(count: &Arc<Count>) -> Item {
        let now = count.now.fetch_add(1, SeqCst) + 1;
        count.most.fetch_max(now, SeqCst);
        Item(count.clone())
    }
}

impl Clone for Item {
    fn clone(&self) -> Item {
        Item::new(&self.0)
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, SeqCst);
    }
}

/// Ends an operation, and drops what it has in hand.
type End = Box<dyn FnOnce()>;

fn ends<L: Send + Debug + 'static>(operation: Operation<L>) -> End {
    Box::new(move || {
        operation.cancel();
        drop::<Ended<L>>(operation.join());
    })
}

/// An operation between two channels.
type Start = fn(Receiver<Item>, Sender<Item>) -> End;

/// What it is called, how many items it has in hand, how it is started.
const TABLE: [(&str, usize, Start); 13] = [
    ("pipe", 1, |from, to| ends(pipe(from, to))),
    ("pipeline", 6, |from, to| ends(Pipeline::new(3).start(from, to, |item| item))),
    ("pipeline, unordered", 6, |from, to| ends(Pipeline::new(3).unordered().start(from, to, |item| item))),
    ("pipeline of futures", 6, |from, to| ends(Pipeline::new(3).start_async(from, to, async |item| item))),
    ("pipeline of futures, unordered", 6, |from, to| {
        ends(Pipeline::new(3).unordered().start_async(from, to, async |item| item))
    }),
    // A second tap has one in its buffer, one that goes out of it, and one that goes into it.
    ("mult", 1 + 3, |from, to| {
        let all = mult(from);
        let (last_tx, last) = bounded_drop_oldest(1);
        all.tap(to);
        all.tap(last_tx);
        Box::new(move || {
            all.cancel();
            drop((all.join(), last));
        })
    }),
    ("publish", 1, |from, to| {
        let topics = publish(from, |_| 0);
        topics.subscribe(0, to);
        Box::new(move || {
            topics.cancel();
            drop(topics.join());
        })
    }),
    ("mix", 1, |from, to| {
        let mix = mix(to);
        mix.add(from);
        Box::new(move || {
            mix.cancel();
            drop(mix.join());
        })
    }),
    ("merge", 1, |from, to| ends(merge([from], to))),
    ("split", 1, |from, to| ends(split(from, |_| true, to, bounded(1).0))),
    ("batches", 5, |from, to| ends(pipe(from.batches(5, LONG).flatten(), to))),
    ("throttled", 1, |from, to| ends(pipe(from.throttled(Duration::from_micros(1)), to))),
    ("an adaptor", 1, |from, to| ends(pipe(from.into_iter().filter(|_| true), to))),
];

/// 22: with any operation between a source of 10^6 items and a sink that takes one only when the
/// buffer in front of it is full, no more items live than the buffers and the hands between have
/// room for; and when all has ended, none.
#[test]
fn as_many_items_as_buffers_and_hands() {
    each_runtime(|| {
        for (name, hands, start) in TABLE {
            let count = Arc::new(Count::default());
            let ((source_tx, from), (to, out)) = (bounded(2), bounded(3));
            let counts = count.clone();
            let source = pipe((0..1_000_000).map(move |_| Item::new(&counts)), source_tx);
            let end = start(from, to);
            for _ in 0..50 {
                wait_until(|| out.is_full());
                drop(out.recv().unwrap());
            }
            wait_until(|| out.is_full() && count.now.load(SeqCst) > BUFFERS);
            source.cancel();
            drop(out);
            end();
            let ended = source.join();
            assert!((50..1_000_000).contains(&ended.given), "{name}: {} items", ended.given);
            drop(ended);
            // One is in the source's hand, one in the sink's.
            let (most, bound) = (count.most.load(SeqCst), 1 + BUFFERS + hands + 1);
            assert!(most <= bound, "{name}: {most} items are under way, of at most {bound}");
            assert_eq!(count.now.load(SeqCst), 0, "{name}: items are left");
        }
    });
}
