//! Calling a function later, unless told otherwise.
//!
//! A timer that is set is a future that sleeps, then calls the function. To stop it is to cancel
//! that future; to set it anew is to begin another one. Which one counts says a number under the
//! lock: so one that is woken just when it is stopped finds out before it calls.

use myriad_base::sys::mutex::{Mutex, MutexGuard};
use myriad_core::engine::{home, now_of};
use myriad_core::time::{Instant, sleep_until_async};
use myriad_core::{Handle, JoinHandle};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Calls `f` when this much time has passed, in a task of its own, in the pool of the caller (on
/// the global runtime if that is a foreign thread).
///
/// `f` is called at most once for this and for each [`reset`](Timer::reset), may block, and may
/// stop or set its own timer. Dropping the [`Timer`] changes nothing: the call comes.
///
/// # Blocking
/// Never.
///
/// # Panics
/// A panic of `f` is that of a detached task: it is reported, and the timer can be set again.
///
/// # Cancellation
/// A runtime that is shut down calls nothing more.
///
/// # Examples
/// ```
/// use myriad::time::sleep;
/// use myriad::time::call_later;
/// use std::sync::atomic::{AtomicBool, Ordering::*};
/// use std::{sync::Arc, time::Duration};
///
/// let late = Arc::new(AtomicBool::new(false));
/// let alarm = late.clone();
/// let timer = call_later(Duration::from_secs(60), move || alarm.store(true, Release));
/// sleep(Duration::from_millis(1));                         // the work that has a minute
/// assert!(timer.stop());
/// assert!(!late.load(Acquire));
/// ```
#[doc(alias = "AfterFunc")]
#[doc(alias = "setTimeout")]
#[track_caller]
pub fn call_later(after: Duration, f: impl Fn() + Send + Sync + 'static) -> Timer {
    let state = Mutex::new(TimerState { set: 0, pending: None });
    let shared = Arc::new(Shared { f: Box::new(f), pool: home(), state });
    shared.locked().set(&shared, after);
    Timer { shared }
}

/// A function that is called later: see [`call_later`].
#[derive(Clone)]
pub struct Timer {
    shared: Arc<Shared>,
}

struct Shared {
    f: Box<dyn Fn() + Send + Sync>,
    /// Where it is called, and whose clock counts.
    pool: Handle,
    state: Mutex<TimerState>,
}

struct TimerState {
    /// How often it was set.
    set: u64,
    pending: Option<Pending>,
}

struct Pending {
    number: u64,
    deadline: Instant,
    task: JoinHandle<()>,
}

impl Timer {
    /// Prevents the call. False: it was not pending, for it was stopped before, or the call has
    /// begun (and perhaps ended).
    ///
    /// # Blocking
    /// Never: not for a call that has begun either.
    pub fn stop(&self) -> bool {
        // The handle is dropped after the lock is free.
        let pending = self.shared.locked().pending.take();
        pending.is_some_and(|pending| {
            pending.task.cancel();
            true
        })
    }

    /// Sets it anew: the call comes when this much time has passed from now, and not before. True:
    /// it was pending.
    ///
    /// # Blocking
    /// Never.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let (tx, rx) = myriad::channel::unbounded();
    /// let timer = myriad::time::call_later(Duration::from_secs(3600), move || tx.send("late").unwrap());
    /// assert!(timer.reset(Duration::from_millis(1)), "it was pending");
    /// assert_eq!(rx.recv(), Ok("late"));
    /// ```
    #[track_caller]
    pub fn reset(&self, after: Duration) -> bool {
        let before = self.shared.locked().set(&self.shared, after);
        before.is_some_and(|pending| {
            pending.task.cancel();
            true
        })
    }

    /// When the call comes; `None` if it is not pending.
    pub fn deadline(&self) -> Option<Instant> {
        self.shared.locked().pending.as_ref().map(|pending| pending.deadline)
    }
}

impl Shared {
    fn locked(&self) -> MutexGuard<'_, TimerState> {
        // Under it a task is spawned and ended, by its number: that runs no user code. (A spawn has
        // no hooks, the policies are ours, and where it is refused nothing of the user's is
        // dropped: `f` belongs to `Shared`, which the caller has too.) It panics in a child of
        // `fork`, before anything but the count has changed: so the lock is taken as it is found.
        self.state.lock()
    }
}

impl TimerState {
    /// Begins another sleep. Returns the one before.
    #[track_caller]
    fn set(&mut self, shared: &Arc<Shared>, after: Duration) -> Option<Pending> {
        self.set += 1;
        let (number, pool) = (self.set, shared.pool);
        let deadline = now_of(pool) + after;
        let shared = shared.clone();
        let task = pool.spawn_async(async move {
            sleep_until_async(deadline).await;
            let fired = {
                let mut state = shared.locked();
                // Another number: it was set anew when this one had been woken already.
                let is_this = state.pending.as_ref().is_some_and(|pending| pending.number == number);
                if is_this { state.pending.take() } else { None }
            };
            // What fires is this task itself: without its handle it is detached, so a panic of `f`
            // is reported.
            if fired.is_some() {
                drop(fired);
                (shared.f)();
            }
        });
        self.pending.replace(Pending { number, deadline, task })
    }
}

impl fmt::Debug for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Timer").field("deadline", &self.deadline()).finish_non_exhaustive()
    }
}
