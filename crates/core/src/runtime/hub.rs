//! What all workers of a runtime share: the crew, the injector, the settings, and the book of its threads.
//!
//! **Lifetime.** Hubs live for ever and are used again by later runtimes with as many workers: a wake that is still on its
//! way when its task has ended the whole runtime finds memory that is valid, and at worst wakes a worker that looks up
//! once more. A hub whose tasks did not all end is never used again: their frames may still refer to it.

mod hooks;
mod injector;
mod names;
mod threads;

pub use hooks::ThreadHooks;
pub(crate) use hooks::is_in_hook_of_global;

use crate::runtime::fork;
use crate::runtime::pools::Family;
use crate::runtime::{OnStuck, Unhandled};
use crate::sched::idle::Crew;
use crate::sched::policy::Policy;
use crate::sched::stacks::worker_main;
use crate::sched::worker::Worker;
use crate::stack::pool::NoStack;
use crate::sys::atomic::Ordering::*;
use crate::sys::clock::Instant;
use crate::sys::fence::Fence;
use crate::task::TaskId;
use crate::task::context::Word;
use crate::task::dedicated;
use crate::task::header::Header;
use crate::unwind;
use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::Location;
use std::ptr::null_mut;
// Not through `sys`: nothing of a hub but its crew is in a loom model.
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, fence};
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
    /// What happens with each of its threads.
    pub threads: ThreadHooks,
}

/// See the module's header.
#[derive(Debug)]
pub struct Hub {
    /// Waking and sleeping.
    pub crew: Crew,
    /// Counts groups.
    homes: AtomicUsize,
    /// The era of the process that has its threads: see [`super::fork`].
    era: AtomicU32,
    /// In `HUBS`, and in the records of its tasks.
    pub number: u8,
    /// How many runtimes have used it, up to the one that does: see [`Handle`](crate::Handle). Written under the injector's lock.
    term: AtomicU64,
    /// Handles of tasks that were left blocked when the runtime ended: as long as there are any, nobody gets the number.
    left: AtomicUsize,
    /// For good: the crew has its queues.
    policy: Policy,
    workers: OnceLock<Box<[&'static Worker]>>,
    /// Made when they were first needed, used again by later runtimes. Those in use are members of the crew.
    spares: Mutex<Vec<&'static Worker>>,
    /// How many workers are open (see `sched::relief`): a hint for those who look for work.
    pub open: AtomicUsize,
    /// Spares begin nothing, and only go on with what was begun: see [`hold_spares_back`](Self::hold_spares_back).
    spares_held: AtomicBool,
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

/// Who comes to the injector, and for which of the runtimes that have used the hub: a handle may be older than the runtime that
/// uses it now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comer {
    /// A task that was spawned by somebody outside.
    New(u64),
    /// A task that was spawned by one of the same runtime: of another pool, or on a thread of its own.
    Sibling(u64),
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
static FREE: Mutex<Free> = Mutex::new(Free { clean: Vec::new(), unclean: Vec::new(), numbers: 0 });

/// For `fork`.
pub(super) type FreeLock = MutexGuard<'static, Free>;

/// For `fork`: nobody else changes the list meanwhile.
pub(super) fn lock_free() -> FreeLock {
    locked(&FREE)
}

/// Hubs that no runtime uses.
pub(super) struct Free {
    /// All their tasks have ended: they are used again.
    clean: Vec<&'static Hub>,
    /// Frames of blocked tasks refer to them for ever, so they are not. Their numbers are.
    unclean: Vec<&'static Hub>,
    /// How many numbers were ever given out.
    numbers: usize,
}

impl Free {
    /// A number for a new hub.
    ///
    /// That of a hub which has ended is free when nobody looks it up any more: the records of its tasks are done, and no handle
    /// has one of them. The old hub itself stays where it is.
    fn number(&mut self) -> io::Result<u8> {
        if self.numbers < MOST {
            self.numbers += 1;
            return Ok((self.numbers - 1) as u8);
        }
        // Acquire: pairs with the Release in `forget_left`: the last looks at a record.
        if let Some(i) = self.unclean.iter().position(|hub| hub.left.load(Acquire) == 0) {
            return Ok(self.unclean.swap_remove(i).number);
        }
        if let Some(hub) = self.clean.pop() {
            return Ok(hub.number);
        }
        let held = self.unclean.len();
        Err(io::Error::other(format!(
            "there are {MOST} runtimes and pools already: {} that run, or whose workers have not come back from a task; and {held} that \
             have ended with blocked tasks, of which somebody still has handles. Shut some down, share one (tasks of many kinds \
             can run on it), or drop the handles of tasks that were left (each shutdown's report names them)",
            MOST - held
        )))
    }
}

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

    /// Its threads, or one of them, are this process's.
    pub(super) fn is_here(&self) {
        self.era.store(fork::era(), Relaxed);
    }

    /// Are its threads those of the process from which this one was forked?
    #[inline]
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.era.load(Relaxed) != fork::era()
    }

