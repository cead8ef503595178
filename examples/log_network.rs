//! Prints: ERROR: 3, INFO: 4, WARN: 1, 1 line was no line of a log
//!
//! A log as a network of processes, in the manner of core.async.flow: lines are parsed, counted by
//! level, and watched for errors that come close together. The steps touch no channels. All that
//! runs, and what is connected with what, is said in `network`.

use myriad::flow::process::{In, Network, NetworkBuilder, NetworkError, Out, Outputs, Transition};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

const LOG: &str =
    "0 INFO up\n3 WARN slow\n5 ERROR disk\n6 ERROR net\n7 INFO retry\nx\n8 ERROR disk\n20 INFO ok\n21 INFO down";

struct Event {
    second: u32,
    level: &'static str,
}

/// Panics at a line that is none: that is in the error channel, and the network goes on.
fn parse(line: &'static str) -> Event {
    let (second, rest) = line.split_once(' ').expect("no second");
    Event { second: second.parse().expect("no second"), level: rest.split(' ').next().expect("no level") }
}

/// Gives an alarm when there were three errors within five seconds. A plain function: a test calls
/// it with `Outputs::recorder()`.
fn watch(errors: &mut VecDeque<u32>, event: &Event, out: &mut Outputs, alarms: Out<String>) {
    if event.level == "ERROR" {
        errors.push_back(event.second);
        errors.retain(|second| second + 5 > event.second);
        if errors.len() == 3 {
            out.give(alarms, format!("{} errors since second {}", errors.len(), errors[0]));
        }
    }
}

/// Counts levels, and reports at the end.
fn counter(net: &mut NetworkBuilder) -> In<Arc<Event>> {
    net.process("count", BTreeMap::new, |p| {
        p.show(|counts| format!("{counts:?}"));
        p.on_transition(|counts, transition, out| {
            if transition == Transition::InputsEnded {
                out.report(counts.iter().map(|(level, n)| format!("{level}: {n}")).collect::<Vec<_>>().join(", "));
            }
        });
        p.input("event", |counts, event: Arc<Event>, _| *counts.entry(event.level).or_insert(0) += 1)
    })
}

fn network() -> Result<Network, NetworkError> {
    let mut net = Network::builder();
    let lines = net.source("lines", || LOG.lines());
    let (line, events) = net.flat_map("parse", |line| Some(Arc::new(parse(line))));
    let count = counter(&mut net);
    let (event, alarms) = net.process("watch", VecDeque::new, |p| {
        let alarms = p.output("alarms");
        (p.input("event", move |errors, event: Arc<Event>, out| watch(errors, &event, out, alarms)), alarms)
    });
    let pager = net.sink("pager", |alarm: String| println!("ALARM: {alarm}"));
    net.connect(lines, line).connect_each(events, [count, event]).connect(alarms, pager);
    net.build()
}

fn main() -> Result<(), NetworkError> {
    std::panic::set_hook(Box::new(|_| ())); // the error channel has them
    let run = network()?.start();
    let (reports, errors) = (run.reports().clone(), run.errors().clone());
    run.join();
    let counts = reports.iter().map(|report| report.text).collect::<String>();
    println!("{counts}, {} line was no line of a log", errors.iter().count());
    Ok(())
}
