//! Mutual exclusion for a task that may lock again.

use super::error::TimeoutError;
use super::op::{self, Waiting};
use super::raw::{Lock, RawMutex};
use crate::impls::impls;
use myriad_base::sys::atomic::{AtomicU64, Ordering::Relaxed};
use myriad_base::sys::const_fn;
use myriad_core::engine::owner;
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use std::cell::Cell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::ops::Deref;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A lock that its owner may take again.
///
/// The owner is the *task*, or the foreign thread, not the worker it runs on: another task on the
/// same worker waits. It is free when it was given back as often as it was taken. As it may be held
/// twice, it gives a shared reference only: put a `Cell` or a `RefCell` in it.
///
/// Its guard is not `Send`: it is given back by who took it. Of the sides of `join(a, b)` the first
/// counts as the caller, the second as a task of its own, wherever it runs: it should not want what
/// the caller holds. There is no poisoning: who panics gives the lock back.
///
/// *Source.* Julia's `ReentrantLock`.
///
/// # Examples
/// ```
/// use myriad::sync::ReentrantLock;
/// use std::cell::Cell;
/// static DEPTH: ReentrantLock<Cell<u32>> = ReentrantLock::new(Cell::new(0));
/// fn descend(n: u32) {
///     let depth = DEPTH.lock();
///     depth.set(depth.get() + 1);
///     if n > 0 {
///         descend(n - 1);
///     }
/// }
/// descend(9);
/// assert_eq!(DEPTH.lock().get(), 10);
/// ```
#[doc(alias = "ReentrantMutex")]
#[doc(alias = "recursive_mutex")]
pub struct ReentrantLock<T: ?Sized> {
    raw: RawMutex,
    /// The owner's identity, or 0. Only the owner reads its own there.
    owner: AtomicU64,
    /// How often the owner has it; the owner's.
    depth: Cell<u32>,
    value: T,
}

// SAFETY: value and depth are reached by the owner alone: by one thread at a time, which sees what
// the one before did.
unsafe impl<T: ?Sized + Send> Sync for ReentrantLock<T> {}
// SAFETY: nobody has the lock of what is moved, and value and depth go with it: `T` is `Send`.
unsafe impl<T: ?Sized + Send> Send for ReentrantLock<T> {}
// As it has no poisoning, `T` has to be safe itself.
impl<T: ?Sized + std::panic::RefUnwindSafe> std::panic::RefUnwindSafe for ReentrantLock<T> {}

/// The lock is held until this is dropped.
///
/// # Examples
/// ```
/// let lock = myriad::sync::ReentrantLock::new(1);
/// let outer = lock.lock();
/// let inner = lock.lock();
/// assert_eq!(*outer + *inner, 2);
/// ```
#[must_use = "if it is not kept, the lock is given back at once"]
pub struct ReentrantLockGuard<'a, T: ?Sized> {
    pub(super) lock: &'a ReentrantLock<T>,
    _not_send: PhantomData<*const ()>,
}

// SAFETY: `&ReentrantLockGuard` gives `&T` only.
unsafe impl<T: ?Sized + Sync> Sync for ReentrantLockGuard<'_, T> {}

impl<T> ReentrantLock<T> {
    const_fn! {
        /// An open lock with this value.
        pub const fn new(value: T) -> ReentrantLock<T> {
            ReentrantLock { raw: RawMutex::new(), owner: AtomicU64::new(0), depth: Cell::new(0), value }
        }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value
    }
}

