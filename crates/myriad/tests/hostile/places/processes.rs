//! What processes of a network call, and the values that they drop.

use super::flows::{again, of};
use crate::behaviours::{Value, When, is_hostile};
use crate::cell::{Cx, Seen, until};
use myriad::channel::bounded;
use myriad::flow::process::{During, Network, NetworkBuilder, Transition};

/// Runs a network to its end.
fn network(cx: &Cx, declare: impl FnOnce(&mut NetworkBuilder)) -> Seen {
    again(cx);
    let wait = cx.last_sender();
    let mut builder = Network::builder();
    declare(&mut builder);
    let network = builder.build().unwrap();
    let seen = of(|| {
        let run = network.start();
        let errors = run.errors().clone();
        let finished = run.join();
        let told: Vec<_> = errors.try_iter().collect();
        let panics: u64 = finished.processes.iter().map(|end| end.panics).sum();
        assert_eq!(told.len() as u64, panics, "each panic is an error");
        match told.first() {
            Some(error) if !is_hostile(error.panic.message()) => Seen::Other(error.panic.message().into()),
            Some(error) if error.during == During::Release => Seen::Well,
            Some(_) => Seen::Panic,
            None => Seen::Well,
        }
    });
    let dropped = Seen::of(|| drop(network));
    wait();
    if seen == Seen::Well { dropped } else { seen }
}

/// A step.
pub(crate) fn step(cx: &Cx) -> Seen {
    let inner = cx.clone();
    network(cx, |net| {
        let numbers = net.source("numbers", || 0..6);
        let sum = net.process(
            "sum",
            || 0,
            |p| {
                p.input("each", move |sum: &mut u64, n: u64, _| {
                    inner.act();
                    *sum += n;
                })
            },
        );
        net.connect(numbers, sum);
    })
}

/// What makes the state.
pub(crate) fn init(cx: &Cx) -> Seen {
    let inner = cx.clone();
    network(cx, |net| {
        let numbers = net.source("numbers", || 0..6);
        let init = move || {
            inner.act();
            0
        };
        let sum = net.process("sum", init, |p| p.input("each", |sum: &mut u64, n: u64, _| *sum += n));
        net.connect(numbers, sum);
    })
}

/// The function for transitions.
pub(crate) fn transition(cx: &Cx) -> Seen {
    let inner = cx.clone();
    network(cx, |net| {
        let numbers = net.source("numbers", || 0..6);
        let sum = net.process(
            "sum",
            || 0,
            |p| {
                p.on_transition(move |_, transition, _| {
                    if transition == Transition::InputsEnded {
                        inner.act();
                    }
                });
                p.input("each", |sum: &mut u64, n: u64, _| *sum += n)
            },
        );
        net.connect(numbers, sum);
    })
}

/// The iterator of a source.
pub(crate) fn source(cx: &Cx) -> Seen {
    let inner = cx.clone();
    network(cx, |net| {
        let items = move || {
            let inner = inner.clone();
            (0..6).inspect(move |n| {
                if *n == 3 {
                    inner.act();
                }
            })
        };
        let numbers = net.source("numbers", items);
        let sink = net.sink("sink", |_: u64| ());
        net.connect(numbers, sink);
    })
}

/// The state goes with its process.
pub(crate) fn process_state(cx: &Cx) -> Seen {
    let inner = cx.clone();
    network(cx, |net| {
        let numbers = net.source("numbers", || 0..6);
        let keep = net.process("keep", move || inner.value(), |p| p.input("each", |_: &mut Value, _: u64, _| ()));
        net.connect(numbers, keep);
    })
}

/// What a process has captured goes with the network.
pub(crate) fn process_captures(cx: &Cx) -> Seen {
    let value = cx.value();
    network(cx, |net| {
        let numbers = net.source("numbers", || 0..6);
        let sink = net.sink("sink", move |_: u64| _ = &value);
        net.connect(numbers, sink);
    })
}

/// What copies a message for each that gets it.
pub(crate) fn message_clone(cx: &Cx) -> Seen {
    let inner = cx.clone();
    network(cx, |net| {
        let items = move || {
            let inner = inner.clone();
            (0..3).map(move |n| inner.value_when(When::Clone, n))
        };
        let values = net.source("values", items);
        let sinks = ["a", "b", "c"].map(|name| net.sink(name, |_: Value| ()));
        net.connect_each(values, sinks);
    })
}

/// Messages that wait when a network is stopped.
pub(crate) fn messages_left(cx: &Cx) -> Seen {
    again(cx);
    let (inner, wait) = (cx.clone(), cx.last_sender());
    let mut net = Network::builder();
    let values = net.source("values", move || {
        let inner = inner.clone();
        (0..8).map(move |_| inner.value())
    });
    let (go, begins) = bounded::<()>(1);
    let sink = net.sink("sink", move |value: Value| {
        _ = begins.recv();
        crate::behaviours::muted(|| drop(value));
    });
    net.connect(values, sink);
    let net = net.build().unwrap();
    let seen = of(|| {
        let run = net.start();
        until("the source makes nothing", || cx.foe.counts().0 > 0 || run.is_finished());
        run.stop();
        drop(go);
        drop(run.join());
        Seen::Well
    });
    drop(net);
    wait();
    seen
}
