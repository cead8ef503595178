//! Waiting for what a mutex protects to change.

use super::mutex::{LockFuture, MutexGuard};
use super::op::{self, Op, Waiting};
use super::raw::RawMutex;
use super::wait_queue::{ALONE, WaitQueue, release_all};
use crate::entry::{DONE, Entry};
use crate::guarded::Guarded;
use crate::impls::impls;
use crate::limit::Limited;
use myriad_base::sys::const_fn;
use myriad_base::sys::mutant::on;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use myriad_core::time::{self, Instant};
use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::{Pin, pin};
use std::sync::{LockResult, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Lets tasks that hold a [`Mutex`](super::Mutex) give it back, wait until another one notifies
/// them, and take it again.
///
/// As `std::sync::Condvar`, but *nobody wakes for nothing*: a wait ends by a notification that was
/// meant for it, or by its time limit. What it waits for may have changed back before the lock was
/// taken again, though: so `wait_while` is still the form of choice. Any mutex will do, also
/// several for one condition variable.
///
/// Who waits longest is notified first. A notification when nobody waits is lost: an
/// [`Event`](super::Event) keeps it.
///
/// # Examples
/// ```
/// use myriad::sync::{Condvar, Mutex};
/// let (queue, filled) = (Mutex::new(Vec::new()), Condvar::new());
/// myriad::scope(|s| {
///     s.spawn(|| {
///         let mut queue = filled.wait_while(queue.lock().unwrap(), |q| q.is_empty()).unwrap();
///         assert_eq!(queue.pop(), Some(7));
///     });
///     queue.lock().unwrap().push(7);
///     filled.notify_one();
/// });
/// ```
///
/// ```
/// use myriad::sync::{Condvar, Mutex};
/// use std::time::Duration;
/// // The forms of std, and those of futures.
/// let (open, changed) = (Mutex::new(false), Condvar::new());
/// let (guard, result) = changed
///     .wait_timeout_while(open.lock().unwrap(), Duration::from_millis(1), |open| !*open)
///     .unwrap();
/// assert!(result.timed_out() && !*guard);
/// drop(guard);
/// myriad::scope(|s| {
///     let future = async {
///         let mut open = open.lock_async().await.unwrap();
///         while !*open {
///             open = changed.wait_async(open).await.unwrap();
///         }
///     };
///     s.spawn(|| myriad::block_on(future));
///     *open.lock().unwrap() = true;
///     changed.notify_all();
/// });
/// ```
pub struct Condvar {
    inner: Guarded<WaitQueue>,
}

/// Did a wait end because its time was over?
///
/// # Examples
/// ```
/// use myriad::sync::{Condvar, Mutex};
/// let (lock, ready) = (Mutex::new(false), Condvar::new());
/// let limit = std::time::Duration::from_millis(1);
/// let (done, result) = ready.wait_timeout_while(lock.lock().unwrap(), limit, |done| !*done).unwrap();
/// assert!(result.timed_out() && !*done);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// The time has passed, and no notification has come before.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

type Timed<G> = LockResult<(G, WaitTimeoutResult)>;

impl Condvar {
    const_fn! {
        /// A condition variable on which nobody waits.
        pub const fn new() -> Condvar {
            Condvar { inner: Guarded::new(WaitQueue::new()) }
        }
    }

    /// Gives the lock back, waits for a notification, and takes the lock again. Whoever takes the
    /// lock after it was given back and notifies then is not missed.
    ///
    /// # Blocking
    /// Until notified, and then until the lock is free. The calling task is set aside meanwhile, a
    /// foreign thread sleeps.
    ///
    /// # Cancellation
    /// A task that is cancelled while it waits unwinds, and does not hold the lock. A notification
    /// that was meant for it alone goes to the next that waits.
    ///
    /// # Errors
    /// The mutex is poisoned when it is taken again.
    ///
    /// # Panics
    /// If there is no memory for a stack; the lock is given back then.
    pub fn wait<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let mutex = guard.mutex;
        let notified = self.wait_unlocked(guard, None);
        let locked = mutex.lock();
        std::mem::forget(notified);
        locked
    }

    /// Waits as long as `condition` is true. It is called with the lock held, at first and after
    /// each notification.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    /// Waits as [`wait`](Self::wait), for at most `timeout`; taking the lock again may take longer.
    ///
    /// # Errors
    /// As [`wait`](Self::wait). A timeout is no error here, as the lock is held again.
    pub fn wait_timeout<'a, T: ?Sized>(&self, guard: MutexGuard<'a, T>, timeout: Duration) -> Timed<MutexGuard<'a, T>> {
        self.wait_deadline(guard, time::now() + timeout)
    }

    /// Waits as [`wait_timeout`](Self::wait_timeout), until `deadline` at the latest.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_deadline<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        deadline: Instant,
    ) -> Timed<MutexGuard<'a, T>> {
        let mutex = guard.mutex;
        let notified = self.wait_unlocked(guard, Some(deadline));
        let result = WaitTimeoutResult(notified.is_none());
        let locked = mutex.lock();
        std::mem::forget(notified);
        match locked {
            Ok(guard) => Ok((guard, result)),
            Err(error) => Err(PoisonError::new((error.into_inner(), result))),
        }
    }

    /// Waits as long as `condition` is true, for at most `timeout`. Timed out: it is still true.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        mut guard: MutexGuard<'a, T>,
        timeout: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> Timed<MutexGuard<'a, T>> {
        let deadline = time::now() + timeout;
        let mut over = false;
        while condition(&mut guard) {
            if over {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            let result;
            (guard, result) = self.wait_deadline(guard, deadline)?;
            over = result.timed_out();
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    /// A future that waits as [`wait`](Self::wait). It gives the lock back when it is first polled.
    ///
    /// # Cancellation
    /// Dropped before it is ready, the lock is not held. A notification that was meant for it alone
    /// goes to the next that waits.
    pub fn wait_async<'a: 'b, 'b, T: ?Sized>(&'b self, guard: MutexGuard<'a, T>) -> ConditionFuture<'a, 'b, T> {
        let mutex = guard.mutex;
        let notified = Waiting::new(NotifiedWait { condvar: self, raw: mutex.raw(), unlocked: false, alone: false });
        ConditionFuture {
            guard: ManuallyDrop::new(guard),
            notified,
            lock: mutex.lock_async(),
            was_notified: false,
            alone: false,
        }
    }

    /// A future that waits as [`wait_timeout`](Self::wait_timeout), whose limit is counted from
    /// this call. It gives the lock back when it is first polled.
    ///
    /// # Cancellation
    /// As [`wait_async`](Self::wait_async). Whether it was notified or its time was over, the
    /// condition variable itself decides, not the poll.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_timeout_async<'a: 'b, 'b, T: ?Sized>(
        &'b self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> impl Future<Output = Timed<MutexGuard<'a, T>>> {
        self.wait_deadline_async(guard, time::now() + timeout)
    }

    /// As [`wait_timeout_async`](Self::wait_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    ///
    /// # Cancellation
    /// As [`wait_timeout_async`](Self::wait_timeout_async).
    pub fn wait_deadline_async<'a: 'b, 'b, T: ?Sized>(
        &'b self,
        guard: MutexGuard<'a, T>,
        deadline: Instant,
    ) -> impl Future<Output = Timed<MutexGuard<'a, T>>> {
        self.wait_async(guard).until(deadline)
    }

    /// Lets one go on: the one that has waited longest.
    pub fn notify_one(&self) {
        let caller = Caller::get();
        if let Some(waiter) = self.inner.locked(caller, WaitQueue::one) {
            // SAFETY: the waiter was claimed, and is woken once.
            unsafe { caller.wake(waiter) };
        }
    }

    /// Lets all go on that wait now. O(waiters).
    pub fn notify_all(&self) {
        let generation =
            self.inner.locked(Caller::get(), |wait_queue| (!wait_queue.is_empty()).then(|| wait_queue.all()));
        if let Some(generation) = generation {
            release_all(&self.inner, |wait_queue| wait_queue, generation, DONE);
        }
    }

    /// `None`: not notified. The lock is not held afterwards.
    fn wait_unlocked<T: ?Sized>(
        &self,
        guard: MutexGuard<'_, T>,
        deadline: Option<Instant>,
    ) -> Option<Notification<'_>> {
        /// Gives the lock back if the wait did not come to it.
        struct HeldMutex<'a, 'b, T: ?Sized>(ManuallyDrop<MutexGuard<'a, T>>, NotifiedWait<'b>);
        impl<T: ?Sized> Drop for HeldMutex<'_, '_, T> {
            fn drop(&mut self) {
                if !self.1.unlocked {
                    // SAFETY: the guard is dropped once, here; the wait has not unlocked.
                    unsafe { ManuallyDrop::drop(&mut self.0) };
                }
            }
        }
        let notified = NotifiedWait { condvar: self, raw: guard.mutex.raw(), unlocked: false, alone: false };
        let mut held = HeldMutex(ManuallyDrop::new(guard), notified);
        op::wait(&mut held.1, deadline).then(|| Notification { condvar: self, alone: held.1.alone })
    }
}

