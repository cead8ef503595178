//! A function of each item, by several tasks at a time.

use super::ended::Operation;
use super::line::Line;
use crate::panic::Panic;
use myriad_sync::channel::{Receiver, Sender};
use std::fmt;

/// Calls `f` with each item of a channel, in so many tasks at a time, and gives the results to
/// another channel in the order of the items.
///
/// `f` may block. It may return an `Option`, a `Vec` or a `Result`: whoever receives takes these
/// apart (`rx.into_iter().flatten()`). At most twice as many items as there are tasks have been
/// taken and not given; [`Pipeline`] has a setting for that, and others.
///
/// # Cancellation
/// See [`Operation::cancel`]. When a result cannot be given because nobody receives any more, no
/// further item is taken, calls of `f` come to their end, and their results come back.
///
/// # Panics
/// When `f` panics, no further item is taken. The results of the items before that one are given;
/// the panic comes back from [`join`](Operation::join), with the results of the items behind it.
/// See [`Pipeline::on_panic`].
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::flow;
/// let (tx, lines) = bounded(100);
/// let (numbers_tx, numbers) = bounded(100);
/// let parse = flow::pipeline(8, lines, numbers_tx, |line: &str| line.parse::<u32>().ok());
/// let source = flow::pipe(["1", "x", "3"], tx);
/// assert_eq!(numbers.into_iter().flatten().collect::<Vec<_>>(), [1, 3]);
/// assert_eq!(parse.join().given, 3);
/// source.join();
/// ```
pub fn pipeline<T, O, F>(tasks: usize, from: Receiver<T>, to: Sender<O>, f: F) -> Operation<O>
where
    T: Send + 'static,
    O: Send + 'static,
    F: Fn(T) -> O + Send + Sync + 'static,
{
    Pipeline::new(tasks).start(from, to, f)
}

/// As [`pipeline`], with an asynchronous function: so many futures at a time, which are tasks, and
/// need no stack while they wait.
///
/// What waits in `f` without awaiting holds up its worker, as in any future.
///
/// # Cancellation
/// As of [`pipeline`]; a call of `f` that has not ended is dropped where it waits.
///
/// # Panics
/// As of [`pipeline`]: a panic of a poll is one of `f`.
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::{flow, time};
/// use std::time::Duration;
/// let ((tx, pages), (sizes_tx, sizes)) = (bounded(10), bounded(10));
/// let fetch = flow::pipeline_async(100, pages, sizes_tx, async |page: &str| {
///     time::sleep_async(Duration::from_millis(1)).await;
///     page.len()
/// });
/// let source = flow::pipe(["one", "three"], tx);
/// assert_eq!(sizes.into_iter().collect::<Vec<_>>(), [3, 5]);
/// assert!(fetch.join().is_complete() && source.join().is_complete());
/// ```
#[doc(alias = "pipeline-async")]
#[doc(alias = "buffered")]
pub fn pipeline_async<T, O, F, R>(tasks: usize, from: Receiver<T>, to: Sender<O>, f: F) -> Operation<O>
where
    T: Send + 'static,
    O: Send + 'static,
    F: Fn(T) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
{
    Pipeline::new(tasks).start_async(from, to, f)
}

/// Settings of a [`pipeline`], or of a [`pipeline_async`].
///
/// # Examples
/// ```
/// use myriad::channel::bounded;
/// use myriad::flow::ops::Pipeline;
/// let (tx, rx) = bounded(10);
/// let (out_tx, out) = bounded(10);
/// let settings = Pipeline::new(4).unordered().window(16);
/// let settings = settings.on_panic(|panic| Some(Err(panic.message().to_owned())));
/// let work = settings.start(rx, out_tx, |n: u32| Ok(100_u32.checked_div(n).expect("no zero")));
/// let source = myriad::flow::pipe(0..10, tx);
/// let (good, bad): (Vec<_>, Vec<_>) = out.into_iter().partition(Result::is_ok);
/// assert_eq!((good.len(), &*bad), (9, &[Err("no zero".to_owned())][..]));
/// assert!(work.join().is_complete() && source.join().is_complete());
/// ```
#[must_use = "it is started by `start`"]
pub struct Pipeline<O> {
    pub(super) tasks: usize,
    pub(super) window: usize,
    pub(super) is_ordered: bool,
    pub(super) on_panic: Option<OnPanic<O>>,
}

type OnPanic<O> = Box<dyn Fn(Panic) -> Option<O> + Send + Sync>;

impl<O: Send + 'static> Pipeline<O> {
    /// With so many tasks, and a window of twice as many items.
    ///
    /// # Panics
    /// If there are none.
    #[track_caller]
    pub fn new(tasks: usize) -> Self {
        assert!(tasks > 0, "a pipeline has at least one task");
        Pipeline { tasks, window: tasks.saturating_mul(2), is_ordered: true, on_panic: None }
    }

    /// Results are given as they come.
    pub fn unordered(mut self) -> Self {
        self.is_ordered = false;
        self
    }

    /// At most so many items have been taken and not given, at least one for each task. With a
    /// large window tasks run on while the first result is late.
    pub fn window(mut self, items: usize) -> Self {
        self.window = items.max(self.tasks);
        self
    }

    /// Goes on after a panic of the function: what this returns takes the result's place, and
    /// `None` leaves a gap. A panic of this function ends the operation.
    pub fn on_panic(mut self, f: impl Fn(Panic) -> Option<O> + Send + Sync + 'static) -> Self {
        self.on_panic = Some(Box::new(f));
        self
    }

    /// Starts the operation.
    pub fn start<T, F>(self, from: Receiver<T>, to: Sender<O>, f: F) -> Operation<O>
    where
        T: Send + 'static,
        F: Fn(T) -> O + Send + Sync + 'static,
    {
        let line = Line::new(self, from, to, f);
        Operation::start(move |token| line.run(token))
    }

    /// Starts the operation, with an asynchronous function: see [`pipeline_async`].
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::bounded, flow::{self, ops::Pipeline}};
    /// let ((tx, rx), (out_tx, out)) = (bounded(10), bounded(10));
    /// let work = Pipeline::new(4).unordered().start_async(rx, out_tx, async |n: u64| n * n);
    /// let source = flow::pipe(0..10, tx);
    /// assert_eq!(out.into_iter().sum::<u64>(), 285);
    /// assert!(work.join().is_complete() && source.join().is_complete());
    /// ```
    pub fn start_async<T, F, R>(self, from: Receiver<T>, to: Sender<O>, f: F) -> Operation<O>
    where
        T: Send + 'static,
        F: Fn(T) -> R + Send + Sync + 'static,
        R: Future<Output = O> + Send + 'static,
    {
        let line = Line::new(self, from, to, f);
        Operation::start(move |token| line.run_async(token))
    }
}

impl<O> fmt::Debug for Pipeline<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("tasks", &self.tasks).field("window", &self.window).finish_non_exhaustive()
    }
}
