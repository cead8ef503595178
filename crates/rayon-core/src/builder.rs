//! The settings of a pool.

use crate::own::registry::Handlers;
use crate::own::thread::{self, CustomSpawn, DefaultSpawn, Plan, ThreadSpawn};
use crate::own::worker::Worker;
use crate::pool::Pool;
use crate::thread_pool::max_num_threads;
use crate::unwind::Payload;
use crate::user_code::{self, PanicHandler};
use crate::{ThreadBuilder, ThreadPool, ThreadPoolBuildError, global};
use myriad_base::sys::passing::passing;
use myriad_core::engine::guest;
use std::any::Any;
use std::fmt;
use std::io;
use std::sync::Arc;

/// Myriad's stacks of threads are not smaller.
const LEAST_STACK: usize = 128 << 10;

/// The settings of a pool, in the end for [`build`](Self::build) or
/// [`build_global`](Self::build_global).
///
/// # Examples
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).thread_name(|i| format!("mill-{i}")).build()?;
/// let name = pool.install(|| std::thread::current().name().map(String::from));
/// assert!(name.unwrap().starts_with("mill-"));
/// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
/// ```
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    panic_handler: Option<Box<PanicHandler>>,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    start_handler: Option<Box<dyn Fn(usize) + Send + Sync>>,
    exit_handler: Option<Box<dyn Fn(usize) + Send + Sync>>,
    spawn: S,
    breadth_first: bool,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        ThreadPoolBuilder {
            num_threads: 0,
            use_current_thread: false,
            panic_handler: None,
            thread_name: None,
            stack_size: None,
            start_handler: None,
            exit_handler: None,
            spawn: DefaultSpawn,
            breadth_first: false,
        }
    }
}

/// How many threads the environment asks for; 0 if it does not.
pub(crate) fn threads_from_environment() -> usize {
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    match number("RAYON_NUM_THREADS") {
        // Said to be the default.
        Some(0) => 0,
        Some(n) => n.min(max_num_threads()),
        // The name of long ago.
        None => number("RAYON_RS_NUM_CPUS").unwrap_or(0).min(max_num_threads()),
    }
}

impl ThreadPoolBuilder {
    /// All as by default.
    pub fn new() -> Self {
        ThreadPoolBuilder::default()
    }

    /// Builds a pool whose threads live in a scope, so that what they do around
    /// [`ThreadBuilder::run`] may borrow from the caller; calls `with_pool`, and returns when all
    /// threads have ended.
    ///
    /// # Blocking
    /// Until `with_pool`, all jobs and all threads have ended.
    ///
    /// # Panics
    /// If `with_pool` or `wrapper` panics, after that.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Examples
    /// ```
    /// let greeting = String::from("hello");
    /// let length = rayon_core::ThreadPoolBuilder::new().num_threads(1).build_scoped(
    ///     |thread| {
    ///         assert_eq!(greeting, "hello"); // on each thread
    ///         thread.run()
    ///     },
    ///     |pool| pool.install(|| greeting.len()),
    /// )?;
    /// assert_eq!(length, 5);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        std::thread::scope(|scope| {
            let spawn = |thread: ThreadBuilder| {
                let mut builder = std::thread::Builder::new();
                if let Some(name) = thread.name() {
                    builder = builder.name(name.to_owned());
                }
                if let Some(bytes) = thread.stack_size() {
                    builder = builder.stack_size(bytes);
                }
                builder.spawn_scoped(scope, passing(move || wrapper(thread))).map(drop)
            };
            let pool = self.spawn_handler(spawn).build()?;
            // (The pool is dropped before the scope waits for the threads, also by a panic.)
            Ok(with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool with threads of its own. Dropping it ends them.
    ///
    /// # Blocking
    /// As long as it takes to start threads.
    ///
    /// # Panics
    /// If the function of [`thread_name`](Self::thread_name) or
    /// [`spawn_handler`](Self::spawn_handler) does; threads that have been started end.
    ///
    /// # Errors
    /// What the system says if a thread cannot be started; with
    /// [`use_current_thread`](Self::use_current_thread), if the caller is a worker already.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.start().map(ThreadPool::of)
    }

    /// Says what the global pool is to be like, before it is used.
    ///
    /// The global pool is Myriad's global runtime. If that does not run yet, it is started with so
    /// many workers, such stacks, names and handlers. If it runs, because tasks were spawned, or
    /// because `myriad::Builder::install` was called, which can ask for more, that is as good as
    /// long as nothing else was asked for here. With [`spawn_handler`](Self::spawn_handler) or
    /// [`use_current_thread`](Self::use_current_thread) the global pool gets threads of its own
    /// instead: these are promises about threads, which workers of Myriad cannot keep.
    ///
    /// # Blocking
    /// As [`build`](Self::build).
    ///
    /// # Panics
    /// As [`build`](Self::build).
    ///
    /// # Errors
    /// The global pool was built, or used, before; or Myriad's runtime runs, and is not what was
    /// asked for; else as [`build`](Self::build).
    pub fn build_global(mut self) -> Result<(), ThreadPoolBuildError> {
        if self.use_current_thread || !self.spawn.is_usual() {
            return global::make(None, || match self.start()? {
                Pool::Own(registry) => Ok(Some(registry)),
                Pool::Shared(_) => Ok(None),
            });
        }
        let handler: Option<Arc<PanicHandler>> = self.panic_handler.take().map(Arc::from);
        global::make(handler.clone(), || self.install(handler).map_err(ThreadPoolBuildError::io).map(|()| None))
    }

