//! The mutex without its value: 16 bytes.
//!
//! ```text
//!  state        FREE | LOCKED                       taken by an exchange, given back by a plain store
//!  contention   UNCONTENDED  nobody waits, and whoever begins to pays a heavy fence
//!               RECENT       nobody is to be woken: nobody waits, or one who was woken is on its way
//!               WAITERS      some wait: who unlocks wakes the first, which tries its luck
//!               STARVING     the first has had no luck too often: who unlocks hands the lock over to it
//!  list         who waits, first come, first served; under a spin lock, as is what follows
//! ```
//! **Unlocking is a store, not a read-modify-write.** It must not miss one who begins to wait at
//! that moment (Dekker's pattern: `state = FREE`, then a read of `contention`, against `contention
//! = WAITERS`, then a read of `state`). While nobody has waited for some time, the unlocker's fence
//! is a *light* one, and the first to wait pays the *heavy* one (`sys::fence`). From then on,
//! `contention` is not `UNCONTENDED`, and unlocking is an exchange; after so many unlockings in a
//! row that found nobody, it is uncontended again; twice as many each time, for a heavy fence costs
//! as much as thousands of exchanges save.
//!
//! **Fairness.** Whoever comes may take a free lock, before those who wait: with two threads that
//! lock and unlock in turn, handing it over each time would cost a wake for each section. One who
//! was woken and finds the lock taken waits on as the first. The fourth time it is *starving*, and
//! is handed the lock. So a waiter gets it after at most four wakes from the day it is first, and
//! that one before it, each of which a section ends. There is one on its way at a time; unlocking
//! meanwhile wakes nobody.
//!
//! **Invariants**, under the spin lock. `woken`: one whose wait was ended with `RETRY` has not yet
//! taken the lock, waited again, or given up; each of these clears it. `contention` is `WAITERS` or
//! `STARVING` exactly if some wait and not `woken`; `UNCONTENDED` only if nobody waits and not
//! `woken`. `STARVING`: the first of the list has lost so often.
//!
//! **Ordering.** The sections: the Release of who unlocks with the Acquire of who locks; a
//! hand-over goes by the entry. Unlocking against waiting: (uncontended) `state` | light |
//! `contention` against `contention` | heavy | swap of `state`; (else) swap of `state`,
//! `contention` against `contention`, swap of `state`: two read-modify-writes of one word, and the
//! later sees what came before the earlier. An unlocker that began so and finds that it is not
//! uncontended any more does not know whether its store was in time for one who waits without the
//! heavy fence: so both also have a full fence.
//!
//! **Rejected.** An exchange for unlocking too, as std and parking_lot have: 11 ns instead of 7.
//! The biased lock for whole sections: what is inside may suspend, and lock others. One byte and a
//! table of waiters by address: the table's locks are shared by locks that have nothing to do with
//! each other.
//!
//! After the unlocking store another thread may have the lock, and this one still looks at
//! `contention`: so memory of a mutex must not be freed because its value says so, but when no
//! reference to it is left; as the compiler sees to in safe code.

use super::op::{Op, RETRY};
use crate::entry::{DONE, Entry, LINKED, List};
use myriad_base::lock::spin::SpinLock;
use myriad_base::sys::atomic::{AtomicBool, AtomicU8, AtomicU16, Ordering::*, Overwrite, Peek, fence};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use myriad_base::sys::const_fn;
use myriad_base::sys::fence::{heavy_any, light_any};
use myriad_base::sys::mutant::{on, ord};
use myriad_base::sys::thread::relax;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use std::cell::Cell;

const FREE: u8 = 0;
const LOCKED: u8 = 1;

const UNCONTENDED: u8 = 0;
const RECENT: u8 = 1;
const WAITERS: u8 = 2;
const STARVING: u8 = 3;

