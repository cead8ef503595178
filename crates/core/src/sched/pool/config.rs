//! The settings of a pool: what the builder has checked, and who drops the user's functions among
//! them.

use super::Pool;
use crate::queue::policy::Policy;
use crate::queue::policy::scheduler::Hosted;
use crate::sched::rescue::stuck::OnStuck;
use crate::sched::unhandled::Unhandled;
use crate::sched::unwind;
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::sync::Arc;

/// The most spare workers of a runtime.
pub(crate) const MOST_SPARES: usize = 1024;

/// The settings of a runtime, as the builder has checked them.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// How many workers.
    pub workers: usize,
    /// Fiber mode?
    pub fibers: bool,
    /// Bytes.
    pub stack_size: usize,
    /// Stacks of one worker.
    pub max_stacks: usize,
    /// What threads are called.
    pub name: String,
    /// One core for each worker: which, if they are to be pinned.
    pub cpus: Option<Vec<usize>>,
    /// Else: what the threads are to be freed for, if the one that starts them may be pinned
    /// itself.
    pub roam: Option<Vec<usize>>,
    /// What becomes of the panic of a detached task.
    pub unhandled: Unhandled,
    /// Time stands still but for `Runtime::advance`.
    pub manual_clock: bool,
    /// Workers for when others are stuck, at most.
    pub spares: usize,
    /// Who is told when a worker is stuck.
    pub stuck: OnStuck,
    /// What a worker starts next.
    pub policy: Policy,
    /// The scheduler of [`Policy::Custom`].
    pub scheduler: Option<Arc<Hosted>>,
    /// Of each worker the others, the nearest first; `None` if all are equally near.
    pub nearest_first: Option<Box<[Box<[u16]>]>>,
    /// What happens with each of its threads.
    pub threads: ThreadHooks,
    /// Is it measured how long tasks wait until they run?
    pub latency: bool,
}

/// Called with the number of a worker.
pub(crate) type Hook = Arc<dyn Fn(usize) + Send + Sync>;

/// What the user wants to happen with each thread that runs tasks: see [`hooks`](super::hooks).
#[derive(Clone, Default)]
pub(crate) struct ThreadHooks {
    /// The name of a worker's threads.
    pub(crate) name: Option<Arc<dyn Fn(usize) -> String + Send + Sync>>,
    /// First on each thread.
    pub(crate) start: Option<Hook>,
    /// Last on each thread.
    pub(crate) end: Option<Hook>,
    /// They are those of the runtime that is to be the global one.
    pub(crate) global: bool,
}

impl fmt::Debug for ThreadHooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadHooks { name, start, end, global: _ } = self;
        write!(f, "ThreadHooks {{ name: {}, start: {}, end: {} }}", name.is_some(), start.is_some(), end.is_some())
    }
}

/// The settings in use: they stay while somebody looks at them, perhaps longer than their runtime.
///
/// Whoever lets go of them last drops the user's functions: the runtime that ends, or a thread that
/// has just asked for a name. That is user code, so it comes through the door, wherever it is.
#[derive(Debug)]
pub(crate) struct Settings(ManuallyDrop<Arc<Config>>);

impl Deref for Settings {
    type Target = Config;
    fn deref(&self) -> &Config {
        &self.0
    }
}

impl Drop for Settings {
    fn drop(&mut self) {
        // SAFETY: it is taken out of its place here alone, where nobody uses the place afterwards.
        let config = unsafe { ManuallyDrop::take(&mut self.0) };
        // Each by itself: destructors may panic.
        if let Some(Config { threads, stuck, unhandled, scheduler, .. }) = Arc::into_inner(config) {
            let ThreadHooks { name, start, end, .. } = threads;
            unwind::drop_quietly(name);
            unwind::drop_quietly(start);
            unwind::drop_quietly(end);
            unwind::drop_quietly(stuck);
            unwind::drop_quietly(unhandled);
            unwind::drop_quietly(scheduler);
        }
    }
}

impl Pool {
    /// The settings.
    pub(crate) fn config(&self) -> Settings {
        Settings(ManuallyDrop::new(self.config.lock().clone()))
    }

    pub(super) fn set_config(&self, config: Config) {
        let before = std::mem::replace(&mut *self.config.lock(), Arc::new(config));
        // Without the lock: what goes with it is user code.
        drop(Settings(ManuallyDrop::new(before)));
    }

    /// The runtime has ended: nobody calls the user's functions any more, and what they hold goes.
    pub(super) fn drop_hooks(&self) {
        let mut config = Config::clone(&self.config());
        config.unhandled = Unhandled::Report;
        config.stuck = OnStuck::Ignore;
        config.threads = ThreadHooks::default();
        config.scheduler = None;
        self.set_config(config);
        if let Some(table) = self.workers.table() {
            unwind::drop_quietly(table.set_scheduler(None));
        }
    }

    /// Does it say [hints](crate::sched::hints)? Waits for no lock: a task may be about to block.
    pub(crate) fn says_hints(&self) -> bool {
        self.config.try_lock().is_some_and(|config| matches!(config.unhandled, Unhandled::Report))
    }
}
