//! Tasks with a thread of their own.
//!
//! The record is as any other's, but is in no queue: the thread runs it, and completes it. What waits there waits as a thread that
//! is no worker does ([`crate::sched::foreign`]); what is spawned there goes to the runtime, and the pool, that the task was started
//! from ([`home`]). The hub keeps the book of such tasks, for its shutdown.
//!
//! **Invariant.** A task is in the book from before its thread starts until after its end can be seen. So a shutdown that finds
//! the book empty has missed nothing that such a task has spawned.

use super::builder::Builder;
use super::context::inherit::Heirloom;
use super::handle::JoinHandle;
use super::header::{DETACHED, Ended, Header, Kind, Mode, Outcome};
use super::waker::wake_waiter;
use super::{finish, memory, record, spawn, unhandled};
use crate::runtime::Handle;
use crate::runtime::hub::Hub;
use crate::runtime::processors;
use crate::sched::worker;
use crate::stack::overflow;
use crate::sys::{map, thread};
use crate::unwind;
use std::cell::Cell;
use std::io;
use std::panic::Location;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard};

/// The stack of such a thread, at least.
const STACK: usize = 2 << 20;

thread_local! {
    /// The task whose thread this is.
    static ME: Cell<*mut Header> = const { Cell::new(null_mut()) };
}

/// The task that the calling thread is there for: a dedicated one, or one that makes a call here ([`super::keep_thread`]). Null if there is
/// none.
pub(crate) fn me() -> *mut Header {
    // (At the very end of a thread there is none any more.)
    let me = ME.try_with(Cell::get).unwrap_or(null_mut());
    if me.is_null() { super::keep_thread::lent().task } else { me }
}

/// Where a thread belongs that is no worker: where the dedicated task was started from, or whatever keeps its thread
/// ([`super::keep_thread`]).
pub(crate) fn home() -> Option<Handle> {
    let task = ME.try_with(Cell::get).unwrap_or(null_mut());
    if task.is_null() {
        return super::keep_thread::lent().pool;
    }
    // SAFETY: the running task's record lives; `runtime` does not change.
    Some(Handle::of(Hub::of(unsafe { (*task).runtime })))
}

/// A hub's book of dedicated tasks.
#[derive(Debug, Default)]
pub struct Book(Mutex<Entries>);

#[derive(Debug, Default)]
struct Entries {
    /// Those that have not ended.
    live: Vec<Task>,
    /// Threads that were not joined yet.
    threads: Vec<std::thread::JoinHandle<()>>,
}

#[derive(Debug, PartialEq)]
struct Task(*const Header);
// SAFETY: an address to compare.
unsafe impl Send for Task {}

impl Book {
    fn locked(&self) -> MutexGuard<'_, Entries> {
        // Nothing panics under it but on a failed allocation.
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Has every dedicated task ended?
    pub fn is_empty(&self) -> bool {
        self.locked().live.is_empty()
    }

    /// Has this task a thread of its own?
    pub fn has(&self, task: *const Header) -> bool {
        self.locked().live.contains(&Task(task))
    }

    fn ended(&self, task: *const Header) {
        let mut entries = self.locked();
        if let Some(i) = entries.live.iter().position(|other| other.0 == task) {
            entries.live.swap_remove(i);
        }
    }

    /// Joins the threads that have ended; or all, if every task has.
    pub fn join(&self, all: bool) {
        let mut entries = self.locked();
        let all = all && entries.live.is_empty();
        let threads = std::mem::take(&mut entries.threads);
        let (over, others) = threads.into_iter().partition::<Vec<_>, _>(|thread| all || thread.is_finished());
        entries.threads = others;
        drop(entries);
        for thread in over {
            // It does not unwind: panics stop at the task, and what goes on ends the process.
            _ = thread.join();
            map::thread_ended();
        }
    }
}

