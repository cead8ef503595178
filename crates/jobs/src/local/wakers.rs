//! Who waits for one thing: a waker for each, in a place of its own.

use myriad_core::engine::user_code::StoredWaker;
use std::task::Waker;

/// The wakers of those who wait. Each waiter has one place, however often it is polled, and leaves
/// it when it waits no more. (What is returned is discarded, or woken, without the lock around
/// this.)
#[derive(Debug, Default)]
pub(crate) struct Wakers {
    wakers: Vec<(u64, StoredWaker)>,
    /// The last place that was given.
    last: u64,
}

/// The place of one waiter; 0: none yet.
pub(super) type Place = u64;

impl Wakers {
    /// Does that waiter's waker stand here?
    pub(super) fn has(&self, place: Place, waker: &Waker) -> bool {
        self.wakers.iter().any(|other| other.0 == place && other.1.will_wake(waker))
    }
    /// Puts a waiter's waker there. Returns the one that it had before.
    pub(super) fn put(&mut self, place: &mut Place, waker: StoredWaker) -> Option<StoredWaker> {
        if let Some(own) = self.wakers.iter_mut().find(|other| other.0 == *place) {
            return Some(std::mem::replace(&mut own.1, waker));
        }
        self.last += 1;
        *place = self.last;
        self.wakers.push((self.last, waker));
        None
    }
    /// The waiter waits no more.
    pub(super) fn leave(&mut self, place: Place) -> Option<StoredWaker> {
        let at = self.wakers.iter().position(|other| other.0 == place)?;
        Some(self.wakers.swap_remove(at).1)
    }
    pub(super) fn is_empty(&self) -> bool {
        self.wakers.is_empty()
    }
    /// Takes them all.
    pub(super) fn take(&mut self) -> impl Iterator<Item = StoredWaker> + use<> {
        std::mem::take(&mut self.wakers).into_iter().map(|waker| waker.1)
    }
}
