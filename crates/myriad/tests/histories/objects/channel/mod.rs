//! Channels of all kinds: sending and receiving in all forms, peeking, closing, and selects over
//! two of them.

mod call;
mod closes;
pub(crate) mod model;
mod select;

use crate::model::{Answer, Call, How};
use crate::object::{Dice, Object};
use model::{Channels, Full};
use myriad::channel::{
    IntoSink, IntoStream, OnceSender, Receiver, Sender, bounded, bounded_drop_newest, bounded_drop_oldest, oneshot,
    unbounded,
};
use std::pin::Pin;
use std::sync::Mutex;

/// An operation; the numbers are those of a channel, and of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Op {
    Send(u8, i32),
    Recv(u8),
    /// `peek`, or `recv_if`.
    Peek {
        at: u8,
        take: bool,
    },
    Select(Form, [Arm; 2]),
    /// Of a `OnceSender`.
    SendOnce(i32),
    /// Of a stream, and of a sink.
    Next,
    Feed(i32),
    /// Begins to send as a future, which is kept, in line or done, until its end is awaited by the
    /// same actor: it does nothing meanwhile for which it would wait.
    Begin(u8, i32),
    End(u8, i32),
    /// Moves a message to and fro, so that it is in one of the channels all the time, unless others
    /// take it.
    Shuttle(i32),
    Close(u8),
    Len(u8),
    IsClosed(u8),
    /// Drops the actor's ends.
    Leave {
        sends: bool,
        receives: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Arm {
    Send(u8, i32),
    Recv(u8),
}

/// How a select is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    Macro,
    /// With an arm `after(..)`, which may win although others are ready.
    After,
    Dynamic,
}

impl Arm {
    pub(super) fn channel(self) -> usize {
        let (Arm::Send(at, _) | Arm::Recv(at)) = self;
        usize::from(at)
    }
    pub(super) fn value(self) -> i32 {
        if let Arm::Send(_, value) = self { value } else { 0 }
    }
}

/// What a program does beside sending and receiving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mix {
    Plain,
    Close,
    Peek,
    Select,
    /// Messages that move from channel to channel, and selects with `default`.
    Default,
    /// With a `OnceSender`.
    Once,
    /// Through a stream and a sink.
    Stream,
    /// Selects with a time limit over channels that others close, and some are told late.
    Closing,
    /// The same, with sends that are begun, and kept.
    Kept,
}

pub(crate) struct Channel {
    pub(crate) mix: Mix,
    pub(crate) full: Full,
    /// `usize::MAX`: unbounded.
    pub(crate) capacity: usize,
}

#[derive(Default)]
pub(crate) struct Ends {
    tx: Vec<Sender<i32>>,
    rx: Vec<Receiver<i32>>,
    once: Option<OnceSender<i32>>,
    stream: Option<IntoStream<i32>>,
    sink: Option<IntoSink<i32>>,
    /// A send that was begun, and what came of it if it is done. (In a mutex only to be `Sync`.)
    begun: Mutex<Option<(Sending, Option<bool>)>>,
}

type Sending = Pin<Box<dyn Future<Output = bool> + Send>>;

impl Ends {
    pub(crate) fn new(ends: Vec<(Sender<i32>, Receiver<i32>)>) -> Ends {
        let (tx, rx) = ends.into_iter().unzip();
        Ends { tx, rx, ..Ends::default() }
    }
}

impl Channel {
    /// One channel has producers and consumers, which drop their ends at last, so nobody waits for
    /// ever; of two everybody has both ends.
    fn sends(&self, actor: usize) -> bool {
        match self.mix {
            Mix::Select | Mix::Default | Mix::Closing | Mix::Kept => true,
            Mix::Once => actor == 0,
            _ => actor.is_multiple_of(2),
        }
    }
    fn receives(&self, actor: usize) -> bool {
        self.channels() == 2 || !self.sends(actor)
    }
    fn channels(&self) -> usize {
        if matches!(self.mix, Mix::Select | Mix::Default | Mix::Closing | Mix::Kept) { 2 } else { 1 }
    }

    fn open(&self) -> (Sender<i32>, Receiver<i32>) {
        match self.full {
            Full::DropOldest => bounded_drop_oldest(self.capacity),
            Full::DropNewest => bounded_drop_newest(self.capacity),
            Full::Wait if self.capacity == usize::MAX => unbounded(),
            Full::Wait => bounded(self.capacity),
        }
    }

    fn select(&self, dice: &mut Dice) -> Call<Op> {
        let mut arm = |at| if dice.below(2) == 0 { Arm::Recv(at) } else { Arm::Send(at, dice.value()) };
        let arms = [arm(0), arm(1)];
        let form = dice.one_of(&[Form::Macro, Form::Macro, Form::Dynamic, Form::After]);
        let mut call = dice.waits(Op::Select(form, arms));
        if form == Form::After {
            let limit = [0, 5_000, 60_000][dice.below(3)];
            call.how = if dice.in_future { How::AwaitWithin(limit) } else { How::Within(limit) };
        }
        call
    }
}

impl Object for Channel {
    type Op = Op;
    type Model = Channels;
    type Hand = Ends;

    fn name(&self) -> String {
        let kind = match (self.full, self.capacity) {
            (Full::DropOldest, n) => format!("drop-oldest {n}"),
            (Full::DropNewest, n) => format!("drop-newest {n}"),
            (_, usize::MAX) => "unbounded".to_string(),
            (_, n) => format!("bounded {n}"),
        };
        format!(
            "{} {kind}",
            ["channel", "close", "peek", "select", "default", "oneshot", "stream", "closing", "kept"]
                [self.mix as usize]
        )
    }