struct NotifiedWait<'a> {
    condvar: &'a Condvar,
    /// Locked by the caller, until `unlocked`.
    raw: &'a RawMutex,
    unlocked: bool,
    /// A blocking wait was notified alone.
    alone: bool,
}

/// One that was received. Dropped before the lock was taken again (which may be cancelled, and may
/// panic), it goes to the next, if it was for one alone.
struct Notification<'a> {
    condvar: &'a Condvar,
    alone: bool,
}

impl Drop for Notification<'_> {
    fn drop(&mut self) {
        if self.alone {
            self.condvar.notify_one();
        }
    }
}

// SAFETY: entries are linked and taken out under the lock.
unsafe impl Op for NotifiedWait<'_> {
    type Slot = u64;
    const REASON: WaitReason = WaitReason::Condition;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.condvar).cast()
    }

    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) -> bool {
        let Some(waiter) = Waiter::take(waiter) else { return false };
        debug_assert!(!self.unlocked);
        if on("unlock-before-wait") {
            // SAFETY: the mutex is locked by who waits, and has given the right to unlock it to
            // this operation.
            unsafe { self.raw.unlock() };
        }
        let blocks = !waiter.is_future();
        // SAFETY: `entry` is idle, and stays where it is until it is ended or given up (this
        // method's contract); the lock is held.
        self.condvar.inner.locked(caller, |wait_queue| unsafe { wait_queue.join(entry, waiter) });
        self.unlocked = true;
        if !on("unlock-before-wait") {
            // SAFETY: it is locked by the caller, who gave the right to unlock it away.
            unsafe { if blocks { self.raw.unlock_waiting(caller) } else { self.raw.unlock() } };
        }
        false
    }

    unsafe fn ended(&mut self, slot: *mut u64) {
        // SAFETY: `slot` is that of an entry that `start` linked (this method's contract): `join`
        // has filled it.
        self.alone = unsafe { *slot == ALONE };
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<u64>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in this queue, whose lock
        // is held.
        self.condvar.inner.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<u64>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract), which joined this queue;
        // the lock is held.
        let (outcome, waiter) = self.condvar.inner.locked(caller, |wait_queue| unsafe { wait_queue.leave(entry) });
        drop(InHand::new(waiter));
        outcome
    }

    unsafe fn undo(&mut self, _: u8, slot: *mut u64) -> bool {
        // SAFETY: `slot` is that of an entry that `start` linked (this method's contract): `join`
        // has filled it.
        if unsafe { *slot } == ALONE && !on("notification-lost") {
            self.condvar.notify_one();
        }
        false
    }
}

