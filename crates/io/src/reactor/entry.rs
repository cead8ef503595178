//! An open socket: its descriptor, whether it may be read from and written to, where it is
//! registered.
//!
//! **Memory of one kind.** An entry is never given back to the system: it is that of a socket, or
//! free and will be that of the next one. So the key of an event is an address, and an event that
//! comes late, and meets the next socket there, is a hint in vain. (With a count of references an
//! event kept its socket open for a moment after the last handle was dropped, and a port taken.) A
//! connection allocates nothing.
//!
//! **The descriptor** is open as long as there is a [`Handle`](super::Handle). The last one to go
//! takes it out of the reactor first.

use super::Epoll;
use crate::socket::{Rare, ShortPeer, name};
use myriad_base::sys::fact::Fact;
use myriad_base::sys::fork;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::reactor::Reactor;
use myriad_sync::readiness::Readiness;
use rustix::event::epoll::EventFlags;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
// Std's: no model has them.
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, Ordering::*, fence};

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) input: Readiness,
    pub(crate) output: Readiness,
    /// Where it is registered.
    pub(super) at: Mutex<Option<&'static Epoll>>,
    /// The era in which it was registered, 0 if it is not: what a parent of this process has
    /// registered is not registered here.
    pub(super) registered: AtomicU32,
    /// The era in which the socket was made.
    pub(super) made: AtomicU32,
    pub(super) handles: AtomicU32,
    pub(super) descriptor: AtomicI32,
    /// Somebody has found no room for output: from now on there is a readiness to be taken. Until
    /// then, which is for ever for most sockets, whoever writes just does so.
    pub(super) was_full: AtomicBool,
    /// A short read does not say that there is no more.
    pub(super) unsure: AtomicBool,
    pub(crate) closed: AtomicBool,
    pub(super) peer: ShortPeer,
    /// Made when it is needed, and kept for the next socket.
    rare: Fact<Rare>,
}

// An idle connection is this, and a task.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Entry>() == 136);

impl Entry {
    pub(super) fn free() -> Entry {
        Entry {
            input: Readiness::new(true),
            output: Readiness::new(true),
            at: Mutex::new(None),
            registered: AtomicU32::new(0),
            made: AtomicU32::new(0),
            handles: AtomicU32::new(0),
            descriptor: AtomicI32::new(-1),
            was_full: AtomicBool::new(false),
            unsure: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            peer: ShortPeer::default(),
            rare: Fact::new(),
        }
    }

    /// There were these events.
    pub(super) fn fire(&self, events: EventFlags) {
        let (input, output) = self.directions(events);
        if input {
            self.input.set();
        }
        if output {
            self.output.set();
        }
    }

    /// The same where no user code may run. False: a future waits, or has waited, and the events
    /// are to be fired again.
    pub(super) fn fire_for_blocked(&self, events: EventFlags) -> bool {
        let (input, output) = self.directions(events);
        // (If only the first was set it is set once more: a readiness is a hint.)
        (!input || self.input.set_for_blocked()) && (!output || self.output.set_for_blocked())
    }

    /// Are these events of input, and of output?
    #[inline]
    fn directions(&self, events: EventFlags) -> (bool, bool) {
        let end = EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR;
        if events.intersects(end | EventFlags::PRI) {
            self.unsure.store(true, Relaxed);
        }
        let full = EventFlags::OUT | EventFlags::HUP | EventFlags::ERR;
        (events.intersects(end | EventFlags::PRI | EventFlags::IN), self.was_full() && events.intersects(full))
    }

    /// Takes the socket out of this reactor, if it is there: whoever waits looks for another one.
    pub(super) fn forget(&self, reactor: &Epoll) {
        if self.take_out(Some(reactor)) {
            self.changed();
        }
    }

    /// Takes the socket out of its reactor, or of this one.
    pub(super) fn take_out(&self, of: Option<&Epoll>) -> bool {
        // (In a child the parent's lock may be taken for ever, and there is nothing to be done. By
        // Acquire, with the Release below: after the one who takes it out the descriptor may go.)
        if self.registered.load(Acquire) != fork::era() {
            return false;
        }
        let mut at = self.at.lock();
        let Some(reactor) = at.take_if(|at| of.is_none_or(|of| std::ptr::eq(*at, of))) else { return false };
        // SAFETY: it is registered, and a descriptor is closed after it was taken out, which needs
        // this lock.
        reactor.remove(unsafe { BorrowedFd::borrow_raw(self.descriptor.load(Relaxed)) });
        self.registered.store(0, Release);
        true
    }

    /// As [`was_full`](Entry::was_full), for the one who tells of an event.
    #[inline]
    fn was_full(&self) -> bool {
        // With the fence in `found_full`: whoever says that it is full, and then finds no room in
        // the system, does so before that event, or is seen here. (On x86 this load does not come
        // before the system's own of the event.)
        if !cfg!(any(target_arch = "x86", target_arch = "x86_64")) {
            fence(SeqCst);
        }
        self.was_full.load(Relaxed)
    }

    /// Is there a readiness for output to be taken?
    #[inline]
    pub(crate) fn has_been_full(&self) -> bool {
        self.was_full.load(Relaxed)
    }

    /// There was no room for output. The caller looks once more.
    #[cold]
    pub(crate) fn found_full(&self) {
        self.was_full.store(true, Relaxed);
        // With the fence in `was_full`: the caller's next look comes after this is seen.
        fence(SeqCst);
    }

    pub(crate) fn is_unsure(&self) -> bool {
        self.unsure.load(Relaxed)
    }

    /// Whoever waits looks again at what the socket's deadlines and its reactor are.
    pub(super) fn changed(&self) {
        self.input.change();
        self.output.change();
    }

    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        let long = || self.rare.peek()?.long_peer.lock().map(SocketAddr::V6);
        self.peer.get().map(SocketAddr::V4).or_else(long)
    }

    /// For a dump: the address of the peer, or else its own.
    pub(super) fn describe(&self) -> Option<String> {
        let at = self.at.lock();
        at.filter(|reactor| reactor.is_here())?;
        // SAFETY: it is registered, and a descriptor is closed after it was taken out, which needs
        // this lock.
        let socket = unsafe { BorrowedFd::borrow_raw(self.descriptor.load(Relaxed)) };
        self.peer().map(|peer| peer.to_string()).or_else(|| name(socket))
    }

    /// What few have, if this one has.
    pub(crate) fn rare(&self) -> Option<&Rare> {
        self.rare.peek()
    }

    /// The same, made if it is not there.
    pub(crate) fn make_rare(&self) -> &Rare {
        self.rare.get(Rare::default)
    }

    /// The last handle has gone. True: it is as new, for the next socket.
    pub(super) fn renew(&self) -> bool {
        // (In a child those of the parent may wait here, for ever.)
        if self.made.load(Relaxed) != fork::era() || !self.input.renew(true) || !self.output.renew(true) {
            return false;
        }
        self.was_full.store(false, Relaxed);
        self.unsure.store(false, Relaxed);
        self.closed.store(false, Relaxed);
        self.peer.set(None);
        if let Some(rare) = self.rare.peek() {
            rare.renew();
        }
        true
    }
}
