//! Taking a dump: one walk through the memory of records.

use super::{Activity, CallThreads, Doing, Dump, PoolState, TaskState, ThreadState, WorkerState};
use crate::queue::look::{self, Look, Lookers, WaitsFor};
use crate::queue::reason::WaitReason;
use crate::record::header::{DONE, Header, Kind, TaskFlags};
use crate::record::memory;
use crate::record::position::{self, Position};
use crate::record::state;
use crate::record::task::HeapRecord;
use crate::sched::calls::{BLOCKING, COMPUTE, CallCounts};
use crate::sched::idle::{ASLEEP, RESTING};
use crate::sched::pool::{FramesStay, MOST, Pool};
use crate::sched::wait::sleepers;
use crate::sched::worker::Peer;
use myriad_base::sys::clock::{self, Instant};
use myriad_base::sys::mutex::Mutex;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::atomic::{Ordering::*, fence};
use std::time::Duration;

/// So many records are looked at while a pool's stacks are kept: some 10 µs, in which nobody enters
/// its injector.
const PORTION: usize = 64;
/// How often a record is read again that became another task's meanwhile.
const TRIES: usize = 8;

/// The waits that the last dump has seen, in the order of the walk: the number of the record, and
/// when the first dump saw it in that wait, in hundredths of a second.
static SEEN: Mutex<Vec<(u32, u32)>> = Mutex::new(Vec::new());

/// What all tasks, workers and waiting threads of this process do now.
///
/// Stops nobody, wakes nobody, and needs no worker: it works while workers are stuck, and during a
/// shutdown. Each entry was true at a moment of the dump. Tasks of a process from which this one
/// was forked are not seen.
///
/// # Blocking
/// Waits for other dumps, and for locks that are held for some microseconds. Takes some 0.2 µs and
/// 80 bytes for each task.
///
/// # Examples
/// ```
/// use myriad::WaitReason;
/// let rt = myriad::Builder::new().workers(1).build()?;
/// let (tx, rx) = myriad::channel::unbounded::<u32>();
/// let task = rt.run(|| myriad::task::Builder::new().name("reader").spawn(move || rx.recv()));
/// let dump = loop {
///     let dump = myriad::dump();
///     if dump.tasks().iter().any(|task| task.waits_for() == Some(WaitReason::Recv)) {
///         break dump;
///     }
/// };
/// assert!(dump.to_string().contains("'reader'"), "{dump}");
/// let mut json = String::new();
/// dump.write_json(&mut json).unwrap();
/// let reader = &dump.tasks()[0];
/// assert!(!dump.why(reader).is_cycle() && dump.joined_by(reader).is_none());
/// tx.send(1).unwrap();
/// assert_eq!(task.join().unwrap(), Ok(1));
/// # std::io::Result::Ok(())
/// ```
#[doc(alias = "backtrace")]
#[doc(alias = "goroutine")]
#[doc(alias = "SIGQUIT")]
pub fn dump() -> Dump {
    let lookers = Lookers::enter();
    let began = clock::system_now();
    let pools = Pool::all_in_use();
    let mut walk = Walk::new(&lookers, pools, began);
    walk.records();
    walk.frames();
    let mut dump = walk.finish();
    drop(lookers);
    dump.took = clock::system_now() - began;
    dump
}

struct Walk<'a> {
    lookers: &'a Lookers,
    pools: Vec<&'static Pool>,
    /// By number: where it stands in `pools`.
    places: [Option<u8>; MOST],
    /// The pool whose stacks are kept, and for how many more records.
    kept: Option<(u8, FramesStay<'static>, usize)>,
    running: HashSet<usize>,
    dedicated: HashSet<usize>,
    /// Records on top of which others run.
    below: Vec<usize>,
    tasks: Vec<TaskState>,
    ended: Vec<usize>,
    before: Vec<(u32, u32)>,
    before_at: usize,
    seen: Vec<(u32, u32)>,
    now: u32,
}

