//! Many readers, or one writer.

use super::error::{LockTimeoutError, TimedResult};
use super::mapped::{MappedGuard, whole};
use super::op::{self, Waiting};
use super::poison::{self, Since, told};
use super::raw_rw::{RawRwLock, Read, Write};
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

/// Protects a value that many may read at a time, or one may write.
///
/// As `std::sync::RwLock`, in name and shape, but for tasks: one that waits for it is set aside,
/// and its worker goes on. Guards are `Send`.
///
/// *Writers are preferred*: while one waits, those who come to read wait behind it. When it has
/// written, all readers that wait then are let in before the next writer. So neither side starves.
/// A task that reads, and reads again while a writer waits, waits for itself: do not take it twice.
///
/// *Source.* The order is that of Go's `sync.RWMutex`.
///
/// # Examples
/// ```
/// use myriad::sync::RwLock;
/// static WORDS: RwLock<Vec<&str>> = RwLock::new(Vec::new());
/// WORDS.write().unwrap().push("one");
/// let (a, b) = (WORDS.read().unwrap(), WORDS.read().unwrap());
/// assert_eq!((a.len(), b.len()), (1, 1));
/// ```
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is read by many threads, or written by one.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}
// SAFETY: the value goes with the lock, and is `Send`.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

/// The lock is read until this is dropped. `O` says whose the lock is: borrowed, or in an `Arc`.
///
/// # Examples
/// ```
/// let lock = myriad::sync::RwLock::new(1);
/// let (one, other) = (lock.read().unwrap(), lock.read().unwrap());
/// assert_eq!(*one + *other, 2);
/// ```
#[must_use = "if it is not kept, the lock is given back at once"]
pub struct RwLockReadGuard<'a, T: ?Sized, O: Deref<Target = RwLock<T>> = &'a RwLock<T>> {
    lock: O,
    _borrow: PhantomData<&'a ()>,
}

/// The lock is written until this is dropped. `O` says whose the lock is: borrowed, or in an `Arc`.
///
/// # Examples
/// ```
/// use myriad::sync::{RwLock, RwLockWriteGuard};
/// let lock = RwLock::new(1);
/// let mut guard = lock.write().unwrap();
/// *guard += 1;
/// let reads = RwLockWriteGuard::downgrade(guard);
/// assert_eq!((*reads, lock.try_read().is_ok()), (2, true));
/// ```
#[must_use = "if it is not kept, the lock is given back at once"]
pub struct RwLockWriteGuard<'a, T: ?Sized, O: Deref<Target = RwLock<T>> = &'a RwLock<T>> {
    lock: O,
    since: Since,
    _borrow: PhantomData<&'a ()>,
}

/// A [`RwLockReadGuard`] with a share of its lock: see [`RwLockReadGuard::into_owned`].
pub type OwnedRwLockReadGuard<T> = RwLockReadGuard<'static, T, Arc<RwLock<T>>>;
/// A [`RwLockWriteGuard`] with a share of its lock: see [`RwLockWriteGuard::into_owned`].
pub type OwnedRwLockWriteGuard<T> = RwLockWriteGuard<'static, T, Arc<RwLock<T>>>;

// SAFETY: it gives `&T` only, and leaving is not bound to a thread.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T, &RwLock<T>> {}
// SAFETY: it gives `&T` only, and leaving is not bound to a thread; it may be the last that has the
// lock, and drops the value: `T` is `Send`.
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockReadGuard<'_, T, Arc<RwLock<T>>> {}
// SAFETY: `&RwLockReadGuard` gives `&T`, and no way to the owner.
unsafe impl<T: ?Sized + Sync, O: Deref<Target = RwLock<T>>> Sync for RwLockReadGuard<'_, T, O> {}
// SAFETY: whoever has the guard has the value alone; leaving is not bound to a thread. (`Sync` too:
// downgraded, it is shared.) An owner is a reference or an `Arc`, for which that is enough.
unsafe impl<T: ?Sized + Send + Sync, O: Deref<Target = RwLock<T>>> Send for RwLockWriteGuard<'_, T, O> {}
// SAFETY: `&RwLockWriteGuard` gives `&T`, and no way to the owner.
unsafe impl<T: ?Sized + Sync, O: Deref<Target = RwLock<T>>> Sync for RwLockWriteGuard<'_, T, O> {}

