//! What a runtime that ends waits for, whatever its patience: short work of its tasks for which
//! others would wait for ever, if the tasks were left in it.
//!
//! The count and whether it is closed are one word, so nothing begins that is not waited for.

use myriad_base::sys::atomic::{AtomicUsize, Ordering::*};

/// The shutdown waits: nothing more begins.
const CLOSED: usize = 1;
const ONE: usize = 2;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct ShutdownDelays(AtomicUsize);

impl ShutdownDelays {
    pub(crate) fn new() -> ShutdownDelays {
        ShutdownDelays(AtomicUsize::new(0))
    }

    /// `None`: the runtime is about to stop.
    pub(crate) fn begin(&'static self) -> Option<ShutdownDelay> {
        // Relaxed: nothing is read because of it.
        let is_closed = self.0.fetch_add(ONE, Relaxed) & CLOSED != 0;
        // (What comes too late ends at once.)
        let delay = ShutdownDelay(Some(self));
        (!is_closed).then_some(delay)
    }

    fn end(&self) {
        // Release: what was done meanwhile, for the shutdown, which goes on.
        self.0.fetch_sub(ONE, Release);
    }

    /// Of a runtime that begins.
    pub(crate) fn open(&self) {
        self.0.fetch_and(!CLOSED, Relaxed);
    }

    /// Nothing more begins.
    pub(crate) fn close(&self) {
        self.0.fetch_or(CLOSED, Relaxed);
    }

    /// Has all ended that had begun? Asked when it is closed.
    pub(crate) fn are_over(&self) -> bool {
        // Acquire: pairs with `end`.
        self.0.load(Acquire) == CLOSED
    }
}

/// The runtime of the task that has made it does not stop as long as this is held: for one piece of
/// work that ends by itself, such as the write of a file, and not while the task waits for what
/// others of the program do.
#[derive(Debug)]
#[must_use = "the runtime waits as long as it is held"]
pub struct ShutdownDelay(Option<&'static ShutdownDelays>);

impl ShutdownDelay {
    /// Of a thread that is no worker: no runtime leaves it.
    pub(crate) const NONE: ShutdownDelay = ShutdownDelay(None);
}

impl Drop for ShutdownDelay {
    fn drop(&mut self) {
        if let Some(delays) = self.0 {
            delays.end();
        }
    }
}
