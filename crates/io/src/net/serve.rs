//! Accepting connections one after the other: the loop of a server.

use super::OperationError;
use myriad_core::cancel::Token;
use myriad_core::engine::{join_error, unwind, user_code};
use myriad_core::time::{self, Instant};
use myriad_core::{scope, spawn_async};
use myriad_sync::lock::Semaphore;
use std::future::Future;
use std::io;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// What accepts connections.
#[doc(hidden)]
pub trait Accept: Sync {
    type Stream: Send + 'static;
    fn accept_one(&self) -> io::Result<Self::Stream>;
    fn accept_one_async(&self) -> impl Future<Output = io::Result<Self::Stream>> + Send;
    fn is_closed(&self) -> bool;
    /// No further connection is accepted.
    fn ends(&self) {}
}

/// Without a descriptor it waits so long at first ...
const SHORT: Duration = Duration::from_millis(10);
/// ... and so long at most.
const LONG: Duration = Duration::from_secs(1);
/// While it waits for that, or for the end of a connection, it looks so often whether the listener
/// was closed.
const LOOK: Duration = Duration::from_millis(50);

/// The connections of a listener: see its `incoming`. Example: [`TcpListener`](super::TcpListener).
#[derive(Debug)]
pub struct Incoming<'a, L = super::TcpListener> {
    listener: &'a L,
    pause: Duration,
}

impl<'a, L: Accept> Incoming<'a, L> {
    pub(super) fn new(listener: &'a L) -> Self {
        Incoming { listener, pause: SHORT }
    }

    /// What becomes of what was accepted: `Err`, it is to be tried again then.
    fn sort(&mut self, accepted: io::Result<L::Stream>) -> Result<Option<io::Result<L::Stream>>, Instant> {
        match accepted {
            Ok(stream) => {
                self.pause = SHORT;
                Ok(Some(Ok(stream)))
            }
            Err(_) if self.listener.is_closed() => Ok(None),
            Err(error) if is_full(&error) => {
                let again = time::now() + self.pause;
                self.pause = (self.pause * 2).min(LONG);
                Err(again)
            }
            Err(error) => Ok(Some(Err(error))),
        }
    }

    /// The next look while it waits until then.
    fn look(&self, again: Instant) -> Option<Instant> {
        let now = time::now();
        (now < again && !self.listener.is_closed()).then(|| again.min(now + LOOK))
    }

    async fn next_async(&mut self) -> Option<io::Result<L::Stream>> {
        loop {
            let accepted = self.listener.accept_one_async().await;
            match self.sort(accepted) {
                Ok(sorted) => return sorted,
                Err(again) => {
                    while let Some(look) = self.look(again) {
                        time::sleep_until_async(look).await;
                    }
                }
            }
        }
    }
}

impl<L: Accept> Iterator for Incoming<'_, L> {
    type Item = io::Result<L::Stream>;

    fn next(&mut self) -> Option<io::Result<L::Stream>> {
        loop {
            let accepted = self.listener.accept_one();
            match self.sort(accepted) {
                Ok(sorted) => return sorted,
                Err(again) => {
                    while let Some(look) = self.look(again) {
                        time::sleep_until(look);
                    }
                }
            }
        }
    }
}

/// Has the process, or the system, no descriptor or no memory for a connection?
fn is_full(error: &io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<OperationError>());
    let number = inner.and_then(|inner| inner.reason().raw_os_error());
    number.is_some_and(|number| [libc::EMFILE, libc::ENFILE, libc::ENOBUFS, libc::ENOMEM].contains(&number))
}

/// Calls `f` with each connection, in a task of its own.
#[track_caller]
pub(super) fn serve<L: Accept>(listener: &L, limit: usize, f: impl Fn(L::Stream) + Sync) -> io::Result<()> {
    let places = places(limit)?;
    let location = Location::caller();
    scope(|s| {
        let mut incoming = Incoming::new(listener);
        loop {
            let place = places.acquire();
            let Some(stream) = incoming.next() else { return Ok(()) };
            let (stream, f) = (stream?, &f);
            s.spawn(move || {
                let _place = place;
                if let Err(payload) = user_code::body(|| f(stream)) {
                    ended(payload, location);
                }
            });
        }
    })
}

/// The task of a connection has unwound.
#[cold]
fn ended(payload: unwind::Payload, location: &'static Location<'static>) {
    if unwind::is_cancellation(&payload) {
        unwind::resume(payload);
    }
    user_code::report(&format!("a connection of `serve`: {}", join_error::panicked(payload, location)));
}