impl<T> RwLock<T> {
    const_fn! {
        /// An open lock with this value.
        pub const fn new(value: T) -> RwLock<T> {
            RwLock { raw: RawRwLock::new(), value: UnsafeCell::new(value) }
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

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock to read.
    ///
    /// # Blocking
    /// While one writes, or waits to. The calling task is set aside meanwhile, a foreign thread
    /// sleeps.
    ///
    /// # Errors
    /// A writer has panicked. The lock is held all the same, by the guard in the error.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack. If 2^29 - 1 read it already.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        Caller::get().spend();
        if !self.raw.try_read() {
            op::wait(&mut Read(&self.raw), None);
        }
        self.reader()
    }

    /// Takes the lock to write.
    ///
    /// # Blocking
    /// While others read or write. The calling task is set aside meanwhile, a foreign thread
    /// sleeps.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        Caller::get().spend();
        if !self.raw.try_write() {
            op::wait(&mut Write(&self.raw), None);
        }
        self.writer()
    }

    /// The caller reads.
    #[inline(always)]
    fn reader(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        told(&self.raw.poisoned, RwLockReadGuard { lock: self, _borrow: PhantomData })
    }

    /// The caller writes.
    #[inline(always)]
    fn writer(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        told(&self.raw.poisoned, RwLockWriteGuard { lock: self, since: Since::now(), _borrow: PhantomData })
    }

    /// Takes the lock to read if nobody writes or waits to. Never blocks.
    ///
    /// # Errors
    /// Somebody does; or a writer has panicked.
    #[inline]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        if self.raw.try_read() { Ok(self.reader()?) } else { Err(TryLockError::WouldBlock) }
    }

    /// Takes the lock to write if it is free. Never blocks.
    ///
    /// # Errors
    /// It is not; or a writer has panicked.
    #[inline]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        if self.raw.try_write() { Ok(self.writer()?) } else { Err(TryLockError::WouldBlock) }
    }

    /// Takes the lock to read, and waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed; or a writer has panicked.
    pub fn read_timeout(&self, timeout: Duration) -> TimedResult<RwLockReadGuard<'_, T>> {
        self.read_deadline(time::now() + timeout)
    }

    /// Takes the lock to read, and waits until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`read_timeout`](Self::read_timeout).
    pub fn read_deadline(&self, deadline: Instant) -> TimedResult<RwLockReadGuard<'_, T>> {
        Caller::get().spend();
        if !op::wait(&mut Read(&self.raw), Some(deadline)) {
            return Err(LockTimeoutError::Timeout);
        }
        Ok(self.reader()?)
    }

    /// Takes the lock to write, and waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed: readers that waited behind go on. Or a writer has panicked.
    pub fn write_timeout(&self, timeout: Duration) -> TimedResult<RwLockWriteGuard<'_, T>> {
        self.write_deadline(time::now() + timeout)
    }

    /// Takes the lock to write, and waits until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`write_timeout`](Self::write_timeout).
    pub fn write_deadline(&self, deadline: Instant) -> TimedResult<RwLockWriteGuard<'_, T>> {
        Caller::get().spend();
        if !op::wait(&mut Write(&self.raw), Some(deadline)) {
            return Err(LockTimeoutError::Timeout);
        }
        Ok(self.writer()?)
    }

    /// A future that takes the lock to read.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing. Once polled it stands in line: poll it on,
    /// or drop it.
    pub fn read_async(&self) -> ReadFuture<'_, T> {
        ReadFuture { lock: self, waiting: Waiting::new(Read(&self.raw)) }
    }

    /// A future that takes the lock to write.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing, and readers that waited behind it go on.
    /// Once polled it stands in line: poll it on, or drop it.
    pub fn write_async(&self) -> WriteFuture<'_, T> {
        WriteFuture { lock: self, waiting: Waiting::new(Write(&self.raw)) }
    }

    /// A future that takes the lock to read, and waits for at most `timeout`, counted from this
    /// call.
    ///
    /// # Errors
    /// As [`read_timeout`](Self::read_timeout).
    ///
    /// # Cancellation
    /// As [`read_async`](Self::read_async). After a timeout it has taken nothing: the lock itself
    /// decides, not the poll.
    pub fn read_timeout_async(&self, timeout: Duration) -> impl Future<Output = TimedResult<RwLockReadGuard<'_, T>>> {
        self.read_deadline_async(time::now() + timeout)
    }

    /// As [`read_timeout_async`](Self::read_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`read_timeout_async`](Self::read_timeout_async).
    ///
    /// # Cancellation
    /// As [`read_timeout_async`](Self::read_timeout_async).
    pub fn read_deadline_async(&self, deadline: Instant) -> impl Future<Output = TimedResult<RwLockReadGuard<'_, T>>> {
        let waiting = Waiting::new(Read(&self.raw));
        async move { if waiting.until(deadline).await { Ok(self.reader()?) } else { Err(LockTimeoutError::Timeout) } }
    }

    /// A future that takes the lock to write, and waits for at most `timeout`, counted from this
    /// call.
    ///
    /// # Errors
    /// As [`write_timeout`](Self::write_timeout).
    ///
    /// # Cancellation
    /// As [`write_async`](Self::write_async). After a timeout it has taken nothing: the lock itself
    /// decides, not the poll.
    pub fn write_timeout_async(&self, timeout: Duration) -> impl Future<Output = TimedResult<RwLockWriteGuard<'_, T>>> {
        self.write_deadline_async(time::now() + timeout)
    }

    /// As [`write_timeout_async`](Self::write_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`write_timeout_async`](Self::write_timeout_async).
    ///
    /// # Cancellation
    /// As [`write_timeout_async`](Self::write_timeout_async).
    pub fn write_deadline_async(
        &self,
        deadline: Instant,
    ) -> impl Future<Output = TimedResult<RwLockWriteGuard<'_, T>>> {
        let waiting = Waiting::new(Write(&self.raw));
        async move { if waiting.until(deadline).await { Ok(self.writer()?) } else { Err(LockTimeoutError::Timeout) } }
    }

    /// Does somebody read or write now?
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
    }

    /// Has a writer panicked?
    pub fn is_poisoned(&self) -> bool {
        self.raw.poisoned.load(Relaxed)
    }

    /// The value is in order again.
    ///
    /// # Examples
    /// ```
    /// let number = myriad::sync::RwLock::new(-1);
    /// let broke = std::panic::catch_unwind(|| {
    ///     let _guard = number.write();
    ///     panic!("half done");
    /// });
    /// assert!(broke.is_err() && number.read().is_err());
    /// *number.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = 0;
    /// number.clear_poison();
    /// assert_eq!(*number.read().unwrap(), 0);
    /// ```
    pub fn clear_poison(&self) {
        self.raw.poisoned.store(false, Relaxed);
    }

    /// The value, of which this is the only reference.
    ///
    /// # Errors
    /// A writer has panicked; the reference is in the error.
    ///
    /// # Examples
    /// ```
    /// let mut number = myriad::sync::RwLock::new(1);
    /// *number.get_mut().unwrap() += 1;
    /// assert_eq!(number.into_inner().unwrap(), 2);
    /// ```
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        told(&self.raw.poisoned, self.value.get_mut())
    }
}

