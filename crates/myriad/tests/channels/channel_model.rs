//! Random operations against a sequential model that says exactly what each must do: try
//! operations, futures in all their states, peeks (with operations meanwhile), time limits that
//! have passed, close, ends that come and go.
//!
//! One thread, so everything is decided. `MYRIAD_TEST_SEED=n` runs one seed.

use crate::channel_common::*;
use myriad::channel::*;
use myriad::time::Instant;
use std::cell::Cell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};

/// What the model knows of a future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Waits,
    /// Handed over or taken; of a receive: with this message. Of a peek: it is lent.
    Done(usize),
    Closed,
}

/// What a send does at a full channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Full {
    Wait,
    DropOldest,
    DropNewest,
}

/// The model: messages are numbers, futures too.
struct Model {
    limit: usize,
    full: Full,
    /// In order, with the one that is lent.
    buffer: VecDeque<usize>,
    lent: Option<usize>,
    /// How many are buffered that are older than the lent one: given back meanwhile.
    older: usize,
    /// Pushed out while it is lent.
    doomed: bool,
    receivers: VecDeque<usize>,
    senders: VecDeque<usize>,
    closed: bool,
}

impl Model {
    fn send(&mut self, message: usize, line: &mut Line) -> Result<(), bool> {
        if self.closed {
            return Err(true);
        }
        if self.lent.is_none() && !self.receivers.is_empty() {
            self.buffer.push_back(message);
            self.hand_over(line);
            return Ok(());
        }
        if self.buffer.len() >= self.limit {
            match self.full {
                Full::Wait => return Err(false),
                Full::DropNewest => return Ok(()),
                Full::DropOldest => {
                    let oldest = self.buffer.pop_front();
                    self.doomed |= self.lent.is_some() && oldest == self.lent;
                    self.older = self.older.saturating_sub(1);
                }
            }
        }
        self.buffer.push_back(message);
        Ok(())
    }
    /// The first message to the first receiver.
    fn hand_over(&mut self, line: &mut Line) {
        let receiver = self.receivers.pop_front().unwrap();
        let message = self.buffer[0];
        if line.peeks(receiver) {
            self.lent = Some(message);
        } else {
            self.buffer.pop_front();
        }
        line.end_receive(receiver, Stage::Done(message));
    }
    fn recv(&mut self, line: &mut Line) -> Result<usize, bool> {
        if self.lent.is_some() {
            if self.older == 0 || !self.receivers.is_empty() {
                return Err(false);
            }
            self.older -= 1;
            return Ok(self.buffer.pop_front().unwrap());
        }
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
    /// Lends the first message.
    fn lend(&mut self, line: &mut Line) -> Result<usize, bool> {
        if self.lent.is_some() {
            return Err(false);
        }
        if self.buffer.is_empty()
            && let Some(sender) = self.senders.pop_front()
        {
            self.buffer.push_back(line.end_send(sender, Stage::Done(0)));
        }
        self.lent = self.buffer.front().copied();
        self.lent.ok_or(self.closed)
    }
    fn end_peek(&mut self, taken: bool, line: &mut Line) {
        let message = self.lent.take().unwrap();
        if taken {
            self.buffer.retain(|id| *id != message);
        }
        (self.doomed, self.older) = (false, 0);
        while self.lent.is_none() {
            let wanted = self.buffer.is_empty() && !self.receivers.is_empty();
            if (self.buffer.len() < self.limit || wanted)
                && let Some(sender) = self.senders.pop_front()
            {
                self.buffer.push_back(line.end_send(sender, Stage::Done(0)));
            } else if !self.buffer.is_empty() && !self.receivers.is_empty() {
                self.hand_over(line);
            } else {
                break;
            }
        }
        if self.closed && self.lent.is_none() {
            self.receivers.drain(..).for_each(|receiver| line.end_receive(receiver, Stage::Closed));
        }
    }
    fn give_back(&mut self, message: usize, line: &mut Line) {
        match self.receivers.front() {
            Some(first) if self.lent.is_none() || !line.peeks(*first) => {
                self.buffer.push_front(message);
                self.hand_over(line);
            }
            _ => {
                self.buffer.push_front(message);
                self.older += usize::from(self.lent.is_some());
            }
        }
    }
    fn close(&mut self, line: &mut Line) {
        self.closed = true;
        if self.lent.is_none() {
            self.receivers.drain(..).for_each(|receiver| line.end_receive(receiver, Stage::Closed));
        }
        self.senders.drain(..).for_each(|sender| _ = line.end_send(sender, Stage::Closed));
    }
}

/// A receive, or a peek that takes the message, or does not.
struct Receive<'a> {
    id: usize,
    future: Pin<Box<dyn Future<Output = Result<Option<Counted>, RecvError>> + 'a>>,
    peeks: Option<bool>,
    /// What the peek has seen.
    seen: Rc<Cell<usize>>,
    stage: Stage,
    wakes: (Arc<Wakes>, Waker),
    woken: usize,
}

