//! Tasks with a thread of their own.
//!
//! The record is as any other's, but is in no queue: the thread runs it, and completes it. What
//! waits there waits as a thread that is no worker does ([`crate::sched::wait::foreign`]); what is
//! spawned there goes to the runtime, and the pool, that the task was started from
//! ([`borrower::home`]). The pool keeps a list of such tasks, for its shutdown.
//!
//! **Invariant.** A task is in that list from before its thread starts until after its end can be
//! seen. So a shutdown that finds the list empty has missed nothing that such a task has spawned.

use super::builder::Builder;
use super::handle::JoinHandle;
use super::portable::Portable;
use super::spawn;
use crate::record::header::{Header, Kind};
use crate::record::held::Ending;
use crate::record::task::Runnable;
use crate::sched::context::inherit::Inherited;
use crate::sched::pool::{DedicatedTask, Handle, Pool};
use crate::sched::waker::wake_waiter;
use crate::sched::{borrower, finish, lifecycle, unhandled, unwind};
use myriad_base::stack::overflow;
use myriad_base::sys::map;
use myriad_base::sys::passing::passing;
use myriad_base::sys::thread::{self, processors};
use std::io;
use std::panic::Location;
use std::ptr::null_mut;

/// The stack of such a thread, at least.
const STACK: usize = 2 << 20;

/// Starts a task on a thread of its own, which nobody else uses, and returns a handle to its
/// result.
///
/// For what keeps a thread to itself for long: an event loop of a foreign library, a device that is
/// polled, a computation that is never to wait for others nor to hold them up. Panics, joining,
/// detaching, names, task-locals and what is inherited are as for [`spawn`](crate::spawn); what it
/// spawns runs on the workers of the runtime, and in the pool, that it was started from. A shutdown
/// of that runtime waits for it, and names it if it does not end.
///
/// `blocking(f)` is for calls that somebody waits for, `compute(f)` for computations; both use
/// threads again, and limit how many there are. This one starts a thread for each task: some 30 µs.
///
/// # Blocking
/// Never blocks. In the task itself everything waits as on a thread that is no worker: it sleeps,
/// and nobody uses it meanwhile. Its time is the real one, also where the runtime's [clock is
/// manual](crate::Builder::manual_clock).
///
/// # Cancellation
/// [`cancel`](JoinHandle::cancel) by its handle is found only before it begins: nobody ends the
/// waits of a thread that is no worker's. A [token](Builder::token) that was given with the task is
/// found at each of them.
///
/// # Panics
/// If the system has no thread for it. ([`task::Builder::dedicated`](Builder::dedicated) returns
/// that as an error.)
///
/// # Examples
/// ```
/// let (tx, rx) = std::sync::mpsc::channel();
/// let h = myriad::task::dedicated(move || rx.iter().sum::<u32>());  // blocks its thread, and nobody else
/// (0..10).for_each(|i| tx.send(i).unwrap());
/// drop(tx);
/// assert_eq!(h.join().unwrap(), 45);
/// ```
#[doc(alias = "LockOSThread")]
#[track_caller]
pub fn dedicated<F, T>(f: F) -> JoinHandle<T>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    match Builder::new().dedicated(f) {
        Ok(handle) => handle,
        Err(error) => {
            panic!("cannot start a thread for a dedicated task: {error}; `blocking` and `compute` share threads")
        }
    }
}

impl Builder {
    /// As [`dedicated`]: the task has a thread of its own, with the task's name. A priority has no
    /// meaning there.
    ///
    /// # Errors
    /// What the system says: it has no thread for it. The closure is dropped.
    ///
    /// # Panics
    /// If the runtime has no pool of the name that was given.
    ///
    /// # Examples
    /// ```
    /// let task = myriad::task::Builder::new().name("device").dedicated(|| std::thread::current().id())?;
    /// assert_ne!(task.join().unwrap(), std::thread::current().id());
    /// # std::io::Result::Ok(())
    /// ```
    #[track_caller]
    pub fn dedicated<F, T>(mut self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (home, location) = (self.home(), Location::caller());
        let (inherited, token) = (Inherited::new(self.seed()), self.take_token());
        let f = move || match token {
            Some(token) => token.run_task(f),
            None => f(),
        };
        let body = move || match inherited.run(f) {
            Ok(value) => value,
            Err(payload) => unwind::resume(payload),
        };
        start(home, Portable::closure(body), location, self)
    }
}

fn start<F: FnOnce() -> T, T>(
    home: Handle,
    f: Portable<F>,
    location: &'static Location<'static>,
    with: Builder,
) -> io::Result<JoinHandle<T>> {
    let pool = home.inner();
    pool.expect_here();
    let named = with.thread_name().unwrap_or_else(|| format!("{}-dedicated", pool.config().name));
    let task = spawn::create(f, Kind::CLOSURE, pool.number, location);
    with.set_name(pool, task.header());
    let (task, held) = task.into_parts();
    let (task, handle) = (Runnable::from(task), JoinHandle::new(held));
    pool.dedicated.join(false);
    let mut entries = pool.dedicated.locked();
    if !pool.lets_in(home.origin()) {
        drop(entries);
        finish::drop_unstarted(task);
        return Ok(handle);
    }
    let size = pool.config().stack_size.max(STACK);
    let task = task.into_raw();
    let address = task.expose_provenance();
    let body = move || {
        crate::sched::unwind::never_unwinds("a dedicated task's thread", || {
            run(pool, std::ptr::with_exposed_provenance_mut(address))
        });
    };
    let started = map::thread_starts().and_then(|()| {
        let started =
            std::thread::Builder::new().name(named).stack_size(overflow::with_room(size)).spawn(passing(body));
        started.inspect_err(|_| map::thread_ended())
    });
    match started {
        Ok(thread) => {
            // Before the thread can say that it is over: we have the lock.
            entries.live.push(DedicatedTask(task));
            entries.threads.push(thread);
            Ok(handle)
        }
        Err(error) => {
            drop(entries);
            // SAFETY: the thread was not started, so nobody runs the task, which is in no queue.
            finish::drop_unstarted(unsafe { Runnable::from_raw(task) });
            drop(handle);
            Err(error)
        }
    }
}

/// The life of the thread.
fn run(pool: &'static Pool, task: *mut Header) {
    // A worker that has a core of its own may have started us.
    _ = thread::unpin(&processors().cpus);
    // SAFETY: the thread was started with that room, and leaves below, at the end of its body.
    unsafe { overflow::enter_own_thread() };
    borrower::ME.set(task);
    // SAFETY: the record was made for us, who run it to its end, once.
    let ending = unsafe {
        let ended = lifecycle::begin(Runnable::from_raw(task));
        lifecycle::end(task, lifecycle::outcome_of(ended))
    };
    if let Ending::Detached(finished) = ending {
        // What is left is the task's own code: it runs as the task.
        _ = unhandled::report(None, &finished);
        _ = finish::drop_outcome(None, finished);
        borrower::ME.set(null_mut());
    } else {
        // The record may be another task's from here on.
        borrower::ME.set(null_mut());
        if let Ending::Awaited(waiter) = ending {
            _ = wake_waiter(None, waiter);
        }
    }
    pool.dedicated.ended(task);
    // SAFETY: at the end of the thread's body, which is no signal handler.
    unsafe { overflow::leave_thread() };
}