impl<T: ?Sized> RwLockReadGuard<'_, T> {
    /// The same with a share of the lock, for tasks that outlive the borrow. Never blocks.
    ///
    /// # Panics
    /// If it is the guard of another lock; it is given back then.
    ///
    /// # Examples
    /// ```
    /// use myriad::sync::{Arc, RwLock, RwLockReadGuard};
    /// let words = Arc::new(RwLock::new(vec!["one", "two"]));
    /// let first = RwLockReadGuard::map(words.read().unwrap(), |words| &words[0]);
    /// assert_eq!(*first, "one");
    /// assert!(RwLockReadGuard::filter_map(words.read().unwrap(), |words| words.get(7)).is_err());
    /// drop(first);
    /// let owned = RwLockReadGuard::into_owned(words.read().unwrap(), &words);
    /// assert_eq!(myriad::spawn(move || owned.len()).join().unwrap(), 2);
    /// ```
    #[track_caller]
    pub fn into_owned(this: Self, lock: &Arc<RwLock<T>>) -> OwnedRwLockReadGuard<T> {
        same(this.lock, lock);
        _ = ManuallyDrop::new(this);
        RwLockReadGuard { lock: lock.clone(), _borrow: PhantomData }
    }
}

impl<T: ?Sized, O: Deref<Target = RwLock<T>>> RwLockReadGuard<'_, T, O> {
    /// A guard of a part of the value: the lock is read on.
    ///
    /// # Panics
    /// If `part` does; the lock is given back then.
    pub fn map<U: ?Sized>(this: Self, part: impl FnOnce(&T) -> &U) -> MappedGuard<Self, U> {
        whole(MappedGuard::shared(this, |value| Some(part(value))))
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
        part: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedGuard<Self, U>, Self> {
        MappedGuard::shared(this, part)
    }
}