impl<'a> Walk<'a> {
    fn new(lookers: &'a Lookers, pools: Vec<&'static Pool>, began: Instant) -> Walk<'a> {
        let mut places = [None; MOST];
        pools.iter().enumerate().for_each(|(i, pool)| places[usize::from(pool.number)] = Some(i as u8));
        let running = pools.iter().flat_map(|pool| pool.running_records()).map(|task| task.addr()).collect();
        let dedicated = pools.iter().flat_map(|pool| pool.dedicated.addresses()).collect();
        Walk {
            lookers,
            places,
            kept: None,
            running,
            dedicated,
            below: Vec::new(),
            tasks: Vec::new(),
            ended: vec![0; pools.len()],
            pools,
            before: Vec::new(),
            before_at: 0,
            seen: Vec::new(),
            now: (began.as_nanos() / 10_000_000) as u32,
        }
    }

    /// Keeps the stacks of this pool for the next record; the place of the pool.
    fn keep(&mut self, number: u8) -> Option<u8> {
        let place = self.places[usize::from(number)]?;
        match &mut self.kept {
            Some((kept, _, left)) if *kept == number && *left > 0 => *left -= 1,
            kept => {
                // (First the old one goes: nobody holds two.)
                *kept = None;
                *kept = Some((number, self.pools[usize::from(place)].keep_frames(), PORTION));
            }
        }
        Some(place)
    }

    /// All records in memory for them.
    fn records(&mut self) {
        self.before = std::mem::take(&mut *SEEN.lock());
        memory::for_each(|number, record, runtime| {
            if let Some(place) = self.keep(runtime) {
                self.record(number, record, place);
            }
        });
        self.kept = None;
        *SEEN.lock() = std::mem::take(&mut self.seen);
    }

    fn record(&mut self, number: usize, record: HeapRecord, place: u8) {
        let runtime = self.pools[usize::from(place)].number;
        for _ in 0..TRIES {
            let is_ours = |(kind, owner): (Kind, u8)| kind != Kind::FREE && owner == runtime;
            let what = memory::look_at_kind(record);
            if !is_ours(what) {
                return;
            }
            let header = record.header();
            // Acquire, as below: the parts are read between two equal looks at what the record is.
            let is_over = header.waiter(Acquire) == DONE;
            // SAFETY: record memory.
            let location = unsafe { Header::look_at_location(record.as_ptr()) };
            let found = if is_over { None } else { self.task(header) };
            fence(Acquire);
            // SAFETY: record memory.
            let again = unsafe { Header::look_at_location(record.as_ptr()) };
            if memory::look_at_kind(record) != what || again != location {
                continue;
            }
            match found {
                None if is_over => self.ended[usize::from(place)] += 1,
                None => {}
                Some((task, seen_before)) => {
                    let since = if task.reason.is_some() { self.since(number, seen_before) } else { 0 };
                    self.tasks.push(TaskState { pool: place, since, ..task });
                }
            }
            return;
        }
    }

    /// For how long the record with this number has been in its wait.
    fn since(&mut self, number: usize, seen_before: bool) -> u32 {
        let number = number as u32;
        while self.before.get(self.before_at).is_some_and(|before| before.0 < number) {
            self.before_at += 1;
        }
        let first = match self.before.get(self.before_at) {
            Some(&(same, first)) if same == number && seen_before => first,
            _ => self.now,
        };
        self.seen.push((number, first));
        self.now.wrapping_sub(first)
    }

    /// Reads one record, of a pool whose stacks are kept. Its parts may be of two tasks, if it
    /// became another's meanwhile. True: an earlier look has seen the same wait.
    fn task(&mut self, header: &Header) -> Option<(TaskState, bool)> {
        let address = std::ptr::from_ref(header).addr();
        // SAFETY: readable; volatile, and looked at again by the caller.
        let (kind, location) = unsafe { (Header::look_at_kind(header), Header::look_at_location(header)) };
        // SAFETY: null in memory that had no record yet; else the place of a task, and places stay.
        let location: &'static Location<'static> = unsafe { location.as_ref() }?;
        let number = header.runtime();
        let place = self.places[usize::from(number)]?;
        let pool = self.pools[usize::from(place)];
        // SAFETY: the pool's stacks are kept, since before the node was found.
        let look = look::look(self.lookers, header, |node| unsafe { look::read(node) });
        let is_future = kind.has(Kind::FUTURE);
        let mut seen_before = false;
        let (activity, waits) = match look {
            Look::Waits(waits, _) if waits.reason == WaitReason::Yield => (Activity::Queued, None),
            Look::Waits(waits, before) => {
                seen_before = before;
                (Activity::Waits, Some(waits))
            }
            Look::Under(on_top) => {
                (Activity::Waits, Some(WaitsFor { reason: WaitReason::Join, object: on_top.addr() }))
            }
            Look::Moves => (Activity::Runs, None),
            Look::No => {
                if let Position::On(below) = position::read(header.idx().load(Relaxed)) {
                    self.below.push(below);
                }
                (self.not_waiting(header, address, is_future), None)
            }
        };
        let flags = header.flags().load(Relaxed);
        let name = if flags & TaskFlags::NAMED != 0 { pool.name_of(header, true) } else { None };
        let id = if flags & TaskFlags::NUMBERED != 0 { pool.number_of(header) } else { None };
        let task = TaskState {
            location,
            name,
            id,
            record: address,
            object: waits.map_or(0, |waits| waits.object),
            since: 0,
            pool: place,
            is_future,
            activity,
            reason: waits.map(|waits| waits.reason),
        };
        Some((task, seen_before))
    }

    fn not_waiting(&self, header: &Header, address: usize, is_future: bool) -> Activity {
        match () {
            () if self.dedicated.contains(&address) => Activity::Dedicated,
            () if self.running.contains(&address) => Activity::Runs,
            () if is_future && state::is_idle(header.state()) => Activity::Waits,
            () => Activity::Queued,
        }
    }

    /// Tasks of callers of `run`, whose records stand in the callers' frames.
    fn frames(&mut self) {
        for pool in self.pools.clone() {
            self.kept = None;
            let stays = pool.keep_frames();
            let mut found = Vec::new();
            for task in stays.runs() {
                // SAFETY: who is in `run` stays there while the frames are kept.
                let header = unsafe { &*task };
                if header.waiter(Acquire) != DONE {
                    found.extend(self.task(header).map(|task| task.0));
                }
            }
            drop(stays);
            self.tasks.append(&mut found);
        }
    }

    fn finish(mut self) -> Dump {
        let below: HashSet<usize> = self.below.iter().copied().map(record_of).collect();
        for task in &mut self.tasks {
            if task.activity == Activity::Queued && below.contains(&task.record) {
                task.activity = Activity::Runs;
            }
        }
        let mut threads = Vec::new();
        sleepers::for_each(|thread, waits, timed| {
            let WaitsFor { reason, object } = waits;
            threads.push(ThreadState { name: thread.name().map(String::from), reason, object, timed });
        });
        let calls = [BLOCKING.count(), COMPUTE.count()].into_iter();
        let calls = calls
            .map(|CallCounts { name, threads, idle, queued }| CallThreads { name, threads, idle, queued })
            .filter(|calls| calls.threads + calls.queued > 0);
        let runs = self.tasks.iter().filter(|task| self.running.contains(&task.record));
        let running: HashMap<usize, &TaskState> = runs.map(|task| (task.record, task)).collect();
        let pools = self.pools.iter().zip(&self.ended).map(|(pool, &ended)| pool_state(pool, ended, &running));
        let pools = pools.collect();
        Dump { took: Duration::ZERO, pools, tasks: self.tasks, threads, calls: calls.collect() }
    }
}

