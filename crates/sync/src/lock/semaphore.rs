//! A number of permits.

use super::error::TimeoutError;
use super::op::{self, Op, Waiting};
use crate::entry::{DONE, Entry, LINKED, List};
use crate::guarded::Guarded;
use crate::impls::impls;
use crate::wake_list::WakeList;
use myriad_base::sys::const_fn;
use myriad_base::sys::mutant::fault;
use myriad_core::engine::wait::{Caller, InHand, WaitReason, Waiter};
use myriad_core::time::{self, Instant};
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Permits for so many at a time, or for so much of something: each takes one, or several at once.
///
/// *Weighted, first come, first served*: who waits for many is not passed by those who want few, so
/// nobody starves; the permits that it waits for gather meanwhile. A permit is a guard, which gives
/// back what it holds when it is dropped, also by a panic.
///
/// A semaphore may begin with no permits, and be given some [later](Self::add_permits). So a task
/// that asks for more than there are waits until permits are added; if nobody adds any, the report
/// of deadlocks and `myriad::dump` show the wait.
///
/// # Examples
/// At most four at a time:
/// ```
/// use myriad::sync::Semaphore;
/// let downloads = Semaphore::new(4);
/// myriad::scope(|s| {
///     for _ in 0..100 {
///         s.spawn(|| {
///             let _permit = downloads.acquire();
///             // …
///         });
///     }
/// });
/// assert_eq!(downloads.available(), 4);
/// ```
/// A limit to the number of tasks:
/// ```
/// use myriad::sync::Semaphore;
/// use std::sync::Arc;
/// let tasks = Arc::new(Semaphore::new(100));
/// for _ in 0..1000 {
///     let permit = tasks.acquire().into_owned(&tasks);     // waits while 100 are running
///     myriad::spawn(move || drop(permit));
/// }
/// ```
#[doc(alias = "limiter")]
pub struct Semaphore {
    inner: Guarded<SemaphoreState>,
}

struct SemaphoreState {
    free: usize,
    /// Free, or held by a permit.
    total: usize,
    waiting: List<usize>,
}

const _: () = crate::values::no_drop_glue::<SemaphoreState>();

impl Semaphore {
    const_fn! {
        /// A semaphore of so many permits.
        pub const fn new(permits: usize) -> Semaphore {
            Semaphore { inner: Guarded::new(SemaphoreState { free: permits, total: permits, waiting: List::new() }) }
        }
    }

