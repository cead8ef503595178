//! A value that is written once.

use super::error::TimeoutError;
use super::once::{COMPLETE, NEW, Once, OnceFuture, Running};
use crate::impls::impls;
use myriad_base::sys::const_fn;
use myriad_core::time::{self, Instant};
use std::cell::UnsafeCell;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::mem::MaybeUninit;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// A place for a value that is written once, by whoever comes first, and then read by all.
///
/// As `std::sync::OnceLock`, for tasks and futures: what makes the value may block, and those who
/// come meanwhile are set aside. If it panics, fails, or is a future that is dropped, the place
/// stays empty and the next one tries. (Also known as `OnceCell`.)
///
/// # Examples
/// ```
/// use myriad::sync::OnceLock;
/// static CONFIG: OnceLock<String> = OnceLock::new();
/// assert_eq!(CONFIG.get_or_init(|| "read from a file".into()), "read from a file");
/// assert!(CONFIG.set("another".into()).is_err());
/// ```
#[doc(alias = "OnceCell")]
pub struct OnceLock<T> {
    pub(super) once: Once,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the value is written by one, whose turn it is, read by all afterwards, and dropped by the
// last.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}
// SAFETY: the value goes with the whole, and is `Send`; who moves it has it alone.
unsafe impl<T: Send> Send for OnceLock<T> {}
impl<T: RefUnwindSafe + UnwindSafe> RefUnwindSafe for OnceLock<T> {}
impl<T: UnwindSafe> UnwindSafe for OnceLock<T> {}

impl<T> OnceLock<T> {
    const_fn! {
        /// An empty place.
        pub const fn new() -> OnceLock<T> {
            OnceLock { once: Once::new(), value: UnsafeCell::new(MaybeUninit::uninit()) }
        }
    }

    /// The value, if there is one.
    #[inline(always)]
    pub fn get(&self) -> Option<&T> {
        // SAFETY: complete: it is written, and stays.
        self.once.is_completed().then(|| unsafe { self.get_unchecked() })
    }

    /// # Safety
    /// The value is written, and that is visible.
    #[inline(always)]
    unsafe fn get_unchecked(&self) -> &T {
        // SAFETY: the value is written, and that is visible (this function's contract); it stays.
        unsafe { (*self.value.get()).assume_init_ref() }
    }

    /// Writes the value in the caller's turn.
    pub(super) fn fill(&self, mut running: Running<'_>, value: T) {
        // SAFETY: it is our turn: nobody else writes, nobody reads before it is complete.
        unsafe { (*self.value.get()).write(value) };
        running.then = COMPLETE;
    }

    /// The value, of a place that was found complete.
    pub(super) fn filled(&self) -> &T {
        self.get().expect("it is complete")
    }

    /// The value, to be changed.
    pub fn get_mut(&mut self) -> Option<&mut T> {
        // SAFETY: the cell is complete, so the value is written; nobody else has it.
        self.once.is_completed().then(|| unsafe { self.value.get_mut().assume_init_mut() })
    }

    /// Writes the value.
    ///
    /// # Blocking
    /// While another one makes it.
    ///
    /// # Errors
    /// There is one already; this one comes back.
    pub fn set(&self, value: T) -> Result<(), T> {
        match self.once.begin(true) {
            Some((running, _)) => {
                self.fill(running, value);
                Ok(())
            }
            None => Err(value),
        }
    }

    /// The value; if there is none, `f` makes it.
    ///
    /// # Blocking
    /// While another one makes it. The calling task is set aside meanwhile, a foreign thread
    /// sleeps. `f` runs on the caller.
    ///
    /// # Panics
    /// If `f` does: then there is no value, and the next one tries. If `f` asks for the value
    /// itself. If it must wait and there is no memory for a stack.
    #[inline]
    #[track_caller]
    pub fn get_or_init(&self, f: impl FnOnce() -> T) -> &T {
        match self.get_or_try_init(|| Ok::<_, Infallible>(f())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// The value; if there is none, `f` makes it, or fails.
    ///
    /// # Blocking
    /// As [`get_or_init`](Self::get_or_init).
    ///
    /// # Errors
    /// That of `f`: then there is no value, and the next one tries.
    ///
    /// # Panics
    /// As [`get_or_init`](Self::get_or_init).
    ///
    /// # Examples
    /// ```
    /// let mut port = myriad::sync::OnceLock::new();
    /// assert!(port.get_or_try_init(|| "many".parse::<u16>()).is_err());
    /// assert_eq!(port.get_or_try_init(|| "80".parse::<u16>()), Ok(&80));
    /// assert_eq!(port.wait(), &80);
    /// *port.get_mut().unwrap() += 8000;
    /// assert_eq!((port.take(), port.into_inner()), (Some(8080), None));
    /// ```
    #[inline]
    #[track_caller]
    pub fn get_or_try_init<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        self.make(f)
    }

    #[cold]
    #[track_caller]
    fn make<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        if let Some((mut running, _)) = self.once.begin(true) {
            running.then = NEW;
            let value = f()?;
            self.fill(running, value);
        }
        Ok(self.filled())
    }

