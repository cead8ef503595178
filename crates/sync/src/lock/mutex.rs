//! Mutual exclusion.

use super::error::{LockTimeoutError, TimedResult};
use super::mapped::{MappedGuard, whole};
use super::op::{self, Waiting};
use super::poison::{self, Since, told};
use super::raw::{Lock, RawMutex};
use crate::impls::impls;
use myriad_base::sys::atomic::Ordering::Relaxed;
use myriad_base::sys::const_fn;
use myriad_core::engine::wait::Caller;
use myriad_core::time::{self, Instant};
use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{Arc, LockResult, TryLockError, TryLockResult};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Protects a value: whoever holds the lock has it alone.
///
/// As `std::sync::Mutex`, in name and shape, but for tasks: one that waits for it is set aside, and
/// its worker goes on. So it may be held over any wait: a `recv`, a `join`, an `await`. Its guard
/// is `Send`, for futures that hold it over an `await` move between workers.
///
/// A newcomer may take a free lock ahead of the waiters; a waiter that was woken four times without
/// getting the lock is handed the lock. So nobody starves. A task that locks a mutex which it holds
/// already waits for itself, for ever: [`ReentrantLock`] is for that.
///
/// Unlocked, locking and unlocking cost a read-modify-write and a store: 7 ns. 16 bytes beside the
/// value.
///
/// *Source.* Barging with a hand-over for those who starve: Go's `sync.Mutex`. The rest: see the
/// module `raw`.
///
/// # Examples
/// ```
/// use myriad::sync::Mutex;
/// static TOTAL: Mutex<u64> = Mutex::new(0);
/// myriad::scope(|s| {
///     for i in 0..100 {
///         s.spawn(move || *TOTAL.lock().unwrap() += i);
///     }
/// });
/// assert_eq!(*TOTAL.lock().unwrap(), 4950);
/// ```
///
/// [`ReentrantLock`]: super::ReentrantLock
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached by the holder of the lock alone, which may be on any thread.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}
// SAFETY: the value goes with the lock, and is `Send`.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// As std's: a value whose holder has panicked is marked.
impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

/// The lock is held until this is dropped; the way to the value. `O` says whose the lock is:
/// borrowed, or in an `Arc`.
///
/// # Examples
/// ```
/// let lock = myriad::sync::Mutex::new(1);
/// {
///     let mut guard = lock.lock().unwrap();
///     *guard += 1;
/// } // given back here
/// assert_eq!(lock.into_inner().unwrap(), 2);
/// ```
#[must_use = "if it is not kept, the lock is given back at once"]
pub struct MutexGuard<'a, T: ?Sized, O: Deref<Target = Mutex<T>> = &'a Mutex<T>> {
    pub(super) mutex: O,
    since: Since,
    _borrow: PhantomData<&'a ()>,
}

/// A [`MutexGuard`] with a share of its lock: see [`MutexGuard::into_owned`].
pub type OwnedMutexGuard<T> = MutexGuard<'static, T, Arc<Mutex<T>>>;

// SAFETY: whoever has the guard has the value alone; unlocking is not bound to a thread. An owner
// is a reference or an `Arc`, for which `T: Send` is enough.
unsafe impl<T: ?Sized + Send, O: Deref<Target = Mutex<T>>> Send for MutexGuard<'_, T, O> {}
// SAFETY: `&MutexGuard` gives `&T`, and no way to the owner.
unsafe impl<T: ?Sized + Sync, O: Deref<Target = Mutex<T>>> Sync for MutexGuard<'_, T, O> {}

impl<T> Mutex<T> {
    const_fn! {
        /// An open lock with this value.
        pub const fn new(value: T) -> Mutex<T> {
            Mutex { raw: RawMutex::new(), value: UnsafeCell::new(value) }
        }
    }

    /// The value.
    ///
    /// # Errors
    /// It is poisoned; the value is in the error.
    pub fn into_inner(self) -> LockResult<T> {
        told(&self.raw.poisoned, self.value.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Takes the lock.
    ///
    /// # Blocking
    /// While others hold it. The calling task is set aside meanwhile, a foreign thread sleeps. Each
    /// 128th operation of a task that has not blocked lets others run first.
    ///
    /// # Errors
    /// A holder has panicked. The lock is held all the same, by the guard in the error.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    #[inline]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        Caller::get().spend();
        if !self.raw.try_lock() {
            self.lock_slow(None);
        }
        self.guard()
    }

    #[cold]
    #[inline(never)]
    fn lock_slow(&self, deadline: Option<Instant>) -> bool {
        op::wait(&mut Lock::new(&self.raw), deadline)
    }

    pub(super) fn raw(&self) -> &RawMutex {
        &self.raw
    }

    /// The caller has the lock.
    #[inline(always)]
    fn guard(&self) -> LockResult<MutexGuard<'_, T>> {
        told(&self.raw.poisoned, MutexGuard { mutex: self, since: Since::now(), _borrow: PhantomData })
    }