impl<'a> Receive<'a> {
    fn new(id: usize, rx: &'a Receiver<Counted>, peeks: Option<bool>) -> Self {
        let seen = Rc::new(Cell::new(0));
        let future: Pin<Box<dyn Future<Output = _>>> = match peeks {
            None => Box::pin(async { rx.recv_async().await.map(Some) }),
            Some(take) => {
                let seen = seen.clone();
                Box::pin(rx.recv_if_async(move |message| {
                    seen.set(message.id);
                    take
                }))
            }
        };
        Receive { id, future, peeks, seen, stage: Stage::New, wakes: Wakes::new(), woken: 0 }
    }
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
    fn peeks(&self, id: usize) -> bool {
        self.receives.iter().find(|receive| receive.id == id).unwrap().peeks.is_some()
    }
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

/// The panic of a peek.
struct Peeked;

/// A channel and its model.
struct World<'a> {
    tx: &'a Sender<Counted>,
    rx: &'a Receiver<Counted>,
    /// More ends of each side; the first ones stay to the end, because futures borrow them.
    senders: Vec<Sender<Counted>>,
    receivers: Vec<Receiver<Counted>>,
    model: Model,
    line: Line<'a>,
    random: Random,
    count: Arc<Count>,
    next: usize,
}

impl World<'_> {
    fn make(&mut self) -> (usize, Counted) {
        self.next += 1;
        (self.next, Counted::new(self.next, &self.count))
    }

    /// One operation. `late`: close, now and then. `depth`: so many peeks are going on in this
    /// thread.
    fn step(&mut self, late: bool, depth: usize) {
        // Close seldom, and late.
        let operation = if late && self.random.below(40) == 0 { 12 } else { self.random.below(12) };
        match operation {
            0 | 1 => {
                let (id, message) = self.make();
                let expected = self.model.send(id, &mut self.line);
                match self.tx.try_send(message) {
                    Ok(()) => assert_eq!(expected, Ok(())),
                    Err(error) => {
                        assert_eq!(expected, Err(error.is_closed()));
                        assert_eq!(error.into_inner().id, id);
                    }
                }
            }
            2 => match (self.rx.try_recv(), self.model.recv(&mut self.line)) {
                (Ok(message), expected) => assert_eq!(Ok(message.id), expected),
                (Err(error), expected) => assert_eq!(Err(error == TryRecvError::Closed), expected),
            },
            3 => self.peek(late, depth),
            4 => {
                // In the past, so it never waits; on a foreign thread it ends its wait by itself.
                let (id, message) = self.make();
                let expected = self.model.send(id, &mut self.line);
                match self.tx.send_deadline(message, Instant::from_nanos(0)) {
                    Ok(()) => assert_eq!(expected, Ok(())),
                    Err(error) => {
                        assert_eq!(expected, Err(error.is_closed()));
                        assert_eq!(error.into_inner().id, id);
                    }
                }
            }
            5 => match (self.rx.recv_deadline(Instant::from_nanos(0)), self.model.recv(&mut self.line)) {
                (Ok(message), expected) => assert_eq!(Ok(message.id), expected),
                (Err(error), expected) => assert_eq!(Err(error == RecvTimeoutError::Closed), expected),
            },
            6 if self.line.receives.len() < 6 => {
                self.next += 1;
                let peeks = [None, None, Some(false), Some(true)][self.random.below(4)];
                self.line.receives.push(Receive::new(self.next, self.rx, peeks));
            }
            7 if self.line.sends.len() < 6 => {
                let (id, message) = self.make();
                let (future, wakes) = (Box::pin(self.tx.send_async(message)), Wakes::new());
                self.line.sends.push(Send { id, future, message: id, stage: Stage::New, wakes, woken: 0 });
            }
            8 if !self.line.receives.is_empty() => {
                let i = self.random.below(self.line.receives.len());
                poll_receive(&mut self.model, &mut self.line, i, &mut self.random);
            }
            9 if !self.line.sends.is_empty() => {
                let i = self.random.below(self.line.sends.len());
                poll_send(&mut self.model, &mut self.line, i, &mut self.random);
            }
            10 if !self.line.receives.is_empty() || !self.line.sends.is_empty() => self.drop_one(),
            11 => match self.random.below(4) {
                0 => self.senders.push(self.tx.clone()),
                1 => self.receivers.push(self.rx.clone()),
                2 => drop(self.senders.pop()),
                _ => drop(self.receivers.pop()),
            },
            12 => {
                let was_open = !self.model.closed;
                self.model.close(&mut self.line);
                let closed = if self.random.below(2) == 0 { self.tx.close() } else { self.rx.close() };
                assert_eq!(closed, was_open);
            }
            _ => {}
        }
        self.check();
    }

    /// Peeks at the first message, does this and that meanwhile, and takes it, leaves it, or
    /// panics.
    fn peek(&mut self, late: bool, depth: usize) {
        let expected = self.model.lend(&mut self.line);
        let (take, panics, timed) = (self.random.below(2) == 0, self.random.below(8) == 0, self.random.below(2) == 0);
        let rx = self.rx;
        let peeked = catch_unwind(AssertUnwindSafe(|| {
            let peek = |message: &Counted| {
                assert_eq!(Ok(message.id), expected);
                self.check();
                for _ in 0..self.random.below(if depth == 0 { 12 } else { 1 }) {
                    self.step(late, depth + 1);
                }
                if panics {
                    resume_unwind(Box::new(Peeked));
                }
                take
            };
            if timed {
                rx.recv_if_deadline(Instant::from_nanos(0), peek).map_err(|error| error == RecvTimeoutError::Closed)
            } else {
                rx.try_recv_if(peek).map_err(|error| error == TryRecvError::Closed)
            }
        }));
        if expected.is_ok() {
            self.model.end_peek(take && !panics, &mut self.line);
        }
        match peeked {
            Ok(Ok(message)) => assert_eq!(message.map(|message| Ok(message.id)), take.then_some(expected)),
            Ok(Err(closed)) => assert_eq!(expected, Err(closed)),
            Err(payload) if payload.is::<Peeked>() => {}
            Err(payload) => resume_unwind(payload),
        }
    }

    fn drop_one(&mut self) {
        let i = self.random.below(self.line.receives.len() + self.line.sends.len());
        if i < self.line.receives.len() {
            let receive = self.line.receives.swap_remove(i);
            self.model.receivers.retain(|id| *id != receive.id);
            match (receive.stage, receive.peeks) {
                (Stage::Done(message), None) => self.model.give_back(message, &mut self.line),
                (Stage::Done(_), Some(_)) => self.model.end_peek(false, &mut self.line),
                _ => {}
            }
            drop(receive);
        } else {
            let send = self.line.sends.swap_remove(i - self.line.receives.len());
            self.model.senders.retain(|id| *id != send.id);
            drop(send);
        }
    }

    fn check(&self) {
        let (model, line) = (&self.model, &self.line);
        line.check();
        assert_eq!((self.tx.len(), self.rx.is_closed()), (model.buffer.len(), model.closed));
        // Buffered or lent, handed over and not fetched, or still with a send.
        let in_sends = line.sends.iter().filter(|send| !matches!(send.stage, Stage::Done(_))).count();
        let handed = line.receives.iter().filter(|r| matches!(r.stage, Stage::Done(_)) && r.peeks.is_none()).count();
        assert_eq!(self.count.alive(), model.buffer.len() + usize::from(model.doomed) + in_sends + handed);
    }
}

