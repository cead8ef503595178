//! One wait at a [`Condition`]: what it does under the condition's lock, and what blocks with it.

use super::{ALONE, Condition, ConditionSlot};
use crate::entry::{Entry, LINKED};
use crate::lock::mutex::MutexGuard;
use crate::lock::op::{self, Op};
use crate::lock::raw::RawMutex;
use crate::lock::reentrant::{ReentrantLock, ReentrantLockGuard};
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use myriad_core::time::Instant;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::{LockResult, PoisonError};

pub(super) struct Notified<'a, T> {
    pub(super) condition: &'a Condition<T>,
    first: bool,
    /// Locked by the caller, until `unlocked`.
    raw: Option<&'a RawMutex>,
    pub(super) unlocked: bool,
    /// The value that came, and was it for this wait alone? Dropped before it was taken, it goes to
    /// the next then.
    got: Option<(T, bool)>,
}

impl<T> Notified<'_, T> {
    fn take(&mut self) -> Option<T> {
        self.got.take().map(|(value, _)| value)
    }

    /// # Safety
    /// The wait was ended by a notification, which has filled `slot`; the value in it is taken
    /// once.
    unsafe fn receive(&mut self, slot: *mut ConditionSlot<T>) {
        // SAFETY: a notification has filled `slot`, and its value is taken once (this function's
        // contract).
        unsafe { self.got = Some(((*slot).value.as_ptr().read(), (*slot).generation == ALONE)) };
    }
}

impl<T> Drop for Notified<'_, T> {
    fn drop(&mut self) {
        if let Some((value, true)) = self.got.take()
            && !on("value-lost")
        {
            // Nobody else waits: dropped.
            _ = self.condition.notify_one(value);
        }
    }
}

// SAFETY: entries are linked and taken out under the lock.
unsafe impl<T> Op for Notified<'_, T> {
    type Slot = ConditionSlot<T>;
    const REASON: WaitReason = WaitReason::Condition;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.condition).cast()
    }

    unsafe fn start(
        &mut self,
        caller: Caller,
        entry: *mut Entry<ConditionSlot<T>>,
        waiter: &mut Option<Waiter>,
    ) -> bool {
        let Some(waiter) = Waiter::take(waiter) else { return false };
        let blocks = !waiter.is_future();
        self.condition.inner.locked(caller, |state| {
            let slot = ConditionSlot { generation: state.generation, value: MaybeUninit::uninit() };
            // SAFETY: `entry` is idle, and stays where it is until it is ended or given up (this
            // method's contract); the lock is held.
            unsafe {
                (*entry).slot().write(slot);
                if self.first {
                    state.list.push_first(entry, waiter);
                } else {
                    state.list.push(entry, waiter);
                }
            }
        });
        if let Some(raw) = self.raw {
            self.unlocked = true;
            // SAFETY: it is locked by the caller, who gave the right to unlock it away.
            unsafe { if blocks { raw.unlock_waiting(caller) } else { raw.unlock() } };
        }
        false
    }

    unsafe fn ended(&mut self, slot: *mut ConditionSlot<T>) {
        // SAFETY: the wait was ended with `DONE` (this method's contract), which only a
        // notification does, once it has filled `slot`; its value is taken here alone.
        unsafe { self.receive(slot) };
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<ConditionSlot<T>>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in this condition's list,
        // whose lock is held.
        self.condition.inner.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<ConditionSlot<T>>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract): if it is linked still, it
        // is in this list, and stays so under the lock.
        let (outcome, waiter) = self.condition.inner.locked(caller, |state| unsafe {
            let outcome = (*entry).state();
            let waiter = (outcome == LINKED).then(|| state.list.remove(entry));
            (*entry).reset();
            (outcome, waiter)
        });
        drop(InHand::new(waiter));
        outcome
    }

    /// It has the value: if it does not take it, it goes to the next.
    unsafe fn undo(&mut self, _: u8, slot: *mut ConditionSlot<T>) -> bool {
        // SAFETY: `withdraw` said `DONE` (this method's contract), which comes of a notification,
        // once it has filled `slot`; its value is taken here alone.
        unsafe { self.receive(slot) };
        true
    }
}

impl<T> Condition<T> {
    pub(super) fn waits<'a>(&'a self, first: bool, raw: Option<&'a RawMutex>) -> Notified<'a, T> {
        Notified { condition: self, first, raw, unlocked: false, got: None }
    }

    pub(super) fn wait_plain(&self, first: bool, deadline: Option<Instant>) -> Option<T> {
        let mut notified = self.waits(first, None);
        op::wait(&mut notified, deadline);
        notified.take()
    }

    pub(super) fn wait_mutex<'a, U: ?Sized>(
        &self,
        first: bool,
        guard: MutexGuard<'a, U>,
        deadline: Option<Instant>,
    ) -> LockResult<(MutexGuard<'a, U>, Option<T>)> {
        /// Gives the lock back if the wait did not come to it.
        struct Held<'a, 'b, U: ?Sized, T>(ManuallyDrop<MutexGuard<'a, U>>, Notified<'b, T>);
        impl<U: ?Sized, T> Drop for Held<'_, '_, U, T> {
            fn drop(&mut self) {
                if !self.1.unlocked {
                    // SAFETY: the guard is dropped once, here; the wait has not unlocked.
                    unsafe { ManuallyDrop::drop(&mut self.0) };
                }
            }
        }
        let mutex = guard.mutex;
        let notified = self.waits(first, Some(mutex.raw()));
        let mut held = Held(ManuallyDrop::new(guard), notified);
        op::wait(&mut held.1, deadline);
        // If this unwinds, what was received goes to the next.
        match mutex.lock() {
            Ok(guard) => Ok((guard, held.1.take())),
            Err(error) => Err(PoisonError::new((error.into_inner(), held.1.take()))),
        }
    }

    #[track_caller]
    pub(super) fn wait_reentrant<'a, U: ?Sized>(
        &self,
        first: bool,
        guard: ReentrantLockGuard<'a, U>,
        deadline: Option<Instant>,
    ) -> (ReentrantLockGuard<'a, U>, Option<T>) {
        /// Gives the lock back if the wait did not come to it.
        struct HeldReentrant<'a, 'b, U: ?Sized, T>(&'a ReentrantLock<U>, Notified<'b, T>);
        impl<U: ?Sized, T> Drop for HeldReentrant<'_, '_, U, T> {
            fn drop(&mut self) {
                if !self.1.unlocked {
                    // SAFETY: the raw lock is held in the name of the guard, which was forgotten.
                    unsafe { self.0.raw().unlock() };
                }
            }
        }
        let lock = guard.lock;
        // A second guard may stand where others find it, in a thread-local for one: they would have
        // the value without the lock.
        assert!(
            lock.is_held_once_by_me(),
            "a wait with a ReentrantLock that another task holds, or that the caller has taken more than once: it gives the lock \
             back, and no other guard may be there meanwhile. Drop the other guards first"
        );
        std::mem::forget(guard);
        lock.disown();
        let mut held = HeldReentrant(lock, self.waits(first, Some(lock.raw())));
        op::wait(&mut held.1, deadline);
        // If this unwinds, what was received goes to the next.
        (lock.lock(), held.1.take())
    }
}
