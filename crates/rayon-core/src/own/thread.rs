//! The threads of an own pool: started, run, ended.

use super::job::Job;
use super::registry::{Handlers, Registry};
use super::worker::{Former, Worker};
use crate::unwind;
use crossbeam_deque::Worker as Deque;
use myriad_base::sys::passing::passing;
use myriad_core::cancel;
use myriad_core::engine::guest;
use std::fmt;
use std::io;
use std::sync::Arc;

/// A thread that a pool wants to have: given to a
/// [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler), which starts a thread, in whatever
/// way, and has it call [`run`](Self::run).
pub struct ThreadBuilder {
    name: Option<String>,
    stack_size: Option<usize>,
    deque: Deque<Job>,
    registry: Arc<Registry>,
    index: usize,
}

impl ThreadBuilder {
    /// The thread's number in its pool, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What it should be called, if the pool's builder was told.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The bytes of stack that it should have, if the pool's builder was told.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool on the calling thread, until the pool ends. In a job of another pool with
    /// own threads, that thread is lent so long: the other pool has one less.
    ///
    /// # Blocking
    /// Until the pool was dropped and all jobs that nobody waits for have ended.
    ///
    /// # Panics
    /// In a task of Myriad, and so in a job of the global pool: such a pool has to have threads,
    /// which tasks are not. Not because of a job.
    pub fn run(self) {
        if guest::worker().is_some() {
            panic!(
                "rayon (on Myriad): `ThreadBuilder::run` was called in a task of Myriad, or in a job of rayon's global pool, which is \
                 no thread for a pool of its own: call it on a thread, for instance by `std::thread::spawn(|| thread.run())`, or, in \
                 a task, by `myriad::blocking(|| thread.run())`"
            );
        }
        let ThreadBuilder { deque, registry, index, .. } = self;
        let w = Worker::new(deque, registry, index);
        let registry = &*w.registry;
        // SAFETY: it stands until `leave` below, and nothing unwinds in between.
        let former = unsafe { w.enter() };
        unwind::never_left("a pool's thread", || {
            // Whatever limits the caller has set for itself are not the pool's: see
            // `Worker::work_until`.
            cancel::shield(|| {
                registry.call_start_handler(index);
                w.work_until(|| registry.is_over());
                registry.call_exit_handler(index);
            });
        });
        // Perhaps the caller is a job of another pool: then the thread is that one's worker again.
        Worker::leave(former);
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ThreadBuilder { name, stack_size, index, registry, .. } = self;
        f.debug_struct("ThreadBuilder")
            .field("pool", &Arc::as_ptr(registry))
            .field("index", index)
            .field("name", name)
            .field("stack_size", stack_size)
            .finish()
    }
}

/// How a pool's threads are started. Not to be implemented, or called, outside.
pub trait ThreadSpawn {
    /// Starts one.
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
    /// Is it the usual way?
    #[doc(hidden)]
    fn is_usual(&self) -> bool {
        false
    }
}

/// Threads are std's.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let mut builder = std::thread::Builder::new();
        if let Some(name) = thread.name() {
            builder = builder.name(name.to_owned());
        }
        if let Some(bytes) = thread.stack_size() {
            builder = builder.stack_size(bytes);
        }
        builder.spawn(passing(|| thread.run())).map(drop)
    }
    fn is_usual(&self) -> bool {
        true
    }
}

/// Threads are started by a function of the user.
pub struct CustomSpawn<F>(pub(crate) F);

impl<F> fmt::Debug for CustomSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomSpawn(..)")
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// What a pool is to be like.
pub(crate) struct Plan<'a> {
    pub(crate) threads: usize,
    pub(crate) stack_size: Option<usize>,
    pub(crate) name: Option<&'a mut dyn FnMut(usize) -> String>,
    /// The caller is the first of the threads, for ever.
    pub(crate) with_caller: bool,
    pub(crate) handlers: Handlers,
}

/// Ends the pool, unless it has come about.
struct EndUnlessStarted<'a> {
    registry: &'a Registry,
    /// The caller is the first of the threads, and was this one's worker before.
    former: Option<Former>,
}

impl Drop for EndUnlessStarted<'_> {
    fn drop(&mut self) {
        if let Some(former) = self.former.take() {
            Worker::leave(former);
        }
        self.registry.release();
    }
}

/// Starts a pool of own threads, with one keeper: the caller's.
pub(crate) fn start(mut plan: Plan<'_>, spawn: &mut impl ThreadSpawn) -> io::Result<Arc<Registry>> {
    let deques: Vec<Deque<Job>> = (0..plan.threads).map(|_| Deque::new_lifo()).collect();
    let stealers = deques.iter().map(Deque::stealer).collect();
    let registry = Arc::new(Registry::new(stealers, plan.handlers));
    // Those that have been started end if another one fails to, or if the user's functions panic.
    let mut end = EndUnlessStarted { registry: &registry, former: None };
    for (index, deque) in deques.into_iter().enumerate() {
        if index == 0 && plan.with_caller {
            let w = Box::leak(Box::new(Worker::new(deque, registry.clone(), 0)));
            // SAFETY: leaked.
            end.former = Some(unsafe { w.enter() });
            continue;
        }
        let name = plan.name.as_mut().map(|name| name(index));
        let thread = ThreadBuilder { name, stack_size: plan.stack_size, deque, registry: registry.clone(), index };
        spawn.spawn(thread)?;
    }
    std::mem::forget(end);
    Ok(registry)
}
