//! One wait at a [`Condition`]: what it does under the condition's lock, and what blocks with it.

use super::{ALONE, Condition, Slot};
use crate::entry::{DONE, Entry, LINKED};
use crate::lock::crowd::retarget;
use crate::lock::mutex::MutexGuard;
use crate::lock::op::{self, Op};
use crate::lock::raw::{Lock, RawMutex};
use crate::lock::reentrant::ReentrantLockGuard;
use myriad_core::cancel::shield;
use myriad_core::sys::mutant::on;
use myriad_core::sys::thread::abort_with;
use myriad_core::time::Instant;
use myriad_core::unwind;
use myriad_core::wait::{Here, InHand, Target};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::{LockResult, PoisonError};

pub(super) struct Notified<'a, T> {
    pub(super) condition: &'a Condition<T>,
    first: bool,
    /// Locked by the caller, until `unlocked`.
    raw: Option<&'a RawMutex>,
    pub(super) unlocked: bool,
    /// The value that came, and was it for this wait alone? Dropped before it was taken, it goes to the next then.
    got: Option<(T, bool)>,
}

impl<T> Notified<'_, T> {
    fn take(&mut self) -> Option<T> {
        self.got.take().map(|(value, _)| value)
    }

    /// # Safety
    /// The wait is over, by a notification; what is in the slot is taken once.
    unsafe fn receive(&mut self, slot: *mut Slot<T>) {
        // SAFETY: the caller.
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
    type Slot = Slot<T>;

    unsafe fn start(&mut self, here: Here, entry: *mut Entry<Slot<T>>, target: &mut Option<Target>) -> bool {
        let Some(target) = target.take() else { return false };
        let blocks = !target.is_future();
        self.condition.inner.locked(here, |state| {
            let slot = Slot { generation: state.generation, value: MaybeUninit::uninit() };
            // SAFETY: the caller: the entry is ours, and live; under the lock.
            unsafe {
                (*entry).place().write(slot);
                if self.first {
                    state.list.push_first(entry, target);
                } else {
                    state.list.push(entry, target);
                }
            }
        });
        if let Some(raw) = self.raw {
            self.unlocked = true;
            // SAFETY: it is locked by the caller, who gave the right to unlock it away.
            unsafe { if blocks { raw.unlock_waiting(here) } else { raw.unlock() } };
        }
        false
    }

    unsafe fn ended(&mut self, slot: *mut Slot<T>) {
        // SAFETY: the caller.
        unsafe { self.receive(slot) };
    }

    unsafe fn retarget(&self, here: Here, entry: *mut Entry<Slot<T>>, target: &mut Option<Target>) {
        // SAFETY: the caller; under the lock.
        self.condition.inner.locked(here, |_| unsafe { retarget(entry, target) });
    }

    /// True: it was notified, and has the value.
    unsafe fn give_up(&mut self, here: Here, entry: *mut Entry<Slot<T>>) -> bool {
        // SAFETY: the caller; under the lock a linked entry stays linked. What was ended is our own.
        unsafe {
            let target = InHand::new(self.condition.inner.locked(here, |state| {
                ((*entry).state() == LINKED).then(|| {
                    let target = state.list.remove(entry);
                    (*entry).reset();
                    target
                })
            }));
            let notified = target.is_none() && (*entry).state() == DONE;
            if notified {
                self.receive((*entry).place());
            }
            notified
        }
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
                    // SAFETY: dropped once.
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

    pub(super) fn wait_reentrant<U: ?Sized>(
        &self,
        first: bool,
        guard: &ReentrantLockGuard<'_, U>,
        deadline: Option<Instant>,
    ) -> Option<T> {
        let lock = guard.lock;
        // A reference to a guard of another task, or thread, may be here.
        assert!(
            lock.is_held_by_me(),
            "a wait with a ReentrantLock that another task holds: who waits gives back the lock that it holds itself"
        );
        let mut notified = self.waits(first, Some(lock.raw()));
        let depth = lock.disown();
        // The guards of the caller are there still, also if it unwinds: so it has the lock in any case when it goes on.
        let waited = unwind::catch(|| op::wait(&mut notified, deadline));
        if notified.unlocked && unwind::catch(|| shield(|| op::wait(&mut Lock::new(lock.raw()), None))).is_err() {
            abort_with("no memory for a stack while a task waits for a ReentrantLock that its guards hold");
        }
        lock.own_again(depth);
        match waited {
            Ok(_) => notified.take(),
            Err(payload) => unwind::resume(payload),
        }
    }
}
