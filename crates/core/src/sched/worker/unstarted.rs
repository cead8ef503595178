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
    /// The caller is this worker. `task` is the live record of a closure that has not begun, in no
    /// queue, on no stack, complete, from the memory of this worker, and nobody else knows it.
    #[inline(always)]
    pub(crate) unsafe fn push_new(&self, task: *mut Header) -> *mut Header {
        self.debug_assert_knows_context();
        if !self.is_plain() {
            // SAFETY: `task` is such a record as this function's contract describes, and
            // `push_heir` has the same contract.
            return unsafe { self.push_heir(task) };
        }
        // SAFETY: this worker is calling and `task` is in no queue (this function's contract);
        // `is_plain` was asked just now.
        if unsafe { self.shared.deque.push_plain(task) } {
            // SAFETY: this worker is calling, and the line above has pushed.
            unsafe { self.answer() };
        }
        task
    }

    /// # Safety
    /// The conditions of [`push_new`](Self::push_new), on the caller and on `task`.
    #[cold]
    #[inline(never)]
    unsafe fn push_heir(&self, task: *mut Header) -> *mut Header {
        // SAFETY: `task` is complete, in no queue, in no frame, and nobody else knows it (this
        // function's contract), as `closure` demands. The record that `closure` returns is so too,
        // and the caller is this worker, as `push` demands.
        unsafe {
            let task = inherit::closure(Some(self), task, None);
            self.push(task);
            task
        }
    }

    /// Queues a closure whose record is in a frame of this stack. It inherits from the running
    /// task's context.
    ///
    /// # Safety
    /// The caller is this worker. `task` is a `StackTask`'s record, which has not begun, is in no
    /// queue, lives until it has ended or was claimed, and nobody else knows it.
    #[inline(always)]
    pub(crate) unsafe fn push_nested(&self, task: *mut Header) {
        self.debug_assert_knows_context();
        if !self.is_plain() {
            // SAFETY: `task` is such a record as this function's contract describes, and
            // `push_nested_heir` has the same contract.
            return unsafe { self.push_nested_heir(task) };
        }
        // SAFETY: this worker is calling and `task` is in no queue (this function's contract);
        // `is_plain` was asked just now.
        if unsafe { self.shared.deque.push_plain(task) } {
            // SAFETY: this worker is calling, and the line above has pushed.
            unsafe { self.answer() };
        }
    }

    /// # Safety
    /// The conditions of [`push_nested`](Self::push_nested), on the caller and on `task`.
    #[cold]
    #[inline(never)]
    unsafe fn push_nested_heir(&self, task: *mut Header) {
        // SAFETY: `task` is a `StackTask`'s record in no queue (this function's contract), as both
        // functions demand, and `nested` queues nothing. The caller is this worker.
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
        // SAFETY: the deque is the caller's own, and the record is live (this function's
        // contract).
        let Some(asked) = (unsafe { self.shared.deque.change_newest(task, change) }) else { return false };
        if asked {
            // SAFETY: this worker is calling, and `change_newest` has pushed `task` back.
            unsafe { self.answer() };
        }
        true
    }

    /// Queues an unstarted closure.
    ///
    /// # Safety
    /// The caller is this worker. `task` is the live record of a closure that has not begun, in no
    /// queue, and the caller's to queue. Once it was taken out to be run it is queued no more.
    #[inline(always)]
    pub(crate) unsafe fn push(&self, task: *mut Header) {
        // SAFETY: the deque is the caller's own, and `task` is in no queue until it is run
        // (this function's contract).
        if unsafe { self.shared.deque.push(task) } {
            // SAFETY: this worker is calling, and the line above has pushed.
            unsafe { self.answer() };
        }
    }

    /// Queues a future.
    ///
    /// # Safety
    /// The caller is this worker. `task` is the live record of a future in no queue, and the
    /// caller's to queue.
    #[inline(always)]
    pub(crate) unsafe fn push_future(&self, task: *mut Header) {
        // SAFETY: the deque is the caller's own, and `task` is in no queue (this function's
        // contract).
        if unsafe { self.shared.deque.push_unclaimed(task) } {
            // SAFETY: this worker is calling, and the line above has pushed.
            unsafe { self.answer() };
        }
    }

    /// Queues a task of either kind.
    ///
    /// # Safety
    /// The caller is this worker. `task` is the live record of a future, or of a closure that has
    /// not begun, in no queue, and the caller's to queue.
    pub(crate) unsafe fn push_any(&self, task: *mut Header) {
        // SAFETY: the record is live, so its `kind` can be read; `task` meets the contract of the
        // function for its kind, because it meets this function's.
        unsafe { if (*task).kind.has(Kind::FUTURE) { self.push_future(task) } else { self.push(task) } }
    }

    /// Queues a future behind all others.
    ///
    /// # Safety
    /// The caller is this worker. `task` is the live record of a future in no queue, and the
    /// caller's to queue.
    pub(crate) unsafe fn push_last(&self, task: *mut Header) {
        // SAFETY: the deque is the caller's own, and `task` is in no queue (this function's
        // contract).
        if unsafe { self.shared.deque.push_oldest(task) } {
            // SAFETY: this worker is calling, and the line above has pushed.
            unsafe { self.answer_for(Some(Arrival::Last)) };
        }
    }

    /// Queues a closure in which the running task goes on, elsewhere, while it waits for it.
    ///
    /// # Safety
    /// The conditions of [`push`](Self::push), on the caller and on `task`; and nobody claims
    /// `task`.
    pub(crate) unsafe fn push_next(&self, task: *mut Header) {
        // SAFETY: the deque is the caller's own, and `task` is in no queue (this function's
        // contract).
        if unsafe { self.shared.deque.push(task) } {
            // SAFETY: this worker is calling, and the line above has pushed.
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
        // SAFETY: this worker is calling, and has just pushed (this function's contract).
        unsafe { self.answer_for(None) };
    }

    /// # Safety
    /// The caller is this worker, and has just pushed.
    unsafe fn answer_for(&self, arrival: Option<Arrival>) {
        let workers = &self.pool.workers;
        // SAFETY: this worker is calling and has just pushed (this function's contract). Where
        // there are a policy's queues, nobody steals, and each push is passed on at once, so the
        // deque holds this one task. It is live, out of the deque then, and ours to queue.
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
    /// The caller is this worker. It has the task's handle, or the record is its own: so the record
    /// lives. The task was queued by [`push`](Self::push) or one of its variants for closures, or
    /// its `idx` says that it is in no deque ([`Deque::claim`](crate::queue::deque::Deque::claim)).
    pub(crate) unsafe fn claim(&self, task: &Header) -> bool {
        // SAFETY: the deque is the caller's own, and `task` was pushed so that its `idx` is
        // right, or says that it is in no deque (this function's contract). For `claim_queued` the
        // record lives.
        unsafe { self.shared.deque.claim(task) || self.claim_queued(task) }
    }

    /// Takes a closure out of the policy's queues alone, as [`claim`](Self::claim) does.
    ///
    /// # Safety
    /// The caller has the task's handle, or the record is its own.
    pub(crate) unsafe fn claim_queued(&self, task: &Header) -> bool {
        self.pool.workers.queues().is_some_and(|queues| queues.claim(task))
    }
}
