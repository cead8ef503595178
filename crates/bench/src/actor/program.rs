//! The programs of `actor`, once for all systems.

use std::future::{Future, poll_fn};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::memory::Memory;
use crate::params::Params;
use crate::record::{Failure, Measured, Outcome};
use crate::{processor, sample};

/// A system with actors.
pub(super) trait System: 'static {
    /// What reaches an actor.
    type Address: Clone + Send + Sync + 'static;
    /// Starts an actor.
    fn spawn(node: Node<Self::Address>) -> Self::Address;
    /// Sends "hand on".
    fn hand_on(to: &Self::Address, value: u64);
    /// Sends "add".
    fn add(to: &Self::Address, value: u64);
    /// Asks for the sum.
    fn sum(of: &Self::Address) -> impl Future<Output = u64> + Send;
    /// Sends "stop".
    fn stop(actor: &Self::Address);
}

/// One whose actors can be killed.
pub(super) trait Kill: System {
    /// Ends an actor that does not look at its messages any more.
    fn kill(actor: &Self::Address);
}

/// The state of an actor.
#[derive(Debug)]
pub(super) struct Node<A> {
    /// Where it hands on; the last one tells the tally.
    pub(super) next: Option<A>,
    pub(super) sum: u64,
    tally: Arc<Tally>,
    tells: Tells,
}

/// When an actor tells the tally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tells {
    Messages,
    Ends,
}

impl<A> Node<A> {
    pub(super) fn new(next: Option<A>, tally: &Arc<Tally>, tells: Tells) -> Self {
        Node { next, sum: 0, tally: tally.clone(), tells }
    }

    /// What "add" does, and "hand on" at the end of the chain.
    pub(super) fn got(&mut self, value: u64) {
        self.sum += value;
        if self.tells == Tells::Messages {
            self.tally.add(value);
        }
    }
}

impl<A> Drop for Node<A> {
    fn drop(&mut self) {
        match self.tells {
            Tells::Ends => self.tally.add(1),
            Tells::Messages => self.tally.ended.add(),
        }
    }
}

/// What has happened: messages, or ends where actors tell of these.
#[derive(Debug, Default)]
pub(super) struct Tally {
    count: Count,
    sum: AtomicU64,
    /// Ends of actors that tell of messages.
    ended: Count,
}

impl Tally {
    pub(super) fn add(&self, value: u64) {
        self.sum.fetch_add(value, SeqCst);
        self.count.add();
    }

    /// Ready when there were so many; the sum of their values.
    pub(super) async fn reach(&self, target: u64) -> u64 {
        self.count.reach(target).await;
        self.sum.load(SeqCst)
    }
}

/// How often something has happened, and who waits for so many.
#[derive(Debug, Default)]
struct Count {
    reached: AtomicU64,
    target: AtomicU64,
    waker: Mutex<Option<Waker>>,
}

impl Count {
    fn add(&self) {
        if self.reached.fetch_add(1, SeqCst) + 1 == self.target.load(SeqCst)
            && let Some(waker) = self.waker.lock().expect("nobody panics under it").take()
        {
            waker.wake();
        }
    }

