//! Several items at a time.

use myriad_core::time::{self, Instant};
use myriad_sync::channel::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// The iterator of [`Timed::batches`](super::Timed::batches).
#[derive(Debug)]
#[must_use = "iterators do nothing unless they are asked"]
pub struct Batches<T> {
    from: Receiver<T>,
    most: usize,
    within: Duration,
    /// What is there of the next batch. It stays if a wait is cancelled.
    begun: Vec<T>,
    /// When that batch ends.
    end: Instant,
}

impl<T> Batches<T> {
    #[track_caller]
    pub(super) fn new(from: Receiver<T>, most: usize, within: Duration) -> Batches<T> {
        assert!(most > 0, "a batch has at least one item");
        Batches { from, most, within, begun: Vec::new(), end: Instant::NEVER }
    }

    /// As `next`, for futures.
    ///
    /// # Cancellation
    /// A future that is dropped leaves the items in the iterator.
    ///
    /// # Examples
    /// ```
    /// use myriad::{channel::unbounded, flow::ops::Timed};
    /// use std::time::Duration;
    /// let (tx, rx) = unbounded();
    /// [1, 2, 3].into_iter().for_each(|item| tx.send(item).unwrap());
    /// drop(tx);
    /// myriad::block_on(async {
    ///     let mut batches = rx.batches(2, Duration::from_secs(1));
    ///     assert_eq!(batches.next_async().await, Some(vec![1, 2]));
    ///     assert_eq!(batches.next_async().await, Some(vec![3]));
    ///     assert_eq!(batches.next_async().await, None);
    /// });
    /// ```
    pub async fn next_async(&mut self) -> Option<Vec<T>> {
        loop {
            let item = match self.begun.is_empty() {
                true => self.from.recv_async().await.map_err(|_| RecvTimeoutError::Closed),
                false => self.from.recv_deadline_async(self.end).await,
            };
            if let Some(batch) = self.put(item) {
                return batch;
            }
        }
    }

    /// Puts an item into the batch. Returns what is next, if that is known now.
    fn put(&mut self, item: Result<T, RecvTimeoutError>) -> Option<Option<Vec<T>>> {
        let Ok(item) = item else {
            let batch = std::mem::take(&mut self.begun);
            return Some((!batch.is_empty()).then_some(batch));
        };
        if self.begun.is_empty() {
            self.end = time::now() + self.within;
        }
        self.begun.push(item);
        (self.begun.len() == self.most).then(|| Some(std::mem::take(&mut self.begun)))
    }
}

impl<T> Iterator for Batches<T> {
    type Item = Vec<T>;

    fn next(&mut self) -> Option<Vec<T>> {
        loop {
            let item = match self.begun.is_empty() {
                true => self.from.recv().map_err(|_| RecvTimeoutError::Closed),
                false => self.from.recv_deadline(self.end),
            };
            if let Some(batch) = self.put(item) {
                return batch;
            }
        }
    }
}