    /// Takes the lock if it is free. Never blocks.
    ///
    /// # Errors
    /// Somebody holds it; or a holder has panicked, as for [`lock`](Self::lock).
    #[inline]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.raw.try_lock() { Ok(self.guard()?) } else { Err(TryLockError::WouldBlock) }
    }

    /// Takes the lock, and waits for at most `timeout`.
    ///
    /// # Blocking
    /// As [`lock`](Self::lock), up to the time limit.
    ///
    /// # Errors
    /// The time has passed; or a holder has panicked.
    pub fn lock_timeout(&self, timeout: Duration) -> TimedResult<MutexGuard<'_, T>> {
        self.lock_deadline(time::now() + timeout)
    }

    /// Takes the lock, and waits until `deadline` at the latest.
    ///
    /// # Blocking
    /// As [`lock`](Self::lock), up to the deadline.
    ///
    /// # Errors
    /// As [`lock_timeout`](Self::lock_timeout).
    pub fn lock_deadline(&self, deadline: Instant) -> TimedResult<MutexGuard<'_, T>> {
        Caller::get().spend();
        if !self.raw.try_lock() && !self.lock_slow(Some(deadline)) {
            return Err(LockTimeoutError::Timeout);
        }
        Ok(self.guard()?)
    }

    /// A future that takes the lock.
    ///
    /// # Errors
    /// As [`lock`](Self::lock).
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing; was it woken or handed the lock meanwhile,
    /// the next one is. Once polled it stands in line: poll it on, or drop it. One that is kept and
    /// not polled keeps the others waiting.
    pub fn lock_async(&self) -> LockFuture<'_, T> {
        LockFuture { mutex: self, waiting: Waiting::new(Lock::new(&self.raw)) }
    }

    /// A future that takes the lock, and waits for at most `timeout`, counted from this call.
    ///
    /// # Errors
    /// As [`lock_timeout`](Self::lock_timeout).
    ///
    /// # Cancellation
    /// As [`lock_async`](Self::lock_async). After a timeout it has taken nothing: the lock itself
    /// decides, not the poll.
    pub fn lock_timeout_async(&self, timeout: Duration) -> impl Future<Output = TimedResult<MutexGuard<'_, T>>> {
        self.lock_deadline_async(time::now() + timeout)
    }

    /// As [`lock_timeout_async`](Self::lock_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`lock_timeout_async`](Self::lock_timeout_async).
    ///
    /// # Cancellation
    /// As [`lock_timeout_async`](Self::lock_timeout_async).
    pub fn lock_deadline_async(&self, deadline: Instant) -> impl Future<Output = TimedResult<MutexGuard<'_, T>>> {
        let waiting = Waiting::new(Lock::new(&self.raw));
        async move { if waiting.until(deadline).await { Ok(self.guard()?) } else { Err(LockTimeoutError::Timeout) } }
    }

    /// Does somebody hold it now?
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Has a holder panicked?
    pub fn is_poisoned(&self) -> bool {
        self.raw.poisoned.load(Relaxed)
    }

    /// The value is in order again.
    ///
    /// # Examples
    /// ```
    /// let number = myriad::sync::Mutex::new(-1);
    /// let broke = std::panic::catch_unwind(|| {
    ///     let _guard = number.lock();
    ///     panic!("half done");
    /// });
    /// assert!(broke.is_err() && number.lock().is_err());
    /// *number.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = 0;
    /// number.clear_poison();
    /// assert_eq!(*number.lock().unwrap(), 0);
    /// ```
    pub fn clear_poison(&self) {
        self.raw.poisoned.store(false, Relaxed);
    }

    /// The value, of which this is the only reference: nobody holds the lock.
    ///
    /// # Errors
    /// A holder has panicked; the reference is in the error.
    ///
    /// # Examples
    /// ```
    /// let mut number = myriad::sync::Mutex::new(1);
    /// *number.get_mut().unwrap() += 1;
    /// assert_eq!(number.into_inner().unwrap(), 2);
    /// ```
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        told(&self.raw.poisoned, self.value.get_mut())
    }

    /// Unlocks without a guard, which was forgotten: for interfaces that lock and unlock in two
    /// calls.
    ///
    /// # Safety
    /// The caller has the lock by a guard that was forgotten ([`std::mem::forget`]), and uses what
    /// it gave no more.
    ///
    /// # Panics
    /// If it is not locked.
    ///
    /// # Examples
    /// ```
    /// let number = myriad::sync::Mutex::new(0);
    /// std::mem::forget(number.lock());
    /// assert!(number.try_lock().is_err());
    /// // SAFETY: the guard was forgotten, and nothing of it is in use.
    /// unsafe { number.force_unlock() };
    /// assert!(number.try_lock().is_ok());
    /// ```
    #[track_caller]
    pub unsafe fn force_unlock(&self) {
        assert!(
            self.is_locked(),
            "a Mutex is unlocked that nobody has locked; unlock once for each guard that was forgotten"
        );
        // SAFETY: the lock is the caller's, by a guard that was forgotten (this function's
        // contract).
        unsafe { self.raw.unlock() };
    }
}

