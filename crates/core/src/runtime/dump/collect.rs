//! Taking a dump: one walk through the memory of records.

use super::{Activity, CallThreads, Doing, Dump, PoolState, TaskState, ThreadState, Words, WorkerState};
use crate::queue::look::{self, Look, Lookers, WaitsFor};
use crate::queue::made::{self, Made};
use crate::queue::reason::WaitReason;
use crate::record::current::CurrentTask;
use crate::record::header::{DONE, Header, Kind, TaskFlags};
use crate::record::memory;
use crate::record::payload;
use crate::record::peek;
use crate::record::state;
use crate::record::task::HeapRecord;
use crate::sched::calls::{BLOCKING, COMPUTE, CallCounts};
use crate::sched::cancel::scoped_tasks::Frame;
use crate::sched::idle::{RESTING, is_asleep};
use crate::sched::pool::running::FramesStay;
use crate::sched::pool::{MOST, Pool, TaskId};
use crate::sched::rescue::marks;
use crate::sched::wait::sleepers;
use crate::sched::worker::Peer;
use myriad_base::sys::clock::{self, Instant};
use myriad_base::sys::mutex::Mutex;
use std::collections::{HashMap, HashSet};
use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{Ordering::*, fence};
use std::time::Duration;

/// So many records are looked at while a pool's stacks are kept: some 10 µs, in which nobody enters
/// its injector.
const PORTION: usize = 64;
/// How often a record is read again that became another task's meanwhile.
const TRIES: usize = 8;

/// The waits that the last walk has seen, and when the first one saw each, in hundredths of a
/// second.
#[derive(Default)]
struct Seen {
    /// Of the records with these numbers, in the order of the walk.
    records: Vec<(u32, u32)>,
    /// Of the tasks of callers of `run` at these addresses, sorted.
    runs: Vec<(usize, u32)>,
}

static SEEN: Mutex<Seen> = Mutex::new(Seen { records: Vec::new(), runs: Vec::new() });

/// What all tasks, workers and waiting threads of this process do now.
///
/// Stops nobody, wakes nobody, and needs no worker: it works while workers are stuck, and during a
/// shutdown. Each entry was true at a moment of the dump. Tasks of a process from which this one
/// was forked are not seen.
///
/// # Blocking
/// Waits for other dumps, and for locks that are held for some microseconds. Takes some 0.2 µs and
/// 60 bytes for each task; 8 for each that waits are kept until the next dump.
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

/// Looks at all waits, so that the next dump knows that they were there.
pub(super) fn mark_waits() {
    let lookers = Lookers::enter();
    let began = clock::system_now();
    let mut walk = Walk::new(&lookers, Pool::all_in_use(), began);
    walk.records();
    walk.frames();
    walk.keep_seen();
    let now = clock::system_now();
    marks::have_been_set(now, now - began);
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
    /// Words for what others run on top of.
    below: Vec<usize>,
    tasks: Vec<TaskState>,
    /// From here on they are callers' of `run`.
    in_frames_from: usize,
    ended: Vec<usize>,
    /// What the last walk has seen, and where in its records this one is.
    before: Seen,
    before_at: usize,
    seen: Seen,
    now: u32,
}

/// Who a task is.
struct Who {
    location: &'static Location<'static>,
    name: Option<Arc<str>>,
    id: Option<TaskId>,
    is_future: bool,
}

impl Who {
    /// Of a record of this pool that may become another task's meanwhile: the caller looks again at
    /// what says that it did not. `None` in memory that had no record yet.
    fn read(header: &Header, pool: &Pool) -> Option<Who> {
        // SAFETY: readable.
        let (kind, location) = unsafe { (Header::look_at_kind(header), Header::look_at_location(header)) };
        // SAFETY: null in memory that had no record yet; else the place of a task, and places stay.
        let location: &'static Location<'static> = unsafe { location.as_ref() }?;
        let flags = header.flags().load(Relaxed);
        let name = if flags & TaskFlags::NAMED != 0 { pool.name_of(header, true) } else { None };
        let id = if flags & TaskFlags::NUMBERED != 0 { pool.number_of(header) } else { None };
        Some(Who { location, name, id, is_future: kind.has(Kind::FUTURE) })
    }
}

/// What says which task is in a record. (A closure has no generation: two that were spawned at one
/// place look the same, but for their waits.)
#[derive(PartialEq, Eq)]
struct Marks {
    kind: (Kind, u8),
    location: *const Location<'static>,
    generation: u32,
}

