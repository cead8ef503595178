//! A pool for a new runtime: one that is free is made ready again, or a new one is made.

use super::config::MOST_SPARES;
use super::registry::{FREE, POOLS};
use super::{Config, Dedicated, Pool, RuntimePools, ShutdownDelays, Threads};
use crate::record::position;
use crate::sched::idle::Workers;
use crate::sched::latency::Latency;
use crate::sched::worker::{Peer, Worker};
use crate::sched::{fork, unwind};
use myriad_base::sys::atomic::Ordering::{Relaxed, Release};
use myriad_base::sys::clock::Clock;
use myriad_base::sys::mutex::{Condvar, Mutex};
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};
use std::sync::{Arc, OnceLock};

/// Numbers for so many new workers: the first one of them.
pub(super) fn home_numbers(fibers: bool, workers: usize) -> io::Result<u32> {
    if !fibers {
        return Ok(position::THREADS);
    }
    position::numbers(workers).ok_or_else(|| {
        io::Error::other(format!(
            "this process has made too many workers in fiber mode for {workers} more: workers are used again only by a runtime \
             with as many of them and the same policy, so give the runtimes that you build one after the other the same settings"
        ))
    })
}

impl Pool {
    /// May a runtime with these settings use this pool, which another one has used?
    fn suits(&self, config: &Config) -> bool {
        let measures = self.latency.is_some();
        let of_kind = (self.policy, self.fibers, measures) == (config.policy, config.fibers, config.latency);
        let nearest_first = config.nearest_first.as_deref();
        of_kind && self.workers.nearest_first() == nearest_first && self.regular_workers().len() == config.workers
    }

    /// A pool for a new runtime: an old one of its kind, or a new one.
    pub(crate) fn take(config: Config) -> io::Result<&'static Pool> {
        fork::watch();
        let pool = {
            let mut free = FREE.lock();
            match free.clean.iter().position(|pool| pool.suits(&config)) {
                Some(i) => free.clean.swap_remove(i),
                None => {
                    // (First, for a pool's number that is taken and not used is lost.)
                    let home_number = home_numbers(config.fibers, config.workers)?;
                    Pool::make(free.number()?, &config, home_number)
                }
            }
        };
        pool.begin_term();
        pool.is_here();
        pool.clock.begin(config.manual_clock);
        pool.latency.iter().for_each(Latency::restart);
        pool.gather.restart();
        pool.next_wake.store(u64::MAX, Relaxed);
        pool.takeovers.store(0, Relaxed);
        pool.any_stuck.store(false, Relaxed);
        pool.long_stuck.store(false, Relaxed);
        pool.has_guests.store(false, Relaxed);
        pool.rescue.store(false, Relaxed);
        // (Of the last runtime's: code that ended as a spare, which may not be a worker now.)
        pool.regular_workers().iter().for_each(|w| w.alone.store(0, Relaxed));
        pool.workers.begin(config.workers);
        if let Some(table) = pool.workers.table() {
            // (The one before has gone with its runtime.)
            unwind::drop_quietly(table.set_scheduler(config.scheduler.clone()));
        }
        pool.set_config(config);
        *pool.threads.lock() = Threads::default();
        Ok(pool)
    }

    fn make(number: u8, config: &Config, home_number: u32) -> &'static Pool {
        let pool: &'static Pool = Box::leak(Box::new(Pool {
            workers: Workers::default(),
            homes: AtomicUsize::new(0),
            era: AtomicU32::new(0),
            number,
            term: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            policy: config.policy,
            fibers: config.fibers,
            regular: OnceLock::new(),
            spares: Mutex::default(),
            takeovers: AtomicUsize::new(0),
            any_stuck: AtomicBool::new(false),
            long_stuck: AtomicBool::new(false),
            has_guests: AtomicBool::new(false),
            rescue: AtomicBool::new(false),
            config: Mutex::new(Arc::new(config.clone())),
            runtime_pools: Mutex::new(Arc::new(RuntimePools::none())),
            main_pool: AtomicPtr::new(null_mut()),
            injector: Mutex::default(),
            threads: Mutex::default(),
            changed: Condvar::new(),
            dedicated: Dedicated::default(),
            names: Mutex::default(),
            ids: Mutex::default(),
            latency: config.latency.then(Latency::default),
            clock: Clock::real(),
            next_wake: AtomicU64::new(u64::MAX),
            delays: ShutdownDelays::new(),
            gather: Default::default(),
            next_request: AtomicU64::new(0),
        }));
        if let Some(queues) = config.policy.queues(config.workers) {
            pool.workers.set_queues(queues);
        }
        if let Some(table) = pool.workers.table() {
            table.set_wake(|| pool.workers.scheduler_changed());
        }
        if let Some(order) = &config.nearest_first {
            pool.workers.set_nearest_first(order.clone());
        }
        let worker = |index| {
            let home_number = if config.fibers { home_number + index as u32 } else { home_number };
            Worker::make(pool, index, false, home_number)
        };
        let workers: Box<[&'static Peer]> = (0..config.workers).map(worker).collect();
        pool.workers.set_all(workers.iter().map(|w| &w.shared).collect(), MOST_SPARES);
        pool.regular.set(workers).expect("set once");
        POOLS[usize::from(number)].store(std::ptr::from_ref(pool).cast_mut(), Release);
        pool
    }
}
