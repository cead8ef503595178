//! Places: where closures begin that talk to each other.
//!
//! A closure that has waited goes on with the worker that it began on (in fiber mode). So where
//! closures begin decides which of their messages cross between processors. The engine cannot know
//! who will talk to whom: starting is cheap, and done by whoever is idle; the work comes later.
//!
//! **Rejected.** `near(&handle)`: a task that has not begun has no worker yet, so a neighbour would
//! have to be started with it, by a link in its record. Here the program takes the place first, and
//! gives it to all who belong together. Blocks finer than one for each worker: DECISIONS has the
//! figures.

use crate::runtime::pools;
use crate::sched::pool::Handle;
use crate::sched::worker;

/// A place to run: one worker of a pool. Tasks that talk to each other much are best on one.
///
/// You give it to [`Builder::place`](crate::task::Builder::place). A closure begins there, no other
/// worker takes it, and in fiber mode it stays there for life: messages between two closures of one
/// place cost nanoseconds, and up to 50 times as much between two places. (In threads mode another
/// worker may go on with a closure that has waited, as with any.) A future begins there, and
/// follows whoever wakes it afterwards: futures need no places.
///
/// While one task of a place computes, all others of it wait: whoever places tasks balances the
/// load. Without places idle workers take what has not begun.
///
/// A place may outlive its runtime. What is spawned there then is dropped, and its handle says so.
///
/// # Examples
/// Two closures side by side:
/// ```
/// use myriad::task::{Builder, Place};
/// let (ping, pings) = myriad::channel::bounded(1);
/// let (pong, pongs) = myriad::channel::bounded(1);
/// let place = Place::next();
/// let echo = Builder::new().place(place).spawn(move || pings.iter().for_each(|n: u32| pong.send(n).unwrap()));
/// let calls = Builder::new().place(place).spawn(move || {
///     (0..1000).all(|n| {
///         ping.send(n).unwrap();
///         pongs.recv() == Ok(n)
///     })
/// });
/// assert!(calls.join().unwrap());
/// echo.join().unwrap();
/// ```
/// A chain of stages, each of which talks to its neighbours, cut into as many blocks as there are
/// workers:
/// ```
/// use myriad::task::{Builder, Place};
/// let (first, mut last) = myriad::channel::bounded::<u32>(16);
/// for place in Place::spread(100) {
///     let (tx, rx) = myriad::channel::bounded(16);
///     let before = std::mem::replace(&mut last, rx);
///     Builder::new().place(place).spawn(move || before.iter().for_each(|n| tx.send(n + 1).unwrap()));
/// }
/// first.send(0).unwrap();
/// assert_eq!(last.recv(), Ok(100));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Place {
    pool: Handle,
    worker: usize,
}

impl Place {
    /// A place in the caller's pool: each call gives the next worker, by turns.
    ///
    /// # Panics
    /// Where the global runtime is needed and cannot be started.
    #[track_caller]
    pub fn next() -> Place {
        Place::next_on(pools::here())
    }

    /// The same in the pool that this handle spawns into.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::{Builder, Place};
    /// let rt = myriad::Builder::new().workers(2).pool("files", 1).build()?;
    /// let place = Place::next_on(rt.handle().pool("files").unwrap());
    /// assert_eq!(Builder::new().place(place).spawn(|| 42).join().unwrap(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn next_on(handle: Handle) -> Place {
        Place { pool: handle, worker: handle.inner().next_home() }
    }

    /// The place where the caller runs. On a thread that is no worker, and on a worker that helps
    /// out while others are stuck: the [next](Self::next).
    ///
    /// # Panics
    /// As [`next`](Self::next).
    #[track_caller]
    pub fn here() -> Place {
        match worker::current() {
            Some(w) if !w.spare => Place { pool: Handle::of(w.pool), worker: w.shared.index },
            _ => Place::next(),
        }
    }

    /// Places for `n` tasks in a row that talk to their neighbours, in the caller's pool: as many
    /// blocks as the pool has workers, so that only messages between blocks cross. (Of a tree, in
    /// the order in which a walk comes to its nodes, a block is a few whole subtrees.)
    ///
    /// # Panics
    /// As [`next`](Self::next).
    #[track_caller]
    pub fn spread(n: usize) -> impl ExactSizeIterator<Item = Place> + Clone {
        Place::spread_on(pools::here(), n)
    }

    /// The same in the pool that this handle spawns into.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::{Builder, Place};
    /// let rt = myriad::Builder::new().workers(2).build()?;
    /// let tasks = Place::spread_on(rt.handle(), 6).map(|place| Builder::new().place(place).spawn(|| 7));
    /// assert_eq!(tasks.collect::<Vec<_>>().into_iter().map(|h| h.join().unwrap()).sum::<u32>(), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn spread_on(handle: Handle, n: usize) -> impl ExactSizeIterator<Item = Place> + Clone {
        let workers = handle.inner().regular_workers().len();
        // (Of two `usize` the product may be too large for one.)
        let block = move |i: usize| (i as u128 * workers as u128 / n as u128) as usize;
        (0..n).map(move |i| Place { pool: handle, worker: block(i) })
    }

    /// The number of the worker in its pool.
    ///
    /// # Examples
    /// ```
    /// use myriad::{Handle, task::Place};
    /// let below = myriad::run(|| Place::here().worker() < Handle::current().unwrap().workers());
    /// assert!(below);
    /// ```
    pub fn worker(self) -> usize {
        self.worker
    }

    /// The pool.
    pub(super) fn pool(self) -> Handle {
        self.pool
    }
}