/// Wakes without luck after which a waiter is starving.
const PATIENCE: u8 = 4;
/// Unlockings in a row that make it uncontended again, as a power of two: at first, and at most.
const MIN_QUIET: u8 = 6;
const MAX_QUIET: u8 = 15;
/// Looks at the lock before a wait; each pause is twice as long as the one before.
const SPINS: u32 = 4;
/// The first pause, in microseconds, of a thread that had to look a short time ago. Else 1/8.
const FIGHT_PAUSE_US: u64 = 2;
/// That short time.
const FIGHT_US: u64 = 32;

thread_local! {
    /// When this thread last looked so, in ticks.
    static LAST_LOOK: Cell<u64> = const { Cell::new(0) };
}

pub(crate) struct RawMutex {
    state: AtomicU8,
    contention: AtomicU8,
    queue: SpinLock,
    /// Written by who holds the mutex, and by who begins to wait: only a measure.
    quiet_left: AtomicU16,
    /// Of the value; see `Poison`.
    pub(super) poisoned: AtomicBool,
    /// Under the spin lock, as is the list.
    notes: UnsafeCell<Notes>,
    list: UnsafeCell<List<()>>,
}

struct Notes {
    /// How many unlockings the next quiet time takes, as a power of two.
    quiet: u8,
    woken: bool,
}

/// What is reached under the spin lock.
struct LockWait<'a> {
    notes: &'a mut Notes,
    list: &'a mut List<()>,
    contention: &'a AtomicU8,
}

// SAFETY: `notes` and `list` are reached under `queue`.
unsafe impl Sync for RawMutex {}
// SAFETY: nothing in it belongs to a thread.
unsafe impl Send for RawMutex {}

const _: () = crate::values::no_drop_glue::<RawMutex>();
const _: () = assert!(cfg!(loom) || size_of::<RawMutex>() == 16 || size_of::<usize>() != 8);

impl RawMutex {
    const_fn! {
        pub(crate) const fn new() -> RawMutex {
            RawMutex {
                state: AtomicU8::new(FREE),
                contention: AtomicU8::new(UNCONTENDED),
                queue: SpinLock::new(),
                quiet_left: AtomicU16::new(0),
                poisoned: AtomicBool::new(false),
                notes: UnsafeCell::new(Notes { quiet: MIN_QUIET, woken: false }),
                list: UnsafeCell::new(List::new()),
            }
        }
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub(crate) fn try_lock(&self) -> bool {
        // Acquire: pairs with the Release of `unlock`.
        self.state.compare_exchange(FREE, LOCKED, ord(Acquire, "mutex-acquire"), Relaxed).is_ok()
    }

    pub(crate) fn is_locked(&self) -> bool {
        self.state.load(Relaxed) == LOCKED
    }

    /// Gives the lock back.
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline(always)]
    pub(crate) unsafe fn unlock(&self) {
        // SAFETY: the lock is the caller's (this function's contract). The waiter was claimed, and
        // is woken once.
        unsafe {
            if let Some(waiter) = self.unlock_only() {
                wake(waiter);
            }
        }
    }

    /// Gives the lock back, and leaves it to the caller to wake this waiter.
    ///
    /// # Safety
    /// The caller has the lock.
    #[inline(always)]
    unsafe fn unlock_only(&self) -> Option<Waiter> {
        if self.contention.load(Relaxed) != UNCONTENDED {
            // SAFETY: the lock is the caller's (this function's contract).
            return unsafe { self.unlock_contended() };
        }
        // Release: pairs with the Acquire of `try_lock`.
        self.state.overwrite(FREE, ord(Release, "mutex-release"));
        if !on("unlock-light") {
            light_any();
        }
        if self.contention.load(Relaxed) != UNCONTENDED && !on("unlock-unread") {
            return self.unlocked_late();
        }
        None
    }

