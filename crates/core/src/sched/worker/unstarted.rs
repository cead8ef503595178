//! A worker and the tasks that have not begun: its deque, and what they inherit.

use super::{BUDGET, Worker};
use crate::queue::deque::OwnDeque;
use crate::queue::policy::Arrival;
use crate::record::create::{Created, InFrame, NewFuture, OneTask, Unheld};
use crate::record::header::Header;
use crate::record::held::HeldTask;
use crate::record::state;
use crate::record::task::{Runnable, TaskRef, Unstarted};
use crate::sched::context::inherit;

impl Worker {
    /// This worker's deque, in its owner's hands.
    #[inline(always)]
    pub(crate) fn deque(&self) -> OwnDeque<'_> {
        // SAFETY: who has a `&Worker` has the worker's role as long as the borrow lasts, and so is
        // the deque's owner.
        unsafe { self.shared.deque.owner() }
    }

    /// Queues a closure that the running task spawns: it inherits from the task's context.
    #[inline(always)]
    pub(crate) fn push_new<T>(&self, task: Created<T>) -> HeldTask<T> {
        self.debug_assert_knows_context();
        self.counters.spawned.add(1);
        if !self.is_plain() {
            return task.through(|task| self.push_inheriting(task));
        }
        let (task, held) = task.into_parts();
        if self.deque().push_plain(task) {
            self.serve_requests();
        }
        held
    }

    /// The same of a closure that nobody holds.
    #[inline(always)]
    pub(crate) fn push_detached(&self, task: Created<()>) {
        self.debug_assert_knows_context();
        self.counters.spawned.add(1);
        if !self.is_plain() {
            return self.push_detached_inheriting(task);
        }
        if self.deque().push_plain(task.into_detached()) {
            self.serve_requests();
        }
    }

    #[cold]
    #[inline(never)]
    fn push_detached_inheriting(&self, task: Created<()>) {
        self.push(inherit::closure(Some(self), task, None).into_detached());
    }

    #[cold]
    #[inline(never)]
    fn push_inheriting<'a>(&self, task: Created<OneTask<'a>>) -> HeldTask<OneTask<'a>> {
        let (task, held) = inherit::closure(Some(self), task, None).into_parts();
        self.push(task);
        held
    }

    /// Queues a future that the running task spawns: it inherits from the task's context.
    #[inline(always)]
    pub(crate) fn push_new_future<T>(&self, task: NewFuture<T>) -> HeldTask<T> {
        self.counters.spawned.add(1);
        let task = if self.has_contexts() { inherit::future(Some(self), task, None) } else { Unheld::from(task) };
        let (task, held) = task.into_parts();
        self.push_future(task);
        held
    }

    /// Queues a closure whose record is in a frame of this stack
    /// ([`StackTask`](crate::api::StackTask)). It inherits from the running task's context.
    #[inline(always)]
    pub(crate) fn push_nested(&self, task: InFrame) {
        self.debug_assert_knows_context();
        if !self.is_plain() {
            return self.push_nested_inheriting(task);
        }
        if self.deque().push_plain(task.into_unstarted()) {
            self.serve_requests();
        }
    }

    #[cold]
    #[inline(never)]
    fn push_nested_inheriting(&self, task: InFrame) {
        self.push(inherit::nested(Some(self), task).into_unstarted());
    }

    /// Lets `change` write to this task, if it is the one that was queued last and nobody has begun
    /// it. False: it was not called. `change` queues nothing.
    #[inline(always)]
    pub(crate) fn change_newest(&self, task: TaskRef<'_>, change: impl FnOnce()) -> bool {
        let Some(requested) = self.deque().change_newest(task, change) else { return false };
        if requested {
            self.serve_requests();
        }
        true
    }

    /// Queues an unstarted closure.
    #[inline(always)]
    pub(crate) fn push(&self, task: Unstarted) {
        if self.deque().push(task) {
            self.serve_requests();
        }
    }

    /// Queues a future.
    #[inline(always)]
    pub(crate) fn push_future(&self, task: Runnable) {
        debug_assert!(task.is_future());
        if self.deque().push_unclaimed(task) {
            self.serve_requests();
        }
    }

    /// Queues a future that the running task, or whatever runs here, wakes.
    #[inline(always)]
    pub(crate) fn push_woken(&self, task: Runnable) {
        debug_assert!(task.is_future());
        if self.deque().push_woken(task) {
            self.serve_requests();
        }
    }

    /// Queues a task of either kind.
    pub(crate) fn push_any(&self, task: Runnable) {
        match task.into_unstarted() {
            Ok(closure) => self.push(closure),
            Err(future) => self.push_future(future),
        }
    }

    /// Queues a future behind all others.
    pub(crate) fn push_last(&self, task: Runnable) {
        debug_assert!(task.is_future());
        if self.deque().push_oldest(task) {
            self.serve_requests_for(Some(Arrival::Last));
        }
    }

    /// Queues the running future behind all others.
    pub(crate) fn push_yielded(&self, task: Runnable) {
        debug_assert!(task.is_future());
        if self.deque().push_yielded(task, self.budget.get() < BUDGET) {
            self.serve_requests_for(Some(Arrival::Last));
        }
    }

    /// Queues a closure in which the running task goes on, elsewhere, while it waits for it: so
    /// nobody claims it.
    pub(crate) fn push_next(&self, task: Unstarted) {
        if self.deque().push(task) {
            self.serve_requests_for(Some(Arrival::Next));
        }
    }

    /// A push has found that somebody asks for work; or the policy has set that word for good, to
    /// have the task.
    #[cold]
    #[inline(never)]
    fn serve_requests(&self) {
        self.serve_requests_for(None);
    }

    /// The worker has just pushed.
    fn serve_requests_for(&self, arrival: Option<Arrival>) {
        if let Some(latency) = self.pool.latency.as_ref().filter(|_| arrival != Some(Arrival::Last)) {
            latency.queued(self.deque().newest());
        }
        let workers = &self.pool.workers;
        let Some(queues) = workers.queues() else { return workers.serve_requests(&self.shared, self.deque()) };
        // Where there are a policy's queues, nobody steals, and each push is passed on at once: so
        // the deque holds this one task.
        let Some(task) = self.deque().pass_on() else { return };
        let woken = task.is_future() && !state::is_new(task.header().state());
        let usual = if woken { Arrival::Woken } else { Arrival::Spawned(self.running_record()) };
        workers.put(queues, Some(&self.shared), task, arrival.unwrap_or(usual));
    }

    /// Takes a closure out of whatever queue it is in, to run it on top of its joiner. `None`: it
    /// has begun, or is not to be found.
    pub(crate) fn claim(&self, task: TaskRef<'_>) -> Option<Unstarted> {
        self.deque().claim(task).or_else(|| self.claim_queued(&task))
    }

    /// Takes a closure out of the policy's queues alone, as [`claim`](Self::claim) does.
    pub(crate) fn claim_queued(&self, task: &Header) -> Option<Unstarted> {
        self.pool.workers.queues().and_then(|queues| queues.claim(task))
    }
}
