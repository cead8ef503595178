//! The reactor of a pool: an epoll set.
//!
//! ```text
//!  epoll_wait -> found (keys, flags) -> to_fire (entries, flags) -> leave the reactor -> fire each
//! ```
//! A socket is registered once, for both directions, with edges (`EPOLLET`): so an operation costs
//! no `epoll_ctl`. An edge is a hint, which sets the readiness in the [entry](Entry) of the socket,
//! and whoever takes that tries its call: so an event that comes late, and meets another socket
//! there, costs one call in vain, and nothing else.
//!
//! **One set for a pool**, and not for a worker: a worker that computes would keep its connections
//! from all others (with two workers that compute half of the time: p75 of an echo 15 to 18 ms, in
//! place of 0.3).
//!
//! **No user code under a lock.** Who fires has left the reactor: a waker may wait, also for what
//! another event of the same look brings. So those that are not fired yet are anybody's: whoever
//! enters next goes on with them.
//!
//! **Forks.** A child has its parent's epoll *set*: what it changes there, it changes for the
//! parent. So a child never touches it: it makes a reactor of its own, and sockets that
//! were registered by the parent count as not registered.

mod entry;
mod handle;
mod pool;
mod wait;

pub(crate) use entry::Entry;
pub(crate) use handle::Handle;

use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::fork;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::reactor::{self, Reactor};
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
// Std's: no model has them.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::*};
use std::time::Duration;
use wait::Events;

/// A worker that is busy looks again after so long, in microseconds.
const SELDOM_US: u64 = 100;
/// The key of the descriptor that interrupts.
const INTERRUPT: u64 = u64::MAX;

/// An event: the address of its [`Entry`], or [`INTERRUPT`].
type Found = (u64, EventFlags);

/// See the module's header.
pub(crate) struct Epoll {
    set: OwnedFd,
    interrupts: OwnedFd,
    /// Whose set it is: see "Forks".
    era: u32,
    /// Somebody is in it.
    entered: AtomicBool,
    /// When somebody looked last, in ticks.
    looked: AtomicU64,
    /// What the last look has found and nobody has fired. For the one that is in it.
    found: Mutex<Events>,
    /// What was found and is not fired yet, in its order.
    to_fire: Mutex<VecDeque<(&'static Entry, EventFlags)>>,
}

impl Epoll {
    /// That of the calling task's pool; of a future on another thread, the global runtime's.
    pub(crate) fn here() -> io::Result<&'static Epoll> {
        let reactor: &dyn Any = reactor::here(|| Epoll::new().map(|epoll| Box::new(epoll) as Box<dyn Reactor>))?;
        Ok(reactor.downcast_ref::<Epoll>().expect("this crate makes all reactors"))
    }

    fn new() -> io::Result<Epoll> {
        let set = epoll::create(CreateFlags::CLOEXEC)?;
        let interrupts = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        // An edge: so nobody has to read it.
        epoll::add(&set, &interrupts, EventData::new_u64(INTERRUPT), EventFlags::IN | EventFlags::ET)?;
        Ok(Epoll {
            set,
            interrupts,
            era: fork::era(),
            entered: AtomicBool::new(false),
            looked: AtomicU64::new(0),
            found: Mutex::new(Events::new()),
            to_fire: Mutex::new(VecDeque::with_capacity(wait::MOST)),
        })
    }

    /// Registers a socket.
    fn add(&self, fd: BorrowedFd<'_>, entry: &'static Entry) -> io::Result<()> {
        let all = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::PRI | EventFlags::ET;
        let key = std::ptr::from_ref(entry).expose_provenance();
        Ok(epoll::add(&self.set, fd, EventData::new_u64(key as u64), all)?)
    }

    /// Takes a socket out, before its descriptor is closed: else events would come for as long as
    /// the file is open anywhere, as in a child.
    fn remove(&self, fd: BorrowedFd<'_>) {
        // (It cannot fail: the descriptor is open, and was added.)
        _ = epoll::delete(&self.set, fd);
    }

