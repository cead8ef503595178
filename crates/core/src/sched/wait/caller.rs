//! Who is calling.

use super::{OPEN, Wait, Waiter, WaiterKind, foreign};
use crate::queue::parked::Parked;
use crate::queue::reason::WaitReason;
use crate::record::position;
use crate::sched::worker::{self, Peer, Role, Worker, wake_node, wake_node_next};
use myriad_base::lock::biased::{BiasedGuard, BiasedLock};
use myriad_base::sys::atomic::AtomicU8;
use std::marker::PhantomData;
// Std's: no model has it.
use std::sync::atomic::Ordering::Relaxed;
use std::task::Waker;

/// The budget of a future is used up, and it is to be pending: its next poll has another one.
///
/// (One less, as this operation will be one: so a poll that has used its budget up does not end as
/// one that has used none of it.)
#[cold]
#[inline(never)]
fn refill(w: &Worker, waker: &Waker) {
    w.budget.set(worker::BUDGET - 1);
    waker.wake_by_ref();
}

/// A budget is used up. Asks anew whose it is: nothing is suspended by a worker that is hidden.
#[cold]
#[inline(never)]
fn spent(let_others_go: fn(Role) -> Role) {
    if let Some(w) = worker::current() {
        _ = let_others_go(w);
    }
}

/// Who is calling: a worker, or a foreign thread. Asked once for each operation, because the
/// thread-local costs.
///
/// Of the calling thread, and good until the calling task ends, also over its waits: where the task
/// may go on with another worker (in threads mode), each use asks again. A copy may outlive user
/// code, and be used where the worker is hidden ([`keep_thread`](crate::task::keep_thread), a hook)
/// or at the end of the thread, in a destructor of a thread-local: copies are safe because a
/// `Caller` stays on its thread, workers live for ever, and what is not `unsafe` touches cells of
/// this thread's worker, or suspends, and [`spend`](Self::spend) asks anew before a suspension. Who
/// blocks by a `Wait` vouches for its maker.
#[derive(Debug, Clone, Copy)]
pub struct Caller {
    /// The worker that the caller was at first; in fiber mode that is for good.
    home: Option<&'static Peer>,
    /// Of the thread that asked: so it is not `Send`.
    thread: PhantomData<*mut ()>,
}

impl Caller {
    /// The calling thread.
    #[inline(always)]
    pub fn get() -> Caller {
        Caller { home: worker::current().map(|w| w.as_static()), thread: PhantomData }
    }

    /// Nobody in particular.
    #[inline(always)]
    pub(super) const fn nobody() -> Caller {
        Caller { home: None, thread: PhantomData }
    }

    /// The worker whose role the calling thread has now. (In fiber mode also where it is hidden:
    /// not to suspend by.)
    #[inline(always)]
    pub(super) fn worker(self) -> Option<Role> {
        // SAFETY: of the thread that asked, so the caller had this worker's role.
        self.home.and_then(|home| unsafe { home.role_if_any() })
    }

    /// One operation of the budget, of which at most so much is left. False: it was used up, and
    /// stays so.
    #[inline(always)]
    fn has_spent(self, most: u32) -> bool {
        let Some(w) = self.worker() else { return true };
        let left = w.budget.get().min(most);
        if left == 0 {
            return false;
        }
        w.budget.set(left - 1);
        true
    }

    /// Is it a worker?
    pub fn is_worker(self) -> bool {
        self.home.is_some()
    }

    /// One operation of the running task's budget. When it is used up, lets others run: so two
    /// tasks that never block cannot keep a worker for themselves.
    #[inline(always)]
    pub fn spend(self) {
        if !self.has_spent(u32::MAX) {
            spent(Role::spent);
        }
    }

    /// As [`spend`](Self::spend), for an operation on a socket, which takes as long as many on a
    /// channel.
    #[inline(always)]
    pub fn spend_io(self) {
        if !self.has_spent_io() {
            spent(Role::spent);
        }
    }

    /// As [`poll_spend`](Self::poll_spend), for an operation on a socket.
    #[inline(always)]
    pub fn poll_spend_io(self, waker: &Waker) -> bool {
        self.has_spent_io() || self.poll_spend(waker)
    }

    #[inline(always)]
    fn has_spent_io(self) -> bool {
        let Some(w) = self.worker() else { return true };
        let left = w.budget.get();
        if left < worker::IO_COST {
            w.budget.set(0);
            return false;
        }
        w.budget.set(left - worker::IO_COST);
        true
    }

    /// One operation of the running task's budget, after an operation that only tries, and has
    /// failed: so a closure that tries again and again cannot keep the worker from those who would
    /// make it possible (also in threads mode, where others have to wait longer otherwise). No
    /// cancellation point; nothing happens in a future's poll, nor while a
    /// panic unwinds.
    #[inline(always)]
    pub fn spend_in_vain(self) {
        if !self.has_spent(worker::BUDGET) {
            spent(Role::spent_in_vain);
        }
    }

