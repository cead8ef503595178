//! The threads of a runtime: started, counted, joined.

use super::config::{Hook, ThreadHooks};
use super::make::home_numbers;
use crate::sched::busy;
use crate::sched::cancel::request;
use crate::sched::pool::{Admission, Pool, Threads};
use crate::sched::run_loop;
use crate::sched::stacks::worker_main;
use crate::sched::unwind;
use crate::sched::worker::{Peer, Worker, set_current};
use myriad_base::stack::overflow;
use myriad_base::stack::pool::NoStack;
use myriad_base::sys::atomic::Ordering::*;
use myriad_base::sys::clock::{self, Instant};
use myriad_base::sys::passing::passing;
use myriad_base::sys::{futex, map, thread};
use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

impl Pool {
    /// Starts another spare worker, on duty: the [next](Self::next_spare). One thread at a time:
    /// the monitor.
    ///
    /// # Errors
    /// What the system says.
    pub(crate) fn add_spare(&'static self, index: usize, name: String) -> io::Result<()> {
        let number = index - self.config().workers;
        let w = {
            let mut spares = self.spares.lock();
            if spares.len() == number {
                let home_number = home_numbers(self.fibers, 1)?;
                spares.push(Worker::make(self, index, true, home_number));
            }
            spares[number]
        };
        w.on_duty.store(true, Relaxed);
        w.alone.store(0, Relaxed);
        w.shared.remote.dead.store(false, Relaxed);
        self.workers.join(&w.shared);
        self.spawn_thread(name, move || worker_main(w, run_loop::of(self))).inspect_err(|_| self.workers.drop_last())
    }