impl<T: ?Sized> RwLockWriteGuard<'_, T> {
    /// The same with a share of the lock, for tasks that outlive the borrow. Never blocks.
    ///
    /// # Panics
    /// If it is the guard of another lock; it is given back then.
    ///
    /// # Examples
    /// ```
    /// use myriad::sync::{Arc, RwLock, RwLockWriteGuard};
    /// let words = Arc::new(RwLock::new(vec!["one", "two"]));
    /// *RwLockWriteGuard::map(words.write().unwrap(), |words| &mut words[0]) = "three";
    /// assert!(RwLockWriteGuard::filter_map(words.write().unwrap(), |words| words.get_mut(7)).is_err());
    /// let mut owned = RwLockWriteGuard::into_owned(words.write().unwrap(), &words);
    /// myriad::spawn(move || owned.push("four")).join().unwrap();
    /// assert_eq!(*words.read().unwrap(), ["three", "two", "four"]);
    /// ```
    #[track_caller]
    pub fn into_owned(this: Self, lock: &Arc<RwLock<T>>) -> OwnedRwLockWriteGuard<T> {
        same(this.lock, lock);
        let this = ManuallyDrop::new(this);
        RwLockWriteGuard { lock: lock.clone(), since: this.since, _borrow: PhantomData }
    }
}

#[track_caller]
fn same<T: ?Sized>(lock: &RwLock<T>, owned: &Arc<RwLock<T>>) {
    assert!(
        std::ptr::addr_eq(lock, Arc::as_ptr(owned)),
        "into_owned was given another RwLock than the one that the guard is of"
    );
}

impl<'a, T: ?Sized, O: Deref<Target = RwLock<T>>> RwLockWriteGuard<'a, T, O> {
    /// Goes on reading: no other writer comes between. Readers that wait are let in, unless a
    /// writer waits before them.
    pub fn downgrade(this: Self) -> RwLockReadGuard<'a, T, O> {
        let this = ManuallyDrop::new(this);
        // SAFETY: the guard writes, and is not dropped.
        unsafe { this.lock.raw.downgrade() };
        // SAFETY: the guard is in a `ManuallyDrop`, so its owner is moved out once.
        RwLockReadGuard { lock: unsafe { std::ptr::read(&raw const this.lock) }, _borrow: PhantomData }
    }

    /// A guard of a part of the value: the lock is written on.
    ///
    /// # Panics
    /// If `part` does; the lock is given back then, and poisoned.
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

impl<T: ?Sized, O: Deref<Target = RwLock<T>>> Deref for RwLockReadGuard<'_, T, O> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard reads.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, O: Deref<Target = RwLock<T>>> Deref for RwLockWriteGuard<'_, T, O> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard writes.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized, O: Deref<Target = RwLock<T>>> DerefMut for RwLockWriteGuard<'_, T, O> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard writes, and is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized, O: Deref<Target = RwLock<T>>> Drop for RwLockReadGuard<'_, T, O> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard reads, and goes.
        unsafe { self.lock.raw.leave_read() };
    }
}

impl<T: ?Sized, O: Deref<Target = RwLock<T>>> Drop for RwLockWriteGuard<'_, T, O> {
    #[inline]
    fn drop(&mut self) {
        self.since.end(&self.lock.raw.poisoned);
        // SAFETY: the guard writes, and goes.
        unsafe { self.lock.raw.leave_write() };
    }
}

/// What [`RwLock::read_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct ReadFuture<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    waiting: Waiting<Read<'a>>,
}

/// What [`RwLock::write_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct WriteFuture<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    waiting: Waiting<Write<'a>>,
}

impl<'a, T: ?Sized> Future for ReadFuture<'a, T> {
    type Output = LockResult<RwLockReadGuard<'a, T>>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let lock = self.lock;
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.map_unchecked_mut(|this| &mut this.waiting) }.poll(cx));
        Poll::Ready(lock.reader())
    }
}

impl<'a, T: ?Sized> Future for WriteFuture<'a, T> {
    type Output = LockResult<RwLockWriteGuard<'a, T>>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let lock = self.lock;
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.map_unchecked_mut(|this| &mut this.waiting) }.poll(cx));
        Poll::Ready(lock.writer())
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        poison::show(f, "RwLock", self.try_read(), &self.raw.poisoned)
    }
}

impls! {
    Default for RwLock<T> [T: Default]: RwLock::new(T::default());
    From for RwLock<T> [T]: new;
    Debug for RwLockReadGuard<'_, T, O> [T: ?Sized, O: Deref<Target = RwLock<T>>]: as T;
    Debug for RwLockWriteGuard<'_, T, O> [T: ?Sized, O: Deref<Target = RwLock<T>>]: as T;
    Debug for ReadFuture<'_, T> [T: ?Sized]: opaque;
    Debug for WriteFuture<'_, T> [T: ?Sized]: opaque;
}
