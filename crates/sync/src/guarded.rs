//! A state under a biased lock.

use myriad_base::lock::biased::{BiasedGuard, BiasedLock};
use myriad_base::sys::cell::UnsafeCell;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::Caller;
use std::ops::{Deref, DerefMut};

/// A state that is reached under a lock. What runs under it is short: no user code, no other lock,
/// no panic. The lock stands behind the state, so that what each operation writes can stand beside
/// the lock, at the state's end.
#[repr(C)]
pub(crate) struct Guarded<S, B = ()> {
    state: UnsafeCell<S>,
    lock: BiasedLock,
    /// What is reached without the lock. (Here, and not beside the whole, because it fits into what
    /// would be padding.)
    pub(crate) beside: B,
}

// SAFETY: the state is reached under the lock; what stands beside is `Sync` itself.
unsafe impl<S: Send, B: Sync> Sync for Guarded<S, B> {}
// SAFETY: the state goes with the whole, and is `Send`; nobody holds the lock of what is moved.
unsafe impl<S: Send, B: Send> Send for Guarded<S, B> {}

impl<S> Guarded<S> {
    const_fn! {
        pub(crate) const fn new(state: S) -> Guarded<S> {
            Guarded { lock: BiasedLock::new(), state: UnsafeCell::new(state), beside: () }
        }
    }
}

impl<S, B> Guarded<S, B> {
    pub(crate) fn with(state: S, beside: B) -> Guarded<S, B> {
        Guarded { lock: BiasedLock::new(), state: UnsafeCell::new(state), beside }
    }

    /// Runs `f` under the lock.
    #[inline(always)]
    pub(crate) fn locked<R>(&self, caller: Caller, f: impl FnOnce(&mut S) -> R) -> R {
        // SAFETY: the closures of this crate keep to the lock's rule, which `Guarded` names.
        let _guard = unsafe { caller.lock(&self.lock) };
        // SAFETY: the lock is held, and the state is reached under it only.
        self.state.with_mut(|state| f(unsafe { &mut *state }))
    }

    /// Runs `f` without the lock.
    ///
    /// # Safety
    /// Nobody else reaches the state meanwhile, and `f` is as for [`locked`](Self::locked).
    #[inline(always)]
    pub(crate) unsafe fn unlocked<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        // SAFETY: nobody else has the state (this function's contract).
        self.state.with_mut(|state| f(unsafe { &mut *state }))
    }

    /// Locks it. Until the guard is dropped the lock's rule holds.
    #[inline(always)]
    pub(crate) fn lock(&self, caller: Caller) -> Locked<'_, S> {
        // SAFETY: the modules of this crate keep to the lock's rule, which `Guarded` names.
        let guard = unsafe { caller.lock(&self.lock) };
        Locked { state: self.state.with_mut(|state| state), _guard: guard }
    }

    /// The same for a future at the begin of a poll. `None`: it has done enough in a row, and is to
    /// be pending.
    #[inline(always)]
    pub(crate) fn poll_lock(&self) -> Option<Locked<'_, S>> {
        // SAFETY: the modules of this crate keep to the lock's rule, which `Guarded` names.
        let guard = unsafe { Caller::poll_lock(&self.lock) }?;
        Some(Locked { state: self.state.with_mut(|state| state), _guard: guard })
    }

    /// For who has it alone. (In a model: all that was done with the state came before.)
    pub(crate) fn with_own<R>(&mut self, f: impl FnOnce(&mut S) -> R) -> R {
        // SAFETY: nobody else has the state, for `self` is borrowed uniquely.
        self.state.with_mut(|state| f(unsafe { &mut *state }))
    }
}

/// The state, locked until this is dropped.
pub(crate) struct Locked<'a, S> {
    state: *mut S,
    _guard: BiasedGuard<'a>,
}

impl<S> Deref for Locked<'_, S> {
    type Target = S;
    #[inline(always)]
    fn deref(&self) -> &S {
        // SAFETY: the lock is held, and the state outlives the guard, which borrows the whole.
        unsafe { &*self.state }
    }
}

impl<S> DerefMut for Locked<'_, S> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut S {
        // SAFETY: the state is that of the lock which this guard holds; `self` is the only way to
        // it.
        unsafe { &mut *self.state }
    }
}
