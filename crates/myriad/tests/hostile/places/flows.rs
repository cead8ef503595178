//! What graphs, regions, dataflow and operations call, and the values that they drop.

use crate::behaviours::{Value, When, is_hostile};
use crate::cell::{Cx, Seen, until, well_after};
use crate::common::plan;
use myriad::channel::{bounded, unbounded};
use myriad::flow::graph::{Cause, Graph, GraphBuilder, RunError};
use myriad::flow::ops::{Ended, Pipeline, Why};
use myriad::flow::{self, NodeError};
use std::error::Error;

/// Why a body has failed.
fn seen_of(cause: &Cause) -> Seen {
    match cause {
        Cause::Panicked(panic) if is_hostile(panic.message()) => Seen::Panic,
        Cause::Cancelled => Seen::Cancelled,
        other => Seen::Other(other.to_string()),
    }
}

fn ran(result: &Result<(), RunError>) -> Seen {
    match result {
        Ok(()) => Seen::Well,
        Err(error) => seen_of(&error.failures()[0].cause),
    }
}

/// Runs a graph of three nodes, the second of which `add` adds.
fn graph<'env>(cx: &Cx, add: impl FnOnce(&mut GraphBuilder<'env>)) -> Seen {
    let wait = cx.last_sender();
    let mut builder = Graph::builder();
    builder.node("beside", || ());
    add(&mut builder);
    let graph = builder.build().unwrap();
    let mut seen = Seen::Well;
    let called = Seen::of(|| seen = ran(&graph.run()));
    wait();
    if called == Seen::Well { seen } else { called }
}

/// What `Again` does here.
pub(super) fn again(cx: &Cx) {
    cx.foe.on_again(|| {
        let mut graph = Graph::builder();
        graph.node("inside", || ());
        _ = graph.build().unwrap().run();
        _ = flow::spawn(|| 1, ()).join();
    });
}

/// The body of a node.
pub(crate) fn node(cx: &Cx) -> Seen {
    again(cx);
    graph(cx, |graph| {
        let first = graph.node("hostile", || cx.act()).id();
        graph.node("after", || ()).after([first]);
    })
}

/// A choice.
pub(crate) fn choice(cx: &Cx) -> Seen {
    again(cx);
    graph(cx, |graph| {
        let after = graph.node("after", || ()).id();
        graph
            .choice("hostile", || {
                cx.act();
                0
            })
            .branches([after]);
    })
}

/// A node that is tried again until it is done.
pub(crate) fn node_retried(cx: &Cx) -> Seen {
    again(cx);
    graph(cx, |graph| {
        graph.node("hostile", || cx.act()).retries(20);
    })
}

/// Errors of attempts after which another one comes.
pub(crate) fn attempt_error(cx: &Cx) -> Seen {
    again(cx);
    let tries = std::sync::atomic::AtomicUsize::new(0);
    let (tries, value) = (&tries, || cx.value());
    graph(cx, move |graph| {
        graph
            .node("hostile", move || match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                0 | 1 => Err(value()),
                _ => Ok(()),
            })
            .retries(20);
    })
}

/// The errors of a run, which the caller drops.
pub(crate) fn node_errors(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut graph = Graph::builder();
    (0..3).for_each(|i| _ = graph.node(format!("{i}"), || Err::<(), _>(cx.value())));
    let graph = graph.build().unwrap();
    let result = graph.run();
    let seen = Seen::of(|| drop(result));
    wait();
    seen
}

/// What the bodies of a graph have captured.
pub(crate) fn graph_captures(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut graph = Graph::builder();
    for i in 0..3 {
        let value = cx.value();
        graph.node(format!("{i}"), move || _ = &value);
    }
    let graph = graph.build().unwrap();
    let ran = ran(&graph.run());
    let seen = Seen::of(|| drop(graph));
    wait();
    if ran == Seen::Well { seen } else { ran }
}

/// What says that there are enough runs.
pub(crate) fn run_until(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut graph = Graph::builder();
    graph.node("a", || ());
    let graph = graph.build().unwrap();
    let mut runs = 0;
    let done = || {
        runs += 1;
        cx.act();
        runs == 2
    };
    let seen = Seen::of(|| graph.run_until(done));
    wait();
    seen
}

