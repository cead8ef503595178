//! A share in an open socket.

use super::{Entry, Epoll, pool};
use myriad_base::sys::fork;
use myriad_base::sys::thread::abort_with;
use myriad_core::engine::reactor::Reactor;
use std::io;
use std::net::SocketAddr;
use std::ops::Deref;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
// Std's: no model has them.
use std::sync::atomic::{Ordering::*, fence};

/// The descriptor is open as long as there is one.
#[derive(Debug)]
pub(crate) struct Handle(&'static Entry);

impl Handle {
    /// The first of a socket that may perhaps be read from, and written to as `output` says.
    pub(crate) fn new(socket: OwnedFd, output: bool, peer: Option<SocketAddr>) -> Handle {
        let entry = pool::take();
        entry.made.store(fork::era(), Relaxed);
        entry.handles.store(1, Relaxed);
        entry.descriptor.store(socket.into_raw_fd(), Relaxed);
        if !output {
            entry.found_full();
            entry.output.take();
        }
        match peer {
            Some(SocketAddr::V4(peer)) => entry.peer.set(Some(peer)),
            Some(SocketAddr::V6(peer)) => *entry.make_rare().long_peer.lock() = Some(peer),
            None => {}
        }
        Handle(entry)
    }

    /// The entry itself: it stays, but is another socket's when the last handle has gone.
    pub(crate) fn entry(&self) -> &'static Entry {
        self.0
    }

    /// Registers the socket, if it is not, with the reactor of the calling task.
    pub(crate) fn register(&self) -> io::Result<()> {
        // (Relaxed: who forgets it counts a change afterwards, and the caller has asked before how
        // many there were.)
        if self.registered.load(Relaxed) == fork::era() {
            return Ok(());
        }
        let reactor = Epoll::here()?;
        let mut at = self.at.lock();
        if at.is_some_and(|reactor| reactor.is_here()) {
            return Ok(());
        }
        reactor.add(self.as_fd(), self.0)?;
        let inherited = at.replace(reactor).is_some();
        self.registered.store(fork::era(), Relaxed);
        drop(at);
        if inherited {
            // Those of the parent that wait here are in another process: they take no event away.
            self.changed();
        }
        Ok(())
    }
}

impl Clone for Handle {
    fn clone(&self) -> Handle {
        if self.handles.fetch_add(1, Relaxed) > u32::MAX / 2 {
            abort_with("a socket has two thousand million handles: they are made and forgotten");
        }
        Handle(self.0)
    }
}

impl Deref for Handle {
    type Target = Entry;
    fn deref(&self) -> &Entry {
        self.0
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        // SAFETY: this is a handle, so the descriptor is open.
        unsafe { BorrowedFd::borrow_raw(self.descriptor.load(Relaxed)) }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // Release, with the fence: what was done by other handles comes before the end.
        if self.handles.fetch_sub(1, Release) != 1 {
            return;
        }
        fence(Acquire);
        // Before the descriptor is closed: else events would come for as long as the file is open
        // anywhere, as in a child.
        self.take_out(None);
        // SAFETY: the first handle was made of an owned descriptor, and this is the last one.
        drop(unsafe { OwnedFd::from_raw_fd(self.descriptor.swap(-1, Relaxed)) });
        if self.renew() {
            pool::give_back(self.0);
        }
    }
}
