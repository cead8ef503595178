//! `fork`, as the engine sees it ([`myriad_base::sys::fork`]): a pool of an earlier era has no
//! workers here, and says so to whoever asks it for something ([`Pool::is_elsewhere`]) and would
//! wait for ever. The monitor and threads for calls begin anew.
//!
//! **A task that forks** goes on in the child, on a thread that is no worker any more: it waits as
//! such a thread does, and asks its runtime in vain. (As a worker it would begin its parent's tasks
//! a second time when it waits, hand its role to threads that are not there, and meet locks of
//! other workers that nobody gives back. Its record may be in a frame of another thread's, whose
//! stack the C library gives to the next thread of the child: then the task seemed to be
//! cancelled.) At its end there is nothing to go on with, and the process says so
//! ([`end_of_child`]).
//!
//! Locks of single runtimes are left as they are: nobody asks a runtime of the parent.

use crate::record::current::CurrentTask;
use crate::record::memory;
use crate::sched::busy;
use crate::sched::cancel::{cancel_scope, deadlocked};
use crate::sched::pool::{self, Pool};
use crate::sched::worker::{self, Peer};
use myriad_base::sys::fork::{self, GiveBack, Rank};
use myriad_base::sys::thread::abort_with;

pub(crate) use fork::era;

/// From now on forks are seen, and find the engine's locks free.
#[inline]
pub(crate) fn watch() {
    fork::hold(Rank::Pools, || {
        let held = pool::lock_free();
        Box::new(|_| drop(held))
    });
    fork::hold(Rank::Engine, take);
}

fn take() -> GiveBack {
    let held = (memory::lock_all(), cancel_scope::lock_all(), deadlocked::lock());
    Box::new(move |in_child| {
        if in_child {
            busy::forget_all();
            give_role_up();
        }
        drop(held);
    })
}

/// In the child: the calling thread is no worker any more.
fn give_role_up() {
    let Some(w) = worker::current() else { return };
    stop_loop(&w);
    // SAFETY: the role is given up for good: what holds one below user code asks anew, or comes to
    // the loop, and both end in `end_of_child`.
    unsafe { worker::set_current(None) };
}

/// In the child: the loop below the task that has forked, where it is come back to, sees the stop
/// at its next turn. (In fiber mode; in threads mode nobody comes so far without a role.)
pub(crate) fn stop_loop(w: &Peer) {
    // A joiner below the task must not take its end for that of a task of this worker
    // (`Role::run_on_top`).
    w.running.set(CurrentTask::NOTHING);
    w.pool.workers.stop_in_child();
    w.request_tick();
}

/// A thread has come back to where it was a worker, and is none: it is that of a child, which was
/// forked inside a task.
#[cold]
pub(crate) fn end_of_child() -> ! {
    if era() == 1 {
        abort_with("a thread of the runtime has no worker's role where it needs one (a bug in Myriad)");
    }
    abort_with(
        "this process was forked inside a task, and the child has come to the end of that task: its runtime is the parent's, and there is \
         nothing to go on with. In the child, call `exec` or `_exit` before the task ends; or fork on a thread that is no worker",
    )
}

impl Pool {
    /// What a runtime of the parent says to whoever asks it for something.
    ///
    /// # Panics
    /// If this is a child, and the runtime the parent's.
    pub(crate) fn expect_here(&self) {
        assert!(!self.is_elsewhere(), "{}", self.elsewhere());
    }

    /// The text for that.
    #[cold]
    pub(crate) fn elsewhere(&self) -> String {
        format!(
            "this process was forked, and the runtime '{}' has no workers here, but in the parent; in the child, call `exec`, or build \
             a runtime there",
            self.config().name
        )
    }
}
