//! Pools: the sets of workers of one runtime.
//!
//! ```text
//!  Runtime ──> hub of `default` ─┬─ family: [("default", hub), ("interactive", hub), ..]
//!                                └─ lead of each: the hub of `default`
//! ```
//! A pool is a hub with workers of its own: its queues, its sleepers, its spares. No worker takes work of another pool, for
//! that is what a pool is for. Waiting, waking, channels and locks know nothing of pools: a wake goes to the home of the one who
//! waits, wherever that is. What the pools have in common: they start together, end together (a shutdown waits until *no* pool
//! has a task left, because a task of one may spawn into another), and have one clock.
//!
//! **Rejected.** Pools inside a crew, as sets of workers that may not steal from each other: each search, each wake and each
//! request for work would have to ask which pool it is for. To lend workers to a busy pool: then one that is to answer at once
//! is in the middle of somebody else's task.

use super::Handle;
use super::hub::{Comer, Config, Hub};
use super::shutdown::shutdown;
use super::{global, monitor};
use crate::sched::worker;
use crate::task::{JoinHandle, dedicated};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The name of the pool of the main workers.
pub(super) const DEFAULT: &str = "default";

/// The pools of a runtime, the default one first.
#[derive(Debug)]
pub(crate) struct Family(Box<[(Arc<str>, &'static Hub)]>);

impl Family {
    /// Of a hub that no runtime uses yet.
    pub(super) fn none() -> Family {
        Family(Box::new([]))
    }

    /// The hubs of all pools.
    pub(super) fn hubs(&self) -> Vec<&'static Hub> {
        self.0.iter().map(|pool| pool.1).collect()
    }

    fn find(&self, name: &str) -> Option<&'static Hub> {
        self.0.iter().find(|pool| &*pool.0 == name).map(|pool| pool.1)
    }

    fn name_of(&self, hub: &Hub) -> Arc<str> {
        self.0.iter().find(|pool| std::ptr::eq(pool.1, hub)).map_or_else(|| DEFAULT.into(), |pool| pool.0.clone())
    }
}

/// Starts a runtime of these pools, the default one first; returns its hub.
pub(super) fn start(configs: Vec<(Arc<str>, Config)>) -> io::Result<&'static Hub> {
    let mut pools: Vec<(Arc<str>, &'static Hub)> = Vec::new();
    for (name, config) in configs {
        match Hub::take(config) {
            Ok(hub) => pools.push((name, hub)),
            Err(error) => {
                pools.iter().for_each(|pool| pool.1.give_back());
                return Err(error);
            }
        }
    }
    let lead = pools[0].1;
    let family = Arc::new(Family(pools.into()));
    family.0.iter().for_each(|pool| pool.1.join_family(lead, family.clone()));
    for (i, (name, hub)) in family.0.iter().enumerate() {
        if let Err(error) = hub.start() {
            // It has ended itself. No task has begun anywhere: nobody has a handle yet.
            family.0[i + 1..].iter().for_each(|pool| pool.1.give_back());
            for (_, started) in &family.0[..i] {
                started.join_family(started, Arc::new(Family(Box::new([(DEFAULT.into(), *started)]))));
                drop(shutdown(started, Duration::ZERO));
            }
            return Err(match i {
                0 => error,
                _ => io::Error::new(error.kind(), format!("pool '{name}': {error}")),
            });
        }
    }
    family.0.iter().for_each(|pool| monitor::watch(pool.1));
    Ok(lead)
}

/// The hub of the calling task; the global runtime's for others.
pub(crate) fn here() -> &'static Hub {
    inside().unwrap_or_else(global::own_hub)
}

/// The hub of the calling task, which may have a thread of its own.
pub(crate) fn inside() -> Option<&'static Hub> {
    worker::current().map_or_else(dedicated::home, |w| Some(w.hub))
}