    /// Takes one permit.
    ///
    /// # Blocking
    /// While none is free, or others wait. The calling task is set aside meanwhile, a foreign
    /// thread sleeps.
    ///
    /// # Panics
    /// If it must wait and there is no memory for a stack.
    #[track_caller]
    pub fn acquire(&self) -> Permit<'_> {
        self.acquire_many(1)
    }

    /// Takes `n` permits at once.
    ///
    /// # Blocking
    /// As [`acquire`](Self::acquire), until `n` are free; where the semaphore has fewer in all,
    /// until permits are [added](Self::add_permits).
    ///
    /// # Panics
    /// As [`acquire`](Self::acquire).
    #[track_caller]
    pub fn acquire_many(&self, n: usize) -> Permit<'_> {
        Caller::get().spend();
        let mut op = Acquire::new(self, n);
        op::wait(&mut op, None);
        op.permit()
    }

    /// Takes one permit if one is free and nobody waits.
    pub fn try_acquire(&self) -> Option<Permit<'_>> {
        self.try_acquire_many(1)
    }

    /// Takes `n` permits if so many are free and nobody waits.
    pub fn try_acquire_many(&self, n: usize) -> Option<Permit<'_>> {
        self.inner.locked(Caller::get(), |state| state.take(n)).then(|| Permit::new(self, n))
    }

    /// Takes one permit, and waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    #[track_caller]
    pub fn acquire_timeout(&self, timeout: Duration) -> Result<Permit<'_>, TimeoutError> {
        self.acquire_many_deadline(1, time::now() + timeout)
    }

    /// Takes one permit, and waits until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed.
    #[track_caller]
    pub fn acquire_deadline(&self, deadline: Instant) -> Result<Permit<'_>, TimeoutError> {
        self.acquire_many_deadline(1, deadline)
    }

    /// Takes `n` permits at once, and waits for at most `timeout`.
    ///
    /// # Errors
    /// The time has passed.
    #[track_caller]
    pub fn acquire_many_timeout(&self, n: usize, timeout: Duration) -> Result<Permit<'_>, TimeoutError> {
        self.acquire_many_deadline(n, time::now() + timeout)
    }

    /// Takes `n` permits at once, and waits until `deadline` at the latest.
    ///
    /// # Errors
    /// The time has passed: nothing is taken.
    ///
    /// # Panics
    /// As [`acquire_many`](Self::acquire_many).
    #[track_caller]
    pub fn acquire_many_deadline(&self, n: usize, deadline: Instant) -> Result<Permit<'_>, TimeoutError> {
        Caller::get().spend();
        let mut op = Acquire::new(self, n);
        if !op::wait(&mut op, Some(deadline)) {
            return Err(TimeoutError);
        }
        Ok(op.permit())
    }

    /// A future that takes one permit.
    ///
    /// # Cancellation
    /// As [`acquire_many_async`](Self::acquire_many_async).
    pub fn acquire_async(&self) -> AcquireFuture<'_> {
        self.acquire_many_async(1)
    }

    /// A future that takes `n` permits at once.
    ///
    /// # Cancellation
    /// Dropped before it is ready, it has taken nothing: permits that it was given meanwhile go to
    /// the next. Once polled it stands in line: poll it on, or drop it.
    pub fn acquire_many_async(&self, n: usize) -> AcquireFuture<'_> {
        AcquireFuture(Waiting::new(Acquire::new(self, n)))
    }

    /// A future that takes one permit, and waits for at most `timeout`, counted from this call.
    ///
    /// # Errors
    /// The time has passed.
    ///
    /// # Cancellation
    /// As [`acquire_many_timeout_async`](Self::acquire_many_timeout_async).
    pub fn acquire_timeout_async(&self, timeout: Duration) -> impl Future<Output = Result<Permit<'_>, TimeoutError>> {
        self.acquire_deadline_async(time::now() + timeout)
    }

    /// As [`acquire_timeout_async`](Self::acquire_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`acquire_timeout_async`](Self::acquire_timeout_async).
    ///
    /// # Cancellation
    /// As [`acquire_timeout_async`](Self::acquire_timeout_async).
    pub fn acquire_deadline_async(&self, deadline: Instant) -> impl Future<Output = Result<Permit<'_>, TimeoutError>> {
        self.acquire_many_deadline_async(1, deadline)
    }

    /// A future that takes `n` permits at once, and waits for at most `timeout`, counted from this
    /// call.
    ///
    /// # Errors
    /// The time has passed.
    ///
    /// # Cancellation
    /// As [`acquire_many_async`](Self::acquire_many_async). After a timeout it has taken nothing:
    /// the semaphore itself decides, not the poll.
    pub fn acquire_many_timeout_async(
        &self,
        n: usize,
        timeout: Duration,
    ) -> impl Future<Output = Result<Permit<'_>, TimeoutError>> {
        self.acquire_many_deadline_async(n, time::now() + timeout)
    }

    /// As [`acquire_many_timeout_async`](Self::acquire_many_timeout_async), until `deadline`.
    ///
    /// # Errors
    /// As [`acquire_many_timeout_async`](Self::acquire_many_timeout_async).
    ///
    /// # Cancellation
    /// As [`acquire_many_timeout_async`](Self::acquire_many_timeout_async).
    pub fn acquire_many_deadline_async(
        &self,
        n: usize,
        deadline: Instant,
    ) -> impl Future<Output = Result<Permit<'_>, TimeoutError>> {
        let waiting = Waiting::new(Acquire::new(self, n));
        async move { if waiting.until(deadline).await { Ok(Permit::new(self, n)) } else { Err(TimeoutError) } }
    }

    /// Adds `n` permits for good.
    ///
    /// # Panics
    /// If they are more than a `usize` can count in all; nothing is added then.
    ///
    /// # Examples
    /// ```
    /// let memory = myriad::sync::Semaphore::new(2);
    /// memory.add_permits(3);
    /// assert_eq!(memory.acquire_many(4).count(), 4);
    /// assert_eq!(memory.forget_permits(10), 5, "all that are free");
    /// assert_eq!(memory.total(), 0);
    /// ```
    #[track_caller]
    pub fn add_permits(&self, n: usize) {
        let added = self.inner.locked(Caller::get(), |state| {
            state.total = state.total.checked_add(n)?;
            Some(())
        });
        if added.is_none() {
            panic!("a Semaphore has at most {} permits, and {n} more were added to {}", usize::MAX, self.total());
        }
        self.give(n);
    }

    /// Takes up to `n` of the free permits away for good; how many they were. Never blocks. (Those
    /// who wait for more than are left then wait until permits are added.)
    pub fn forget_permits(&self, n: usize) -> usize {
        self.inner.locked(Caller::get(), |state| {
            let n = n.min(state.free);
            state.free -= n;
            state.total -= n;
            n
        })
    }

    /// How many permits are free now.
    pub fn available(&self) -> usize {
        self.inner.locked(Caller::get(), |state| state.free)
    }

    /// How many permits there are, free or held.
    pub fn total(&self) -> usize {
        self.inner.locked(Caller::get(), |state| state.total)
    }

    /// Permits come back; whoever has enough now goes on.
    fn give(&self, n: usize) {
        let mut n = n;
        WakeList::wake_all(|woken| {
            self.inner.locked(Caller::get(), |state| {
                state.free += std::mem::take(&mut n);
                state.serve(woken);
            });
        });
    }
}

