//! Sending and receiving with a function that is called when it is done: core.async's `put!` and
//! `take!`.

use super::{Receiver, RecvError, SendError, Sender, TryRecvError, TrySendError};
use myriad_core::engine::user_code;
use std::future::Future;
use std::task::{Context, Waker};

impl<T: Send + 'static> Receiver<T> {
    /// Receives a message, and calls `f` with it: now and here if there is one, else later, in a
    /// task.
    ///
    /// Calls stand in line as receives do, in their order. Until `f` is called it keeps a receiving
    /// end of the channel; an error says that the channel is closed and empty.
    ///
    /// # Blocking
    /// Never blocks, unless `f` does.
    ///
    /// # Panics
    /// If `f` panics: here, if it is called here; of the task, it is reported as that of any task
    /// without a handle. On a foreign thread, if the global runtime is needed and cannot be
    /// started.
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::{bounded, oneshot};
    /// let (tx, rx) = bounded(1);
    /// let (done, doubled) = oneshot();
    /// rx.recv_then(move |n: Result<i32, _>| done.send(2 * n.unwrap()).unwrap());
    /// tx.send(21).unwrap();
    /// assert_eq!(doubled.recv(), Ok(42));
    /// ```
    #[track_caller]
    pub fn recv_then(&self, f: impl FnOnce(Result<T, RecvError>) + Send + 'static) {
        match self.try_recv() {
            Ok(message) => f(Ok(message)),
            Err(TryRecvError::Closed) => f(Err(RecvError)),
            Err(TryRecvError::Empty) => {
                let end = self.clone();
                spawn_in_line(async move {
                    let received = end.recv_async().await;
                    // It may be the last, and what is buffered goes with it; what becomes of that
                    // is none of `f`'s business.
                    user_code::run("the destructor of a message", move || drop(end));
                    f(received);
                });
            }
        }
    }
}

impl<T: Send + 'static> Sender<T> {
    /// Sends a message, and calls `f` when it is sent: now and here if there is room, else later,
    /// in a task.
    ///
    /// Messages are sent in the order of the calls. Until `f` is called it keeps a sending end of
    /// the channel; an error has the message that nobody will receive.
    ///
    /// Nobody waits for room here: who calls it faster than messages are received uses up the
    /// memory. core.async allows 1024 puts in line; for a limit, [`send`](Sender::send).
    ///
    /// # Blocking
    /// Never blocks, unless `f` does.
    ///
    /// # Panics
    /// As [`Receiver::recv_then`].
    ///
    /// # Examples
    /// ```
    /// use myriad::channel::{bounded, oneshot};
    /// let (tx, rx) = bounded(1);
    /// tx.send("first").unwrap();
    /// let (done, sent) = oneshot();
    /// tx.send_then("second", move |result| done.send(result.is_ok()).unwrap());
    /// assert_eq!((rx.recv(), rx.recv()), (Ok("first"), Ok("second")));
    /// assert_eq!(sent.recv(), Ok(true));
    /// ```
    #[track_caller]
    pub fn send_then(&self, message: T, f: impl FnOnce(Result<(), SendError<T>>) + Send + 'static) {
        match self.try_send(message) {
            Ok(()) => f(Ok(())),
            Err(TrySendError::Closed(message)) => f(Err(SendError(message))),
            Err(TrySendError::Full(message)) => {
                let end = self.clone();
                spawn_in_line(async move {
                    let sent = end.send_async(message).await;
                    drop(end);
                    f(sent);
                });
            }
        }
    }
}

/// Spawns a future that first of all stands in line. It does so now, so that the order is that of
/// the calls, and not the one in which workers come to the tasks.
#[track_caller]
fn spawn_in_line(future: impl Future<Output = ()> + Send + 'static) {
    let mut future = Box::pin(future);
    // Twice: the first may find that the caller's budget is used up, and gives it a new one. A wake
    // that comes before the task's first poll wakes nobody, but that poll finds what has come.
    for _ in 0..2 {
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
    }
    drop(myriad_core::spawn_async(future));
}
