//! Runs programs, and writes down what happens: the actors of a program, in one place, over many
//! rounds.

use super::model::{Answer, Call, How};
use super::object::Object;
use super::place::{Actor, Place};
use super::search::Event;
use crate::common::{Rng, locked};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// A program: the calls of each actor.
pub(crate) type Program<Op> = Vec<Vec<Call<Op>>>;

/// What came of one round: the events of each actor, and of who brought relief.
pub(crate) type History<Op> = Vec<Vec<Event<Op>>>;

/// Nanoseconds of the monotonic clock.
pub(crate) fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

/// What the actors of a program share.
struct Stage<O: Object> {
    program: Program<O::Op>,
    rounds: Vec<Round<O::Op>>,
    /// Events of all rounds, and actors that have ended.
    events: AtomicUsize,
    ended: AtomicUsize,
}

struct Round<Op> {
    arrived: AtomicUsize,
    ended: AtomicUsize,
    /// Of each actor, who alone changes it until the end.
    events: Vec<Mutex<Vec<Event<Op>>>>,
}

impl<O: Object> Stage<O> {
    /// Have all come to this round? Who asks first has come.
    fn is_complete(&self, round: usize, first: bool) -> bool {
        self.rounds[round].arrived.fetch_add(usize::from(first), AcqRel) + usize::from(first) >= self.program.len()
    }

    fn write(&self, round: usize, actor: usize, call: &Call<O::Op>, begin: u64, answer: Answer) {
        let end = now();
        locked(&self.rounds[round].events[actor]).push(Event { call: *call, answer, begin, end });
        self.events.fetch_add(1, Relaxed);
    }

    /// As an actor that blocks, in all rounds.
    fn act(&self, actor: usize, hands: Vec<O::Hand>, mut rng: Rng) {
        for (round, mut hand) in hands.into_iter().enumerate() {
            let mut patience = PATIENCE_AT_START;
            while !self.is_complete(round, patience == PATIENCE_AT_START) && patience > 0 {
                patience -= 1;
                if patience.is_multiple_of(64) { give_way() } else { std::hint::spin_loop() }
            }
            for call in &self.program[actor] {
                spin(&mut rng);
                if rng.below(8) == 0 {
                    give_way();
                }
                let begin = now();
                let answer = catch_unwind(AssertUnwindSafe(|| match call.how {
                    How::AwaitSlowly => myriad::block_on(O::call_async(&mut hand, call)),
                    _ => O::call(&mut hand, call),
                }));
                self.write(round, actor, call, begin, answer.unwrap_or(Answer::Panicked));
            }
            drop(hand);
            self.rounds[round].ended.fetch_add(1, Release);
        }
        self.ended.fetch_add(1, Release);
    }

    /// As an actor that is a future.
    async fn act_async(&self, actor: usize, hands: Vec<O::Hand>, mut rng: Rng) {
        for (round, mut hand) in hands.into_iter().enumerate() {
            let mut patience = PATIENCE_AT_START;
            while !self.is_complete(round, patience == PATIENCE_AT_START) && patience > 0 {
                patience -= 1;
                if patience.is_multiple_of(64) { give_way_async().await } else { std::hint::spin_loop() }
            }
            for call in &self.program[actor] {
                spin(&mut rng);
                if rng.below(8) == 0 {
                    give_way_async().await;
                }
                let begin = now();
                let answer = O::call_async(&mut hand, call).await;
                self.write(round, actor, call, begin, answer);
            }
            drop(hand);
            self.rounds[round].ended.fetch_add(1, Release);
        }
        self.ended.fetch_add(1, Release);
    }
}

/// So many looks whether the others have come, before a round begins without them.
const PATIENCE_AT_START: u32 = 1024;

fn spin(rng: &mut Rng) {
    for _ in 0..[0, 0, 50, 300, 1000][rng.below(5) as usize] {
        std::hint::spin_loop();
    }
}

fn give_way() {
    if myriad::Handle::current().is_some() { myriad::yield_now() } else { std::thread::yield_now() }
}

async fn give_way_async() {
    let mut yielded = false;
    std::future::poll_fn(|cx| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await
}

/// Without progress for so long, a program that may stick gets relief.
const IDLE: Duration = Duration::from_micros(300);

/// Without progress for so long it hangs.
fn patience() -> Duration {
    let asked = std::env::var("MYRIAD_TEST_PATIENCE").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(asked.unwrap_or(60))
}

/// Runs a program for so many rounds. If it may stick, relief `helps`. `hangs` is called, and told
/// what has happened so far, if it does not end.
pub(crate) fn run<O: Object>(
    object: &O,
    program: &Program<O::Op>,
    place: &Place,
    rounds: usize,
    helps: bool,
    rng: &mut Rng,
    hangs: impl Fn(&History<O::Op>),
) -> Vec<History<O::Op>> {
    let actors = program.len();
    let mut hands: Vec<Vec<O::Hand>> = (0..=actors).map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        let (_, made) = object.make(actors);
        made.into_iter().zip(&mut hands).for_each(|(hand, of)| of.push(hand));
    }
    let mut helper = hands.pop().expect("a hand for relief");
    let round = |_| Round {
        arrived: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
        events: (0..=actors).map(|_| Mutex::default()).collect(),
    };
    let stage = Arc::new(Stage::<O> {
        program: program.clone(),
        rounds: (0..rounds).map(round).collect(),
        events: AtomicUsize::new(0),
        ended: AtomicUsize::new(0),
    });
    let mut threads = Vec::new();
    for (actor, hands) in hands.into_iter().enumerate() {
        let (stage, rng) = (stage.clone(), rng.fork());
        match place.actor(actor) {
            Actor::Thread => threads.push(std::thread::spawn(move || stage.act(actor, hands, rng))),
            Actor::Closure(runtime) => drop(runtime.spawn(move || stage.act(actor, hands, rng))),
            Actor::Future(runtime) => {
                drop(runtime.spawn_async(async move { stage.act_async(actor, hands, rng).await }));
            }
        }
    }
    let (mut seen, mut since, mut idle) = (0, Instant::now(), IDLE);
    while stage.ended.load(Acquire) < actors {
        std::thread::sleep(Duration::from_micros(if helps { 50 } else { 20 }));
        let events = stage.events.load(Relaxed);
        if events != seen {
            (seen, since, idle) = (events, Instant::now(), IDLE);
        } else if since.elapsed() > patience() && (!helps || idle > IDLE) {
            // (With relief only after the first: who watches may itself have been stopped for
            // long.)
            let stuck = stage.rounds.iter().find(|round| round.ended.load(Acquire) < actors);
            stuck.into_iter().for_each(|round| hangs(&history(round)));
            std::process::abort();
        } else if helps && since.elapsed() > idle {
            // The first round that somebody has not ended: all others wait for that, or are about
            // to come there.
            let stuck = stage.rounds.iter().position(|round| round.ended.load(Acquire) < actors);
            for (at, call) in stuck.into_iter().flat_map(|at| object.relief().into_iter().map(move |call| (at, call))) {
                let begin = now();
                let answer = O::call(&mut helper[at], &call);
                stage.write(at, actors, &call, begin, answer);
                seen += 1;
            }
            // Those who were helped may be slow: not again and again meanwhile.
            (since, idle) = (Instant::now(), 2 * idle);
        }
    }
    threads.into_iter().for_each(|thread| thread.join().expect("an actor"));
    stage.rounds.iter().map(history).collect()
}

fn history<Op: Clone>(round: &Round<Op>) -> History<Op> {
    round.events.iter().map(|events| locked(events).clone()).collect()
}