impl<T: ?Sized> ReentrantLock<T> {
    /// Takes the lock, perhaps once more.
    ///
    /// # Blocking
    /// While another one has it. The calling task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Panics
    /// If the owner has taken it 4,294,967,295 times. If it must wait and there is no memory for a
    /// stack.
    #[inline]
    pub fn lock(&self) -> ReentrantLockGuard<'_, T> {
        let me = owner().get();
        if !self.again(me) {
            Caller::get().spend();
            if !self.raw.try_lock() {
                op::wait(&mut Lock::new(&self.raw), None);
            }
            self.own(me);
        }
        self.guard()
    }

    /// Takes the lock if it is free, or the caller's.
    pub fn try_lock(&self) -> Option<ReentrantLockGuard<'_, T>> {
        let me = owner().get();
        if !self.again(me) {
            if !self.raw.try_lock() {
                return None;
            }
            self.own(me);
        }
        Some(self.guard())
    }

    /// Takes the lock, and waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    pub fn lock_timeout(&self, timeout: Duration) -> Result<ReentrantLockGuard<'_, T>, TimeoutError> {
        self.lock_deadline(time::now() + timeout)
    }

    /// Takes the lock, and waits until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed.
    pub fn lock_deadline(&self, deadline: Instant) -> Result<ReentrantLockGuard<'_, T>, TimeoutError> {
        let me = owner().get();
        if !self.again(me) {
            if !self.raw.try_lock() && !op::wait(&mut Lock::new(&self.raw), Some(deadline)) {
                return Err(TimeoutError);
            }
            self.own(me);
        }
        Ok(self.guard())
    }

    /// A future that takes the lock, for the task that polls it.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing.
    pub fn lock_async(&self) -> ReentrantLockFuture<'_, T> {
        ReentrantLockFuture { lock: self, waiting: Waiting::new(Lock::new(&self.raw)) }
    }

    /// A future that takes the lock, for the task that polls it, and waits for at most `timeout`,
    /// counted from this call.
    ///
    /// # Errors
    /// The time has passed.
    ///
    /// # Cancellation
    /// As [`lock_async`](Self::lock_async). After a timeout it has taken nothing: the lock itself
    /// decides, not the poll.
    pub fn lock_timeout_async(
        &self,
        timeout: Duration,
    ) -> impl Future<Output = Result<ReentrantLockGuard<'_, T>, TimeoutError>> {
        self.lock_deadline_async(time::now() + timeout)
    }

    /// As [`lock_timeout_async`](Self::lock_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`lock_timeout_async`](Self::lock_timeout_async).
    ///
    /// # Cancellation
    /// As [`lock_timeout_async`](Self::lock_timeout_async).
    pub fn lock_deadline_async(
        &self,
        deadline: Instant,
    ) -> impl Future<Output = Result<ReentrantLockGuard<'_, T>, TimeoutError>> {
        let waiting = Waiting::new(Lock::new(&self.raw));
        async move {
            if !self.again(owner().get()) {
                if !waiting.until(deadline).await {
                    return Err(TimeoutError);
                }
                self.own(owner().get());
            }
            Ok(self.guard())
        }
    }

    /// Is it the caller's?
    pub fn is_held_by_me(&self) -> bool {
        // Relaxed: one's own identity is written there by oneself only.
        self.owner.load(Relaxed) == owner().get()
    }

    /// Does somebody hold it now?
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// The value, of which this is the only reference.
    ///
    /// # Examples
    /// ```
    /// let mut lock = myriad::sync::ReentrantLock::new(1);
    /// *lock.get_mut() += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.value
    }

    /// Gives the lock back once without a guard, which was forgotten: for interfaces that lock and
    /// unlock in two calls.
    ///
    /// # Safety
    /// A guard of the caller was forgotten ([`std::mem::forget`]), and what it gave is not used any
    /// more, unless by another one.
    ///
    /// # Panics
    /// If the caller is not the owner.
    ///
    /// # Examples
    /// ```
    /// let lock = myriad::sync::ReentrantLock::new(());
    /// std::mem::forget(lock.lock());
    /// assert!(lock.is_held_by_me());
    /// // SAFETY: the guard was forgotten, and nothing of it is in use.
    /// unsafe { lock.force_unlock() };
    /// assert!(!lock.is_locked());
    /// ```
    #[track_caller]
    pub unsafe fn force_unlock(&self) {
        assert!(
            self.is_held_by_me(),
            "a ReentrantLock is unlocked by a task that does not hold it ({}): each task unlocks what it has locked itself",
            if self.is_locked() { "another one does" } else { "nobody does" }
        );
        // SAFETY: the lock is the caller's, as was just asked, by a guard that was forgotten (this
        // function's contract): its hold is given back.
        unsafe { self.release() };
    }

    /// Is it the caller's, by one guard alone?
    pub(super) fn is_held_once_by_me(&self) -> bool {
        self.is_held_by_me() && self.depth.get() == 1
    }

    /// The caller, who gives the raw lock back next, does not own it any more.
    pub(super) fn disown(&self) {
        debug_assert!(self.is_held_once_by_me());
        self.owner.store(0, Relaxed);
        self.depth.set(0);
    }

    pub(super) fn raw(&self) -> &RawMutex {
        &self.raw
    }

    /// Once more, if it is the caller's already.
    #[inline(always)]
    fn again(&self, me: u64) -> bool {
        // Relaxed: as in `is_held_by_me`.
        if self.owner.load(Relaxed) != me {
            return false;
        }
        let depth = self.depth.get().checked_add(1);
        self.depth
            .set(depth.expect("a ReentrantLock is taken 4,294,967,296 times by its owner: are its guards forgotten?"));
        true
    }

    /// The caller has taken it.
    #[inline(always)]
    fn own(&self, me: u64) {
        self.owner.store(me, Relaxed);
        self.depth.set(1);
    }

    fn guard(&self) -> ReentrantLockGuard<'_, T> {
        ReentrantLockGuard { lock: self, _not_send: PhantomData }
    }

    /// # Safety
    /// The caller owns it, and gives one of its holds back.
    #[inline(always)]
    unsafe fn release(&self) {
        let depth = self.depth.get() - 1;
        self.depth.set(depth);
        if depth == 0 {
            self.owner.store(0, Relaxed);
            // SAFETY: the lock is the caller's (this function's contract), and with it the raw one;
            // this was its last hold.
            unsafe { self.raw.unlock() };
        }
    }
}

impl<T: ?Sized> Deref for ReentrantLockGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        &self.lock.value
    }
}

impl<T: ?Sized> Drop for ReentrantLockGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard is on the thread of its owner, and goes.
        unsafe { self.lock.release() };
    }
}

/// What [`ReentrantLock::lock_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct ReentrantLockFuture<'a, T: ?Sized> {
    lock: &'a ReentrantLock<T>,
    waiting: Waiting<Lock<'a>>,
}

impl<'a, T: ?Sized> Future for ReentrantLockFuture<'a, T> {
    type Output = ReentrantLockGuard<'a, T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let lock = self.lock;
        let me = owner().get();
        if self.waiting.is_idle() && lock.again(me) {
            return Poll::Ready(lock.guard());
        }
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.map_unchecked_mut(|this| &mut this.waiting) }.poll(cx));
        lock.own(me);
        Poll::Ready(lock.guard())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for ReentrantLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = f.debug_struct("ReentrantLock");
        match self.try_lock() {
            Some(guard) => s.field("data", &&*guard),
            None => s.field("data", &format_args!("<locked>")),
        };
        s.finish_non_exhaustive()
    }
}

impls! {
    Default for ReentrantLock<T> [T: Default]: ReentrantLock::new(T::default());
    From for ReentrantLock<T> [T]: new;
    Debug for ReentrantLockGuard<'_, T> [T: ?Sized]: as T;
    Debug for ReentrantLockFuture<'_, T> [T: ?Sized]: opaque;
}
