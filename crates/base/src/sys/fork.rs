//! `fork`: the child has its parent's memory, and of its threads only the one that has forked.
//!
//! Each process has an *era*, a number that grows with each fork. Whatever has threads says of
//! which era they are.
//!
//! **Locks.** What all users of a module share is held by nobody else while the process is copied:
//! the forking thread takes these locks before, and gives them back after, in the parent and in the
//! child. A module asks for that by [`hold`], before it uses such a lock. Elsewhere two of these
//! locks are taken in the order of [`Rank`], or not at all.
//!
//! **No `Once`, no `OnceLock`** in what all share: where a thread is in the middle of such a thing
//! at the fork, the child waits for ever. What is found out once is found out by each who asks
//! ([`Fact`](super::fact::Fact)), or made under one of these locks.

use super::hooks::Hooks;
use std::cell::RefCell;
// Not through the door: nothing here is in a model.
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};

/// What is of era 0 has not begun. Relaxed, always: written in a child that has one thread.
static ERA: AtomicU32 = AtomicU32::new(1);

/// The era of this process.
#[inline]
pub fn era() -> u32 {
    ERA.load(Relaxed)
}

/// Gives locks back; is told whether that is in the child.
pub type GiveBack = Box<dyn FnOnce(bool)>;

/// Whose locks: in the order in which they are taken. (Here, because it is one order for all
/// crates.)
#[derive(Debug, Clone, Copy)]
pub enum Rank {
    /// Whoever looks at all tasks.
    Looks,
    /// What is done at a deadlock.
    Deadlocks,
    /// The stand-in for rayon.
    Rayon,
    /// The library for C.
    C,
    /// Gangs.
    Gangs,
    /// Pools.
    Pools,
    /// The monitor of stuck workers.
    Monitor,
    /// Records, cancel scopes.
    Engine,
    /// Threads for calls.
    Calls,
    // Leaves: a thread that has one of these takes none of the others.
    /// The start of the global runtime.
    Starting,
    /// Sets of tasks.
    Sets,
    /// What reactors know of sockets.
    Sockets,
    /// Where channels were made.
    Made,
    /// Foreign threads that sleep.
    Sleepers,
    /// This crate's own.
    Base,
    /// Threads that begin or end: last, for they take none of the locks above.
    Threads,
}

const RANKS: usize = Rank::Threads as usize + 1;

/// What was asked for, by rank.
static TAKE: Hooks<fn() -> GiveBack, RANKS> = Hooks::new();

/// From now on the thread that forks takes these locks too: `take` does it.
///
/// `take` does not panic, and neither does what it returns.
#[inline]
pub fn hold(rank: Rank, take: fn() -> GiveBack) {
    TAKE.set(rank as usize, take);
    watch();
}

thread_local! {
    static HELD: RefCell<Option<[Option<GiveBack>; RANKS]>> = const { RefCell::new(None) };
}

/// From now on forks are seen.
///
/// Two who call it at the same time both register, and so does a child that was forked in between:
/// each takes the locks once.
#[inline]
pub fn watch() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    // Acquire: pairs with the Release below.
    if !WATCHED.load(Acquire) {
        register();
        WATCHED.store(true, Release);
    }
}

#[cold]
fn register() {
    TAKE.set(Rank::Base as usize, take_own);
    // SAFETY: functions that stay, and do not unwind: they lock and unlock.
    #[cfg(all(unix, not(miri)))]
    unsafe {
        libc::pthread_atfork(Some(before), Some(after), Some(after_in_child));
    }
    #[cfg(not(all(unix, not(miri))))]
    let _ = [before as extern "C" fn(), after, after_in_child];
}

fn take_own() -> GiveBack {
    let handler = crate::stack::overflow::lock();
    #[cfg(not(loom))]
    let numbers = crate::lock::bias_owner::lock_free();
    let pieces = crate::pieces::lock();
    Box::new(move |_| {
        let (_handler, _pieces) = (handler, pieces);
        #[cfg(not(loom))]
        drop(numbers);
    })
}

extern "C" fn before() {
    _ = HELD.try_with(|held| {
        if held.borrow().is_some() {
            // Registered twice.
            return;
        }
        // In the order of the ranks.
        let all = std::array::from_fn(|rank| TAKE.get(rank).map(|take| take()));
        held.replace(Some(all));
    });
}

/// Gives all back, unless that was done already, by a handler that is registered twice.
fn give_back(in_child: bool) {
    let held = HELD.try_with(|held| held.take()).ok().flatten();
    held.into_iter().flatten().flatten().for_each(|give_back| give_back(in_child));
}

extern "C" fn after() {
    give_back(false);
}

extern "C" fn after_in_child() {
    // First: who has forked is alone, and what is given back is of the new era. (Once is enough,
    // but twice does no harm.)
    ERA.store(era().wrapping_add(1), Relaxed);
    give_back(true);
}
