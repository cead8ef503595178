//! Nodes with a name, a pool, limits, an order, or a place where their value may be already.

use super::args::{Args, Body, BodyAgain, Kept};
use super::cache::{AtCache, Cache};
use super::checkpoints::{AtCheckpoint, Checkpoints};
use super::handle::Handle;
use super::node;
use super::order::{Bulk, KeptOrder, Order, Sequence};
use super::recall::Recall;
use super::settings::{NodeName, Said, Settings};
use super::time_limits::{TimeLimits, attempts, within};
use crate::graph::Cause;
use myriad_core::Handle as Pool;
use myriad_core::engine;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// What a body says that fails.
pub(super) type Error = Box<dyn std::error::Error + Send + Sync>;

/// How a node is to run.
///
/// # Examples
/// ```
/// use myriad::flow;
/// use std::time::Duration;
/// let page = flow::named("fetch").time_limit(Duration::from_secs(10)).spawn(|| "a page", ());
/// let words = flow::named("count").retries(3).spawn(|page: &&str| page.split(' ').count(), (&page,));
/// assert_eq!(words.join()?, 2);
/// # Ok::<(), flow::NodeError>(())
/// ```
#[must_use = "options say how a node is spawned"]
pub struct Options<R = ()> {
    said: Said,
    pool: Option<Pool>,
    pub(super) limits: TimeLimits,
    order: Order,
    recall: R,
}

/// Options of a node with this name, which errors say.
///
/// # Examples
/// ```
/// use myriad::flow;
/// let half = flow::named("half").try_spawn(|n: u32| if n % 2 == 0 { Ok(n / 2) } else { Err("odd") }, (3_u32,));
/// assert_eq!(half.join().unwrap_err().to_string(), "the node 'half' failed: odd");
/// ```
pub fn named(name: &str) -> Options {
    Options::new().name(name)
}

impl Options {
    /// Of a node as [`spawn`](super::spawn) makes it.
    pub fn new() -> Self {
        Options::default()
    }
}

impl Default for Options {
    fn default() -> Self {
        let (said, limits) = (Said::default(), TimeLimits::default());
        Options { said, pool: None, limits, order: Order::default(), recall: () }
    }
}

impl<R> Options<R> {
    /// What the node is called in errors, as by [`named`]. Without a name that is the place where
    /// the node is spawned.
    pub fn name(mut self, name: &str) -> Self {
        self.said.name = Some(name.to_owned());
        self
    }

