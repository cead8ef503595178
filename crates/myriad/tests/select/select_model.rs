//! Random selects, and plain operations beside them, against a sequential model that says exactly
//! what each must do: which arm may win, what is handed to whom, who is woken, and that all other
//! arms have done nothing.
//!
//! One thread, so all but the choice among ready arms of a fair select is decided; that choice is
//! checked, and followed. `MYRIAD_TEST_SEED=n` runs one seed.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::select::Select;
use myriad::time::Instant;
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// What an arm has brought: a message's number, or that it was sent; `Err`: closed, with the number
/// of what came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Brought {
    Received(Option<usize>),
    Sent(Result<(), usize>),
}

/// The arm's number, and what it has brought.
type Won = (usize, Brought);

/// An arm: of which channel, and which message it sends, if it sends.
#[derive(Debug, Clone, Copy)]
struct Arm {
    channel: usize,
    message: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Waits,
    DropsOldest,
    DropsNewest,
}

/// The model of a channel. Who waits stands here as (number of the wait, number of the arm).
struct Channel {
    kind: Kind,
    limit: usize,
    buffer: VecDeque<usize>,
    receivers: VecDeque<(usize, usize)>,
    senders: VecDeque<(usize, usize)>,
    closed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Waits,
    Done(Won),
}

/// The model of a wait: a select, or a plain operation as a future, which is a select with one arm.
struct Wait {
    arms: Vec<Arm>,
    biased: bool,
    stage: Stage,
    wakes: usize,
}

struct Model {
    channels: Vec<Channel>,
    waits: BTreeMap<usize, Wait>,
}

impl Model {
    fn is_ready(&self, arm: Arm) -> bool {
        let channel = &self.channels[arm.channel];
        channel.closed
            || match arm.message {
                None => !channel.buffer.is_empty() || !channel.senders.is_empty(),
                Some(_) => {
                    !channel.receivers.is_empty() || channel.buffer.len() < channel.limit || channel.kind != Kind::Waits
                }
            }
    }

    /// Somebody ends a wait: its arms are in no line any more.
    fn end(&mut self, id: usize, won: Won) -> Arm {
        let wait = self.waits.get_mut(&id).unwrap();
        assert_eq!(wait.stage, Stage::Waits);
        wait.stage = Stage::Done(won);
        wait.wakes += 1;
        let arm = wait.arms[won.0];
        self.leave(id);
        arm
    }

    fn leave(&mut self, id: usize) {
        for channel in &mut self.channels {
            channel.receivers.retain(|(wait, _)| *wait != id);
            channel.senders.retain(|(wait, _)| *wait != id);
        }
    }

    /// Takes the message of the sender that waits first.
    fn take_from_first_sender(&mut self, c: usize) -> Option<usize> {
        let (id, arm) = *self.channels[c].senders.front()?;
        self.end(id, (arm, Brought::Sent(Ok(())))).message
    }

    /// Does what is ready.
    fn act(&mut self, arm: Arm) -> Brought {
        let c = arm.channel;
        let Some(message) = arm.message else {
            let got = match self.channels[c].buffer.pop_front() {
                None => self.take_from_first_sender(c),
                Some(message) => {
                    if self.channels[c].buffer.len() < self.channels[c].limit
                        && let Some(next) = self.take_from_first_sender(c)
                    {
                        self.channels[c].buffer.push_back(next);
                    }
                    Some(message)
                }
            };
            return Brought::Received(got);
        };
        if self.channels[c].closed {
            return Brought::Sent(Err(message));
        }
        if let Some((id, arm)) = self.channels[c].receivers.front().copied() {
            self.end(id, (arm, Brought::Received(Some(message))));
            return Brought::Sent(Ok(()));
        }
        let channel = &mut self.channels[c];
        if channel.buffer.len() >= channel.limit {
            assert_ne!(channel.kind, Kind::Waits);
            if channel.kind == Kind::DropsNewest {
                return Brought::Sent(Ok(()));
            }
            channel.buffer.pop_front();
        }
        channel.buffer.push_back(message);
        Brought::Sent(Ok(()))
    }

    fn give_back(&mut self, c: usize, message: usize) {
        match self.channels[c].receivers.front().copied() {
            Some((id, arm)) => _ = self.end(id, (arm, Brought::Received(Some(message)))),
            None => self.channels[c].buffer.push_front(message),
        }
    }

    fn close(&mut self, c: usize) {
        self.channels[c].closed = true;
        while let Some((id, arm)) = self.channels[c].receivers.front().copied() {
            self.end(id, (arm, Brought::Received(None)));
        }
        while let Some((id, arm)) = self.channels[c].senders.front().copied() {
            let message = self.waits[&id].arms[arm].message.unwrap();
            self.end(id, (arm, Brought::Sent(Err(message))));
        }
    }

