//! Notifications that carry a value.

use super::crowd::{Guarded, retarget};
use super::error::TimeoutError;
use super::mutex::{LockFuture, MutexGuard};
use super::op::{self, Op, Waiting};
use super::raw::{Lock, RawMutex};
use super::reentrant::ReentrantLockGuard;
use crate::entry::{DONE, Entry, LINKED, List};
use myriad_core::cancel::shield;
use myriad_core::sys::const_fn;
use myriad_core::sys::mutant::on;
use myriad_core::sys::thread::abort_with;
use myriad_core::time::{self, Instant};
use myriad_core::unwind;
use myriad_core::wait::{Here, Target};
use std::fmt;
use std::future::Future;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::pin::Pin;
use std::sync::{LockResult, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

/// Tasks wait here until they are notified, and are told a value with it.
///
/// Notifications are *edges*: one that comes when nobody waits has no effect, and its value comes back to who sent it. To
/// make waits fail, send errors: a `Condition<Result<V, E>>`. Who waits longest is notified first;
/// [`first`](Condition::first) stands before all others. Nobody is woken for nothing.
///
/// Without a lock nothing says whether somebody waits already when the notification comes. With one ([`wait_with`](Condition::wait_with),
/// [`wait_with_reentrant`](Condition::wait_with_reentrant)) who notifies under the same lock is not missed: the lock is given
/// back when the caller stands in line, and taken again afterwards.
///
/// # Cancellation
/// A notification and the end of a wait (by a time limit, or a cancellation) are decided against each other once. Either the wait
/// has the value and returns it (the cancellation arrives at the next blocking point), or the notification goes to another.
/// A value that was sent to one alone, and whose future is dropped before it is ready or which cannot take its lock again, goes to
/// the next that waits; if none does, it is dropped. So no notification is lost as long as somebody waits for it.
///
/// *Source.* Julia's `Condition` and `Threads.Condition`: `notify(c, v; all, error)`, `wait(c; first)`.
///
/// # Examples
/// ```
/// use myriad_sync::lock::{Condition, Mutex};
/// let (prices, ready) = (Condition::new(), Mutex::new(0));
/// myriad_core::scope(|s| {
///     for _ in 0..3 {
///         s.spawn(|| {
///             let mut waiting = ready.lock().unwrap();
///             *waiting += 1;
///             let (_guard, price) = prices.wait_with(waiting).unwrap();
///             assert_eq!(price, 42);
///         });
///     }
///     while *ready.lock().unwrap() < 3 {
///         myriad_core::yield_now();
///     }
///     let _guard = ready.lock().unwrap();
///     assert_eq!(prices.notify_all(42), 3);
///     assert_eq!(prices.notify_one(43), Err(43), "nobody waits any more");
/// });
/// ```
pub struct Condition<T> {
    inner: Guarded<State<T>>,
}

struct State<T> {
    list: List<Slot<T>>,
    /// Of those who come now: a notification of all is for those who waited when it began.
    generation: u64,
}

/// What stands in an entry.
struct Slot<T> {
    generation: u64,
    /// Once it is notified.
    value: MaybeUninit<T>,
}

/// Instead of the generation, of one who was notified alone.
const ALONE: u64 = u64::MAX;

/// Waits at a [`Condition`] before all others: [`Condition::first`].
pub struct First<'a, T>(&'a Condition<T>);

impl<T> Condition<T> {
    const_fn! {
        /// A condition at which nobody waits.
        pub const fn new() -> Condition<T> {
            Condition { inner: Guarded::new(State { list: List::new(), generation: 0 }) }
        }
    }

    /// Lets the one go on that has waited longest, with this value.
    ///
    /// # Errors
    /// Nobody waits: the value comes back.
    ///
    /// # Panics
    /// If a future's waker does.
    pub fn notify_one(&self, value: T) -> Result<(), T> {
        match self.hand_over(value, None) {
            Ok((target, _)) => {
                // SAFETY: claimed, and woken once.
                unsafe { target.wake() };
                Ok(())
            }
            Err(value) => Err(value),
        }
    }

    /// Lets all go on that wait now, each with a clone of this value. Returns how many. O(waiters), and those who
    /// [jumped the queue](Self::first) meanwhile.
    ///
    /// # Panics
    /// If cloning does, or a future's waker; those who have had no value yet wait on.
    pub fn notify_all(&self, value: T) -> usize
    where
        T: Clone,
    {
        let here = Here::get();
        let upto = self.inner.locked(here, |state| {
            state.generation += 1;
            (!state.list.is_empty()).then_some(state.generation - 1)
        });
        let (mut count, mut more) = (0, upto.is_some());
        while more {
            // Cloned without the lock, as it is foreign code.
            let Ok((target, others)) = self.hand_over(value.clone(), upto) else { break };
            (count, more) = (count + 1, others);
            // SAFETY: claimed, and woken once.
            unsafe { target.wake() };
        }
        count
    }