/// A task of a region, beside others.
pub(crate) fn region_task(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut data = vec![7_u64; 64];
    let result = flow::region(|region| {
        let data = region.slice(&mut data);
        region.task(|low: &mut [u64]| low.fill(8), (data.write(..32),));
        region.task(
            |high: &mut [u64]| {
                cx.act();
                high.fill(9);
            },
            (data.write(32..),),
        );
        region.task(|all: &[u64]| assert!(all[..32].iter().all(|n| *n == 8)), (data.read(..),));
    });
    let seen = ran(&result);
    wait();
    seen
}

// -------------------------------------------------------------------------------------------------------
// dataflow

fn joined<T>(result: Result<T, NodeError>) -> Seen {
    match result {
        Ok(_) => Seen::Well,
        Err(error) => seen_of(error.cause()),
    }
}

/// The body of a node.
pub(crate) fn data_body(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let first = flow::spawn(move || inner.act(), ());
    let seen = joined(flow::spawn(|_: &()| 1, (&first,)).join());
    wait();
    seen
}

/// A value that nobody wants.
pub(crate) fn data_value(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let node = flow::spawn(move || value, ());
    let seen = joined(node.get().map(drop));
    let dropped = Seen::of(|| drop(node));
    wait();
    if seen == Seen::Well { dropped } else { seen }
}