    /// For a future, at the begin of a poll: one operation of the budget, and the lock. `None`: the
    /// budget is used up, and the caller [is pending](Self::poll_spend). (One look at who is
    /// calling, for both.)
    ///
    /// # Safety
    /// As for [`BiasedLock::lock`], until the guard is dropped, soon: no other biased lock is
    /// taken, no foreign code runs, and nothing suspends or unwinds.
    #[inline(always)]
    pub unsafe fn poll_lock(lock: &BiasedLock) -> Option<BiasedGuard<'_>> {
        let Some(w) = worker::current() else {
            // SAFETY: what the caller does until it drops the guard is restricted as `lock` demands
            // (this function's contract), and `None` is right for every thread.
            return Some(unsafe { lock.lock(None) });
        };
        let left = w.budget.get();
        if left == 0 {
            return None;
        }
        w.budget.set(left - 1);
        // SAFETY: what the caller does until it drops the guard is restricted as `lock` demands
        // (this function's contract), and the right belongs to the worker whose role this thread
        // has.
        Some(unsafe { lock.lock(w.bias_owner.get()) })
    }

    /// As [`spend`](Self::spend) for a future, which yields by being pending. True: go on.
    #[inline(always)]
    pub fn poll_spend(self, waker: &Waker) -> bool {
        let Some(w) = self.worker() else { return true };
        let left = w.budget.get();
        if left == 0 {
            refill(&w, waker);
            return false;
        }
        w.budget.set(left - 1);
        true
    }

    /// For a future that is about to be pending: why, and the address of what it waits for, which
    /// dumps tell. Of several such notes in a poll the last one stays.
    #[inline(always)]
    pub fn note_await(self, reason: WaitReason, object: *const ()) {
        if let Some(home) = self.home {
            home.awaits.store(position::awaits(reason as u8, object), Relaxed);
        }
    }

    /// The same of a time, beside which a note of something else stays: the time is a limit then.
    #[inline(always)]
    pub fn note_sleep(self) {
        if let Some(home) = self.home
            && home.awaits.load(Relaxed) == position::RUNS
        {
            home.awaits.store(position::awaits(WaitReason::Sleep as u8, std::ptr::null()), Relaxed);
        }
    }

    /// An operation that has noted so is given up.
    #[inline]
    pub fn forget_await(self) {
        if let Some(home) = self.home {
            home.awaits.store(position::RUNS, Relaxed);
        }
    }

    /// May it be worth while to spin for something that another thread does? Not on a runtime's
    /// only worker, where who is to do it is likely to be set aside; nor while other tasks of this
    /// worker are ready to go on.
    pub fn may_spin(self) -> bool {
        self.worker().is_none_or(|w| w.pool.workers.all().len() > 1 && w.nothing_ready())
    }

    /// Takes a lock of this library, by its bias if it is biased to this worker.
    ///
    /// # Safety
    /// As for [`BiasedLock::lock`], until the guard is dropped, soon: no other biased lock is
    /// taken, no foreign code runs, and nothing suspends or unwinds.
    #[inline(always)]
    pub unsafe fn lock(self, lock: &BiasedLock) -> BiasedGuard<'_> {
        // SAFETY: what the caller does until it drops the guard is restricted as `lock` demands
        // (this function's contract), and the right belongs to the worker whose role this thread
        // has.
        unsafe { lock.lock(self.worker().and_then(|w| w.bias_owner.get())) }
    }

    /// Could a worker's task begin to wait right now, without [`Wait::prepare`]? (Not of a foreign
    /// thread, which may have something to do before it waits.)
    #[inline(always)]
    pub fn is_prepared(self) -> bool {
        self.worker().is_some_and(|w| w.stacks.has_idle())
    }

    /// What it costs to wake a foreign thread, in ticks: see the module `foreign`.
    pub fn wake_ticks() -> Option<u64> {
        foreign::wake_ticks()
    }

    /// As [`Wait::new`].
    #[inline(always)]
    pub fn wait(self, reason: WaitReason) -> Wait {
        Wait {
            node: self.worker().map_or_else(|| Parked::foreign(reason), |w| w.node(reason)),
            claim: AtomicU8::new(OPEN),
            timed: false,
            polled: false,
        }
    }

    /// As [`Wait::timed`].
    #[inline]
    pub fn timed_wait(self, reason: WaitReason) -> Wait {
        Wait { timed: true, ..self.wait(reason) }
    }

    /// As [`Waiter::wake`], for one to whom the caller has handed something to work on: a blocked
    /// task of this worker goes on next, when the caller waits or ends.
    ///
    /// # Safety
    /// The waiter was claimed, and was not woken yet.
    #[inline(always)]
    pub unsafe fn wake_next(self, waiter: Waiter) {
        match waiter.0 {
            // SAFETY: claimed, so its owner blocks until we wake it.
            WaiterKind::Blocked(wait) => wake_node_next(self.worker().as_deref(), unsafe { Wait::resumable(wait) }),
            WaiterKind::Future(waker) => waker.wake(),
        }
    }

    /// As [`Waiter::wake`].
    ///
    /// # Safety
    /// The waiter was claimed, and was not woken yet.
    #[inline(always)]
    pub unsafe fn wake(self, waiter: Waiter) {
        match waiter.0 {
            // SAFETY: claimed, so its owner blocks until we wake it.
            WaiterKind::Blocked(wait) => wake_node(self.worker().as_deref(), unsafe { Wait::resumable(wait) }),
            WaiterKind::Future(waker) => waker.wake(),
        }
    }
}
