//! The injector: where tasks come in from outside of the workers, and who is in `run`.

use super::{Comer, Door, Hub, Injector, Task, locked};
use crate::blocking;
use crate::runtime::Handle;
use crate::sched::policy::Arrival;
use crate::sched::priority::Lane;
use crate::sched::worker::Worker;
use crate::sys::atomic::Ordering::*;
use crate::task::finish;
use crate::task::header::{DETACHED, Header};
use std::collections::VecDeque;
use std::ptr::null_mut;

impl Handle {
    /// Queues a task for any worker of this pool, in the lane of a priority. If the runtime has been shut down, the task is dropped, and
    /// its joiner told.
    ///
    /// # Panics
    /// If the runtime is that of the process from which this one was forked. The task is dropped.
    ///
    /// # Safety
    /// As for [`Hub::inject`]; nobody has a handle of the task yet.
    pub(crate) unsafe fn inject(self, lane: Option<Lane>, task: *mut Header) {
        // SAFETY: the caller.
        unsafe {
            self.refuse_elsewhere(task);
            self.hub().inject_into(lane, task, self.comer());
        }
    }

    /// The same, but a task that has come too late stays the caller's (false): nothing is dropped.
    ///
    /// # Safety
    /// As for [`Hub::inject`].
    pub(crate) unsafe fn try_inject(self, lane: Option<Lane>, task: *mut Header) -> bool {
        // SAFETY: the task is the caller's to queue.
        unsafe { self.hub().try_inject_into(lane, task, self.comer()) }
    }

    /// Queues a task that only this worker, which is no spare, may begin.
    ///
    /// # Panics
    /// As [`inject`](Self::inject).
    ///
    /// # Safety
    /// As for [`inject`](Self::inject).
    pub(crate) unsafe fn pin(self, task: *mut Header, worker: usize) {
        // SAFETY: the caller.
        unsafe {
            self.refuse_elsewhere(task);
            self.hub().pin(task, worker, self.comer());
        }
    }

    /// # Safety
    /// As for [`inject`](Self::inject).
    unsafe fn refuse_elsewhere(self, task: *mut Header) {
        if self.hub().is_elsewhere() {
            // SAFETY: the caller; nobody waits for it.
            unsafe {
                (*task).waiter.store(DETACHED, Relaxed);
                finish::drop_unstarted(task);
            }
            self.hub().expect_here();
        }
    }
}

/// A task has come too late. It is dropped; a future that was woken, on another thread: its waker is called in the middle of all kinds of
/// things (a task that ends, a cancellation that holds another task's place), and is known to run no user code.
///
/// # Safety
/// The task is in no queue, never starts, and nobody else uses it.
#[cold]
unsafe fn refuse(task: *mut Header, comer: Comer) {
    if comer == Comer::Known {
        // SAFETY: as said above.
        unsafe { blocking::drop_elsewhere(task) };
    } else {
        // SAFETY: as said above.
        unsafe { finish::drop_unstarted(task) };
    }
}

impl Hub {
    /// Opens or closes the injector.
    pub fn set_door(&self, door: Door) {
        locked(&self.injector).door = door;
    }

    /// May somebody begin a task that is in no queue?
    pub fn lets_in(&self, comer: Comer) -> bool {
        self.admits(&locked(&self.injector), comer)
    }

    /// The same, with the lock.
    fn admits(&self, injector: &Injector, comer: Comer) -> bool {
        // Relaxed: written under this lock.
        let is_of_now = |term| term == self.term.load(Relaxed);
        match comer {
            Comer::New(term) => injector.door == Door::Open && is_of_now(term),
            Comer::Sibling(term) => injector.door != Door::Shut && is_of_now(term),
            // (There is no waker of a future that has ended with its runtime: see `task::state`.)
            Comer::Known => injector.door != Door::Shut,
        }
    }

