//! The last of each burst.

use myriad_core::time::{self, Instant};
use myriad_sync::channel::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The iterator of [`Timed::debounced`](super::Timed::debounced).
#[derive(Debug)]
#[must_use = "iterators do nothing unless they are asked"]
pub struct Debounced<T> {
    from: Receiver<T>,
    quiet: Duration,
    /// The last item, and when its time is over. It stays if a wait is cancelled.
    last: Option<(T, Instant)>,
}

impl<T> Debounced<T> {
    pub(super) fn new(from: Receiver<T>, quiet: Duration) -> Debounced<T> {
        Debounced { from, quiet, last: None }
    }

    /// As `next`, for futures.
    ///
    /// # Cancellation
    /// A future that is dropped leaves the last item in the iterator.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::unbounded, flow::ops::Timed};
    /// use std::time::Duration;
    /// let (tx, rx) = unbounded();
    /// ["m", "my", "myr"].into_iter().for_each(|item| tx.send(item).unwrap());
    /// drop(tx);
    /// myriad::block_on(async {
    ///     let mut words = rx.debounced(Duration::from_millis(300));
    ///     assert_eq!(words.next_async().await, Some("myr"));
    ///     assert_eq!(words.next_async().await, None);
    /// });
    /// ```
    pub async fn next_async(&mut self) -> Option<T> {
        loop {
            let item = match &self.last {
                None => self.from.recv_async().await.map_err(|_| RecvTimeoutError::Closed),
                Some((_, end)) => self.from.recv_deadline_async(*end).await,
            };
            if let Some(next) = self.put(item) {
                return next;
            }
        }
    }

    /// Keeps an item instead of the last. Returns what is next, if that is known now.
    fn put(&mut self, item: Result<T, RecvTimeoutError>) -> Option<Option<T>> {
        match item {
            Ok(item) => {
                self.last = Some((item, time::now() + self.quiet));
                None
            }
            Err(_) => Some(self.last.take().map(|(item, _)| item)),
        }
    }
}

impl<T> Iterator for Debounced<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        loop {
            let item = match &self.last {
                None => self.from.recv().map_err(|_| RecvTimeoutError::Closed),
                Some((_, end)) => self.from.recv_deadline(*end),
            };
            if let Some(next) = self.put(item) {
                return next;
            }
        }
    }
}