    /// The node runs in this pool, or on this runtime.
    ///
    /// # Examples
    /// ```
    /// use myriad::flow;
    /// let rt = myriad::Builder::new().workers(1).pool("files", 1).build()?;
    /// let files = rt.handle().pool("files").unwrap();
    /// let text = flow::named("read").pool(files).spawn(|| "a text", ());
    /// assert_eq!(text.join()?, "a text");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pool(mut self, pool: Pool) -> Self {
        self.pool = Some(pool);
        self
    }

    /// The node may be left out: it does not run if nobody can reach its value when it would begin,
    /// that is, if its handle was dropped and no other node needs it.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::oneshot, flow};
    /// let (begin, begun) = oneshot();
    /// let (tx, rx) = oneshot();
    /// let input = flow::spawn(move || begun.recv().unwrap(), ());
    /// drop(flow::named("unread").lazy().spawn(move |n: &u32| tx.send(*n), (&input,)));
    /// begin.send(3).unwrap();
    /// // The body is dropped, and its sender with it.
    /// assert!(rx.recv().is_err());
    /// ```
    pub fn lazy(mut self) -> Self {
        self.said.is_lazy = true;
        self
    }

    /// The body may take this long from when it begins; then it is cancelled at its next wait, and
    /// the node fails with [`Cause::TimedOut`]. With retries, that is for each attempt.
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limits.time = Some(limit);
        self
    }

    /// The node may take this long from its spawn, with all that it waits for; then it fails with
    /// [`Cause::TimedOut`], whether it has begun or not.
    ///
    /// # Examples
    /// ```
    /// use myriad::{flow::{self, dataflow::Cause}, time};
    /// use std::time::Duration;
    /// let slow = flow::spawn(|| time::sleep(Duration::from_secs(3600)), ());
    /// let limit = Duration::from_millis(1);
    /// let after = flow::named("after").time_limit_in_all(limit).spawn(|_: &()| (), (&slow,));
    /// assert!(matches!(after.join().unwrap_err().cause(), Cause::TimedOut(_)));
    /// slow.cancel();
    /// ```
    pub fn time_limit_in_all(mut self, limit: Duration) -> Self {
        self.limits.in_all = Some(limit);
        self
    }

    /// The node runs after the last that was spawned in this sequence: see [`Sequence`].
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::unbounded, flow::{self, Sequence}};
    /// let (tx, rx) = unbounded();
    /// let sequence = Sequence::new();
    /// let nodes = ["first", "second"].map(|name| {
    ///     let tx = tx.clone();
    ///     flow::named(name).in_sequence(&sequence).spawn(move || tx.send(name).unwrap(), ())
    /// });
    /// flow::all(nodes.into()).join()?;
    /// assert!(rx.try_iter().eq(["first", "second"]));
    /// # Ok::<(), flow::NodeError>(())
    /// ```
    pub fn in_sequence(mut self, sequence: &Sequence) -> Self {
        self.order.in_sequence(sequence);
        self
    }

    /// The node runs when this bulk is submitted: see [`Bulk`].
    ///
    /// # Examples
    /// ```
    /// use myriad::flow::{self, Bulk};
    /// let bulk = Bulk::new();
    /// let square = flow::named("square").in_bulk(&bulk).spawn(|n: u32| n * n, (3_u32,));
    /// assert!(!square.is_done());
    /// bulk.submit();
    /// assert_eq!(square.join()?, 9);
    /// # Ok::<(), flow::NodeError>(())
    /// ```
    pub fn in_bulk(mut self, bulk: &Bulk) -> Self {
        self.order.in_bulk(bulk);
        self
    }

    /// The body is called again, up to so many times, if it panics or returns an error. It cannot
    /// take a value that is moved, which would be gone.
    pub fn retries(self, retries: u32) -> Retrying<R> {
        Retrying { options: self, retries }
    }

    /// The value is read from a file, if it is there; else the body runs, and its value is written:
    /// see [`Checkpoints`]. The value is [`Stored`](super::Stored).
    ///
    /// Example: [`Checkpoints`].
    pub fn checkpoint(self, folder: &Checkpoints, key: impl Into<String>) -> Options<(R, AtCheckpoint)> {
        self.recall(folder.at(key.into()))
    }

    /// The value is a clone of one in this cache, if it is there; else the body runs, and a clone
    /// of its value is kept: see [`Cache`]. A node with a checkpoint, too, asks in the order in
    /// which these are said here.
    ///
    /// Example: [`Cache`].
    pub fn cached<V: Clone>(self, cache: &Cache<V>, key: impl Into<String>) -> Options<(R, AtCache<V>)> {
        self.recall(cache.at(key.into()))
    }

    fn recall<S>(self, next: S) -> Options<(R, S)> {
        let Options { said, pool, limits, order, recall } = self;
        Options { said, pool, limits, order, recall: (recall, next) }
    }

    /// As [`spawn`](super::spawn), with these options.
    #[track_caller]
    pub fn spawn<F, A>(self, f: F, args: A) -> Handle<F::Output>
    where
        A: Args,
        F: Body<A> + Send + 'static,
        F::Output: Send + 'static,
        R: Recall<F::Output>,
    {
        self.start(Location::caller(), args, move |kept: &mut A::Kept| Ok(f.call(kept)))
    }

    /// As [`try_spawn`](super::try_spawn), with these options.
    #[track_caller]
    pub fn try_spawn<F, A, T, E>(self, f: F, args: A) -> Handle<T>
    where
        A: Args,
        F: Body<A, Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<Error>,
        R: Recall<T>,
    {
        self.start(Location::caller(), args, move |kept: &mut A::Kept| f.call(kept).map_err(Cause::of))
    }

    fn start<A, T, W>(self, place: &'static Location<'static>, args: A, work: W) -> Handle<T>
    where
        A: Args,
        T: Send + 'static,
        W: FnOnce(&mut A::Kept) -> Result<T, Cause> + Send + 'static,
        R: Recall<T>,
    {
        let time = self.limits.time;
        self.start_limited(place, args, (), move |kept| within(time, || work(kept)), |_, value| Ok(value))
    }

    /// Starts a node that keeps something `beside` its arguments, whose work keeps to the limit of
    /// its body by itself, and whose value is what `end` makes of that of the body.
    pub(super) fn start_limited<A, T, V, X, W, E>(
        self,
        place: &'static Location<'static>,
        args: A,
        beside: X,
        work: W,
        end: E,
    ) -> Handle<V>
    where
        A: Args,
        T: Send + 'static,
        V: Send + 'static,
        X: Kept,
        W: FnOnce(&mut A::Kept) -> Result<T, Cause> + Send + 'static,
        E: FnOnce(NodeName, T) -> Result<V, Cause> + Send + 'static,
        R: Recall<T>,
    {
        let said = Some(Arc::new(self.said));
        let settings = Settings { pool: self.pool.unwrap_or_else(engine::home), name: NodeName { place, said } };
        let (pool, recall) = (settings.pool, self.recall);
        let expiry = self.limits.expiry(pool);
        let watch = expiry.clone();
        let name = settings.name.clone();
        let work = move |kept: &mut (X, A::Kept, KeptOrder)| {
            expiry.begin();
            end(name, expiry.in_all(|| recall.call(|| work(&mut kept.1)))?)
        };
        let handle = node::start(work, (beside, args.keep(), self.order.keep()), settings);
        watch.watch(pool, handle.source());
        handle
    }
}