    async fn reach(&self, target: u64) {
        self.target.store(target, SeqCst);
        poll_fn(|cx| {
            *self.waker.lock().expect("nobody panics under it") = Some(cx.waker().clone());
            if self.reached.load(SeqCst) >= target { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

/// A chain; the head comes last.
fn chain<S: System>(length: u64, tally: &Arc<Tally>) -> Vec<S::Address> {
    let mut all: Vec<S::Address> = Vec::with_capacity(length as usize);
    for _ in 0..length {
        let next = all.last().cloned();
        all.push(S::spawn(Node::new(next, tally, Tells::Messages)));
    }
    all
}

fn stop_all<S: System>(all: &[S::Address]) {
    all.iter().for_each(S::stop);
}

/// Ends a chain, so that the next one finds its memory free.
async fn end_chain<S: System>(all: Vec<S::Address>, tally: &Tally) {
    stop_all::<S>(&all);
    let length = all.len() as u64;
    drop(all);
    tally.ended.reach(length).await;
}

/// `relay`.
pub(super) async fn relay<S: System>(n: u64, m: u64) -> Result<Duration, Failure> {
    let begin = Instant::now();
    let tally = Arc::<Tally>::default();
    let all = chain::<S>(m, &tally);
    let head = &all[all.len() - 1];
    (0..n).for_each(|i| S::hand_on(head, i));
    let sum = tally.reach(n).await;
    let time = begin.elapsed();
    end_chain::<S>(all, &tally).await;
    Failure::check(sum, sum_of_relay(n, m))?;
    Ok(time)
}

/// The sum of all messages at the end of the chain.
pub(super) fn sum_of_relay(n: u64, m: u64) -> u64 {
    n * (n - 1) / 2 + n * (m - 1)
}

/// `ring`.
pub(super) async fn ring<S: System>(hops: u64) -> Result<Duration, Failure> {
    let tally = Arc::<Tally>::default();
    let all = chain::<S>(hops, &tally);
    // All of them wait when the last one has answered.
    Failure::check(S::sum(&all[0]).await, 0)?;
    let begin = Instant::now();
    S::hand_on(&all[all.len() - 1], 0);
    let sum = tally.reach(1).await;
    let time = begin.elapsed();
    end_chain::<S>(all, &tally).await;
    Failure::check(sum, hops - 1)?;
    Ok(time)
}

/// `call`.
pub(super) async fn call<S: System>(calls: u64) -> Result<Duration, Failure> {
    let tally = Arc::default();
    let actor = S::spawn(Node::new(None, &tally, Tells::Messages));
    S::add(&actor, 7);
    tally.reach(1).await;
    let begin = Instant::now();
    let mut sum = 0;
    for _ in 0..calls {
        sum += S::sum(&actor).await;
    }
    let time = begin.elapsed();
    S::stop(&actor);
    Failure::check(sum, 7 * calls)?;
    Ok(time)
}

/// `spawn`: so many live at a time.
const ALIVE: u64 = 256;

pub(super) async fn spawn<S: System>(actors: u64) -> Result<Duration, Failure> {
    let tally = Arc::default();
    let begin = Instant::now();
    let mut ended = 0;
    while ended < actors {
        let batch = ALIVE.min(actors - ended);
        let all: Vec<_> = (0..batch).map(|_| S::spawn(Node::new(None, &tally, Tells::Ends))).collect();
        stop_all::<S>(&all);
        ended += batch;
        tally.reach(ended).await;
    }
    let time = begin.elapsed();
    Failure::check(tally.count.reached.load(SeqCst), actors)?;
    Ok(time)
}

/// `idle`: the memory, and the time of the spawns.
pub(super) async fn idle<S: System>(actors: u64) -> Outcome {
    let tally = Arc::default();
    let (before, processors, begin) = (Memory::now(), processor::time(), Instant::now());
    let all: Vec<_> = (0..actors).map(|_| S::spawn(Node::new(None, &tally, Tells::Messages))).collect();
    let (time, used) = (begin.elapsed(), processor::since(processors));
    // (What handles the messages of all at once is no memory of an idle one.)
    let (mut added, mut sum) = (0, 0);
    for some in all.chunks(1000) {
        some.iter().zip(added..).for_each(|(actor, i)| S::add(actor, i));
        added += some.len() as u64;
        sum = tally.reach(added).await;
    }
    let bytes_per_task = Memory::growth(before, actors);
    stop_all::<S>(&all);
    Failure::check(sum, actors * (actors - 1) / 2)?;
    Ok(Measured { bytes_per_task, ..Measured::once(actors, time) }.with_processors(used, time))
}

/// `kill`: until all of them have ended.
pub(super) async fn kill<S: Kill>(actors: u64) -> Result<Duration, Failure> {
    let tally = Arc::default();
    let all: Vec<_> = (0..actors).map(|_| S::spawn(Node::new(None, &tally, Tells::Ends))).collect();
    for actor in &all {
        // Who has answered waits.
        Failure::check(S::sum(actor).await, 0)?;
    }
    let begin = Instant::now();
    all.iter().for_each(S::kill);
    let killed = tally.reach(actors).await;
    let time = begin.elapsed();
    Failure::check(killed, actors)?;
    Ok(time)
}

/// The tree of `skynet`: an actor has ten children, and the leaves are numbered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    pub(super) leaves: u64,
}

impl Tree {
    /// As many leaves as the largest power of ten that is at most `n × m`.
    pub(super) fn of(p: &Params) -> Self {
        Tree { leaves: 10_u64.pow(ops(p).ilog10()) }
    }

    pub(super) fn actors(self) -> u64 {
        (10 * self.leaves - 1) / 9
    }

    pub(super) fn sum(self) -> u64 {
        self.leaves * (self.leaves - 1) / 2
    }
}

/// How many operations a form has.
pub(super) fn ops(p: &Params) -> u64 {
    p.n * p.m
}

/// How many actors `idle` and `kill` have.
pub(super) fn waiting_ones(p: &Params) -> u64 {
    (ops(p) / 20).max(1)
}

/// How many children `restart` has.
pub(super) fn children(p: &Params) -> u64 {
    (ops(p) / 100).max(1)
}

/// Up to so many operations, a run is repeated in a warm process.
const WARM: u64 = 1_000_000;

/// Measures `once`.
pub(super) fn measure(p: &Params, once: impl FnMut() -> Result<Duration, Failure>) -> Outcome {
    if ops(p) <= WARM { sample::warm(ops(p), once) } else { sample::fresh(ops(p), p.m, once) }
}
