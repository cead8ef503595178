//! Building a runtime.
//!
//! (Long, as each setting has its documentation and an example here.)

mod check;

use super::deadlock::{self, OnDeadlock};
use super::dump::signal;
use super::{Runtime, global, pools};
use crate::queue::made;
use crate::queue::policy::Policy;
use crate::queue::policy::scheduler::{MakeScheduler, PoolInfo, Scheduler};
use crate::record::current::CurrentTask;
use crate::sched::borrower;
use crate::sched::fork;
use crate::sched::pool::{Pool, ThreadHooks};
use crate::sched::rescue::stuck::OnStuck;
use crate::sched::unhandled::Unhandled;
use crate::sched::worker;
use myriad_base::stack::overflow;
use myriad_base::sys::fence;
use myriad_base::sys::thread::Topology;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::{fmt, io};

/// Stack of a thread in threads mode: address space only, as std's.
pub(crate) const THREAD_STACK: usize = 2 << 20;
/// Half of it is enough for a panic with its message; one with a backtrace takes 21 KB.
pub(crate) const LEAST_FIBER: usize = 32 << 10;
pub(crate) const LEAST_THREAD: usize = 128 << 10;
/// More workers than this are surely a mistake.
pub(crate) const MOST_WORKERS: usize = 1 << 14;
/// The largest stack that can be asked for.
pub(crate) const MOST_STACK: usize = 1 << 30;

/// The settings of a [`Runtime`].
///
/// # Examples
/// ```
/// let rt = myriad::Builder::new().workers(2).name("crunch").build().unwrap();
/// assert_eq!(rt.run(|| myriad::spawn(|| 40 + 2).join().unwrap()), 42);
/// ```
#[doc(alias = "ThreadPoolBuilder")]
#[doc(alias = "RuntimeBuilder")]
#[derive(Debug, Clone)]
#[must_use]
pub struct Builder {
    workers: Option<usize>,
    fibers: bool,
    stack_size: Option<usize>,
    max_stacks: usize,
    name: String,
    pin: bool,
    unhandled: Unhandled,
    manual_clock: bool,
    spares: usize,
    stuck: Option<OnStuck>,
    pools: Vec<(String, usize)>,
    policy: Option<Policy>,
    scheduler: Option<Make>,
    topology: Option<Topology>,
    threads: ThreadHooks,
    latency: bool,
    dump_on_signal: bool,
    deadlock: OnDeadlock,
    deadlock_hint: bool,
}

/// The user's function that makes a scheduler.
#[derive(Clone)]
struct Make(MakeScheduler);

impl fmt::Debug for Make {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Make")
    }
}

/// Spare workers, at most, unless asked otherwise.
pub(crate) const SPARES: usize = 256;

impl Default for Builder {
    fn default() -> Self {
        Builder::new()
    }
}

impl Builder {
    /// A runtime in threads mode, which is safe for any code: a task that blocks keeps its OS
    /// thread, and another thread takes the worker's role.
    pub fn new() -> Builder {
        Builder {
            workers: None,
            fibers: false,
            stack_size: None,
            max_stacks: usize::MAX,
            name: "myriad".into(),
            pin: true,
            unhandled: Unhandled::Report,
            manual_clock: false,
            spares: SPARES,
            stuck: None,
            pools: Vec::new(),
            policy: None,
            scheduler: None,
            topology: None,
            threads: ThreadHooks::default(),
            latency: false,
            dump_on_signal: false,
            deadlock: OnDeadlock::Report,
            deadlock_hint: true,
        }
    }

