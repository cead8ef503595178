//! Groups: tasks that never run at the same time.
//!
//! ```text
//!  group.spawn ─> the pinned queue of its home, one worker ─> only that worker begins it
//!  waits       ─> woken to its home, like any closure      ─> only that worker goes on with it
//! ```
//! Who has the home's role runs one thing at a time, so the tasks of a group take turns, and change
//! only where one of them waits.
//!
//! **Why this is so in both modes.** Nobody takes a pinned task that has not begun: the queue is
//! looked at by its worker alone. In fiber mode a closure that has begun goes on on its worker
//! anyway. In threads mode others go on with the ready tasks of a worker that is stuck
//! ([`crate::sched::rescue::takeover`]), but not with a thread that is *held*, which each is as
//! long as a task of a group runs on it.
//!
//! **Invariant.** A [`Local`] is reachable only while a task of its group runs, from that task's
//! own stack: it is lent to the closure for any lifetime, and can go to no other thread. So the
//! flag of the `RefCell` and the state are touched by one thread at a time, and what one did is
//! seen by the next: it has the role from it, or is the same thread.
//!
//! **Rejected.** A lock that the tasks of a group hand on at each wait: each switch would have to
//! ask. A guard instead of a closure: it would be held over a wait without anybody noticing. To
//! adopt a group as a whole when its worker is stuck: one of its tasks *is* what the worker is
//! stuck in, most likely.

use super::builder::Builder;
use super::handle::JoinHandle;
use super::portable::Portable;
use crate::runtime::pools;
use crate::sched::pool::Handle;
use crate::sched::worker;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::Arc;

/// Tasks that never run at the same time, and a state that they share without locks.
///
/// The tasks of a group share one worker. They interleave only where one of them *waits* (for a
/// channel, a lock, a join, a time, or by [`yield_now`](crate::yield_now)): between two waits a
/// task has what the group shares for itself. That holds in both modes, and also when the worker is
/// stuck and others help it out. Different groups run at the same time: each new one goes to the
/// next worker of its pool.
///
/// The state is reached by [`Local::with`], which each task of the group is given. It may hold what
/// is not `Sync`, such as cells. What a task spawns by [`spawn`](crate::spawn) or
/// [`join`](crate::join) is not in the group, and [`blocking`](crate::blocking) and
/// [`compute`](crate::compute) are waits: others of the group run meanwhile.
///
/// Cloning copies a reference.
///
/// # Examples
/// ```
/// use myriad::task::Group;
/// use std::collections::HashMap;
///
/// let words = Group::new(HashMap::new());
/// let all: Vec<_> = ["a", "b", "a"].map(|word| {
///     words.spawn(move |group| {
///         myriad::yield_now();                         // others of the group run
///         group.with(|counts: &mut HashMap<_, u32>| *counts.entry(word).or_default() += 1);
///     })
/// }).into();
/// all.into_iter().for_each(|h| h.join().unwrap());
/// assert_eq!(words.spawn(|group| group.with(|counts| counts["a"])).join().unwrap(), 2);
/// ```
#[doc(alias = "actor")]
#[doc(alias = "strand")]
#[doc(alias = "serial")]
pub struct Group<S = ()> {
    shared: Arc<GroupShared<S>>,
}

struct GroupShared<S> {
    pool: Handle,
    /// The number of its worker.
    home: usize,
    state: RefCell<S>,
}

// SAFETY: the state is touched by the tasks of the group alone, which never run at the same time
// (see the header), and is dropped by whoever has the last reference: so it must be `Send`, and
// need not be `Sync`.
unsafe impl<S: Send> Sync for GroupShared<S> {}
// SAFETY: the last one drops the state, on whatever thread, which `S: Send` allows.
unsafe impl<S: Send> Send for GroupShared<S> {}

impl<S> Clone for Group<S> {
    fn clone(&self) -> Self {
        Group { shared: self.shared.clone() }
    }
}

impl<S> fmt::Debug for Group<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("worker", &self.shared.home).finish_non_exhaustive()
    }
}

