//! Random operations against a sequential model that says exactly what each must do: try operations, futures in all their
//! states, time limits that have passed, close, ends that come and go.
//!
//! One thread, so everything is decided. `MYRIAD_TEST_SEED=n` runs one seed.

mod channel_common;

use channel_common::*;
use myriad::channel::*;
use myriad::time::Instant;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// What the model knows of a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Waits,
    /// Handed over or taken; of a receive: with this message.
    Done(usize),
    Closed,
}

/// The model: messages are numbers, futures too.
struct Model {
    limit: usize,
    buffer: VecDeque<usize>,
    receivers: VecDeque<usize>,
    senders: VecDeque<usize>,
    closed: bool,
}

impl Model {
    fn send(&mut self, message: usize, line: &mut Line) -> Result<(), bool> {
        if self.closed {
            return Err(true);
        }
        if let Some(receiver) = self.receivers.pop_front() {
            line.end_receive(receiver, Stage::Done(message));
        } else if self.buffer.len() < self.limit {
            self.buffer.push_back(message);
        } else {
            return Err(false);
        }
        Ok(())
    }
    fn recv(&mut self, line: &mut Line) -> Result<usize, bool> {
        if let Some(message) = self.buffer.pop_front() {
            if self.buffer.len() < self.limit
                && let Some(sender) = self.senders.pop_front()
            {
                self.buffer.push_back(line.end_send(sender, Stage::Done(0)));
            }
            return Ok(message);
        }
        match self.senders.pop_front() {
            Some(sender) => Ok(line.end_send(sender, Stage::Done(0))),
            None => Err(self.closed),
        }
    }
    fn give_back(&mut self, message: usize, line: &mut Line) {
        match self.receivers.pop_front() {
            Some(receiver) => line.end_receive(receiver, Stage::Done(message)),
            None => self.buffer.push_front(message),
        }
    }
    fn close(&mut self, line: &mut Line) {
        self.closed = true;
        self.receivers.drain(..).for_each(|receiver| line.end_receive(receiver, Stage::Closed));
        self.senders.drain(..).for_each(|sender| _ = line.end_send(sender, Stage::Closed));
    }
}

struct Receive<'a> {
    id: usize,
    future: Pin<Box<RecvFuture<'a, Counted>>>,
    stage: Stage,
    wakes: (Arc<Wakes>, Waker),
    woken: usize,
}

struct Send<'a> {
    id: usize,
    future: Pin<Box<SendFuture<'a, Counted>>>,
    message: usize,
    stage: Stage,
    wakes: (Arc<Wakes>, Waker),
    woken: usize,
}

/// The futures that there are.
#[derive(Default)]
struct Line<'a> {
    receives: Vec<Receive<'a>>,
    sends: Vec<Send<'a>>,
}

impl Line<'_> {
    fn end_receive(&mut self, id: usize, stage: Stage) {
        let receive = self.receives.iter_mut().find(|receive| receive.id == id).unwrap();
        assert_eq!(receive.stage, Stage::Waits);
        receive.stage = stage;
        receive.woken += 1;
    }
    /// Returns its message.
    fn end_send(&mut self, id: usize, stage: Stage) -> usize {
        let send = self.sends.iter_mut().find(|send| send.id == id).unwrap();
        assert_eq!(send.stage, Stage::Waits);
        send.stage = stage;
        send.woken += 1;
        send.message
    }
    /// Each future was woken as often as the model says.
    fn check(&self) {
        self.receives.iter().for_each(|r| assert_eq!(r.wakes.0.count(), r.woken, "receive {}", r.id));
        self.sends.iter().for_each(|s| assert_eq!(s.wakes.0.count(), s.woken, "send {}", s.id));
    }
}

