//! What hostile code does, and the things that do it: values, wakers, closures.
//!
//! One [`Foe`] stands behind each cell. A place hands its [`Value`]s and wakers to the engine, or
//! calls [`Foe::act`] in a closure. At its moment (a drop, a wake, a clone, a comparison, a call)
//! such a thing does what the behaviour says. The foe counts what was made and dropped, and how
//! often it has acted.

use crate::common::{PLANNED, plan};
use myriad::cancel::Token;
use std::cell::Cell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};
use std::sync::{Arc, Mutex};
use std::task::{RawWaker, RawWakerVTable, Waker};
use std::time::Duration;

/// What hostile code does when it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// Sets itself aside for a moment.
    Waits,
    /// Uses up its budget of operations on a free lock, so that one of them yields.
    Budget,
    Panics,
    /// Cancels the region that the cell's caller is in, and what the place names besides
    /// ([`Foe::on_cancel`]).
    Cancels,
    /// Spawns and joins, in all forms.
    Spawns,
    /// Uses the object again that it is called by ([`Foe::on_again`]).
    Again,
    /// Drops the last handle of the object, or of what the place waits for ([`Foe::on_last`]).
    Last,
    /// Holds its thread for 50 ms.
    Slow,
    /// Waits while its worker is held by another task, so that in threads mode it goes on with
    /// another worker's role. What is expected is the same as for `Waits`.
    Moves,
}

use Behaviour::*;

/// In the order of the columns of the table.
pub(crate) const BEHAVIOURS: [Behaviour; 8] = [Waits, Budget, Panics, Cancels, Spawns, Again, Last, Slow];

impl Behaviour {
    pub(crate) fn name(self) -> &'static str {
        ["waits", "budget", "panics", "cancels", "spawns", "again", "last", "slow", "moves"][self as usize]
    }

    /// May it set its task aside? (A task that uses up its budget while a panic unwinds does not
    /// yield, and `Last` drops.)
    fn may_wait(self) -> bool {
        matches!(self, Waits | Spawns | Again | Moves)
    }
}

/// The moment at which a value or a waker acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Drop,
    Clone,
    /// Of a value: a comparison of any kind.
    Compare,
    /// Of a value.
    Hash,
    /// Of a waker.
    Wake,
}

type Call = Arc<dyn Fn() + Send + Sync>;
type CallOnce = Box<dyn FnOnce() + Send>;

pub(crate) struct Foe {
    pub(crate) behaviour: Behaviour,
    pub(crate) fibers: bool,
    /// Around the whole cell.
    pub(crate) token: Token,
    /// How often it may still act: a value's destructor that spawns another value would never end
    /// else.
    left: AtomicUsize,
    acted: AtomicUsize,
    /// Acts that are over, also by a panic.
    over: AtomicUsize,
    /// It did not act, for it would have left the contract of fiber mode: see [`Foe::is_outside`].
    outside: AtomicBool,
    strict: AtomicBool,
    /// Its place has ended.
    released: AtomicBool,
    faults: Mutex<Vec<String>>,
    cancel: Mutex<Vec<Call>>,
    again: Mutex<Option<Call>>,
    wait: Mutex<Option<Call>>,
    last: Mutex<Vec<CallOnce>>,
    made: AtomicUsize,
    dropped: AtomicUsize,
    /// Wakers whose drop was to be hostile, and that were woken instead.
    woken: AtomicUsize,
}

thread_local! {
    /// The place, or the harness, drops a thing of its own: nothing acts.
    static MUTED: Cell<bool> = const { Cell::new(false) };
}

/// Calls `f`, in which nothing acts. It must not wait.
pub(crate) fn muted<R>(f: impl FnOnce() -> R) -> R {
    let before = MUTED.replace(true);
    let result = f();
    MUTED.set(before);
    result
}

impl Foe {
    pub(crate) fn new(behaviour: Behaviour, fibers: bool) -> Foe {
        let left = match behaviour {
            Slow => 1,
            Moves => 3,
            _ => 12,
        };
        Foe {
            behaviour,
            fibers,
            token: Token::new(),
            left: left.into(),
            acted: 0.into(),
            over: 0.into(),
            outside: false.into(),
            strict: false.into(),
            released: false.into(),
            faults: Mutex::default(),
            cancel: Mutex::default(),
            again: Mutex::default(),
            wait: Mutex::default(),
            last: Mutex::default(),
            made: 0.into(),
            dropped: 0.into(),
            woken: 0.into(),
        }
    }

    /// From here on a destructor panics also while the engine lets another panic go on: nothing
    /// that Rust itself drops in an unwinding is hostile here, so the engine has to keep the two
    /// apart.
    pub(crate) fn strict(&self) {
        self.strict.store(true, Release);
    }

    /// A destructor of a value runs. Where that is because of a panic a second one would end the
    /// process, by Rust's own rules.
    fn act_in_drop(&self) {
        let ends_the_process = self.behaviour == Panics && std::thread::panicking() && !self.strict.load(Acquire);
        match ends_the_process {
            true => _ = self.acted.fetch_add(1, AcqRel),
            false => self.act(),
        }
    }

