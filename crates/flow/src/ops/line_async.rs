//! The tasks of a pipeline whose function is asynchronous: futures, which do what those of
//! [`line`](super::line) do.
//!
//! They hold the line together, as futures cannot borrow it. The operation is a closure that waits
//! for them. Cancelled, or when one of them panics, the closure cancels them, and waits for that.

use super::ended::{self, Ended, Why};
use super::line::{InHand, Line};
use myriad_base::unwind::Payload;
use myriad_core::cancel::{self, Token};
use myriad_core::engine::{unwind, user_code};
use myriad_core::{JoinHandle, block_on, spawn_async};
use myriad_sync::channel::{Sender, TryRecvError, TrySendError};
use myriad_sync::select_async;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, PoisonError};
use std::task::Poll;

impl<T, O, F, R> Line<T, O, F>
where
    T: Send + 'static,
    O: Send + 'static,
    F: Fn(T) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
{
    /// The whole operation.
    pub(super) fn run_async(self, token: &Token) -> Ended<O> {
        let line = Arc::new(self);
        let why = ended::run(token, || {
            let works = (0..line.settings.tasks).map(|_| spawn_async(work(line.clone())));
            let mut tasks: Vec<JoinHandle<()>> = works.collect();
            let ended = user_code::body(|| {
                while let Some(task) = tasks.last_mut() {
                    block_on(task).unwrap_or_else(|error| error.resume());
                    tasks.pop();
                }
            });
            tasks.iter().for_each(JoinHandle::cancel);
            cancel::shield(|| tasks.into_iter().for_each(|task| unwind::drop_quietly(task.join())));
            ended.unwrap_or_else(|payload| unwind::resume(payload));
            Why::SourceEnded
        });
        Arc::into_inner(line).expect("its tasks have ended").ended(why)
    }

    /// As that of closures.
    async fn take_async(&self) -> Option<(u64, T)> {
        self.room.acquire_async().await.forget();
        let mut source = self.source.lock_async().await.unwrap_or_else(PoisonError::into_inner);
        if self.stop.is_closed() {
            return None;
        }
        let item = match source.from.try_recv() {
            Ok(item) => item,
            Err(TryRecvError::Closed) => return None,
            Err(TryRecvError::Empty) => select_async! {
                item = source.from.recv() => item.ok()?,
                _ = source.stopped.recv() => return None
            },
        };
        Some((source.number(), item))
    }

    /// As that of closures.
    async fn give_in_order_async(&self, number: u64, result: Option<O>) -> bool {
        let mut next = self.put(number, result);
        while let Some(in_hand) = next {
            if !self.give_async(in_hand).await {
                return false;
            }
            next = self.next();
        }
        true
    }

    /// As that of closures.
    async fn give_async(&self, mut in_hand: InHand<'_, O>) -> bool {
        let is_some = in_hand.result.is_some();
        let is_open = give_async(&self.to, &mut in_hand.result).await;
        if is_open {
            self.given(is_some);
        }
        is_open
    }
}

/// One of the tasks.
async fn work<T, O, F, R>(line: Arc<Line<T, O, F>>)
where
    T: Send + 'static,
    O: Send + 'static,
    F: Fn(T) -> R + Send + Sync + 'static,
    R: Future<Output = O> + Send + 'static,
{
    while let Some((number, item)) = line.take_async().await {
        let result = match caught(async { (line.f)(item).await }).await {
            Ok(result) => Ok(Some(result)),
            Err(payload) => line.panicked(payload),
        };
        let is_open = match result {
            Err(why) => return line.end(why),
            Ok(result) if line.settings.is_ordered => line.give_in_order_async(number, result).await,
            Ok(result) => line.give_async(line.in_hand(number, result)).await,
        };
        if !is_open {
            return line.end(Why::TargetClosed);
        }
    }
}

/// What comes out of a future, or the panic of a poll.
async fn caught<R: Future>(future: R) -> Result<R::Output, Payload> {
    let mut future = pin!(future);
    poll_fn(|cx| match user_code::body(|| future.as_mut().poll(cx)) {
        Ok(poll) => poll.map(Ok),
        Err(payload) => Poll::Ready(Err(payload)),
    })
    .await
}

/// As [`give`](super::give::give).
async fn give_async<T: Send>(to: &Sender<T>, slot: &mut Option<T>) -> bool {
    let Some(item) = slot.take() else { return true };
    match to.try_send(item) {
        Ok(()) => true,
        Err(TrySendError::Closed(item)) => {
            *slot = Some(item);
            false
        }
        Err(TrySendError::Full(item)) => {
            *slot = Some(item);
            select_async! {
                sent = to.send_from(slot) => match sent {
                    Ok(()) => true,
                    Err(closed) => {
                        *slot = Some(closed.into_inner());
                        false
                    }
                }
            }
        }
    }
}
