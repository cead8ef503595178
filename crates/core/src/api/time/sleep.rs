//! Sleeping: a task, a thread, a future.

use crate::queue::reason::WaitReason;
use crate::runtime::global;
use crate::sched::timers::{FIRE_SLEEP, Locked, SleepState};
use crate::sched::user_code::StoredWaker;
use crate::sched::wait::Caller;
use crate::sched::wait::Wait;
use crate::sched::worker::{self, Peer, Worker};
use myriad_base::sys::clock::{Instant, system_has_come, system_now};
use myriad_base::wheel::TimerNode;
use std::cell::{Cell, UnsafeCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// The current time: of the runtime's clock in a task, of the machine's elsewhere.
///
/// # Examples
/// ```
/// use myriad::time;
/// let began = time::now();
/// time::sleep(std::time::Duration::from_millis(1));
/// assert!(time::now() - began >= std::time::Duration::from_millis(1));
/// ```
pub fn now() -> Instant {
    worker::current().map_or_else(system_now, |w| w.pool.now())
}

/// Has this time come, by the clock of [`now`]? See [`Clock::has_come`].
///
/// [`Clock::has_come`]: myriad_base::sys::clock::Clock::has_come
#[inline]
fn has_come(w: Option<&Worker>, at: Instant) -> bool {
    w.map_or_else(|| system_has_come(at), |w| w.pool.clock.has_come(at))
}

/// Blocks the calling task, or foreign thread, for at least `duration`.
///
/// # Blocking
/// Until the time has passed. The worker runs other tasks meanwhile. An idle worker is late by some
/// 60 µs; one that computes is relieved of its timers by idle or spare ones, but in fiber mode a
/// *blocked closure* goes on only when its own worker is free.
///
/// # Panics
/// If there is no memory for a stack.
///
/// # Examples
/// ```
/// use std::time::Duration;
/// myriad::run(|| myriad::time::sleep(Duration::from_millis(1)));
/// ```
#[doc(alias = "delay")]
#[inline]
#[track_caller]
pub fn sleep(duration: Duration) {
    if duration.is_zero() {
        return crate::api::run::yield_now();
    }
    sleep_until(now() + duration);
}

/// Blocks the calling task, or foreign thread, until `deadline`.
///
/// # Blocking
/// As [`sleep`]. [`Instant::NEVER`] is never.
///
/// # Panics
/// If there is no memory for a stack.
///
/// # Examples
/// ```
/// use myriad::time;
/// let at = time::now() + std::time::Duration::from_millis(1);
/// time::sleep_until(at);
/// assert!(time::now() >= at);
/// ```
#[inline]
#[track_caller]
pub fn sleep_until(deadline: Instant) {
    if block_until(deadline) {
        Wait::unwind_cancelled();
    }
}

/// True: it was cancelled.
#[inline(never)]
#[track_caller]
fn block_until(deadline: Instant) -> bool {
    if has_come(worker::current().as_deref(), deadline) {
        return false;
    }
    let wait = Wait::timed(WaitReason::Sleep).cancellable();
    if let Err(error) = wait.prepare() {
        panic!("{error}");
    }
    // SAFETY: prepared; nobody else knows the wait, so only its timer ends it.
    unsafe { Wait::block_until(&raw const wait, deadline) };
    wait.was_cancelled()
}

/// A future that is ready after `duration`, counted from this call.
///
/// # Cancellation
/// Dropping it removes the timer.
///
/// # Examples
/// ```
/// let nap = myriad::spawn_async(async {
///     myriad::time::sleep_async(std::time::Duration::from_millis(1)).await;
///     "awake"
/// });
/// assert_eq!(nap.join().unwrap(), "awake");
/// ```
#[doc(alias = "sleep")]
#[doc(alias = "delay")]
pub fn sleep_async(duration: Duration) -> Sleep {
    sleep_until_async(now() + duration)
}

/// A future that is ready at `deadline`.
///
/// # Examples
/// ```
/// use myriad::time;
/// let at = time::now() + std::time::Duration::from_millis(1);
/// myriad::block_on(time::sleep_until_async(at));
/// assert!(time::now() >= at);
/// ```
#[doc(alias = "sleep_until")]
pub fn sleep_until_async(deadline: Instant) -> Sleep {
    Sleep {
        deadline,
        owner: None,
        state: SleepState {
            timer: UnsafeCell::new(TimerNode::new(std::ptr::null_mut(), FIRE_SLEEP)),
            waker: UnsafeCell::new(None),
            fired: Cell::new(false),
        },
    }
}

/// What [`sleep_async`] returns.
#[must_use = "futures do nothing unless awaited"]
pub struct Sleep {
    deadline: Instant,
    /// The worker in whose wheel the timer is.
    owner: Option<&'static Peer>,
    state: SleepState,
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").field("deadline", &self.deadline).finish_non_exhaustive()
    }
}

