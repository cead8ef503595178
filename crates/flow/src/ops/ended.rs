//! The handle of an operation, and its end.

use crate::panic::Panic;
use myriad_base::unwind::Payload;
use myriad_core::JoinHandle;
use myriad_core::cancel::{self, Token};
use myriad_core::engine::{unwind, user_code};
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// An operation that runs. `L` is what it may have in hand.
///
/// # Examples
/// ```
/// use myriad::{channel::bounded, flow::{self, ops::Why}};
/// let (tx, rx) = bounded(1);
/// let numbers = flow::pipe(0_u64.., tx);
/// assert_eq!(rx.recv(), Ok(0));
/// numbers.cancel();
/// let ended = numbers.join();
/// assert!(matches!(ended.why, Why::Cancelled));
/// // Nothing is lost.
/// let rest: Vec<_> = rx.iter().chain(ended.left).collect();
/// assert_eq!(rest, Vec::from_iter(1..ended.taken));
/// ```
#[must_use = "an operation that fails says so in its handle; `detach` leaves it alone"]
pub struct Operation<L> {
    task: JoinHandle<Ended<L>>,
    token: Token,
}

/// How an operation has ended.
///
/// Example: [`Operation`].
#[derive(Debug)]
pub struct Ended<L> {
    /// Why.
    pub why: Why,
    /// How many items it has taken.
    pub taken: u64,
    /// How many it has given, each counted once, to however many it went.
    pub given: u64,
    /// What it has taken, or made, and could not give, in order. An item that a function of the
    /// user's had when it panicked, or was cancelled, is not among these.
    pub left: Vec<L>,
}

/// Why an operation has ended.
///
/// Example: [`Operation`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Why {
    /// Its source was closed and drained, and all was given.
    SourceEnded,
    /// Nobody can receive any more what it gives.
    TargetClosed,
    /// By [`Operation::cancel`].
    Cancelled,
    /// A function of the user's has panicked, or a destructor of what the operation held.
    Panicked(Panic),
}

impl<L> Ended<L> {
    /// Has all been given that there was?
    pub fn is_complete(&self) -> bool {
        matches!(self.why, Why::SourceEnded)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::SourceEnded => f.write_str("its source has ended"),
            Why::TargetClosed => f.write_str("nobody receives what it gives"),
            Why::Cancelled => f.write_str("it was cancelled"),
            Why::Panicked(panic) => write!(f, "a function panicked: {}", panic.message()),
        }
    }
}

impl<L: Send + 'static> Operation<L> {
    /// Starts an operation that is this function, which is cancelled by the token.
    pub(super) fn start(run: impl FnOnce(&Token) -> Ended<L> + Send + 'static) -> Operation<L> {
        let token = Token::new();
        let inside = token.clone();
        Operation { task: myriad_core::spawn(move || run(&inside)), token }
    }

    /// Waits until it has ended.
    ///
    /// # Blocking
    /// Until then. See [`ops`](super) for when that is.
    ///
    /// # Panics
    /// If its runtime has ended first.
    pub fn join(self) -> Ended<L> {
        self.task.join().unwrap_or_else(|error| error.resume())
    }

    /// As [`join`](Self::join), for so long at most. (A limit around a `join` would cancel the
    /// operation, and what it had left would be lost.)
    ///
    /// # Errors
    /// It has not ended: here is its handle.
    ///
    /// # Panics
    /// As [`join`](Self::join).
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::unbounded, flow};
    /// use std::time::Duration;
    /// let ((from, numbers), (twice, to)) = (unbounded(), unbounded());
    /// let maps = flow::pipe(numbers.into_iter().map(|n: u32| 2 * n), twice);
    /// from.send(4)?;
    /// assert_eq!(to.recv(), Ok(8));
    /// let maps = maps.join_timeout(Duration::from_millis(1)).unwrap_err();
    /// drop(from);
    /// assert!(maps.join().is_complete());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[track_caller]
    pub fn join_timeout(self, limit: Duration) -> Result<Ended<L>, Operation<L>> {
        let Operation { task, token } = self;
        match task.join_timeout(limit) {
            Ok(ended) => Ok(ended.unwrap_or_else(|error| error.resume())),
            Err(task) => Err(Operation { task, token }),
        }
    }

    /// Leaves it running without a handle.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::bounded, flow};
    /// let (tx, rx) = bounded(1);
    /// flow::pipe(0..3, tx).detach();
    /// assert!(rx.into_iter().eq(0..3));
    /// ```
    pub fn detach(self) {}
}

impl<L> Operation<L> {
    /// Ends the operation: it takes nothing more, and what it has in hand comes back from
    /// [`join`](Self::join). A function of the user's that runs unwinds at its next wait.
    ///
    /// # Blocking
    /// Never blocks.
    pub fn cancel(&self) {
        self.token.cancel();
    }

    /// Has it ended?
    pub fn is_finished(&self) -> bool {
        self.task.is_finished()
    }
}

impl<L> fmt::Debug for Operation<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}

/// Awaits the end, as [`join`](Operation::join) waits for it.
impl<L: Send + 'static> IntoFuture for Operation<L> {
    type Output = Ended<L>;
    type IntoFuture = EndedFuture<L>;

    fn into_future(self) -> EndedFuture<L> {
        EndedFuture(self.task)
    }
}

/// The future of an [`Operation`]. Dropped, it leaves the operation running.
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct EndedFuture<L>(JoinHandle<Ended<L>>);

impl<L: Send + 'static> Future for EndedFuture<L> {
    type Output = Ended<L>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended<L>> {
        let result = ready!(Pin::new(&mut self.0).poll(cx));
        Poll::Ready(result.unwrap_or_else(|error| error.resume()))
    }
}

/// Runs what an operation does, which calls functions of the user's, and says how it has ended.
/// What unwinds as the task itself goes on.
pub(super) fn run(token: &Token, body: impl FnOnce() -> Why) -> Why {
    match user_code::body(|| token.run(body)) {
        Ok(Ok(why)) => why,
        Ok(Err(_)) => Why::Cancelled,
        Err(payload) => panicked(payload),
    }
}

/// Between two items, when nothing is in hand: so that an operation whose ends never make it wait
/// can be cancelled, and now and then lets others go first. (In fiber mode these could be who
/// cancels it, on the same worker.)
#[inline]
pub(crate) fn pass(items: u64) {
    if items & 1023 == 0 {
        myriad_core::yield_now();
    } else {
        cancel::check();
    }
}

/// Lets go of what an operation held, at its end: messages, functions and senders of the user's,
/// whose destructors may panic. One thing at a time: of two panics at once the second would end the
/// process.
pub(super) fn release<T>(why: &mut Why, held: T) {
    if let Err(payload) = user_code::call(|| drop(held)) {
        let panicked = panicked(payload);
        match why {
            // The first panic is the one that counts.
            Why::Panicked(_) => unwind::drop_quietly(panicked),
            why => *why = panicked,
        }
    }
}

/// A function of the user's has unwound with this.
#[cold]
pub(super) fn panicked(payload: Payload) -> Why {
    if unwind::is_cancellation(&payload) {
        unwind::resume(payload);
    }
    Why::Panicked(Panic::new(payload))
}
