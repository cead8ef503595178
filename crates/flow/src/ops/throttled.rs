//! No faster than that.

use myriad_core::time::{self, Instant};
use myriad_sync::channel::Receiver;
use std::time::Duration;

/// The iterator of [`Timed::throttled`](super::Timed::throttled).
#[derive(Debug)]
#[must_use = "iterators do nothing unless they are asked"]
pub struct Throttled<T> {
    from: Receiver<T>,
    every: Duration,
    /// When the next item may be taken.
    next: Instant,
}

impl<T> Throttled<T> {
    pub(super) fn new(from: Receiver<T>, every: Duration) -> Throttled<T> {
        Throttled { from, every, next: time::now() }
    }

    /// As `next`, for futures.
    ///
    /// # Cancellation
    /// A future that is dropped has taken no item.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::unbounded, flow::ops::Timed};
    /// use std::time::Duration;
    /// let (tx, rx) = unbounded();
    /// [1, 2].into_iter().for_each(|item| tx.send(item).unwrap());
    /// drop(tx);
    /// myriad::block_on(async {
    ///     let mut items = rx.throttled(Duration::from_millis(2));
    ///     assert_eq!(items.next_async().await, Some(1));
    ///     assert_eq!(items.next_async().await, Some(2));
    ///     assert_eq!(items.next_async().await, None);
    /// });
    /// ```
    pub async fn next_async(&mut self) -> Option<T> {
        time::sleep_until_async(self.next).await;
        let item = self.from.recv_async().await.ok()?;
        self.next = time::now() + self.every;
        Some(item)
    }
}

impl<T> Iterator for Throttled<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        time::sleep_until(self.next);
        let item = self.from.recv().ok()?;
        self.next = time::now() + self.every;
        Some(item)
    }
}
