//! The injector: where tasks come in from outside of the workers, and who is in `run`.

use super::{Admission, Injector, Origin, Pool, RunTask};
use crate::queue::policy::{Arrival, PolicyQueues};
use crate::record::create::Unheld;
use crate::record::header::{Header, Kind};
use crate::record::held::HeldTask;
use crate::record::task::Runnable;
use crate::sched::calls;
use crate::sched::idle::WorkerShared;
use crate::sched::pool::Handle;
use crate::sched::priority::{IN_A_ROW, NextTask, PriorityQueue};
use crate::sched::worker::Worker;
use crate::sched::{finish, spare};
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::choice::{ticks, ticks_per_us};
use std::collections::VecDeque;

/// The shortest time between two requests for ticks.
const REQUEST_US: u64 = 50;

impl Handle {
    /// Queues a task for any worker of this pool, in the queue of a priority. If the runtime has
    /// been shut down, the task is dropped, and its joiner told.
    ///
    /// # Panics
    /// If the runtime is that of the process from which this one was forked. The task is dropped.
    pub(crate) fn inject<T>(self, queue: Option<PriorityQueue>, task: Unheld<T>) -> HeldTask<T> {
        let (task, held) = self.refuse_elsewhere(task).into_parts();
        self.inner().inject_into(queue, task, self.origin());
        held
    }

    /// Queues a task as [`inject`](Self::inject) does, but a task that has come too late stays the
    /// caller's: nothing is dropped.
    pub(crate) fn try_inject(self, queue: Option<PriorityQueue>, task: Runnable) -> Result<(), Runnable> {
        self.inner().try_inject_into(queue, task, self.origin())
    }

    /// Queues a task that only this worker, which is no spare, may begin.
    ///
    /// # Panics
    /// As [`inject`](Self::inject).
    pub(crate) fn pin<T>(self, task: Unheld<T>, worker: usize) -> HeldTask<T> {
        let (task, held) = self.refuse_elsewhere(task).into_parts();
        self.inner().pin(task, worker, self.origin());
        held
    }

    /// The task, unless the runtime is another process's.
    fn refuse_elsewhere<T>(self, task: Unheld<T>) -> Unheld<T> {
        if self.inner().is_elsewhere() {
            finish::drop_unstarted(task.into_detached());
            self.inner().expect_here();
            unreachable!("a runtime of another process refuses");
        }
        task
    }
}

/// A task has come too late. It is dropped; a future that was woken, on another thread: its waker
/// is called in the middle of all kinds of things (a task that ends, a cancellation that holds
/// another task's place), and is known to run no user code.
#[cold]
fn refuse(task: Runnable, origin: Origin) {
    if origin == Origin::Wake { calls::drop_elsewhere(task) } else { finish::drop_unstarted(task) }
}

impl Pool {
    /// Opens or closes the injector.
    pub(crate) fn set_admission(&self, admission: Admission) {
        self.injector.lock().admission = admission;
    }

    /// May somebody begin a task that is in no queue?
    pub(crate) fn lets_in(&self, origin: Origin) -> bool {
        self.admits(&self.injector.lock(), origin)
    }

    /// May a task of this origin come in? With the injector's lock.
    fn admits(&self, injector: &Injector, origin: Origin) -> bool {
        // Relaxed: written under this lock.
        let is_of_now = |term| term == self.term.load(Relaxed);
        match origin {
            Origin::Outside(term) => injector.admission == Admission::All && is_of_now(term),
            Origin::SameRuntime(term) => injector.admission != Admission::Nobody && is_of_now(term),
            // (There is no waker of a future that has ended with its runtime: see `task::state`.)
            Origin::Wake => injector.admission != Admission::Nobody,
        }
    }

    /// Which of the runtimes that have used it uses it now, or did last.
    pub(crate) fn term(&self) -> u64 {
        self.term.load(Relaxed)
    }

    /// Another runtime begins to use it.
    pub(super) fn begin_term(&self) {
        let _injector = self.injector.lock();
        // Relaxed: under the lock. Who belongs to a runtime reads its own term, and that was
        // written before it began.
        self.term.store(self.term.load(Relaxed) + 1, Relaxed);
    }

    /// Queues a task for any worker. If the runtime has been shut down, the task is dropped, and
    /// its joiner told.
    pub(crate) fn inject(&self, task: Runnable, origin: Origin) {
        self.inject_into(None, task, origin);
    }

    /// Queues a task for any worker, in the queue of a priority, as [`inject`](Self::inject) does.
    pub(crate) fn inject_into(&self, queue: Option<PriorityQueue>, task: Runnable, origin: Origin) {
        if let Err(task) = self.try_inject_into(queue, task, origin) {
            refuse(task, origin);
        }
    }

