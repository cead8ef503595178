//! `actor` by ractor.

use ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime, RpcReplyPort};

use super::program::{self, Kill, Node, System};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

#[derive(Debug)]
struct Ractor;

struct Worker;

enum Message {
    HandOn(u64),
    Add(u64),
    Sum(RpcReplyPort<u64>),
    Stop,
}

impl Actor for Worker {
    type Msg = Message;
    type State = Node<ActorRef<Message>>;
    type Arguments = Self::State;

    async fn pre_start(&self, _: ActorRef<Message>, node: Self::State) -> Result<Self::State, ActorProcessingErr> {
        Ok(node)
    }

    async fn handle(
        &self,
        me: ActorRef<Message>,
        message: Message,
        node: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match message {
            Message::HandOn(value) => match &node.next {
                Some(next) => Ractor::hand_on(next, value + 1),
                None => node.got(value),
            },
            Message::Add(value) => node.got(value),
            Message::Sum(reply) => _ = reply.send(node.sum),
            Message::Stop => me.stop(None),
        }
        Ok(())
    }
}

impl System for Ractor {
    type Address = ActorRef<Message>;

    fn spawn(node: Node<Self::Address>) -> Self::Address {
        ActorRuntime::<Worker>::spawn_instant(None, Worker, node).expect("it has no name that another one has").0
    }

    fn hand_on(to: &Self::Address, value: u64) {
        to.cast(Message::HandOn(value)).ok();
    }

    fn add(to: &Self::Address, value: u64) {
        to.cast(Message::Add(value)).ok();
    }

    async fn sum(of: &Self::Address) -> u64 {
        ractor::call!(of, Message::Sum).unwrap_or(u64::MAX)
    }

    fn stop(actor: &Self::Address) {
        actor.cast(Message::Stop).ok();
    }
}

impl Kill for Ractor {
    fn kill(actor: &Self::Address) {
        actor.kill();
    }
}

pub(super) fn relay(p: &Params) -> Outcome {
    let (host, n, m) = (host::tokio::start_timed(p), p.n, p.m);
    program::measure(p, || host.run(program::relay::<Ractor>(n, m)))
}

pub(super) fn ring(p: &Params) -> Outcome {
    let (host, hops) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::ring::<Ractor>(hops)))
}

pub(super) fn call(p: &Params) -> Outcome {
    let (host, calls) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::call::<Ractor>(calls)))
}

pub(super) fn spawn(p: &Params) -> Outcome {
    let (host, actors) = (host::tokio::start_timed(p), program::ops(p));
    program::measure(p, || host.run(program::spawn::<Ractor>(actors)))
}

pub(super) fn idle(p: &Params) -> Outcome {
    host::tokio::start_timed(p).run(program::idle::<Ractor>(program::waiting_ones(p)))
}

pub(super) fn kill(p: &Params) -> Outcome {
    let (host, actors) = (host::tokio::start_timed(p), program::waiting_ones(p));
    crate::sample::warm(actors, || host.run(program::kill::<Ractor>(actors)))
}
