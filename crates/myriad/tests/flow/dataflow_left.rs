//! Dataflow: nodes whose body is blocked when its runtime ends.

use crate::common::{Drops, each_owned, wait_until, watch};
use myriad::channel::{Receiver, Sender, rendezvous, unbounded};
use myriad::flow::graph::Cause;
use myriad::flow::{self, Bulk, Handle, NodeError, Options, Sequence};
use myriad::{Runtime, block_on, cancel};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const LEFT: &str = "the node 'left' was still blocked when its runtime ended";

/// What the body of a blocked node waits for, and who says that it has begun.
struct Blocks {
    begun: Sender<()>,
    never: Receiver<u32>,
}

impl Blocks {
    /// The other side: hears of the begin, and keeps the body from an end.
    fn new() -> (Blocks, Receiver<()>, Sender<u32>) {
        let ((begun, is_begun), (tx, never)) = (unbounded(), rendezvous());
        (Blocks { begun, never }, is_begun, tx)
    }

    fn wait(&self) -> u32 {
        self.begun.send(()).unwrap();
        self.never.recv().unwrap()
    }
}

fn on(rt: &Runtime, name: &str) -> Options {
    flow::named(name).pool(rt.handle())
}

/// A node of this runtime that is blocked for ever, in its body.
fn blocked(rt: &Runtime) -> (Handle<u32>, Sender<u32>) {
    let (blocks, is_begun, never) = Blocks::new();
    let node = on(rt, "left").spawn(move || blocks.wait(), ());
    is_begun.recv().unwrap();
    (node, never)
}

#[track_caller]
fn assert_left(error: &NodeError) {
    assert!(matches!(error.cause(), Cause::RuntimeEnded), "{error}");
    assert_eq!(error.root(), "left");
}

/// The runtime is dropped, or shut down with a limit: the node has ended, and so have nodes behind
/// it, of that runtime and of others, with the node as the root.
#[test]
fn a_runtime_leaves_the_body_of_a_node() {
    each_owned(|mode, rt| {
        for is_dropped in [true, false] {
            let (ends, other) = (mode.runtime(rt.handle().workers()), mode.runtime(1));
            let (node, _never) = blocked(&ends);
            let drops = Drops::new();
            let value = drops.one();
            let behind = on(&ends, "behind").spawn(move |n: &u32| (n + 1, value).0, (&node,));
            let far = on(&other, "far").spawn(|n: &u32| n + 1, (&behind,));
            let mine = on(&rt, "mine").spawn(|a: &u32, b: u32| a + b, (&node, far));
            if is_dropped {
                drop(ends);
            } else {
                assert!(!ends.shutdown(Duration::from_millis(5)).is_clean());
            }
            let error = mine.join().unwrap_err();
            assert_left(&error);
            assert_eq!(error.path(), ["left", "mine"]);
            assert_eq!(error.others()[0].path(), ["left", "behind", "far"]);
            assert_eq!(behind.join().unwrap_err().to_string(), format!("{LEFT}; so 'behind' did not run"));
            assert!(node.is_done());
            // Nothing is left to cancel.
            node.cancel();
            let late = on(&rt, "late").spawn(|n: u32| n + 1, (node,));
            assert_eq!(late.join().unwrap_err().path(), ["left", "late"]);
            drops.assert_all(1);
        }
    });
}

/// Whoever waits already is told: a plain thread, a task of another runtime, a future.
#[test]
fn who_waits_for_a_node_that_is_left() {
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let (node, _never) = blocked(&ends);
        let node = Arc::new(node);
        let behind = on(&ends, "behind").spawn(|n: &u32| n + 1, (&*node,));
        let next = || behind.map(|n| n + 1);
        let (joins, awaits) = (next(), next());
        let thread = thread::spawn(move || joins.join());
        let (task, future) = (node.clone(), node.clone());
        let task = rt.spawn(move || task.get().copied());
        let future = rt.spawn_async(async move { future.get_async().await.copied() });
        let awaited = thread::spawn(move || block_on(awaits.join_async()));
        wait_until(|| Arc::strong_count(&node) == 3);
        assert!(!ends.shutdown(Duration::ZERO).is_clean());
        let told = [thread.join().unwrap(), task.join().unwrap(), future.join().unwrap(), awaited.join().unwrap()];
        told.iter().for_each(|told| assert_left(told.as_ref().unwrap_err()));
    });
}

/// A body that is blocked in a future, and nodes that others wait for as futures.
#[test]
fn a_body_that_waits_for_a_future() {
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let (begun, is_begun) = unbounded();
        let body = move || {
            begun.send(()).unwrap();
            block_on(std::future::pending::<u32>())
        };
        let node = on(&ends, "left").spawn(body, ());
        is_begun.recv().unwrap();
        let behind = on(&rt, "behind").spawn(|n: u32| n + 1, (node,));
        let awaits = rt.spawn_async(behind.join_async());
        drop(ends.shutdown(Duration::ZERO));
        let error = awaits.join().unwrap().unwrap_err();
        assert_left(&error);
        assert_eq!(error.path(), ["left", "behind"]);
    });
}