    fn calls(&self, actor: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        if self.mix == Mix::Default {
            return moves(actor, dice);
        }
        let at = dice.below(self.channels() as u64) as u8;
        match self.mix {
            Mix::Closing => return closes::told_late(actor, at, dice),
            Mix::Kept => return closes::kept(at, dice),
            _ => {}
        }
        let call = match (self.mix, dice.below(12)) {
            (Mix::Once, _) if self.sends(actor) => Call::now(Op::IsClosed(at)),
            (Mix::Stream, _) if self.sends(actor) => {
                let how = if dice.in_future { How::Await } else { How::Wait };
                Call::new(Op::Feed(dice.value()), how)
            }
            (Mix::Stream, _) => Call { how: dice.future_how(), ..dice.waits(Op::Next) },
            (Mix::Peek, 2..=6) if self.receives(actor) => {
                let take = dice.below(2) == 0;
                dice.waits(Op::Peek { at, take })
            }
            (_, 0) => Call::now(Op::Len(at)),
            (_, 1) => Call::now(Op::IsClosed(at)),
            (Mix::Close, 2 | 3) => Call::now(Op::Close(at)),
            // While others are told of a close one by one.
            (Mix::Close, 4) if self.receives(actor) => return vec![Call::now(Op::Recv(at)); 3],
            (Mix::Close, 4..=7) if self.sends(actor) => {
                let how = if dice.in_future { How::Await } else { How::Wait };
                Call::new(Op::Send(at, dice.value()), how)
            }
            (Mix::Select, 2) => Call::now(Op::Close(at)),
            (Mix::Select, 3..=8) => self.select(dice),
            (Mix::Once, 2) => Call::now(Op::Close(at)),
            _ if self.sends(actor) && (!self.receives(actor) || dice.below(2) == 0) => {
                let value = dice.value();
                let send = dice.waits(Op::Send(at, value));
                dice.or_exactly(send)
            }
            _ => {
                let recv = dice.waits(Op::Recv(at));
                dice.or_exactly(recv)
            }
        };
        vec![call]
    }

    fn last(&self, actor: usize) -> Vec<Call<Op>> {
        let leave = Call::now(Op::Leave { sends: self.sends(actor), receives: self.receives(actor) });
        match self.mix {
            Mix::Select | Mix::Default | Mix::Closing | Mix::Kept => Vec::new(),
            Mix::Once if actor == 0 => vec![Call::now(Op::SendOnce(1))],
            _ => vec![leave],
        }
    }

    fn make(&self, actors: usize) -> (Channels, Vec<Ends>) {
        let of = |has: &dyn Fn(usize) -> bool| (0..actors).filter(|&actor| has(actor)).count();
        let (senders, receivers) = (of(&|actor| self.sends(actor)), of(&|actor| self.receives(actor)));
        let limits = vec![self.capacity; self.channels()];
        let model = Channels::new(&limits, self.full, senders, receivers);
        let (tx, rx): (Vec<_>, Vec<_>) = (0..self.channels()).map(|_| self.open()).unzip();
        // Who brings relief has ends only where that does not keep the channel open.
        let has = |actor, has: bool| has && (actor < actors || self.channels() == 2);
        let (mut once, rx) = if self.mix == Mix::Once {
            let (tx, rx) = oneshot();
            (Some(tx), vec![rx])
        } else {
            (None, rx)
        };
        let mut ends = |actor| {
            let mut ends = Ends::default();
            match (has(actor, self.sends(actor)), has(actor, self.receives(actor)), self.mix) {
                (true, _, Mix::Once) => ends.once = once.take(),
                (true, _, Mix::Stream) => ends.sink = Some(tx[0].clone().into_sink()),
                (_, true, Mix::Stream) => ends.stream = Some(rx[0].clone().into_stream()),
                (sends, receives, _) => {
                    ends.tx = if sends { tx.clone() } else { Vec::new() };
                    ends.rx = if receives { rx.clone() } else { Vec::new() };
                }
            }
            ends
        };
        (model, (0..=actors).map(&mut ends).collect())
    }

    fn call(ends: &mut Ends, call: &Call<Op>) -> Answer {
        call::blocking(ends, call)
    }

    async fn call_async(ends: &mut Ends, call: &Call<Op>) -> Answer {
        call::in_future(ends, call).await
    }

    fn relief(&self) -> Vec<Call<Op>> {
        match self.mix {
            Mix::Select | Mix::Closing | Mix::Kept => vec![Call::now(Op::Close(0)), Call::now(Op::Close(1))],
            _ => Vec::new(),
        }
    }
}

/// The message of a shuttle goes there and back so many times.
const ROUNDS: u8 = 40;

/// One actor sees to it that a message is always in one of the two channels; the others have
/// selects that may find none.
fn moves(actor: usize, dice: &mut Dice) -> Vec<Call<Op>> {
    if actor > 0 {
        let form = dice.one_of(&[Form::Macro, Form::Dynamic]);
        let arms = dice.one_of(&[[Arm::Recv(0), Arm::Recv(1)], [Arm::Recv(1), Arm::Recv(0)]]);
        return vec![Call::now(Op::Select(form, arms)); 3];
    }
    vec![Call::now(Op::Shuttle(dice.value()))]
}
