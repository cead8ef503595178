//! What tasks leave for one who takes it as it comes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// A queue with one taker. Under a lock of std: held for some instructions, and nothing foreign runs inside.
#[derive(Debug)]
pub(super) struct Completions<T>(Mutex<Queue<T>>);

#[derive(Debug)]
struct Queue<T> {
    items: VecDeque<T>,
    taker: Option<Waker>,
}

impl<T> Completions<T> {
    pub(super) fn new() -> Completions<T> {
        Completions(Mutex::new(Queue { items: VecDeque::new(), taker: None }))
    }

    fn lock(&self) -> MutexGuard<'_, Queue<T>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub(super) fn push(&self, item: T) {
        let mut queue = self.lock();
        queue.items.push_back(item);
        let taker = queue.taker.take();
        drop(queue);
        if let Some(taker) = taker {
            taker.wake();
        }
    }

    pub(super) fn try_take(&self) -> Option<T> {
        self.lock().items.pop_front()
    }

    /// The next one, once it is there.
    pub(super) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<T> {
        // Cloned and dropped without the lock: wakers are foreign code.
        let mut waker = Some(cx.waker().clone());
        let mut queue = self.lock();
        if let Some(item) = queue.items.pop_front() {
            return Poll::Ready(item);
        }
        std::mem::swap(&mut queue.taker, &mut waker);
        drop(queue);
        Poll::Pending
    }

    /// Blocks until there is one.
    pub(super) fn take(&self) -> T {
        match self.try_take() {
            Some(item) => item,
            None => super::block_on(poll_fn(|cx| self.poll_take(cx))),
        }
    }
}