    /// Back, if the pool does not let it in.
    fn try_inject_into(&self, queue: Option<PriorityQueue>, task: Runnable, origin: Origin) -> Result<(), Runnable> {
        debug_assert_eq!(task.header().runtime(), self.number);
        let mut injector = self.injector.lock();
        if !self.admits(&injector, origin) {
            return Err(task);
        }
        if let Some(latency) = &self.latency {
            latency.queued(task.address());
        }
        // Counted under the lock, so that a pool in use is meant.
        match queue {
            None => {
                if let Some(queues) = self.workers.queues() {
                    let arrival = if origin == Origin::Wake { Arrival::Woken } else { Arrival::Outside };
                    self.workers.put(queues, None, task, arrival);
                } else {
                    injector.queue.push(task);
                    self.workers.inject();
                    drop(injector);
                    self.request_ticks();
                }
            }
            Some(PriorityQueue::Interactive) => {
                injector.interactive.push_back(task);
                self.workers.inject_interactive();
                drop(injector);
                self.hurry();
            }
            Some(PriorityQueue::Background) => {
                injector.background.push_back(task);
                self.workers.inject_background();
            }
        }
        Ok(())
    }

    /// A task was injected. If nobody sleeps who was woken for it, the next turn of each worker is
    /// a tick, and [takes it](Self::take_requested): 61 turns of 0.2 ms each would be 12 ms.
    ///
    /// Not more often than each [`REQUEST_US`]: a tick costs some hundred nanoseconds, and where
    /// turns are that short, the 61st comes soon.
    fn request_ticks(&self) {
        if self.workers.has_sleepers() {
            return;
        }
        let now = ticks();
        // Relaxed, and no exchange: two who ask at the same time do no harm.
        if now < self.next_request.load(Relaxed) {
            return;
        }
        self.next_request.store(now + REQUEST_US * ticks_per_us(), Relaxed);
        self.hurry();
    }

    /// In a tick that was asked for: the oldest injected task. After [`IN_A_ROW`] such ticks one
    /// turn is for what is ready or newest, so that those who call from outside all the time do not
    /// have all turns.
    ///
    /// Where nothing was injected (others have taken it), every other tick that was asked for is a
    /// turn like those that are no ticks: who asks all the time must not keep ready tasks waiting.
    pub(crate) fn take_requested(&self, w: &Worker) -> NextTask {
        if self.workers.queues().is_some() {
            return NextTask::Default;
        }
        let (tick, (last, in_a_row)) = (w.tick_count.load(Relaxed), w.requested.get());
        let in_a_row = if tick == last.wrapping_add(1) { in_a_row } else { 0 };
        if in_a_row == IN_A_ROW && self.workers.may_have_injected() {
            w.requested.set((tick, 0));
            w.request_tick();
            return NextTask::Skip;
        }
        if self.workers.may_have_injected()
            && let Some(task) = self.take_injected(w, false)
        {
            w.requested.set((tick, in_a_row + 1));
            if self.workers.may_have_injected() {
                w.request_tick();
            }
            return NextTask::Task(task);
        }
        // (Interactive tasks ask for each tick, and leave turns to what is ready by themselves.)
        let skips = !self.workers.has_interactive() && !w.skipped_last.get();
        w.skipped_last.set(skips);
        if skips { NextTask::Skip } else { NextTask::Default }
    }

    /// Queues a task that only this worker, which is no spare, may begin.
    pub(crate) fn pin(&self, task: Runnable, worker: usize, origin: Origin) {
        let mut injector = self.injector.lock();
        if self.admits(&injector, origin) {
            if let Some(latency) = &self.latency {
                latency.queued(task.address());
            }
            injector.pinned.entry(worker).or_default().push_back(task);
            let w = self.regular_workers()[worker];
            // Under the lock, as above. Awake, it looks at its next turn.
            if !self.workers.pin(&w.shared) {
                w.request_tick();
            }
        } else {
            drop(injector);
            refuse(task, origin);
        }
    }

    /// Takes the oldest of those tasks. By the worker itself.
    pub(crate) fn take_pinned(&self, w: &Worker) -> Option<Runnable> {
        let mut injector = self.injector.lock();
        let task = injector.pinned.get_mut(&w.shared.index).and_then(VecDeque::pop_front)?;
        w.shared.remote.pinned.fetch_sub(1, Relaxed);
        Some(task)
    }

    /// The number of a worker for a new group: by turns.
    pub(crate) fn next_home(&self) -> usize {
        // Relaxed: only that they are spread.
        self.homes.fetch_add(1, Relaxed) % self.regular_workers().len()
    }

    /// Takes the interactive task that has waited longest.
    pub(crate) fn take_interactive(&self, w: &Worker) -> Option<Runnable> {
        let task = self.injector.lock().interactive.pop_front()?;
        self.workers.take_interactive(1);
        w.priority_state.begins(true);
        Some(task)
    }

    /// Takes the background task that has waited longest.
    pub(crate) fn take_background(&self) -> Option<Runnable> {
        let task = self.injector.lock().background.pop_front()?;
        self.workers.take_background(1);
        Some(task)
    }

