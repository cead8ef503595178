//! `actor` by actix.

use actix::{Actor, ActorContext as _, Addr, Context, Handler, Message};

use super::program::{self, Node, System};
use crate::host;
use crate::params::Params;
use crate::record::Outcome;

#[derive(Debug)]
struct Actix;

struct Worker(Node<Addr<Worker>>);

impl Actor for Worker {
    type Context = Context<Self>;
}

struct HandOn(u64);
struct Add(u64);
struct Sum;
struct Stop;

impl Message for HandOn {
    type Result = ();
}

impl Message for Add {
    type Result = ();
}

impl Message for Sum {
    type Result = u64;
}

impl Message for Stop {
    type Result = ();
}

impl Handler<HandOn> for Worker {
    type Result = ();
    fn handle(&mut self, message: HandOn, _: &mut Context<Self>) {
        match &self.0.next {
            Some(next) => Actix::hand_on(next, message.0 + 1),
            None => self.0.got(message.0),
        }
    }
}

impl Handler<Add> for Worker {
    type Result = ();
    fn handle(&mut self, message: Add, _: &mut Context<Self>) {
        self.0.got(message.0);
    }
}

impl Handler<Sum> for Worker {
    type Result = u64;
    fn handle(&mut self, _: Sum, _: &mut Context<Self>) -> u64 {
        self.0.sum
    }
}

impl Handler<Stop> for Worker {
    type Result = ();
    fn handle(&mut self, _: Stop, cx: &mut Context<Self>) {
        cx.stop();
    }
}

impl System for Actix {
    type Address = Addr<Worker>;

    fn spawn(node: Node<Self::Address>) -> Self::Address {
        match host::actix::next_arbiter() {
            Some(arbiter) => Worker::start_in_arbiter(&arbiter, |_| Worker(node)),
            None => Worker(node).start(),
        }
    }

    // (`do_send` goes past the limit of the mailbox: an unbounded one, as that of the others.)
    fn hand_on(to: &Self::Address, value: u64) {
        to.do_send(HandOn(value));
    }

    fn add(to: &Self::Address, value: u64) {
        to.do_send(Add(value));
    }

    async fn sum(of: &Self::Address) -> u64 {
        of.send(Sum).await.unwrap_or(u64::MAX)
    }

    fn stop(actor: &Self::Address) {
        actor.do_send(Stop);
    }
}

pub(super) fn relay(p: &Params) -> Outcome {
    let (host, n, m) = (host::actix::start(p), p.n, p.m);
    program::measure(p, || host.run(program::relay::<Actix>(n, m)))
}

pub(super) fn ring(p: &Params) -> Outcome {
    let (host, hops) = (host::actix::start(p), program::ops(p));
    program::measure(p, || host.run(program::ring::<Actix>(hops)))
}

pub(super) fn call(p: &Params) -> Outcome {
    let (host, calls) = (host::actix::start(p), program::ops(p));
    program::measure(p, || host.run(program::call::<Actix>(calls)))
}

pub(super) fn spawn(p: &Params) -> Outcome {
    let (host, actors) = (host::actix::start(p), program::ops(p));
    program::measure(p, || host.run(program::spawn::<Actix>(actors)))
}

pub(super) fn idle(p: &Params) -> Outcome {
    host::actix::start(p).run(program::idle::<Actix>(program::waiting_ones(p)))
}