    /// Gives the lock back, by one whose own wait stands in a list already. Until it is blocked no
    /// user code may run on its stack: a waker that waits would leave it in another wait than the
    /// one by which it is found. So a waker that is not ours is called by a task of its own. (A
    /// foreign thread may well sleep twice.)
    ///
    /// # Safety
    /// The caller has the lock.
    pub(crate) unsafe fn unlock_waiting(&self, caller: Caller) {
        /// Is called in any case: a shutdown drops tasks that have not begun.
        struct ApartWaiter(Option<Waiter>);
        impl Drop for ApartWaiter {
            fn drop(&mut self) {
                if let Some(waiter) = self.0.take() {
                    // SAFETY: the waiter was claimed, and is woken once.
                    unsafe { waiter.wake() };
                }
            }
        }
        // SAFETY: the lock is the caller's (this function's contract). The waiter was claimed, and
        // is woken once.
        unsafe {
            match self.unlock_only() {
                Some(waiter) if waiter.is_foreign() && caller.is_worker() => {
                    let apart = ApartWaiter(Some(waiter));
                    drop(myriad_core::spawn(move || drop(apart)));
                }
                Some(waiter) => wake(waiter),
                None => {}
            }
        }
    }

    /// Unlocked with a plain store, when somebody had begun to wait.
    #[cold]
    #[inline(never)]
    fn unlocked_late(&self) -> Option<Waiter> {
        // SeqCst: pairs with the fence in `begin`, for one who did not pay the heavy one.
        fence(SeqCst);
        if self.contention.load(Relaxed) >= WAITERS { self.claim_first() } else { None }
    }

    /// # Safety
    /// The caller has the lock.
    #[inline(never)]
    unsafe fn unlock_contended(&self) -> Option<Waiter> {
        match self.contention.load(Relaxed) {
            STARVING => {
                let first = self.hand_over();
                if first.is_some() {
                    return first;
                }
            }
            RECENT => self.after_quiet_unlock(),
            _ => {}
        }
        // AcqRel: Release for `try_lock`; Acquire: pairs with the swap in `begin`: if that came
        // first, we see its `contention`.
        self.state.swap(FREE, ord(AcqRel, "unlock-swap"));
        if self.contention.load(Relaxed) >= WAITERS { self.claim_first() } else { None }
    }

    /// Unlocks by giving the lock to the first that waits, who is to be woken. `None`: nobody does.
    #[cold]
    fn hand_over(&self) -> Option<Waiter> {
        self.locked(|waiting| {
            // SAFETY: the spin lock is held, so linked entries are live; what is claimed is ours
            // until `end`.
            unsafe {
                let first = waiting.list.claim_first();
                waiting
                    .contention
                    .store(if waiting.list.is_empty() || waiting.notes.woken { RECENT } else { WAITERS }, Relaxed);
                first.map(|(entry, waiter)| {
                    Entry::end(entry, DONE);
                    waiter
                })
            }
        })
    }

    /// By who has the lock: after so many unlockings without waiters the lock is uncontended again.
    fn after_quiet_unlock(&self) {
        let left = self.quiet_left.load(Relaxed);
        if left > 0 {
            return self.quiet_left.store(left - 1, Relaxed);
        }
        self.locked(|waiting| {
            if waiting.contention.load(Relaxed) == RECENT && !waiting.notes.woken {
                debug_assert!(waiting.list.is_empty());
                waiting.contention.store(UNCONTENDED, Relaxed);
            }
        });
    }

    /// The lock was free a moment ago, and some wait: the first is to be woken, to take it.
    #[cold]
    #[inline(never)]
    fn claim_first(&self) -> Option<Waiter> {
        self.locked(|waiting| {
            if waiting.contention.load(Relaxed) < WAITERS {
                return None;
            }
            // SAFETY: the spin lock is held, so linked entries are live; what is claimed is ours
            // until `end`.
            unsafe {
                let first = waiting.list.claim_first();
                waiting.notes.woken = first.is_some();
                waiting.contention.store(RECENT, Relaxed);
                first.map(|(entry, waiter)| {
                    Entry::end(entry, RETRY);
                    waiter
                })
            }
        })
    }

