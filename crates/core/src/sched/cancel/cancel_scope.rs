//! Cancel scopes: parts of a task that are cancelled, or shielded, as a whole.
//!
//! ```text
//!  task: .. timeout { .. shield { .. token.run { .. } } }      innermost first: token -> shield -> timeout
//! ```
//! A cancel scope stands on the stack of its task, and points to the one around it. Which is the
//! innermost one of a task says a table, looked at only by who enters or leaves a cancel scope, or
//! is marked: so a task without cancel scopes pays nothing, and one that is set aside saves
//! nothing.
//!
//! *Is the task cancelled?* From the innermost cancel scope outwards: a cancelled one says yes, a
//! shield says no; at the end the task's own flag says it.
//!
//! **Unwinding.** While a task unwinds because of a cancellation, what runs are destructors. They
//! may block, and must not be cancelled again, as that would be a panic in a destructor. So the
//! table counts the unwindings under way, and each is a shield against all cancel scopes entered
//! before it. It ends when its payload is dropped, or stops at a boundary
//! ([`end_cancellation`](super::end_cancellation)).
//!
//! **Who may touch what.** A cancel scope's links and its entry are its task's: others look at them
//! only while the task is blocked and they are its home. `cancelled` is written by whoever has the
//! cancel scope alive by a lock under which the task leaves it: that of the wheel, or of the token.

use super::request::request_home;
use super::thread::{self, Thread};
use crate::queue::look::WaitsFor;
use crate::record::header::{Header, RunnerByte, TaskFlags};
use crate::record::task::RecordAddress;
use crate::sched::fork;
use crate::sched::unwind::{self, Payload};
use crate::sched::worker::{self, Peer, Worker};
use myriad_base::hash::Numbers;
use myriad_base::sys::clock::Instant;
use myriad_base::sys::mutex::{Mutex, MutexGuard};
use std::cell::Cell;
use std::ptr::null;
// Not through `sys`: no model covers cancel scopes.
use myriad_base::sys::atomic::AtomicU8;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::*};

/// Who has cancel scopes: a task or a foreign thread, by the address of its flags; and what its
/// runner notes (null: nothing).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key(*const AtomicU8, *const RunnerByte);

impl Key {
    pub(crate) fn of(task: &Header) -> Key {
        Key(task.flags(), task.runner_byte())
    }

    /// The running task's, or the thread's.
    #[inline(always)]
    pub(crate) fn current() -> Key {
        Key::of_caller(worker::current().as_deref())
    }

    /// The same, where the calling worker is known.
    #[inline(always)]
    fn of_caller(w: Option<&Worker>) -> Key {
        match w.and_then(|w| w.task().map(|task| Key::of(task.header()))) {
            Some(key) => key,
            None => Key::of_thread(),
        }
    }

    #[inline(never)]
    fn of_thread() -> Key {
        let (flags, runner) = thread::flags();
        Key(flags, runner)
    }

    /// Is it marked as unwinding, or kept off?
    #[inline(always)]
    fn unwinds(&self) -> bool {
        // Relaxed: asked by itself; or by its home while it is blocked, and then it is ordered as
        // its position is. So is what the runner notes.
        self.flags().load(Relaxed) & TaskFlags::UNWINDING != 0 || self.runner().is_some_and(RunnerByte::is_kept_off)
    }

    #[inline(always)]
    fn runner(&self) -> Option<&RunnerByte> {
        // SAFETY: as `flags`.
        unsafe { self.1.as_ref() }
    }

    /// It is neither any more. Asked by itself.
    #[inline(always)]
    fn is_spared_no_more(&self) {
        if let Some(runner) = self.runner() {
            runner.keep_off(false);
        }
        if self.flags().load(Relaxed) & TaskFlags::UNWINDING != 0 {
            self.flags().fetch_and(!TaskFlags::UNWINDING, AcqRel);
        }
    }

    fn flags(&self) -> &AtomicU8 {
        // SAFETY: keys are made of flags that stand as long as the key is used.
        unsafe { &*self.0 }
    }
}