    /// The foreign code runs: it does its worst.
    pub(crate) fn act(&self) {
        if MUTED.get() || self.left.fetch_update(AcqRel, Acquire, |left| left.checked_sub(1)).is_err() {
            return;
        }
        if self.fibers && self.behaviour.may_wait() && std::thread::panicking() {
            // The third rule of fiber mode's contract: no waits in a destructor that runs because
            // of a panic.
            self.outside.store(true, Release);
            return;
        }
        self.acted.fetch_add(1, AcqRel);
        let _over = Over(&self.over);
        // Who runs this is asked, so that whoever answers must know.
        let who = myriad::task::current().map(|task| task.id());
        match self.behaviour {
            Waits => {
                let wait = self.wait.lock().unwrap().clone();
                wait.into_iter().for_each(|wait| wait());
                myriad::time::sleep(Duration::from_micros(200));
            }
            Budget => {
                let lock = myriad::sync::Mutex::new(0);
                (0..600).for_each(|_| *lock.lock().unwrap() += 1);
            }
            Panics => plan("hostile"),
            Cancels => {
                self.token.cancel();
                let calls = self.cancel.lock().unwrap().clone();
                calls.iter().for_each(|call| call());
            }
            Spawns => self.spawn_and_join(),
            Again => {
                let again = self.again.lock().unwrap().clone();
                // After its place has ended there is nothing to use again.
                let released = self.released.load(Acquire);
                assert!(again.is_some() || released, "a place without `on_again` has a dash in its row");
                again.into_iter().for_each(|again| again());
            }
            Last => {
                let last = std::mem::take(&mut *self.last.lock().unwrap());
                last.into_iter().for_each(|drop_it| drop_it());
            }
            Slow => std::thread::sleep(Duration::from_millis(50)),
            Moves => {
                // As many as may be needed for each worker to be held when this one is ready again.
                for _ in 0..3 {
                    drop(myriad::spawn(|| std::thread::sleep(Duration::from_millis(15))));
                }
                myriad::time::sleep(Duration::from_micros(500));
            }
        }
        if who != myriad::task::current().map(|task| task.id()) {
            self.fault("foreign code has become another task's in the middle".into());
        }
    }

    fn spawn_and_join(&self) {
        match myriad::spawn(|| 21).join() {
            Ok(21) => {}
            // Its runtime ends.
            Err(error) if error.is_shutdown() || error.is_cancelled() => {}
            other => self.fault(format!("a task that was spawned and joined brought {other:?}")),
        }
        if myriad::join(|| 1, || 2) != (1, 2) {
            self.fault("`join` has mixed up its sides".into());
        }
        let count = AtomicUsize::new(0);
        myriad::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| _ = count.fetch_add(1, AcqRel));
            }
        });
        // Fewer where the runtime is at its end.
        if count.into_inner() > 3 {
            self.fault("a scope's task has run twice".into());
        }
    }

    /// What `Again` does here.
    pub(crate) fn on_again(&self, f: impl Fn() + Send + Sync + 'static) {
        *self.again.lock().unwrap() = Some(Arc::new(f));
    }

    /// What `Waits` waits for here, besides.
    pub(crate) fn on_wait(&self, f: impl Fn() + Send + Sync + 'static) {
        *self.wait.lock().unwrap() = Some(Arc::new(f));
    }

    /// What `Last` does here, once.
    pub(crate) fn on_last(&self, f: impl FnOnce() + Send + 'static) {
        self.last.lock().unwrap().push(Box::new(f));
    }

    /// What `Cancels` cancels besides the caller's region.
    pub(crate) fn on_cancel(&self, f: impl Fn() + Send + Sync + 'static) {
        self.cancel.lock().unwrap().push(Arc::new(f));
    }

    /// Something went wrong where nobody can be told.
    pub(crate) fn fault(&self, what: String) {
        self.faults.lock().unwrap().push(what);
    }

    /// Lets go of what the place has left here; it may own values.
    pub(crate) fn release(&self) {
        self.released.store(true, Release);
        let again = (self.again.lock().unwrap().take(), self.wait.lock().unwrap().take());
        let last = std::mem::take(&mut *self.last.lock().unwrap());
        let cancel = std::mem::take(&mut *self.cancel.lock().unwrap());
        muted(|| drop((again, last, cancel)));
    }

    pub(crate) fn acted(&self) -> usize {
        self.acted.load(Acquire)
    }

    /// How many acts are over.
    pub(crate) fn over(&self) -> usize {
        self.over.load(Acquire)
    }

    /// The machine was too slow for what was to be shown: nothing was done.
    pub(crate) fn too_late(&self) {
        self.outside.store(true, Release);
    }

    /// Was each waker that is gone woken, and none dropped? A timer may be faster than a slow
    /// thread, and who waits may be woken in vain. Then there was no drop to be hostile.
    pub(crate) fn woken_instead(&self) -> bool {
        let woken = self.woken.load(Acquire);
        self.acted() == 0 && woken > 0
    }

    /// Has it met a moment that is outside of fiber mode's contract, and nothing else?
    pub(crate) fn is_outside(&self) -> bool {
        self.outside.load(Acquire) && self.acted() == 0
    }

    /// How many values and wakers were made, and how many dropped.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.made.load(Acquire), self.dropped.load(Acquire))
    }

    pub(crate) fn faults(&self) -> Vec<String> {
        self.faults.lock().unwrap().clone()
    }

    fn made(&self) {
        self.made.fetch_add(1, AcqRel);
    }

    fn dropped(&self) {
        self.dropped.fetch_add(1, AcqRel);
    }
}