    /// These arms are attempted, and this has come out.
    fn attempted(&mut self, arms: &[Arm], biased: bool, outcome: Option<Won>) {
        let ready: Vec<usize> = (0..arms.len()).filter(|i| self.is_ready(arms[*i])).collect();
        let Some((arm, brought)) = outcome else {
            assert!(ready.is_empty(), "arms {ready:?} were ready");
            return;
        };
        assert!(ready.contains(&arm) && (!biased || ready[0] == arm), "arm {arm} has won, ready were {ready:?}");
        assert_eq!(self.act(arms[arm]), brought, "arm {arm}");
    }

    /// How many messages are alive: in buffers, and held by waits.
    fn alive(&self) -> usize {
        let held = self.waits.values().map(|wait| {
            let sends = wait.arms.iter().filter(|arm| arm.message.is_some()).count();
            match wait.stage {
                Stage::Done((_, Brought::Received(Some(_)))) => sends + 1,
                Stage::Done((_, Brought::Sent(Ok(())))) => sends - 1,
                _ => sends,
            }
        });
        self.channels.iter().map(|channel| channel.buffer.len()).sum::<usize>() + held.sum::<usize>()
    }
}

/// The real thing.
struct Real {
    tx: Vec<Sender<Counted>>,
    rx: Vec<Receiver<Counted>>,
    count: Arc<Count>,
}

type Waiting<'a> = (Pin<Box<dyn Future<Output = Won> + 'a>>, Arc<Wakes>, Waker, usize);

fn received(result: Result<Counted, RecvError>) -> Brought {
    Brought::Received(result.ok().map(|message| message.id))
}

fn was_sent(result: Result<(), SendError<Counted>>) -> Brought {
    Brought::Sent(result.map_err(|SendError(back)| back.id))
}

impl Real {
    fn select(&self, arms: &[Arm], biased: bool) -> Select<'_, Won> {
        let mut select = if biased { Select::biased() } else { Select::new() };
        for (i, arm) in arms.iter().enumerate() {
            match arm.message {
                None => select.recv(&self.rx[arm.channel], move |result| (i, received(result))),
                Some(id) => {
                    let message = Counted::new(id, &self.count);
                    select.send(&self.tx[arm.channel], message, move |result| (i, was_sent(result)))
                }
            };
        }
        select
    }

    /// A wait as a future: a select's, or with one arm sometimes a plain operation's.
    fn future<'a>(&'a self, arms: &[Arm], biased: bool, plain: bool) -> Pin<Box<dyn Future<Output = Won> + 'a>> {
        match (plain, arms) {
            (true, [Arm { channel, message: None }]) => {
                let receiving = self.rx[*channel].recv_async();
                Box::pin(async { (0, received(receiving.await)) })
            }
            (true, [Arm { channel, message: Some(id) }]) => {
                let sending = self.tx[*channel].send_async(Counted::new(*id, &self.count));
                Box::pin(async { (0, was_sent(sending.await)) })
            }
            _ => {
                let mut select = self.select(arms, biased);
                Box::pin(async move { select.wait_async().await })
            }
        }
    }
}

fn random_arms(random: &mut Random, next: &mut usize, channels: usize) -> Vec<Arm> {
    (0..1 + random.below(4))
        .map(|_| {
            *next += 1;
            Arm { channel: random.below(channels), message: (random.below(2) == 0).then_some(*next) }
        })
        .collect()
}

