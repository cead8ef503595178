//! Waking many, without the lock under which they were taken out of their list.
//!
//! Waiters are claimed under a primitive's lock, and woken without it, because wakers are user
//! code. A panic of one ends at the door of user code, so those behind it are woken all the same;
//! and each wake asks anew where it is, because afterwards we may have another worker's role.
//!
//! Who is claimed waits for its wake, whatever its time limit. A waker of somebody else's may take
//! as long as it likes; so nobody is claimed behind one before it has returned.

use myriad_core::engine::wait::Waiter;
use std::mem::MaybeUninit;

/// So many [have room](WakeList::has_room): more would be claimed long before they are woken.
const AT_A_TIME: usize = 32;

/// Waiters that were claimed, to be [woken](WakeList::wake) in order.
#[must_use = "whoever is in it waits for its wake"]
pub(crate) struct WakeList {
    /// The first `len` are written.
    first: [MaybeUninit<Waiter>; AT_A_TIME],
    len: usize,
    /// The last one has a waker of somebody else's.
    foreign: bool,
    /// Those behind them, where all have to be claimed under one lock.
    more: Vec<Waiter>,
}

const _: () = crate::values::no_drop_glue::<Waiter>();

impl WakeList {
    pub(crate) const fn new() -> WakeList {
        WakeList { first: [const { MaybeUninit::uninit() }; AT_A_TIME], len: 0, foreign: false, more: Vec::new() }
    }

    /// May one more be claimed: is there room without memory, and no foreign waker before it?
    pub(crate) fn has_room(&self) -> bool {
        self.len < AT_A_TIME && !self.foreign
    }

    /// Adds one that was claimed, and is woken by this list alone.
    pub(crate) fn push(&mut self, waiter: Waiter) {
        self.foreign = waiter.is_foreign();
        match self.first.get_mut(self.len) {
            Some(room) => {
                room.write(waiter);
                self.len += 1;
            }
            None => self.more.push(waiter),
        }
    }

    /// Wakes them, without a lock. (By reference: a list is half a kilobyte.)
    pub(crate) fn wake(&mut self) {
        for i in 0..std::mem::take(&mut self.len) {
            // SAFETY: `push` has written so many, and each is read once, for there are none from
            // now on. It was claimed, and is woken by this list alone (`push`), once.
            unsafe { self.first[i].assume_init_read().wake() };
        }
        for waiter in std::mem::take(&mut self.more) {
            // SAFETY: it was claimed, and is woken by this list alone (`push`): once, for the list
            // is empty from now on.
            unsafe { waiter.wake() };
        }
        self.foreign = false;
    }

    /// Wakes those that `fill` takes out under its lock, as many at a time as there is room for,
    /// until it leaves some.
    pub(crate) fn wake_all(mut fill: impl FnMut(&mut WakeList)) {
        let mut list = WakeList::new();
        loop {
            fill(&mut list);
            let were_all = list.has_room();
            if list.len > 0 {
                list.wake();
            }
            if were_all {
                return;
            }
        }
    }
}