impl SemaphoreState {
    /// Takes `n` if so many are free and nobody waits.
    fn take(&mut self, n: usize) -> bool {
        let takes = n <= self.free && self.waiting.is_empty();
        if takes {
            self.free -= n;
        }
        takes
    }

    /// Is there enough for all up to this one? Then whoever gives permits back, and serves those
    /// who wait in batches, has not come to it yet.
    ///
    /// # Safety
    /// Under the lock; the entry is in the list.
    unsafe fn reaches(&self, entry: *mut Entry<usize>) -> bool {
        let (mut left, mut at) = (self.free, self.waiting.first());
        // SAFETY: the lock is held and `entry` is in the list (this function's contract), so the
        // walk ends at it; linked entries are live, and their slots full.
        unsafe {
            loop {
                let Some(rest) = left.checked_sub(*(*at).slot()) else { return false };
                if at == entry {
                    return true;
                }
                (left, at) = (rest, self.waiting.behind(at));
            }
        }
    }

    /// Gives the first of those who wait what they want, as long as there is enough.
    fn serve(&mut self, woken: &mut WakeList) {
        while woken.has_room() && !self.waiting.is_empty() {
            let entry = self.waiting.first();
            // SAFETY: under the lock; linked entries are live and their slots full.
            unsafe {
                let n = *(*entry).slot();
                if n > self.free {
                    return;
                }
                if let Some(waiter) = self.waiting.claim(entry) {
                    self.free -= n;
                    Entry::end(entry, DONE);
                    woken.push(waiter);
                }
            }
        }
    }
}

struct Acquire<'a> {
    semaphore: &'a Semaphore,
    n: usize,
}

impl<'a> Acquire<'a> {
    fn new(semaphore: &'a Semaphore, n: usize) -> Self {
        Acquire { semaphore, n }
    }
    fn permit(&self) -> Permit<'a> {
        Permit::new(self.semaphore, self.n)
    }
}

// SAFETY: entries are linked and taken out under the lock.
unsafe impl Op for Acquire<'_> {
    type Slot = usize;
    const REASON: WaitReason = WaitReason::Permits;

    fn object(&self) -> *const () {
        std::ptr::from_ref(self.semaphore).cast()
    }

    #[track_caller]
    unsafe fn start(&mut self, caller: Caller, entry: *mut Entry<usize>, waiter: &mut Option<Waiter>) -> bool {
        self.semaphore.inner.locked(caller, |state| {
            let took = state.take(self.n);
            if !took && let Some(waiter) = Waiter::take(waiter) {
                // SAFETY: `entry` is idle, and stays where it is until it is ended or given up
                // (this method's contract); the lock is held.
                unsafe {
                    (*entry).put(&raw const self.n);
                    state.waiting.push(entry, waiter);
                }
            }
            took
        })
    }

    unsafe fn set_waiter(&self, caller: Caller, entry: *mut Entry<usize>, waiter: &mut Option<Waiter>) {
        // SAFETY: `entry` was linked by `start` (this method's contract), in a list of this
        // semaphore, whose lock is held.
        self.semaphore.inner.locked(caller, |_| unsafe { Entry::set_waiter(entry, waiter) });
    }

    unsafe fn withdraw(&mut self, caller: Caller, entry: *mut Entry<usize>) -> u8 {
        // SAFETY: `entry` was linked by `start` (this method's contract): if it is linked still, it
        // is in `waiting`, and stays so under the lock.
        let (outcome, waiter) = self.semaphore.inner.locked(caller, |state| unsafe {
            let was = (*entry).state();
            let linked = was == LINKED;
            let reached = linked && state.reaches(entry) && !fault("reached-forgotten");
            if reached {
                state.free -= self.n;
            }
            let waiter = linked.then(|| state.waiting.remove(entry));
            (*entry).reset();
            (if reached { DONE } else { was }, waiter)
        });
        drop(InHand::new(waiter));
        if outcome != DONE {
            // If it was the first, and wanted much, there may be enough for the next.
            self.semaphore.give(0);
        }
        outcome
    }

    unsafe fn undo(&mut self, _: u8, _: *mut usize) -> bool {
        self.semaphore.give(self.n);
        false
    }
}

