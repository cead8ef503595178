//! The seam to a reactor: what waits in the system for sockets, and wakes tasks for them. The crate
//! `myriad-io` has one; a pool has none until the first of its tasks waits for a socket.
//!
//! ```text
//!  tick        poll, if nobody has looked for a while          a worker that is busy
//!  search      poll                                            a worker that finds nothing
//!  sleep       enter; word to IN_REACTOR; wait; leave          one sleeper; others on their words
//!  unpark      word -> 0; it was IN_REACTOR: interrupt         whoever has something for that worker
//! ```
//! **Who waits in the reactor** has entered it, and nobody else can look. A worker that comes out
//! leaves it ([`InReactor`]), and [hands it over](super::after_sleep) to another sleeper if its own
//! tasks were long of late.
//!
//! **No lost wake.** A worker enters when all know that it sleeps, and says so by an exchange of
//! its own word: an `unpark` before the exchange makes that fail, and one after it finds
//! `IN_REACTOR`, and interrupts. An interrupt outlasts its cause: who waits next comes back at
//! once, in vain.
//!
//! **Lifetime.** Whoever has taken the word may come with its interrupt when the sleeper has long
//! gone on, and the runtime has ended: a reactor lives for ever, as pools do.

use myriad_base::sys::fact::Fact;
use std::any::Any;
use std::fmt;
use std::time::Duration;

/// What wakes tasks for events of the system. One worker at a time is in it.
///
/// Its methods do not panic, and block nowhere but in [`wait`](Reactor::wait). They wake under no
/// lock: a waker is user code, after which the calling thread may have another worker's role.
pub trait Reactor: Any + Send + Sync {
    /// Looks for events without waiting, unless somebody is in it, and wakes those that they are
    /// for. True: there were some. With `seldom`, only if nobody has looked for a while.
    fn poll(&self, seldom: bool) -> bool;

    /// Looks as `poll` does, and wakes only closures and threads that are blocked: no user code
    /// runs. From the first event on that is for a future they are left to whoever polls next.
    fn poll_for_blocked(&self) -> bool;

    /// Are there events that nobody sees to? Wakes nobody: for a thread that runs no code of users.
    fn has_events(&self) -> bool;

    /// The caller is to be the one that is in it. False: somebody is.
    fn enter(&self) -> bool;

    /// Waits for events, for so long at most, and keeps them. For the caller that is in it.
    fn wait(&self, timeout: Option<Duration>);

    /// The caller, who is in it, comes out; then wakes those that the events are for. True: there
    /// were some.
    fn leave(&self) -> bool;

    /// Ends the wait of whoever waits now, or next.
    fn interrupt(&self);

    /// The pool's runtime has ended, and nobody looks any more before there is another: whoever
    /// waits for an event is woken, and looks for another reactor.
    fn end(&self);

    /// For a dump: the address of what waits under this number, the [object] of a task's wait.
    ///
    /// [object]: crate::dump::TaskState::object
    fn describe(&self, object: usize) -> Option<String>;

    /// Was it made in this process, and not by a parent of which this is a fork? One of a parent
    /// finds nothing, and nobody can enter it.
    fn is_here(&self) -> bool;
}

/// A pool's reactor, if it has one.
pub(crate) struct ReactorPlace(Fact<Box<dyn Reactor>>);

impl Default for ReactorPlace {
    fn default() -> ReactorPlace {
        ReactorPlace(Fact::new())
    }
}

impl ReactorPlace {
    /// The reactor.
    #[inline(always)]
    pub(crate) fn get(&self) -> Option<&'static dyn Reactor> {
        self.0.peek().map(|reactor| &**reactor)
    }

    /// Sets the reactor, for good, unless there is one of this process; the one that there is then.
    /// (Of two that come at the same time one goes.)
    pub(crate) fn get_or_set(&self, reactor: Box<dyn Reactor>) -> &'static dyn Reactor {
        &**self.0.get_if(|there| there.is_here(), || reactor)
    }

    /// Enters it, if there is one and nobody is in it.
    pub(crate) fn enter(&self) -> Option<InReactor> {
        self.get().filter(|reactor| reactor.enter()).map(InReactor)
    }
}

impl fmt::Debug for ReactorPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ReactorPlace").field(&self.get().is_some()).finish()
    }
}

/// The calling worker is in the reactor, until this goes.
pub(crate) struct InReactor(&'static dyn Reactor);

impl InReactor {
    /// Waits for events or an interrupt.
    pub(crate) fn wait(&self, timeout: Option<Duration>) {
        self.0.wait(timeout);
    }

    /// Comes out, and wakes those that events are for. True: there were some.
    pub(crate) fn leave(self) -> bool {
        let reactor = self.0;
        std::mem::forget(self);
        reactor.leave()
    }
}

impl Drop for InReactor {
    fn drop(&mut self) {
        self.0.leave();
    }
}

impl fmt::Debug for InReactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("InReactor")
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;
    use std::sync::Arc;

    struct Idle(#[expect(dead_code, reason = "for its count")] Arc<()>);

    impl Reactor for Idle {
        fn poll(&self, _: bool) -> bool {
            false
        }
        fn poll_for_blocked(&self) -> bool {
            false
        }
        fn has_events(&self) -> bool {
            false
        }
        fn enter(&self) -> bool {
            false
        }
        fn wait(&self, _: Option<Duration>) {}
        fn leave(&self) -> bool {
            false
        }
        fn interrupt(&self) {}
        fn end(&self) {}
        fn describe(&self, _: usize) -> Option<String> {
            None
        }
        fn is_here(&self) -> bool {
            true
        }
    }

    /// Two workers may each make the first one of their pool.
    #[test]
    fn one_that_comes_too_late_is_dropped() {
        let [first, second] = [Arc::new(()), Arc::new(())];
        let place = ReactorPlace::default();
        let set = place.get_or_set(Box::new(Idle(first.clone())));
        let again = place.get_or_set(Box::new(Idle(second.clone())));
        assert!(std::ptr::eq(set, again));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (2, 1));
    }
}
