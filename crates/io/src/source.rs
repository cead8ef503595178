//! A socket that is waited for: by closures in tasks, by futures, by plain threads.
//!
//! ```text
//!  a task        take the readiness, else wait for it; call; all of the buffer filled: set it again
//!  a future      the same
//!  a thread      call; EAGAIN: poll(2) on the descriptor itself, and call again
//! ```
//! **Nothing is lost.** The task itself makes the call, after the wait: so a wait that ends by a
//! time limit, a cancellation or the drop of its future has moved no byte.
//!
//! **No lost edge.** The readiness is taken *before* the call, and what comes during the call sets
//! it again. After a short read of a stream the kernel tells of what comes later; but not where it
//! has told of an end, an error or urgent data already: from then on (`unsure`), and always for
//! datagrams, a call is made until it would block.
//!
//! **Registered late**: when a call has found that it would block. So a connection whose answer is
//! there already costs nothing, and a socket may be made anywhere, and moved.

use crate::reactor::Handle;
use crate::socket::Began;
use myriad_core::engine::reactor::look_before_wait;
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use myriad_sync::readiness::Readiness;
use std::io::{self, ErrorKind};
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use view::View;

mod bytes;
mod operation;
mod retry;
mod thread;
mod view;

pub(crate) use bytes::{Reads, Writes};
pub use operation::Attempts;
pub(crate) use operation::Operation;

/// A type of std's for what is waited for: a descriptor, with its operations.
pub(crate) trait Socket: AsFd + From<OwnedFd> + Into<OwnedFd> + Send + Sync + 'static {
    /// What failed, here, and why.
    fn failed(&self, operation: &'static str, peer: Option<SocketAddr>, reason: io::Error) -> io::Error;
}

/// A socket, which its handles share.
#[derive(Debug)]
pub(crate) struct Source<S: Socket> {
    handle: Handle,
    _type: PhantomData<S>,
}

impl<S: Socket> Clone for Source<S> {
    fn clone(&self) -> Source<S> {
        Source { handle: self.handle.clone(), _type: PhantomData }
    }
}

impl<S: Socket> AsFd for Source<S> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
    }
}

impl<S: Socket> Source<S> {
    /// This socket, which does not block.
    pub(crate) fn new(socket: S, peer: Option<SocketAddr>) -> Source<S> {
        Source { handle: Handle::new(socket.into(), true, peer), _type: PhantomData }
    }

    /// This socket, which is about to connect: it may not be written to yet.
    pub(crate) fn connecting(socket: S, peer: SocketAddr) -> Source<S> {
        Source { handle: Handle::new(socket.into(), false, Some(peer)), _type: PhantomData }
    }

