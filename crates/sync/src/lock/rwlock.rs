//! Many readers, or one writer.

use super::error::LockTimeoutError;
use super::op::{self, Waiting};
use super::poison::{Since, told};
use super::raw_rw::{RawRwLock, Read, Write};
use myriad_core::sys::atomic::Ordering::Relaxed;
use myriad_core::sys::const_fn;
use myriad_core::time::{self, Instant};
use myriad_core::wait::Here;
use std::cell::UnsafeCell;
use std::fmt;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::pin::Pin;
use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Protects a value that many may read at a time, or one may write.
///
/// As `std::sync::RwLock`, in name and shape, but for tasks: one that waits for it is set aside, and its worker goes on. Guards are
/// `Send`.
///
/// *Writers are preferred*: while one waits, those who come to read wait behind it. When it has written, all readers that wait then are
/// let in before the next writer. So neither side starves. A task that reads, and reads again while a writer waits, waits for itself:
/// do not take it twice.
///
/// *Source.* The order is that of Go's `sync.RWMutex`.
///
/// # Examples
/// ```
/// use myriad_sync::lock::RwLock;
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
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
impl<T: ?Sized> std::panic::UnwindSafe for RwLock<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for RwLock<T> {}

/// The lock is read until this is dropped.
#[must_use = "if it is not kept, the lock is given back at once"]
pub struct RwLockReadGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
}

/// The lock is written until this is dropped.
#[must_use = "if it is not kept, the lock is given back at once"]
pub struct RwLockWriteGuard<'a, T: ?Sized> {
    lock: &'a RwLock<T>,
    since: Since,
}

// SAFETY: it gives `&T` only, and leaving is not bound to a thread.
unsafe impl<T: ?Sized + Sync> Send for RwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for RwLockReadGuard<'_, T> {}
// SAFETY: whoever has the guard has the value alone; leaving is not bound to a thread. (`Sync` too: downgraded, it is shared.)
unsafe impl<T: ?Sized + Send + Sync> Send for RwLockWriteGuard<'_, T> {}
// SAFETY: `&RwLockWriteGuard` gives `&T`.
unsafe impl<T: ?Sized + Sync> Sync for RwLockWriteGuard<'_, T> {}

type Timed<G> = Result<G, LockTimeoutError<G>>;

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
        let poisoned = self.is_poisoned();
        let value = self.value.into_inner();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Takes the lock to read.
    ///
    /// # Blocking
    /// While one writes, or waits to. The calling task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Errors
    /// A writer has panicked. The lock is held all the same, by the guard in the error.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack. If 2^29 - 1 read it already.
    #[inline]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        Here::get().spend();
        if !self.raw.try_read() {
            op::wait(&mut Read(&self.raw), None);
        }
        self.reader()
    }

    /// Takes the lock to write.
    ///
    /// # Blocking
    /// While others read or write. The calling task is set aside meanwhile, a foreign thread sleeps.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    #[inline]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        Here::get().spend();
        if !self.raw.try_write() {
            op::wait(&mut Write(&self.raw), None);
        }
        self.writer()
    }

    /// The caller reads.
    #[inline(always)]
    fn reader(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        told(&self.raw.poisoned, RwLockReadGuard { lock: self })
    }

    /// The caller writes.
    #[inline(always)]
    fn writer(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        told(&self.raw.poisoned, RwLockWriteGuard { lock: self, since: Since::now() })
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
    pub fn read_timeout(&self, timeout: Duration) -> Timed<RwLockReadGuard<'_, T>> {
        self.read_deadline(time::now() + timeout)
    }

    /// Takes the lock to read, and waits until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`read_timeout`](Self::read_timeout).
    pub fn read_deadline(&self, deadline: Instant) -> Timed<RwLockReadGuard<'_, T>> {
        Here::get().spend();
        if !op::wait(&mut Read(&self.raw), Some(deadline)) {
            return Err(LockTimeoutError::Timeout);
        }
        Ok(self.reader()?)
    }

    /// Takes the lock to write, and waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed: readers that waited behind go on. Or a writer has panicked.
    pub fn write_timeout(&self, timeout: Duration) -> Timed<RwLockWriteGuard<'_, T>> {
        self.write_deadline(time::now() + timeout)
    }

    /// Takes the lock to write, and waits until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`write_timeout`](Self::write_timeout).
    pub fn write_deadline(&self, deadline: Instant) -> Timed<RwLockWriteGuard<'_, T>> {
        Here::get().spend();
        if !op::wait(&mut Write(&self.raw), Some(deadline)) {
            return Err(LockTimeoutError::Timeout);
        }
        Ok(self.writer()?)
    }

    /// A future that takes the lock to read.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing. Once polled it stands in line: poll it on, or drop it.
    pub fn read_async(&self) -> ReadFuture<'_, T> {
        ReadFuture { lock: self, waiting: Waiting::new(Read(&self.raw)) }
    }

    /// A future that takes the lock to write.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing, and readers that waited behind it go on. Once polled it stands in line: poll
    /// it on, or drop it.
    pub fn write_async(&self) -> WriteFuture<'_, T> {
        WriteFuture { lock: self, waiting: Waiting::new(Write(&self.raw)) }
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
    pub fn clear_poison(&self) {
        self.raw.poisoned.store(false, Relaxed);
    }

    /// The value, of which this is the only reference.
    ///
    /// # Errors
    /// A writer has panicked; the reference is in the error.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        let poisoned = self.is_poisoned();
        let value = self.value.get_mut();
        if poisoned { Err(PoisonError::new(value)) } else { Ok(value) }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// Goes on reading: no other writer comes between. Readers that wait are let in, unless a writer waits before them.
    pub fn downgrade(this: RwLockWriteGuard<'a, T>) -> RwLockReadGuard<'a, T> {
        let this = ManuallyDrop::new(this);
        // SAFETY: the guard writes, and is not dropped.
        unsafe { this.lock.raw.downgrade() };
        RwLockReadGuard { lock: this.lock }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard reads.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: the guard writes.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the guard writes, and is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the guard reads, and goes.
        unsafe { self.lock.raw.leave_read() };
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
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
        // SAFETY: pinned with the whole.
        ready!(unsafe { self.map_unchecked_mut(|this| &mut this.waiting) }.poll(cx));
        Poll::Ready(lock.reader())
    }
}

impl<'a, T: ?Sized> Future for WriteFuture<'a, T> {
    type Output = LockResult<RwLockWriteGuard<'a, T>>;
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let lock = self.lock;
        // SAFETY: pinned with the whole.
        ready!(unsafe { self.map_unchecked_mut(|this| &mut this.waiting) }.poll(cx));
        Poll::Ready(lock.writer())
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}
impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut s = f.debug_struct("RwLock");
        match self.try_read() {
            Ok(guard) => s.field("data", &&*guard),
            Err(TryLockError::Poisoned(error)) => s.field("data", &&**error.get_ref()),
            Err(TryLockError::WouldBlock) => s.field("data", &format_args!("<locked>")),
        };
        s.field("poisoned", &self.is_poisoned()).finish_non_exhaustive()
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockReadGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized + fmt::Debug> fmt::Debug for RwLockWriteGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
impl<T: ?Sized> fmt::Debug for ReadFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadFuture(..)")
    }
}
impl<T: ?Sized> fmt::Debug for WriteFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WriteFuture(..)")
    }
}