/// The record that a word of a position names: it, or its context.
fn record_of(word: usize) -> usize {
    // SAFETY: a position's word, which is compared only.
    unsafe { crate::record::current::CurrentTask::exposed(word) }.record_elsewhere().addr()
}

fn pool_state(pool: &'static Pool, ended: usize, running: &HashMap<usize, &TaskState>) -> PoolState {
    let handle = crate::sched::pool::Handle::of(pool);
    PoolState {
        runtime: pool.config().name.clone(),
        name: handle.pool_name(),
        fibers: pool.regular_workers().first().is_some_and(|w| w.are_fibers()),
        workers: pool.all_workers().map(|w| worker_state(pool, w, running)).collect(),
        ended,
    }
}

/// `running` are the tasks that workers ran at the begin, by their records. (To read in the record
/// of what the worker runs now, which may be in a frame, is right only of one that is stuck.)
fn worker_state(pool: &Pool, w: &'static Peer, running: &HashMap<usize, &TaskState>) -> WorkerState {
    let doing = match w.shared.remote.sleeping.word.load(Relaxed) {
        ASLEEP => Doing::Sleeps,
        RESTING => Doing::Rests,
        _ if w.shared.remote.stuck.load(Relaxed) => Doing::Stuck,
        _ => Doing::Works,
    };
    let runs = matches!(doing, Doing::Works | Doing::Stuck);
    let task = running.get(&w.running.get().record_elsewhere().addr()).filter(|_| runs);
    let next = w.timers.next();
    let timer = (next != u64::MAX).then(|| Duration::from_nanos(next.saturating_sub(pool.now().as_nanos())));
    let (name, location) = task.map_or((None, None), |task| (task.name.clone(), Some(task.location)));
    WorkerState { spare: w.spare, doing, name, location, timer }
}