    #[inline(always)]
    fn locked<R>(&self, f: impl FnOnce(LockWait<'_>) -> R) -> R {
        // SAFETY: what runs inside is this module's: short, no user code.
        let _guard = unsafe { self.queue.lock() };
        self.notes.with_mut(|notes| {
            self.list.with_mut(|list| {
                // SAFETY: the spin lock is held, and what it guards is reached under it only.
                let (notes, list) = unsafe { (&mut *notes, &mut *list) };
                f(LockWait { notes, list, contention: &self.contention })
            })
        })
    }

    /// Tries for some two microseconds, where another processor may unlock meanwhile. It looks
    /// seldom, and ever more so: each look takes the word's cache line away from who holds the
    /// lock. While it does not look the other may have hundreds of sections, so two that fight for
    /// a lock take turns by the hundred: 6 ns for each section, against 35 when it looks all the
    /// time. A first pause of 2 µs is for fights only, where the thread had to look a short time
    /// ago: who meets another at a lock by chance is to have the lock soon. (The note is a
    /// thread's, for any of its locks: a mutex has no byte left.)
    #[cold]
    fn spin(&self, caller: Caller) -> bool {
        if cfg!(loom) || !caller.may_spin() {
            return false;
        }
        let us = ticks_per_us();
        let fights = ticks().wrapping_sub(LAST_LOOK.get()) < FIGHT_US * us;
        let mut pause = if fights { FIGHT_PAUSE_US * us } else { us / 8 };
        for _ in 0..SPINS {
            let began = ticks();
            while ticks() - began < pause {
                relax();
            }
            LAST_LOOK.set(began + pause);
            if self.contention.load(Relaxed) == STARVING {
                return false;
            }
            if self.state.peek(Relaxed) == FREE && self.try_lock() {
                return true;
            }
            pause *= 2;
        }
        false
    }
}

/// (ApartWaiter, so that unlocking, which stands in its callers' code, is small.)
///
/// # Safety
/// It was claimed, and is woken once.
#[cold]
#[inline(never)]
unsafe fn wake(waiter: Waiter) {
    // SAFETY: `waiter` was claimed, and was not woken yet (this function's contract).
    unsafe { waiter.wake() };
}

/// To take the lock, with patience.
pub(crate) struct Lock<'a> {
    pub(crate) raw: &'a RawMutex,
    /// It was woken to try its luck.
    competes: bool,
    /// How often it had none.
    losses: u8,
}

impl<'a> Lock<'a> {
    pub(crate) fn new(raw: &'a RawMutex) -> Self {
        Lock { raw, competes: false, losses: 0 }
    }

    /// It has the lock, and is not on its way any more.
    fn won(&mut self) {
        if std::mem::take(&mut self.competes) {
            self.raw.locked(|mut waiting| waiting.arrived());
        }
    }

    /// It was woken and gives up: others that wait hear of it, by who has the lock, or from here.
    fn leave(&mut self) {
        self.competes = false;
        self.raw.locked(|mut waiting| waiting.arrived());
        // SeqCst: as in `begin`, with `unlocked_late`.
        fence(SeqCst);
        // AcqRel: as there.
        if self.raw.state.swap(LOCKED, AcqRel) == FREE {
            // SAFETY: the swap has taken the lock.
            unsafe { self.raw.unlock() };
        }
    }