    /// Starts the workers, and waits until each has a stack.
    pub(crate) fn start(&'static self) -> io::Result<()> {
        self.workers.set_stop(false);
        let config = self.config();
        for (i, &w) in self.regular_workers().iter().enumerate() {
            let name = config.threads.name(i, || format!("{}-{i}", config.name));
            if let Err(error) = self.spawn_thread(name, move || worker_main(w, run_loop::of(self))) {
                self.stop_started(i);
                return Err(io::Error::new(error.kind(), format!("cannot start worker {i}: {error}")));
            }
        }
        let mut threads = self.threads.lock();
        while threads.started < config.workers {
            threads = self.changed.wait(threads);
        }
        if let Some(error) = threads.start_error.take() {
            drop(threads);
            self.stop_started(config.workers);
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, error.to_string()));
        }
        drop(threads);
        self.delays.open();
        self.set_admission(Admission::All);
        Ok(())
    }

    /// After a failed start: ends the workers that did start.
    fn stop_started(&'static self, workers: usize) {
        self.workers.set_stop(true);
        self.wait_ended(workers, None);
        self.join_leaving();
        self.give_back();
    }

    /// Starts a thread and lists it.
    pub(crate) fn spawn_thread(&'static self, name: String, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let config = self.config();
        // In fiber mode the thread itself only starts fibers; tasks run on its stack in threads
        // mode.
        let size = if config.fibers { 256 << 10 } else { config.stack_size.max(64 << 10) };
        self.reap();
        map::thread_starts()?;
        let mut threads = self.threads.lock();
        let body = move || crate::sched::unwind::never_unwinds("a worker's thread", body);
        let started = std::thread::Builder::new().name(name).stack_size(overflow::with_room(size)).spawn(passing(body));
        let handle = started.inspect_err(|_| map::thread_ended())?;
        threads.handles.insert(handle.thread().id(), handle);
        threads.numbered += 1;
        let listed = threads.handles.len();
        drop(threads);
        futex::expect_sleepers(listed);
        Ok(())
    }

    /// First on a thread of the runtime.
    pub(crate) fn enter_thread(&self, w: &'static Peer) {
        // Before it has a worker: what the hook spawns must not go to the deque of a worker whose
        // role another thread has.
        self.tell(|threads| &threads.start, w);
        // SAFETY: the thread was started for this worker; in threads mode it uses the role only
        // once it has been given a turn.
        unsafe { set_current(Some(w)) };
        // SAFETY: all threads of the pool are started by `spawn_thread`, with that room, and leave
        // in `leave_thread`, at the end of their bodies.
        unsafe { overflow::enter_own_thread() };
        self.move_thread(w);
    }

    /// The calling thread begins to work as this worker: on its core, if workers are pinned.
    pub(crate) fn move_thread(&self, w: &Peer) {
        if let Some(cpus) = &self.config().cpus {
            // A spare is for whatever core has time.
            _ = if w.spare { thread::unpin(cpus) } else { thread::pin_to_cpu(cpus[w.shared.index]) };
        } else if let Some(cpus) = &self.config().roam {
            _ = thread::unpin(cpus);
        }
    }

    /// Calls the hook of the user.
    fn tell(&self, which: impl FnOnce(&ThreadHooks) -> &Option<Hook>, w: &Peer) {
        let config = self.config();
        if let Some(hook) = which(&config.threads)
            && let Err(payload) = config.threads.call(|| hook(w.shared.index))
        {
            unwind::discard(payload);
        }
    }

    /// Last on a thread of the runtime that was started for this worker.
    pub(crate) fn leave_thread(&self, w: &Peer) {
        self.frames_go();
        // SAFETY: at the end of the thread's body, which is no signal handler.
        unsafe { overflow::leave_thread() };
        // SAFETY: the thread's loop is over, and nothing on its stack acts as a worker any more.
        unsafe { set_current(None) };
        self.tell(|threads| &threads.end, w);
        self.reap();
        self.threads.lock().leaving.push(std::thread::current().id());
        self.changed.notify_all();
        // Nobody else may come by for long to join this thread.
        crate::sched::rescue::monitor::worker_awake();
    }

    /// A worker has its first stack, or not.
    pub(crate) fn worker_started(&self, result: Result<(), NoStack>) {
        let mut threads = self.threads.lock();
        threads.started += 1;
        if let Err(error) = result {
            threads.start_error = Some(error);
        }
        self.changed.notify_all();
    }

    /// A worker has left its loop for good, with so many tasks still blocked.
    pub(crate) fn worker_ended(&self, w: &Worker, blocked: usize) {
        w.prefer_locks(false);
        busy::count(false);
        crate::sched::driver::tell_idle(w);
        let mut threads = self.threads.lock();
        threads.ended += 1;
        threads.blocked += blocked;
        self.changed.notify_all();
        let all_ended = self.have_all_ended(&threads);
        if all_ended {
            self.all_workers().for_each(request::discard);
        }
        if let Some(late) = threads.late
            && all_ended
        {
            drop(threads);
            // What is dropped now may wait, and this worker has no stack to go on with: it waits as
            // a thread that is none.
            // SAFETY: the worker has ended, and the thread gives the role up for good after this.
            unsafe { set_current(None) };
            late(w.pool);
            // SAFETY: nobody else was given the role of a worker that has ended; the thread gives
            // it up for good in `leave_thread`.
            unsafe { set_current(Some(w.as_static())) };
        }
    }

    /// The shutdown waits no longer. True: all workers have ended after all; false: the last one
    /// will call `late`.
    pub(crate) fn wait_no_longer(&self, late: fn(&'static Pool)) -> bool {
        let mut threads = self.threads.lock();
        threads.late = (!self.have_all_ended(&threads)).then_some(late);
        threads.late.is_none()
    }

    fn have_all_ended(&self, threads: &Threads) -> bool {
        threads.ended == self.workers.all().len()
    }

    /// Discards the requests in this worker's inbox, if all workers have left their loops for good:
    /// nobody would take them out, and the inboxes go with the pool, if a task is left. Whoever has
    /// put a request in calls this, so by the lock either the last worker finds the request as it
    /// ends, or its end is seen here.
    pub(crate) fn discard_requests(&self, to: &Peer) {
        let threads = self.threads.lock();
        if self.have_all_ended(&threads) {
            request::discard(to);
        }
    }

    /// Waits until so many workers have ended, or until the time has passed; says whether they
    /// have.
    pub(crate) fn wait_ended(&self, workers: usize, until: Option<Instant>) -> bool {
        let mut threads = self.threads.lock();
        while threads.ended < workers {
            // A worker with a long queue would look up only after so many turns.
            self.all_workers().for_each(|w| w.request_tick());
            let left = until.map_or(Duration::MAX, |t| t - clock::system_now());
            if left.is_zero() {
                return false;
            }
            let pause = left.min(Duration::from_millis(1));
            threads = clock::wait(&self.changed, threads, pause).0;
        }
        true
    }

    /// Joins threads that are gone, without waiting for others: until then the system keeps their
    /// stacks.
    ///
    /// Threads that come and go do it, and the monitor for the last of them. True: some are on
    /// their way.
    pub(crate) fn reap(&self) -> bool {
        let mut finished = Vec::new();
        let more = {
            let Threads { leaving, handles, .. } = &mut *self.threads.lock();
            leaving.retain(|id| {
                let Some(thread) = handles.remove(id) else { return true };
                match thread::try_join(thread) {
                    Ok(left) => finished.push(left),
                    Err(thread) => _ = handles.insert(*id, thread),
                }
                handles.contains_key(id)
            });
            !leaving.is_empty()
        };
        for left in finished {
            // It does not unwind: panics stop at the tasks, and what goes on ends the process.
            _ = left.map(JoinHandle::join);
            map::thread_ended();
        }
        more
    }

    /// How many threads it has.
    pub(crate) fn count_threads(&self) -> usize {
        self.threads.lock().handles.len()
    }

    /// Are threads on their way to their end?
    pub(crate) fn threads_leave(&self) -> bool {
        !self.threads.lock().leaving.is_empty()
    }

    /// Joins the threads that are ending: their thread-locals are gone afterwards. True: no thread
    /// is left.
    pub(crate) fn join_leaving(&self) -> bool {
        loop {
            let mut threads = self.threads.lock();
            let Some(id) = threads.leaving.pop() else {
                // In threads mode idle threads that were told to end may still be on their way.
                if threads.handles.len() > threads.blocked + self.blocked_threads() {
                    let wait = Duration::from_millis(100);
                    let (threads, is_late) = clock::wait(&self.changed, threads, wait);
                    if is_late && threads.leaving.is_empty() {
                        return false;
                    }
                    continue;
                }
                return threads.handles.is_empty();
            };
            let thread = threads.handles.remove(&id);
            drop(threads);
            if let Some(thread) = thread {
                // It does not unwind: panics stop at the tasks, and what goes on ends the process.
                _ = thread.join();
                map::thread_ended();
            }
        }
    }

    /// How many tasks were still blocked when their workers ended.
    pub(crate) fn blocked(&self) -> usize {
        self.threads.lock().blocked + self.blocked_threads()
    }

    /// How much user code is under way that no task runs ([`crate::user_code`]): as long as all
    /// workers sleep, or have ended.
    pub(crate) fn user_code(&self) -> usize {
        let under_way: isize = self.all_workers().map(|w| w.alone.load(Relaxed)).sum();
        usize::try_from(under_way).unwrap_or(0)
    }

    /// Threads of blocked tasks, once all workers have ended.
    fn blocked_threads(&self) -> usize {
        let left: isize = self.all_workers().map(|w| w.counted_stacks()).sum();
        usize::try_from(left).unwrap_or(0)
    }
}