/// See the module's header.
#[derive(Debug)]
pub(crate) struct CancelScope {
    around: *const CancelScope,
    shield: bool,
    /// Unwindings that were under way when it was entered.
    unwindings: u32,
    /// It was entered while its thread panicked: in a destructor, in which it is also left.
    in_panic: bool,
    cancelled: AtomicBool,
    /// What the wait was for that its cancellation has ended, where that is noted. Written while
    /// the task waits, by who ends the wait.
    waited: Cell<Option<WaitsFor>>,
    key: Key,
    owner: Owner,
    /// A foreign thread looks at the clock itself.
    pub(super) deadline: Instant,
}

#[derive(Debug, Clone, Copy)]
enum Owner {
    Task { task: RecordAddress, home: &'static Peer },
    Thread(*const Thread),
}

/// Whom to ask once the lock is released under which a cancel scope was cancelled.
#[derive(Debug)]
pub(crate) struct DueRequest(Option<(RecordAddress, &'static Peer)>);

#[derive(Debug)]
pub(crate) struct Entry {
    innermost: Option<*const CancelScope>,
    unwindings: u32,
    /// Which of these are unwindings because of cancellations whose payloads have not been dropped:
    /// see [`Unwinding`].
    live: Vec<u64>,
}

impl Entry {
    /// Of one who has none, and is marked as unwinding or not.
    fn new(unwinds: bool) -> Entry {
        Entry { innermost: None, unwindings: u32::from(unwinds), live: Vec::new() }
    }
}

/// An unwinding because of a cancellation: whose it is, and its number, which no other one has.
///
/// The key alone will not do. It is an address, which is used again when its task has ended; and a
/// payload may be carried away, and be dropped by a later task at this address. That one's own
/// unwinding, or the code that is kept from cancellations there, would count as ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Unwinding {
    key: Key,
    number: u64,
}

/// Who has no entry is in no cancel scope, and has no unwinding of a cancellation: if its flag says
/// that it unwinds, it is kept off once.
pub(crate) type Table = Numbers<usize, Entry>;
const SHARDS: usize = 64;
static TABLES: [Shard; SHARDS] = [const { Shard { entries: AtomicUsize::new(0), table: Mutex::new(None) } }; SHARDS];

/// A part of the table.
struct Shard {
    /// How many are in it: most programs have no cancel scopes, and look here alone. Written under
    /// the lock. Who asks for its own entry has written it before, and who asks for another's sees
    /// where that waits, which was written after its entry: so it is not missed, and Relaxed is
    /// enough.
    entries: AtomicUsize,
    table: Mutex<Option<Table>>,
}

// SAFETY: the table holds addresses; who may follow them says the header.
unsafe impl Send for Entry {}

impl Shard {
    #[inline(always)]
    fn of(key: Key) -> &'static Shard {
        &TABLES[(key.0.addr() >> 6) % SHARDS]
    }

    /// Looked up in it, if anything is in it.
    #[inline(always)]
    fn entry<R>(&self, key: Key, f: impl FnOnce(&Entry) -> R) -> Option<R> {
        if self.entries.load(Relaxed) == 0 {
            return None;
        }
        self.table.lock().as_ref().and_then(|table| table.get(&key.0.addr())).map(f)
    }
}

/// For `fork`: all parts of the table.
pub(crate) type Locks = [MutexGuard<'static, Option<Table>>; SHARDS];

/// For `fork`: nobody else is in the table meanwhile.
pub(crate) fn lock_all() -> Locks {
    std::array::from_fn(|i| TABLES[i].table.lock())
}

/// Changes the entry of a task; removes it if nothing is left in it.
fn change<R>(key: Key, f: impl FnOnce(&mut Entry) -> R) -> R {
    let shard = Shard::of(key);
    let mut table = shard.table.lock();
    let table = table.get_or_insert_default();
    let unwinds = key.unwinds();
    let entry = table.entry(key.0.addr()).or_insert_with(|| Entry::new(unwinds));
    if !unwinds {
        // Of an earlier task here, whose payload went elsewhere.
        entry.unwindings = 0;
        entry.live.clear();
    }
    let result = f(entry);
    if entry.innermost.is_none() && entry.live.is_empty() && entry.unwindings == u32::from(key.unwinds()) {
        table.remove(&key.0.addr());
    }
    shard.entries.store(table.len(), Relaxed);
    result
}

fn read<R>(key: Key, f: impl Fn(&Entry) -> R) -> R {
    let none = || f(&Entry::new(key.unwinds()));
    Shard::of(key).entry(key, &f).unwrap_or_else(none)
}

/// What a cancellation ends where a task is now: the innermost cancel scope that is cancelled, or
/// all of the task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    Task,
    /// One that was entered in a destructor, while its thread panicked; or not.
    CancelScope {
        in_panic: bool,
    },
}

impl Extent {
    /// Would an unwinding up to there leave a destructor that runs because of a panic (and so
    /// abort)? `panics`: the thread of the wait panics, whether with a panic or because of a
    /// cancellation.
    ///
    /// What is on a thread is on one stack, so that is known exactly. (But for a panic within such
    /// a cancel scope, of which nobody tells.)
    pub(super) fn leaves_panic(self, panics: bool) -> bool {
        panics && self != Extent::CancelScope { in_panic: true }
    }
}

/// Is this task, or thread, to be cancelled where it is now?
///
/// Called by itself, or by its home while it is blocked.
pub(crate) fn is_cancelled(key: Key) -> bool {
    cancelled(key).is_some()
}

/// How much of this task, or thread, is to be cancelled where it is now; `None`: nothing.
pub(super) fn cancelled(key: Key) -> Option<Extent> {
    let flags = key.flags().load(Acquire);
    if flags & (TaskFlags::CANCELLED | TaskFlags::SCOPE_CANCELLED) == 0 {
        return None;
    }
    let (innermost, unwindings) = read(key, |entry| (entry.innermost.unwrap_or(null()), entry.unwindings));
    let unwindings = if key.unwinds() { unwindings } else { 0 };
    let mut cancel_scope = innermost;
    // SAFETY: cancel scopes of the chain stand, and do not change: see the header.
    while let Some(inner) = unsafe { cancel_scope.as_ref() } {
        if inner.unwindings < unwindings {
            return None;
        }
        // Acquire: what the canceller did before.
        if inner.cancelled.load(Acquire) {
            return Some(Extent::CancelScope { in_panic: inner.in_panic });
        }
        if inner.shield {
            return None;
        }
        cancel_scope = inner.around;
    }
    if unwindings > 0 {
        return None;
    }
    if flags & TaskFlags::CANCELLED == 0 && innermost.is_null() {
        // Nothing is left that this could be about. (A cancel scope is cancelled before the flag is
        // set.)
        key.flags().fetch_and(!TaskFlags::SCOPE_CANCELLED, AcqRel);
    }
    (flags & TaskFlags::CANCELLED != 0).then_some(Extent::Task)
}

/// Notes in the cancel scope that ends this wait of the task, or thread, what the wait was for.
///
/// Called by itself, or by its home while it is blocked.
pub(super) fn note_waited(key: Key, waits: WaitsFor) {
    let mut cancel_scope = read(key, |entry| entry.innermost.unwrap_or(null()));
    // SAFETY: cancel scopes of the chain stand, and do not change: see the header.
    while let Some(inner) = unsafe { cancel_scope.as_ref() } {
        if inner.cancelled.load(Acquire) {
            return inner.waited.set(Some(waits));
        }
        if inner.shield {
            return;
        }
        cancel_scope = inner.around;
    }
}

/// When the innermost cancel scopes of this foreign thread that count are over.
pub(super) fn next_deadline() -> Instant {
    let key = Key::current();
    let (mut cancel_scope, unwindings) = read(key, |entry| (entry.innermost.unwrap_or(null()), entry.unwindings));
    let mut first = Instant::NEVER;
    // SAFETY: the innermost cancel scope and those around it stand in frames of the calling thread,
    // below this one.
    while let Some(inner) = unsafe { cancel_scope.as_ref() } {
        if inner.unwindings < unwindings {
            break;
        }
        first = first.min(inner.deadline);
        if inner.shield {
            break;
        }
        cancel_scope = inner.around;
    }
    first
}

/// Cancels those cancel scopes of this foreign thread whose time is over.
pub(super) fn expire(now: Instant) {
    let mut cancel_scope = read(Key::current(), |entry| entry.innermost.unwrap_or(null()));
    // SAFETY: the innermost cancel scope and those around it stand in frames of the calling thread,
    // below this one.
    while let Some(inner) = unsafe { cancel_scope.as_ref() } {
        if inner.deadline <= now {
            inner.cancelled.store(true, Release);
            inner.key.flags().fetch_or(TaskFlags::SCOPE_CANCELLED, AcqRel);
        }
        cancel_scope = inner.around;
    }
}

impl CancelScope {
    /// A cancel scope of the caller, to be entered where it stands.
    pub(crate) fn new(shield: bool, deadline: Instant) -> CancelScope {
        let owner = match worker::current() {
            Some(w) => w.task().map(|task| Owner::Task { task: task.record_address(), home: w.as_static() }),
            None => None,
        };
        let owner = owner.unwrap_or_else(|| {
            // The table is also that of threads where there is no runtime.
            fork::watch();
            Owner::Thread(thread::current())
        });
        CancelScope {
            around: null(),
            shield,
            unwindings: 0,
            in_panic: std::thread::panicking(),
            cancelled: AtomicBool::new(false),
            waited: Cell::new(None),
            key: Key::current(),
            owner,
            deadline: if matches!(owner, Owner::Thread(_)) { deadline } else { Instant::NEVER },
        }
    }