    /// Under the spin lock: links the entry; unless the lock is free, then it is taken (true), and
    /// the waiter comes back.
    ///
    /// # Safety
    /// `waiting` is that of this lock, whose spin lock is held. `entry` is idle, and stays where it
    /// is until it is ended or given up; `waiter` is its owner's.
    unsafe fn begin(&mut self, waiting: &mut LockWait<'_>, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) -> bool {
        let Some(mine) = Waiter::take(waiter) else { return false };
        // SAFETY: `entry` is idle and stays where it is, and the spin lock is held (this function's
        // contract); under that it stays linked until it is taken out here.
        unsafe {
            let before = waiting.contention.load(Relaxed);
            if self.competes {
                waiting.notes.woken = false;
                self.losses = self.losses.saturating_add(1);
                waiting.list.push_first(entry, mine);
            } else {
                waiting.list.push(entry, mine);
            }
            if !waiting.notes.woken && before != STARVING {
                waiting.contention.store(if self.losses >= PATIENCE { STARVING } else { WAITERS }, Relaxed);
            }
            if before == UNCONTENDED {
                let quiet = 1 << waiting.notes.quiet;
                self.raw.quiet_left.store(quiet, Relaxed);
                waiting.notes.quiet = (waiting.notes.quiet + 1).min(MAX_QUIET);
                if !on("begin-no-heavy") {
                    heavy_any();
                }
            } else {
                // SeqCst: pairs with the one in `unlocked_late`. (No mutant: in a model the
                // unlocker's store is a read-modify-write, which needs no fence.)
                fence(SeqCst);
            }
            // A read-modify-write also if it changes nothing. AcqRel: Acquire as `try_lock`;
            // Release: `contention`, for the swap of an unlocker that comes later.
            if self.raw.state.swap(LOCKED, ord(AcqRel, "begin-swap")) == LOCKED {
                return false;
            }
            *waiter = Some(waiting.list.remove(entry));
            (*entry).reset();
            self.left(waiting);
            true
        }
    }

    /// Under the spin lock: the entry of this operation is in the list no more.
    fn left(&self, waiting: &mut LockWait<'_>) {
        let now = waiting.contention.load(Relaxed);
        if waiting.list.is_empty() || waiting.notes.woken {
            waiting.contention.store(RECENT, Relaxed);
        } else if now == STARVING && self.losses >= PATIENCE {
            waiting.contention.store(WAITERS, Relaxed);
        }
    }
}

// SAFETY: entries are linked and taken out under the spin lock; see `undo` for what becomes of
// those that were ended.
unsafe impl Op for Lock<'_> {
    type Slot = ();
    const REASON: WaitReason = WaitReason::Lock;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.raw).cast()
    }

    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) -> bool {
        if self.raw.try_lock() || waiter.is_some() && self.raw.spin(caller) {
            self.won();
            return true;
        }
        if waiter.is_none() {
            if self.competes {
                self.leave();
            }
            return false;
        }
        let raw = self.raw;
        // SAFETY: `entry` is idle, and stays where it is until it is ended or given up, and
        // `waiter` is its owner's (this method's contract); the spin lock is held.
        let taken = raw.locked(|mut waiting| unsafe { self.begin(&mut waiting, entry, waiter) });
        self.competes = false;
        taken
    }

    fn retry(&mut self) {
        self.competes = true;
    }

    unsafe fn set_waiter(&self, _: Caller, entry: *mut Entry<()>, waiter: &mut Option<Waiter>) {
        self.raw.locked(|_| {
            // SAFETY: `entry` was linked by `start` (this method's contract); if it is linked
            // still, it stays so under the spin lock.
            unsafe {
                if (*entry).state() == LINKED {
                    *waiter = Waiter::take(waiter).map(|new| (*entry).replace_waiter(new));
                }
            }
        });
    }

    unsafe fn withdraw(&mut self, _: Caller, entry: *mut Entry<()>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract): if it is linked still, it
        // is in this list, and stays so under the spin lock.
        let (state, waiter) = self.raw.locked(|mut waiting| unsafe {
            let state = (*entry).state();
            let mut waiter = None;
            if state == LINKED {
                waiter = Some(waiting.list.remove(entry));
                self.left(&mut waiting);
            }
            (*entry).reset();
            (state, waiter)
        });
        drop(InHand::new(waiter));
        state
    }

    unsafe fn undo(&mut self, outcome: u8, _: *mut ()) -> bool {
        if outcome == DONE {
            // SAFETY: the lock was handed over to this wait.
            unsafe { self.raw.unlock() };
        } else if !on("wake-not-passed-on") {
            self.leave();
        }
        false
    }
}

impl LockWait<'_> {
    /// One who was woken is not on its way any more.
    fn arrived(&mut self) {
        self.notes.woken = false;
        if !self.list.is_empty() {
            self.contention.store(WAITERS, Relaxed);
        }
    }
}
