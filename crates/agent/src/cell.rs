//! What an agent is to those who have it: its value, and the queue of its actions.
//!
//! **Who consumes.** The agent is *idle*, or has one consumer: a turn (`turn.rs`), which alone
//! takes actions out, publishes values, and fails the agent. A failed agent is neither: its queue
//! stands still, and whoever restarts it makes the next consumer. (So an agent that is idle is no
//! task and has no reference to itself: it ends with its last handle.) How references are counted
//! says `kept.rs`.
//!
//! **Invariants**, whenever the lock is free. Idle: the queue is empty, and there is no error. With
//! an error nobody consumes, and no mark is in the queue: who waits is told at the failure, and
//! afterwards at once.
//!
//! Under the lock stands no user code: values, rules and actions are moved out of it, and dropped
//! or called afterwards. The lock is biased, as that of a channel: an agent that one worker sends
//! to and runs pays no locked instruction for it.
//!
//! **Rejected.** An [inbox](myriad_sync::inbox) beside the lock: a failure has to tell the marks in
//! the queue and refuse sends in one step, or a restart comes between.

mod consume;

pub(crate) use consume::Next;

use crate::action::Actions;
use crate::error::AgentError;
use crate::kept::Kept;
use crate::rules::Rules;
use crate::turn::Turn;
use myriad_base::lock::biased::BiasedLock;
use myriad_base::sys::atomic::{AtomicBool, Ordering::Relaxed};
use myriad_core::Handle;
use myriad_core::engine::running::call_nested;
use myriad_core::engine::unwind::{discard, drop_quietly};
use myriad_core::engine::user_code;
use myriad_core::engine::wait::Caller;
use std::cell::UnsafeCell;
use std::mem::{self, ManuallyDrop};
use std::sync::Arc;
use std::{process, ptr};

/// See the module's header.
pub(crate) struct Cell<T: 'static> {
    /// Where its actions run.
    pub(crate) home: Handle,
    lock: BiasedLock,
    /// Were there ever rules? Written under the lock; a hint for an action, which has been sent and
    /// taken out under it.
    has_rules: AtomicBool,
    /// Reached under the lock.
    shared: ManuallyDrop<UnsafeCell<Shared<T>>>,
}

// SAFETY: what is shared is reached under the lock, and goes with the whole: values and rules are
// handed out to all threads, actions to the one that consumes.
unsafe impl<T: Send + Sync> Sync for Cell<T> {}
// SAFETY: as for `Sync`.
unsafe impl<T: Send + Sync> Send for Cell<T> {}

struct Shared<T: 'static> {
    value: Arc<T>,
    rules: Option<Arc<Rules<T>>>,
    error: Option<Box<AgentError>>,
    queue: Actions<T>,
    /// References to this cell: see `kept.rs`.
    kept: usize,
    is_idle: bool,
    /// Was this value handed out? Then only its `Arc` knows whether somebody has it.
    was_read: bool,
    /// So many read this value now without a reference: see [`Reading`].
    readers: u16,
}

// Without its value, which has an `Arc` of its own.
const _: () = assert!(size_of::<Cell<u64>>() <= 104);

impl<T: 'static> Cell<T> {
    /// Runs `f` under the lock: nothing of the user's, nothing that waits or panics.
    #[inline(always)]
    fn locked<R>(&self, f: impl FnOnce(&mut Shared<T>) -> R) -> R {
        // SAFETY: the closures of this module are short, and call neither user code nor another
        // lock.
        let _guard = unsafe { Caller::get().lock(&self.lock) };
        // SAFETY: the lock is held, and what is shared is reached under it only.
        f(unsafe { &mut *self.shared.get() })
    }

    /// One reference more.
    #[inline(always)]
    pub(crate) fn count(&self) {
        self.locked(Shared::keep);
    }

    /// One reference less. Was it the last?
    #[inline(always)]
    pub(crate) fn uncount(&self) -> bool {
        self.locked(Shared::let_go)
    }
}

