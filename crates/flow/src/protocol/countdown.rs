//! How many ends something waits for.
//!
//! While a thing is made it is counted itself, as more than there can be parents: so ends that come
//! meanwhile do not start it, and whoever makes it need not know before how many it will wait for.

use myriad_base::sys::atomic::{AtomicBool, AtomicU32, Ordering::*};
use myriad_base::sys::mutant::ord;

/// See the module's header.
#[derive(Debug)]
pub struct Countdown {
    pending: AtomicU32,
    /// A parent has failed. Written before `pending` is counted down.
    is_doomed: AtomicBool,
}

/// In `pending` while the thing is made.
const IN_MAKING: u32 = 1 << 31;

impl Countdown {
    /// Of a thing that is being made.
    #[inline]
    #[allow(clippy::new_without_default, reason = "it has to be told when it is made")]
    pub fn new() -> Self {
        Countdown { pending: AtomicU32::new(IN_MAKING), is_doomed: AtomicBool::new(false) }
    }

    /// One that it waits for had failed before.
    pub fn doom(&self) {
        // Relaxed: `pending` is the order.
        self.is_doomed.store(true, Relaxed);
    }

    /// It is made, and waits for so many, of which some may have ended meanwhile. True: all have,
    /// and nobody else is told so.
    #[inline]
    pub fn made(&self, waits_for: u32) -> bool {
        let rest = IN_MAKING - waits_for;
        // AcqRel: what the parents have written; partner: this count by them.
        self.pending.fetch_sub(rest, ord(AcqRel, "countdown-made")) == rest
    }

    /// One that it waits for has ended. True: the last, and nobody else is told so.
    #[inline]
    pub fn one_ended(&self, with_error: bool) -> bool {
        if with_error {
            self.doom();
        }
        // AcqRel: what all parents did comes before what follows; partner: the count by the others.
        self.pending.fetch_sub(1, ord(AcqRel, "countdown-ended")) == 1
    }

    /// Has one that it waits for failed? Asked by whoever was told that all have ended.
    #[inline]
    pub fn is_doomed(&self) -> bool {
        // Relaxed: `pending` is the order.
        self.is_doomed.load(Relaxed)
    }
}
