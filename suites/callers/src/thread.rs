//! The functions of `std::thread` that the suites use, for each caller.

use crate::Caller;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

pub use std::thread::{Result, panicking};

/// See [`spawn`].
#[derive(Debug)]
pub enum JoinHandle<T> {
    /// A thread's.
    Thread(std::thread::JoinHandle<T>),
    /// A task's.
    Task(myriad::JoinHandle<T>),
}

/// Starts a thread, or a task.
pub fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    match Caller::get() {
        Caller::Plain => JoinHandle::Thread(std::thread::spawn(f)),
        Caller::Threads | Caller::Fibers => JoinHandle::Task(myriad::spawn(f)),
    }
}

impl<T> JoinHandle<T> {
    /// Waits for the end.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> Result<T> {
        match self {
            JoinHandle::Thread(handle) => handle.join(),
            JoinHandle::Task(handle) => handle.join().map_err(payload),
        }
    }
}

/// As a thread's end would say it.
fn payload(error: myriad::JoinError) -> Box<dyn std::any::Any + Send> {
    catch_unwind(AssertUnwindSafe(|| error.resume())).unwrap_err()
}

/// Sleeps.
pub fn sleep(duration: Duration) {
    match Caller::get() {
        Caller::Plain => std::thread::sleep(duration),
        Caller::Threads | Caller::Fibers => myriad::time::sleep(duration),
    }
}

/// Lets others go first.
pub fn yield_now() {
    match Caller::get() {
        Caller::Plain => std::thread::yield_now(),
        Caller::Threads | Caller::Fibers => myriad::yield_now(),
    }
}

/// A scope of threads, or of tasks, in the form of `crossbeam_utils::thread`.
#[derive(Debug, Clone, Copy)]
pub enum Scope<'scope, 'env> {
    /// Of threads.
    Threads(&'scope std::thread::Scope<'scope, 'env>),
    /// Of tasks.
    Tasks(&'scope myriad::Scope<'scope, 'env>),
}

/// Calls `f` with a scope, and waits for all that was started there.
///
/// # Errors
/// Something in it panicked.
pub fn scope<'env, R>(f: impl for<'scope> FnOnce(Scope<'scope, 'env>) -> R) -> Result<R> {
    catch_unwind(AssertUnwindSafe(|| match Caller::get() {
        Caller::Plain => std::thread::scope(|scope| f(Scope::Threads(scope))),
        Caller::Threads | Caller::Fibers => myriad::scope(|scope| f(Scope::Tasks(scope))),
    }))
}

/// See [`Scope::spawn`].
#[derive(Debug)]
pub enum ScopedJoinHandle<'scope, T> {
    /// A thread's.
    Thread(std::thread::ScopedJoinHandle<'scope, T>),
    /// A task's.
    Task(myriad::ScopedJoinHandle<'scope, T>),
}

impl<'scope, 'env> Scope<'scope, 'env> {
    /// Starts a thread, or a task, which is given the scope.
    pub fn spawn<T: Send + 'scope>(
        self,
        f: impl FnOnce(Scope<'scope, 'env>) -> T + Send + 'scope,
    ) -> ScopedJoinHandle<'scope, T> {
        match self {
            Scope::Threads(scope) => ScopedJoinHandle::Thread(scope.spawn(move || f(self))),
            Scope::Tasks(scope) => ScopedJoinHandle::Task(scope.spawn(move || f(self))),
        }
    }
}

impl<T> ScopedJoinHandle<'_, T> {
    /// Waits for the end.
    ///
    /// # Errors
    /// What it panicked with.
    pub fn join(self) -> Result<T> {
        match self {
            ScopedJoinHandle::Thread(handle) => handle.join(),
            ScopedJoinHandle::Task(handle) => handle.join().map_err(payload),
        }
    }
}
