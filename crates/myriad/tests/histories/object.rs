//! What the checker has to know of an object, and the dice that programs are made with.

use super::model::{Answer, Call, How, Model};
use crate::common::Rng;
use myriad::time::timeout_async;
use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// An object under test: its operations, how each is called, and what it promises.
pub(crate) trait Object: Send + Sync + 'static {
    type Op: Copy + Debug + Send + Sync + 'static;
    type Model: Model<Op = Self::Op> + Send;
    /// What an actor has of the object: an end, a receiver, the guards that it holds.
    type Hand: Send + 'static;

    fn name(&self) -> String;

    /// How often it is tested, beside the others.
    fn weight(&self) -> u32 {
        2
    }

    /// A few calls of this actor, that belong together.
    fn calls(&self, actor: usize, dice: &mut Dice) -> Vec<Call<Self::Op>>;

    /// The calls that end each program of this actor.
    fn last(&self, _actor: usize) -> Vec<Call<Self::Op>> {
        Vec::new()
    }

    /// A new one, with a hand for each actor, and a last one for whoever brings relief.
    fn make(&self, actors: usize) -> (Self::Model, Vec<Self::Hand>);

    /// Calls an operation, on a thread or in a closure.
    fn call(hand: &mut Self::Hand, call: &Call<Self::Op>) -> Answer;

    /// The same in a future.
    fn call_async(hand: &mut Self::Hand, call: &Call<Self::Op>) -> impl Future<Output = Answer> + Send;

    /// What lets those go on that wait for ever, called again and again until they do. Nothing:
    /// nobody ever waits so.
    fn relief(&self) -> Vec<Call<Self::Op>> {
        Vec::new()
    }
}

/// Random choices for the program of an actor that is a future, or is none.
pub(crate) struct Dice {
    pub(crate) rng: Rng,
    pub(crate) in_future: bool,
    values: i32,
}

impl Dice {
    /// Of this actor: its values are its own.
    pub(crate) fn new(rng: Rng, in_future: bool, actor: usize) -> Dice {
        Dice { rng, in_future, values: 100 * (actor as i32 + 1) }
    }

    pub(crate) fn below(&mut self, n: u64) -> usize {
        self.rng.below(n) as usize
    }

    /// A value that nobody else has.
    pub(crate) fn value(&mut self) -> i32 {
        self.values += 1;
        self.values
    }

    pub(crate) fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64)]
    }

    fn limit(&mut self) -> u32 {
        self.one_of(&[0, 500, 5_000, 20_000, 60_000])
    }

    /// A form of an operation that waits.
    pub(crate) fn waits<Op>(&mut self, op: Op) -> Call<Op> {
        let (form, limit) = (self.below(8), self.limit());
        let how = match (self.in_future, form) {
            (_, 0 | 1) => How::Now,
            (false, 2..=4) => How::Wait,
            (false, 5 | 6) => How::Within(limit),
            (false, _) => How::Cancelled(limit),
            (true, 2..=4) => How::Await,
            (true, 5) => How::AwaitWithin(limit),
            (true, _) => How::Dropped(self.below(3) as u8 + 1),
        };
        Call { op, how }
    }

    /// The same, of one that cannot be tried, or has no form with a time limit: those are cancelled
    /// instead.
    pub(crate) fn waits_without<Op>(&mut self, op: Op, tries: bool, limits: bool) -> Call<Op> {
        let call = self.waits(op);
        let (limit, how) = (self.limit(), call.how);
        let how = match how {
            How::Now if !tries && self.in_future => How::AwaitWithin(limit),
            How::Now if !tries && limits => How::Within(limit),
            How::Now if !tries => How::Cancelled(limit),
            How::Within(limit) if !limits => How::Cancelled(limit),
            how => how,
        };
        Call { how, ..call }
    }

    /// A form of an operation whose futures have time limits of their own.
    pub(crate) fn or_exactly<Op>(&mut self, call: Call<Op>) -> Call<Op> {
        match call.how {
            How::AwaitWithin(limit) if self.below(2) == 0 => Call { how: How::AwaitExactly(limit), ..call },
            _ => call,
        }
    }

    /// A call that waits without a time limit, often as one that is slow to be woken: so that the
    /// others are told late what has happened, and their time may be over before that.
    pub(crate) fn or_slowly<Op>(&mut self, call: Call<Op>) -> Call<Op> {
        match call.how {
            How::Wait | How::Await if self.below(3) > 0 => Call { how: How::AwaitSlowly, ..call },
            _ => call,
        }
    }

    /// A form of a future.
    pub(crate) fn future_how(&mut self) -> How {
        match self.below(4) {
            0 | 1 => How::Await,
            2 => How::AwaitWithin(self.limit()),
            _ => How::Dropped(self.below(3) as u8 + 1),
        }
    }
}