    /// For the one that is in it: looks for so long, unless there is something that nobody has
    /// fired.
    fn look(&self, timeout: Option<Duration>) {
        // (Nobody else uses them meanwhile; and no lock is held while this waits.)
        let mut found = std::mem::replace(&mut *self.found.lock(), Events::none());
        if found.is_empty() && self.to_fire.lock().is_empty() {
            // What goes wrong (a signal, for example) is as no event: the caller looks again.
            _ = found.wait(&self.set, timeout);
        }
        *self.found.lock() = found;
        self.looked.store(ticks(), Relaxed);
    }

    /// What was found is to be fired. For the one that is in it.
    fn take_found(&self) {
        let mut found = self.found.lock();
        if found.is_empty() {
            return;
        }
        let of = |(key, flags): Found| {
            let entry = std::ptr::with_exposed_provenance::<Entry>(key as usize);
            // SAFETY: the system says what it was told: this is the address of an entry, see
            // `add`, and entries stay.
            (unsafe { &*entry }, flags)
        };
        self.to_fire.lock().extend(found.take().filter(|&(key, _)| key != INTERRUPT).map(of));
    }

    /// Fires all that is to be fired. True: there was something.
    fn fire(&self) -> bool {
        let mut any = false;
        loop {
            // (In a statement of its own: the lock is given back before anything is woken.)
            let next = self.to_fire.lock().pop_front();
            let Some((entry, events)) = next else { return any };
            any = true;
            entry.fire(events);
        }
    }

    /// Fires what is to be fired up to the first that is for a future. True: there was something.
    /// For the one that is in it: else another one could enter while an event is in hand, and
    /// wait, and the event would be left.
    fn fire_for_blocked(&self) -> bool {
        let mut any = false;
        loop {
            let next = self.to_fire.lock().pop_front();
            let Some((entry, events)) = next else { return any };
            if !entry.fire_for_blocked(events) {
                self.to_fire.lock().push_front((entry, events));
                // The next one looks at once.
                self.looked.store(0, Relaxed);
                return any;
            }
            any = true;
        }
    }
}

impl Reactor for Epoll {
    fn poll(&self, seldom: bool) -> bool {
        let soon = seldom && ticks().wrapping_sub(self.looked.load(Relaxed)) < SELDOM_US * ticks_per_us();
        if soon || !self.enter() {
            return false;
        }
        self.look(Some(Duration::ZERO));
        self.leave()
    }

    fn poll_for_blocked(&self) -> bool {
        if !self.enter() {
            return false;
        }
        self.look(Some(Duration::ZERO));
        self.take_found();
        // (Before it leaves: no user code runs, and whoever enters next is to see what is left.)
        let any = self.fire_for_blocked();
        self.entered.store(false, Release);
        any
    }

    fn has_events(&self) -> bool {
        if !self.enter() {
            return false;
        }
        self.look(Some(Duration::ZERO));
        let any = self.found.lock().iter().any(|(key, _)| key != INTERRUPT) || !self.to_fire.lock().is_empty();
        // The next one looks at once.
        self.looked.store(0, Relaxed);
        self.entered.store(false, Release);
        any
    }

    fn enter(&self) -> bool {
        self.is_here() && !self.entered.load(Relaxed) && !self.entered.swap(true, Acquire)
    }

    fn wait(&self, timeout: Option<Duration>) {
        self.look(timeout);
    }

    fn leave(&self) -> bool {
        self.take_found();
        self.entered.store(false, Release);
        self.fire()
    }

    fn interrupt(&self) {
        // (It fails when the count is full: then it was interrupted.)
        _ = rustix::io::write(&self.interrupts, &1_u64.to_ne_bytes());
    }

    fn end(&self) {
        pool::forget_all(self);
    }

    fn describe(&self, object: usize) -> Option<String> {
        pool::find(object)?.describe()
    }

    fn is_here(&self) -> bool {
        self.era == fork::era()
    }
}

impl fmt::Debug for Epoll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Epoll").field("set", &self.set).finish_non_exhaustive()
    }
}
