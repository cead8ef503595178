//! `actor` by tokio alone: a task and a channel.

use tokio::sync::{mpsc, oneshot};

use super::program::{self, Node, System};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

#[derive(Debug)]
struct Bare;

enum Message {
    HandOn(u64),
    Add(u64),
    Sum(oneshot::Sender<u64>),
    Stop,
}

#[derive(Clone)]
struct Address(mpsc::UnboundedSender<Message>);

impl System for Bare {
    type Address = Address;

    fn spawn(mut node: Node<Address>) -> Address {
        let (tx, mut rx) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(message) = rx.recv().await {
                match message {
                    Message::HandOn(value) => match &node.next {
                        Some(next) => Bare::hand_on(next, value + 1),
                        None => node.got(value),
                    },
                    Message::Add(value) => node.got(value),
                    Message::Sum(reply) => _ = reply.send(node.sum),
                    Message::Stop => return,
                }
            }
        });
        Address(tx)
    }

    fn hand_on(to: &Address, value: u64) {
        to.0.send(Message::HandOn(value)).ok();
    }

    fn add(to: &Address, value: u64) {
        to.0.send(Message::Add(value)).ok();
    }

    async fn sum(of: &Address) -> u64 {
        let (tx, rx) = oneshot::channel();
        of.0.send(Message::Sum(tx)).ok();
        rx.await.unwrap_or(u64::MAX)
    }

    fn stop(actor: &Address) {
        actor.0.send(Message::Stop).ok();
    }
}

pub(super) fn relay(p: &Params) -> Outcome {
    let (host, n, m) = (host::tokio::start_timed(p), p.n, p.m);
    program::measure(p, || host.run(program::relay::<Bare>(n, m)))
}

pub(super) fn ring(p: &Params) -> Outcome {
    let (host, hops) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::ring::<Bare>(hops)))
}

pub(super) fn call(p: &Params) -> Outcome {
    let (host, calls) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::call::<Bare>(calls)))
}

pub(super) fn spawn(p: &Params) -> Outcome {
    let (host, actors) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::spawn::<Bare>(actors)))
}

pub(super) fn idle(p: &Params) -> Outcome {
    host::tokio::start_timed(p).run(program::idle::<Bare>(program::waiting_ones(p)))
}
