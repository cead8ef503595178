//! What tasks leave for one taker, in the order in which they end.

use myriad_base::sys::mutex::Mutex;
use myriad_core::block_on;
use myriad_core::engine::user_code::{StoredWaker, UserValue};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::needs_drop;
use std::task::{Context, Poll};

/// A queue with one taker. Under a lock of std, which is held for some instructions; no user code
/// runs under it.
#[derive(Debug)]
pub(crate) struct Completions<T>(Mutex<Queue<T>>);

#[derive(Debug)]
struct Queue<T> {
    items: Batch<T>,
    taker: Taker,
}

/// Some that the taker has taken out at once: so the lock is taken once for all of them.
pub(crate) type Batch<T> = VecDeque<Item<T>>;

type Item<T> = UserValue<T>;
type Taker = Option<StoredWaker>;

/// The end of a queue frees memory, and runs no user code.
const _: () = assert!(!needs_drop::<(Item<String>, Taker)>());

impl<T> Completions<T> {
    pub(crate) fn new() -> Completions<T> {
        Completions(Mutex::new(Queue { items: VecDeque::new(), taker: None }))
    }

    pub(crate) fn push(&self, item: T) {
        let mut queue = self.0.lock();
        queue.items.push_back(UserValue::new(item));
        let taker = queue.taker.take();
        drop(queue);
        if let Some(taker) = taker {
            taker.wake();
        }
    }

    pub(crate) fn try_take(&self) -> Option<T> {
        self.0.lock().items.pop_front().map(UserValue::give)
    }

    /// The next one of the batch, which is filled anew when it is empty. (The batch is the taker's:
    /// what is in it is not found by the other calls.)
    pub(crate) fn try_take_from(&self, batch: &mut Batch<T>) -> Option<T> {
        if batch.is_empty() {
            std::mem::swap(&mut self.0.lock().items, batch);
        }
        batch.pop_front().map(UserValue::give)
    }

    /// The next one, once it is there.
    pub(crate) fn poll_take(&self, cx: &mut Context<'_>) -> Poll<T> {
        // Cloned and dropped without the lock: wakers are user code.
        let mut waker = Some(StoredWaker::clone_of(cx.waker()));
        let mut queue = self.0.lock();
        let item = queue.items.pop_front();
        if item.is_none() {
            std::mem::swap(&mut queue.taker, &mut waker);
        }
        drop(queue);
        waker.into_iter().for_each(StoredWaker::discard);
        item.map_or(Poll::Pending, |item| Poll::Ready(item.give()))
    }

    /// Blocks until there is one.
    pub(crate) fn take(&self) -> T {
        match self.try_take() {
            Some(item) => item,
            None => block_on(poll_fn(|cx| self.poll_take(cx))),
        }
    }
}

impl<T> Drop for Completions<T> {
    fn drop(&mut self) {
        let queue = self.0.get_mut();
        queue.taker.take().into_iter().for_each(StoredWaker::discard);
        queue.items.drain(..).for_each(|item| item.discard("a result that nobody took"));
    }
}
