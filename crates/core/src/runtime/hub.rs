//! What all workers of a runtime share: the crew, the injector, the settings, and the book of its threads.
//!
//! **Lifetime.** Hubs live for ever and are used again by later runtimes with as many workers: a wake that is still on its
//! way when its task has ended the whole runtime finds memory that is valid, and at worst wakes a worker that looks up
//! once more. A hub whose tasks did not all end is never used again: their frames may still refer to it.

use crate::runtime::pools::Family;
use crate::runtime::{OnStuck, Unhandled};
use crate::sched::idle::Crew;
use crate::sched::policy::{Arrival, Policy};
use crate::sched::priority::Lane;
use crate::sched::stacks::worker_main;
use crate::sched::worker::{Worker, set_current};
use crate::stack::overflow;
use crate::stack::pool::NoStack;
use crate::sys::atomic::Ordering::*;
use crate::sys::clock::Instant;
use crate::sys::fence::Fence;
use crate::sys::{map, thread};
use crate::task::TaskId;
use crate::task::context::Word;
use crate::task::dedicated;
use crate::task::finish;
use crate::task::header::{Header, Marks};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::Location;
use std::ptr::null_mut;
// Not through `sys`: nothing of a hub but its crew is in a loom model.
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, fence};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

/// The settings of a runtime, as the builder has checked them.
#[derive(Debug, Clone)]
pub struct Config {
    /// How many workers.
    pub workers: usize,
    /// Fiber mode?
    pub fibers: bool,
    /// Bytes.
    pub stack_size: usize,
    /// Stacks of one worker.
    pub max_stacks: usize,
    /// What threads are called.
    pub name: String,
    /// One core for each worker: which, if they are to be pinned.
    pub cpus: Option<Vec<usize>>,
    /// Else: what the threads are to be freed for, if the one that starts them may be pinned itself.
    pub roam: Option<Vec<usize>>,
    /// What becomes of the panic of a detached task.
    pub unhandled: Unhandled,
    /// Time stands still but for `Runtime::advance`.
    pub manual_clock: bool,
    /// Workers for when others are stuck, at most.
    pub spares: usize,
    /// Who is told when a worker is stuck.
    pub stuck: OnStuck,
    /// What a worker starts next.
    pub policy: Policy,
}

/// See the module's header.
#[derive(Debug)]
pub struct Hub {
    /// Waking and sleeping.
    pub crew: Crew,
    /// Counts groups.
    homes: AtomicUsize,
    /// In `HUBS`, and in the records of its tasks.
    pub number: u8,
    /// For good: the crew has its queues.
    policy: Policy,
    workers: OnceLock<Box<[&'static Worker]>>,
    /// Made when they were first needed, used again by later runtimes. Those in use are members of the crew.
    spares: Mutex<Vec<&'static Worker>>,
    /// How many workers are open (see `sched::relief`): a hint for those who look for work.
    pub open: AtomicUsize,
    config: Mutex<Arc<Config>>,
    /// The pools of the runtime that uses it (`runtime::pools`) ...
    family: Mutex<Arc<Family>>,
    /// ... and the hub of the first of them.
    lead: AtomicPtr<Hub>,
    injector: Mutex<Injector>,
    book: Mutex<Book>,
    changed: Condvar,
    /// Tasks with threads of their own.
    pub dedicated: dedicated::Book,
    names: Mutex<HashMap<usize, Arc<str>>>,
    ids: Mutex<HashMap<usize, TaskId>>,
    /// The manual clock; `u64::MAX` where time is real.
    manual: AtomicU64,
    /// When the first of the sleepers looks up by itself, in nanoseconds.
    pub next_look: AtomicU64,
}

#[derive(Debug, Default)]
struct Injector {
    queue: VecDeque<Task>,
    /// Interactive tasks ...
    urgent: VecDeque<Task>,
    /// ... and background tasks.
    deferred: VecDeque<Task>,
    /// Tasks that only one worker may begin, by its number.
    pinned: HashMap<usize, VecDeque<Task>>,
    door: Door,
    /// Tasks of those who are in `run`: their records stand in the callers' frames.
    runs: Vec<Task>,
}

/// Whom the injector lets in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Door {
    /// Nobody: the runtime has stopped, or has not begun.
    #[default]
    Shut,
    /// Who belongs to the runtime already: it is being shut down.
    Known,
    /// All.
    Open,
}