fn run(seed: u64, steps: usize) {
    let mut random = Random::new(seed);
    let n = 1 + random.below(3);
    let mut model = Model { channels: Vec::new(), waits: BTreeMap::new() };
    let mut real = Real { tx: Vec::new(), rx: Vec::new(), count: Arc::default() };
    for _ in 0..n {
        let (kind, limit) =
            [(Kind::Waits, 0), (Kind::Waits, 1), (Kind::Waits, 3), (Kind::DropsOldest, 2), (Kind::DropsNewest, 1)]
                [random.below(5)];
        let (tx, rx) = match kind {
            Kind::Waits => bounded(limit),
            Kind::DropsOldest => bounded_drop_oldest(limit),
            Kind::DropsNewest => bounded_drop_newest(limit),
        };
        real.tx.push(tx);
        real.rx.push(rx);
        let (receivers, senders) = (VecDeque::new(), VecDeque::new());
        model.channels.push(Channel { kind, limit, buffer: VecDeque::new(), receivers, senders, closed: false });
    }
    let real = &real;
    let mut waiting: BTreeMap<usize, Waiting<'_>> = BTreeMap::new();
    let mut next = 0;
    for step in 0..steps {
        let some = |random: &mut Random, waiting: &BTreeMap<usize, Waiting<'_>>| {
            waiting.keys().nth(random.below(waiting.len().max(1))).copied()
        };
        match random.below(12) {
            // Without waiting.
            0..=2 => {
                let (arms, biased) = (random_arms(&mut random, &mut next, n), random.below(2) == 0);
                let mut select = real.select(&arms, biased);
                let outcome = match random.below(3) {
                    0 => select.try_wait(),
                    1 => select.wait_deadline(Instant::from_nanos(0)),
                    // Tried twice: what it has not done the first time is as it was.
                    _ => select.try_wait().or_else(|| select.try_wait()),
                };
                drop(select);
                model.attempted(&arms, biased, outcome);
            }
            3 | 4 if waiting.len() < 6 => {
                let (arms, biased) = (random_arms(&mut random, &mut next, n), random.below(2) == 0);
                // Of a fair one's arms in one list any may be the first. Of two that send we would
                // not know whose message came.
                let sends: Vec<_> = arms.iter().filter(|arm| arm.message.is_some()).map(|arm| arm.channel).collect();
                let biased = biased || (1..sends.len()).any(|i| sends[..i].contains(&sends[i]));
                let future = real.future(&arms, biased, random.below(2) == 0);
                let (wakes, waker) = Wakes::new();
                next += 1;
                waiting.insert(next, (future, wakes, waker, 0));
                model.waits.insert(next, Wait { arms, biased, stage: Stage::New, wakes: 0 });
            }
            5..=8 => {
                let Some(id) = some(&mut random, &waiting) else { continue };
                let (future, wakes, waker, before) = waiting.get_mut(&id).unwrap();
                let Wait { arms, biased, stage, wakes: expected } = &model.waits[&id];
                let (arms, biased, stage) = (arms.clone(), *biased, *stage);
                if stage == Stage::Waits && random.below(2) == 0 {
                    // From now on another one is woken.
                    assert_eq!(wakes.count() + *before, *expected);
                    *before += wakes.count();
                    (*wakes, *waker) = Wakes::new();
                }
                let polled = loop {
                    let woken = wakes.count();
                    match poll_with(future.as_mut(), waker) {
                        Poll::Ready(won) => break Some(won),
                        // A task's budget is used up: it lets others run, is woken at once, and has
                        // done nothing.
                        Poll::Pending if wakes.count() > woken => model.waits.get_mut(&id).unwrap().wakes += 1,
                        Poll::Pending => break None,
                    }
                };
                match stage {
                    Stage::New => {
                        model.attempted(&arms, biased, polled);
                        if polled.is_none() {
                            for (i, arm) in arms.iter().enumerate() {
                                let channel = &mut model.channels[arm.channel];
                                let line =
                                    if arm.message.is_some() { &mut channel.senders } else { &mut channel.receivers };
                                line.push_back((id, i));
                            }
                            model.waits.get_mut(&id).unwrap().stage = Stage::Waits;
                        }
                    }
                    Stage::Waits => assert_eq!(polled, None, "nobody has ended it"),
                    Stage::Done((first, brought)) => {
                        let won = polled.expect("another has ended it");
                        assert_eq!(won.1, brought);
                        let same = |a: Arm, b: Arm| a.channel == b.channel && a.message == b.message;
                        assert!(won.0 == first || !biased && same(arms[won.0], arms[first]), "{won:?}, not {first}");
                    }
                }
                if polled.is_some() {
                    waiting.remove(&id);
                    model.waits.remove(&id);
                }
            }
            9 | 10 => {
                let Some(id) = some(&mut random, &waiting) else { continue };
                model.leave(id);
                let wait = model.waits.remove(&id).unwrap();
                if let Stage::Done((arm, Brought::Received(Some(message)))) = wait.stage {
                    model.give_back(wait.arms[arm].channel, message);
                }
                waiting.remove(&id);
            }
            _ => {
                let c = random.below(n);
                // Seldom, and late.
                if step > steps / 2 && random.below(10) == 0 {
                    let was_open = !model.channels[c].closed;
                    model.close(c);
                    assert_eq!(if random.below(2) == 0 { real.tx[c].close() } else { real.rx[c].close() }, was_open);
                }
            }
        }
        for (id, (_, wakes, _, before)) in &waiting {
            assert_eq!(wakes.count() + before, model.waits[id].wakes, "wakes of {id}, step {step}");
        }
        for (channel, tx) in model.channels.iter().zip(&real.tx) {
            assert_eq!((tx.len(), tx.is_closed()), (channel.buffer.len(), channel.closed), "step {step}");
        }
        assert_eq!(real.count.alive(), model.alive(), "step {step}");
    }
    drop(waiting);
}

#[test]
fn as_the_model_says() {
    let given = std::env::var_os("MYRIAD_TEST_SEED").is_some();
    let first = seed();
    for seed in first..first + if given { 1 } else { 1_500 } {
        println!("MYRIAD_TEST_SEED={seed}");
        run(seed, 200);
    }
}

/// The same in a task: with biased locks, a task's budget, and deadlines that fire by timer.
#[test]
fn as_the_model_says_in_a_task() {
    let first = seed();
    println!("MYRIAD_TEST_SEED={first}");
    each_runtime(|rt| rt.run(|| (first..first + 100).for_each(|seed| run(seed, 150))));
}
