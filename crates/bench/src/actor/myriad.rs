//! `actor` by Myriad: futures with a mailbox, and servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad::actor::{
    self, Address, Child, Context, Mailbox, Next, Reason, Reply, Server, Supervisor, serve, spawn_async,
};
use myriad::block_on;
use myriad::channel::oneshot;

use super::program::{self, Kill, Node, System, Tally, Tells, Tree};
use crate::host;
use crate::params::Params;
use crate::record::{Failure, Outcome};

enum Message {
    HandOn(u64),
    Add(u64),
    Sum(Reply<u64>),
    Stop,
}

type State = Node<Address<Message>>;

/// Handles a message. False: it is "stop".
fn handle(node: &mut State, message: Message) -> bool {
    match message {
        Message::HandOn(value) => match &node.next {
            Some(next) => next.cast(Message::HandOn(value + 1)),
            None => node.got(value),
        },
        Message::Add(value) => node.got(value),
        Message::Sum(reply) => reply.send(node.sum),
        Message::Stop => return false,
    }
    true
}

/// (Nothing is borrowed over the wait.)
#[expect(clippy::manual_async_fn, reason = "an `async fn` keeps its arguments twice")]
fn body(mut mail: Mailbox<Message>, mut node: State) -> impl Future<Output = ()> + Send + 'static {
    async move {
        loop {
            let message = mail.receive_async().await;
            if !handle(&mut node, message) {
                return;
            }
        }
    }
}

struct Worker<const IN_PLACE: bool>(State);

impl<const IN_PLACE: bool> Server for Worker<IN_PLACE> {
    type Message = Message;
    const CALL_IN_PLACE: bool = IN_PLACE;

    fn handle(&mut self, message: Message, _: &mut Context<'_, Self>) -> Next<Message> {
        if handle(&mut self.0, message) { Next::Go } else { Next::Stop(Reason::Normal) }
    }
}

/// The system, with actors of one kind.
macro_rules! system {
    ($name:ident, $spawn:expr) => {
        #[derive(Debug)]
        struct $name;

        impl System for $name {
            type Address = Address<Message>;

            fn spawn(node: State) -> Self::Address {
                $spawn(node)
            }

            fn hand_on(to: &Self::Address, value: u64) {
                to.cast(Message::HandOn(value));
            }

            fn add(to: &Self::Address, value: u64) {
                to.cast(Message::Add(value));
            }

            async fn sum(of: &Self::Address) -> u64 {
                of.call_async(Message::Sum).await.unwrap_or(u64::MAX)
            }

            fn stop(actor: &Self::Address) {
                actor.cast(Message::Stop);
            }
        }
    };
}

system!(Futures, |node| spawn_async(move |mail| body(mail, node)));
system!(Servers, |node| serve(Worker::<true>(node)));

impl Kill for Futures {
    fn kill(actor: &Self::Address) {
        actor::kill(actor);
    }
}

fn relay_of<S: System>(p: &Params) -> Outcome {
    let (rt, n, m) = (host::myriad::start(p)?, p.n, p.m);
    program::measure(p, || host::myriad::run_future(&rt, program::relay::<S>(n, m)))
}

fn ring_of<S: System>(p: &Params) -> Outcome {
    let (rt, hops) = (host::myriad::start(p)?, program::ops(p));
    program::measure(p, || host::myriad::run_future(&rt, program::ring::<S>(hops)))
}

fn spawn_of<S: System>(p: &Params) -> Outcome {
    let (rt, actors) = (host::myriad::start(p)?, program::ops(p));
    program::measure(p, || host::myriad::run_future(&rt, program::spawn::<S>(actors)))
}

fn idle_of<S: System>(p: &Params) -> Outcome {
    let rt = host::myriad::start(p)?;
    host::myriad::run_future(&rt, program::idle::<S>(program::waiting_ones(p)))
}

pub(super) fn relay(p: &Params) -> Outcome {
    relay_of::<Futures>(p)
}

pub(super) fn relay_server(p: &Params) -> Outcome {
    relay_of::<Servers>(p)
}

pub(super) fn ring(p: &Params) -> Outcome {
    ring_of::<Futures>(p)
}

pub(super) fn ring_server(p: &Params) -> Outcome {
    ring_of::<Servers>(p)
}

