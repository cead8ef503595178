//! Operations that look at the clock, in the task that uses them.

use super::batches::Batches;
use super::debounced::Debounced;
use super::throttled::Throttled;
use myriad_sync::channel::Receiver;
use std::time::Duration;

/// Iterators over a receiver that look at the clock. None of them has a task or a buffer of its
/// own: they wait in their `next`, or in `next_async`.
///
/// Examples: [`batches`](Self::batches), [`debounced`](Self::debounced),
/// [`throttled`](Self::throttled).
pub trait Timed<T>: Sized {
    /// Batches of up to `most` items. A batch ends when it is full, when `within` has passed since
    /// its first item, or when the channel is closed. There is no empty one.
    ///
    /// # Panics
    /// If `most` is 0.
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::unbounded;
    /// use myriad::flow::ops::Timed;
    /// use std::time::Duration;
    /// let (tx, rx) = unbounded();
    /// (0..5).for_each(|n| tx.send(n).unwrap());
    /// drop(tx);
    /// let batches: Vec<_> = rx.batches(2, Duration::from_secs(1)).collect();
    /// assert_eq!(batches, [vec![0, 1], vec![2, 3], vec![4]]);
    /// ```
    #[doc(alias = "partition-all")]
    #[doc(alias = "window")]
    fn batches(self, most: usize, within: Duration) -> Batches<T>;

    /// The last item of each burst: one after which nothing has come for `quiet`, or the channel
    /// was closed. The others are dropped.
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::unbounded;
    /// use myriad::flow::ops::Timed;
    /// use std::time::Duration;
    /// let (tx, rx) = unbounded();
    /// ["m", "my", "myr"].into_iter().for_each(|text| tx.send(text).unwrap());
    /// drop(tx);
    /// assert!(rx.debounced(Duration::from_millis(300)).eq(["myr"]));
    /// ```
    fn debounced(self, quiet: Duration) -> Debounced<T>;

    /// At most one item in each `every`: what comes sooner waits in the channel, and then its
    /// senders wait. An item is taken when its time has come.
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::unbounded;
    /// use myriad::flow::ops::Timed;
    /// use std::time::Duration;
    /// let (tx, rx) = unbounded();
    /// (0..3).for_each(|n| tx.send(n).unwrap());
    /// drop(tx);
    /// let begin = std::time::Instant::now();
    /// assert!(rx.throttled(Duration::from_millis(2)).eq(0..3));
    /// assert!(begin.elapsed() >= Duration::from_millis(4));
    /// ```
    #[doc(alias = "rate limit")]
    fn throttled(self, every: Duration) -> Throttled<T>;
}

impl<T> Timed<T> for Receiver<T> {
    #[track_caller]
    fn batches(self, most: usize, within: Duration) -> Batches<T> {
        Batches::new(self, most, within)
    }

    fn debounced(self, quiet: Duration) -> Debounced<T> {
        Debounced::new(self, quiet)
    }

    fn throttled(self, every: Duration) -> Throttled<T> {
        Throttled::new(self, every)
    }
}
