//! Calls that would block, and of whose end the system does not tell: they are tried again.

use super::{Socket, Source, closed};
use crate::socket::Began;
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use std::future::poll_fn;
use std::io::{self, ErrorKind};
use std::task::Poll;
use std::time::Duration;

/// After the first attempt it waits so long ...
const SHORT: Duration = Duration::from_millis(1);
/// ... and so long at most: that is also how late it sees that the socket was closed.
const LONG: Duration = Duration::from_millis(50);

impl<S: Socket> Source<S> {
    /// Makes this call, which is output, until it does not block.
    pub(crate) fn retry<R>(&self, mut call: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        let caller = Caller::get();
        if caller.is_worker() {
            caller.spend_io();
        }
        let (began, mut pause) = (self.begin(true), SHORT);
        loop {
            if let Some(result) = self.try_once(&mut call) {
                return result;
            }
            time::sleep_until(self.next(began, &mut pause)?);
        }
    }

    /// The same as a future.
    pub(crate) async fn retry_async<R>(&self, mut call: impl FnMut(&S) -> io::Result<R>) -> io::Result<R> {
        poll_fn(|cx| if Caller::get().poll_spend_io(cx.waker()) { Poll::Ready(()) } else { Poll::Pending }).await;
        let (began, mut pause) = (self.begin(true), SHORT);
        loop {
            if let Some(result) = self.try_once(&mut call) {
                return result;
            }
            let next = self.next(began, &mut pause)?;
            time::sleep_until_async(next).await;
        }
    }

    fn try_once<R>(&self, call: &mut impl FnMut(&S) -> io::Result<R>) -> Option<io::Result<R>> {
        if self.is_closed() {
            return Some(Err(closed()));
        }
        loop {
            match call(&self.socket()) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => return Some(result),
            }
        }
    }

    /// When it is tried again.
    fn next(&self, began: Began, pause: &mut Duration) -> io::Result<Instant> {
        let now = time::now();
        let limit = self.deadline(true, began);
        if limit.is_some_and(|limit| limit <= now) {
            return Err(ErrorKind::TimedOut.into());
        }
        let next = now + *pause;
        *pause = (*pause * 2).min(LONG);
        Ok(limit.map_or(next, |limit| limit.min(next)))
    }
}