impl<T: ?Sized> MutexGuard<'_, T> {
    /// The same with a share of the lock, for tasks that outlive the borrow. Never blocks.
    ///
    /// # Panics
    /// If it is the guard of another mutex; the lock is given back then.
    ///
    /// # Examples
    /// ```
    /// use myriad::sync::{Mutex, MutexGuard};
    /// use std::sync::Arc;
    /// let total = Arc::new(Mutex::new(0));
    /// let mut guard = MutexGuard::into_owned(total.lock().unwrap(), &total);
    /// myriad::spawn(move || *guard += 1).join().unwrap();
    /// assert_eq!(*total.lock().unwrap(), 1);
    /// ```
    #[track_caller]
    pub fn into_owned(this: Self, mutex: &Arc<Mutex<T>>) -> OwnedMutexGuard<T> {
        assert!(
            std::ptr::addr_eq(this.mutex, Arc::as_ptr(mutex)),
            "MutexGuard::into_owned was given another Mutex than the one that the guard is of"
        );
        let this = ManuallyDrop::new(this);
        MutexGuard { mutex: mutex.clone(), since: this.since, _borrow: PhantomData }
    }
}

impl<T: ?Sized, O: Deref<Target = Mutex<T>>> MutexGuard<'_, T, O> {
    /// A guard of a part of the value: the lock is held on.
    ///
    /// # Panics
    /// If `part` does; the lock is given back then, and poisoned.
    ///
    /// # Examples
    /// ```
    /// use myriad::sync::{Mutex, MutexGuard};
    /// let words = Mutex::new(vec!["one", "two"]);
    /// *MutexGuard::map(words.lock().unwrap(), |words| &mut words[0]) = "three";
    /// assert!(MutexGuard::filter_map(words.lock().unwrap(), |words| words.get_mut(7)).is_err());
    /// assert_eq!(words.into_inner().unwrap(), ["three", "two"]);
    /// ```
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&mut T) -> &mut U) -> MappedGuard<Self, U> {
        whole(MappedGuard::unique(this, |value| Some(part(value))))
    }

    /// As [`map`](Self::map), of a part that there may not be.
    ///
    /// # Errors
    /// There is none; the guard comes back.
    ///
    /// # Panics
    /// As [`map`](Self::map).
    pub fn filter_map<U: ?Sized>(
        this: Self,
        part: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedGuard<Self, U>, Self> {
        MappedGuard::unique(this, part)
    }
}

impl<T: ?Sized, O: Deref<Target = Mutex<T>>> Deref for MutexGuard<'_, T, O> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard has the lock.
        unsafe { &*self.mutex.value.get() }
    }
}

impl<T: ?Sized, O: Deref<Target = Mutex<T>>> DerefMut for MutexGuard<'_, T, O> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard has the lock, and is borrowed alone.
        unsafe { &mut *self.mutex.value.get() }
    }
}

impl<T: ?Sized, O: Deref<Target = Mutex<T>>> Drop for MutexGuard<'_, T, O> {
    #[inline]
    fn drop(&mut self) {
        self.since.end(&self.mutex.raw.poisoned);
        // SAFETY: the guard has the lock, and goes.
        unsafe { self.mutex.raw.unlock() };
    }
}

/// What [`Mutex::lock_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct LockFuture<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    waiting: Waiting<Lock<'a>>,
}

impl<'a, T: ?Sized> Future for LockFuture<'a, T> {
    type Output = LockResult<MutexGuard<'a, T>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mutex = self.mutex;
        // SAFETY: `waiting` is pinned with the whole.
        ready!(unsafe { self.map_unchecked_mut(|this| &mut this.waiting) }.poll(cx));
        Poll::Ready(mutex.guard())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        poison::show(f, "Mutex", self.try_lock(), &self.raw.poisoned)
    }
}

impls! {
    Default for Mutex<T> [T: Default]: Mutex::new(T::default());
    From for Mutex<T> [T]: new;
    Debug for MutexGuard<'_, T, O> [T: ?Sized, O: Deref<Target = Mutex<T>>]: as T;
    Display for MutexGuard<'_, T, O> [T: ?Sized, O: Deref<Target = Mutex<T>>]: as T;
    Debug for LockFuture<'_, T> [T: ?Sized]: opaque;
}