    /// Does nobody wait now?
    pub fn is_empty(&self) -> bool {
        self.inner.locked(Here::get(), |state| state.list.is_empty())
    }

    /// To wait before all others that wait now.
    pub fn first(&self) -> First<'_, T> {
        First(self)
    }

    /// Moves the value to the first who waits, of those up to this generation or of all. The target is to be woken; and does
    /// another one wait of whom that is true?
    fn hand_over(&self, value: T, upto: Option<u64>) -> Result<(Target, bool), T> {
        let value = ManuallyDrop::new(value);
        let met = self.inner.locked(Here::get(), |state| {
            // SAFETY: under the lock; linked entries are live and their generations written. The value is moved out of
            // its place once, if somebody is met.
            unsafe {
                let (entry, target) = state.claim(upto)?;
                let slot = (*entry).place();
                (*slot).value.as_mut_ptr().copy_from_nonoverlapping(&raw const *value, 1);
                if upto.is_none() {
                    (*slot).generation = ALONE;
                }
                Entry::end(entry, DONE);
                Some((target, !state.find(upto).is_null()))
            }
        });
        met.ok_or_else(|| ManuallyDrop::into_inner(value))
    }

    fn waits<'a>(&'a self, first: bool, raw: Option<&'a RawMutex>) -> Notified<'a, T> {
        Notified { condition: self, first, raw, unlocked: false, got: None }
    }

    fn wait_plain(&self, first: bool, deadline: Option<Instant>) -> Option<T> {
        let mut notified = self.waits(first, None);
        op::wait(&mut notified, deadline);
        notified.take()
    }

    fn wait_mutex<'a, U: ?Sized>(
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

    fn wait_reentrant<U: ?Sized>(
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

/// The forms of waiting, at the end of the line and before it.
macro_rules! waits {
    ([$($life:lifetime,)?] $condition:ident: $type:ty, $first:literal, $get:expr) => {
        /// Waiting, in all forms.
        impl<$($life,)? T> $type {
            /// Waits for a notification.
            ///
            /// # Blocking
            /// Until it comes. The calling task is set aside meanwhile, a foreign thread sleeps.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says.
            ///
            /// # Panics
            /// If there is no memory for a stack.
            pub fn wait(&self) -> T {
                let $condition = self;
                notified($get.wait_plain($first, None))
            }

            /// Waits for at most `timeout`.
            ///
            /// # Errors
            /// The time has passed.
            pub fn wait_timeout(&self, timeout: Duration) -> Result<T, TimeoutError> {
                self.wait_deadline(time::now() + timeout)
            }

            /// Waits until `deadline` at the latest.
            ///
            /// # Errors
            /// The time has passed.
            pub fn wait_deadline(&self, deadline: Instant) -> Result<T, TimeoutError> {
                let $condition = self;
                $get.wait_plain($first, Some(deadline)).ok_or(TimeoutError)
            }

            /// A future that waits. It stands in line when it is first polled.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says.
            pub fn wait_async(&self) -> NotifiedFuture<'_, T> {
                let $condition = self;
                NotifiedFuture(Waiting::new($get.waits($first, None)))
            }

            /// Gives the lock back, waits for a notification, and takes the lock again. Whoever takes the lock after it was given
            /// back and notifies then is not missed.
            ///
            /// # Blocking
            /// Until notified, and then until the lock is free.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. A task that unwinds does not hold the lock.
            ///
            /// # Errors
            /// The mutex is poisoned when it is taken again.
            ///
            /// # Panics
            /// If there is no memory for a stack; the lock is given back then.
            pub fn wait_with<'m, U: ?Sized>(&self, guard: MutexGuard<'m, U>) -> LockResult<(MutexGuard<'m, U>, T)> {
                let $condition = self;
                match $get.wait_mutex($first, guard, None) {
                    Ok((guard, value)) => Ok((guard, notified(value))),
                    Err(error) => {
                        let (guard, value) = error.into_inner();
                        Err(PoisonError::new((guard, notified(value))))
                    }
                }
            }

            /// The same for at most `timeout`; taking the lock again may take longer. `None`: the time has passed.
            ///
            /// # Errors
            /// As [`wait_with`](Self::wait_with).
            pub fn wait_with_timeout<'m, U: ?Sized>(
                &self,
                guard: MutexGuard<'m, U>,
                timeout: Duration,
            ) -> LockResult<(MutexGuard<'m, U>, Option<T>)> {
                self.wait_with_deadline(guard, time::now() + timeout)
            }

            /// The same until `deadline` at the latest.
            ///
            /// # Errors
            /// As [`wait_with`](Self::wait_with).
            pub fn wait_with_deadline<'m, U: ?Sized>(
                &self,
                guard: MutexGuard<'m, U>,
                deadline: Instant,
            ) -> LockResult<(MutexGuard<'m, U>, Option<T>)> {
                let $condition = self;
                $get.wait_mutex($first, guard, Some(deadline))
            }

            /// A future of [`wait_with`](Self::wait_with). It gives the lock back when it is first polled.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. Dropped before it is ready, the lock is not held.
            pub fn wait_with_async<'c, 'm: 'c, U: ?Sized>(
                &'c self,
                guard: MutexGuard<'m, U>,
            ) -> NotifiedWithFuture<'m, 'c, U, T> {
                let $condition = self;
                NotifiedWithFuture::new($get.waits($first, Some(guard.mutex.raw())), guard)
            }

            /// Gives a reentrant lock back, however often the caller has taken it, waits for a notification, and takes the lock
            /// again as often.
            ///
            /// # Blocking
            /// Until notified, and then until the lock is free.
            ///
            /// # Cancellation
            /// As the [condition](Condition) says. A task that unwinds takes the lock again first, because its guards are
            /// there still; nothing interrupts that.
            ///
            /// # Panics
            /// If the lock is not the caller's, but that of another task, which has lent it its guard. If there is no memory for a
            /// stack. (The process ends if there is none to take the lock again.)
            ///
            /// # Examples
            /// ```
            /// use myriad_sync::lock::{Condition, ReentrantLock};
            /// let (lock, done) = (ReentrantLock::new(()), Condition::new());
            /// myriad_core::scope(|s| {
            ///     let (outer, inner) = (lock.lock(), lock.lock());
            ///     s.spawn(|| {
            ///         let _guard = lock.lock();
            ///         done.notify_one("done").unwrap();
            ///     });
            ///     assert_eq!(done.wait_with_reentrant(&inner), "done");
            ///     drop((inner, outer));
            /// });
            /// ```
            pub fn wait_with_reentrant<U: ?Sized>(&self, guard: &ReentrantLockGuard<'_, U>) -> T {
                let $condition = self;
                notified($get.wait_reentrant($first, guard, None))
            }

            /// The same for at most `timeout`; taking the lock again may take longer.
            ///
            /// # Errors
            /// The time has passed. The lock is held.
            pub fn wait_with_reentrant_timeout<U: ?Sized>(
                &self,
                guard: &ReentrantLockGuard<'_, U>,
                timeout: Duration,
            ) -> Result<T, TimeoutError> {
                self.wait_with_reentrant_deadline(guard, time::now() + timeout)
            }

            /// The same until `deadline` at the latest.
            ///
            /// # Errors
            /// The time has passed. The lock is held.
            pub fn wait_with_reentrant_deadline<U: ?Sized>(
                &self,
                guard: &ReentrantLockGuard<'_, U>,
                deadline: Instant,
            ) -> Result<T, TimeoutError> {
                let $condition = self;
                $get.wait_reentrant($first, guard, Some(deadline)).ok_or(TimeoutError)
            }
        }
    };
}
waits!([] condition: Condition<T>, false, condition);
waits!(['a,] first: First<'a, T>, true, first.0);

/// What came to a wait without a time limit.
fn notified<T>(value: Option<T>) -> T {
    value.expect("a wait without a time limit ends by a notification")
}

impl<T> State<T> {
    /// The first who waits, of those up to this generation or of all; null if nobody does.
    ///
    /// # Safety
    /// Under the lock.
    unsafe fn find(&self, upto: Option<u64>) -> *mut Entry<Slot<T>> {
        let mut entry = self.list.first();
        // SAFETY: the caller; linked entries are live and their generations written.
        unsafe {
            while !entry.is_null() && upto.is_some_and(|upto| (*(*entry).place()).generation > upto) {
                entry = self.list.behind(entry);
            }
        }
        entry
    }

    /// Takes it out, and decides that the caller ends its wait.
    ///
    /// # Safety
    /// Under the lock.
    unsafe fn claim(&mut self, upto: Option<u64>) -> Option<(*mut Entry<Slot<T>>, Target)> {
        loop {
            // SAFETY: the caller; it is in the list.
            unsafe {
                let entry = self.find(upto);
                if entry.is_null() {
                    return None;
                }
                if let Some(target) = self.list.claim(entry) {
                    return Some((entry, target));
                }
            }
        }
    }
}

struct Notified<'a, T> {
    condition: &'a Condition<T>,
    first: bool,
    /// Locked by the caller, until `unlocked`.
    raw: Option<&'a RawMutex>,
    unlocked: bool,
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
            let target = self.condition.inner.locked(here, |state| {
                ((*entry).state() == LINKED).then(|| {
                    let target = state.list.remove(entry);
                    (*entry).reset();
                    target
                })
            });
            let notified = target.is_none() && (*entry).state() == DONE;
            if notified {
                self.receive((*entry).place());
            }
            notified
        }
    }
}

