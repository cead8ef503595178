//! Networks of processes: what cannot be built, and what the types promise.

use myriad::flow::process::*;
use std::ops::ControlFlow;

#[test]
fn what_cannot_be_built() {
    let said = |declare: &dyn Fn(&mut NetworkBuilder)| {
        let mut net = Network::builder();
        declare(&mut net);
        net.build().unwrap_err()
    };
    let error = said(&|net| {
        net.sink("a", |()| ());
        net.sink("a", |()| ());
    });
    assert_eq!(error, NetworkError::SameProcess("a".into()));
    let error = said(&|net| {
        net.process(
            "a",
            || (),
            |p| {
                p.input("x", |(), (), _| ());
                p.output::<i32>("x");
            },
        );
    });
    assert_eq!(error, NetworkError::SamePort { process: "a".into(), port: "x".into() });
    let error = said(&|net| {
        net.process("a", || (), |p| _ = p.output::<i32>("x"));
    });
    assert_eq!(error, NetworkError::NothingToDo("a".into()));
    let error = said(&|net| {
        net.process(
            "a",
            || (),
            |p| {
                p.input("x", |(), (), _| ());
                p.produce(|(), _| ControlFlow::Break(()));
            },
        );
    });
    assert_eq!(error, NetworkError::InputsOfASource("a".into()));
    let error = said(&|net| {
        let (source, sink) = (net.source("a", || [()]), net.sink("b", |()| ()));
        net.connect(source, sink).connect(source, sink);
    });
    assert_eq!(error, NetworkError::SameConnection { from: "a.out".into(), to: "b.in".into() });
    let error = said(&|net| {
        let foreign = Network::builder().sink("b", |()| ());
        let source = net.source("a", || [()]);
        net.connect(source, foreign);
    });
    assert_eq!(error, NetworkError::OtherNetwork(Some("a.out".into())));
    let error = said(&|net| {
        let source = net.source("a", || [()]);
        let sinks = ["b", "c"].map(|name| net.sink(name, |()| ()));
        sinks.iter().for_each(|sink| _ = net.connect(source, *sink));
    });
    let to = vec!["b.in".into(), "c.in".into()];
    assert_eq!(error, NetworkError::NotCopied { from: "a.out".into(), messages: "()", to });
}

#[test]
fn handles_go_between_threads() {
    fn is_sync<T: Send + Sync>() {}
    is_sync::<Network>();
    is_sync::<Running>();
    is_sync::<StepError>();
}