impl Marks {
    fn read(record: HeapRecord) -> Marks {
        let kind = memory::look_at_kind(record);
        // SAFETY: record memory.
        let location = unsafe { Header::look_at_location(record.as_ptr()) };
        Marks { kind, location, generation: state::generation(record.header().state().load(Relaxed)) }
    }
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
            in_frames_from: 0,
            ended: vec![0; pools.len()],
            pools,
            before: std::mem::take(&mut *SEEN.lock()),
            before_at: 0,
            seen: Seen::default(),
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
        memory::for_each(|number, record, runtime| {
            if let Some(place) = self.keep(runtime) {
                self.record(number, record, place);
            }
        });
        self.kept = None;
    }

    fn record(&mut self, number: usize, record: HeapRecord, place: u8) {
        let runtime = self.pools[usize::from(place)].number;
        for attempt in 0..TRIES {
            let marks = Marks::read(record);
            if marks.kind.0 == Kind::FREE || marks.kind.1 != runtime {
                return;
            }
            let header = record.header();
            // Acquire, as below: the parts are read between two equal looks at what the record is.
            let is_over = header.waiter(Acquire) == DONE;
            let found = if is_over { None } else { self.task(header, place) };
            let is_scoped = marks.kind.0.has(Kind::SCOPED);
            // SAFETY: record memory, with the payload of a closure.
            let scope = if is_scoped { unsafe { payload::look_at_first_word(record.as_ptr()) } } else { 0 };
            fence(Acquire);
            if Marks::read(record) != marks {
                continue;
            }
            if is_over {
                self.ended[usize::from(place)] += 1;
                return;
            }
            let Some((task, seen_before)) = found else { continue };
            // (A bit that was found later may be that of the first attempt.)
            let seen_before = seen_before && attempt == 0;
            let since = if task.reason.is_some() { self.since(number, seen_before) } else { 0 };
            self.tasks.push(TaskState { since, scope, ..task });
            return;
        }
    }

    /// For how long the record with this number has been in its wait.
    fn since(&mut self, number: usize, seen_before: bool) -> u32 {
        let number = number as u32;
        let before = &self.before.records;
        while before.get(self.before_at).is_some_and(|before| before.0 < number) {
            self.before_at += 1;
        }
        let first = match before.get(self.before_at) {
            Some(&(same, first)) if same == number && seen_before => first,
            _ => self.now,
        };
        self.seen.records.push((number, first));
        self.now.wrapping_sub(first)
    }

    /// The same of a task of a caller of `run`.
    fn run_since(&mut self, address: usize, seen_before: bool) -> u32 {
        let before = &self.before.runs;
        let first = match before.binary_search_by_key(&address, |before| before.0) {
            Ok(i) if seen_before => before[i].1,
            _ => self.now,
        };
        self.seen.runs.push((address, first));
        self.now.wrapping_sub(first)
    }

    /// Reads one record, of the pool at this place, whose stacks are kept. `None`: it is not that
    /// pool's any more. True: an earlier look has seen the same wait. What a task that waits is
    /// called is of that task; of another one the parts may be of two, if the record became
    /// another's meanwhile.
    fn task(&mut self, header: &Header, place: u8) -> Option<(TaskState, bool)> {
        let address = std::ptr::from_ref(header).addr();
        let pool = self.pools[usize::from(place)];
        // SAFETY: readable.
        let is_ours = || unsafe { Header::look_at_runtime(header) } == pool.number;
        let look = look::look(self.lookers, header, is_ours, |node| {
            // SAFETY: the pool's stacks are kept since before the node was found, and the look has
            // found that the task is the pool's.
            (unsafe { look::read(node) }, Who::read(header, pool))
        });
        let mut seen_before = false;
        let mut at = None;
        let (activity, waits, who) = match look {
            Look::Elsewhere => return None,
            Look::Waits((waits, who), _) if waits.reason == WaitReason::Yield => (Activity::Queued, None, who?),
            Look::Waits((waits, who), before) => {
                seen_before = before;
                at = self.joined_in_frame(header, waits, is_ours);
                (Activity::Waits, Some(waits), who?)
            }
            Look::Under(on_top) => {
                let waits = WaitsFor { reason: WaitReason::Join, object: on_top.addr() };
                (Activity::Waits, Some(waits), Who::read(header, pool)?)
            }
            Look::Moves => (Activity::Runs, None, Who::read(header, pool)?),
            Look::No => {
                let who = Who::read(header, pool)?;
                let activity = self.not_waiting(header, address, who.is_future);
                if activity == Activity::Waits
                    && let Some((waits, before)) = look::look_awaited(self.lookers, header)
                {
                    return Some((Walk::state(address, place, activity, Some(waits), who, None), before));
                }
                // (One that waits may have a context there: it is on top of nothing.)
                if activity != Activity::Waits {
                    self.runs_on_top(header, is_ours);
                }
                (activity, None, who)
            }
        };
        Some((Walk::state(address, place, activity, waits, who, at), seen_before))
    }

    /// Where the `join` (or the `run`) is for whose closure this task waits, if it waits for one
    /// whose record is in its own frame.
    fn joined_in_frame(&self, header: &Header, waits: WaitsFor, is_ours: impl Fn() -> bool) -> Option<Made> {
        if waits.reason != WaitReason::Join || waits.object == 0 || memory::is_in_records(waits.object) {
            return None;
        }
        let joined: *const Header = std::ptr::with_exposed_provenance(waits.object);
        // SAFETY: the task has waited for this record since its pool's stacks are kept, so the
        // record stood in a frame of the task's then, on one of these stacks, which is mapped.
        let location = unsafe { Header::look_at_location(joined) };
        // The same wait is there yet? Then the record was when its place was read.
        // SAFETY: as in `task`.
        let look = look::look(self.lookers, header, is_ours, |node| unsafe { look::read(node) });
        if look != Look::Waits(waits, true) {
            return None;
        }
        // SAFETY: the place of a record that stood, and places stay.
        Some(Made { location: unsafe { location.as_ref() }?, ends: None })
    }

    fn state(
        record: usize,
        pool: u8,
        activity: Activity,
        waits: Option<WaitsFor>,
        who: Who,
        made: Option<Made>,
    ) -> TaskState {
        let Who { location, name, id, is_future } = who;
        TaskState {
            location,
            words: (name.is_some() || made.is_some()).then(|| Box::new(Words { name, made, socket: None })),
            id,
            record,
            object: waits.map_or(0, |waits| waits.object),
            scope: 0,
            since: 0,
            pool,
            is_future,
            activity,
            reason: waits.map(|waits| waits.reason),
        }
    }

    /// Notes what the task of this record, which does not wait, runs on top of, if it does.
    fn runs_on_top(&mut self, header: &Header, is_ours: impl Fn() -> bool) {
        // Acquire: the frame.
        let position = header.idx().load(Acquire);
        let ours = is_ours();
        // Acquire: as in `queue::look`.
        fence(Acquire);
        let is_there = || header.idx().load(Relaxed) == position;
        if !ours || !is_there() {
            return;
        }
        // SAFETY: its pool's stacks are kept, and what the position names stands, or stood since
        // they are. Or it is memory for records.
        let below = unsafe { Frame::look_below(header, position) };
        // Acquire: as in `queue::look`.
        fence(Acquire);
        self.below.extend(below.filter(|_| is_there()));
    }

    /// Notes on top of what the workers of this pool run second closures of a `join`. (Those of
    /// other tasks stand in memory for records.)
    fn closures_on_top(&mut self, pool: &'static Pool, _: &FramesStay<'_>) {
        for w in pool.all_workers() {
            // As `Pool::read_running`: what stands in a frame goes after the version has changed.
            let version = w.frame_version.load(Acquire);
            let top = w.running.get().record_elsewhere();
            // Acquire: what was read, then the version.
            fence(Acquire);
            let is_there = || w.frame_version.load(Relaxed) == version;
            if CurrentTask::is_nobody(top) || memory::is_in_records(top.addr()) || !is_there() {
                continue;
            }
            // SAFETY: it is in a frame, and those are kept.
            let position = unsafe { peek::word(Header::position_at(top)) };
            // Acquire: as above.
            fence(Acquire);
            if is_there() {
                // SAFETY: frames are kept, and this one stood since they are.
                let below = unsafe { Frame::look_below(top, position) };
                // Acquire: as above.
                fence(Acquire);
                self.below.extend(below.filter(|_| is_there()));
            }
        }
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
        self.in_frames_from = self.tasks.len();
        for place in 0..self.pools.len() {
            let pool = self.pools[place];
            let stays = pool.keep_frames();
            for task in stays.runs() {
                // SAFETY: who is in `run` stays there while the frames are kept.
                let header = unsafe { &*task };
                if header.waiter(Acquire) != DONE
                    && let Some((task, seen_before)) = self.task(header, place as u8)
                {
                    let since = if task.reason.is_some() { self.run_since(task.record, seen_before) } else { 0 };
                    self.tasks.push(TaskState { since, ..task });
                }
            }
            self.closures_on_top(pool, &stays);
        }
    }

    /// What was seen is there for the next walk.
    fn keep_seen(&mut self) {
        self.seen.runs.sort_unstable();
        *SEEN.lock() = std::mem::take(&mut self.seen);
    }

    fn finish(mut self) -> Dump {
        self.keep_seen();
        let below: HashSet<usize> = self.below.iter().copied().filter_map(record_of).collect();
        for task in &mut self.tasks {
            if task.activity == Activity::Queued && below.contains(&task.record) {
                task.activity = Activity::Runs;
            }
        }
        for task in self.tasks.iter_mut().filter(|task| task.reason.is_some_and(WaitReason::is_of_socket)) {
            let reactor = self.pools[usize::from(task.pool)].workers.reactor.get();
            if let Some(socket) = reactor.and_then(|reactor| reactor.describe(task.object)) {
                task.words.get_or_insert_default().socket = Some(socket);
            }
        }
        // (A task in `run` is listed, and says more.)
        let in_frames: HashSet<usize> = self.tasks[self.in_frames_from..].iter().map(|task| task.record).collect();
        for task in self.tasks.iter_mut().filter(|task| task.joins().is_some_and(|task| in_frames.contains(&task))) {
            if let Some(words) = &mut task.words {
                words.made = None;
            }
        }
        let mut threads = Vec::new();
        sleepers::for_each(|thread, waits, timed| {
            let WaitsFor { reason, object } = waits;
            threads.push(ThreadState { name: thread.name().map(String::from), reason, object, made: None, timed });
        });
        let of_tasks = self.tasks.iter().filter(|task| task.reason.is_some_and(WaitReason::has_place));
        let of_threads = threads.iter().filter(|thread| thread.reason.has_place());
        let objects = of_tasks.map(|task| task.object).chain(of_threads.map(|thread| thread.object));
        let known = made::look_up(objects);
        if !known.is_empty() {
            for task in self.tasks.iter_mut().filter(|task| task.reason.is_some_and(WaitReason::has_place)) {
                if let Some(made) = known.get(&task.object) {
                    task.words.get_or_insert_default().made = Some(*made);
                }
            }
            for thread in threads.iter_mut().filter(|thread| thread.reason.has_place()) {
                thread.made = known.get(&thread.object).copied();
            }
        }
        // (What is no scope's address that somebody waits for may be anything.)
        let of_tasks = self.tasks.iter().filter_map(TaskState::ends_scope);
        let scopes: HashSet<usize> =
            of_tasks.chain(threads.iter().filter(|t| t.reason == WaitReason::Scope).map(|t| t.object)).collect();
        for task in self.tasks.iter_mut().filter(|task| !scopes.contains(&task.scope)) {
            task.scope = 0;
        }
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

/// The record that a word of a position names, to compare: it, or that of its context.
fn record_of(word: usize) -> Option<usize> {
    // SAFETY: a position's word, which is compared only; and of what was a context we ask only in
    // memory for records.
    let word = unsafe { CurrentTask::exposed(word) };
    let is_readable = !word.has_context() || memory::is_in_records(word.head().addr());
    is_readable.then(|| word.record_elsewhere().addr())
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
        word if is_asleep(word) => Doing::Sleeps,
        RESTING => Doing::Rests,
        _ if w.shared.remote.stuck.load(Relaxed) => Doing::Stuck,
        _ => Doing::Works,
    };
    let runs = matches!(doing, Doing::Works | Doing::Stuck);
    let task = running.get(&w.running.get().record_elsewhere().addr()).filter(|_| runs);
    let next = w.timers.next();
    let timer = (next != u64::MAX).then(|| Duration::from_nanos(next.saturating_sub(pool.now().as_nanos())));
    let (name, location) = task
        .map_or((None, None), |task| (task.words.as_ref().and_then(|words| words.name.clone()), Some(task.location)));
    WorkerState { spare: w.spare, doing, name, location, timer }
}