    /// The value; if there is none, the future that `f` makes makes it.
    ///
    /// # Cancellation
    /// Dropped meanwhile, there is no value, and the next one tries.
    pub async fn get_or_init_async<F: Future<Output = T>>(&self, f: impl FnOnce() -> F) -> &T {
        if let Some(value) = self.get() {
            return value;
        }
        if let Some((mut running, _)) = self.once.begin_async(true).await {
            running.then = NEW;
            let value = f().await;
            self.fill(running, value);
        }
        self.filled()
    }

    /// Waits until somebody has written the value.
    ///
    /// # Blocking
    /// Until then. The calling task is set aside meanwhile, a foreign thread sleeps.
    pub fn wait(&self) -> &T {
        self.once.wait_force();
        self.filled()
    }

    /// Waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    pub fn wait_timeout(&self, timeout: Duration) -> Result<&T, TimeoutError> {
        self.wait_deadline(time::now() + timeout)
    }

    /// Waits until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed.
    pub fn wait_deadline(&self, deadline: Instant) -> Result<&T, TimeoutError> {
        if !self.once.is_completed() && !self.once.wait_force_until(deadline) {
            return Err(TimeoutError);
        }
        Ok(self.filled())
    }

    /// A future that is ready when somebody has written the value.
    ///
    /// # Cancellation
    /// Dropped, it has had no effect.
    pub fn wait_async(&self) -> OnceLockFuture<'_, T> {
        OnceLockFuture { cell: self, done: self.once.wait_force_async() }
    }

    /// A future of [`wait_timeout`](Self::wait_timeout), whose limit is counted from this call.
    ///
    /// # Errors
    /// The time has passed, and there was no value.
    ///
    /// # Cancellation
    /// Dropped, it has had no effect.
    pub fn wait_timeout_async(&self, timeout: Duration) -> impl Future<Output = Result<&T, TimeoutError>> {
        self.wait_deadline_async(time::now() + timeout)
    }

    /// As [`wait_timeout_async`](Self::wait_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    ///
    /// # Cancellation
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    pub fn wait_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<&T, TimeoutError>> {
        let done = self.once.only_wait_deadline_async(true, deadline);
        async move { done.await.map(|()| self.filled()) }
    }

    /// Takes the value out; the place is empty again.
    pub fn take(&mut self) -> Option<T> {
        // SAFETY: it was complete, and is not any more; nobody else has it.
        self.once.reset().then(|| unsafe { self.value.get_mut().assume_init_read() })
    }

    /// The value, if there is one.
    pub fn into_inner(mut self) -> Option<T> {
        self.take()
    }
}

impl<T> Drop for OnceLock<T> {
    fn drop(&mut self) {
        drop(self.take());
    }
}

impl<T> From<T> for OnceLock<T> {
    fn from(value: T) -> Self {
        let cell = OnceLock::new();
        assert!(cell.set(value).is_ok());
        cell
    }
}

impl<T: fmt::Debug> fmt::Debug for OnceLock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(value) => f.debug_tuple("OnceLock").field(value).finish(),
            None => f.write_str("OnceLock(<empty>)"),
        }
    }
}

impl<T: Clone> Clone for OnceLock<T> {
    fn clone(&self) -> Self {
        self.get().cloned().map_or_else(OnceLock::new, OnceLock::from)
    }
}

impl<T: PartialEq> PartialEq for OnceLock<T> {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
impl<T: Eq> Eq for OnceLock<T> {}

/// What [`OnceLock::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct OnceLockFuture<'a, T> {
    cell: &'a OnceLock<T>,
    done: OnceFuture<'a>,
}

impl<'a, T> Future for OnceLockFuture<'a, T> {
    type Output = &'a T;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<&'a T> {
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.done) }.poll(cx));
        Poll::Ready(self.cell.filled())
    }
}

impls! {
    Default for OnceLock<T> [T]: OnceLock::new();
    Debug for OnceLockFuture<'_, T> [T]: opaque;
}