impl<T: Send + Sync + 'static> Cell<T> {
    /// With one reference, which the caller makes.
    pub(crate) fn new(value: T, home: Handle) -> Cell<T> {
        let shared = Shared {
            value: Arc::new(value),
            rules: None,
            error: None,
            queue: Actions::new(),
            kept: 1,
            is_idle: true,
            was_read: false,
            readers: 0,
        };
        let shared = ManuallyDrop::new(UnsafeCell::new(shared));
        Cell { home, lock: BiasedLock::new(), has_rules: AtomicBool::new(false), shared }
    }

    #[inline]
    pub(crate) fn snapshot(&self) -> Arc<T> {
        self.locked(|shared| {
            shared.was_read = true;
            shared.value.clone()
        })
    }

    /// Calls `f`, which is the user's, with the value of now.
    #[inline]
    pub(crate) fn read<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let value = self.locked(|shared| {
            let readers = shared.readers.checked_add(1)?;
            shared.readers = readers;
            Some(Arc::as_ptr(&shared.value))
        });
        let Some(value) = value else { return f(&self.snapshot()) };
        let reading = Reading { cell: self, value };
        // SAFETY: the value stands as long as it is read, by the invariant of `Reading`.
        f(unsafe { &*reading.value })
    }

    pub(crate) fn rules(&self) -> Option<Arc<Rules<T>>> {
        self.locked(|shared| shared.rules.clone())
    }

    /// Are there rules, or were there once? For an action.
    #[inline(always)]
    pub(crate) fn has_rules(&self) -> bool {
        self.has_rules.load(Relaxed)
    }

    pub(crate) fn error(&self) -> Option<AgentError> {
        self.locked(|shared| shared.error.as_deref().cloned())
    }

    pub(crate) fn queued(&self) -> usize {
        self.locked(|shared| shared.queue.len())
    }

    /// Replaces the rules; `change` may be called several times.
    pub(crate) fn change_rules(&self, mut change: impl FnMut(&mut Rules<T>)) {
        loop {
            let old = self.rules();
            let mut rules = old.as_deref().cloned().unwrap_or_default();
            change(&mut rules);
            let mut rules = Some(Arc::new(rules));
            let is_same = self.locked(|shared| {
                let is_same = shared.rules.as_ref().map(Arc::as_ptr) == old.as_ref().map(Arc::as_ptr);
                if is_same {
                    mem::swap(&mut shared.rules, &mut rules);
                    self.has_rules.store(true, Relaxed);
                }
                is_same
            });
            // (Dropped here, without the lock: the old ones, or those that came too late.)
            [rules, old].into_iter().flatten().for_each(Rules::end);
            if is_same {
                return;
            }
        }
    }
}

