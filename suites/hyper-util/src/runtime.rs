//! Runtimes.

use std::future::Future;
use std::io;
use suite_callers::Caller;

/// Builds a [`Runtime`].
#[derive(Debug)]
pub struct Builder(());

impl Builder {
    /// With one worker, as tokio's kind has one thread: some tests rely on the order in which one
    /// worker polls.
    pub fn new_current_thread() -> Builder {
        Builder(())
    }

    /// All is there.
    pub fn enable_all(&mut self) -> &mut Builder {
        self
    }

    /// The runtime, in the caller's mode.
    ///
    /// # Errors
    /// The system's.
    pub fn build(&mut self) -> io::Result<Runtime> {
        Ok(Runtime(Caller::get().builder().workers(1).build()?))
    }
}

/// A runtime of Myriad. Its end is alike: what has not ended when it is dropped, is dropped.
#[derive(Debug)]
pub struct Runtime(myriad::Runtime);

impl Runtime {
    /// A task waits for this future, and the caller for the task.
    pub fn block_on<F: Future<Output: Send> + Send>(&self, future: F) -> F::Output {
        self.0.run(|| myriad::block_on(future))
    }

    /// A task.
    pub fn spawn<F>(&self, future: F) -> myriad::JoinHandle<F::Output>
    where
        F: Future<Output: Send> + Send + 'static,
    {
        self.0.spawn_async(future)
    }
}