/// What [`Condition::wait_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct NotifiedFuture<'a, T>(Waiting<Notified<'a, T>>);

impl<T> Future for NotifiedFuture<'_, T> {
    type Output = T;
    /// Polled again after it was ready, it waits for the next notification.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // SAFETY: pinned with the whole.
        let mut waiting = unsafe { self.map_unchecked_mut(|this| &mut this.0) };
        ready!(waiting.as_mut().poll(cx));
        // SAFETY: ready, which is after a wait; taken once.
        Poll::Ready(unsafe { (*waiting.slot()).value.as_ptr().read() })
    }
}

/// What [`Condition::wait_with_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct NotifiedWithFuture<'m, 'c, U: ?Sized, T>
where
    'm: 'c,
{
    /// Until `waiting` has unlocked it.
    guard: ManuallyDrop<MutexGuard<'m, U>>,
    waiting: Waiting<Notified<'c, T>>,
    /// What came, until the lock is taken.
    got: Option<(T, bool)>,
    lock: LockFuture<'m, U>,
    /// It was ready: the lock is another guard's.
    done: bool,
}

impl<'m: 'c, 'c, U: ?Sized, T> NotifiedWithFuture<'m, 'c, U, T> {
    fn new(notified: Notified<'c, T>, guard: MutexGuard<'m, U>) -> Self {
        let mutex = guard.mutex;
        let waiting = Waiting::new(notified);
        NotifiedWithFuture {
            guard: ManuallyDrop::new(guard),
            waiting,
            got: None,
            lock: mutex.lock_async(),
            done: false,
        }
    }
}