struct Over<'a>(&'a AtomicUsize);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, AcqRel);
    }
}

/// Is this the panic of a foe?
pub(crate) fn is_hostile(text: &str) -> bool {
    text.strip_prefix(PLANNED) == Some("hostile")
}

/// As [`crate::common::quiet`]; and panics that carry a value are on purpose too.
pub(crate) fn quiet() {
    crate::common::quiet();
    let loud = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.payload().is::<Value>() {
            loud(info);
        }
    }));
}

// -------------------------------------------------------------------------------------------------------
// values

/// A value that acts at its moment. Its drops are counted.
pub(crate) struct Value {
    foe: Arc<Foe>,
    when: When,
    /// What it is compared by.
    pub(crate) key: u64,
    /// Dropped once: a second drop would find it set.
    gone: Cell<bool>,
}

// Only `drop` writes `gone`.
// SAFETY: `gone` is touched in `drop` alone, which has the value for itself.
unsafe impl Sync for Value {}

impl Value {
    pub(crate) fn new(foe: &Arc<Foe>, when: When, key: u64) -> Value {
        foe.made();
        Value { foe: foe.clone(), when, key, gone: Cell::new(false) }
    }

    fn at(&self, when: When) {
        if self.when == when {
            self.foe.act();
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        if self.gone.replace(true) {
            self.foe.fault("a value was dropped twice".into());
        }
        self.foe.dropped();
        if self.when == When::Drop && !MUTED.get() {
            self.foe.act_in_drop();
        }
    }
}

impl Clone for Value {
    fn clone(&self) -> Value {
        self.at(When::Clone);
        Value::new(&self.foe, self.when, self.key)
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Value) -> bool {
        self.at(When::Compare);
        self.key == other.key
    }
}

impl Eq for Value {}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Value) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Value) -> std::cmp::Ordering {
        self.at(When::Compare);
        self.key.cmp(&other.key)
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.at(When::Hash);
        self.key.hash(state);
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Value({})", self.key)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "value {}", self.key)
    }
}

impl std::error::Error for Value {}

// -------------------------------------------------------------------------------------------------------
// wakers

/// A waker that acts when it is woken, cloned, or dropped. Each clone counts as a value.
pub(crate) fn waker(foe: &Arc<Foe>, when: When) -> Waker {
    let bell = Arc::new(Bell { foe: foe.clone(), when });
    foe.made();
    // SAFETY: `TABLE` works on addresses of `Arc<Bell>::into_raw`, and keeps count; `Bell` is
    // `Send` and `Sync`.
    unsafe { Waker::from_raw(RawWaker::new(Arc::into_raw(bell).cast(), &TABLE)) }
}

struct Bell {
    foe: Arc<Foe>,
    when: When,
}

static TABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

unsafe fn clone(bell: *const ()) -> RawWaker {
    // SAFETY: the waker that is cloned has a count.
    let bell = ManuallyDrop::new(unsafe { Arc::from_raw(bell.cast::<Bell>()) });
    if bell.when == When::Clone {
        bell.foe.act();
    }
    bell.foe.made();
    RawWaker::new(Arc::into_raw(Arc::clone(&bell)).cast(), &TABLE)
}

unsafe fn wake(bell: *const ()) {
    // SAFETY: the waker gives up its count.
    let bell = unsafe { Arc::from_raw(bell.cast::<Bell>()) };
    bell.foe.dropped();
    match bell.when {
        When::Wake => bell.foe.act(),
        When::Drop => _ = bell.foe.woken.fetch_add(1, AcqRel),
        _ => {}
    }
}

unsafe fn wake_by_ref(bell: *const ()) {
    // SAFETY: the waker has a count, and keeps it.
    let bell = ManuallyDrop::new(unsafe { Arc::from_raw(bell.cast::<Bell>()) });
    if bell.when == When::Wake {
        bell.foe.act();
    }
}

unsafe fn drop_waker(bell: *const ()) {
    // SAFETY: the waker gives up its count.
    let bell = unsafe { Arc::from_raw(bell.cast::<Bell>()) };
    bell.foe.dropped();
    if bell.when == When::Drop {
        bell.foe.act();
    }
}