    /// Enters it. It stays where it is until it is left.
    pub(crate) fn enter(&mut self) {
        let this: *mut CancelScope = self;
        change(self.key, |entry| {
            // SAFETY: `this` is the caller's `&mut self`, and nobody else knows it before the line
            // below.
            unsafe {
                (*this).around = entry.innermost.unwrap_or(null());
                (*this).unwindings = entry.unwindings;
            }
            entry.innermost = Some(this);
        });
        if let Owner::Thread(thread) = self.owner {
            // SAFETY: `Owner::Thread` is the calling thread, which lives.
            unsafe { (*thread).regions.set((*thread).regions.get() + 1) };
        }
    }

    /// Leaves it; nobody can cancel it any more.
    pub(crate) fn leave(&self) {
        change(self.key, |entry| entry.innermost = (!self.around.is_null()).then_some(self.around));
        if let Owner::Thread(thread) = self.owner {
            // SAFETY: `Owner::Thread` is the calling thread, which lives.
            unsafe { (*thread).regions.set((*thread).regions.get() - 1) };
        }
    }

    /// What the wait was for that its cancellation has ended, where that is noted.
    pub(crate) fn waited(&self) -> Option<WaitsFor> {
        self.waited.get()
    }

    /// Is it cancelled?
    pub(crate) fn is_over(&self) -> bool {
        self.cancelled.load(Acquire)
    }

