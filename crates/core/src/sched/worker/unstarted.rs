//! A worker and the tasks that have not begun: its deque, and what they inherit.

use super::Worker;
use crate::queue::policy::Arrival;
use crate::record::header::{Header, Kind};
use crate::record::state;
use crate::sched::context::inherit;

impl Worker {
    /// Queues a closure that the running task spawns: it inherits from the task's context. Returns
    /// the record, which may have become another one for that.
    ///
    /// # Safety
    /// As for `push`; the record is on no stack, and nobody else knows it.
    #[inline(always)]
    pub(crate) unsafe fn push_new(&self, task: *mut Header) -> *mut Header {
        self.debug_assert_knows_context();
        if !self.shared.deque.is_plain() {
            // SAFETY: the caller.
            return unsafe { self.push_heir(task) };
        }
        // SAFETY: the caller.
        if unsafe { self.shared.deque.push_plain(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
        task
    }

    /// # Safety
    /// As for `push_new`.
    #[cold]
    #[inline(never)]
    unsafe fn push_heir(&self, task: *mut Header) -> *mut Header {
        // SAFETY: the caller.
        unsafe {
            let task = inherit::closure(Some(self), task, None);
            self.push(task);
            task
        }
    }

    /// The same for a closure whose record is in a frame of this stack.
    ///
    /// # Safety
    /// As for `push`; the record is a `StackTask`'s, and nobody else knows it.
    #[inline(always)]
    pub(crate) unsafe fn push_nested(&self, task: *mut Header) {
        self.debug_assert_knows_context();
        if !self.shared.deque.is_plain() {
            // SAFETY: the caller.
            return unsafe { self.push_nested_heir(task) };
        }
        // SAFETY: the caller.
        if unsafe { self.shared.deque.push_plain(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
    }

    /// # Safety
    /// As for `push_nested`.
    #[cold]
    #[inline(never)]
    unsafe fn push_nested_heir(&self, task: *mut Header) {
        // SAFETY: the caller.
        unsafe {
            inherit::nested(Some(self), task);
            self.push(task);
        }
    }

    /// Lets `change` write to this task, if it is the one that was queued last and nobody has begun
    /// it. False: it was not called.
    ///
    /// # Safety
    /// The caller is this worker; the record is live.
    #[inline(always)]
    pub(crate) unsafe fn change_newest(&self, task: *mut Header, change: impl FnOnce()) -> bool {
        // SAFETY: the caller.
        let Some(asked) = (unsafe { self.shared.deque.change_newest(task, change) }) else { return false };
        if asked {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
        true
    }

    /// Queues an unstarted closure.
    ///
    /// # Safety
    /// The caller is this worker; `task` is a record in no queue.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.shared.deque.push(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
    }

    /// Queues a future.
    ///
    /// # Safety
    /// As for `push`.
    #[inline(always)]
    pub(crate) unsafe fn push_future(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.shared.deque.push_unclaimed(task) } {
            // SAFETY: the caller.
            unsafe { self.answer() };
        }
    }

    /// Queues a task of either kind.
    ///
    /// # Safety
    /// As for `push`.
    pub(crate) unsafe fn push_any(&self, task: *mut Header) {
        // SAFETY: the caller.
        unsafe { if (*task).kind.has(Kind::FUTURE) { self.push_future(task) } else { self.push(task) } }
    }

    /// Queues a future behind all others.
    ///
    /// # Safety
    /// As for `push`.
    pub(crate) unsafe fn push_last(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.shared.deque.push_oldest(task) } {
            // SAFETY: the caller.
            unsafe { self.answer_for(Some(Arrival::Last)) };
        }
    }

    /// Queues a closure in which the running task goes on, elsewhere, while it waits for it.
    ///
    /// # Safety
    /// As for `push`; nobody claims it.
    pub(crate) unsafe fn push_next(&self, task: *mut Header) {
        // SAFETY: the caller.
        if unsafe { self.shared.deque.push(task) } {
            // SAFETY: the caller.
            unsafe { self.answer_for(Some(Arrival::Next)) };
        }
    }

    /// A push has found that somebody asks for work; or the policy has set that word for good, to
    /// have the task.
    ///
    /// # Safety
    /// The caller is this worker, and has just pushed.
    #[cold]
    #[inline(never)]
    unsafe fn answer(&self) {
        // SAFETY: the caller.
        unsafe { self.answer_for(None) };
    }

    /// # Safety
    /// As for `answer`.
    unsafe fn answer_for(&self, arrival: Option<Arrival>) {
        let workers = &self.pool.workers;
        // SAFETY: the caller. Under another policy nobody steals, and what was pushed before has
        // been passed on.
        unsafe {
            let Some(queues) = workers.queues() else { return workers.answer(&self.shared) };
            let task = self.shared.deque.pass_on();
            let woken = (*task).kind.has(Kind::FUTURE) && !state::is_new(&(*task).state);
            let usual = if woken { Arrival::Woken } else { Arrival::Spawned(self.running.get().record()) };
            workers.put(queues, Some(&self.shared), task, arrival.unwrap_or(usual));
        }
    }

    /// Takes a closure out of whatever queue it is in, to run it on top of its joiner. False: it
    /// has begun, or is not to be found.
    ///
    /// # Safety
    /// As for [`Deque::claim`](crate::queue::deque::Deque::claim): the caller has the task's
    /// handle, or the record is its own.
    pub(crate) unsafe fn claim(&self, task: &Header) -> bool {
        // SAFETY: the caller; we are the owner of the deque.
        unsafe { self.shared.deque.claim(task) || self.claim_queued(task) }
    }

    /// The same of the policy's queues alone.
    ///
    /// # Safety
    /// As for `claim`.
    pub(crate) unsafe fn claim_queued(&self, task: &Header) -> bool {
        self.pool.workers.queues().is_some_and(|queues| queues.claim(task))
    }
}