    /// Takes one injected task to run, and some more into the deque of `w`. If it
    /// `may_begin_interactive`, an interactive one, unless these have had their turns and there is
    /// another.
    ///
    /// Under another policy: the one that its queues say.
    ///
    /// A spare gets no jobs of guests, but for a rescue ([`crate::sched::spare`]).
    pub(crate) fn take_injected(&self, w: &Worker, may_begin_interactive: bool) -> Option<Runnable> {
        let with_jobs = !w.passes_jobs_over() || self.is_rescue();
        if let Some(queues) = self.workers.queues() {
            let interactive = if may_begin_interactive { self.take_interactive_before(w, queues) } else { None };
            if interactive.is_some() {
                return interactive;
            }
            w.priority_state.begins(false);
            return if with_jobs { queues.take(w.shared.index, None) } else { spare::take_queued(w, queues) };
        }
        let mut injector = self.injector.lock();
        if with_jobs && let Some(job) = injector.queue.take_aside() {
            drop(injector);
            self.workers.uninject(1);
            w.priority_state.begins(false);
            return Some(job);
        }
        let others = injector.queue.len(with_jobs) > 0;
        if may_begin_interactive
            && !injector.interactive.is_empty()
            && (!others || w.priority_state.may_begin_interactive())
        {
            drop(injector);
            return self.take_interactive(w);
        }
        if others {
            w.priority_state.begins(false);
        }
        // A spare holds nothing back; and where it is measured nothing is queued twice.
        let most = if w.spare || self.latency.is_some() { 1 } else { 32 };
        let share = (injector.queue.len(with_jobs) / self.regular_workers().len()).clamp(1, most);
        let first = injector.queue.pop(with_jobs)?;
        let more: Vec<Runnable> = (1..share).map_while(|_| injector.queue.pop(with_jobs)).collect();
        drop(injector);
        self.workers.uninject(1 + more.len());
        // The newest is popped first: push them so that the oldest is.
        more.into_iter().rev().for_each(|task| w.push_any(task));
        Some(first)
    }

    /// A spare has taken this job out of a deque: a worker takes it before all else that is
    /// injected.
    pub(crate) fn put_aside(&self, job: Runnable) {
        let mut injector = self.injector.lock();
        injector.queue.put_aside(job);
        // Counted under the lock, as what is injected.
        self.workers.inject();
    }

    /// Takes an interactive task, if one waits and these have not had their turns before what is in
    /// the policy's queues.
    pub(crate) fn take_interactive_before(&self, w: &Worker, queues: &dyn PolicyQueues) -> Option<Runnable> {
        let comes = self.workers.has_interactive() && (w.priority_state.may_begin_interactive() || queues.is_empty());
        if comes { self.take_interactive(w) } else { None }
    }

    /// Does something wait in the injector, or in the policy's queues, that a spare might begin?
    pub(crate) fn has_injected_for_spares(&self) -> bool {
        // (Of a policy's queues nobody knows what is in them.)
        self.workers.has_injected()
            && (!self.has_guests()
                || self.is_rescue()
                || self.workers.queues().is_some()
                || self.workers.has_interactive()
                || { self.injector.lock().queue.len(false) > 0 })
    }

    /// Does something wait behind this worker that a spare might begin? A hint. If there are jobs
    /// of guests, it looks at some places from `from` on, and says in `from` where it has stopped.
    pub(crate) fn waits_behind(&self, shared: &WorkerShared, from: &mut usize) -> bool {
        if !self.has_guests() {
            *from = shared.deque.position();
            return shared.deque.is_busy();
        }
        // Frames with records stay meanwhile: see `name_running`.
        let _frames_stay = self.injector.lock();
        shared.deque.any_from(from, |task| {
            // SAFETY: a record that was queued a moment ago: in memory for records, or in a frame,
            // which stays. Volatile, for its owner may begin and end it meanwhile, and write there.
            let kind = unsafe { Header::look_at_kind(task) };
            !kind.has(Kind::GUEST)
        })
    }

    /// Takes all that is left in the injector.
    pub(crate) fn drain_injector(&self) -> Vec<Runnable> {
        let mut injector = self.injector.lock();
        let Injector { queue, interactive, background, pinned, .. } = &mut *injector;
        let queue = queue.drain();
        self.workers.uninject(queue.len());
        self.workers.take_interactive(interactive.len());
        self.workers.take_background(background.len());
        self.regular_workers().iter().for_each(|w| w.shared.remote.pinned.store(0, Relaxed));
        let others =
            interactive.drain(..).chain(background.drain(..)).chain(pinned.drain().flat_map(|(_, queue)| queue));
        queue.into_iter().chain(others).collect()
    }

    /// A thread or a task of another runtime begins to wait for this task, whose record is in its
    /// frame.
    pub(crate) fn begin_run(&self, task: *mut Header) {
        self.injector.lock().runs.push(RunTask(task));
    }

    /// It has ended.
    pub(crate) fn end_run(&self, task: *mut Header) {
        let mut injector = self.injector.lock();
        if let Some(i) = injector.runs.iter().position(|run| run.0 == task) {
            injector.runs.swap_remove(i);
        }
    }

    /// Is nobody in `run`?
    pub(crate) fn nobody_runs(&self) -> bool {
        self.injector.lock().runs.is_empty()
    }

    /// Shows the tasks of all who are in `run`; they do not go meanwhile.
    pub(crate) fn for_each_run(&self, each: impl FnMut(*const Header)) {
        self.injector.lock().runs.iter().map(|run| run.0.cast_const()).for_each(each);
    }
}
