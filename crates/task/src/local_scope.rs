//! Tasks for what is not `Send`: futures and closures that stay on the stack of the one who spawns
//! them.
//!
//! ```text
//!  owner's stack:  local_scope ─> wait(future) ─> poll the future, poll local tasks that are ready, block until a wake
//!  any thread:     a task's waker ─> number into `ready` ─> wakes the owner
//! ```
//! Nothing leaves the owner's stack, and so nothing leaves its OS thread, whatever the mode. This
//! is ordinary safe code, and no part of the scheduler: a small executor upon [`block_on`].
//!
//! **Rejected.** *Stacks of their own on the owner's worker.* In fiber mode these would be on the
//! same OS thread; in threads mode each blocked closure is another OS thread, and a value that is
//! not `Send` (a guard of a mutex, an `Rc` that a thread-local shares) must not be touched there,
//! also when all take turns. An operation that means one thing in one mode and is missing in the
//! other would break the promise that the modes differ in cost only. *A free `spawn_local`*, which
//! finds its set by a thread-local: that is a thread-local scope, which in fiber mode another task
//! on the thread would see.

mod handle;
mod signals;

pub use handle::LocalJoinHandle;

use handle::{AtEnd, Outcome, State};
use myriad_core::block_on;
use myriad_core::engine::unwind::{self, Payload, end_cancellation, is_cancellation};
use myriad_core::engine::user_code::{self, StoredWaker, UserValue};
use myriad_core::engine::wait::Caller;
use signals::{Signal, Signals};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::{Future, poll_fn};
use std::mem::needs_drop;
use std::panic::Location;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Calls `f` with a scope for local tasks, and returns when `f` and all of these have ended.
///
/// A *local task* is a future or a closure that need not be `Send`, and may borrow what outlives
/// the scope. It runs on this very stack, in the calling task or thread, and never anywhere else:
/// while that waits by [`LocalScope::wait`], by [`LocalJoinHandle::join`], or at the scope's end,
/// and not before. So local tasks interleave at their awaits, and share what they like (`Rc`,
/// `Cell`, thread-locals, guards) without locks. It is the same in both modes.
///
/// To run tasks that may wait *on stacks of their own* and share without locks, use a
/// [`Group`](myriad_core::task::Group).
///
/// # Blocking
/// At its end, until all local tasks have ended: the caller is set aside, or a foreign thread
/// sleeps, while none of them is ready. What blocks in a local task, instead of awaiting, blocks
/// the caller with all local tasks.
///
/// # Panics
/// If `f` panics, that goes on after all local tasks have ended; else the first panic of a local
/// task whose handle was dropped.
///
/// # Cancellation
/// If the caller is cancelled, in `f` or at the scope's end, the local tasks are dropped where they
/// wait. Then the caller unwinds.
///
/// # Examples
/// ```
/// use std::{cell::Cell, rc::Rc};
///
/// let seen = Rc::new(Cell::new(0));                          // not `Send`
/// let sum = myriad::task::local_scope(|s| {
///     let ping = s.spawn_async({
///         let seen = seen.clone();
///         async move {
///             let n = myriad::spawn_async(async { 40 }).await.unwrap();  // tasks elsewhere, as always
///             seen.set(n);
///             n
///         }
///     });
///     let pong = s.spawn(|| 2);
///     ping.join().unwrap() + pong.join().unwrap()
/// });
/// assert_eq!((sum, seen.get()), (42, 40));
/// ```
#[doc(alias = "spawn_local")]
#[doc(alias = "LocalExecutor")]
#[doc(alias = "LocalSet")]
pub fn local_scope<'env, T>(f: impl FnOnce(&LocalScope<'env>) -> T) -> T {
    let scope = LocalScope(Rc::new(Inner {
        tasks: RefCell::default(),
        live: Cell::new(0),
        ended: Cell::new(false),
        panic: RefCell::default(),
        signals: Arc::default(),
    }));
    let result = user_code::body(|| f(&scope));
    let inner = &scope.0;
    if result.as_ref().is_err_and(is_cancellation) {
        scope.cancel_all();
    }
    let result = match (result, scope.wait_for_end()) {
        (Ok(value), Err(payload)) => {
            unwind::drop_quietly(value);
            Err(payload)
        }
        (result, waited) => {
            _ = waited.map_err(unwind::discard);
            result
        }
    };
    inner.ended.set(true);
    let unjoined = inner.panic.take().map(UserValue::give);
    match (result, unjoined) {
        (Err(payload), second) => {
            // Before the first goes on: a destructor that panics while it does would end the
            // process.
            second.into_iter().for_each(unwind::discard);
            unwind::resume(payload)
        }
        (Ok(value), Some(payload)) => {
            unwind::drop_quietly(value);
            unwind::resume(payload)
        }
        (Ok(value), None) => value,
    }
}

