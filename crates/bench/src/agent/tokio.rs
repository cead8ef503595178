//! `agent` by tokio: a task with a channel of boxed functions.

use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::{sum_of_relay, sum_of_shared};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};
use crate::sample;

type Action<T> = Box<dyn FnOnce(&mut T) + Send>;

struct Agent<T>(mpsc::UnboundedSender<Action<T>>);

impl<T> Clone for Agent<T> {
    fn clone(&self) -> Self {
        Agent(self.0.clone())
    }
}

impl<T: Send + 'static> Agent<T> {
    fn new(mut value: T) -> Self {
        let (tx, mut rx) = mpsc::unbounded_channel::<Action<T>>();
        tokio::spawn(async move {
            while let Some(action) = rx.recv().await {
                action(&mut value);
            }
        });
        Agent(tx)
    }

    fn send(&self, action: impl FnOnce(&mut T) + Send + 'static) {
        self.0.send(Box::new(action)).ok();
    }
}

/// An agent of the chain; the last one counts, and tells the sum.
struct Node {
    next: Option<Agent<Node>>,
    sum: u64,
    left: u64,
    tells: Option<oneshot::Sender<u64>>,
}

fn hand_on(node: &mut Node, value: u64) {
    if let Some(next) = &node.next {
        return next.send(move |node| hand_on(node, value + 1));
    }
    node.sum += value;
    node.left -= 1;
    if node.left == 0
        && let Some(tells) = node.tells.take()
    {
        tells.send(node.sum).ok();
    }
}

pub(super) fn relay(p: &Params) -> Outcome {
    let (host, n, m, sum) = (host::tokio::start_timed(p), p.n, p.m, sum_of_relay(p));
    sample::warm(n * m, || host.run(relay_once(n, m, sum)))
}

async fn relay_once(n: u64, m: u64, sum: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let (tells, told) = oneshot::channel();
    let mut head = Agent::new(Node { next: None, sum: 0, left: n, tells: Some(tells) });
    for _ in 1..m {
        head = Agent::new(Node { next: Some(head), sum: 0, left: n, tells: None });
    }
    for i in 0..n {
        head.send(move |node| hand_on(node, i));
    }
    let got = told.await.map_err(|error| Failure::Wrong(error.to_string()))?;
    let time = begin.elapsed();
    Failure::check(got, sum)?;
    Ok(time)
}

pub(super) fn shared(p: &Params) -> Outcome {
    let (host, n, m, sum) = (host::tokio::start_timed(p), p.n, p.m, sum_of_shared(p));
    sample::warm(n * m, || host.run(shared_once(n, m, sum)))
}

async fn shared_once(n: u64, m: u64, sum: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let agent = Agent::new(0_u64);
    let senders: Vec<_> = (0..n)
        .map(|_| {
            let agent = agent.clone();
            tokio::spawn(async move { (0..m).for_each(|i| agent.send(move |total| *total += i)) })
        })
        .collect();
    for sender in senders {
        sender.await.map_err(|error| Failure::Wrong(error.to_string()))?;
    }
    let (tells, told) = oneshot::channel();
    agent.send(move |total| _ = tells.send(*total));
    let got = told.await.map_err(|error| Failure::Wrong(error.to_string()))?;
    let time = begin.elapsed();
    Failure::check(got, sum)?;
    Ok(time)
}
