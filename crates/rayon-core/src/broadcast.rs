//! Once on every worker.

use crate::own::latch::{Countdown, Latch};
use crate::own::worker::Call;
use crate::pool::Pool;
use crate::unwind::{self, Payload};
use crate::user_code;
use myriad_base::sys::mutex::Mutex;
use std::fmt;
use std::marker::PhantomData;

/// Calls `op` once on every worker of the caller's pool (on other threads: the global one), and
/// returns the results in the order of the workers' numbers.
///
/// A worker that is busy comes to it when it has run what it has queued itself; one that sleeps is
/// woken.
///
/// # Blocking
/// Until all calls have ended: a task of Myriad is set aside; a worker of a pool with own threads
/// runs other jobs; a thread sleeps.
///
/// # Panics
/// If a call panics, after all have ended: the panic of the one with the lowest number goes on.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
/// let calls = AtomicUsize::new(0);
/// let squares = rayon_core::broadcast(|worker| {
///     calls.fetch_add(1, Relaxed);
///     worker.index() * worker.index()
/// });
/// assert_eq!(calls.into_inner(), rayon_core::current_num_threads());
/// assert_eq!(squares[0], 0);
/// ```
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    Pool::current().broadcast(op)
}

/// As [`broadcast`], but nobody waits for the calls. They end at some time.
///
/// # Blocking
/// Never blocks.
///
/// # Panics
/// A panic of a call goes to the pool's [`panic_handler`](crate::ThreadPoolBuilder::panic_handler);
/// without one the process aborts.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    Pool::current().spawn_broadcast(op);
}

/// What a call of a broadcast is told.
pub struct BroadcastContext<'a> {
    index: usize,
    threads: usize,
    /// It is of the worker's own thread.
    worker: PhantomData<&'a mut dyn Fn()>,
}

impl BroadcastContext<'_> {
    pub(crate) fn new(index: usize, threads: usize) -> Self {
        BroadcastContext { index, threads, worker: PhantomData }
    }

    /// The number of the worker that it runs on.
    #[inline]
    pub fn index(&self) -> usize {
        self.index
    }

    /// How many calls there are.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.threads
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext").field("index", &self.index).field("num_threads", &self.threads).finish()
    }
}

/// Counts down when it goes, called or not: a runtime that is shut down drops what it has not
/// begun.
struct Down<'a>(&'a Countdown);

impl Drop for Down<'_> {
    fn drop(&mut self) {
        // SAFETY: once for each call; the countdown stands until the last.
        unsafe { Countdown::down(self.0) };
    }
}

/// Makes `n` calls of `f` for `start`, each of which is called or dropped somewhere; waits for all,
/// and gathers the results.
pub(crate) fn gather<F, R>(n: usize, latch: Latch, f: F, start: impl FnOnce(Vec<Call<'static>>)) -> Vec<R>
where
    F: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let slots: Vec<Mutex<Option<Result<R, Payload>>>> = (0..n).map(|_| Mutex::default()).collect();
    let countdown = Countdown::new(n, latch);
    let (f, slot, down) = (&f, &slots, &countdown);
    let call = |index| -> Call<'_> {
        let down = Down(down);
        Box::new(move || {
            let result = user_code::body(|| f(BroadcastContext::new(index, n)));
            // (There was none before: nothing of the user's is dropped under the lock.)
            *slot[index].lock() = Some(result);
            drop(down);
        })
    };
    // SAFETY: what they borrow stands until each has counted down, which is the last that it does.
    let calls = (0..n).map(|i| unsafe { std::mem::transmute::<Call<'_>, Call<'static>>(call(i)) }).collect();
    unwind::never_left("a broadcast", || {
        start(calls);
        countdown.wait();
    });
    let (mut all, mut first, mut uncalled) = (Vec::with_capacity(n), None, false);
    for slot in slots {
        match slot.into_inner() {
            Some(Ok(value)) => all.push(value),
            Some(Err(payload)) if first.is_none() => first = Some(payload),
            Some(Err(payload)) => user_code::discard(payload),
            None => uncalled = true,
        }
    }
    if first.is_none() && !uncalled {
        return all;
    }
    // Not while this thread panics.
    all.into_iter().for_each(user_code::let_go);
    match first {
        Some(payload) => unwind::resume(payload),
        None => panic!("the runtime was shut down before this call of a broadcast could start"),
    }
}
