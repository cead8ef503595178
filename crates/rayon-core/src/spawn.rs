//! Jobs that nobody waits for.

use crate::pool::Pool;

/// Starts a job in the caller's pool (on other threads: the global one), and does not wait for it.
///
/// What a worker has spawned it runs newest first, if nobody takes it; from other threads it is
/// first come, first served.
///
/// # Blocking
/// Never blocks. On Myriad's workers the job may block, as any task.
///
/// # Panics
/// A panic of the job goes to the pool's
/// [`panic_handler`](crate::ThreadPoolBuilder::panic_handler); without one the process aborts.
///
/// # Examples
/// ```
/// let (tx, rx) = std::sync::mpsc::channel();
/// rayon_core::spawn(move || tx.send(6 * 7).unwrap());
/// assert_eq!(rx.recv(), Ok(42));
/// ```
pub fn spawn<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    Pool::current().spawn(func);
}

/// As [`spawn`], but what a worker has spawned so it runs oldest first.
///
/// # Blocking
/// As [`spawn`].
///
/// # Panics
/// As [`spawn`].
pub fn spawn_fifo<F>(func: F)
where
    F: FnOnce() + Send + 'static,
{
    Pool::current().spawn_fifo(func);
}