fn run(seed: u64, capacity: Option<usize>, steps: usize) {
    let mut random = Random::new(seed);
    let count = Arc::new(Count::default());
    let (tx, rx) = channel::<Counted>(capacity);
    // More ends of each side, all of the same channel; the first ones stay to the end, because futures borrow them.
    let (mut senders, mut receivers) = (Vec::new(), Vec::new());
    let limit = capacity.unwrap_or(usize::MAX);
    let (buffer, waiting) = (VecDeque::new(), VecDeque::new());
    let mut model = Model { limit, buffer, receivers: waiting.clone(), senders: waiting, closed: false };
    let mut line = Line::default();
    let mut next = 0;
    for step in 0..steps {
        let make = |next: &mut usize| {
            *next += 1;
            (*next, Counted::new(*next, &count))
        };
        // Close seldom, and late.
        let operation = if step > steps / 2 && random.below(40) == 0 { 12 } else { random.below(12) };
        match operation {
            0 | 1 => {
                let (id, message) = make(&mut next);
                let expected = model.send(id, &mut line);
                match tx.try_send(message) {
                    Ok(()) => assert_eq!(expected, Ok(())),
                    Err(error) => {
                        assert_eq!(expected, Err(error.is_closed()));
                        assert_eq!(error.into_inner().id, id);
                    }
                }
            }
            2 | 3 => match (rx.try_recv(), model.recv(&mut line)) {
                (Ok(message), expected) => assert_eq!(Ok(message.id), expected),
                (Err(error), expected) => assert_eq!(Err(error == TryRecvError::Closed), expected),
            },
            4 => {
                // In the past, so it never waits; on a foreign thread it ends its wait by itself.
                let (id, message) = make(&mut next);
                let expected = model.send(id, &mut line);
                match tx.send_deadline(message, Instant::from_nanos(0)) {
                    Ok(()) => assert_eq!(expected, Ok(())),
                    Err(error) => {
                        assert_eq!(expected, Err(error.is_closed()));
                        assert_eq!(error.into_inner().id, id);
                    }
                }
            }
            5 => match (rx.recv_deadline(Instant::from_nanos(0)), model.recv(&mut line)) {
                (Ok(message), expected) => assert_eq!(Ok(message.id), expected),
                (Err(error), expected) => assert_eq!(Err(error == RecvTimeoutError::Closed), expected),
            },
            6 if line.receives.len() < 6 => {
                next += 1;
                let (future, wakes) = (Box::pin(rx.recv_async()), Wakes::new());
                line.receives.push(Receive { id: next, future, stage: Stage::New, wakes, woken: 0 });
            }
            7 if line.sends.len() < 6 => {
                let (id, message) = make(&mut next);
                let (future, wakes) = (Box::pin(tx.send_async(message)), Wakes::new());
                line.sends.push(Send { id, future, message: id, stage: Stage::New, wakes, woken: 0 });
            }
            8 if !line.receives.is_empty() => {
                let i = random.below(line.receives.len());
                poll_receive(&mut model, &mut line, i, &mut random);
            }
            9 if !line.sends.is_empty() => {
                let i = random.below(line.sends.len());
                poll_send(&mut model, &mut line, i, &mut random);
            }
            10 if !line.receives.is_empty() || !line.sends.is_empty() => {
                let i = random.below(line.receives.len() + line.sends.len());
                if i < line.receives.len() {
                    let receive = line.receives.swap_remove(i);
                    model.receivers.retain(|id| *id != receive.id);
                    if let Stage::Done(message) = receive.stage {
                        model.give_back(message, &mut line);
                    }
                    drop(receive);
                } else {
                    let send = line.sends.swap_remove(i - line.receives.len());
                    model.senders.retain(|id| *id != send.id);
                    drop(send);
                }
            }
            11 => match random.below(4) {
                0 => senders.push(tx.clone()),
                1 => receivers.push(rx.clone()),
                2 => drop(senders.pop()),
                _ => drop(receivers.pop()),
            },
            12 => {
                let was_open = !model.closed;
                model.close(&mut line);
                assert_eq!(if random.below(2) == 0 { tx.close() } else { rx.close() }, was_open);
            }
            _ => {}
        }
        line.check();
        assert_eq!((tx.len(), rx.is_closed()), (model.buffer.len(), model.closed));
        // Buffered, handed over and not fetched, or still with a send.
        let in_sends = line.sends.iter().filter(|send| !matches!(send.stage, Stage::Done(_))).count();
        let handed = line.receives.iter().filter(|receive| matches!(receive.stage, Stage::Done(_))).count();
        assert_eq!(count.alive(), model.buffer.len() + in_sends + handed);
    }
    drop(line);
    drop((senders, receivers, tx, rx));
    assert_eq!(count.alive(), 0);
}