impl Hub {
    /// The pool of this name in the same runtime.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn pool(&self, name: &str) -> Result<&'static Hub, NoPool> {
        let family = self.family();
        family.find(name).ok_or_else(|| NoPool {
            asked: name.into(),
            there: family.0.iter().map(|pool| pool.0.to_string()).collect(),
        })
    }

    /// The same.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub(crate) fn expect_pool(&self, name: &str) -> &'static Hub {
        self.pool(name).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Who the caller is to this hub: a task of the same runtime may spawn until the very end.
    pub(crate) fn comer(&self) -> Comer {
        match inside() {
            Some(hub) if hub.is_of_same_runtime(self) => Comer::Sibling,
            _ => Comer::New,
        }
    }
}

/// There is no pool of this name: see [`Handle::pool`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPool {
    asked: String,
    there: Vec<String>,
}

impl NoPool {
    /// The pools that there are.
    pub fn pools(&self) -> &[String] {
        &self.there
    }
}

impl fmt::Display for NoPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there: Vec<String> = self.there.iter().map(|name| format!("'{name}'")).collect();
        write!(
            f,
            "this runtime has no pool '{0}'; it has {1}; pools are made with the runtime: `Builder::pool(\"{0}\", workers)`",
            self.asked,
            there.join(", ")
        )
    }
}

impl std::error::Error for NoPool {}

impl Handle {
    /// The pool of this name in the same runtime. Its handle spawns there without looking for the name again.
    ///
    /// # Errors
    /// There is none; the message names those that there are. A library that wants one pool if its user has made it says
    /// `handle.pool("interactive").unwrap_or(handle)`.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad_core::Builder::new().workers(2).pool("interactive", 1).build()?;
    /// let interactive = rt.handle().pool("interactive").unwrap();
    /// assert_eq!(interactive.spawn(|| 6 * 7).join().unwrap(), 42);
    /// assert!(rt.handle().pool("inactive").unwrap_err().to_string().contains("'default', 'interactive'"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn pool(&self, name: &str) -> Result<Handle, NoPool> {
        self.hub.pool(name).map(|hub| Handle { hub })
    }

    /// All pools of the same runtime, `default` first.
    pub fn pools(&self) -> Vec<Handle> {
        self.hub.family().hubs().into_iter().map(|hub| Handle { hub }).collect()
    }

    /// The name of the pool that it spawns into: `default` for the main workers.
    pub fn pool_name(&self) -> Arc<str> {
        self.hub.family().name_of(self.hub)
    }

    /// How many workers that pool has.
    pub fn workers(&self) -> usize {
        self.hub.workers().len()
    }
}

/// Starts a task in a pool of the runtime that the caller belongs to; as [`spawn`](fn@crate::spawn) otherwise.
///
/// `default` is the pool of the main workers; others are made by [`Builder::pool`](crate::Builder::pool). What the task spawns
/// stays in its pool, unless it says otherwise. A task of another pool is waited for like any other.
///
/// # Blocking
/// Never blocks.
///
/// # Panics
/// If the runtime has no pool of this name; the message names those that there are. (To ask, use [`Handle::pool`].)
///
/// # Examples
/// ```
/// let rt = myriad_core::Builder::new().workers(2).pool("interactive", 1).build()?;
/// rt.run(|| {
///     let answer = myriad_core::spawn_on("interactive", || 6 * 7);
///     assert_eq!(answer.join().unwrap(), 42);
/// });
/// # std::io::Result::Ok(())
/// ```
#[track_caller]
pub fn spawn_on<F, T>(pool: &str, f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    Handle { hub: here().expect_pool(pool) }.spawn(f)
}

/// Starts a task that drives a future in a pool of the runtime that the caller belongs to; as
/// [`spawn_async`](fn@crate::spawn_async) otherwise, and as [`spawn_on`]. The future stays in its pool.
///
/// # Panics
/// As [`spawn_on`].
///
/// # Examples
/// ```
/// let rt = myriad_core::Builder::new().workers(1).pool("interactive", 1).build()?;
/// let answer = rt.run(|| myriad_core::spawn_async_on("interactive", async { 6 * 7 }).join());
/// assert_eq!(answer.unwrap(), 42);
/// # std::io::Result::Ok(())
/// ```
#[track_caller]
pub fn spawn_async_on<F>(pool: &str, future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Handle { hub: here().expect_pool(pool) }.spawn_async(future)
}