/// Spawns local tasks: see [`local_scope`]. Cloning copies a reference, for tasks that spawn
/// further ones.
///
/// It stays on its thread: it is neither `Send` nor `Sync`.
///
/// # Examples
/// ```
/// use std::rc::Rc;
/// let count = Rc::new(std::cell::Cell::new(0));
/// myriad::task::local_scope(|s| {
///     for _ in 0..3 {
///         let count = count.clone();
///         s.spawn_async(async move { count.set(count.get() + 1) });
///     }
/// });
/// assert_eq!(count.get(), 3);
/// ```
#[derive(Clone)]
pub struct LocalScope<'env>(Rc<Inner<'env>>);

struct Inner<'env> {
    /// By number.
    tasks: RefCell<Tasks<'env>>,
    /// Tasks that have not ended.
    live: Cell<usize>,
    /// The scope is over.
    ended: Cell<bool>,
    /// The first panic that nobody joins.
    panic: RefCell<KeptPanic>,
    signals: Arc<Signals>,
}

type KeptPanic = Option<UserValue<Payload>>;

/// These stand in cells that are borrowed, and are replaced there: that runs no user code.
const _: () = assert!(!needs_drop::<(KeptPanic, Outcome<String>)>());

#[derive(Default)]
struct Tasks<'env> {
    slots: Vec<Slot<'env>>,
    free: Vec<usize>,
}

enum Slot<'env> {
    /// Never used, or its task has ended.
    Free,
    /// Between two polls.
    Waits(Task<'env>),
    /// Being polled, below on this stack; `again`: and woken since, which a `wait` on top of it has
    /// found.
    Polled { again: bool },
}

struct Task<'env> {
    /// It leaves its result in its handle's state, and catches its panics.
    future: Pin<Box<dyn Future<Output = ()> + 'env>>,
    waker: Waker,
}

impl fmt::Debug for LocalScope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalScope").field("tasks", &self.0.live.get()).finish()
    }
}

impl<'env> LocalScope<'env> {
    /// Starts a local task from a future.
    ///
    /// # Blocking
    /// Never blocks: it begins when the scope's owner waits.
    ///
    /// # Panics
    /// If the scope is over (by a clone that was kept).
    #[track_caller]
    pub fn spawn_async<F: Future + 'env>(&self, future: F) -> LocalJoinHandle<'env, F::Output> {
        assert!(!self.0.ended.get(), "this `local_scope` is over: nobody would run the task; spawn while it lasts");
        let state = Rc::new(State {
            outcome: RefCell::new(Outcome::Running(None)),
            polled: Cell::new(false),
            location: Location::caller(),
        });
        let mut at_end = AtEnd { inner: Some(self.0.clone()), state: state.clone() };
        let task = async move {
            let ends = at_end.state.clone();
            let mut future = Some(Box::pin(future));
            let result = poll_fn(|cx| {
                let running = future.as_mut().expect("polled until it ends").as_mut();
                ends.polled.set(true);
                let polled = user_code::body(|| running.poll(cx));
                ends.polled.set(false);
                match polled {
                    Ok(Poll::Pending) => Poll::Pending,
                    Ok(Poll::Ready(value)) => Poll::Ready(Ok(value)),
                    Err(payload) => Poll::Ready(Err(payload)),
                }
            })
            .await;
            // Before the end can be seen. A panic of its destructor counts if there is no other.
            let dropped = UserValue::new(future.take()).drop_value();
            let result = match (result, dropped) {
                (Ok(value), Err(payload)) => {
                    unwind::drop_quietly(value);
                    Err(payload)
                }
                (result, dropped) => {
                    _ = dropped.map_err(unwind::discard);
                    result
                }
            };
            at_end.end(result);
        };
        let number = {
            let mut tasks = self.0.tasks.borrow_mut();
            let number = tasks.free.pop().unwrap_or(tasks.slots.len());
            if number == tasks.slots.len() {
                tasks.slots.push(Slot::Free);
            }
            let waker = Arc::new(Signal { number, signals: self.0.signals.clone() }).into();
            tasks.slots[number] = Slot::Waits(Task { future: Box::pin(task), waker });
            number
        };
        self.0.live.set(self.0.live.get() + 1);
        self.0.signals.add(number);
        LocalJoinHandle { state, scope: self.clone() }
    }