    /// Cancels it. Whoever is returned is asked without the lock.
    ///
    /// # Safety
    /// It is alive, by a lock that its task takes before it leaves it.
    pub(crate) unsafe fn cancel(this: *const CancelScope) -> DueRequest {
        // SAFETY: a task leaves the cancel scope under a lock that is held now (this function's
        // contract), so the scope is alive, and the record of its task too, because the task is in
        // it.
        unsafe {
            // Release: pairs with the Acquire in `is_cancelled`.
            (*this).cancelled.store(true, Release);
            // After it: who finds the flag looks for the cancel scope.
            (*this).key.flags().fetch_or(TaskFlags::SCOPE_CANCELLED, AcqRel);
            match (*this).owner {
                Owner::Task { task, home } => DueRequest(Some((task, home))),
                Owner::Thread(thread) => {
                    (*thread).poke();
                    DueRequest(None)
                }
            }
        }
    }

    /// The worker that it was entered on, of a task's.
    pub(crate) fn worker(&self) -> Option<&'static Peer> {
        match self.owner {
            Owner::Task { home, .. } => Some(home),
            Owner::Thread(_) => None,
        }
    }
}

impl DueRequest {
    /// Makes the task's home look at it.
    pub(crate) fn send(self) {
        if let Some((task, home)) = self.0 {
            request_home(task, home);
        }
    }
}

