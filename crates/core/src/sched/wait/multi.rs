//! Waits that stand in several lists at once, and waits of futures that do: for a select.

use super::{Caller, HELD, OPEN, WOKEN, Wait, Waiter, WaiterKind};
use crate::queue::reason::WaitReason;
use crate::sched::user_code::StoredWaker;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::mutant::{on, ord};

/// A wait that stands in several lists: [timed](super::Caller::timed_wait), or of a future.
#[derive(Debug, Clone, Copy)]
pub struct MultiWait(*const Wait);

/// What became of two claims at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairClaim {
    /// Both waits are ended by the caller, who wakes the other's owner.
    Both,
    /// The other's wait is over: skip it.
    OtherOver,
    /// The caller's own wait was ended by somebody else, and the other's is as it was.
    SelfOver,
}

impl MultiWait {
    /// A timed wait as one of several lists.
    pub fn of(wait: &Wait) -> MultiWait {
        debug_assert!(wait.timed);
        MultiWait(wait)
    }

    /// What stands for it in a list.
    #[inline(always)]
    pub fn waiter(self) -> Waiter {
        Waiter(WaiterKind::Blocked(self.0))
    }

    /// Its owner ends the wait itself. False: a waker has ended it. (Then a blocked one has to
    /// block, because it is woken.)
    ///
    /// # Safety
    /// The wait is alive.
    #[inline]
    pub unsafe fn claim(self) -> bool {
        // SAFETY: the wait is alive (this function's contract), and the claim is atomic.
        on("own-claim-forgotten") || unsafe { (*self.0).try_claim(WOKEN) }
    }
}

impl Waiter {
    /// Is it of this very wait?
    #[inline]
    pub fn is_of(&self, group: MultiWait) -> bool {
        matches!(self.0, WaiterKind::Blocked(wait) if std::ptr::eq(wait, group.0))
    }

    /// Ends this wait and the caller's own at once, or neither.
    ///
    /// # Safety
    /// The lock of the list that the waiter is in, or was taken off just now, is held: so the owner
    /// of its wait is still there. `me` is another wait, the caller's own, and alive.
    pub unsafe fn claim_with(&mut self, me: MultiWait) -> PairClaim {
        let other = match self.0 {
            // SAFETY: the waiter's wait is alive, because its owner cannot leave before it has
            // locked the list (this function's contract); `timed` does not change.
            WaiterKind::Blocked(wait) if unsafe { (*wait).timed } => wait,
            // Nobody else can end it.
            // SAFETY: the wait of `me` is alive (this function's contract).
            _ => return if unsafe { me.claim() } { PairClaim::Both } else { PairClaim::SelfOver },
        };
        debug_assert!(!std::ptr::eq(other, me.0));
        let mine_first = me.0 < other || on("hold-mine-first");
        let (first, second) = if mine_first { (me.0, other) } else { (other, me.0) };
        // SAFETY: both waits are alive: the other's owner cannot leave before it has locked the
        // list, and `me` is the caller's own (this function's contract). A polled wait that the
        // caller has claimed gives up its waker.
        unsafe {
            if !(*first).try_claim(HELD) {
                return if mine_first { PairClaim::SelfOver } else { PairClaim::OtherOver };
            }
            let both = (*second).try_claim(WOKEN);
            let settled = if both || on("hold-not-undone") { WOKEN } else { OPEN };
            // Release: who claims it next sees the waker that is in it.
            (*first).claim.store(settled, ord(Release, "unhold-release"));
            match (both, mine_first) {
                (true, _) => {
                    if (*other).polled {
                        *self = Waiter::of_polled(other);
                    }
                    PairClaim::Both
                }
                (false, true) => PairClaim::OtherOver,
                (false, false) => PairClaim::SelfOver,
            }
        }
    }

    /// Are both of one wait, which stands in several lists?
    #[inline]
    pub fn is_with(&self, other: &Waiter) -> bool {
        matches!((&self.0, &other.0), (WaiterKind::Blocked(one), WaiterKind::Blocked(two)) if std::ptr::eq(*one, *two))
    }

    /// Ends this wait and another one at once, or neither, for two that meet by the hands of a
    /// third. `SelfOver`: this one is over. Both waiters are woken by the caller.
    ///
    /// # Safety
    /// The locks of the lists that the two waiters are in, or were taken off just now, are held: so
    /// the owners of both waits are still there. The two are of different waits.
    pub unsafe fn claim_both(&mut self, other: &mut Waiter) -> PairClaim {
        // SAFETY: both waits are alive, because their owners cannot leave before they have locked
        // the lists, and they are two waits (this function's contract). `mine`, claimed with the
        // other, gives up its waker.
        unsafe {
            let mine = match self.0 {
                WaiterKind::Blocked(wait) if (*wait).timed => wait,
                // Nobody else can end it.
                _ => return if other.claim() { PairClaim::Both } else { PairClaim::OtherOver },
            };
            let both = other.claim_with(MultiWait(mine));
            if both == PairClaim::Both && (*mine).polled {
                *self = Waiter::of_polled(mine);
            }
            both
        }
    }

