//! What an agent is to those who have it: its value, and the queue of its actions.
//!
//! **Who consumes.** The agent is *idle*, or has one consumer: a turn (`turn.rs`), which alone
//! takes actions out, publishes values, and fails the agent. A failed agent is neither: its queue
//! stands still, and whoever restarts it makes the next consumer. (So an agent that is idle is no
//! task and has no reference to itself: it ends with its last handle.)
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

use crate::action::{Action, Told, What};
use crate::error::AgentError;
use crate::rules::Rules;
use crate::turn::Turn;
use myriad_base::lock::biased::BiasedLock;
use myriad_core::Handle;
use myriad_core::engine::running::call_nested;
use myriad_core::engine::unwind::drop_quietly;
use myriad_core::engine::user_code;
use myriad_core::engine::wait::Caller;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::mem::{self, ManuallyDrop};
use std::sync::Arc;

/// See the module's header.
pub(crate) struct Cell<T: 'static> {
    /// Where its actions run.
    pub(crate) home: Handle,
    lock: BiasedLock,
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
    queue: VecDeque<Action<T>>,
    is_idle: bool,
}

// Without the counts of its `Arc`, and without its value, which has an `Arc` of its own.
const _: () = assert!(size_of::<Cell<u64>>() <= 96);

/// What an action finds: the value, and the rules.
pub(crate) type Found<T> = (*const T, Option<Arc<Rules<T>>>);

