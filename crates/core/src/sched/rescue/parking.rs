//! When the monitor may sleep without a time limit, and who wakes it.
//!
//! ```text
//!  monitor   asleep = its number; SeqCst; do all workers sleep? yes: it sleeps    no: asleep = AWAKE
//!  worker    its own word = 0;    SeqCst; asleep?               yes: it takes the number, and wakes the monitor
//! ```
//! So one of the two sees the other. *A worker that has not fallen asleep after all* is one that
//! wakes up: the monitor may have looked in between. (Without that, and with a look at nothing but
//! the count of those awake, which the waker raises a moment after the worker may have begun to
//! run, a worker was stuck beside a monitor that slept for good, and no spare came.)
//!
//! Models: `tests/loom/monitor.rs`.

use myriad_base::sys::atomic::{AtomicUsize, Ordering::*, fence};
use myriad_base::sys::mutant::on;

/// It sleeps not.
pub(crate) const AWAKE: usize = 0;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Parking {
    /// The number of the monitor that sleeps, or is about to, until somebody wakes it; or
    /// [`AWAKE`].
    pub asleep: AtomicUsize,
}

impl Parking {
    /// Monitor `number` wants to sleep, and may if this is so. False: it may not. One monitor at a
    /// time.
    pub(crate) fn fall_asleep(&self, number: usize, all_sleep: impl FnOnce() -> bool) -> bool {
        self.asleep.store(number, Relaxed);
        if !on("doze-fence") {
            // SeqCst: pairs with that in `look`.
            fence(SeqCst);
        }
        let sleeps = all_sleep();
        if !sleeps {
            self.asleep.store(AWAKE, Relaxed);
        }
        sleeps
    }

    /// The caller is awake, as others see in its own word: is there a monitor to be woken?
    #[inline]
    pub(crate) fn is_asleep(&self) -> bool {
        if !on("awake-fence") {
            // SeqCst: the caller's word against `asleep`.
            fence(SeqCst);
        }
        self.asleep.load(Relaxed) != AWAKE
    }

    /// True: it slept, and the caller wakes it.
    pub(crate) fn take(&self) -> bool {
        self.asleep.swap(AWAKE, SeqCst) != AWAKE
    }
}
