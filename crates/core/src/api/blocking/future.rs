//! The same as a future.

use crate::runtime::pools;
use crate::sched::borrower::{Borrower, with_borrower};
use crate::sched::calls::CallJob;
use crate::sched::calls::{BLOCKING, ThreadPool};
use crate::sched::context::inherit::Inherited;
use crate::sched::unwind::{self, Payload};
use crate::sched::user_code::{StoredWaker, UserValue};
use crate::sched::wait::{Caller, WaitReason};
use myriad_base::sys::mutex::Mutex;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// The result of a call on another thread: see [`blocking_async`] and
/// [`compute_async`](super::compute_async). Dropping it does not stop the call; its result is then
/// dropped by the thread that made it.
#[must_use = "the call is made in any case, but only the future says when it has ended"]
pub struct Blocking<T>(Arc<SharedCall<T>>);

impl<T> fmt::Debug for Blocking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // (Held for some instructions: by a call that is about to end, or a poll.)
        let ended = self.0.0.try_lock().is_some_and(|state| !matches!(*state, AsyncCall::Running(_)));
        f.debug_struct("Blocking").field("ended", &ended).finish_non_exhaustive()
    }
}

/// No user code runs under it.
struct SharedCall<T>(Mutex<AsyncCall<T>>);

pub(crate) enum AsyncCall<T> {
    Running(Option<StoredWaker>),
    Ended(UserValue<Result<T, Payload>>),
    Taken,
}

/// Calls `f` on a thread of the same pool as [`blocking`](super::blocking), beginning now, and
/// returns its result as a future.
///
/// The call inherits scoped values and random numbers like a task that is spawned, and its
/// task-locals are its own. It is no task; what it spawns goes to the runtime and pool of the
/// caller.
///
/// If the system has no thread for the pool, the call is made here, before this returns.
///
/// # Blocking
/// Never blocks otherwise. The future is woken when `f` has ended.
///
/// # Panics
/// If `f` panics, its panic goes on where the future is polled.
///
/// # Examples
/// ```
/// let sum = myriad::block_on(async { myriad::blocking_async(|| (1..=10).sum::<u32>()).await });
/// assert_eq!(sum, 55);
/// ```
#[doc(alias = "spawn_blocking")]
#[doc(alias = "unblock")]
pub fn blocking_async<F, T>(f: F) -> Blocking<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    begin_on(&BLOCKING, f)
}

/// Begins a call on a thread of this pool.
pub(super) fn begin_on<F, T>(pool: &'static ThreadPool, f: F) -> Blocking<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let shared = Arc::new(SharedCall(Mutex::new(AsyncCall::Running(None))));
    let to = Borrower::to_pool(pools::inside());
    let data = Box::into_raw(Box::new((f, to, Inherited::new(None), shared.clone()))).cast();
    if let Err(job) = pool.submit(CallJob { run: run_boxed::<F, T>, data }) {
        job.run();
    }
    Blocking(shared)
}

/// # Safety
/// `data` came from `Box::into_raw` in [`begin_on`] with these types, and nobody else has it.
unsafe fn run_boxed<F: FnOnce() -> T, T>(data: *mut ()) {
    // SAFETY: `data` is the box that `begin_on` has made, and nobody else's (this function's
    // contract).
    let (f, to, inherited, shared) =
        *unsafe { Box::from_raw(data.cast::<(F, Borrower, Inherited, Arc<SharedCall<T>>)>()) };
    with_borrower(to, || {
        let result = inherited.run(f);
        let before = std::mem::replace(&mut *shared.0.lock(), AsyncCall::Ended(UserValue::new(result)));
        if let AsyncCall::Running(Some(waker)) = before {
            waker.wake();
        }
    });
}

impl<T> Future for Blocking<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        // Wakers are cloned and dropped without the lock: they are user code.
        let new = StoredWaker::clone_of(cx.waker());
        let mut state = self.0.0.lock();
        match &mut *state {
            AsyncCall::Running(waker) => {
                let old = waker.replace(new);
                drop(state);
                old.into_iter().for_each(StoredWaker::discard);
                Caller::get().note_await(WaitReason::Blocking, std::ptr::null());
                Poll::Pending
            }
            AsyncCall::Taken => {
                drop(state);
                new.discard();
                panic!("polled again after it was ready")
            }
            AsyncCall::Ended(_) => {
                let AsyncCall::Ended(result) = std::mem::replace(&mut *state, AsyncCall::Taken) else { unreachable!() };
                drop(state);
                new.discard();
                match result.give() {
                    Ok(value) => Poll::Ready(value),
                    Err(payload) => unwind::resume(payload),
                }
            }
        }
    }
}

impl<T> Drop for SharedCall<T> {
    fn drop(&mut self) {
        let state = self.0.get_mut();
        match std::mem::replace(state, AsyncCall::Taken) {
            AsyncCall::Running(waker) => waker.into_iter().for_each(StoredWaker::discard),
            // By the future, or, if that is gone, by the thread that has made the call.
            AsyncCall::Ended(result) => result.discard("the result of a call that nobody waits for"),
            AsyncCall::Taken => {}
        }
    }
}