/// The same with futures.
#[doc(hidden)]
pub async fn serve_async<L, F, C>(listener: &L, limit: usize, f: F) -> io::Result<()>
where
    L: Accept,
    F: Fn(L::Stream) -> C + Send + Sync + 'static,
    C: Future<Output = ()> + Send + 'static,
{
    let (places, f) = (Arc::new(places(limit)?), Arc::new(f));
    let connections = Connections(Token::new());
    let mut incoming = Incoming::new(listener);
    let result = loop {
        // (At the limit it looks as well: so a listener that tells its connections does that then.)
        let place = loop {
            match places.acquire_timeout_async(LOOK).await {
                Ok(place) => break Some(place.into_owned(&places)),
                Err(_) if listener.is_closed() => break None,
                Err(_) => {}
            }
        };
        let Some(place) = place else { break Ok(()) };
        let stream = match incoming.next_async().await {
            None => break Ok(()),
            Some(Err(error)) => break Err(error),
            Some(Ok(stream)) => stream,
        };
        let (f, token) = (f.clone(), connections.0.clone());
        spawn_async(async move {
            let _place = place;
            // (Of a token that was cancelled they are dropped, and this task has ended.)
            _ = token.run_async(async { f(stream).await }).await;
        });
    };
    listener.ends();
    _ = places.acquire_many_async(limit).await;
    result
}

/// The connections of a server that is a future: they end with it.
struct Connections(Token);

impl Drop for Connections {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn places(limit: usize) -> io::Result<Semaphore> {
    if limit == 0 {
        let text = "a server with a limit of 0 connections: it takes one at least";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(Semaphore::new(limit))
}

/// What a listener has to accept connections one after the other.
macro_rules! accepts {
    ($listener:ident, $stream:ty) => {
        impl $crate::net::serve::Accept for $listener {
            type Stream = $stream;

            fn accept_one(&self) -> std::io::Result<$stream> {
                self.accept().map(|(stream, _)| stream)
            }

            fn accept_one_async(&self) -> impl Future<Output = std::io::Result<$stream>> + Send {
                async { self.accept_async().await.map(|(stream, _)| stream) }
            }

            fn is_closed(&self) -> bool {
                self.source.is_closed()
            }
        }

        impl $listener {
            /// The connections, one after the other, until the listener is [closed](Self::close).
            /// Where the process has no descriptor left for one it waits, 10 ms at first, up to a
            /// second, and tries again.
            pub fn incoming(&self) -> $crate::net::Incoming<'_, $listener> {
                $crate::net::Incoming::new(self)
            }

            /// Accepts connections, and calls `f` with each, in a task of its own; `limit` of them
            /// at most live at the same time, and clients beyond that wait in the system's queue.
            /// `f` may borrow from the caller.
            ///
            /// Where the process has no descriptor left it waits, as [`incoming`](Self::incoming)
            /// does.
            ///
            /// # Blocking
            /// Until the listener is [closed](Self::close) and all connections have ended.
            ///
            /// # Cancellation
            /// The connections are cancelled; it unwinds when they have ended.
            ///
            /// # Panics
            /// A panic of `f` ends its connection only, and is told as that of a task whose handle
            /// was dropped: see `Builder::on_unhandled_panic`.
            ///
            /// # Errors
            /// What `accept` fails with, but for a close and a lack of descriptors: once all
            /// connections have ended. `InvalidInput`: the limit is 0.
            #[track_caller]
            pub fn serve(&self, limit: usize, f: impl Fn($stream) + Sync) -> std::io::Result<()> {
                $crate::net::serve::serve(self, limit, f)
            }

            /// [`serve`](Self::serve) as a future, with a future for each connection.
            ///
            /// # Cancellation
            /// Dropped before it is ready, the futures of its connections are dropped where they
            /// wait, soon after.
            ///
            /// # Panics
            /// As [`serve`](Self::serve).
            ///
            /// # Errors
            /// As [`serve`](Self::serve).
            pub async fn serve_async<F, C>(&self, limit: usize, f: F) -> std::io::Result<()>
            where
                F: Fn($stream) -> C + Send + Sync + 'static,
                C: Future<Output = ()> + Send + 'static,
            {
                $crate::net::serve::serve_async(self, limit, f).await
            }
        }
    };
}

pub(super) use accepts;