/// Values that were lent to the body stay lent: they can be read, and nobody gets them for good.
#[test]
fn values_that_stay_lent() {
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let drops = Drops::new();
        let counts = drops.clone();
        let input = || {
            let counts = counts.clone();
            on(&rt, "input").spawn(move || counts.one(), ())
        };
        let (lent, early, late, other) = (input(), input(), input(), input());
        let reads = on(&rt, "reads").spawn(|_: &_| 1, (&lent,));
        let (blocks, is_begun, _never) = Blocks::new();
        let body = move |_: &_, _: &_, _: &_, _: String| blocks.wait();
        let node = on(&ends, "left").spawn(body, (&lent, &early, &late, "a text".to_owned()));
        is_begun.recv().unwrap();
        let moved = on(&rt, "moved").spawn(|_, _| (), (early, other));
        let joins = thread::spawn(move || late.join().map(drop));
        drop(ends.shutdown(Duration::ZERO));
        let error = moved.join().unwrap_err();
        assert_left(&error);
        assert_eq!(error.path(), ["left", "moved"]);
        assert_left(&joins.join().unwrap().unwrap_err());
        assert_eq!(reads.join().unwrap(), 1);
        assert!(lent.get().is_ok());
        assert_left(&lent.join().unwrap_err());
        assert_left(&node.join().unwrap_err());
        // Of the four, that which was not lent to the body.
        wait_until(|| drops.dropped() == 1);
        assert_eq!(drops.made(), 4);
    });
}

/// What is given for the value of a node that was left: a list, the first of several, a handle that
/// a body returns.
#[test]
fn several_nodes_of_which_one_is_left() {
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let (node, _never) = blocked(&ends);
        let ok = || on(&rt, "ok").spawn(|| 1, ());
        let (all, (first, _first)) = (flow::all(vec![ok(), node]), blocked(&ends));
        let any = flow::any(vec![first]);
        let (inner, _inner) = blocked(&ends);
        let flat = on(&rt, "outer").spawn(move || inner, ()).flatten();
        let (second, _second) = blocked(&ends);
        let wins = flow::any(vec![second, ok()]);
        drop(ends.shutdown(Duration::ZERO));
        assert_left(&all.join().unwrap_err());
        assert_left(&any.join().unwrap_err());
        assert_left(&flat.join().unwrap_err());
        assert_eq!(wins.join().unwrap(), (1, 1));
    });
}

/// The next node of a sequence comes to its turn: a node that is left has had its own.
#[test]
fn a_sequence_goes_on_behind_a_node_that_is_left() {
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let sequence = Sequence::new();
        let (blocks, is_begun, _never) = Blocks::new();
        let node = on(&ends, "left").in_sequence(&sequence).spawn(move || blocks.wait(), ());
        let next = on(&rt, "next").in_sequence(&sequence).spawn(|| 2, ());
        is_begun.recv().unwrap();
        drop(ends.shutdown(Duration::ZERO));
        assert_eq!(next.join().unwrap(), 2);
        assert_eq!(sequence.spawn(|| 3, ()).join().unwrap(), 3);
        assert_left(&node.join().unwrap_err());
    });
}

/// A body with limits and retries, which is no other for the end of its runtime.
#[test]
fn limits_do_not_hide_the_end_of_a_runtime() {
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let (blocks, is_begun, _never) = Blocks::new();
        let hour = Duration::from_secs(3600);
        let node = on(&ends, "left").time_limit(hour).time_limit_in_all(hour).retries(3);
        let node = node.spawn(move || blocks.wait(), ());
        is_begun.recv().unwrap();
        drop(ends.shutdown(Duration::ZERO));
        assert_left(&node.join().unwrap_err());
    });
}

/// A long chain behind it, and many that need it, end in constant space.
#[test]
fn many_nodes_behind_one_that_is_left() {
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let (node, _never) = blocked(&ends);
        let (drops, bulk) = (Drops::new(), Bulk::new());
        let mut last = on(&rt, "first").in_bulk(&bulk).spawn(|n: &u32| *n, (&node,));
        for _ in 0..20_000 {
            let value = drops.one();
            last = last.map(move |n| (*n, value).0);
        }
        let wide: Vec<_> = (0..1000).map(|_| node.map(|n| *n)).collect();
        bulk.submit();
        drop(ends.shutdown(Duration::ZERO));
        let error = last.join().unwrap_err();
        assert_left(&error);
        assert_eq!(error.path().len(), 20_002);
        wide.into_iter().for_each(|node| assert_left(&node.join().unwrap_err()));
        drops.wait_all(20_000);
    });
}

/// The destructor of a value that was lent is blocked, before the node has said how it has ended.
#[test]
fn a_destructor_at_the_end_of_a_body() {
    struct Waits(Blocks);
    impl Drop for Waits {
        fn drop(&mut self) {
            cancel::shield(|| self.0.wait());
        }
    }
    each_owned(|mode, rt| {
        let ends = mode.runtime(rt.handle().workers());
        let (blocks, is_begun, _never) = Blocks::new();
        let bulk = Bulk::new();
        let input = on(&ends, "input").in_bulk(&bulk).spawn(move || Arc::new(Waits(blocks)), ());
        let node = on(&ends, "left").spawn(|_: &Arc<Waits>, n: u32| n, (&input, 3_u32));
        drop(input);
        bulk.submit();
        is_begun.recv().unwrap();
        drop(ends.shutdown(Duration::ZERO));
        assert_left(&node.join().unwrap_err());
    });
}

/// Somebody cancels the node while its runtime ends: it ends, one way or the other.
#[test]
fn cancelled_while_its_runtime_ends() {
    each_owned(|mode, rt| {
        let _watch = watch("all rounds");
        for _ in 0..20 {
            let ends = mode.runtime(rt.handle().workers());
            let (node, _never) = blocked(&ends);
            let node = Arc::new(node);
            let cancels = node.clone();
            let cancels = thread::spawn(move || cancels.cancel());
            drop(ends.shutdown(Duration::ZERO));
            cancels.join().unwrap();
            let error = node.get().unwrap_err();
            assert!(matches!(error.cause(), Cause::RuntimeEnded | Cause::Cancelled), "{error}");
        }
    });
}