    /// A runtime in fiber mode: a task that blocks is set aside with its stack, for a few
    /// nanoseconds and 4 KB.
    ///
    /// # Safety
    /// No code that runs in tasks of this runtime blocks (in Myriad's sense: sets itself aside; a
    /// task's 256th operation in a row on channels and locks does so too, also if it only tries, as
    /// `try_recv` does, and fails)
    /// - inside a *thread-local scope*: a closure during which a crate has a thread-local changed
    ///   and changes it back afterwards, in stack order (`scoped_tls`'s `set`, a tracing span that
    ///   is entered, tokio's enter guards);
    /// - inside the lazy *initialiser of a thread-local*;
    /// - inside a *destructor that runs because of a panic or a cancellation*.
    ///
    /// Several tasks take turns on one thread, so in such places one task would see, or free, what
    /// another has set. `docs/SOUNDNESS.md` has the programs that show it. All else, thread-locals
    /// included, is as in threads mode: a task that has blocked goes on on the same thread.
    ///
    /// # Examples
    /// ```
    /// // SAFETY: the tasks of this program block in no thread-local scope, no initialiser of a
    /// // thread-local, and no destructor that unwinding runs.
    /// let rt = unsafe { myriad::Builder::fibers() }.workers(2).build()?;
    /// let sum: u32 = rt.run(|| (0..1000).map(|i| myriad::spawn(move || i % 2).join().unwrap()).sum());
    /// assert_eq!(sum, 500);
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "coroutine")]
    #[doc(alias = "green_thread")]
    pub unsafe fn fibers() -> Builder {
        Builder { fibers: true, ..Builder::new() }
    }

    /// How many workers; by default as many as the process may use cores (affinity and cgroup quota
    /// counted).
    #[doc(alias = "worker_threads")]
    #[doc(alias = "num_threads")]
    #[doc(alias = "GOMAXPROCS")]
    pub fn workers(mut self, n: usize) -> Builder {
        self.workers = Some(n);
        self
    }

    /// One more pool of workers, with a name and so many workers of its own, beside the main ones,
    /// which are the pool `default`.
    ///
    /// [`spawn_on`](crate::spawn_on) and [`Handle::pool`](crate::Handle::pool) start tasks there;
    /// what these spawn stays there. No worker does work of another pool. So tasks of a pool
    /// `interactive` find its workers free, whatever the main ones are busy with. If all processors
    /// are busy, the kernel decides when the pool's thread runs: most often at once, at times after
    /// a time slice of some milliseconds.
    ///
    /// All other settings hold for each pool, but the cores of one's own (see
    /// [`pin_workers`](Self::pin_workers)), which only main workers have.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(2).pool("interactive", 1).build()?;
    /// assert_eq!(rt.workers(), 3);
    /// let where_it_runs = rt.run(|| {
    ///     let task = || myriad::Handle::current().unwrap().pool_name();
    ///     myriad::spawn_on("interactive", task).join().unwrap()
    /// });
    /// assert_eq!(&*where_it_runs, "interactive");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn pool(mut self, name: impl Into<String>, workers: usize) -> Builder {
        self.pools.push((name.into(), workers));
        self
    }

    /// Bytes of each stack: of a fiber (default 64 KiB, 32 KiB at least), or in threads mode of a
    /// thread (default 2 MiB, 128 KiB at least); 1 GiB at most. In both modes rounded up to a power
    /// of two, a fiber to four pages if these are large. Only what is touched becomes memory. A
    /// task has at least half of a fiber, less a guard page (of a thread a quarter), because it may
    /// run on top of another that waits for it.
    ///
    /// # Examples
    /// ```
    /// fn deep(n: u32) -> u32 {
    ///     if n == 0 { 0 } else { 1 + std::hint::black_box(deep)(n - 1) }
    /// }
    /// let rt = myriad::Builder::new().stack_size(16 << 20).build()?;
    /// assert_eq!(rt.run(|| deep(20_000)), 20_000);
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "thread_stack_size")]
    pub fn stack_size(mut self, bytes: usize) -> Builder {
        self.stack_size = Some(bytes);
        self
    }

    /// At most so many stacks for each worker, that is, so many blocked closures; one more that
    /// would block panics instead, with a message. At least 2: one to run on, one that waits.
    /// `MYRIAD_MAX_STACKS` can lower it from outside.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::JoinSet;
    /// let rt = myriad::Builder::new().workers(1).max_stacks(2).build()?;
    /// let (_tx, rx) = myriad::channel::bounded::<u32>(1);
    /// let error = rt.run(|| {
    ///     let mut set = JoinSet::new();
    ///     for _ in 0..9 {
    ///         let rx = rx.clone();
    ///         set.spawn(move || rx.recv()); // the second one that waits has no stack
    ///     }
    ///     set.join_next().unwrap().unwrap_err() // this one waits, too
    /// });
    /// assert!(error.to_string().contains("max_stacks"), "{error}");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn max_stacks(mut self, n: usize) -> Builder {
        self.max_stacks = n;
        self
    }

    /// What the threads are called: `NAME-0`, `NAME-1`, ...
    #[doc(alias = "thread_name")]
    pub fn name(mut self, name: impl Into<String>) -> Builder {
        self.name = name.into();
        self
    }

    /// What the threads are called that work for a worker, by its number: its own, and in threads
    /// mode those of tasks that wait. Spares have the numbers from [`workers`](Self::workers) on.
    /// Instead of [`name`](Self::name).
    ///
    /// If the function panics or returns a name with a NUL byte, the thread has its usual name. The
    /// function is called where the thread is needed, so if the function waits, a worker on which a
    /// task is about to wait is held up. (A spare worker waits a second, and then has its usual
    /// name.) The function runs outside of tasks, as a [hook](Self::on_thread_start) does.
    ///
    /// # Examples
    /// ```
    /// use myriad::Builder;
    /// let rt = Builder::new().workers(1).name_threads(|worker| format!("mill {worker}")).build()?;
    /// let name = rt.run(|| std::thread::current().name().map(String::from));
    /// assert_eq!(name.as_deref(), Some("mill 0"));
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "thread_name")]
    #[doc(alias = "thread_name_fn")]
    pub fn name_threads(mut self, name: impl Fn(usize) -> String + Send + Sync + 'static) -> Builder {
        self.threads.name = Some(Arc::new(name));
        self
    }

    /// Called first on each thread that is to run tasks, with the number of the worker that it is
    /// started for: for what a library wants to know of each thread, or a thread-local. In fiber
    /// mode there is one for each worker (and spare); in threads mode tasks that wait keep theirs,
    /// so there may be more, and one may later work for another worker.
    ///
    /// The caller is no task: what it spawns goes to the global runtime, and what it waits for
    /// keeps the thread. (While the global runtime itself is started, its hooks cannot spawn: that
    /// panics.) A panic in it is reported by std's hook, and goes no further.
    ///
    /// # Examples
    /// ```
    /// use myriad::Builder;
    /// use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
    /// static THREADS: AtomicUsize = AtomicUsize::new(0);
    /// let rt = Builder::new()
    ///     .workers(2)
    ///     .on_thread_start(|_worker| _ = THREADS.fetch_add(1, SeqCst))
    ///     .on_thread_end(|_worker| _ = THREADS.fetch_sub(1, SeqCst))
    ///     .build()?;
    /// assert_eq!(THREADS.load(SeqCst), 2);
    /// rt.shutdown(std::time::Duration::from_secs(1));
    /// assert_eq!(THREADS.load(SeqCst), 0);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_thread_start(mut self, call: impl Fn(usize) + Send + Sync + 'static) -> Builder {
        self.threads.start = Some(Arc::new(call));
        self
    }

    /// Called last on each such thread, with the same number; see
    /// [`on_thread_start`](Self::on_thread_start). Not on one that a task holds which is still
    /// blocked when its runtime has ended.
    pub fn on_thread_end(mut self, call: impl Fn(usize) + Send + Sync + 'static) -> Builder {
        self.threads.end = Some(Arc::new(call));
        self
    }

    /// May each worker have a core of its own? (Default: yes, if there are as many workers as
    /// cores.) Unpinned, the kernel at times puts a woken worker on a busy core, for milliseconds.
    ///
    /// # Examples
    /// ```
    /// // Other programs want the same cores.
    /// let rt = myriad::Builder::new().pin_workers(false).build()?;
    /// assert_eq!(rt.run(|| 6 * 7), 42);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn pin_workers(mut self, yes: bool) -> Builder {
        self.pin = yes;
        self
    }

    /// What becomes of the panic of a detached task. Example: [`Unhandled`].
    pub fn on_unhandled_panic(mut self, what: Unhandled) -> Builder {
        self.unhandled = what;
        self
    }

    /// At most so many spare workers for when others are stuck (default 256; 0: none, so never more
    /// than [`workers`](Self::workers) threads run tasks).
    ///
    /// A worker is stuck when it is in one task for more than 10 ms without coming back to its
    /// loop: in a long computation, in a lock or a system call that knows nothing of tasks. What
    /// waits behind it and can go on elsewhere does so: on other workers that have nothing to do,
    /// else on spare ones. That is its unstarted tasks, futures, timers, and in threads mode also
    /// its blocked closures that are ready; in fiber mode a blocked closure can go on only on its
    /// own worker.
    ///
    /// For a worker that is blocked in the system one spare begins as soon as there is work for it,
    /// so that as many workers run as were asked for. Beside workers that *compute* one more begins
    /// after 10 ms (after 1 s if they spawn and join all the time), another when none of all that
    /// run has come back for 1 s, then 2 s, 4 s and so on. They rest when the stuck ones are well
    /// again.
    pub fn spare_workers(mut self, n: usize) -> Builder {
        self.spares = n;
        self
    }

    /// Who is told when a worker has been stuck for a while: by default there is a
    /// [hint](OnStuck::Hint) in debug builds, or, if `MYRIAD_STUCK_MS` is set, a line on the
    /// standard error after so many milliseconds. Example: [`Stuck`](crate::Stuck).
    pub fn on_stuck(mut self, what: OnStuck) -> Builder {
        self.stuck = Some(what);
        self
    }

    /// Is it measured how long tasks wait from the moment when they could run until they run?
    /// (Default: no.) [`PoolMetrics::latency`](crate::PoolMetrics::latency) has the histogram.
    ///
    /// Of what is queued or woken at a time some 4,000 are measured; a task that its joiner runs in
    /// place is not. It costs some 50 ns for each task and each switch, and workers take tasks from
    /// others one by one. So it is for finding out why something comes late, and for tests.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(1).measure_latency(true).build()?;
    /// rt.spawn(|| ()).join().unwrap();
    /// let metrics = rt.metrics();
    /// let latency = metrics.pools[0].latency.as_ref().unwrap();
    /// assert!(latency.count >= 1 && latency.quantile(0.5).is_some());
    /// # std::io::Result::Ok(())
    /// ```
    pub fn measure_latency(mut self, yes: bool) -> Builder {
        self.latency = yes;
        self
    }

    /// What is done when no task can ever go on: by default a report on the standard error
    /// ([`OnDeadlock::Report`]).
    ///
    /// A deadlock is found some 0.1 s after the last worker has fallen asleep, and only when it is
    /// certain: every thread of the process waits for another one, in a lock, a join or a wait of
    /// this library, without a time limit. So a pending timer hides it, and so does any thread that
    /// runs or waits for a time, for input or for a child. (Only the handler of a signal, or
    /// another process with which memory is shared, could go on then: programs that wait for such a
    /// thing say [`OnDeadlock::Ignore`].) On Linux, where the system says what threads wait for,
    /// and if there are no more than 4096 of them; elsewhere nothing is found.
    ///
    /// Tasks are looked at as by [`dump`](crate::dump()), of all runtimes of the process.
    ///
    /// # Examples
    /// ```
    /// use myriad::{Builder, OnDeadlock};
    /// use std::sync::Arc;
    /// let page = OnDeadlock::Hook(Arc::new(|found| eprintln!("page somebody: {found}")));
    /// let rt = Builder::new().workers(2).on_deadlock(page).build()?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn on_deadlock(mut self, what: OnDeadlock) -> Builder {
        self.deadlock = what;
        self
    }

    /// Is there a hint in debug builds when a deadlock is not certain, but likely? (Default: yes.)
    ///
    /// The hint is a line and a [`dump`](crate::dump()) on the standard error, once in a process:
    /// when all tasks wait, a plain thread waits for them in [`run`](crate::run), a join or
    /// `block_on`, and no thread has moved for a second, but the process's first one waits in a
    /// lock with a time limit, as that of a test's harness does. A timer, a sleep, a wait for input
    /// and a call in [`blocking`](crate::blocking()) hide a deadlock. There is none where a runtime
    /// has switched the hint off, here, by [`OnDeadlock::Ignore`] or by `MYRIAD_DEADLOCK_HINT=0`;
    /// and where no certain one would be found.
    ///
    /// # Examples
    /// ```
    /// let rt = myriad::Builder::new().workers(1).deadlock_hint(false).build()?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn deadlock_hint(mut self, yes: bool) -> Builder {
        self.deadlock_hint = yes;
        self
    }

    /// From now on SIGQUIT (`Ctrl-\\`, or `kill -QUIT`) writes a [`dump`](crate::dump()) of all
    /// runtimes to the standard error, and the process goes on. (Without this it ends.) For the
    /// whole process, for good; also if `MYRIAD_DUMP=1` is set. On Linux.
    ///
    /// The signal's handler only wakes a thread, which writes: so it may come at any moment, also
    /// while workers are stuck. Other actions of the program for the signal, through the crate
    /// `signal-hook-registry`, stay. The system gives such a signal to the main thread, unless that
    /// blocks it or has ended; a handler takes some kilobytes of a stack.
    ///
    /// # Examples
    /// ```no_run
    /// let rt = myriad::Builder::new().dump_on_signal().build()?;
    /// # std::io::Result::Ok(())
    /// ```
    pub fn dump_on_signal(mut self) -> Builder {
        self.dump_on_signal = true;
        self
    }

    /// Which task a worker starts next (default: what `MYRIAD_POLICY` names, else
    /// [`Policy::WorkStealing`]).
    ///
    /// # Examples
    /// ```
    /// use myriad::{Builder, Policy};
    /// let rt = Builder::new().workers(2).policy(Policy::DepthFirst).build()?;
    /// assert_eq!(rt.run(|| myriad::join(|| 1, || 2)), (1, 2));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn policy(mut self, policy: Policy) -> Builder {
        self.policy = Some(policy);
        self.scheduler = None;
        self
    }

    /// The tasks of each pool are run in the order that a [`Scheduler`] of the program's own says.
    /// `make` is called once for each pool, by [`build`](Self::build); a panic goes on out of that.
    /// Instead of [`policy`](Self::policy); whichever was set last counts.
    ///
    /// # Examples
    /// ```
    /// use myriad::scheduler::{Cause, ReadyTask, Scheduler, Turn};
    /// use std::{collections::VecDeque, sync::Mutex};
    ///
    /// struct OldestFirst(Mutex<VecDeque<ReadyTask>>);
    ///
    /// impl Scheduler for OldestFirst {
    ///     fn enqueue(&self, task: ReadyTask, _: Cause) {
    ///         self.0.lock().unwrap().push_back(task);
    ///     }
    ///     fn pick_next(&self, _: &Turn<'_>) -> Option<ReadyTask> {
    ///         self.0.lock().unwrap().pop_front()
    ///     }
    /// }
    ///
    /// let rt = myriad::Builder::new().workers(2).scheduler(|_| OldestFirst(Mutex::default())).build()?;
    /// assert_eq!(rt.run(|| myriad::join(|| 1, || 2)), (1, 2));
    /// assert_eq!(rt.policy(), myriad::Policy::Custom);
    /// # std::io::Result::Ok(())
    /// ```
    pub fn scheduler<S: Scheduler>(mut self, make: impl Fn(&PoolInfo) -> S + Send + Sync + 'static) -> Builder {
        self.scheduler = Some(Make(Arc::new(move |pool| Arc::new(make(pool)))));
        self.policy = Some(Policy::Custom);
        self
    }

    /// Which processors are near each other, instead of what the system says: worker `i` of the
    /// main ones counts as one that runs on the `i`th processor of this [`Topology`] (on the first
    /// again behind the last), wherever the system lets it run.
    ///
    /// A worker that has nothing to do takes tasks of the nearest others first: of the other
    /// hardware threads of its core, of cores that share its cache, of its memory node, of other
    /// nodes. Without this, that holds for workers that are [pinned](Self::pin_workers), each to a
    /// core of its own, on machines where some are nearer than others.
    ///
    /// # Examples
    /// ```
    /// use myriad::scheduler::Topology;
    /// // As on a machine with 2 memory nodes of 4 cores with 2 hardware threads.
    /// let rt = myriad::Builder::new().workers(16).topology(Topology::regular(2, 1, 4, 2)).build()?;
    /// assert_eq!(rt.run(|| myriad::join(|| 1, || 2)), (1, 2));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn topology(mut self, topology: Topology) -> Builder {
        self.topology = Some(topology);
        self
    }

    /// A clock that moves only by [`Runtime::advance`], for tests: a day of timeouts passes in no
    /// time.
    ///
    /// It is the clock of the tasks: of [`time::now`](crate::time::now), of sleeps and of time
    /// limits in them. What the runtime does for itself takes real time, whether the clock moves or
    /// not: it sees which workers are stuck and sends help, and a
    /// [`shutdown`](Runtime::shutdown) has the patience that it was given. Threads that are
    /// outside of the runtime have real time too.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// let rt = myriad::Builder::new().workers(1).manual_clock().build()?;
    /// let day = Duration::from_secs(24 * 60 * 60);
    /// let noon = rt.now() + day;
    /// let task = rt.spawn(move || myriad::time::sleep_until(noon));
    /// rt.advance(day); // takes no time
    /// task.join().unwrap();
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "pause")]
    #[doc(alias = "test_util")]
    #[doc(alias = "start_paused")]
    pub fn manual_clock(mut self) -> Builder {
        self.manual_clock = true;
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    /// `InvalidInput`: no workers or too many, a stack too small or too large, fewer than two
    /// stacks, a zero byte in the name, a pool without workers or with the name of another, a
    /// topology without processors, [`Policy::Custom`] without a scheduler; the message says what
    /// is allowed. `Unsupported`: no fibers on this platform. Else what the system says: no memory
    /// for stacks, no more threads.
    pub fn build(self) -> io::Result<Runtime> {
        let configs = self.check_pools(self.check()?)?;
        if self.dump_on_signal {
            signal::install()?;
            made::switch_on();
        } else if signal::is_asked_for() {
            made::switch_on();
            // (Where that cannot be, the program goes on without it.)
            _ = signal::install();
        }
        // Before there are many threads: registering for membarrier is quick then.
        fork::watch();
        fence::membarrier_works();
        // SAFETY: `describe_current` reads what runs on its thread, formats into what it is given,
        // and waits for no lock.
        unsafe { overflow::install(describe_current) };
        let runtime = Runtime::of(pools::start(configs)?);
        deadlock::watch(runtime.handle(), self.deadlock, self.deadlock_hint);
        Ok(runtime)
    }

    /// Makes this the global runtime, which [`spawn`](crate::spawn) on foreign threads and
    /// [`run`](crate::run) use.
    ///
    /// # Errors
    /// As [`build`](Self::build); `AlreadyExists` if the global runtime runs already: install it
    /// before the first use.
    ///
    /// # Examples
    /// ```
    /// myriad::Builder::new().workers(2).name("compute").install()?;
    /// assert_eq!(myriad::run(|| myriad::spawn(|| 6 * 7).join().unwrap()), 42);
    /// # std::io::Result::Ok(())
    /// ```
    #[doc(alias = "build_global")]
    pub fn install(self) -> io::Result<()> {
        global::install(self)
    }

    /// It is to be the global runtime.
    pub(super) fn for_global(mut self) -> Builder {
        self.threads.global = true;
        self
    }
}

/// For the message of a stack overflow: what the calling thread's worker was running. In a signal
/// handler.
fn describe_current(out: &mut dyn fmt::Write) {
    let task = match worker::current() {
        Some(w) => w.running_record(),
        None => borrower::me().cast_const(),
    };
    if task.is_null() || CurrentTask::is_nobody(task) {
        return;
    }
    // SAFETY: the current task's record is alive while it runs; these do not change.
    let (location, pool) = unsafe { ((*task).location(), Pool::of((*task).runtime())) };
    // (Never dropped: were it the last one by then, its memory would be freed, in a signal
    // handler.)
    _ = match pool.name_of(task, false).map(ManuallyDrop::new) {
        Some(name) => write!(out, "task '{}' spawned at {location}", *name),
        None => write!(out, "the task spawned at {location}"),
    };
}