    /// A hub for a new runtime: an old one with as many workers, or a new one.
    pub fn take(config: Config) -> io::Result<&'static Hub> {
        fork::watch();
        let hub = {
            let mut free = locked(&FREE);
            match free.clean.iter().position(|hub| hub.workers().len() == config.workers && hub.policy == config.policy)
            {
                Some(i) => free.clean.swap_remove(i),
                None => Hub::make(free.number()?, &config),
            }
        };
        hub.begin_term();
        hub.is_here();
        hub.manual.store(if config.manual_clock { 0 } else { u64::MAX }, Relaxed);
        hub.next_look.store(u64::MAX, Relaxed);
        hub.open.store(0, Relaxed);
        hub.spares_held.store(false, Relaxed);
        hub.crew.begin(config.workers);
        hub.set_config(config);
        *locked(&hub.book) = Book::default();
        Ok(hub)
    }

    fn make(number: u8, config: &Config) -> &'static Hub {
        let hub: &'static Hub = Box::leak(Box::new(Hub {
            crew: Crew::default(),
            homes: AtomicUsize::new(0),
            era: AtomicU32::new(0),
            number,
            term: AtomicU64::new(0),
            left: AtomicUsize::new(0),
            policy: config.policy,
            workers: OnceLock::new(),
            spares: Mutex::default(),
            open: AtomicUsize::new(0),
            spares_held: AtomicBool::new(false),
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
        HUBS[usize::from(number)].store(std::ptr::from_ref(hub).cast_mut(), Release);
        hub
    }

    /// No task of the ended runtime is left: another may use the hub.
    pub fn give_back(&'static self) {
        self.drop_hooks();
        locked(&FREE).clean.push(self);
    }

    /// Blocked tasks of the ended runtime are left, and its workers have all ended: another may have the hub's number.
    pub fn give_number_back(&'static self) {
        locked(&FREE).unclean.push(self);
    }

    /// A task of the ended runtime is left blocked, and somebody has its handle.
    pub fn keep_left(&self) {
        self.left.fetch_add(1, Relaxed);
    }

    /// That handle goes.
    pub fn forget_left(&self) {
        // Release: the last looks at the record, for the Acquire of who gives the number to another hub.
        self.left.fetch_sub(1, Release);
    }

    fn set_config(&self, config: Config) {
        let before = std::mem::replace(&mut *locked(&self.config), Arc::new(config));
        // The last one drops the user's functions: without the lock, and each by itself, for destructors may panic.
        if let Some(Config { threads, stuck, unhandled, .. }) = Arc::into_inner(before) {
            let ThreadHooks { name, start, end, .. } = threads;
            unwind::drop_quietly(name);
            unwind::drop_quietly(start);
            unwind::drop_quietly(end);
            unwind::drop_quietly(stuck);
            unwind::drop_quietly(unhandled);
        }
    }

    /// The runtime has ended: nobody calls the user's functions any more, and what they hold goes.
    fn drop_hooks(&self) {
        let mut config = Config::clone(&self.config());
        config.unhandled = Unhandled::Report;
        config.stuck = OnStuck::Ignore;
        config.threads = ThreadHooks::default();
        self.set_config(config);
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

    /// From now on no more tasks are *begun* at a time than there are workers, spares or not. A spare goes on with what others
    /// have begun, and runs what that spawns; tasks with priority it begins as well.
    ///
    /// For libraries that number the tasks that run by their workers, and have arrays of so many places.
    #[inline]
    pub fn hold_spares_back(&self) {
        // Relaxed: a wish, which a spare may miss for a moment. (Looked at first: many workers come by here.)
        if !self.spares_held.load(Relaxed) {
            self.spares_held.store(true, Relaxed);
        }
    }

    /// Are spares held back?
    pub fn holds_spares_back(&self) -> bool {
        self.spares_held.load(Relaxed)
    }

    /// Is a worker open?
    #[inline(always)]
    pub fn any_open(&self) -> bool {
        self.open.load(Relaxed) > 0
    }

    /// The number of the next spare worker; `None` if there are as many as the settings allow.
    pub fn next_spare(&self) -> Option<usize> {
        let config = self.config();
        let index = self.crew.members().len();
        (index - config.workers < config.spares).then_some(index)
    }

    /// What the threads of a spare worker are called. Calls a function of the user, so: under no lock.
    pub fn name_spare(&self, index: usize) -> String {
        let config = self.config();
        config.threads.name(index, || format!("{}-spare{}", config.name, index - config.workers))
    }

    /// Starts another spare worker, on duty: the [next](Self::next_spare). One thread at a time: the monitor.
    ///
    /// # Errors
    /// What the system says.
    pub fn add_spare(&'static self, index: usize, name: String) -> io::Result<()> {
        let number = index - self.config().workers;
        let w = {
            let mut spares = locked(&self.spares);
            if spares.len() == number {
                spares.push(Box::leak(Box::new(Worker::new(self, index, true))));
            }
            spares[number]
        };
        w.on_duty.store(true, Relaxed);
        w.member.door.dead.store(false, Relaxed);
        self.crew.join(&w.member);
        self.spawn_thread(name, move || worker_main(w)).inspect_err(|_| self.crew.drop_last())
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
}
