//! An operation on a socket as a future.
//!
//! Written by hand, as an idle connection consists of one: as an `async` block it has each of its
//! arguments twice, and room for a time limit that few have (a read took 456 bytes, now 112).

use super::{Socket, Source};
use crate::socket::Began;
use myriad_core::engine::wait::Caller;
use myriad_sync::readiness::ReadinessWait;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

/// The attempts of an operation, until one does not block; then they are those of the next. (Public
/// as a part of hidden traits.)
#[doc(hidden)]
#[derive(Debug)]
pub struct Attempts<const OUTPUT: bool> {
    began: Began,
    /// `None`: it is new.
    wait: Option<ReadinessWait<'static, OUTPUT>>,
}

impl<const OUTPUT: bool> Attempts<OUTPUT> {
    /// `free`: the first call blocks by no means.
    pub(crate) fn new(free: bool) -> Self {
        Attempts { began: if free { Began::FREE } else { Began::UNLIMITED }, wait: None }
    }

    /// As [`Source::block`]; its errors say what failed. `source` is that of the polls before.
    pub(crate) fn poll_named<S: Socket, R>(
        self: Pin<&mut Self>,
        source: &Source<S>,
        cx: &mut Context<'_>,
        what: &'static str,
        mut call: impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> Poll<io::Result<R>> {
        self.poll::<true, S, R>(source, cx, &mut call).map_err(|reason| source.failed(what, reason))
    }

    /// The same, with the bare errors of the call. `POLLED`: the attempts may stay where nobody
    /// polls them any more.
    #[inline]
    pub(crate) fn poll<const POLLED: bool, S: Socket, R>(
        self: Pin<&mut Self>,
        source: &Source<S>,
        cx: &mut Context<'_>,
        call: &mut impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> Poll<io::Result<R>> {
        // SAFETY: what waits is moved by nobody: it is polled where it is, and overwritten.
        let this = unsafe { self.get_unchecked_mut() };
        let done = ready!(this.poll_attempts::<POLLED, S, R>(source, cx, call));
        (this.began, this.wait) = (Began::UNLIMITED, None);
        Poll::Ready(done)
    }

    #[inline]
    fn poll_attempts<const POLLED: bool, S: Socket, R>(
        &mut self,
        source: &Source<S>,
        cx: &mut Context<'_>,
        call: &mut impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> Poll<io::Result<R>> {
        let readiness = source.readiness(OUTPUT);
        if self.wait.is_none() {
            if self.began.is_free() {
                return Poll::Ready(call(&source.socket()).map(|(result, _)| result));
            }
            if !Caller::get().poll_spend_io(cx.waker()) {
                return Poll::Pending;
            }
            self.began = source.begin(OUTPUT);
            if OUTPUT && let Some(result) = source.try_output(call) {
                return Poll::Ready(result);
            }
        }
        loop {
            let ready = match &mut self.wait {
                None => match readiness.take_or_changes() {
                    Ok(()) => true,
                    // (Asked before: a change of what follows is one that this wait has not seen.)
                    Err(seen) => {
                        source.handle.register()?;
                        let limit = source.deadline(OUTPUT, self.began);
                        self.wait = Some(if POLLED {
                            readiness.wait_polled(seen, limit)
                        } else {
                            readiness.wait_async(seen, limit)
                        });
                        false
                    }
                },
                Some(wait) => {
                    // SAFETY: the whole is pinned, and so is this wait: see `poll`.
                    let in_time = ready!(unsafe { Pin::new_unchecked(wait) }.poll(cx));
                    // (Another task may have set a later limit.)
                    if !in_time && source.is_over(OUTPUT, self.began) {
                        return Poll::Ready(source.last_attempt(readiness, call));
                    }
                    self.wait = None;
                    // (One that is polled was not handed the readiness: the next turn takes it.)
                    in_time && !POLLED
                }
            };
            if ready && let Some(result) = source.attempt(readiness, call) {
                return Poll::Ready(result);
            }
        }
    }
}

/// One operation, or several of the same kind: `call` returns `None` if there is more to be done.
/// Its errors say what failed.
#[must_use = "futures do nothing unless awaited"]
pub(crate) struct Operation<'a, const OUTPUT: bool, S: Socket, F> {
    source: &'a Source<S>,
    /// (A thin pointer: with eight bytes more the task of a server takes 64 more.)
    what: &'static &'static str,
    call: F,
    attempts: Attempts<OUTPUT>,
}

impl<'a, const OUTPUT: bool, S: Socket, F> Operation<'a, OUTPUT, S, F> {
    /// Makes these calls, one after the other, as soon as they do not block. `free`: the first one
    /// does not by any means.
    pub(crate) fn new<R>(source: &'a Source<S>, what: &'static &'static str, free: bool, call: F) -> Self
    where
        F: FnMut(&S) -> io::Result<(Option<R>, bool)>,
    {
        Operation { source, what, call, attempts: Attempts::new(free) }
    }
}

impl<S: Socket> Source<S> {
    /// [`block`](Source::block) as a future, with the bare errors of the call.
    pub(crate) async fn run<const OUTPUT: bool, R>(
        &self,
        mut call: impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> io::Result<R> {
        let mut attempts = pin!(Attempts::<OUTPUT>::new(false));
        poll_fn(|cx| attempts.as_mut().poll::<false, S, R>(self, cx, &mut call)).await
    }
}

impl<const OUTPUT: bool, S: Socket, R, F> Future for Operation<'_, OUTPUT, S, F>
where
    F: FnMut(&S) -> io::Result<(Option<R>, bool)>,
{
    type Output = io::Result<R>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<R>> {
        // SAFETY: the attempts are pinned with the whole, and polled where they are; `call` is not
        // pinned, and may move.
        let this = unsafe { self.get_unchecked_mut() };
        loop {
            // SAFETY: the whole is pinned, and the attempts with it.
            let attempts = unsafe { Pin::new_unchecked(&mut this.attempts) };
            match ready!(attempts.poll::<false, S, _>(this.source, cx, &mut this.call)) {
                Ok(Some(result)) => return Poll::Ready(Ok(result)),
                Ok(None) => {}
                Err(reason) => return Poll::Ready(Err(this.source.failed(this.what, reason))),
            }
        }
    }
}