/// What makes references, or uses them up.
impl<T: Send + Sync + 'static> Kept<T> {
    /// Puts an entry into the queue, behind all others, by `push`. If the agent has failed, what
    /// `push` has is dropped, without the lock.
    #[inline(always)]
    pub(crate) fn send(&self, pool: Option<Handle>, push: impl FnOnce(&mut Actions<T>)) -> Result<(), AgentError> {
        let (mut push, mut refused) = (Some(push), None);
        let begins = self.locked(|shared| {
            if let Some(error) = &shared.error {
                refused = Some(AgentError::clone(error));
            } else if let Some(push) = push.take() {
                push(&mut shared.queue);
            }
            let begins = shared.is_idle;
            if begins {
                shared.is_idle = false;
                shared.keep();
            }
            begins
        });
        if let Some(error) = refused {
            return Err(error);
        }
        if begins {
            // SAFETY: it was counted above.
            unsafe { self.counted() }.begin(pool);
        }
        Ok(())
    }

    /// One more reference, for a send that is held; not to an agent that has failed.
    #[inline(always)]
    pub(crate) fn keep(&self) -> Result<Kept<T>, AgentError> {
        let is_kept = self.locked(|shared| {
            let keeps = shared.error.is_none();
            if keeps {
                shared.keep();
            }
            keeps
        });
        // SAFETY: it was counted above.
        if is_kept { Ok(unsafe { self.counted() }) } else { self.keep_again() }
    }

    /// The same, of an agent that had failed a moment ago.
    #[cold]
    #[inline(never)]
    fn keep_again(&self) -> Result<Kept<T>, AgentError> {
        self.error().map_or_else(|| self.keep(), Err)
    }

    /// Ends a failure: this is the value. `None`: the agent has not failed. Else what was in the
    /// queue, if that is to be dropped; the agent goes on.
    pub(crate) fn revive(&self, value: T, drops_queue: bool) -> Option<Actions<T>> {
        let value = Arc::new(value);
        let mut dropped = Actions::new();
        let (error, value, next) = self.locked(|shared| {
            let error = shared.error.take();
            if error.is_none() {
                return (None, value, Next::Nothing);
            }
            let (old, _) = shared.publish(value);
            if drops_queue {
                mem::swap(&mut shared.queue, &mut dropped);
            }
            let next = shared.pop(self.home, None);
            shared.is_idle = matches!(next, Next::Nothing);
            if !shared.is_idle {
                shared.keep();
            }
            (error, old, next)
        });
        // (First: the destructor of the old value may wait for this agent.)
        if let Next::In(pool) = next {
            // SAFETY: it was counted above.
            Turn::begin(unsafe { self.counted() }, pool);
        }
        drop_value(|| drop(value));
        error?;
        Some(dropped)
    }

    /// Puts an entry into the queue, behind all others, also of an agent that has failed. This is
    /// the last that the reference does.
    #[inline(always)]
    pub(crate) fn send_last(self, pool: Option<Handle>, push: impl FnOnce(&mut Actions<T>)) {
        let (begins, was_last) = self.locked(|shared| {
            push(&mut shared.queue);
            if shared.is_idle {
                // (This reference is the turn's.)
                shared.is_idle = false;
                return (true, false);
            }
            (false, shared.let_go())
        });
        if begins { self.begin(pool) } else { self.end(was_last) }
    }

    /// Begins a turn, in the agent's own pool if no other is said.
    #[cold]
    #[inline(never)]
    fn begin(self, pool: Option<Handle>) {
        let pool = pool.unwrap_or(self.home);
        Turn::begin(self, pool);
    }
}

impl<T: 'static> Shared<T> {
    /// One more reference: see `kept.rs`.
    #[inline(always)]
    fn keep(&mut self) {
        // (More than that would be freed too early. As an `Arc` does.)
        self.kept = self.kept.checked_add(1).unwrap_or_else(|| process::abort());
    }

    /// One less. Was it the last?
    #[inline(always)]
    fn let_go(&mut self) -> bool {
        self.kept -= 1;
        self.kept == 0
    }
}

/// One who reads the value, in place.
///
/// **Invariant.** Such readers of the value of now are counted under the lock. Who publishes
/// another value gives each of them a reference to the old one, which the reader finds by the
/// address: its memory is not used again as long as there are references. So to read a value costs
/// no read-modify-write.
struct Reading<'a, T: Send + Sync + 'static> {
    cell: &'a Cell<T>,
    value: *const T,
}

impl<T: Send + Sync + 'static> Drop for Reading<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let is_counted = self.cell.locked(|shared| {
            let is_counted = ptr::eq(Arc::as_ptr(&shared.value), self.value);
            shared.readers -= u16::from(is_counted);
            is_counted
        });
        if !is_counted {
            // SAFETY: the reference that this reader was given, by the invariant.
            drop(unsafe { Arc::from_raw(self.value) });
        }
    }
}

/// Drops a value that the agent had. A panic of its destructor is told, and changes nothing.
pub(crate) fn drop_value(drops: impl FnOnce()) {
    user_code::run("the destructor of an agent's value", drops);
}

/// Drops what was in a queue, one by one: two destructors that panic at once would end the process.
pub(crate) fn drop_actions<T>(mut queue: Actions<T>) {
    while let Some(action) = queue.pop() {
        // SAFETY: it was taken out last, and is not used afterwards.
        _ = user_code::call(|| unsafe { action.drop() }).map_err(discard);
    }
}

impl<T> Drop for Cell<T> {
    fn drop(&mut self) {
        // SAFETY: taken once, here: the cell is not used afterwards.
        let shared = unsafe { ManuallyDrop::take(&mut self.shared) };
        // (The value may hold the last handle of the next agent, and so on.)
        call_nested(move || {
            let Shared { value, rules, queue, .. } = shared.into_inner();
            rules.into_iter().for_each(Rules::end);
            drop_actions(queue);
            drop_quietly(value);
        });
    }
}