    /// Which of the runtimes that have used it uses it now, or did last.
    pub fn term(&self) -> u64 {
        self.term.load(Relaxed)
    }

    /// Another runtime begins to use it.
    pub(super) fn begin_term(&self) {
        let _injector = locked(&self.injector);
        // Relaxed: under the lock. Who belongs to a runtime reads its own term, and that was written before it began.
        self.term.store(self.term.load(Relaxed) + 1, Relaxed);
    }

    /// Queues a task for any worker. If the runtime has been shut down, the task is dropped, and its joiner told.
    ///
    /// # Safety
    /// `task` is a live record of this hub in no queue, and the caller's to queue.
    pub unsafe fn inject(&self, task: *mut Header, comer: Comer) {
        // SAFETY: the caller.
        unsafe { self.inject_into(None, task, comer) };
    }

    /// The same into the lane of a priority.
    ///
    /// # Safety
    /// As for [`inject`](Self::inject).
    pub unsafe fn inject_into(&self, lane: Option<Lane>, task: *mut Header, comer: Comer) {
        // SAFETY: the task is the caller's to queue; where it was refused, nobody else uses it, and it never starts.
        unsafe {
            if !self.try_inject_into(lane, task, comer) {
                refuse(task, comer);
            }
        }
    }

    /// # Safety
    /// As for [`inject`](Self::inject); where the result is false, the task is still the caller's.
    unsafe fn try_inject_into(&self, lane: Option<Lane>, task: *mut Header, comer: Comer) -> bool {
        let mut injector = locked(&self.injector);
        if self.admits(&injector, comer) {
            // Counted under the lock, so that a hub in use is meant.
            match lane {
                None => {
                    if let Some(queues) = self.crew.queues() {
                        let arrival = if comer == Comer::Known { Arrival::Woken } else { Arrival::Outside };
                        // SAFETY: the caller.
                        unsafe { self.crew.put(queues, None, task, arrival) };
                    } else {
                        injector.queue.push_back(Task(task));
                        self.crew.inject();
                    }
                }
                Some(Lane::Urgent) => {
                    injector.urgent.push_back(Task(task));
                    self.crew.inject_urgent();
                    drop(injector);
                    self.hurry();
                }
                Some(Lane::Deferred) => {
                    injector.deferred.push_back(Task(task));
                    self.crew.defer();
                }
            }
            true
        } else {
            false
        }
    }

    /// Queues a task that only this worker, which is no spare, may begin.
    ///
    /// # Safety
    /// As for [`inject`](Self::inject).
    pub unsafe fn pin(&self, task: *mut Header, worker: usize, comer: Comer) {
        let mut injector = locked(&self.injector);
        if self.admits(&injector, comer) {
            injector.pinned.entry(worker).or_default().push_back(Task(task));
            let w = self.workers()[worker];
            // Under the lock, as above. Awake, it looks at its next turn.
            if !self.crew.pin(&w.member) {
                w.turns_left.store(0, Relaxed);
            }
        } else {
            drop(injector);
            // SAFETY: the caller: it is ours, and never starts.
            unsafe { refuse(task, comer) };
        }
    }

    /// Takes the oldest of those tasks; null if there is none. By the worker itself.
    pub fn take_pinned(&self, w: &Worker) -> *mut Header {
        let mut injector = locked(&self.injector);
        let queue = injector.pinned.get_mut(&w.member.index);
        let Some(Task(task)) = queue.and_then(VecDeque::pop_front) else { return null_mut() };
        w.member.door.pinned.fetch_sub(1, Relaxed);
        task
    }

    /// The number of a worker for a new group: by turns.
    pub fn next_home(&self) -> usize {
        // Relaxed: only that they are spread.
        self.homes.fetch_add(1, Relaxed) % self.workers().len()
    }

