//! What a worker's own thread keeps of the worker: what runs here, whether there are contexts, and
//! which locks prefer the worker.

use super::Worker;
use crate::record::current::{CurrentTask, RunsHere};
use crate::record::header::Header;
use crate::record::task::TaskRef;
use myriad_base::sys::atomic::Ordering::{Relaxed, Release};

impl Worker {
    /// The running task, whose record is in the frame of another, is about to complete, and the
    /// frame may go: whoever asks what we run must not look at it, or not believe what it has read
    /// ([`Pool::name_running`](crate::sched::pool::Pool::name_running)).
    #[inline]
    pub(crate) fn forget_frame(&self) {
        self.running.set(CurrentTask::NOTHING);
        self.forget();
    }

    /// What `running` said until now may go: a frame, or a context.
    #[inline]
    pub(crate) fn forget(&self) {
        // Release: `running`, for the Acquire in `name_running`; and before all that becomes of the
        // memory.
        self.frame_version.store(self.frame_version.load(Relaxed).wrapping_add(1), Release);
    }

    /// What runs here, or is about to, has a context: from now on tasks are pushed, joined and
    /// ended with that in mind. For good.
    #[inline]
    pub(crate) fn meet_context(&self) {
        self.set_contexts();
        self.stacks.bring_contexts();
    }

    /// Are the fences of its deque soft, and has no task of it had a context? (One test for both:
    /// at each push.)
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.deque().is_plain()
    }

    /// Has a task of this worker had a context?
    #[inline(always)]
    pub(crate) fn has_contexts(&self) -> bool {
        self.deque().has_contexts()
    }

    /// A task of this worker has a context. For good.
    #[inline]
    pub(crate) fn set_contexts(&self) {
        self.deque().set_contexts();
    }

    /// (C2) of [`crate::sched::context`].
    #[inline(always)]
    pub(crate) fn debug_assert_knows_context(&self) {
        debug_assert!(!self.running.has_context() || self.has_contexts(), "the running task has a context");
    }

    /// Is it a spare that may meet jobs which it does not begin? See [`crate::sched::spare`].
    #[inline]
    pub(crate) fn passes_jobs_over(&self) -> bool {
        self.spare && self.pool.has_guests()
    }

    /// The worker's thread begins (or, with `false`, ends) to work.
    pub(crate) fn prefer_locks(&self, yes: bool) {
        if yes {
            #[cfg(not(loom))]
            self.bias_owner.set(myriad_base::lock::bias_owner::take());
        } else if let Some(_biaser) = self.bias_owner.take() {
            #[cfg(not(loom))]
            // SAFETY: the worker's own right, which is taken out of it; the calling thread, which
            // is at the end of that worker's loop, is in no biased lock.
            unsafe {
                myriad_base::lock::bias_owner::give_back(_biaser);
            }
        }
    }

    /// A turn is over: locks that were leased for it are for all.
    #[inline(always)]
    pub(crate) fn end_leases(&self) {
        if let Some(bias_owner) = self.bias_owner.get() {
            // SAFETY: the worker's own right, and the role is the calling thread's, which is in no
            // biased lock: nothing that it does inside one comes to the loop.
            unsafe { bias_owner.end_turn() };
        }
    }

    /// The record of what runs now: of a task that has not ended, or nobody's.
    #[inline(always)]
    pub(crate) fn running_record(&self) -> *const Header {
        // SAFETY: the word is that of what runs here, which has not ended.
        unsafe { self.running.get().record() }
    }

    /// The record whose cancellation counts for what runs now.
    ///
    /// Valid while the role is not given away: who ends what runs here, or has something else run,
    /// takes the role.
    #[inline(always)]
    pub(crate) fn runs_here(&self) -> RunsHere<'_> {
        // SAFETY: the word is that of what runs here, which has not ended.
        unsafe { self.running.get().runs_here() }
    }

    /// The task of that record, if one runs.
    pub(crate) fn task(&self) -> Option<TaskRef<'_>> {
        self.runs_here().task()
    }
}