/// Calls the form that is wanted; what has not come is `Err`.
pub(crate) fn waited<T>(
    how: How,
    now: impl FnOnce() -> Option<T>,
    wait: impl FnOnce() -> T,
    within: impl FnOnce(Duration) -> Option<T>,
) -> Result<T, Answer> {
    match how {
        How::Now => now().ok_or(Answer::Nothing),
        How::Within(limit) => within(nanos(limit)).ok_or(Answer::Timeout),
        How::Cancelled(limit) => myriad::time::timeout(nanos(limit), wait).map_err(|_| Answer::Timeout),
        How::Wait => Ok(wait()),
        How::Await | How::AwaitWithin(_) | How::AwaitExactly(_) | How::Dropped(_) | How::AwaitSlowly => {
            unreachable!("a future's form, in a closure")
        }
    }
}

/// Awaits in the form that is wanted.
pub(crate) async fn awaited<T>(how: How, future: impl Future<Output = T>) -> Result<T, Answer> {
    match how {
        How::AwaitWithin(limit) => timeout_async(nanos(limit), future).await.map_err(|_| Answer::Timeout),
        How::Dropped(polls) => {
            let (mut future, mut left) = (pin!(future), polls);
            poll_fn(|cx| {
                // The last time it is not looked at: it may have been served since.
                if left == 0 {
                    return Poll::Ready(Err(Answer::Gone));
                }
                if let Poll::Ready(value) = future.as_mut().poll(cx) {
                    return Poll::Ready(Ok(value));
                }
                left -= 1;
                for _ in 0..100 * u32::from(polls) {
                    std::hint::spin_loop();
                }
                cx.waker().wake_by_ref();
                Poll::Pending
            })
            .await
        }
        How::AwaitSlowly => {
            let mut future = pin!(future);
            let slowly = |cx: &mut Context<'_>| {
                let waker = slow(cx.waker());
                future.as_mut().poll(&mut Context::from_waker(&waker))
            };
            Ok(poll_fn(slowly).await)
        }
        _ => Ok(future.await),
    }
}

/// A waker that keeps whoever calls it, after it has woken.
struct Slow(Waker);

/// For so long, about as long as the limits are. It sleeps, so that the others run meanwhile also
/// where there are fewer processors than actors.
const SLOW: Duration = Duration::from_micros(60);

impl Wake for Slow {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
        std::thread::sleep(SLOW);
    }
}

/// A slow waker, which wakes what this one wakes. It is nobody's whom the engine knows, so those
/// behind it in a list are told only when it has returned.
pub(crate) fn slow(waker: &Waker) -> Waker {
    Arc::new(Slow(waker.clone())).into()
}

/// The same, where the future may have a time limit of its own.
pub(crate) async fn awaited_or<T, F: Future<Output = T>, W: Future<Output = Option<T>>>(
    how: How,
    future: impl FnOnce() -> F,
    within: impl FnOnce(Duration) -> W,
) -> Result<T, Answer> {
    match how {
        How::AwaitExactly(limit) => within(nanos(limit)).await.ok_or(Answer::Timeout),
        _ => awaited(how, future()).await,
    }
}

pub(crate) fn nanos(limit: u32) -> Duration {
    Duration::from_nanos(u64::from(limit))
}

/// The answer of an operation, or why there is none.
pub(crate) fn either<T>(outcome: Result<T, Answer>, answer: impl FnOnce(T) -> Answer) -> Answer {
    outcome.map_or_else(|why| why, answer)
}