pub(super) fn spawn(p: &Params) -> Outcome {
    spawn_of::<Futures>(p)
}

pub(super) fn spawn_server(p: &Params) -> Outcome {
    spawn_of::<Servers>(p)
}

pub(super) fn idle(p: &Params) -> Outcome {
    idle_of::<Futures>(p)
}

pub(super) fn idle_server(p: &Params) -> Outcome {
    idle_of::<Servers>(p)
}

/// A closure calls.
fn calls<const IN_PLACE: bool>(p: &Params) -> Outcome {
    let (rt, calls) = (host::myriad::start(p)?, program::ops(p));
    program::measure(p, || {
        rt.run(move || {
            let server = serve(Worker::<IN_PLACE>(Node::new(None, &Arc::default(), Tells::Ends)));
            server.cast(Message::Add(7));
            let begin = Instant::now();
            let sum: u64 = (0..calls).map(|_| server.call(Message::Sum).unwrap_or(0)).sum();
            let time = begin.elapsed();
            server.cast(Message::Stop);
            Failure::check(sum, 7 * calls)?;
            Ok(time)
        })
    })
}

pub(super) fn call(p: &Params) -> Outcome {
    calls::<false>(p)
}

pub(super) fn call_in_place(p: &Params) -> Outcome {
    calls::<true>(p)
}

pub(super) fn kill(p: &Params) -> Outcome {
    let (rt, actors) = (host::myriad::start(p)?, program::waiting_ones(p));
    crate::sample::warm(actors, || host::myriad::run_future(&rt, program::kill::<Futures>(actors)))
}

pub(super) fn skynet(p: &Params) -> Outcome {
    let (rt, tree) = (host::myriad::start(p)?, Tree::of(p));
    crate::sample::warm(tree.actors(), || {
        rt.run(move || {
            let begin = Instant::now();
            let (tx, rx) = oneshot();
            spawn_async(async move |mut mail| {
                let root = mail.address();
                spawn_async(move |mail| node(mail, root, 0, tree.leaves));
                tx.send(mail.receive_async().await)
            });
            let sum = rx.recv().unwrap_or(u64::MAX);
            let time = begin.elapsed();
            Failure::check(sum, tree.sum())?;
            Ok(time)
        })
    })
}

/// An actor of the tree: it tells its parent the sum of its leaves.
fn node(
    mut mail: Mailbox<u64>,
    parent: Address<u64>,
    first: u64,
    leaves: u64,
) -> impl Future<Output = ()> + Send + 'static {
    let part = leaves / 10;
    async move {
        let mut sum = first;
        if leaves > 1 {
            sum = 0;
            for child in 0..10 {
                let me = mail.address();
                spawn_async(move |mail| node(mail, me, first + child * part, part));
            }
            for _ in 0..10 {
                sum += mail.receive_async().await;
            }
        }
        parent.cast(sum);
    }
}

/// `restart`.
pub(super) fn restart(p: &Params) -> Outcome {
    let (rt, children) = (host::myriad::start(p)?, program::children(p));
    crate::sample::warm(children, || rt.run(move || restarts(children)))
}

fn restarts(children: u64) -> Result<Duration, Failure> {
    let tally = Arc::<Tally>::default();
    let most = children as usize;
    let wrong = |error: actor::StartError| Failure::Wrong(error.to_string());
    let tree = Supervisor::dynamic().intensity(most, Duration::from_secs(1000)).start().map_err(wrong)?;
    for n in 0..children {
        let tally = tally.clone();
        let start = move || {
            tally.add(1);
            Ok(spawn_async(async |mut mail: Mailbox<Reason>| mail.receive_async().await))
        };
        tree.start_child(Child::new(&n.to_string(), start)).map_err(wrong)?;
    }
    let all: Option<Vec<Address<Reason>>> = (0..children).map(|n| tree.get(&n.to_string())).collect();
    let all = all.ok_or_else(|| Failure::Wrong("a child is not there".into()))?;
    let begin = Instant::now();
    all.iter().for_each(|child| child.cast(Reason::Shutdown));
    let starts = block_on(tally.reach(2 * children));
    let time = begin.elapsed();
    let stopped = tree.stop().stopped;
    Failure::check(starts, 2 * children)?;
    Failure::check(stopped as u64, children)?;
    Ok(time)
}