    /// Takes the interactive task that has waited longest; null if there is none.
    pub fn take_urgent(&self, w: &Worker) -> *mut Header {
        let mut injector = locked(&self.injector);
        let Some(Task(task)) = injector.urgent.pop_front() else { return null_mut() };
        self.crew.take_urgent(1);
        w.lanes.begins(true);
        task
    }

    /// Takes the background task that has waited longest; null if there is none.
    pub fn take_deferred(&self) -> *mut Header {
        let mut injector = locked(&self.injector);
        let Some(Task(task)) = injector.deferred.pop_front() else { return null_mut() };
        self.crew.take_deferred(1);
        task
    }

    /// Takes one injected task to run, and some more into the deque of `w`. If it `may_be_urgent`, an interactive one, unless
    /// these have had their turns and there is another.
    ///
    /// Under another policy: the one that its queues say.
    ///
    /// A spare that is [held back](Self::hold_spares_back) gets interactive tasks alone.
    pub fn take_injected(&self, w: &Worker, may_be_urgent: bool) -> *mut Header {
        if w.is_held_back() {
            return if may_be_urgent && self.crew.has_urgent() { self.take_urgent(w) } else { null_mut() };
        }
        if let Some(queues) = self.crew.queues() {
            if may_be_urgent && self.crew.has_urgent() && (w.lanes.may_be_urgent() || queues.is_empty()) {
                let task = self.take_urgent(w);
                if !task.is_null() {
                    return task;
                }
            }
            w.lanes.begins(false);
            return queues.take(w.member.index, None);
        }
        let mut injector = locked(&self.injector);
        let others = !injector.queue.is_empty();
        if may_be_urgent && !injector.urgent.is_empty() && (!others || w.lanes.may_be_urgent()) {
            drop(injector);
            return self.take_urgent(w);
        }
        if others {
            w.lanes.begins(false);
        }
        // A spare holds nothing back.
        let most = if w.spare { 1 } else { 32 };
        let share = (injector.queue.len() / self.workers().len()).clamp(1, most);
        let Some(Task(first)) = injector.queue.pop_front() else { return null_mut() };
        let more: Vec<Task> = (1..share).map_while(|_| injector.queue.pop_front()).collect();
        drop(injector);
        self.crew.uninject(1 + more.len());
        // The newest is popped first: push them so that the oldest is.
        for Task(task) in more.into_iter().rev() {
            // SAFETY: taken out of the injector; `w` is the calling worker.
            unsafe { w.push_any(task) };
        }
        first
    }

    /// Takes all that is left in the injector.
    pub fn drain_injector(&self) -> Vec<*mut Header> {
        let mut injector = locked(&self.injector);
        let Injector { queue, urgent, deferred, pinned, .. } = &mut *injector;
        self.crew.uninject(queue.len());
        self.crew.take_urgent(urgent.len());
        self.crew.take_deferred(deferred.len());
        self.workers().iter().for_each(|w| w.member.door.pinned.store(0, Relaxed));
        let others = urgent.drain(..).chain(deferred.drain(..)).chain(pinned.drain().flat_map(|(_, queue)| queue));
        queue.drain(..).chain(others).map(|Task(task)| task).collect()
    }

    /// A thread or a task of another runtime begins to wait for this task, whose record is in its frame.
    pub fn begin_run(&self, task: *mut Header) {
        locked(&self.injector).runs.push(Task(task));
    }

    /// It has ended.
    pub fn end_run(&self, task: *mut Header) {
        let mut injector = locked(&self.injector);
        if let Some(i) = injector.runs.iter().position(|run| run.0 == task) {
            injector.runs.swap_remove(i);
        }
    }

    /// Is nobody in `run`?
    pub fn nobody_runs(&self) -> bool {
        locked(&self.injector).runs.is_empty()
    }

    /// Shows the tasks of all who are in `run`; they do not go meanwhile.
    pub fn for_each_run(&self, each: impl FnMut(*const Header)) {
        locked(&self.injector).runs.iter().map(|run| run.0.cast_const()).for_each(each);
    }
}
