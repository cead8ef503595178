//! A value for each worker.
//!
//! **Why it is lent for a call, and not named by the worker.** A body that waits in `with` has the
//! value, and its worker begins another body, which gets another value. In threads mode the worker
//! goes on on another OS thread meanwhile; so a value that is not `Send` could not be the worker's
//! in either mode, if a program is to mean the same in both.
//!
//! **Why not a [`sync::Pool`](myriad_sync::shared::Pool).** A pool drops an object that comes back
//! while its part of the pool is locked. Here values are results.

use crate::one_by_one::OneByOne;
use myriad_base::sys::mutex::Mutex;
use myriad_core::engine::guest;
use std::fmt;

/// A value for each worker that asks for one: sums, tables and buffers of nodes that run in
/// parallel, without a lock around the work.
///
/// [`with`](Self::with) lends the value of the calling worker, which the first call makes.
/// [`take_all`](Self::take_all) collects the values in the end. A value that is in use is nobody
/// else's: if the call waits, and its worker comes here again meanwhile, the worker gets another
/// value. So each worker has as many values as it has had calls at the same time: one, if calls do
/// not wait. (All foreign threads are one worker, here.)
///
/// For *one* value that all nodes change, one after the other, there is
/// [`Mutex`](myriad_sync::lock::Mutex), which may be held over a wait; or a
/// [`Group`](myriad_core::task::Group), whose state never leaves its worker.
///
/// # Examples
/// ```
/// use myriad::flow::{self, PerWorker};
/// use std::{collections::HashMap, sync::Arc};
/// let counts = Arc::new(PerWorker::new(HashMap::<char, u32>::new));
/// let nodes = ["to be", "or not", "to be"].map(|text| {
///     let counts = counts.clone();
///     flow::spawn(move || counts.with(|counts| text.chars().for_each(|c| *counts.entry(c).or_default() += 1)), ())
/// });
/// flow::all(nodes.into()).join()?;
/// let total: u32 = counts.take_all().iter().filter_map(|counts| counts.get(&'o')).sum();
/// assert_eq!(total, 4);
/// # Ok::<(), flow::NodeError>(())
/// ```
#[doc(alias = "shard")]
#[doc(alias = "thread_local")]
pub struct PerWorker<T> {
    /// Not in use, each with the worker that has used it. No user code runs under the lock.
    idle: Mutex<OneByOne<(Option<usize>, T)>>,
    make: Box<dyn Fn() -> T + Send + Sync>,
}

impl<T: Send> PerWorker<T> {
    /// Values that are made so, when they are needed.
    pub fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Self {
        PerWorker { idle: Mutex::default(), make: Box::new(make) }
    }

    /// Lends the calling worker's value to `f`.
    ///
    /// # Blocking
    /// Never for a value.
    ///
    /// # Panics
    /// If `f` does, or making a value. The value stays, as `f` has left it.
    ///
    /// # Cancellation
    /// As a panic.
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        let worker = guest::worker().map(|worker| worker.index());
        let mine = {
            let mut idle = self.idle.lock();
            let at = idle.iter().position(|(last, _)| *last == worker);
            at.map(|at| idle.swap_remove(at).1)
        };
        let mut lent = LentValue { value: Some(mine.unwrap_or_else(&self.make)), of: self, worker };
        f(lent.value.as_mut().expect("there until it is dropped"))
    }

    /// All values that are not in use now: all, when the nodes that use them have ended. Later
    /// calls make new ones.
    pub fn take_all(&self) -> Vec<T> {
        let all = std::mem::take(&mut *self.idle.lock());
        all.into_inner().into_iter().map(|(_, value)| value).collect()
    }
}

/// A value in use. It comes back, whatever happens.
struct LentValue<'a, T> {
    /// There until it is dropped.
    value: Option<T>,
    of: &'a PerWorker<T>,
    worker: Option<usize>,
}

impl<T> Drop for LentValue<'_, T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            self.of.idle.lock().push((self.worker, value));
        }
    }
}

impl<T> fmt::Debug for PerWorker<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerWorker").field("idle", &self.idle.lock().len()).finish_non_exhaustive()
    }
}
