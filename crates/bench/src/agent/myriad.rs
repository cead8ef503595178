//! `agent` by Myriad.

use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad::agent::Agent;
use myriad::sync::Latch;

use super::{sum_of_relay, sum_of_shared};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

/// An agent of the chain; the last one counts.
#[derive(Clone)]
enum Node {
    Hop(Agent<Node>),
    Last { sum: u64, left: Arc<Latch> },
}

impl Node {
    fn sum(&self) -> u64 {
        match self {
            Node::Hop(_) => 0,
            Node::Last { sum, .. } => *sum,
        }
    }
}

fn hand_on(node: &mut Node, value: u64) {
    match node {
        Node::Hop(next) => next.send(move |node| hand_on(node, value + 1)).expect("an agent that does not fail"),
        Node::Last { sum, left } => {
            *sum += value;
            left.count_down();
        }
    }
}

pub(super) fn relay(p: &Params) -> Outcome {
    let (rt, n, m, sum) = (host::myriad::start(p)?, p.n, p.m, sum_of_relay(p));
    sample::warm(n * m, || rt.run(move || relay_once(n, m, sum)))
}

fn relay_once(n: u64, m: u64, sum: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let left = Arc::new(Latch::new(n as usize));
    let last = Agent::new(Node::Last { sum: 0, left: left.clone() });
    let mut head = last.clone();
    for _ in 1..m {
        head = Agent::new(Node::Hop(head));
    }
    for i in 0..n {
        head.send(move |node| hand_on(node, i)).expect("an agent that does not fail");
    }
    left.wait();
    last.wait().map_err(|error| Failure::Wrong(error.to_string()))?;
    let time = begin.elapsed();
    Failure::check(last.snapshot().sum(), sum)?;
    Ok(time)
}

pub(super) fn shared(p: &Params) -> Outcome {
    let (rt, n, m, sum) = (host::myriad::start(p)?, p.n, p.m, sum_of_shared(p));
    sample::warm(n * m, || rt.run(move || shared_once(n, m, sum)))
}

fn shared_once(n: u64, m: u64, sum: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let agent = Agent::new(0_u64);
    myriad::scope(|s| {
        for _ in 0..n {
            let agent = &agent;
            s.spawn(move || {
                for i in 0..m {
                    agent.send(move |total| *total += i).expect("an agent that does not fail");
                }
            });
        }
    });
    agent.wait().map_err(|error| Failure::Wrong(error.to_string()))?;
    let time = begin.elapsed();
    Failure::check(agent.get(), sum)?;
    Ok(time)
}