/// Polls a receive, now and then with another waker.
fn poll_receive(model: &mut Model, line: &mut Line, i: usize, random: &mut Random) {
    let id = line.receives[i].id;
    let expected = match line.receives[i].stage {
        Stage::New => model.recv(line),
        Stage::Waits => Err(false),
        Stage::Done(message) => Ok(message),
        Stage::Closed => Err(true),
    };
    let receive = &mut line.receives[i];
    if random.below(2) == 0 && receive.stage == Stage::Waits {
        // Woken from now on is this one.
        assert_eq!(receive.wakes.0.count(), receive.woken);
        receive.wakes = Wakes::new();
        receive.woken = 0;
    }
    let mut polled = poll_with(receive.future.as_mut(), &receive.wakes.1);
    if polled.is_pending() && receive.wakes.0.count() > receive.woken {
        // A task's budget is used up: it lets others run, is woken at once, and has done nothing.
        receive.woken += 1;
        polled = poll_with(receive.future.as_mut(), &receive.wakes.1);
    }
    match (polled, expected) {
        (Poll::Ready(Ok(message)), expected) => {
            assert_eq!(Ok(message.id), expected);
            drop(line.receives.swap_remove(i));
        }
        (Poll::Ready(Err(RecvError)), expected) => {
            assert_eq!(expected, Err(true));
            drop(line.receives.swap_remove(i));
        }
        (Poll::Pending, expected) => {
            assert_eq!(expected, Err(false));
            if receive.stage == Stage::New {
                receive.stage = Stage::Waits;
                model.receivers.push_back(id);
            }
        }
    }
}

fn poll_send(model: &mut Model, line: &mut Line, i: usize, random: &mut Random) {
    let (id, message) = (line.sends[i].id, line.sends[i].message);
    let expected = match line.sends[i].stage {
        Stage::New => model.send(message, line),
        Stage::Waits => Err(false),
        Stage::Done(_) => Ok(()),
        Stage::Closed => Err(true),
    };
    let send = &mut line.sends[i];
    if random.below(2) == 0 && send.stage == Stage::Waits {
        assert_eq!(send.wakes.0.count(), send.woken);
        send.wakes = Wakes::new();
        send.woken = 0;
    }
    let mut polled = poll_with(send.future.as_mut(), &send.wakes.1);
    if polled.is_pending() && send.wakes.0.count() > send.woken {
        // As there.
        send.woken += 1;
        polled = poll_with(send.future.as_mut(), &send.wakes.1);
    }
    match (polled, expected) {
        (Poll::Ready(Ok(())), expected) => {
            assert_eq!(expected, Ok(()));
            drop(line.sends.swap_remove(i));
        }
        (Poll::Ready(Err(SendError(back))), expected) => {
            assert_eq!((expected, back.id), (Err(true), message));
            drop(line.sends.swap_remove(i));
        }
        (Poll::Pending, expected) => {
            assert_eq!(expected, Err(false));
            if send.stage == Stage::New {
                send.stage = Stage::Waits;
                model.senders.push_back(id);
            }
        }
    }
}

#[test]
fn as_the_model_says() {
    let (first, rounds) = match std::env::var("MYRIAD_TEST_SEED") {
        Ok(_) => (seed(), 1),
        Err(_) => (seed(), 400),
    };
    for seed in first..first + rounds {
        for capacity in [Some(0), Some(1), Some(2), Some(5), None] {
            println!("MYRIAD_TEST_SEED={seed} {capacity:?}");
            run(seed, capacity, 200);
        }
    }
}

/// The same in a task: by the biased lock, with the budget of a task, and time limits that fire by timer.
#[test]
fn as_the_model_says_in_a_task() {
    let first = seed();
    println!("MYRIAD_TEST_SEED={first}");
    each_runtime(|rt| {
        rt.run(|| {
            for seed in first..first + 20 {
                for capacity in [Some(0), Some(1), Some(2), Some(5), None] {
                    run(seed, capacity, 150);
                }
            }
        });
    });
}
