//! Parallel loops.
//!
//! ```text
//!  Dynamic   [piece][piece]...|------- the far half, when a worker is idle ---------|   dynamic.rs, grain.rs
//!  Static    [ block 0 ][ block 1 ] ... one for each worker                             fixed.rs
//!  Greedy    a counter; each task takes the next grain                                  fixed.rs
//! ```
//! What runs an iteration is [`run_each`](crate::failures::run_each), whatever the schedule: it
//! collects panics.

mod dynamic;
mod fixed;
mod index;
mod items;
mod results;
mod slices;

pub use index::Index;
pub(crate) use index::len;
pub use items::for_each_bridge;
pub use slices::{for_each, for_each_chunk, for_each_chunk_mut, for_each_mut};

use crate::failures::{Collector, Panics, run_each};
use myriad_core::engine::split;
use std::num::NonZero;
use std::ops::{ControlFlow, Range};

/// Which worker runs which iterations of a [`Loop`].
///
/// # Examples
/// ```
/// use myriad::par::{Loop, Schedule};
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// let sum = AtomicUsize::new(0);
/// Loop::new(0..100_usize).schedule(Schedule::Static).run(|i| _ = sum.fetch_add(i, Relaxed));
/// assert_eq!(sum.into_inner(), 4950);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schedule {
    /// Who has nothing to do takes half of what somebody else has left. For bodies of any kind, and
    /// nested loops.
    #[default]
    Dynamic,
    /// As many blocks as workers, equal but for one iteration, each a task. For bodies that take
    /// the same time; what runs where is known (but not which worker gets which block), and nobody
    /// is asked meanwhile.
    Static,
    /// As many tasks as workers take the next iteration (or [grain](Loop::grain)) each, in the
    /// order of the range, from one counter. For few, heavy, very different bodies, and for bodies
    /// that wait for earlier ones.
    Greedy,
}

/// A parallel loop over a range of integers, with its settings.
///
/// # Examples
/// ```
/// use myriad::par::{Loop, Schedule};
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// let sum = AtomicU64::new(0);
/// Loop::new(0..1000_u64).grain(64).schedule(Schedule::Dynamic).run(|i| _ = sum.fetch_add(i, Relaxed));
/// assert_eq!(sum.into_inner(), 499_500);
/// ```
#[derive(Debug, Clone)]
#[must_use = "a loop does nothing until it is run"]
pub struct Loop<I = usize> {
    range: Range<I>,
    grain: Option<usize>,
    schedule: Schedule,
    tasks: Option<usize>,
}

impl<I: Index> Loop<I> {
    /// A loop over this range; empty if it ends before it begins.
    pub fn new(range: Range<I>) -> Self {
        Loop { range, grain: None, schedule: Schedule::default(), tasks: None }
    }

    /// How many iterations are run together, without a look at whether somebody could take the
    /// rest. For `Dynamic`, the default is as many as take a microsecond, found by measuring; with
    /// a grain that is given nothing is measured, and the loop is split from its beginning: a grain
    /// of 1 is for a few bodies that take long. For `Greedy` the default is 1. For `Static` it
    /// means nothing. For results ([`map`](Self::map), [`map_reduce`](Self::map_reduce)) it
    /// is the size of a leaf.
    ///
    /// # Panics
    /// If it is 0.
    #[doc(alias = "with_min_len")]
    #[track_caller]
    pub fn grain(mut self, iterations: usize) -> Self {
        self.grain = Some(NonZero::new(iterations).expect("a grain has at least 1 iteration, not 0").get());
        self
    }

    /// Which worker runs what.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// How many tasks a `Static` or `Greedy` loop has; the default is one for each worker of the
    /// pool. With more of them more bodies of a greedy loop may block at a time. For `Dynamic` it
    /// means nothing.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// # Examples
    /// ```
    /// use myriad::par::{Loop, Schedule};
    /// let (tx, rx) = myriad::channel::bounded(8);
    /// // Ten bodies wait at a time, on any number of workers.
    /// Loop::new(0..11).schedule(Schedule::Greedy).tasks(11).run(|i| match i {
    ///     10 => (0..10).for_each(|n| tx.send(n).unwrap()),
    ///     _ => _ = rx.recv().unwrap(),
    /// });
    /// ```
    #[track_caller]
    pub fn tasks(mut self, tasks: usize) -> Self {
        self.tasks = Some(NonZero::new(tasks).expect("a loop has at least 1 task, not 0").get());
        self
    }

    /// Calls `body` for each number of the range, exactly once.
    ///
    /// Several run at the same time, in no order. They may borrow from the caller, block, spawn,
    /// and have loops of their own.
    ///
    /// # Blocking
    /// Until all have ended; the caller takes part. A body may wait for anything but an iteration
    /// that comes later. (In a greedy loop also for one that is less than [`tasks`](Self::tasks)
    /// later, with a grain of 1.)
    ///
    /// # Panics
    /// If bodies panic: all the others run, then the panic of the lowest number goes on;
    /// [`try_run`](Self::try_run) has them all.
    ///
    /// # Cancellation
    /// No more pieces begin, bodies that block are cancelled; when all have ended the caller
    /// unwinds.
    ///
    /// # Examples
    /// See [`Loop`].
    #[track_caller]
    pub fn run<F>(self, body: F)
    where
        F: Fn(I) + Sync,
    {
        if let Err(panics) = self.try_run(body) {
            panics.resume();
        }
    }