    /// The waker that is in the wait, instead of the wait itself: that may be gone when it is
    /// woken. (Returned, and not written in its place: so a waiter stands in registers where it is
    /// claimed.)
    ///
    /// # Safety
    /// The wait is polled, alive, and claimed by the caller just now.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn of_polled(wait: *const Wait) -> Waiter {
        // SAFETY: the wait is a polled one and alive (this function's contract), so it is the first
        // field of a `PollWait`; the caller has claimed it, and the waker is the claimer's alone.
        let waker = unsafe { (*wait.cast::<PollWait>()).waker.with_mut(|waker| (*waker).take()) };
        // What was there is a pointer: nothing is dropped under the lock.
        Waiter(WaiterKind::Future(waker.expect("an open wait has a waker")))
    }
}

/// A future's wait in several lists. It has its waker in one place, for all of them.
#[derive(Debug)]
#[repr(C)]
pub struct PollWait {
    wait: Wait,
    /// Of the owner while the word is not open; else of whoever claims it.
    waker: UnsafeCell<Option<StoredWaker>>,
}

// A polled wait is known by its address: see `of_polled`.
const _: () = assert!(std::mem::offset_of!(PollWait, wait) == 0);

// SAFETY: what is touched by others than the owner is atomic, or theirs by the claim.
unsafe impl Send for PollWait {}
// SAFETY: of a shared one others touch the claim, which is atomic, and the waker by the claim that
// they have won.
unsafe impl Sync for PollWait {}

impl PollWait {
    /// One that is over.
    #[inline]
    pub fn new() -> PollWait {
        let wait = Wait { polled: true, ..Caller::nobody().timed_wait(WaitReason::Select) };
        wait.claim.store(WOKEN, Relaxed);
        PollWait { wait, waker: UnsafeCell::new(None) }
    }

    /// For the lists. It stands where it is until it is in none of them.
    pub fn group(&self) -> MultiWait {
        // Of the whole, not of its first part: the waker is reached through it.
        MultiWait(std::ptr::from_ref(self).cast())
    }

    /// Begins a wait. An older waker comes back, to be dropped.
    ///
    /// # Safety
    /// The wait is over and in no list, and only its owner calls this.
    pub unsafe fn open(&self, waker: StoredWaker) -> Option<StoredWaker> {
        // SAFETY: the wait is over and in no list (this function's contract), so nobody but the
        // caller can reach the waker.
        let old = self.waker.with_mut(|cell| unsafe { (*cell).replace(waker) });
        // Relaxed: it is put into a list, under that list's lock, before anybody claims it.
        self.wait.claim.store(OPEN, Relaxed);
        old
    }

    /// Ends a wait, however it went. A waker that is not needed any more comes back, to be
    /// discarded.
    ///
    /// # Safety
    /// The wait is in no list any more, and only its owner calls this.
    #[must_use = "a waker that is left here leaks"]
    pub unsafe fn close(&self) -> Option<StoredWaker> {
        // Relaxed: whoever could have claimed it has done so under the lock of a list that it was
        // taken out of since.
        self.wait.claim.store(WOKEN, Relaxed);
        // SAFETY: the wait is in no list any more (this function's contract), so nobody but the
        // caller can reach the waker.
        self.waker.with_mut(|cell| unsafe { (*cell).take() })
    }

    /// Replaces the waker of an open wait. The waker that is not needed any more comes back, to be
    /// dropped; as an error, if the wait was ended.
    ///
    /// # Errors
    /// Somebody has ended the wait.
    pub fn replace(&self, waker: StoredWaker) -> Result<Option<StoredWaker>, StoredWaker> {
        if !self.wait.try_claim(HELD) && !on("replace-unheld") {
            return Err(waker);
        }
        // SAFETY: the claim is the caller's, so nobody else takes the waker.
        let old = self.waker.with_mut(|cell| unsafe { (*cell).replace(waker) });
        // Release: pairs with the claim's Acquire: the waker.
        self.wait.claim.store(OPEN, ord(Release, "replace-release"));
        Ok(old)
    }
}

impl Default for PollWait {
    fn default() -> Self {
        PollWait::new()
    }
}