impl<S: Send + 'static> Group<S> {
    /// A group with this state (`()` for none) in the pool that the caller belongs to.
    ///
    /// # Panics
    /// Where the global runtime is needed and cannot be started.
    pub fn new(state: S) -> Group<S> {
        Group::of(pools::here(), state)
    }

    /// As [`new`](Self::new), in the pool that this handle spawns into.
    pub fn on(handle: Handle, state: S) -> Group<S> {
        Group::of(handle, state)
    }

    fn of(pool: Handle, state: S) -> Group<S> {
        Group { shared: Arc::new(GroupShared { pool, home: pool.inner().next_home(), state: RefCell::new(state) }) }
    }

    /// Starts a task in the group; as [`spawn`](crate::spawn) otherwise. `f` is lent the group,
    /// with its state.
    ///
    /// It begins when its turn comes on the group's worker: groups and other work take turns there.
    /// It never runs on top of a task that joins it.
    ///
    /// # Blocking
    /// Never blocks. While a task of the group computes, or waits in something that is not of this
    /// library, all others of the group wait; if that waits for one of them, the group hangs, as a
    /// thread does that waits for itself.
    ///
    /// # Panics
    /// As [`spawn`](crate::spawn).
    ///
    /// # Errors
    /// After a shutdown the task is dropped, and its handle says so.
    #[track_caller]
    pub fn spawn<F, T>(&self, f: F) -> JoinHandle<T>
    where
        F: FnOnce(&Local<S>) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.spawn_with(Builder::new(), f)
    }

    /// The same with a name, a seed, or a token. Pool and priority are the group's.
    ///
    /// # Examples
    /// ```
    /// use myriad::task::{Builder, Group};
    /// let h = Group::new(5).spawn_with(Builder::new().name("reader"), |group| group.with(|n| *n));
    /// assert_eq!(h.name().as_deref(), Some("reader"));
    /// assert_eq!(h.join().unwrap(), 5);
    /// ```
    #[track_caller]
    pub fn spawn_with<F, T>(&self, mut builder: Builder, f: F) -> JoinHandle<T>
    where
        F: FnOnce(&Local<S>) -> T + Send + 'static,
        T: Send + 'static,
    {
        let (group, token) = (self.clone(), builder.take_token());
        let task = move || {
            let _held = ThreadHold::new(&group.shared);
            let local = Local { group, _not_sync: PhantomData };
            match token {
                Some(token) => token.run_task(|| f(&local)),
                None => f(&local),
            }
        };
        let GroupShared { pool, home, .. } = *self.shared;
        super::spawn::spawn_pinned(pool, home, Portable::closure(task), Location::caller(), builder)
    }
}

/// A group as its running tasks see it: the way to its state.
///
/// It belongs to the running task, so it cannot go elsewhere; the compiler sees to that.
///
/// # Examples
/// ```
/// let group = myriad::task::Group::new(1);
/// group.spawn(|local| local.with(|n| *n += 1)).join().unwrap();
/// assert_eq!(group.spawn(|local| local.with(|n| *n)).join().unwrap(), 2);
/// ```
pub struct Local<S = ()> {
    group: Group<S>,
    _not_sync: PhantomData<*const ()>,
}

impl<S> fmt::Debug for Local<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("group", &self.group).finish()
    }
}

impl<S> Local<S> {
    /// Calls `f` with the state.
    ///
    /// Do not wait inside: others of the group would find the state in use. (What a panic in `f`
    /// leaves half done, others see.)
    ///
    /// # Panics
    /// If the state is in use: by a task of the group that waits inside of its `with`, or by the
    /// caller itself.
    #[track_caller]
    pub fn with<R>(&self, f: impl FnOnce(&mut S) -> R) -> R {
        match self.group.shared.state.try_borrow_mut() {
            Ok(mut state) => f(&mut state),
            Err(_) => panic!(
                "the state of this group is in use: `with` was called inside of `with`, or another task of the group waits inside \
                 of its own; take what is needed out of the state, and wait outside"
            ),
        }
    }

    /// The group, to spawn into it.
    pub fn group(&self) -> &Group<S> {
        &self.group
    }
}

/// In threads mode: the calling thread runs a task of a group, so nobody but its worker goes on
/// with it. It says whether the thread did so before: a task on top of another one
/// ([`WorkerRef::run_one`](crate::api::guest::WorkerRef::run_one)) leaves the lower one held.
struct ThreadHold(bool);

impl ThreadHold {
    fn new<S>(shared: &GroupShared<S>) -> ThreadHold {
        let w = worker::current().expect("a task of a group runs on a worker");
        assert!(
            shared.pool.has(&w) && w.shared.index == shared.home,
            "a task of a group runs on another worker than the group's (a bug in Myriad)"
        );
        ThreadHold(w.stacks.set_pinned(true))
    }
}

impl Drop for ThreadHold {
    fn drop(&mut self) {
        worker::current().expect("a task of a group runs on a worker").stacks.set_pinned(self.0);
    }
}