/// [`Options`] of a node whose body may be called several times.
#[derive(Debug)]
#[must_use = "options say how a node is spawned"]
pub struct Retrying<R = ()> {
    pub(super) options: Options<R>,
    pub(super) retries: u32,
}

impl<R> Retrying<R> {
    /// As [`spawn`](super::spawn). A panic is an attempt that has failed.
    #[track_caller]
    pub fn spawn<F, A>(self, f: F, args: A) -> Handle<F::Output>
    where
        A: Args,
        F: BodyAgain<A> + Send + 'static,
        F::Output: Send + 'static,
        R: Recall<F::Output>,
    {
        self.start(Location::caller(), args, move |kept: &mut A::Kept| Ok(f.call_again(kept)))
    }

    /// As [`try_spawn`](super::try_spawn). An error or a panic is an attempt that has failed.
    #[track_caller]
    pub fn try_spawn<F, A, T, E>(self, f: F, args: A) -> Handle<T>
    where
        A: Args,
        F: BodyAgain<A, Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: Into<Error>,
        R: Recall<T>,
    {
        self.start(Location::caller(), args, move |kept: &mut A::Kept| f.call_again(kept).map_err(Cause::of))
    }

    fn start<A, T, W>(self, place: &'static Location<'static>, args: A, work: W) -> Handle<T>
    where
        A: Args,
        T: Send + 'static,
        W: Fn(&mut A::Kept) -> Result<T, Cause> + Send + 'static,
        R: Recall<T>,
    {
        let (retries, time) = (self.retries, self.options.limits.time);
        let work = move |kept: &mut A::Kept| attempts(retries, time, || work(kept));
        self.options.start_limited(place, args, (), work, |_, value| Ok(value))
    }
}

impl<R> fmt::Debug for Options<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").field("name", &self.said.name).finish_non_exhaustive()
    }
}
