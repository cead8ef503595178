//! Computations: calls that keep a processor busy for long.

use super::future::{self, Blocking};
use crate::sched::calls::COMPUTE;

/// Calls `f`, a long computation, on a thread where nobody waits behind it, and returns its result.
///
/// A task that computes and never waits keeps its worker. Others take over the worker's tasks that
/// have not begun, its futures and its timers; but what is *blocked* there waits, in fiber mode to
/// the end, in threads mode until the worker is found to be stuck. From some milliseconds on it is
/// better to compute elsewhere: the task is set aside meanwhile, its worker goes on, and the system
/// shares the processors out among workers and computations. `f` may borrow from the caller, which
/// does not go on before it has ended.
///
/// As many computations as there are processors run at the same time; others wait for their turn,
/// in order.
///
/// | | for | threads | how many at a time |
/// |---|---|---|---|
/// | [`spawn`](crate::spawn), [`join`](crate::join) | parts of some milliseconds | the workers | all workers |
/// | `compute` | one long computation that does not wait | a pool for all runtimes | as many as processors |
/// | [`blocking`](crate::blocking) | a call that waits in the system, or for a foreign lock | another pool | 512 |
/// | [`task::dedicated`](crate::task::dedicated) | what keeps a thread for long | one for each task | no limit |
///
/// It is still the caller that runs: `f` sees the task's own number and name
/// ([`task::current`](crate::task::current)), task-locals, scoped values and random numbers, and
/// what it spawns goes to the task's own runtime and pool. A call costs some ten microseconds. On a
/// foreign thread `f` is simply called, also within another computation; so it is if the system has
/// no thread, or no memory for the stack on which the worker would go on meanwhile.
///
/// # Blocking
/// Until `f` has ended; the calling task is set aside. If `f` itself waits for something of this
/// library, it waits as a thread does, and another computation has its turn meanwhile: so
/// computations may wait for each other. (Of other waits nobody knows: for these there is
/// `blocking`.)
///
/// # Panics
/// If `f` panics, its panic goes on here.
///
/// # Examples
/// ```
/// let numbers: Vec<u64> = (0..1000).collect();
/// let sum = myriad::run(|| myriad::compute(|| numbers.iter().map(|n| n * n).sum::<u64>()));
/// assert_eq!(sum, 332_833_500);
/// ```
#[doc(alias = "spawn_blocking")]
pub fn compute<F, T>(f: F) -> T
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    super::call_on(&COMPUTE, f)
}

/// Calls `f`, a long computation, on a thread of the same pool as [`compute`], when it has its
/// turn, and returns its result as a future.
///
/// The call inherits scoped values and random numbers like a task that is spawned, and its
/// task-locals are its own. It is no task; what it spawns goes to the runtime and pool of the
/// caller. If the system has no thread for the pool, the call is made here, before this returns.
///
/// # Blocking
/// Never blocks otherwise. The future is woken when `f` has ended.
///
/// # Panics
/// If `f` panics, its panic goes on where the future is polled.
///
/// # Examples
/// ```
/// let sum = myriad::block_on(async { myriad::compute_async(|| (1..=10).sum::<u32>()).await });
/// assert_eq!(sum, 55);
/// ```
pub fn compute_async<F, T>(f: F) -> Blocking<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    future::begin_on(&COMPUTE, f)
}