fn run(seed: u64, capacity: Option<usize>, full: Full, steps: usize) {
    let count = Arc::new(Count::default());
    let (tx, rx) = match full {
        Full::Wait => channel::<Counted>(capacity),
        Full::DropOldest => bounded_drop_oldest(capacity.unwrap()),
        Full::DropNewest => bounded_drop_newest(capacity.unwrap()),
    };
    let (buffer, waiting) = (VecDeque::new(), VecDeque::new());
    let (receivers, senders) = (waiting.clone(), waiting);
    let limit = capacity.unwrap_or(usize::MAX);
    let mut world = World {
        tx: &tx,
        rx: &rx,
        senders: Vec::new(),
        receivers: Vec::new(),
        model: Model { limit, full, buffer, lent: None, older: 0, doomed: false, receivers, senders, closed: false },
        line: Line::default(),
        random: Random::new(seed),
        count: count.clone(),
        next: 0,
    };
    for step in 0..steps {
        world.step(step > steps / 2, 0);
    }
    drop(world);
    drop((tx, rx));
    assert_eq!(count.alive(), 0);
}

/// All sorts of channels.
const CHANNELS: [(Option<usize>, Full); 9] = [
    (Some(0), Full::Wait),
    (Some(1), Full::Wait),
    (Some(2), Full::Wait),
    (Some(5), Full::Wait),
    (None, Full::Wait),
    (Some(1), Full::DropOldest),
    (Some(3), Full::DropOldest),
    (Some(1), Full::DropNewest),
    (Some(3), Full::DropNewest),
];

/// Polls a receive, now and then with another waker.
fn poll_receive(model: &mut Model, line: &mut Line, i: usize, random: &mut Random) {
    let (id, peeks) = (line.receives[i].id, line.receives[i].peeks);
    let expected = match line.receives[i].stage {
        Stage::New if peeks.is_some() => model.lend(line),
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
            let receive = line.receives.swap_remove(i);
            match peeks {
                None => assert_eq!(Ok(message.unwrap().id), expected),
                Some(take) => {
                    assert_eq!(Ok(receive.seen.get()), expected);
                    assert_eq!(message.map(|message| Ok(message.id)), take.then_some(expected));
                    model.end_peek(take, line);
                }
            }
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
        for (capacity, full) in CHANNELS {
            println!("MYRIAD_TEST_SEED={seed} {capacity:?} {full:?}");
            run(seed, capacity, full, 200);
        }
    }
}

/// The same in a task: by the biased lock, with the budget of a task, and time limits that fire by
/// timer.
#[test]
fn as_the_model_says_in_a_task() {
    let first = seed();
    println!("MYRIAD_TEST_SEED={first}");
    each_runtime(|rt| {
        rt.run(|| {
            for seed in first..first + 20 {
                for (capacity, full) in CHANNELS {
                    run(seed, capacity, full, 150);
                }
            }
        });
    });
}