/// What came of a cancel scope that was left: the result; or, as an error, that it was cancelled
/// itself. All other unwinding goes on: also that of a cancel scope around it, or of the whole
/// task, which counts more.
pub(crate) fn ended<R>(cancel_scope: &CancelScope, result: Result<R, Payload>) -> Result<R, Payload> {
    match result {
        Ok(value) => Ok(value),
        Err(mut payload) if super::is_cancellation(&payload) && cancel_scope.is_over() => {
            super::end_cancellation(&mut payload);
            // (Not out of a destructor that runs because of a panic: there the rest of the task is
            // spared.)
            if cancelled(cancel_scope.key).is_some_and(|extent| !extent.leaves_panic(std::thread::panicking())) {
                unwind::resume(payload);
            }
            Err(payload)
        }
        Err(payload) => unwind::resume(payload),
    }
}

// ----------------------------------------------------------------------------------------------------------
// unwinding

thread_local! {
    /// Unwindings because of cancellations on this thread. A guess, for fiber mode alone, where
    /// several stacks share the thread: code that has caught such an unwinding may keep its
    /// payload, forget it, or drop it on another thread.
    static HERE: Cell<u32> = const { Cell::new(0) };
}

/// Does this thread panic for another reason than a cancellation? For fiber mode.
pub(crate) fn panics_here() -> bool {
    std::thread::panicking() && HERE.try_with(Cell::get).unwrap_or(0) == 0
}

/// Asked by its task or thread, which alone changes that.
#[inline(always)]
fn has_entry(key: Key) -> bool {
    Shard::of(key).entry(key, |_| ()).is_some()
}

/// The calling task begins to unwind.
pub(super) fn begin_unwinding() -> Unwinding {
    static LAST: AtomicU64 = AtomicU64::new(0);
    // Relaxed: unique is all it has to be.
    let number = LAST.fetch_add(1, Relaxed);
    let key = Key::current();
    change(key, |entry| {
        entry.unwindings += 1;
        entry.live.push(number);
        key.flags().fetch_or(TaskFlags::UNWINDING, AcqRel);
    });
    // If the thread does not panic, those before are over, wherever their payloads are.
    let before = |here: &Cell<u32>| if std::thread::panicking() { here.get() } else { 0 };
    _ = HERE.try_with(|here| here.set(before(here) + 1));
    Unwinding { key, number }
}

/// From here on the calling task, or thread, is not cancelled by anything that was entered before:
/// it unwinds, or runs code that is not part of what may be cancelled.
#[inline(always)]
pub(super) fn keep_off(w: Option<&Worker>) -> Key {
    let key = Key::of_caller(w);
    match key.runner() {
        // (A plain store: two read-modify-writes of the flags take 10 ns.)
        Some(runner) if !key.unwinds() && !has_entry(key) => runner.keep_off(true),
        _ => keep_off_once_more(key),
    }
    key
}

#[cold]
#[inline(never)]
fn keep_off_once_more(key: Key) {
    change(key, |entry| {
        entry.unwindings += 1;
        key.flags().fetch_or(TaskFlags::UNWINDING, AcqRel);
    });
}

/// An unwinding has ended. (On another thread, or in another task, the payload was carried away:
/// then the task is spared until its end.)
pub(super) fn end_unwinding(unwinding: Unwinding) {
    let Unwinding { key, number } = unwinding;
    // (An entry is its task's: nobody else looks.)
    if key != Key::current() || !has_entry(key) {
        return;
    }
    let ended = change(key, |entry| {
        let index = entry.live.iter().rposition(|live| *live == number);
        if let Some(index) = index {
            entry.live.swap_remove(index);
            entry.end_one(key);
        }
        index.is_some()
    });
    if ended {
        _ = HERE.try_with(|here| here.set(here.get().saturating_sub(1)));
    }
}

/// The task at this address is kept off for good from now on, by its flag alone: what an earlier
/// task has left here is not its own.
pub(super) fn forget_earlier(key: Key) {
    if !key.unwinds() && has_entry(key) {
        // (Which forgets it.)
        change(key, |_| ());
    }
}

/// The contrary of [`keep_off`], by the same task or thread.
#[inline(always)]
pub(super) fn let_come(key: Key) {
    if has_entry(key) { end_one(key) } else { key.is_spared_no_more() }
}

#[cold]
#[inline(never)]
fn end_one(key: Key) {
    change(key, |entry| entry.end_one(key));
}

impl Entry {
    /// One less.
    fn end_one(&mut self, key: Key) {
        self.unwindings = self.unwindings.saturating_sub(1);
        if self.unwindings == 0 {
            key.is_spared_no_more();
        }
    }
}