/// What [`Condvar::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct ConditionFuture<'a, 'b, T: ?Sized>
where
    'a: 'b,
{
    /// Until `notified` has unlocked it.
    guard: ManuallyDrop<MutexGuard<'a, T>>,
    notified: Waiting<NotifiedWait<'b>>,
    /// The wait is over, by a notification or its time limit.
    was_notified: bool,
    /// By a notification for it alone, which goes to another if it is dropped before it has the
    /// lock.
    alone: bool,
    lock: LockFuture<'a, T>,
}

impl<'a, T: ?Sized> Future for ConditionFuture<'a, '_, T> {
    type Output = LockResult<MutexGuard<'a, T>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.parts();
        if !*this.was_notified {
            let mut notified = this.notified;
            ready!(notified.as_mut().poll(cx));
            *this.was_notified = true;
            // SAFETY: the future was ready just now, after a wait, whose slot is full.
            *this.alone = unsafe { *notified.slot() == ALONE };
        }
        let locked = ready!(this.lock.poll(cx));
        *this.alone = false;
        Poll::Ready(locked)
    }
}

/// The parts of a [`ConditionFuture`], those pinned that wait.
struct CondvarParts<'p, 'a, 'b, T: ?Sized> {
    notified: Pin<&'p mut Waiting<NotifiedWait<'b>>>,
    was_notified: &'p mut bool,
    alone: &'p mut bool,
    lock: Pin<&'p mut LockFuture<'a, T>>,
}

impl<'a, 'b, T: ?Sized> ConditionFuture<'a, 'b, T> {
    fn parts(self: Pin<&mut Self>) -> CondvarParts<'_, 'a, 'b, T> {
        // SAFETY: what waits is pinned as the whole, and nobody gets it otherwise; nothing is moved
        // out.
        unsafe {
            let ConditionFuture { notified, was_notified, alone, lock, .. } = self.get_unchecked_mut();
            CondvarParts { notified: Pin::new_unchecked(notified), was_notified, alone, lock: Pin::new_unchecked(lock) }
        }
    }

    /// Waits for a notification until the deadline, and then takes the lock again.
    async fn until(self, deadline: Instant) -> Timed<MutexGuard<'a, T>> {
        let mut this = pin!(self);
        let notified = Limited::new(this.as_mut().parts().notified, deadline).await;
        let parts = this.as_mut().parts();
        *parts.was_notified = true;
        // SAFETY: it was notified, after a wait, whose slot is full.
        *parts.alone = notified && unsafe { *parts.notified.slot() == ALONE };
        let result = WaitTimeoutResult(!notified);
        match this.await {
            Ok(guard) => Ok((guard, result)),
            Err(error) => Err(PoisonError::new((error.into_inner(), result))),
        }
    }
}

impl<T: ?Sized> Drop for ConditionFuture<'_, '_, T> {
    fn drop(&mut self) {
        if !self.notified.op().unlocked {
            // SAFETY: never polled: the lock is held, and dropped once.
            unsafe { ManuallyDrop::drop(&mut self.guard) };
        }
        if self.alone {
            self.notified.op().condvar.notify_one();
        }
    }
}

impls! {
    Default for Condvar: Condvar::new();
    Debug for Condvar: {};
    Debug for ConditionFuture<'_, '_, T> [T: ?Sized]: opaque;
}