/// What [`Semaphore::acquire_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct AcquireFuture<'a>(Waiting<Acquire<'a>>);

impl<'a> Future for AcquireFuture<'a> {
    type Output = Permit<'a>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Permit<'a>> {
        // SAFETY: the field is pinned as the whole is.
        ready!(unsafe { self.as_mut().map_unchecked_mut(|this| &mut this.0) }.poll(cx));
        Poll::Ready(self.0.op().permit())
    }
}

/// Permits that are held; dropping it gives them back. `O` says whose the semaphore is: borrowed,
/// or in an `Arc`.
///
/// # Examples
/// ```
/// let semaphore = myriad::sync::Semaphore::new(3);
/// let mut two = semaphore.acquire_many(2);
/// let one = two.split(1);
/// drop(two);
/// assert_eq!((semaphore.available(), one.count()), (2, 1));
/// let mut both = semaphore.acquire();
/// both.merge(one);
/// both.forget(); // for good
/// assert_eq!((semaphore.available(), semaphore.total()), (1, 1));
/// ```
#[doc(alias = "SemaphorePermit")]
#[must_use = "if it is not kept, the permits are given back at once"]
pub struct Permit<'a, O: Deref<Target = Semaphore> = &'a Semaphore> {
    semaphore: O,
    n: usize,
    _borrow: PhantomData<&'a ()>,
}

/// Permits that are held, with a share of the semaphore: see [`Permit::into_owned`].
#[doc(alias = "OwnedSemaphorePermit")]
pub type OwnedPermit = Permit<'static, Arc<Semaphore>>;

impl<O: Deref<Target = Semaphore>> Permit<'_, O> {
    fn new(semaphore: O, n: usize) -> Self {
        Permit { semaphore, n, _borrow: PhantomData }
    }

    /// How many they are.
    pub fn count(&self) -> usize {
        self.n
    }

    /// Of which semaphore they are.
    pub fn semaphore(&self) -> &O {
        &self.semaphore
    }

    /// The permits are gone for good: the semaphore has less than before. (Those who wait for more
    /// than it has then wait until permits are added.)
    pub fn forget(mut self) {
        let n = std::mem::take(&mut self.n);
        self.semaphore.inner.locked(Caller::get(), |state| state.total -= n);
    }

    /// A permit for `n` of these, which this one holds no more.
    ///
    /// # Panics
    /// If it holds less.
    #[track_caller]
    pub fn split(&mut self, n: usize) -> Self
    where
        O: Clone,
    {
        assert!(n <= self.n, "{n} permits are split from a Permit that holds {}", self.n);
        let semaphore = self.semaphore.clone();
        self.n -= n;
        Permit::new(semaphore, n)
    }

    /// Takes over what another permit of the same semaphore holds.
    ///
    /// # Panics
    /// If it is a permit of another semaphore; it is given back then.
    #[track_caller]
    pub fn merge(&mut self, mut other: Self) {
        assert!(
            std::ptr::eq(&raw const *self.semaphore, &raw const *other.semaphore),
            "Permit::merge was given a permit of another Semaphore"
        );
        self.n += std::mem::take(&mut other.n);
    }
}

impl Permit<'_> {
    /// The same, for tasks that outlive the borrow.
    ///
    /// # Panics
    /// If it is a permit of another semaphore.
    ///
    /// # Examples
    /// ```
    /// use myriad::sync::{Arc, Semaphore};
    /// let two = Arc::new(Semaphore::new(2));
    /// let permit = two.acquire().into_owned(&two);
    /// myriad::spawn(move || drop(permit)).join().unwrap();
    /// assert_eq!(two.available(), 2);
    /// ```
    #[track_caller]
    pub fn into_owned(self, semaphore: &Arc<Semaphore>) -> OwnedPermit {
        assert!(
            std::ptr::eq(self.semaphore, &**semaphore),
            "Permit::into_owned was given another Semaphore than the one that the permit is of"
        );
        let permit = ManuallyDrop::new(self);
        Permit::new(semaphore.clone(), permit.n)
    }
}

impl<O: Deref<Target = Semaphore>> Drop for Permit<'_, O> {
    fn drop(&mut self) {
        self.semaphore.give(self.n);
    }
}

impl<O: Deref<Target = Semaphore>> fmt::Debug for Permit<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Permit").field("count", &self.n).finish_non_exhaustive()
    }
}

impls! {
    Debug for Semaphore: { available: available, total: total };
    Debug for AcquireFuture<'_>: opaque;
}