/// The same, and the handle is gone before it is there.
pub(crate) fn data_unwanted(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    drop(flow::spawn(move || value, ()));
    until("the value is not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    well_after(wait)
}

/// An argument that only its last reader has.
pub(crate) fn data_argument(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let first = flow::spawn(move || value, ());
    let reads = flow::spawn(|_: &Value| 1, (&first,));
    drop(first);
    let seen = joined(reads.join());
    wait();
    seen
}

/// An argument that is a value.
pub(crate) fn data_moved(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let seen = joined(flow::spawn(|value: Value| drop(value), (flow::Value(value),)).join());
    wait();
    seen
}

/// What a body has captured that never runs.
pub(crate) fn data_skipped(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let (go, begins) = bounded::<()>(1);
    let fails = flow::try_spawn(
        move || {
            _ = begins.recv();
            Err::<u32, _>("no such file")
        },
        (),
    );
    let after = flow::spawn(move |_: &u32| _ = &value, (&fails,));
    drop(go);
    assert!(after.join().is_err());
    until("the body is not dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    well_after(wait)
}

/// The error of a node.
pub(crate) fn data_error(cx: &Cx) -> Seen {
    again(cx);
    let (value, wait) = (cx.value(), cx.last_sender());
    let result = flow::try_spawn(move || Err::<u32, Value>(value), ()).join();
    let seen = Seen::of(|| drop(result));
    wait();
    seen
}

/// What makes a value of a node's.
pub(crate) fn data_map(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let seen = joined(flow::spawn(|| 1, ()).map(move |_| inner.act()).join());
    wait();
    seen
}

/// The values of those that came too late.
pub(crate) fn data_losers(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let nodes = (0..3).map(|_| {
        let value = cx.value();
        flow::spawn(move || value, ())
    });
    let first = flow::any(nodes.collect()).join();
    let seen = Seen::of(|| drop(first));
    until("not all values are dropped", || cx.foe.counts().0 == cx.foe.counts().1);
    wait();
    seen
}

// -------------------------------------------------------------------------------------------------------
// operations

/// How an operation has ended. (What it has left is dropped here.)
fn ended<L>(ended: Ended<L>) -> Seen {
    let seen = match &ended.why {
        Why::Panicked(panic) if is_hostile(panic.message()) => Seen::Panic,
        Why::SourceEnded | Why::TargetClosed => Seen::Well,
        Why::Cancelled => Seen::Cancelled,
        other => Seen::Other(other.to_string()),
    };
    match Seen::of(|| drop(ended)) {
        Seen::Well => seen,
        dropped => dropped,
    }
}

/// Joins, or leaves as a panic of the join says.
pub(super) fn of(join: impl FnOnce() -> Seen) -> Seen {
    let mut seen = Seen::Well;
    match Seen::of(|| seen = join()) {
        Seen::Well => seen,
        panic => panic,
    }
}

fn numbers(n: u64) -> myriad::channel::Receiver<u64> {
    let (tx, rx) = unbounded();
    (0..n).for_each(|n| tx.send(n).unwrap());
    rx
}

fn values(cx: &Cx, when: When) -> myriad::channel::Receiver<Value> {
    let (tx, rx) = unbounded();
    (0..3).for_each(|n| _ = tx.send(cx.value_when(when, n)));
    rx
}

/// The function of a pipeline.
pub(crate) fn pipeline(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (tx, _rx) = unbounded();
    let f = move |n: u64| {
        inner.act();
        n
    };
    let seen = of(|| ended(flow::pipeline(2, numbers(6), tx, f).join()));
    wait();
    seen
}

/// What makes a result of a pipeline's panic.
pub(crate) fn pipeline_on_panic(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (tx, _rx) = unbounded::<u64>();
    let line = Pipeline::new(2).on_panic(move |_| {
        inner.act();
        None
    });
    let f = |n: u64| if n == 2 { plan("hostile") } else { n };
    let seen = of(|| ended(line.start(numbers(6), tx, f).join()));
    wait();
    seen
}

/// Results that nobody receives.
pub(crate) fn pipeline_results(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (tx, rx) = bounded(1);
    drop(rx);
    let line = flow::pipeline(2, numbers(6), tx, move |_| inner.value());
    let seen = of(|| ended(line.join()));
    wait();
    seen
}

/// The iterator of a pipe.
pub(crate) fn pipe(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (tx, _rx) = unbounded();
    let items = (0..6).inspect(move |n| {
        if *n == 3 {
            inner.act();
        }
    });
    let seen = of(|| ended(flow::pipe(items, tx).join()));
    wait();
    seen
}

/// What decides where an item goes.
pub(crate) fn split(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let ((first, _first), (second, _second)) = (unbounded(), unbounded());
    let is_first = move |n: &u64| {
        inner.act();
        n.is_multiple_of(2)
    };
    let seen = of(|| ended(flow::split(numbers(6), is_first, first, second).join()));
    wait();
    seen
}

/// What says the topic of an item.
pub(crate) fn topic(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let topic = move |n: &u64| {
        inner.act();
        *n
    };
    let seen = of(|| ended(flow::publish(numbers(6), topic).join()));
    wait();
    seen
}

/// Topics that act at this moment.
fn topics(cx: &Cx, when: When) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let (from, items) = unbounded();
    let publisher = flow::publish(items, move |n: &u64| inner.value_when(when, *n));
    let (tx, rx) = unbounded();
    publisher.subscribe(cx.value_when(when, 1), tx);
    (0..4).for_each(|n| _ = from.send(n % 2));
    drop(from);
    let seen = of(|| ended(publisher.join()));
    drop(rx);
    wait();
    seen
}

pub(crate) fn topic_hashed(cx: &Cx) -> Seen {
    topics(cx, When::Hash)
}

pub(crate) fn topic_compared(cx: &Cx) -> Seen {
    topics(cx, When::Compare)
}

pub(crate) fn topic_dropped(cx: &Cx) -> Seen {
    topics(cx, When::Drop)
}

/// What copies an item for each tap.
pub(crate) fn mult_clone(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let (from, items) = unbounded();
    let mult = flow::mult(items);
    let taps = [(); 3].map(|()| unbounded());
    taps.iter().for_each(|(tap, _)| mult.tap(tap.clone()));
    (0..3).for_each(|n| _ = from.send(cx.value_when(When::Clone, n)));
    drop(from);
    let seen = of(|| ended(mult.join()));
    wait();
    seen
}

/// Items that nobody has asked for.
pub(crate) fn mult_items(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let seen = of(|| ended(flow::mult(values(cx, When::Drop)).join()));
    wait();
    seen
}

/// Items of a merge that nobody receives.
pub(crate) fn merge_items(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let (tx, rx) = bounded(1);
    drop(rx);
    let seen = of(|| ended(flow::merge([values(cx, When::Drop), values(cx, When::Drop)], tx).join()));
    wait();
    seen
}

/// Items of a mix whose output has no reader.
pub(crate) fn mix_items(cx: &Cx) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let (tx, rx) = bounded(1);
    let mix = flow::mix(tx);
    _ = mix.add(values(cx, When::Drop));
    drop(rx);
    let seen = of(|| ended(mix.join()));
    wait();
    seen
}

const _: fn(&NodeError) -> &dyn Error = |error| error;