impl<'m, U: ?Sized, T> Future for NotifiedWithFuture<'m, '_, U, T> {
    type Output = LockResult<(MutexGuard<'m, U>, T)>;

    /// # Panics
    /// If polled again after it was ready.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: what is pinned stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        // A second wait would give back the lock, which is the guard's that came of the first.
        assert!(!this.done, "a wait with a lock that was ready is polled again");
        if this.got.is_none() {
            // SAFETY: pinned with the whole; ready, which is after a wait; taken once.
            unsafe {
                ready!(Pin::new_unchecked(&mut this.waiting).poll(cx));
                let slot = this.waiting.slot();
                this.got = Some(((*slot).value.as_ptr().read(), (*slot).generation == ALONE));
            }
        }
        // SAFETY: pinned with the whole.
        let locked = ready!(unsafe { Pin::new_unchecked(&mut this.lock) }.poll(cx));
        this.done = true;
        let value = notified(this.got.take().map(|(value, _)| value));
        Poll::Ready(match locked {
            Ok(guard) => Ok((guard, value)),
            Err(error) => Err(PoisonError::new((error.into_inner(), value))),
        })
    }
}

impl<U: ?Sized, T> Drop for NotifiedWithFuture<'_, '_, U, T> {
    fn drop(&mut self) {
        if !self.waiting.op().unlocked {
            // SAFETY: never polled: the lock is held, and dropped once.
            unsafe { ManuallyDrop::drop(&mut self.guard) };
        }
        if let Some((value, true)) = self.got.take() {
            // Nobody else waits: dropped.
            _ = self.waiting.op().condition.notify_one(value);
        }
    }
}

impl<T> Default for Condition<T> {
    fn default() -> Self {
        Condition::new()
    }
}

impl<T> fmt::Debug for Condition<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Condition { .. }")
    }
}
impl<T> fmt::Debug for First<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("First(..)")
    }
}
impl<T> fmt::Debug for NotifiedFuture<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotifiedFuture(..)")
    }
}
impl<U: ?Sized, T> fmt::Debug for NotifiedWithFuture<'_, '_, U, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NotifiedWithFuture(..)")
    }
}
