//! Pools: the sets of workers of one runtime.
//!
//! ```text
//!  Runtime ──> pool `default` ─┬─ runtime_pools: [("default", pool), ("interactive", pool), ..]
//!                             └─ main_pool of each: the pool `default`
//! ```
//! A pool has workers of its own, with their queues, sleepers and spares. No worker takes work of
//! another pool, for that is what a pool is for. Waiting, waking, channels and locks know
//! nothing of pools: a wake goes to the home of the one who waits, wherever that is. What the pools
//! have in common: they start together, end together (a shutdown waits until *no* pool has a task
//! left, because a task of one may spawn into another), and have one clock.
//!
//! **Rejected.** Pools inside a pool, as sets of workers that may not steal from each other: each
//! search, each wake and each request for work would have to ask which pool it is for. To lend
//! workers to a busy pool: then one that is to answer at once is in the middle of somebody else's
//! task.

use super::global;
use super::shutdown::shutdown;
use crate::sched::borrower;
use crate::sched::pool::{Config, Handle, Origin, Pool, RuntimePools};
use crate::sched::rescue::monitor;
use crate::sched::worker;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

/// The name of the pool of the main workers.
pub(super) const DEFAULT: &str = "default";

/// Starts a runtime of these pools, the default one first; returns its pool.
pub(super) fn start(configs: Vec<(Arc<str>, Config)>) -> io::Result<&'static Pool> {
    let mut pools: Vec<(Arc<str>, &'static Pool)> = Vec::new();
    for (name, config) in configs {
        match Pool::take(config) {
            Ok(pool) => pools.push((name, pool)),
            Err(error) => {
                pools.iter().for_each(|pool| pool.1.give_back());
                return Err(error);
            }
        }
    }
    let main_pool = pools[0].1;
    let runtime_pools =
        Arc::new(RuntimePools(pools.into_iter().map(|(name, pool)| (name, Handle::of(pool))).collect()));
    let pools = runtime_pools.pools();
    pools.iter().for_each(|pool| pool.join_family(main_pool, runtime_pools.clone()));
    for (i, ((name, _), &pool)) in runtime_pools.0.iter().zip(&pools).enumerate() {
        if let Err(error) = pool.start() {
            // It has ended itself. No task has begun anywhere: nobody has a handle yet.
            pools[i + 1..].iter().for_each(|pool| pool.give_back());
            for &started in &pools[..i] {
                started.join_family(started, Arc::new(RuntimePools(Box::new([(DEFAULT.into(), Handle::of(started))]))));
                drop(shutdown(started, Duration::ZERO));
            }
            return Err(match i {
                0 => error,
                _ => io::Error::new(error.kind(), format!("pool '{name}': {error}")),
            });
        }
    }
    pools.iter().for_each(|pool| monitor::watch(pool));
    Ok(main_pool)
}

/// The pool of the calling task; the global runtime's for others.
pub fn here() -> Handle {
    inside().unwrap_or_else(|| Handle::of(global::own_pool()))
}

/// The pool of the calling task, which may have a thread of its own.
pub(crate) fn inside() -> Option<Handle> {
    worker::current().map_or_else(borrower::home, |w| Some(Handle::of(w.pool)))
}

impl Handle {
    /// The pool of this name in the same runtime.
    ///
    /// # Panics
    /// If there is none.
    #[track_caller]
    pub(crate) fn expect_pool(self, name: &str) -> Handle {
        match self.pool(name) {
            Ok(pool) => pool,
            Err(error) => panic!("{error}"),
        }
    }

    /// Who the caller is to this pool: a task of the same runtime may spawn until the very end.
    pub(crate) fn origin(self) -> Origin {
        let term = self.term();
        match inside() {
            Some(mine) if mine.is_of_now() && mine.inner().is_of_same_runtime(self.inner()) => {
                Origin::SameRuntime(term)
            }
            _ => Origin::Outside(term),
        }
    }
}

impl Pool {
    /// The same, for a caller who knows that the runtime has not ended.
    pub(crate) fn origin(&'static self) -> Origin {
        Handle::of(self).origin()
    }
}

/// There is no pool of this name: see [`Handle::pool`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoPool {
    asked: String,
    there: Vec<String>,
}

impl NoPool {
    /// The pools that there are; none if the runtime has ended and no task of it is left.
    pub fn pools(&self) -> &[String] {
        &self.there
    }
}

impl fmt::Display for NoPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.there.is_empty() {
            return write!(f, "this runtime has no pool '{}' any more: it has ended", self.asked);
        }
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
    /// The pool of this name in the same runtime. Its handle spawns there without looking for the
    /// name again.
    ///
    /// # Errors
    /// There is none; the message names those that there are. A library that wants one pool if its
    /// user has made it says `handle.pool("interactive").unwrap_or(handle)`.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(2).pool("interactive", 1).build()?;
    /// let interactive = rt.handle().pool("interactive").unwrap();
    /// assert_eq!(interactive.spawn(|| 6 * 7).join().unwrap(), 42);
    /// assert!(rt.handle().pool("inactive").unwrap_err().to_string().contains("'default', 'interactive'"));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn pool(&self, name: &str) -> Result<Handle, NoPool> {
        let runtime_pools = self.inner().runtime_pools();
        let there = if runtime_pools.index_of(*self).is_some() { &runtime_pools.0[..] } else { &[] };
        let found = there.iter().find(|pool| &*pool.0 == name);
        found
            .map(|pool| pool.1)
            .ok_or_else(|| NoPool { asked: name.into(), there: there.iter().map(|pool| pool.0.to_string()).collect() })
    }

    /// All pools of the same runtime, `default` first. (Once that has ended, and no task of it is
    /// left: this one alone.)
    pub fn pools(&self) -> Vec<Handle> {
        let runtime_pools = self.inner().runtime_pools();
        runtime_pools
            .index_of(*self)
            .map_or_else(|| vec![*self], |_| runtime_pools.0.iter().map(|pool| pool.1).collect())
    }

    /// The name of the pool that it spawns into: `default` for the main workers.
    pub fn pool_name(&self) -> Arc<str> {
        let runtime_pools = self.inner().runtime_pools();
        runtime_pools.index_of(*self).map_or_else(|| DEFAULT.into(), |i| runtime_pools.0[i].0.clone())
    }

    /// How many workers that pool has.
    pub fn workers(&self) -> usize {
        self.inner().regular_workers().len()
    }
}