/// Who comes to the injector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comer {
    /// A task that was spawned by somebody outside.
    New,
    /// A task that was spawned by one of the same runtime: of another pool, or on a thread of its own.
    Sibling,
    /// A future of this runtime that was woken from outside.
    Known,
}

#[derive(Debug)]
struct Task(*mut Header);
// SAFETY: a task may run on any thread.
unsafe impl Send for Task {}

/// Threads of the runtime: which there are, how many workers have started and ended.
#[derive(Debug, Default)]
struct Book {
    threads: HashMap<ThreadId, JoinHandle<()>>,
    /// Threads that are about to end.
    leaving: Vec<ThreadId>,
    started: usize,
    start_error: Option<NoStack>,
    ended: usize,
    /// The shutdown has not waited for all workers: the last one cleans up.
    late: bool,
    blocked: usize,
    numbered: usize,
}

/// The most spare workers of a runtime.
pub const MOST_SPARES: usize = 1024;

const MOST: usize = 256;
static HUBS: [AtomicPtr<Hub>; MOST] = [const { AtomicPtr::new(null_mut()) }; MOST];
/// Hubs that no runtime uses, and how many were ever made.
static FREE: Mutex<(Vec<&'static Hub>, usize)> = Mutex::new((Vec::new(), 0));

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing panics under these locks but on a failed allocation; what they hold stays consistent.
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

impl Hub {
    /// The hub of this number.
    pub fn of(number: u8) -> &'static Hub {
        // SAFETY: numbers come from records, whose hub was made, and hubs live for ever.
        unsafe { &*HUBS[usize::from(number)].load(Acquire) }
    }

    /// A hub for a new runtime: an old one with as many workers, or a new one.
    pub fn take(config: Config) -> io::Result<&'static Hub> {
        let hub = {
            let mut free = locked(&FREE);
            match free.0.iter().position(|hub| hub.workers().len() == config.workers && hub.policy == config.policy) {
                Some(i) => free.0.swap_remove(i),
                None => Hub::make(&mut free.1, &config)?,
            }
        };
        hub.manual.store(if config.manual_clock { 0 } else { u64::MAX }, Relaxed);
        hub.next_look.store(u64::MAX, Relaxed);
        hub.open.store(0, Relaxed);
        hub.crew.begin(config.workers);
        *locked(&hub.config) = Arc::new(config);
        *locked(&hub.book) = Book::default();
        Ok(hub)
    }

    fn make(made: &mut usize, config: &Config) -> io::Result<&'static Hub> {
        if *made == MOST {
            return Err(io::Error::other(format!(
                "there are {MOST} runtimes and pools already; shut one down, or share one (tasks of many kinds can run on it)"
            )));
        }
        let hub: &'static Hub = Box::leak(Box::new(Hub {
            crew: Crew::default(),
            homes: AtomicUsize::new(0),
            number: *made as u8,
            policy: config.policy,
            workers: OnceLock::new(),
            spares: Mutex::default(),
            open: AtomicUsize::new(0),
            config: Mutex::new(Arc::new(config.clone())),
            family: Mutex::new(Arc::new(Family::none())),
            lead: AtomicPtr::new(null_mut()),
            injector: Mutex::default(),
            book: Mutex::default(),
            changed: Condvar::new(),
            dedicated: dedicated::Book::default(),
            names: Mutex::default(),
            ids: Mutex::default(),
            manual: AtomicU64::new(u64::MAX),
            next_look: AtomicU64::new(u64::MAX),
        }));
        if let Some(queues) = config.policy.queues(config.workers) {
            hub.crew.set_queues(queues);
        }
        let workers: Box<[&'static Worker]> =
            (0..config.workers).map(|index| &*Box::leak(Box::new(Worker::new(hub, index, false)))).collect();
        hub.crew.set_members(workers.iter().map(|w| &w.member).collect(), MOST_SPARES);
        hub.workers.set(workers).expect("set once");
        HUBS[*made].store(std::ptr::from_ref(hub).cast_mut(), Release);
        *made += 1;
        Ok(hub)
    }

    /// No task of the ended runtime is left: another may use the hub.
    pub fn give_back(&'static self) {
        locked(&FREE).0.push(self);
    }

    /// It is a pool of a runtime from now on, whose first pool is `lead`.
    pub(crate) fn join_family(&self, lead: &'static Hub, family: Arc<Family>) {
        *locked(&self.family) = family;
        // Relaxed: before there are tasks.
        self.lead.store(std::ptr::from_ref(lead).cast_mut(), Relaxed);
    }

    /// The pools of the runtime that uses it, or used it last.
    pub(crate) fn family(&self) -> Arc<Family> {
        locked(&self.family).clone()
    }

    /// Are both pools of one runtime?
    pub fn is_of_same_runtime(&self, other: &Hub) -> bool {
        self.lead.load(Relaxed) == other.lead.load(Relaxed)
    }

    /// All workers.
    pub fn workers(&self) -> &[&'static Worker] {
        self.workers.get().map_or(&[], |w| w)
    }

    /// All workers, with the spares that are in use.
    pub fn all_workers(&self) -> impl Iterator<Item = &'static Worker> {
        self.crew.members().iter().map(|&member| Worker::of(member))
    }

    /// Is a worker open?
    #[inline(always)]
    pub fn any_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// Starts another spare worker, on duty. One thread at a time: the monitor.
    ///
    /// # Errors
    /// There are as many as the settings allow, or what the system says.
    pub fn add_spare(&'static self) -> io::Result<()> {
        let config = self.config();
        let index = self.crew.members().len();
        let number = index - config.workers;
        if number >= config.spares {
            return Err(io::Error::other("no more spare workers"));
        }
        let w = {
            let mut spares = locked(&self.spares);
            if spares.len() == number {
                spares.push(Box::leak(Box::new(Worker::new(self, index, true))));
            }
            spares[number]
        };
        w.on_duty.store(true, Relaxed);
        w.dead.store(false, Relaxed);
        self.crew.join(&w.member);
        self.spawn_thread(format!("{}-spare{number}", config.name), move || worker_main(w))
            .inspect_err(|_| self.crew.drop_last())
    }

    /// What the worker runs, by name and place; `None` between tasks. For whoever is not the worker.
    ///
    /// The task may end meanwhile. If its record is in memory for records, it stays a record, and the place there a place. If it is
    /// in the frame of another task or thread, that memory goes only after the frame's owner has been in the injector's lock (at the
    /// end of its thread, or of its [`run`](Self::end_run)), which we hold; but it may become anything, so what was
    /// read counts only if the worker has ended no such task, and no context, since ([`Worker::forget_frame`]).
    pub fn name_running(&self, w: &Worker) -> Option<(Option<Arc<str>>, &'static Location<'static>)> {
        let _frames_stay = locked(&self.injector);
        let frames = w.frames.load(Acquire);
        let task = w.running.get().record_elsewhere();
        // Acquire: as below. What was a context then was one when we read in it.
        fence(Acquire);
        if Word::is_nobody(task) || w.frames.load(Relaxed) != frames {
            return None;
        }
        // SAFETY: readable, see above; volatile, for somebody may write there.
        let place = unsafe { (&raw const (*task).place).cast::<*const Location<'static>>().read_volatile() };
        // Acquire: the reading comes before the second look; pairs with the Release in `forget_frame`.
        fence(Acquire);
        if w.frames.load(Relaxed) != frames {
            return None;
        }
        let name = self.name_of(task, true);
        // SAFETY: see above: the place of this task, or of the next one in the same memory for records.
        Some((name, unsafe { &*place }))
    }

    /// A thread's stack, or a pool of stacks, is about to go: nobody looks at records on it any more.
    pub fn frames_go(&self) {
        drop(locked(&self.injector));
    }

    /// The settings.
    pub fn config(&self) -> Arc<Config> {
        locked(&self.config).clone()
    }

    /// The clock of this runtime's tasks.
    #[inline]
    pub fn now(&self) -> Instant {
        match self.manual.load(Acquire) {
            u64::MAX => Instant::real_now(),
            nanos => Instant::from_nanos(nanos),
        }
    }

    /// Is the clock a manual one?
    pub fn is_manual(&self) -> bool {
        self.manual.load(Relaxed) != u64::MAX
    }

    /// Moves the manual clock. Afterwards all workers are to look at their timers: [`clock_moved`](Self::clock_moved).
    pub fn move_clock(&self, by: Duration) {
        self.manual.fetch_add(u64::try_from(by.as_nanos()).unwrap_or(u64::MAX / 2), AcqRel);
    }

    /// It has been moved.
    pub fn clock_moved(&self) {
        // Pairs with the heavy fence in `Crew::sleep`: the clock against `sleeping`.
        Fence::foreign().light();
        self.crew.wake_all();
    }

    // ------------------------------------------------------------------------------------------------- injector

    /// Opens or closes the injector.
    pub fn set_door(&self, door: Door) {
        locked(&self.injector).door = door;
    }

    /// May somebody begin a task that is in no queue?
    pub fn lets_in(&self, comer: Comer) -> bool {
        match locked(&self.injector).door {
            Door::Open => true,
            Door::Known => comer != Comer::New,
            Door::Shut => false,
        }
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
        let mut injector = locked(&self.injector);
        if injector.door == Door::Open || injector.door == Door::Known && comer != Comer::New {
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
        } else {
            drop(injector);
            // SAFETY: the caller: it is ours, and never starts.
            unsafe { finish::drop_unstarted(task) };
        }
    }

    /// Queues a task that only this worker, which is no spare, may begin.
    ///
    /// # Safety
    /// As for [`inject`](Self::inject).
    pub unsafe fn pin(&self, task: *mut Header, worker: usize, comer: Comer) {
        let mut injector = locked(&self.injector);
        if injector.door == Door::Open || injector.door == Door::Known && comer != Comer::New {
            injector.pinned.entry(worker).or_default().push_back(Task(task));
            let w = self.workers()[worker];
            // Under the lock, as above. Awake, it looks at its next turn.
            if !self.crew.pin(&w.member) {
                w.turns_left.store(0, Relaxed);
            }
        } else {
            drop(injector);
            // SAFETY: the caller: it is ours, and never starts.
            unsafe { finish::drop_unstarted(task) };
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
    pub fn take_injected(&self, w: &'static Worker, may_be_urgent: bool) -> *mut Header {
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

    // ------------------------------------------------------------------------------------------------- names

    /// Remembers a task's name.
    ///
    /// # Safety
    /// The record lives.
    pub unsafe fn set_name(&self, task: *const Header, name: Arc<str>) {
        locked(&self.names).insert(task.addr(), name);
        // SAFETY: the caller. Relaxed: as in `id_of`.
        unsafe { (*task).marks.fetch_or(Marks::NAMED, Relaxed) };
    }

    /// A task's number; `next` makes one if it has none.
    ///
    /// # Safety
    /// The record lives, in memory of records.
    pub unsafe fn id_of(&self, task: *const Header, next: impl FnOnce() -> TaskId) -> TaskId {
        let mut ids = locked(&self.ids);
        // SAFETY: the caller.
        let marks = unsafe { &(*task).marks };
        // Relaxed, here and at the free, which comes after every use of the record: the table is under the lock.
        if marks.load(Relaxed) & Marks::NUMBERED == 0 {
            ids.insert(task.addr(), next());
            marks.fetch_or(Marks::NUMBERED, Relaxed);
        }
        ids[&task.addr()]
    }

    /// Forgets a task's name and number.
    #[cold]
    pub fn forget(&self, task: *const Header) {
        locked(&self.names).remove(&task.addr());
        locked(&self.ids).remove(&task.addr());
    }

    /// A task's name. `None` also if the table is in use and `wait` is false (in a signal handler).
    pub fn name_of(&self, task: *const Header, wait: bool) -> Option<Arc<str>> {
        let names = if wait { locked(&self.names) } else { self.names.try_lock().ok()? };
        names.get(&task.addr()).cloned()
    }

    // ------------------------------------------------------------------------------------------------- threads

    /// Starts the workers, and waits until each has a stack.
    pub fn start(&'static self) -> io::Result<()> {
        self.crew.set_stop(false);
        let config = self.config();
        for (i, &w) in self.workers().iter().enumerate() {
            if let Err(error) = self.spawn_thread(format!("{}-{i}", config.name), move || worker_main(w)) {
                self.stop_started(i);
                return Err(io::Error::new(error.kind(), format!("cannot start worker {i}: {error}")));
            }
        }
        let mut book = locked(&self.book);
        while book.started < config.workers {
            book = self.changed.wait(book).unwrap_or_else(|e| e.into_inner());
        }
        if let Some(error) = book.start_error.take() {
            drop(book);
            self.stop_started(config.workers);
            return Err(io::Error::new(io::ErrorKind::OutOfMemory, error.to_string()));
        }
        drop(book);
        self.set_door(Door::Open);
        Ok(())
    }

    /// After a failed start: ends the workers that did start.
    fn stop_started(&'static self, workers: usize) {
        self.crew.set_stop(true);
        self.wait_ended(workers, None);
        self.join_leaving();
        self.give_back();
    }

    /// Starts a thread and writes it into the book.
    pub fn spawn_thread(&'static self, name: String, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let config = self.config();
        // In fiber mode the thread itself only starts fibers; tasks run on its stack in threads mode.
        let size = if config.fibers { 256 << 10 } else { config.stack_size.max(64 << 10) };
        self.reap();
        map::thread_starts()?;
        let mut book = locked(&self.book);
        let started = std::thread::Builder::new().name(name).stack_size(size).spawn(body);
        let handle = started.inspect_err(|_| map::thread_ended())?;
        book.threads.insert(handle.thread().id(), handle);
        book.numbered += 1;
        Ok(())
    }

    /// First on a thread of the runtime.
    pub fn enter_thread(&self, w: &'static Worker) {
        set_current(Some(w));
        overflow::enter_thread();
        self.move_thread(w);
    }

    /// The calling thread begins to work as this worker: on its core, if workers are pinned.
    pub fn move_thread(&self, w: &'static Worker) {
        if let Some(cpus) = &self.config().cpus {
            // A spare is for whatever core has time.
            _ = if w.spare { thread::unpin(cpus) } else { thread::pin_to_cpu(cpus[w.member.index]) };
        } else if let Some(cpus) = &self.config().roam {
            _ = thread::unpin(cpus);
        }
    }

    /// Last on a thread of the runtime.
    pub fn leave_thread(&self) {
        self.frames_go();
        overflow::leave_thread();
        set_current(None);
        self.reap();
        locked(&self.book).leaving.push(std::thread::current().id());
        self.changed.notify_all();
        // Nobody else may come by for long to join this thread.
        super::monitor::worker_awake();
    }

    /// A worker has its first stack, or not.
    pub fn worker_started(&self, result: Result<(), NoStack>) {
        let mut book = locked(&self.book);
        book.started += 1;
        if let Err(error) = result {
            book.start_error = Some(error);
        }
        self.changed.notify_all();
    }

    /// A worker has left its loop for good, with so many tasks still blocked.
    pub fn worker_ended(&self, w: &'static Worker, blocked: usize) {
        w.prefer_locks(false);
        let mut book = locked(&self.book);
        book.ended += 1;
        book.blocked += blocked;
        self.changed.notify_all();
        if book.late && book.ended == self.crew.members().len() {
            drop(book);
            super::shutdown::clean_up_late(w.hub);
        }
    }

    /// The shutdown waits no longer. True: all workers have ended after all; false: the last one will clean up.
    pub fn wait_no_longer(&self) -> bool {
        let mut book = locked(&self.book);
        book.late = book.ended < self.crew.members().len();
        !book.late
    }

    /// Waits until so many workers have ended, or until the time has passed; says whether they have.
    pub fn wait_ended(&self, workers: usize, until: Option<Instant>) -> bool {
        let mut book = locked(&self.book);
        while book.ended < workers {
            // A worker with a long queue would look up only after so many turns.
            self.all_workers().for_each(|w| w.turns_left.store(0, Relaxed));
            let left = until.map_or(Duration::MAX, |t| t - Instant::real_now());
            if left.is_zero() {
                return false;
            }
            let pause = left.min(Duration::from_millis(1));
            book = self.changed.wait_timeout(book, pause).unwrap_or_else(|e| e.into_inner()).0;
        }
        true
    }

    /// Joins threads that have ended, without waiting for others: until then the system keeps their stacks.
    ///
    /// Threads that come and go do it, and the monitor for the last of them. True: some are on their way.
    pub fn reap(&self) -> bool {
        let mut ended = Vec::new();
        let more = {
            let Book { leaving, threads, .. } = &mut *locked(&self.book);
            leaving.retain(|id| {
                let over = threads.get(id).is_some_and(JoinHandle::is_finished);
                if over {
                    ended.extend(threads.remove(id));
                }
                !over
            });
            !leaving.is_empty()
        };
        for thread in ended {
            // A worker's thread does not panic: panics stop at the tasks.
            _ = thread.join();
            map::thread_ended();
        }
        more
    }

    /// Are threads on their way to their end?
    pub fn threads_leave(&self) -> bool {
        !locked(&self.book).leaving.is_empty()
    }

    /// Joins the threads that are ending: their thread-locals are gone afterwards. True: no thread is left.
    pub fn join_leaving(&self) -> bool {
        loop {
            let mut book = locked(&self.book);
            let Some(id) = book.leaving.pop() else {
                // In threads mode idle threads that were told to end may still be on their way.
                if book.threads.len() > book.blocked + self.blocked_threads() {
                    let wait = Duration::from_millis(100);
                    let (book, timeout) = self.changed.wait_timeout(book, wait).unwrap_or_else(|e| e.into_inner());
                    if timeout.timed_out() && book.leaving.is_empty() {
                        return false;
                    }
                    continue;
                }
                return book.threads.is_empty();
            };
            let thread = book.threads.remove(&id);
            drop(book);
            if let Some(thread) = thread {
                // A worker's thread does not panic: panics stop at the tasks.
                _ = thread.join();
                map::thread_ended();
            }
        }
    }

    /// How many tasks were still blocked when their workers ended.
    pub fn blocked(&self) -> usize {
        locked(&self.book).blocked + self.blocked_threads()
    }

    /// Threads of blocked tasks, once all workers have ended.
    fn blocked_threads(&self) -> usize {
        let left: isize = self.all_workers().map(|w| w.stacks.counted()).sum();
        usize::try_from(left).unwrap_or(0)
    }
}