impl<T: Send + Sync + 'static> Cell<T> {
    pub(crate) fn new(value: T, home: Handle) -> Cell<T> {
        let value = Arc::new(value);
        let shared = Shared { value, rules: None, error: None, queue: VecDeque::new(), is_idle: true };
        Cell { home, lock: BiasedLock::new(), shared: ManuallyDrop::new(UnsafeCell::new(shared)) }
    }

    /// Runs `f` under the lock: nothing of the user's, nothing that waits or panics.
    #[inline(always)]
    fn locked<R>(&self, f: impl FnOnce(&mut Shared<T>) -> R) -> R {
        // SAFETY: the closures of this file are short, and call neither user code nor another lock.
        let _guard = unsafe { Caller::get().lock(&self.lock) };
        // SAFETY: the lock is held, and what is shared is reached under it only.
        f(unsafe { &mut *self.shared.get() })
    }

    #[inline]
    pub(crate) fn snapshot(&self) -> Arc<T> {
        self.locked(|shared| shared.value.clone())
    }

    pub(crate) fn rules(&self) -> Option<Arc<Rules<T>>> {
        self.locked(|shared| shared.rules.clone())
    }

    /// For the consumer. The value stands until the consumer, who alone replaces it, does so.
    #[inline]
    pub(crate) fn found(&self) -> Found<T> {
        self.locked(|shared| (Arc::as_ptr(&shared.value), shared.rules.clone()))
    }

    #[inline]
    pub(crate) fn error(&self) -> Option<AgentError> {
        self.locked(|shared| shared.error.as_deref().cloned())
    }

    pub(crate) fn queued(&self) -> usize {
        self.locked(|shared| shared.queue.len())
    }

    /// Puts an action into the queue, behind all others; also of an agent that has failed.
    #[inline]
    pub(crate) fn push(self: &Arc<Self>, action: Action<T>) {
        if let Some(first) = self.locked(|shared| shared.push(action)) {
            Turn::begin(self.clone(), first);
        }
    }

    /// The same, of an agent that has not failed.
    #[inline]
    pub(crate) fn push_or_refuse(self: &Arc<Self>, action: Action<T>) -> Result<(), AgentError> {
        let mut action = Some(action);
        let refused = self.locked(|shared| {
            if shared.error.is_none() {
                action = action.take().and_then(|action| shared.push(action));
            }
            shared.error.as_deref().cloned()
        });
        match refused {
            // (What is refused is dropped here, without the lock.)
            Some(error) => Err(error),
            None => {
                if let Some(first) = action {
                    Turn::begin(self.clone(), first);
                }
                Ok(())
            }
        }
    }

    /// Takes the oldest action out, for the consumer. `None`: the agent is idle from now on.
    #[inline]
    pub(crate) fn pop_or_idle(&self) -> Option<Action<T>> {
        self.locked(|shared| {
            let next = shared.queue.pop_front();
            shared.is_idle = next.is_none();
            next
        })
    }

    /// This is the value from now on. Back: the old one, for whoever drops it.
    #[inline]
    pub(crate) fn publish(&self, value: Arc<T>) -> Arc<T> {
        self.locked(|shared| mem::replace(&mut shared.value, value))
    }

    /// The same in the memory of the old value, where nobody reads that. The old one is dropped
    /// here. The oldest action is taken out in the same moment, into `next`, which is empty. (Never
    /// idle: first the caller has to send what is held.)
    #[inline]
    pub(crate) fn publish_and_pop(&self, value: T, next: &mut Option<Action<T>>) {
        let old = self.locked(|shared| {
            let old = match Arc::get_mut(&mut shared.value) {
                Some(place) => Ok(mem::replace(place, value)),
                None => Err(mem::replace(&mut shared.value, Arc::new(value))),
            };
            *next = shared.queue.pop_front();
            old
        });
        match old {
            Ok(old) => drop_value(old),
            Err(read) => drop_value(read),
        }
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

    /// Fails the agent, for its consumer, who consumes no longer: the queue stands still. In it
    /// `unstarted` comes before what is there.
    pub(crate) fn fail(&self, error: AgentError, unstarted: Option<Action<T>>) {
        let mut told: Vec<Told> = Vec::new();
        let boxed = Some(Box::new(error.clone()));
        self.locked(|shared| {
            shared.error = boxed;
            if let Some(action) = unstarted {
                shared.queue.push_front(action);
            }
            // Once round: what is no mark stays, in order.
            for _ in 0..shared.queue.len() {
                match shared.queue.pop_front() {
                    Some(Action { what: What::Mark(mark), .. }) => told.push(mark),
                    action => shared.queue.extend(action),
                }
            }
        });
        for mark in told {
            _ = mark.send(Err(error.clone()));
        }
    }

    /// Ends a failure: this is the value. `None`: the agent has not failed. Else what was in the
    /// queue, if that is to be dropped; the agent goes on.
    pub(crate) fn revive(self: &Arc<Self>, value: T, drops_queue: bool) -> Option<VecDeque<Action<T>>> {
        let mut value = Arc::new(value);
        let mut dropped = VecDeque::new();
        let (error, next) = self.locked(|shared| {
            let error = shared.error.take();
            if error.is_none() {
                return (None, None);
            }
            mem::swap(&mut shared.value, &mut value);
            if drops_queue {
                mem::swap(&mut shared.queue, &mut dropped);
            }
            let next = shared.queue.pop_front();
            shared.is_idle = next.is_none();
            (error, next)
        });
        // (First: the destructor of the old value may wait for this agent.)
        if let Some(next) = next {
            Turn::begin(self.clone(), next);
        }
        drop_value(value);
        error?;
        Some(dropped)
    }
}

impl<T> Shared<T> {
    /// Puts an action into the queue. If the agent was idle it comes back, and the caller consumes.
    #[inline(always)]
    fn push(&mut self, action: Action<T>) -> Option<Action<T>> {
        if mem::take(&mut self.is_idle) {
            return Some(action);
        }
        self.queue.push_back(action);
        None
    }
}

/// Drops a value that the agent had. A panic of its destructor is told, and changes nothing.
fn drop_value<V>(value: V) {
    if mem::needs_drop::<V>() {
        user_code::run("the destructor of an agent's value", || drop(value));
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
            queue.into_iter().for_each(drop_quietly);
            drop_quietly(value);
        });
    }
}