    /// Makes this call as soon as it does not block. It returns its result, and whether another one
    /// may find something at once.
    pub(crate) fn block<const OUTPUT: bool, R>(
        &self,
        operation: &'static str,
        call: impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> io::Result<R> {
        self.block_bare::<OUTPUT, R>(call).map_err(|reason| self.failed(operation, reason))
    }

    /// As [`block`](Source::block), with the bare errors of the call.
    pub(crate) fn block_bare<const OUTPUT: bool, R>(
        &self,
        mut call: impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> io::Result<R> {
        let caller = Caller::get();
        if !caller.is_worker() {
            return self.block_thread::<OUTPUT, R>(&mut call);
        }
        caller.spend_io();
        self.block_task::<OUTPUT, R>(&mut call)
    }

    fn block_task<const OUTPUT: bool, R>(&self, call: &mut impl FnMut(&S) -> io::Result<(R, bool)>) -> io::Result<R> {
        let began = self.begin(OUTPUT);
        if OUTPUT && let Some(result) = self.try_output(call) {
            return result;
        }
        let readiness = self.readiness(OUTPUT);
        let mut has_looked = false;
        loop {
            let ready = match readiness.take_or_changes() {
                Ok(()) => true,
                // (Asked before: a change of what follows is one that this wait has not seen.)
                Err(seen) => {
                    self.handle.register()?;
                    if !std::mem::replace(&mut has_looked, true) && look_before_wait() {
                        continue;
                    }
                    readiness.wait::<OUTPUT>(seen, self.deadline(OUTPUT, began))
                }
            };
            // (Another task may have set a later limit.)
            if !ready && self.is_over(OUTPUT, began) {
                return self.last_attempt(readiness, call);
            }
            if ready && let Some(result) = self.attempt(readiness, call) {
                return result;
            }
        }
    }

    /// Makes the call without the readiness, unless there has been no room before. `None`: there is
    /// none, or there has been none.
    #[inline]
    fn try_output<R>(&self, call: &mut impl FnMut(&S) -> io::Result<(R, bool)>) -> Option<io::Result<R>> {
        if self.handle.has_been_full() {
            return None;
        }
        let done = self.call(call);
        if done.is_none() {
            self.handle.found_full();
        }
        done.map(|done| done.map(|(result, _)| result))
    }

    /// Makes the call; `None`: it would block.
    #[inline]
    fn call<R>(&self, call: &mut impl FnMut(&S) -> io::Result<(R, bool)>) -> Option<io::Result<(R, bool)>> {
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

    /// Makes the call, once the readiness was taken; `None`: it would block.
    fn attempt<R>(
        &self,
        readiness: &Readiness,
        call: &mut impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> Option<io::Result<R>> {
        let done = self.call(call)?;
        if done.as_ref().map_or(true, |(_, more)| *more || self.handle.is_unsure()) {
            readiness.set();
        }
        Some(done.map(|(result, _)| result))
    }

    /// The time is over. What is there, and nobody has looked for in the reactor yet, is found all
    /// the same: so who hears of a time-out knows that there was nothing.
    fn last_attempt<R>(
        &self,
        readiness: &Readiness,
        call: &mut impl FnMut(&S) -> io::Result<(R, bool)>,
    ) -> io::Result<R> {
        self.attempt(readiness, call).unwrap_or_else(|| Err(ErrorKind::TimedOut.into()))
    }

    /// From now on all operations of all handles fail, also those that wait. The descriptor goes
    /// with the last handle: then the peer sees the end.
    pub(crate) fn close(&self) {
        if !self.handle.closed.swap(true, Relaxed) {
            self.handle.input.close();
            self.handle.output.close();
            self.handle.make_rare().wakeup.set();
        }
    }

    /// The socket itself, for what does not block.
    pub(crate) fn socket(&self) -> View<'_, S> {
        View::new(self.as_fd())
    }

    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.handle.peer()
    }

    /// What failed, here, and why.
    pub(crate) fn failed(&self, operation: &'static str, reason: io::Error) -> io::Error {
        self.socket().failed(operation, self.peer(), reason)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.handle.closed.load(Relaxed)
    }

    /// (It stays, as do all entries; but whoever waits there has a handle.)
    #[inline]
    fn readiness(&self, output: bool) -> &'static Readiness {
        let entry = self.handle.entry();
        if output { &entry.output } else { &entry.input }
    }

    /// An operation begins.
    #[inline]
    fn begin(&self, output: bool) -> Began {
        self.handle.rare().map_or(Began::UNLIMITED, |rare| rare.limits.of(output).begin())
    }

    /// Until when an operation that began then may take.
    #[inline]
    fn deadline(&self, output: bool, began: Began) -> Option<Instant> {
        self.handle.rare()?.limits.of(output).until(began)
    }

    /// Is the time of an operation that began then over?
    fn is_over(&self, output: bool, began: Began) -> bool {
        self.deadline(output, began).is_some_and(|deadline| deadline <= time::now())
    }

    pub(crate) fn set_timeout(&self, output: bool, timeout: Option<Duration>) -> io::Result<()> {
        self.handle.make_rare().limits.of(output).set_timeout(timeout)
    }

    pub(crate) fn timeout(&self, output: bool) -> Option<Duration> {
        self.handle.rare()?.limits.of(output).timeout()
    }

    /// Sets a deadline: those that wait already look at it.
    pub(crate) fn set_deadline(&self, output: bool, deadline: Option<Instant>) {
        // (Where there are no limits there is none to take back.)
        if deadline.is_some() || self.handle.rare().is_some() {
            self.handle.make_rare().limits.of(output).set_deadline(deadline);
            self.readiness(output).change();
        }
    }
}

/// What an operation of a closed socket fails with.
fn closed() -> io::Error {
    io::Error::new(ErrorKind::NotConnected, "the socket was closed by this program")
}