    /// As [`run`](Self::run), but returns all the panics.
    ///
    /// # Blocking
    /// As [`run`](Self::run).
    ///
    /// # Cancellation
    /// As [`run`](Self::run); panics until then are dropped.
    ///
    /// # Errors
    /// The panics, by number, if there were any.
    ///
    /// # Examples
    /// See [`Panics`].
    #[track_caller]
    pub fn try_run<F>(self, body: F) -> Result<(), Panics>
    where
        F: Fn(I) + Sync,
    {
        self.try_run_while(|_| true, |_, i| body(i))
    }

    /// The same for the numbers that are `wanted`; where one is not, those behind it are not
    /// either. `body` gets the number of the iteration, counted from 0, as well.
    #[track_caller]
    pub(crate) fn try_run_while(
        self,
        wanted: impl Fn(usize) -> bool + Sync,
        body: impl Fn(usize, I) + Sync,
    ) -> Result<(), Panics> {
        let start = self.range.start;
        let panics = Collector::default();
        let piece = |from, to| {
            if !wanted(from) {
                return ControlFlow::Break(());
            }
            let body = |number| {
                if wanted(number) {
                    body(number, I::at(start, number));
                }
            };
            run_each(from, to, &panics, &body);
            ControlFlow::Continue(())
        };
        self.drive(&piece);
        panics.finish()
    }

    /// Calls `body` for pieces of the range that together are the range: for what is to be set up
    /// once for many iterations.
    ///
    /// How large the pieces are is the schedule's affair: none is larger than a grain that is given
    /// (of `Dynamic` and `Greedy`).
    ///
    /// # Blocking
    /// As [`run`](Self::run).
    ///
    /// # Panics
    /// As [`run`](Self::run): the panic of the lowest piece goes on. What is left of a piece that
    /// has panicked is not run.
    ///
    /// # Cancellation
    /// As [`run`](Self::run).
    ///
    /// # Examples
    /// ```
    /// use std::sync::Mutex;
    /// let all = Mutex::new(Vec::new());
    /// myriad::par::Loop::new(0..100).run_pieces(|piece| {
    ///     let squares: Vec<_> = piece.map(|i| i * i).collect();
    ///     all.lock().unwrap().extend(squares);
    /// });
    /// assert_eq!(all.into_inner().unwrap().len(), 100);
    /// ```
    #[track_caller]
    pub fn run_pieces<F>(self, body: F)
    where
        F: Fn(Range<I>) + Sync,
    {
        let Range { start, end } = self.range;
        let len = len(&self.range);
        let panics = Collector::default();
        let piece = |from: usize, to: usize| {
            // The range's own end, for a type may have no number beyond its last.
            let end = if to == len { end } else { I::at(start, to) };
            // One "iteration", whose number is the piece's first.
            run_each(from, from + 1, &panics, &|_| body(I::at(start, from)..end));
            ControlFlow::Continue(())
        };
        self.drive(&piece);
        if let Err(panics) = panics.finish() {
            panics.resume();
        }
    }

    /// Runs the pieces, each from a number to another, counted from 0. What is behind a piece that
    /// breaks may be left out.
    #[track_caller]
    fn drive(&self, piece: &(impl Fn(usize, usize) -> ControlFlow<()> + Sync)) {
        let len = len(&self.range);
        if len == 0 {
            return;
        }
        split::on_worker(|| {
            let tasks = self.tasks.unwrap_or_else(split::workers).min(len);
            match self.schedule {
                Schedule::Dynamic => dynamic::run(len, self.grain, piece),
                Schedule::Static => fixed::blocks(len, tasks, piece),
                Schedule::Greedy => fixed::greedy(len, tasks, self.grain.unwrap_or(1), piece),
            }
        });
    }
}

/// Calls `body` for each number of the range, in parallel: [`Loop::run`] with the default settings.
///
/// # Blocking
/// Until all have ended; the caller takes part. A body may wait for anything but a later iteration
/// of the same loop.
///
/// # Panics
/// If bodies panic: all the others run, then the panic of the lowest number goes on.
///
/// # Cancellation
/// No more pieces begin, bodies that block are cancelled; when all have ended the caller unwinds.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// let hits: Vec<AtomicUsize> = (0..10).map(|_| AtomicUsize::new(0)).collect();
/// myriad::par::for_each_index(0..1000, |i| _ = hits[i % 10].fetch_add(1, Relaxed));
/// assert!(hits.into_iter().all(|hits| hits.into_inner() == 100));
/// ```
#[doc(alias = "into_par_iter")]
#[track_caller]
pub fn for_each_index<I: Index>(range: Range<I>, body: impl Fn(I) + Sync) {
    Loop::new(range).run(body);
}
