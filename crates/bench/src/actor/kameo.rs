//! `actor` by kameo.

use std::convert::Infallible;

use kameo::actor::{Actor, ActorRef, Spawn};
use kameo::message::{Context, Message};

use super::program::{self, Kill, Node, System};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

#[derive(Debug)]
struct Kameo;

struct Worker(Node<ActorRef<Worker>>);

impl Actor for Worker {
    type Args = Worker;
    type Error = Infallible;
    async fn on_start(args: Worker, _: ActorRef<Self>) -> Result<Self, Infallible> {
        Ok(args)
    }
}

struct HandOn(u64);
struct Add(u64);
struct Sum;
struct Stop;

impl Message<HandOn> for Worker {
    type Reply = ();
    async fn handle(&mut self, message: HandOn, _: &mut Context<Self, ()>) {
        match &self.0.next {
            Some(next) => Kameo::hand_on(next, message.0 + 1),
            None => self.0.got(message.0),
        }
    }
}

impl Message<Add> for Worker {
    type Reply = ();
    async fn handle(&mut self, message: Add, _: &mut Context<Self, ()>) {
        self.0.got(message.0);
    }
}

impl Message<Sum> for Worker {
    type Reply = u64;
    async fn handle(&mut self, _: Sum, _: &mut Context<Self, u64>) -> u64 {
        self.0.sum
    }
}

impl Message<Stop> for Worker {
    type Reply = ();
    async fn handle(&mut self, _: Stop, cx: &mut Context<Self, ()>) {
        cx.stop();
    }
}

impl System for Kameo {
    type Address = ActorRef<Worker>;

    fn spawn(node: Node<Self::Address>) -> Self::Address {
        Worker::spawn_with_mailbox(Worker(node), kameo::mailbox::unbounded())
    }

    fn hand_on(to: &Self::Address, value: u64) {
        to.tell(HandOn(value)).try_send().ok();
    }

    fn add(to: &Self::Address, value: u64) {
        to.tell(Add(value)).try_send().ok();
    }

    async fn sum(of: &Self::Address) -> u64 {
        of.ask(Sum).send().await.unwrap_or(u64::MAX)
    }

    fn stop(actor: &Self::Address) {
        actor.tell(Stop).try_send().ok();
    }
}

impl Kill for Kameo {
    fn kill(actor: &Self::Address) {
        actor.kill();
    }
}

pub(super) fn relay(p: &Params) -> Outcome {
    let (host, n, m) = (host::tokio::start_timed(p), p.n, p.m);
    program::measure(p, || host.run(program::relay::<Kameo>(n, m)))
}

pub(super) fn ring(p: &Params) -> Outcome {
    let (host, hops) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::ring::<Kameo>(hops)))
}

pub(super) fn call(p: &Params) -> Outcome {
    let (host, calls) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::call::<Kameo>(calls)))
}

pub(super) fn spawn(p: &Params) -> Outcome {
    let (host, actors) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::spawn::<Kameo>(actors)))
}

pub(super) fn idle(p: &Params) -> Outcome {
    host::tokio::start_timed(p).run(program::idle::<Kameo>(program::waiting_ones(p)))
}

pub(super) fn kill(p: &Params) -> Outcome {
    let (host, actors) = (host::tokio::start_timed(p), program::waiting_ones(p));
    crate::sample::warm(actors, || host.run(program::kill::<Kameo>(actors)))
}
