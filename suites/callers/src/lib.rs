//! The callers of a foreign test: plain threads, or tasks of Myriad in one of the two modes.
//!
//! `scripts/suites.sh` puts the body of each test into [`run`], and this [`thread`] in the place of
//! std's. The variable `MYRIAD_SUITE_CALLER` says what they are: `plain` (the default), `threads`
//! or `fibers`. So a suite is compiled once for all three.

pub mod thread;

use std::future::Future;
use std::sync::OnceLock;

/// What calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Threads of std, which are no tasks.
    Plain,
    /// Tasks, in threads mode.
    Threads,
    /// Tasks, in fiber mode.
    Fibers,
}

impl Caller {
    /// As the variable says. The runtime of the tasks has two workers, whatever the machine has.
    ///
    /// # Panics
    /// If the variable says something else.
    pub fn get() -> Caller {
        static CALLER: OnceLock<Caller> = OnceLock::new();
        *CALLER.get_or_init(|| {
            let name = std::env::var("MYRIAD_SUITE_CALLER").unwrap_or_default();
            let caller = match name.as_str() {
                "" | "plain" => Caller::Plain,
                "threads" => Caller::Threads,
                "fibers" => Caller::Fibers,
                other => panic!("MYRIAD_SUITE_CALLER is `{other}`, not plain, threads or fibers"),
            };
            caller.builder().workers(2).install().expect("the first use of Myriad in this process");
            caller
        })
    }

    /// Settings for a runtime in this caller's mode.
    pub fn builder(self) -> myriad::Builder {
        match self {
            Caller::Plain | Caller::Threads => myriad::Builder::new(),
            // SAFETY: the suites that run so block in no thread-local scope or initialiser; the
            // tests whose destructors block while they unwind stand in `not-passed.txt`.
            Caller::Fibers => unsafe { myriad::Builder::fibers() }.stack_size(1 << 20),
        }
    }
}

/// Calls the body of a test as this caller.
pub fn run<T: Send>(body: impl FnOnce() -> T + Send) -> T {
    match Caller::get() {
        Caller::Plain => body(),
        Caller::Threads | Caller::Fibers => myriad::run(body),
    }
}

/// Runs the body of an asynchronous test as this caller: a task waits for the future as for
/// everything else.
pub fn run_async<T: Send, F: Future<Output = T>>(body: impl FnOnce() -> F + Send) -> T {
    run(|| myriad::block_on(body()))
}

pub use myriad::block_on;

/// Several functions at a time, in the form of the crate `easy-parallel`.
pub struct Parallel<'a, T> {
    functions: Vec<Box<dyn FnOnce() -> T + Send + 'a>>,
}

impl<'a, T: Send + 'a> Parallel<'a, T> {
    /// None yet.
    pub fn new() -> Self {
        Parallel { functions: Vec::new() }
    }
    /// One more.
    #[allow(clippy::should_implement_trait, reason = "it has the name that it has there")]
    pub fn add(mut self, f: impl FnOnce() -> T + Send + 'a) -> Self {
        self.functions.push(Box::new(f));
        self
    }
    /// One for each item.
    pub fn each<A: Send + 'a>(
        mut self,
        items: impl IntoIterator<Item = A>,
        f: impl FnOnce(A) -> T + Clone + Send + 'a,
    ) -> Self {
        for item in items {
            let f = f.clone();
            self.functions.push(Box::new(move || f(item)));
        }
        self
    }
    /// Calls all, each in a thread or a task.
    pub fn run(self) -> Vec<T> {
        thread::scope(|scope| {
            let handles: Vec<_> = self.functions.into_iter().map(|f| scope.spawn(|_| f())).collect();
            handles.into_iter().map(|handle| handle.join().unwrap_or_else(|e| std::panic::resume_unwind(e))).collect()
        })
        .unwrap_or_else(|e| std::panic::resume_unwind(e))
    }
}

impl<'a, T: Send + 'a> Default for Parallel<'a, T> {
    fn default() -> Self {
        Parallel::new()
    }
}

impl<T> std::fmt::Debug for Parallel<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parallel").field("functions", &self.functions.len()).finish()
    }
}