    /// As Myriad's global runtime.
    fn install(self, panic_handler: Option<Arc<PanicHandler>>) -> io::Result<()> {
        let workers = self.asked_threads();
        let is_special = self.thread_name.is_some()
            || self.stack_size.is_some()
            || self.start_handler.is_some()
            || self.exit_handler.is_some();
        let mut builder = global::starter();
        if workers > 0 {
            builder = builder.workers(workers);
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes.max(LEAST_STACK));
        }
        if let Some(mut name) = self.thread_name {
            // Here, for the function need not be `Send`. Spares have the names of others.
            let n = if workers > 0 { workers } else { default_threads() };
            let names: Vec<String> = (0..n).map(&mut *name).collect();
            builder = builder.name_threads(move |i| names[i % names.len()].clone());
        }
        let guarded = |handler: Box<dyn Fn(usize) + Send + Sync>| {
            let panic_handler = panic_handler.clone();
            move |index| {
                if let Err(payload) = global::while_starting(|| user_code::call(|| handler(index))) {
                    user_code::tell(panic_handler.as_deref(), payload);
                }
            }
        };
        if let Some(handler) = self.start_handler {
            builder = builder.on_thread_start(guarded(handler));
        }
        if let Some(handler) = self.exit_handler {
            builder = builder.on_thread_end(guarded(handler));
        }
        global::install(builder, workers, is_special)
    }

    /// With own threads.
    fn start(mut self) -> Result<Pool, ThreadPoolBuildError> {
        if self.use_current_thread && (Worker::current().is_some() || guest::is_own_thread()) {
            return Err(ThreadPoolBuildError::is_in_pool_already());
        }
        let threads = match self.asked_threads() {
            0 => default_threads(),
            n => n,
        };
        let plan = Plan {
            threads,
            stack_size: self.stack_size,
            name: self.thread_name.as_mut().map(|name| &mut **name as &mut dyn FnMut(usize) -> String),
            with_caller: self.use_current_thread,
            handlers: Handlers::new(self.panic_handler, self.start_handler, self.exit_handler),
        };
        thread::start(plan, &mut self.spawn).map(Pool::Own).map_err(ThreadPoolBuildError::io)
    }
}

/// As many as the process may use processors.
fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl<S> ThreadPoolBuilder<S> {
    /// How many were asked for, here or by the environment; 0: as by default.
    fn asked_threads(&self) -> usize {
        match self.num_threads {
            0 => threads_from_environment(),
            n => n.min(max_num_threads()),
        }
    }

    /// Threads are started by this function, one call for each, which has each call
    /// [`ThreadBuilder::run`]. (Then the pool is one of own threads, also the global one.)
    ///
    /// # Examples
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(1)
    ///     .spawn_handler(|thread| {
    ///         std::thread::spawn(|| thread.run());
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok::<(), rayon_core::ThreadPoolBuildError>(())
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            spawn: CustomSpawn(spawn),
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            panic_handler: self.panic_handler,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            breadth_first: self.breadth_first,
        }
    }

    /// What the threads are called, by their numbers.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// How many threads; at most [`max_num_threads`]. 0, the default: what `RAYON_NUM_THREADS`
    /// says, else one for each processor.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// The caller is the pool's thread 0, for good, and one thread less is started. It works only
    /// while it waits for jobs of the pool. (Then the pool is one of own threads, also the global
    /// one, and what belongs to it is never freed.)
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Who is told of a panic that nobody waits for, on the thread where it was. Without one the
    /// process aborts; also if the handler panics.
    ///
    /// The global pool's is asked for what is spawned in any runtime of Myriad by functions of
    /// rayon.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Payload) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(panic_handler) as Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>);
        self
    }

    /// Bytes of each thread's stack. (In the global pool 128 KiB at least.)
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Does nothing: there is `scope_fifo`, and `spawn_fifo`.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for similar effect")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Called first on each thread, with its number. (In the global pool on each thread that runs
    /// tasks, with the number of the worker that it is started for: there are more of them than
    /// workers when tasks wait.) Its panics go to the panic handler.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.start_handler = Some(Box::new(start_handler));
        self
    }

    /// Called last on each thread, with its number, as [`start_handler`](Self::start_handler).
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.exit_handler = Some(Box::new(exit_handler));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("thread_name", &self.thread_name.is_some())
            .field("panic_handler", &self.panic_handler.is_some())
            .field("stack_size", &self.stack_size)
            .field("start_handler", &self.start_handler.is_some())
            .field("exit_handler", &self.exit_handler.is_some())
            .field("breadth_first", &self.breadth_first)
            .finish_non_exhaustive()
    }
}
