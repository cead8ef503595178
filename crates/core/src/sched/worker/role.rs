//! The role of a worker, as a token: the right to act as the worker that the calling thread is at
//! the moment.
//!
//! In threads mode a task that has waited may go on with *another* worker's role
//! ([`crate::sched::rescue::takeover`]), and every piece of user code may wait. So a reference to
//! "my worker" that was taken before user code ran, or before a wait, says nothing afterwards. The
//! token makes that a compile error: a `Role` is neither `Copy` nor `Clone`, a `&Worker` borrows
//! from one, and all that runs user code or waits takes the role by value and returns it read anew
//! ([`crate::sched::user_code`], [`Role::suspend`], [`Role::yield_now`]).
//!
//! **Invariant.** While a `Role` is alive, the calling thread has the role of that worker. It is
//! made by [`current`] alone, at the beginning of an operation and where one goes on after foreign
//! code; it is never kept in a place that outlives the call, and it is not `Send`.
//!
//! **Rejected.** A closure `with(|worker| ..)`: what runs inside may wait as well, so nothing would
//! be gained.

use super::{Peer, Worker};
use crate::record::current::CurrentTask;
use crate::record::header::Ended;
use crate::record::task::Unstarted;
use crate::sched::{fork, lifecycle};
use myriad_base::sys::mutant::fault;
use std::cell::Cell;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::null;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct Role {
    worker: &'static Worker,
    /// Of the thread that asked.
    thread: PhantomData<*mut ()>,
}

// A token that can be copied would outlive what it says.
const _: () = assert!(!std::mem::needs_drop::<Role>() && size_of::<Option<Role>>() == size_of::<usize>());

thread_local! {
    static CURRENT: Cell<*const Worker> = const { Cell::new(null()) };
}

/// The worker whose role the calling thread has.
#[inline(always)]
pub(crate) fn current() -> Option<Role> {
    // In a model all threads are foreign.
    if cfg!(loom) {
        return None;
    }
    let worker = CURRENT.with(Cell::get);
    // SAFETY: set to a worker by `set_current`, and workers live for ever. What the thread-local of
    // the calling thread names is the worker whose role that thread has.
    unsafe { worker.as_ref().map(|worker| Role::new(worker)) }
}

/// Makes the calling thread one of this worker's.
///
/// # Safety
/// The thread has that worker's role from here on, and no [`Role`] of another worker is used on it
/// any more.
pub(crate) unsafe fn set_current(worker: Option<&'static Peer>) {
    // (A worker that was hidden while its process was forked is the parent's: it stays hidden, and
    // begins no more of its parent's tasks.)
    let worker = worker.filter(|worker| {
        let is_here = !worker.pool.is_elsewhere();
        if !is_here {
            fork::stop_loop(worker);
        }
        is_here
    });
    CURRENT.with(|c| c.set(worker.map_or(null(), Peer::whole)));
}

impl Deref for Role {
    type Target = Worker;
    #[inline(always)]
    fn deref(&self) -> &Worker {
        // (Null where a worker is hidden: `keep_thread`, a hook.)
        #[cfg(all(debug_assertions, not(loom)))]
        CURRENT.with(|current| {
            let now = current.get();
            if !now.is_null() && !std::ptr::eq(now, self.worker) {
                myriad_base::sys::thread::abort_with(
                    "a role was used on a thread that has another one by now (a bug in Myriad)",
                );
            }
        });
        self.worker
    }
}

impl Peer {
    /// The role that the calling thread has now, where it had this worker's before. In fiber mode
    /// that is one branch.
    ///
    /// # Safety
    /// The calling thread has had this worker's role.
    #[inline(always)]
    pub(crate) unsafe fn role_again(&'static self) -> Role {
        // SAFETY: the calling thread has had the role (this function's contract). In threads mode
        // `refresh` only compares the worker; in fiber mode that role is for good.
        Role { worker: unsafe { self.own() }, thread: PhantomData }.refresh()
    }

    /// The role that the calling thread has now, for one who may hold this worker over code that
    /// hides it. `None`: the role is hidden. In fiber mode a hidden role is not found out, which is
    /// one branch less: who suspends by it asks [`current`].
    ///
    /// # Safety
    /// The calling thread has had this worker's role.
    #[inline(always)]
    pub(crate) unsafe fn role_if_any(&'static self) -> Option<Role> {
        // SAFETY: as in `role_again`.
        let before = Role { worker: unsafe { self.own() }, thread: PhantomData };
        if !self.shared.ready.is_shared() || fault("stale-role") { Some(before) } else { before.now() }
    }
}

impl Role {
    /// Of the calling thread.
    ///
    /// # Safety
    /// The calling thread has the role of this worker.
    #[inline(always)]
    unsafe fn new(worker: &'static Worker) -> Role {
        Role { worker, thread: PhantomData }
    }

    /// The role that the calling thread has now, where it had this one before a wait or before user
    /// code. In fiber mode that is one branch: there a thread has one worker for good.
    #[inline(always)]
    #[must_use = "the role that was given away says nothing any more"]
    pub(crate) fn refresh(self) -> Role {
        if !self.worker.shared.ready.is_shared() || fault("stale-role") {
            return self;
        }
        self.now().unwrap_or_else(|| crate::sched::fork::end_of_child())
    }

    /// Runs a claimed task on top of what has run here; `running` says so already. `Ok`: the task
    /// has never been set aside, has no context, and is in no table. Else the role comes back as it
    /// was: the caller [refreshes](Self::refresh) it.
    ///
    /// A role changes only where a task is set aside. Whoever is set aside on top of others takes
    /// the [mark](Header::is_plain_on_top) off first, or, where there is no stack for the loop,
    /// takes the task out of `running`; so does a child that was forked. So what says that the task
    /// was plain says that the role is this one yet, and the thread-local word is not read again.
    #[inline(always)]
    pub(crate) fn run_on_top(self, task: Unstarted) -> (Result<Role, Role>, Ended) {
        let record = task.address();
        let ended = lifecycle::begin(task.into());
        // (Not by way of `deref`: that is for a role of now.)
        let running = self.worker.peer.running.get();
        // SAFETY: the task was claimed by its joiner, so nobody frees its record before the caller.
        let is_plain = running == CurrentTask::of_task(record) && unsafe { (*record).is_plain_on_top() };
        (if is_plain || fault("on-top-role-kept") { Ok(self) } else { Err(self) }, ended)
    }

    /// The role that the thread has now, in threads mode.
    #[inline(always)]
    fn now(self) -> Option<Role> {
        let now = current()?;
        if !std::ptr::eq(now.worker, self.worker) && now.stacks.brings_contexts() {
            // The task may have a context, or one below it on this stack, which it had on the other
            // worker.
            now.set_contexts();
        }
        Some(now)
    }
}