/// Starts a task on a thread of its own, which nobody else uses, and returns a handle to its result.
///
/// For what keeps a thread to itself for long: an event loop of a foreign library, a device that is polled, a computation that is
/// never to wait for others nor to hold them up. Panics, joining, detaching, names, task-locals and what is inherited are as for
/// [`spawn`](crate::spawn); what it spawns runs on the workers of the runtime, and in the pool, that it was started from. A shutdown of
/// that runtime waits for it, and names it if it does not end.
///
/// `blocking(f)` is for calls that somebody waits for, `compute(f)` for computations; both use threads again, and limit how many
/// there are. This one starts a thread for each task: some 30 µs.
///
/// # Blocking
/// Never blocks. In the task itself everything waits as on a thread that is no worker: it sleeps, and nobody uses it meanwhile. Its
/// time is the real one, also where the runtime's [clock is manual](crate::Builder::manual_clock).
///
/// # Cancellation
/// [`cancel`](JoinHandle::cancel) by its handle is found only before it begins: nobody ends the waits of a thread that is no worker's.
/// A [token](Builder::token) that was given with the task is found at each of them.
///
/// # Panics
/// If the system has no thread for it. ([`task::Builder::dedicated`](Builder::dedicated) returns that as an error.)
///
/// # Examples
/// ```
/// let (tx, rx) = std::sync::mpsc::channel();
/// let h = myriad_core::task::dedicated(move || rx.iter().sum::<u32>());  // blocks its thread, and nobody else
/// (0..10).for_each(|i| tx.send(i).unwrap());
/// drop(tx);
/// assert_eq!(h.join().unwrap(), 45);
/// ```
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
    /// As [`dedicated`]: the task has a thread of its own, with the task's name. A priority has no meaning there.
    ///
    /// # Errors
    /// What the system says: it has no thread for it. The closure is dropped.
    ///
    /// # Panics
    /// If the runtime has no pool of the name that was given.
    #[track_caller]
    pub fn dedicated<F, T>(mut self, f: F) -> io::Result<JoinHandle<T>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let (home, place) = (self.home(), Location::caller());
        let (inherited, token) = (Heirloom::new(self.seed()), self.take_token());
        let f = move || match token {
            Some(token) => token.run_task(f),
            None => f(),
        };
        let body = move || match inherited.run(f) {
            Ok(value) => value,
            Err(payload) => unwind::resume(payload),
        };
        // SAFETY: the closure is 'static and Send.
        unsafe { start(home, body, place, self) }
    }
}

/// # Safety
/// What `f` and `T` borrow outlives the task.
unsafe fn start<F, T>(home: Handle, f: F, place: &'static Location<'static>, with: Builder) -> io::Result<JoinHandle<T>>
where
    F: FnOnce() -> T + Send,
    T: Send,
{
    let hub = home.hub();
    hub.expect_here();
    let (w, class) = (worker::current(), const { record::class::<F, T>() });
    let task = w.map_or_else(|| memory::foreign().alloc(class), |w| w.memory.alloc(class)).cast::<Header>();
    let named = with.thread_name().unwrap_or_else(|| format!("{}-dedicated", hub.config().name));
    // SAFETY: fresh memory of the right class, ours until the thread has it.
    let handle = unsafe {
        spawn::write_header(task, spawn::run_closure::<F, T>, record::kind::<F, T>(Kind::CLOSURE), hub.number, place);
        record::put(task, f);
        with.set_name(hub, task);
        JoinHandle::new(task)
    };
    hub.dedicated.join(false);
    let mut entries = hub.dedicated.locked();
    if !hub.lets_in(home.comer()) {
        drop(entries);
        // SAFETY: nobody else has it, but for the handle, which is told.
        unsafe { finish::drop_unstarted(task) };
        return Ok(handle);
    }
    let size = hub.config().stack_size.max(STACK);
    let address = task.expose_provenance();
    let body = move || {
        thread::never_unwinds("a dedicated task's thread", || run(hub, std::ptr::with_exposed_provenance_mut(address)));
    };
    let started = map::thread_starts().and_then(|()| {
        let started = std::thread::Builder::new().name(named).stack_size(size).spawn(body);
        started.inspect_err(|_| map::thread_ended())
    });
    match started {
        Ok(thread) => {
            // Before the thread can say that it is over: we have the lock.
            entries.live.push(Task(task));
            entries.threads.push(thread);
            Ok(handle)
        }
        Err(error) => {
            drop(entries);
            // SAFETY: there is no thread.
            unsafe { finish::drop_unstarted(task) };
            drop(handle);
            Err(error)
        }
    }
}

/// The life of the thread.
fn run(hub: &'static Hub, task: *mut Header) {
    // A worker that has a core of its own may have started us.
    _ = thread::unpin(&processors().cpus);
    overflow::enter_thread();
    ME.set(task);
    // SAFETY: the record was made for us. After `complete` it is ours only if it was detached.
    unsafe {
        let ended = ((*task).run)(task, Mode::Run);
        (*task).outcome = if ended == Ended::Panicked { Outcome::Panicked } else { Outcome::Returned };
        let waiter = Header::complete(task);
        if waiter == DETACHED {
            // What is left is the task's own code: it runs as the task.
            if ended == Ended::Panicked {
                _ = unhandled::report(None, task);
            }
            _ = finish::drop_outcome(None, task);
            ME.set(null_mut());
        } else {
            // The record may be another task's from here on.
            ME.set(null_mut());
            if !waiter.is_null() {
                _ = wake_waiter(None, waiter);
            }
        }
    }
    hub.dedicated.ended(task);
    overflow::leave_thread();
}
