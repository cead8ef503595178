//! The end of a scope: its owner runs what is left of the scope's tasks in the own queue, waits for
//! the others, and goes on with the first panic.

use super::Scope;
use super::counts::OPEN;
use super::job::scope_of;
use crate::queue::parked::{BEHIND_NODE, Parked};
use crate::queue::reason::WaitReason;
use crate::record::current::CurrentTask;
use crate::record::header::{Header, Kind};
use crate::sched::cancel::{self, checkpoint};
use crate::sched::unwind::{self, AbortOnUnwind, Payload};
use crate::sched::user_code::UserValue;
use crate::sched::worker::{self, Role, block_thread};
use myriad_base::sys::atomic::Ordering::{AcqRel, Acquire};

impl Scope<'_, '_> {
    /// Waits until all tasks have ended, after the scope's body has ended in this way.
    pub(crate) fn end<T>(&self, result: Result<T, Payload>) -> T {
        if result.as_ref().is_err_and(cancel::is_cancellation) {
            self.cancel();
        }
        self.wait();
        match (result, self.take_panic()) {
            (Err(payload), second) => {
                // Before the first goes on: a destructor that panics while it does would end the
                // process.
                second.into_iter().for_each(unwind::discard);
                unwind::resume(payload)
            }
            (Ok(value), Some(payload)) => unwind::drop_and_resume(value, payload),
            // By its owner's cancellation, perhaps, which was only passed on.
            (Ok(value), None) if std::mem::needs_drop::<T>() => match unwind::catch(checkpoint::check_anywhere) {
                Ok(()) => value,
                Err(payload) => unwind::drop_and_resume(value, payload),
            },
            (Ok(value), None) => {
                checkpoint::check_anywhere();
                value
            }
        }
    }

    /// The first panic of a task that nobody joined.
    pub(crate) fn take_panic(&self) -> Option<Payload> {
        self.panic.lock().take().map(UserValue::give)
    }

    /// The owner's end: runs what is left of the scope in its own queue, then waits for the others.
    fn wait(&self) {
        let counts = &self.counts;
        // Tasks borrow from the frames below.
        let stays = AbortOnUnwind::new(LEFT);
        let mut w = worker::current();
        if let Some(here) = w {
            w = Some(self.run_own(here));
            if counts.local.get() == 0 && counts.shared.load(Acquire) == OPEN {
                // All have ended, and all that they did is visible.
                return stays.disarm();
            }
        }
        let no_stack = w.as_ref().is_some_and(|w| w.ensure_stack().is_err());
        let node = {
            let reason = WaitReason::Scope;
            w.as_ref().map_or_else(|| Parked::foreign(reason), |w| w.node(reason))
        };
        let wait = ScopeWait { node, scope: std::ptr::from_ref(self).cast() };
        wait.node.cancel_fn.set(Some(ScopeWait::pass_on));
        // (Of the whole wait: `pass_on` looks behind the node.)
        let node = (&raw const wait).cast::<Parked>();
        counts.waiter.with_mut(|waiter| {
            // SAFETY: nobody reads it before the merge below.
            unsafe { *waiter = node.cast_mut() }
        });
        counts.merged.set(true);
        let less = OPEN - counts.local.get();
        if w.is_none() && self.head.home.inner().is_elsewhere() && counts.shared.load(Acquire) != less {
            // Forked by its owner: its tasks are the parent's. (No unwinding leaves a frame that
            // was lent.)
            myriad_base::sys::thread::abort_with(&self.head.home.inner().elsewhere());
        }
        match w {
            Some(w) if no_stack => _ = w.wait_without_stack(|| counts.shared.load(Acquire) == less),
            w => {
                // AcqRel: the node, for who takes the count to 0; what the tasks did, for us.
                if counts.shared.fetch_sub(less, AcqRel) != less {
                    match w {
                        // SAFETY: a stack is ensured, and the last task wakes the node, once.
                        Some(w) => _ = unsafe { w.suspend(node) },
                        // SAFETY: the wait is this thread's, and stands; the pointer is that of the
                        // whole.
                        None => unsafe { block_thread(node) },
                    }
                }
            }
        }
        stays.disarm();
    }

    /// Runs the newest tasks of this worker's queue as long as they belong to this scope. (The
    /// inlining rule allows it: the scope's end cannot come before theirs.)
    fn run_own(&self, mut w: Role) -> Role {
        // SAFETY: what runs here is in this call, and so its record stands, whatever runs on top of
        // it meanwhile.
        let owner = unsafe { w.running.get().runs_here() };
        while w.has_room() {
            if checkpoint::is_cancelled(owner) {
                self.cancel();
            }
            let is_ours = |task: &Header| {
                // SAFETY: what is in a queue has not begun, so a scoped task's payload is its job.
                task.kind().has(Kind::SCOPED)
                    && std::ptr::eq(
                        unsafe { scope_of(std::ptr::from_ref(task).cast_mut()) },
                        std::ptr::from_ref(self).cast(),
                    )
            };
            let in_queues = || w.pool.workers.queues().and_then(|queues| queues.take_ours(w.shared.index, &is_ours));
            let Some(task) = w.deque().pop_newest().or_else(in_queues) else { return w };
            if !is_ours(task.header()) {
                w.push_any(task);
                return w;
            }
            let caller = w.running.replace(CurrentTask::of_task(task.address()));
            // SAFETY: `caller` is what ran here until now, and `task`, a scoped one, runs next.
            unsafe { checkpoint::put_framed_on_top(caller, task.address()) };
            (w, _) = w.run(task);
            w.running.set(caller);
        }
        w
    }
}

/// The owner's wait at the end.
#[repr(C)]
struct ScopeWait {
    node: Parked,
    scope: *const Scope<'static, 'static>,
}

// `pass_on` finds the whole by the node's address.
const _: () = assert!(std::mem::offset_of!(ScopeWait, node) == 0);

// `queue::look` finds the scope there.
const _: () = assert!(std::mem::offset_of!(ScopeWait, scope) == BEHIND_NODE);

impl ScopeWait {
    /// The owner is cancelled: so are the scope's tasks, for which it waits on.
    ///
    /// # Safety
    /// `node` is the node of a `ScopeWait`, and points into the whole. The owner of that is
    /// blocked, and does not go on before this returns.
    unsafe fn pass_on(node: *const Parked) -> bool {
        // SAFETY: `node` is that of a `ScopeWait`, whose owner is blocked (this function's
        // contract): it is in `wait`, so the scope stands.
        unsafe { (*(*node.cast::<ScopeWait>()).scope).cancel() };
        false
    }
}

/// A scope's frame was left while tasks borrow from it.
const LEFT: &str = "the end of a scope was left by a panic while its tasks run, which borrow from it (a bug in Myriad)";