// SAFETY: timer and waker are touched under the lock of the owner's wheel, or by the future's
// holder before it is set.
unsafe impl Send for Sleep {}
// SAFETY: `&Sleep` gives access to the deadline only.
unsafe impl Sync for Sleep {}

impl Sleep {
    /// When it is ready.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    fn lock(&self) -> Option<Locked<'static>> {
        self.owner.map(|owner| owner.timers.lock(worker::current().as_deref()))
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out; the timer stays where it is.
        let this = unsafe { self.get_unchecked_mut() };
        // Cloned and dropped without the lock: wakers are user code.
        let mut waker = Some(StoredWaker::clone_of(cx.waker()));
        let discard = |waker: Option<StoredWaker>| waker.into_iter().for_each(StoredWaker::discard);
        if let (Some(owner), Some(locked)) = (this.owner, this.lock()) {
            // SAFETY: we have the lock of the owner's wheel, under which alone timer and flag
            // change.
            let (fired, nowhere) = unsafe { (this.state.fired.get(), (*this.state.timer.get()).is_nowhere()) };
            if fired || !nowhere && owner.pool.clock.has_come(this.deadline) {
                drop(locked);
                discard(waker);
                return Poll::Ready(());
            }
            if !nowhere {
                // SAFETY: we have the lock of the owner's wheel, under which alone others reach the
                // waker.
                unsafe { std::ptr::swap(this.state.waker.get(), &mut waker) };
                drop(locked);
                discard(waker);
                Caller::get().note_sleep();
                return Poll::Pending;
            }
            // Its runtime has ended: it goes on with this one.
        }
        this.owner = None;
        let me = worker::current();
        if has_come(me.as_deref(), this.deadline) {
            discard(waker);
            return Poll::Ready(());
        }
        let owner = me.as_ref().map_or_else(|| global::own_pool().regular_workers()[0], |w| w.as_static());
        this.owner = Some(owner);
        // SAFETY: the timer is in no wheel, so nobody but the future's holder reaches the state. (A
        // waker that was there was taken out with the timer.)
        unsafe {
            (*this.state.waker.get()) = waker.take();
            (*this.state.timer.get()).data = (&raw const this.state).cast_mut().cast();
        }
        let locked = owner.timers.lock_to_insert(me.as_deref());
        // SAFETY: the future is pinned, and its destructor removes the timer under this lock.
        let earliest = unsafe { locked.insert(this.state.timer.get(), this.deadline) };
        drop(locked);
        if earliest {
            owner.timers.announce(owner, this.deadline);
        }
        Caller::get().note_sleep();
        Poll::Pending
    }
}

impl Drop for Sleep {
    #[inline]
    fn drop(&mut self) {
        if let Some(locked) = self.lock() {
            // SAFETY: set in this wheel, or fired.
            unsafe { locked.remove(self.state.timer.get()) };
        }
        // Without the lock. Nobody else knows the state any more.
        self.state.waker.get_mut().take().into_iter().for_each(StoredWaker::discard);
    }
}