    /// Starts a local task from a closure: it runs to its end when its turn comes.
    ///
    /// Where it has to wait for another local task, it does so by [`wait`](Self::wait) or
    /// [`LocalJoinHandle::join`], so that this one runs meanwhile, on top of it. What waits below
    /// on the stack goes on when that is over: so a closure must not wait for what only the scope's
    /// owner does after its own wait. (Futures that `await` have no such limits.)
    ///
    /// # Panics
    /// As [`spawn_async`](Self::spawn_async).
    #[track_caller]
    pub fn spawn<T: 'env>(&self, f: impl FnOnce() -> T + 'env) -> LocalJoinHandle<'env, T> {
        self.spawn_async(async { f() })
    }

    /// Waits for a future, which need not be `Send`, and runs local tasks meanwhile.
    ///
    /// # Blocking
    /// Until the future is ready. The calling task is set aside while neither it nor a local task
    /// is.
    ///
    /// # Panics
    /// If the future panics; if there is no memory for a stack.
    ///
    /// # Examples
    /// ```
    /// let sum = myriad::task::local_scope(|s| {
    ///     let two = s.spawn_async(async { 2 });
    ///     s.wait(async { two.await.unwrap() + 40 })
    /// });
    /// assert_eq!(sum, 42);
    /// ```
    pub fn wait<F: Future>(&self, future: F) -> F::Output {
        let mut future = pin!(future);
        block_on(poll_fn(|cx| self.poll_all(future.as_mut(), cx)))
    }

    /// The scope's end: waits until all local tasks have ended. Who is cancelled meanwhile cancels
    /// them, and they are dropped.
    ///
    /// # Errors
    /// What unwound out of the wait: the owner's cancellation, or that there is no memory for a
    /// stack.
    fn wait_for_end(&self) -> Result<(), Payload> {
        let inner = &self.0;
        let mut first = Ok(());
        while inner.live.get() > 0 {
            let waited = user_code::body(|| {
                self.wait(poll_fn(|cx| {
                    let waker = StoredWaker::clone_of(cx.waker());
                    let over = inner.live.get() == 0;
                    // Whoever ends last wakes it.
                    let unused = if over { Some(waker) } else { inner.signals.0.lock().at_end.replace(waker) };
                    unused.into_iter().for_each(StoredWaker::discard);
                    if over { Poll::Ready(()) } else { Poll::Pending }
                }));
            });
            if let Err(mut payload) = waited {
                end_cancellation(&mut payload);
                self.cancel_all();
                match first {
                    Ok(()) => first = Err(payload),
                    Err(_) => unwind::discard(payload),
                }
            }
        }
        first
    }

    /// Drops all local tasks that have not ended: that is how a future is cancelled. None of them
    /// is being polled.
    fn cancel_all(&self) {
        loop {
            let task = self.0.tasks.borrow_mut().slots.iter_mut().find_map(|slot| match slot {
                Slot::Waits(_) => Some(std::mem::replace(slot, Slot::Free)),
                _ => None,
            });
            // Without the borrow: user code, which may spawn further ones.
            let Some(task) = task else { return };
            UserValue::new(task).discard("a local task that was cancelled");
        }
    }

    /// Polls a future, and the local tasks that are ready, by turns.
    fn poll_all<F: Future>(&self, mut future: Pin<&mut F>, cx: &mut Context<'_>) -> Poll<F::Output> {
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                // Others may wait for the local tasks: a `wait` below on this stack looks for
                // itself. Nobody wakes this one any more.
                let driver = self.0.signals.0.lock().driver.take();
                driver.into_iter().for_each(StoredWaker::discard);
                return Poll::Ready(value);
            }
            let ready = {
                // (Cloned and dropped without the lock: wakers are user code.)
                let waker = StoredWaker::clone_of(cx.waker());
                let mut signalled = self.0.signals.0.lock();
                let ready = signalled.ready.len();
                let unused = if ready == 0 { signalled.driver.replace(waker) } else { Some(waker) };
                drop(signalled);
                unused.into_iter().for_each(StoredWaker::discard);
                if ready == 0 {
                    return Poll::Pending;
                }
                ready
            };
            // Those that are woken meanwhile come after the next look at the future.
            for _ in 0..ready {
                let number = self.0.signals.0.lock().ready.pop_front();
                match number {
                    Some(number) => self.poll_one(number),
                    // A `wait` on top of a task has run them.
                    None => break,
                }
            }
        }
    }

    /// One poll of a local task, if it is still there.
    fn poll_one(&self, number: usize) {
        let mut task = {
            let slot = &mut self.0.tasks.borrow_mut().slots[number];
            match std::mem::replace(slot, Slot::Polled { again: false }) {
                Slot::Waits(task) => task,
                Slot::Free => return *slot = Slot::Free,
                Slot::Polled { .. } => return *slot = Slot::Polled { again: true },
            }
        };
        // Other tasks of this worker have their turns too.
        Caller::get().spend();
        let pending = task.future.as_mut().poll(&mut Context::from_waker(&task.waker)).is_pending();
        let mut tasks = self.0.tasks.borrow_mut();
        if pending {
            if let Slot::Polled { again: true } = std::mem::replace(&mut tasks.slots[number], Slot::Waits(task)) {
                self.0.signals.add(number);
            }
        } else {
            tasks.slots[number] = Slot::Free;
            tasks.free.push(number);
            // It is empty, but holds a reference to the scope, whose drop would borrow.
            drop(tasks);
            drop(task);
        }
    }
}
